/*
 * Sends notifications by a fixed schedule, by a session in an event loop or by nghttp2 alone, and
 * writes when each was due and when its outcome was known, in ns of the monotonic clock:
 * apns_http2_latency libapns|nghttp2 PORT CA PROVIDER COUNT RATE FILE. With RATE 0 all are due at
 * once. The first notification, before the schedule, makes the connection.
 */
#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../bare.h"
#include "../floor/floor.h"
#include "provider.h"

#define SECOND 1000000000ull
/* Those of a tick are due together, because a timer for each would cost more than sending it. */
#define TICK 100000ull

static list_t list;
static uint64_t start, *ends;
static double rate;
/* Due, and with an outcome. */
static size_t sent, done;

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static uint64_t due(size_t index) {
  if (rate <= 0) return start;
  return start + (uint64_t)((double)(index - 1) * (double)SECOND / rate) / TICK * TICK;
}

/* Whether the next one is due, and those before it allow it. */
static bool is_due(size_t index) {
  if (index >= list.count || index > 1) return index < list.count && now_ns() >= due(index);
  if (index == 1 && done == 1 && !start) start = now_ns();
  return index == done;
}

static void note(size_t index) {
  ends[index] = now_ns();
  done++;
}

/* Until a descriptor is ready, or the next one is due. */
static void wait_for(int descriptor, short events) {
  struct pollfd watched = {.fd = descriptor, .events = events};
  const bool has_next = sent > 1 && sent < list.count;
  const uint64_t now = now_ns(), next = has_next ? due(sent) : now;
  const uint64_t left = next > now ? next - now : 0;
  const struct timespec limit = {.tv_sec = (time_t)(left / SECOND),
                                 .tv_nsec = (long)(left % SECOND)};
  ppoll(&watched, 1, has_next ? &limit : NULL, NULL);
}

/* ---- The library --------------------------------------------------------------- */

static void must(apns_status_t status, const apns_error_t *error) {
  if (status == APNS_OK) return;
  fprintf(stderr, "%s: %s\n", apns_status_name(status), error->message);
  exit(1);
}

static apns_session_t *session_new(uint16_t port, const char *ca, const char *provider) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  apns_session_t *session = NULL;
  who.certificate_file = provider;
  who.ca_file = ca;
  must(apns_credentials_new(&who, &credentials, &error), &error);
  options.protocol = APNS_PROTOCOL_HTTP2;
  options.outcomes = APNS_OUTCOMES_EACH;
  options.peer.host = "127.0.0.1";
  options.peer.port = port;
  options.peer.nonblocking = 1;
  options.topic = PROVIDER_TOPIC;
  options.connections = 1;
  must(apns_session_new(&options, credentials, &session, &error), &error);
  apns_credentials_free(credentials);
  return session;
}

/* Returns false if the window is full. */
static bool send_due(apns_session_t *session) {
  apns_error_t error = APNS_ERROR_INIT;
  while (is_due(sent)) {
    const uint32_t flags = sent > 0 && is_due(sent + 1) ? APNS_SEND_MORE : 0;
    const apns_status_t status =
        apns_session_send(session, &list.notifications[sent], flags, NULL, &error);
    if (status == APNS_ERR_AGAIN || status == APNS_ERR_FULL) return false;
    must(status, &error);
    sent++;
  }
  return true;
}

static void take_outcomes(apns_session_t *session) {
  apns_event_t event = APNS_EVENT_INIT;
  while (apns_session_next_event(session, &event, 0, NULL) == APNS_OK) {
    if (event.kind != APNS_EVENT_ACCEPTED) fprintf(stderr, "%s\n", event.reason_text), exit(1);
    note((size_t)event.user_data);
  }
}

static void play_library(uint16_t port, const char *ca, const char *provider) {
  apns_session_t *session = session_new(port, ca, provider);
  while (done < list.count) {
    const size_t before = done;
    const bool has_room = send_due(session);
    take_outcomes(session);
    if (done > before && (!has_room || done == 1)) continue;
    struct pollfd full = {.fd = apns_session_fd(session), .events = POLLIN};
    if (has_room)
      wait_for(apns_session_fd(session), POLLIN);
    else
      poll(&full, 1, -1);
    apns_error_t error = APNS_ERROR_INIT;
    must(apns_session_process(session, &error), &error);
    take_outcomes(session);
  }
  apns_session_free(session);
}

/* ---- nghttp2 --------------------------------------------------------------------- */

