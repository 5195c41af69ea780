#include "tellegen/graph/faults.h"

#include <fmt/format.h>

#include <algorithm>

namespace tellegen {
namespace {

// Beyond these a report helps nobody: the first few faults are read, fixed, and the model checked again.
constexpr std::size_t longest_list = 20;
constexpr std::size_t most_faults = 20;

std::string quoted_list(const std::vector<std::string>& names) {
  std::string text;
  const std::size_t shown = std::min(names.size(), longest_list);
  for (std::size_t k = 0; k < shown; ++k) text += fmt::format("{}'{}'", k == 0 ? "" : ", ", names[k]);
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string plural(std::size_t count, std::string_view one, std::string_view many) {
  return std::string(count == 1 ? one : many);
}

// Names and places of one model's graph, as the messages need them.
struct Speaker {
  const Model& model;
  const LinearGraph& graph;

  const Component& component(EdgeIndex e) const { return model.components[graph.edges[e.value].component]; }
  const KindEdge& kind_edge(EdgeIndex e) const {
    return model.kinds[component(e).kind].edges[graph.edges[e.value].edge];
  }
  const Domain& domain(EdgeIndex e) const { return model.domains[kind_edge(e).domain]; }
  const ModelNode& node(NodeIndex n) const { return model.nodes[graph.model_node[n.value]]; }
  const Domain& domain(NodeIndex n) const { return model.domains[node(n).domain]; }

  std::string edge(EdgeIndex e) const { return edge_name(model, graph, e); }
  std::string across(EdgeIndex e) const { return edge(e) + "." + domain(e).across; }
  std::string through(EdgeIndex e) const { return edge(e) + "." + domain(e).through; }

  // "'v1' from 'a' to 'datum' (line 4)"; a component of another file says which.
  std::string described(EdgeIndex e) const {
    const GraphEdge& ends = graph.edges[e.value];
    return fmt::format("'{}' from '{}' to '{}'{}", edge(e), node_name(model, graph, ends.from),
                       node_name(model, graph, ends.to), line_note(component(e).place));
  }
  std::string line_note(const Place& place) const {
    if (place.line == 0) return "";
    if (place.file.empty() || place.file == model.file.string()) return fmt::format(" (line {})", place.line);
    return fmt::format(" ({}:{})", place.file, place.line);
  }
  Place place(EdgeIndex e) const {
    Place at = component(e).place;
    if (at.file.empty()) at.file = model.file.string();
    return at;
  }
};

// "v1.v - v2.v": a sum with signs; long ones are cut, the edges themselves are all listed elsewhere.
std::string signed_sum(const std::vector<std::pair<std::string, int>>& terms) {
  std::string text;
  const std::size_t shown = std::min(terms.size(), longest_list);
  for (std::size_t k = 0; k < shown; ++k) {
    const bool minus = terms[k].second < 0;
    text += k == 0 ? (minus ? "-" : "") : (minus ? " - " : " + ");
    text += terms[k].first;
  }
  if (shown < terms.size()) text += " + ...";
  return text;
}

std::vector<Fault> floating_parts(const Speaker& say, const Tree& tree) {
  if (tree.roots.size() == 1) return {};
  // The part of each node, by its position among the roots; parts of the datum are number 0.
  std::vector<std::int32_t> part(say.graph.node_count(), 0);
  std::vector<std::vector<NodeIndex>> nodes(tree.roots.size());
  std::int32_t count = -1;
  for (NodeIndex n : tree.order) {
    const NodeIndex parent = tree.parent[n.value];
    part[n.value] = parent.value < 0 ? ++count : part[parent.value];
    nodes[part[n.value]].push_back(n);
  }
  std::vector<std::vector<std::int32_t>> components(tree.roots.size());
  for (const GraphEdge& edge : say.graph.edges) {
    auto& list = components[part[edge.from.value]];
    if (list.empty() || list.back() != edge.component) list.push_back(edge.component);
  }

  std::vector<Fault> faults;
  std::size_t left_out = 0;
  for (std::size_t p = 1; p < nodes.size(); ++p) {
    const Domain& domain = say.domain(nodes[p].front());
    if (domain.through.empty()) continue;  // a signal needs no datum
    if (faults.size() == most_faults) {
      ++left_out;
      continue;
    }
    std::sort(nodes[p].begin(), nodes[p].end());
    std::vector<std::string> variables, names;
    Place place{say.model.file.string(), 0};
    for (NodeIndex n : nodes[p]) {
      const ModelNode& node = say.node(n);
      names.push_back(node.name);
      variables.push_back(node.name + "." + say.domain(n).node);
      if (node.line > 0 && (place.line == 0 || node.line < place.line)) place.line = node.line;
    }
    std::vector<std::string> members;
    for (std::int32_t c : components[p]) members.push_back(say.model.components[c].name);
    if (place.line == 0 && !components[p].empty()) place = say.model.components[components[p].front()].place;

    Fault fault{place, "T201", "", {}};
    fault.message =
        fmt::format("{} {} not determined", quoted_list(variables), plural(names.size(), "is", "are"));
    fault.details.push_back(fmt::format("no chain of edges joins {} {} to the {} datum",
                                        plural(names.size(), "node", "nodes"), quoted_list(names),
                                        domain.name));
    if (members.empty())
      fault.details.push_back("no component has an edge there");
    else
      fault.details.push_back(fmt::format("only {} {} there: {}",
                                          plural(members.size(), "this component", "these components"),
                                          plural(members.size(), "is", "are"), quoted_list(members)));
    fault.details.push_back(fmt::format(
        "connect {} to 'datum' or to a node that reaches it, or add one of the {} components that fix {}",
        names.size() == 1 ? "'" + names.front() + "'" : "one of these nodes", domain.name,
        names.size() == 1 ? "'" + variables.front() + "'" : "one of them"));
    faults.push_back(std::move(fault));
  }
  if (left_out > 0)
    faults.back().details.push_back(fmt::format("{} more parts without a datum are not listed", left_out));
  return faults;
}

Fault circuit_of_sources(const Speaker& say, const Tree& tree, EdgeIndex chord) {
  const std::vector<SignedEdge> path = circuit_of(say.graph, tree, chord);
  std::vector<EdgeIndex> circuit{chord};
  std::vector<std::pair<std::string, int>> terms{{say.across(chord), 1}};
  for (const SignedEdge& s : path) {
    circuit.push_back(s.edge);
    terms.emplace_back(say.across(s.edge), -s.sign);
  }
  std::vector<std::string> names;
  for (EdgeIndex e : circuit) names.push_back(say.edge(e));
  const Domain& domain = say.domain(chord);

  Fault fault{say.place(chord), "T202", "", {}};
  if (path.empty()) {
    fault.message = fmt::format("both ends of across-source '{}' are one node", names.front());
    fault.details.push_back(say.described(chord));
    fault.details.push_back(
        fmt::format("'{}' is zero there whatever the source says, and nothing determines '{}'",
                    say.across(chord), say.through(chord)));
    fault.details.push_back(
        fmt::format("connect one end of '{}' to another node, or remove it", names.front()));
    return fault;
  }
  fault.message = fmt::format("across-sources {} form a circuit", quoted_list(names));
  for (EdgeIndex e : circuit) fault.details.push_back(say.described(e));
  fault.details.push_back(fmt::format(
      "around it {} = 0, but each source sets its own {}; nothing determines the {} that flows around",
      signed_sum(terms), domain.across, domain.through));
  fault.details.push_back(fmt::format(
      "remove one of them, or put a component whose {} follows from its {} (a resistance) in series",
      domain.across, domain.through));
  return fault;
}

Fault cutset_of_sources(const Speaker& say, const Tree& tree, EdgeIndex branch) {
  std::vector<EdgeIndex> cutset{branch};
  std::vector<std::pair<std::string, int>> terms{{say.through(branch), 1}};
  for (const SignedEdge& s : cutset_of(say.graph, tree, branch)) {
    cutset.push_back(s.edge);
    terms.emplace_back(say.through(s.edge), -s.sign);
  }
  // The side away from the datum: the nodes below the branch.
  const GraphEdge& ends = say.graph.edges[branch.value];
  const NodeIndex below = tree.up[ends.from.value] == branch ? ends.from : ends.to;
  std::vector<char> inside(say.graph.node_count(), 0);
  std::vector<std::string> names, nodes;
  for (NodeIndex n : tree.order) {
    const NodeIndex parent = tree.parent[n.value];
    if (n != below && !(parent.value >= 0 && inside[parent.value])) continue;
    inside[n.value] = 1;
    nodes.push_back(say.node(n).name);
  }
  for (EdgeIndex e : cutset) names.push_back(say.edge(e));
  const Domain& domain = say.domain(branch);
  const bool one = cutset.size() == 1;

  Fault fault{say.place(branch), "T203", "", {}};
  fault.message =
      one ? fmt::format("through-source '{}' has no way back for its {}", names.front(), domain.through)
          : fmt::format("through-sources {} form a cutset", quoted_list(names));
  for (EdgeIndex e : cutset) fault.details.push_back(say.described(e));
  fault.details.push_back(fmt::format(
      "nothing else joins {} {} to the rest, so {} = 0, but {} its own {}; nothing determines the {} of {}",
      plural(nodes.size(), "node", "nodes"), quoted_list(nodes), signed_sum(terms),
      one ? "the source sets" : "each source sets", domain.through, domain.node,
      plural(nodes.size(), "that node", "these nodes")));
  fault.details.push_back(
      fmt::format("{}add a component whose {} follows from its {} (a resistance, a capacity) between "
                  "{} and the rest",
                  one ? "" : "remove one of them, or ", domain.through, domain.across,
                  nodes.size() == 1 ? "'" + nodes.front() + "'" : "these nodes"));
  return fault;
}

// `tell` for each offending edge, up to a limit; the last one then says how many were left out.
template <class Tell>
void add_faults(std::vector<Fault>& faults, const std::vector<EdgeIndex>& edges, std::string_view what,
                Tell tell) {
  const std::size_t shown = std::min(edges.size(), most_faults);
  for (std::size_t k = 0; k < shown; ++k) faults.push_back(tell(edges[k]));
  if (shown < edges.size())
    faults.back().details.push_back(fmt::format("{} more {} not listed", edges.size() - shown, what));
}

constexpr FaultCode codes[] = {
    {"T201", "a node, or a group of nodes, without a path to its datum"},
    {"T202", "a circuit of across-sources"},
    {"T203", "a cutset of through-sources"},
};

}  // namespace

std::span<const FaultCode> topology_fault_codes() { return codes; }

std::vector<Fault> topology_faults(const Model& model, const LinearGraph& graph, const Tree& normal_tree) {
  const Speaker say{model, graph};
  std::vector<EdgeIndex> closing, cutting;
  for (EdgeIndex e : normal_tree.chords)
    if (graph.edges[e.value].edge_class == EdgeClass::across_source) closing.push_back(e);
  for (EdgeIndex e : normal_tree.branches)
    if (graph.edges[e.value].edge_class == EdgeClass::through_source) cutting.push_back(e);

  std::vector<Fault> faults = floating_parts(say, normal_tree);
  add_faults(faults, closing, "circuits of across-sources are",
             [&](EdgeIndex e) { return circuit_of_sources(say, normal_tree, e); });
  add_faults(faults, cutting, "cutsets of through-sources are",
             [&](EdgeIndex e) { return cutset_of_sources(say, normal_tree, e); });
  return faults;
}

}  // namespace tellegen
