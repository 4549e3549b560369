/* Sessions over HTTP/2, against the test's own service: every notification gets its outcome there
   too, no matter how the service behaves. */
#include <openssl/pem.h>
#include <semaphore.h>
#include <stdio.h>
#include <time.h>

#include "clock.h"
#include "keychain.h"
#include "pushing.h"

/* ---- What the tests share ------------------------------------------------- */

/* How each of `count` notifications ended; exactly once. */
typedef struct ends {
  size_t accepted, rejected, unknown;
  unsigned char *of; /* the kind, for each; until the next take_ends() */
} ends_t;

static ends_t take_ends(apns_session_t *session, size_t count) {
  static unsigned char of[20000];
  ends_t ends = {.of = memset(of, 0, sizeof of)};
  assert_true(count <= sizeof of);
  apns_event_t event = APNS_EVENT_INIT;
  while (apns_session_next_event(session, &event, 0, &error) == APNS_OK) {
    size_t n = (size_t)(uintptr_t)event.user_data - 1;
    assert_true(n < count);
    assert_int_equal(ends.of[n], 0);
    ends.of[n] = (unsigned char)event.kind;
    if (event.kind == APNS_EVENT_ACCEPTED) ends.accepted++;
    if (event.kind == APNS_EVENT_REJECTED) ends.rejected++;
    if (event.kind == APNS_EVENT_UNKNOWN) ends.unknown++;
  }
  assert_int_equal(ends.accepted + ends.rejected + ends.unknown, count);
  return ends;
}

/* The duplicates that the service received; fails if an accepted notification never arrived. */
static size_t duplicates(const service_t *service, size_t count, const ends_t *ends) {
  unsigned *times = calloc(count, sizeof *times);
  size_t twice = 0;
  for (size_t index = 0; index < service_count(service); index++) {
    size_t n = number_of(service_push(service, index));
    assert_true(n < count);
    if (times[n]++) twice++;
  }
  for (size_t n = 0; n < count; n++)
    if (ends->of[n] == APNS_EVENT_ACCEPTED) assert_true(times[n] > 0);
  free(times);
  return twice;
}

/* ---- The good days ---------------------------------------------------------- */

TEST(it_is_a_feature_of_the_build) {
  const uint32_t others = APNS_FEATURE_CARES | APNS_FEATURE_BINARY;
  assert_int_equal(apns_features() & ~others, APNS_FEATURE_HTTP2);
}

/* With nothing in flight no event can come, and a wait for it would be in vain. */
TEST(an_event_is_not_waited_for_where_none_can_come) {
  owned(service) service = service_start(NULL);
  owned(session) session = push_session(service, NULL);
  apns_event_t event = APNS_EVENT_INIT;
  int64_t start = clock_ms();
  assert_status(APNS_DONE, apns_session_next_event(session, &event, APNS_TIMEOUT_DEFAULT, &error));
  assert_within(start, 0);
  send_range(session, 0, 1);
  assert_ok(apns_session_next_event(session, &event, APNS_TIMEOUT_DEFAULT, &error));
  start = clock_ms();
  assert_status(APNS_DONE, apns_session_next_event(session, &event, APNS_TIMEOUT_DEFAULT, &error));
  assert_within(start, 0);
}

TEST(a_request_says_what_the_notification_says) {
  owned(service) service = service_start(NULL);
  apns_session_t *session = push_session(service, NULL);
  uint32_t identifier = 0;
  assert_ok(apns_session_send(session, notification(7), 0, &identifier, &error));
  drain(session);
  apns_event_t event = one_event(session);
  assert_int_equal(event.kind, APNS_EVENT_ACCEPTED);
  assert_int_equal(event.identifier, identifier);
  assert_int_equal(event.http_status, 200);
  assert_string_equal(event.apns_id, "5e2a60c0-0000-4000-8000-000000000000");
  assert_int_equal(event.reason, 0);
  push_stop(session, service);
  assert_int_equal(service_count(service), 1);
  const service_push_t *push = service_push(service, 0);
  assert_int_equal(strlen(push->path), strlen("/3/device/") + 64);
  assert_int_equal(number_of(push), 7);
  char authority[32];
  snprintf(authority, sizeof authority, "localhost:%d", service_port(service));
  assert_string_equal(push->authority, authority);
  assert_string_equal(push->topic, "com.example.chess");
  assert_string_equal(push->push_type, "alert");
  assert_string_equal(push->id, "");
  assert_string_equal(push->collapse_id, "");
  assert_string_equal(push->expiration, "");
  assert_string_equal(push->priority, "");
  assert_string_equal(push->authorization, "");
  assert_int_equal(push->payload_length, notification(7)->payload_length);
  assert_memory_equal(push->payload, notification(7)->payload, push->payload_length);
}

