/* What the library is measured against: loops that send and keep no books. */
#ifndef BENCHMARKS_BARE_H
#define BENCHMARKS_BARE_H

#include <openssl/ssl.h>
#include <stdint.h>

#include "list.h"

SSL *bare_connect(SSL_CTX *context, uint16_t port);
void bare_close(SSL *ssl);

/* Each returns how many records it wrote. Both end with a notification that has
   no token, and wait for the packet that answers it. */

/* Apple's enhanced listing: a frame, an SSL_write. */
uint64_t bare_naive(SSL *ssl, const list_t *list);

/* The least that can be done: frames into 16 KB records, and after each record
   a look for an error packet. */
uint64_t bare_ceiling(SSL *ssl, const list_t *list);

/* The same from device tokens in hex, each decoded first by a table. */
uint64_t bare_ceiling_hex(SSL *ssl, const list_t *list);

#endif
