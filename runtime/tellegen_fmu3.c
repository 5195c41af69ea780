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
      return fmi3Error;
  }
  return fmi3OK;
}

FMI3_EXPORT fmi3Instance FMI3(InstantiateCoSimulation)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3Boolean events, fmi3Boolean early_return, const fmi3ValueReference intermediate[],
    size_t intermediates, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3IntermediateUpdateCallback update) {
  fmu_instance* fmu = fmu_new(name, token, 0);
  (void)resources, (void)visible, (void)early_return, (void)intermediate, (void)update;
  if (!fmu) {
    if (log)
      log(environment, fmi3Error, "logStatusError", "the token is of another model, or memory is short");
    return 0;
  }
  fmu->environment = environment;
  fmu->logging = logging;
  memcpy(&fmu->logger, &log, sizeof log);
  if (!events && intermediates == 0) return fmu;
  fmu_report(fmu, 1, "the model has no event mode and no intermediate variables");
  fmu_free(fmu);
  return 0;
}

FMI3_EXPORT fmi3Instance FMI3(InstantiateModelExchange)(fmi3String name, fmi3String token,
                                                        fmi3String resources, fmi3Boolean visible,
                                                        fmi3Boolean logging,
                                                        fmi3InstanceEnvironment environment,
                                                        fmi3LogMessageCallback log) {
  fmu_instance* fmu = fmu_new(name, token, 1);
  (void)resources, (void)visible;
  if (!fmu) {
    if (log)
      log(environment, fmi3Error, "logStatusError",
          "no model exchange, a token of another model, or memory is short");
    return 0;
  }
  fmu->environment = environment;
  fmu->logging = logging;
  memcpy(&fmu->logger, &log, sizeof log);
  return fmu;
}

FMI3_EXPORT void FMI3(FreeInstance)(fmi3Instance instance) { fmu_free((fmu_instance*)instance); }

FUNCTION(EnterInitializationMode, fmi3Boolean tolerance_defined, fmi3Float64 tolerance, fmi3Float64 start,
         fmi3Boolean stop_defined, fmi3Float64 stop) {
  (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
  return done(fmu_begin((fmu_instance*)instance, start));
}
FMI3_EXPORT fmi3Status FMI3(ExitInitializationMode)(fmi3Instance instance) {
  return done(fmu_begun((fmu_instance*)instance));
}
FMI3_EXPORT fmi3Status FMI3(Terminate)(fmi3Instance instance) {
  return done(fmu_terminate((fmu_instance*)instance));
}
FMI3_EXPORT fmi3Status FMI3(Reset)(fmi3Instance instance) {
  fmu_data* now = &((fmu_instance*)instance)->now;
  fmu_start(now, now->exchange);
  return fmi3OK;
}

FUNCTION(GetFloat64, const fmi3ValueReference references[], size_t count, fmi3Float64 values[], size_t size) {
  return done(count == size && fmu_get((fmu_instance*)instance, references, count, values));
}
FUNCTION(SetFloat64, const fmi3ValueReference references[], size_t count, const fmi3Float64 values[],
         size_t size) {
  return done(count == size && fmu_set((fmu_instance*)instance, references, count, values));
}

/* There are no variables of other types. */
#define NO_VARIABLES(type)                                                                                  \
  FUNCTION(Get##type, const fmi3ValueReference references[], size_t count, fmi3##type values[], size_t n) { \
    (void)instance, (void)references, (void)values;                                                         \
    return done(count == 0 && n == 0);                                                                      \
  }                                                                                                         \
  FUNCTION(Set##type, const fmi3ValueReference references[], size_t count, const fmi3##type values[],       \
           size_t n) {                                                                                      \
    (void)instance, (void)references, (void)values;                                                         \
    return done(count == 0 && n == 0);                                                                      \
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
  (void)instance, (void)references, (void)sizes, (void)values;
  return done(count == 0 && n == 0);
}
FUNCTION(SetBinary, const fmi3ValueReference references[], size_t count, const size_t sizes[],
         const fmi3Binary values[], size_t n) {
  (void)instance, (void)references, (void)sizes, (void)values;
  return done(count == 0 && n == 0);
}
FUNCTION(GetClock, const fmi3ValueReference references[], size_t count, fmi3Clock values[]) {
  (void)instance, (void)references, (void)values;
  return done(count == 0);
}
FUNCTION(SetClock, const fmi3ValueReference references[], size_t count, const fmi3Clock values[]) {
  (void)instance, (void)references, (void)values;
  return done(count == 0);
}

FUNCTION(GetFMUState, fmi3FMUState* state) { return done(fmu_get_state((fmu_instance*)instance, state)); }
FUNCTION(SetFMUState, fmi3FMUState state) { return done(fmu_set_state((fmu_instance*)instance, state)); }
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
  (void)instance;
  if (!state || size < sizeof(fmu_data)) return fmi3Error;
  memcpy(bytes, state, sizeof(fmu_data));
  return fmi3OK;
}
FUNCTION(DeserializeFMUState, const fmi3Byte bytes[], size_t size, fmi3FMUState* state) {
  (void)instance;
  if (size != sizeof(fmu_data)) return fmi3Error;
  if (!*state) *state = malloc(sizeof(fmu_data));
  if (!*state) return fmi3Error;
  memcpy(*state, bytes, sizeof(fmu_data));
  return fmi3OK;
}