static void check_many(const service_options_t *options, size_t count, uint32_t connections,
                       uint32_t window_bytes) {
  owned(service) service = service_start(options);
  apns_session_t *session = push_session_where(service, options.connections = connections,
                                               options.window_bytes = window_bytes,
                                               options.outcomes = APNS_OUTCOMES_FAILURES);
  send_and_drain(session, 0, count);
  assert_counts(session, count, count, 0, 0, 0);
  assert_int_equal(stats_of(session).resent, 0);
  assert_int_equal(stats_of(session).window, 0);
  push_stop(session, service);
  assert_int_equal(service_count(service), count);
  const size_t streams = options && options->streams ? options->streams : 1000;
  assert_in_range(service_most_streams(service), 1, streams);
}

TEST(many_are_answered) { check_many(NULL, as_many_as(20000, 2000), 0, 0); }

TEST(many_with_answers_that_trickle) {
  const service_options_t options = {.trickles = true};
  check_many(&options, as_many_as(5000, 500), 0, 0);
}

static service_reply_t post_each(void *context, const service_push_t *push) {
  (void)push;
  sem_post(context);
  return (service_reply_t){0};
}

/* Notifications that count as in flight have been written, even if the caller announces more, and
   then makes no call for long. */
TEST(what_is_in_flight_was_written) {
  sem_t arrived;
  assert_int_equal(sem_init(&arrived, 0, 0), 0);
  service_t *service = service_start(&(service_options_t){.judge = post_each, .context = &arrived});
  apns_session_t *session = push_session(service, NULL);
  send_and_drain(session, 0, 1);
  hold_range(session, 1, 600);
  const apns_session_stats_t stats = stats_of(session);
  const uint64_t begun = stats.accepted + stats.in_flight;
  assert_in_range(begun, 50, 600);
  struct timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += AMPLE_MS / 1000;
  for (uint64_t n = 0; n < begun; n++)
    if (sem_timedwait(&arrived, &deadline)) fail_msg("%d of %d arrived", (int)n, (int)begun);
  drain(session);
  assert_counts(session, 600, 600, 0, 0, 0);
  push_end(session, service);
  sem_destroy(&arrived);
}

TEST(many_times_the_smallest_outbox) { check_many(NULL, as_many_as(3000, 600), 0, 32768); }

TEST(few_streams_are_kept_to) {
  for (uint32_t streams = 1; streams < 5; streams += 3) {
    const service_options_t options = {.streams = streams};
    check_many(&options, as_many_as(1000, 100), 0, 0);
  }
}

TEST(small_windows_are_kept_to) {
  const service_options_t options = {.stream_window = 7};
  check_many(&options, as_many_as(1000, 100), 0, 0);
}

TEST(more_connections_where_streams_are_few) {
  const service_options_t options = {.streams = 2};
  owned(service) service = service_start(&options);
  apns_session_t *session = push_session_where(service, options.connections = 4);
  send_and_drain(session, 0, 400);
  assert_counts(session, 400, 400, 0, 0, 0);
  push_stop(session, service);
  assert_in_range(service_connections(service), 2, 4);
  assert_in_range(service_most_streams(service), 1, 2);
}

/* If a connection's window has no room, the notification uses another connection with room. */
TEST(more_connections_where_the_window_is_shut) {
  const service_options_t options = {.shuts_first_window = true};
  owned(service) service = service_start(&options);
  apns_session_t *session = push_session_where(service, options.connections = 4,
                                               options.outcomes = APNS_OUTCOMES_FAILURES);
  const size_t count = 3 * 65535 / notification(0)->payload_length;
  send_and_drain(session, 0, count);
  assert_counts(session, count, count, 0, 0, 0);
  assert_int_equal(stats_of(session).resent, 0);
  push_stop(session, service);
  assert_in_range(service_connections(service), 2, 4);
  size_t first = 0;
  for (size_t n = 0; n < service_count(service); n++)
    if (service_push(service, n)->connection == 0)
      first += service_push(service, n)->payload_length;
  assert_in_range(first, 60000, 65535);
}

