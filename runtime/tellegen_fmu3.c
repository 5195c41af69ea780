/* The functions of FMI 3.0 for a model: co-simulation, and model exchange where it has it. */
#include "tellegen_fmi3.h"
#include "tellegen_fmu.h"

static void fmu_report(fmu_instance* fmu, int error, const char* message) {
  /* A pointer to a function travels as bytes: C has no cast for it. */
  fmi3LogMessageCallback log;
  memcpy(&log, &fmu->logger, sizeof log);
  if (log && (error || fmu->logging))
    log(fmu->environment, error ? fmi3Error : fmi3OK, error ? "logStatusError" : "logEvents", message);
}

static fmi3Status done(int good) { return good ? fmi3OK : fmi3Error; }

#define FUNCTION(name, ...) FMI3_EXPORT fmi3Status FMI3(name)(fmi3Instance instance, __VA_ARGS__)
#define OWN fmu_instance* fmu = (fmu_instance*)instance

FMI3_EXPORT const char* FMI3(GetVersion)(void) { return "3.0"; }

FUNCTION(SetDebugLogging, fmi3Boolean on, size_t count, const fmi3String categories[]) {
  size_t k;
  OWN;
  fmu->logging = on && count == 0;
  for (k = 0; k < count; ++k) {
    if (strcmp(categories[k], "logEvents") == 0)
      fmu->logging = on;
    else if (strcmp(categories[k], "logStatusError") != 0)
      return done(fmu_refuse(fmu, "there is no log category '%s'", categories[k]));
  }
  return fmi3OK;
}

/* An instance, or 0 and the reason in the importer's log. */
static fmu_instance* new_instance(fmi3String name, fmi3String token, int exchange, fmi3Boolean logging,
                                  fmi3InstanceEnvironment environment, fmi3LogMessageCallback log) {
  const char* why;
  fmu_instance* fmu = fmu_new(name, token, exchange, &why);
  if (!fmu) {
    if (log) log(environment, fmi3Error, "logStatusError", why);
    return 0;
  }
  fmu->environment = environment;
  fmu->logging = logging;
  memcpy(&fmu->logger, &log, sizeof log);
  return fmu;
}

/* Intermediate update mode at the end of a step: inputs set there hold from the next step on. */
static double call_importer(fmu_instance* fmu, double to) {
  const double now = fmu->now.values[0];
  fmi3IntermediateUpdateCallback update;
  fmi3Boolean requested = fmi3False;
  fmi3Float64 until = to;
  memcpy(&update, &fmu->importer_update, sizeof update);
  update(fmu->environment, now, FMU_INPUTS > 0, fmi3True, fmi3True, fmu->early_return != 0, &requested,
         &until);
  return requested && fmu->early_return ? until : to;
}

FMI3_EXPORT fmi3Instance FMI3(InstantiateCoSimulation)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3Boolean events, fmi3Boolean early_return, const fmi3ValueReference intermediate[],
    size_t intermediates, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3IntermediateUpdateCallback update) {
  fmu_instance* fmu = new_instance(name, token, 0, logging, environment, log);
  size_t k;
  int good = fmu != 0;
  (void)resources, (void)visible;
  if (!fmu) return 0;
  if (events) good = fmu_refuse(fmu, "co-simulation has no event mode");
  /* An estimator takes readings once a row: there is nothing to see in between. */
  if (good && intermediates > 0 && FMU_READINGS > 0)
    good = fmu_refuse(fmu, "an estimator has no intermediate variables");
  for (k = 0; good && k < intermediates; ++k) good = fmu_is_variable(fmu, intermediate[k]);
  if (!good) {
    fmu_free(fmu);
    return 0;
  }
  fmu->early_return = early_return;
  if (update && FMU_READINGS == 0) {
    memcpy(&fmu->importer_update, &update, sizeof update);
    fmu->each_step = call_importer;
  }
  return fmu;
}

FMI3_EXPORT fmi3Instance FMI3(InstantiateModelExchange)(fmi3String name, fmi3String token,
                                                        fmi3String resources, fmi3Boolean visible,
                                                        fmi3Boolean logging,
                                                        fmi3InstanceEnvironment environment,
                                                        fmi3LogMessageCallback log) {
  (void)resources, (void)visible;
  return new_instance(name, token, 1, logging, environment, log);
}

FMI3_EXPORT void FMI3(FreeInstance)(fmi3Instance instance) { fmu_free((fmu_instance*)instance); }