static ssize_t read_payload(nghttp2_session *http, int32_t stream, uint8_t *bytes, size_t capacity,
                            uint32_t *flags, nghttp2_data_source *source, void *context) {
  const apns_notification_t *push = source->ptr;
  (void)http, (void)stream, (void)capacity, (void)context;
  memcpy(bytes, push->payload, push->payload_length);
  *flags |= NGHTTP2_DATA_FLAG_EOF;
  return (ssize_t)push->payload_length;
}

#define FIELD(name, value) \
  { (uint8_t *)(name), (uint8_t *)(value), strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE }

static void submit(nghttp2_session *http, const char *authority, size_t index) {
  char path[16 + sizeof list.hex[index]];
  snprintf(path, sizeof path, "/3/device/%.*s", (int)sizeof list.hex[index], list.hex[index]);
  const nghttp2_nv fields[] = {FIELD(":method", "POST"),
                               FIELD(":scheme", "https"),
                               FIELD(":path", path),
                               FIELD(":authority", authority),
                               FIELD("apns-topic", PROVIDER_TOPIC),
                               FIELD("apns-push-type", "alert")};
  const nghttp2_data_provider body = {.source.ptr = &list.notifications[index],
                                      .read_callback = read_payload};
  floor_must(nghttp2_submit_request(http, NULL, fields, sizeof fields / sizeof *fields, &body,
                                    (void *)index) > 0,
             "nghttp2_submit_request");
}

static int on_close(nghttp2_session *http, int32_t stream, uint32_t error, void *context) {
  (void)context;
  floor_must(error == 0, "a stream failed");
  note((size_t)nghttp2_session_get_stream_user_data(http, stream));
  return 0;
}

/* Returns false if the socket takes no more now. */
static bool has_written(nghttp2_session *http, SSL *ssl) {
  static uint8_t record[FLOOR_RECORD + 1024];
  static size_t count;
  for (;;) {
    const uint8_t *bytes;
    ssize_t got = 0;
    while (count < FLOOR_RECORD - 1024 && (got = nghttp2_session_mem_send(http, &bytes)) > 0) {
      floor_must(count + (size_t)got <= sizeof record, "a frame is too long");
      memcpy(record + count, bytes, (size_t)got);
      count += (size_t)got;
    }
    if (count == 0) return true;
    const int written = SSL_write(ssl, record, (int)count);
    if (written <= 0) {
      floor_must(SSL_get_error(ssl, written) == SSL_ERROR_WANT_WRITE, "SSL_write");
      return false;
    }
    count = 0;
  }
}

static void read_all(nghttp2_session *http, SSL *ssl) {
  uint8_t bytes[FLOOR_RECORD];
  int got;
  while ((got = SSL_read(ssl, bytes, sizeof bytes)) > 0)
    floor_must(nghttp2_session_mem_recv(http, bytes, (size_t)got) == got, "mem_recv");
  floor_must(SSL_get_error(ssl, got) == SSL_ERROR_WANT_READ, "SSL_read");
}

static void play_nghttp2(uint16_t port, const char *provider) {
  nghttp2_session_callbacks *callbacks;
  nghttp2_session *http;
  char authority[32];
  snprintf(authority, sizeof authority, "127.0.0.1:%u", port);
  SSL *ssl = floor_connect(provider, port);
  fcntl(SSL_get_fd(ssl), F_SETFL, O_NONBLOCK);
  nghttp2_session_callbacks_new(&callbacks);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  floor_must(nghttp2_session_client_new(&http, callbacks, NULL) == 0, "nghttp2");
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_submit_settings(http, NGHTTP2_FLAG_NONE, NULL, 0);
  while (done < list.count) {
    while (is_due(sent)) submit(http, authority, sent++);
    const bool is_written = has_written(http, ssl);
    wait_for(SSL_get_fd(ssl), is_written ? POLLIN : POLLIN | POLLOUT);
    read_all(http, ssl);
  }
  nghttp2_session_del(http);
  bare_close(ssl);
}

int main(int count, char **words) {
  if (count != 8) return fprintf(stderr, "usage: see the source\n"), 2;
  const uint16_t port = (uint16_t)atoi(words[2]);
  list = list_make(1 + (size_t)atol(words[5]), 200);
  rate = atof(words[6]);
  ends = calloc(list.count, sizeof *ends);
  FILE *file = fopen(words[7], "w");
  floor_must(ends && file, "memory, or the file");
  if (strcmp(words[1], "nghttp2") == 0)
    play_nghttp2(port, words[4]);
  else
    play_library(port, words[3], words[4]);
  for (size_t index = 1; index < list.count; index++)
    fprintf(file, "%.64s %llu %llu\n", list.hex[index], (unsigned long long)due(index),
            (unsigned long long)ends[index]);
  fclose(file);
  list_free(&list);
  free(ends);
}
