/* Sessions and feedback that never wait, as promised in the section "Sessions in an event loop". */
#include <apns/sendpayload.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Gateway/loopback.h"
#include "looping.h"

/* ---- The descriptor --------------------------------------------------------- */

TEST(the_descriptor_stays_over_reconnects) {
  static const gateway_step_t cut[] = {TAKE_FRAMES(1), CLOSE_RST}, judging[] = {JUDGE, JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(cut, cut, cut, judging));
  owned(session) session = looping_where(gateway, tuning->reconnect_pause_max_ms = 1);
  const int descriptor = apns_session_fd(session);
  assert_true(descriptor >= 0);
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  assert_counts(session, 1, 1, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, 4);
  assert_int_equal(apns_session_fd(session), descriptor);
}

TEST(a_session_that_waits_has_none) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_t *session = session_to(gateway, NULL);
  assert_int_equal(apns_session_fd(session), -1);
  assert_int_equal(apns_session_timeout_ms(session), -1);
  assert_invalid(apns_session_process(session, &error), "nonblocking");
  assert_int_equal(apns_session_wake(session), APNS_ERR_ARGUMENT);
  apns_session_free(session);
  assert_int_equal(apns_session_fd(NULL), -1);
  assert_int_equal(apns_session_timeout_ms(NULL), -1);
  assert_int_equal(apns_session_process(NULL, NULL), APNS_ERR_ARGUMENT);
  assert_int_equal(apns_session_wake(NULL), APNS_ERR_ARGUMENT);
}

/* A loop that only sleeps and reads the timeout makes progress too. */
TEST(the_timeout_alone_is_enough_to_go_on) {
  static const gateway_step_t refuses[] = {NO_HANDSHAKE, CLOSE_RST};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(refuses, refuses));
  owned(session) session = looping_where(gateway, tuning->reconnect_pause_max_ms = 1);
  assert_int_equal(apns_session_timeout_ms(session), -1);
  assert_ok(apns_session_send(session, notification(0), APNS_SEND_MORE, NULL, &error));
  assert_int_equal(apns_session_timeout_ms(session), 0);
  while (apns_session_drain(session, 0, NULL, &error) == APNS_ERR_AGAIN) {
    int wait = apns_session_timeout_ms(session);
    assert_true(wait >= 0);
    poll(NULL, 0, wait > 1 ? 1 : wait);
    apns_session_process(session, NULL);
  }
  assert_counts(session, 1, 1, 0, 0, 0);
}

TEST(a_new_session_has_nothing_to_do) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = looping_where(gateway, tuning->reconnect_pause_max_ms = 1);
  assert_false(is_readable(apns_session_fd(session)));
  for (int n = 0; n < 3; n++) assert_ok(apns_session_process(session, &error));
  assert_false(is_readable(apns_session_fd(session)));
  assert_int_equal(gateway_connections(gateway), 0);
}

/* ---- Sending ------------------------------------------------------------------ */

TEST(notifications_are_taken_without_a_connection) {
  static const gateway_step_t late[] = {NO_HANDSHAKE, AWAIT(1), SHAKE_HANDS, JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(late));
  apns_session_t *session = looping_where(gateway, tuning->reconnect_pause_max_ms = 1);
  for (size_t n = 0; n < 10; n++) send_range(session, n, n + 1);
  owned(notifications) many = notifications(20);
  size_t taken = 0;
  assert_ok(apns_session_send_many(session, many + 10, 10, 0, &taken, &error));
  assert_int_equal(taken, 10);
  assert_int_equal(stats_of(session).taken, 20);
  assert_int_equal(stats_of(session).connects, 0);
  assert_status(APNS_ERR_AGAIN, apns_session_connect(session, &error));
  assert_status(APNS_ERR_AGAIN, apns_session_flush(session, &error));
  assert_status(APNS_ERR_AGAIN, apns_session_drain(session, AMPLE_MS, NULL, &error));
  gateway_signal(gateway);
  until_done(session, apns_session_connect(session, &error));
  until_done(session, apns_session_flush(session, &error));
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  assert_counts(session, 20, 20, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, 1);
  apns_session_free(session);
  assert_carry_all(gateway, 0, 20);
}

