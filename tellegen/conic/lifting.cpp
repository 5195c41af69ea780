#include "tellegen/conic/lifting.h"

#include <algorithm>
#include <cmath>

namespace tellegen {

Affine Affine::variable(std::int32_t index, double factor) {
  Affine result;
  result.terms.push_back({index, factor});
  return result;
}

Affine& Affine::add(double factor, const Affine& other) {
  constant += factor * other.constant;
  for (const auto& added : other.terms) {
    const auto at =
        std::find_if(terms.begin(), terms.end(), [&](const auto& term) { return term.first == added.first; });
    if (at == terms.end())
      terms.push_back({added.first, factor * added.second});
    else
      at->second += factor * added.second;
  }
  std::erase_if(terms, [](const auto& term) { return term.second == 0.0; });
  return *this;
}

double Affine::at(const std::vector<double>& x) const {
  double sum = constant;
  for (const auto& [index, value] : terms) sum += value * x[index];
  return sum;
}

Affine lifted_mismatch(const Lifted& x, double centre) {
  return x.square - 2.0 * centre * x.value + Affine(centre * centre);
}

Affine LiftedProgramme::unknown() {
  problem_.c.push_back(0.0);
  return Affine::variable(problem_.variables++);
}

void LiftedProgramme::minimise(double factor, const Affine& form) {
  constant_ += factor * form.constant;
  for (const auto& [index, value] : form.terms) problem_.c[index] += factor * value;
}

void LiftedProgramme::equal_zero(const Affine& form) {
  const auto row = static_cast<std::int32_t>(problem_.b.size());
  for (const auto& [index, value] : form.terms) problem_.A.push_back({row, index, value});
  problem_.b.push_back(-form.constant);
}

void LiftedProgramme::at_least_zero(const Affine& form) {
  row(nonnegative_, form);
  ++problem_.nonnegative;
}

void LiftedProgramme::square(const Affine& square, const Affine& x) {
  row(second_order_, square + Affine(1.0));
  row(second_order_, square - Affine(1.0));
  row(second_order_, 2.0 * x);
  problem_.second_order.push_back(3);
}

void LiftedProgramme::product(const Affine& c1, const Affine& c2, const Affine& c3, const Affine& c4,
                              const Affine& c5, double centre) {
  static const double root_of_two = std::sqrt(2.0);
  row(semidefinite_, Affine(1.0));
  row(semidefinite_, root_of_two * c4);
  row(semidefinite_, root_of_two * (c5 - Affine(centre)));
  row(semidefinite_, c1);
  row(semidefinite_, root_of_two * (c3 - centre * c4));
  row(semidefinite_, c2 - 2.0 * centre * c5 + Affine(centre * centre));
  problem_.semidefinite.push_back(3);
}

ConicProblem LiftedProgramme::build() {
  for (Rows* rows : {&nonnegative_, &second_order_, &semidefinite_}) {
    const auto first = static_cast<std::int32_t>(problem_.h.size());
    for (SparseEntry& entry : rows->entries) {
      entry.row += first;
      problem_.G.push_back(entry);
    }
    problem_.h.insert(problem_.h.end(), rows->h.begin(), rows->h.end());
    *rows = {};
  }
  return std::move(problem_);
}

void LiftedProgramme::row(Rows& rows, const Affine& form) {
  const auto number = static_cast<std::int32_t>(rows.h.size());
  for (const auto& [index, value] : form.terms) rows.entries.push_back({number, index, -value});
  rows.h.push_back(form.constant);
}

}  // namespace tellegen
