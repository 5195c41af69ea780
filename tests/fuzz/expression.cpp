// Any text as an expression: what is printed reads as the same expression, and every derivative exists.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "tellegen/symbolic/parse.h"
#include "tellegen/symbolic/print.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace tellegen;
  Pool pool;
  Expr read, again;
  try {
    read = parse(pool, {reinterpret_cast<const char*>(data), size});
  } catch (const ParseError&) {
    return 0;
  }
  try {
    again = parse(pool, to_text(read));
  } catch (const ParseError& error) {
    // a^b^c prints as a^(b^c), which may be one parenthesis too many.
    if (std::string_view(error.what()).find("too deeply") == std::string_view::npos) std::abort();
    again = read;
  }
  // A constant that has overflowed, or stays unfolded because it would (0^-1), has the same value again and
  // perhaps another form.
  const auto nodes = nodes_of(std::span(&read, 1));
  const bool finite = std::all_of(nodes.begin(), nodes.end(), [](Expr e) {
    if (e.is_number()) return std::isfinite(e.number());
    return !(e.op() == Op::power && e.args()[0].is_number() && e.args()[1].is_number());
  });
  if (finite && !(again == read)) std::abort();
  gradient(read, symbols_of(std::span(&read, 1)));
  return 0;
}
