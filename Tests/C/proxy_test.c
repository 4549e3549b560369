/* The gateway through an HTTP proxy: correct requests, and reported refusals. */
#include "proxy.h"

#include <errno.h>
#include <stdio.h>

#include "provider.h"

enum { BATCH = 10 };

static const gateway_step_t polite[] = {TAKE_SENTINEL, NAME_LAST(2), END};
static const gateway_step_t names_first[] = {TAKE_FRAMES(BATCH), NAME_NTH(8, 0), END};
static const proxy_answer_t opens[] = {PROXY_OPENS};

static apns_session_options_t options_through(const gateway_t *gateway, const proxy_t *proxy) {
  apns_session_options_t options = options_for(gateway);
  options.peer.proxy = proxy_url(proxy, "127.0.0.1", NULL);
  return options;
}

/* All of it goes through, and the request was this one. */
static void check_through(const apns_session_options_t *options, gateway_t *gateway, proxy_t *proxy,
                          const char *request) {
  apns_session_t *session = session_to(gateway, options);
  send_and_drain(session, 0, BATCH);
  assert_counts(session, BATCH, BATCH, 0, 0, 0);
  apns_session_free(session);
  assert_string_equal(proxy_request(proxy, 0), request);
  const gateway_record_t *heard = gateway_heard(gateway, 0);
  for (size_t n = 0; n < BATCH; n++) assert_carries(heard, n, n);
  assert_int_equal(proxy_connections(proxy), 1);
  proxy_stop(proxy);
  gateway_stop(gateway);
}

/* The same for a proxy with such an answer, with user and password of its URL, and in base64. */
static void check_asked(const proxy_answer_t *answer, const char *credentials, const char *basic) {
  gateway_t *gateway = gateway_start(NULL, NULL);
  proxy_t *proxy = proxy_start(gateway_port(gateway), answer, 1);
  apns_session_options_t options = options_through(gateway, proxy);
  options.peer.proxy = proxy_url(proxy, "127.0.0.1", credentials);
  char request[4096];
  snprintf(request, sizeof request,
           "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n%s%s%s\r\n", options.peer.port,
           options.peer.port, basic ? "Proxy-Authorization: Basic " : "", basic ? basic : "",
           basic ? "\r\n" : "");
  check_through(&options, gateway, proxy, request);
}

/* A name that the proxy looks up: the provider need not be able to. */
static void check_name(const char *host, const char *request) {
  gateway_t *gateway = gateway_start(NULL, NULL);
  proxy_t *proxy = proxy_start(gateway_port(gateway), opens, 1);
  apns_session_options_t options = options_through(gateway, proxy);
  options.peer.host = host;
  options.peer.server_name = "localhost";
  options.peer.port = 2195;
  check_through(&options, gateway, proxy, request);
}

/* ---- Requests ----------------------------------------------------------- */

TEST(without_a_user) { check_asked(opens, NULL, NULL); }

/* The examples of RFC 7617, 2 and 2.1, and what may be missing. */
TEST(with_a_user) {
  static const char *const cases[][2] = {
      {"Aladdin:open%20sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="},
      {"test:123\xC2\xA3", "dGVzdDoxMjPCow=="},
      {"test:123%c2%A3", "dGVzdDoxMjPCow=="},
      {"user", "dXNlcjo="},
      {"user:", "dXNlcjo="},
      {":a:b", "OmE6Yg=="},
      {"%75ser:p%40ss%2Fw%3Ard%25", "dXNlcjpwQHNzL3c6cmQl"},
      {"user:p@ss", "dXNlcjpwQHNz"},
  };
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++)
    check_asked(opens, cases[index][0], cases[index][1]);
}

TEST(with_the_longest_password) {
  char both[1025], encoded[1500];
  memset(both, 'x', sizeof both);
  memcpy(both, "usr:", 4);
  both[1024] = 0;
  EVP_EncodeBlock((unsigned char *)encoded, (const unsigned char *)both, (int)strlen(both));
  check_asked(opens, both, encoded);
}

