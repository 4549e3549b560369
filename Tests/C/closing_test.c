/* Ending a session: gracefully, abruptly, and what it still reports afterwards. */
#include <inttypes.h>
#include <unistd.h>

#include "provider.h"

static const gateway_step_t record_all[] = {TAKE_ALL, END};
static const gateway_step_t polite[] = {TAKE_SENTINEL, NAME_LAST(2), END};

/* The gateway reads slowly, so that most is still on its way when the session ends, and unread
   bytes of it lie in the provider's socket. To close the socket in that state would make the kernel
   reset the connection, and destroy the rest. */
static void check_nothing_is_destroyed(bool closes) {
  static const uint8_t half[3] = {8, 8, 0};
  enum { COUNT = 400 };
  const gateway_step_t slow[] = {TAKE_FRAMES(1), AWAIT(1), SAY(half, 3), AWAIT(2), TAKE_ALL, END};
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.receive_buffer = 4096, .tickets = 2}, SCRIPTS(slow));
  apns_session_t *session = session_where(gateway, tuning->write_timeout_ms = 1000);
  send_range(session, 0, 1);
  gateway_await_step(gateway, 0, 1);
  send_range(session, 1, COUNT);
  assert_int_equal(stats_of(session).connects, 1);
  gateway_signal(gateway);
  gateway_await_step(gateway, 0, 3);
  if (closes) assert_ok(apns_session_close(session, 100, &error));
  int64_t start = clock_ms();
  apns_session_free(session);
  assert_within(start, 0);
  gateway_signal(gateway);
  const gateway_record_t *heard = gateway_heard(gateway, 0);
  /* Closing sends a sentinel, too. */
  assert_int_equal(heard->frame_count, COUNT + closes);
  assert_int_equal(heard->ending, ENDING_NOTIFY);
}

TEST(closing_destroys_nothing_in_flight) { check_nothing_is_destroyed(true); }

TEST(freeing_destroys_nothing_in_flight) { check_nothing_is_destroyed(false); }

TEST(closing_writes_what_was_held_back) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_to(gateway, NULL);
  hold_range(session, 0, 10);
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  const gateway_record_t *heard = gateway_heard(gateway, 0);
  assert_int_equal(heard->frame_count, 11);
  assert_true(heard->frames[10].is_sentinel);
}

TEST(what_has_no_end_comes_out_as_unknown_in_order) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_to(gateway, NULL);
  send_range(session, 0, 10);
  assert_ok(apns_session_send(session, notification(10), APNS_SEND_MORE, NULL, &error));
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  assert_counts(session, 11, 0, 0, 11, 0);
  for (size_t n = 0; n < 11; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  assert_no_event(session);
}

TEST(outcomes_from_before_and_after_closing_are_in_order) {
  const gateway_step_t first[] = {TAKE_FRAMES(5), NAME_NTH(8, 2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, record_all));
  owned(session) session = session_to(gateway, NULL);
  send_range(session, 0, 5);
  gateway_await_step(gateway, 0, 2);
  send_range(session, 5, 8);
  assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 300, NULL, &error));
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  assert_counts(session, 8, 2, 1, 5, 0);
  assert_event(session, APNS_EVENT_REJECTED, 8, 2);
  for (size_t n = 3; n < 8; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  assert_no_event(session);
}

/* The gateway's error packet crosses the provider's close_notify. */
TEST(a_packet_that_comes_while_closing) {
  const gateway_step_t first[] = {TAKE_FRAMES(5), NAME_NTH(8, 2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first));
  owned(session) session = session_to(gateway, NULL);
  send_range(session, 0, 5);
  gateway_await_step(gateway, 0, 2);
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  assert_counts(session, 5, 2, 1, 2, 0);
  assert_event(session, APNS_EVENT_REJECTED, 8, 2);
  assert_event(session, APNS_EVENT_UNKNOWN, 0, 3);
  assert_event(session, APNS_EVENT_UNKNOWN, 0, 4);
}

