/*
 * The other end, in a separate process: reads frames of commands 1 and 2, counts them, and answers
 * one without a token, or with an invalid one, with an error packet that names it, like a gateway.
 */
#ifndef BENCHMARKS_SINK_H
#define BENCHMARKS_SINK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "Gateway/identity.h"

typedef struct sink {
  pid_t process;
  uint16_t port;
  volatile uint64_t *frames; /* received so far, over all connections */
} sink_t;

/* The last byte of an invalid token. */
#define SINK_REFUSES 0xFF

/* `version` is OpenSSL's, TLS1_2_VERSION or TLS1_3_VERSION. */
sink_t sink_start(const identities_t *identities, int version);
/* A feedback service, with a list of `count` devices, a multiple of 400, for each connection. */
sink_t sink_start_feedback(const identities_t *identities, size_t count);
void sink_stop(sink_t *sink);

#endif
