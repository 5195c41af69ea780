// Small-signal responses of a model over frequency, an impedance say, and their exact derivatives by
// parameters.
//
//   F(x, r, p) = 0, r the rates; at the start of the run, an input u moves by e^(jwt):
//   (F_x + jw F_r) X = -F_u,   Z = y_x X + jw y_r X + y_u
//
// and with the same factors A dX = -(dA X + dF_u), dZ = y dX + dy X, where dA is the total derivative of the
// matrix A = F_x + jw F_r: by p itself, and by the operating point that moves with p (start_derivatives.h).
// All of it by symbolic differentiation of the model's equations.
#pragma once

#include <complex>
#include <span>
#include <string>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/records/data_file.h"
#include "tellegen/symbolic/evaluator.h"

namespace tellegen {

class FrequencyResponse {
 public:
  // `of`: an expression in the model's names; `by`: an input, or a parameter that no other is found beside;
  // `parameters`: indices into model.parameters. Throws ModelError: T655.
  FrequencyResponse(const Model& model, const std::string& of, const std::string& by,
                    std::vector<int> parameters);

  struct Result {
    std::vector<std::complex<double>> values;  // per frequency, SI
    std::vector<std::complex<double>> slopes;  // [frequency][parameter]
    std::string failure;                       // empty: it could be computed
  };
  Result at(std::span<const double> numbers, std::span<const double> frequencies);  // Hz

 private:
  // One derivative in the equations: row -1 is the response itself, column -1 the input.
  struct Entry {
    int row, column;
    bool rate;
    Expr value;
  };
  struct Slope {  // of an entry by a symbol
    std::size_t entry;
    int symbol;
    Expr value;
  };
  void write_equations(const std::string& of, const std::string& by);
  void differentiate(Expr residual, int row);
  std::string set_point(std::span<const double> numbers);

  Model model_;
  std::vector<int> parameters_;
  Expr input_, input_value_;
  std::vector<Expr> columns_;    // variables
  std::vector<Expr> rates_;      // symbols der(v)
  ExprMap<Expr> rate_variable_;  // in columns: a difference of two nodes, or a variable
  std::vector<Expr> symbols_;    // columns, rates, parameters, input
  std::vector<Entry> entries_;
  std::vector<Slope> slopes_;
  Evaluator program_;
  std::vector<double> point_;         // value of each symbol
  std::vector<double> point_slopes_;  // [symbol][parameter]
  std::vector<double> out_;
};

// A measured response.
struct ResponseData {
  std::string file, of, by;
  std::vector<double> frequencies = {};           // Hz
  std::vector<std::complex<double>> values = {};  // SI
  std::vector<double> noise = {};                 // standard deviation of each part, SI
  std::int64_t missing = 0;                       // rows without a value
  std::string name() const { return of + "/" + by; }
};

// A table with a column f [Hz] (or w [rad/s]) and either re and im, or magnitude and phase [deg]; `sd` is
// the standard deviation of the real and of the imaginary part. Where it is not there, `relative` of the
// magnitude is taken. Throws ModelError: T180, T590 to T594, T656.
ResponseData read_response(const DataSource& source, const std::string& of, const std::string& by,
                           double relative);

}  // namespace tellegen
