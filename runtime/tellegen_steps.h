/* Steps of an exported model in which something switches, is sampled or jumps: the model's step as generated
 * code, tellegen_events.h around it. C99, no allocation, no state of its own.
 *
 * What a model is stands in a constant tellegen_model. What it is doing stands in tellegen_run and in arrays
 * whose lengths the model says; all are plain numbers and may be copied.
 */
#ifndef TELLEGEN_STEPS_H
#define TELLEGEN_STEPS_H

#include "tellegen_events.h"

#define TELLEGEN_FORMULA 5 /* alpha, the factors of three past values, of the past rate */

typedef struct {
  double step;
  int order, restart_steps, jumps_share, bisections, stop_event, follows, start_steps, fixed_iterations;
  double own[TELLEGEN_FORMULA], start[TELLEGEN_FORMULA]; /* the method's formula, and of its first steps */
  /* Discrete variables. */
  int size;
  const double* every;
  const char *timed, *factor; /* time alone changes it; what is computed once depends on it */
  const int *held, *updates;  /* registers */
  /* Those that time changes, from t and some of them. */
  int timed_inputs, timed_roots, quantities; /* quantities: what decides them, behind the roots */
  const int *timed_input, *timed_root;
  /* When sources jump, as far as that is known. */
  int jumps;
  const double* jump;
  double known_to;
  /* Registers: of the formula and the step's length, of what is put aside and where it comes back to, of the
     loop. */
  const int* formula;
  int stored, values;
  const int *store, *load;
  int origin, length, index, left, stride, phase, renew, renewed_ago, fixed;
  tellegen_entry *prepare, *run, *timed_updates;
} tellegen_model;

typedef struct {
  tellegen_event_state now;
  int64_t index, next_due;
  int starting, renew, next_jump;
  double formula[TELLEGEN_FORMULA];
} tellegen_run;

typedef struct {
  const tellegen_model* model;
  tellegen_run* run;
  double *w, *held, *aside; /* aside: twice `stored` */
  tellegen_sampling* each;
  double *updates, *before, *timed_values, *deciding; /* for as long as a call lasts */
  int* taken;
  double *row, *other_row, *to; /* outputs: where they are wanted, where not, where they go */
} tellegen_stepper;

/* The values at t = 0; `held` and `w` are filled by the caller. */
static inline void tellegen_run_start(const tellegen_model* m, tellegen_run* run, tellegen_sampling* each) {
  const tellegen_event_state nothing = {0, 0, 0, 0, 0, 0, 0, 0.0, 0};
  tellegen_schedule s = {0, 0.0, 0, 0, 0, 0, 0, -1, 0};
  int k;
  s.size = m->size, s.step = m->step, s.every = m->every, s.each = each, s.next_due = &run->next_due;
  tellegen_schedule_start(&s);
  run->now = nothing;
  run->index = 0;
  run->starting = m->start_steps;
  run->renew = 1;
  run->next_jump = 0;
  for (k = 0; k < TELLEGEN_FORMULA; ++k) run->formula[k] = m->own[k];
}

static inline double tellegen_run_time(const tellegen_model* m, const tellegen_run* run) {
  return run->now.ended ? run->now.ended_at : m->step * (double)run->index;
}

static inline void tellegen_use(tellegen_stepper* s, const double* formula, double length) {
  const tellegen_model* m = s->model;
  int k, same = 1;
  for (k = 0; k < TELLEGEN_FORMULA; ++k) same = same && s->run->formula[k] == formula[k];
  if (same) return;
  for (k = 0; k < TELLEGEN_FORMULA; ++k) s->w[m->formula[k]] = s->run->formula[k] = formula[k];
  s->w[m->formula[TELLEGEN_FORMULA]] = length;
  m->prepare(s->w, 0, 0);
  s->run->renew = 1;
}

static inline void tellegen_formula(const tellegen_stepper* s, int formula, double length, double* c) {
  const double* own = s->run->starting > 0 ? s->model->start : s->model->own;
  const double alpha = formula == TELLEGEN_EULER ? 1 / length : 1 / (TELLEGEN_SDIRK_NODE * length);
  int k;
  for (k = 0; k < TELLEGEN_FORMULA; ++k) c[k] = formula == TELLEGEN_OWN ? own[k] : 0.0;
  if (formula == TELLEGEN_OWN) return;
  c[0] = alpha;
  /* The second stage looks past the first, at the value before it, and uses its rate. */
  c[formula == TELLEGEN_STAGE_2 ? 2 : 1] = -alpha;
  if (formula == TELLEGEN_STAGE_2) c[4] = -(1 - TELLEGEN_SDIRK_NODE) / TELLEGEN_SDIRK_NODE;
}

