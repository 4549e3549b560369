/*
 * Pushes a list with bad device tokens spread through it, and says in one line of JSON
 * what the library told of each notification: Tests/Matrix/run and Tests/Matrix/http2
 * compare it with what the simulated gateway saw.
 *
 *   provider name=value...
 *
 * Notification n has a token of 32 bytes that begins with 0xBD where it is bad and with
 * 0x60 where it is not, and the payload {"aps":{},"n":n}.
 */
#include <apns/apns.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static const char *value_of(int argc, char **argv, const char *name, const char *otherwise) {
  size_t length = strlen(name);
  for (int index = 1; index < argc; index++)
    if (!strncmp(argv[index], name, length) && argv[index][length] == '=')
      return argv[index] + length + 1;
  return otherwise;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* What became of each notification, by number. */
enum { NO_END, ACCEPTED, REJECTED, UNKNOWN };
static unsigned char *ends;
static bool has_two_ends;

/* What rejections were answered with, by HTTP status and reason. */
static struct {
  char text[80];
  unsigned long count;
} reasons[64];

static void count_reason(const apns_event_t *event) {
  char text[sizeof reasons[0].text];
  snprintf(text, sizeof text, "%d %s", event->http_status, event->reason_text);
  for (size_t index = 0; index < sizeof reasons / sizeof *reasons; index++) {
    if (!*reasons[index].text) strcpy(reasons[index].text, text);
    if (strcmp(reasons[index].text, text)) continue;
    reasons[index].count++;
    return;
  }
}

static void take_events(apns_session_t *session, unsigned long *rejects) {
  apns_event_t event = APNS_EVENT_INIT;
  while (apns_session_next_event(session, &event, 0, NULL) == APNS_OK) {
    size_t n = (size_t)(uintptr_t)event.user_data;
    if (ends[n] != NO_END) has_two_ends = true;
    ends[n] = event.kind == APNS_EVENT_ACCEPTED   ? ACCEPTED
              : event.kind == APNS_EVENT_REJECTED ? REJECTED
                                                  : UNKNOWN;
    if (event.kind != APNS_EVENT_REJECTED) continue;
    rejects[event.reject & 255]++;
    if (event.http_status) count_reason(&event);
  }
}

static void list(const char *name, size_t count, int end) {
  const char *comma = "";
  printf("\"%s\": [", name);
  for (size_t n = 0; n < count; n++)
    if (ends[n] == end) {
      printf("%s%zu", comma, n);
      comma = ", ";
    }
  printf("]");
}

int main(int argc, char **argv) {
#define TEXT(name, otherwise) value_of(argc, argv, name, otherwise)
#define NUMBER(name, otherwise) strtoul(TEXT(name, otherwise), NULL, 10)
  size_t count = NUMBER("count", "2000"), bad_every = NUMBER("bad_every", "500");
  double limit = strtod(TEXT("seconds", "120"), NULL);
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  apns_session_t *session = NULL;
  unsigned long rejects[256] = {0};
  who.certificate_file = TEXT("certificate", NULL);
  who.ca_file = TEXT("ca", NULL);
  who.tls_max = (int32_t)NUMBER("tls_max", "0");
  who.token_key_file = TEXT("token_key", NULL);
  who.key_id = TEXT("key_id", NULL);
  who.team_id = TEXT("team_id", NULL);
  if (!strcmp(TEXT("protocol", "binary"), "http2")) options.protocol = APNS_PROTOCOL_HTTP2;
  options.topic = TEXT("topic", NULL);
  options.host = "127.0.0.1";
  options.port = (uint16_t)NUMBER("port", "2195");
  options.window_bytes = (uint32_t)NUMBER("window", "0");
  options.connections = (uint32_t)NUMBER("connections", "1");
  options.no_standby = (int32_t)NUMBER("no_standby", "0");
  options.write_timeout_ms = (uint32_t)NUMBER("write_timeout_ms", "1000");
  options.answer_timeout_ms = (uint32_t)NUMBER("answer_timeout_ms", "15000");
  options.ambiguous = !strcmp(TEXT("ambiguous", "resend"), "report") ? APNS_AMBIGUOUS_REPORT
                                                                     : APNS_AMBIGUOUS_RESEND;
  options.zero_proves = (int32_t)NUMBER("zero_proves", "0");
  options.report_accepted = 1;
  ends = calloc(count, 1);
  if (!ends || apns_credentials_new(&who, &credentials, &error) ||
      apns_session_new(&options, credentials, &session, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }

  double start = now(), cpu_start = cpu();
  size_t failures = 0;
  for (size_t n = 0; n < count;) {
    uint8_t token[32] = {0};
    char payload[64];
    apns_notification_t push = APNS_NOTIFICATION_INIT;
    token[0] = bad_every && n % bad_every == bad_every / 2 ? 0xBD : 0x60;
    memcpy(token + 8, &n, sizeof n);
    push.token = token;
    push.token_length = sizeof token;
    push.payload = payload;
    push.payload_length = (size_t)snprintf(payload, sizeof payload, "{\"aps\":{},\"n\":%zu}", n);
    push.user_data = (void *)(uintptr_t)n;
    apns_status_t status = apns_session_send(session, &push, APNS_SEND_MORE, NULL, &error);
    if (status == APNS_OK) n++;
    /* Events have to be taken, or they fill the window. */
    if (status != APNS_OK || n % 1000 == 0) take_events(session, rejects);
    if (status == APNS_OK || status == APNS_ERR_FULL) continue;
    failures++;
    if (!apns_status_is_retryable(status) || now() - start > limit) break;
  }
  apns_status_t status = APNS_ERR_TIMEOUT;
  while (status != APNS_OK && now() - start < limit) {
    status = apns_session_drain(session, 1000, NULL, &error);
    take_events(session, rejects);
    if (status != APNS_OK) failures++;
    if (status != APNS_OK && !apns_status_is_retryable(status)) break;
  }
  double seconds = now() - start, cpu_seconds = cpu() - cpu_start;

  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_session_stats(session, &stats, NULL);
  apns_session_close(session, 1000, NULL);
  take_events(session, rejects);
  printf(
      "{\"drained\": %s, \"seconds\": %.3f, \"cpu\": %.3f, \"taken\": %llu, \"connects\": %llu, "
      "\"resent\": %llu, \"failures\": %zu, \"two_ends\": %s, \"error\": \"%s\", \"statuses\": {",
      status == APNS_OK ? "true" : "false", seconds, cpu_seconds, (unsigned long long)stats.taken,
      (unsigned long long)stats.connects, (unsigned long long)stats.resent, failures,
      has_two_ends ? "true" : "false", status == APNS_OK ? "" : apns_status_name(status));
  const char *comma = "";
  for (int reject = 0; reject < 256; reject++)
    if (rejects[reject]) {
      printf("%s\"%d\": %lu", comma, reject, rejects[reject]);
      comma = ", ";
    }
  printf("}, \"reasons\": {");
  for (size_t index = 0; index < sizeof reasons / sizeof *reasons && *reasons[index].text; index++)
    printf("%s\"%s\": %lu", index ? ", " : "", reasons[index].text, reasons[index].count);
  printf("}, ");
  list("rejected", count, REJECTED);
  printf(", ");
  list("unknown", count, UNKNOWN);
  printf(", ");
  list("without_end", count, NO_END);
  printf("}\n");
  apns_session_free(session);
  apns_credentials_free(credentials);
  free(ends);
  return 0;
}
