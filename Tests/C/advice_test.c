/* The message where a connection fails for a known reason. */
#include <netdb.h>
#include <openssl/pem.h>
#include <stdio.h>

#include "keychain.h"
#include "provider.h"
#include "proxy.h"

static const char advice[] =
    "; Apple switched its binary interface off in 2021: set the option protocol to HTTP/2 (api.";

static apns_error_t connection_failure(const apns_session_options_t *options, bool shows_one) {
  FORGET_ERROR();
  apns_credentials_options_t who = trusting();
  if (shows_one) who.certificate_file = identities_make()->provider.together_file;
  owned(credentials) credentials = credentials_of(&who);
  owned(session) session = session_with(options, credentials);
  assert_int_not_equal(apns_session_connect(session, &error), APNS_OK);
  return error;
}

/* ---- Apple's hosts by environment ------------------------------------------- */

static char asked_host[300];

static int note_host(const char *host, struct addrinfo **list, void *context) {
  (void)list, (void)context;
  snprintf(asked_host, sizeof asked_host, "%s", host);
  return EAI_NONAME;
}

TEST(each_environment_has_its_host) {
  static const struct {
    int32_t protocol, environment;
    const char *given, *asked;
  } cases[] = {
      {APNS_PROTOCOL_HTTP2, APNS_ENVIRONMENT_PRODUCTION, NULL, "api.push.apple.com"},
      {APNS_PROTOCOL_HTTP2, APNS_ENVIRONMENT_SANDBOX, NULL, "api.sandbox.push.apple.com"},
      {APNS_PROTOCOL_BINARY, APNS_ENVIRONMENT_PRODUCTION, NULL, "gateway.push.apple.com"},
      {APNS_PROTOCOL_BINARY, APNS_ENVIRONMENT_SANDBOX, NULL, "gateway.sandbox.push.apple.com"},
      {APNS_PROTOCOL_HTTP2, APNS_ENVIRONMENT_PRODUCTION, APNS_HOST_SANDBOX, APNS_HOST_SANDBOX},
      {APNS_PROTOCOL_HTTP2, APNS_ENVIRONMENT_SANDBOX, APNS_HOST_SANDBOX, APNS_HOST_SANDBOX},
      {APNS_PROTOCOL_HTTP2, APNS_ENVIRONMENT_SANDBOX, "push.example.com", "push.example.com"},
      {APNS_PROTOCOL_HTTP2, APNS_ENVIRONMENT_SANDBOX, "api.push.apple.com.example",
       "api.push.apple.com.example"},
  };
  owned(credentials) credentials = provider_credentials();
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
    options.protocol = cases[index].protocol;
    options.environment = cases[index].environment;
    options.peer.host = cases[index].given;
    options.peer.lookup = note_host;
    owned(session) session = session_with(&options, credentials);
    assert_int_not_equal(apns_session_connect(session, &error), APNS_OK);
    assert_string_equal(asked_host, cases[index].asked);
  }
  for (int32_t environment = 0; environment < 2; environment++) {
    apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
    apns_feedback_t *feedback = NULL;
    options.environment = environment;
    options.peer.lookup = note_host;
    assert_int_not_equal(apns_feedback_open(&options, credentials, &feedback, &error), APNS_OK);
    assert_string_equal(asked_host, environment == APNS_ENVIRONMENT_SANDBOX
                                        ? "feedback.sandbox.push.apple.com"
                                        : "feedback.push.apple.com");
  }
}