TEST(a_closed_session_takes_no_more) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  apns_session_t *session = session_to(gateway, NULL);
  send_range(session, 0, 1);
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  size_t taken = 9;
  uint32_t identifier = 77;
  assert_status(APNS_ERR_CLOSED,
                apns_session_send(session, notification(0), 0, &identifier, &error));
  assert_int_equal(identifier, 77);
  assert_contains(error.message, "closed");
  assert_status(APNS_ERR_CLOSED,
                apns_session_send_many(session, notification(0), 1, 0, &taken, &error));
  assert_int_equal(taken, 0);
  assert_status(APNS_ERR_CLOSED, apns_session_connect(session, &error));
  assert_status(APNS_ERR_CLOSED, apns_session_flush(session, &error));
  assert_status(APNS_ERR_CLOSED, apns_session_drain(session, 0, NULL, &error));
  assert_counts(session, 1, 0, 0, 1, 0);
  /* A second call changes nothing, and a wait for events that cannot come returns immediately. */
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  assert_event(session, APNS_EVENT_UNKNOWN, 0, 0);
  int64_t start = clock_ms();
  apns_event_t event = APNS_EVENT_INIT;
  assert_status(APNS_DONE, apns_session_next_event(session, &event, APNS_TIMEOUT_DEFAULT, &error));
  assert_within(start, 0);
  apns_session_free(session);
  assert_int_equal(gateway_connections(gateway), 1);
}

TEST(closing_ends_at_its_deadline) {
  const gateway_step_t script[] = {TAKE_FRAMES(3), STALL};
  static const int32_t timeouts[] = {0, 200};
  for (size_t index = 0; index < 2; index++) {
    owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
    owned(session) session = session_to(gateway, NULL);
    send_range(session, 0, 3);
    gateway_await_step(gateway, 0, 1);
    int64_t start = clock_ms();
    assert_ok(apns_session_close(session, timeouts[index], &error));
    assert_within(start, timeouts[index]);
    assert_counts(session, 3, 0, 0, 3, 0);
  }
}

TEST(closing_after_a_drain_leaves_no_event) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(polite));
  owned(session) session = session_to(gateway, NULL);
  send_and_drain(session, 0, 10);
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  assert_counts(session, 10, 10, 0, 0, 0);
  assert_no_event(session);
}

TEST(a_session_that_never_connected) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_t *session = session_to(gateway, NULL);
  assert_no_event(session);
  assert_ok(apns_session_flush(session, &error));
  assert_ok(apns_session_close(session, APNS_TIMEOUT_DEFAULT, &error));
  assert_no_event(session);
  apns_session_free(session);
  apns_session_free(session_to(gateway, NULL));
  assert_int_equal(gateway_connections(gateway), 0);
}

/* ---- Its own proof ------------------------------------------------------- */

/* The gateway answers the sentinel of closing: all have their outcomes, and no drain was needed. */
TEST(closing_proves_what_the_gateway_answers) {
  for (uint32_t connections = 1; connections <= 3; connections += 2) {
    owned(gateway) gateway = gateway_start(NULL, NULL);
    apns_session_t *session = session_where(gateway, options.connections = connections,
                                            options.outcomes = APNS_OUTCOMES_EACH);
    assert_ok(apns_session_connect(session, &error));
    await_connects(session, connections);
    send_range(session, 0, 400);
    assert_ok(apns_session_close(session, AMPLE_MS, &error));
    assert_counts(session, 400, 400, 0, 0, 0);
    for (size_t n = 0; n < 400; n++) assert_event(session, APNS_EVENT_ACCEPTED, 0, n);
    assert_no_event(session);
    apns_session_free(session);
    assert_int_equal(gateway_connections(gateway), connections);
  }
}

