/* Nothing waits past its deadline, and nothing is lost by a deadline. */
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "clock.h"
#include "provider.h"
#include "sockets.h"

/* A name of two addresses, and the first does not answer; linked before libc's. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **list) {
  int (*system)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  *(void **)&system = dlsym(RTLD_NEXT, "getaddrinfo");
  if (!name || strcmp(name, "two.addresses.test") != 0) return system(name, service, hints, list);
  struct addrinfo *second = NULL;
  int code = system("127.0.0.2", service, hints, list);
  if (code == 0) code = system("127.0.0.1", service, hints, &second);
  if (code == 0) (*list)->ai_next = second;
  return code;
}

/* ---- Time --------------------------------------------------------------- */

/* The limit is long, so that a busy machine does not pass it too early. */
enum { LIMIT_MS = 30000 };

static apns_session_options_t limited_options(const gateway_t *gateway) {
  apns_session_options_t options = options_for(gateway);
  options.peer.connect_timeout_ms = tuning_of(&options)->write_timeout_ms = LIMIT_MS;
  return options;
}

/* Timeouts are long, so that a busy machine keeps them, and the clock is moved through them, a
   second in some ms, as long as the library has made no more sockets than `sockets`. A signal wakes
   a waiting thread, to look at the clock. */
static struct hurry {
  pthread_t thread, waiting;
  size_t sockets;
  int stop;
} hurry;

static void *move_clock(void *unused) {
  (void)unused;
  struct pollfd entry = {hurry.stop, POLLIN, 0};
  while (poll(&entry, 1, 5) == 0) {
    if (sockets_made() <= hurry.sockets) clock_forward(1000);
    pthread_kill(hurry.waiting, SIGALRM);
  }
  return NULL;
}

static void wake(int number) { (void)number; }

static void hurry_while(size_t sockets) {
  struct sigaction action = {.sa_handler = wake};
  sigaction(SIGALRM, &action, NULL);
  sockets_reset();
  hurry.sockets = sockets;
  hurry.waiting = pthread_self();
  hurry.stop = eventfd(0, EFD_CLOEXEC);
  pthread_create(&hurry.thread, NULL, move_clock, NULL);
}

static void hurry_no_more(void) {
  eventfd_write(hurry.stop, 1);
  pthread_join(hurry.thread, NULL);
  close(hurry.stop);
  /* The handler stays: valgrind may deliver the last signal after this. */
}

/* The call ended at its deadline, on the clock that was moved. */
static void assert_took(int64_t start, int64_t limit) {
  assert_in_range(clock_ms() - start, limit - 1, limit + patience_ms());
}

/* ---- Connecting --------------------------------------------------------- */

