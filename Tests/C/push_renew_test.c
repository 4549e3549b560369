/* New credentials in a running session over HTTP/2. */
#include <semaphore.h>

#include "keychain.h"
#include "renewing.h"
#include "signing.h"

/* Requires a client certificate. */
static service_t *strict_service(void) {
  return service_start(&(service_options_t){.wants_certificate = true});
}

static apns_session_t *looping_session(const service_t *service) {
  apns_session_options_t options = push_options(service);
  options.peer.nonblocking = 1;
  return session_number_0(&options);
}

/* ---- In the middle of many ------------------------------------------------------- */

static service_reply_t judge(void *context, const service_push_t *push) {
  (void)context;
  const service_reply_t bad = {.status = 400, .body = "{\"reason\":\"BadDeviceToken\"}"},
                        fine = {0};
  return is_bad(number_of(push)) ? bad : fine;
}

static void send_one(apns_session_t *session, size_t n, int flags) {
  assert_ok(send_turning(session, notification(n), flags));
}

static void check_many(bool loops, uint32_t connections, uint32_t streams) {
  const size_t count = as_many_as(100000, 3000);
  const service_options_t how = {.wants_certificate = true, .judge = judge, .streams = streams};
  owned(service) service = service_start(&how);
  apns_session_options_t options = push_options(service);
  options.peer.nonblocking = loops;
  options.connections = connections;
  options.outcomes = APNS_OUTCOMES_FAILURES;
  options.delivery = APNS_DELIVERY_AT_MOST_ONCE;
  apns_session_t *session = session_number_0(&options);
  size_t first[RENEWALS + 1] = {0};
  assert_true(send_while_renewing(session, count, loops, send_one, first) > 0);
  push_stop(session, service);
  /* Each came once, and none with a certificate older than the current one when it was sent. */
  owned(bytes) came = calloc(count, 1);
  assert_int_equal(service_count(service), count);
  for (size_t index = 0; index < count; index++) {
    const service_push_t *push = service_push(service, index);
    const size_t n = number_of(push), shown = number_of_certificate(push->provider);
    assert_in_range(n, 0, count - 1);
    assert_int_equal(came[n]++, 0);
    if (shown < RENEWALS) assert_true(n < first[shown + 1]);
  }
  assert_int_equal(number_of_certificate(service_push(service, count - 1)->provider), RENEWALS);
  assert_int_equal(service_complaints(service), 0);
}

TEST(none_is_lost_and_none_comes_twice) {
  check_many(false, 1, 0);
  check_many(false, 3, 100);
}

TEST(nor_in_an_event_loop) {
  check_many(true, 1, 0);
  check_many(true, 3, 100);
}

/* ---- What is in flight ------------------------------------------------------------ */

/* Certificate 0 gets no answers. */
static service_reply_t answer_others(void *context, const service_push_t *push) {
  (void)context;
  const bool is_first = !strcmp(push->provider, "provider 0");
  return (service_reply_t){.action = is_first ? SERVE_SILENCE : SERVE_ANSWER};
}

/* The session waits for the responses on the old connection while the new one works. */
TEST(the_old_connection_is_heard_to_its_end) {
  owned(service) service =
      service_start(&(service_options_t){.wants_certificate = true, .judge = answer_others});
  apns_session_options_t options = push_options(service);
  tuning_of(&options)->answer_timeout_ms = (uint32_t)as_many_as(3000, 20000);
  options.delivery = APNS_DELIVERY_AT_MOST_ONCE;
  apns_session_t *session = session_number_0(&options);
  send_range(session, 0, 1);
  renew(session, 1);
  send_range(session, 1, 5);
  apns_event_t event = APNS_EVENT_INIT;
  /* These are answered while the session still waits for the first one. */
  for (size_t n = 0; n < 4; n++) {
    assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
    assert_int_equal(event.kind, APNS_EVENT_ACCEPTED);
  }
  assert_counts(session, 5, 4, 0, 0, 1);
  assert_int_equal(stats_of(session).in_flight, 1);
  assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
  assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
  assert_ptr_equal(event.user_data, (void *)(uintptr_t)1);
  push_stop(session, service);
  assert_int_equal(service_connections(service), 2);
  assert_int_equal(service_count(service), 5);
}