FMI3_EXPORT fmi3Status FMI3(EnterStepMode)(fmi3Instance instance) {
  (void)instance;
  return fmi3Error; /* there is no event mode to come from */
}
FUNCTION(DoStep, fmi3Float64 from, fmi3Float64 length, fmi3Boolean no_going_back, fmi3Boolean* event,
         fmi3Boolean* terminate, fmi3Boolean* early, fmi3Float64* reached) {
  int status;
  OWN;
  (void)no_going_back;
  *event = *terminate = *early = fmi3False;
  *reached = fmu->now.values[0];
  if (length < 0.0) return fmi3Error;
  status = fmu_step(fmu, from + length);
  *reached = fmu->now.values[0];
  if (status == 2) *terminate = *early = fmi3True;
  return done(status == 0 || status == 2);
}

/* Model exchange. */
#define IN(phases) fmu_in(fmu, phases, __func__)
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
FUNCTION(SetTime, fmi3Float64 time) {
  OWN;
  if (!IN(1 << FMU_CONTINUOUS | 1 << FMU_EVENT) || !isfinite(time)) return fmi3Error;
  fmu->now.values[0] = time;
  fmu->now.stale = 1;
  return fmi3OK;
}
FUNCTION(SetContinuousStates, const fmi3Float64 states[], size_t count) {
  OWN;
  if (!IN(1 << FMU_CONTINUOUS) || count != FMU_STATES) return fmi3Error;
  memcpy(fmu->now.values + FMU_FIRST_STATE, states, count * sizeof(double));
  fmu->now.stale = 1;
  return fmi3OK;
}
#define VALUES(name, first, size)                                                          \
  FUNCTION(name, fmi3Float64 values[], size_t count) {                                     \
    OWN;                                                                                   \
    if (!IN(EVALUATED) || count != (size_t)(size) || !fmu_evaluate(fmu)) return fmi3Error; \
    memcpy(values, fmu->now.values + (first), count * sizeof(double));                     \
    return fmi3OK;                                                                         \
  }
VALUES(GetContinuousStateDerivatives, FMU_FIRST_RATE, FMU_STATES)
VALUES(GetEventIndicators, FMU_FIRST_INDICATOR, FMU_INDICATORS)
FUNCTION(GetContinuousStates, fmi3Float64 states[], size_t count) {
  OWN;
  if (!IN(EVALUATED) || count != FMU_STATES) return fmi3Error;
  memcpy(states, fmu->now.values + FMU_FIRST_STATE, count * sizeof(double));
  return fmi3OK;
}
FUNCTION(GetNominalsOfContinuousStates, fmi3Float64 nominals[], size_t count) {
  size_t k;
  OWN;
  if (!IN(EVALUATED) || count != FMU_STATES) return fmi3Error;
  for (k = 0; k < count; ++k) nominals[k] = 1.0;
  return fmi3OK;
}
#define COUNT(name, size)                     \
  FUNCTION(name, size_t* count) {             \
    OWN;                                      \
    if (!fmu->now.exchange) return fmi3Error; \
    *count = (size);                          \
    return fmi3OK;                            \
  }
