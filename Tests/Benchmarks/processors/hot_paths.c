/*
 * Repeats a provider's work for each notification, so that its instructions can be counted:
 *
 *   apns_hot_paths services        prints APNS_HOT_PATHS for the environment, and serves until its
 *                                  input ends
 *   apns_hot_paths SCALE [NAME...]  runs these paths, by default all, SCALE times the usual count,
 *                                  and prints the name and count of each
 */
#include <apns/apns.h>
#include <apns/binary.h>
#include <limits.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../bare.h"
#include "../floor/floor.h"
#include "../http2/bench_service.h"
#include "../list.h"
#include "../sink.h"
#include "instructions.h"

enum { LIST = 1000 };
#define TOPIC "com.example.app"
static const char payload_text[] =
    "{\"aps\":{\"alert\":\"Bob wants to play poker\",\"badge\":0,\"sound\":\"default\"},"
    "\"game\":\"5f79cfda\"}";
static const char hex[] = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412";
static const char base64[] = "X3nP2k0BqjoRyDP5e1LfKnohAlLiGwH6pz00Y57g5BI=";

/* What the services print. */
static char ca_file[PATH_MAX], provider_file[PATH_MAX], key_file[PATH_MAX];
enum { HTTP2_BATCHES, HTTP2_AT_ONCE, HTTP2_REFUSING, GATEWAY, FEEDBACK, SILENT, SERVICES };
static int ports[SERVICES];
/* More than any path reads. */
enum { DEVICES = 400000 };

/* Counting begins, or ends. The plugin sees a call of the system that does nothing. */
static void mark(void) { syscall(SYS_getpriority, INSTRUCTIONS_MARK, 0); }

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
  mark();
  for (size_t i = 0; i < count; i++) {
    apns_payload_reset(payload);
    must(apns_payload_set_string(payload, APNS_KEY_ALERT, "Bob wants to play poker", 23, &error),
         &error);
    must(apns_payload_set_integer(payload, APNS_KEY_BADGE, 0, &error), &error);
    must(apns_payload_set_string(payload, APNS_KEY_SOUND, "default", 7, &error), &error);
    must(apns_payload_add_string(payload, "game", 4, "5f79cfda", 8, &error), &error);
    must(apns_payload_write(payload, buffer, sizeof buffer, &length, NULL, &error), &error);
  }
  mark();
  /* Check that the right thing was measured. */
  if (count && (length != sizeof payload_text - 1 || memcmp(buffer, payload_text, length))) exit(1);
  apns_payload_free(payload);
}

static void check_payloads(size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  mark();
  for (size_t i = 0; i < count; i++)
    must(apns_payload_check(payload_text, sizeof payload_text - 1, 0, NULL, 0, NULL, &error),
         &error);
  mark();
}

static void change_payloads(size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_payload_t *payload = NULL;
  char buffer[256];
  size_t length = 0;
  must(apns_payload_new(NULL, &payload, &error), &error);
  must(apns_payload_set_integer(payload, APNS_KEY_BADGE, 0, &error), &error);
  mark();
  for (size_t i = 0; i < count; i++) {
    must(apns_payload_set_string(payload, APNS_KEY_ALERT, "Bob wants to play poker", 23, &error),
         &error);
    must(apns_payload_write(payload, buffer, sizeof buffer, &length, NULL, &error), &error);
  }
  mark();
  apns_payload_free(payload);
}

static void truncate_payloads(size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  apns_payload_t *payload = NULL;
  char text[1000], buffer[256];
  size_t length = 0, cut = 0;
  options.limit = sizeof buffer;
  options.truncate = 1;
  memset(text, 'x', sizeof text);
  must(apns_payload_new(&options, &payload, &error), &error);
  must(apns_payload_set_string(payload, APNS_KEY_ALERT, text, sizeof text, &error), &error);
  mark();
  for (size_t i = 0; i < count; i++)
    must(apns_payload_write(payload, buffer, sizeof buffer, &length, &cut, &error), &error);
  mark();
  if (count && (length != sizeof buffer || !cut)) exit(1);
  apns_payload_free(payload);
}