TEST(a_host_of_the_other_environment_is_refused) {
  static const char *const hosts[] = {"api.push.apple.com", "API.Push.Apple.Com.",
                                      "gateway.push.apple.com"};
  owned(credentials) credentials = provider_credentials();
  apns_session_t *session = NULL;
  for (size_t index = 0; index < 3; index++) {
    apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
    options.environment = APNS_ENVIRONMENT_SANDBOX;
    options.peer.host = hosts[index];
    assert_invalid(apns_session_new(&options, credentials, &session, &error),
                   "environment is sandbox, but host is production's: ");
    assert_contains(error.message, hosts[index]);
  }
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.environment = 2;
  assert_invalid(apns_session_new(&options, credentials, &session, &error),
                 "environment is 2, not an apns_environment_t");
  apns_feedback_options_t from = APNS_FEEDBACK_OPTIONS_INIT;
  apns_feedback_t *feedback = NULL;
  from.environment = APNS_ENVIRONMENT_SANDBOX;
  from.peer.host = APNS_FEEDBACK_HOST_PRODUCTION;
  assert_invalid(apns_feedback_open(&from, credentials, &feedback, &error),
                 "environment is sandbox, but host is production's: feedback.push.apple.com");
  apns_channels_options_t of = APNS_CHANNELS_OPTIONS_INIT;
  apns_channels_t *channels = NULL;
  of.topic = "com.example.chess";
  of.environment = APNS_ENVIRONMENT_SANDBOX;
  of.peer.host = APNS_CHANNELS_HOST_PRODUCTION;
  assert_invalid(apns_channels_new(&of, credentials, &channels, &error),
                 "environment is sandbox, but host is production's: api-manage-broadcast");
}

/* The name goes to the proxy, so that nobody resolves it, and from there to a gateway of another
   name. */
TEST(a_name_of_apples_is_explained) {
  static const struct {
    const char *host, *api;
    int protocol;
  } cases[] = {
      {"gateway.push.apple.com", "(api.push.apple.com)", APNS_PROTOCOL_BINARY},
      {"Gateway.Sandbox.PUSH.Apple.com.", "(api.push.apple.com)", APNS_PROTOCOL_BINARY},
      {"gateway.sandbox.push.apple.com", "(api.sandbox.push.apple.com)", APNS_PROTOCOL_BINARY},
      {"push.apple.com", "(api.push.apple.com)", APNS_PROTOCOL_BINARY},
      {"notpush.apple.com", NULL, APNS_PROTOCOL_BINARY},
      {"push.apple.com.example", NULL, APNS_PROTOCOL_BINARY},
      {"le.com", NULL, APNS_PROTOCOL_BINARY},
      {"gateway.push.apple.com", NULL, APNS_PROTOCOL_HTTP2},
  };
  const proxy_answer_t ways[] = {PROXY_OPENS, PROXY_SAYS("HTTP/1.1 502 Bad Gateway\r\n\r\n")};
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++)
    for (size_t way = 0; way < 2; way++) {
      owned(gateway) gateway = gateway_start(NULL, NULL);
      owned(proxy) proxy = proxy_start(gateway_port(gateway), &ways[way], 1);
      apns_session_options_t options = options_for(gateway);
      options.peer.host = cases[index].host;
      options.peer.server_name = NULL;
      options.peer.port = 0;
      options.protocol = cases[index].protocol;
      options.peer.proxy = proxy_url(proxy, "127.0.0.1", NULL);
      apns_error_t error = connection_failure(&options, true);
      if (cases[index].api) {
        assert_contains(error.message, advice);
        assert_contains(error.message, cases[index].api);
      } else {
        assert_null(strstr(error.message, "Apple switched"));
      }
    }
}

/* The name in the certificate gives the same advice, if nobody answers at an address. */
TEST(so_is_one_that_nobody_answers_for) {
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_for(gateway);
  gateway_stop(gateway);
  options.peer.server_name = APNS_BINARY_HOST_PRODUCTION;
  tuning_of(&options)->reconnect_pause_max_ms = 1;
  apns_error_t error = connection_failure(&options, true);
  assert_contains(error.message, "cannot connect to ");
  assert_contains(error.message, advice);
  options.peer.server_name = NULL;
  error = connection_failure(&options, true);
  assert_null(strstr(error.message, "Apple switched"));
}

