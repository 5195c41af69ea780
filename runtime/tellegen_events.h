/* Fixed steps around events: what the simulator runs and what exported models carry with them. C99, no
 * allocation, no state of its own; simulate/event_steps.h explains the method.
 *
 * A caller has discrete variables (`held`), what they should become after a step (`updates`), sources that
 * jump at times known beforehand, and something that takes a step. All of this stands behind the functions of
 * tellegen_events; what is kept from step to step are the plain numbers of tellegen_event_state and
 * tellegen_sampling, which may be copied.
 */
#ifndef TELLEGEN_EVENTS_H
#define TELLEGEN_EVENTS_H

#include <float.h>
#include <math.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether an update is another value. A variable that keeps its value has been through the equations of a
 * step, and may come back with the last digit changed. */
static inline int tellegen_differs(double update, double held) {
  return fabs(update - held) > 1e-14 * fabs(held) || (update != update) != (held != held);
}

/* A time so little before t that only a jump at t tells. */
static inline double tellegen_before_jump(double step, double t) {
  const double least = 1e-9 * step, rounding = 4.0 * DBL_EPSILON * t;
  return t - (least < rounding ? rounding : least);
}

/* Generated code: on registers, with rows of outputs. */
typedef int tellegen_entry(double* w, const double** in, double** out);

/* When variables with a sample time are due, who changes, and who changes in every step. */

#define TELLEGEN_NEVER INT64_MAX
#define TELLEGEN_CHATTERING_STEPS 50 /* changes in as many steps on end */

typedef struct {
  int64_t count, due;        /* the multiple of the sample time, and its step */
  int64_t last_change, runs; /* a step, and changes in steps on end */
} tellegen_sampling;

typedef struct {
  int size; /* discrete variables */
  double step;
  const double* every;     /* sample times; 0: whenever the update differs */
  tellegen_sampling* each; /* kept */
  int64_t* next_due;       /* kept: step at whose end something is sampled */
  int *taken, taken_count; /* by the last take: changed, or sampled */
  int chatter;             /* the first variable that chatters; -1: none */
  int64_t chatter_index;   /* the last of those steps */
} tellegen_schedule;

/* The first step after the last that ends at or after the next multiple of a sample time. */
static inline void tellegen_schedule_next(tellegen_schedule* s) {
  const int64_t done = *s->next_due;
  int k;
  *s->next_due = TELLEGEN_NEVER;
  for (k = 0; k < s->size; ++k) {
    tellegen_sampling* v = &s->each[k];
    if (v->due == TELLEGEN_NEVER) continue;
    while (v->due <= done) v->due = (int64_t)ceil((double)++v->count * s->every[k] / s->step - 1e-6);
    if (v->due < *s->next_due) *s->next_due = v->due;
  }
}

static inline void tellegen_schedule_start(tellegen_schedule* s) {
  int k;
  for (k = 0; k < s->size; ++k) {
    s->each[k].count = s->each[k].runs = 0;
    s->each[k].due = s->every[k] > 0.0 ? 0 : TELLEGEN_NEVER;
    s->each[k].last_change = -2;
  }
  *s->next_due = 0;
  s->taken_count = 0;
  s->chatter = -1;
  s->chatter_index = 0;
  tellegen_schedule_next(s);
}

/* Takes over what `updates` say at the end of step `index`. 1 where a value has changed. */
static inline int tellegen_schedule_take(tellegen_schedule* s, int64_t index, const double* updates,
                                         double* held) {
  int k, changed = 0;
  s->taken_count = 0;
  for (k = 0; k < s->size; ++k) {
    tellegen_sampling* v = &s->each[k];
    const int sampled = v->due != TELLEGEN_NEVER, differs = tellegen_differs(updates[k], held[k]);
    if (sampled && v->due != index) continue;
    if (sampled || differs) s->taken[s->taken_count++] = k;
    if (!differs) continue;
    held[k] = updates[k];
    changed = 1;
    if (sampled) continue;
    v->runs = v->last_change >= index - 1 ? v->runs + 1 : 1;
    v->last_change = index;
    if (v->runs == TELLEGEN_CHATTERING_STEPS && s->chatter < 0) s->chatter = k, s->chatter_index = index;
  }
  if (index == *s->next_due) tellegen_schedule_next(s);
  return changed;
}

/* The steps. */

