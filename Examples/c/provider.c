/*
 * A provider in C, the pattern to copy: reads notifications from a file, pushes them, and prints
 * the outcome of each that was not accepted.
 *
 *   cc provider.c -lapns
 *   provider [--protocol http2|binary] HOST PORT FEEDBACK_PORT CERTIFICATE CA FILE
 *
 * FILE: a device token in hex, a tab, a payload, on each line.
 */
#include <apns/binary.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t rejected, refused, unknown;

static int fail(const char *what, const apns_error_t *error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return EXIT_FAILURE;
}

/* Prints all outcomes that have arrived. user_data is the line's number. */
static void take_outcomes(apns_session_t *session, int32_t timeout_ms) {
  apns_event_t event = APNS_EVENT_INIT;
  while (apns_session_next_event(session, &event, timeout_ms, NULL) == APNS_OK) {
    size_t line = (size_t)event.user_data;
    if (event.kind == APNS_EVENT_REJECTED) {
      rejected++;
      printf("line %zu: rejected: %s\n", line,
             *event.reason_text ? event.reason_text /* HTTP/2 */
                                : apns_reject_text((apns_reject_t)event.reject));
    } else if (event.kind == APNS_EVENT_UNKNOWN || event.kind == APNS_EVENT_EXPIRED) {
      unknown++;
      printf("line %zu: %s: %s\n", line, event.kind == APNS_EVENT_EXPIRED ? "expired" : "unknown",
             *event.reason_text ? event.reason_text : "the connection ended first");
    }
  }
}

/* Sends one line. Prints and counts a line that is refused. */
static apns_status_t send_line(apns_session_t *session, char *text, size_t line,
                               apns_error_t *error) {
  uint8_t token[APNS_TOKEN_MAX];
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  char *tab = strchr(text, '\t');
  size_t hex_length = tab ? (size_t)(tab - text) : strlen(text);

  apns_status_t status =
      apns_token_from_hex(text, hex_length, token, sizeof token, &push.token_length, error);
  if (status == APNS_OK) {
    push.token = token;
    push.payload = tab ? tab + 1 : "";
    push.payload_length = strlen(push.payload);
    push.user_data = (void *)line;
    status = apns_session_send(session, &push, APNS_SEND_MORE, NULL, error);
  }
  if (status == APNS_ERR_FULL) { /* many outcomes wait: fetch them and try again */
    take_outcomes(session, 0);
    status = apns_session_send(session, &push, APNS_SEND_MORE, NULL, error);
  }
  if (status == APNS_ERR_ARGUMENT) { /* this line is invalid: continue with the next */
    refused++;
    printf("line %zu: refused: %s\n", line, error->message);
    return APNS_OK;
  }
  return status;
}

static void print_gone(const uint8_t *token, size_t length, int64_t since) {
  char hex[2 * APNS_TOKEN_MAX + 1];
  if (apns_token_to_hex(token, length, hex, sizeof hex, NULL, NULL)) return;
  printf("gone since %lld: %s\n", (long long)since, hex);
}

/* Prints the gone devices that APNs reported to the session. */
static int print_gone_of(apns_session_t *session) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_gone_device_t device = APNS_GONE_DEVICE_INIT;
  apns_status_t status;
  size_t devices = 0;
  while ((status = apns_session_next_gone(session, &device, &error)) == APNS_OK) {
    print_gone(device.token, device.token_length, device.timestamp);
    devices++;
  }
  if (status != APNS_DONE) return fail("gone devices", &error);
  printf("feedback: %zu devices to stop pushing to\n", devices);
  return EXIT_SUCCESS;
}

/* The same for the binary interface, which has a service for that. */
static int print_feedback(const char *host, uint16_t port, const apns_credentials_t *who) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  apns_feedback_t *feedback = NULL;
  apns_status_t status;
  size_t devices = 0;

  options.peer.host = host;
  options.peer.port = port;
  if (apns_feedback_open(&options, who, &feedback, &error)) return fail("feedback", &error);
  while ((status = apns_feedback_next(feedback, &tuple, &error)) == APNS_OK) {
    print_gone(tuple.token, tuple.token_length, tuple.timestamp);
    devices++;
  }
  apns_feedback_free(feedback);
  if (status != APNS_DONE) return fail("feedback", &error);
  printf("feedback: %zu devices to stop pushing to\n", devices);
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  const char *protocol = "http2"; /* today's APNs */
  if (argc > 2 && !strcmp(argv[1], "--protocol")) protocol = argv[2], argc -= 2, argv += 2;
  int is_http2 = !strcmp(protocol, "http2");
  if (argc != 7 || (!is_http2 && strcmp(protocol, "binary"))) {
    fputs("usage: provider [--protocol http2|binary] HOST PORT FEEDBACK_PORT CERTIFICATE CA FILE\n",
          stderr);
    return 2;
  }
  FILE *file = fopen(argv[6], "r");
  if (!file) {
    fprintf(stderr, "%s: %s\n", argv[6], strerror(errno));
    return 2;
  }

  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  who.certificate_file = argv[4]; /* certificate and key, PEM */
  who.ca_file = argv[5];
  apns_credentials_t *credentials = NULL;
  if (apns_credentials_new(&who, &credentials, &error)) return fail("credentials", &error);

  apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
  where.peer.host = argv[1];
  where.peer.port = (uint16_t)atoi(argv[2]);
  /* Over HTTP/2 the topic is the certificate's. */
  where.protocol = is_http2 ? APNS_PROTOCOL_HTTP2 : APNS_PROTOCOL_BINARY;
  apns_session_t *session = NULL;
  if (apns_session_new(&where, credentials, &session, &error)) return fail("session", &error);
  if (apns_session_connect(session, &error)) return fail("connect", &error);

  char text[8192];
  size_t line = 0;
  while (fgets(text, sizeof text, file)) {
    line++;
    text[strcspn(text, "\n")] = 0;
    if (send_line(session, text, line, &error)) return fail("send", &error);
  }
  fclose(file);

  size_t unresolved = 0;
  if (apns_session_drain(session, 60000, &unresolved, &error)) {
    fprintf(stderr, "%zu without a response: %s\n", unresolved, error.message);
    apns_session_close(session, 1000, NULL); /* they become unknown */
  }
  take_outcomes(session, 0);

  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_session_stats(session, &stats, NULL);
  printf("lines %zu = accepted %llu + rejected %zu + refused %zu + unknown %zu\n", line,
         (unsigned long long)stats.accepted, rejected, refused, unknown);
  printf("resent after a rejection: %llu; connections: %llu\n", (unsigned long long)stats.resent,
         (unsigned long long)stats.connects);

  int result = is_http2 ? print_gone_of(session)
                        : print_feedback(argv[1], (uint16_t)atoi(argv[3]), credentials);
  apns_session_free(session);
  apns_credentials_free(credentials);
  return stats.accepted + rejected + refused + unknown == line && unknown == 0 ? result
                                                                               : EXIT_FAILURE;
}
