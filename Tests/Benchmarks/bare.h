/* The loops that the library is compared with: they send and keep no books. */
#ifndef BENCHMARKS_BARE_H
#define BENCHMARKS_BARE_H

#include <openssl/ssl.h>
#include <stdint.h>

#include "list.h"

SSL *bare_connect(SSL_CTX *context, uint16_t port);
void bare_close(SSL *ssl);

/* Writes the frame that the library would send, and returns its length. */
size_t bare_frame(uint8_t *frame, const apns_notification_t *push, uint32_t identifier);
/* Writes a sentinel, and waits for the error packet that names it. */
void bare_end(SSL *ssl);

/* Each returns how many records it wrote. They end with a sentinel and wait for its error packet.
 */

/* Apple's enhanced listing: one SSL_write per frame. */
uint64_t bare_naive(SSL *ssl, const list_t *list);

/* The minimum: frames in 16 KB records, and a check for an error packet after each record. */
uint64_t bare_ceiling(SSL *ssl, const list_t *list);

/* The same from device tokens in hex, which a table decodes. */
uint64_t bare_ceiling_hex(SSL *ssl, const list_t *list);

#endif
