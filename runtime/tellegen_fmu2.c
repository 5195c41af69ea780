/* The functions of FMI 2.0 for a model: co-simulation, and model exchange where it has it. */
#include "tellegen_fmi2.h"
#include "tellegen_fmu.h"

static void fmu_report(fmu_instance* fmu, int error, const char* message) {
  const fmi2CallbackFunctions* callbacks = (const fmi2CallbackFunctions*)fmu->logger;
  if (callbacks && callbacks->logger && (error || fmu->logging))
    callbacks->logger(fmu->environment, fmu->name, error ? fmi2Error : fmi2OK,
                      error ? "logStatusError" : "logEvents", "%s", message);
}

static fmi2Status done(int good) { return good ? fmi2OK : fmi2Error; }

#define FUNCTION(name, ...) FMI2_EXPORT fmi2Status FMI2(name)(fmi2Component instance, __VA_ARGS__)
#define PLAIN_FUNCTION(name) FMI2_EXPORT fmi2Status FMI2(name)(fmi2Component instance)

FMI2_EXPORT const char* FMI2(GetTypesPlatform)(void) { return "default"; }
FMI2_EXPORT const char* FMI2(GetVersion)(void) { return "2.0"; }

FUNCTION(SetDebugLogging, fmi2Boolean on, size_t count, const fmi2String categories[]) {
  fmu_instance* fmu = (fmu_instance*)instance;
  size_t k;
  fmu->logging = on && count == 0;
  for (k = 0; k < count; ++k) {
    if (strcmp(categories[k], "logEvents") == 0)
      fmu->logging = on;
    else if (strcmp(categories[k], "logStatusError") != 0)
      return done(fmu_refuse(fmu, "there is no log category '%s'", categories[k]));
  }
  return fmi2OK;
}

FMI2_EXPORT fmi2Component FMI2(Instantiate)(fmi2String name, fmi2Type type, fmi2String token,
                                            fmi2String resources, const fmi2CallbackFunctions* callbacks,
                                            fmi2Boolean visible, fmi2Boolean logging) {
  const char* why;
  fmu_instance* fmu = fmu_new(name, token, type != fmi2CoSimulation, &why);
  (void)resources, (void)visible;
  if (!fmu) {
    if (callbacks && callbacks->logger)
      callbacks->logger(callbacks->componentEnvironment, name, fmi2Error, "logStatusError", "%s", why);
    return 0;
  }
  fmu->environment = callbacks ? callbacks->componentEnvironment : 0;
  fmu->logger = (void*)(size_t)callbacks;
  fmu->logging = logging;
  return fmu;
}

FMI2_EXPORT void FMI2(FreeInstance)(fmi2Component instance) { fmu_free((fmu_instance*)instance); }

FUNCTION(SetupExperiment, fmi2Boolean tolerance_defined, fmi2Real tolerance, fmi2Real start,
         fmi2Boolean stop_defined, fmi2Real stop) {
  (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
  if (start == 0.0) return fmi2OK;
  return done(fmu_refuse((fmu_instance*)instance, "the model starts at t = 0, not at t = %g s", start));
}
PLAIN_FUNCTION(EnterInitializationMode) { return done(fmu_begin((fmu_instance*)instance, 0.0, __func__)); }
PLAIN_FUNCTION(ExitInitializationMode) { return done(fmu_begun((fmu_instance*)instance, __func__)); }
PLAIN_FUNCTION(Terminate) { return done(fmu_terminate((fmu_instance*)instance, __func__)); }
PLAIN_FUNCTION(Reset) {
  fmu_data* now = &((fmu_instance*)instance)->now;
  fmu_start(now, now->exchange);
  return fmi2OK;
}

FUNCTION(GetReal, const fmi2ValueReference references[], size_t count, fmi2Real values[]) {
  return done(fmu_get((fmu_instance*)instance, references, count, values));
}
FUNCTION(SetReal, const fmi2ValueReference references[], size_t count, const fmi2Real values[]) {
  return done(fmu_set((fmu_instance*)instance, references, count, values, __func__));
}

/* There are no variables of other types. */
static fmi2Status no_variables(fmi2Component instance, size_t count, const char* function) {
  return done(count == 0 || fmu_refuse((fmu_instance*)instance, "%s: all variables are Real", function));
}
#define NO_VARIABLES(type)                                                                              \
  FUNCTION(Get##type, const fmi2ValueReference references[], size_t count, fmi2##type values[]) {       \
    (void)references, (void)values;                                                                     \
    return no_variables(instance, count, __func__);                                                     \
  }                                                                                                     \
  FUNCTION(Set##type, const fmi2ValueReference references[], size_t count, const fmi2##type values[]) { \
    (void)references, (void)values;                                                                     \
    return no_variables(instance, count, __func__);                                                     \
  }
NO_VARIABLES(Integer)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)

FUNCTION(GetFMUstate, fmi2FMUstate* state) {
  return done(fmu_get_state((fmu_instance*)instance, state, __func__));
}
FUNCTION(SetFMUstate, fmi2FMUstate state) {
  return done(fmu_set_state((fmu_instance*)instance, state, __func__));
}
FUNCTION(FreeFMUstate, fmi2FMUstate* state) {
  (void)instance;
  if (state) free(*state), *state = 0;
  return fmi2OK;
}
FUNCTION(SerializedFMUstateSize, fmi2FMUstate state, size_t* size) {
  (void)instance, (void)state;
  *size = sizeof(fmu_data);
  return fmi2OK;
}
FUNCTION(SerializeFMUstate, fmi2FMUstate state, fmi2Byte bytes[], size_t size) {
  return done(fmu_write_state((fmu_instance*)instance, state, bytes, size));
}
FUNCTION(DeSerializeFMUstate, const fmi2Byte bytes[], size_t size, fmi2FMUstate* state) {
  return done(fmu_read_state((fmu_instance*)instance, bytes, size, state));
}

