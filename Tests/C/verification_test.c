/* Whom the provider takes for the gateway, and whom the gateway takes for a provider. */
#include <openssl/err.h>
#include <stdio.h>

#include "provider.h"

static const identities_t *all;

/* A session to a gateway with this certificate. */
static apns_session_t *session_as(const gateway_t *gateway, apns_credentials_options_t *who,
                                  const char *host, const char *server_name) {
  apns_credentials_t *credentials = NULL;
  apns_session_t *session = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  assert_ok(apns_credentials_new(who, &credentials, &error), &error);
  apns_session_options_t options = options_for(gateway);
  options.host = host;
  options.server_name = server_name;
  assert_ok(apns_session_new(&options, credentials, &session, &error), &error);
  apns_credentials_free(credentials);
  return session;
}

static apns_credentials_options_t trusting(void) {
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  options.ca_file = all->root.certificate_file;
  return options;
}

static void check_trusted(const identity_t *identity, apns_credentials_options_t *who,
                          const char *host, const char *server_name, const char *sni) {
  const gateway_options_t options = {.identity = identity};
  gateway_t *gateway = gateway_start(&options, NULL);
  apns_session_t *session = session_as(gateway, who, host, server_name);
  apns_error_t error = APNS_ERROR_INIT;
  assert_ok(apns_session_connect(session, &error), &error);
  apns_session_free(session);
  const gateway_record_t *heard = gateway_heard(gateway, 0);
  if (sni) {
    assert_non_null(heard->server_name);
    assert_string_equal(heard->server_name, sni);
  } else {
    assert_null(heard->server_name);
  }
  gateway_stop(gateway);
}

/* Nothing is sent to one that is not trusted, and the message says all of `...`. */
#define check_distrusted(identity, who, host, server_name, ...) \
  distrusted((identity), (who), (host), (server_name), (const char *const[]){__VA_ARGS__, NULL})

static void distrusted(const identity_t *identity, apns_credentials_options_t *who,
                       const char *host, const char *server_name, const char *const *parts) {
  static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
  for (size_t index = 0; index < 2; index++) {
    const gateway_options_t options = {.identity = identity, .tls_version = versions[index]};
    gateway_t *gateway = gateway_start(&options, NULL);
    apns_session_t *session = session_as(gateway, who, host, server_name);
    apns_error_t error = APNS_ERROR_INIT;
    assert_status(APNS_ERR_TLS, apns_session_send(session, notification(0), 0, NULL, &error),
                  &error);
    assert_int_not_equal(error.tls_code, 0);
    for (const char *const *part = parts; *part; part++) assert_contains(error.message, *part);
    assert_counts(session, 0, 0, 0, 0, 0);
    assert_int_equal(ERR_peek_error(), 0);
    apns_session_free(session);
    const gateway_record_t *heard = gateway_heard(gateway, 0);
    assert_int_equal(heard->length, 0);
    gateway_stop(gateway);
  }
}

/* ---- The gateway's certificate ------------------------------------------ */

static void a_name_and_its_sni(void **state) {
  (void)state;
  apns_credentials_options_t who = trusting();
  check_trusted(&all->gateway, &who, "localhost", NULL, "localhost");
}

static void an_address_and_no_sni(void **state) {
  (void)state;
  apns_credentials_options_t who = trusting();
  check_trusted(&all->gateway, &who, "127.0.0.1", NULL, NULL);
}

static void an_address_of_version_6(void **state) {
  (void)state;
  const gateway_options_t options = {.on_ipv6 = true};
  gateway_t *gateway = gateway_start(&options, NULL);
  if (!gateway) skip();
  apns_credentials_options_t who = trusting();
  apns_session_t *session = session_as(gateway, &who, "::1", NULL);
  apns_error_t error = APNS_ERROR_INIT;
  assert_ok(apns_session_connect(session, &error), &error);
  apns_session_free(session);
  gateway_stop(gateway);
}

static void a_server_name_in_place_of_the_host(void **state) {
  (void)state;
  apns_credentials_options_t who = trusting();
  check_trusted(&all->gateway_elsewhere, &who, "127.0.0.1", "elsewhere.example",
                "elsewhere.example");
  check_trusted(&all->gateway, &who, "localhost", "127.0.0.1", NULL);
  check_distrusted(&all->gateway, &who, "localhost", "elsewhere.example", "elsewhere.example",
                   "ostname mismatch");
}

static void a_chain_with_an_intermediate(void **state) {
  (void)state;
  apns_credentials_options_t who = trusting();
  check_trusted(&all->gateway_in_chain, &who, "localhost", NULL, "localhost");
}

static void an_unknown_authority(void **state) {
  (void)state;
  apns_credentials_options_t who = trusting();
  check_distrusted(&all->gateway_of_stranger, &who, "localhost", NULL, "localhost",
                   "is not verified", "certificate 0", "CN=stranger");
}

static void the_systems_authorities_do_not_know_the_root(void **state) {
  (void)state;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  check_distrusted(&all->gateway, &who, "localhost", NULL, "localhost", "CN=gateway");
}

