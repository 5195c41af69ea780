#include "tellegen/identifiability/observability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tellegen/identifiability/follower.h"
#include "tellegen/numeric/decompose.h"
#include "tellegen/records/sensor_slopes.h"
#include "tellegen/simulate/initial.h"

namespace tellegen {
namespace {

constexpr std::size_t most_states_judged = 300;

}  // namespace

bool StateKnowledge::unknowns_known() const {
  for (std::size_t k = 0; k < knowledge.quantities.size(); ++k)
    if (knowledge.quantities[k].what != UnknownQuantity::What::state &&
        knowledge.how[k] != Knowledge::How::known)
      return false;
  return true;
}

bool StateKnowledge::rest_fades() const {
  return std::all_of(left.begin(), left.end(), [](double part) { return part < 0.999; });
}

StateKnowledge state_knowledge(const Model& model, const Record& record, const std::vector<int>& unknowns,
                               double limit) {
  if (record.sensors.empty())
    throw ModelError({{model.file.string(), 0},
                      "T611",
                      "there is no sensor to know anything from",
                      {"add one to [sensors]"}});
  check_noise(model, record.sensors);
  Model run = with_inputs(model, record);
  for (ModelUnknown& unknown : run.unknowns) {
    unknown.coordinate = ModelUnknown::Coordinate::value;
    unknown.start.reset();
    unknown.lower.reset();
    unknown.upper.reset();
  }
  // What the record gives stands in tables; a compiler takes longer over many numbers than the run itself.
  const bool compile = record.given.size() <= 20000;
  TwinModel twin(run, {.sensors = record.sensors,
                       .unknowns = unknowns,
                       .inputs = {},
                       .plain = true,
                       .compile = compile,
                       .events = true});
  if (twin.size() > most_states_judged) {
    StateKnowledge none;
    none.note = fmt::format(
        "{} of them, and each is weighed against all others for {} at most; the deviations that estimate "
        "gives "
        "say what is known",
        twin.size(), most_states_judged);
    return none;
  }
  const ReadingTimes times = reading_times(record);
  Follower follower(twin, times, run.simulation.step.value_or(times.step));
  const Vector start = twin.start();
  const auto followed = follower.from(start);
  if (!followed) throw SimulationError("the model cannot be followed along its run", 0.0);

  std::vector<UnknownQuantity> quantities;
  for (std::size_t k = 0; k < twin.size(); ++k) {
    const TwinState& state = twin.states()[k];
    const auto at = static_cast<Eigen::Index>(k);
    UnknownQuantity q{UnknownQuantity::What::state, state.name, state.unit, state.start, 1.0};
    if (state.unknown >= 0) {
      const ModelUnknown& unknown =
          run.unknowns[static_cast<std::size_t>(unknowns[static_cast<std::size_t>(state.unknown)])];
      const ModelParameter& p = run.parameters[static_cast<std::size_t>(unknown.parameter)];
      q.what = unknown.varies == ModelUnknown::Varies::constant ? UnknownQuantity::What::parameter
                                                                : UnknownQuantity::What::input;
      if (state.name == p.name)
        q.scale = parameter_scale(run, unknown.parameter);
      else if (state.deviation > 0.0)
        q.scale = state.deviation;
    } else {
      const double range = followed->highest[at] - followed->lowest[at];
      q.scale = std::max(range, state.deviation);
      if (!(q.scale > 1e-9 * std::abs(q.value))) q.scale = q.value != 0.0 ? std::abs(q.value) : 1.0;
      if (const auto ref = find_variable(run, state.name)) q.unit = variable_unit(run, *ref);
    }
    quantities.push_back(std::move(q));
  }
  // The start stays where it is: what holds for every start would be less than what is asked.
  const auto elsewhere = [&](double part) -> std::optional<InformationPoint> {
    Vector moved = start;
    for (std::size_t k = 0; k < quantities.size(); ++k)
      if (quantities[k].what != UnknownQuantity::What::state)
        moved[static_cast<Eigen::Index>(k)] += quantities[k].scale * moved_part(k, part);
    const auto there = follower.from(moved);
    if (!there) return std::nullopt;
    return there->information;
  };
  Vector scale(start.size());
  for (std::size_t k = 0; k < quantities.size(); ++k)
    scale[static_cast<Eigen::Index>(k)] = quantities[k].scale;
  StateKnowledge result;
  result.knowledge = judge(quantities, followed->information, elsewhere, limit);
  result.seconds = times.time(times.steps - 1);
  // Of states alone: lost together, or not seen at all.
  const Knowledge& k = result.knowledge;
  const auto follow = [&](const Vector& direction) {
    const Vector end =
        scale.cwiseInverse().cwiseProduct(followed->transition * scale.cwiseProduct(direction));
    result.left.push_back(end.norm() / direction.norm());
  };
  const auto is_state = [&](int q) {
    return k.quantities[static_cast<std::size_t>(q)].what == UnknownQuantity::What::state;
  };
  for (const Entangled& e : k.entangled) {
    if (!std::all_of(e.parts.begin(), e.parts.end(), is_state)) continue;
    Matrix own = Matrix::Zero(scale.size(), k.lost.cols());
    for (int q : e.parts) own.row(q) = k.lost.row(q);
    const Singular svd = singular(own);
    for (std::size_t d = 0; d < e.parts.size() - e.known.size(); ++d)
      follow(svd.u.col(static_cast<Eigen::Index>(d)));
  }
  for (std::size_t q = 0; q < k.how.size(); ++q)
    if (k.how[q] == Knowledge::How::not_at_all && is_state(static_cast<int>(q)))
      follow(Vector::Unit(scale.size(), static_cast<Eigen::Index>(q)));
  return result;
}

}  // namespace tellegen
