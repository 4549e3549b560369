/*
 * The other end, in a process of its own: takes frames of commands 1 and 2,
 * counts them, and answers the one without a token by an error packet that
 * names it, as a gateway does.
 */
#ifndef BENCHMARKS_SINK_H
#define BENCHMARKS_SINK_H

#include <stdint.h>
#include <sys/types.h>

#include "Gateway/identity.h"

typedef struct sink {
  pid_t process;
  uint16_t port;
  volatile uint64_t *frames; /* taken so far, over all connections */
} sink_t;

/* `version` is OpenSSL's, TLS1_2_VERSION or TLS1_3_VERSION. */
sink_t sink_start(const identities_t *identities, int version);
void sink_stop(sink_t *sink);

#endif
