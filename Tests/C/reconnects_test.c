/* When the session reconnects: at once after a productive connection, with a growing backoff after
   unproductive ones, and never more often in a minute than the option allows. */
#include <stdio.h>

#include "clock.h"
#include "provider.h"
#include "sockets.h"

enum { BATCH = 3, MOST = 64 };

static const gateway_step_t polite[] = {TAKE_SENTINEL, NAME_LAST(2), END};
static const gateway_step_t breaks[] = {TAKE_FRAMES(BATCH), CLOSE_RST};

/* ---- Pauses ------------------------------------------------------------- */

/* Three notifications without a reachable gateway; the clock stands. */
static apns_session_t *session_without_gateway(uint32_t pause_max_ms) {
  gateway_t *gateway = gateway_start(NULL, SCRIPTS(breaks));
  apns_session_t *session = session_where(gateway, tuning->reconnect_pause_max_ms = pause_max_ms);
  send_range(session, 0, BATCH);
  gateway_heard(gateway, 0);
  gateway_stop(gateway);
  clock_stop();
  clock_forward(1);
  sockets_reset();
  return session;
}

/* How long after a fruitless connection, the `fruitless`-th, the next is tried. */
static int64_t pause_before_next(apns_session_t *session, size_t fruitless, int64_t step) {
  FORGET_ERROR();
  char count[64];
  snprintf(count, sizeof count, "after %zu connections that achieved nothing", fruitless);
  size_t made = sockets_made();
  for (int64_t waited = 0; waited < 10000; waited += step) {
    size_t unresolved = 0;
    apns_status_t status = apns_session_drain(session, 0, &unresolved, &error);
    assert_int_equal(unresolved, BATCH);
    if (sockets_made() > made) {
      assert_status(APNS_ERR_NETWORK, status);
      assert_int_equal(sockets_made(), made + 1);
      return waited;
    }
    assert_fails(APNS_ERR_TIMEOUT, status, "waiting to reconnect to 127.0.0.1:");
    assert_contains(error.message, count);
    clock_forward(step);
  }
  fail_msg("no connection is tried any more");
  return 0;
}

static void check_pauses(uint32_t option, int64_t longest) {
  owned(session) session = session_without_gateway(option);
  int64_t pause = 50, least = INT64_MAX, most = 0;
  for (size_t fruitless = 1; fruitless <= 24; fruitless++) {
    if (pause > longest) pause = longest;
    int64_t step = pause / 50 ? pause / 50 : 1;
    int64_t waited = pause_before_next(session, fruitless, step);
    assert_in_range(waited, pause / 2, pause + step);
    if (pause == longest) {
      if (least > waited) least = waited;
      if (most < waited) most = waited;
    }
    pause *= 2;
  }
  /* By chance: two providers do not come back together. */
  assert_true(most - least > longest / 10);
  assert_counts(session, BATCH, 0, 0, 0, BATCH);
  clock_go();
}

TEST(pauses_double_up_to_the_option) {
  check_pauses(0, 5000);
  check_pauses(200, 200);
  check_pauses(1000, 1000);
}

TEST(a_connection_of_use_ends_the_pauses) {
  static const gateway_step_t fails[] = {NO_HANDSHAKE, CLOSE_RST};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(breaks, fails, fails, polite, breaks));
  owned(session) session = session_to(gateway, NULL);
  send_range(session, 0, BATCH);
  gateway_heard(gateway, 0);
  for (int round = 0; round < 2; round++)
    assert_status(APNS_ERR_NETWORK, apns_session_drain(session, AMPLE_MS, NULL, &error));
  drain(session);
  send_range(session, BATCH, 2 * BATCH);
  gateway_heard(gateway, 4);
  gateway_accept_no_more(gateway);
  clock_stop();
  clock_forward(1);
  sockets_reset();
  /* The first again. */
  assert_in_range(pause_before_next(session, 1, 1), 25, 51);
  clock_go();
}

TEST(rejections_cost_no_pause) {
  enum { COUNT = 12 };
  static const gateway_step_t names_first[] = {TAKE_FRAMES(1), NAME_NTH(8, 0), END};
  const gateway_step_t *scripts[COUNT + 1] = {NULL};
  for (size_t index = 0; index < COUNT; index++) scripts[index] = names_first;
  owned(gateway) gateway = gateway_start(NULL, scripts);
  owned(session) session = session_to(gateway, NULL);
  apns_event_t event = APNS_EVENT_INIT;
  sockets_reset();
  send_range(session, 0, COUNT + 1);
  for (size_t index = 0; index < COUNT; index++) {
    assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
    /* The next one is begun before the call that read the rejection returns. */
    assert_int_equal(sockets_made(), index + 2);
  }
  drain(session);
  assert_counts(session, COUNT + 1, 1, COUNT, 0, 0);
}

/* ---- The cap ------------------------------------------------------------ */

/* When each connection was begun: between the two. */
static int64_t before[MOST], after[MOST];
static size_t seen;

static void watch_begins(int64_t start) {
  int64_t now = clock_ms();
  for (; seen < sockets_made() && seen < MOST; seen++) {
    before[seen] = start;
    after[seen] = now;
  }
}

