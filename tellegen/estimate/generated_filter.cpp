// A filter whose step is a program, behind the interface of all estimators.
#include <algorithm>
#include <cmath>

#include "tellegen/estimate/filter_program.h"

namespace tellegen {
namespace {

class GeneratedFilter : public Filter {
 public:
  GeneratedFilter(TwinModel& model, const FilterOptions& options, FilterFormulas::Method method)
      : Filter(model, options),
        method_(method),
        program_(std::make_unique<FilterProgram>(model, options, q_, method)),
        w_(program_->memory()) {
    if (options.compile) program_->compile();
    program_->prepare(w_.data());
  }
  bool predict(double t, const double* u, const double* du) override {
    program_->predict(w_.data(), t, u, du);
    fresh_ = false;
    return finite();
  }
  bool correct(double t, const double* u, const double* readings, Innovations& out) override {
    program_->correct(w_.data(), t, u, readings, out.value.data(), out.variance.data());
    fresh_ = false;
    out.log_likelihood = 0.0;
    for (std::size_t s = 0; s < out.value.size(); ++s) {
      out.refused[s] = !std::isnan(readings[s]) && refuse(out.value[s], out.variance[s]);
      if (std::isnan(readings[s]) || out.refused[s])
        out.value[s] = std::numeric_limits<double>::quiet_NaN();
      else
        out.log_likelihood -=
            0.5 * (out.value[s] * out.value[s] / out.variance[s] + std::log(2.0 * M_PI * out.variance[s]));
    }
    out.log_likelihood = program_->log_likelihood(w_.data()).value_or(out.log_likelihood);
    return finite();
  }
  const Matrix& transition() const override {
    program_->transition(w_.data(), seen_phi_);
    return seen_phi_;
  }
  const Belief& belief() const override {
    if (fresh_) return seen_;
    const auto n = static_cast<long>(program_->states());
    seen_.x = Eigen::Map<const Vector>(w_.data(), n);
    seen_.p.resize(n, n);
    const double* p = w_.data() + n;
    for (long i = 0; i < n; ++i)
      for (long j = i; j < n; ++j) seen_.p(i, j) = seen_.p(j, i) = *p++;
    fresh_ = true;
    return seen_;
  }
  Belief save() const override { return belief(); }
  void restore(const Belief& belief) override {
    const auto n = static_cast<long>(program_->states());
    std::copy(belief.x.data(), belief.x.data() + n, w_.begin());
    fresh_ = false;
    if (method_ == FilterFormulas::Method::steady) return;  // the covariance stays what it has become
    double* p = w_.data() + n;
    for (long i = 0; i < n; ++i)
      for (long j = i; j < n; ++j) *p++ = belief.p(i, j);
  }
  std::string executor() const override {
    return program_->compiled()  ? "generated C"
           : program_->refused() ? "generated, interpreted: the C compiler failed on it"
                                 : "generated, interpreted";
  }
  void set_process_noise(const Vector& variance_per_step) override {
    q_ = variance_per_step;
    if (method_ == FilterFormulas::Method::steady) {  // another gain
      const Belief before = save();
      program_ = std::make_unique<FilterProgram>(model_, options_, q_, method_);
      if (options_.compile) program_->compile();
      w_ = program_->memory();
      restore(before);
    }
    program_->set_process_noise(w_.data(), q_);
    program_->prepare(w_.data());
  }

 private:
  bool finite() const {
    return std::all_of(w_.begin(), w_.begin() + static_cast<long>(program_->states()),
                       [](double x) { return std::isfinite(x); });
  }

  FilterFormulas::Method method_;
  std::unique_ptr<FilterProgram> program_;
  std::vector<double> w_;
  mutable Belief seen_;
  mutable Matrix seen_phi_;
  mutable bool fresh_ = false;
};

}  // namespace

std::unique_ptr<Filter> generated_filter(TwinModel& model, const FilterOptions& options,
                                         FilterFormulas::Method method) {
  return std::make_unique<GeneratedFilter>(model, options, method);
}

}  // namespace tellegen
