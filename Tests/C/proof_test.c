/* Proof that notifications were accepted, and events that prove nothing. */
#include <stdio.h>

#include "clock.h"
#include "provider.h"

enum { BATCH = 10 };

static const gateway_step_t polite[] = {TAKE_SENTINEL, NAME_LAST(2), END};

/* Like send_range(), the last one with a token of another length. */
static void send_with_odd_token(apns_session_t *session) {
  send_range(session, 0, BATCH - 1);
  apns_notification_t odd = *notification(BATCH - 1);
  odd.token_length = 31;
  assert_ok(apns_session_send(session, &odd, 0, NULL, &error));
}

/* All are accepted by the first connection's error packet, or that proves nothing: then they are
   resent if the option allows it, or each is unknown. */
static void check_word(const gateway_step_t *script, bool zero_proves, bool has_odd, int format,
                       int delivery, bool proves) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script, polite));
  apns_session_t *session = session_where(gateway, binary->zero_proves = zero_proves,
                                          options.delivery = delivery, binary->format = format);
  if (has_odd)
    send_with_odd_token(session);
  else
    send_range(session, 0, BATCH);
  drain(session);
  bool resends = !proves && delivery == APNS_DELIVERY_AT_LEAST_ONCE;
  bool reports = !proves && delivery == APNS_DELIVERY_AT_MOST_ONCE;
  assert_counts(session, BATCH, reports ? 0 : BATCH, 0, reports ? BATCH : 0, 0);
  assert_int_equal(stats_of(session).resent, resends ? BATCH : 0);
  assert_int_equal(stats_of(session).connects, resends ? 2 : 1);
  if (reports)
    for (size_t n = 0; n < BATCH; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  assert_no_event(session);
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  assert_int_equal(heard->frame_count, BATCH + 1);
  assert_true(heard->frames[BATCH].is_sentinel);
  if (resends) assert_same_frames(gateway_heard(gateway, 1), heard, 0, BATCH);
}

static void check_word_every_way(const gateway_step_t *script, bool zero_proves, bool has_odd,
                                 bool proves) {
  const int first = (int)as_many_as(APNS_FORMAT_ENHANCED, APNS_FORMAT_FRAMED);
  for (int format = first; format <= APNS_FORMAT_FRAMED; format++)
    for (int delivery = APNS_DELIVERY_AT_LEAST_ONCE; delivery <= APNS_DELIVERY_AT_MOST_ONCE;
         delivery++)
      check_word(script, zero_proves, has_odd, format, delivery, proves);
}

/* ---- The sentinel's answer ---------------------------------------------- */

static const uint8_t statuses[] = {2, 5, 8, 128};
enum { STATUSES = sizeof statuses };

TEST(its_own_identifier_proves_whatever_the_status) {
  for (size_t index = 0; index < STATUSES; index++) {
    const gateway_step_t script[] = {TAKE_SENTINEL, NAME_LAST(statuses[index]), END};
    check_word_every_way(script, false, false, true);
    check_word_every_way(script, false, true, true);
  }
}

/* A missing token (2) is always the sentinel's; a wrong size (5) only if no other token is odd. */
TEST(identifier_0_proves_where_it_can_mean_nothing_else) {
  for (size_t index = 0; index < STATUSES; index++) {
    uint8_t status = statuses[index];
    const gateway_step_t script[] = {TAKE_SENTINEL, NAME(status, 0), END};
    check_word_every_way(script, false, false, status == 2 || status == 5);
    check_word_every_way(script, false, true, status == 2);
  }
}

TEST(identifier_0_proves_where_the_option_says_so) {
  for (size_t index = 0; index < STATUSES; index++) {
    const gateway_step_t script[] = {TAKE_SENTINEL, NAME(statuses[index], 0), END};
    check_word_every_way(script, true, false, true);
    check_word_every_way(script, true, true, true);
  }
}

/* An odd token with an outcome is not in the way. */
TEST(an_odd_token_of_before_does_not_count) {
  static const gateway_step_t zero[] = {TAKE_SENTINEL, NAME(5, 0), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(polite, zero));
  owned(session) session = session_to(gateway, NULL);
  send_with_odd_token(session);
  drain(session);
  send_and_drain(session, BATCH, 2 * BATCH);
  assert_counts(session, 2 * BATCH, 2 * BATCH, 0, 0, 0);
  assert_int_equal(stats_of(session).resent, 0);
}

