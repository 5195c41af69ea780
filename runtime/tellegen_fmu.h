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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmu_model.h"

typedef enum {
  FMU_INSTANTIATED,
  FMU_INITIALIZING,
  FMU_STEPPING,   /* co-simulation */
  FMU_EVENT,      /* model exchange */
  FMU_CONTINUOUS, /* likewise */
  FMU_TERMINATED,
  FMU_FAILED
} fmu_phase;
enum { FMU_FIRST_INPUT = 1 + FMU_PARAMETERS, FMU_FIRST_OUTPUT = FMU_FIRST_INPUT + FMU_INPUTS };
enum { FMU_FIRST_STATE = FMU_FIRST_OUTPUT + FMU_OUTPUTS, FMU_FIRST_RATE = FMU_FIRST_STATE + FMU_STATES };
enum {
  FMU_FIRST_INDICATOR = FMU_FIRST_RATE + FMU_STATES,
  FMU_VARIABLES = FMU_FIRST_INDICATOR + FMU_INDICATORS
};
enum { FMU_ROW = FMU_OUTPUTS + FMU_STATES + FMU_DISCRETE };

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
  double size[FMU_INDICATORS + 1], offset[FMU_INDICATORS + 1]; /* of indicators */
  int jump;                                                    /* of the sources, the next */
  int stale;                                                   /* rates and indicators are to be computed */
  int exchange;                                                /* the importer integrates */
  fmu_phase phase;
  int parameters_set; /* since the last step */
  int over;           /* the run has ended */
} fmu_data;

typedef struct {
  fmu_data now;
  char* name;
  int logging; /* also what is no error */
  void *environment, *logger;
  char message[256];
} fmu_instance;

/* What happened, for the importer's log; the versions of the interface say how it gets there. */
static void fmu_report(fmu_instance* fmu, int error, const char* message);

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
  d->phase = FMU_INSTANTIATED;
}

static inline fmu_instance* fmu_new(const char* name, const char* token, int exchange) {
  fmu_instance* fmu;
  if (!name || !token || strcmp(token, FMU_TOKEN) != 0 || (exchange && !FMU_EXCHANGE)) return 0;
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
  if (fmu_model_set(&fmu->now.model, fmu->now.values + 1) != 0) {
    fmu_report(fmu, 1, "the equations cannot be solved with these parameters in the order chosen for others");
    return 0;
  }
  fmu->now.parameters_set = 0;
  return 1;
}

static inline int fmu_begin(fmu_instance* fmu, double start) {
  if (fmu->now.phase != FMU_INSTANTIATED) {
    fmu_report(fmu, 1, "an instance is initialised once; reset it first");
    return 0;
  }
  if (start != 0.0) {
    fmu_report(fmu, 1, "the model starts at t = 0, not at another time");
    return 0;
  }
  fmu->now.phase = FMU_INITIALIZING;
  return 1;
}

static inline int fmu_begun(fmu_instance* fmu) {
  if (fmu->now.phase != FMU_INITIALIZING) {
    fmu_report(fmu, 1, "the instance is not being initialised");
    return 0;
  }
  if (!fmu_take_parameters(fmu)) return 0;
  fmu->now.phase = fmu->now.exchange ? FMU_EVENT : FMU_STEPPING;
  return 1;
}

static inline int fmu_terminate(fmu_instance* fmu) {
  const fmu_phase phase = fmu->now.phase;
  if (phase != FMU_STEPPING && phase != FMU_EVENT && phase != FMU_CONTINUOUS) {
    fmu_report(fmu, 1, "there is nothing to terminate");
    return 0;
  }
  fmu->now.phase = FMU_TERMINATED;
  return 1;
}

