/* The other end of the wire: drives the RC circuit of model.toml in real time and checks what comes back.
 *
 *   rc_drive MODEL_PORT OWN_PORT SECONDS
 *
 * Waits for the first outputs at OWN_PORT, then sends a voltage to MODEL_PORT every millisecond. Each packet
 * of outputs says which inputs were in force, so the capacitor's voltage follows from the one before,
 *
 *   v_next = u + (v - u) exp(-h/(R C))
 *
 * and must agree with what the model sent. Exit code 1: it does not, or nothing came back. */
#define _POSIX_C_SOURCE 200809L
#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>

#include "tellegen_packet.h"

#define KEPT 4096 /* inputs remembered; far more than are ever under way */

static const double time_constant = 1e3 * 100e-6, step = 1e-3, u_before = 5.0, tolerance = 1e-9;
static double sent_value[KEPT], sent_at[KEPT];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct sockaddr_in local(const char* port) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons((uint16_t)atoi(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/* What has come back so far. */
struct seen {
  uint64_t sequence, echo;
  unsigned long packets, gaps, trips;
  double v, largest_error, trip_sum, trip_longest;
};

static void take(struct seen* seen, const tellegen_packet* head, const double* values) {
  const double v = values[0];
  ++seen->packets;
  if (seen->sequence != 0 && head->sequence == seen->sequence + 1) {
    const double u = head->echo ? sent_value[head->echo % KEPT] : u_before;
    const double expected = u + (seen->v - u) * exp(-step / time_constant);
    seen->largest_error = fmax(seen->largest_error, fabs(v - expected));
  } else if (seen->sequence != 0) {
    ++seen->gaps; /* which inputs were in force in between is not known: go on from here */
  }
  if (head->echo > seen->echo) {
    const double trip = now() - sent_at[head->echo % KEPT];
    ++seen->trips;
    seen->trip_sum += trip;
    seen->trip_longest = fmax(seen->trip_longest, trip);
  }
  seen->sequence = head->sequence;
  seen->echo = head->echo;
  seen->v = v;
}

/* Takes packets until `until`; until the first one where `first` is set. */
static void receive(int wire, struct seen* seen, double until, int first) {
  unsigned char bytes[TELLEGEN_PACKET_SIZE(16)];
  double values[16];
  tellegen_packet head;
  for (;;) {
    const double left = until - now();
    struct timespec wait;
    fd_set waiting;
    ssize_t size;
    if (left <= 0.0 || (first && seen->packets > 0)) return;
    wait.tv_sec = (time_t)left;
    wait.tv_nsec = (long)(1e9 * (left - floor(left)));
    FD_ZERO(&waiting);
    FD_SET(wire, &waiting);
    if (pselect(wire + 1, &waiting, NULL, NULL, &wait, NULL) <= 0) continue;
    size = recv(wire, bytes, sizeof bytes, 0);
    if (size > 0 && tellegen_packet_read(bytes, (size_t)size, &head, values, 16) && head.count > 0)
      take(seen, &head, values);
  }
}

int main(int count, char** arguments) {
  struct seen seen;
  struct sockaddr_in model, own;
  unsigned char bytes[TELLEGEN_PACKET_SIZE(1)];
  tellegen_packet head;
  double start, seconds;
  int wire;
  memset(&seen, 0, sizeof seen);
  if (count != 4) {
    fprintf(stderr, "rc_drive MODEL_PORT OWN_PORT SECONDS\n");
    return 2;
  }
  model = local(arguments[1]);
  own = local(arguments[2]);
  seconds = atof(arguments[3]);
  wire = socket(AF_INET, SOCK_DGRAM, 0);
  if (wire < 0 || bind(wire, (struct sockaddr*)&own, sizeof own) != 0) {
    perror(arguments[2]);
    return 2;
  }
  receive(wire, &seen, now() + 30.0, 1);
  if (seen.packets == 0) {
    fprintf(stderr, "nothing came from the model within 30 s\n");
    return 1;
  }
  start = now();
  head.sequence = 0;
  head.echo = 0;
  head.count = 1;
  while (step * (double)head.sequence < seconds) {
    const double value = 5.0 + 3.0 * sin(0.01 * (double)head.sequence);
    ++head.sequence;
    head.time = now() - start;
    sent_value[head.sequence % KEPT] = value;
    sent_at[head.sequence % KEPT] = now();
    if (sendto(wire, bytes, tellegen_packet_write(bytes, &head, &value), 0, (struct sockaddr*)&model,
               sizeof model) < 0)
      perror("sendto");
    receive(wire, &seen, start + step * (double)head.sequence, 0);
  }
  receive(wire, &seen, now() + 0.1, 0);
  printf("sent %lu, received %lu, gaps %lu, largest deviation %.3g V\n", (unsigned long)head.sequence,
         seen.packets, seen.gaps, seen.largest_error);
  printf("round trip %.3g ms on average, %.3g ms at most, of %lu\n",
         seen.trips ? 1e3 * seen.trip_sum / (double)seen.trips : 0.0, 1e3 * seen.trip_longest, seen.trips);
  return seen.trips > 0 && seen.largest_error < tolerance ? 0 : 1;
}