static void an_expired_certificate(void **state) {
  (void)state;
  apns_credentials_options_t who = trusting();
  check_distrusted(&all->gateway_expired, &who, "localhost", NULL, "localhost",
                   "certificate has expired", "CN=expired");
}

static void another_hosts_certificate(void **state) {
  (void)state;
  apns_credentials_options_t who = trusting();
  check_distrusted(&all->gateway_elsewhere, &who, "localhost", NULL, "localhost",
                   "ostname mismatch", "CN=elsewhere");
}

static void a_certificate_without_the_address(void **state) {
  (void)state;
  apns_credentials_options_t who = trusting();
  check_distrusted(&all->gateway_without_address, &who, "127.0.0.1", NULL, "127.0.0.1",
                   "IP address mismatch", "CN=nameonly");
  check_trusted(&all->gateway_without_address, &who, "127.0.0.1", "localhost", "localhost");
}

static void the_name_is_in_the_subject_only(void **state) {
  (void)state;
  /* The certificate's CN is "elsewhere", and that is not what is looked at. */
  apns_credentials_options_t who = trusting();
  check_distrusted(&all->gateway_elsewhere, &who, "127.0.0.1", "elsewhere", "ostname mismatch");
}

static void anybody_where_that_is_asked_for(void **state) {
  (void)state;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  who.dangerously_accept_any_peer = 1;
  check_trusted(&all->gateway_of_stranger, &who, "localhost", NULL, "localhost");
  check_trusted(&all->gateway_expired, &who, "localhost", NULL, "localhost");
  check_trusted(&all->gateway_elsewhere, &who, "127.0.0.1", NULL, NULL);
}

static void the_feedback_service_is_verified_too(void **state) {
  (void)state;
  const gateway_options_t options = {.identity = &all->gateway_elsewhere};
  gateway_t *gateway = gateway_start(&options, NULL);
  apns_credentials_options_t who = trusting();
  apns_credentials_t *credentials = NULL;
  apns_feedback_t *feedback = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  assert_ok(apns_credentials_new(&who, &credentials, &error), &error);
  apns_feedback_options_t from = APNS_FEEDBACK_OPTIONS_INIT;
  from.host = "localhost";
  from.port = gateway_port(gateway);
  assert_status(APNS_ERR_TLS, apns_feedback_open(&from, credentials, &feedback, &error), &error);
  assert_contains(error.message, "ostname mismatch");
  assert_null(feedback);
  from.server_name = "elsewhere.example";
  assert_ok(apns_feedback_open(&from, credentials, &feedback, &error), &error);
  apns_feedback_free(feedback);
  apns_credentials_free(credentials);
  gateway_stop(gateway);
}

/* ---- The provider's certificate ----------------------------------------- */

static void a_provider_refused_in_the_handshake(void **state) {
  (void)state;
  const gateway_options_t strict = {.wants_certificate = true, .tls_version = TLS1_2_VERSION};
  gateway_t *gateway = gateway_start(&strict, NULL);
  apns_credentials_options_t who = trusting();
  who.certificate_file = all->provider_of_stranger.together_file;
  apns_session_t *session = session_as(gateway, &who, "127.0.0.1", NULL);
  apns_error_t error = APNS_ERROR_INIT;
  assert_status(APNS_ERR_TLS, apns_session_send(session, notification(0), 0, NULL, &error), &error);
  assert_contains(error.message, "alert unknown ca");
  assert_int_not_equal(error.tls_code, 0);
  assert_counts(session, 0, 0, 0, 0, 0);
  apns_session_free(session);

  who.certificate_file = NULL;
  session = session_as(gateway, &who, "127.0.0.1", NULL);
  assert_status(APNS_ERR_TLS, apns_session_connect(session, &error), &error);
  assert_contains(error.message, "alert handshake failure");
  apns_session_free(session);
  gateway_stop(gateway);
}

/* In TLS 1.3 the provider has long gone on when the gateway turns it down. */
static void check_refused_after_the_handshake(const char *certificate, const char *reason) {
  const gateway_options_t strict = {.wants_certificate = true, .tls_version = TLS1_3_VERSION};
  gateway_t *gateway = gateway_start(&strict, NULL);
  apns_credentials_options_t who = trusting();
  who.certificate_file = certificate;
  apns_session_t *session = session_as(gateway, &who, "127.0.0.1", NULL);
  apns_error_t error = APNS_ERROR_INIT;
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error), &error);
  size_t unresolved = 0;
  assert_status(APNS_ERR_TLS, apns_session_drain(session, 30000, &unresolved, &error), &error);
  assert_contains(error.message, reason);
  assert_int_not_equal(error.tls_code, 0);
  /* The gateway looked at nothing, so nothing was sent again and nothing has an end. */
  assert_int_equal(unresolved, 1);
  assert_counts(session, 1, 0, 0, 0, 1);
  assert_int_equal(stats_of(session).resent, 0);
  assert_status(APNS_ERR_TLS, apns_session_drain(session, 30000, &unresolved, &error), &error);
  assert_int_equal(stats_of(session).resent, 0);
  assert_no_event(session);
  assert_ok(apns_session_close(session, 0, &error), &error);
  assert_event(session, APNS_EVENT_UNKNOWN, 0, 0);
  apns_session_free(session);
  gateway_stop(gateway);
}