#define TELLEGEN_MOST_LOCATED 8                 /* events in one step that are looked for by bisection */
#define TELLEGEN_MOST_FOLLOWED 20               /* changes at one event */
#define TELLEGEN_SHORTEST_PART 1e-7             /* of a step */
#define TELLEGEN_LOOK_AHEAD 3e-4                /* likewise; shorter ones have rates of rounding */
#define TELLEGEN_SDIRK_NODE 0.29289321881345254 /* 1 - 1/sqrt(2): where the first stage ends */

/* What a step is taken with: the method's own formula or the one it starts with, as the caller knows;
 * backward Euler; the stages of a step of second order. */
enum { TELLEGEN_OWN, TELLEGEN_EULER, TELLEGEN_STAGE_1, TELLEGEN_STAGE_2 };

/* Where values are put aside: what a step starts from, and what the step before it started from. */
enum { TELLEGEN_NOW, TELLEGEN_BEGIN };

typedef struct { /* plain numbers, kept from step to step */
  int located, first_order, restarted, staged;
  int jumped;     /* a source jumps at the end of this step, whose values are those before */
  int restarting; /* steps until the formula has its past */
  int ended;
  double ended_at;
  int64_t events;
} tellegen_event_state;

typedef struct {
  /* The method, the model. */
  int order, restart_steps, bisections;
  int jumps_share;   /* storages in a circuit with sources share what these jump by */
  int stop_event;    /* the discrete variable that ends the run; -1: none */
  int follows;       /* there are variables that follow at once */
  const char* timed; /* of each: its update is a function of time and discrete variables alone */
  int quantities;    /* that decide those, and change their signs where one changes */
  double* deciding;  /* for three times as many */
  /* The run. */
  tellegen_schedule schedule;
  tellegen_event_state* now;
  double *held, *updates, *before;
  /* What carries out a step. After take() outputs and updates are those at its end. */
  void* self;
  int (*take)(void* self, int formula, double t, double length); /* to time t; 0: no convergence */
  void (*load)(void* self, int aside);
  void (*store)(void* self, int aside);
  void (*keep_value)(void* self, int age, int aside, int from); /* NOW's value `age` from another */
  void (*hold)(void* self);                                     /* `held`, from the next step on */
  void (*update)(void* self, double t);                         /* fills `updates` */
  int (*timed_change)(void* self, double t);                    /* whether one that is timed differs at t */
  const double* (*timed_quantities)(void* self);                /* as that found them */
  double (*next_jump)(void* self);                              /* infinity: never again */
  int (*is_jump)(void* self);                                   /* whether a source jumps there */
  void (*pass_jump)(void* self);                                /* it is behind */
  double (*before_jump)(void* self, double t); /* so little before t that only a jump tells */
  /* For those who go along with the run; all 0: nobody ever does. The step just taken stays; the last two
     were stages of one step; discrete variables were taken over at its end. */
  int (*watched)(void* self);
  void (*kept)(void* self, int formula, double t, double length);
  void (*both_stages)(void* self);
  void (*changed)(void* self, double t);
} tellegen_events;

static inline void tellegen_events_start(tellegen_events* e) {
  const tellegen_event_state nothing = {0, 0, 0, 0, 0, 0, 0, 0.0, 0};
  *e->now = nothing;
  tellegen_schedule_start(&e->schedule);
}

static inline int tellegen_wants_change(tellegen_events* e, double t) {
  int k;
  e->update(e->self, t);
  for (k = 0; k < e->schedule.size; ++k)
    if (e->schedule.every[k] == 0.0 && tellegen_differs(e->updates[k], e->held[k])) return 1;
  return 0;
}

static inline int tellegen_ends(const tellegen_events* e) {
  return e->stop_event >= 0 && e->updates[e->stop_event] != 0.0;
}

/* After any step to t: whether it is to be done again in parts. */
static inline int tellegen_again(tellegen_events* e, double t) {
  e->now->located = 0;
  return tellegen_wants_change(e, t) &&
         (e->bisections > 0 || tellegen_ends(e) || e->timed_change(e->self, t));
}

/* The steps up to this one end, or can be sampled, in the ordinary way. */
static inline int64_t tellegen_events_due(const tellegen_events* e) {
  const int64_t due = *e->schedule.next_due;
  const double steps = ceil(e->next_jump(e->self) / e->schedule.step - TELLEGEN_SHORTEST_PART) - 1.0;
  return steps < (double)due ? (int64_t)steps : due;
}

