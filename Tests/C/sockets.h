/*
 * The sockets that the library makes in this program. The gateway's are not counted: they come from
 * accept(), and its listener names no protocol.
 */
#ifndef TESTS_SOCKETS_H
#define TESTS_SOCKETS_H

#include <stddef.h>

/** Begins to count again; open ones stay counted as open. */
void sockets_reset(void);

size_t sockets_made(void);
size_t sockets_open(void);

/** So many were open at once, at most. */
size_t sockets_most(void);

/** The last one made; -1: none since sockets_reset(). */
int sockets_last(void);

#endif
