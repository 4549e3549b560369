/* How large the structures of version 0.1 were. */
#ifndef TESTS_BASELINE_H
#define TESTS_BASELINE_H

#include <stddef.h>

typedef struct baseline {
  size_t error, payload_options, payload_finding, credentials_options, credentials_description,
      session_options, notification, event, session_stats, feedback_options, feedback_tuple;
} baseline_t;

extern const baseline_t baseline;

#endif
