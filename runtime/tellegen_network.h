/* The equations of a step of a network that is too large for one program: a sparse matrix, its factors with
 * pivots chosen beforehand, and solutions. C99, no allocation, no state of its own.
 *
 * Operations come in the order in which SuiteSparse KLU does them ([Davis 2010] ACM TOMS 37, algorithm 907),
 * so factors and solutions are the same as there, to the last bit. What KLU can do beyond this is to choose
 * other pivots where these have become bad; here that is an error.
 */
#ifndef TELLEGEN_NETWORK_H
#define TELLEGEN_NETWORK_H

#include <math.h>

/* Pivots are bad where factors grow by more than the reciprocal of it. */
#define TELLEGEN_LEAST_GROWTH 1e-8

/* The matrix by columns, and the pattern of its factors: a block triangular form, P A Q = (L U, with blocks).
 * A place is a row or a column in the order of elimination. */
typedef struct {
  int size, blocks;
  const int* block; /* the first place of each, and the size */
  const int *place_of_row, *row_at, *column_at;
  const int *column, *row;      /* of the matrix: where columns begin, rows */
  const int *lower, *lower_row; /* by places; without the unit diagonal */
  const int *upper, *upper_row; /* without the diagonal */
  const int *off, *off_row;     /* what lies beside the blocks */
} tellegen_sparse;

typedef struct {
  double *lower, *upper, *off, *diagonal;
  double* scale; /* of the matrix's rows */
  double* work;  /* by places */
} tellegen_factors;

static inline double tellegen_larger(double a, double b) { return a > b ? a : b; }

/* 0, or 1 where the pivots are no good for these numbers. */
static inline int tellegen_factor(const tellegen_sparse* s, const double* values, const tellegen_factors* f) {
  double smallest = (double)INFINITY, largest = 0.0, growth = 1.0;
  int b, k, p, u, off = 0;
  for (k = 0; k < s->size; ++k) f->scale[k] = f->work[k] = 0.0;
  for (p = 0; p < s->column[s->size]; ++p)
    f->scale[s->row[p]] = tellegen_larger(f->scale[s->row[p]], fabs(values[p]));
  for (k = 0; k < s->size; ++k)
    if (f->scale[k] == 0.0) f->scale[k] = 1.0;
  for (b = 0; b < s->blocks; ++b) {
    const int begin = s->block[b], end = s->block[b + 1];
    for (k = begin; k < end; ++k) {
      double pivot, most = 0.0, most_upper = 0.0;
      const int column = s->column_at[k];
      for (p = s->column[column]; p < s->column[column + 1]; ++p) {
        const int place = s->place_of_row[s->row[p]];
        const double value = values[p] / f->scale[s->row[p]];
        if (place < begin) {
          f->off[off++] = value;
        } else {
          f->work[place] = value;
          most = tellegen_larger(fabs(value), most);
        }
      }
      for (u = s->upper[k]; u < s->upper[k + 1]; ++u) {
        const int j = s->upper_row[u];
        const double factor = f->work[j];
        f->work[j] = 0.0;
        f->upper[u] = factor;
        most_upper = tellegen_larger(fabs(factor), most_upper);
        for (p = s->lower[j]; p < s->lower[j + 1]; ++p) f->work[s->lower_row[p]] -= f->lower[p] * factor;
      }
      pivot = f->work[k];
      f->work[k] = 0.0;
      f->diagonal[k] = pivot;
      if (!(fabs(pivot) > 0.0)) return 1;
      for (p = s->lower[k]; p < s->lower[k + 1]; ++p) {
        const int i = s->lower_row[p];
        f->lower[p] = f->work[i] / pivot;
        f->work[i] = 0.0;
      }
      if (fabs(pivot) < smallest) smallest = fabs(pivot);
      largest = tellegen_larger(fabs(pivot), largest);
      most_upper = tellegen_larger(fabs(pivot), most_upper);
      if (end - begin > 1 && most / most_upper < growth) growth = most / most_upper;
    }
  }
  return s->size > 0 && !(smallest / largest > 0.0 && growth > TELLEGEN_LEAST_GROWTH);
}