static inline int tellegen_call_run(tellegen_stepper* s, double origin, double length, int64_t index,
                                    int64_t steps, int64_t stride, int renew, int fixed) {
  const tellegen_model* m = s->model;
  double *w = s->w, *out = s->to;
  w[m->origin] = origin;
  w[m->length] = length;
  w[m->index] = (double)index;
  w[m->left] = (double)steps;
  w[m->stride] = (double)stride;
  w[m->phase] = 0.0;
  w[m->renew] = renew;
  w[m->renewed_ago] = (double)(index % 64);
  w[m->fixed] = fixed;
  return m->run(w, 0, &out) == 0;
}

static inline int tellegen_stepper_take(void* self, int formula, double t, double length) {
  tellegen_stepper* s = (tellegen_stepper*)self;
  const int fixed = s->model->fixed_iterations;
  double c[TELLEGEN_FORMULA];
  int good;
  tellegen_formula(s, formula, length, c);
  tellegen_use(s, c, length);
  good = tellegen_call_run(s, t, 0.0, 0, 1, 1, 1, fixed);
  /* In the tiniest steps differences of values are mostly rounding, and may never settle. */
  if (!good && length < 1e-6 * s->model->step && fixed == 0)
    good = tellegen_call_run(s, t, 0.0, 0, 1, 1, 1, 20);
  s->run->renew = 1;
  return good;
}

static inline void tellegen_stepper_load(void* self, int aside) {
  tellegen_stepper* s = (tellegen_stepper*)self;
  const tellegen_model* m = s->model;
  const double* from = s->aside + aside * m->stored;
  int k;
  for (k = 0; k < m->stored; ++k) s->w[m->load[k]] = s->w[m->store[k]] = from[k];
  for (k = 0; k < m->size; ++k) s->w[m->held[k]] = s->held[k];
}

static inline void tellegen_stepper_store(void* self, int aside) {
  tellegen_stepper* s = (tellegen_stepper*)self;
  double* to = s->aside + aside * s->model->stored;
  int k;
  for (k = 0; k < s->model->stored; ++k) to[k] = s->w[s->model->store[k]];
}

static inline void tellegen_stepper_keep_value(void* self, int age, int aside, int from) {
  tellegen_stepper* s = (tellegen_stepper*)self;
  const int n = s->model->values;
  int k;
  for (k = 0; k < n; ++k) s->aside[age * n + k] = s->aside[aside * s->model->stored + from * n + k];
}

static inline void tellegen_stepper_hold(void* self) {
  tellegen_stepper* s = (tellegen_stepper*)self;
  const tellegen_model* m = s->model;
  int k, factors = 0;
  for (k = 0; k < m->size; ++k) {
    factors = factors || (m->factor[k] && s->w[m->held[k]] != s->held[k]);
    s->w[m->held[k]] = s->held[k];
  }
  if (factors) m->prepare(s->w, 0, 0);
}

static inline void tellegen_stepper_update(void* self, double t) {
  tellegen_stepper* s = (tellegen_stepper*)self;
  int k;
  (void)t;
  for (k = 0; k < s->model->size; ++k) s->updates[k] = s->w[s->model->updates[k]];
}

static inline int tellegen_stepper_timed_change(void* self, double t) {
  tellegen_stepper* s = (tellegen_stepper*)self;
  const tellegen_model* m = s->model;
  double *values = s->timed_values, *out = values + 1 + m->timed_inputs;
  const double* updates = out;
  int k;
  if (m->timed_roots == 0) return 0;
  values[0] = t;
  for (k = 0; k < m->timed_inputs; ++k) values[1 + k] = s->held[m->timed_input[k]];
  m->timed_updates(values, 0, &out);
  for (k = 0; k < m->timed_roots; ++k)
    if (tellegen_differs(updates[k], s->held[m->timed_root[k]])) return 1;
  return 0;
}

static inline const double* tellegen_stepper_timed_quantities(void* self) {
  const tellegen_stepper* s = (const tellegen_stepper*)self;
  return s->timed_values + 1 + s->model->timed_inputs + s->model->timed_roots;
}

static inline double tellegen_stepper_next_jump(void* self) {
  const tellegen_stepper* s = (const tellegen_stepper*)self;
  return s->run->next_jump < s->model->jumps ? s->model->jump[s->run->next_jump] : (double)INFINITY;
}
static inline int tellegen_stepper_is_jump(void* self) {
  (void)self;
  return 1;
}
static inline void tellegen_stepper_pass_jump(void* self) { ++((tellegen_stepper*)self)->run->next_jump; }
static inline double tellegen_stepper_before_jump(void* self, double t) {
  return tellegen_before_jump(((const tellegen_stepper*)self)->model->step, t);
}

