/* A model as an instance of an FMU, for either version of the interface. fmu_model.h has the model: its
 * state, its parameters, inputs and outputs as rows of numbers, and the functions that step it.
 *
 * Value references: 0 is time; then parameters, inputs, outputs, states, their rates and event indicators, in
 * this order.
 *
 * Co-simulation: the model takes steps of one length. A communication step of another length takes those that
 * end in it; what is left over belongs to the next one. So the outputs are those of the last step that ended
 * at or before the communication point, and none is left out or taken twice. A row of the run is outputs,
 * states and discrete variables. Model exchange: tellegen_exchange.h.
 */
#ifndef TELLEGEN_FMU_H
#define TELLEGEN_FMU_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmu_model.h"

typedef enum {
  FMU_INSTANTIATED,
  FMU_INITIALIZING,
  FMU_STEPPING,     /* co-simulation */
  FMU_INTERMEDIATE, /* likewise, after a step: the importer has been called */
  FMU_EVENT,        /* model exchange */
  FMU_CONTINUOUS,   /* likewise */
  FMU_TERMINATED,
  FMU_FAILED
} fmu_phase;
enum { FMU_FIRST_INPUT = 1 + FMU_PARAMETERS, FMU_FIRST_OUTPUT = FMU_FIRST_INPUT + FMU_INPUTS };
enum { FMU_FIRST_STATE = FMU_FIRST_OUTPUT + FMU_OUTPUTS, FMU_FIRST_RATE = FMU_FIRST_STATE + FMU_STATES };
enum {
  FMU_FIRST_INDICATOR = FMU_FIRST_RATE + FMU_STATES,
  FMU_VARIABLES = FMU_FIRST_INDICATOR + FMU_INDICATORS
};
enum {
  FMU_ROW = FMU_OUTPUTS + FMU_STATES + FMU_DISCRETE,
  /* Time, states, parameters, inputs, discrete variables, and what is iterated on. */
  FMU_GIVEN = 1 + FMU_STATES + FMU_PARAMETERS + FMU_INPUTS + FMU_DISCRETE + FMU_ITERATED
};

/* What a model may say otherwise: how many of its first inputs are readings that may be missing (not a
 * number), how many steps are to be done at a time, and what it means where one fails. */
#ifndef FMU_READINGS
#define FMU_READINGS 0
#define FMU_STEPS_UNTIL(to) floor((to) / FMU_STEP + 1e-6)
#define FMU_FAILURE "Newton's iteration did not converge"
#endif

/* All that changes: plain bytes, so getting, setting and serialising a state is copying it. */
typedef struct {
  fmu_state model;
  double values[FMU_VARIABLES];
  double discrete[FMU_DISCRETE + 1],
      sample[FMU_DISCRETE + 1];      /* and the multiple of the sample time that is next */
  double iterated[FMU_ITERATED + 1]; /* where Newton's iteration starts */
  double solved[FMU_GIVEN];          /* that these solve the equations for */
  double size[FMU_INDICATORS + 1], offset[FMU_INDICATORS + 1]; /* of indicators */
  int jump;                                                    /* of the sources, the next */
  int stale;                                                   /* rates and indicators are to be computed */
  int exchange;                                                /* the importer integrates */
  fmu_phase phase;
  int parameters_set; /* since the last step */
  int over;           /* the run has ended */
} fmu_data;

typedef struct fmu_instance {
  fmu_data now;
  char* name;
  int logging; /* also what is no error */
  void *environment, *logger;
  /* Called after each step on the way to `to`, where the importer wants to be. Gives the time to go to: `to`,
   * or an earlier one. */
  double (*each_step)(struct fmu_instance*, double to);
  void* importer_update;         /* what it calls */
  int early_return;              /* the importer allows it */
  double memory[FMU_MEMORY + 1]; /* for the model's functions, while they run */
  char message[256];
} fmu_instance;

/* What happened, for the importer's log; the versions of the interface say how it gets there. */
static void fmu_report(fmu_instance* fmu, int error, const char* message);