/* Before a step to t: whether a source jumps in it. */
static inline int tellegen_jumps(tellegen_events* e, double t) {
  while (e->next_jump(e->self) <= t + TELLEGEN_SHORTEST_PART * e->schedule.step) {
    if (e->is_jump(e->self)) return 1;
    e->pass_jump(e->self);
  }
  return 0;
}

static inline int tellegen_take_updates(tellegen_events* e, int64_t index, double t) {
  int k;
  e->update(e->self, t);
  for (k = 0; k < e->schedule.size; ++k) e->before[k] = e->held[k];
  if (!tellegen_schedule_take(&e->schedule, index, e->updates, e->held)) return 0;
  e->hold(e->self);
  ++e->now->events;
  return 1;
}

static inline void tellegen_tell(tellegen_events* e, double t) {
  if (e->changed) e->changed(e->self, t);
}

/* What wants to change because something else has: looked at just after the event, before time goes on. */
static inline void tellegen_follow(tellegen_events* e, double t) {
  const double moment = TELLEGEN_SHORTEST_PART * e->schedule.step;
  tellegen_schedule* s = &e->schedule;
  int round, k, i;
  for (round = 0; e->follows && round < TELLEGEN_MOST_FOLLOWED; ++round) {
    e->load(e->self, TELLEGEN_NOW);
    if (!e->take(e->self, TELLEGEN_EULER, t + moment, moment) || !tellegen_wants_change(e, t + moment)) break;
    for (k = 0; k < s->size; ++k) {
      if (s->every[k] != 0.0 || !tellegen_differs(e->updates[k], e->held[k])) continue;
      e->held[k] = e->updates[k];
      for (i = 0; i < s->taken_count && s->taken[i] != k; ++i) {
      }
      if (i == s->taken_count) s->taken[s->taken_count++] = k;
    }
    e->hold(e->self);
    ++e->now->events;
  }
  if (e->follows) e->load(e->self, TELLEGEN_NOW);
  tellegen_tell(e, t);
}

/* From one part of a step to another, in parts of it; `jump`: where the next source jumps. */
static inline int tellegen_reach(tellegen_events* e, double t, double from, double to, double jump,
                                 double* at) {
  const double h = e->schedule.step;
  e->load(e->self, TELLEGEN_NOW);
  *at = t - (1.0 - to) * h;
  if (to >= jump || (to == 1.0 && e->now->jumped)) *at = e->before_jump(e->self, *at);
  return e->take(e->self, TELLEGEN_EULER, *at, (to - from) * h);
}

/* Whether one changes whose time can only be found by solving. */
static inline int tellegen_solved_change(const tellegen_events* e) {
  int k;
  for (k = 0; k < e->schedule.size; ++k)
    if (e->schedule.every[k] == 0.0 && !e->timed[k] && tellegen_differs(e->updates[k], e->held[k])) return 1;
  return 0;
}

/* Whether one that is timed differs in some part of the step to t; `to` gets what decides it. */
static inline int tellegen_look(const tellegen_events* e, double t, double part, double* to) {
  const int change = e->timed_change(e->self, t - (1.0 - part) * e->schedule.step);
  const double* from = e->quantities > 0 ? e->timed_quantities(e->self) : 0;
  int k;
  for (k = 0; k < e->quantities; ++k) to[k] = from[k];
  return change;
}

/* How far a part goes that would end at `to`: to the first edge that time alone decides. What decides is
 * mostly a straight line in time, so its zero is looked at on both sides. Where that misses (a sawtooth
 * changes its sign by jumping, and its period decides), the last zero of several is tried, then the middle.
 */
