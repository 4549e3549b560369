/* A session's log: few records, one line each, and no secrets. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "keychain.h"
#include "proxy.h"
#include "signing.h"

enum { KINDS = APNS_LOG_KIND_FORGOTTEN + 1 };

/* All records that a log received. */
typedef struct book {
  size_t lines, of[KINDS], left_out;
  apns_log_record_t last[KINDS];
  char words[KINDS][700]; /* of the last of each kind */
  char peer[300];
  char *text;
  size_t length, room;
} book_t;

static void write_down(const apns_log_record_t *record, void *context) {
  book_t *book = context;
  assert_int_equal(record->size, sizeof *record);
  assert_in_range(record->kind, 1, KINDS - 1);
  assert_in_range(record->level, APNS_LOG_ERROR, APNS_LOG_TRACE);
  const size_t length = strlen(record->line);
  assert_in_range(length, 1, sizeof book->words[0] - 1);
  for (size_t index = 0; index < length; index++)
    assert_true((uint8_t)record->line[index] >= 0x20 && record->line[index] != 0x7F);
  book->lines++;
  book->of[record->kind]++;
  book->left_out += record->left_out;
  book->last[record->kind] = *record;
  strcpy(book->words[record->kind], record->line);
  snprintf(book->peer, sizeof book->peer, "%s", record->peer);
  if (book->room < book->length + length + 2) {
    book->room = 2 * (book->length + length + 2);
    book->text = realloc(book->text, book->room);
    assert_non_null(book->text);
  }
  memcpy(book->text + book->length, record->line, length);
  strcpy(book->text + book->length + length, "\n");
  book->length += length + 1;
}

static book_t book;

static void listen_to(apns_session_options_t *options, int32_t level) {
  free(book.text);
  memset(&book, 0, sizeof book);
  options->log = write_down;
  options->log_context = &book;
  options->log_level = level;
}

static void close_and_free(apns_session_t *session) {
  apns_session_close(session, AMPLE_MS, NULL);
  apns_session_free(session);
}

OWNED(closing, apns_session_t, close_and_free)

static apns_session_options_t logged_push_options(const service_t *service, int32_t level) {
  apns_session_options_t options = push_options(service);
  options.outcomes = APNS_OUTCOMES_FAILURES;
  listen_to(&options, level);
  return options;
}

/* ---- What is worth a line ------------------------------------------------------- */

TEST(a_large_batch_makes_few_lines) {
  const size_t count = as_many_as(100000, 2000);
  owned(service) service = service_start(NULL);
  apns_session_options_t options = logged_push_options(service, APNS_LOG_DEFAULT);
  options.window_bytes = 64 << 10; /* full again and again */
  apns_session_t *session = push_session(service, &options);
  send_and_drain(session, 0, count);
  assert_counts(session, count, count, 0, 0, 0);
  close_and_free(session);
  assert_in_range(book.lines, 3, 99);
  assert_int_equal(book.of[APNS_LOG_KIND_CONNECTED], 1);
  assert_in_range(book.of[APNS_LOG_KIND_FULL], 1, 60);
  assert_int_equal(book.of[APNS_LOG_KIND_FRAME], 0);
  char said[64];
  snprintf(said, sizeof said, "%zu notifications, %zu accepted", count, count);
  assert_contains(book.words[APNS_LOG_KIND_CLOSED], said);
}

TEST(outcomes_that_are_forgotten_are_said_once) {
  const size_t count = 2000;
  owned(service) service = service_start(NULL);
  apns_session_options_t options = logged_push_options(service, APNS_LOG_WARNING);
  options.outcomes = APNS_OUTCOMES_ALL;
  options.window_bytes = 16 << 10, tuning_of(&options)->payload_max = 512;
  owned(closing) session = push_session(service, &options);
  send_and_drain(session, 0, count);
  assert_true(stats_of(session).forgotten > 1000);
  assert_int_equal(book.of[APNS_LOG_KIND_FORGOTTEN], 1);
  assert_int_equal(book.last[APNS_LOG_KIND_FORGOTTEN].level, APNS_LOG_WARNING);
  assert_contains(book.words[APNS_LOG_KIND_FORGOTTEN], "nobody takes them");
}