static void read_tokens(size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  uint8_t token[APNS_TOKEN_MAX];
  size_t length = 0;
  mark();
  for (size_t i = 0; i < count; i++)
    must(apns_token_from_hex(hex, sizeof hex - 1, token, sizeof token, &length, &error), &error);
  mark();
}

static void read_base64(size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  uint8_t token[APNS_TOKEN_MAX];
  size_t length = 0;
  mark();
  for (size_t i = 0; i < count; i++)
    must(apns_token_from_base64(base64, sizeof base64 - 1, token, sizeof token, &length, &error),
         &error);
  mark();
}

static void write_tokens(size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  char text[2 * APNS_TOKEN_MAX + 1];
  mark();
  for (size_t i = 0; i < count; i++)
    must(apns_token_to_hex(hex, 32, text, sizeof text, NULL, &error), &error);
  mark();
}

static void localize(size_t count) {
  static const char file[] = "\"GAME_PLAY_REQUEST_FORMAT\" = \"%@ and %@ have invited you\";";
  static const char *const arguments[] = {"Jenna", "Frank"};
  apns_error_t error = APNS_ERROR_INIT;
  apns_strings_t *strings = NULL;
  char text[256];
  must(apns_strings_new(file, sizeof file - 1, &strings, &error), &error);
  mark();
  for (size_t i = 0; i < count; i++)
    must(apns_strings_format(strings, "GAME_PLAY_REQUEST_FORMAT", 24, arguments, 2, text,
                             sizeof text, NULL, &error),
         &error);
  mark();
  apns_strings_free(strings);
}

/* ---- Pushes --------------------------------------------------------------- */

/* Accepted outcomes are not reported, or the program leaves all outcomes, or takes each. */
typedef enum taking { UNREPORTED, UNTAKEN, TAKEN } taking_t;
/* An array, or a call for each notification, which writes it, leaves it to the next one, or waits
   for its outcome. */
typedef enum calls { ARRAY, EACH, MORE, WAITING } calls_t;

typedef struct push {
  apns_protocol_t protocol;
  int service; /* see `ports` */
  taking_t taking;
  calls_t calls;
  int32_t checks;
  uint32_t window_bytes;
  bool loops;   /* in an event loop */
  bool differs; /* each payload differs from the one before */
  bool headers; /* each request has all headers */
  bool signs;   /* with a provider token */
  bool refuses; /* APNs, or the gateway every LIST notifications, refuses */
} push_t;

static apns_credentials_t *make_credentials(bool signs) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  who.ca_file = ca_file;
  if (signs) {
    who.token_key_file = key_file;
    who.key_id = "ABC123DEFG", who.team_id = "DEF123GHIJ";
    who.token_cache_file = "off";
  } else {
    who.certificate_file = provider_file;
  }
  must(apns_credentials_new(&who, &credentials, &error), &error);
  return credentials;
}

static apns_session_t *make_session(const push_t *push, const apns_credentials_t *credentials) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_session_t *session = NULL;
  options.protocol = push->protocol;
  options.outcomes = push->taking == UNREPORTED ? APNS_OUTCOMES_FAILURES : APNS_OUTCOMES_ALL;
  options.checks = push->checks;
  options.window_bytes = push->window_bytes;
  options.peer.nonblocking = push->loops;
  options.peer.host = "127.0.0.1";
  options.peer.port = (uint16_t)ports[push->service];
  if (push->protocol == APNS_PROTOCOL_HTTP2) options.topic = TOPIC;
  must(apns_session_new(&options, credentials, &session, &error), &error);
  return session;
}

static list_t make_list(const push_t *push) {
  static char collapse[LIST][16], id[LIST][37];
  list_t list = list_make(LIST, push->protocol == APNS_PROTOCOL_HTTP2 ? 200 : 100);
  for (size_t i = 0; i < LIST; i++) {
    apns_notification_t *one = &list.notifications[i];
    if (push->differs) ((char *)one->payload)[20] = (char)('a' + i % 2);
    if (!push->headers) continue;
    snprintf(collapse[i], sizeof collapse[i], "game-%zu", i);
    snprintf(id[i], sizeof id[i], "5e2a60c0-0000-4000-8000-%012zx", i);
    one->collapse_id = collapse[i];
    one->apns_id = id[i];
    one->expiry = 4102444800 + (int64_t)i;
    one->priority = 5;
    one->push_type = APNS_PUSH_TYPE_ALERT;
  }
  /* The gateway refuses this token. */
  if (push->refuses) ((uint8_t *)list.notifications[LIST - 1].token)[31] = SINK_REFUSES;
  return list;
}