/* With no sentinel out, 0 names nobody, with any value of the option. */
TEST(identifier_0_without_a_sentinel) {
  for (size_t index = 0; index < STATUSES; index++)
    for (int zero_proves = 0; zero_proves < 2; zero_proves++) {
      const gateway_step_t script[] = {TAKE_FRAMES(BATCH), NAME(statuses[index], 0), END};
      owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script, polite));
      owned(session) session = session_where(gateway, binary->zero_proves = zero_proves);
      send_range(session, 0, BATCH);
      gateway_await_step(gateway, 0, 2);
      assert_no_event(session);
      drain(session);
      assert_counts(session, BATCH, BATCH, 0, 0, 0);
      assert_int_equal(stats_of(session).resent, BATCH);
    }
}

/* Nor is it the sentinel before that is whole on the wire: the gateway reads no more. */
TEST(a_sentinel_that_is_not_written_is_not_answered) {
  static const gateway_step_t script[] = {TAKE_FRAMES(BATCH), AWAIT(1), NAME(2, 0), STALL};
  const size_t count = 60000;
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.receive_buffer = 4096}, SCRIPTS(script, polite));
  apns_session_t *session = session_where(gateway, options.window_bytes = 16 << 20);
  owned(notifications) all = notifications(count);
  assert_ok(apns_session_send_many(session, all, count, APNS_SEND_MORE, NULL, &error));
  gateway_await_step(gateway, 0, 1);
  /* The sentinel waits after bytes that the socket does not take. */
  assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 100, NULL, &error));
  gateway_signal(gateway);
  drain(session);
  assert_counts(session, count, count, 0, 0, 0);
  apns_session_free(session);
  assert_carry_all(gateway, 1, count);
}

/* ---- A packet with another identifier ----------------------------------- */

/* The packet names a notification with an outcome: only those in flight now are in doubt. */
static void check_past_one(uint32_t identifier, uint8_t status, int delivery) {
  static const gateway_step_t names_fifth[] = {TAKE_FRAMES(BATCH), NAME_NTH(8, 4), END};
  const gateway_step_t names_past[] = {TAKE_FRAMES(BATCH - 5), NAME(status, identifier), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(names_fifth, names_past, polite));
  apns_session_t *session = session_where(gateway, options.delivery = delivery);
  apns_event_t event = APNS_EVENT_INIT;
  bool reports = delivery == APNS_DELIVERY_AT_MOST_ONCE;
  send_range(session, 0, BATCH);
  assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
  assert_int_equal(event.reject, 8);
  assert_ok(apns_session_flush(session, &error));
  gateway_await_step(gateway, 1, 2);
  drain(session);
  assert_counts(session, BATCH, reports ? 4 : BATCH - 1, 1, reports ? BATCH - 5 : 0, 0);
  assert_int_equal(stats_of(session).resent, (reports ? 1 : 2) * (BATCH - 5));
  if (reports)
    for (size_t n = 5; n < BATCH; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  assert_no_event(session);
  apns_session_free(session);
  if (!reports)
    assert_same_frames(gateway_heard(gateway, 2), gateway_heard(gateway, 0), 5, BATCH - 5);
}

TEST(a_packet_for_one_that_has_its_end) {
  /* The first, the one rejected, one never given, and the last of all. */
  static const uint32_t identifiers[] = {1, 5, 1000, UINT32_MAX};
  static const uint8_t words[] = {8, 10, 128, 255};
  for (size_t index = 0; index < 4; index++)
    for (size_t word = as_many_as(0, index); word < as_many_as(4, index + 1); word++) {
      check_past_one(identifiers[index], words[word], APNS_DELIVERY_AT_LEAST_ONCE);
      check_past_one(identifiers[index], words[word], APNS_DELIVERY_AT_MOST_ONCE);
    }
}

/* It is named wrongly for ever: that ends too, and each goes out at most five times. */
TEST(packets_for_nobody_for_ever) {
  static const gateway_step_t script[] = {TAKE_FRAMES(BATCH), NAME(8, 77777), END};
  /* Nothing was ever proven. */
  enum { ENDS = 12 };
  static const gateway_step_t few[] = {TAKE_SENTINEL, NAME(8, 77777), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script, script, few, few, few, few, few, few,
                                                       few, few, few, few, few, few, few, few));
  apns_session_t *session = session_where(gateway, tuning->reconnect_pause_max_ms = 1);
  send_and_drain(session, 0, BATCH);
  assert_counts(session, BATCH, 0, 0, BATCH, 0);
  for (size_t n = 0; n < BATCH; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  assert_int_equal(gateway_connections(gateway), ENDS);
  apns_session_free(session);
  size_t times[BATCH] = {0};
  for (size_t index = 0; index < ENDS; index++) {
    const gateway_record_t *heard = gateway_heard(gateway, index);
    for (size_t frame = 0; frame < heard->frame_count; frame++)
      if (!heard->frames[frame].is_sentinel) times[carried_by(heard, frame)]++;
  }
  for (size_t n = 0; n < BATCH; n++) assert_in_range(times[n], 2, 5);
}

/* ---- A packet after a broken write -------------------------------------- */

/* The packet lies unread when a write finds the connection gone: by a reset, or by the
   gateway having closed with bytes of ours unread. The clock stands, so that no look is due
   before the write. */
static void check_behind(const gateway_step_t *script, int tls_version) {
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.tls_version = tls_version}, SCRIPTS(script, polite));
  apns_session_t *session = session_to(gateway, NULL);
  send_range(session, 0, BATCH);
  clock_stop();
  /* A look, which finds nothing and is not due again while the clock stands. */
  clock_forward(1);
  assert_no_event(session);
  gateway_signal(gateway);
  gateway_heard(gateway, 0);
  assert_ok(apns_session_send(session, notification(BATCH), 0, NULL, &error));
  clock_go();
  drain(session);
  assert_counts(session, BATCH + 1, BATCH, 1, 0, 0);
  assert_event(session, APNS_EVENT_REJECTED, 8, 3);
  assert_no_event(session);
  const gateway_record_t *after = heard_after(session, gateway, 1);
  assert_int_equal(notifications_in(after), BATCH - 3);
  for (size_t index = 0; index < BATCH - 3; index++) assert_carries(after, index, index + 4);
}