TEST(the_gateways_name_is_the_proxys_to_find) {
  check_name("gateway.invalid",
             "CONNECT gateway.invalid:2195 HTTP/1.1\r\nHost: gateway.invalid:2195\r\n\r\n");
}

TEST(an_ipv6_address_goes_into_brackets) {
  check_name("2001:db8::7",
             "CONNECT [2001:db8::7]:2195 HTTP/1.1\r\nHost: [2001:db8::7]:2195\r\n\r\n");
}

/* A separate line in the request would be another's words. */
TEST(a_host_that_would_break_the_request) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(proxy) proxy = proxy_start(gateway_port(gateway), opens, 1);
  apns_session_options_t options = options_through(gateway, proxy);
  options.peer.host = "gateway\r\nX-Evil: yes";
  options.peer.server_name = "localhost";
  apns_session_t *session = session_to(gateway, &options);
  assert_invalid(apns_session_connect(session, &error), "host");
  apns_session_free(session);
  assert_int_equal(gateway_connections(gateway), 0);
}

/* ---- Its yes ------------------------------------------------------------ */

static char *long_answer(size_t length) {
  char *text = malloc(length + 1);
  int head = sprintf(text, "HTTP/1.1 200 OK\r\nX-Long: ");
  memset(text + head, 'x', length - (size_t)head);
  memcpy(text + length - 4, "\r\n\r\n", 5);
  return text;
}

TEST(every_way_to_say_yes) {
  owned(text) longest = long_answer(8192);
  const proxy_answer_t answers[] = {
      {.text = "HTTP/1.0 200 Connection established\r\nVia: 1.0 old\r\n\r\n", .opens = true},
      {.text = "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", .opens = true},
      {.text = "HTTP/1.1 200 \r\n\r\n", .opens = true},
      {.text = "HTTP/1.1 299 Well\n\n", .opens = true},
      {.text = "HTTP/1.1 200 OK\r\nX-One: 1\r\nX-Two: 2\r\n\r\n", .opens = true, .piecemeal = true},
      {.text = longest, .opens = true},
      /* Interim responses before the final one (RFC 9110, 15.2). */
      {.text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", .opens = true},
      {.text =
           "HTTP/1.1 102\r\nX-One: 1\r\n\r\nHTTP/1.1 103 Early Hints\n\nHTTP/1.0 200 OK\r\n\r\n",
       .opens = true,
       .piecemeal = true},
  };
  for (size_t index = 0; index < sizeof answers / sizeof *answers; index++)
    check_asked(answers + index, NULL, NULL);
}

/* ---- Its no ------------------------------------------------------------- */

/* The error names the proxy and says `part`; nothing is taken, until the proxy agrees. */
static void check_no(const proxy_answer_t *no, apns_status_t expected, const char *part) {
  FORGET_ERROR();
  const proxy_answer_t answers[] = {*no, PROXY_OPENS};
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(proxy) proxy = proxy_start(gateway_port(gateway), answers, 2);
  apns_session_options_t options = options_through(gateway, proxy);
  options.peer.proxy = proxy_url(proxy, "127.0.0.1", "user:secret");
  if (no->stays) options.peer.connect_timeout_ms = 300;
  owned(session) session = session_to(gateway, &options);
  char place[64];
  snprintf(place, sizeof place, "the proxy 127.0.0.1:%d", proxy_port(proxy));
  assert_fails(expected, apns_session_send(session, notification(0), 0, NULL, &error), place);
  assert_contains(error.message, part);
  assert_null(strstr(error.message, "secret"));
  assert_null(strstr(error.message, "dXNlcjpzZWNyZXQ="));
  assert_counts(session, 0, 0, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, 0);
  assert_int_equal(gateway_connections(gateway), 0);
  if (!no->stays) {
    send_and_drain(session, 0, BATCH);
    assert_counts(session, BATCH, BATCH, 0, 0, 0);
  }
}

TEST(refusals) {
  static const char *const cases[][2] = {
      {"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
       "Content-Length: 5\r\n\r\nsorry",
       "refused: 407 Proxy Authentication Required"},
      {"HTTP/1.1 403 Forbidden\r\n\r\n", "refused: 403 Forbidden"},
      {"HTTP/1.0 502 Bad Gateway\n\n", "refused: 502 Bad Gateway"},
      {"HTTP/1.1 301 Moved\r\nLocation: /\r\n\r\n", "refused: 301 Moved"},
      /* Always one line in the end. */
      {"HTTP/1.1 500 \a\x1B[31mred\r\n\r\n", "refused: 500 ??[31mred"},
      {"HTTP/1.1 500 \xFFgro\xC3\x9F \xE2\x80\xAE\xC2\x9B\xE2\x80\xA8 \xC3\r\n\r\n",
       "refused: 500 ?gro\xC3\x9F ??? ?"},
      {"220 mail.example ESMTP\r\n\r\n", "does not speak HTTP: 220 mail.example ESMTP"},
      {"\x15\x03\x01\x02\x02(\n\n", "does not speak HTTP: "},
      {"HTTP/1.1\r\n\r\n", "does not speak HTTP: HTTP/1.1"},
      {"\r\n\r\n", "does not speak HTTP"},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 403 Forbidden\r\n\r\n", "refused: 403 Forbidden"},
      {"HTTP/1.1 2xx yes\r\n\r\n", "does not speak HTTP: HTTP/1.1 2xx yes"},
      {"HTTP/9.9 200 OK\r\n\r\n", "does not speak HTTP: HTTP/9.9 200 OK"},
      {"HTTP/1.1 2000 OK\r\n\r\n", "does not speak HTTP: HTTP/1.1 2000"},
      {"HTTP/1.1 099 OK\r\n\r\n", "does not speak HTTP: HTTP/1.1 099"},
  };
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++)
    for (int piecemeal = 0; piecemeal < 2; piecemeal++) {
      const proxy_answer_t no = {.text = cases[index][0], .piecemeal = piecemeal};
      check_no(&no, APNS_ERR_NETWORK, cases[index][1]);
    }
}

