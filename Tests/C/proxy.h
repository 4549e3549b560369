/*
 * An HTTP proxy on the loopback interface that gives the answers of the test, and leads to the
 * gateway if the test wants that. It has its own threads, as the gateway has.
 */
#ifndef TESTS_PROXY_H
#define TESTS_PROXY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "owned.h"

/** Its behaviour on one connection, after the request has come. */
typedef struct proxy_answer {
  const char *text; /* NULL: none */
  size_t length;    /* 0: strlen(text) */
  bool piecemeal;   /* each byte in its own segment */
  bool opens;       /* leads on to the gateway after that; else closes */
  bool resets;      /* closes with a reset */
  bool stays;       /* does neither, until the provider ends it */
} proxy_answer_t;

#define PROXY_OPENS \
  { .text = "HTTP/1.1 200 Connection established\r\n\r\n", .opens = true }
#define PROXY_SAYS(words) \
  { .text = (words) }

typedef struct proxy proxy_t;

/** One answer for each connection in the order accepted; the last one is for all later ones. */
proxy_t *proxy_start(uint16_t gateway_port, const proxy_answer_t *answers, size_t count);

uint16_t proxy_port(const proxy_t *proxy);

/** Its URL with that host, and with that user and password if they are not NULL, encoded for a URL.
   Valid until the next call. */
const char *proxy_url(const proxy_t *proxy, const char *host, const char *credentials);

/** Connections accepted so far. */
size_t proxy_connections(proxy_t *proxy);

/** The header of the request on connection `index`, whole; waits for it. */
const char *proxy_request(proxy_t *proxy, size_t index);

/** Ends all connections as they stand, and frees everything. */
void proxy_stop(proxy_t *proxy);
OWNED(proxy, proxy_t, proxy_stop)

#endif
