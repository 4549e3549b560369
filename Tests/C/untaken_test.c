/* Untaken outcomes, and their user_data. */
#include "pushing.h"

enum { MANY = 5000 };

/* How often the user_data of the n-th was freed, and how often it came back with an event. */
static unsigned char freed[MANY + 1], returned[MANY + 1];
static apns_session_t *the_session;
static apns_status_t inner;
static char inner_message[sizeof error.message];

void before_each(void) {
  memset(freed, 0, sizeof freed);
  memset(returned, 0, sizeof returned);
}

static size_t index_of(const void *user_data) {
  const size_t n = (size_t)user_data - (size_t)notification(0)->user_data;
  assert_in_range(n, 0, MANY);
  return n;
}

static void note_free(void *user_data) { freed[index_of(user_data)]++; }

static size_t count_of(const unsigned char *noted) {
  size_t count = 0;
  for (size_t n = 0; n <= MANY; n++) count += noted[n];
  return count;
}

static void assert_each_once(size_t from, size_t to) {
  for (size_t n = from; n < to; n++) assert_int_equal(freed[n] + returned[n], 1);
}

static size_t take_all(apns_session_t *session, apns_event_kind_t kind) {
  size_t count = 0;
  apns_event_t event = APNS_EVENT_INIT;
  for (; !apns_session_next_event(session, &event, 0, &error); count++) {
    assert_int_equal(event.kind, kind);
    returned[index_of(event.user_data)]++;
  }
  return count;
}

static apns_session_options_t small(apns_session_options_t options, apns_outcomes_t outcomes) {
  options.outcomes = outcomes;
  options.window_bytes = 16 << 10;
  tuning_of(&options)->payload_max = 512;
  options.user_data_free = note_free;
  return options;
}

/* Sends the first ones, and takes no outcome. */
static apns_session_t *send_many(const service_t *service, apns_outcomes_t outcomes, size_t count) {
  const apns_session_options_t options = small(push_options(service), outcomes);
  apns_session_t *session = push_session(service, &options);
  hold_range(session, 1, count + 1);
  drain(session);
  return session;
}

TEST(accepted_ones_give_way_and_the_newest_stay) {
  service_t *service = service_start(NULL);
  apns_session_t *session = send_many(service, APNS_OUTCOMES_ALL, MANY);
  const apns_session_stats_t stats = stats_of(session);
  assert_int_equal(stats.accepted, MANY);
  assert_int_equal(stats.events + stats.forgotten, MANY);
  assert_in_range(stats.events, 8, 1000);
  assert_int_equal(count_of(freed), stats.forgotten);
  assert_int_equal(take_all(session, APNS_EVENT_ACCEPTED), stats.events);
  assert_each_once(1, MANY + 1);
  assert_int_equal(stats_of(session).events, 0);
  push_end(session, service);
  assert_each_once(1, MANY + 1);
}

static service_reply_t judge_some(void *context, const service_push_t *push) {
  const service_reply_t bad = {.status = 400, .body = "{\"reason\":\"BadDeviceToken\"}"};
  return number_of(push) <= *(size_t *)context ? bad : (service_reply_t){0};
}

TEST(rejected_ones_stay) {
  size_t bad = 3;
  service_t *service = service_judging(judge_some, &bad);
  apns_session_t *session = send_many(service, APNS_OUTCOMES_ALL, MANY / 2);
  for (size_t n = 1; n <= bad; n++)
    assert_event(session, APNS_EVENT_REJECTED, APNS_REJECT_INVALID_TOKEN, n);
  assert_true(stats_of(session).forgotten > 0);
  push_end(session, service);
  assert_int_equal(count_of(freed), MANY / 2 - bad);
}

TEST(rejected_ones_fill_the_window) {
  size_t bad = MANY;
  service_t *service = service_judging(judge_some, &bad);
  const apns_session_options_t options = small(push_options(service), APNS_OUTCOMES_ALL);
  apns_session_t *session = push_session(service, &options);
  size_t n = 1;
  while (n < MANY && !apns_session_send(session, notification(n), 0, NULL, &error)) n++;
  assert_int_equal(error.status, APNS_ERR_FULL);
  assert_int_equal(stats_of(session).forgotten, 0);
  assert_int_equal(count_of(freed), 0);
  take_all(session, APNS_EVENT_REJECTED);
  assert_ok(apns_session_send(session, notification(n), 0, NULL, &error));
  push_end(session, service);
  assert_each_once(1, n + 1);
}

