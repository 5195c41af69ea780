#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "tellegen/calibrate/frequency_response.h"
#include "tellegen/model/csv_header.h"

namespace tellegen {

ResponseData read_response(const DataSource& source, const std::string& of, const std::string& by,
                           double relative) {
  ResponseData data{.file = source.name(), .of = of, .by = by};
  const std::unique_ptr<TableSource> table = open_data(source);
  const Place place{source.name(), table->header_line()};
  if (!table->has_names() && source.columns.empty())
    throw ModelError(
        {{source.name(), 1},
         "T590",
         "the file has no line that names its columns",
         {"--columns \"f=1, re=2 [mohm], im=3 [mohm]\" names them by their numbers, with their units",
          "as it was read: " + table->description()}});
  FaultList faults;
  CsvHeader header(table->columns(), place, faults, source.columns);
  std::optional<CsvColumn> frequency = header.find("f", {"Hz", "Hz", "frequency"});
  const bool angular = !frequency;
  if (angular) frequency = header.find("w", {"rad/s", "rad/s", "frequency"});
  std::optional<CsvColumn> first = header.find("re", {"", "", "real part"}),
                           second = header.find("im", {"", "", "imaginary part"});
  const bool polar = !first;
  if (polar) {
    first = header.find("magnitude", {"", "", "magnitude"});
    second = header.find("phase", {"rad", "rad", "phase"});
  }
  const std::optional<CsvColumn> deviation = header.find("sd", {"", "", "standard deviation"});
  faults.throw_if_any();  // names that were given
  if (!frequency) header.no_column("f", {"Hz", "Hz", "frequency"});
  if (!first || !second)
    faults.add(place, "T591", "no columns 're' and 'im', nor 'magnitude' and 'phase'",
               {"--columns re=Zreal,im=Zimag names them"});
  if (!deviation && !(relative > 0.0))
    faults.add(place, "T656", "the noise of the response is not known",
               {"a column 'sd', or --response-noise 1%"});
  faults.throw_if_any();
  std::vector<int> chosen{frequency->at, first->at, second->at};
  if (deviation) chosen.push_back(deviation->at);
  table->choose(chosen);
  for (TableBlock block; table->next(block);)
    for (std::size_t row = 0; row < block.rows; ++row) {
      const double f = frequency->si(block.columns[0][row]) / (angular ? 2.0 * std::numbers::pi : 1.0);
      const double a = first->si(block.columns[1][row]), b = second->si(block.columns[2][row]);
      if (std::isnan(f) || std::isnan(a) || std::isnan(b)) {
        ++data.missing;
        continue;
      }
      const std::complex<double> value = polar ? std::polar(a, b) : std::complex<double>(a, b);
      const double sd = deviation ? deviation->si(block.columns[3][row]) : relative * std::abs(value);
      if (!(f > 0.0) || !(sd > 0.0))
        faults.add({source.name(), block.lines[row]}, "T656",
                   !(f > 0.0) ? fmt::format("{:g} Hz is no frequency", f)
                              : "the standard deviation is not above zero",
                   {});
      data.frequencies.push_back(f);
      data.values.push_back(value);
      data.noise.push_back(sd);
    }
  if (data.values.empty()) faults.add(place, "T656", "the table has no rows with a response", {});
  faults.throw_if_any();
  return data;
}

}  // namespace tellegen