/* A call that cannot be: the reason goes to the log. Gives 0. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static inline int
fmu_refuse(fmu_instance* fmu, const char* format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(fmu->message, sizeof fmu->message, format, values);
  va_end(values);
  fmu_report(fmu, 1, fmu->message);
  return 0;
}

static inline const char* fmu_phase_name(fmu_phase phase) {
  static const char* const names[] = {"before its initialization",
                                      "in initialization mode",
                                      "in step mode",
                                      "in intermediate update mode",
                                      "in event mode",
                                      "in continuous-time mode",
                                      "terminated",
                                      "stopped by an error"};
  return names[phase];
}

/* Whether a function may be called now; to the log goes when not. */
static inline int fmu_in(fmu_instance* fmu, int phases, const char* function) {
  if (phases & (1 << fmu->now.phase)) return 1;
  return fmu_refuse(fmu, "%s cannot be called: the instance is %s", function, fmu_phase_name(fmu->now.phase));
}
static inline int fmu_in_exchange(fmu_instance* fmu, int phases, const char* function) {
  if (!fmu->now.exchange)
    return fmu_refuse(fmu, "%s is for model exchange: this instance is for co-simulation", function);
  return fmu_in(fmu, phases, function);
}

static inline int fmu_has_size(fmu_instance* fmu, const char* function, size_t given, size_t right) {
  return given == right || fmu_refuse(fmu, "%s: %lu values are given, not %lu", function,
                                      (unsigned long)given, (unsigned long)right);
}

#include "tellegen_exchange.h"

static inline void fmu_put_row(fmu_data* d, const double* row) {
  memcpy(d->values + FMU_FIRST_OUTPUT, row, (FMU_OUTPUTS + FMU_STATES) * sizeof(double));
  memcpy(d->discrete, row + FMU_OUTPUTS + FMU_STATES, FMU_DISCRETE * sizeof(double));
  d->stale = 1;
}

static inline void fmu_start(fmu_data* d, int exchange) {
  double row[FMU_ROW + 1];
  memset(d, 0, sizeof *d);
  memcpy(d->values + 1, fmu_start_values, (FMU_PARAMETERS + FMU_INPUTS) * sizeof(double));
  fmu_model_init(&d->model, row);
  fmu_put_row(d, row);
  d->exchange = exchange;
  if (exchange)
    fmu_exchange_start(d);
  else
    memcpy(d->iterated, fmu_iterated_start, FMU_ITERATED * sizeof(double));
  fmu_gather(d, d->solved);
  d->phase = FMU_INSTANTIATED;
}

/* 0, and the reason, where there can be none. */
static inline fmu_instance* fmu_new(const char* name, const char* token, int exchange, const char** why) {
  fmu_instance* fmu;
  *why = !name                                     ? "an instance needs a name"
         : !token || strcmp(token, FMU_TOKEN) != 0 ? "the token (GUID) is that of another model"
         : exchange && !FMU_EXCHANGE               ? "this FMU has no model exchange"
                                                   : 0;
  if (*why) return 0;
  *why = "memory is short";
  fmu = (fmu_instance*)calloc(1, sizeof *fmu);
  if (!fmu) return 0;
  fmu->name = (char*)malloc(strlen(name) + 1);
  if (!fmu->name) {
    free(fmu);
    return 0;
  }
  strcpy(fmu->name, name);
  fmu_start(&fmu->now, exchange);
  return fmu;
}

static inline void fmu_free(fmu_instance* fmu) {
  if (!fmu) return;
  free(fmu->name);
  free(fmu);
}

/* 1 where the numbers are taken; 0: the equations cannot be solved with them. */
static inline int fmu_take_parameters(fmu_instance* fmu) {
  if (!fmu->now.parameters_set) return 1;
  if (fmu->now.exchange) return fmu_pivots_hold(fmu);
  if (fmu_model_set(&fmu->now.model, fmu->now.values + 1) != 0)
    return fmu_refuse(fmu,
                      "the equations cannot be solved with these parameters in the order chosen for others");
  fmu->now.parameters_set = 0;
  return 1;
}

static inline int fmu_begin(fmu_instance* fmu, double start, const char* function) {
  if (!fmu_in(fmu, 1 << FMU_INSTANTIATED, function)) return 0;
  if (start != 0.0) return fmu_refuse(fmu, "the model starts at t = 0, not at t = %g s", start);
  fmu->now.phase = FMU_INITIALIZING;
  return 1;
}