TEST(a_reason_longer_than_a_message) {
  owned(text) text = long_answer(2000);
  memcpy(text, "HTTP/1.1 403 No: ", 17);
  const proxy_answer_t no = {.text = text};
  check_no(&no, APNS_ERR_NETWORK, "refused: 403 No: ");
}

TEST(an_answer_without_end) {
  owned(text) text = long_answer(8193);
  const proxy_answer_t no = {.text = text};
  check_no(&no, APNS_ERR_NETWORK, "answer longer than 8192 bytes");
  memset(text, 0, 8193);
  const proxy_answer_t zeros = {.text = text, .length = 8193};
  check_no(&zeros, APNS_ERR_NETWORK, "answer longer than 8192 bytes");
}

TEST(one_that_closes) {
  static const proxy_answer_t silent = {.text = NULL}, half = PROXY_SAYS("HTTP/1.1 200 OK\r\n"),
                              reset = {.text = NULL, .resets = true};
  check_no(&silent, APNS_ERR_NETWORK, "closed the connection without an answer");
  check_no(&half, APNS_ERR_NETWORK, "closed the connection without an answer");
  check_no(&reset, APNS_ERR_NETWORK, strerror(ECONNRESET));
}

TEST(one_that_does_not_answer) {
  static const proxy_answer_t silent = {.text = NULL, .stays = true},
                              half = {.text = "HTTP/1.1 2", .stays = true};
  check_no(&silent, APNS_ERR_TIMEOUT, "took too long");
  check_no(&half, APNS_ERR_TIMEOUT, "took too long");
}