TEST(a_peer_that_does_not_shake_hands) {
  const gateway_step_t script[] = {NO_HANDSHAKE, STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_options_t options = limited_options(gateway);
  owned(session) session = session_to(gateway, &options);
  int64_t start = clock_ms();
  hurry_while(SIZE_MAX);
  apns_status_t status = apns_session_connect(session, &error);
  hurry_no_more();
  assert_status(APNS_ERR_TIMEOUT, status);
  assert_took(start, LIMIT_MS);
  assert_contains(error.message, "handshake");
  assert_contains(error.message, "127.0.0.1");
  /* The next one answers. */
  assert_ok(apns_session_connect(session, &error));
  assert_ok(apns_session_connect(session, &error));
  assert_int_equal(stats_of(session).connects, 1);
}

/* Bytes now and then do not move the deadline of the handshake. */
TEST(a_send_to_a_peer_that_does_not_shake_hands) {
  const gateway_step_t script[] = {NO_HANDSHAKE, TAKE_RAW(50), STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_options_t options = limited_options(gateway);
  owned(session) session = session_to(gateway, &options);
  int64_t start = clock_ms();
  hurry_while(SIZE_MAX);
  apns_status_t status = apns_session_send(session, notification(0), 0, NULL, &error);
  hurry_no_more();
  assert_status(APNS_ERR_TIMEOUT, status);
  assert_took(start, LIMIT_MS);
  assert_counts(session, 0, 0, 0, 0, 0);
}

TEST(a_port_nobody_listens_on) {
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_for(gateway);
  owned(session) session = session_to(gateway, &options);
  gateway_stop(gateway);
  char place[64];
  snprintf(place, sizeof place, "127.0.0.1:%d", options.peer.port);
  assert_status(APNS_ERR_NETWORK, apns_session_connect(session, &error));
  assert_int_equal(error.sys_errno, ECONNREFUSED);
  assert_contains(error.message, place);
  assert_contains(error.message, strerror(ECONNREFUSED));
  assert_status(APNS_ERR_NETWORK, apns_session_send(session, notification(0), 0, NULL, &error));
  size_t taken = 9;
  assert_status(APNS_ERR_NETWORK,
                apns_session_send_many(session, notification(0), 1, 0, &taken, &error));
  assert_int_equal(taken, 0);
  assert_counts(session, 0, 0, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, 0);
}

TEST(a_name_that_is_none) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_where(gateway, options.peer.host = "not a name");
  assert_fails(APNS_ERR_NETWORK, apns_session_connect(session, &error),
               "cannot resolve not a name");
}

TEST(every_address_of_a_name_is_tried) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_where(gateway, options.peer.host = "two.addresses.test",
                                         options.peer.server_name = "localhost");
  assert_ok(apns_session_connect(session, &error));
}

TEST(an_address_that_never_answers) {
  silent_address_t silent;
  gateway_t *gateway = gateway_start(NULL, NULL);
  if (!silent_address_open(&silent, gateway_port(gateway))) {
    gateway_stop(gateway);
    skip();
  }
  apns_session_options_t options = limited_options(gateway);
  options.peer.host = "127.0.0.2";
  options.peer.server_name = "localhost";
  apns_session_t *session = session_to(gateway, &options);
  int64_t start = clock_ms();
  hurry_while(SIZE_MAX);
  apns_status_t status = apns_session_connect(session, &error);
  hurry_no_more();
  assert_status(APNS_ERR_TIMEOUT, status);
  assert_took(start, LIMIT_MS);
  apns_session_free(session);
  /* It may not use up the time of the address after it. */
  options.peer.host = "two.addresses.test";
  options.peer.connect_timeout_ms = AMPLE_MS;
  session = session_to(gateway, &options);
  start = clock_ms();
  hurry_while(1);
  status = apns_session_connect(session, &error);
  hurry_no_more();
  assert_ok(status);
  assert_in_range(clock_ms() - start, 249, AMPLE_MS / 2 - 1);
  apns_session_free(session);
  silent_address_close(&silent);
  gateway_stop(gateway);
}

/* ---- Writing ------------------------------------------------------------ */

TEST(a_peer_that_reads_no_more) {
  const gateway_step_t script[] = {TAKE_FRAMES(1), STALL};
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.receive_buffer = 4096}, SCRIPTS(script));
  apns_session_options_t options = limited_options(gateway);
  options.window_bytes = 16 << 20;
  apns_session_t *session = session_to(gateway, &options);
  send_range(session, 0, 1);
  gateway_await_step(gateway, 0, 1);
  /* More than the socket's buffers hold. */
  const size_t count = 60000;
  owned(notifications) all = notifications(count);
  size_t taken = 0;
  int64_t start = clock_ms();
  assert_ok(apns_session_send_many(session, all + 1, count - 1, APNS_SEND_MORE, &taken, &error));
  assert_int_equal(taken, count - 1);
  size_t unresolved = 0;
  hurry_while(SIZE_MAX);
  apns_status_t status = apns_session_drain(session, 120000, &unresolved, &error);
  hurry_no_more();
  assert_fails(APNS_ERR_TIMEOUT, status, "the peer took no data for 30000 ms");
  assert_int_equal(error.cause, APNS_CAUSE_WRITE_TIMEOUT);
  assert_took(start, LIMIT_MS);
  assert_int_equal(unresolved, count);
  assert_counts(session, count, 0, 0, 0, count);
  /* All of it is resent on a connection whose peer reads. */
  drain(session);
  assert_counts(session, count, count, 0, 0, 0);
  apns_session_free(session);
  assert_carry_all(gateway, 1, count);
}

