/* New credentials in a running session over the binary interface. */
#include "renewing.h"

static const gateway_options_t strict = {.wants_certificate = true};
static const gateway_step_t judges[] = {JUDGE, END};

/* `count` connections that judge the frames they receive. */
static const gateway_step_t *const *judging(size_t count) {
  const gateway_step_t **scripts = calloc(count + 1, sizeof *scripts);
  for (size_t index = 0; index < count; index++) scripts[index] = judges;
  return scripts;
}

static const char *provider_of(gateway_t *gateway, size_t index) {
  return gateway_heard(gateway, index)->provider;
}

/* ---- In the middle of many ------------------------------------------------------ */

static void send_one(apns_session_t *session, size_t n, int flags) {
  apns_notification_t made = *notification(n);
  uint8_t token[32];
  memcpy(token, made.token, sizeof token);
  if (is_bad(n)) token[30] = token[31] = 0xFF;
  made.token = token;
  assert_ok(send_turning(session, &made, flags));
}

/* Each notification has one outcome, and arrived once. After a rotation no notification was written
   with an older certificate: `first[n]` is where certificate n began to count. */
static void check_all(gateway_t *gateway, size_t count, const size_t *first) {
  owned(bytes) ends = calloc(count, 1);
  size_t bad = 0;
  for (size_t index = 0; index < gateway_connections(gateway); index++) {
    const gateway_record_t *heard = gateway_heard(gateway, index);
    if (!heard->showed_certificate || !heard->frame_count) continue;
    const size_t shown = number_of_certificate(heard->provider);
    for (size_t frame = 0; frame < heard->frame_count; frame++) {
      if (heard->frames[frame].is_sentinel) continue;
      const size_t n = carried_by(heard, frame);
      assert_in_range(n, 0, count - 1);
      if (shown < RENEWALS) assert_true(n < first[shown + 1]);
      if (frame < heard->accepted) ends[n]++;
      if (frame == heard->accepted && heard->frames[frame].is_bad) ends[n]++, bad++;
    }
  }
  for (size_t n = 0; n < count; n++) assert_int_equal(ends[n], 1);
  assert_true(bad > 0);
}

static void check_many(bool loops, uint32_t connections, bool has_standby, int quiet_ms) {
  const size_t count = as_many_as(100000, 3000);
  const gateway_step_t *const *scripts = judging(4000);
  gateway_t *gateway = gateway_start(&strict, scripts);
  apns_session_options_t options = options_for(gateway);
  options.peer.nonblocking = loops;
  options.connections = connections;
  binary_of(&options)->no_standby = !has_standby;
  binary_of(&options)->quiet_period_ms = (uint32_t)quiet_ms;
  tuning_of(&options)->reconnect_pause_max_ms = 1;
  apns_session_t *session = session_number_0(&options);
  size_t first[RENEWALS + 1] = {0};
  send_while_renewing(session, count, loops, send_one, first);
  apns_session_free(session);
  check_all(gateway, count, first);
  gateway_stop(gateway);
  free((void *)scripts);
}

TEST(none_is_lost_and_none_comes_twice) {
  check_many(false, 1, false, 0);
  check_many(false, 1, true, 0);
  check_many(false, 3, true, 0);
}

TEST(nor_in_an_event_loop) {
  check_many(true, 1, true, 0);
  check_many(true, 3, true, 0);
}

/* ---- What is in flight ----------------------------------------------------------- */

