/*
 * The code that all event loops share. The session never waits, so a loop only watches one
 * descriptor and calls push_process() when it is readable.
 */
#ifndef PUSH_H
#define PUSH_H

#include <apns/apns.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static apns_session_t *session;

/* Starts to send COUNT notifications to HOST and PORT. Returns false on failure. */
static inline bool push_begin(int argc, char **argv) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  if (argc != 6) {
    fprintf(stderr, "usage: %s HOST PORT CERTIFICATE CA COUNT\n", argv[0]);
    return false;
  }
  where.peer.host = argv[1];
  where.peer.port = (uint16_t)atoi(argv[2]);
  where.topic = "com.example.app";
  where.peer.nonblocking = 1;
  who.certificate_file = argv[3];
  who.ca_file = argv[4];
  if (apns_credentials_new(&who, &credentials, &error) ||
      apns_session_new(&where, credentials, &session, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return false;
  }
  apns_credentials_free(credentials);
  for (uint32_t n = 0; n < (uint32_t)atoi(argv[5]); n++) {
    apns_notification_t push = APNS_NOTIFICATION_INIT;
    char payload[64];
    push.token = &n;
    push.token_length = sizeof n;
    push.payload = payload;
    push.payload_length = (size_t)snprintf(payload, sizeof payload, "{\"aps\":{\"badge\":%u}}", n);
    if (apns_session_send(session, &push, APNS_SEND_MORE, NULL, &error))
      fprintf(stderr, "%s\n", error.message);
  }
  return true;
}

/* Call this when the descriptor is readable. Returns false when every outcome is known. */
static inline bool push_process(void) {
  static unsigned long ends[8]; /* by apns_event_kind_t */
  apns_error_t error = APNS_ERROR_INIT;
  apns_event_t event = APNS_EVENT_INIT;
  if (apns_session_process(session, &error) < 0) fprintf(stderr, "retrying: %s\n", error.message);
  apns_status_t drained = apns_session_drain(session, 0, NULL, NULL);
  while (apns_session_next_event(session, &event, 0, NULL) == APNS_OK) ends[event.kind & 7]++;
  if (drained == APNS_ERR_AGAIN) return true;
  printf("%lu accepted, %lu rejected, %lu unknown\n", ends[APNS_EVENT_ACCEPTED],
         ends[APNS_EVENT_REJECTED], ends[APNS_EVENT_UNKNOWN]);
  return false;
}

/* Call this when the loop has ended. */
static inline int push_end(void) {
  apns_session_free(session);
  return 0;
}

#endif