FUNCTION(DoStep, fmi2Real from, fmi2Real length, fmi2Boolean no_going_back) {
  int status;
  (void)no_going_back;
  status = fmu_step((fmu_instance*)instance, from, length, __func__);
  return status == 2 ? fmi2Discard : done(status == 0);
}
FUNCTION(GetRealStatus, fmi2StatusKind kind, fmi2Real* value) {
  if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
  *value = ((fmu_instance*)instance)->now.values[0];
  return fmi2OK;
}
FUNCTION(GetBooleanStatus, fmi2StatusKind kind, fmi2Boolean* value) {
  if (kind != fmi2Terminated) return fmi2Discard;
  *value = ((fmu_instance*)instance)->now.over;
  return fmi2OK;
}

/* Model exchange. */
#define OWN fmu_instance* fmu = (fmu_instance*)instance
#define IN(phases) fmu_in_exchange(fmu, phases, __func__)
#define EVALUATED (1 << FMU_INITIALIZING | 1 << FMU_EVENT | 1 << FMU_CONTINUOUS | 1 << FMU_TERMINATED)

PLAIN_FUNCTION(EnterEventMode) {
  OWN;
  if (!IN(1 << FMU_CONTINUOUS)) return fmi2Error;
  fmu->now.phase = FMU_EVENT;
  return fmi2OK;
}
PLAIN_FUNCTION(EnterContinuousTimeMode) {
  OWN;
  if (!IN(1 << FMU_EVENT)) return fmi2Error;
  fmu->now.phase = FMU_CONTINUOUS;
  return fmi2OK;
}
FUNCTION(NewDiscreteStates, fmi2EventInfo* info) {
  int over = 0, restart = 0;
  double next = INFINITY;
  OWN;
  if (!IN(1 << FMU_EVENT) || !fmu_update(fmu, &over, &restart, &next)) return fmi2Error;
  info->newDiscreteStatesNeeded = info->nominalsOfContinuousStatesChanged = fmi2False;
  info->valuesOfContinuousStatesChanged = restart;
  info->terminateSimulation = over;
  info->nextEventTimeDefined = next < INFINITY;
  info->nextEventTime = next < INFINITY ? next : 0.0;
  return fmi2OK;
}
FUNCTION(CompletedIntegratorStep, fmi2Boolean no_going_back, fmi2Boolean* event, fmi2Boolean* terminate) {
  OWN;
  (void)no_going_back;
  *event = *terminate = fmi2False;
  return done(IN(1 << FMU_CONTINUOUS));
}
FUNCTION(SetTime, fmi2Real time) { return done(fmu_set_time((fmu_instance*)instance, time, __func__)); }
FUNCTION(SetContinuousStates, const fmi2Real states[], size_t count) {
  return done(fmu_set_states((fmu_instance*)instance, states, count, __func__));
}
#define VALUES(name, first, size, computed)                                                               \
  FUNCTION(name, fmi2Real values[], size_t count) {                                                       \
    return done(fmu_get_values((fmu_instance*)instance, first, size, computed, values, count, __func__)); \
  }
VALUES(GetDerivatives, FMU_FIRST_RATE, FMU_STATES, 1)
VALUES(GetEventIndicators, FMU_FIRST_INDICATOR, FMU_INDICATORS, 1)
VALUES(GetContinuousStates, FMU_FIRST_STATE, FMU_STATES, 0)
FUNCTION(GetNominalsOfContinuousStates, fmi2Real nominals[], size_t count) {
  size_t k;
  OWN;
  if (!IN(EVALUATED) || !fmu_has_size(fmu, __func__, count, FMU_STATES)) return fmi2Error;
  for (k = 0; k < count; ++k) nominals[k] = fmu_state_nominal[k];
  return fmi2OK;
}
FUNCTION(GetDirectionalDerivative, const fmi2ValueReference unknowns[], size_t n,
         const fmi2ValueReference knowns[], size_t m, const fmi2Real seed[], fmi2Real sensitivity[]) {
  return done(
      fmu_derivative((fmu_instance*)instance, 0, unknowns, n, knowns, m, seed, sensitivity, __func__));
}

/* What this FMU does not offer. */
static fmi2Status not_offered(fmi2Component instance, const char* function) {
  return done(fmu_refuse((fmu_instance*)instance, "%s: this FMU does not offer it", function));
}
PLAIN_FUNCTION(CancelStep) { return not_offered(instance, __func__); }
FUNCTION(GetStatus, fmi2StatusKind kind, fmi2Status* value) {
  (void)instance, (void)kind, (void)value;
  return fmi2Discard;
}
FUNCTION(GetIntegerStatus, fmi2StatusKind kind, fmi2Integer* value) {
  (void)instance, (void)kind, (void)value;
  return fmi2Discard;
}
FUNCTION(GetStringStatus, fmi2StatusKind kind, fmi2String* value) {
  (void)instance, (void)kind, (void)value;
  return fmi2Discard;
}
FUNCTION(SetRealInputDerivatives, const fmi2ValueReference references[], size_t count,
         const fmi2Integer orders[], const fmi2Real values[]) {
  (void)references, (void)count, (void)orders, (void)values;
  return not_offered(instance, __func__);
}
FUNCTION(GetRealOutputDerivatives, const fmi2ValueReference references[], size_t count,
         const fmi2Integer orders[], fmi2Real values[]) {
  (void)references, (void)count, (void)orders, (void)values;
  return not_offered(instance, __func__);
}
