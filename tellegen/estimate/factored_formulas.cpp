// The covariance as P = U D U', U an upper triangle with ones on its diagonal, D a diagonal: for a target
// whose numbers have few digits. D is made of sums of squares and of quotients of positive numbers, so P is
// symmetric and not negative whatever rounding does, and U has the square root of the range that P has.
//
// [Bierman 1977] Bierman, Factorization Methods for Discrete Sequential Estimation, ch. V (readings) and
// VI, VII [Thornton 1976] (the step).
#include "tellegen/estimate/filter_formulas.h"

namespace tellegen {

Matrix factors_of(Matrix p) {
  const auto n = p.rows();
  Matrix factors = Matrix::Zero(n, n);
  for (long j = n; j-- > 0;) {
    const double d = factors(j, j) = p(j, j);
    for (long i = 0; i < j; ++i) factors(i, j) = d > 0.0 ? p(i, j) / d : 0.0;
    for (long i = 0; i < j; ++i)
      for (long k = 0; k < j; ++k) p(i, k) -= factors(i, j) * d * factors(k, j);
  }
  return factors;
}

//   P = sum over columns c of  weight_c row_c row_c',  the last state first:
//   D_j = sum weight_c row_jc^2,  U_ij = sum weight_c row_ic row_jc / D_j,  row_i -= U_ij row_j
void FilterFormulas::factorise(Assignments& list, std::vector<Exprs> rows, const Exprs& weights) {
  const std::size_t columns = weights.size();
  for (std::size_t j = n_; j-- > 0;) {
    Exprs weighed(columns);
    std::vector<Expr> squares;
    for (std::size_t c = 0; c < columns; ++c) {
      weighed[c] = list.define(weights[c] * rows[j][c]);
      squares.push_back(rows[j][c] * weighed[c]);
    }
    const Expr d = p(j, j) = list.define(pool_.add(squares));
    for (std::size_t i = 0; i < j; ++i) {
      std::vector<Expr> terms;
      for (std::size_t c = 0; c < columns; ++c) terms.push_back(rows[i][c] * weighed[c]);
      const Expr along = pool_.add(terms);
      p(i, j) = along.is_number(0) ? along : list.define(certain_ ? or_nothing(along, d) : along / d);
      for (std::size_t c = 0; c < columns; ++c) rows[i][c] = list.define(rows[i][c] - p(i, j) * rows[j][c]);
    }
  }
}

// What is known for certain has no variance to divide by.
Expr FilterFormulas::or_nothing(Expr value, Expr variance) {
  const Expr there = pool_.call("gt", {variance, pool_.number(0)});
  return pool_.call("if",
                    {there, value / pool_.call("if", {there, variance, pool_.number(1)}), pool_.number(0)});
}

//   P- = (Phi U) D (Phi U)' + Q
void FilterFormulas::propagate_factors(const Exprs& phi) {
  std::vector<Exprs> rows(n_, Exprs());
  Exprs weights;
  for (std::size_t i = 0; i < n_; ++i)
    for (std::size_t k = 0; k < n_; ++k) {
      std::vector<Expr> terms{phi[i * n_ + k]};
      for (std::size_t j = 0; j < k; ++j) terms.push_back(phi[i * n_ + j] * p(j, k));
      rows[i].push_back(predict.define(pool_.add(terms)));
    }
  for (std::size_t k = 0; k < n_; ++k) weights.push_back(p(k, k));
  for (std::size_t k = 0; k < n_; ++k) {
    if (noise_[k].is_number(0)) continue;
    weights.push_back(noise_[k]);
    for (std::size_t i = 0; i < n_; ++i) rows[i].push_back(pool_.number(i == k ? 1 : 0));
  }
  factorise(predict, rows, weights);
  predicted.insert(predicted.end(), p_.begin(), p_.end());
}

// f = U' h, of a reading.
FilterFormulas::Exprs FilterFormulas::in_factors(std::size_t reading) {
  const Exprs& h = slopes_[reading];
  Exprs f;
  for (std::size_t j = 0; j < n_; ++j) {
    std::vector<Expr> terms{h[j]};
    for (std::size_t i = 0; i < j; ++i) terms.push_back(h[i] * p(i, j));
    f.push_back(correct.define(pool_.add(terms)));
  }
  return f;
}

Expr FilterFormulas::variance_in_factors(std::size_t reading, const Exprs& f) {
  std::vector<Expr> terms{number(model_.noise()[reading] * model_.noise()[reading])};
  for (std::size_t j = 0; j < n_; ++j) terms.push_back(f[j] * (p(j, j) * f[j]));
  return correct.define(pool_.add(terms));
}

// One reading after the other. With alpha_0 = r, for the states from the first to the last:
//
//   v_j = D_j f_j,  alpha_j = alpha_j-1 + f_j v_j,  D_j *= alpha_j-1/alpha_j
//   U_ij -= b_i f_j/alpha_j-1,  b_i += U_ij v_j;  then  x += b innovation/alpha
//
// A reading that is missing, or that the gate refuses, has f = 0: nothing changes, to the last bit.
void FilterFormulas::correct_factors(double gate) {
  const bool together = method_ == Method::together;
  const Exprs begin = x_;
  std::vector<Expr> took(sensors_);
  for (std::size_t r = 0; r < sensors_; ++r) {
    took[r] = there_[r];
    if (gate > 0.0 && together)  // by what is known before any of them
      took[r] =
          taken(r, correct.define(readings_[r] - expected_[r]), variance_in_factors(r, in_factors(r)), gate);
  }
  std::vector<Exprs> columns;  // b of each reading, and alpha
  Exprs alphas;
  for (std::size_t r = 0; r < sensors_; ++r) {
    Exprs f = in_factors(r);
    std::vector<Expr> expected{expected_[r]};
    for (std::size_t i = 0; i < n_ && r > 0; ++i) expected.push_back(slopes_[r][i] * (x_[i] - begin[i]));
    const Expr innovation = correct.define(readings_[r] - pool_.add(expected));
    if (gate > 0.0 && !together) took[r] = taken(r, innovation, variance_in_factors(r, f), gate);
    Expr alpha = number(model_.noise()[r] * model_.noise()[r]);
    Exprs b(n_, pool_.number(0));
    for (std::size_t j = 0; j < n_; ++j) {
      if (f[j].is_number(0)) continue;
      const Expr fj = correct.define(pool_.call("if", {took[r], f[j], pool_.number(0)}));
      const Expr v = correct.define(p(j, j) * fj), before = alpha;
      alpha = correct.define(before + fj * v);
      const Expr kept = correct.define(before / alpha), along = correct.define(fj / before);
      p(j, j) = correct.define(p(j, j) * kept);
      for (std::size_t i = 0; i < j; ++i) {
        const Expr u = p(i, j);
        p(i, j) = correct.define(u - b[i] * along);
        b[i] = correct.define(b[i] + u * v);
      }
      b[j] = v;
    }
    const Expr weighed = correct.define(innovation / alpha);
    for (std::size_t i = 0; i < n_; ++i) x_[i] = correct.define(x_[i] + b[i] * weighed);
    innovations.push_back(innovation);
    variances.push_back(alpha);
    columns.push_back(b);
    alphas.push_back(alpha);
  }
  if (together) keep_in_part(begin, columns, alphas);
  for (std::size_t i = 0; i < n_; ++i) corrected.push_back(within_bounds(correct, i, x_[i]));
  corrected.insert(corrected.end(), p_.begin(), p_.end());
}

// States that take a part of their correction only, 1 - keep: P = P+ + sum (keep b)(keep b)'/alpha.
void FilterFormulas::keep_in_part(const Exprs& begin, const std::vector<Exprs>& columns,
                                  const Exprs& alphas) {
  const auto keep = [&](std::size_t i) { return model_.states()[i].keep; };
  bool any = false;
  for (std::size_t i = 0; i < n_; ++i) any = any || keep(i) != 0.0;
  if (!any) return;
  std::vector<Exprs> rows(n_);
  Exprs weights;
  for (std::size_t i = 0; i < n_; ++i) {
    x_[i] = correct.define(begin[i] + number(1.0 - keep(i)) * (x_[i] - begin[i]));
    for (std::size_t k = 0; k < n_; ++k)
      rows[i].push_back(k < i ? pool_.number(0) : k == i ? pool_.number(1) : p(i, k));
    for (const Exprs& b : columns) rows[i].push_back(correct.define(number(keep(i)) * b[i]));
  }
  for (std::size_t k = 0; k < n_; ++k) weights.push_back(p(k, k));
  for (const Expr alpha : alphas) weights.push_back(correct.define(pool_.number(1) / alpha));
  factorise(correct, rows, weights);
}

}  // namespace tellegen