COUNT(GetNumberOfEventIndicators, FMU_INDICATORS)
COUNT(GetNumberOfContinuousStates, FMU_STATES)
#define DERIVATIVE(name, adjoint)                                                                            \
  FUNCTION(name, const fmi3ValueReference unknowns[], size_t n, const fmi3ValueReference knowns[], size_t m, \
           const fmi3Float64 seed[], size_t seeds, fmi3Float64 sensitivity[], size_t size) {                 \
    OWN;                                                                                                     \
    if (seeds != ((adjoint) ? n : m) || size != ((adjoint) ? m : n)) return fmi3Error;                       \
    return done(fmu_derivative(fmu, adjoint, unknowns, n, knowns, m, seed, sensitivity));                    \
  }
DERIVATIVE(GetDirectionalDerivative, 0)
DERIVATIVE(GetAdjointDerivative, 1)

/* What this FMU does not offer. */
FMI3_EXPORT fmi3Instance FMI3(InstantiateScheduledExecution)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, fmi3ClockUpdateCallback clock,
    fmi3LockPreemptionCallback lock, fmi3UnlockPreemptionCallback unlock) {
  (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment, (void)log;
  (void)clock, (void)lock, (void)unlock;
  return 0;
}

#define REFUSED(name)                                        \
  FMI3_EXPORT fmi3Status FMI3(name)(fmi3Instance instance) { \
    (void)instance;                                          \
    return fmi3Error;                                        \
  }
REFUSED(EnterConfigurationMode)
REFUSED(ExitConfigurationMode)
REFUSED(EvaluateDiscreteStates)

FUNCTION(GetNumberOfVariableDependencies, fmi3ValueReference reference, size_t* count) {
  (void)instance, (void)reference, (void)count;
  return fmi3Error;
}
FUNCTION(GetVariableDependencies, fmi3ValueReference dependent, size_t elements[],
         fmi3ValueReference independents[], size_t independent_elements[], fmi3DependencyKind kinds[],
         size_t count) {
  (void)instance, (void)dependent, (void)elements, (void)independents, (void)independent_elements;
  (void)kinds, (void)count;
  return fmi3Error;
}
FUNCTION(GetOutputDerivatives, const fmi3ValueReference references[], size_t count, const fmi3Int32 orders[],
         fmi3Float64 values[], size_t n) {
  (void)instance, (void)references, (void)count, (void)orders, (void)values, (void)n;
  return fmi3Error;
}
FUNCTION(GetIntervalDecimal, const fmi3ValueReference references[], size_t count, fmi3Float64 intervals[],
         fmi3IntervalQualifier qualifiers[]) {
  (void)instance, (void)references, (void)count, (void)intervals, (void)qualifiers;
  return fmi3Error;
}
FUNCTION(GetIntervalFraction, const fmi3ValueReference references[], size_t count, fmi3UInt64 counters[],
         fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[]) {
  (void)instance, (void)references, (void)count, (void)counters, (void)resolutions, (void)qualifiers;
  return fmi3Error;
}
#define NO_CLOCK_DECIMAL(name, type)                                                    \
  FUNCTION(name, const fmi3ValueReference references[], size_t count, type numbers[]) { \
    (void)instance, (void)references, (void)count, (void)numbers;                       \
    return fmi3Error;                                                                   \
  }
NO_CLOCK_DECIMAL(GetShiftDecimal, fmi3Float64)
NO_CLOCK_DECIMAL(SetIntervalDecimal, const fmi3Float64)
NO_CLOCK_DECIMAL(SetShiftDecimal, const fmi3Float64)
#define NO_CLOCK_FRACTION(name, type)                                                                        \
  FUNCTION(name, const fmi3ValueReference references[], size_t count, type counters[], type resolutions[]) { \
    (void)instance, (void)references, (void)count, (void)counters, (void)resolutions;                        \
    return fmi3Error;                                                                                        \
  }
NO_CLOCK_FRACTION(GetShiftFraction, fmi3UInt64)
NO_CLOCK_FRACTION(SetIntervalFraction, const fmi3UInt64)
NO_CLOCK_FRACTION(SetShiftFraction, const fmi3UInt64)
FUNCTION(ActivateModelPartition, fmi3ValueReference clock, fmi3Float64 time) {
  (void)instance, (void)clock, (void)time;
  return fmi3Error;
}
