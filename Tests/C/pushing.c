#include "pushing.h"

#include <stdio.h>

apns_session_options_t push_options(const service_t *service) {
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_HTTP2;
  options.peer.host = "localhost";
  options.peer.port = service_port(service);
  options.peer.connect_timeout_ms = AMPLE_MS;
  tuning_of(&options)->write_timeout_ms = AMPLE_MS;
  tuning_of(&options)->answer_timeout_ms = AMPLE_MS;
  options.topic = "com.example.chess";
  options.outcomes = APNS_OUTCOMES_EACH;
  options.checks = -1; /* most payloads here say as little as they can */
  return options;
}

apns_session_t *push_session(const service_t *service, const apns_session_options_t *options) {
  apns_session_options_t usual = push_options(service);
  owned(credentials) credentials = provider_credentials();
  apns_session_t *session = session_with(options ? options : &usual, credentials);
  return session;
}

service_reply_t judge_first(void *context, const service_push_t *push) {
  const service_reply_t *first = context;
  return push->number == 0 ? *first : (service_reply_t){0};
}

size_t number_of(const service_push_t *push) {
  unsigned char bytes[sizeof(size_t)];
  for (size_t index = 0; index < sizeof bytes; index++) {
    unsigned value = 0;
    sscanf(push->path + strlen("/3/device/") + 2 * index, "%2x", &value);
    bytes[index] = (unsigned char)value;
  }
  size_t number;
  memcpy(&number, bytes, sizeof number);
  return number;
}

void push_stop(apns_session_t *session, service_t *service) {
  apns_session_free(session);
  service_stop(service);
}

void push_end(apns_session_t *session, service_t *service) {
  push_stop(session, service);
  service_free(service);
}
