/*
 * APNs over HTTP/2 as the tests want it: the test's own judge decides the response to every
 * notification, and the service keeps everything that it received.
 */
#ifndef TESTS_SERVICE_H
#define TESTS_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "Gateway/identity.h"
#include "owned.h"

/** One request, whole. Missing header fields are "". */
typedef struct service_push {
  size_t number;     /* in the order in which they were whole, from 0 */
  size_t connection; /* in the order accepted */
  char provider[64]; /* the CN of the certificate that it showed; "" if it was not requested */
  int32_t stream;
  char path[256], authority[64], topic[256], push_type[32], id[64], collapse_id[80], expiration[24],
      priority[8], authorization[512], method[8];
  char *payload;
  size_t payload_length;
  /* All fields of a request that is not to a device, "name: value\n" each, in their order. */
  char *fields;
} service_push_t;

typedef enum service_action {
  SERVE_ANSWER,
  SERVE_SILENCE,          /* never answered */
  SERVE_RESET,            /* RST_STREAM with `error` instead of an answer */
  SERVE_GOODBYE,          /* answered, and GOAWAY: later requests are ignored */
  SERVE_GOODBYE_AND_DROP, /* likewise, and the connection closed when that is written */
  SERVE_DROP /* not answered, and the connection closed when the answers before it are written */
} service_action_t;

typedef struct service_reply {
  service_action_t action;
  int status;       /* 0: 200 */
  const char *body; /* NULL: none */
  /* apns-id, or apns-request-id if the request is not to a device; NULL: the request's own, or one
     made. */
  const char *id;
  const char *unique_id;  /* apns-unique-id; NULL: no field */
  const char *channel_id; /* apns-channel-id; NULL: no field */
  const char *long_body;  /* in place of `body`: it stays where it is */
  bool has_endless_body;
  const char *retry_after; /* NULL: no field */
  uint32_t error;          /* for SERVE_RESET */
  uint32_t settings;       /* not 0: SETTINGS with this many streams, before the response */
  /* Not 0: SETTINGS with this value minus one as header table size, before the response. */
  uint32_t table_size_and_one;
  /* Not NULL: these header fields are the response, names and values in turn; NULL ends a frame of
     them, and a second NULL the stream. */
  const char *const *fields;
  /* Not NULL: bytes after all pending ones, in the same TLS record; then nothing more on the
     connection, which stays open. */
  const void *last_words;
  size_t last_words_length;
} service_reply_t;

/** Called on the service's thread. */
typedef service_reply_t (*service_judge_t)(void *context, const service_push_t *push);

typedef struct service_options {
  service_judge_t judge; /* NULL: `reply` to all, which is 200 unless it says more */
  service_reply_t reply;
  void *context;
  uint32_t streams;        /* at once; 0: 1,000 */
  uint32_t stream_window;  /* bytes; 0: 65,535 */
  bool answers_early;      /* when the headers are there, and resets the stream: as nginx does */
  bool speaks_no_http2;    /* no ALPN */
  const char *chooses;     /* by ALPN, independent of the offer */
  bool trickles;           /* an answer to each record */
  bool shuts_first_window; /* the first connection's window is never opened again */
  bool gives_credit_late;  /* only when all of a connection's window was used */
  bool ignores_pings;
  bool wants_certificate;      /* of the provider, signed by the root */
  uint32_t table_size_and_one; /* for header fields; 0: 4,096 bytes, not announced */
  const identity_t *identity;  /* NULL: identities_make()->gateway */
} service_options_t;

typedef struct service service_t;

service_t *service_start(const service_options_t *options);
/** Starts a service with a judge and no other options. */
service_t *service_judging(service_judge_t judge, void *context);
/** One that replies the same to all, as in service_replying(.action = SERVE_SILENCE). */
#define service_replying(...) service_start(&(service_options_t){.reply = {__VA_ARGS__}})
uint16_t service_port(const service_t *service);

/** Ends it and joins its thread, if it still runs; the records of it stay until service_free(). */
void service_stop(service_t *service);
/** Stops it too. */
void service_free(service_t *service);
OWNED(service, service_t, service_free)

/** After service_stop(). */
size_t service_connections(const service_t *service);
size_t service_count(const service_t *service);
const service_push_t *service_push(const service_t *service, size_t number);
/** Connections on which the provider reported a violation of the rules: GOAWAY with an error. */
size_t service_complaints(const service_t *service);
/** PINGs that came. */
size_t service_pings(const service_t *service);
/** The most streams that were open at once on a connection. */
size_t service_most_streams(const service_t *service);
/** Streams begun beyond what SETTINGS allowed, counted from their acknowledgement on. */
size_t service_streams_too_many(const service_t *service);

#endif