/* For a timeout: the gateway accepts the connection and sends nothing. */
TEST(so_is_one_that_never_answers) {
  const gateway_step_t silent[] = {NO_HANDSHAKE, {.kind = STEP_STALL}, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(silent));
  apns_session_options_t options = options_for(gateway);
  options.peer.server_name = APNS_BINARY_HOST_PRODUCTION;
  options.peer.connect_timeout_ms = 50;
  apns_error_t error = connection_failure(&options, true);
  assert_int_equal(error.status, APNS_ERR_TIMEOUT);
  assert_contains(error.message, advice);
}

/* The feedback service went with it. */
TEST(so_is_the_feedback_service) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  options.peer.host = "127.0.0.1";
  options.peer.server_name = APNS_FEEDBACK_HOST_PRODUCTION;
  options.peer.port = gateway_port(gateway);
  owned(credentials) credentials = provider_credentials();
  apns_feedback_t *feedback = NULL;
  assert_fails(APNS_ERR_TLS, apns_feedback_open(&options, credentials, &feedback, &error), advice);
}

/* ---- What was not shown ------------------------------------------------------- */

static const char missing[] = "; no certificate was shown, though the peer asked for one";

TEST(a_certificate_that_was_not_shown_is_missed) {
  for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
    const gateway_options_t wanting = {.tls_version = version, .wants_certificate = true};
    owned(gateway) gateway = gateway_start(&wanting, NULL);
    apns_session_options_t options = options_for(gateway);
    apns_credentials_options_t who = trusting();
    owned(credentials) credentials = credentials_of(&who);
    owned(session) session = session_with(&options, credentials);
    /* With TLS 1.3 the alert comes after the handshake. */
    apns_status_t status = apns_session_send(session, notification(0), 0, NULL, &error);
    if (status == APNS_OK) status = apns_session_drain(session, 30000, NULL, &error);
    assert_fails(APNS_ERR_TLS, status, missing);
  }
}

/* A certificate that was rejected is not missing, nor one without a request for it. */
TEST(one_that_was_shown_is_not) {
  const gateway_options_t wanting = {.tls_version = TLS1_2_VERSION, .wants_certificate = true};
  owned(gateway) gateway = gateway_start(&wanting, NULL);
  apns_session_options_t options = options_for(gateway);
  apns_credentials_options_t who = trusting();
  who.certificate_file = identities_make()->provider_of_stranger.together_file;
  owned(credentials) credentials = credentials_of(&who);
  owned(session) session = session_with(&options, credentials);
  assert_status(APNS_ERR_TLS, apns_session_connect(session, &error));
  assert_null(strstr(error.message, "no certificate was shown"));
}

/* ---- A signing key -------------------------------------------------------------- */

TEST(a_signing_key_is_for_http2_only) {
  BIO *memory = BIO_new(BIO_s_mem());
  owned(key) key = keychain_key(false);
  assert_true(key && PEM_write_bio_PKCS8PrivateKey(memory, key, NULL, NULL, 0, NULL, NULL));
  char *p8;
  long length = BIO_get_mem_data(memory, &p8);
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  who.token_key_bytes = p8, who.token_key_length = (size_t)length;
  who.key_id = "ABC123DEFG", who.team_id = "DEF123GHIJ";
  apns_feedback_t *feedback = NULL;
  owned(session) session = NULL;
  owned(credentials) credentials = credentials_of(&who);
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  assert_invalid(apns_session_new(&options, credentials, &session, &error),
                 "a .p8 signing key is for HTTP/2 only");
  assert_contains(error.message, "set the option protocol to HTTP/2");
  assert_null(session);
  assert_invalid(apns_feedback_open(NULL, credentials, &feedback, &error),
                 "a .p8 signing key is for HTTP/2 only");
  options.protocol = APNS_PROTOCOL_HTTP2;
  session = session_with(&options, credentials);
  apns_session_free(session);
  apns_credentials_free(credentials);
  /* Next to a certificate it does not matter. */
  who.certificate_file = identities_make()->provider.together_file;
  assert_ok(apns_credentials_new(&who, &credentials, &error));
  options.protocol = APNS_PROTOCOL_BINARY;
  assert_ok(apns_session_new(&options, credentials, &session, &error));
  BIO_free(memory);
}