/* No sentinel goes to peers that do not answer sentinels, nor with a format without answers. */
TEST(closing_sends_no_sentinel_where_none_is_answered) {
  for (int simple = 0; simple < 2; simple++) {
    owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
    apns_session_t *session =
        session_where(gateway, binary->format = simple ? APNS_FORMAT_SIMPLE : APNS_FORMAT_FRAMED,
                      binary->quiet_period_ms = simple ? 0 : 3600000);
    send_range(session, 0, 10);
    assert_ok(apns_session_close(session, AMPLE_MS, &error));
    assert_counts(session, 10, 0, 0, 10, 0);
    for (size_t n = 0; n < 10; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
    const gateway_record_t *heard = heard_after(session, gateway, 0);
    assert_int_equal(heard->frame_count, 10);
    assert_int_equal(notifications_in(heard), 10);
  }
}

/* ---- No reconnect -------------------------------------------------------- */

/* The connection is gone in any way, or ends while closing: its notifications are unknown, each
   with its user_data, and the session does not reconnect. */
TEST(closing_never_reconnects) {
  static const gateway_step_t fin[] = {TAKE_FRAMES(10), CLOSE_FIN},
                              reset[] = {TAKE_FRAMES(10), CLOSE_RST},
                              rejects[] = {TAKE_FRAMES(10), NAME_NTH(8, 0), CLOSE_NOTIFY},
                              reset_late[] = {TAKE_SENTINEL, CLOSE_RST},
                              rejects_late[] = {TAKE_SENTINEL, NAME_NTH(8, 0), CLOSE_RST};
  static const gateway_step_t *const ways[] = {fin, reset, rejects, reset_late, rejects_late};
  for (size_t way = 0; way < 5; way++)
    for (int heard_before = 0; heard_before < (way < 3 ? 2 : 1); heard_before++) {
      owned(gateway) gateway = gateway_start(NULL, SCRIPTS(ways[way], polite));
      apns_session_t *session = session_where(gateway, binary->no_standby = 0);
      send_range(session, 0, 10);
      if (way < 3) gateway_await_step(gateway, 0, way == 2 ? 2 : 1);
      bool rejects_one = way == 2 || way == 4;
      if (way == 1) gateway_heard(gateway, 0);
      if (heard_before && !rejects_one) assert_no_event(session);
      size_t connections = gateway_connections(gateway);
      assert_ok(apns_session_close(session, AMPLE_MS, &error));
      assert_counts(session, 10, 0, rejects_one, 10 - rejects_one, 0);
      if (rejects_one) assert_event(session, APNS_EVENT_REJECTED, 8, 0);
      for (size_t n = rejects_one; n < 10; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
      assert_no_event(session);
      apns_session_free(session);
      assert_int_equal(gateway_connections(gateway), connections);
    }
}

/* Nor does it use a connection that is still being opened next to an open one. */
TEST(closing_ends_what_is_being_made) {
  enum { COUNT = 60000 };
  static const gateway_step_t stalls[] = {TAKE_FRAMES(1), STALL};
  static const gateway_step_t resets[] = {TAKE_FRAMES(1), AWAIT(1), CLOSE_RST};
  static const gateway_step_t slow[] = {NO_HANDSHAKE, AWAIT(2), SHAKE_HANDS, TAKE_ALL, END};
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.receive_buffer = 4096}, SCRIPTS(stalls, resets, slow));
  apns_session_t *session =
      session_where(gateway, options.connections = 2, options.window_bytes = 32 << 20);
  assert_ok(apns_session_connect(session, &error));
  await_connects(session, 2);
  owned(notifications) all = notifications(COUNT);
  /* Each of the two has more than its socket takes. */
  assert_ok(apns_session_send_many(session, all, COUNT, APNS_SEND_MORE, NULL, &error));
  gateway_await_step(gateway, 0, 1);
  gateway_await_step(gateway, 1, 1);
  gateway_signal(gateway);
  gateway_heard(gateway, 1);
  /* The session notices the end, and opens the next one after a backoff. */
  for (int64_t start = clock_ms(); gateway_connections(gateway) < 3;) {
    assert_in_range(clock_ms() - start, 0, AMPLE_MS);
    assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 0, NULL, &error));
  }
  assert_int_equal(stats_of(session).connects, 2);
  gateway_signal(gateway);
  assert_ok(apns_session_close(session, 500, &error));
  assert_int_equal(stats_of(session).connects, 2);
  assert_counts(session, COUNT, 0, 0, COUNT, 0);
  apns_session_free(session);
  assert_int_equal(gateway_heard(gateway, 2)->length, 0);
}

