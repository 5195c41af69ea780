/* A bare Cortex-M: the vector table, memory as C expects it, main(), and its result to the emulator by
 * semihosting. */
#include <stdint.h>

extern uint32_t stack_top[], data_from[], data_start[], data_end[], bss_start[], bss_end[];
int main(void);
void reset(void);

static int semihosting(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void print_text(const char* text);
void print_text(const char* text) { semihosting(4, text); }

static void end(int code) {
  const uint32_t block[2] = {0x20026, (uint32_t)code}; /* the application has ended, with this code */
  semihosting(0x20, block);
  for (;;) {
  }
}

static void fault(void) {
  print_text("fault\n");
  end(70);
}

void reset(void) {
  uint32_t *to = data_start, *from = data_from;
#ifdef __ARM_FP
  *(volatile uint32_t*)0xe000ed88 |= 0xfu << 20; /* the floating-point unit on */
  __asm__ volatile("dsb\nisb");
#endif
  while (to < data_end) *to++ = *from++;
  for (to = bss_start; to < bss_end;) *to++ = 0;
  end(main());
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    (uintptr_t)stack_top, (uintptr_t)reset, (uintptr_t)fault, (uintptr_t)fault,
    (uintptr_t)fault,     (uintptr_t)fault, (uintptr_t)fault,
};