static inline double tellegen_timed_end(const tellegen_events* e, double t, double done, double to) {
  const int n = e->quantities;
  const double rounding = 8.0 * DBL_EPSILON * t / e->schedule.step;
  const double resolution = rounding > 1e-12 ? rounding : 1e-12;
  double *low = e->deciding, *high = e->deciding + n, *between = e->deciding + 2 * n;
  double before = done, width = 1.0;
  enum { FIRST, LAST, MIDDLE } guess = FIRST;
  int upper = 1, round, k;
  if (!tellegen_look(e, t, to, high)) return to;
  /* An edge on the step grid may be seen a rounding later than the step that ends there. */
  if (tellegen_look(e, t, before, low)) return done + TELLEGEN_SHORTEST_PART;
  for (round = 0; to - before > resolution && round < 100; ++round) {
    double zero = guess == FIRST ? to : before, aside = 0.4 * resolution, at;
    int middle, change;
    for (k = 0; k < n; ++k)
      if ((low[k] < 0.0) != (high[k] < 0.0) && low[k] != high[k]) {
        const double there = before + (to - before) * low[k] / (low[k] - high[k]);
        if (guess == FIRST ? there < zero : there > zero) zero = there;
      }
    /* A straight line is where it is thought to be; of a curve the interval shrinks as it does near a zero.
     */
    if (round >= 2 && 0.02 * width * width > aside) aside = 0.02 * width * width;
    /* Beyond a bound all is known: then the other side is looked at. */
    if (upper && zero + aside >= to) upper = 0;
    if (!upper && zero - aside <= before) upper = 1;
    at = upper ? zero + aside : zero - aside;
    middle = guess == MIDDLE || !(at > before && at < to);
    if (middle) at = 0.5 * (before + to);
    change = tellegen_look(e, t, at, between);
    for (k = 0; k < n; ++k) (change ? high : low)[k] = between[k];
    if (change)
      to = at;
    else
      before = at;
    if (middle)
      guess = FIRST;
    else if (change != upper)
      guess = guess == FIRST ? LAST : MIDDLE;
    upper = middle ? upper : !change;
    width = to - before;
  }
  return to;
}

static inline int tellegen_in_parts(tellegen_events* e, int64_t index, double t) {
  const double h = e->schedule.step;
  double at = t, done = 0.0; /* of the step */
  int any = 0, events;       /* any: of events */
  for (events = 0; done < 1.0; ++events) {
    double jump = 2.0, to, reached;
    if (tellegen_jumps(e, t - TELLEGEN_SHORTEST_PART * h)) {
      jump = 1.0 - (t - e->next_jump(e->self)) / h;
      if (jump < done + TELLEGEN_SHORTEST_PART) jump = done + TELLEGEN_SHORTEST_PART;
    }
    to = jump < 1.0 ? jump : 1.0;
    if (events < TELLEGEN_MOST_LOCATED) to = tellegen_timed_end(e, t, done, to);
    if (!tellegen_reach(e, t, done, to, jump, &at)) return 0;
    reached = to;
    e->now->located = events < TELLEGEN_MOST_LOCATED && tellegen_wants_change(e, at);
    if (e->now->located) {
      const int others = tellegen_solved_change(e);
      double before = done;
      int k;
      any = 1;
      for (k = 0; others && k < e->bisections; ++k) {
        const double middle = 0.5 * (before + to);
        if (!tellegen_reach(e, t, done, middle, jump, &at)) return 0;
        reached = middle;
        if (tellegen_wants_change(e, at))
          to = middle;
        else
          before = middle;
      }
      if (to < done + TELLEGEN_SHORTEST_PART) to = done + TELLEGEN_SHORTEST_PART;
      if (to > 1.0 - TELLEGEN_SHORTEST_PART) to = 1.0;
      if (to != reached && !tellegen_reach(e, t, done, to, jump, &at)) return 0;
    }
    if (e->kept) e->kept(e->self, TELLEGEN_EULER, at, (to - done) * h);
    if (to >= jump) e->pass_jump(e->self);
    if (tellegen_wants_change(e, at) && tellegen_ends(e)) {
      e->now->ended = 1;
      e->now->ended_at = at;
      if (tellegen_take_updates(e, index - 1, at)) tellegen_tell(e, at);
      return 1;
    }
    done = to;
    if (done == 1.0) break; /* the end of the step itself is for tellegen_update() */
    {
      /* Before the step's own number: nothing is sampled. */
      const int changed = tellegen_take_updates(e, index - 1, at);
      e->store(e->self, TELLEGEN_NOW);
      if (changed) tellegen_follow(e, at);
    }
  }
  e->now->first_order = any;
  e->now->restarting = e->restart_steps;
  return 1;
}

/* Does a step again in parts; `index`: its number. 0 where a step did not converge. The run may have ended.
 */
static inline int tellegen_locate(tellegen_events* e, int64_t index, double t) {
  e->store(e->self, TELLEGEN_NOW);
  if (e->now->staged)
    e->keep_value(e->self, 0, TELLEGEN_BEGIN, 0);
  else
    e->keep_value(e->self, 0, TELLEGEN_NOW, 1);
  e->now->staged = e->now->restarted = 0;
  return tellegen_in_parts(e, index, t);
}