TEST(a_flush_goes_on_where_the_last_one_stopped) {
  const gateway_step_t first[] = {TAKE_FRAMES(3), CLOSE_RST};
  const gateway_step_t second[] = {NO_HANDSHAKE, CLOSE_RST};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, second));
  apns_session_t *session = session_to(gateway, NULL);
  send_range(session, 0, 3);
  gateway_heard(gateway, 0);
  assert_no_event(session);
  assert_status(APNS_ERR_NETWORK, apns_session_flush(session, &error));
  assert_counts(session, 3, 0, 0, 0, 3);
  assert_ok(apns_session_flush(session, &error));
  drain(session);
  assert_counts(session, 3, 3, 0, 0, 0);
  apns_session_free(session);
  assert_same_frames(gateway_heard(gateway, 2), gateway_heard(gateway, 0), 0, 3);
}

/* ---- Draining ----------------------------------------------------------- */

TEST(a_drain_has_its_own_deadline) {
  const gateway_step_t script[] = {TAKE_SENTINEL, AWAIT(1), NAME_LAST(2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_t *session = session_to(gateway, NULL);
  send_range(session, 0, 10);
  size_t unresolved = 0;
  int64_t start = clock_ms();
  assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 0, &unresolved, &error));
  assert_within(start, 0);
  assert_int_equal(unresolved, 10);
  start = clock_ms();
  assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 200, &unresolved, &error));
  assert_true(clock_ms() - start >= 199);
  assert_within(start, 200);
  assert_contains(error.message, "10 notifications");
  assert_int_equal(unresolved, 10);
  /* Later calls continue, and the session sends the sentinel once. */
  gateway_signal(gateway);
  send_range(session, 10, 12);
  assert_ok(apns_session_drain(session, AMPLE_MS, &unresolved, &error));
  assert_int_equal(unresolved, 0);
  assert_counts(session, 12, 12, 0, 0, 0);
  assert_int_equal(stats_of(session).resent, 0);
  apns_session_free(session);
  assert_int_equal(notifications_in(gateway_heard(gateway, 0)), 10);
  assert_int_equal(gateway_heard(gateway, 0)->frame_count, 11);
  assert_int_equal(notifications_in(gateway_heard(gateway, 1)), 2);
}

TEST(a_drain_without_end_ends_with_the_options) {
  const gateway_step_t script[] = {TAKE_SENTINEL, STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script, script));
  owned(session) session =
      session_where(gateway, options.peer.connect_timeout_ms = 12000,
                    tuning->write_timeout_ms = 8000, tuning->answer_timeout_ms = 30000);
  send_range(session, 0, 3);
  int64_t start = clock_ms();
  hurry_while(SIZE_MAX);
  apns_status_t status = apns_session_drain(session, APNS_TIMEOUT_DEFAULT, NULL, &error);
  hurry_no_more();
  assert_status(APNS_ERR_TIMEOUT, status);
  assert_took(start, 50000);
  assert_counts(session, 3, 0, 0, 0, 3);
}

