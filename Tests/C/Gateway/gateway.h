/*
 * A gateway that follows a script: a TLS peer on the loopback interface, in its own threads. It
 * does on each connection what the test says and records every byte it receives.
 *
 *     const gateway_step_t first[] = {TAKE_FRAMES(3), NAME_NTH(8, 1), CLOSE_RST, END};
 *     const gateway_step_t second[] = {TAKE_SENTINEL, NAME_LAST(2), END};
 *     gateway_t *gateway = gateway_start(NULL, SCRIPTS(first, second));
 *     ... send to gateway_port(gateway) ...
 *     const gateway_record_t *heard = gateway_heard(gateway, 1);
 *     gateway_stop(gateway);
 *
 * A script that reaches its END closes with close_notify and continues to read until the provider
 * closes too. Connections without a script answer a sentinel and are otherwise silent, like a
 * gateway.
 *
 * It parses the frames independently, so that the library is not measured by itself.
 */
#ifndef TESTS_GATEWAY_GATEWAY_H
#define TESTS_GATEWAY_GATEWAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../owned.h"
#include "identity.h"

typedef enum step_kind {
  STEP_END,
  STEP_NO_HANDSHAKE,
  STEP_SHAKE_HANDS,
  STEP_TAKE_RAW,
  STEP_TAKE_BYTES,
  STEP_TAKE_FRAMES,
  STEP_TAKE_SENTINEL,
  STEP_TAKE_ALL,
  STEP_JUDGE,
  STEP_SAY,
  STEP_SAY_RAW,
  STEP_NAME,
  STEP_NAME_NTH,
  STEP_NAME_LAST,
  STEP_KEY_UPDATE,
  STEP_RENEGOTIATE,
  STEP_FLOOD,
  STEP_CUT_HANDSHAKE,
  STEP_AWAIT,
  STEP_STALL,
  STEP_CLOSE_NOTIFY,
  STEP_CLOSE_FIN,
  STEP_CLOSE_RST,
  STEP_CLOSE_UNREAD
} step_kind_t;

typedef struct gateway_step {
  step_kind_t kind;
  size_t count;
  const void *bytes;
  uint8_t status;
  uint32_t identifier;
  bool piecemeal; /* each byte in its own TLS record */
} gateway_step_t;

#define END \
  { .kind = STEP_END }
/* Only as the first step: the TCP connection is accepted and no more. */
#define NO_HANDSHAKE \
  { .kind = STEP_NO_HANDSHAKE }
/* Later, after that. */
#define SHAKE_HANDS \
  { .kind = STEP_SHAKE_HANDS }
/* So many bytes from the socket, without a handshake. */
#define TAKE_RAW(n) \
  { .kind = STEP_TAKE_RAW, .count = (n) }
/* This many more bytes or frames; any bytes beyond them are recorded too. */
#define TAKE_BYTES(n) \
  { .kind = STEP_TAKE_BYTES, .count = (n) }
#define TAKE_FRAMES(n) \
  { .kind = STEP_TAKE_FRAMES, .count = (n) }
/* Until a frame without a token has come. */
#define TAKE_SENTINEL \
  { .kind = STEP_TAKE_SENTINEL }
/* Until the provider ends the connection. */
#define TAKE_ALL \
  { .kind = STEP_TAKE_ALL }
/* As a gateway does: accepts frames one after another, until one has a bad token (its last two
   bytes 0xFF, named with status 8) or none (status 2). At a frame whose token ends in two bytes
   0xFE it stops without a packet. */
#define JUDGE \
  { .kind = STEP_JUDGE }
#define SAY(data, n) \
  { .kind = STEP_SAY, .bytes = (data), .count = (n) }
#define SAY_PIECEMEAL(data, n) \
  { .kind = STEP_SAY, .bytes = (data), .count = (n), .piecemeal = true }
/* Under the TLS connection, which a stranger on the way might do. */
#define SAY_RAW(what, n) \
  { .kind = STEP_SAY_RAW, .bytes = (what), .count = (n) }
/* An error packet for an identifier; for the n-th frame of this connection from 0; for the last
   frame. */
#define NAME(what, k) \
  { .kind = STEP_NAME, .status = (what), .identifier = (k) }
#define NAME_NTH(what, n) \
  { .kind = STEP_NAME_NTH, .status = (what), .count = (n) }
#define NAME_NTH_PIECEMEAL(what, n) \
  { .kind = STEP_NAME_NTH, .status = (what), .count = (n), .piecemeal = true }
#define NAME_LAST(what) \
  { .kind = STEP_NAME_LAST, .status = (what) }
/* Requests new keys, which the provider has to answer (TLS 1.3). */
#define KEY_UPDATE \
  { .kind = STEP_KEY_UPDATE }
