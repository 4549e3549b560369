/*
 * A long line, in a separate process: everything received at one end leaves the other after half a
 * round trip, in both directions, without a limit.
 */
#ifndef BENCHMARKS_HTTP2_RELAY_H
#define BENCHMARKS_HTTP2_RELAY_H

#include <stdint.h>
#include <sys/types.h>

typedef struct relay {
  pid_t process;
  uint16_t port;
} relay_t;

relay_t relay_start(uint16_t to_port, uint32_t round_trip_ms);
void relay_stop(relay_t *relay);

#endif