static inline int fmu_begun(fmu_instance* fmu, const char* function) {
  if (!fmu_in(fmu, 1 << FMU_INITIALIZING, function) || !fmu_take_parameters(fmu)) return 0;
  fmu->now.phase = fmu->now.exchange ? FMU_EVENT : FMU_STEPPING;
  return 1;
}

static inline int fmu_terminate(fmu_instance* fmu, const char* function) {
  if (!fmu_in(fmu, 1 << FMU_STEPPING | 1 << FMU_EVENT | 1 << FMU_CONTINUOUS, function)) return 0;
  fmu->now.phase = FMU_TERMINATED;
  return 1;
}

static inline int fmu_is_variable(fmu_instance* fmu, unsigned int reference) {
  return reference < FMU_VARIABLES ||
         fmu_refuse(fmu, "there is no variable with value reference %u", reference);
}

static inline int fmu_get(fmu_instance* fmu, const unsigned int* references, size_t count, double* values) {
  size_t k;
  for (k = 0; k < count; ++k) {
    if (!fmu_is_variable(fmu, references[k])) return 0;
    /* Outputs of co-simulation are there; all others follow from where the instance is. */
    if (references[k] >=
            (fmu->now.exchange ? (unsigned int)FMU_FIRST_OUTPUT : (unsigned int)FMU_FIRST_RATE) &&
        !fmu_evaluate(fmu))
      return 0;
    values[k] = fmu->now.values[references[k]];
  }
  return 1;
}

/* Whether a variable can be set to a value now. */
static inline int fmu_settable(fmu_instance* fmu, unsigned int reference, double value) {
  const fmu_phase phase = fmu->now.phase;
  const int is_parameter = (int)reference > 0 && (int)reference <= FMU_PARAMETERS;
  if (!fmu_is_variable(fmu, reference)) return 0;
  if (reference == 0 || reference >= FMU_FIRST_OUTPUT)
    return fmu_refuse(fmu, "variable %u cannot be set: it is %s", reference,
                      reference == 0                    ? "time"
                      : reference < FMU_FIRST_STATE     ? "an output"
                      : reference < FMU_FIRST_RATE      ? "a state, which SetContinuousStates sets"
                      : reference < FMU_FIRST_INDICATOR ? "the rate of a state"
                                                        : "an event indicator");
  if (is_parameter && phase == FMU_CONTINUOUS)
    return fmu_refuse(fmu, "parameter %u can be set in event mode, not between events", reference);
  if (is_parameter && phase == FMU_INTERMEDIATE)
    return fmu_refuse(fmu, "parameter %u can be set between communication steps, not within one", reference);
  if (isfinite(value) || (isnan(value) && reference < FMU_FIRST_INPUT + FMU_READINGS && !is_parameter))
    return 1;
  return fmu_refuse(fmu, "variable %u cannot be set to %g", reference, value);
}

static inline int fmu_set(fmu_instance* fmu, const unsigned int* references, size_t count,
                          const double* values, const char* function) {
  size_t k;
  if (!fmu_in(fmu, ~(1 << FMU_TERMINATED | 1 << FMU_FAILED), function)) return 0;
  for (k = 0; k < count; ++k)
    if (!fmu_settable(fmu, references[k], values[k])) return 0;
  for (k = 0; k < count; ++k) {
    if (references[k] < FMU_FIRST_INPUT && fmu->now.values[references[k]] != values[k])
      fmu->now.parameters_set = 1;
    fmu->now.values[references[k]] = values[k];
  }
  fmu->now.stale = 1;
  return 1;
}

static inline double fmu_steps_left(const fmu_data* d, double to) {
  return FMU_STEPS_UNTIL(to) - floor(fmu_model_time(&d->model) / FMU_STEP + 0.5);
}

static inline int fmu_run(fmu_data* d, long steps) {
  double row[FMU_ROW + 1];
  int status;
  memcpy(row, d->values + FMU_FIRST_OUTPUT, (FMU_OUTPUTS + FMU_STATES) * sizeof(double));
  memcpy(row + FMU_OUTPUTS + FMU_STATES, d->discrete, FMU_DISCRETE * sizeof(double));
  status = fmu_model_run(&d->model, d->values + FMU_FIRST_INPUT, steps, row);
  fmu_put_row(d, row);
  return status;
}

