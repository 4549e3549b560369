/* The cost of building a payload, compared with jansson. */
#ifndef BENCHMARKS_PAYLOAD_H
#define BENCHMARKS_PAYLOAD_H

#include <stdbool.h>

/* Prints a table, or with `json` one JSON line per contender. */
void payload_measure(int rounds, bool json);

#endif