/* The old connection's answer comes late. Until then nothing else is written anywhere. */
TEST(what_is_in_flight_is_proven_first) {
  static const gateway_step_t slow[] = {TAKE_SENTINEL, AWAIT(1), NAME_LAST(2), END};
  owned(gateway) gateway = gateway_start(&strict, SCRIPTS(slow));
  apns_session_options_t options = options_for(gateway);
  options.peer.nonblocking = 1;
  apns_session_t *session = session_number_0(&options);
  until_done(session, apns_session_connect(session, &error));
  send_range(session, 0, 3);
  until_done(session, apns_session_flush(session, &error));
  renew(session, 1);
  send_range(session, 3, 5);
  while (apns_session_flush(session, &error) != APNS_ERR_AGAIN) turn_quietly(session);
  gateway_await_step(gateway, 0, 1);
  assert_counts(session, 5, 0, 0, 0, 5);
  assert_int_equal(gateway_connections(gateway), 1);
  gateway_signal(gateway);
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  assert_counts(session, 5, 5, 0, 0, 0);
  assert_int_equal(stats_of(session).resent, 0);
  apns_session_free(session);
  assert_string_equal(provider_of(gateway, 0), "provider 0");
  assert_string_equal(provider_of(gateway, 1), "provider 1");
  assert_int_equal(notifications_in(gateway_heard(gateway, 0)), 3);
  assert_carry_all(gateway, 0, 5);
}

/* Notifications after a rejected one on the old connection are resent on the new one. */
TEST(a_rejection_meanwhile_is_heard) {
  static const gateway_step_t names[] = {TAKE_FRAMES(5), NAME_NTH(8, 1), END};
  owned(gateway) gateway = gateway_start(&strict, SCRIPTS(names));
  apns_session_options_t options = options_for(gateway);
  apns_session_t *session = session_number_0(&options);
  send_range(session, 0, 5);
  renew(session, 1);
  send_and_drain(session, 5, 7);
  assert_event(session, APNS_EVENT_REJECTED, 8, 1);
  assert_counts(session, 7, 6, 1, 0, 0);
  apns_session_free(session);
  assert_string_equal(provider_of(gateway, 1), "provider 1");
  assert_int_equal(notifications_in(gateway_heard(gateway, 1)), 5);
  assert_carries(gateway_heard(gateway, 1), 0, 2);
}

TEST(silence_proves_where_it_is_to) {
  static const gateway_step_t listens[] = {TAKE_ALL, END};
  owned(gateway) gateway = gateway_start(&strict, SCRIPTS(listens, listens));
  for (int simple = 0; simple < 2; simple++) {
    gateway_stop(gateway);
    gateway = gateway_start(&strict, SCRIPTS(listens, listens));
    apns_session_options_t options = options_for(gateway);
    binary_of(&options)->quiet_period_ms = 20;
    if (simple) binary_of(&options)->format = APNS_FORMAT_SIMPLE;
    apns_session_t *session = session_number_0(&options);
    send_range(session, 0, 3);
    renew(session, 1);
    send_and_drain(session, 3, 5);
    assert_counts(session, 5, 5, 0, 0, 0);
    apns_session_free(session);
    assert_string_equal(provider_of(gateway, 0), "provider 0");
    assert_string_equal(provider_of(gateway, 1), "provider 1");
    assert_int_equal(gateway_heard(gateway, 0)->frame_count, 3);
    assert_int_equal(gateway_heard(gateway, 1)->frame_count, 2);
  }
}

