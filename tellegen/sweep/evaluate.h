// One sample of a study: a model with these numbers, run, and what came out of it.
//
// Where only numbers differ, a model is read and built once for each thread (runner.h). Where that will not
// do, a sample reads it anew: a pool of expressions only grows, belongs to one thread, and orders sums by the
// age of their terms, so in a pool with a history the last digits would depend on the samples that went
// before, and a study on two cores or after a restart would not repeat to the last bit.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tellegen/model/analyses.h"
#include "tellegen/sensitivity/study.h"
#include "tellegen/simulate/simulate.h"
#include "tellegen/sweep/faster.h"
#include "tellegen/sweep/run_samples.h"
#include "tellegen/sweep/runner.h"
#include "tellegen/sweep/samples.h"

namespace tellegen {

struct ResultColumn {
  std::string name, unit;  // empty unit: SI
};

struct SampleTask {
  std::function<Model()> read;  // a model of one's own, from any thread
  // Where a number decides about the model's text: the model of these (SI), in the order of the axes.
  std::function<Model(std::span<const double>)> read_at = {};
  std::vector<Axis> axes;                              // their names and units
  std::vector<std::string> objectives = {};            // names of the model's
  std::vector<std::string> outputs = {};               // formulas whose value at the end of a run is taken
  std::shared_ptr<const Analyses> measures = {};       // of a netlist, each a result; null: none
  SimulationOptions simulation = as_the_model_says();  // over the model's own; `compile`: where it is faster
  std::shared_ptr<FasterExecution> faster = std::make_shared<FasterExecution>();
  std::shared_ptr<SampleRunners> runners = std::make_shared<SampleRunners>();
};

// The names and units of the results. Throws ModelError where a name or a setting is wrong: told before any
// sample is run. Where neither objectives nor outputs are given they are the model's objectives or, without
// those, its sensors and outputs.
std::vector<ResultColumn> check_task(Model& model, SampleTask& task);

// What is wrong with one sample is told in its status; nothing is thrown.
SampleOutcome evaluate_sample(const SampleTask& task, std::span<const double> numbers);

// The same for several samples, side by side where that can be.
std::vector<SampleOutcome> evaluate_samples(const SampleTask& task,
                                            std::span<const std::span<const double>> samples);

// How run_samples() evaluates these; both must outlive the loop.
SampleLoop sample_loop(const SampleTask& task, const SampleSet& samples);

// A hash of everything the model was read from: its file, its kinds and its tables.
std::string model_fingerprint(const Model& model);

}  // namespace tellegen