FUNCTION(EnterInitializationMode, fmi3Boolean tolerance_defined, fmi3Float64 tolerance, fmi3Float64 start,
         fmi3Boolean stop_defined, fmi3Float64 stop) {
  (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
  return done(fmu_begin((fmu_instance*)instance, start, __func__));
}
FMI3_EXPORT fmi3Status FMI3(ExitInitializationMode)(fmi3Instance instance) {
  return done(fmu_begun((fmu_instance*)instance, __func__));
}
FMI3_EXPORT fmi3Status FMI3(Terminate)(fmi3Instance instance) {
  return done(fmu_terminate((fmu_instance*)instance, __func__));
}
FMI3_EXPORT fmi3Status FMI3(Reset)(fmi3Instance instance) {
  OWN;
  if (!fmu_in(fmu, ~(1 << FMU_INTERMEDIATE), __func__)) return fmi3Error;
  fmu_start(&fmu->now, fmu->now.exchange);
  return fmi3OK;
}

FUNCTION(GetFloat64, const fmi3ValueReference references[], size_t count, fmi3Float64 values[], size_t size) {
  OWN;
  return done(fmu_has_size(fmu, __func__, size, count) && fmu_get(fmu, references, count, values));
}
FUNCTION(SetFloat64, const fmi3ValueReference references[], size_t count, const fmi3Float64 values[],
         size_t size) {
  OWN;
  return done(fmu_has_size(fmu, __func__, size, count) && fmu_set(fmu, references, count, values, __func__));
}

/* There are no variables of other types. */
static fmi3Status no_variables(fmi3Instance instance, size_t count, const char* function) {
  return done(count == 0 || fmu_refuse((fmu_instance*)instance, "%s: all variables are Float64", function));
}
#define NO_VARIABLES(type)                                                                                  \
  FUNCTION(Get##type, const fmi3ValueReference references[], size_t count, fmi3##type values[], size_t n) { \
    (void)references, (void)values, (void)n;                                                                \
    return no_variables(instance, count, __func__);                                                         \
  }                                                                                                         \
  FUNCTION(Set##type, const fmi3ValueReference references[], size_t count, const fmi3##type values[],       \
           size_t n) {                                                                                      \
    (void)references, (void)values, (void)n;                                                                \
    return no_variables(instance, count, __func__);                                                         \
  }
NO_VARIABLES(Float32)
NO_VARIABLES(Int8)
NO_VARIABLES(UInt8)
NO_VARIABLES(Int16)
NO_VARIABLES(UInt16)
NO_VARIABLES(Int32)
NO_VARIABLES(UInt32)
NO_VARIABLES(Int64)
NO_VARIABLES(UInt64)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)
FUNCTION(GetBinary, const fmi3ValueReference references[], size_t count, size_t sizes[], fmi3Binary values[],
         size_t n) {
  (void)references, (void)sizes, (void)values, (void)n;
  return no_variables(instance, count, __func__);
}
FUNCTION(SetBinary, const fmi3ValueReference references[], size_t count, const size_t sizes[],
         const fmi3Binary values[], size_t n) {
  (void)references, (void)sizes, (void)values, (void)n;
  return no_variables(instance, count, __func__);
}
FUNCTION(GetClock, const fmi3ValueReference references[], size_t count, fmi3Clock values[]) {
  (void)references, (void)values;
  return no_variables(instance, count, __func__);
}
FUNCTION(SetClock, const fmi3ValueReference references[], size_t count, const fmi3Clock values[]) {
  (void)references, (void)values;
  return no_variables(instance, count, __func__);
}

FUNCTION(GetFMUState, fmi3FMUState* state) {
  return done(fmu_get_state((fmu_instance*)instance, state, __func__));
}
FUNCTION(SetFMUState, fmi3FMUState state) {
  return done(fmu_set_state((fmu_instance*)instance, state, __func__));
}
FUNCTION(FreeFMUState, fmi3FMUState* state) {
  (void)instance;
  if (state) free(*state), *state = 0;
  return fmi3OK;
}
FUNCTION(SerializedFMUStateSize, fmi3FMUState state, size_t* size) {
  (void)instance, (void)state;
  *size = sizeof(fmu_data);
  return fmi3OK;
}
FUNCTION(SerializeFMUState, fmi3FMUState state, fmi3Byte bytes[], size_t size) {
  return done(fmu_write_state((fmu_instance*)instance, state, bytes, size));
}
FUNCTION(DeserializeFMUState, const fmi3Byte bytes[], size_t size, fmi3FMUState* state) {
  return done(fmu_read_state((fmu_instance*)instance, bytes, size, state));
}

