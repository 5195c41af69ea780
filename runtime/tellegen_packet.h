/* The packets that `tellegen simulate --realtime` takes and sends, one a datagram. C99, no allocation, no
 * state, nothing but this header: include it in the program at the other end.
 *
 *   offset  size  what
 *        0     4  "TLGN"
 *        4     2  version, 1
 *        6     2  count of values
 *        8     8  sequence number: 1, 2, 3, ...
 *       16     8  time in seconds: of the model in outputs, the sender's own in inputs
 *       24     8  echo: in outputs the sequence number of the inputs that were in force, 0 before the first;
 *                 in inputs free
 *       32  8 n   values
 *
 * Everything is little-endian: integers without sign, numbers IEEE 754 binary64. The size is exactly
 * 32 + 8 count bytes. */
#ifndef TELLEGEN_PACKET_H
#define TELLEGEN_PACKET_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TELLEGEN_PACKET_VERSION 1
#define TELLEGEN_PACKET_HEAD 32
#define TELLEGEN_PACKET_MAX_VALUES 8184 /* what a UDP datagram holds */
#define TELLEGEN_PACKET_SIZE(count) (TELLEGEN_PACKET_HEAD + 8 * (size_t)(count))

typedef struct tellegen_packet {
  uint64_t sequence;
  double time;
  uint64_t echo;
  unsigned count;
} tellegen_packet;

static inline void tellegen_packet_put(unsigned char* at, uint64_t value, int bytes) {
  int k;
  for (k = 0; k < bytes; ++k) at[k] = (unsigned char)(value >> (8 * k));
}

static inline uint64_t tellegen_packet_get(const unsigned char* at, int bytes) {
  uint64_t value = 0;
  int k;
  for (k = 0; k < bytes; ++k) value |= (uint64_t)at[k] << (8 * k);
  return value;
}

static inline void tellegen_packet_put_double(unsigned char* at, double value) {
  uint64_t bits;
  memcpy(&bits, &value, 8);
  tellegen_packet_put(at, bits, 8);
}

static inline double tellegen_packet_get_double(const unsigned char* at) {
  const uint64_t bits = tellegen_packet_get(at, 8);
  double value;
  memcpy(&value, &bits, 8);
  return value;
}

/* Writes head and values to `bytes`, which has room for TELLEGEN_PACKET_SIZE(head->count). Returns the size.
 */
static inline size_t tellegen_packet_write(unsigned char* bytes, const tellegen_packet* head,
                                           const double* values) {
  unsigned k;
  memcpy(bytes, "TLGN", 4);
  tellegen_packet_put(bytes + 4, TELLEGEN_PACKET_VERSION, 2);
  tellegen_packet_put(bytes + 6, head->count, 2);
  tellegen_packet_put(bytes + 8, head->sequence, 8);
  tellegen_packet_put_double(bytes + 16, head->time);
  tellegen_packet_put(bytes + 24, head->echo, 8);
  for (k = 0; k < head->count; ++k)
    tellegen_packet_put_double(bytes + TELLEGEN_PACKET_HEAD + 8 * k, values[k]);
  return TELLEGEN_PACKET_SIZE(head->count);
}

/* Reads a datagram of `size` bytes. Returns 1, or 0 where it is no packet of this version, has another size
 * than it says, a sequence number of 0, or more than `room` values; head and values are then untouched. */
static inline int tellegen_packet_read(const unsigned char* bytes, size_t size, tellegen_packet* head,
                                       double* values, unsigned room) {
  unsigned count, k;
  if (size < TELLEGEN_PACKET_HEAD || memcmp(bytes, "TLGN", 4) != 0) return 0;
  if (tellegen_packet_get(bytes + 4, 2) != TELLEGEN_PACKET_VERSION) return 0;
  count = (unsigned)tellegen_packet_get(bytes + 6, 2);
  if (size != TELLEGEN_PACKET_SIZE(count) || count > room) return 0;
  if (tellegen_packet_get(bytes + 8, 8) == 0) return 0;
  head->count = count;
  head->sequence = tellegen_packet_get(bytes + 8, 8);
  head->time = tellegen_packet_get_double(bytes + 16);
  head->echo = tellegen_packet_get(bytes + 24, 8);
  for (k = 0; k < count; ++k) values[k] = tellegen_packet_get_double(bytes + TELLEGEN_PACKET_HEAD + 8 * k);
  return 1;
}

#ifdef __cplusplus
}
#endif

#endif