/* A new connection is opened at once: the old one was unproductive, without anybody's fault. */
TEST(an_unused_connection_is_replaced) {
  owned(service) service = strict_service();
  apns_session_options_t options = push_options(service);
  tuning_of(&options)->reconnect_pause_max_ms = AMPLE_MS;
  apns_session_t *session = session_number_0(&options);
  for (size_t n = 1; n <= RENEWALS; n++) {
    assert_ok(apns_session_connect(session, &error));
    renew(session, n);
  }
  /* With a pause after each, twice as long each time, the last would be more than this. */
  const int64_t start = clock_ms();
  send_and_drain(session, 0, 3);
  assert_within(start, 3000);
  assert_counts(session, 3, 3, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, RENEWALS + 1);
  push_stop(session, service);
  for (size_t n = 0; n < 3; n++)
    assert_int_equal(number_of_certificate(service_push(service, n)->provider), RENEWALS);
}

TEST(before_the_first_connection) {
  owned(service) service = strict_service();
  apns_session_options_t options = push_options(service);
  apns_session_t *session = session_number_0(&options);
  renew(session, 1);
  send_and_drain(session, 0, 1);
  push_stop(session, service);
  assert_int_equal(service_connections(service), 1);
  assert_string_equal(service_push(service, 0)->provider, "provider 1");
}

/* In the first turn the socket connects, in later turns the handshake continues. */
TEST(one_that_is_being_opened_is_begun_again) {
  owned(service) service = strict_service();
  apns_session_t *session = looping_session(service);
  for (size_t n = 1; n <= 4; n++) {
    /* On a busy machine the whole handshake may fit into one call. */
    const apns_status_t status = apns_session_connect(session, &error);
    if (status != APNS_OK) assert_status(APNS_ERR_AGAIN, status);
    renew(session, n);
  }
  send_range(session, 0, 2);
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  assert_counts(session, 2, 2, 0, 0, 0);
  push_stop(session, service);
  assert_string_equal(service_push(service, 0)->provider, "provider 4");
}

/* An event loop that watches the descriptor closes the old connection, and needs no other call. */
TEST(an_event_loop_hears_of_it) {
  owned(service) service = strict_service();
  apns_session_t *session = looping_session(service);
  until_done(session, apns_session_connect(session, &error));
  send_range(session, 0, 1);
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  struct pollfd watched = {.fd = apns_session_fd(session), .events = POLLIN};
  while (poll(&watched, 1, 0) == 1) assert_ok(apns_session_process(session, &error));
  renew(session, 1);
  assert_int_equal(poll(&watched, 1, 0), 1);
  turn_quietly(session);
  send_range(session, 1, 2);
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  push_stop(session, service);
  assert_string_equal(service_push(service, 1)->provider, "provider 1");
}

/* ---- Provider tokens -------------------------------------------------------------- */

typedef struct keys {
  EVP_PKEY *old, *new;
  bool refuses_old;
  sem_t first; /* the first one is not answered before */
} keys_t;

static service_reply_t judge_tokens(void *context, const service_push_t *push) {
  keys_t *keys = context;
  service_reply_t reply = {0};
  if (push->number == 0) sem_wait(&keys->first);
  if (keys->refuses_old && is_token_of(push->authorization, keys->old))
    reply.status = 403, reply.body = "{\"reason\":\"ExpiredProviderToken\"}";
  return reply;
}

/* A notification that is rejected for its old token is resent with the new one. */
TEST(a_new_key_signs_on_a_new_connection) {
  for (int refuses = 0; refuses < 2; refuses++) {
    keys_t keys = {.old = keychain_key(false), .new = keychain_key(false), .refuses_old = refuses};
    sem_init(&keys.first, 0, 0);
    service_t *service = service_judging(judge_tokens, &keys);
    apns_credentials_options_t first = signing_options(keys.old), next = signing_options(keys.new);
    apns_credentials_t *credentials = credentials_of(&first);
    apns_session_t *session = signing_session(service, credentials);
    apns_credentials_free(credentials);
    credentials = credentials_of(&next);
    /* In flight, and its response comes after the rotation. */
    send_range(session, 0, 1);
    assert_ok(apns_session_use_credentials(session, credentials, &error));
    apns_credentials_free(credentials);
    sem_post(&keys.first);
    send_and_drain(session, 1, 10);
    assert_counts(session, 10, 10, 0, 0, 0);
    push_stop(session, service);
    bool is_new = false;
    size_t last = 0;
    for (size_t index = 0; index < service_count(service); index++) {
      const service_push_t *push = service_push(service, index);
      const bool shows_new = is_token_of(push->authorization, keys.new);
      assert_true(shows_new || is_token_of(push->authorization, keys.old));
      if (number_of(push) >= 1) assert_true(shows_new);
      /* A connection has tokens of one key. */
      if (push->connection != last) assert_true(shows_new);
      is_new |= shows_new;
      last = push->connection;
    }
    assert_true(is_new);
    assert_int_equal(service_connections(service), 2);
    service_free(service);
    sem_destroy(&keys.first);
    EVP_PKEY_free(keys.old);
    EVP_PKEY_free(keys.new);
  }
}

