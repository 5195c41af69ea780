// Filters, smoother and calibration against dense ones as textbooks write them, on the oracle's own
// discretised model; and samples of a sweep against single runs.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unsupported/Eigen/MatrixFunctions>

#include "tellegen/calibrate/calibrate.h"
#include "tellegen/estimate/estimate.h"
#include "tellegen/model/read.h"
#include "tests/differential/oracle.h"
#include "tests/differential/property.h"
#include "tests/differential/subject.h"

namespace differential {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// x' = A x + b + B u, y = H x + g + G u: states are those variables that have an initial value.
struct Plant {
  std::vector<std::string> states, sensors;
  MatrixXd A, H;
  VectorXd b, B, g, G, start;
};

double field(const std::string& table, const std::string& key, double fallback) {
  const std::size_t at = table.find(key + " = ");
  return at == std::string::npos ? fallback : std::atof(table.c_str() + at + key.size() + 3);
}

Draft with_input(Draft draft, const std::string& value) {
  for (auto& [name, text] : draft.inputs) text = value;
  return draft;
}

Plant plant_of(const Draft& draft) {
  Plant plant;
  VectorXd offset[2];
  VectorXd reading[2];
  for (const int u : {0, 1}) {
    const Tableau tableau = read_tableau(with_input(draft, u ? "1" : "0").text(), true);
    LinearOracle oracle(tableau, 1.0);
    const LinearOracle::Segment& s = oracle.segment(0);
    const int n = tableau.size(), r = static_cast<int>(tableau.initial.size());
    const int extra = static_cast<int>(s.exogenous.size());
    if (r + extra != s.V.cols()) throw OracleError("storage that is no state");
    MatrixXd forms(r, n);
    plant.start.resize(r);
    plant.states.clear();
    for (int k = 0; k < r; ++k) {
      const auto& given = tableau.initial[static_cast<std::size_t>(k)];
      for (int c = 0; c < n; ++c) forms(k, c) = value_at(*given.variable, VectorXd::Unit(n, c), {}, 0.0);
      plant.start[k] = given.value;
      plant.states.push_back(given.name);
    }
    MatrixXd T(r + extra, r + extra);
    T << forms * s.V.topRows(n), s.V.bottomRows(extra);
    const MatrixXd inverse = T.inverse();
    const MatrixXd all = T * s.J * inverse;
    plant.A = all.topLeftCorner(r, r);
    offset[u] = all.col(r).head(r);  // of the constant 1
    plant.sensors.clear();
    const int m = static_cast<int>(draft.sensors.size());
    plant.H.resize(m, r);
    reading[u].resize(m);
    for (int k = 0; k < m; ++k) {
      const std::string& name = draft.sensors[static_cast<std::size_t>(k)].first;
      plant.sensors.push_back(name);
      const TreePtr tree = tableau.parse(name);
      VectorXd form(n);
      for (int c = 0; c < n; ++c) form[c] = value_at(*tree, VectorXd::Unit(n, c), {}, 0.0);
      const Eigen::RowVectorXd row = form.transpose() * s.V.topRows(n) * inverse;
      plant.H.row(k) = row.head(r);
      reading[u][k] = row[r];
    }
  }
  plant.b = offset[0];
  plant.B = offset[1] - offset[0];
  plant.g = reading[0];
  plant.G = reading[1] - reading[0];
  return plant;
}

struct Row {
  VectorXd mean, deviation;
};

// x, 1, u, du over a step in which u is linear.
MatrixXd flow_of(const Plant& plant, double step) {
  const auto n = plant.A.rows();
  MatrixXd big = MatrixXd::Zero(n + 3, n + 3);
  big.topLeftCorner(n, n) = plant.A;
  big.col(n).head(n) = plant.b;
  big.col(n + 1).head(n) = plant.B;
  big(n + 1, n + 2) = 1.0;
  return (big * step).exp();
}

// The textbook's filter, readings all at once; u is linear between rows. `steady`: with the gain that belongs
// to the limit of the predicted covariance when all sensors read.
struct Textbook {
  std::vector<Row> filtered, smoothed;
};
Textbook kalman(const Plant& plant, const MatrixXd& P0, const VectorXd& q, const VectorXd& noise, double step,
                const std::vector<double>& u, const std::vector<VectorXd>& readings, bool steady = false) {
  const int n = static_cast<int>(plant.A.rows()), m = static_cast<int>(plant.H.rows());
  const MatrixXd flow = flow_of(plant, step);
  const MatrixXd Phi = flow.topLeftCorner(n, n);
  VectorXd x = plant.start;
  MatrixXd P = P0, limit;
  if (steady) {
    const MatrixXd R = noise.cwiseAbs2().asDiagonal();
    limit = q.asDiagonal();
    double change = 1.0;
    for (int k = 0; k < 200000 && change > 1e-13; ++k) {
      const MatrixXd K = limit * plant.H.transpose() * (plant.H * limit * plant.H.transpose() + R).inverse();
      MatrixXd next = Phi * (limit - K * plant.H * limit) * Phi.transpose();
      next.diagonal() += q;
      change = (next - limit).cwiseAbs().maxCoeff() / next.cwiseAbs().maxCoeff();
      limit = 0.5 * (next + next.transpose());
    }
    if (!(change <= 1e-13)) throw OracleError("the gain does not settle");
  }
  Textbook result;
  std::vector<VectorXd> x_minus, x_plus;
  std::vector<MatrixXd> P_minus, P_plus;
  for (std::size_t row = 0; row < readings.size(); ++row) {
    if (row > 0) {
      VectorXd z(n + 3);
      z << x, 1.0, u[row - 1], (u[row] - u[row - 1]) / step;
      x = (flow * z).head(n);
      P = Phi * P * Phi.transpose();
      P.diagonal() += q;
    }
    if (steady) P = limit;
    x_minus.push_back(x);
    P_minus.push_back(P);
    std::vector<int> there;
    for (int s = 0; s < m; ++s)
      if (std::isfinite(readings[row][s])) there.push_back(s);
    const int k = static_cast<int>(there.size());
    if (k > 0) {
      MatrixXd H(k, n);
      VectorXd innovation(k);
      MatrixXd R = MatrixXd::Zero(k, k);
      for (int i = 0; i < k; ++i) {
        const int s = there[static_cast<std::size_t>(i)];
        H.row(i) = plant.H.row(s);
        innovation[i] = readings[row][s] - plant.H.row(s).dot(x) - plant.g[s] - plant.G[s] * u[row];
        R(i, i) = noise[s] * noise[s];
      }
      const MatrixXd S = H * P * H.transpose() + R;
      const MatrixXd K = P * H.transpose() * S.inverse();
      x += K * innovation;
      P = ((MatrixXd::Identity(n, n) - K * H) * P).eval();
      P = (0.5 * (P + P.transpose())).eval();
    }
    if (steady) {  // as if all had read
      const MatrixXd R = noise.cwiseAbs2().asDiagonal();
      P = limit - limit * plant.H.transpose() * (plant.H * limit * plant.H.transpose() + R).inverse() *
                      plant.H * limit;
    }
    x_plus.push_back(x);
    P_plus.push_back(P);
    result.filtered.push_back({x, P.diagonal().cwiseMax(0.0).cwiseSqrt()});
  }
  if (steady) return result;
  result.smoothed = result.filtered;
  VectorXd xs = x_plus.back();
  MatrixXd Ps = P_plus.back();
  for (std::size_t row = readings.size() - 1; row-- > 0;) {
    const MatrixXd C = P_plus[row] * Phi.transpose() * P_minus[row + 1].inverse();
    xs = (x_plus[row] + C * (xs - x_minus[row + 1])).eval();
    Ps = (P_plus[row] + C * (Ps - P_minus[row + 1]) * C.transpose()).eval();
    result.smoothed[row] = {xs, Ps.diagonal().cwiseMax(0.0).cwiseSqrt()};
  }
  return result;
}

tellegen::Model read(const std::string& text) {
  tellegen::ReadOptions options;
  options.library = TELLEGEN_SOURCE_DIR "/library";
  return tellegen::read_model_text(text, "random.toml", options);
}

// Readings of the oracle's model with noise; some are lost.
struct Data {
  std::vector<double> u;
  std::vector<VectorXd> readings;
};
Data data_of(const Plant& plant, const VectorXd& noise, double step, int rows, double loss, Random& random) {
  const int n = static_cast<int>(plant.A.rows());
  const MatrixXd flow = flow_of(plant, step);
  Data data;
  VectorXd x = plant.start;
  for (int row = 0; row < rows; ++row) {
    data.u.push_back(random.between(0, 3));
    if (row > 0) {
      VectorXd z(n + 3);
      const std::size_t r = static_cast<std::size_t>(row);
      z << x, 1.0, data.u[r - 1], (data.u[r] - data.u[r - 1]) / step;
      x = (flow * z).head(n);
    }
    VectorXd y = plant.H * x + plant.g + plant.G * data.u.back();
    for (int s = 0; s < y.size(); ++s) {
      y[s] += noise[s] * random.normal();
      if (random.chance(loss)) y[s] = std::numeric_limits<double>::quiet_NaN();
    }
    data.readings.push_back(y);
  }
  return data;
}

tellegen::Record record_of(const tellegen::Model& model, const Draft& draft, const Data& data, double step) {
  tellegen::Record record;
  for (const auto& [name, value] : draft.sensors)
    for (std::size_t k = 0; k < model.outputs.size(); ++k)
      if (model.outputs[k].name == name) record.sensors.push_back(static_cast<int>(k));
  for (const auto& [name, value] : draft.inputs) record.inputs.push_back(name);
  record.step = step;
  record.steps = static_cast<std::int64_t>(data.readings.size());
  for (std::size_t r = 0; r < data.readings.size(); ++r) {
    for (int s = 0; s < data.readings[r].size(); ++s) record.readings.push_back(data.readings[r][s]);
    if (!record.inputs.empty()) record.given.push_back(data.u[r]);
  }
  return record;
}

Verdict check_calibration(const Draft& draft, const Plant& plant, const VectorXd& noise, Random& random,
                          double step) {
  Draft model = draft;
  model.unknowns.clear();
  std::vector<std::string> names{"R1", "C1"};
  std::vector<double> truth;
  for (const std::string& n : names)
    for (const auto& [name, value] : model.parameters)
      if (name == n) truth.push_back(std::atof(value.c_str()));
  if (truth.size() != 2) return {};
  const Data data = data_of(plant, noise, step, 60, 0.1, random);
  for (std::size_t k = 0; k < names.size(); ++k)
    model.unknowns.emplace_back(names[k],
                                "{ start = " + number_text(truth[k] * random.between(0.7, 1.4), 6) + " }");
  // Gauss-Newton with differences, on the oracle's model.
  const auto residuals = [&](const std::vector<double>& p) {
    Draft at = draft;
    at.unknowns.clear();
    for (std::size_t k = 0; k < names.size(); ++k)
      for (auto& [name, value] : at.parameters)
        if (name == names[k]) value = number_text(p[k], 17);
    const Plant here = plant_of(at);
    Random none(1);
    const int n = static_cast<int>(here.A.rows());
    const MatrixXd flow = flow_of(here, step);
    VectorXd x = here.start;
    std::vector<double> r;
    for (std::size_t row = 0; row < data.readings.size(); ++row) {
      if (row > 0) {
        VectorXd z(n + 3);
        z << x, 1.0, data.u[row - 1], (data.u[row] - data.u[row - 1]) / step;
        x = (flow * z).head(n);
      }
      const VectorXd y = here.H * x + here.g + here.G * data.u[row];
      for (int s = 0; s < y.size(); ++s)
        if (std::isfinite(data.readings[row][s])) r.push_back((y[s] - data.readings[row][s]) / noise[s]);
    }
    return VectorXd(Eigen::Map<VectorXd>(r.data(), static_cast<long>(r.size())));
  };
  const auto slopes = [&](const std::vector<double>& at) {
    MatrixXd slope;
    for (int k = 0; k < 2; ++k) {
      std::vector<double> up = at, down = at;
      const auto i = static_cast<std::size_t>(k);
      up[i] *= 1 + 1e-5;
      down[i] *= 1 - 1e-5;
      const VectorXd above = residuals(up), below = residuals(down);
      if (k == 0) slope.resize(above.size(), 2);
      if (above.size() != slope.rows() || below.size() != slope.rows())
        throw OracleError("the plant loses a state");
      slope.col(k) = (above - below) / (2e-5 * at[i]);
    }
    return slope;
  };
  std::vector<double> p = truth;
  MatrixXd J;
  bool settled = false;
  for (int iteration = 0; iteration < 50 && !settled; ++iteration) {
    const VectorXd r = residuals(p);
    J = slopes(p);
    if (J.rows() != r.size()) return unknown("oracle: the plant loses a state");
    const VectorXd change = J.colPivHouseholderQr().solve(r);
    if (!change.allFinite()) return unknown("oracle: least squares");
    for (std::size_t k = 0; k < 2; ++k) p[k] = std::max(p[k] - change[static_cast<int>(k)], 0.2 * p[k]);
    settled = change.cwiseAbs().maxCoeff() < 1e-9;
  }
  if (!settled) return unknown("oracle: least squares does not settle");
  const MatrixXd covariance = (J.transpose() * J).inverse();
  if (!covariance.allFinite() || covariance(0, 0) > truth[0] * truth[0] ||
      covariance(1, 1) > truth[1] * truth[1])
    return unknown("readings do not determine R1 and C1");
  const tellegen::Model read_in = read(model.text());
  tellegen::CalibrationOptions options = tellegen::calibration_options();
  options.integration.compile = false;
  const auto record = record_of(read_in, model, data, step);
  const tellegen::CalibrationResult found = calibrate(read_in, record, {}, options);
  const tellegen::StageResult& stage = found.stages.back();
  if (!stage.failure.empty()) return refused("calibrate: " + stage.failure.substr(0, 40));
  std::vector<double> calibrated = p;
  for (const auto& parameter : stage.parameters)
    calibrated[read_in.parameters[static_cast<std::size_t>(parameter.parameter)].name == names[0] ? 0 : 1] =
        parameter.after;
  // Deviations belong to the point they are found at: where one is as large as its number, a twentieth of it
  // to the side it is another by as much.
  J = slopes(calibrated);
  const MatrixXd there = (J.transpose() * J).inverse();
  const bool as_good = residuals(calibrated).squaredNorm() <= residuals(p).squaredNorm() + 1e-6;
  for (const auto& parameter : stage.parameters) {
    const std::string& name = read_in.parameters[static_cast<std::size_t>(parameter.parameter)].name;
    const std::size_t k = name == names[0] ? 0 : 1;
    const double deviation = std::sqrt(covariance(static_cast<int>(k), static_cast<int>(k)));
    if (std::abs(parameter.after - p[k]) > 0.05 * deviation && as_good)
      return unknown("oracle: another minimum of least squares");
    if (std::abs(parameter.after - p[k]) > 0.05 * deviation)
      return failed("calibrate is elsewhere than least squares", p[k], parameter.after, name);
    const double own = std::sqrt(there(static_cast<int>(k), static_cast<int>(k))) * stage.inflation;
    if (std::abs(parameter.deviation - own) <= 0.02 * own) continue;
    // Where R1 and C1 are hard to tell apart, a deviation has the error of the steps many times over.
    options.integration.step = step / 16;
    const tellegen::CalibrationResult finer = calibrate(read_in, record, {}, options);
    for (const auto& again : finer.stages.back().parameters)
      if (again.parameter == parameter.parameter &&
          !(std::abs(again.deviation - own) <= 0.5 * std::abs(parameter.deviation - own)))
        return failed("calibrate: a standard deviation is wrong", own, parameter.deviation, name);
  }
  Verdict v;
  v.checks = 2;
  return v;
}

}  // namespace

