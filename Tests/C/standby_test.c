/* The standby connection, opened while the connection before it works. */
#include <poll.h>
#include <unistd.h>

#include "clock.h"
#include "Gateway/loopback.h"
#include "provider.h"
#include "sockets.h"

enum { BATCH = 10 };

static const gateway_step_t polite[] = {TAKE_SENTINEL, NAME_LAST(2), END};
static const gateway_step_t names_first[] = {TAKE_FRAMES(BATCH), NAME_NTH(8, 0), END};
/* Works until the test signals, then names the first one. */
static const gateway_step_t works[] = {TAKE_FRAMES(BATCH - 1), AWAIT(1), NAME_NTH(8, 0), END};

static apns_session_t *session_with_standby(const gateway_t *gateway) {
  apns_session_options_t options = options_for(gateway);
  binary_of(&options)->no_standby = 0;
  options.peer.connect_timeout_ms = 30000; /* through which the clock is moved */
  return session_to(gateway, &options);
}

static void assert_next_event(apns_session_t *session, int reject, size_t n) {
  apns_event_t event = next_event(session);
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  assert_int_equal(event.reject, reject);
  assert_ptr_equal(event.user_data, (void *)(uintptr_t)(n + 1));
}

/* Ten notifications, of which connection 0 names the first; connection 1 works, and a
   standby one is being made. */
static void bring_to_work(apns_session_t *session) {
  send_range(session, 0, BATCH);
  assert_next_event(session, 8, 0);
  await_connects(session, 2);
}

/* Connection 1 names its first, and the rest is known to the end after that. */
static void check_goes_on(gateway_t *gateway, apns_session_t *session) {
  gateway_signal(gateway);
  drain(session);
  assert_event(session, APNS_EVENT_REJECTED, 8, 1);
  assert_counts(session, BATCH, BATCH - 2, 2, 0, 0);
  assert_no_event(session);
}

static void assert_resent_on(gateway_t *gateway, size_t index) {
  assert_same_frames(gateway_heard(gateway, index), gateway_heard(gateway, 0), 2, BATCH - 2);
}

/* ---- When there is one -------------------------------------------------- */

/* No connection can be opened when the packet comes: the standby makes that unnecessary. */
static void check_moving_on(int tls_version, size_t tickets) {
  const gateway_options_t how = {.tls_version = tls_version, .tickets = tickets};
  owned(gateway) gateway = gateway_start(&how, SCRIPTS(names_first, works, polite));
  apns_session_t *session = session_with_standby(gateway);
  bring_to_work(session);
  await_connects(session, 3);
  /* And no more than one: a second one would have no use. */
  gateway_await_frames(gateway, 1, BATCH - 1);
  assert_no_event(session);
  assert_int_equal(gateway_connections(gateway), 3);
  gateway_accept_no_more(gateway);
  check_goes_on(gateway, session);
  assert_int_equal(stats_of(session).connects, 3);
  assert_int_equal(stats_of(session).resent, 2 * BATCH - 3);
  apns_session_free(session);
  assert_resent_on(gateway, 2);
}

TEST(moving_on_costs_no_handshake) {
  check_moving_on(TLS1_3_VERSION, 0);
  check_moving_on(TLS1_3_VERSION, 2);
  check_moving_on(TLS1_2_VERSION, 0);
  check_moving_on(TLS1_2_VERSION, 1);
}

TEST(no_standby_means_none) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(names_first, works, polite));
  owned(session) session = session_to(gateway, NULL);
  apns_event_t event = APNS_EVENT_INIT;
  bring_to_work(session);
  gateway_await_frames(gateway, 1, BATCH - 1);
  for (int round = 0; round < 3; round++)
    assert_int_equal(apns_session_next_event(session, &event, 10, NULL), APNS_DONE);
  assert_int_equal(gateway_connections(gateway), 2);
  check_goes_on(gateway, session);
}

/* A full window is proven by a sentinel, which ends the connection: the next one is begun when it
   is half full, and not before. */
TEST(a_window_half_full_makes_one) {
  static const gateway_step_t all[] = {TAKE_SENTINEL, AWAIT(1), NAME_LAST(2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(all, polite));
  apns_session_t *session =
      session_where(gateway, binary->no_standby = 0, options.window_bytes = 16384);
  apns_event_t event = APNS_EVENT_INIT;
  send_range(session, 0, 30);
  gateway_await_frames(gateway, 0, 30);
  for (int round = 0; round < 3; round++)
    assert_int_equal(apns_session_next_event(session, &event, 10, NULL), APNS_DONE);
  assert_int_equal(gateway_connections(gateway), 1);
  assert_int_equal(stats_of(session).connects, 1);
  send_range(session, 30, 70);
  await_connects(session, 2);
  gateway_accept_no_more(gateway);
  assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 0, NULL, &error));
  gateway_signal(gateway);
  send_and_drain(session, 70, 80);
  assert_counts(session, 80, 80, 0, 0, 0);
  const gateway_record_t *after = heard_after(session, gateway, 1);
  assert_int_equal(notifications_in(after), 10);
  assert_carries(after, 0, 70);
}