/* A payload goes in two parts if the service waits for the rest of a flow-control window first. */
TEST(a_window_is_used_to_its_end) {
  for (uint32_t connections = 1; connections < 4; connections += 2) {
    const service_options_t options = {.gives_credit_late = true};
    check_many(&options, 10 * 65535 / notification(0)->payload_length, connections, 0);
  }
}

TEST(one_connection_where_it_will_do) {
  owned(service) service = service_start(NULL);
  apns_session_t *session = push_session_where(service, options.connections = 4);
  for (size_t n = 0; n < 50; n++) send_and_drain(session, n, n + 1);
  push_stop(session, service);
  assert_int_equal(service_connections(service), 1);
}

/* ---- Answers ------------------------------------------------------------------ */

typedef struct verdict {
  size_t every; /* one of this many, or 0: none */
  service_reply_t reply;
  size_t times; /* at most this often for each; 0: always */
  size_t *given;
} verdict_t;

static service_reply_t judge_by_number(void *context, const service_push_t *push) {
  const verdict_t *verdict = context;
  const service_reply_t fine = {0};
  const size_t n = number_of(push);
  if (!verdict->every || n % verdict->every) return fine;
  if (verdict->times && verdict->given[n]++ >= verdict->times) return fine;
  return verdict->reply;
}

/* The outcome of the notification for one response. */
static apns_event_t event_for(int status, const char *body) {
  verdict_t verdict = {.every = 1, .reply = {.status = status, .body = body}};
  owned(service) service = service_judging(judge_by_number, &verdict);
  owned(session) session = push_session(service, NULL);
  send_and_drain(session, 0, 1);
  return one_event(session);
}

TEST(rejections_say_why) {
  apns_event_t event = event_for(400, "{\"reason\":\"BadDeviceToken\"}");
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  assert_int_equal(event.reject, APNS_REJECT_INVALID_TOKEN);
  assert_int_equal(event.reason, APNS_REASON_BAD_DEVICE_TOKEN);
  assert_int_equal(event.http_status, 400);
  assert_string_equal(event.reason_text, "BadDeviceToken");
  assert_int_equal(strlen(event.apns_id), 36);

  event = event_for(410, "{\"reason\":\"Unregistered\",\"timestamp\":1454948015990}");
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  assert_int_equal(event.reject, APNS_REJECT_NONE);
  assert_int_equal(event.reason, APNS_REASON_UNREGISTERED);
  assert_int_equal(event.timestamp, 1454948015);

  event = event_for(403, "{\"reason\":\"NewFangledReason\"}");
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  assert_int_equal(event.reject, APNS_REJECT_UNKNOWN);
  assert_int_equal(event.reason, APNS_REASON_OTHER);
  assert_string_equal(event.reason_text, "NewFangledReason");

  event = event_for(418, NULL);
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  assert_int_equal(event.reason, APNS_REASON_OTHER);
  assert_int_equal(event.http_status, 418);
  assert_string_equal(event.reason_text, "");

  event = event_for(400, "<html>not what was agreed</html>");
  assert_int_equal(event.reason, APNS_REASON_OTHER);
}

TEST(rejections_among_many) {
  verdict_t verdict = {.every = 7,
                       .reply = {.status = 400, .body = "{\"reason\":\"BadDeviceToken\"}"}};
  owned(service) service = service_judging(judge_by_number, &verdict);
  apns_session_t *session = push_session(service, NULL);
  const size_t count = as_many_as(2000, 400);
  send_and_drain(session, 0, count);
  ends_t ends = take_ends(session, count);
  for (size_t n = 0; n < count; n++)
    assert_int_equal(ends.of[n], n % 7 ? APNS_EVENT_ACCEPTED : APNS_EVENT_REJECTED);
  push_stop(session, service);
  assert_int_equal(duplicates(service, count, &ends), 0);
  assert_int_equal(service_connections(service), 1);
}

