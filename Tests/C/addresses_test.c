/* The option addresses: no name is looked up, and the certificate is still the name's. */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "Gateway/loopback.h"
#include "looping.h"
#include "proxy.h"

static int never_asked(const char *host, struct addrinfo **list, void *context) {
  (void)host, (void)list, (void)context;
  fail_msg("a name was looked up");
  return EAI_FAIL;
}

/* To a name that no server resolves. */
static apns_session_options_t options_at(const gateway_t *gateway, const char *addresses) {
  apns_session_options_t options = options_for(gateway);
  options.peer.host = "gateway.invalid";
  options.peer.server_name = "localhost";
  options.peer.addresses = addresses;
  options.peer.lookup = never_asked;
  return options;
}

static void connects_at(const gateway_options_t *how, const char *addresses) {
  owned(gateway) gateway = gateway_start(how, NULL);
  apns_session_options_t options = options_at(gateway, addresses);
  owned(session) session = session_to(gateway, &options);
  assert_ok(apns_session_connect(session, &error));
}

TEST(addresses_are_tried_in_order) {
  const gateway_options_t on_ipv6 = {.on_ipv6 = true};
  connects_at(NULL, "127.0.0.1");
  connects_at(NULL, " 127.0.0.1\t");
  connects_at(NULL, "127.0.0.2,127.0.0.3, 127.0.0.1");
  connects_at(NULL, "::1, 127.0.0.1");
  connects_at(&on_ipv6, "127.0.0.1 , ::1");
}

/* The text may be gone by then. */
TEST(a_session_keeps_them) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  char text[] = "127.0.0.1";
  apns_session_options_t options = options_at(gateway, text);
  owned(session) session = session_to(gateway, &options);
  memset(text, 'x', sizeof text);
  assert_ok(apns_session_connect(session, &error));
  send_range(session, 0, 1);
  /* The proof costs the connection, and the next one finds the same address. */
  drain(session);
  send_and_drain(session, 1, 2);
  assert_in_range(stats_of(session).connects, 2, 3);
}

TEST(the_certificate_is_the_names) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_at(gateway, "127.0.0.1");
  options.peer.server_name = NULL;
  owned(session) session = session_to(gateway, &options);
  assert_caused(APNS_ERR_TLS, apns_session_connect(session, &error), APNS_CAUSE_PEER_NAME);
}

/* With a proxy nothing is connected to but that. */
TEST(a_proxy_is_found_by_them) {
  static const proxy_answer_t opens[] = {PROXY_OPENS};
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(proxy) proxy = proxy_start(gateway_port(gateway), opens, 1);
  apns_session_options_t options = options_at(gateway, "127.0.0.2, 127.0.0.1");
  options.peer.proxy = proxy_url(proxy, "proxy.invalid", NULL);
  apns_session_t *session = session_to(gateway, &options);
  assert_ok(apns_session_connect(session, &error));
  apns_session_free(session);
  assert_contains(proxy_request(proxy, 0), "CONNECT gateway.invalid:");
}

TEST(nobody_answers_at_any) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_at(gateway, "127.0.0.2, 127.0.0.3");
  owned(session) session = session_to(gateway, &options);
  assert_caused(APNS_ERR_NETWORK, apns_session_connect(session, &error),
                APNS_CAUSE_CONNECTION_REFUSED);
  assert_contains(error.message, "gateway.invalid");
}

