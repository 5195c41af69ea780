// Where to put sensors: which of many candidates tell most of a variable that cannot be measured.
//
// The model is linearised (at the end of its run), with its unknown inputs as states that wander, and
// discretised at the estimator's step. A Kalman filter that has run for long then knows the target up to a
// deviation that follows from Riccati's equation alone; no data are needed. The equation is solved by
// doubling: the map from one step's covariance to the next,
//
//   P -> H + A P (I + G P)^-1 A'        A: transition, G = C' R^-1 C, H: process noise
//
// keeps its form when it is applied twice, so k doublings are 2^k steps [Anderson 1978]. What is neither seen
// nor fades grows without bound (a direction v with A v = a v, |a| >= 1 and C v = 0): a choice that leaves
// the target such a part does not tell it, and what does not concern the target is left out beforehand.
//
// All choices are tried where there are at most 20 000 of them; otherwise the best single one, the best to
// join it, and so on, then exchanges of one for another as long as one improves.
//
// [Anderson 1978] Second-order convergent algorithms for the steady-state Riccati equation, Int. J.
// Control 28.
#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <vector>

#include "tellegen/model/model.h"
#include "tellegen/simulate/simulate.h"

namespace tellegen {

struct SensorCandidate {
  std::string name, unit;
  Expr value;          // in the model's full names
  double noise = 0.0;  // standard deviation, SI
};

struct PlacementOptions {
  int count = 1;
  std::vector<SensorCandidate> candidates;
  std::vector<SensorCandidate> beside = {};  // sensors that are there already, whatever is chosen
  OutputColumn target;
  std::vector<int> unknowns;           // in Model::unknowns
  double step = 0.0;                   // between readings
  double until = 0.0;                  // the run ends here; a model that is not linear is linearised there
  std::size_t shown = 10;              // choices that are kept
  std::int64_t most_choices = 20'000;  // so many are tried all
};

struct SensorChoice {
  std::vector<int> candidates;
  double deviation = 0.0;  // of the target, SI; infinite: it is not told
};

struct Placement {
  std::vector<SensorChoice> best;  // the best first
  double without = 0.0;            // with none of the candidates
  std::vector<double> alone;       // [candidate]: with this one only
  bool all_tried = false;
  std::int64_t tried = 0;
};

// Throws ModelError: T615 where there are fewer candidates than sensors to place, T616 where nothing disturbs
// the model, so that every choice would tell everything in the end; and as TwinModel does.
Placement place_sensors(const Model& model, const PlacementOptions& options);

// All node across variables, and the model's own sensors, without the target itself.
// Those without a noise of their own get `noise`, or, where that is 0, the largest of the model's sensors in
// the same unit. Throws ModelError (T612) where there is none.
std::vector<SensorCandidate> default_candidates(const Model& model, Expr target, double noise);

// The noise for a candidate that has none.
double candidate_noise(const Model& model, const std::string& name, const std::string& unit, double noise);

// A filter in the long run: x_next = A x + w, y = C x + v. `prior`: the covariance it begins with.
class LongRunCovariance {
 public:
  LongRunCovariance(Eigen::MatrixXd transition, Eigen::MatrixXd process, Eigen::MatrixXd prior);
  struct Answer {
    double deviation = 0.0;  // infinite where it never settles
    double order = 0.0;      // after a long time, to compare what never settles
  };
  // Of target'x just after a reading; `readings`: C, each row over its noise.
  Answer of(Eigen::VectorXd target, Eigen::MatrixXd readings) const;

 private:
  Eigen::MatrixXd transition_, process_, prior_;
};

// Process noise of a step from that of a second: the integral of e^(F s) Q e^(F's).
Eigen::MatrixXd process_of_step(const Eigen::MatrixXd& rates, const Eigen::MatrixXd& noise, double step);

}  // namespace tellegen
