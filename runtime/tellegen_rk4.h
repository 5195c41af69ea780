/* Runge-Kutta steps around events: what the simulator runs and what exported models carry with them. C99, no
 * allocation, no state of its own; simulate/rk4.cpp explains the method.
 *
 * A step in which something wants to change, or in which a source jumps, is taken in parts: each but the last
 * ends just before a jump or at an event, and the next begins with new slopes.
 */
#ifndef TELLEGEN_RK4_H
#define TELLEGEN_RK4_H

#include "tellegen_events.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TELLEGEN_LEAST_PART 1e-6 /* of a step: nothing is shorter */

typedef struct {         /* plain numbers, kept from call to call */
  double step, origin;   /* steps end at origin + step*index */
  int64_t index;         /* of the step last done */
  int64_t steps;         /* to do in this call */
  int64_t stride, phase; /* a row every so many steps; steps since the last */
  int64_t fresh;         /* the slopes of the first stage are not known */
  int64_t event;         /* something wants to change after the last step */
  int64_t stopped;       /* the run is over */
} tellegen_rk4_steps;

typedef struct {
  /* The model. */
  int bisections; /* 0: events are met at the end of their step */
  int jumps;      /* steps end where sources jump; not where slow states count whole steps */
  int width;      /* of a row */
  /* The run. */
  tellegen_schedule schedule;
  tellegen_rk4_steps* now;
  int* ended;
  double* ended_at;
  int64_t* events;
  double *held, *updates;
  double* rows; /* where the next one goes */
  /* What carries out steps. */
  void* self;
  int (*run)(void* self, tellegen_rk4_steps* steps, double** rows); /* 0: no convergence */
  void (*undo)(void* self);                                         /* the last step */
  void (*update)(void* self);                                       /* fills `updates` */
  void (*hold)(void* self);                                         /* `held`, from the next step on */
  double (*next_jump)(void* self);                                  /* infinity: never again */
  int (*is_jump)(void* self);                                       /* whether a source jumps there */
  void (*pass_jump)(void* self);                                    /* it is behind */
  double (*before_jump)(void* self, double t); /* so little before t that only a jump tells */
} tellegen_rk4;

/* How far whole steps go: to the one in which a source jumps, or to `last`. Jumps at the end of a step are
 * the loop's. */
static inline int64_t tellegen_rk4_before_jump(tellegen_rk4* r, int64_t last) {
  if (!r->jumps) return last;
  for (;; r->pass_jump(r->self)) {
    const double steps = r->next_jump(r->self) / r->now->step;
    if (!(steps < (double)last)) return last;
    if (fabs(steps - round(steps)) > TELLEGEN_LEAST_PART && r->is_jump(r->self)) return (int64_t)steps;
  }
}

static inline int tellegen_rk4_take_updates(tellegen_rk4* r) {
  r->update(r->self);
  if (!tellegen_schedule_take(&r->schedule, r->now->index, r->updates, r->held)) return 0;
  ++*r->events;
  r->hold(r->self);
  r->now->fresh = 1;
  return 1;
}

/* `last`: of a step, at whose end a row may be due. */
static inline int tellegen_rk4_part(tellegen_rk4* r, tellegen_rk4_steps* part, double from, double to,
                                    int last) {
  int good;
  part->origin = from;
  part->step = to - from;
  part->index = 0;
  part->steps = 1;
  part->stride = last ? r->now->stride : INT32_MAX;
  part->phase = last ? r->now->phase : 0;
  good = r->run(r->self, part, &r->rows);
  part->fresh = 1;
  return good;
}

static inline void tellegen_rk4_undo_part(tellegen_rk4* r, tellegen_rk4_steps* part, double* rows) {
  r->undo(r->self);
  r->rows = rows;
  part->stopped = 0;
}

/* The part just run, up to where something wants to change in it; that then changes, and what follows from
 * it. At the end of the part nothing is done, but it is to be run again. */