/* A response that asks for a retry gets one, and only one notification waits for it. */
TEST(what_may_be_tried_again_is) {
  static const struct {
    int status;
    const char *body;
  } cases[] = {{429, "{\"reason\":\"TooManyRequests\"}"},
               {500, "{\"reason\":\"InternalServerError\"}"},
               {503, "{\"reason\":\"ServiceUnavailable\"}"},
               {503, "{\"reason\":\"Shutdown\"}"},
               {502, "<html>a proxy's</html>"}};
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    size_t given[20] = {0};
    verdict_t verdict = {.every = 10,
                         .times = 1,
                         .given = given,
                         .reply = {.status = cases[index].status, .body = cases[index].body}};
    owned(service) service = service_judging(judge_by_number, &verdict);
    apns_session_t *session = push_session(service, NULL);
    send_and_drain(session, 0, 20);
    ends_t ends = take_ends(session, 20);
    assert_int_equal(ends.accepted, 20);
    assert_int_equal(stats_of(session).resent, 2);
    push_stop(session, service);
    assert_int_equal(service_count(service), 22);
  }
}

/* ---- Ends ---------------------------------------------------------------------- */

typedef struct ending {
  service_action_t action;
  size_t every;
  uint32_t error;
  uint32_t settings;
  size_t seen;
} ending_t;

static service_reply_t judge_by_count(void *context, const service_push_t *push) {
  (void)push;
  ending_t *ending = context;
  service_reply_t reply = {0};
  if (++ending->seen % ending->every == 0) {
    reply.action = ending->action;
    reply.error = ending->error;
    reply.settings = ending->settings;
  }
  return reply;
}

/* A load through a service that disturbs it at intervals: the notifications that end as unknown,
   and those that come twice. */
TEST(each_disturbance_leaves_what_it_may) {
  const size_t rarely = as_many_as(1500, 150), many = as_many_as(20000, 900);
  const size_t ends = (many + rarely - 1) / rarely;
  const int at_most_once = APNS_DELIVERY_AT_MOST_ONCE;
  const struct {
    const char *name;
    service_action_t action;
    uint32_t error, settings;
    size_t every, count;
    int delivery;
    bool may_come_twice;
    size_t least_unknown, most_unknown, connections; /* 0: any */
  } rows[] = {
      {"GOAWAY", SERVE_GOODBYE, 0, 0, rarely, many, 0, false, 0, 0, ends},
      {"GOAWAY and drop", SERVE_GOODBYE_AND_DROP, 0, 0, rarely, many, 0, false, 0, 0, 0},
      {"drop, at least once", SERVE_DROP, 0, 0, rarely, many, APNS_DELIVERY_AT_LEAST_ONCE, true, 0,
       0, 0},
      {"drop, at most once", SERVE_DROP, 0, 0, rarely, many, at_most_once, false, 1, many, 0},
      {"REFUSED_STREAM", SERVE_RESET, 7, 0, 10, 1000, at_most_once, true, 0, 0, 0},
      {"INTERNAL_ERROR", SERVE_RESET, 2, 0, 10, 1000, at_most_once, false, 100, 100, 0},
      {"one stream", SERVE_ANSWER, 0, 1, 100, 1000, 0, false, 0, 0, 0},
  };
  for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
    ending_t ending = {.action = rows[index].action,
                       .every = rows[index].every,
                       .error = rows[index].error,
                       .settings = rows[index].settings};
    owned(service) service = service_judging(judge_by_count, &ending);
    /* The window is for all outcomes at once. */
    apns_session_t *session =
        push_session_where(service, options.delivery = rows[index].delivery,
                           tuning->reconnect_pause_max_ms = 50, options.window_bytes = 32 << 20);
    send_and_drain(session, 0, rows[index].count);
    const ends_t ends = take_ends(session, rows[index].count);
    push_stop(session, service);
    const size_t twice = duplicates(service, rows[index].count, &ends);
    if (ends.rejected || ends.unknown < rows[index].least_unknown ||
        ends.unknown > rows[index].most_unknown || (twice && !rows[index].may_come_twice))
      fail_msg("%s: %zu rejected, %zu unknown, %zu twice", rows[index].name, ends.rejected,
               ends.unknown, twice);
    if (rows[index].connections)
      assert_int_equal(service_connections(service), rows[index].connections);
  }
}