TEST(each_one_stays_where_that_is_asked_for) {
  owned(service) service = service_start(NULL);
  const apns_session_options_t options = small(push_options(service), APNS_OUTCOMES_EACH);
  owned(session) session = push_session(service, &options);
  size_t n = 1;
  while (n < MANY && !apns_session_send(session, notification(n), 0, NULL, &error)) n++;
  assert_int_equal(error.status, APNS_ERR_FULL);
  drain(session);
  assert_int_equal(take_all(session, APNS_EVENT_ACCEPTED), n - 1);
  assert_int_equal(count_of(freed), 0);
}

TEST(what_is_not_reported_is_freed_and_pushes_keep_theirs) {
  service_t *service = service_start(NULL);
  apns_session_t *session = send_many(service, APNS_OUTCOMES_FAILURES, 100);
  assert_int_equal(count_of(freed), 100);
  assert_no_event(session);
  apns_event_t event = APNS_EVENT_INIT;
  assert_ok(apns_session_push(session, notification(101), AMPLE_MS, &event, &error));
  assert_int_equal(event.kind, APNS_EVENT_ACCEPTED);
  assert_int_equal(index_of(event.user_data), 101);
  push_end(session, service);
  assert_int_equal(freed[101], 0);
  assert_each_once(1, 101);
}

TEST(a_push_gives_way_to_nobody) {
  service_t *service = service_start(NULL);
  apns_session_t *session = send_many(service, APNS_OUTCOMES_ALL, 1000);
  for (size_t n = 1001; n < 1500; n++) {
    apns_event_t event = APNS_EVENT_INIT;
    assert_ok(apns_session_push(session, notification(n), AMPLE_MS, &event, &error));
    assert_int_equal(event.kind, APNS_EVENT_ACCEPTED);
    returned[index_of(event.user_data)]++;
  }
  take_all(session, APNS_EVENT_ACCEPTED);
  push_end(session, service);
  assert_each_once(1, 1500);
}

TEST(a_freed_session_frees_the_rest) {
  service_t *service = service_start(NULL);
  const apns_session_options_t options = small(push_options(service), APNS_OUTCOMES_EACH);
  apns_session_t *session = push_session(service, &options);
  for (size_t n = 1; n <= 10; n++) send_range(session, n, n + 1);
  drain(session);
  hold_range(session, 11, 21);
  assert_int_equal(count_of(freed), 0);
  push_end(session, service);
  assert_each_once(1, 21);
}

static void call_back(void *user_data) {
  (void)user_data;
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  inner = apns_session_stats(the_session, &stats, &error);
  memcpy(inner_message, error.message, sizeof inner_message);
  apns_session_free(the_session);
}

TEST(calling_the_session_back_is_refused_by_name) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = small(push_options(service), APNS_OUTCOMES_FAILURES);
  options.user_data_free = call_back;
  inner = APNS_OK;
  the_session = push_session(service, &options);
  assert_ok(apns_session_send(the_session, notification(1), 0, NULL, &error));
  drain(the_session);
  assert_int_equal(inner, APNS_ERR_ARGUMENT);
  assert_contains(inner_message, "callback");
  assert_int_equal(stats_of(the_session).accepted, 1);
  apns_session_free(the_session);
}

/* ---- The binary interface ----------------------------------------------------------- */

static const gateway_step_t polite[] = {TAKE_SENTINEL, NAME_LAST(2), END};

TEST(binary_accepted_ones_give_way_behind_a_rejected_one) {
  static const gateway_step_t bad[] = {TAKE_SENTINEL, NAME_NTH(8, 0), END};
  gateway_t *gateway = gateway_start(NULL, SCRIPTS(bad, polite, polite, polite, polite, polite));
  const apns_session_options_t options = small(options_for(gateway), APNS_OUTCOMES_ALL);
  apns_session_t *session = session_to(gateway, &options);
  for (size_t n = 1; n <= 400; n++) {
    assert_ok(apns_session_send(session, notification(n), APNS_SEND_MORE, NULL, &error));
    if (n % 100 == 0) drain(session);
  }
  const apns_session_stats_t stats = stats_of(session);
  assert_int_equal(stats.accepted, 399);
  assert_int_equal(stats.events + stats.forgotten, 400);
  assert_true(stats.forgotten >= 400 - 128);
  assert_event(session, APNS_EVENT_REJECTED, APNS_REJECT_INVALID_TOKEN, 1);
  returned[1]++;
  take_all(session, APNS_EVENT_ACCEPTED);
  /* The newest are those that stayed. */
  for (size_t n = 2; n < 400; n++) assert_true(returned[n] <= returned[n + 1]);
  session_end(session, gateway);
  assert_each_once(1, 401);
}
