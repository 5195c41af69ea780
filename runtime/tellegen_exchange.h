/* An instance of an FMU that the importer integrates (model exchange): values and derivatives at a point, and
 * what happens at events. Included by tellegen_fmu.h, whose data it works on; fmu_model.h has the functions
 * of the model.
 *
 * Where sources jump at a time that is known, they have the value before the jump until the importer has been
 * in event mode there: no step of an integrator sees both.
 */
#ifndef TELLEGEN_EXCHANGE_H
#define TELLEGEN_EXCHANGE_H

enum {
  FMU_FOUND = FMU_STATES + FMU_OUTPUTS + FMU_INDICATORS + FMU_ITERATED,
  FMU_KNOWNS = FMU_STATES + FMU_PARAMETERS + FMU_INPUTS,
  FMU_UNKNOWNS = FMU_STATES + FMU_OUTPUTS
};
#define FMU_LEAST_PIVOT 1e-6
#define FMU_MOST_ROUNDS 20      /* changes at one event */
#define FMU_MOST_LOOKED_AT 1000 /* steps in which the next change by time is looked for at once */

static inline double fmu_exchange_time(const fmu_data* d) {
  const double t = d->exchange ? d->values[0] : fmu_model_time(&d->model);
  if (!d->exchange) return t;
  if (d->jump < FMU_JUMPS && t > fmu_before_jump[d->jump]) return fmu_before_jump[d->jump];
  /* The importer's time may be a hair before that of an event it has been in. */
  return d->jump > 0 && t < fmu_jump[d->jump - 1] ? fmu_jump[d->jump - 1] : t;
}

static inline void fmu_gather(const fmu_data* d, double* given) {
  given[0] = fmu_exchange_time(d);
  memcpy(given + 1, d->values + FMU_FIRST_STATE, FMU_STATES * sizeof(double));
  memcpy(given + 1 + FMU_STATES, d->values + 1, (FMU_PARAMETERS + FMU_INPUTS) * sizeof(double));
  given += 1 + FMU_STATES + FMU_PARAMETERS + FMU_INPUTS;
  memcpy(given, d->discrete, FMU_DISCRETE * sizeof(double));
  memcpy(given + FMU_DISCRETE, d->iterated, FMU_ITERATED * sizeof(double));
}

/* Where Newton's iteration fails from its last solution, which may be far away, it is led from there: by
 * parts of what is left of the way in states, parameters, inputs and time, longer and shorter as it
 * converges. 1 where it has arrived. */
static inline int fmu_approach(fmu_instance* fmu, const double* given) {
  fmu_data* d = &fmu->now;
  double at[FMU_GIVEN], found[FMU_FOUND + 1], part;
  int k;
  if (FMU_ITERATED == 0) return 0;
  for (part = 0.5; part >= 1e-6;) {
    const double* in = at;
    double* out = found;
    for (k = 0; k < FMU_GIVEN - FMU_ITERATED; ++k) {
      const int is_held = k >= FMU_GIVEN - FMU_ITERATED - FMU_DISCRETE;
      at[k] = part < 1.0 && !is_held ? d->solved[k] + part * (given[k] - d->solved[k]) : given[k];
    }
    memcpy(at + FMU_GIVEN - FMU_ITERATED, d->iterated, FMU_ITERATED * sizeof(double));
    if (fmu_exchange_values(fmu->memory, &in, &out) != 0) {
      part *= 0.5;
      continue;
    }
    memcpy(d->solved, at, sizeof d->solved);
    memcpy(d->iterated, found + FMU_FOUND - FMU_ITERATED, FMU_ITERATED * sizeof(double));
    if (part >= 1.0) return 1;
    part *= 2.0;
  }
  return 0;
}

/* One of the model's functions, here and now. */
static inline int fmu_exchange_call(fmu_instance* fmu, fmu_function* function, double* found) {
  double given[FMU_GIVEN];
  const double* in = given;
  double* out = found;
  fmu_gather(&fmu->now, given);
  if (function(fmu->memory, &in, &out) == 0) return 1;
  if (fmu_approach(fmu, given)) {
    fmu_gather(&fmu->now, given);
    in = given;
    out = found;
    if (function(fmu->memory, &in, &out) == 0) return 1;
  }
  return fmu_refuse(fmu, "Newton's iteration did not converge at t = %g s", given[0]);
}