/* x of A x = b, in place. */
static inline void tellegen_solve(const tellegen_sparse* s, const tellegen_factors* f, double* x) {
  double* y = f->work;
  int b, k, p;
  for (k = 0; k < s->size; ++k) y[k] = x[s->row_at[k]] / f->scale[s->row_at[k]];
  for (b = s->blocks - 1; b >= 0; --b) {
    const int begin = s->block[b], end = s->block[b + 1];
    for (k = begin; k < end; ++k)
      for (p = s->lower[k]; p < s->lower[k + 1]; ++p) y[s->lower_row[p]] -= f->lower[p] * y[k];
    for (k = end - 1; k >= begin; --k) {
      y[k] = y[k] / f->diagonal[k];
      for (p = s->upper[k]; p < s->upper[k + 1]; ++p) y[s->upper_row[p]] -= f->upper[p] * y[k];
    }
    for (k = begin; k < end; ++k)
      for (p = s->off[k]; p < s->off[k + 1]; ++p) y[s->off_row[p]] -= f->off[p] * y[k];
  }
  for (k = 0; k < s->size; ++k) x[s->column_at[k]] = y[k];
}

static inline void tellegen_clear(double* to, int count) {
  int k;
  for (k = 0; k < count; ++k) to[k] = 0.0;
}
static inline void tellegen_copy(double* to, const double* from, int count) {
  int k;
  for (k = 0; k < count; ++k) to[k] = from[k];
}

/* Values at places of a matrix: added for each member of a group, times a factor; place -1: nowhere. */
static inline void tellegen_stamp(double* to, const int* place, const double* from, int members,
                                  double factor) {
  int m;
  for (m = 0; m < members; ++m)
    if (place[m] >= 0) to[place[m]] += factor * from[m];
}

/* The right-hand side: sources times factors, in rows. */
static inline void tellegen_gather(double* to, const int* row, const int* source, const double* factor,
                                   int count, const double* from) {
  int k;
  for (k = 0; k < count; ++k) to[row[k]] += factor[k] * from[source[k]];
}

/* Factors that stay, row by row (numeric/row_solver.h): unknowns by places and sources in one array. A pass
 * has rows one behind the other, each with so many entries; blocks end at so many rows. */
typedef struct {
  const int *row, *entries, *index, *block_end;
} tellegen_pass;

/* Where the value of an entry comes from: a number of L or U; beside the blocks, counted down from -2; -1: it
 * stays as it is. */
static inline void tellegen_row_values(const tellegen_sparse* s, const tellegen_factors* f,
                                       const tellegen_pass* down, const int* down_from, double* down_value,
                                       const tellegen_pass* up, const int* up_from, double* up_value,
                                       double* pivot) {
  int r, k, at = 0;
  for (r = 0; r < s->size; ++r) {
    const double scale = f->scale[s->row_at[down->row[r]]];
    for (k = 0; k < down->entries[r]; ++k, ++at) {
      if (down_from[at] >= 0)
        down_value[at] = -f->lower[down_from[at]] * scale / f->scale[s->row_at[down->index[at]]];
      else if (down_from[at] < -1)
        down_value[at] = -f->off[-2 - down_from[at]] * scale;
    }
  }
  for (r = at = 0; r < s->size; ++r) {
    const int row = up->row[r];
    for (k = 0; k < up->entries[r]; ++k, ++at) up_value[at] = -f->upper[up_from[at]] / f->diagonal[row];
    pivot[r] = 1.0 / (f->diagonal[row] * f->scale[s->row_at[row]]);
  }
}

static inline void tellegen_solve_rows(int blocks, const tellegen_pass* down, const double* down_value,
                                       const tellegen_pass* up, const double* up_value, const double* pivot,
                                       double* work) {
  int b, k, d = 0, u = 0, down_at = 0, up_at = 0;
  for (b = 0; b < blocks; ++b) {
    for (; d < down->block_end[b]; ++d) {
      double sum = 0.0;
      for (k = 0; k < down->entries[d]; ++k, ++down_at)
        sum += down_value[down_at] * work[down->index[down_at]];
      work[down->row[d]] = sum;
    }
    for (; u < up->block_end[b]; ++u) {
      double sum = work[up->row[u]] * pivot[u];
      for (k = 0; k < up->entries[u]; ++k, ++up_at) sum += up_value[up_at] * work[up->index[up_at]];
      work[up->row[u]] = sum;
    }
  }
}

/* The largest change of an iterate: not a number where one is. */
static inline double tellegen_largest(double largest, const double* change, int members) {
  int m;
  for (m = 0; m < members; ++m)
    if (!(change[m] <= largest)) largest = change[m];
  return largest;
}

#endif