Verdict check_filters(const Draft& draft) {
  Random random(draft.seed);
  try {
    Plant plant = plant_of(draft);
    const int n = static_cast<int>(plant.A.rows());
    const double step = random.pick(std::vector<double>{0.05, 0.1, 0.3});
    VectorXd noise(static_cast<int>(draft.sensors.size()));
    for (std::size_t s = 0; s < draft.sensors.size(); ++s)
      noise[static_cast<int>(s)] = field(draft.sensors[s].second, "noise", 1.0);
    VectorXd deviation = VectorXd::Zero(n), q = VectorXd::Zero(n);
    for (const auto& [name, table] : draft.estimate)
      for (int k = 0; k < n; ++k)
        if (plant.states[static_cast<std::size_t>(k)] == name) {
          deviation[k] = field(table, "deviation", 0.0);
          q[k] = std::pow(field(table, "noise", 0.0), 2) * step;
        }
    int checks = 0;
    if (random.chance(0.2) && draft.parameters.size() >= 2) {
      const Verdict v = check_calibration(draft, plant, noise, random, step);
      if (v.what == Verdict::What::failed) return v;
      checks += v.checks;
    }
    // An unknown source is one more state that walks.
    Plant grown = plant;
    const bool unknown_source = !draft.unknowns.empty();
    if (unknown_source) {
      double value = 0.0;
      Draft more = draft;
      for (auto& [name, text] : more.parameters)
        if (name == "Q0") {
          value = std::atof(text.c_str());
          text = number_text(value + 1.0, 17);
        }
      const Plant other = plant_of(more);
      grown.A = MatrixXd::Zero(n + 1, n + 1);
      grown.A.topLeftCorner(n, n) = plant.A;
      grown.A.col(n).head(n) = other.b - plant.b;
      grown.b = VectorXd::Zero(n + 1);
      grown.b.head(n) = plant.b - value * (other.b - plant.b);
      grown.B = VectorXd::Zero(n + 1);
      grown.B.head(n) = plant.B;
      grown.H = MatrixXd::Zero(plant.H.rows(), n + 1);
      grown.H.leftCols(n) = plant.H;
      grown.H.col(n) = other.g - plant.g;
      grown.g = plant.g - value * (other.g - plant.g);
      grown.start.conservativeResize(n + 1);
      grown.start[n] = value;
      grown.states.push_back("Q0");
      deviation.conservativeResize(n + 1);
      q.conservativeResize(n + 1);
      deviation[n] = field(draft.unknowns[0].second, "deviation", 1.0);
      q[n] = std::pow(field(draft.unknowns[0].second, "walk", 0.0), 2) * step;
    }
    const Data data = data_of(plant, noise, step, 40, 0.15, random);
    const MatrixXd P0 = deviation.cwiseAbs2().asDiagonal();
    const tellegen::Model model = read(draft.text());
    const tellegen::Record record = record_of(model, draft, data, step);
    const bool compiled = random.chance(0.03);
    for (const std::string estimator : {"kf", "ekf", "pkf", "ukf", "steady"}) {
      tellegen::EstimateOptions options;
      options.estimator = estimator;
      options.smooth = (estimator == "kf" || estimator == "ekf") && random.chance(0.5);
      options.compile = compiled;
      const Textbook want = kalman(grown, P0, q, noise, step, data.u, data.readings, estimator == "steady");
      options.anyway = true;
      const tellegen::Estimate got = estimate(model, record, options);
      if (!got.failure.empty()) return refused("estimate: " + got.failure.substr(0, 40));
      const std::size_t width = got.quantities.size();
      for (std::size_t k = 0; k < grown.states.size(); ++k) {
        std::size_t at = 0;
        // A state may be reported as the node's variable.
        while (at < width && got.quantities[at].name != grown.states[k] &&
               got.quantities[at].name !=
                   "n" + grown.states[k].substr(1, grown.states[k].find('.') - 1) + ".T" &&
               got.quantities[at].name !=
                   "n" + grown.states[k].substr(1, grown.states[k].find('.') - 1) + ".v")
          ++at;
        if (at == width)
          return failed(estimator + " does not report a state", grown.states[k], "nothing", "");
        for (std::size_t row = 0; row < got.t.size(); ++row)
          for (const bool smooth : {false, true}) {
            if (smooth && !options.smooth) continue;
            const Row& expected = smooth ? want.smoothed[row] : want.filtered[row];
            const double mean = (smooth ? got.smooth : got.mean)[row * width + at];
            const double sd = (smooth ? got.smooth_deviation : got.deviation)[row * width + at];
            const int i = static_cast<int>(k);
            const std::string where =
                grown.states[k] + " in row " + std::to_string(row) + (smooth ? ", smoothed" : "");
            if (!(std::abs(mean - expected.mean[i]) <= 1e-6 * (1 + std::abs(expected.mean[i]))))
              return failed(estimator + (smooth ? ": smoothed mean" : ": mean"), expected.mean[i], mean,
                            where);
            if (!(std::abs(sd - expected.deviation[i]) <= 1e-6 * (1 + expected.deviation[i])))
              return failed(estimator + (smooth ? ": smoothed deviation" : ": deviation"),
                            expected.deviation[i], sd, where);
            ++checks;
          }
      }
    }
    Verdict v;
    v.checks = checks;
    return v;
  } catch (const OracleError& error) {
    return unknown(std::string("oracle: ") + error.what());
  } catch (const tellegen::ModelError& error) {
    return refused(error.faults().empty() ? "no reason" : error.faults()[0].code);
  }
}

}  // namespace differential
