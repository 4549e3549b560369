/*
 * The part for the binary interface only (Apple's Binary Provider API, which Apple switched off in
 * 2021): its formats, hosts and options, the feedback service, and the stand-in for Apple's
 * listings. It is for other gateways: a simulator, a private gateway, a relay. A program that
 * speaks HTTP/2 to APNs needs <apns/apns.h> only, which this header includes. A library that was
 * built with -DAPNS_BINARY=OFF has none of the functions of this header and of sendpayload.h.
 *
 * A session speaks the binary interface with APNS_PROTOCOL_BINARY:
 *
 *     apns_binary_options_t old = APNS_BINARY_OPTIONS_INIT;
 *     old.quiet_period_ms = 2000;
 *     apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
 *     where.protocol = APNS_PROTOCOL_BINARY;
 *     where.peer.host = "gateway.example";
 *     where.binary = &old;
 */
#ifndef APNS_BINARY_H
#define APNS_BINARY_H

#include "apns.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Apple switched these off in 2021; old programs still name them. */
#define APNS_BINARY_HOST_PRODUCTION "gateway.push.apple.com"
#define APNS_BINARY_HOST_SANDBOX "gateway.sandbox.push.apple.com"
#define APNS_PORT_GATEWAY 2195

/** How notifications are framed (Apple's commands; Binary Provider API). */
typedef enum apns_format {
  APNS_FORMAT_DEFAULT = 0,  /* framed */
  APNS_FORMAT_SIMPLE = 1,   /* command 0: no identifiers, so no answer can name one as failed */
  APNS_FORMAT_ENHANCED = 2, /* command 1 */
  APNS_FORMAT_FRAMED = 3    /* command 2 */
} apns_format_t;

/** The options of binary sessions only, for the option `binary` of a session. */
typedef struct apns_binary_options {
  size_t size; /* set by APNS_BINARY_OPTIONS_INIT */

  int32_t format; /* apns_format_t; 0: framed */

  /* For peers that do not answer a sentinel, a notification known to be bad: silence for this many
     ms after the last write means acceptance. 0: none. Then a sentinel is sent last, and the
     error packet that names it proves that all before it were accepted. */
  uint32_t quiet_period_ms;

  /* Not 0: while a sentinel is in flight, an error packet with identifier 0 is its answer, except
     for a shutdown (status 10). This is for gateways that name all other notifications but answer a
     sentinel with 0. Otherwise such a packet proves something only if its status can mean nothing
     else: APNS_REJECT_MISSING_TOKEN, or, while all tokens in flight have 32 bytes,
     APNS_REJECT_INVALID_TOKEN_SIZE. */
  int32_t zero_proves;

  /* Not 0: no standby connection is made. Otherwise one is made ready when the window is half
     full or the last connection ended by a rejection, so that the change costs no handshake. */
  int32_t no_standby;

  /* The gateway sends no response to a notification that it accepts. Once one has been in flight
     for this many ms, the next call on the session obtains proof, by a sentinel or by the quiet
     period. So a provider that sends rarely learns of acceptance too, and resends little after a
     lost connection. The proof costs the connection, so it waits while connects_per_minute allows
     no other. 0: 60,000; -1: only when a call or a deadline needs it. The simple format without
     quiet_period_ms has no proof. */
  int32_t prove_after_ms;

  uint32_t reserved32; /* zero */
} apns_binary_options_t;

#define APNS_BINARY_OPTIONS_INIT \
  { sizeof(apns_binary_options_t), 0, 0, 0, 0, 0, 0 }

/**
 * An SSL that stands for the session in code that pasted Apple's sendPayload(). The functions
 * of sendpayload.h recognize it and send by the session, with its protocol and topic. `struct
 * ssl_st` is OpenSSL's SSL. It has a separate SSL_CTX, without certificate and key.
 *
 * Every call returns the same one. It belongs to the session: apns_session_free() frees it,
 * nobody else may, and it must not be used afterwards. It has no connection, so OpenSSL's own
 * functions (SSL_write, SSL_read, SSL_connect, SSL_shutdown) fail on it and do nothing. NULL:
 * the session is NULL, closed or made by another process, or memory ran out. For the rule about
 * threads, using the SSL counts as using the session.
 */
struct ssl_st *apns_session_ssl(apns_session_t *session);

/* ---- Feedback ----------------------------------------------------------- */

#define APNS_FEEDBACK_HOST_PRODUCTION "feedback.push.apple.com"
#define APNS_FEEDBACK_HOST_SANDBOX "feedback.sandbox.push.apple.com"
#define APNS_PORT_FEEDBACK 2196

