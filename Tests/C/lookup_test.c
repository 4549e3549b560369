/* Names that c-ares looks up: answers that come late, wrongly or never, and what they cost. */
#include <dlfcn.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Gateway/loopback.h"
#include "Names/nameserver.h"
#include "provider.h"

enum { SHARE = 20, SKIPPED = 77 };

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
  options.host = name;
  options.server_name = "localhost";
  return options;
}

static apns_status_t connect_in_shares(apns_session_t *session, apns_error_t *error) {
  apns_status_t status;
  do status = apns_session_connect(session, error);
  while (status == APNS_ERR_TIMEOUT);
  return status;
}

static void connects(const char *name) {
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_to(gateway, name);
  apns_session_t *session = session_to(gateway, &options);
  apns_error_t error = APNS_ERROR_INIT;
  assert_ok(apns_session_connect(session, &error), &error);
  apns_session_free(session);
  gateway_stop(gateway);
}

/* The failure of a session to that name within `ms`. */
static apns_error_t fails(const char *name, uint32_t ms, apns_status_t expected) {
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_to(gateway, name);
  apns_error_t error = APNS_ERROR_INIT;
  options.connect_timeout_ms = ms;
  apns_session_t *session = session_to(gateway, &options);
  assert_status(expected, apns_session_connect(session, &error), &error);
  apns_session_free(session);
  gateway_stop(gateway);
  return error;
}

/* ---- Answers ------------------------------------------------------------------ */

static void a_name_is_looked_up(void **state) {
  (void)state;
  nameserver_queries();
  connects("fine.test");
  assert_in_range(nameserver_queries(), 1, 2);
}

static void a_name_of_etc_hosts(void **state) {
  (void)state;
  nameserver_queries();
  connects("hosted.test");
  assert_int_equal(nameserver_queries(), 0);
}

static void an_address_is_no_name(void **state) {
  (void)state;
  nameserver_queries();
  connects("127.0.0.1");
  assert_int_equal(nameserver_queries(), 0);
}

static void an_answer_that_comes_late(void **state) {
  (void)state;
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_to(gateway, "late.test");
  options.wait_max_ms = SHARE;
  apns_session_t *session = session_to(gateway, &options);
  apns_error_t error = APNS_ERROR_INIT;
  nameserver_hold();
  nameserver_queries();
  for (int n = 0; n < 3; n++)
    assert_status(APNS_ERR_TIMEOUT, apns_session_connect(session, &error), &error);
  nameserver_release();
  assert_ok(connect_in_shares(session, &error), &error);
  /* One look-up, for two kinds of addresses; a machine that was busy for seconds asks again. */
  assert_in_range(nameserver_queries(), 2, 6);
  assert_int_equal(stats_of(session).connects, 1);
  apns_session_free(session);
  gateway_stop(gateway);
}

/* Whoever asks for IPv6 hears nothing, and is content with IPv4 after half of the time. */
static void half_an_answer(void **state) {
  (void)state;
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_to(gateway, "half.test");
  options.connect_timeout_ms = (uint32_t)as_many_as(6000, 20000);
  apns_session_t *session = session_to(gateway, &options);
  apns_error_t error = APNS_ERROR_INIT;
  assert_ok(apns_session_connect(session, &error), &error);
  apns_session_free(session);
  gateway_stop(gateway);
}

static void the_first_of_two_addresses_is_dead(void **state) {
  (void)state;
  silent_address_t silent;
  gateway_t *gateway = gateway_start(NULL, NULL);
  assert_true(silent_address_open(&silent, gateway_port(gateway)));
  apns_session_options_t options = options_to(gateway, "two.test");
  options.connect_timeout_ms = (uint32_t)as_many_as(6000, 20000);
  apns_session_t *session = session_to(gateway, &options);
  apns_error_t error = APNS_ERROR_INIT;
  assert_ok(apns_session_connect(session, &error), &error);
  apns_session_free(session);
  silent_address_close(&silent);
  gateway_stop(gateway);
}

static void a_feedback_looks_its_name_up(void **state) {
  (void)state;
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  apns_feedback_t *feedback = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  options.host = "late.test";
  options.server_name = "localhost";
  options.port = gateway_port(gateway);
  options.connect_timeout_ms = AMPLE_MS;
  options.wait_max_ms = SHARE;
  nameserver_hold();
  apns_credentials_t *credentials = provider_credentials();
  assert_ok(apns_feedback_open(&options, credentials, &feedback, &error), &error);
  apns_credentials_free(credentials);
  assert_status(APNS_ERR_TIMEOUT, apns_feedback_connect(feedback, &error), &error);
  nameserver_release();
  apns_status_t status;
  while ((status = apns_feedback_connect(feedback, &error)) == APNS_ERR_TIMEOUT) continue;
  assert_ok(status, &error);
  apns_feedback_free(feedback);
  gateway_stop(gateway);
}

/* ---- Failures ------------------------------------------------------------------ */

static void no_answer(void **state) {
  (void)state;
  int64_t start = clock_ms();
  size_t before = polls;
  apns_error_t error = fails("silent.test", 1000, APNS_ERR_TIMEOUT);
  assert_within(start, 1000);
  assert_int_equal(error.cause, APNS_CAUSE_LOOKUP_TIMEOUT);
  assert_string_equal(error.message, "cannot resolve silent.test in time");
  /* It slept, but for the gateway's own threads and what libc and c-ares need. */
  assert_in_range(polls - before, 1, 40);
}

