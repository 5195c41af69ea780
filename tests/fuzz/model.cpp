// Any text as a model file: read and checked, its graph built and its topology judged.
#include "tellegen/graph/faults.h"
#include "tellegen/graph/tree.h"
#include "tellegen/model/read.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace tellegen;
  try {
    const Model model = read_model_text({reinterpret_cast<const char*>(data), size}, "nowhere/model.toml");
    const LinearGraph graph = build_graph(model);
    topology_faults(model, graph, normal_tree(graph));
  } catch (const ModelError&) {
  }
  return 0;
}
