/*
 * The floor: frames made beforehand are written in full TLS records, and responses are read and
 * counted. Nothing else is done, so no sender of these notifications can cost less.
 */
#ifndef BENCHMARKS_FLOOR_H
#define BENCHMARKS_FLOOR_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../list.h"

/* All notifications of a list as bytes of a connection. */
typedef struct floor_frames {
  uint8_t *bytes;
  size_t *ends; /* where each notification ends */
  size_t count;
  size_t payload; /* the length of each payload */
} floor_frames_t;

#define FLOOR_RECORD 16384
/* More than the frames of one notification need besides its payload. */
#define FLOOR_ROOM 512

floor_frames_t floor_make_room(const list_t *list);
void floor_free(floor_frames_t *frames);
/* Writes one record, or what is left before `end`. */
void floor_write_record(SSL *ssl, const floor_frames_t *frames, size_t *written, size_t end);
/* Ends the program with what failed. */
void floor_must(bool is_fine, const char *what);

/* The frames of the binary interface, in the library's format. */
floor_frames_t floor_binary(const list_t *list);

/* Writes them and a sentinel, and waits for its error packet. Returns how many records it wrote. */
uint64_t floor_send_binary(SSL *ssl, const floor_frames_t *frames);

/* HEADERS and DATA as nghttp2 encodes them on one connection. `authority` is "host:port". */
floor_frames_t floor_http2(const list_t *list, const char *authority, const char *topic);

/* A new connection with HTTP/2, and the provider's certificate and key of the file. */
SSL *floor_connect(const char *provider_file, uint16_t port);

/* Writes them as the peer's streams and flow control allow, and waits for all responses. */
void floor_send_http2(SSL *ssl, const floor_frames_t *frames);

#endif