TEST(one_that_nobody_is) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  proxy_t *proxy = proxy_start(gateway_port(gateway), opens, 1);
  apns_session_options_t options = options_through(gateway, proxy);
  char place[64];
  snprintf(place, sizeof place, "cannot connect to the proxy 127.0.0.1:%d", proxy_port(proxy));
  proxy_stop(proxy);
  owned(session) session = session_to(gateway, &options);
  assert_fails(APNS_ERR_NETWORK, apns_session_connect(session, &error), place);
  assert_int_equal(error.sys_errno, ECONNREFUSED);
}

/* The proxy was reached, but it does not reach a gateway. */
TEST(a_way_that_leads_nowhere) {
  static const proxy_answer_t yes[] = {PROXY_SAYS("HTTP/1.1 200 OK\r\n\r\n")};
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(proxy) proxy = proxy_start(gateway_port(gateway), yes, 1);
  apns_session_options_t options = options_through(gateway, proxy);
  owned(session) session = session_to(gateway, &options);
  assert_fails(APNS_ERR_NETWORK, apns_session_connect(session, &error), "TLS handshake");
}

/* ---- All the way through it --------------------------------------------- */

/* Every connection, the standby one too, goes through the proxy. */
TEST(rejections_and_a_standby) {
  static const gateway_step_t works[] = {TAKE_FRAMES(BATCH - 1), AWAIT(1), NAME_NTH(8, 0), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(names_first, works, polite));
  owned(proxy) proxy = proxy_start(gateway_port(gateway), opens, 1);
  apns_session_options_t options = options_through(gateway, proxy);
  binary_of(&options)->no_standby = 0;
  options.peer.proxy = proxy_url(proxy, "127.0.0.1", "user");
  apns_session_t *session = session_to(gateway, &options);
  apns_event_t event = APNS_EVENT_INIT;
  send_range(session, 0, BATCH);
  assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
  assert_int_equal(event.reject, 8);
  await_connects(session, 3);
  gateway_signal(gateway);
  drain(session);
  assert_counts(session, BATCH, BATCH - 2, 2, 0, 0);
  assert_event(session, APNS_EVENT_REJECTED, 8, 1);
  apns_session_free(session);
  /* Whether there was time for one more standby is left open. */
  gateway_heard(gateway, 2);
  assert_in_range(proxy_connections(proxy), 3, 4);
  for (size_t index = 1; index < 3; index++)
    assert_string_equal(proxy_request(proxy, index), proxy_request(proxy, 0));
  assert_same_frames(gateway_heard(gateway, 2), gateway_heard(gateway, 0), 2, BATCH - 2);
}

TEST(a_refusal_while_notifications_wait) {
  const proxy_answer_t answers[] = {PROXY_OPENS, PROXY_SAYS("HTTP/1.1 503 Busy\r\n\r\n"),
                                    PROXY_OPENS};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(names_first, polite));
  owned(proxy) proxy = proxy_start(gateway_port(gateway), answers, 3);
  apns_session_options_t options = options_through(gateway, proxy);
  owned(session) session = session_to(gateway, &options);
  size_t unresolved = 0;
  send_range(session, 0, BATCH);
  gateway_await_step(gateway, 0, 2);
  assert_fails(APNS_ERR_NETWORK, apns_session_drain(session, AMPLE_MS, &unresolved, &error),
               "refused: 503 Busy");
  assert_int_equal(unresolved, BATCH - 1);
  drain(session);
  assert_counts(session, BATCH, BATCH - 1, 1, 0, 0);
}

/* ---- Feedback ----------------------------------------------------------- */

static apns_status_t open_feedback(const gateway_t *gateway, const proxy_t *proxy,
                                   apns_feedback_t **feedback) {
  owned(credentials) credentials = provider_credentials();
  apns_feedback_options_t from = feedback_options(gateway);
  from.peer.proxy = proxy_url(proxy, "127.0.0.1", "Aladdin:open%20sesame");
  return apns_feedback_open(&from, credentials, feedback, &error);
}

