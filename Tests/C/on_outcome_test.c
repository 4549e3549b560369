/* Outcomes that come by the option on_outcome. */
#include "looping.h"
#include "pushing.h"

enum { MANY = 2000 };

/* What came: how often for the n-th, the last kind of each, and how many in all. `freed` counts
   user_data that the session freed. */
static struct {
  unsigned char times[MANY + 1], kinds[MANY + 1], freed[MANY + 1];
  size_t count;
  apns_event_t last;
} came;
static const void *first_data; /* of notification(0) */
static apns_session_t *the_session;
static apns_status_t refusals[8];
static char refusal_text[sizeof error.message];

void before_each(void) {
  memset(&came, 0, sizeof came);
  the_session = NULL;
  first_data = notification(0)->user_data;
}

static size_t index_of(const void *user_data) {
  const size_t n = (size_t)user_data - (size_t)first_data;
  assert_in_range(n, 0, MANY);
  return n;
}

static void note_free(void *user_data) { came.freed[index_of(user_data)]++; }

static void hear(const apns_event_t *event, void *context) {
  assert_ptr_equal(context, &came);
  assert_int_equal(event->size, sizeof *event);
  const size_t n = index_of(event->user_data);
  came.times[n]++, came.count++;
  came.kinds[n] = (unsigned char)event->kind;
  came.last = *event;
}

static apns_session_options_t heard(apns_session_options_t options) {
  options.on_outcome = hear;
  options.outcome_context = &came;
  options.user_data_free = note_free;
  tuning_of(&options)->reconnect_pause_max_ms = 1;
  return options;
}

/* Each of them came once, and nothing else came or waits. */
static void assert_came(apns_session_t *session, size_t from, size_t to) {
  assert_int_equal(came.count, to - from);
  for (size_t n = from; n < to; n++) {
    assert_int_equal(came.times[n], 1);
    assert_int_equal(came.freed[n], 0);
  }
  if (session) assert_no_event(session);
  if (session) assert_int_equal(stats_of(session).events, 0);
}

static service_reply_t judge_some(void *context, const service_push_t *push) {
  (void)context;
  const service_reply_t bad = {.status = 400, .body = "{\"reason\":\"BadDeviceToken\"}"};
  return number_of(push) % 3 ? (service_reply_t){0} : bad;
}

/* Sends many more than fit into the window, each with an outcome to take. */
static void send_all(apns_session_t *session, size_t count, bool waits) {
  for (size_t n = 0; n < count; n++) {
    const apns_notification_t *push = notification(n);
    assert_ok(waits ? apns_session_send(session, push, n % 8 ? APNS_SEND_MORE : 0, NULL, &error)
                    : send_turning(session, push, 0));
  }
  if (waits) return drain(session);
  until_done(session, apns_session_drain(session, 0, NULL, &error));
}

TEST(each_outcome_comes_once) {
  for (int waits = 0; waits < 2; waits++) {
    memset(&came, 0, sizeof came);
    service_t *service = service_judging(judge_some, NULL);
    apns_session_options_t options = heard(push_options(service));
    options.outcomes = APNS_OUTCOMES_EACH;
    options.window_bytes = 16 << 10;
    tuning_of(&options)->payload_max = 512;
    options.peer.nonblocking = !waits;
    apns_session_t *session = push_session(service, &options);
    send_all(session, MANY, waits);
    assert_came(session, 0, MANY);
    for (size_t n = 0; n < MANY; n++)
      assert_int_equal(came.kinds[n], n % 3 ? APNS_EVENT_ACCEPTED : APNS_EVENT_REJECTED);
    assert_int_equal(stats_of(session).forgotten, 0);
    push_end(session, service);
    assert_came(NULL, 0, MANY);
  }
}

TEST(one_call_that_sends_many_waits_for_no_taker) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = heard(push_options(service));
  options.outcomes = APNS_OUTCOMES_EACH;
  options.window_bytes = 16 << 10;
  tuning_of(&options)->payload_max = 512;
  owned(session) session = push_session(service, &options);
  send_and_drain(session, 0, MANY);
  assert_came(session, 0, MANY);
}