static void assert_cap_kept(size_t cap) {
  for (size_t index = 0; index + cap < seen; index++)
    if (after[index + cap] - before[index] < 60000)
      fail_msg("%zu connections in %d ms, from the one at %d", cap + 1,
               (int)(after[index + cap] - before[index]), (int)index);
}

/* Every connection ends by a rejection, so that nothing but the cap holds the next one back. The
   test moves the clock through five minutes. */
static void check_cap(uint32_t cap, size_t at_once, size_t in_five_minutes) {
  FORGET_ERROR();
  static const gateway_step_t names_first[] = {TAKE_FRAMES(1), NAME_NTH(8, 0), END};
  const gateway_step_t *scripts[MOST + 1] = {NULL};
  for (size_t index = 0; index < MOST; index++) scripts[index] = names_first;
  owned(gateway) gateway = gateway_start(NULL, scripts);
  owned(session) session = session_where(gateway, tuning->connects_per_minute = cap);
  apns_event_t event = APNS_EVENT_INIT;
  size_t rejected = 0;
  bool has_waited = false;
  sockets_reset();
  seen = 0;
  int64_t first = clock_ms();
  send_range(session, 0, MOST);
  watch_begins(first);
  while (clock_ms() - first < 300000) {
    int64_t start = clock_ms();
    if (rejected < sockets_made()) {
      assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
      assert_int_equal(event.kind, APNS_EVENT_REJECTED);
      rejected++;
      watch_begins(start);
      continue;
    }
    apns_status_t status = apns_session_drain(session, 0, NULL, &error);
    watch_begins(start);
    assert_status(APNS_ERR_TIMEOUT, status);
    if (rejected < sockets_made()) continue;
    /* Half of them at once, and then it waits and logs why. */
    if (!has_waited) assert_int_equal(sockets_made(), at_once);
    has_waited = true;
    assert_contains(error.message, "waiting to reconnect to 127.0.0.1:");
    assert_contains(error.message, "because connects_per_minute is reached");
    clock_forward(1000);
  }
  assert_cap_kept(cap);
  assert_in_range(seen, in_five_minutes, in_five_minutes + 1);
  assert_counts(session, MOST, 0, rejected, 0, MOST - rejected);
}

TEST(never_more_in_a_minute_than_the_cap) {
  /* Half at once, and the others spread over each minute. */
  check_cap(1, 1, 5);
  check_cap(2, 1, 5);
  check_cap(3, 2, 6);
  check_cap(10, 5, 5 + 24);
}

/* A handshake, or a notification that waits for its answer. On a busy machine the clock is not
   moved past their deadlines. */
static bool is_under_way(apns_session_t *session) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  assert_ok(apns_session_stats(session, &stats, &error));
  return stats.connects < sockets_made() || stats.in_flight > 0;
}

/* With several connections and standby ones, which count as well. */
TEST(nor_standby_ones_included) {
  enum { CAP = 12 };
  static const gateway_step_t names_first[] = {TAKE_FRAMES(1), NAME_NTH(8, 0), END};
  const gateway_step_t *scripts[MOST + 1] = {NULL};
  for (size_t index = 0; index < MOST; index++) scripts[index] = names_first;
  owned(gateway) gateway = gateway_start(NULL, scripts);
  owned(session) session = session_where(gateway, tuning->connects_per_minute = CAP,
                                         options.connections = 3, binary->no_standby = 0);
  apns_event_t event = APNS_EVENT_INIT;
  size_t rejected = 0;
  sockets_reset();
  seen = 0;
  int64_t first = clock_ms();
  /* A record for each. */
  hold_range(session, 0, MOST);
  watch_begins(first);
  while (clock_ms() - first < 300000) {
    int64_t start = clock_ms();
    apns_status_t status = apns_session_next_event(session, &event, 5, &error);
    watch_begins(start);
    if (status == APNS_OK)
      rejected++;
    else if (!is_under_way(session))
      clock_forward(500);
  }
  assert_cap_kept(CAP);
  /* It continued all the time. */
  assert_in_range(seen, 20, 40);
  assert_in_range(rejected, 10, 40);
  assert_counts(session, MOST, 0, rejected, 0, MOST - rejected);
}

/* A send waits for its turn no longer than for any connection, takes nothing, and reports why. */
TEST(a_send_that_may_not_connect_says_why) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(polite, polite));
  apns_session_options_t options = options_for(gateway);
  tuning_of(&options)->connects_per_minute = 1;
  options.peer.connect_timeout_ms = 10000;
  owned(session) session = session_to(gateway, &options);
  send_and_drain(session, 0, BATCH);
  int64_t start = clock_ms();
  assert_status(APNS_ERR_TIMEOUT, apns_session_send(session, notification(BATCH), 0, NULL, &error));
  assert_within(start, options.peer.connect_timeout_ms);
  assert_contains(error.message, "waiting to reconnect to 127.0.0.1:");
  assert_contains(error.message, "because connects_per_minute is reached");
  assert_counts(session, BATCH, BATCH, 0, 0, 0);
  clock_forward(60000);
  send_and_drain(session, BATCH, 2 * BATCH);
  assert_counts(session, 2 * BATCH, 2 * BATCH, 0, 0, 0);
}
