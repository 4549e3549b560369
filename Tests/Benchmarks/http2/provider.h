/* The two who send: the library, and h2load. Each in a process of its own, so that the
   system counts what it takes. */
#ifndef BENCHMARKS_HTTP2_PROVIDER_H
#define BENCHMARKS_HTTP2_PROVIDER_H

#include <apns/apns.h>
#include <stdbool.h>
#include <stdint.h>

#include "../list.h"
#include "Gateway/identity.h"

typedef struct provider_figures {
  double cpu, wall;      /* seconds, of the process */
  uint64_t instructions; /* in user mode; 0 where the system does not count them */
  /* Of the library only, while it sent: */
  double sending; /* seconds */
  uint64_t own_allocations, other_allocations;
  uint64_t records, connects, accepted;
  double peak_kb;
} provider_figures_t;

typedef struct provider_task {
  const identities_t *identities;
  const list_t *list;
  uint16_t port;
  uint32_t streams;     /* for h2load; the library does as the service says */
  uint32_t connections; /* at most */
  uint32_t window_bytes;
  size_t warm;              /* of the list, sent before `sending` begins */
  uint32_t sleep_ms;        /* unused time between warming and sending */
  bool counts_instructions; /* by valgrind */
  bool loops;               /* the session never waits: poll() does */
} provider_task_t;

#define PROVIDER_TOPIC "com.example.chess"

provider_figures_t provider_library(const provider_task_t *task);
/** `cpu` is negative where there is no h2load. */
provider_figures_t provider_h2load(const provider_task_t *task);

#endif
