// Any text as a kind file.
#include "tellegen/model/kind_reader.h"
#include "tellegen/model/read.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace tellegen;
  static const std::vector<Domain> domains = read_domains(library_folder());
  try {
    Pool pool;
    FaultList faults;
    const Document document({reinterpret_cast<const char*>(data), size}, "nowhere/kind.toml");
    KindReader(pool, domains, document, faults, "electrical.kind").read();
    faults.throw_if_any();
  } catch (const ModelError&) {
  }
  return 0;
}
