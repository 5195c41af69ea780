// Models that the harness has found, with their right answers; a folder of them, replayed.
#pragma once

#include <string>

namespace differential {

bool replay_regressions(const std::string& folder);  // true where every answer is right

}  // namespace differential
