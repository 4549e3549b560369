/* Names that c-ares resolves: answers that come late, are wrong or never come, and their cost. */
#include <dlfcn.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Gateway/loopback.h"
#include "Names/nameserver.h"
#include "provider.h"

enum { SHARE = 20 };

static _Atomic size_t polls, libc_lookups;

/* Both linked before libc's. */
int poll(struct pollfd *entries, nfds_t count, int timeout) {
  int (*system)(struct pollfd *, nfds_t, int);
  *(void **)&system = dlsym(RTLD_NEXT, "poll");
  polls++;
  return system(entries, count, timeout);
}

struct addrinfo;
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **list) {
  int (*system)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  *(void **)&system = dlsym(RTLD_NEXT, "getaddrinfo");
  libc_lookups++;
  return system(name, service, hints, list);
}

static apns_session_options_t options_to(const gateway_t *gateway, const char *name) {
  apns_session_options_t options = options_for(gateway);
  options.peer.host = name;
  options.peer.server_name = "localhost";
  return options;
}

static apns_status_t connect_in_shares(apns_session_t *session) {
  apns_status_t status;
  do status = apns_session_connect(session, &error);
  while (status == APNS_ERR_TIMEOUT);
  return status;
}

static void connects(const char *name) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_to(gateway, name);
  owned(session) session = session_to(gateway, &options);
  assert_ok(apns_session_connect(session, &error));
}

/* The failure of a session to that name within `ms`. */
static apns_error_t fails(const char *name, uint32_t ms, apns_status_t expected) {
  FORGET_ERROR();
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_to(gateway, name);
  options.peer.connect_timeout_ms = ms;
  owned(session) session = session_to(gateway, &options);
  assert_status(expected, apns_session_connect(session, &error));
  return error;
}

/* ---- Answers ------------------------------------------------------------------ */

TEST(a_name_is_looked_up) {
  nameserver_queries();
  connects("fine.test");
  assert_in_range(nameserver_queries(), 1, 2);
}

TEST(a_name_of_etc_hosts) {
  nameserver_queries();
  connects("hosted.test");
  assert_int_equal(nameserver_queries(), 0);
}

TEST(an_address_is_no_name) {
  nameserver_queries();
  connects("127.0.0.1");
  assert_int_equal(nameserver_queries(), 0);
}

TEST(an_answer_that_comes_late) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_to(gateway, "late.test");
  options.peer.wait_max_ms = SHARE;
  owned(session) session = session_to(gateway, &options);
  nameserver_hold();
  nameserver_queries();
  for (int n = 0; n < 3; n++)
    assert_status(APNS_ERR_TIMEOUT, apns_session_connect(session, &error));
  nameserver_release();
  assert_ok(connect_in_shares(session));
  /* One resolution, for two kinds of addresses; c-ares repeats it if the machine was busy. */
  assert_in_range(nameserver_queries(), 2, 6);
  assert_int_equal(stats_of(session).connects, 1);
}

/* The number of queries that the name server receives for one connection to the name. */
static size_t queries_for(const char *name) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_to(gateway, name);
  options.peer.connect_timeout_ms = AMPLE_MS;
  owned(session) session = session_to(gateway, &options);
  nameserver_queries();
  assert_ok(apns_session_connect(session, &error));
  return nameserver_queries();
}

/* The IPv6 query gets no answer, and the session uses IPv4 before many repeated queries. */
TEST(half_an_answer) { assert_in_range(queries_for("half.test"), 2, 3); }

/* There is no IPv6, and the first IPv4 query gets no answer. */
TEST(the_other_half_is_late) { assert_in_range(queries_for("slow.test"), 3, 6); }

TEST(the_first_of_two_addresses_is_dead) {
  silent_address_t silent;
  owned(gateway) gateway = gateway_start(NULL, NULL);
  assert_true(silent_address_open(&silent, gateway_port(gateway)));
  apns_session_options_t options = options_to(gateway, "two.test");
  options.peer.connect_timeout_ms = (uint32_t)as_many_as(6000, 20000);
  owned(session) session = session_to(gateway, &options);
  assert_ok(apns_session_connect(session, &error));
  silent_address_close(&silent);
}

TEST(a_feedback_looks_its_name_up) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  nameserver_hold();
  owned(feedback) feedback =
      feedback_where(gateway, options.peer.host = "late.test",
                     options.peer.server_name = "localhost", options.peer.wait_max_ms = SHARE);
  assert_status(APNS_ERR_TIMEOUT, apns_feedback_connect(feedback, &error));
  nameserver_release();
  apns_status_t status;
  while ((status = apns_feedback_connect(feedback, &error)) == APNS_ERR_TIMEOUT) continue;
  assert_ok(status);
}

/* ---- Failures ------------------------------------------------------------------ */