TEST(a_connection_says_its_number_its_time_and_its_peer) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = logged_push_options(service, APNS_LOG_DEBUG);
  owned(closing) session = push_session(service, &options);
  char peer[64];
  snprintf(peer, sizeof peer, "localhost:%u", service_port(service));
  assert_ok(apns_session_connect(session, NULL));
  assert_int_equal(book.of[APNS_LOG_KIND_CONNECTING], 1);
  assert_int_equal(book.last[APNS_LOG_KIND_CONNECTED].connection, 1);
  assert_int_equal(book.last[APNS_LOG_KIND_CONNECTED].level, APNS_LOG_INFO);
  assert_int_equal(book.last[APNS_LOG_KIND_CONNECTED].resumed, 0);
  assert_string_equal(book.peer, peer);
  assert_contains(book.words[APNS_LOG_KIND_CONNECTED], "connection 1: connected to localhost:");
  assert_contains(book.words[APNS_LOG_KIND_CONNECTED], " at 127.0.0.1 in ");
}

/* Names no kind twice, and has a word for each. */
TEST(each_kind_has_a_word) {
  assert_string_equal(apns_log_kind_name(APNS_LOG_KIND_CONNECTED), "connected");
  assert_string_equal(apns_log_kind_name(APNS_LOG_KIND_GOAWAY), "goaway");
  assert_string_equal(apns_log_kind_name(APNS_LOG_KIND_FRAME), "frame");
  assert_string_equal(apns_log_kind_name(APNS_LOG_KIND_FORGOTTEN), "forgotten");
  assert_string_equal(apns_log_kind_name((apns_log_kind_t)(APNS_LOG_KIND_FORGOTTEN + 1)),
                      "unknown");
  assert_string_equal(apns_log_kind_name((apns_log_kind_t)0), "unknown");
}

TEST(a_level_that_is_none_is_refused) {
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  owned(credentials) credentials = provider_credentials();
  apns_session_t *session = NULL;
  options.log_level = APNS_LOG_TRACE + 1;
  assert_invalid(apns_session_new(&options, credentials, &session, &error), "log_level is 7");
}

static service_reply_t judge_by_goaway(void *context, const service_push_t *push) {
  (void)context;
  const service_action_t action = push->number % 2 ? SERVE_GOODBYE_AND_DROP : SERVE_ANSWER;
  return (service_reply_t){.action = action};
}

/* However often a service ends its connections, a log has few lines of it, which count. */
TEST(a_flood_of_goaways_is_bounded) {
  const size_t count = as_many_as(400, 40);
  owned(service) service = service_judging(judge_by_goaway, NULL);
  apns_session_options_t options = logged_push_options(service, APNS_LOG_DEBUG);
  owned(closing) session = push_session(service, &options);
  const int64_t start = clock_ms();
  for (size_t n = 0; n < count; n++) send_and_drain(session, n, n + 1);
  const size_t most = 5 + (size_t)(clock_ms() - start) / 10000 + 1;
  apns_session_stats_t stats = stats_of(session);
  assert_true(stats.connects > 10);
  for (size_t kind = 1; kind < KINDS; kind++) assert_in_range(book.of[kind], 0, most);
  assert_contains(book.words[APNS_LOG_KIND_GOAWAY],
                  "the service sent GOAWAY: NO_ERROR, last stream ");
  assert_int_equal(book.last[APNS_LOG_KIND_GOAWAY].level, APNS_LOG_NOTICE);
  assert_true(book.last[APNS_LOG_KIND_GOAWAY].connection > 0);
  /* The next line of a kind says how many there were, and there is one at least. */
  size_t before;
  do {
    before = book.of[APNS_LOG_KIND_CONNECTED];
    stats = stats_of(session);
    send_and_drain(session, 0, 1);
  } while (stats_of(session).connects == stats.connects ||
           book.of[APNS_LOG_KIND_CONNECTED] > before);
  clock_forward(60000);
  while (book.of[APNS_LOG_KIND_CONNECTED] == before) send_and_drain(session, 0, 1);
  assert_true(book.last[APNS_LOG_KIND_CONNECTED].left_out > 0);
  assert_contains(book.words[APNS_LOG_KIND_CONNECTED], " such lines were left out)");
}

/* A session that writes its log down, and has pushed once. */
static apns_session_t *push_one(const service_t *service, int32_t level) {
  apns_session_options_t options = logged_push_options(service, level);
  apns_session_t *session = push_session(service, &options);
  send_and_drain(session, 0, 1);
  return session;
}