static service_reply_t judge_who(void *context, const service_push_t *push) {
  (void)context;
  const service_reply_t nobody = {.status = 403, .body = "{\"reason\":\"MissingProviderToken\"}"};
  if (!push->provider[0] && !push->authorization[0]) return nobody;
  return (service_reply_t){0};
}

/* From a certificate to a token and back. The service takes either. */
TEST(tokens_and_certificates_take_turns) {
  owned(key) key = keychain_key(false);
  owned(service) service = service_judging(judge_who, NULL);
  apns_session_options_t options = push_options(service);
  apns_session_t *session = session_number_0(&options);
  apns_credentials_options_t by_token = signing_options(key);
  for (size_t n = 0; n < 6; n++) {
    if (n % 2) {
      owned(credentials) credentials = credentials_of(&by_token);
      assert_ok(apns_session_use_credentials(session, credentials, &error));
    } else {
      renew(session, n);
    }
    send_range(session, n, n + 1);
    if (n % 3) drain(session);
  }
  drain(session);
  push_stop(session, service);
  assert_int_equal(service_count(service), 6);
  for (size_t index = 0; index < 6; index++) {
    const service_push_t *push = service_push(service, index);
    assert_int_equal(push->authorization[0] != 0, number_of(push) % 2);
  }
}

/* With a certificate, it may supply the topic. A token needs one, so those are drained first. */
TEST(what_has_no_topic_needs_its_certificate) {
  owned(key) key = keychain_key(false);
  owned(service) service = strict_service();
  apns_session_options_t options = push_options(service);
  options.topic = NULL;
  apns_session_t *session = session_number_0(&options);
  apns_credentials_options_t by_token = signing_options(key);
  owned(credentials) credentials = credentials_of(&by_token);
  send_range(session, 0, 2);
  assert_caused(APNS_ERR_ARGUMENT, apns_session_use_credentials(session, credentials, &error),
                APNS_CAUSE_TOPIC);
  renew(session, 1);
  send_and_drain(session, 2, 3);
  assert_counts(session, 3, 3, 0, 0, 0);
  assert_ok(apns_session_use_credentials(session, credentials, &error));
  assert_status(APNS_ERR_ARGUMENT, apns_session_send(session, notification(3), 0, NULL, &error));
  push_stop(session, service);
  assert_string_equal(service_push(service, 2)->topic, "");
  assert_string_equal(service_push(service, 2)->provider, "provider 1");
}

/* Apple's services refuse every request without a certificate or provider token. Another host, such
 * as a proxy on the same machine that adds them, may need neither. */
TEST(apples_service_needs_an_identity) {
  static const struct {
    const char *host, *server_name;
  } peers[] = {{NULL, NULL}, {"api.push.apple.com", NULL}, {"127.0.0.1", "API.push.apple.com."}};
  apns_credentials_options_t nobody = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_credentials_t *credentials = credentials_of(&nobody), *own = credentials_number(0);
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_channels_options_t managing = APNS_CHANNELS_OPTIONS_INIT;
  owned(session) session = NULL;
  owned(channels) channels = NULL;
  options.topic = managing.topic = "com.example.app";
  for (size_t index = 0; index < sizeof peers / sizeof *peers; index++) {
    options.peer.host = managing.peer.host = peers[index].host;
    options.peer.server_name = managing.peer.server_name = peers[index].server_name;
    assert_caused(APNS_ERR_ARGUMENT, apns_session_new(&options, credentials, &session, &error),
                  APNS_CAUSE_CERTIFICATE_MISSING);
    assert_contains(error.message, "neither a certificate nor a signing key");
    assert_caused(APNS_ERR_ARGUMENT, apns_channels_new(&managing, credentials, &channels, &error),
                  APNS_CAUSE_CERTIFICATE_MISSING);
    assert_ok(apns_session_new(&options, own, &session, &error));
    assert_caused(APNS_ERR_ARGUMENT, apns_session_use_credentials(session, credentials, &error),
                  APNS_CAUSE_CERTIFICATE_MISSING);
    apns_session_free(session);
  }
  options.peer.host = managing.peer.host = "push.example.com";
  options.peer.server_name = managing.peer.server_name = NULL;
  assert_ok(apns_session_new(&options, credentials, &session, &error));
  assert_ok(apns_channels_new(&managing, credentials, &channels, &error));
  apns_credentials_free(credentials);
  apns_credentials_free(own);
}
