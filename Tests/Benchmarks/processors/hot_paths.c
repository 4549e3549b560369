/*
 * Repeats a provider's work for each notification, so that its instructions can be counted:
 *
 *   apns_hot_paths NAME COUNT    COUNT: a multiple of 1,000 for pushes
 *
 * Prints its process ID; the gateway or service is another process.
 */
#include <apns/apns.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../http2/bench_service.h"
#include "../list.h"
#include "../sink.h"

enum { LIST = 1000 };
static const char payload_text[] =
    "{\"aps\":{\"alert\":\"Bob wants to play poker\",\"badge\":0,\"sound\":\"default\"},"
    "\"game\":\"5f79cfda\"}";
static const char hex[] = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412";

static void must(apns_status_t status, const apns_error_t *error) {
  if (status == APNS_OK) return;
  fprintf(stderr, "%s: %s\n", apns_status_name(status), error->message);
  exit(1);
}

static void build_payloads(size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_payload_t *payload = NULL;
  char buffer[256];
  size_t length = 0;
  must(apns_payload_new(NULL, &payload, &error), &error);
  for (size_t i = 0; i < count; i++) {
    apns_payload_reset(payload);
    must(apns_payload_set_string(payload, APNS_KEY_ALERT, "Bob wants to play poker", 23, &error),
         &error);
    must(apns_payload_set_integer(payload, APNS_KEY_BADGE, 0, &error), &error);
    must(apns_payload_set_string(payload, APNS_KEY_SOUND, "default", 7, &error), &error);
    must(apns_payload_add_string(payload, "game", 4, "5f79cfda", 8, &error), &error);
    must(apns_payload_write(payload, buffer, sizeof buffer, &length, NULL, &error), &error);
  }
  /* Check that the right thing was measured. */
  if (count && (length != sizeof payload_text - 1 || memcmp(buffer, payload_text, length))) exit(1);
  apns_payload_free(payload);
}

static void check_payloads(size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  for (size_t i = 0; i < count; i++)
    must(apns_payload_check(payload_text, sizeof payload_text - 1, 0, NULL, 0, NULL, &error),
         &error);
}

static void read_tokens(size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  uint8_t token[APNS_TOKEN_MAX];
  size_t length = 0;
  for (size_t i = 0; i < count; i++)
    must(apns_token_from_hex(hex, sizeof hex - 1, token, sizeof token, &length, &error), &error);
}

/* What becomes of outcomes: accepted ones are not reported, or nobody takes them, or each is taken.
 */
typedef enum taking { UNREPORTED, UNTAKEN, TAKEN } taking_t;

static size_t take(apns_session_t *session) {
  apns_event_t event = APNS_EVENT_INIT;
  size_t count = 0;
  while (!apns_session_next_event(session, &event, 0, NULL)) count++;
  return count;
}

static void push(const identities_t *identities, apns_protocol_t protocol, taking_t taking,
                 int32_t checks, uint16_t port, size_t payload, size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_credentials_t *credentials = NULL;
  apns_session_t *session = NULL;
  who.certificate_file = identities->provider.together_file;
  who.ca_file = identities->root.certificate_file;
  must(apns_credentials_new(&who, &credentials, &error), &error);
  options.protocol = protocol;
  options.outcomes = taking == UNREPORTED ? APNS_OUTCOMES_FAILURES : APNS_OUTCOMES_ALL;
  options.checks = checks;
  options.peer.host = "127.0.0.1";
  options.peer.port = port;
  if (protocol == APNS_PROTOCOL_HTTP2) options.topic = "com.example.app";
  must(apns_session_new(&options, credentials, &session, &error), &error);
  /* Made once for any count, so that the difference of two runs leaves it out. */
  list_t list = list_make(LIST, payload);
  size_t taken = 0;
  for (size_t sent = 0; sent < count; sent += LIST) {
    must(apns_session_send_many(session, list.notifications, LIST, 0, NULL, &error), &error);
    if (taking == TAKEN) taken += take(session);
  }
  must(apns_session_drain(session, 600000, NULL, &error), &error);
  if (taking == TAKEN && taken + take(session) != count) exit(1);
  apns_session_stats(session, &stats, NULL);
  if (stats.accepted != count) exit(1);
  apns_session_free(session);
  apns_credentials_free(credentials);
  list_free(&list);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const char *name = argv[1];
  const size_t count = strtoul(argv[2], NULL, 10);
  const taking_t taking = strstr(name, "-untaken") ? UNTAKEN
                          : strstr(name, "-taken") ? TAKEN
                                                   : UNREPORTED;
  const int32_t checks = strstr(name, "-unchecked") ? -1 : 0;
  printf("%d\n", (int)getpid());
  fflush(stdout);
  if (!strcmp(name, "payload")) {
    build_payloads(count);
  } else if (!strcmp(name, "check")) {
    check_payloads(count);
  } else if (!strcmp(name, "token")) {
    read_tokens(count);
  } else if (!strncmp(name, "http2", 5)) {
    const identities_t *identities = identities_make();
    const bench_service_options_t how = {
        .processor = 1, .streams = 1000, .window = 16 << 20, .credit = 0.5, .batch = 500};
    bench_service_t service = bench_service_start(identities, &how);
    push(identities, APNS_PROTOCOL_HTTP2, taking, checks, service.port, 200, count);
    bench_service_stop(&service);
  } else if (!strncmp(name, "binary", 6)) {
    const identities_t *identities = identities_make();
    sink_t sink = sink_start(identities, TLS1_3_VERSION);
    push(identities, APNS_PROTOCOL_BINARY, taking, checks, sink.port, 100, count);
    sink_stop(&sink);
  } else {
    return 2;
  }
  return 0;
}