TEST(a_packet_behind_a_broken_write) {
  static const gateway_step_t reset[] = {TAKE_FRAMES(BATCH), AWAIT(1), NAME_NTH(8, 3), CLOSE_RST};
  static const gateway_step_t piecemeal[] = {TAKE_FRAMES(BATCH), AWAIT(1), NAME_NTH_PIECEMEAL(8, 3),
                                             CLOSE_RST};
  check_behind(reset, TLS1_2_VERSION);
  check_behind(reset, TLS1_3_VERSION);
  check_behind(piecemeal, TLS1_2_VERSION);
  check_behind(piecemeal, TLS1_3_VERSION);
}

/* ---- Silence ------------------------------------------------------------ */

/* A connection that ended before it was over has proven nothing. */
TEST(a_quiet_period_that_is_broken_off) {
  static const gateway_step_t first[] = {TAKE_FRAMES(BATCH), AWAIT(1), CLOSE_FIN};
  static const gateway_step_t second[] = {TAKE_ALL, END};
  for (int delivery = APNS_DELIVERY_AT_LEAST_ONCE; delivery <= APNS_DELIVERY_AT_MOST_ONCE;
       delivery++) {
    gateway_t *gateway = gateway_start(NULL, SCRIPTS(first, second));
    apns_session_t *session = session_where(gateway, binary->quiet_period_ms = 3600000,
                                            options.deadline_ms = -1, options.delivery = delivery);
    size_t unresolved = 0;
    bool reports = delivery == APNS_DELIVERY_AT_MOST_ONCE;
    send_range(session, 0, BATCH);
    assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 20, &unresolved, &error));
    assert_int_equal(unresolved, BATCH);
    gateway_signal(gateway);
    if (reports) {
      apns_event_t event = next_event(session);
      assert_ptr_equal(event.user_data, (void *)1);
      for (size_t n = 1; n < BATCH; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
    } else {
      await_connects(session, 2);
    }
    send_range(session, BATCH, BATCH + 1);
    const size_t left = reports ? 1 : BATCH + 1;
    gateway_await_frames(gateway, 1, left);
    assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 20, &unresolved, &error));
    assert_int_equal(unresolved, left);
    clock_forward(3600001);
    assert_ok(apns_session_drain(session, AMPLE_MS, &unresolved, &error));
    assert_counts(session, BATCH + 1, left, 0, BATCH + 1 - left, 0);
    assert_no_event(session);
    apns_session_free(session);
    /* And no sentinel, which such a peer would not answer. */
    const gateway_record_t *heard = gateway_heard(gateway, 1);
    assert_int_equal(heard->frame_count, left);
    assert_int_equal(notifications_in(heard), left);
    gateway_stop(gateway);
  }
}

