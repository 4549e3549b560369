/* The example's writer, so that `apns send --metrics` writes the same metrics as a C program. */
#ifndef APNS_CMETRICS_SHIM_H
#define APNS_CMETRICS_SHIM_H

/* The header comes first: otherwise the example includes the installed one. */
/* clang-format off */
#include "../../include/apns/apns.h"
#include "../../Examples/c/metrics/prometheus.h"
/* clang-format on */

#endif