static void a_provider_refused_after_the_handshake(void **state) {
  (void)state;
  check_refused_after_the_handshake(all->provider_of_stranger.together_file, "alert unknown ca");
}

static void a_provider_without_a_certificate_refused_after_the_handshake(void **state) {
  (void)state;
  check_refused_after_the_handshake(NULL, "alert certificate required");
}

/* The event loop's way of meeting the same. */
static void a_refusal_met_by_next_event(void **state) {
  (void)state;
  const gateway_options_t strict = {.wants_certificate = true, .tls_version = TLS1_3_VERSION};
  gateway_t *gateway = gateway_start(&strict, NULL);
  apns_credentials_options_t who = trusting();
  apns_session_t *session = session_as(gateway, &who, "127.0.0.1", NULL);
  apns_error_t error = APNS_ERROR_INIT;
  apns_event_t event = APNS_EVENT_INIT;
  send_range(session, 0, 1);
  assert_status(APNS_ERR_TLS, apns_session_next_event(session, &event, 30000, &error), &error);
  assert_contains(error.message, "alert certificate required");
  assert_counts(session, 1, 0, 0, 0, 1);
  apns_session_free(session);
  gateway_stop(gateway);
}

static void a_feedback_reader_refused_after_the_handshake(void **state) {
  (void)state;
  const gateway_options_t strict = {.wants_certificate = true, .tls_version = TLS1_3_VERSION};
  gateway_t *gateway = gateway_start(&strict, NULL);
  apns_credentials_options_t who = trusting();
  apns_credentials_t *credentials = NULL;
  apns_feedback_t *feedback = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  assert_ok(apns_credentials_new(&who, &credentials, &error), &error);
  apns_feedback_options_t from = APNS_FEEDBACK_OPTIONS_INIT;
  from.host = "127.0.0.1";
  from.port = gateway_port(gateway);
  assert_ok(apns_feedback_open(&from, credentials, &feedback, &error), &error);
  apns_credentials_free(credentials);
  for (int round = 0; round < 2; round++) {
    apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
    assert_status(APNS_ERR_TLS, apns_feedback_next(feedback, &tuple, &error), &error);
    assert_contains(error.message, "alert certificate required");
  }
  apns_feedback_free(feedback);
  gateway_stop(gateway);
}

/* ---- What is no TLS at all ---------------------------------------------- */

static void a_peer_that_speaks_something_else(void **state) {
  (void)state;
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_credentials_options_t who = trusting();
  /* Who closes at once, and who resets. */
  gateway_stop(gateway);
  const gateway_step_t closes[] = {NO_HANDSHAKE, TAKE_RAW(100), CLOSE_FIN};
  const gateway_step_t resets[] = {NO_HANDSHAKE, TAKE_RAW(100), CLOSE_RST};
  gateway = gateway_start(NULL, SCRIPTS(closes, resets));
  apns_session_t *session = session_as(gateway, &who, "localhost", NULL);
  apns_error_t error = APNS_ERROR_INIT;
  assert_status(APNS_ERR_NETWORK, apns_session_connect(session, &error), &error);
  assert_contains(error.message, "handshake");
  assert_contains(error.message, "localhost");
  assert_status(APNS_ERR_NETWORK, apns_session_connect(session, &error), &error);
  assert_contains(error.message, "handshake");
  assert_int_not_equal(error.sys_errno, 0);
  apns_session_free(session);
  gateway_stop(gateway);
}

int main(void) {
  all = identities_make();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_name_and_its_sni),
      cmocka_unit_test(an_address_and_no_sni),
      cmocka_unit_test(an_address_of_version_6),
      cmocka_unit_test(a_server_name_in_place_of_the_host),
      cmocka_unit_test(a_chain_with_an_intermediate),
      cmocka_unit_test(an_unknown_authority),
      cmocka_unit_test(the_systems_authorities_do_not_know_the_root),
      cmocka_unit_test(an_expired_certificate),
      cmocka_unit_test(another_hosts_certificate),
      cmocka_unit_test(a_certificate_without_the_address),
      cmocka_unit_test(the_name_is_in_the_subject_only),
      cmocka_unit_test(anybody_where_that_is_asked_for),
      cmocka_unit_test(the_feedback_service_is_verified_too),
      cmocka_unit_test(a_provider_refused_in_the_handshake),
      cmocka_unit_test(a_provider_refused_after_the_handshake),
      cmocka_unit_test(a_provider_without_a_certificate_refused_after_the_handshake),
      cmocka_unit_test(a_refusal_met_by_next_event),
      cmocka_unit_test(a_feedback_reader_refused_after_the_handshake),
      cmocka_unit_test(a_peer_that_speaks_something_else),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
