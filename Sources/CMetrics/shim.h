/* The example's writer, so that `apns send --metrics` writes what a program in C writes. */
#ifndef APNS_CMETRICS_SHIM_H
#define APNS_CMETRICS_SHIM_H

/* The header first: the example takes the installed one only where there is none. */
/* clang-format off */
#include "../../include/apns/apns.h"
#include "../../Examples/c/metrics/prometheus.h"
/* clang-format on */

#endif