static size_t take(apns_session_t *session) {
  apns_event_t event = APNS_EVENT_INIT;
  size_t count = 0;
  while (!apns_session_next_event(session, &event, 0, NULL)) count++;
  return count;
}

/* A minimal event loop that runs until the call is done. */
static void go_on(apns_session_t *session, apns_status_t status, const apns_error_t *error) {
  apns_error_t own = APNS_ERROR_INIT;
  struct pollfd watched = {.fd = apns_session_fd(session), .events = POLLIN};
  if (status != APNS_ERR_AGAIN) must(status, error);
  if (status == APNS_ERR_AGAIN && poll(&watched, 1, -1) == 1)
    must(apns_session_process(session, &own), &own);
}

static void send_in_loop(apns_session_t *session, const list_t *list) {
  apns_error_t error = APNS_ERROR_INIT;
  for (size_t sent = 0, taken; sent < LIST; sent += taken)
    go_on(
        session,
        apns_session_send_many(session, list->notifications + sent, LIST - sent, 0, &taken, &error),
        &error);
}

static void drain(apns_session_t *session, const push_t *push) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  do
    go_on(session, status = apns_session_drain(session, push->loops ? 0 : 600000, NULL, &error),
          &error);
  while (status != APNS_OK);
}

static void send_list(apns_session_t *session, const push_t *push, const list_t *list) {
  apns_error_t error = APNS_ERROR_INIT;
  if (push->loops) return send_in_loop(session, list);
  if (push->calls == ARRAY) {
    must(apns_session_send_many(session, list->notifications, LIST, 0, NULL, &error), &error);
    return;
  }
  const uint32_t flags = push->calls == MORE ? APNS_SEND_MORE : 0;
  for (size_t i = 0; i < LIST; i++) {
    apns_event_t event = APNS_EVENT_INIT;
    must(push->calls == WAITING
             ? apns_session_push(session, &list->notifications[i], 10000, &event, &error)
             : apns_session_send(session, &list->notifications[i], flags, NULL, &error),
         &error);
  }
}

static void check_count(apns_session_t *session, const push_t *push, size_t count) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_session_stats(session, &stats, NULL);
  const size_t refused = !push->refuses                          ? 0
                         : push->protocol == APNS_PROTOCOL_HTTP2 ? count
                                                                 : count / LIST;
  if (stats.accepted == count - refused && stats.rejected == refused) return;
  fprintf(stderr, "%llu accepted, %llu rejected of %zu\n", (unsigned long long)stats.accepted,
          (unsigned long long)stats.rejected, count);
  exit(1);
}

/* Each session signs a provider token and makes a connection for one notification. */
static void reconnect(const push_t *push, const list_t *list, size_t count) {
  mark();
  for (size_t i = 0; i < count; i++) {
    apns_error_t error = APNS_ERROR_INIT;
    apns_event_t event = APNS_EVENT_INIT;
    apns_credentials_t *credentials = make_credentials(push->signs);
    apns_session_t *session = make_session(push, credentials);
    must(apns_session_push(session, list->notifications, 10000, &event, &error), &error);
    check_count(session, push, 1);
    apns_session_free(session);
    apns_credentials_free(credentials);
  }
  mark();
}

static void send_pushes(const push_t *push, size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  list_t list = make_list(push);
  apns_credentials_t *credentials = make_credentials(push->signs);
  apns_session_t *session = make_session(push, credentials);
  size_t taken = 0;
  /* Not counted: the first connection, and the last, on which nothing is in flight. */
  for (size_t sent = 0; sent < count + LIST; sent += LIST) {
    if (sent == LIST) {
      drain(session, push);
      do go_on(session, apns_session_connect(session, &error), &error);
      while (apns_session_connect(session, &error) != APNS_OK);
      mark();
    }
    send_list(session, push, &list);
    if (push->taking == TAKEN) taken += take(session);
  }
  drain(session, push);
  if (push->taking == TAKEN) taken += take(session);
  mark();
  if (push->taking == TAKEN && taken != count + LIST) exit(1);
  check_count(session, push, count + LIST);
  apns_session_free(session);
  apns_credentials_free(credentials);
  list_free(&list);
}