static inline int tellegen_take_stages(tellegen_events* e, double t, int keep) {
  const double h = e->schedule.step;
  int stage;
  for (stage = TELLEGEN_STAGE_1; stage <= TELLEGEN_STAGE_2; ++stage) {
    const double at = stage == TELLEGEN_STAGE_1 ? t - (1.0 - TELLEGEN_SDIRK_NODE) * h : t;
    if (!e->take(e->self, stage, at, h)) return 0;
    if (keep) e->kept(e->self, stage, at, h);
  }
  return 1;
}

/* One of the steps after an event until the formula has its past, to t. */
static inline int tellegen_restart(tellegen_events* e, double t) {
  --e->now->restarting;
  e->now->restarted = 1;
  e->store(e->self, TELLEGEN_BEGIN);
  if (e->order > 1 && !e->now->first_order) {
    e->now->staged = 1;
    return tellegen_take_stages(e, t, 0);
  }
  return e->take(e->self, TELLEGEN_EULER, t, e->schedule.step);
}

/* A step to t that need not be done again. */
static inline int tellegen_keep(tellegen_events* e, double t) {
  const int restarted = e->now->restarted;
  e->now->restarted = e->now->first_order = 0;
  if (!e->watched || !e->watched(e->self)) return 1;
  if (!e->now->staged) {
    e->kept(e->self, restarted ? TELLEGEN_EULER : TELLEGEN_OWN, t, e->schedule.step);
    return 1;
  }
  /* Both stages once more, to be looked at one by one. */
  e->load(e->self, TELLEGEN_BEGIN);
  if (!tellegen_take_stages(e, t, 1)) return 0;
  e->both_stages(e->self);
  return 1;
}

/* The first stage is no part of the past. */
static inline void tellegen_forget_stage(tellegen_events* e) {
  e->now->staged = 0;
  e->store(e->self, TELLEGEN_NOW);
  e->keep_value(e->self, 1, TELLEGEN_BEGIN, 0);
  e->keep_value(e->self, 2, TELLEGEN_BEGIN, 1);
  e->load(e->self, TELLEGEN_NOW);
}

/* The row at a jump, and what is sampled there, is of the values after it; tellegen_update() comes back from
 * there. */
static inline int tellegen_look_behind_jump(tellegen_events* e, double t) {
  const double moment = TELLEGEN_LOOK_AHEAD * e->schedule.step;
  if (e->now->staged)
    tellegen_forget_stage(e);
  else
    e->store(e->self, TELLEGEN_NOW);
  return e->take(e->self, TELLEGEN_EULER, t + 4.0 * DBL_EPSILON * t, moment);
}

/* A step in which a source jumps: to the jump and on. */
static inline int tellegen_jump(tellegen_events* e, int64_t index, double t) {
  double left;
  if (e->next_jump(e->self) < t - TELLEGEN_SHORTEST_PART * e->schedule.step) {
    e->store(e->self, TELLEGEN_NOW);
    e->now->staged = e->now->restarted = 0;
    return tellegen_in_parts(e, index, t);
  }
  /* At the end of the step: an ordinary one, but for the sources. */
  e->now->jumped = 1;
  left = e->before_jump(e->self, t);
  while (tellegen_jumps(e, t)) e->pass_jump(e->self);
  if (!(e->now->restarting > 0 ? tellegen_restart(e, left)
                               : e->take(e->self, TELLEGEN_OWN, left, e->schedule.step)))
    return 0;
  if (!(tellegen_again(e, left) ? tellegen_locate(e, index, t) : tellegen_keep(e, left))) return 0;
  e->now->restarting = e->restart_steps;
  if (e->jumps_share) { /* in a step of its own, of which no rate is used: they jump, and have no slope */
    e->now->first_order = 1;
    ++e->now->restarting;
  }
  return e->now->ended || tellegen_look_behind_jump(e, t);
}

/* Once the outputs at the end of step `index` are taken: discrete variables change, and those that then
 * want to. 1 where the formula begins anew. */
static inline int tellegen_update(tellegen_events* e, int64_t index, double t) {
  const int jumped = e->now->jumped, changed = tellegen_take_updates(e, index, t);
  e->now->jumped = 0;
  if (jumped) e->load(e->self, TELLEGEN_NOW);
  if (e->now->staged)
    tellegen_forget_stage(e);
  else if (changed && e->follows)
    e->store(e->self, TELLEGEN_NOW);
  if (changed) {
    tellegen_follow(e, t);
    e->now->restarting = e->restart_steps;
  } else if (e->schedule.taken_count > 0) {
    tellegen_tell(e, t);
  }
  e->now->located = 0;
  return changed;
}

#ifdef __cplusplus
}
#endif

#endif
