// Any text as a netlist: translated, and the translation read as a model file.
#include "tellegen/netlist/netlist.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace tellegen;
  try {
    const ConvertedNetlist converted =
        convert_netlist_text({reinterpret_cast<const char*>(data), size}, "nowhere/circuit.cir", {}, 1e4);
    read_model_text(converted.toml, "nowhere/circuit.toml");
  } catch (const ModelError&) {
  }
  return 0;
}
