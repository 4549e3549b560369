/* What building a payload costs, beside jansson doing the same. */
#ifndef BENCHMARKS_PAYLOAD_H
#define BENCHMARKS_PAYLOAD_H

#include <stdbool.h>

/* Prints a table, or with `json` a line of JSON for each contender. */
void payload_measure(int rounds, bool json);

#endif
