/* TLS sessions: kept of whole handshakes only, and an offer that a peer cannot bear costs no
   more than a connection. */
#include <stdio.h>

#include "provider.h"

/* Credentials for one TLS version; 0: any. */
static apns_credentials_t *credentials_for(int tls_version) {
  const identities_t *identities = identities_make();
  apns_credentials_options_t options = trusting();
  options.certificate_file = identities->provider.certificate_file;
  options.key_file = identities->provider.key_file;
  if (tls_version == TLS1_2_VERSION) options.tls_max = APNS_TLS_1_2;
  return credentials_of(&options);
}

static apns_session_t *session_by(const gateway_t *gateway, int tls_version) {
  apns_session_options_t options = options_for(gateway);
  owned(credentials) credentials = credentials_for(tls_version);
  binary_of(&options)->no_standby = 1;
  options.outcomes = APNS_OUTCOMES_EACH;
  return session_with(&options, credentials);
}

/* One notification, whose acceptance the gateway proves; it ends the connection with it. */
static void push(apns_session_t *session, size_t n) {
  size_t unresolved = 1;
  assert_ok(apns_session_send(session, notification(n), 0, NULL, &error));
  assert_ok(apns_session_drain(session, AMPLE_MS, &unresolved, &error));
  assert_int_equal(unresolved, 0);
  assert_event(session, APNS_EVENT_ACCEPTED, 0, n);
}

/* An OpenSSL server that requests certificates and sets no session id context. */
static void check_once_more(int tls_version) {
  const gateway_options_t how = {.tls_version = tls_version,
                                 .wants_certificate = true,
                                 .tickets = 2,
                                 .no_session_context = true};
  owned(gateway) gateway = gateway_start(&how, NULL);
  apns_session_t *session = session_by(gateway, tls_version);
  push(session, 0);
  /* The same call opens the connection with a failed resumption and the next one without. */
  assert_ok(apns_session_connect(session, &error));
  assert_int_equal(gateway_connections(gateway), 3);
  assert_int_equal(stats_of(session).connects, 2);
  push(session, 1);
  apns_session_free(session);
  assert_int_equal(gateway_heard(gateway, 1)->ending, ENDING_HANDSHAKE);
  assert_true(gateway_heard(gateway, 1)->was_offered);
  assert_false(gateway_heard(gateway, 2)->was_offered);
  assert_int_equal(gateway_heard(gateway, 2)->tls_version, tls_version);
}

TEST(a_peer_that_cannot_resume_is_connected_to_once_more) {
  check_once_more(TLS1_2_VERSION);
  check_once_more(TLS1_3_VERSION);
}

/* As long as it may be an accident there is an offer; then it would be two connections for
   each, for good. */
TEST(a_peer_that_never_can_resume_is_offered_nothing_more) {
  enum { ROUNDS = 6, OFFERS = 3 };
  const gateway_options_t how = {
      .wants_certificate = true, .tickets = 2, .no_session_context = true};
  owned(gateway) gateway = gateway_start(&how, NULL);
  apns_session_t *session = session_by(gateway, 0);
  for (size_t n = 0; n < ROUNDS; n++) push(session, n);
  apns_session_free(session);
  size_t offered = 0, connections = gateway_connections(gateway);
  for (size_t index = 0; index < connections; index++)
    offered += gateway_heard(gateway, index)->was_offered;
  assert_int_equal(offered, OFFERS);
  assert_int_equal(connections, ROUNDS + OFFERS);
}

/* TLS 1.3: for the provider the handshake is over before the peer thinks better of it. */
TEST(a_resumption_that_is_regretted_late_is_not_tried_again) {
  const gateway_options_t how = {
      .tls_version = TLS1_3_VERSION, .tickets = 2, .regrets_resumption = true};
  owned(gateway) gateway = gateway_start(&how, NULL);
  apns_session_t *session = session_by(gateway, 0);
  push(session, 0);
  push(session, 1);
  assert_counts(session, 2, 2, 0, 0, 0);
  apns_session_free(session);
  assert_int_equal(gateway_connections(gateway), 3);
  assert_true(gateway_heard(gateway, 1)->was_offered);
  assert_int_equal(gateway_heard(gateway, 1)->ending, ENDING_HANDSHAKE);
  assert_false(gateway_heard(gateway, 2)->was_offered);
}

/* TLS 1.2 has a number for the session before the peer has proved anything. */
TEST(a_session_of_half_a_handshake_is_not_offered) {
  static const gateway_step_t cut[] = {NO_HANDSHAKE, CUT_HANDSHAKE, END};
  const gateway_options_t how = {.tls_version = TLS1_2_VERSION, .keeps_sessions = true};
  owned(gateway) gateway = gateway_start(&how, SCRIPTS(cut));
  apns_session_t *session = session_by(gateway, TLS1_2_VERSION);
  assert_status(APNS_ERR_NETWORK, apns_session_connect(session, &error));
  push(session, 0);
  push(session, 1);
  apns_session_free(session);
  assert_int_equal(gateway_connections(gateway), 3);
  assert_false(gateway_heard(gateway, 1)->was_offered);
  /* The session of a full handshake is offered, and serves. */
  assert_true(gateway_heard(gateway, 2)->was_offered);
  assert_true(gateway_heard(gateway, 2)->was_resumed);
}

/* A good connection's session is offered even after a bad connection, but not the bad one's. */
TEST(an_offer_that_is_cut_is_withdrawn) {
  static const gateway_step_t good[] = {JUDGE, END};
  static const gateway_step_t cut[] = {NO_HANDSHAKE, CUT_HANDSHAKE, END};
  const gateway_options_t how = {.tls_version = TLS1_2_VERSION, .keeps_sessions = true};
  owned(gateway) gateway = gateway_start(&how, SCRIPTS(good, cut));
  apns_session_t *session = session_by(gateway, TLS1_2_VERSION);
  push(session, 0);
  push(session, 1);
  apns_session_free(session);
  assert_int_equal(gateway_connections(gateway), 3);
  assert_false(gateway_heard(gateway, 2)->was_offered);
}
