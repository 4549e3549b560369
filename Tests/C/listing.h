/*
 * Apple's two listings of sendPayload(), kept as printed, with changes that a test needs: the frame
 * goes to the caller's buffer instead of SSL_write(), and the enhanced one's identifier and expiry
 * are arguments.
 */
#ifndef TESTS_LISTING_H
#define TESTS_LISTING_H

#include <stddef.h>
#include <stdint.h>

/** Listing 5-1, simple format; returns the frame's length. */
size_t listing_simple(uint8_t *frame, const void *token, const void *payload, size_t length);

/** Listing 5-2, enhanced format. */
size_t listing_enhanced(uint8_t *frame, const void *token, const void *payload, size_t length,
                        uint32_t identifier, uint32_t expiry);

#endif