static inline int fmu_get(fmu_instance* fmu, const unsigned int* references, size_t count, double* values) {
  size_t k;
  for (k = 0; k < count; ++k) {
    /* Outputs of co-simulation are there; all others follow from where the instance is. */
    if (references[k] >=
            (fmu->now.exchange ? (unsigned int)FMU_FIRST_OUTPUT : (unsigned int)FMU_FIRST_RATE) &&
        references[k] < FMU_VARIABLES && !fmu_evaluate(fmu))
      return 0;
    if (references[k] >= FMU_VARIABLES) {
      snprintf(fmu->message, sizeof fmu->message, "there is no variable %u", references[k]);
      fmu_report(fmu, 1, fmu->message);
      return 0;
    }
    values[k] = fmu->now.values[references[k]];
  }
  return 1;
}

static inline int fmu_set(fmu_instance* fmu, const unsigned int* references, size_t count,
                          const double* values) {
  const fmu_phase phase = fmu->now.phase;
  size_t k;
  if (phase == FMU_TERMINATED || phase == FMU_FAILED) {
    fmu_report(fmu, 1, "nothing can be set any more");
    return 0;
  }
  for (k = 0; k < count; ++k)
    if (references[k] < FMU_FIRST_INPUT && phase == FMU_CONTINUOUS) {
      snprintf(fmu->message, sizeof fmu->message, "parameter %u can be set in event mode, not between events",
               references[k]);
      fmu_report(fmu, 1, fmu->message);
      return 0;
    }
  for (k = 0; k < count; ++k)
    if (references[k] == 0 || references[k] >= FMU_FIRST_OUTPUT ||
        !(isfinite(values[k]) || (isnan(values[k]) && references[k] >= FMU_FIRST_INPUT &&
                                  references[k] < FMU_FIRST_INPUT + FMU_READINGS))) {
      snprintf(fmu->message, sizeof fmu->message, "variable %u cannot be set to %g", references[k],
               values[k]);
      fmu_report(fmu, 1, fmu->message);
      return 0;
    }
  for (k = 0; k < count; ++k) {
    if (references[k] < FMU_FIRST_INPUT && fmu->now.values[references[k]] != values[k])
      fmu->now.parameters_set = 1;
    fmu->now.values[references[k]] = values[k];
  }
  fmu->now.stale = 1;
  return 1;
}

/* The steps that end between now and `to`. 0, or as the model's run: 1 it did not converge, 2 it is over;
 * 3: it is not to be stepped now. */
static inline int fmu_step(fmu_instance* fmu, double to) {
  fmu_data* d = &fmu->now;
  const double done = fmu_model_time(&d->model) / FMU_STEP;
  double steps, row[FMU_ROW + 1];
  int status = 0;
  if (d->phase != FMU_STEPPING) {
    fmu_report(fmu, 1, "the instance is not to be stepped now");
    return 3;
  }
  if (!fmu_take_parameters(fmu)) return 3;
  steps = FMU_STEPS_UNTIL(to) - floor(done + 0.5);
  if (!d->over && steps >= 1.0) {
    memcpy(row, d->values + FMU_FIRST_OUTPUT, (FMU_OUTPUTS + FMU_STATES) * sizeof(double));
    memcpy(row + FMU_OUTPUTS + FMU_STATES, d->discrete, FMU_DISCRETE * sizeof(double));
    status = fmu_model_run(&d->model, d->values + FMU_FIRST_INPUT, (long)steps, row);
    fmu_put_row(d, row);
  }
  d->values[0] = to;
  if (status == 2) d->over = 1;
  if (status == 1) {
    d->phase = FMU_FAILED;
    snprintf(fmu->message, sizeof fmu->message, FMU_FAILURE " after t = %g s", fmu_model_time(&d->model));
    fmu_report(fmu, 1, fmu->message);
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

static inline int fmu_get_state(fmu_instance* fmu, void** state) {
  if (!*state) *state = malloc(sizeof(fmu_data));
  if (!*state) return 0;
  memcpy(*state, &fmu->now, sizeof(fmu_data));
  return 1;
}

static inline int fmu_set_state(fmu_instance* fmu, const void* state) {
  if (!state || ((const fmu_data*)state)->exchange != fmu->now.exchange) {
    fmu_report(fmu, 1, "there is no state, or it is one of the other way to run the model");
    return 0;
  }
  memcpy(&fmu->now, state, sizeof(fmu_data));
  return 1;
}

#endif