static void names_that_are_none(void **state) {
  (void)state;
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

static void a_server_that_fails(void **state) {
  (void)state;
  apns_error_t error = fails("failing.test", AMPLE_MS, APNS_ERR_NETWORK);
  assert_int_equal(error.cause, APNS_CAUSE_LOOKUP_FAILED);
  assert_contains(error.message, "cannot resolve failing.test: ");
}

static void an_answer_that_is_cut_short(void **state) {
  (void)state;
  apns_error_t error = fails("cut.test", AMPLE_MS, APNS_ERR_NETWORK);
  assert_int_equal(error.cause, APNS_CAUSE_LOOKUP_FAILED);
}

/* Some is taken for a failure, the rest for nothing. */
static void rubbish(void **state) {
  (void)state;
  for (int kind = 0; kind < RUBBISH_KINDS; kind++) {
    gateway_t *gateway = gateway_start(NULL, NULL);
    char name[] = "rubbishN.test";
    name[7] = (char)('0' + kind);
    apns_session_options_t options = options_to(gateway, name);
    options.connect_timeout_ms = 300;
    apns_session_t *session = session_to(gateway, &options);
    apns_error_t error = APNS_ERROR_INIT;
    int64_t start = clock_ms();
    assert_int_not_equal(apns_session_connect(session, &error), APNS_OK);
    assert_within(start, 300);
    assert_in_range(error.cause, APNS_CAUSE_NAME_NOT_FOUND, APNS_CAUSE_LOOKUP_TIMEOUT);
    assert_contains(error.message, "cannot resolve rubbish");
    apns_session_free(session);
    gateway_stop(gateway);
  }
}

/* ---- In the middle ------------------------------------------------------------- */

static void a_session_is_freed_while_it_looks_up(void **state) {
  (void)state;
  gateway_t *gateway = gateway_start(NULL, NULL);
  size_t before = 0;
  for (int n = 0; n < 3; n++) {
    apns_session_options_t options = options_to(gateway, n % 2 ? "half.test" : "silent.test");
    options.wait_max_ms = SHARE;
    apns_session_t *session = session_to(gateway, &options);
    apns_error_t error = APNS_ERROR_INIT;
    assert_status(APNS_ERR_TIMEOUT, apns_session_connect(session, &error), &error);
    apns_session_free(session);
    if (n == 0) before = open_descriptors();
  }
  assert_int_equal(open_descriptors(), before);
  gateway_stop(gateway);
}

static int free_it(void *session) {
  apns_session_free(session);
  return 0;
}

static void a_child_leaves_the_look_up_alone(void **state) {
  (void)state;
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_to(gateway, "late.test");
  options.wait_max_ms = SHARE;
  apns_session_t *session = session_to(gateway, &options);
  apns_error_t error = APNS_ERROR_INIT;
  nameserver_hold();
  nameserver_queries();
  assert_status(APNS_ERR_TIMEOUT, apns_session_connect(session, &error), &error);
  assert_int_equal(in_child(free_it, session), 0);
  nameserver_release();
  int64_t start = clock_ms();
  assert_ok(connect_in_shares(session, &error), &error);
  /* c-ares asks again after some seconds; this was the first answer. */
  if (clock_ms() - start < 1000) assert_int_equal(nameserver_queries(), 2);
  assert_in_range(clock_ms() - start, 0, 2000 + patience_ms());
  apns_session_free(session);
  gateway_stop(gateway);
}

/* ---- The caller's own -------------------------------------------------------------- */

static int look_up(const char *host, struct addrinfo **list, void *context) {
  (void)host;
  ++*(int *)context;
  return getaddrinfo("127.0.0.1", NULL, NULL, list);
}

static void the_callers_function_comes_first(void **state) {
  (void)state;
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_to(gateway, "fine.test");
  int calls = 0;
  options.lookup = look_up;
  options.lookup_context = &calls;
  apns_session_t *session = session_to(gateway, &options);
  apns_error_t error = APNS_ERROR_INIT;
  nameserver_queries();
  assert_ok(apns_session_connect(session, &error), &error);
  assert_int_equal(calls, 1);
  assert_int_equal(nameserver_queries(), 0);
  apns_session_free(session);
  gateway_stop(gateway);
}

int main(void) {
  identities_make();
  if (!nameserver_enter()) {
    puts("skipped: there may be no namespace with a name server of its own");
    return SKIPPED;
  }
  nameserver_start();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_name_is_looked_up),
      cmocka_unit_test(a_name_of_etc_hosts),
      cmocka_unit_test(an_address_is_no_name),
      cmocka_unit_test(an_answer_that_comes_late),
      cmocka_unit_test(half_an_answer),
      cmocka_unit_test(the_first_of_two_addresses_is_dead),
      cmocka_unit_test(a_feedback_looks_its_name_up),
      cmocka_unit_test(no_answer),
      cmocka_unit_test(names_that_are_none),
      cmocka_unit_test(a_server_that_fails),
      cmocka_unit_test(an_answer_that_is_cut_short),
      cmocka_unit_test(rubbish),
      cmocka_unit_test(a_session_is_freed_while_it_looks_up),
      cmocka_unit_test(a_child_leaves_the_look_up_alone),
      cmocka_unit_test(the_callers_function_comes_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