TEST(next_event_waits_for_outcomes_and_returns_none) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = heard(push_options(service));
  owned(session) session = push_session(service, &options);
  apns_event_t event = APNS_EVENT_INIT;
  for (size_t n = 0; n < 3; n++) {
    assert_ok(apns_session_send(session, notification(n), APNS_SEND_MORE, NULL, &error));
    const int64_t start = clock_ms();
    while (came.count == n)
      assert_status(APNS_DONE, apns_session_next_event(session, &event, AMPLE_MS, &error));
    assert_true(clock_ms() - start < AMPLE_MS);
  }
  assert_came(session, 0, 3);
  assert_int_equal(event.kind, 0);
}

TEST(a_push_returns_its_own_and_the_others_come) {
  service_t *service = service_judging(judge_some, NULL);
  apns_session_options_t options = heard(push_options(service));
  apns_session_t *session = push_session(service, &options);
  apns_event_t event = APNS_EVENT_INIT;
  send_range(session, 0, 10);
  assert_ok(apns_session_push(session, notification(10), AMPLE_MS, &event, &error));
  assert_int_equal(event.kind, APNS_EVENT_ACCEPTED);
  assert_int_equal(index_of(event.user_data), 10);
  drain(session);
  assert_came(session, 0, 10);
  push_end(session, service);
  assert_int_equal(came.freed[10], 0);
}

TEST(accepted_ones_that_are_not_reported_do_not_come) {
  service_t *service = service_judging(judge_some, NULL);
  apns_session_options_t options = heard(push_options(service));
  options.outcomes = APNS_OUTCOMES_FAILURES;
  apns_session_t *session = push_session(service, &options);
  send_all(session, 9, true);
  push_end(session, service);
  assert_int_equal(came.count, 3);
  for (size_t n = 0; n < 9; n++) assert_int_equal(came.times[n] + 2 * came.freed[n], n % 3 ? 2 : 1);
}

TEST(what_is_cancelled_comes_within_that_call) {
  owned(service) service = service_start(NULL);
  for (int waits = 0; waits < 2; waits++) {
    memset(&came, 0, sizeof came);
    apns_session_options_t options = heard(push_options(service));
    options.peer.nonblocking = !waits;
    owned(session) session = push_session(service, &options);
    size_t cancelled = 0;
    hold_range(session, 0, 5);
    assert_ok(apns_session_cancel(session, 0, &cancelled, &error));
    assert_int_equal(cancelled, 5);
    assert_came(session, 0, 5);
    assert_int_equal(came.last.kind, APNS_EVENT_CANCELLED);
  }
}

TEST(a_close_tells_what_is_unknown) {
  owned(service) service = service_replying(.action = SERVE_SILENCE);
  apns_session_options_t options = heard(push_options(service));
  owned(session) session = push_session(service, &options);
  send_range(session, 0, 5);
  assert_int_equal(came.count, 0);
  assert_ok(apns_session_close(session, 0, &error));
  assert_came(session, 0, 5);
  assert_int_equal(came.last.kind, APNS_EVENT_UNKNOWN);
  assert_contains(came.last.reason_text, "the session was closed");
}

TEST(a_freed_session_frees_what_has_no_outcome) {
  service_t *service = service_replying(.action = SERVE_SILENCE);
  apns_session_options_t options = heard(push_options(service));
  apns_session_t *session = push_session(service, &options);
  send_range(session, 0, 5);
  push_end(session, service);
  assert_int_equal(came.count, 0);
  for (size_t n = 0; n < 5; n++) assert_int_equal(came.freed[n], 1);
}

TEST(a_freed_session_with_time_tells_what_it_finds) {
  owned(service) service = service_start(NULL);
  for (int waits = 0; waits < 2; waits++) {
    memset(&came, 0, sizeof came);
    apns_session_options_t options = heard(push_options(service));
    options.close_timeout_ms = AMPLE_MS;
    options.peer.nonblocking = !waits;
    apns_session_t *session = push_session(service, &options);
    hold_range(session, 0, 5);
    apns_session_free(session);
    assert_came(NULL, 0, 5);
    assert_int_equal(came.last.kind, APNS_EVENT_ACCEPTED);
  }
}

