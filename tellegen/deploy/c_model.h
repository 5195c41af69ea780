// A model on its way to C: what the files of an export have in common.
#pragma once

#include <string>
#include <vector>

#include "tellegen/deploy/c_parameters.h"
#include "tellegen/deploy/zip_file.h"
#include "tellegen/program/single.h"
#include "tellegen/simulate/network_code.h"

namespace tellegen {

struct CModel {
  const Model& model;
  Simulation& simulation;
  std::string name;  // of files and functions
  StepCode code;
  CParameters parameters;
  std::vector<std::string> outputs, inputs;  // members
  std::vector<double> first;                 // outputs at t = 0
  std::vector<StepTables> tables = {};       // of each part, where these are no procedures
  std::vector<Reals> reals = {};             // of each part, in single precision; in double there are none

  const Problem& problem() const { return simulation.problem(); }
  const StepCode::Part& last() const { return code.parts.back(); }
  bool settable() const { return !parameters.settings.empty(); }
  bool has_pivots(std::size_t part) const { return settable() && !code.parts[part].pivots.roots.empty(); }
  const ModelParameter& parameter(const CParameters::Setting& s) const {
    return model.parameters[static_cast<std::size_t>(s.parameter)];
  }
  bool by_tables() const { return !tables.empty(); }
  bool single() const { return !reals.empty(); }
  const char* real() const { return single() ? "float" : "double"; }
  const char* math() const { return single() ? "tellegen_single.h" : "tellegen_math.h"; }
  std::string number(double value) const;
  std::string reg(std::size_t part, std::int32_t r) const;  // in the state: s->w0[r]
  std::string registers(std::size_t part) const;            // as arguments
  std::string declared() const;                             // parameters of a procedure
  std::string part_prefix(std::size_t part) const;          // of its functions
  std::string part_file(std::size_t part) const;            // NAME_part0.c
  std::string pivot_file(std::size_t part) const;           // NAME_pivot0.c
  std::vector<std::string> sources() const;                 // files to compile
  std::string inputs_parameter() const;                     // ", const NAME_inputs* u", or nothing
  std::string input_unit(std::size_t input) const;
  double input_start(std::size_t input) const;
};

// Throws ModelError (T420) where the run is not made of equal steps.
CModel make_c_model(const Model& model, Simulation& simulation, const std::string& name, bool single = false,
                    bool fixed = false);

std::vector<ExportedFile> c_code_files(const CModel& m);  // all that is compiled, and what it includes

// The files, by subject.
std::string c_header(const CModel& m);          // NAME.h
std::string c_main_functions(const CModel& m);  // NAME.c
std::string c_part(const CModel& m, std::size_t part);
std::string c_pivots(const CModel& m, std::size_t part);
std::string c_numbers(const CModel& m);  // how registers follow from parameters

// Where there are events: what stands in the state, what stands before the functions, and these.
std::vector<std::string> c_event_headers(const CModel& m);  // that they need; included is the last
std::string c_event_state(const CModel& m);
std::string c_event_tables(const CModel& m);
std::string c_event_functions(const CModel& m);
std::size_t c_event_bytes(const CModel& m);

// Rows that the steps give in single precision, `stride` steps from one to the next; fewer where Newton's
// iteration does not converge.
std::vector<double> single_rows(const CModel& m, std::int64_t rows, std::int64_t stride);

// Throws ModelError (T420) where the steps that have been taken needed other pivots than the code has.
void refuse_other_pivots(const CModel& m);

// What belongs to an export beside the code.
struct CExport;
std::string c_test_vector(const CModel& m, std::int64_t steps, CExport& result);  // takes them
std::string c_replay(const CModel& m);
std::string c_cmake(const CModel& m);
std::string c_readme(const CModel& m, const CExport& result);

}  // namespace tellegen
