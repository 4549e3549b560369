/* Several connections side by side: one window, every outcome once, order in each. */
#include <stdio.h>

#include "clock.h"
#include "provider.h"
#include "sockets.h"

static apns_session_t *session_over(const gateway_t *gateway, uint32_t connections,
                                    const apns_session_options_t *given) {
  apns_session_options_t options = given ? *given : options_for(gateway);
  options.connections = connections;
  return session_to(gateway, &options);
}

/* Sends one by one in small batches, so that the connections take turns soon. */
static void send_in_batches(apns_session_t *session, const apns_notification_t *all, size_t from,
                            size_t to, size_t batch) {
  for (size_t n = from; n < to; n++)
    assert_ok(apns_session_send(session, &all[n],
                                (n + 1) % batch && n + 1 < to ? APNS_SEND_MORE : 0, NULL, &error));
}

/* What the gateway accepted, over all of its connections: how often each. */
static uint8_t *accepted_by(gateway_t *gateway, size_t count, bool in_order) {
  uint8_t *times = calloc(count, 1);
  size_t connections = gateway_connections(gateway);
  for (size_t index = 0; index < connections; index++) {
    const gateway_record_t *heard = gateway_heard(gateway, index);
    size_t last = 0;
    for (size_t frame = 0; frame < heard->accepted; frame++) {
      size_t n = carried_by(heard, frame);
      assert_true(n < count);
      if (in_order) assert_true(frame == 0 || n > last);
      last = n;
      times[n]++;
    }
  }
  return times;
}

/* ---- Outcomes ----------------------------------------------------------- */

/* Each outcome is reported once. */
static void take_ends(apns_session_t *session, int *ends, size_t count) {
  apns_event_t event = APNS_EVENT_INIT;
  while (apns_session_next_event(session, &event, 0, &error) == APNS_OK) {
    size_t which = (size_t)(uintptr_t)event.user_data - 1;
    assert_true(which < count);
    assert_int_equal(ends[which], 0);
    ends[which] = event.kind;
  }
}

static bool is_bad(const apns_notification_t *push) {
  return memcmp((const char *)push->token + 30, "\xFF\xFF", 2) == 0;
}

/* The gateway rejects a few; all outcomes are reported, and taken when they fill the window. */
static void check_outcomes(uint32_t connections, bool standby, size_t batch) {
  const size_t count = as_many_as(6000, 600);
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_for(gateway);
  options.outcomes = APNS_OUTCOMES_EACH;
  binary_of(&options)->no_standby = !standby;
  options.window_bytes = 16384 * connections;
  apns_session_t *session = session_over(gateway, connections, &options);
  owned(notifications) all = notifications(count);
  int *ends = calloc(count, sizeof *ends);
  size_t bad = 0;
  for (size_t n = 3; n < count; n += 10 + n % 60, bad++) memset((char *)all[n].token + 30, 0xFF, 2);
  for (size_t n = 0; n < count;) {
    apns_status_t status = apns_session_send(
        session, &all[n], (n + 1) % batch && n + 1 < count ? APNS_SEND_MORE : 0, NULL, &error);
    if (status == APNS_OK)
      n++;
    else
      assert_status(APNS_ERR_FULL, status);
    if (status != APNS_OK || n % 100 == 0) take_ends(session, ends, count);
  }
  drain(session);
  take_ends(session, ends, count);
  assert_counts(session, count, count - bad, bad, 0, 0);
  apns_session_free(session);
  owned(bytes) times = accepted_by(gateway, count, true);
  for (size_t n = 0; n < count; n++) {
    assert_int_equal(ends[n], is_bad(&all[n]) ? APNS_EVENT_REJECTED : APNS_EVENT_ACCEPTED);
    assert_int_equal(times[n], !is_bad(&all[n]));
  }
  free(ends);
}

TEST(every_outcome_once_and_order_in_each) {
  check_outcomes(2, false, 10);
  check_outcomes(4, false, 50);
  check_outcomes(4, true, 10);
  check_outcomes(7, true, 1);
}