TEST(a_lost_connection_says_what_is_sent_again) {
  service_reply_t first = {.action = SERVE_DROP};
  owned(service) service = service_judging(judge_first, &first);
  owned(closing) session = push_one(service, APNS_LOG_DEFAULT);
  assert_counts(session, 1, 1, 0, 0, 0);
  assert_int_equal(book.of[APNS_LOG_KIND_DISCONNECTED], 1);
  assert_int_equal(book.last[APNS_LOG_KIND_DISCONNECTED].count, 1);
  assert_int_equal(book.last[APNS_LOG_KIND_DISCONNECTED].level, APNS_LOG_WARNING);
  assert_int_equal(book.of[APNS_LOG_KIND_RESENT], 1);
  assert_int_equal(book.last[APNS_LOG_KIND_RESENT].count, 1);
  assert_int_equal(book.of[APNS_LOG_KIND_BACKOFF], 1);
  assert_int_equal(book.last[APNS_LOG_KIND_BACKOFF].cause, APNS_CAUSE_RECONNECT_PAUSE);
  assert_in_range(book.last[APNS_LOG_KIND_BACKOFF].milliseconds, 1, 50);
  assert_int_equal(book.last[APNS_LOG_KIND_CONNECTED].connection, 2);
}

TEST(a_busy_service_is_said) {
  service_reply_t first = {.status = 503, .body = "{\"reason\":\"ServiceUnavailable\"}"};
  owned(service) service = service_judging(judge_first, &first);
  owned(closing) session = push_one(service, APNS_LOG_NOTICE);
  assert_contains(book.words[APNS_LOG_KIND_RETRY], "503 ServiceUnavailable");
  assert_int_equal(book.last[APNS_LOG_KIND_RETRY].milliseconds, 5000);
  assert_int_equal(book.of[APNS_LOG_KIND_CONNECTED], 0);
}

TEST(a_reset_stream_is_said) {
  service_reply_t first = {.action = SERVE_RESET, .error = 7}; /* REFUSED_STREAM */
  owned(service) service = service_judging(judge_first, &first);
  owned(closing) session = push_one(service, APNS_LOG_DEFAULT);
  assert_int_equal(book.of[APNS_LOG_KIND_RESET], 1);
  assert_contains(book.words[APNS_LOG_KIND_RESET], "REFUSED_STREAM");
}

static service_reply_t judge_half_silently(void *context, const service_push_t *push) {
  (void)context;
  return (service_reply_t){.action = number_of(push) == 0 ? SERVE_SILENCE : SERVE_ANSWER};
}

TEST(an_answer_that_does_not_come_is_said) {
  owned(service) service = service_judging(judge_half_silently, NULL);
  apns_session_options_t options = logged_push_options(service, APNS_LOG_DEFAULT);
  tuning_of(&options)->answer_timeout_ms = 1000;
  options.delivery = APNS_DELIVERY_AT_MOST_ONCE;
  owned(closing) session = push_session(service, &options);
  const int64_t start = clock_ms();
  send_range(session, 0, 1);
  for (size_t n = 1; book.of[APNS_LOG_KIND_TIMEOUT] + book.of[APNS_LOG_KIND_ABANDONED] == 0; n++) {
    assert_in_range(clock_ms() - start, 0, AMPLE_MS);
    send_range(session, n, n + 1);
    apns_event_t event = APNS_EVENT_INIT;
    apns_session_next_event(session, &event, 20, NULL);
  }
  const int kind = book.of[APNS_LOG_KIND_TIMEOUT] ? APNS_LOG_KIND_TIMEOUT : APNS_LOG_KIND_ABANDONED;
  assert_int_equal(book.last[kind].cause, APNS_CAUSE_ANSWER_TIMEOUT);
  assert_int_equal(book.last[kind].count, 1);
}

TEST(nobody_there_is_said_with_the_cause) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_for(gateway);
  gateway_accept_no_more(gateway);
  listen_to(&options, APNS_LOG_DEFAULT);
  owned(closing) session = session_to(gateway, &options);
  assert_status(APNS_ERR_NETWORK, apns_session_connect(session, &error));
  assert_int_equal(book.last[APNS_LOG_KIND_CONNECT_FAILED].cause, APNS_CAUSE_CONNECTION_REFUSED);
  assert_contains(book.words[APNS_LOG_KIND_CONNECT_FAILED], error.message);
}

/* ---- The binary interface ------------------------------------------------------------- */