/* Refuses it the first time, and goes away with it the second. */
static service_reply_t judge_twice(void *context, const service_push_t *push) {
  size_t *seen = context;
  (void)push;
  service_reply_t reply = {.action = (*seen)++ ? SERVE_DROP : SERVE_RESET, .error = 7};
  return reply;
}

TEST(one_that_was_refused_before_is_in_doubt_like_any_other) {
  size_t seen = 0;
  owned(service) service = service_judging(judge_twice, &seen);
  apns_session_t *session =
      push_session_where(service, options.delivery = APNS_DELIVERY_AT_MOST_ONCE);
  send_and_drain(session, 0, 1);
  ends_t ends = take_ends(session, 1);
  assert_int_equal(ends.unknown, 1);
  push_stop(session, service);
  assert_int_equal(service_count(service), 2);
}

/* The outcomes if every tenth of 300 has its streams reset `times` times, and the others a
 * response. */
static ends_t reset_each(size_t times, size_t resent) {
  size_t given[300] = {0};
  verdict_t verdict = {.every = 10,
                       .times = times,
                       .given = given,
                       .reply = {.action = SERVE_RESET, .error = 2 /* INTERNAL_ERROR */}};
  owned(service) service = service_judging(judge_by_number, &verdict);
  owned(session) session =
      push_session_where(service, options.delivery = APNS_DELIVERY_AT_LEAST_ONCE);
  send_and_drain(session, 0, 300);
  ends_t ends = take_ends(session, 300);
  assert_int_equal(stats_of(session).resent, resent);
  return ends;
}

TEST(streams_that_are_reset_are_sent_again_four_times) {
  ends_t ends = reset_each(4, 4 * 30);
  assert_int_equal(ends.accepted, 300);
  ends = reset_each(5, 4 * 30);
  assert_int_equal(ends.accepted, 270);
  assert_int_equal(ends.unknown, 30);
}

/* Allows one stream from the first answer on, and never answers the second notification. */
static service_reply_t judge_narrowly(void *context, const service_push_t *push) {
  (void)context;
  service_reply_t reply = {0};
  if (number_of(push) == 0) reply.settings = 1;
  if (number_of(push) == 1) reply.action = SERVE_SILENCE;
  return reply;
}

/* A notification without a response holds the only stream, so the others use another connection. */
TEST(fewer_streams_are_obeyed_at_once) {
  enum { COUNT = 20 };
  owned(service) service = service_judging(judge_narrowly, NULL);
  apns_session_t *session = push_session_where(service, options.connections = 2);
  apns_event_t event = APNS_EVENT_INIT;
  send_and_drain(session, 0, 1);
  send_range(session, 1, COUNT);
  for (size_t n = 0; n < COUNT - 1; n++) {
    assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
    assert_int_equal(event.kind, APNS_EVENT_ACCEPTED);
  }
  assert_int_equal(stats_of(session).in_flight, 1);
  push_stop(session, service);
  assert_int_equal(service_connections(service), 2);
  assert_int_equal(service_streams_too_many(service), 0);
  assert_int_equal(service_count(service), COUNT);
  for (size_t index = 0; index < COUNT; index++) {
    const service_push_t *push = service_push(service, index);
    assert_int_equal(push->connection, number_of(push) > 1);
  }
}

/* From the acknowledgement on there is never a stream too many: streams on their way before it were
   refused, and are resent. */
TEST(fewer_streams_under_load) {
  ending_t ending = {.action = SERVE_ANSWER, .every = 300, .settings = 1};
  owned(service) service = service_judging(judge_by_count, &ending);
  apns_session_t *session = push_session_where(service, options.connections = 3,
                                               options.outcomes = APNS_OUTCOMES_FAILURES);
  const size_t count = as_many_as(6000, 1200);
  send_and_drain(session, 0, count);
  assert_counts(session, count, count, 0, 0, 0);
  push_stop(session, service);
  assert_int_equal(service_streams_too_many(service), 0);
  assert_in_range(service_most_streams(service), 2, 1000);
  /* One more for each whose only stream a busy machine leaves without a response for 0.25 s. */
  assert_in_range(service_connections(service), 2, 6);
}

