/* The senders: the floor, the library and h2load. Each is a separate process, so that the system
   counts its resources. */
#ifndef BENCHMARKS_HTTP2_PROVIDER_H
#define BENCHMARKS_HTTP2_PROVIDER_H

#include <apns/apns.h>
#include <stdbool.h>
#include <stdint.h>

#include "../floor/floor.h"
#include "../list.h"
#include "Gateway/identity.h"

typedef struct provider_figures {
  double cpu, wall;      /* seconds, of the process */
  uint64_t instructions; /* in user mode; 0 if the system does not count them */
  /* Only for the library, while it sent: */
  double sending; /* seconds */
  uint64_t own_allocations, other_allocations;
  uint64_t records, connects, accepted;
  double peak_kb;
} provider_figures_t;

typedef struct provider_task {
  const identities_t *identities;
  const list_t *list;
  const floor_frames_t *frames; /* of the list, for the floor */
  uint16_t port;
  uint32_t streams;     /* for h2load; the library uses the service's limit */
  uint32_t connections; /* maximum */
  uint32_t window_bytes;
  size_t warm;              /* notifications sent before `sending` begins */
  uint32_t sleep_ms;        /* idle time between warming up and sending */
  bool counts_instructions; /* with valgrind */
  bool loops;               /* the session never waits; poll() does */
} provider_task_t;

#define PROVIDER_TOPIC "com.example.chess"

/** `cpu` is negative if it failed. */
provider_figures_t provider_floor(const provider_task_t *task);
provider_figures_t provider_library(const provider_task_t *task);
/** `cpu` is negative if h2load is missing. */
provider_figures_t provider_h2load(const provider_task_t *task);

#endif