TEST(a_rejection_says_how_many_are_sent_again) {
  static const gateway_step_t first[] = {TAKE_FRAMES(10), NAME_NTH(8, 3), CLOSE_FIN, END};
  static const gateway_step_t second[] = {JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, second));
  apns_session_options_t options = options_for(gateway);
  binary_of(&options)->no_standby = 1;
  options.outcomes = APNS_OUTCOMES_FAILURES;
  listen_to(&options, APNS_LOG_TRACE);
  owned(closing) session = session_to(gateway, &options);
  send_and_drain(session, 0, 10);
  assert_counts(session, 10, 9, 1, 0, 0);
  assert_int_equal(book.last[APNS_LOG_KIND_RESENT].count, 6);
  assert_true(book.of[APNS_LOG_KIND_FRAME] >= 17); /* ten, the error packet, six again */
  assert_true(strstr(book.text, "< error packet, status 8, notification 4\n") != NULL);
}

TEST(many_rejections_make_few_lines) {
  enum { COUNT = 60 };
  static gateway_step_t step[] = {JUDGE, END};
  const gateway_step_t *scripts[COUNT + 2] = {NULL};
  for (size_t index = 0; index <= COUNT; index++) scripts[index] = step;
  owned(gateway) gateway = gateway_start(NULL, scripts);
  apns_session_options_t options = options_for(gateway);
  listen_to(&options, APNS_LOG_DEBUG);
  options.outcomes = APNS_OUTCOMES_FAILURES;
  owned(closing) session = session_to(gateway, &options);
  const int64_t start = clock_ms();
  for (size_t n = 0; n < COUNT; n++) {
    apns_notification_t bad = *notification(n);
    uint8_t token[32];
    memcpy(token, bad.token, sizeof token);
    token[30] = token[31] = 0xFF;
    bad.token = token;
    assert_ok(apns_session_send(session, &bad, 0, NULL, NULL));
    drain(session);
  }
  assert_counts(session, COUNT, 0, COUNT, 0, 0);
  const size_t most = 6 + (size_t)(clock_ms() - start) / 10000;
  for (size_t kind = 1; kind < KINDS; kind++) assert_in_range(book.of[kind], 0, most);
}

/* ---- Frames, and what is secret ------------------------------------------------------- */

static const char secret_payload[] = "{\"aps\":{\"alert\":\"the-secret-of-the-payload\"}}";
static const char secret_token[] =
    "deadbeef0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c";

static void push_a_secret(apns_session_t *session) {
  uint8_t token[32];
  for (size_t index = 0; index < sizeof token; index++) {
    unsigned byte = 0;
    sscanf(secret_token + 2 * index, "%2x", &byte);
    token[index] = (uint8_t)byte;
  }
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  push.token = token;
  push.token_length = sizeof token;
  push.payload = secret_payload;
  push.payload_length = strlen(secret_payload);
  assert_ok(apns_session_send(session, &push, 0, NULL, NULL));
  drain(session);
}

static void assert_keeps_secrets(void) {
  assert_contains(book.text, "deadbeef\u2026");
  assert_null(strstr(book.text, "secret"));
  assert_null(strstr(book.text, "deadbeef01"));
  assert_null(strstr(book.text, "bearer"));
}

TEST(a_trace_has_frames_and_no_secrets) {
  owned(key) key = keychain_key(false);
  heard_t heard = {0};
  owned(service) service = service_judging(hear_token, &heard);
  apns_credentials_options_t who = signing_options(key);
  owned(credentials) credentials = credentials_of(&who);
  apns_session_options_t options = logged_push_options(service, APNS_LOG_TRACE);
  owned(closing) session = session_with(&options, credentials);
  push_a_secret(session);
  assert_contains(book.text, "> HEADERS, stream 1, to deadbeef");
  assert_contains(book.text, "> DATA, stream 1, ");
  assert_contains(book.text, "< HEADERS, stream 1, status 200");
  assert_contains(book.text, "< SETTINGS");
  assert_keeps_secrets();
  assert_null(strstr(book.text, heard.tokens[0] + strlen("bearer ")));
  assert_contains(book.words[APNS_LOG_KIND_TOKEN], "another provider token, signed here");
}

TEST(a_binary_trace_keeps_secrets_too) {
  static const int32_t formats[] = {APNS_FORMAT_ENHANCED, APNS_FORMAT_FRAMED};
  for (size_t index = 0; index < 2; index++) {
    owned(gateway) gateway = gateway_start(NULL, NULL);
    apns_session_options_t options = options_for(gateway);
    binary_of(&options)->format = formats[index];
    listen_to(&options, APNS_LOG_TRACE);
    apns_session_t *session = session_to(gateway, &options);
    push_a_secret(session);
    assert_contains(book.text, "> notification 1 to deadbeef");
    assert_keeps_secrets();
    close_and_free(session);
  }
}