/* Rates, outputs and indicators, where something has changed since they were computed last. In co-simulation
 * outputs are those of the steps. */
static inline int fmu_evaluate(fmu_instance* fmu) {
  fmu_data* d = &fmu->now;
  double found[FMU_FOUND + 1];
  int k;
  if (!FMU_EXCHANGE || !d->stale) return 1;
  if (!fmu_exchange_call(fmu, fmu_exchange_values, found)) return 0;
  for (k = 0; k < FMU_STATES + FMU_OUTPUTS; ++k)
    if (!isfinite(found[k]))
      return fmu_refuse(fmu, "a rate or an output is not finite at t = %g s", d->values[0]);
  memcpy(d->values + FMU_FIRST_RATE, found, FMU_STATES * sizeof(double));
  if (d->exchange) memcpy(d->values + FMU_FIRST_OUTPUT, found + FMU_STATES, FMU_OUTPUTS * sizeof(double));
  for (k = 0; k < FMU_INDICATORS; ++k)
    d->values[FMU_FIRST_INDICATOR + k] = found[FMU_STATES + FMU_OUTPUTS + k] + d->offset[k];
  memcpy(d->iterated, found + FMU_STATES + FMU_OUTPUTS + FMU_INDICATORS, FMU_ITERATED * sizeof(double));
  if (FMU_ITERATED > 0) fmu_gather(d, d->solved);
  d->stale = 0;
  return 1;
}

/* 1 where the equations can be solved in their order with the parameters as they are. */
static inline int fmu_pivots_hold(fmu_instance* fmu) {
  double smallest = 0.0;
  if (!fmu->now.parameters_set) return 1;
  if (!fmu_exchange_call(fmu, fmu_exchange_pivots, &smallest)) return 0;
  if (!(smallest > FMU_LEAST_PIVOT))
    return fmu_refuse(fmu,
                      "the equations cannot be solved with these parameters in the order chosen for others");
  fmu->now.parameters_set = 0;
  return 1;
}

static inline void fmu_exchange_start(fmu_data* d) {
  int k;
  memcpy(d->values + FMU_FIRST_STATE, fmu_state_start, FMU_STATES * sizeof(double));
  memcpy(d->discrete, fmu_discrete_start, FMU_DISCRETE * sizeof(double));
  memcpy(d->iterated, fmu_iterated_start, FMU_ITERATED * sizeof(double));
  for (k = 0; k < FMU_DISCRETE; ++k) d->sample[k] = 1.0;
  d->stale = 1;
}

static inline int fmu_differs(double update, double held) {
  return fabs(update - held) > 1e-14 * fabs(held) || (update != update) != (held != held);
}

/* Whether a discrete variable that time changes is another one at t. */
static inline int fmu_timed_change(fmu_instance* fmu, double t) {
  const fmu_data* d = &fmu->now;
  double given[FMU_GIVEN], found[FMU_TIMED + 1];
  const double* in = given;
  double* out = found;
  int k;
  given[0] = t;
  memcpy(given + 1, d->values + 1, (FMU_PARAMETERS + FMU_INPUTS) * sizeof(double));
  memcpy(given + 1 + FMU_PARAMETERS + FMU_INPUTS, d->discrete, FMU_DISCRETE * sizeof(double));
  fmu_exchange_timed(fmu->memory, &in, &out);
  for (k = 0; k < FMU_TIMED; ++k)
    if (fmu_differs(found[k], d->discrete[fmu_timed[k]])) return 1;
  return 0;
}

/* When something happens by time: looked for step by step, then by bisection. Where nothing does for long, a
 * time at which to ask again. */
static inline double fmu_next_timed(fmu_instance* fmu, double limit) {
  const double now = fmu->now.values[0];
  double before = now, at = now, middle;
  int k;
  for (k = 1; k <= FMU_MOST_LOOKED_AT; ++k) {
    before = at;
    at = now + FMU_STEP * k;
    if (before >= limit) return limit;
    if (!fmu_timed_change(fmu, at)) continue;
    for (;;) {
      middle = before + 0.5 * (at - before);
      if (!(middle > before && middle < at)) return at;
      if (fmu_timed_change(fmu, middle))
        at = middle;
      else
        before = middle;
    }
  }
  return at;
}

