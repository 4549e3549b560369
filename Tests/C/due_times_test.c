/* A host that calls only when the descriptor is readable or the timeout has passed: each feature
   with a time has to wake it. */
#include <unistd.h>

#include "looping.h"

/* Everything written inside send() is in flight before the next call of process(). */
static void send_at_once(apns_session_t *session, size_t n) {
  const uint64_t bytes = stats_of(session).bytes;
  assert_ok(apns_session_send(session, notification(n), 0, NULL, &error));
  assert_true(stats_of(session).bytes > bytes);
}

TEST(proof_of_what_was_written_at_once) {
  static const gateway_step_t judging[] = {JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(judging, judging, judging));
  owned(session) session = looping_where(gateway, binary->prove_after_ms = 200);
  connect_strictly(session);
  send_at_once(session, 0);
  assert_in_range(apns_session_timeout_ms(session), 0, 200);
  send_at_once(session, 1);
  assert_in_range(apns_session_timeout_ms(session), 0, 200);
  assert_ok(apns_session_flush(session, NULL));
  assert_in_range(apns_session_timeout_ms(session), 0, 200);
  turn_strictly_until(session, stats_of(session).accepted == 2);
  /* And on the connection after that. */
  assert_ok(apns_session_send(session, notification(2), 0, NULL, &error));
  turn_strictly_until(session, stats_of(session).accepted == 3);
}

TEST(a_drain_ends_that_a_send_has_connected_for) {
  static const gateway_step_t late[] = {NO_HANDSHAKE, AWAIT(1), SHAKE_HANDS, JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(late));
  owned(session) session = looping_where(gateway);
  size_t count = 0;
  assert_ok(apns_session_send(session, notification(count++), 0, NULL, &error));
  assert_status(APNS_ERR_AGAIN, apns_session_drain(session, 0, NULL, &error));
  gateway_signal(gateway);
  while (stats_of(session).bytes == 0) {
    usleep(1000);
    assert_ok(apns_session_send(session, notification(count++), 0, NULL, &error));
  }
  turn_strictly_until(session, stats_of(session).unresolved == 0);
  assert_ok(apns_session_drain(session, 0, NULL, &error));
  assert_counts(session, count, count, 0, 0, 0);
}

TEST(a_standby_that_was_refused_is_made_again) {
  static const gateway_step_t names_first[] = {TAKE_FRAMES(3), NAME_NTH(8, 0), END},
                              works[] = {TAKE_FRAMES(2), AWAIT(1), END},
                              refuses[] = {NO_HANDSHAKE, CLOSE_RST};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(names_first, works, refuses));
  owned(session) session = looping_where(gateway, binary->no_standby = 0);
  for (size_t n = 0; n < 3; n++) send_range(session, n, n + 1);
  turn_strictly_until(session, stats_of(session).connects == 3);
  assert_int_equal(gateway_connections(gateway), 4);
  assert_counts(session, 3, 0, 1, 0, 2);
}

TEST(an_answer_that_does_not_come) {
  static const gateway_step_t mute[] = {TAKE_SENTINEL, AWAIT(1), END}, judging[] = {JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(mute, judging));
  owned(session) session = looping_where(gateway, tuning->answer_timeout_ms = 100);
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  assert_status(APNS_ERR_AGAIN, apns_session_drain(session, 0, NULL, &error));
  turn_strictly_until(session, stats_of(session).accepted == 1);
  assert_int_equal(stats_of(session).connects, 2);
  gateway_signal(gateway);
}

TEST(a_silence_that_proves) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session =
      looping_where(gateway, binary->quiet_period_ms = 100, binary->prove_after_ms = 100);
  connect_strictly(session);
  send_at_once(session, 0);
  turn_strictly_until(session, stats_of(session).accepted == 1);
}

TEST(a_pause_before_a_connection) {
  static const gateway_step_t refuses[] = {NO_HANDSHAKE, CLOSE_RST}, judging[] = {JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(refuses, refuses, refuses, judging));
  owned(session) session = looping_where(gateway, binary->prove_after_ms = 1);
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  turn_strictly_until(session, stats_of(session).accepted == 1);
}

TEST(a_handshake_that_does_not_end) {
  static const gateway_step_t mute[] = {NO_HANDSHAKE, STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(mute, mute));
  owned(session) session = looping_where(gateway, options.peer.connect_timeout_ms = 100);
  apns_status_t status;
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  while ((status = strict_turn(session)) == APNS_OK) continue;
  assert_status(APNS_ERR_TIMEOUT, status);
}

TEST(a_peer_that_takes_nothing) {
  static const gateway_step_t stalls[] = {TAKE_FRAMES(1), STALL};
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.receive_buffer = 4096}, SCRIPTS(stalls));
  owned(session) session =
      looping_where(gateway, tuning->write_timeout_ms = 100, options.window_bytes = 16 << 20);
  apns_status_t status;
  connect_strictly(session);
  for (size_t n = 0; n < 40000; n++)
    if (apns_session_send(session, notification(n), APNS_SEND_MORE, NULL, &error)) break;
  while ((status = strict_turn(session)) == APNS_OK && stats_of(session).connects == 1) continue;
  if (status) assert_status(APNS_ERR_TIMEOUT, status);
}

TEST(a_close_that_nobody_answers) {
  static const gateway_step_t mute[] = {TAKE_FRAMES(1), AWAIT(1), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(mute));
  owned(session) session = looping_where(gateway);
  connect_strictly(session);
  send_at_once(session, 0);
  assert_status(APNS_ERR_AGAIN, apns_session_close(session, 200, &error));
  assert_in_range(apns_session_timeout_ms(session), 0, 200);
  while (strict_turn(session) == APNS_OK) continue;
  assert_counts(session, 1, 0, 0, 1, 0);
  assert_int_equal(apns_session_timeout_ms(session), -1);
  gateway_signal(gateway);
}
