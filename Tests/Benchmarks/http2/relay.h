/*
 * A long line, in a process of its own: what goes in at one end comes out at the other
 * when half of a round trip has passed, in both directions, as much as there is.
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