TEST(freeing_with_events_untaken_and_frames_unwritten) {
  const gateway_step_t first[] = {TAKE_FRAMES(5), NAME_NTH(8, 2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, record_all));
  owned(session) session = session_to(gateway, NULL);
  send_range(session, 0, 5);
  gateway_await_step(gateway, 0, 2);
  apns_session_drain(session, 100, NULL, NULL);
  assert_ok(apns_session_send(session, notification(5), APNS_SEND_MORE, NULL, &error));
}

/* ---- The option close_timeout_ms ---------------------------------------- */

/* The log lines about a session that was freed. */
typedef struct said {
  uint64_t count;
  int lines;
} said_t;

static void listen(const apns_log_record_t *record, void *context) {
  said_t *said = context;
  if (record->kind != APNS_LOG_KIND_CLOSED || record->level != APNS_LOG_ERROR) return;
  said->count = record->count;
  said->lines++;
}

/* Sends 2,000 and frees the session. Returns the message, from standard error if `log` is false.
 */
static said_t freed(const gateway_step_t *script, uint32_t ms, bool nonblocking, bool log) {
  said_t said = {0};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_options_t options = options_for(gateway);
  options.close_timeout_ms = ms;
  options.peer.nonblocking = nonblocking;
  if (log) options.log = listen, options.log_context = &said;
  apns_session_t *session = session_to(gateway, &options);
  hold_range(session, 0, 2000);
  FILE *heard = tmpfile();
  const int standard = dup(STDERR_FILENO);
  assert_true(heard && standard >= 0 && dup2(fileno(heard), STDERR_FILENO) >= 0);
  apns_session_free(session);
  dup2(standard, STDERR_FILENO);
  close(standard);
  rewind(heard);
  char line[200], words[200];
  snprintf(words, sizeof words, "apns: 127.0.0.1:%u: the session ended, and %%" SCNu64,
           gateway_port(gateway));
  while (fgets(line, sizeof line, heard)) {
    assert_int_equal(sscanf(line, words, &said.count), 1);
    said.lines++;
  }
  fclose(heard);
  return said;
}

TEST(freeing_with_time_gives_all_their_end) {
  const gateway_step_t proves[] = {TAKE_SENTINEL, NAME_LAST(2), END};
  for (int way = 0; way < 4; way++)
    assert_int_equal(freed(proves, AMPLE_MS, way & 1, way & 2).lines, 0);
}

TEST(freeing_says_how_many_have_no_end) {
  for (int way = 0; way < 4; way++) {
    const said_t said = freed(record_all, 50, way & 1, way & 2);
    assert_int_equal(said.count, 2000);
    assert_int_equal(said.lines, 1);
  }
}

TEST(freeing_without_time_says_it_to_the_log_only) {
  const said_t told = freed(record_all, 0, false, true);
  assert_int_equal(told.count, 2000);
  assert_int_equal(told.lines, 1);
  assert_int_equal(freed(record_all, 0, false, false).lines, 0);
}

TEST(freeing_a_closed_session_says_nothing) {
  said_t said = {0};
  gateway_t *gateway = gateway_start(NULL, SCRIPTS(record_all));
  apns_session_options_t options = options_for(gateway);
  options.close_timeout_ms = AMPLE_MS;
  options.log = listen, options.log_context = &said;
  apns_session_t *session = session_to(gateway, &options);
  send_range(session, 0, 10);
  assert_ok(apns_session_close(session, 0, &error));
  session_end(session, gateway);
  assert_int_equal(said.lines, 0);
}

TEST(freeing_nothing) {
  apns_session_free(NULL);
  apns_credentials_free(NULL);
  apns_feedback_free(NULL);
}

TEST(credentials_may_go_first) {
  /* session_to() frees them right away; here they go while the session works. */
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_credentials_t *credentials = provider_credentials();
  apns_session_options_t options = options_for(gateway);
  apns_session_t *one = NULL, *other = NULL;
  assert_ok(apns_session_new(&options, credentials, &one, &error));
  assert_ok(apns_session_new(&options, credentials, &other, &error));
  send_range(one, 0, 5);
  apns_credentials_free(credentials);
  send_range(other, 0, 5);
  drain(one);
  send_and_drain(one, 5, 6);
  apns_session_free(one);
  drain(other);
  apns_session_free(other);
}
