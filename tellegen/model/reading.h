// What every reader of a file needs: a list of faults that grows, keys and types checked, names suggested,
// quantities read.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/document.h"
#include "tellegen/model/fault.h"
#include "tellegen/symbolic/parse.h"

namespace tellegen {

class FaultList {
 public:
  // Empty details are left out, so that a suggestion may be passed whether there is one or not.
  void add(Place place, std::string_view code, std::string message, std::vector<std::string> details = {});
  void add(const ModelError& error);
  bool empty() const { return faults_.empty(); }
  std::size_t size() const { return faults_.size(); }
  void throw_if_any();  // each distinct fault once, in the order of the file

 private:
  std::vector<Fault> faults_;
};

// A file being read: its values, and where what is wrong with them goes.
struct Source {
  const Document& document;
  FaultList& faults;

  void fault(const Value& at, std::string_view code, std::string message,
             std::vector<std::string> details = {}) const {
    faults.add(document.at(at), code, std::move(message), std::move(details));
  }
  // True where the value has the type; otherwise T102. `what` is the subject: "parameter 'R'".
  bool is(const Value& value, Value::Type type, std::string_view what) const;
  void known_keys(const Value& table, const std::vector<std::string_view>& keys, std::string_view what) const;
  std::string text(const Value& table, std::string_view key, std::string_view what) const;  // "" where absent
};

// "did you mean 'x'?", or nothing.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);
std::string joined(const std::vector<std::string>& names);  // "'a', 'b', 'c'"

// Where an expression cannot be read: its text, a mark under the place, and advice where there is some.
std::vector<std::string> shown(std::string_view text, const ParseError& error);

// Letters, digits and underscores, no digit first; not a function, `t`, `pi` or `datum`. Otherwise T105.
bool check_name(const Source& source, const Value& at, std::string_view name, std::string_view what);

// A number, a quantity, or (neither) the text of an expression.
struct Scalar {
  std::optional<double> number;  // SI
  std::string unit;              // of a quantity, as written
  std::string_view expression;
};
// Where `unit` is given, a bare number is in that unit and a quantity must be convertible to it. Nothing
// where a fault was reported.
std::optional<Scalar> read_scalar(const Source& source, const Value& value, std::string_view what,
                                  std::optional<std::string_view> unit = std::nullopt);
// The same, where only a number or a quantity will do. `unit` only checks: a bare number is SI.
std::optional<double> read_quantity(const Source& source, const Value& value, std::string_view what,
                                    std::string_view unit);
// True where `unit` may stand where `expected` belongs ("" is dimensionless); otherwise T123.
bool check_unit(const Source& source, const Value& at, std::string_view unit, std::string_view expected,
                std::string_view what);
bool check_known_unit(const Source& source, const Value& at, std::string_view unit, std::string_view what);

}  // namespace tellegen