/* Everything waits for a handshake that the peer never answers. */
static void send_unconnected(const push_t *push, size_t count) {
  uint16_t port;
  const int listener = bench_listen(NULL, &port);
  ports[SILENT] = port;
  list_t list = make_list(push);
  apns_credentials_t *credentials = make_credentials(push->signs);
  apns_session_t *session = make_session(push, credentials);
  send_list(session, push, &list);
  mark();
  for (size_t sent = 0; sent < count; sent += LIST) send_list(session, push, &list);
  mark();
  apns_session_free(session);
  apns_credentials_free(credentials);
  list_free(&list);
  close(listener);
}

static void send_once(const push_t *push, size_t count) {
  list_t list = make_list(push);
  reconnect(push, &list, count);
  list_free(&list);
}

static void read_feedback(const push_t *push, size_t count) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  apns_credentials_t *credentials = make_credentials(false);
  apns_feedback_t *feedback = NULL;
  options.peer.host = "127.0.0.1";
  options.peer.port = (uint16_t)ports[push->service];
  must(apns_feedback_open(&options, credentials, &feedback, &error), &error);
  mark();
  for (size_t i = 0; i < count; i++) must(apns_feedback_next(feedback, &tuple, &error), &error);
  mark();
  apns_feedback_free(feedback);
  apns_credentials_free(credentials);
}

static void send_floor(const push_t *push, size_t count) {
  const bool http2 = push->protocol == APNS_PROTOCOL_HTTP2;
  list_t list = list_make(count, http2 ? 200 : 100);
  floor_frames_t frames = http2 ? floor_http2(&list, "127.0.0.1:443", TOPIC) : floor_binary(&list);
  SSL *ssl = floor_connect(provider_file, (uint16_t)ports[push->service]);
  mark();
  if (http2) {
    floor_send_http2(ssl, &frames);
  } else {
    floor_send_binary(ssl, &frames);
  }
  mark();
  bare_close(ssl);
  floor_free(&frames);
  list_free(&list);
}

/* ---- Paths ------------------------------------------------------------------ */

typedef struct path {
  const char *name;
  size_t count;
  void (*repeat)(size_t count);
  void (*send)(const push_t *push, size_t count); /* or else */
  push_t push;
} path_t;

#define BINARY .protocol = APNS_PROTOCOL_BINARY, .service = GATEWAY