TEST(a_window_without_room_says_so) {
  static const gateway_step_t late[] = {NO_HANDSHAKE, AWAIT(1), SHAKE_HANDS, JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(late));
  owned(session) session =
      looping_where(gateway, tuning->reconnect_pause_max_ms = 1, options.window_bytes = 16 << 10,
                    options.outcomes = APNS_OUTCOMES_EACH);
  apns_status_t status;
  size_t count = 0;
  while ((status = apns_session_send(session, notification(count), 0, NULL, &error)) == APNS_OK)
    count++;
  assert_status(APNS_ERR_AGAIN, status);
  assert_true(count > 10);
  assert_int_equal(stats_of(session).taken, count);
  gateway_signal(gateway);
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  /* Untaken outcomes take up the room now. */
  count = send_until_full(session, count);
  for (size_t n = 0; n < 10; n++) assert_event(session, APNS_EVENT_ACCEPTED, 0, n);
  assert_ok(apns_session_send(session, notification(count++), 0, NULL, &error));
  for (size_t n = 10; n < count; n++) {
    apns_event_t event = APNS_EVENT_INIT;
    /* What draining finds makes the descriptor readable. */
    while (apns_session_next_event(session, &event, AMPLE_MS, &error) == APNS_DONE) {
      status = apns_session_drain(session, 0, NULL, &error);
      if (status != APNS_OK) assert_status(APNS_ERR_AGAIN, status);
      turn_quietly(session);
    }
  }
  assert_counts(session, count, count, 0, 0, 0);
}

TEST(what_waits_for_more_is_written_by_process) {
  static const gateway_step_t judging[] = {JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(judging));
  owned(session) session = looping_where(gateway, tuning->reconnect_pause_max_ms = 1);
  until_done(session, apns_session_connect(session, &error));
  assert_ok(apns_session_process(session, &error));
  assert_false(is_readable(apns_session_fd(session)));
  assert_ok(apns_session_send(session, notification(0), APNS_SEND_MORE, NULL, &error));
  assert_int_equal(stats_of(session).bytes, 0);
  turn_quietly(session);
  assert_true(stats_of(session).bytes > 0);
  gateway_await_frames(gateway, 0, 1);
}

/* Outcomes are taken after apns_session_process(), no matter which call found them. */
TEST(what_another_call_finds_wakes_the_loop) {
  static const gateway_step_t judging[] = {JUDGE, END};
  static const uint8_t bad[32] = {[30] = 0xFF, [31] = 0xFF};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(judging));
  owned(session) session = looping_where(gateway, tuning->reconnect_pause_max_ms = 1);
  apns_notification_t push = *notification(0);
  push.token = bad;
  push.token_length = sizeof bad;
  until_done(session, apns_session_connect(session, &error));
  assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  while (stats_of(session).events == 0) apns_session_flush(session, NULL);
  assert_true(is_readable(apns_session_fd(session)));
  assert_ok(apns_session_process(session, &error));
  /* It is known of now, whenever it is taken. */
  apns_session_flush(session, NULL);
  assert_false(is_readable(apns_session_fd(session)));
  assert_event(session, APNS_EVENT_REJECTED, 8, 0);
  assert_ok(apns_session_process(session, &error));
  assert_false(is_readable(apns_session_fd(session)));
}

/* ---- News ---------------------------------------------------------------------- */

TEST(a_failed_connection_is_news_and_no_end) {
  static const gateway_step_t refuses[] = {NO_HANDSHAKE, CLOSE_RST}, judging[] = {JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(refuses, refuses, judging));
  owned(session) session = looping_where(gateway, tuning->reconnect_pause_max_ms = 1);
  size_t news = 0;
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  while (stats_of(session).unresolved) {
    apns_status_t status = turn(session);
    /* The usual work of a loop proves it, once the call has requested it. */
    apns_session_drain(session, 0, NULL, NULL);
    if (status == APNS_OK) continue;
    news++;
    assert_status(APNS_ERR_NETWORK, status);
    assert_int_equal(error.status, status);
    assert_true(error.cause == APNS_CAUSE_HANDSHAKE_ENDED ||
                error.cause == APNS_CAUSE_CONNECTION_FAILED);
  }
  assert_in_range(news, 1, 2);
  assert_counts(session, 1, 1, 0, 0, 0);
}

TEST(nobody_listens_and_a_pause_wakes_the_loop) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  gateway_accept_no_more(gateway);
  owned(session) session = looping_where(gateway, tuning->reconnect_pause_max_ms = 1);
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  for (int news = 0; news < 5;) {
    apns_status_t status = turn(session);
    if (status == APNS_OK) continue;
    assert_caused(APNS_ERR_NETWORK, status, APNS_CAUSE_CONNECTION_REFUSED);
    news++;
  }
  assert_counts(session, 1, 0, 0, 0, 1);
}

/* ---- Waking ----------------------------------------------------------------------- */

static apns_session_t *woken;

static void *wakes(void *unused) {
  for (int n = 0; n < 3; n++)
    if (apns_session_wake(woken)) return woken;
  return unused;
}

static void wakes_on_signal(int number) {
  (void)number;
  apns_session_wake(woken);
}