static inline double fmu_next_event(fmu_instance* fmu) {
  const fmu_data* d = &fmu->now;
  double next = d->jump < FMU_JUMPS ? fmu_jump[d->jump] : FMU_KNOWN_TO;
  int k;
  for (k = 0; k < FMU_DISCRETE; ++k)
    if (fmu_every[k] > 0.0 && d->sample[k] * fmu_every[k] < next) next = d->sample[k] * fmu_every[k];
  return FMU_TIMED > 0 ? fmu_next_timed(fmu, next) : next;
}

/* What is sampled now takes its value from before any jump. */
static inline int fmu_sample(fmu_instance* fmu, int* restart) {
  fmu_data* d = &fmu->now;
  double update[FMU_DISCRETE + 1];
  int k, due = 0;
  for (k = 0; k < FMU_DISCRETE; ++k)
    due = due || (fmu_every[k] > 0.0 && d->values[0] >= (d->sample[k] - 1e-9) * fmu_every[k]);
  if (!due) return 1;
  if (!fmu_exchange_call(fmu, fmu_exchange_updates, update)) return 0;
  for (k = 0; k < FMU_DISCRETE; ++k)
    if (fmu_every[k] > 0.0 && d->values[0] >= (d->sample[k] - 1e-9) * fmu_every[k]) {
      *restart = *restart || d->discrete[k] != update[k];
      d->discrete[k] = update[k];
      d->sample[k] = floor(d->values[0] / fmu_every[k] + 1e-6) + 1.0;
    }
  return 1;
}

/* Between events an indicator is moved away from zero, to the side on which its quantity is: importers do not
 * see one that leaves zero, and what decides has surely changed where one crosses. */
static inline int fmu_move_indicators(fmu_instance* fmu) {
  fmu_data* d = &fmu->now;
  double* z = d->values + FMU_FIRST_INDICATOR;
  int k;
  for (k = 0; k < FMU_INDICATORS; ++k) d->offset[k] = 0.0;
  d->stale = 1;
  if (!fmu_evaluate(fmu)) return 0;
  for (k = 0; k < FMU_INDICATORS; ++k) {
    if (fabs(z[k]) > d->size[k]) d->size[k] = fabs(z[k]);
    d->offset[k] = (z[k] > 0.0 ? 1e-10 : -1e-10) * (d->size[k] > 1e-6 ? d->size[k] : 1e-6);
    z[k] += d->offset[k];
  }
  return 1;
}

/* Event mode: discrete variables become what they want to be, until nothing changes any more. States stay as
 * they are; but where rates have jumped, `restart` says that they changed, because importers begin anew only
 * then: what a multistep formula knows of the past is wrong. */
static inline int fmu_update(fmu_instance* fmu, int* terminate, int* restart, double* next) {
  fmu_data* d = &fmu->now;
  double update[FMU_DISCRETE + 1];
  int k, round, changed = 1, any = 0;
  *restart = d->parameters_set;
  if (!fmu_pivots_hold(fmu) || !fmu_sample(fmu, restart)) return 0;
  for (; d->jump < FMU_JUMPS && d->values[0] >= fmu_jump[d->jump] - 1e-9 * FMU_STEP; ++d->jump) *restart = 1;
  for (round = 0; FMU_DISCRETE > 0 && changed && round < FMU_MOST_ROUNDS; ++round) {
    if (!fmu_exchange_call(fmu, fmu_exchange_updates, update)) return 0;
    changed = 0;
    for (k = 0; k < FMU_DISCRETE; ++k) {
      if (fmu_every[k] > 0.0 || !fmu_differs(update[k], d->discrete[k])) continue;
      d->discrete[k] = update[k];
      changed = any = 1;
    }
  }
  *restart = *restart || any;
  if (any) {
    snprintf(fmu->message, sizeof fmu->message, "%s at t = %g s",
             changed ? "discrete variables change again and again" : "discrete variables have changed",
             d->values[0]);
    fmu_report(fmu, 0, fmu->message);
  }
  d->over =
      d->values[0] >= FMU_KNOWN_TO || (FMU_STOP >= 0 && d->discrete[FMU_STOP >= 0 ? FMU_STOP : 0] != 0.0);
  *terminate = d->over;
  *next = d->over ? INFINITY : fmu_next_event(fmu);
  return fmu_move_indicators(fmu);
}