/* ---- What may become of it ---------------------------------------------- */

TEST(one_that_ended_while_it_waited_is_replaced) {
  static const gateway_step_t notify[] = {AWAIT(1), CLOSE_NOTIFY}, fin[] = {AWAIT(1), CLOSE_FIN},
                              reset[] = {AWAIT(1), CLOSE_RST};
  static const gateway_step_t *const ways[] = {notify, fin, reset};
  static const gateway_step_t longer[] = {TAKE_FRAMES(BATCH - 1), AWAIT(2), NAME_NTH(8, 0), END};
  for (size_t index = 0; index < 3; index++) {
    owned(gateway) gateway = gateway_start(NULL, SCRIPTS(names_first, longer, ways[index], polite));
    apns_session_t *session = session_with_standby(gateway);
    bring_to_work(session);
    await_connects(session, 3);
    gateway_await_step(gateway, 1, 1);
    gateway_signal(gateway);
    /* The end is there before it is needed. */
    struct pollfd standby = {.fd = sockets_last(), .events = POLLIN};
    assert_int_equal(poll(&standby, 1, AMPLE_MS), 1);
    check_goes_on(gateway, session);
    assert_int_equal(stats_of(session).unknown, 0);
    apns_session_free(session);
    assert_resent_on(gateway, 3);
    assert_int_equal(gateway_heard(gateway, 2)->frame_count, 0);
  }
}

/* A connection that was open for a while is not a sign of a gateway that refuses everybody. */
TEST(one_that_ended_after_a_while_costs_no_pause) {
  static const gateway_step_t ends[] = {AWAIT(1), CLOSE_RST};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(names_first, works, ends));
  owned(session) session = session_with_standby(gateway);
  bring_to_work(session);
  await_connects(session, 3);
  gateway_accept_no_more(gateway);
  gateway_signal(gateway);
  gateway_await_step(gateway, 1, 3);
  gateway_heard(gateway, 2);
  clock_forward(1500);
  /* It tries to connect at once, which a pause would not let it. */
  assert_fails(APNS_ERR_NETWORK, apns_session_drain(session, 0, NULL, &error), "refused");
  assert_counts(session, BATCH, 0, 2, 0, BATCH - 2);
}

TEST(one_whose_handshake_fails_harms_nothing) {
  static const gateway_step_t fails[] = {NO_HANDSHAKE, CLOSE_RST};
  static const gateway_step_t garbage[] = {NO_HANDSHAKE, SAY_RAW("HTTP/1.1 400 No\r\n\r\n", 19),
                                           CLOSE_FIN};
  static const gateway_step_t *const ways[] = {fails, garbage};
  for (size_t index = 0; index < 2; index++) {
    owned(gateway) gateway = gateway_start(NULL, SCRIPTS(names_first, works, ways[index], polite));
    apns_session_t *session = session_with_standby(gateway);
    apns_event_t event = APNS_EVENT_INIT;
    bring_to_work(session);
    gateway_await_step(gateway, 2, 1);
    /* The session notices it, and logs nothing. */
    for (int round = 0; round < 3; round++)
      assert_int_equal(apns_session_next_event(session, &event, 10, NULL), APNS_DONE);
    assert_int_equal(stats_of(session).connects, 2);
    check_goes_on(gateway, session);
    apns_session_free(session);
    assert_resent_on(gateway, 3);
  }
}

/* Nor does the session wait for a standby that should long have been there. */
TEST(one_whose_handshake_stalls_harms_nothing) {
  static const gateway_step_t stalls[] = {NO_HANDSHAKE, STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(names_first, works, stalls, polite));
  apns_session_t *session = session_with_standby(gateway);
  apns_event_t event = APNS_EVENT_INIT;
  bring_to_work(session);
  gateway_await_step(gateway, 2, 1);
  assert_int_equal(apns_session_next_event(session, &event, 10, NULL), APNS_DONE);
  clock_forward(5000);
  assert_int_equal(apns_session_next_event(session, &event, 10, NULL), APNS_DONE);
  check_goes_on(gateway, session);
  /* By now that connection may have its own standby or not. */
  assert_in_range(stats_of(session).connects, 3, 4);
  apns_session_free(session);
  assert_resent_on(gateway, 3);
}