TEST(what_nothing_can_prove_is_unknown) {
  static const gateway_step_t listens[] = {TAKE_ALL, END};
  owned(gateway) gateway = gateway_start(&strict, SCRIPTS(listens, listens));
  apns_session_options_t options = options_for(gateway);
  binary_of(&options)->format = APNS_FORMAT_SIMPLE;
  options.delivery = APNS_DELIVERY_AT_LEAST_ONCE;
  apns_session_t *session = session_number_0(&options);
  send_range(session, 0, 3);
  renew(session, 1);
  send_range(session, 3, 5);
  assert_ok(apns_session_flush(session, &error));
  for (size_t n = 0; n < 3; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  assert_counts(session, 5, 0, 0, 3, 2);
  apns_session_free(session);
  assert_int_equal(gateway_heard(gateway, 0)->frame_count, 3);
  assert_int_equal(gateway_heard(gateway, 1)->frame_count, 2);
}

/* ---- Every state of a session ---------------------------------------------------- */

TEST(before_the_first_connection) {
  owned(gateway) gateway = gateway_start(&strict, NULL);
  apns_session_options_t options = options_for(gateway);
  apns_session_t *session = session_number_0(&options);
  renew(session, 1);
  renew(session, 2);
  assert_int_equal(gateway_connections(gateway), 0);
  send_and_drain(session, 0, 1);
  apns_session_free(session);
  assert_int_equal(gateway_connections(gateway), 1);
  assert_string_equal(provider_of(gateway, 0), "provider 2");
}

TEST(an_idle_connection_is_replaced) {
  owned(gateway) gateway = gateway_start(&strict, NULL);
  apns_session_options_t options = options_for(gateway);
  apns_session_t *session = session_number_0(&options);
  assert_ok(apns_session_connect(session, &error));
  renew(session, 1);
  send_and_drain(session, 0, 1);
  assert_counts(session, 1, 1, 0, 0, 0);
  apns_session_free(session);
  assert_string_equal(provider_of(gateway, 0), "provider 0");
  assert_int_equal(gateway_heard(gateway, 0)->frame_count, 0);
  assert_int_equal(gateway_heard(gateway, 0)->ending, ENDING_NOTIFY);
  assert_string_equal(provider_of(gateway, 1), "provider 1");
}

/* The session abandons the pending handshake: the gateway never answers it. */
TEST(one_that_is_being_opened_is_begun_again) {
  static const gateway_step_t deaf[] = {NO_HANDSHAKE, AWAIT(1), END};
  owned(gateway) gateway = gateway_start(&strict, SCRIPTS(deaf));
  apns_session_options_t options = options_for(gateway);
  options.peer.nonblocking = 1;
  apns_session_t *session = session_number_0(&options);
  send_range(session, 0, 2);
  gateway_await_step(gateway, 0, 1);
  renew(session, 1);
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  assert_counts(session, 2, 2, 0, 0, 0);
  apns_session_free(session);
  gateway_signal(gateway);
  assert_string_equal(provider_of(gateway, 1), "provider 1");
}

/* The standby connection is not used. */
TEST(a_standby_connection_is_replaced) {
  static const gateway_step_t names_first[] = {TAKE_FRAMES(10), NAME_NTH(8, 0), END};
  static const gateway_step_t works[] = {TAKE_FRAMES(9), TAKE_SENTINEL, NAME_LAST(2), END};
  static const gateway_step_t idle[] = {TAKE_ALL, END};
  owned(gateway) gateway = gateway_start(&strict, SCRIPTS(names_first, works, idle));
  apns_session_options_t options = options_for(gateway);
  binary_of(&options)->no_standby = 0;
  apns_session_t *session = session_number_0(&options);
  apns_event_t event = APNS_EVENT_INIT;
  send_range(session, 0, 10);
  assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
  await_connects(session, 3);
  gateway_await_frames(gateway, 1, 9);
  renew(session, 1);
  send_and_drain(session, 10, 12);
  assert_counts(session, 12, 11, 1, 0, 0);
  apns_session_free(session);
  assert_string_equal(provider_of(gateway, 2), "provider 0");
  assert_int_equal(gateway_heard(gateway, 2)->frame_count, 0);
  assert_string_equal(provider_of(gateway, 3), "provider 1");
  assert_int_equal(notifications_in(gateway_heard(gateway, 3)), 2);
}

TEST(a_closed_session_takes_none) {
  owned(gateway) gateway = gateway_start(&strict, NULL);
  apns_session_options_t options = options_for(gateway);
  owned(session) session = session_number_0(&options);
  owned(credentials) credentials = credentials_number(1);
  apns_session_close(session, 0, NULL);
  assert_status(APNS_ERR_CLOSED, apns_session_use_credentials(session, credentials, &error));
}

/* ---- Which credentials ----------------------------------------------------------- */

TEST(wrong_ones_change_nothing) {
  owned(gateway) gateway = gateway_start(&strict, NULL);
  apns_session_options_t options = options_for(gateway);
  apns_session_t *session = session_number_0(&options);
  owned(credentials) credentials = NULL;
  send_range(session, 0, 2);
  assert_invalid(apns_session_use_credentials(session, NULL, &error), "credentials is NULL");
  assert_status(APNS_ERR_ARGUMENT, apns_session_use_credentials(NULL, credentials, &error));
#ifdef WITH_HTTP2
  apns_credentials_options_t token = APNS_CREDENTIALS_OPTIONS_INIT;
  token.token_private_key = certificate_of(0)->key;
  token.key_id = token.team_id = "ABC123DEFG";
  assert_ok(apns_credentials_new(&token, &credentials, &error));
  assert_caused(APNS_ERR_ARGUMENT, apns_session_use_credentials(session, credentials, &error),
                APNS_CAUSE_CERTIFICATE_MISSING);
#endif
  send_and_drain(session, 2, 4);
  assert_counts(session, 4, 4, 0, 0, 0);
  apns_session_free(session);
  assert_int_equal(gateway_connections(gateway), 1);
  assert_int_equal(notifications_in(gateway_heard(gateway, 0)), 4);
}

/* The same object: nothing happens. The same file read again: as with another certificate. */
TEST(the_same_ones_do_no_harm) {
  owned(gateway) gateway = gateway_start(&strict, NULL);
  apns_session_options_t options = options_for(gateway);
  owned(credentials) credentials = credentials_number(0);
  apns_session_t *session = session_with(&options, credentials);
  send_range(session, 0, 2);
  assert_ok(apns_session_use_credentials(session, credentials, &error));
  send_range(session, 2, 4);
  assert_int_equal(stats_of(session).connects, 1);
  renew(session, 0);
  send_and_drain(session, 4, 6);
  assert_counts(session, 6, 6, 0, 0, 0);
  assert_int_equal(stats_of(session).connects, 2);
  apns_session_free(session);
  assert_int_equal(notifications_in(gateway_heard(gateway, 0)), 4);
  assert_carry_all(gateway, 0, 6);
}

/* A ticket of one certificate is not offered with another. */
TEST(a_ticket_goes_with_its_certificate) {
  const gateway_options_t generous = {
      .wants_certificate = true, .tickets = 2, .tls_version = TLS1_3_VERSION};
  owned(gateway) gateway = gateway_start(&generous, NULL);
  apns_session_options_t options = options_for(gateway);
  apns_session_t *session = session_number_0(&options);
  /* A drain costs its connection, and the next one is resumed. */
  for (size_t n = 0; n < 6; n++) {
    if (n == 2) renew(session, 1);
    /* This time an open connection with a ticket is left. */
    send_range(session, n, n + 1);
    if (n == 4) renew(session, 2);
    drain(session);
  }
  apns_session_free(session);
  static const bool offered[] = {false, true, false, true, true, false};
  static const size_t shown[] = {0, 0, 1, 1, 1, 2};
  for (size_t index = 0; index < 6; index++) {
    assert_int_equal(gateway_heard(gateway, index)->was_offered, offered[index]);
    assert_int_equal(number_of_certificate(provider_of(gateway, index)), shown[index]);
  }
}

/* ---- The old ones are let go ----------------------------------------------------- */

static size_t contexts_freed;

static void context_freed(void *parent, void *data, CRYPTO_EX_DATA *all, int index, long argument,
                          void *pointer) {
  (void)parent, (void)data, (void)all, (void)index, (void)argument, (void)pointer;
  contexts_freed++;
}

/* With the last connection, and not before; the SSL that stands for the session keeps nothing. */
TEST(the_old_ones_go_with_their_last_connection) {
  assert_true(SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, context_freed) >= 0);
  owned(gateway) gateway = gateway_start(&strict, NULL);
  apns_session_options_t options = options_for(gateway);
  apns_session_t *session = session_number_0(&options);
  struct ssl_st *ssl = apns_session_ssl(session);
  assert_non_null(ssl);
  send_range(session, 0, 2);
  contexts_freed = 0;
  renew(session, 1);
  assert_int_equal(contexts_freed, 0);
  drain(session);
  assert_int_equal(contexts_freed, 1);
  assert_ptr_equal(apns_session_ssl(session), ssl);
  apns_session_free(session);
  assert_int_equal(contexts_freed, 3);
}