static const path_t paths[] = {
    {"payload", 1000, build_payloads, NULL, {0}},
    {"payload-changed", 1000, change_payloads, NULL, {0}},
    {"payload-truncated", 1000, truncate_payloads, NULL, {0}},
    {"check", 1000, check_payloads, NULL, {0}},
    {"token", 1000, read_tokens, NULL, {0}},
    {"token-base64", 1000, read_base64, NULL, {0}},
    {"token-to-hex", 1000, write_tokens, NULL, {0}},
    {"localized", 1000, localize, NULL, {0}},
    {"http2", 5000, NULL, send_pushes, {0}},
    {"http2-untaken", 5000, NULL, send_pushes, {.taking = UNTAKEN}},
    {"http2-taken", 5000, NULL, send_pushes, {.taking = TAKEN}},
    {"http2-unchecked", 5000, NULL, send_pushes, {.checks = -1}},
    {"http2-differing", 5000, NULL, send_pushes, {.differs = true}},
    {"http2-each", 5000, NULL, send_pushes, {.calls = EACH}},
    {"http2-more", 5000, NULL, send_pushes, {.calls = MORE}},
    {"http2-push", 1000, NULL, send_pushes, {.calls = WAITING, .service = HTTP2_AT_ONCE}},
    {"http2-loop", 5000, NULL, send_pushes, {.loops = true}},
    {"http2-loop-unconnected",
     3000,
     NULL,
     send_unconnected,
     {.loops = true, .window_bytes = 64 << 20, .service = SILENT}},
    {"http2-headers", 5000, NULL, send_pushes, {.headers = true}},
    {"http2-provider-token", 5000, NULL, send_pushes, {.signs = true}},
    {"http2-refused",
     5000,
     NULL,
     send_pushes,
     {.taking = TAKEN, .refuses = true, .service = HTTP2_REFUSING}},
    {"http2-small-window", 5000, NULL, send_pushes, {.window_bytes = 64 << 10}},
    {"http2-connect", 5, NULL, send_once, {.signs = true, .service = HTTP2_AT_ONCE}},
    {"http2-floor", 5000, NULL, send_floor, {0}},
    {"binary", 5000, NULL, send_pushes, {BINARY}},
    {"binary-untaken", 5000, NULL, send_pushes, {BINARY, .taking = UNTAKEN}},
    {"binary-taken", 5000, NULL, send_pushes, {BINARY, .taking = TAKEN}},
    {"binary-unchecked", 5000, NULL, send_pushes, {BINARY, .checks = -1}},
    {"binary-each", 5000, NULL, send_pushes, {BINARY, .calls = EACH}},
    {"binary-more", 5000, NULL, send_pushes, {BINARY, .calls = MORE}},
    {"binary-loop", 5000, NULL, send_pushes, {BINARY, .loops = true}},
    {"binary-loop-unconnected",
     3000,
     NULL,
     send_unconnected,
     {.protocol = APNS_PROTOCOL_BINARY,
      .loops = true,
      .window_bytes = 64 << 20,
      .service = SILENT}},
    {"binary-refused", 5000, NULL, send_pushes, {BINARY, .refuses = true}},
    {"binary-floor", 5000, NULL, send_floor, {BINARY}},
    {"feedback", 20000, NULL, read_feedback, {.service = FEEDBACK}},
};

static void serve(void) {
  const identities_t *identities = identities_make();
  bench_service_options_t how = {
      .processor = -1, .streams = 1000, .window = 16 << 20, .credit = 0.5, .batch = 500};
  bench_service_t services[3];
  services[0] = bench_service_start(identities, &how);
  how.refuses = true;
  services[1] = bench_service_start(identities, &how);
  how.refuses = false, how.batch = 1;
  services[2] = bench_service_start(identities, &how);
  sink_t gateway = sink_start(identities, TLS1_3_VERSION);
  sink_t feedback = sink_start_feedback(identities, DEVICES);
  printf("%s %s %s %u %u %u %u %u\n", identities->root.certificate_file,
         identities->provider.together_file, identities->provider.key_file, services[0].port,
         services[2].port, services[1].port, gateway.port, feedback.port);
  fflush(stdout);
  while (getchar() != EOF) continue;
  for (int i = 0; i < 3; i++) bench_service_stop(&services[i]);
  sink_stop(&gateway);
  sink_stop(&feedback);
}

static void read_services(void) {
  const char *services = getenv("APNS_HOT_PATHS");
  if (services && sscanf(services, "%4095s %4095s %4095s %d %d %d %d %d", ca_file, provider_file,
                         key_file, &ports[HTTP2_BATCHES], &ports[HTTP2_AT_ONCE],
                         &ports[HTTP2_REFUSING], &ports[GATEWAY], &ports[FEEDBACK]) == 8)
    return;
  fputs("APNS_HOT_PATHS is not what the services print\n", stderr);
  exit(2);
}

static void run(const path_t *path, size_t scale) {
  const size_t count = path->count * scale;
  if (path->repeat) {
    path->repeat(count);
  } else {
    path->send(&path->push, count);
  }
  printf("%s %zu\n", path->name, count);
}

static bool is_among(const char *name, char **names, int count) {
  for (int i = 0; i < count; i++)
    if (!strcmp(name, names[i])) return true;
  return count == 0;
}

int main(int argc, char **argv) {
  const size_t scale = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
  if (argc == 2 && !strcmp(argv[1], "services")) {
    serve();
    return 0;
  }
  if (!scale) return 2;
  read_services();
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
    if (is_among(paths[i].name, argv + 2, argc - 2)) run(&paths[i], scale);
  return 0;
}