/* The session opens as many connections as the option says, and uses them all. */
TEST(all_are_used) {
  static const uint32_t counts[] = {1, 2, 5, 64};
  for (size_t index = 0; index < as_many_as(4, 3); index++) {
    const uint32_t connections = counts[index];
    const size_t count = 200 * connections;
    owned(gateway) gateway = gateway_start(NULL, NULL);
    apns_session_t *session = session_over(gateway, connections, NULL);
    owned(notifications) all = notifications(count);
    sockets_reset();
    assert_ok(apns_session_connect(session, &error));
    await_connects(session, connections);
    send_in_batches(session, all, 0, count, count);
    drain(session);
    assert_counts(session, count, count, 0, 0, 0);
    assert_int_equal(sockets_most(), connections);
    assert_int_equal(gateway_connections(gateway), connections);
    apns_session_free(session);
    for (size_t each = 0; each < connections; each++)
      assert_true(notifications_in(gateway_heard(gateway, each)) >= 100);
  }
}

/* ---- One connection ends ------------------------------------------------ */

/* A connection of three ends without an error packet: only its notifications are in doubt. */
static void check_one_dies(const gateway_step_t *dies, int delivery) {
  enum { COUNT = 900 };
  static const gateway_step_t judges[] = {JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(judges, dies, judges));
  apns_session_options_t options = options_for(gateway);
  options.delivery = delivery;
  apns_session_t *session = session_over(gateway, 3, &options);
  apns_event_t event = APNS_EVENT_INIT;
  owned(notifications) all = notifications(COUNT);
  assert_ok(apns_session_connect(session, &error));
  await_connects(session, 3);
  send_in_batches(session, all, 0, COUNT, COUNT);
  drain(session);
  bool is_unknown[COUNT] = {false};
  size_t unknown = 0;
  while (apns_session_next_event(session, &event, 0, &error) == APNS_OK) {
    assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
    size_t which = (size_t)(uintptr_t)event.user_data - 1;
    assert_true(which < COUNT && !is_unknown[which]);
    is_unknown[which] = true;
    unknown++;
  }
  assert_counts(session, COUNT, COUNT - unknown, 0, unknown, 0);
  assert_int_equal(stats_of(session).resent > 0, delivery == APNS_DELIVERY_AT_LEAST_ONCE);
  apns_session_free(session);
  /* The connection that ended has frames that nobody judged. */
  size_t died = SIZE_MAX;
  for (size_t index = 0; index < 3; index++) {
    const gateway_record_t *heard = gateway_heard(gateway, index);
    if (heard->accepted == 0 && heard->frame_count > 0) died = index;
  }
  assert_true(died < 3);
  const gateway_record_t *doubtful = gateway_heard(gateway, died);
  for (size_t frame = 0; frame < doubtful->frame_count; frame++)
    assert_true(doubtful->frames[frame].is_sentinel || delivery == APNS_DELIVERY_AT_LEAST_ONCE ||
                is_unknown[carried_by(doubtful, frame)]);
  assert_in_range(unknown, delivery == APNS_DELIVERY_AT_LEAST_ONCE ? 0 : notifications_in(doubtful),
                  delivery == APNS_DELIVERY_AT_LEAST_ONCE ? 0 : COUNT / 2);
  owned(bytes) times = accepted_by(gateway, COUNT, false);
  for (size_t n = 0; n < COUNT; n++) assert_int_equal(times[n], !is_unknown[n]);
}

TEST(one_dies_while_others_go_on) {
  static const gateway_step_t reset[] = {TAKE_FRAMES(20), CLOSE_RST},
                              fin[] = {TAKE_FRAMES(20), CLOSE_FIN},
                              named_nobody[] = {TAKE_FRAMES(20), NAME(8, 0x7FFFFFFF), END};
  static const gateway_step_t *const ways[] = {reset, fin, named_nobody};
  for (size_t way = 0; way < as_many_as(3, 1); way++) {
    check_one_dies(ways[way], APNS_DELIVERY_AT_LEAST_ONCE);
    check_one_dies(ways[way], APNS_DELIVERY_AT_MOST_ONCE);
  }
}