/* As nginx does: the response before the body, and then the stream reset. */
TEST(answers_before_the_body_count_once) {
  owned(service) service = service_start(&(service_options_t){.answers_early = true});
  apns_session_t *session = push_session(service, NULL);
  send_and_drain(session, 0, 300);
  ends_t ends = take_ends(session, 300);
  assert_int_equal(ends.accepted, 300);
  /* If the end of a TLS record separates the body from its header fields, one is resent. */
  const uint64_t resent = stats_of(session).resent;
  push_stop(session, service);
  assert_int_equal(service_count(service), 300 + resent);
}

/* A notification with a window of one byte cannot have arrived whole. The session does not believe
   a service that accepts it all the same, but does believe a rejection. */
static apns_session_stats_t answered_before_the_body(service_judge_t judge, verdict_t *verdict) {
  const service_options_t options = {
      .judge = judge, .context = verdict, .answers_early = true, .stream_window = 1};
  owned(service) service = service_start(&options);
  owned(session) session =
      push_session_where(service, options.delivery = APNS_DELIVERY_AT_MOST_ONCE);
  send_and_drain(session, 0, 20);
  return stats_of(session);
}

TEST(acceptance_before_the_body_is_in_doubt) {
  const apns_session_stats_t stats = answered_before_the_body(NULL, NULL);
  /* The first may be written before the service's SETTINGS arrive. */
  assert_in_range(stats.unknown, 19, 20);
  assert_int_equal(stats.accepted, 20 - stats.unknown);
}

TEST(refusal_before_the_body_counts) {
  verdict_t verdict = {.every = 1, .reply = {.status = 400}};
  assert_int_equal(answered_before_the_body(judge_by_number, &verdict).rejected, 20);
}

TEST(silence_ends_as_unknown) {
  verdict_t verdict = {.every = 5, .reply = {.action = SERVE_SILENCE}};
  owned(service) service = service_judging(judge_by_number, &verdict);
  owned(session) session =
      push_session_where(service, tuning->answer_timeout_ms = 1800000, options.deadline_ms = -1,
                         options.delivery = APNS_DELIVERY_AT_MOST_ONCE);
  send_range(session, 0, 20);
  /* The others have theirs before the clock is moved past the answers that never come. */
  for (size_t n = 0; n < 16; n++) assert_int_equal(next_event(session).kind, APNS_EVENT_ACCEPTED);
  clock_forward(1800001);
  drain(session);
  for (size_t n = 0; n < 4; n++) assert_int_equal(one_event(session).kind, APNS_EVENT_UNKNOWN);
  assert_counts(session, 20, 16, 0, 4, 0);
}

/* A connection that answers a PING loses the stream alone. */
TEST(a_silent_stream_ends_no_connection) {
  verdict_t verdict = {.every = 20, .reply = {.action = SERVE_SILENCE}};
  owned(service) service = service_judging(judge_by_number, &verdict);
  owned(session) session =
      push_session_where(service, tuning->answer_timeout_ms = 1800000, options.deadline_ms = -1,
                         options.delivery = APNS_DELIVERY_AT_MOST_ONCE);
  apns_session_metrics_t metrics = APNS_SESSION_METRICS_INIT;
  apns_event_t event = APNS_EVENT_INIT;
  /* The peer's SETTINGS have arrived when it has answered one. */
  send_and_drain(session, 1, 2);
  assert_int_equal(one_event(session).kind, APNS_EVENT_ACCEPTED);
  send_range(session, 0, 1);
  assert_ok(apns_session_flush(session, &error));
  metrics = metrics_of(session);
  clock_forward(900001);
  uint64_t before = metrics.bytes_read;
  for (int turn = 0; metrics.pings == 0 || metrics.bytes_read == before; turn++) {
    assert_true(turn < 2000);
    if (metrics.pings == 0) before = metrics.bytes_read;
    assert_status(APNS_DONE, apns_session_next_event(session, &event, 10, &error));
    metrics = metrics_of(session);
  }
  clock_forward(900001);
  drain(session);
  assert_int_equal(one_event(session).kind, APNS_EVENT_UNKNOWN);
  send_and_drain(session, 2, 20);
  assert_counts(session, 20, 19, 0, 1, 0);
  metrics = metrics_of(session);
  assert_int_equal(metrics.timeouts, 1);
  assert_int_equal(stats_of(session).connects, 1);
}

