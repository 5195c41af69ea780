#include "benchmarks/ladder_model.h"

#include <fmt/format.h>

#include <iterator>

namespace tellegen {

std::string ladder_model(int loops) {
  std::string text =
      "name = \"Scalable RLC ladder\"\n"
      "[parameters]\nR = \"10 ohm\"\nL = \"0.1 H\"\nC = \"0.1 F\"\n"
      "[components]\n"
      "ground = { kind = \"electrical.ground\", p = \"n1\" }\n"
      "e1 = { kind = \"electrical.sine_voltage\", p = \"n2\", n = \"n1\", amplitude = \"100 V\", "
      "frequency = \"5 Hz\" }\n";
  text.reserve(text.size() + 220 * static_cast<std::size_t>(loops));
  const auto out = std::back_inserter(text);
  for (int i = 1; i <= loops; ++i) {
    const int before = i == 1 ? 2 : 2 * i - 1, rail = 2 * i + 1, middle = 2 * i + 2;
    fmt::format_to(out,
                   "r{0} = {{ kind = \"electrical.resistor\", p = \"n{1}\", n = \"n{2}\", R = \"R\" }}\n"
                   "l{0} = {{ kind = \"electrical.inductor\", p = \"n{2}\", n = \"n{3}\", L = \"L\" }}\n"
                   "c{0} = {{ kind = \"electrical.capacitor\", p = \"n{3}\", n = \"n1\", C = \"C\" }}\n",
                   i, before, rail, middle);
  }
  fmt::format_to(
      out,
      "[outputs]\n"
      "V_first = {{ value = \"n4.v\", unit = \"V\" }}\nI_first = {{ value = \"l1.i\", unit = \"A\" }}\n"
      "V_last = {{ value = \"n{0}.v\", unit = \"V\" }}\nI_last = {{ value = \"l{1}.i\", unit = \"A\" }}\n"
      "[simulation]\nstop = \"1 s\"\nstep = \"2.5 ms\"\nsample = \"10 ms\"\nmethod = \"bdf3\"\n",
      2 * loops + 2, loops);
  return text;
}

}  // namespace tellegen
