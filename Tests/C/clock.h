/*
 * The monotonic clock, as this program sees it, in the hands of a test: a minute passes without a
 * wait, and no time passes while the test looks.
 */
#ifndef TESTS_CLOCK_H
#define TESTS_CLOCK_H

#include <stdint.h>

/** From now on it moves by clock_forward() only; a wait for it would not end. */
void clock_stop(void);

/** It runs again, from the time that it shows. */
void clock_go(void);

void clock_forward(int64_t milliseconds);

#endif
