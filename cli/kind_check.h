// The worked answers of a kind, [check] in its file: the given edge variables and node potentials are imposed
// by ideal sources on a network of that one component, which is simulated until the answer's time.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tellegen/model/fault.h"
#include "tellegen/model/read.h"

namespace tellegen {

// One answer that is not met.
struct WrongAnswer {
  std::size_t check = 0;  // of Kind::checks
  std::string message;    // "q = 1.2 at t = 1 s, and 1 is expected"
};

class KindChecks {
 public:
  // The domains are those of this library. Makes a folder for the sources, which goes with the object: ideal
  // ones of either sort in every domain, since a library has no reason to offer all of them.
  explicit KindChecks(const std::filesystem::path& library);
  ~KindChecks();
  KindChecks(const KindChecks&) = delete;
  KindChecks& operator=(const KindChecks&) = delete;

  const std::vector<Domain>& domains() const { return domains_; }

  // The network of one answer. Throws ModelError where the answer gives something that cannot be imposed, or
  // not all that the kind needs.
  std::string text(const Kind& kind, const KindCheck& check) const;
  Model model(const Kind& kind, const KindCheck& check) const;

  // `patient`: steps are refined once before an answer counts as wrong.
  std::vector<WrongAnswer> wrong_answers(const Kind& kind, std::string_view form = "tableau",
                                         bool patient = true) const;

 private:
  std::filesystem::path folder_;
  std::vector<Domain> domains_;
};

// Of several kinds; those that are parts of mechanisms are nothing by themselves and are left out.
struct CheckedKind {
  std::string name, file;
  std::size_t answers = 0;  // that hold
};

// Throws one ModelError with every answer that is not met: T571.
std::vector<CheckedKind> check_kinds(const std::filesystem::path& library, const std::vector<Kind>& kinds);

}  // namespace tellegen