TEST(a_drain_while_the_gateway_is_away) {
  const gateway_step_t script[] = {TAKE_FRAMES(3), CLOSE_RST};
  gateway_t *gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_options_t options = options_for(gateway);
  owned(session) session = session_to(gateway, &options);
  send_range(session, 0, 3);
  gateway_heard(gateway, 0);
  gateway_stop(gateway);
  for (int round = 0; round < 3; round++) {
    size_t unresolved = 0;
    int64_t start = clock_ms();
    apns_status_t status = apns_session_drain(session, 100, &unresolved, &error);
    assert_true(status == APNS_ERR_NETWORK || status == APNS_ERR_TIMEOUT);
    assert_within(start, 100);
    assert_int_equal(unresolved, 3);
    assert_counts(session, 3, 0, 0, 0, 3);
  }
}

/* ---- Events ------------------------------------------------------------- */

enum { LATE_MS = 120000 };

static void *answer_late(void *gateway) {
  const int64_t start = clock_ms();
  while (clock_ms() - start < LATE_MS) poll(NULL, 0, 1);
  gateway_signal(gateway);
  return NULL;
}

TEST(events_are_waited_for_as_long_as_said) {
  const gateway_step_t script[] = {TAKE_FRAMES(3), AWAIT(1), NAME_NTH(8, 1), STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_options_t options = options_for(gateway);
  owned(session) session = session_to(gateway, &options);
  apns_event_t event = APNS_EVENT_INIT;
  int64_t start = clock_ms();
  /* With nothing in flight there is nothing to wait for. */
  assert_status(APNS_DONE, apns_session_next_event(session, &event, APNS_TIMEOUT_DEFAULT, &error));
  assert_within(start, 0);
  send_range(session, 0, 3);
  start = clock_ms();
  assert_status(APNS_DONE, apns_session_next_event(session, &event, 0, &error));
  assert_within(start, 0);
  start = clock_ms();
  assert_status(APNS_DONE, apns_session_next_event(session, &event, 200, &error));
  assert_true(clock_ms() - start >= 199);
  assert_within(start, 200);
  start = clock_ms();
  pthread_t answering;
  assert_int_equal(pthread_create(&answering, NULL, answer_late, gateway), 0);
  hurry_while(SIZE_MAX);
  apns_status_t status = apns_session_next_event(session, &event, APNS_TIMEOUT_INFINITE, &error);
  hurry_no_more();
  pthread_join(answering, NULL);
  assert_ok(status);
  assert_true(clock_ms() - start >= LATE_MS);
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  assert_ptr_equal(event.user_data, (void *)2);
}

TEST(events_are_waited_for_by_default) {
  const gateway_step_t script[] = {TAKE_FRAMES(3), STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(session) session =
      session_where(gateway, options.peer.connect_timeout_ms = 30000,
                    tuning->write_timeout_ms = 20000, tuning->answer_timeout_ms = 30000);
  apns_event_t event = APNS_EVENT_INIT;
  send_range(session, 0, 3);
  int64_t start = clock_ms();
  hurry_while(SIZE_MAX);
  apns_status_t status = apns_session_next_event(session, &event, APNS_TIMEOUT_DEFAULT, &error);
  hurry_no_more();
  assert_status(APNS_DONE, status);
  assert_took(start, 80000);
}

/* ---- Signals ------------------------------------------------------------ */

static volatile sig_atomic_t alarms;
static void count_alarm(int number) {
  (void)number;
  alarms++;
}

TEST(a_signal_neither_ends_nor_prolongs_a_wait) {
  const gateway_step_t script[] = {TAKE_SENTINEL, STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(session) session = session_to(gateway, NULL);
  send_range(session, 0, 3);
  /* It stays: the last of them may come late, and end the program if nothing takes it. */
  struct sigaction action = {.sa_handler = count_alarm};
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval every = {{0, 20000}, {0, 20000}}, never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &every, NULL);
  /* As many waits as it takes: on a busy machine signals are few. */
  for (int rounds = 0; alarms < 3; rounds++) {
    int64_t start = clock_ms();
    assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 400, NULL, &error));
    assert_true(clock_ms() - start >= 399);
    assert_within(start, 400);
    assert_in_range(rounds, 0, 100);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  assert_counts(session, 3, 0, 0, 0, 3);
}