/* The log shows a proxy's untrusted text as one safe line. */
TEST(hostile_words_are_made_safe) {
  static const proxy_answer_t answer[] = {
      PROXY_SAYS("HTTP/1.1 502 ba\x1B[31md\xE2\x80\xAEwords\xFF\x01\x7F\r\n\r\n")};
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(proxy) proxy = proxy_start(gateway_port(gateway), answer, 1);
  apns_session_options_t options = options_for(gateway);
  options.peer.proxy = proxy_url(proxy, "127.0.0.1", "eve:the-secret-of-the-proxy");
  listen_to(&options, APNS_LOG_TRACE);
  owned(closing) session = session_to(gateway, &options);
  assert_status(APNS_ERR_NETWORK, apns_session_connect(session, &error));
  assert_contains(book.words[APNS_LOG_KIND_CONNECT_FAILED], "502 ba?[31md?words???");
  assert_null(strstr(book.text, "secret"));
}

/* ---- The token cache --------------------------------------------------------------------- */

TEST(a_cache_that_cannot_be_used_is_said) {
  owned(key) key = keychain_key(false);
  heard_t heard = {0};
  owned(service) service = service_judging(hear_token, &heard);
  apns_credentials_options_t who = signing_options(key);
  apns_credentials_t *credentials;
  apns_session_options_t options;
  apns_session_t *session;
  setenv("XDG_RUNTIME_DIR", "/nowhere", 1);
  static const char *const named[][2] = {
      {"/nowhere/at/all/token", ""}, {NULL, "/nowhere"}, {NULL, ""}};
  for (size_t n = 0; n < 3; n++) {
    who.token_cache_file = named[n][0];
    setenv("APNS_TOKEN_CACHE", named[n][1], 1);
    credentials = credentials_of(&who);
    options = logged_push_options(service, APNS_LOG_DEFAULT);
    session = session_with(&options, credentials);
    send_and_drain(session, 0, 1);
    assert_counts(session, 1, 1, 0, 0, 0);
    assert_contains(book.words[APNS_LOG_KIND_TOKEN], "signed here");
    /* The user's own directory is not worth a warning if nobody named it. */
    assert_int_equal(book.of[APNS_LOG_KIND_CACHE], n < 2);
    if (n < 2) {
      assert_int_equal(book.last[APNS_LOG_KIND_CACHE].level, APNS_LOG_WARNING);
      assert_contains(book.words[APNS_LOG_KIND_CACHE],
                      "the token_cache_file is not used: its directory");
    }
    close_and_free(session);
    apns_credentials_free(credentials);
  }
  setenv("APNS_TOKEN_CACHE", "off", 1);
  /* A working token cache is not worth a warning. */
  char directory[PATH_MAX], file[PATH_MAX + 16];
  snprintf(directory, sizeof directory, "%s", identities_directory("log-cache"));
  chmod(directory, 0700);
  snprintf(file, sizeof file, "%s/token", directory);
  who.token_cache_file = file;
  for (int turn = 0; turn < 2; turn++) {
    credentials = credentials_of(&who);
    options = logged_push_options(service, APNS_LOG_DEFAULT);
    assert_ok(apns_session_new(&options, credentials, &session, NULL));
    send_and_drain(session, 0, 1);
    assert_int_equal(book.of[APNS_LOG_KIND_CACHE], 0);
    assert_contains(book.words[APNS_LOG_KIND_TOKEN],
                    turn == 0 ? "signed here" : "from the token_cache_file");
    close_and_free(session);
    apns_credentials_free(credentials);
  }
}

/* ---- In an event loop ----------------------------------------------------------------- */

TEST(a_session_in_an_event_loop_tells_the_same) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = logged_push_options(service, APNS_LOG_DEFAULT);
  options.peer.nonblocking = 1;
  owned(session) session = push_session(service, &options);
  const int64_t start = clock_ms();
  while (book.of[APNS_LOG_KIND_CONNECTED] == 0) {
    assert_in_range(clock_ms() - start, 0, AMPLE_MS);
    apns_session_connect(session, NULL);
    apns_session_process(session, NULL);
  }
  apns_session_close(session, 1000, NULL);
  while (apns_session_process(session, NULL) != APNS_DONE)
    assert_in_range(clock_ms() - start, 0, AMPLE_MS);
  assert_int_equal(book.of[APNS_LOG_KIND_CLOSED], 1);
}

void after_all(void) { free(book.text); }