TEST(a_thread_and_a_signal_wake_the_loop) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  pthread_t worker;
  woken = looping_where(gateway, tuning->reconnect_pause_max_ms = 1);
  const int descriptor = apns_session_fd(woken);
  assert_int_equal(pthread_create(&worker, NULL, wakes, NULL), 0);
  assert_ok(turn(woken));
  void *failed;
  pthread_join(worker, &failed);
  assert_null(failed);
  /* It may have woken the loop again since. */
  assert_ok(apns_session_process(woken, &error));
  assert_false(is_readable(descriptor));
  struct sigaction action = {.sa_handler = wakes_on_signal}, before;
  sigaction(SIGUSR1, &action, &before);
  raise(SIGUSR1);
  sigaction(SIGUSR1, &before, NULL);
  assert_true(is_readable(descriptor));
  assert_ok(apns_session_process(woken, &error));
  assert_false(is_readable(descriptor));
  apns_session_free(woken);
}

/* ---- Closing ------------------------------------------------------------------------ */

TEST(closing_takes_its_turns) {
  static const gateway_step_t late[] = {TAKE_SENTINEL, AWAIT(1), NAME_LAST(2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(late));
  owned(session) session = looping_where(gateway, tuning->reconnect_pause_max_ms = 1);
  until_done(session, apns_session_connect(session, &error));
  for (size_t n = 0; n < 5; n++) send_range(session, n, n + 1);
  for (int n = 0; n < 3; n++)
    assert_status(APNS_ERR_AGAIN, apns_session_close(session, AMPLE_MS, &error));
  assert_status(APNS_ERR_CLOSED, apns_session_send(session, notification(5), 0, NULL, &error));
  gateway_signal(gateway);
  apns_status_t status;
  while ((status = turn(session)) == APNS_OK) continue;
  assert_status(APNS_DONE, status);
  assert_ok(apns_session_close(session, 0, &error));
  assert_status(APNS_DONE, apns_session_process(session, &error));
  assert_counts(session, 5, 5, 0, 0, 0);
  assert_false(is_readable(apns_session_fd(session)));
  assert_int_equal(apns_session_timeout_ms(session), -1);
}

TEST(closing_ends_by_its_deadline) {
  static const gateway_step_t silent[] = {TAKE_FRAMES(5), AWAIT(1), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(silent));
  owned(session) session = looping_where(gateway, tuning->reconnect_pause_max_ms = 1,
                                         options.outcomes = APNS_OUTCOMES_EACH);
  until_done(session, apns_session_connect(session, &error));
  for (size_t n = 0; n < 5; n++) send_range(session, n, n + 1);
  const int64_t start = clock_ms();
  assert_status(APNS_ERR_AGAIN, apns_session_close(session, 200, &error));
  /* The first call's deadline counts. */
  assert_status(APNS_ERR_AGAIN, apns_session_close(session, AMPLE_MS, &error));
  apns_status_t status;
  while ((status = turn(session)) == APNS_OK) continue;
  assert_status(APNS_DONE, status);
  assert_true(clock_ms() - start >= 200);
  assert_within(start, 200);
  assert_counts(session, 5, 0, 0, 5, 0);
  for (size_t n = 0; n < 5; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
}

TEST(closing_without_a_connection_ends_at_once) {
  static const gateway_step_t mute[] = {NO_HANDSHAKE, STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(mute));
  owned(session) session = looping_where(gateway, tuning->reconnect_pause_max_ms = 1);
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  until_done(session, apns_session_close(session, AMPLE_MS, &error));
  assert_counts(session, 1, 0, 0, 1, 0);
  assert_false(is_readable(apns_session_fd(session)));
}

/* ---- A child of the process ------------------------------------------------------------ */

static int frees_in_the_child(void *argument) {
  owned(session) session = argument;
  CHILD_REQUIRE(apns_session_fd(session) == -1);
  CHILD_REQUIRE(apns_session_timeout_ms(session) == -1);
  CHILD_REQUIRE(apns_session_process(session, NULL) == APNS_ERR_FORKED);
  CHILD_REQUIRE(apns_session_wake(session) == APNS_ERR_FORKED);
  return 0;
}

TEST(a_child_does_not_disturb_the_loop) {
  skip_unless_pages_are_wiped_on_fork();
  static const gateway_step_t judging[] = {JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(judging));
  owned(session) session = looping_where(gateway, tuning->reconnect_pause_max_ms = 1);
  int outer = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  assert_int_equal(epoll_ctl(outer, EPOLL_CTL_ADD, apns_session_fd(session), &event), 0);
  until_done(session, apns_session_connect(session, &error));
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  assert_child_is_fine(frees_in_the_child, session);
  assert_ok(apns_session_send(session, notification(1), 0, NULL, &error));
  while (apns_session_drain(session, 0, NULL, &error) == APNS_ERR_AGAIN) {
    assert_int_equal(epoll_wait(outer, &event, 1, AMPLE_MS), 1);
    assert_ok(apns_session_process(session, &error));
  }
  assert_counts(session, 2, 2, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, 1);
  close(outer);
}

/* ---- No descriptors ----------------------------------------------------------------------- */

TEST(a_session_without_descriptors_is_not_made) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_for(gateway);
  options.peer.nonblocking = 1;
  owned(credentials) credentials = provider_credentials();
  struct rlimit before, none;
  const size_t open = open_descriptors();
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  for (int left = 0; left < 3; left++) {
    apns_session_t *session = NULL;
    int taken[3];
    /* Leaves exactly `left` descriptors free. */
    none = before;
    int highest = 0;
    for (int n = 0; n < 3; n++) taken[n] = -1;
    for (int n = 0; n < left; n++) {
      taken[n] = dup(0);
      if (taken[n] > highest) highest = taken[n];
    }
    int next = dup(0);
    none.rlim_cur = (rlim_t)next;
    close(next);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int n = 0; n < left; n++) close(taken[n]);
    apns_status_t status = apns_session_new(&options, credentials, &session, &error);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_caused(APNS_ERR_MEMORY, status, APNS_CAUSE_DESCRIPTORS);
    assert_null(session);
    assert_int_equal(open_descriptors(), open);
  }
}