TEST(no_answer) {
  int64_t start = clock_ms();
  size_t before = polls;
  apns_error_t error = fails("silent.test", 1000, APNS_ERR_TIMEOUT);
  assert_within(start, 1000);
  assert_int_equal(error.cause, APNS_CAUSE_LOOKUP_TIMEOUT);
  assert_string_equal(error.message, "cannot resolve silent.test in time");
  /* It slept: only the gateway's own threads, libc and c-ares poll. */
  assert_in_range(polls - before, 1, 40);
}

TEST(names_that_are_none) {
  const char *const names[] = {"nobody.test", "none.test", "not a name", "a..b"};
  for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
    apns_error_t error = fails(names[index], AMPLE_MS, APNS_ERR_NETWORK);
    if (index < 2) assert_int_equal(error.cause, APNS_CAUSE_NAME_NOT_FOUND);
    assert_contains(error.message, "cannot resolve ");
    assert_contains(error.message, names[index]);
  }
  assert_contains(fails("nobody.test", AMPLE_MS, APNS_ERR_NETWORK).message,
                  "cannot resolve nobody.test: Domain name not found");
}

TEST(a_server_that_fails) {
  apns_error_t error = fails("failing.test", AMPLE_MS, APNS_ERR_NETWORK);
  assert_int_equal(error.cause, APNS_CAUSE_LOOKUP_FAILED);
  assert_contains(error.message, "cannot resolve failing.test: ");
}

TEST(an_answer_that_is_cut_short) {
  apns_error_t error = fails("cut.test", AMPLE_MS, APNS_ERR_NETWORK);
  assert_int_equal(error.cause, APNS_CAUSE_LOOKUP_FAILED);
}

/* Some rubbish counts as a failure; c-ares ignores the rest. */
TEST(rubbish) {
  for (int kind = 0; kind < RUBBISH_KINDS; kind++) {
    FORGET_ERROR();
    owned(gateway) gateway = gateway_start(NULL, NULL);
    char name[] = "rubbishN.test";
    name[7] = (char)('0' + kind);
    apns_session_options_t options = options_to(gateway, name);
    options.peer.connect_timeout_ms = 300;
    owned(session) session = session_to(gateway, &options);
    int64_t start = clock_ms();
    assert_int_not_equal(apns_session_connect(session, &error), APNS_OK);
    assert_within(start, 300);
    assert_in_range(error.cause, APNS_CAUSE_NAME_NOT_FOUND, APNS_CAUSE_LOOKUP_TIMEOUT);
    assert_contains(error.message, "cannot resolve rubbish");
  }
}

/* ---- In the middle ------------------------------------------------------------- */

TEST(a_session_is_freed_while_it_looks_up) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  size_t before = 0;
  for (int n = 0; n < 3; n++) {
    apns_session_options_t options = options_to(gateway, n % 2 ? "half.test" : "silent.test");
    options.peer.wait_max_ms = SHARE;
    apns_session_t *session = session_to(gateway, &options);
    assert_status(APNS_ERR_TIMEOUT, apns_session_connect(session, &error));
    apns_session_free(session);
    if (n == 0) before = open_descriptors();
  }
  assert_int_equal(open_descriptors(), before);
}

static int free_it(void *session) {
  apns_session_free(session);
  return 0;
}

TEST(a_child_leaves_the_look_up_alone) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_to(gateway, "late.test");
  options.peer.wait_max_ms = SHARE;
  owned(session) session = session_to(gateway, &options);
  nameserver_hold();
  nameserver_queries();
  assert_status(APNS_ERR_TIMEOUT, apns_session_connect(session, &error));
  assert_child_is_fine(free_it, session);
  nameserver_release();
  int64_t start = clock_ms();
  assert_ok(connect_in_shares(session));
  /* c-ares repeats the query after some seconds; this was the first answer. */
  if (clock_ms() - start < 1000) assert_int_equal(nameserver_queries(), 2);
  assert_in_range(clock_ms() - start, 0, 2000 + patience_ms());
}

/* ---- The caller's own -------------------------------------------------------------- */

static int look_up(const char *host, struct addrinfo **list, void *context) {
  (void)host;
  ++*(int *)context;
  return getaddrinfo("127.0.0.1", NULL, NULL, list);
}

TEST(the_callers_function_comes_first) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_to(gateway, "fine.test");
  int calls = 0;
  options.peer.lookup = look_up;
  options.peer.lookup_context = &calls;
  owned(session) session = session_to(gateway, &options);
  nameserver_queries();
  assert_ok(apns_session_connect(session, &error));
  assert_int_equal(calls, 1);
  assert_int_equal(nameserver_queries(), 0);
}

void before_all(void) {
  identities_make();
  if (!nameserver_enter()) {
    puts("skipped: this needs a namespace with a name server");
    exit(SKIPPED);
  }
  nameserver_start();
}