/* ---- Calls from it ------------------------------------------------------------------ */

static void call_back(const apns_event_t *event, void *context) {
  apns_event_t other = APNS_EVENT_INIT;
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  size_t n = 0;
  refusals[n++] = apns_session_send(the_session, &push, 0, NULL, &error);
  memcpy(refusal_text, error.message, sizeof refusal_text);
  refusals[n++] = apns_session_next_event(the_session, &other, 0, NULL);
  refusals[n++] = apns_session_push(the_session, &push, 0, &other, NULL);
  refusals[n++] = apns_session_drain(the_session, 0, NULL, NULL);
  refusals[n++] = apns_session_cancel(the_session, 0, NULL, NULL);
  refusals[n++] = apns_session_close(the_session, 0, NULL);
  refusals[n++] = apns_session_stats(the_session, &stats, NULL);
  refusals[n++] = apns_session_process(the_session, NULL);
  apns_session_free(the_session);
  hear(event, context);
}

static void check_refusals(void) {
  for (size_t n = 0; n < sizeof refusals / sizeof *refusals; n++)
    assert_int_equal(refusals[n], APNS_ERR_ARGUMENT);
  assert_string_equal(refusal_text, "called from a callback of the same session");
}

TEST(calling_the_session_back_is_refused_and_loses_nothing) {
  for (int waits = 0; waits < 2; waits++) {
    memset(&came, 0, sizeof came);
    memset(refusals, 0, sizeof refusals);
    owned(service) service = service_judging(judge_some, NULL);
    apns_session_options_t options = heard(push_options(service));
    options.on_outcome = call_back;
    options.peer.nonblocking = !waits;
    the_session = push_session(service, &options);
    send_all(the_session, 30, waits);
    check_refusals();
    assert_came(the_session, 0, 30);
    assert_counts(the_session, 30, 20, 10, 0, 0);
    apns_session_free(the_session);
  }
}

/* ---- The binary interface ----------------------------------------------------------- */

static const gateway_step_t bad[] = {TAKE_SENTINEL, NAME_NTH(8, 0), END};
static const gateway_step_t polite[] = {TAKE_SENTINEL, NAME_LAST(2), END};

TEST(binary_outcomes_come_in_order) {
  for (int waits = 0; waits < 2; waits++) {
    memset(&came, 0, sizeof came);
    owned(gateway) gateway = gateway_start(NULL, SCRIPTS(bad, polite, polite));
    apns_session_options_t options = heard(options_for(gateway));
    options.on_outcome = call_back;
    options.outcomes = APNS_OUTCOMES_EACH;
    options.peer.nonblocking = !waits;
    the_session = session_to(gateway, &options);
    send_all(the_session, 100, waits);
    check_refusals();
    assert_came(the_session, 0, 100);
    assert_int_equal(came.kinds[0], APNS_EVENT_REJECTED);
    for (size_t n = 1; n < 100; n++) assert_int_equal(came.kinds[n], APNS_EVENT_ACCEPTED);
    assert_int_equal(index_of(came.last.user_data), 99);
    apns_session_free(the_session);
  }
}

TEST(binary_pushes_and_closes) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(polite));
  apns_session_options_t options = heard(options_for(gateway));
  options.outcomes = APNS_OUTCOMES_ALL;
  owned(session) session = session_to(gateway, &options);
  apns_event_t event = APNS_EVENT_INIT;
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  assert_ok(apns_session_push(session, notification(1), AMPLE_MS, &event, &error));
  assert_int_equal(event.kind, APNS_EVENT_ACCEPTED);
  assert_int_equal(index_of(event.user_data), 1);
  assert_came(session, 0, 1);
  assert_ok(apns_session_send(session, notification(1), APNS_SEND_MORE, NULL, &error));
  assert_ok(apns_session_close(session, 0, &error));
  assert_came(session, 0, 2);
}