/* ---- Feedback ------------------------------------------------------------------------------ */

TEST(a_feedback_in_the_loop) {
  static const uint8_t list[] = {0, 0, 0, 7, 0, 2, 0xab, 0xcd, 0, 0, 0, 8, 0, 1, 0xef};
  const gateway_step_t script[] = {
      NO_HANDSHAKE, AWAIT(1), SHAKE_HANDS, AWAIT(2), SAY_PIECEMEAL(list, sizeof list), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  apns_feedback_t *feedback = feedback_where(gateway, options.peer.nonblocking = 1);
  const int descriptor = apns_feedback_fd(feedback);
  assert_true(descriptor >= 0);
  for (int n = 0; n < 3; n++)
    assert_status(APNS_ERR_AGAIN, apns_feedback_next(feedback, &tuple, &error));
  gateway_signal(gateway);
  gateway_signal(gateway);
  size_t tuples = 0;
  while (true) {
    apns_status_t status = apns_feedback_next(feedback, &tuple, &error);
    if (status == APNS_DONE) break;
    if (status == APNS_OK) {
      assert_int_equal(tuple.timestamp, 7 + tuples++);
      continue;
    }
    assert_status(APNS_ERR_AGAIN, status);
    struct pollfd watched = {.fd = descriptor, .events = POLLIN};
    assert_int_equal(poll(&watched, 1, AMPLE_MS), 1);
  }
  assert_int_equal(tuples, 2);
  assert_int_equal(apns_feedback_fd(feedback), descriptor);
  apns_feedback_free(feedback);
  assert_int_equal(apns_feedback_fd(NULL), -1);
}

/* The descriptor also shows when a timeout passes. */
TEST(a_feedback_that_says_nothing_ends_in_time) {
  static const gateway_step_t mute[] = {NO_HANDSHAKE, STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(mute));
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  const int64_t start = clock_ms();
  owned(feedback) feedback =
      feedback_where(gateway, options.peer.connect_timeout_ms = 100, options.peer.nonblocking = 1);
  apns_status_t status;
  while ((status = apns_feedback_next(feedback, &tuple, &error)) == APNS_ERR_AGAIN) {
    struct pollfd watched = {.fd = apns_feedback_fd(feedback), .events = POLLIN};
    assert_int_equal(poll(&watched, 1, AMPLE_MS), 1);
  }
  assert_status(APNS_ERR_TIMEOUT, status);
  assert_within(start, 100);
}

/* ---- Pasted code ------------------------------------------------------------------------------
 */

TEST(send_payload_takes_without_waiting) {
  static char token[DEVICE_BINARY_SIZE], payload[] = "{\"aps\":{}}";
  static const gateway_step_t late[] = {NO_HANDSHAKE, AWAIT(1), SHAKE_HANDS, JUDGE, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(late));
  owned(session) session =
      looping_where(gateway, tuning->reconnect_pause_max_ms = 1, options.window_bytes = 16 << 10);
  SSL *ssl = apns_session_ssl(session);
  uint64_t count = 0;
  assert_non_null(ssl);
  while (sendPayload(ssl, token, payload, strlen(payload))) count++;
  assert_true(count > 10);
  assert_int_equal(stats_of(session).taken, count);
  gateway_signal(gateway);
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  assert_counts(session, count, count, 0, 0, 0);
  assert_true(sendPayload(ssl, token, payload, strlen(payload)));
}