FMI3_EXPORT fmi3Status FMI3(EnterStepMode)(fmi3Instance instance) {
  return done(
      fmu_refuse((fmu_instance*)instance, "%s: co-simulation has no event mode to come from", __func__));
}
FUNCTION(DoStep, fmi3Float64 from, fmi3Float64 length, fmi3Boolean no_going_back, fmi3Boolean* event,
         fmi3Boolean* terminate, fmi3Boolean* early, fmi3Float64* reached) {
  int status;
  OWN;
  (void)no_going_back;
  *event = *terminate = *early = fmi3False;
  *reached = fmu->now.values[0];
  status = fmu_step(fmu, from, length, __func__);
  *reached = fmu->now.values[0];
  *terminate = status == 2;
  *early = (status == 0 || status == 2) && fmu->early_return && *reached < from + length;
  return done(status == 0 || status == 2);
}

/* Model exchange. */
#define IN(phases) fmu_in_exchange(fmu, phases, __func__)
#define ANY_PHASE (~0)
#define EVALUATED (1 << FMU_INITIALIZING | 1 << FMU_EVENT | 1 << FMU_CONTINUOUS | 1 << FMU_TERMINATED)

FMI3_EXPORT fmi3Status FMI3(EnterEventMode)(fmi3Instance instance) {
  OWN;
  if (!IN(1 << FMU_CONTINUOUS)) return fmi3Error;
  fmu->now.phase = FMU_EVENT;
  return fmi3OK;
}
FMI3_EXPORT fmi3Status FMI3(EnterContinuousTimeMode)(fmi3Instance instance) {
  OWN;
  if (!IN(1 << FMU_EVENT)) return fmi3Error;
  fmu->now.phase = FMU_CONTINUOUS;
  return fmi3OK;
}
FUNCTION(UpdateDiscreteStates, fmi3Boolean* again, fmi3Boolean* terminate, fmi3Boolean* nominals,
         fmi3Boolean* values, fmi3Boolean* time_defined, fmi3Float64* time) {
  int over = 0, restart = 0;
  double next = INFINITY;
  OWN;
  if (!IN(1 << FMU_EVENT) || !fmu_update(fmu, &over, &restart, &next)) return fmi3Error;
  *again = *nominals = fmi3False;
  *values = restart != 0;
  *terminate = over != 0;
  *time_defined = next < INFINITY;
  *time = *time_defined ? next : 0.0;
  return fmi3OK;
}
FUNCTION(CompletedIntegratorStep, fmi3Boolean no_going_back, fmi3Boolean* event, fmi3Boolean* terminate) {
  OWN;
  (void)no_going_back;
  *event = *terminate = fmi3False;
  return done(IN(1 << FMU_CONTINUOUS));
}
FUNCTION(SetTime, fmi3Float64 time) { return done(fmu_set_time((fmu_instance*)instance, time, __func__)); }
FUNCTION(SetContinuousStates, const fmi3Float64 states[], size_t count) {
  return done(fmu_set_states((fmu_instance*)instance, states, count, __func__));
}
#define VALUES(name, first, size, computed)                                                               \
  FUNCTION(name, fmi3Float64 values[], size_t count) {                                                    \
    return done(fmu_get_values((fmu_instance*)instance, first, size, computed, values, count, __func__)); \
  }
VALUES(GetContinuousStateDerivatives, FMU_FIRST_RATE, FMU_STATES, 1)
VALUES(GetEventIndicators, FMU_FIRST_INDICATOR, FMU_INDICATORS, 1)
VALUES(GetContinuousStates, FMU_FIRST_STATE, FMU_STATES, 0)
FUNCTION(GetNominalsOfContinuousStates, fmi3Float64 nominals[], size_t count) {
  size_t k;
  OWN;
  if (!IN(EVALUATED) || !fmu_has_size(fmu, __func__, count, FMU_STATES)) return fmi3Error;
  for (k = 0; k < count; ++k) nominals[k] = fmu_state_nominal[k];
  return fmi3OK;
}
#define COUNT(name, size)                 \
  FUNCTION(name, size_t* count) {         \
    OWN;                                  \
    if (!IN(ANY_PHASE)) return fmi3Error; \
    *count = (size);                      \
    return fmi3OK;                        \
  }