/* New keys again and again, which TLS keeps to itself, until the provider ends (TLS 1.3). */
#define FLOOD \
  { .kind = STEP_FLOOD }
/* After NO_HANDSHAKE: has the provider finish its part of the handshake, and resets (TLS 1.2). */
#define CUT_HANDSHAKE \
  { .kind = STEP_CUT_HANDSHAKE }
/* Requests a new handshake (TLS 1.2). */
#define RENEGOTIATE \
  { .kind = STEP_RENEGOTIATE }
/* Until gateway_signal() was called this many times. */
#define AWAIT(n) \
  { .kind = STEP_AWAIT, .count = (n) }
/* Reads nothing more until the provider closes. */
#define STALL \
  { .kind = STEP_STALL }
#define CLOSE_NOTIFY \
  { .kind = STEP_CLOSE_NOTIFY }
#define CLOSE_FIN \
  { .kind = STEP_CLOSE_FIN } /* no close_notify; reads on */
#define CLOSE_RST \
  { .kind = STEP_CLOSE_RST }
#define CLOSE_UNREAD \
  { .kind = STEP_CLOSE_UNREAD } /* close() as it stands */

#define SCRIPTS(...) \
  (const gateway_step_t *const[]) { __VA_ARGS__, NULL }

typedef struct gateway_options {
  int tls_version;        /* the only one, TLS1_2_VERSION or TLS1_3_VERSION; 0: either */
  size_t tickets;         /* session tickets, which a gateway should not send */
  bool wants_certificate; /* of the provider, signed by the root */
  /* Sets no session id context, a common mistake: with `wants_certificate` OpenSSL answers a
     resumption with an alert. */
  bool no_session_context;
  bool keeps_sessions; /* by their numbers too, and not in tickets only */
  /* Ends a connection that was resumed when the provider's part of it is done (TLS 1.3). */
  bool regrets_resumption;
  bool on_ipv6;
  int receive_buffer;         /* SO_RCVBUF; 0: the system's */
  const identity_t *identity; /* NULL: identities_make()->gateway */
} gateway_options_t;

typedef struct gateway_frame {
  size_t start, length;
  uint8_t command;
  uint32_t identifier; /* 0: none */
  bool is_sentinel;    /* without a token */
  bool is_bad;         /* with a token that JUDGE rejects */
  bool is_deadly;      /* with a token at which JUDGE stops */
} gateway_frame_t;

/** How the provider ended a connection. */
typedef enum gateway_ending {
  ENDING_NONE,   /* the gateway closed before it knew */
  ENDING_NOTIFY, /* close_notify */
  ENDING_FIN,    /* the stream ended without close_notify */
  ENDING_RESET,
  ENDING_HANDSHAKE /* there never was a TLS connection */
} gateway_ending_t;

/** Everything that one connection received. */
typedef struct gateway_record {
  uint8_t *bytes;
  size_t length;
  gateway_frame_t *frames; /* the whole ones */
  size_t frame_count;
  size_t accepted; /* by JUDGE: the number of frames from the first */
  gateway_ending_t ending;
  char *server_name; /* SNI; NULL: none */
  int tls_version;
  bool was_resumed; /* by a ticket of an earlier connection */
  bool was_offered; /* a session to resume */
  bool showed_certificate;
  char provider[64];          /* the CN of that certificate */
  size_t chain_length;        /* of the provider's certificate, itself included */
  bool refused_renegotiation; /* the provider, by its alert */
} gateway_record_t;

typedef struct gateway gateway_t;

/** `scripts` end with NULL (SCRIPTS() does that); one for each connection in the order accepted. */
gateway_t *gateway_start(const gateway_options_t *options, const gateway_step_t *const *scripts);

uint16_t gateway_port(const gateway_t *gateway);

/** Connections accepted so far. */
size_t gateway_connections(gateway_t *gateway);

/** The record of connection `index`, once it is over. Fails the test if that takes too long. */
const gateway_record_t *gateway_heard(gateway_t *gateway, size_t index);

/** Waits until connection `index` has received `count` frames. */
void gateway_await_frames(gateway_t *gateway, size_t index, size_t count);

/** Waits until connection `index` is at step `step` of its script. */
void gateway_await_step(gateway_t *gateway, size_t index, size_t step);

/** Refuses new connections from now on; open connections continue. */
void gateway_accept_no_more(gateway_t *gateway);

/** Lets AWAIT continue. */
void gateway_signal(gateway_t *gateway);

/** Ends all connections as they stand, and frees everything; NULL is fine. */
void gateway_stop(gateway_t *gateway);
OWNED(gateway, gateway_t, gateway_stop)

/** The frames of a run of bytes; the caller frees. */
gateway_frame_t *gateway_frames(const uint8_t *bytes, size_t length, size_t *count_out);

#endif