static inline tellegen_events tellegen_events_of(tellegen_stepper* s) {
  const tellegen_model* m = s->model;
  tellegen_events e;
  e.order = m->order;
  e.jumps_share = m->jumps_share;
  e.restart_steps = m->restart_steps;
  e.bisections = m->bisections;
  e.stop_event = m->stop_event;
  e.follows = m->follows;
  e.timed = m->timed;
  e.quantities = m->quantities;
  e.deciding = s->deciding;
  e.schedule.size = m->size;
  e.schedule.step = m->step;
  e.schedule.every = m->every;
  e.schedule.each = s->each;
  e.schedule.next_due = &s->run->next_due;
  e.schedule.taken = s->taken;
  e.schedule.taken_count = 0;
  e.schedule.chatter = -1;
  e.schedule.chatter_index = 0;
  e.now = &s->run->now;
  e.held = s->held;
  e.updates = s->updates;
  e.before = s->before;
  e.self = s;
  e.take = tellegen_stepper_take;
  e.load = tellegen_stepper_load;
  e.store = tellegen_stepper_store;
  e.keep_value = tellegen_stepper_keep_value;
  e.hold = tellegen_stepper_hold;
  e.update = tellegen_stepper_update;
  e.timed_change = tellegen_stepper_timed_change;
  e.timed_quantities = tellegen_stepper_timed_quantities;
  e.next_jump = tellegen_stepper_next_jump;
  e.is_jump = tellegen_stepper_is_jump;
  e.pass_jump = tellegen_stepper_pass_jump;
  e.before_jump = tellegen_stepper_before_jump;
  e.watched = 0;
  e.kept = 0;
  e.both_stages = 0;
  e.changed = 0;
  return e;
}

/* As many steps as can be taken in the ordinary way, up to `last`. */
static inline int tellegen_ordinary_steps(tellegen_stepper* s, const tellegen_events* e, int64_t last) {
  tellegen_run* run = s->run;
  const int64_t due = tellegen_events_due(e), before = run->index;
  int64_t wanted = (due < last ? due : last) - before;
  double c[TELLEGEN_FORMULA];
  int good;
  if (run->starting > 0 && run->starting < wanted) wanted = run->starting;
  tellegen_formula(s, TELLEGEN_OWN, s->model->step, c);
  tellegen_use(s, c, s->model->step);
  good = tellegen_call_run(s, 0.0, s->model->step, before, wanted, last - before, run->renew,
                           s->model->fixed_iterations);
  run->index = (int64_t)s->w[s->model->index];
  run->renew = s->w[s->model->renew] != 0.0;
  if (!good) return 0;
  run->starting = run->index - before < run->starting ? run->starting - (int)(run->index - before) : 0;
  return 1;
}

/* Some steps, and the outputs after the last in `row`. 0; 1: Newton's iteration did not converge; 2: the run
 * is over, at a condition or where the model no longer knows when its sources jump. */
static inline int tellegen_run_steps(tellegen_stepper* s, int64_t steps) {
  tellegen_run* run = s->run;
  const double h = s->model->step;
  const int64_t last = run->index + steps;
  tellegen_events e = tellegen_events_of(s);
  if (run->now.ended) return 2;
  if (h * (double)last > s->model->known_to) return 2;
  while (run->index < last) {
    double t = h * (double)(run->index + 1);
    s->to = s->row;
    if (tellegen_jumps(&e, t)) {
      if (!tellegen_jump(&e, run->index + 1, t)) return 1;
      run->starting = 0;
      ++run->index;
      if (run->now.ended) return 2;
    } else {
      if (run->now.restarting > 0) {
        if (!tellegen_restart(&e, t)) return 1;
        run->starting = 0;
        ++run->index;
      } else if (!tellegen_ordinary_steps(s, &e, last)) {
        return 1;
      }
      t = h * (double)run->index;
      if (tellegen_again(&e, t)) {
        if (!tellegen_locate(&e, run->index, t)) return 1;
        if (run->now.ended) return 2;
      } else {
        tellegen_keep(&e, t);
      }
    }
    s->to = s->other_row;
    tellegen_update(&e, run->index, t);
  }
  return 0;
}

/* A number from outside, from the next step on. */
static inline void tellegen_run_input(tellegen_stepper* s, int variable, double value) {
  if (s->held[variable] == value) return;
  s->held[variable] = value;
  tellegen_stepper_hold(s);
  s->run->renew = 1;
}

#endif