TEST(feedback_through_it) {
  static const uint8_t tuples[] = {0, 0, 0, 9, 0, 2, 'a', 'b', 0, 0, 0, 8, 0, 1, 'c'};
  static const gateway_step_t list[] = {SAY(tuples, sizeof tuples), END};
  const proxy_answer_t answers[] = {PROXY_SAYS("HTTP/1.1 407 Who?\r\n\r\n"), PROXY_OPENS};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(list));
  owned(proxy) proxy = proxy_start(gateway_port(gateway), answers, 2);
  owned(feedback) feedback = NULL;
  char place[64];
  snprintf(place, sizeof place, "the proxy 127.0.0.1:%d refused: 407 Who?", proxy_port(proxy));
  assert_fails(APNS_ERR_NETWORK, open_feedback(gateway, proxy, &feedback), place);
  assert_null(feedback);
  assert_ok(open_feedback(gateway, proxy, &feedback));
  assert_contains(proxy_request(proxy, 1),
                  "Proxy-Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n");
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  assert_ok(apns_feedback_next(feedback, &tuple, &error));
  assert_int_equal(tuple.timestamp, 9);
  assert_memory_equal(tuple.token, "ab", 2);
  assert_ok(apns_feedback_next(feedback, &tuple, &error));
  assert_int_equal(tuple.timestamp, 8);
  assert_status(APNS_DONE, apns_feedback_next(feedback, &tuple, &error));
}

/* ---- Options ------------------------------------------------------------ */

/* As curl reads it: http:// is optional, the default port is 1080, and a slash at the end has no
   effect. The error names a URL that cannot be resolved, without a possible password. */
TEST(urls_that_are_read) {
  static const char *const cases[][2] = {
      {"http://proxy.invalid:3128", "the proxy's name proxy.invalid"},
      {"HTTP://user:pw@proxy.invalid:3128/", "proxy.invalid"},
      {"proxy.invalid", "proxy.invalid"},
      {"user:pw@proxy.invalid:", "proxy.invalid"},
      {"http://[::1]:1", "the proxy ::1:1"},
      {"[::1]:1", "the proxy ::1:1"},
      {"user:a[b@127.0.0.1:1", "the proxy 127.0.0.1:1"},
  };
  owned(credentials) credentials = provider_credentials();
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
    options.protocol = APNS_PROTOCOL_BINARY;
    options.peer.host = "gateway.invalid";
    options.peer.proxy = cases[index][0];
    owned(session) session = session_with(&options, credentials);
    apns_error_t error = APNS_ERROR_INIT;
    assert_int_not_equal(apns_session_connect(session, &error), APNS_OK);
    assert_contains(error.message, strrchr(cases[index][1], ' ') ? strrchr(cases[index][1], ' ') + 1
                                                                 : cases[index][1]);
    assert_null(strstr(error.message, "pw"));
  }
}