COUNT(GetNumberOfEventIndicators, FMU_INDICATORS)
COUNT(GetNumberOfContinuousStates, FMU_STATES)
#define DERIVATIVE(name, adjoint)                                                                            \
  FUNCTION(name, const fmi3ValueReference unknowns[], size_t n, const fmi3ValueReference knowns[], size_t m, \
           const fmi3Float64 seed[], size_t seeds, fmi3Float64 sensitivity[], size_t size) {                 \
    OWN;                                                                                                     \
    return done(fmu_has_size(fmu, __func__, seeds, (adjoint) ? n : m) &&                                     \
                fmu_has_size(fmu, __func__, size, (adjoint) ? m : n) &&                                      \
                fmu_derivative(fmu, adjoint, unknowns, n, knowns, m, seed, sensitivity, __func__));          \
  }
DERIVATIVE(GetDirectionalDerivative, 0)
DERIVATIVE(GetAdjointDerivative, 1)

/* What this FMU does not offer. */
static fmi3Status not_offered(fmi3Instance instance, const char* function) {
  return done(fmu_refuse((fmu_instance*)instance, "%s: this FMU does not offer it", function));
}
FMI3_EXPORT fmi3Instance FMI3(InstantiateScheduledExecution)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3ClockUpdateCallback clock,
    fmi3LockPreemptionCallback lock, fmi3UnlockPreemptionCallback unlock) {
  (void)name, (void)token, (void)resources, (void)visible, (void)logging;
  (void)clock, (void)lock, (void)unlock;
  if (log) log(environment, fmi3Error, "logStatusError", "this FMU has no scheduled execution");
  return 0;
}

#define REFUSED(name) \
  FMI3_EXPORT fmi3Status FMI3(name)(fmi3Instance instance) { return not_offered(instance, __func__); }
REFUSED(EnterConfigurationMode)
REFUSED(ExitConfigurationMode)
REFUSED(EvaluateDiscreteStates)

FUNCTION(GetNumberOfVariableDependencies, fmi3ValueReference reference, size_t* count) {
  (void)reference, (void)count;
  return not_offered(instance, __func__);
}
FUNCTION(GetVariableDependencies, fmi3ValueReference dependent, size_t elements[],
         fmi3ValueReference independents[], size_t independent_elements[], fmi3DependencyKind kinds[],
         size_t count) {
  (void)dependent, (void)elements, (void)independents, (void)independent_elements;
  (void)kinds, (void)count;
  return not_offered(instance, __func__);
}
FUNCTION(GetOutputDerivatives, const fmi3ValueReference references[], size_t count, const fmi3Int32 orders[],
         fmi3Float64 values[], size_t n) {
  (void)references, (void)count, (void)orders, (void)values, (void)n;
  return not_offered(instance, __func__);
}
FUNCTION(GetIntervalDecimal, const fmi3ValueReference references[], size_t count, fmi3Float64 intervals[],
         fmi3IntervalQualifier qualifiers[]) {
  (void)references, (void)count, (void)intervals, (void)qualifiers;
  return not_offered(instance, __func__);
}
FUNCTION(GetIntervalFraction, const fmi3ValueReference references[], size_t count, fmi3UInt64 counters[],
         fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[]) {
  (void)references, (void)count, (void)counters, (void)resolutions, (void)qualifiers;
  return not_offered(instance, __func__);
}
#define NO_CLOCK_DECIMAL(name, type)                                                    \
  FUNCTION(name, const fmi3ValueReference references[], size_t count, type numbers[]) { \
    (void)references, (void)count, (void)numbers;                                       \
    return not_offered(instance, __func__);                                             \
  }
NO_CLOCK_DECIMAL(GetShiftDecimal, fmi3Float64)
NO_CLOCK_DECIMAL(SetIntervalDecimal, const fmi3Float64)
NO_CLOCK_DECIMAL(SetShiftDecimal, const fmi3Float64)
#define NO_CLOCK_FRACTION(name, type)                                                                        \
  FUNCTION(name, const fmi3ValueReference references[], size_t count, type counters[], type resolutions[]) { \
    (void)references, (void)count, (void)counters, (void)resolutions;                                        \
    return not_offered(instance, __func__);                                                                  \
  }
NO_CLOCK_FRACTION(GetShiftFraction, fmi3UInt64)
NO_CLOCK_FRACTION(SetIntervalFraction, const fmi3UInt64)
NO_CLOCK_FRACTION(SetShiftFraction, const fmi3UInt64)
FUNCTION(ActivateModelPartition, fmi3ValueReference clock, fmi3Float64 time) {
  (void)clock, (void)time;
  return not_offered(instance, __func__);
}