TEST(a_write_begins_the_quiet_period_anew) {
  static const gateway_step_t script[] = {TAKE_ALL, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(session) session = session_where(gateway, binary->quiet_period_ms = 100000);
  size_t unresolved = 0;
  send_range(session, 0, BATCH);
  clock_stop();
  clock_forward(90000);
  send_range(session, BATCH, BATCH + 1);
  clock_forward(90000);
  assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 0, &unresolved, &error));
  assert_int_equal(unresolved, BATCH + 1);
  clock_forward(10001);
  assert_ok(apns_session_drain(session, 0, &unresolved, &error));
  assert_counts(session, BATCH + 1, BATCH + 1, 0, 0, 0);
  clock_go();
}

/* ---- Age ------------------------------------------------------------------ */

/* Accepted events, until `count` have come; the gateway's answer is on its way. */
static void await_accepted(apns_session_t *session, size_t from, size_t to) {
  int64_t start = clock_ms();
  while (from < to) {
    apns_event_t event = APNS_EVENT_INIT;
    apns_status_t status = apns_session_next_event(session, &event, 0, &error);
    if (status == APNS_DONE) {
      assert_within(start, 0);
      continue;
    }
    assert_ok(status);
    assert_int_equal(event.kind, APNS_EVENT_ACCEPTED);
    assert_ptr_equal(event.user_data, (void *)(++from));
  }
}

static apns_session_t *session_of_age(const gateway_t *gateway, int32_t prove_after_ms,
                                      uint32_t connects_per_minute) {
  return session_where(gateway, options.outcomes = APNS_OUTCOMES_EACH, options.deadline_ms = -1,
                       binary->prove_after_ms = prove_after_ms,
                       tuning->connects_per_minute = connects_per_minute);
}

/* A look that writes nothing. */
static void look_in_vain(apns_session_t *session) {
  uint64_t before = stats_of(session).bytes;
  assert_no_event(session);
  assert_int_equal(stats_of(session).bytes, before);
}

/* A daemon that sends now and then and looks for events, and waits for nothing. */
TEST(a_trickle_is_proven) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_of_age(gateway, 0, 0);
  clock_stop();
  for (size_t n = 0; n < 6; n++) {
    send_range(session, n, n + 1);
    look_in_vain(session);
    clock_forward(n < 5 ? 10000 : 9000);
  }
  look_in_vain(session);
  clock_forward(1001);
  clock_go();
  /* By a call that waits for nothing. */
  assert_no_event(session);
  gateway_await_frames(gateway, 0, 7);
  await_accepted(session, 0, 6);
  /* By a send, which proves its own notification too. */
  send_range(session, 6, 8);
  clock_forward(60001);
  send_range(session, 8, 9);
  gateway_await_frames(gateway, 1, 4);
  await_accepted(session, 6, 9);
  /* By a flush. */
  send_range(session, 9, 10);
  clock_forward(60001);
  assert_ok(apns_session_flush(session, &error));
  gateway_await_frames(gateway, 2, 2);
  await_accepted(session, 9, 10);
  /* By a wait for an event. */
  apns_event_t event = APNS_EVENT_INIT;
  send_range(session, 10, 11);
  clock_forward(60001);
  assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
  assert_counts(session, 11, 11, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, 4);
  assert_int_equal(stats_of(session).resent, 0);
}

/* If a connection ends later, only the notifications since the last proof are in doubt. */
TEST(a_connection_that_ends_after_a_trickle) {
  static const gateway_step_t ends[] = {TAKE_FRAMES(1), AWAIT(1), CLOSE_RST};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(polite, ends));
  owned(session) session = session_of_age(gateway, 0, 0);
  clock_stop();
  for (size_t n = 0; n < 900; n++) {
    send_range(session, n, n + 1);
    assert_no_event(session);
    clock_forward(60);
  }
  clock_forward(10000);
  clock_go();
  assert_no_event(session);
  gateway_await_frames(gateway, 0, 901);
  await_accepted(session, 0, 900);
  send_range(session, 900, 901);
  gateway_signal(gateway);
  gateway_heard(gateway, 1);
  drain(session);
  assert_counts(session, 901, 901, 0, 0, 0);
  assert_int_equal(stats_of(session).resent, 1);
}

TEST(proof_waits_for_a_connection_that_is_allowed) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_of_age(gateway, 10000, 1);
  clock_stop();
  send_range(session, 0, BATCH);
  clock_forward(59000);
  look_in_vain(session);
  clock_forward(1001);
  clock_go();
  assert_no_event(session);
  gateway_await_frames(gateway, 0, BATCH + 1);
  await_accepted(session, 0, BATCH);
}

