/*
 * The program's memory, in which a test can make allocations fail: it defines malloc() and the
 * like, for OpenSSL, nghttp2 and libc too. Only for a program with one thread.
 */
#ifndef TESTS_MEMORY_FAILING_MEMORY_H
#define TESTS_MEMORY_FAILING_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/** From now on the n-th allocation fails, counted from 1, or all from the n-th on; 0: none. */
void memory_arm(size_t n, bool every);

/** From now on none fails. */
void memory_disarm(void);

/** Allocations, and failed ones, since memory_arm(). */
size_t memory_asked(void);
size_t memory_failed(void);

/** Number of pieces not yet freed that the program's own code allocated, including the library if
    it is linked in. The second counts the pieces of all code. */
long memory_own(void);
long memory_all(void);

/** Prints the pieces that the program's own code allocated since then and still holds, and by
 * whom. */
void memory_print_own(size_t since);
size_t memory_serial(void);

#endif
