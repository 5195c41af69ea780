/* Prints it, in the host's way or in that of a bare machine. */
#include <stdint.h>

uint64_t checksum(int count);
#ifdef BARE
void print_text(const char* text);
#else
#include <stdio.h>
static void print_text(const char* text) { fputs(text, stdout); }
#endif

int main(void) {
  uint64_t sum = checksum(1000);
  char text[18] = "";
  int k;
  for (k = 15; k >= 0; --k, sum >>= 4) text[k] = "0123456789abcdef"[sum & 15];
  text[16] = '\n';
  print_text(text);
  return 0;
}