/* Its deadline passes while the other connection works: no error, and no second one at once. */
TEST(one_that_never_comes_is_given_up) {
  static const gateway_step_t stalls[] = {NO_HANDSHAKE, STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(names_first, works, stalls, polite));
  apns_session_t *session = session_with_standby(gateway);
  apns_event_t event = APNS_EVENT_INIT;
  bring_to_work(session);
  gateway_await_step(gateway, 2, 1);
  assert_int_equal(apns_session_next_event(session, &event, 10, NULL), APNS_DONE);
  clock_forward(31000);
  assert_int_equal(apns_session_next_event(session, &event, 10, NULL), APNS_DONE);
  assert_int_equal(gateway_heard(gateway, 2)->ending, ENDING_NONE);
  assert_int_equal(gateway_connections(gateway), 3);
  clock_forward(1100);
  await_connects(session, 3);
  gateway_accept_no_more(gateway);
  check_goes_on(gateway, session);
  apns_session_free(session);
  assert_resent_on(gateway, 3);
}

/* After a minute a firewall may have forgotten it. */
TEST(one_that_waited_too_long_is_not_used) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(names_first, works, polite, polite));
  apns_session_t *session = session_with_standby(gateway);
  bring_to_work(session);
  await_connects(session, 3);
  clock_forward(61000);
  check_goes_on(gateway, session);
  assert_in_range(stats_of(session).connects, 4, 5);
  apns_session_free(session);
  assert_int_equal(gateway_heard(gateway, 2)->length, 0);
  assert_int_equal(gateway_heard(gateway, 2)->ending, ENDING_NOTIFY);
  assert_resent_on(gateway, 3);
}

/* ---- What is left of it ------------------------------------------------- */

typedef enum { STANDBY_OPEN, STANDBY_OPENING, STANDBY_ENDED } standby_t;

static void check_no_residue(standby_t standby, bool closes) {
  static const gateway_step_t stalls[] = {NO_HANDSHAKE, STALL}, ends[] = {END};
  static const gateway_step_t *const scripts[] = {polite, stalls, ends};
  size_t before = open_descriptors();
  gateway_t *gateway = gateway_start(NULL, SCRIPTS(names_first, works, scripts[standby]));
  apns_session_t *session = session_with_standby(gateway);
  bring_to_work(session);
  if (standby == STANDBY_OPENING)
    gateway_await_step(gateway, 2, 1);
  else
    await_connects(session, 3);
  assert_int_equal(sockets_open(), 2);
  gateway_await_frames(gateway, 1, BATCH - 1);
  gateway_signal(gateway);
  if (closes) {
    int64_t start = clock_ms();
    assert_ok(apns_session_close(session, AMPLE_MS, &error));
    assert_within(start, 0);
    assert_int_equal(sockets_open(), 0);
    /* Nothing was sent on it, and the session opened no other connection. */
    assert_int_equal(gateway_connections(gateway), 3);
  }
  apns_session_free(session);
  assert_int_equal(sockets_open(), 0);
  const gateway_record_t *heard = gateway_heard(gateway, 2);
  assert_int_equal(heard->length, 0);
  if (standby == STANDBY_OPEN) assert_int_equal(heard->ending, ENDING_NOTIFY);
  gateway_stop(gateway);
  assert_int_equal(open_descriptors(), before);
}

TEST(nothing_is_left_of_it) {
  for (size_t round = 0; round < as_many_as(10, 1); round++)
    for (int closes = 0; closes < 2; closes++) {
      check_no_residue(STANDBY_OPEN, closes);
      check_no_residue(STANDBY_OPENING, closes);
      check_no_residue(STANDBY_ENDED, closes);
    }
}

/* However often the session moves on, by rejections and by a window that is full. */
TEST(never_more_than_two_sockets_for_each_connection) {
  const size_t count = as_many_as(4000, 400);
  for (uint32_t connections = 1; connections <= 3; connections += 2) {
    owned(gateway) gateway = gateway_start(NULL, NULL);
    owned(session) session =
        session_where(gateway, binary->no_standby = 0, options.connections = connections,
                      options.window_bytes = 16384 * connections);
    owned(notifications) all = notifications(count);
    size_t bad = 0;
    for (size_t n = 7; n < count; n += 40, bad++) memset((char *)all[n].token + 30, 0xFF, 2);
    sockets_reset();
    for (size_t n = 0; n < count; n++) {
      assert_ok(apns_session_send(session, &all[n], n % 20 ? APNS_SEND_MORE : 0, NULL, &error));
      assert_in_range(sockets_open(), 1, 2 * connections);
      apns_event_t event = APNS_EVENT_INIT;
      while (n % 20 == 0 && apns_session_next_event(session, &event, 0, NULL) == APNS_OK) {
      }
    }
    drain(session);
    assert_counts(session, count, count - bad, bad, 0, 0);
    assert_in_range(sockets_most(), 2, 2 * connections);
    if (connections == 1) assert_int_equal(sockets_most(), 2);
  }
}
