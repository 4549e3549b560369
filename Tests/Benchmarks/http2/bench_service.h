/*
 * APNs over HTTP/2 for measurements, in a separate process: answers 200 to all with little work, so
 * that the provider is the bottleneck.
 */
#ifndef BENCHMARKS_HTTP2_SERVICE_H
#define BENCHMARKS_HTTP2_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "Gateway/identity.h"

typedef struct bench_service_options {
  int processor;     /* to pin it to; negative: none */
  uint32_t streams;  /* limit per connection */
  uint32_t window;   /* per connection, in bytes */
  double credit;     /* credit is given when this share of the window is used */
  uint32_t batch;    /* responses wait for this many, or until no request comes */
  uint32_t delay_ms; /* delay of each response; then without batches */
  bool trickles;     /* each response in a separate record and write */
  bool asks_for_certificate;
  bool refuses;        /* answers 410 to all instead of 200 */
  const char *devices; /* a file that gets the device of each complete request, a line each */
  bool times;          /* which follows the answer, with when both were, in monotonic ns */
  uint64_t numbers;    /* tokens end with a number below this in hex: counts different ones */
  const char *address; /* to listen on; default: loopback */
} bench_service_options_t;

/* Counts since the last reset. */
typedef struct bench_counts {
  uint64_t requests, connections;
  uint64_t wire_in, wire_out; /* bytes with TLS, of ended connections */
  uint64_t records_out;
  uint64_t devices, sum; /* different numbers of devices, and their sum */
} bench_counts_t;

typedef struct bench_service {
  pid_t process;
  uint16_t port;
  volatile bench_counts_t *counts;
} bench_service_t;

bench_service_t bench_service_start(const identities_t *identities,
                                    const bench_service_options_t *options);
void bench_service_stop(bench_service_t *service);

/* Listens on a free port of an address; NULL: loopback. */
int bench_listen(const char *address, uint16_t *port_out);
void bench_pin(int processor);

#endif
