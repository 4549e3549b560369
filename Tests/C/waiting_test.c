/* wait_max_ms: calls that wait for a share of their time; and names that the caller resolves. */
#include <netdb.h>
#include <sys/socket.h>

#include "provider.h"

/* Longer than a test may take, so that a call that exceeds its share is detected. */
enum { SHARE = 20, LONG = 600000 };

static apns_session_options_t patient(const gateway_t *gateway) {
  apns_session_options_t options = options_for(gateway);
  options.peer.connect_timeout_ms = tuning_of(&options)->write_timeout_ms =
      tuning_of(&options)->answer_timeout_ms = LONG;
  options.peer.wait_max_ms = SHARE;
  return options;
}

TEST(a_connection_is_made_over_several_calls) {
  const gateway_step_t script[] = {NO_HANDSHAKE,  AWAIT(1),     SHAKE_HANDS,
                                   TAKE_SENTINEL, NAME_LAST(2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_options_t options = patient(gateway);
  owned(session) session = session_to(gateway, &options);
  for (int n = 0; n < 3; n++) {
    assert_status(APNS_ERR_TIMEOUT, apns_session_connect(session, &error));
    assert_status(APNS_ERR_TIMEOUT, apns_session_send(session, notification(0), 0, NULL, &error));
  }
  assert_int_equal(stats_of(session).taken, 0);
  gateway_signal(gateway);
  while (apns_session_connect(session, &error) == APNS_ERR_TIMEOUT) continue;
  assert_ok(apns_session_connect(session, &error));
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  while (apns_session_drain(session, LONG, NULL, &error) == APNS_ERR_TIMEOUT) continue;
  assert_counts(session, 1, 1, 0, 0, 0);
  /* The session never abandoned the first connection. */
  assert_int_equal(stats_of(session).connects, 1);
}

TEST(a_session_is_closed_over_several_calls) {
  const gateway_step_t script[] = {TAKE_SENTINEL, AWAIT(1), NAME_LAST(2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_options_t options = patient(gateway);
  owned(session) session = session_to(gateway, &options);
  while (apns_session_connect(session, &error) == APNS_ERR_TIMEOUT) continue;
  send_range(session, 0, 5);
  for (int n = 0; n < 3; n++)
    assert_status(APNS_ERR_TIMEOUT, apns_session_close(session, LONG, &error));
  assert_status(APNS_ERR_CLOSED, apns_session_send(session, notification(0), 0, NULL, &error));
  gateway_signal(gateway);
  while (apns_session_close(session, LONG, &error) == APNS_ERR_TIMEOUT) continue;
  assert_ok(apns_session_close(session, LONG, &error));
  assert_counts(session, 5, 5, 0, 0, 0);
}

TEST(a_feedback_is_read_over_several_calls) {
  static const uint8_t list[] = {0, 0, 0, 7, 0, 2, 0xab, 0xcd};
  const gateway_step_t script[] = {NO_HANDSHAKE,           AWAIT(1), SHAKE_HANDS, AWAIT(2),
                                   SAY(list, sizeof list), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  owned(feedback) feedback =
      feedback_where(gateway, options.peer.connect_timeout_ms = options.read_timeout_ms = LONG,
                     options.peer.wait_max_ms = SHARE);
  for (int n = 0; n < 3; n++) {
    assert_status(APNS_ERR_TIMEOUT, apns_feedback_connect(feedback, &error));
    assert_status(APNS_ERR_TIMEOUT, apns_feedback_next(feedback, &tuple, &error));
  }
  gateway_signal(gateway);
  while (apns_feedback_connect(feedback, &error) == APNS_ERR_TIMEOUT) continue;
  assert_ok(apns_feedback_connect(feedback, &error));
  for (int n = 0; n < 3; n++)
    assert_status(APNS_ERR_TIMEOUT, apns_feedback_next(feedback, &tuple, &error));
  gateway_signal(gateway);
  apns_status_t status;
  while ((status = apns_feedback_next(feedback, &tuple, &error)) == APNS_ERR_TIMEOUT) continue;
  assert_ok(status);
  assert_int_equal(tuple.timestamp, 7);
  assert_memory_equal(tuple.token, list + 6, 2);
}

/* ---- Names ---------------------------------------------------------------- */

typedef struct resolver {
  int pending; /* this many calls return no answer */
  int code, calls;
} resolver_t;

static int look_up(const char *host, struct addrinfo **list, void *context) {
  resolver_t *resolver = context;
  assert_string_equal(host, "gateway.example");
  resolver->calls++;
  if (resolver->pending-- > 0) return APNS_LOOKUP_PENDING;
  if (resolver->code) return resolver->code;
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  return getaddrinfo("127.0.0.1", NULL, &hints, list);
}

static apns_session_t *looking_up(const gateway_t *gateway, resolver_t *resolver, uint32_t ms) {
  apns_session_options_t options = options_for(gateway);
  options.peer.server_name =
      options.peer.server_name ? options.peer.server_name : options.peer.host;
  options.peer.host = "gateway.example";
  options.peer.connect_timeout_ms = ms;
  options.peer.lookup = look_up;
  options.peer.lookup_context = resolver;
  return session_to(gateway, &options);
}

TEST(a_name_is_asked_for_until_it_is_known) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  resolver_t resolver = {.pending = 5};
  owned(session) session = looking_up(gateway, &resolver, LONG);
  assert_ok(apns_session_connect(session, &error));
  assert_int_equal(resolver.calls, 6);
}

TEST(a_name_that_is_not_found) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  resolver_t nobody = {.pending = 2, .code = EAI_NONAME}, silent = {.pending = INT32_MAX};
  owned(session) session = looking_up(gateway, &nobody, LONG);
  assert_fails(APNS_ERR_NETWORK, apns_session_connect(session, &error),
               "cannot resolve gateway.example: ");
  apns_session_free(session);
  session = looking_up(gateway, &silent, 100);
  assert_status(APNS_ERR_TIMEOUT, apns_session_connect(session, &error));
}