TEST(closing_hears_the_answers) {
  owned(service) service = service_start(NULL);
  owned(session) session = push_session(service, NULL);
  send_range(session, 0, 200);
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  ends_t ends = take_ends(session, 200);
  assert_int_equal(ends.accepted, 200);
  assert_status(APNS_ERR_CLOSED, apns_session_send(session, notification(0), 0, NULL, &error));
}

TEST(closing_names_what_has_no_answer) {
  verdict_t verdict = {.every = 5, .reply = {.action = SERVE_SILENCE}};
  owned(service) service = service_judging(judge_by_number, &verdict);
  owned(session) session = push_session(service, NULL);
  send_range(session, 0, 20);
  /* Until the others have theirs. */
  while (stats_of(session).accepted < 16) next_event(session);
  assert_ok(apns_session_close(session, 0, &error));
  assert_int_equal(stats_of(session).unknown, 4);
  assert_int_equal(stats_of(session).unresolved, 0);
}

/* ---- Provider tokens --------------------------------------------------------- */

static apns_session_t *token_session_for(const service_t *service, const char *topic) {
  BIO *memory = BIO_new(BIO_s_mem());
  owned(key) key = keychain_key(false);
  assert_true(key && PEM_write_bio_PKCS8PrivateKey(memory, key, NULL, NULL, 0, NULL, NULL));
  char *p8;
  long length = BIO_get_mem_data(memory, &p8);
  apns_credentials_options_t who = trusting();
  who.token_key_bytes = p8, who.token_key_length = (size_t)length;
  who.key_id = "ABC123DEFG", who.team_id = "DEF123GHIJ";
  owned(credentials) credentials = credentials_of(&who);
  BIO_free(memory);
  apns_session_options_t options = push_options(service);
  options.delivery = APNS_DELIVERY_AT_MOST_ONCE;
  options.topic = topic;
  return session_with(&options, credentials);
}

static apns_session_t *token_session(const service_t *service) {
  return token_session_for(service, push_options(service).topic);
}

typedef struct expiry {
  char refused[512]; /* the first token that was shown */
  bool is_hopeless;  /* and each one after it */
  size_t times;
} expiry_t;

static service_reply_t judge_tokens(void *context, const service_push_t *push) {
  expiry_t *expiry = context;
  service_reply_t reply = {0};
  if (!*expiry->refused) memcpy(expiry->refused, push->authorization, sizeof expiry->refused);
  if (expiry->is_hopeless || !strcmp(push->authorization, expiry->refused)) {
    reply.status = 403, reply.body = "{\"reason\":\"ExpiredProviderToken\"}";
    expiry->times++;
  }
  return reply;
}

TEST(requests_show_the_token) {
  owned(service) service = service_start(NULL);
  apns_session_t *session = token_session(service);
  send_and_drain(session, 0, 50);
  assert_counts(session, 50, 50, 0, 0, 0);
  push_stop(session, service);
  /* "bearer ", and the beginning of {"alg":"ES256" in base64. */
  assert_memory_equal(service_push(service, 0)->authorization, "bearer eyJ", 10);
  for (size_t n = 1; n < 50; n++)
    assert_string_equal(service_push(service, n)->authorization,
                        service_push(service, 0)->authorization);
}

/* A certificate names the app, a token does not. */
TEST(a_token_needs_a_topic) {
  owned(service) service = service_start(NULL);
  owned(session) session = token_session_for(service, NULL);
  apns_notification_t push = *notification(1);
  assert_says(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, NULL, &error),
              "there is no topic, and a provider token needs one");
  assert_int_equal(error.reject, APNS_REJECT_MISSING_TOPIC);
  push.topic = "com.example.chess";
  assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  drain(session);
}

/* The session resends notifications that were rejected for the old token with the new one, and the
 * caller notices nothing. */
TEST(an_expired_token_is_replaced) {
  expiry_t expiry = {.times = 0};
  owned(service) service = service_judging(judge_tokens, &expiry);
  apns_session_t *session = token_session(service);
  send_and_drain(session, 0, 50);
  assert_counts(session, 50, 50, 0, 0, 0);
  assert_int_equal(stats_of(session).resent, expiry.times);
  push_stop(session, service);
  /* More than one only if the service took long for its first response. */
  assert_in_range(expiry.times, 1, 50);
}

