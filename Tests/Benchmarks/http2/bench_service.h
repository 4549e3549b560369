/*
 * APNs over HTTP/2 for measuring, in a process of its own: answers 200 to all, with
 * little work, so that it is the provider that is measured.
 */
#ifndef BENCHMARKS_HTTP2_SERVICE_H
#define BENCHMARKS_HTTP2_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "Gateway/identity.h"

typedef struct bench_service_options {
  int processor;     /* to be pinned to; negative: to none */
  uint32_t streams;  /* that a connection may have open */
  uint32_t window;   /* of a connection, in bytes */
  double credit;     /* returned when such a share of the window was used */
  uint32_t batch;    /* answers are held until there are so many, or no request comes */
  uint32_t delay_ms; /* each answer waits so long, and there are no batches */
  bool trickles;     /* each answer in a record, and a write, of its own */
  bool asks_for_certificate;
} bench_service_options_t;

/* What has come about since the counts were last set to 0. */
typedef struct bench_counts {
  uint64_t requests, connections;
  uint64_t wire_in, wire_out; /* bytes, TLS included, of connections that have ended */
  uint64_t records_out;
} bench_counts_t;

typedef struct bench_service {
  pid_t process;
  uint16_t port;
  volatile bench_counts_t *counts;
} bench_service_t;

bench_service_t bench_service_start(const identities_t *identities,
                                    const bench_service_options_t *options);
void bench_service_stop(bench_service_t *service);

/* A listening socket on this machine and its port. */
int bench_listen(uint16_t *port_out);
void bench_pin(int processor);

#endif