/* Opening one of two connections always fails: the other carries everything. */
TEST(one_that_cannot_be_made) {
  enum { COUNT = 1000, TRIES = 200 };
  static const gateway_step_t fails[] = {NO_HANDSHAKE, CLOSE_RST};
  static const gateway_step_t takes_all[] = {TAKE_SENTINEL, NAME_LAST(2), END};
  const gateway_step_t *scripts[TRIES + 1] = {takes_all};
  for (size_t index = 1; index < TRIES; index++) scripts[index] = fails;
  owned(gateway) gateway = gateway_start(NULL, scripts);
  apns_session_t *session = session_over(gateway, 2, NULL);
  owned(notifications) all = notifications(COUNT);
  send_in_batches(session, all, 0, COUNT, 20);
  drain(session);
  assert_counts(session, COUNT, COUNT, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, 1);
  apns_session_free(session);
  assert_int_equal(notifications_in(gateway_heard(gateway, 0)), COUNT);
}

/* ---- One that waits ----------------------------------------------------- */

/* The gateway takes its time to reject on one; the others' are proven meanwhile. */
TEST(a_late_rejection_holds_up_nobody_else) {
  enum { COUNT = 600 };
  static const gateway_step_t judges[] = {JUDGE, END};
  static const gateway_step_t late[] = {TAKE_FRAMES(10), AWAIT(1), NAME_NTH(8, 0), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(judges, late, judges));
  apns_session_t *session = session_over(gateway, 3, NULL);
  owned(notifications) all = notifications(COUNT);
  assert_ok(apns_session_connect(session, &error));
  await_connects(session, 3);
  send_in_batches(session, all, 0, COUNT, COUNT);
  gateway_await_step(gateway, 1, 1);
  size_t unresolved = COUNT, before = COUNT + 1;
  /* Until only the late connection's notifications are left. */
  for (int64_t start = clock_ms(); unresolved > COUNT / 2 || unresolved != before;) {
    assert_in_range(clock_ms() - start, 0, AMPLE_MS);
    before = unresolved;
    assert_status(APNS_ERR_TIMEOUT,
                  apns_session_drain(session, (int32_t)as_many_as(500, 5000), &unresolved, &error));
  }
  assert_in_range(unresolved, 10, COUNT / 2);
  assert_counts(session, COUNT, COUNT - unresolved, 0, 0, unresolved);
  assert_int_equal(stats_of(session).resent, 0);
  gateway_signal(gateway);
  drain(session);
  assert_counts(session, COUNT, COUNT - 1, 1, 0, 0);
  const gateway_record_t *heard = heard_after(session, gateway, 1);
  assert_int_equal(notifications_in(heard), unresolved);
  assert_same_frames(gateway_heard(gateway, 3), heard, 1, unresolved - 1);
}