TEST(options_that_cannot_be) {
  char longest[1100] = "http://";
  memset(longest + 7, 'x', 1024);
  strcpy(longest + 7 + 1024, "@secret.invalid:3128");
  const char *const cases[][2] = {
      {"", "proxy has no host"},
      {"http://", "proxy has no host"},
      {"http://secret@", "proxy has no host"},
      {"http://:3128", "proxy has no host"},
      {"https://secret.invalid:3128", "proxy is an https:// URL"},
      {"HTTPS://secret.invalid:3128", "proxy is an https:// URL"},
      {"socks5://secret.invalid:1080", "proxy is a URL of another kind"},
      {"http://secret.invalid:0", "proxy has no port"},
      {"http://secret.invalid:65536", "proxy has no port"},
      {"http://secret.invalid:99999999999999999999", "proxy has no port"},
      {"http://secret.invalid:3128x", "proxy has no port"},
      {"http://secret.invalid:3128/path", "proxy has a /, ? or #"},
      {"http://user:sec/ret@proxy.invalid:3128", "proxy has a /, ? or #"},
      {"http://user:sec?ret@proxy.invalid:3128", "proxy has a /, ? or #"},
      {"http://user:secret#@proxy.invalid:3128", "proxy has a /, ? or #"},
      {"http://user:sec ret@proxy.invalid:3128", "proxy has a space"},
      {"http://user:secret@proxy.invalid:3128\r\nX-Evil: yes", "proxy has a space"},
      {"http://::1:3128", "proxy has several colons"},
      {"http://[::1:3128", "proxy has a bracket"},
      {"http://[::1]3128", "proxy has a bracket"},
      {"http://[]:3128", "proxy has no host"},
      {"http://user:secret%@proxy.invalid:3128", "proxy has a % without"},
      {"http://user:secret%4@proxy.invalid:3128", "proxy has a % without"},
      {"http://user:secret%zz@proxy.invalid:3128", "proxy has a % without"},
      {"http://user:secret%00@proxy.invalid:3128", "proxy has a NUL"},
      {"http://us%3Aer:secret@proxy.invalid:3128", "proxy has a colon in its user"},
      {longest, "proxy has a user and a password of more than 1024 bytes"},
  };
  owned(credentials) credentials = provider_credentials();
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
    options.protocol = APNS_PROTOCOL_BINARY;
    apns_feedback_options_t from = APNS_FEEDBACK_OPTIONS_INIT;
    apns_session_t *session = NULL;
    apns_feedback_t *feedback = NULL;
    options.peer.host = from.peer.host = "127.0.0.1";
    options.peer.proxy = from.peer.proxy = cases[index][0];
    assert_invalid(apns_session_new(&options, credentials, &session, &error), cases[index][1]);
    assert_null(strstr(error.message, "secret"));
    assert_invalid(apns_feedback_open(&from, credentials, &feedback, &error), cases[index][1]);
    assert_null(strstr(error.message, "secret"));
    assert_true(session == NULL && feedback == NULL);
  }
}

/* ---- The environment ---------------------------------------------------- */

static const char *const variables[] = {"https_proxy", "HTTPS_PROXY", "all_proxy",
                                        "ALL_PROXY",   "no_proxy",    "NO_PROXY"};

static void forget_environment(void) {
  for (size_t index = 0; index < sizeof variables / sizeof *variables; index++)
    unsetenv(variables[index]);
}

/* Whether a session to that host uses the environment's proxy, judged by its connection error. */
static bool is_by_proxy(const char *host, const char *no_proxy) {
  owned(credentials) credentials = provider_credentials();
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  options.peer.host = host;
  options.peer.server_name = "localhost";
  options.peer.port = 1;
  options.peer.connect_timeout_ms = 1;
  options.peer.proxy_from_environment = 1;
  if (no_proxy) setenv("no_proxy", no_proxy, 1);
  apns_session_t *session = session_with(&options, credentials);
  unsetenv("no_proxy");
  apns_error_t error = APNS_ERROR_INIT;
  assert_int_not_equal(apns_session_connect(session, &error), APNS_OK);
  apns_session_free(session);
  return strstr(error.message, "127.0.0.1:9") != NULL;
}

TEST(the_environment_names_a_proxy) {
  forget_environment();
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(proxy) proxy = proxy_start(gateway_port(gateway), opens, 1);
  const char *url = proxy_url(proxy, "127.0.0.1", "user:secret");
  for (size_t index = 0; index < 4; index++) {
    setenv(variables[index], url, 1);
    if (index == 0) setenv(variables[1], "http://127.0.0.1:1", 1);
    if (index == 1) setenv(variables[0], "", 1);
    apns_session_t *session = session_where(gateway, options.peer.host = "gateway.invalid",
                                            options.peer.server_name = "localhost",
                                            options.peer.proxy_from_environment = 1);
    /* It was read once. */
    forget_environment();
    assert_ok(apns_session_connect(session, &error));
    apns_session_free(session);
    assert_int_equal(proxy_connections(proxy), index + 1);
    assert_contains(proxy_request(proxy, index), "Basic dXNlcjpzZWNyZXQ=\r\n");
  }
}

