// A model file with [stack] to one without.
#include "tellegen/model/stack.h"

namespace tellegen {

ExpandedText expand_stack(const Document& document) {
  FaultList faults;
  const Source source{document, faults};
  const Stack stack = read_stack(source, *document.root().find("stack"));
  faults.throw_if_any();
  StackNetwork network = make_network(source, stack);
  faults.throw_if_any();
  const AddedSection added[] = {{"components", std::move(network.components)},
                                {"outputs", std::move(network.outputs)}};
  return expanded_text(document, "stack", added);
}

}  // namespace tellegen
