/* How large the structures of version 0.1 were. */
#ifndef TESTS_BASELINE_H
#define TESTS_BASELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct baseline {
  size_t error, payload_options, payload_finding, credentials_options, credentials_description,
      session_options, notification, event, session_stats, feedback_options, feedback_tuple;
} baseline_t;

extern const baseline_t baseline;

/* What a program compiled with version 0.1 reads from its own apns_error_t. */
typedef struct baseline_error {
  int32_t returned, status, sys_errno, reject;
  int32_t reserved32; /* where `cause` is since */
  char message[240];
  bool keeps_its_neighbours; /* nothing is written before or behind the structure */
} baseline_error_t;

/* Loads a certificate from this path, which fails. */
baseline_error_t baseline_failure(const char *path);

#endif
