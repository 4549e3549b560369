/*
 * Pushes the lines of its standard input over HTTP/2, each with a device token in hex, a space and
 * a payload. Prints each outcome as soon as it is known:
 *
 *     {"line":3,"kind":"rejected","status":400,"reason":"BadDeviceToken","id":"…"}
 *
 * and, at the end, the session's counts. For the tests against servers.
 */
#include <apns/apns.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"", "accepted", "rejected", "unknown"};

static int fail(const char *what, const apns_error_t *error) {
  fprintf(stderr, "push_lines: %s: %s\n", what, error->message);
  return 1;
}

static void report(const apns_event_t *event) {
  printf("{\"line\":%zu,\"kind\":\"%s\",\"status\":%d,\"reason\":\"%s\",\"id\":\"%s\"}\n",
         (size_t)(uintptr_t)event->user_data, kinds[event->kind], event->http_status,
         event->reason_text, event->apns_id);
}

int main(int argc, char **argv) {
  if (argc != 8) {
    fprintf(stderr,
            "usage: push_lines PORT CA CERTIFICATE|- TOPIC CONNECTIONS at_least_once|at_most_once "
            "ids|-\n");
    return 2;
  }
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_t *credentials = NULL;
  apns_session_t *session = NULL;
  who.ca_file = argv[2];
  if (strcmp(argv[3], "-")) who.certificate_file = argv[3];
  options.protocol = APNS_PROTOCOL_HTTP2;
  options.peer.host = "localhost";
  options.peer.port = (uint16_t)atoi(argv[1]);
  options.topic = argv[4];
  options.connections = (uint32_t)atoi(argv[5]);
  options.delivery =
      strcmp(argv[6], "at_most_once") ? APNS_DELIVERY_AT_LEAST_ONCE : APNS_DELIVERY_AT_MOST_ONCE;
  options.outcomes = APNS_OUTCOMES_EACH;
  apns_tuning_t tuning = APNS_TUNING_INIT;
  tuning.reconnect_pause_max_ms = 100;
  options.tuning = &tuning;
  const int names_ids = !strcmp(argv[7], "ids");
  if (apns_credentials_new(&who, &credentials, &error)) return fail("credentials", &error);
  if (apns_session_new(&options, credentials, &session, &error)) return fail("session", &error);
  apns_credentials_free(credentials);

  static char line[8192];
  size_t number = 0;
  apns_event_t event = APNS_EVENT_INIT;
  while (fgets(line, sizeof line, stdin)) {
    char *end = strchr(line, '\n'), *payload = strchr(line, ' ');
    uint8_t token[APNS_TOKEN_MAX];
    char id[40];
    apns_notification_t push = APNS_NOTIFICATION_INIT;
    if (!payload) return fail("a line without a payload", &error);
    if (end) *end = 0;
    if (apns_token_from_hex(line, (size_t)(payload - line), token, sizeof token, &push.token_length,
                            &error))
      return fail("token", &error);
    push.token = token;
    push.payload = payload + 1;
    push.payload_length = strlen(payload + 1);
    push.user_data = (void *)(uintptr_t)number;
    snprintf(id, sizeof id, "00000000-0000-4000-8000-%012zx", number);
    if (names_ids) push.apns_id = id;
    apns_status_t status;
    while ((status = apns_session_send(session, &push, APNS_SEND_MORE, NULL, &error))) {
      /* A lost connection or a full window does not end the list. */
      if (status != APNS_ERR_FULL && !apns_status_is_retryable(status)) return fail("send", &error);
      while (apns_session_next_event(session, &event, 100, NULL) == APNS_OK) report(&event);
    }
    number++;
    while (apns_session_next_event(session, &event, 0, NULL) == APNS_OK) report(&event);
  }
  size_t unresolved = 0;
  if (apns_session_drain(session, 120000, &unresolved, &error)) fail("drain", &error);
  while (apns_session_next_event(session, &event, 0, NULL) == APNS_OK) report(&event);
  apns_session_close(session, 5000, NULL);
  while (apns_session_next_event(session, &event, 0, NULL) == APNS_OK) report(&event);
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_session_stats(session, &stats, NULL);
  printf(
      "{\"taken\":%llu,\"accepted\":%llu,\"rejected\":%llu,\"unknown\":%llu,\"resent\":%llu,"
      "\"connects\":%llu,\"bytes\":%llu,\"records\":%llu}\n",
      (unsigned long long)stats.taken, (unsigned long long)stats.accepted,
      (unsigned long long)stats.rejected, (unsigned long long)stats.unknown,
      (unsigned long long)stats.resent, (unsigned long long)stats.connects,
      (unsigned long long)stats.bytes, (unsigned long long)stats.records);
  apns_session_free(session);
  return 0;
}