/* Which of the derivatives' columns a variable is; -1: none. */
static inline int fmu_known(unsigned int reference) {
  const int parameter_or_input = (int)reference - 1, state = (int)reference - (int)FMU_FIRST_STATE;
  if (parameter_or_input >= 0 && parameter_or_input < (int)FMU_FIRST_OUTPUT - 1)
    return FMU_STATES + parameter_or_input;
  return state >= 0 && state < FMU_STATES ? state : -1;
}
static inline int fmu_unknown(unsigned int reference) {
  const int output = (int)reference - (int)FMU_FIRST_OUTPUT, rate = (int)reference - (int)FMU_FIRST_RATE;
  if (output >= 0 && output < FMU_OUTPUTS) return FMU_STATES + output;
  return rate >= 0 && rate < FMU_STATES ? rate : -1;
}

/* Where each is in a list of references; 0 where the list has another one, or one twice. */
static inline int fmu_places(fmu_instance* fmu, const unsigned int* references, size_t count,
                             int (*index)(unsigned int), int* place, int size) {
  size_t k;
  int at;
  for (at = 0; at < size; ++at) place[at] = -1;
  for (k = 0; k < count; ++k) {
    at = index(references[k]);
    if (at < 0 || place[at] >= 0)
      return fmu_refuse(fmu, "there is no derivative by or of variable %u, or it stands twice",
                        references[k]);
    place[at] = (int)k;
  }
  return 1;
}

/* Directional: out = J seed; adjoint: out = seed J. */
static inline int fmu_derivative(fmu_instance* fmu, int adjoint, const unsigned int* unknowns,
                                 size_t unknown_count, const unsigned int* knowns, size_t known_count,
                                 const double* seed, double* out, const char* function) {
  double slope[FMU_SLOPES + 1];
  int row[FMU_UNKNOWNS + 1], column[FMU_KNOWNS + 1], k;
  const size_t size = adjoint ? known_count : unknown_count;
  size_t i;
  if (!FMU_HAS_SLOPES) return fmu_refuse(fmu, "%s: this FMU has no derivatives", function);
  if (!fmu_in_exchange(fmu, 1 << FMU_INITIALIZING | 1 << FMU_EVENT | 1 << FMU_CONTINUOUS, function)) return 0;
  if (!fmu_places(fmu, unknowns, unknown_count, fmu_unknown, row, FMU_UNKNOWNS) ||
      !fmu_places(fmu, knowns, known_count, fmu_known, column, FMU_KNOWNS) ||
      !fmu_exchange_call(fmu, fmu_exchange_slopes, slope))
    return 0;
  for (i = 0; i < size; ++i) out[i] = 0.0;
  for (k = 0; k < FMU_SLOPES; ++k) {
    const int i_unknown = row[fmu_slope_unknown[k]], i_known = column[fmu_slope_known[k]];
    if (i_unknown < 0 || i_known < 0) continue;
    if (adjoint)
      out[i_known] += seed[i_unknown] * slope[k];
    else
      out[i_unknown] += slope[k] * seed[i_known];
  }
  return 1;
}

/* What the importer's integrator sets. */
static inline int fmu_set_time(fmu_instance* fmu, double time, const char* function) {
  if (!fmu_in_exchange(fmu, 1 << FMU_CONTINUOUS | 1 << FMU_EVENT, function)) return 0;
  if (!isfinite(time)) return fmu_refuse(fmu, "%s: %g is no time", function, time);
  fmu->now.values[0] = time;
  fmu->now.stale = 1;
  return 1;
}
static inline int fmu_set_states(fmu_instance* fmu, const double* states, size_t count,
                                 const char* function) {
  if (!fmu_in_exchange(fmu, 1 << FMU_CONTINUOUS, function) || !fmu_has_size(fmu, function, count, FMU_STATES))
    return 0;
  memcpy(fmu->now.values + FMU_FIRST_STATE, states, count * sizeof(double));
  fmu->now.stale = 1;
  return 1;
}

/* Values one behind the other; `computed` where they follow from states. */
static inline int fmu_get_values(fmu_instance* fmu, int first, int size, int computed, double* values,
                                 size_t count, const char* function) {
  if (!fmu_in_exchange(fmu,
                       1 << FMU_INITIALIZING | 1 << FMU_EVENT | 1 << FMU_CONTINUOUS | 1 << FMU_TERMINATED,
                       function) ||
      !fmu_has_size(fmu, function, count, (size_t)size) || (computed && !fmu_evaluate(fmu)))
    return 0;
  memcpy(values, fmu->now.values + first, count * sizeof(double));
  return 1;
}

#endif
