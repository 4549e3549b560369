/* The example's writer, so that `apns send --metrics` writes the same as a C program. */
#ifndef APNS_CMETRICS_SHIM_H
#define APNS_CMETRICS_SHIM_H

/* Included first: the example includes the installed header only if this one is missing. */
/* clang-format off */
#include "../../include/apns/apns.h"
#include "../../Examples/c/metrics/prometheus.h"
/* clang-format on */

#endif