/** The feedback service's list of devices that are gone, while it is read. */
typedef struct apns_feedback apns_feedback_t;

typedef struct apns_feedback_options {
  size_t size; /* set by APNS_FEEDBACK_OPTIONS_INIT */

  /* Where to connect to; host NULL and port 0: Apple's for the environment and APNS_PORT_FEEDBACK.
     With `wait_max_ms` apns_feedback_open() only begins to connect, and apns_feedback_connect()
     continues. With `nonblocking` apns_feedback_next() returns APNS_ERR_AGAIN until a whole tuple
     is there; see apns_feedback_fd(). */
  apns_peer_t peer;
  int32_t environment; /* apns_environment_t; 0: production */

  uint32_t read_timeout_ms; /* for a whole apns_feedback_next(); 0: 10,000 */

  /* An HTTP/2 session, because Apple has no feedback service there: the session's own list is
     read, see apns_feedback_open(). NULL or a binary session: the feedback service's list. */
  apns_session_t *session;

  /* A list that does not end is abandoned when its calls have taken this many ms together; 0:
     600,000, ten minutes. */
  uint32_t list_timeout_ms;

  uint32_t tuples_max; /* ... or when they have returned this many devices; 0: 10,000,000 */
} apns_feedback_options_t;

#define APNS_FEEDBACK_OPTIONS_INIT \
  { sizeof(apns_feedback_options_t), APNS_PEER_INIT, 0, 0, NULL, 0, 0 }

/** A device that no longer has the app. */
typedef struct apns_feedback_tuple {
  size_t size;        /* set by APNS_FEEDBACK_TUPLE_INIT */
  uint32_t timestamp; /* UNIX seconds when it was found gone; a later registration counts */
  uint32_t reserved32;
  const uint8_t *token; /* the library's, until the next call with this feedback */
  size_t token_length;
} apns_feedback_tuple_t;

#define APNS_FEEDBACK_TUPLE_INIT \
  { sizeof(apns_feedback_tuple_t), 0, 0, NULL, 0 }

/**
 * Connects to the feedback service. Reading its list clears it there.
 *
 * `options` may be NULL: Apple's production service. `credentials` are those that the provider
 * pushes with, and may be freed before the feedback. On success the caller owns
 * `*feedback_out`.
 *
 * With an HTTP/2 session in the options the call does no I/O and ignores all other options, and
 * `credentials` may be NULL. The list is then the one of apns_session_next_gone(). A tuple that is
 * taken leaves it; the others stay. The session may be closed, or freed first. For the rule about
 * threads the feedback is a part of the session.
 */
apns_status_t apns_feedback_open(const apns_feedback_options_t *options,
                                 const apns_credentials_t *credentials,
                                 apns_feedback_t **feedback_out, apns_error_t *error_out);

/**
 * Continues to connect after apns_feedback_open() with the option wait_max_ms. Returns
 * APNS_ERR_TIMEOUT while it is connecting, within connect_timeout_ms. APNS_OK: it is connected,
 * which is always so without that option or if the list is a session's. apns_feedback_next()
 * does the same if this was not called.
 */
apns_status_t apns_feedback_connect(apns_feedback_t *feedback, apns_error_t *error_out);

/**
 * Takes the next tuple, in the service's order. APNS_DONE: the list has ended. The list of an
 * HTTP/2 session never ends for good: a later call returns devices that are reported later.
 *
 * Waits at most read_timeout_ms for a whole tuple, however its bytes arrive; after
 * APNS_ERR_TIMEOUT the next call continues. If the connection was lost, the whole tuples
 * come first, then the error. APNS_ERR_PROTOCOL: the list stopped in the middle of a tuple,
 * or it passed list_timeout_ms or tuples_max and was abandoned. Every later call returns the
 * same error.
 */
apns_status_t apns_feedback_next(apns_feedback_t *feedback, apns_feedback_tuple_t *tuple_out,
                                 apns_error_t *error_out);

/**
 * The descriptor of a feedback with the option `nonblocking`: it is readable whenever
 * apns_feedback_next() has something to do, because of bytes or of a deadline. Watch it as
 * apns_session_fd(); it is closed by apns_feedback_free(). -1: the feedback is NULL, was opened
 * by another process or without `nonblocking`, or its list is a session's, which never waits.
 */
int apns_feedback_fd(const apns_feedback_t *feedback);

/** Frees the feedback and closes its connection. NULL is fine. */
void apns_feedback_free(apns_feedback_t *feedback);

#ifdef __cplusplus
}
#endif

#endif