TEST(without_the_option_only_what_needs_proof_proves) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_of_age(gateway, -1, 0);
  send_range(session, 0, BATCH);
  clock_forward(3600000);
  look_in_vain(session);
  assert_ok(apns_session_flush(session, &error));
  look_in_vain(session);
  drain(session);
  await_accepted(session, 0, BATCH);
}

/* Silence proves in any call too, though more is written all the while. */
TEST(a_trickle_is_proven_by_silence) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session =
      session_where(gateway, options.outcomes = APNS_OUTCOMES_EACH, binary->quiet_period_ms = 2000);
  clock_stop();
  send_range(session, 0, 1);
  for (size_t n = 1; n <= 60; n++) {
    clock_forward(1000);
    send_range(session, n, n + 1);
    if (n < 60) assert_no_event(session);
  }
  clock_forward(1999);
  send_range(session, 61, 62);
  assert_no_event(session);
  clock_forward(2);
  await_accepted(session, 0, 61);
  look_in_vain(session);
  clock_go();
  assert_int_equal(stats_of(session).connects, 1);
}

/* ---- Noise ------------------------------------------------------------------ */

/* A TLS record that never ends keeps the session reading, and does not count as an answer. */
TEST(something_that_never_comes_to_a_word) {
  enum { PIECES = 4200 };
  static const uint8_t record[PIECES] = {0x17, 0x03, 0x03, 0x40, 0x00};
  static gateway_step_t script[2 * PIECES + 2];
  script[0] = (gateway_step_t)TAKE_FRAMES(BATCH);
  for (size_t piece = 0; piece < PIECES; piece++) {
    script[2 * piece + 1] = (gateway_step_t)AWAIT(piece + 1);
    script[2 * piece + 2] = (gateway_step_t)SAY_RAW(record + piece, 1);
  }
  script[2 * PIECES + 1] = (gateway_step_t)STALL;
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script, polite));
  owned(session) session = session_to(gateway, NULL);
  apns_event_t event = APNS_EVENT_INIT;
  send_range(session, 0, BATCH);
  apns_status_t status = APNS_DONE;
  size_t piece = 0;
  for (; piece < PIECES && status == APNS_DONE; piece++) {
    gateway_signal(gateway);
    gateway_await_step(gateway, 0, 2 * piece + 3);
    status = apns_session_next_event(session, &event, 0, &error);
  }
  assert_fails(APNS_ERR_PROTOCOL, status, "keeps sending TLS records without data");
  /* Bytes of a ticket or of a slow packet are not that. */
  assert_in_range(piece, 2000, PIECES);
  drain(session);
  assert_counts(session, BATCH, BATCH, 0, 0, 0);
}

/* If a gateway stays silent, the session abandons its connection, not too early, and loses
   nothing. */
TEST(an_answer_that_never_comes) {
  static const gateway_step_t silent[] = {TAKE_SENTINEL, STALL};
  for (int delivery = APNS_DELIVERY_AT_LEAST_ONCE; delivery <= APNS_DELIVERY_AT_MOST_ONCE;
       delivery++) {
    gateway_t *gateway = gateway_start(NULL, SCRIPTS(silent, polite));
    apns_session_t *session =
        session_where(gateway, tuning->answer_timeout_ms = 100000, options.delivery = delivery);
    size_t unresolved = 0;
    bool reports = delivery == APNS_DELIVERY_AT_MOST_ONCE;
    clock_stop();
    send_range(session, 0, BATCH);
    assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 0, &unresolved, &error));
    gateway_await_step(gateway, 0, 1);
    clock_forward(99000);
    assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 0, &unresolved, &error));
    assert_int_equal(unresolved, BATCH);
    assert_int_equal(stats_of(session).connects, 1);
    clock_forward(2000);
    clock_go();
    assert_ok(apns_session_drain(session, AMPLE_MS, &unresolved, &error));
    assert_counts(session, BATCH, reports ? 0 : BATCH, 0, reports ? BATCH : 0, 0);
    if (reports)
      for (size_t n = 0; n < BATCH; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
    assert_no_event(session);
    apns_session_free(session);
    if (!reports)
      assert_same_frames(gateway_heard(gateway, 1), gateway_heard(gateway, 0), 0, BATCH);
    gateway_stop(gateway);
  }
}