TEST(a_feedback_has_them_too) {
  static const uint8_t list[] = {0, 0, 0, 7, 0, 2, 0xab, 0xcd};
  const gateway_step_t script[] = {SAY(list, sizeof list), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_feedback_options_t options = feedback_options(gateway);
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  apns_feedback_t *feedback = NULL;
  options.peer.host = "feedback.invalid";
  options.peer.server_name = "localhost";
  options.peer.lookup = never_asked;
  options.peer.addresses = "127.0.0.2, 127.0.0.1";
  owned(credentials) credentials = provider_credentials();
  assert_ok(apns_feedback_open(&options, credentials, &feedback, &error));
  assert_ok(apns_feedback_next(feedback, &tuple, &error));
  apns_feedback_free(feedback);
  feedback = NULL;
  options.peer.addresses = "localhost";
  assert_invalid(apns_feedback_open(&options, credentials, &feedback, &error),
                 "addresses has no IPv4 or IPv6 address at 0: \"localhost\"");
  assert_null(feedback);
}

TEST(what_is_no_address) {
  const struct {
    const char *text, *said;
  } bad[] = {
      {"", "at 0: \"\""},
      {"  ", "at 2: \"\""},
      {"127.0.0.1,", "at 10: \"\""},
      {",127.0.0.1", "at 0: \"\""},
      {"127.0.0.1,,::1", "at 10: \"\""},
      {"127.0.0.1 ::1", "at 0: \"127.0.0.1 ::1\""},
      {"127.0.0.1, 2620:149::x", "at 11: \"2620:149::x\""},
      {"127.1", "at 0: \"127.1\""},
      {"127.0.0.256", "at 0: \"127.0.0.256\""},
      {"127.0.0.1:443", "at 0: \"127.0.0.1:443\""},
      {"[::1]", "at 0: \"[::1]\""},
      {"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc", "at 0: \"1111:2222:"},
      {"127.0.0.1, gateway.example", "at 11: \"gateway.example\""},
      {"127.0.0.1\n", "at 0: \"127.0.0.1?\""},
  };
  owned(credentials) credentials = provider_credentials();
  for (size_t index = 0; index < sizeof bad / sizeof *bad; index++) {
    FORGET_ERROR();
    apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
    options.protocol = APNS_PROTOCOL_BINARY;
    apns_session_t *session = NULL;
    options.peer.addresses = bad[index].text;
    assert_status(APNS_ERR_ARGUMENT, apns_session_new(&options, credentials, &session, &error));
    assert_null(session);
    assert_contains(error.message, "addresses has no IPv4 or IPv6 address ");
    assert_contains(error.message, bad[index].said);
  }
}

/* ---- Addresses that do not answer -------------------------------------------------- */

/* A port with a queue of connections that is full: the kernel answers no SYN more. */
static uint16_t silent_port;
static _Atomic size_t dead_tries;

/* Linked before libc's. At 127.0.0.9 and the like nobody answers. */
int connect(int descriptor, const struct sockaddr *address, socklen_t size) {
  int (*system)(int, const struct sockaddr *, socklen_t);
  *(void **)&system = dlsym(RTLD_NEXT, "connect");
  struct sockaddr_in target;
  if (address->sa_family != AF_INET) return system(descriptor, address, size);
  memcpy(&target, address, sizeof target);
  if ((ntohl(target.sin_addr.s_addr) & 0xFF) < 9) return system(descriptor, address, size);
  dead_tries++;
  target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  target.sin_port = htons(silent_port);
  return system(descriptor, (const struct sockaddr *)&target, sizeof target);
}

static void silence_a_port(void) {
  dead_tries = 0;
  if (silent_port) return;
  const int listener = loopback_listen(false, 0, &silent_port);
  assert_true(listener >= 0);
  assert_int_equal(listen(listener, 0), 0);
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(silent_port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  for (int count = 0; count < 8; count++) {
    const int one = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(one >= 0);
    connect(one, (const struct sockaddr *)&address, sizeof address);
  }
}

static void connects_past_the_dead(const char *addresses, bool is_loop, bool has_proxy,
                                   size_t tries) {
  static const proxy_answer_t opens[] = {PROXY_OPENS};
  silence_a_port();
  owned(gateway) gateway = gateway_start(NULL, NULL);
  proxy_t *proxy = has_proxy ? proxy_start(gateway_port(gateway), opens, 1) : NULL;
  apns_session_options_t options = options_at(gateway, addresses);
  options.peer.nonblocking = is_loop;
  if (has_proxy) options.peer.proxy = proxy_url(proxy, "proxy.invalid", NULL);
  apns_session_t *session = session_to(gateway, &options);
  const int64_t start = clock_ms();
  if (is_loop) connect_strictly(session);
  if (!is_loop) assert_ok(apns_session_connect(session, &error));
  assert_within(start, 250 * (int64_t)tries);
  assert_int_equal(dead_tries, tries);
  apns_session_free(session);
  if (proxy) proxy_stop(proxy);
}

TEST(a_dead_address_costs_little) {
  for (int is_loop = 0; is_loop < 2; is_loop++)
    for (int has_proxy = 0; has_proxy < 2; has_proxy++) {
      connects_past_the_dead("127.0.0.9, 127.0.0.1", is_loop, has_proxy, 1);
      connects_past_the_dead("127.0.0.9, 127.0.0.2, 127.0.0.10, 127.0.0.1", is_loop, has_proxy, 2);
      /* More than are tried at once. */
      connects_past_the_dead(
          "127.0.0.9,127.0.0.9,127.0.0.9,127.0.0.9,127.0.0.9,127.0.0.9,"
          "127.0.0.9,127.0.0.9,127.0.0.9,127.0.0.1",
          is_loop, has_proxy, 9);
    }
}

/* If no address answers, the time of the connection counts. */
TEST(all_are_dead) {
  for (int is_loop = 0; is_loop < 2; is_loop++) {
    silence_a_port();
    owned(gateway) gateway = gateway_start(NULL, NULL);
    apns_session_options_t options = options_at(gateway, "127.0.0.9, 127.0.0.10");
    options.peer.connect_timeout_ms = 600;
    options.peer.nonblocking = is_loop;
    owned(session) session = session_to(gateway, &options);
    apns_status_t status = apns_session_connect(session, &error);
    while (is_loop && (status == APNS_ERR_AGAIN || status == APNS_OK))
      status = strict_turn(session);
    assert_status(APNS_ERR_TIMEOUT, status);
    assert_int_equal(error.cause, APNS_CAUSE_CONNECT_TIMEOUT);
    assert_true(dead_tries >= 2);
  }
}

/* Each connection but the first goes to the address of the last one. */
TEST(what_worked_last_is_tried_first) {
  silence_a_port();
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_at(gateway, "127.0.0.9, 127.0.0.1");
  binary_of(&options)->no_standby = 1;
  owned(session) session = session_to(gateway, &options);
  for (size_t n = 0; n < 3; n++) send_and_drain(session, n, n + 1);
  assert_int_equal(stats_of(session).connects, 3);
  assert_int_equal(dead_tries, 1);
}

TEST(a_feedback_gets_past_the_dead) {
  static const uint8_t list[] = {0, 0, 0, 7, 0, 2, 0xab, 0xcd};
  const gateway_step_t script[] = {SAY(list, sizeof list), END};
  for (int is_loop = 0; is_loop < 2; is_loop++) {
    silence_a_port();
    owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
    apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
    const int64_t start = clock_ms();
    owned(feedback) feedback = feedback_where(
        gateway, options.peer.host = "feedback.invalid", options.peer.server_name = "localhost",
        options.peer.addresses = "127.0.0.9, 127.0.0.1", options.peer.nonblocking = is_loop);
    apns_status_t status;
    while ((status = apns_feedback_next(feedback, &tuple, &error)) == APNS_ERR_AGAIN) {
      struct pollfd watched = {.fd = apns_feedback_fd(feedback), .events = POLLIN};
      assert_int_equal(poll(&watched, 1, AMPLE_MS), 1);
    }
    assert_ok(status);
    assert_within(start, 250);
    assert_int_equal(dead_tries, 1);
  }
}

static int errno_of_bind(int family, const void *address, socklen_t size) {
  const int descriptor = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return EADDRINUSE; /* A machine without IPv6. */
  const int error = bind(descriptor, address, size) ? errno : 0;
  close(descriptor);
  return error;
}

/* This test relies on this: no other test's gateway has the port at another address. */
TEST(a_gateways_port_is_nobody_elses) {
  const gateway_options_t on_ipv6 = {.on_ipv6 = true};
  for (int round = 0; round < 4; round++) {
    gateway_t *gateway = gateway_start(round & 1 ? &on_ipv6 : NULL, NULL);
    const in_port_t port = htons((uint16_t)gateway_port(gateway));
    if (round & 2) gateway_stop(gateway);
    for (uint32_t last = 1; last <= 3; last++) {
      const struct sockaddr_in four = {
          .sin_family = AF_INET, .sin_port = port, .sin_addr = {htonl(0x7F000000 | last)}};
      assert_int_equal(errno_of_bind(AF_INET, &four, sizeof four), EADDRINUSE);
    }
    const struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    assert_int_equal(errno_of_bind(AF_INET6, &six, sizeof six), EADDRINUSE);
    if (!(round & 2)) gateway_stop(gateway);
  }
}