/* The others of `count` are accepted while the first still waits for its answer. */
static void others_go_on(apns_session_t *session, size_t count, uint64_t connections) {
  send_range(session, 0, count);
  for (size_t n = 1; n < count; n++)
    assert_int_equal(next_event(session).kind, APNS_EVENT_ACCEPTED);
  apns_session_metrics_t metrics = metrics_of(session);
  assert_int_equal(metrics.timeouts, 0);
  assert_int_equal(stats_of(session).in_flight, 1);
  assert_int_equal(stats_of(session).connects, connections);
}

/* One stream until a token's first answer is the rule; but this one never comes. */
TEST(the_first_with_a_token_is_never_answered) {
  service_reply_t silence = {.action = SERVE_SILENCE};
  owned(service) service = service_judging(judge_first, &silence);
  owned(session) session = token_session(service);
  others_go_on(session, 100, 1);
}

/* The service allows no other stream next to it, so they get their own connection. */
TEST(the_only_stream_is_never_answered) {
  service_reply_t silence = {.action = SERVE_SILENCE};
  owned(service) service =
      service_start(&(service_options_t){.judge = judge_first, .context = &silence, .streams = 1});
  apns_session_t *session = push_session(service, NULL);
  others_go_on(session, 20, 2);
  push_stop(session, service);
  assert_int_equal(service_streams_too_many(service), 0);
}

TEST(a_token_that_never_does_is_a_rejection) {
  expiry_t expiry = {.is_hopeless = true};
  owned(service) service = service_judging(judge_tokens, &expiry);
  owned(session) session = token_session(service);
  send_and_drain(session, 0, 3);
  for (size_t n = 0; n < 3; n++) {
    apns_event_t event = one_event(session);
    assert_int_equal(event.kind, APNS_EVENT_REJECTED);
    assert_int_equal(event.reject, APNS_REJECT_SHUTDOWN);
    assert_int_equal(event.reason, APNS_REASON_EXPIRED_PROVIDER_TOKEN);
  }
}

/* ---- Answers that APNs does not give ---------------------------------------------- */

/* If the service had accepted it, a resend would arrive twice. */
TEST(another_2xx_is_neither_a_rejection_nor_sent_again) {
  static const int statuses[] = {201, 202, 204, 299};
  for (size_t index = 0; index < sizeof statuses / sizeof *statuses; index++) {
    owned(service) service = service_replying(.status = statuses[index]);
    apns_session_t *session = push_session(service, NULL);
    send_and_drain(session, 0, 1);
    apns_event_t event = one_event(session);
    assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
    assert_int_equal(event.http_status, statuses[index]);
    assert_int_equal(event.reason, APNS_REASON_NONE);
    assert_int_equal(event.retry_after_s, 0);
    assert_counts(session, 1, 0, 0, 1, 0);
    push_stop(session, service);
    assert_int_equal(service_count(service), 1);
  }
}

TEST(a_1xx_has_fields_of_its_own) {
  static const char *const fields[] = {
      ":status", "103", "content-length", "7", "link", "</a>", NULL,
      ":status", "200", "content-length", "0", NULL,   NULL};
  owned(service) service = service_replying(.fields = fields);
  owned(session) session = push_session(service, NULL);
  send_and_drain(session, 0, 3);
  assert_counts(session, 3, 3, 0, 0, 0);
}

/* ---- What cannot be -------------------------------------------------------------- */

TEST(a_peer_without_http2_is_named) {
  owned(service) service = service_start(&(service_options_t){.speaks_no_http2 = true});
  owned(session) session = push_session(service, NULL);
  assert_fails(APNS_ERR_PROTOCOL, apns_session_connect(session, &error),
               "the service does not speak HTTP/2: localhost:");
}

TEST(a_peer_that_chooses_another_protocol_is_named) {
  owned(service) service = service_start(&(service_options_t){.chooses = "http/1.1"});
  owned(session) session = push_session(service, NULL);
  assert_caused(APNS_ERR_PROTOCOL, apns_session_connect(session, &error), APNS_CAUSE_NO_HTTP2);
  assert_contains(error.message, "the service does not speak HTTP/2 but http/1.1: localhost:");
}
