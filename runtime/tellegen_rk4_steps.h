/* Runge-Kutta steps of an exported model in which something switches, is sampled or jumps: the model's step
 * as generated code, tellegen_rk4.h around it. C99, no allocation, no state of its own.
 */
#ifndef TELLEGEN_RK4_STEPS_H
#define TELLEGEN_RK4_STEPS_H

#include "tellegen_rk4.h"

typedef struct {
  double step;
  int bisections, width;
  /* Discrete variables; held, updates: registers. */
  int size;
  const double* every;
  const int *held, *updates;
  /* When sources jump, as far as that is known. */
  int jumps;
  const double* jump;
  double known_to;
  /* Registers: of the states and of what they were before a step, of the loop. */
  int states;
  const int *state, *begin;
  int length, origin, index, left, stride, phase, renew, happened, stopped;
  tellegen_entry *prepare, *run;
} tellegen_rk4_model;

typedef struct {
  tellegen_rk4_steps now;
  int64_t next_due, events;
  int next_jump, ended;
  double ended_at;
} tellegen_rk4_run;

typedef struct {
  const tellegen_rk4_model* model;
  tellegen_rk4_run* run;
  double *w, *held;
  tellegen_sampling* each;
  double* updates; /* for as long as a call lasts */
  int* taken;
} tellegen_rk4_stepper;

static inline tellegen_schedule tellegen_rk4_schedule_of(const tellegen_rk4_model* m, tellegen_rk4_run* run,
                                                         tellegen_sampling* each, int* taken) {
  tellegen_schedule s = {0, 0.0, 0, 0, 0, 0, 0, -1, 0};
  s.size = m->size, s.step = m->step, s.every = m->every, s.each = each, s.next_due = &run->next_due;
  s.taken = taken;
  return s;
}

/* The values at t = 0; `held` and `w` are filled by the caller. */
static inline void tellegen_rk4_run_start(const tellegen_rk4_model* m, tellegen_rk4_run* run,
                                          tellegen_sampling* each) {
  const tellegen_rk4_steps start = {0.0, 0.0, 0, 0, 1, 0, 1, 0, 0};
  tellegen_schedule s = tellegen_rk4_schedule_of(m, run, each, 0);
  tellegen_schedule_start(&s);
  run->now = start;
  run->now.step = m->step;
  run->events = 0;
  run->next_jump = run->ended = 0;
  run->ended_at = 0.0;
}

static inline double tellegen_rk4_run_time(const tellegen_rk4_model* m, const tellegen_rk4_run* run) {
  return run->ended ? run->ended_at : m->step * (double)run->now.index;
}

static inline int tellegen_rk4_stepper_run(void* self, tellegen_rk4_steps* c, double** rows) {
  tellegen_rk4_stepper* s = (tellegen_rk4_stepper*)self;
  const tellegen_rk4_model* m = s->model;
  double* w = s->w;
  int good;
  w[m->length] = c->step;
  w[m->origin] = c->origin;
  w[m->index] = (double)c->index;
  w[m->left] = (double)c->steps;
  w[m->stride] = (double)c->stride;
  w[m->phase] = (double)c->phase;
  w[m->renew] = (double)c->fresh;
  w[m->stopped] = (double)c->stopped;
  good = m->run(w, 0, rows) == 0;
  c->index = (int64_t)w[m->index];
  c->phase = (int64_t)w[m->phase];
  c->fresh = (int64_t)w[m->renew];
  c->event = (int64_t)w[m->happened];
  c->stopped = (int64_t)w[m->stopped];
  return good;
}

static inline void tellegen_rk4_stepper_undo(void* self) {
  tellegen_rk4_stepper* s = (tellegen_rk4_stepper*)self;
  int k;
  for (k = 0; k < s->model->states; ++k) s->w[s->model->state[k]] = s->w[s->model->begin[k]];
}

static inline void tellegen_rk4_stepper_update(void* self) {
  tellegen_rk4_stepper* s = (tellegen_rk4_stepper*)self;
  int k;
  for (k = 0; k < s->model->size; ++k) s->updates[k] = s->w[s->model->updates[k]];
}

static inline void tellegen_rk4_stepper_hold(void* self) {
  tellegen_rk4_stepper* s = (tellegen_rk4_stepper*)self;
  int k;
  for (k = 0; k < s->model->size; ++k) s->w[s->model->held[k]] = s->held[k];
  s->model->prepare(s->w, 0, 0);
}

static inline double tellegen_rk4_stepper_next_jump(void* self) {
  const tellegen_rk4_stepper* s = (const tellegen_rk4_stepper*)self;
  return s->run->next_jump < s->model->jumps ? s->model->jump[s->run->next_jump] : (double)INFINITY;
}
static inline int tellegen_rk4_stepper_is_jump(void* self) {
  (void)self;
  return 1;
}
static inline void tellegen_rk4_stepper_pass_jump(void* self) {
  ++((tellegen_rk4_stepper*)self)->run->next_jump;
}
static inline double tellegen_rk4_stepper_before_jump(void* self, double t) {
  return tellegen_before_jump(((const tellegen_rk4_stepper*)self)->model->step, t);
}

/* Some steps, and the outputs after the last in `row`. 0; 1: Newton's iteration did not converge; 2: the run
 * is over, at a condition or where the model no longer knows when its sources jump. */
static inline int tellegen_rk4_run_steps(tellegen_rk4_stepper* s, int64_t steps, double* row) {
  const tellegen_rk4_model* m = s->model;
  tellegen_rk4_run* run = s->run;
  const int64_t last = run->now.index + steps;
  tellegen_rk4 r;
  if (run->ended || m->step * (double)last > m->known_to) return 2;
  r.bisections = m->bisections;
  r.jumps = 1;
  r.width = m->width;
  r.schedule = tellegen_rk4_schedule_of(m, run, s->each, s->taken);
  r.now = &run->now;
  r.ended = &run->ended;
  r.ended_at = &run->ended_at;
  r.events = &run->events;
  r.held = s->held;
  r.updates = s->updates;
  r.rows = row;
  r.self = s;
  r.run = tellegen_rk4_stepper_run;
  r.undo = tellegen_rk4_stepper_undo;
  r.update = tellegen_rk4_stepper_update;
  r.hold = tellegen_rk4_stepper_hold;
  r.next_jump = tellegen_rk4_stepper_next_jump;
  r.is_jump = tellegen_rk4_stepper_is_jump;
  r.pass_jump = tellegen_rk4_stepper_pass_jump;
  r.before_jump = tellegen_rk4_stepper_before_jump;
  run->now.stride = steps;
  run->now.phase = 0;
  while (run->now.index < last) {
    if (!tellegen_rk4_go_on(&r, last)) return 1;
    if (run->ended) return 2;
  }
  return 0;
}

/* A number from outside, from the next step on. */
static inline void tellegen_rk4_run_input(tellegen_rk4_stepper* s, int variable, double value) {
  if (s->held[variable] == value) return;
  s->held[variable] = value;
  tellegen_rk4_stepper_hold(s);
  s->run->now.fresh = 1;
}

#endif
