/*
 * Pushes, and keeps a file with the session's statistics for Prometheus' node_exporter, which reads
 * *.prom in a directory (--collector.textfile.directory).
 *
 *   cc -o metrics metrics.c -lapns
 *   ./metrics HOST PORT CERTIFICATE TRUSTED COUNT FILE
 *
 * The certificate file has the key too. COUNT notifications go to tokens that are made up.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prometheus.h"

static int failed(const char *what, const apns_error_t *error) {
  fprintf(stderr, "%s: %s\n", what, error->message);
  return 1;
}

/* Writes a new file and renames it, so that no reader sees half of it. */
static int write_file(const char *path, const apns_session_t *session) {
  char beside[4096];
  if (snprintf(beside, sizeof beside, "%s.new", path) >= (int)sizeof beside) return -1;
  FILE *file = fopen(beside, "w");
  if (!file) return -1;
  write_build_info(file);
  int result = write_metrics(file, NULL, session);
  if (fclose(file) != 0) result = -1;
  if (result == 0) result = rename(beside, path);
  if (result != 0) remove(beside);
  return result;
}

/* Fetches the outcomes that have arrived. A real provider would handle them here. */
static void take_outcomes(apns_session_t *session) {
  apns_event_t event = APNS_EVENT_INIT;
  while (apns_session_next_event(session, &event, 0, NULL) == APNS_OK)
    if (event.kind == APNS_EVENT_REJECTED && event.reason_text[0] != '\0')
      printf("%u: %s\n", (unsigned)event.identifier, event.reason_text);
}

int main(int argc, char **argv) {
  if (argc != 7) {
    fprintf(stderr, "usage: %s HOST PORT CERTIFICATE TRUSTED COUNT FILE\n", argv[0]);
    return 2;
  }
  const long count = atol(argv[5]);
  const char *path = argv[6];
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  apns_session_t *session = NULL;
  who.certificate_file = argv[3], who.ca_file = argv[4];
  where.peer.host = argv[1], where.peer.port = (uint16_t)atoi(argv[2]);
  if (apns_credentials_new(&who, &credentials, &error) ||
      apns_session_new(&where, credentials, &session, &error))
    return failed("cannot start", &error);

  const char *payload = "{\"aps\":{\"alert\":\"Hello\"}}";
  uint8_t token[32] = {0};
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  push.token = token, push.token_length = sizeof token;
  push.payload = payload, push.payload_length = strlen(payload);
  time_t written = 0;
  int status = 0;
  for (long n = 0; n < count && status == 0; n++) {
    memcpy(token, &n, sizeof n);
    if (apns_session_send(session, &push, APNS_SEND_MORE, NULL, &error) != APNS_OK) {
      take_outcomes(session);
      if (error.status != APNS_ERR_FULL)
        status = failed("cannot push", &error);
      else
        n--;
    }
    /* Prometheus reads about every 15 seconds, so one file a second is enough. */
    if (time(NULL) != written) {
      written = time(NULL);
      if (write_file(path, session) != 0) perror(path);
    }
  }
  if (apns_session_drain(session, 30000, NULL, &error) != APNS_OK && status == 0)
    status = failed("not all have an outcome", &error);
  take_outcomes(session);
  if (write_file(path, session) != 0) {
    perror(path);
    status = 1;
  }
  apns_session_free(session);
  apns_credentials_free(credentials);
  return status;
}