TEST(the_environment_counts_only_where_it_is_asked) {
  forget_environment();
  setenv("https_proxy", "https://secret.invalid", 1);
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(proxy) proxy = proxy_start(gateway_port(gateway), opens, 1);
  owned(credentials) credentials = provider_credentials();
  apns_session_options_t options = options_for(gateway);
  apns_session_t *session = session_with(&options, credentials);
  assert_ok(apns_session_connect(session, &error));
  apns_session_free(session);
  /* Addresses are the host's, and not of a proxy that the program does not know. */
  options.peer.host = "gateway.invalid", options.peer.server_name = "localhost";
  options.peer.addresses = "127.0.0.1", options.peer.proxy_from_environment = 1;
  session = session_with(&options, credentials);
  assert_ok(apns_session_connect(session, &error));
  apns_session_free(session);
  options.peer.addresses = NULL, options.peer.proxy = proxy_url(proxy, "127.0.0.1", NULL);
  session = session_with(&options, credentials);
  assert_ok(apns_session_connect(session, &error));
  apns_session_free(session);
  options.peer.proxy = NULL, session = NULL;
  assert_says(APNS_ERR_ARGUMENT, apns_session_new(&options, credentials, &session, &error),
              "https_proxy is an https:// URL, but TLS to a proxy is not supported: http:// is");
  forget_environment();
  setenv("ALL_PROXY", "socks5h://secret.invalid", 1);
  assert_says(APNS_ERR_ARGUMENT, apns_session_new(&options, credentials, &session, &error),
              "ALL_PROXY is a URL of another kind: only http:// proxies are supported");
  forget_environment();
}

/* As curl; and this machine is connected to directly. */
TEST(hosts_that_need_no_proxy) {
  static const struct {
    const char *host, *no_proxy;
    bool is_direct;
  } cases[] = {
      {"api.invalid", NULL, false},
      {"api.invalid", "*", true},
      {"api.invalid", "other, *", true},
      {"api.invalid", "api.invalid", true},
      {"api.invalid", "API.Invalid.", true},
      {"api.invalid.", "api.invalid", true},
      {"api.push.invalid", "invalid", true},
      {"api.push.invalid", ".push.invalid", true},
      {"api.push.invalid", "x.invalid push.invalid", true},
      {"api.push.invalid", "ush.invalid", false},
      {"api.push.invalid", "*.invalid", false},
      {"api.push.invalid", "api", false},
      {"api.invalid", ".,,  ,.", false},
      {"push.invalid", "api.push.invalid", false},
      {"203.0.113.7", "203.0.113.7", true},
      {"203.0.113.7", "203.0.113.0/24", true},
      {"203.0.113.7", "203.0.113.0/30", false},
      {"203.0.113.7", "203.0.113.4/30", true},
      {"203.0.113.7", "0.0.0.0/0", true},
      {"203.0.113.7", "203.0.113.0/24x", false},
      {"203.0.113.7", "113.7", false},
      {"2001:db8::7", "2001:db8::/32", true},
      {"2001:db8::7", "[2001:DB8:0::7]", true},
      {"2001:db8::7", "2001:db8::8/127", false},
      {"2001:db8::7", "203.0.113.0/0", false},
      {"localhost", NULL, true},
      {"127.0.0.3", NULL, true},
      {"::1", NULL, true},
  };
  forget_environment();
  setenv("https_proxy", "127.0.0.1:9", 1);
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++)
    if (is_by_proxy(cases[index].host, cases[index].no_proxy) == cases[index].is_direct)
      fail_msg("%s with no_proxy=%s", cases[index].host, cases[index].no_proxy);
  forget_environment();
}