/* Nor does a connection that never answers again, with its part of the window full. */
TEST(a_full_part_of_the_window_holds_up_nobody_else) {
  enum { COUNT = 3000 };
  static const gateway_step_t judges[] = {JUDGE, END};
  static const gateway_step_t late[] = {TAKE_SENTINEL, AWAIT(1), NAME_LAST(2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(late, judges));
  apns_session_options_t options = options_for(gateway);
  options.window_bytes = 2 * 16384;
  owned(session) session = session_over(gateway, 2, &options);
  owned(notifications) all = notifications(COUNT);
  assert_ok(apns_session_connect(session, &error));
  await_connects(session, 2);
  /* A send that waits for that part's room ends with an error. */
  send_in_batches(session, all, 0, COUNT, 20);
  uint64_t waits = stats_of(session).unresolved;
  assert_in_range(waits, 30, 400);
  gateway_signal(gateway);
  drain(session);
  assert_counts(session, COUNT, COUNT, 0, 0, 0);
  assert_int_equal(stats_of(session).resent, 0);
}

/* Nor does a connection with a sentinel out and room to spare: new notifications have to wait. */
TEST(one_that_owes_an_answer_takes_nothing) {
  enum { LARGE = 13, SMALL = 400, COUNT = LARGE + SMALL };
  static const gateway_step_t judges[] = {JUDGE, END};
  static const gateway_step_t late[] = {TAKE_SENTINEL, AWAIT(1), NAME_LAST(2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(late, judges));
  apns_session_options_t options = options_for(gateway);
  options.window_bytes = 2 * 16384;
  apns_session_t *session = session_over(gateway, 2, &options);
  owned(notifications) all = notifications(COUNT);
  static char large[2000];
  memset(large, ' ', sizeof large);
  memcpy(large, "{\"aps\":{}}", 10);
  assert_ok(apns_session_connect(session, &error));
  await_connects(session, 2);
  /* The last large one has no room, so the session sends a sentinel on both connections. */
  for (size_t n = 0; n < LARGE; n++) {
    apns_notification_t padded = all[n];
    padded.payload = large;
    padded.payload_length = sizeof large;
    assert_ok(apns_session_send(session, &padded, 0, NULL, &error));
  }
  gateway_await_step(gateway, 0, 1);
  send_in_batches(session, all, LARGE, COUNT, 1);
  assert_int_equal(stats_of(session).resent, 0);
  gateway_signal(gateway);
  drain(session);
  assert_counts(session, COUNT, COUNT, 0, 0, 0);
  assert_int_equal(stats_of(session).resent, 0);
  apns_session_free(session);
  assert_in_range(notifications_in(gateway_heard(gateway, 0)), 1, LARGE);
}

/* The two connections are gone, and the session may open only one again: that is enough. */
static void check_one_allowed(size_t count) {
  static const gateway_step_t late[] = {TAKE_FRAMES(20), AWAIT(1), NAME_NTH(8, 0), END};
  static const gateway_step_t judges[] = {JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(late, late, judges));
  apns_session_options_t options = options_for(gateway);
  tuning_of(&options)->connects_per_minute = 3; /* two at once */
  owned(session) session = session_over(gateway, 2, &options);
  apns_event_t event = APNS_EVENT_INIT;
  owned(notifications) all = notifications(count + 2);
  assert_ok(apns_session_connect(session, &error));
  await_connects(session, 2);
  send_in_batches(session, all, 0, count, count);
  gateway_await_step(gateway, 0, 1);
  gateway_await_step(gateway, 1, 1);
  gateway_signal(gateway);
  for (int round = 0; round < 2; round++)
    assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
  /* Any of the connections may have been chosen for it, and any may be opened. */
  clock_forward(61000);
  assert_ok(apns_session_send(session, &all[count], 0, NULL, &error));
  assert_ok(apns_session_send(session, &all[count + 1], 0, NULL, &error));
  assert_int_equal(stats_of(session).connects, 3);
  /* The rest waits for the other one. */
  size_t unresolved = 0;
  assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 300, &unresolved, &error));
  assert_true(unresolved >= 20);
  clock_forward(61000);
  drain(session);
  assert_counts(session, count + 2, count, 2, 0, 0);
}

TEST(one_allowed_is_enough_to_go_on) {
  check_one_allowed(300);
  check_one_allowed(400);
}

/* ---- Ends --------------------------------------------------------------- */

TEST(events_after_closing_are_in_order) {
  enum { COUNT = 900 };
  static const gateway_step_t record_all[] = {TAKE_ALL, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all, record_all, record_all));
  apns_session_t *session = session_over(gateway, 3, NULL);
  owned(notifications) all = notifications(COUNT);
  assert_ok(apns_session_connect(session, &error));
  await_connects(session, 3);
  send_in_batches(session, all, 0, COUNT, COUNT);
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  assert_counts(session, COUNT, 0, 0, COUNT, 0);
  for (size_t n = 0; n < COUNT; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  assert_no_event(session);
  apns_session_free(session);
  /* Each got a sentinel. */
  for (size_t index = 0; index < 3; index++) {
    const gateway_record_t *heard = gateway_heard(gateway, index);
    assert_int_equal(heard->frame_count, notifications_in(heard) + 1);
    assert_true(heard->frames[heard->frame_count - 1].is_sentinel);
    assert_int_equal(heard->ending, ENDING_NOTIFY);
  }
}