/* Steps one by one; between them the importer may look, set inputs, and ask for an early return. */
static inline int fmu_run_watched(fmu_instance* fmu, double* to) {
  fmu_data* d = &fmu->now;
  int status = 0;
  while (status == 0 && fmu_steps_left(d, *to) >= 1.0) {
    double until;
    status = fmu_run(d, 1);
    if (status != 0) return status;
    d->values[0] = fmu_model_time(&d->model);
    d->phase = FMU_INTERMEDIATE;
    until = fmu->each_step(fmu, *to);
    d->phase = FMU_STEPPING;
    if (until < *to) *to = until > d->values[0] ? until : d->values[0];
  }
  return status;
}

/* The steps that end between now and `from` + `length`. 0, or as the model's run: 1 it did not converge, 2 it
 * is over; 3: it is not to be stepped like this. */
static inline int fmu_step(fmu_instance* fmu, double from, double length, const char* function) {
  fmu_data* d = &fmu->now;
  double to = from + length;
  int status = 0;
  if (!fmu_in(fmu, 1 << FMU_STEPPING, function)) return 3;
  if (!(length >= 0.0) || !isfinite(to)) return fmu_refuse(fmu, "a step of %g s is none", length), 3;
  if (!d->over && fabs(from - d->values[0]) > 0.1 * FMU_STEP + 1e-9 * fabs(from))
    return fmu_refuse(fmu, "the step begins at t = %g s, and the instance is at t = %g s", from,
                      d->values[0]),
           3;
  if (!fmu_take_parameters(fmu)) return 3;
  if (!d->over && fmu_steps_left(d, to) >= 1.0)
    status = fmu->each_step ? fmu_run_watched(fmu, &to) : fmu_run(d, (long)fmu_steps_left(d, to));
  d->values[0] = to;
  if (status == 2) d->over = 1;
  if (status == 1) {
    d->phase = FMU_FAILED;
    fmu_refuse(fmu, FMU_FAILURE " after t = %g s", fmu_model_time(&d->model));
    return 1;
  }
  if (d->over) {
    d->values[0] = fmu_model_time(&d->model);
    snprintf(fmu->message, sizeof fmu->message, "the run is over at t = %g s", d->values[0]);
    fmu_report(fmu, 0, fmu->message);
    return 2;
  }
  return 0;
}

static inline int fmu_get_state(fmu_instance* fmu, void** state, const char* function) {
  if (!fmu_in(fmu, ~(1 << FMU_INTERMEDIATE), function)) return 0;
  if (!*state) *state = malloc(sizeof(fmu_data));
  if (!*state) return fmu_refuse(fmu, "memory is short");
  memcpy(*state, &fmu->now, sizeof(fmu_data));
  return 1;
}

static inline int fmu_set_state(fmu_instance* fmu, const void* state, const char* function) {
  if (!fmu_in(fmu, ~(1 << FMU_INTERMEDIATE), function)) return 0;
  if (!state || ((const fmu_data*)state)->exchange != fmu->now.exchange)
    return fmu_refuse(fmu, "there is no state, or it is one of the other way to run the model");
  memcpy(&fmu->now, state, sizeof(fmu_data));
  return 1;
}

static inline int fmu_write_state(fmu_instance* fmu, const void* state, void* bytes, size_t size) {
  if (!state || size < sizeof(fmu_data))
    return fmu_refuse(fmu, "there is no state, or %lu bytes are too few for its %lu", (unsigned long)size,
                      (unsigned long)sizeof(fmu_data));
  memcpy(bytes, state, sizeof(fmu_data));
  return 1;
}

static inline int fmu_read_state(fmu_instance* fmu, const void* bytes, size_t size, void** state) {
  if (size != sizeof(fmu_data))
    return fmu_refuse(fmu, "a state of this FMU has %lu bytes, not %lu", (unsigned long)sizeof(fmu_data),
                      (unsigned long)size);
  if (!*state) *state = malloc(sizeof(fmu_data));
  if (!*state) return fmu_refuse(fmu, "memory is short");
  memcpy(*state, bytes, sizeof(fmu_data));
  return 1;
}

#endif
