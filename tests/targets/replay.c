/* Replays vector.h on a bare machine: 0 where every bit is the same. */
#include <string.h>

#include "model.h"
#include "vector.h"

void print_text(const char* text);

int main(void) {
  static model_state s;
  long k;
#ifdef VECTOR_ESTIMATES
  model_init(&s);
  for (k = 0; k < VECTOR_ROWS; ++k) {
    model_inputs u;
    model_readings y;
    model_estimates e;
    memcpy(&u, vector[k], sizeof u);
    memcpy(&y, vector[k] + VECTOR_INPUTS, sizeof y);
    if (model_step(&s, &y, &u, &e) != 0) return 1;
    if (memcmp(&e, vector[k] + VECTOR_INPUTS + VECTOR_READINGS, sizeof e) != 0) return 2;
  }
#else
  model_outputs y;
  model_init(&s, &y);
  for (k = 0; k < VECTOR_ROWS; ++k) {
    if (model_run(&s, VECTOR_STEPS, &y) != 0) return 1;
    if (memcmp(&y, vector[k], sizeof vector[k]) != 0) return 2;
  }
#endif
  print_text("every bit agrees\n");
  return 0;
}