static inline double tellegen_rk4_locate(tellegen_rk4* r, tellegen_rk4_steps* part, double from, double to,
                                         double* rows, int* good) {
  const double shortest = TELLEGEN_LEAST_PART * r->now->step;
  double before = from, at = to;
  int k;
  tellegen_rk4_undo_part(r, part, rows);
  for (k = 0; k < r->bisections && *good; ++k) {
    const double middle = 0.5 * (before + at);
    *good = tellegen_rk4_part(r, part, from, middle, 0);
    if (*good && part->event)
      at = middle;
    else
      before = middle;
    tellegen_rk4_undo_part(r, part, rows);
  }
  if (at < from + shortest) at = from + shortest;
  if (at > to - shortest) return to;
  *good = *good && tellegen_rk4_part(r, part, from, at, 0);
  for (k = 0; *good && part->event && !part->stopped && k < TELLEGEN_MOST_FOLLOWED; ++k) {
    tellegen_rk4_take_updates(r);
    *good = tellegen_rk4_part(r, part, at, at, 0); /* no length: only to see what wants to change now */
  }
  return at;
}

static inline int tellegen_rk4_in_parts(tellegen_rk4* r) {
  const double h = r->now->step, end = h * (double)(r->now->index + 1);
  double t = h * (double)r->now->index, *rows = r->rows;
  tellegen_rk4_steps part = *r->now;
  int good = 1, events = 0;
  while (good && t < end && !part.stopped) {
    const int whole = tellegen_rk4_before_jump(r, r->now->index + 1) > r->now->index;
    double to = whole ? end : r->next_jump(r->self);
    const double before = whole ? end : r->before_jump(r->self, to);
    good = tellegen_rk4_part(r, &part, t, before, whole);
    if (good && part.event && r->bisections > 0 && events < TELLEGEN_MOST_LOCATED) {
      const double at = tellegen_rk4_locate(r, &part, t, before, rows, &good);
      ++events;
      if (at == before)
        good = good && tellegen_rk4_part(r, &part, t, before, whole);
      else
        to = at;
    }
    if (part.stopped) {
      *r->ended = 1;
      *r->ended_at = to;
    }
    if (!whole && to == r->next_jump(r->self)) r->pass_jump(r->self);
    t = to;
  }
  part.step = h;
  part.origin = 0.0;
  part.stride = r->now->stride;
  part.index = r->now->index + (good ? 1 : 0);
  *r->now = part;
  return good;
}

/* Whole steps, until something happens; where events are looked for, the last one again. */
static inline int tellegen_rk4_whole(tellegen_rk4* r) {
  tellegen_rk4_steps* now = r->now;
  if (!r->run(r->self, now, &r->rows)) return 0;
  if (r->bisections == 0 || !now->event) return 1;
  r->undo(r->self);
  if (now->phase == 0 || now->stopped) r->rows -= r->width;
  now->phase = (now->phase + now->stride - 1) % now->stride;
  now->index -= 1;
  now->stopped = 0;
  now->fresh = 1;
  return tellegen_rk4_in_parts(r);
}

/* To the next event, or to step `last`. 0: no convergence. */
static inline int tellegen_rk4_go_on(tellegen_rk4* r, int64_t last) {
  tellegen_rk4_steps* now = r->now;
  const int64_t due = *r->schedule.next_due;
  now->steps = tellegen_rk4_before_jump(r, due < last ? due : last) - now->index;
  if (!(now->steps > 0 ? tellegen_rk4_whole(r) : tellegen_rk4_in_parts(r))) return 0;
  if (now->stopped && !*r->ended) {
    *r->ended = 1;
    *r->ended_at = now->step * (double)now->index;
  }
  if (r->schedule.size > 0 && !*r->ended) tellegen_rk4_take_updates(r);
  return 1;
}

#ifdef __cplusplus
}
#endif

#endif
