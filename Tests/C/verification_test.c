/* Which gateways the provider trusts, and which providers the gateway trusts. */
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "provider.h"

static const identities_t *all;

/* A session to a gateway with this certificate. */
static apns_session_t *session_as(const gateway_t *gateway, apns_credentials_options_t *who,
                                  const char *host, const char *server_name) {
  owned(credentials) credentials = credentials_of(who);
  apns_session_options_t options = options_for(gateway);
  options.peer.host = host;
  options.peer.server_name = server_name;
  return session_with(&options, credentials);
}

static void check_trusted(const identity_t *identity, apns_credentials_options_t *who,
                          const char *host, const char *server_name, const char *sni) {
  owned(gateway) gateway = gateway_start(&(gateway_options_t){.identity = identity}, NULL);
  apns_session_t *session = session_as(gateway, who, host, server_name);
  assert_ok(apns_session_connect(session, &error));
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  if (sni) {
    assert_non_null(heard->server_name);
    assert_string_equal(heard->server_name, sni);
  } else {
    assert_null(heard->server_name);
  }
}

/* Nothing is sent to an untrusted gateway, and the message contains all of `...`. */
#define check_distrusted(identity, who, host, server_name, ...) \
  distrusted((identity), (who), (host), (server_name), (const char *const[]){__VA_ARGS__, NULL})

static void distrusted(const identity_t *identity, apns_credentials_options_t *who,
                       const char *host, const char *server_name, const char *const *parts) {
  static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
  for (size_t index = 0; index < 2; index++) {
    FORGET_ERROR();
    const gateway_options_t options = {.identity = identity, .tls_version = versions[index]};
    owned(gateway) gateway = gateway_start(&options, NULL);
    apns_session_t *session = session_as(gateway, who, host, server_name);
    assert_status(APNS_ERR_TLS, apns_session_send(session, notification(0), 0, NULL, &error));
    assert_int_not_equal(error.tls_code, 0);
    for (const char *const *part = parts; *part; part++) assert_contains(error.message, *part);
    assert_counts(session, 0, 0, 0, 0, 0);
    assert_int_equal(ERR_peek_error(), 0);
    const gateway_record_t *heard = heard_after(session, gateway, 0);
    assert_int_equal(heard->length, 0);
  }
}

/* ---- The gateway's certificate ------------------------------------------ */

TEST(a_name_and_its_sni) {
  apns_credentials_options_t who = trusting();
  check_trusted(&all->gateway, &who, "localhost", NULL, "localhost");
}

TEST(an_address_and_no_sni) {
  apns_credentials_options_t who = trusting();
  check_trusted(&all->gateway, &who, "127.0.0.1", NULL, NULL);
}

TEST(an_address_of_version_6) {
  owned(gateway) gateway = gateway_start(&(gateway_options_t){.on_ipv6 = true}, NULL);
  if (!gateway) skip();
  apns_credentials_options_t who = trusting();
  owned(session) session = session_as(gateway, &who, "::1", NULL);
  assert_ok(apns_session_connect(session, &error));
}

TEST(a_server_name_in_place_of_the_host) {
  apns_credentials_options_t who = trusting();
  check_trusted(&all->gateway_elsewhere, &who, "127.0.0.1", "elsewhere.example",
                "elsewhere.example");
  check_trusted(&all->gateway, &who, "localhost", "127.0.0.1", NULL);
  check_distrusted(&all->gateway, &who, "localhost", "elsewhere.example", "elsewhere.example",
                   "ostname mismatch");
}

TEST(a_chain_with_an_intermediate) {
  apns_credentials_options_t who = trusting();
  check_trusted(&all->gateway_in_chain, &who, "localhost", NULL, "localhost");
}

TEST(an_unknown_authority) {
  apns_credentials_options_t who = trusting();
  check_distrusted(&all->gateway_of_stranger, &who, "localhost", NULL, "localhost",
                   "is not verified", "certificate 0", "CN=stranger");
}

TEST(the_systems_authorities_do_not_know_the_root) {
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  check_distrusted(&all->gateway, &who, "localhost", NULL, "localhost", "CN=gateway");
}

TEST(an_expired_certificate) {
  apns_credentials_options_t who = trusting();
  check_distrusted(&all->gateway_expired, &who, "localhost", NULL, "localhost",
                   "certificate has expired", "CN=expired");
}

TEST(another_hosts_certificate) {
  apns_credentials_options_t who = trusting();
  check_distrusted(&all->gateway_elsewhere, &who, "localhost", NULL, "localhost",
                   "ostname mismatch", "CN=elsewhere");
}

TEST(a_certificate_without_the_address) {
  apns_credentials_options_t who = trusting();
  check_distrusted(&all->gateway_without_address, &who, "127.0.0.1", NULL, "127.0.0.1",
                   "IP address mismatch", "CN=nameonly");
  check_trusted(&all->gateway_without_address, &who, "127.0.0.1", "localhost", "localhost");
}

TEST(the_name_is_in_the_subject_only) {
  /* The certificate's CN is "elsewhere", which does not matter. */
  apns_credentials_options_t who = trusting();
  check_distrusted(&all->gateway_elsewhere, &who, "127.0.0.1", "elsewhere", "ostname mismatch");
}

/* A common name counts only where there are no alternative names of any kind. */
TEST(a_name_in_the_subject_beside_alternative_names) {
  apns_credentials_options_t who = trusting();
  static const char *const others[] = {"IP:127.0.0.1", "email:push@localhost",
                                       "URI:https://localhost/", "DNS:elsewhere.example"};
  for (size_t index = 0; index < 4; index++) {
    identity_t named;
    identity_make(&named,
                  &(identity_traits_t){"localhost", others[index], &all->root, false, false, 0});
    check_distrusted(&named, &who, "localhost", NULL, "ostname mismatch");
    if (index == 0) check_trusted(&named, &who, "127.0.0.1", NULL, NULL);
    identity_drop(&named);
  }
  identity_t bare;
  identity_make(&bare, &(identity_traits_t){.name = "localhost", .signer = &all->root});
  check_trusted(&bare, &who, "localhost", NULL, "localhost");
  identity_drop(&bare);
  /* An address is not a valid common name. */
  identity_make(&bare, &(identity_traits_t){.name = "127.0.0.1", .signer = &all->root});
  check_distrusted(&bare, &who, "127.0.0.1", NULL, "IP address mismatch");
  identity_drop(&bare);
}

TEST(a_wildcard_is_one_whole_label) {
  apns_credentials_options_t who = trusting();
  identity_t any;
  identity_make(&any, &(identity_traits_t){"wildcard", "DNS:*.push.example,DNS:gate*.other.example",
                                           &all->root, false, false, 0});
  check_trusted(&any, &who, "localhost", "one.push.example", "one.push.example");
  check_distrusted(&any, &who, "localhost", "push.example", "ostname mismatch");
  check_distrusted(&any, &who, "localhost", "two.one.push.example", "ostname mismatch");
  check_distrusted(&any, &who, "localhost", "gateway.other.example", "ostname mismatch");
  identity_drop(&any);
}

/* To OpenSSL it would be any host of the domain. */
TEST(a_name_that_begins_with_a_dot) {
  apns_session_t *session = NULL;
  apns_feedback_t *feedback = NULL;
  apns_credentials_options_t who = trusting();
  owned(credentials) credentials = credentials_of(&who);
  apns_session_options_t to = APNS_SESSION_OPTIONS_INIT;
  to.protocol = APNS_PROTOCOL_BINARY;
  to.peer.host = ".push.example";
  assert_invalid(apns_session_new(&to, credentials, &session, &error),
                 "host begins with a dot: .push.example");
  to.peer.host = "localhost";
  to.peer.server_name = ".push.example";
  assert_invalid(apns_session_new(&to, credentials, &session, &error),
                 "server_name begins with a dot: .push.example");
  apns_feedback_options_t from = APNS_FEEDBACK_OPTIONS_INIT;
  from.peer.host = "localhost";
  from.peer.server_name = ".push.example";
  assert_invalid(apns_feedback_open(&from, credentials, &feedback, &error),
                 "server_name begins with a dot");
}

/* ---- Revocation lists ---------------------------------------------------- */

TEST(a_list_that_revokes_nobody) {
  apns_credentials_options_t who = trusting();
  who.crl_file = identities_add_list("nobody.crl", &(list_traits_t){.issuer = &all->root});
  check_trusted(&all->gateway, &who, "localhost", NULL, "localhost");
  /* For the issuer of each certificate, not only of the gateway's. */
  check_distrusted(&all->gateway_in_chain, &who, "localhost", NULL, "unable to get certificate CRL",
                   "certificate 0", "crl_file and crl_directory have no list for it");
  who.crl_file = identities_add_list("nobody.crl", &(list_traits_t){.issuer = &all->intermediate});
  check_trusted(&all->gateway_in_chain, &who, "localhost", NULL, "localhost");
}

TEST(a_gateway_that_was_revoked) {
  apns_credentials_options_t who = trusting();
  who.crl_file = identities_add_list(
      "gateway.crl", &(list_traits_t){.issuer = &all->root, .revoked = &all->gateway});
  check_distrusted(&all->gateway, &who, "localhost", NULL, "localhost is not verified",
                   "certificate revoked", "certificate 0", "CN=gateway");
  check_trusted(&all->gateway_without_address, &who, "localhost", NULL, "localhost");
}

TEST(an_intermediate_that_was_revoked) {
  apns_credentials_options_t who = trusting();
  identities_add_list("intermediate.crl",
                      &(list_traits_t){.issuer = &all->root, .revoked = &all->intermediate});
  who.crl_file =
      identities_add_list("intermediate.crl", &(list_traits_t){.issuer = &all->intermediate});
  check_distrusted(&all->gateway_in_chain, &who, "localhost", NULL, "certificate revoked",
                   "certificate 1", "CN=intermediate");
}

TEST(lists_that_prove_nothing) {
  apns_credentials_options_t who = trusting();
  who.crl_file = identities_add_list("stranger.crl", &(list_traits_t){.issuer = &all->other_root});
  check_distrusted(&all->gateway, &who, "localhost", NULL, "unable to get certificate CRL",
                   "crl_file");
  who.crl_file = identities_add_list("expired.crl",
                                     &(list_traits_t){.issuer = &all->root, .is_expired = true});
  check_distrusted(&all->gateway, &who, "localhost", NULL, "CRL has expired",
                   "the list is from crl_file or crl_directory");
  who.crl_file =
      identities_add_list("forged.crl", &(list_traits_t){.issuer = &all->root, .is_forged = true});
  check_distrusted(&all->gateway, &who, "localhost", NULL, "CRL signature failure");
}

TEST(files_that_are_no_lists) {
  apns_credentials_options_t who = trusting();
  who.crl_file = "/nonexistent/revoked.crl";
  apns_error_t error = check_refused(&who, APNS_ERR_CREDENTIALS, "crl file",
                                     "/nonexistent/revoked.crl", strerror(ENOENT));
  assert_int_equal(error.sys_errno, ENOENT);
  who.crl_file = all->root.certificate_file;
  check_refused(&who, APNS_ERR_CREDENTIALS, "crl file", all->root.certificate_file,
                "holds no revocation list in PEM");
  const char *path = identities_add_list("broken.crl", &(list_traits_t){.issuer = &all->root});
  size_t length = 0;
  owned(text) text = identities_read(path, &length);
  /* The second of two has a digit that gives a wrong length. */
  owned(text) twice = malloc(2 * length);
  memcpy(twice, text, length);
  memcpy(twice + length, text, length);
  twice[length + sizeof "-----BEGIN X509 CRL-----"] ^= 1;
  who.crl_file = identities_write("broken.crl", twice, 2 * length);
  check_refused(&who, APNS_ERR_CREDENTIALS, "crl file", "broken.crl",
                "has a broken revocation list");
  who.crl_file = NULL;
  who.crl_directory = "/nonexistent/lists";
  error = check_refused(&who, APNS_ERR_CREDENTIALS, "crl_directory /nonexistent/lists",
                        strerror(ENOENT));
  assert_int_equal(error.sys_errno, ENOENT);
}

/* Puts a file where OpenSSL looks it up by issuer: `kind` "r" for lists, "" for certificates. */
static void put_hashed(const char *directory, const identity_t *issuer, const char *kind,
                       int number, const char *file) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "%s/%08lx.%s%d", directory,
                        X509_NAME_hash(X509_get_subject_name(issuer->certificate)), kind, number);
  assert_in_range(length, 1, PATH_MAX - 1);
  assert_int_equal(symlink(file, path), 0);
}

TEST(a_directory_of_lists) {
  char directory[PATH_MAX];
  snprintf(directory, sizeof directory, "%s", identities_directory("lists"));
  apns_credentials_options_t who = trusting();
  who.crl_directory = directory;
  check_distrusted(&all->gateway, &who, "localhost", NULL, "unable to get certificate CRL",
                   "crl_directory");
  put_hashed(directory, &all->root, "r", 0,
             identities_add_list("first.crl", &(list_traits_t){.issuer = &all->root}));
  check_trusted(&all->gateway, &who, "localhost", NULL, "localhost");

  /* Credentials that are in use already find a newer one. */
  owned(gateway) gateway = gateway_start(&(gateway_options_t){.identity = &all->gateway}, NULL);
  owned(credentials) credentials = credentials_of(&who);
  apns_session_options_t options = options_for(gateway);
  options.peer.host = "localhost";
  for (int round = 0; round < 2; round++) {
    apns_session_t *session = session_with(&options, credentials);
    assert_status(round ? APNS_ERR_TLS : APNS_OK, apns_session_connect(session, &error));
    if (round) assert_contains(error.message, "certificate revoked");
    apns_session_free(session);
    if (!round)
      put_hashed(directory, &all->root, "r", 1,
                 identities_add_list("second.crl", &(list_traits_t){.issuer = &all->root,
                                                                    .revoked = &all->gateway}));
  }
}

/* A certificate that may sign lists is not thereby a trust anchor. */
TEST(a_directory_of_lists_has_no_trust_anchors) {
  char directory[PATH_MAX];
  snprintf(directory, sizeof directory, "%s", identities_directory("anchors"));
  put_hashed(directory, &all->other_root, "", 0, all->other_root.certificate_file);
  put_hashed(directory, &all->other_root, "r", 0,
             identities_add_list("other.crl", &(list_traits_t){.issuer = &all->other_root}));
  apns_credentials_options_t who = trusting();
  who.crl_directory = directory;
  check_distrusted(&all->gateway_of_stranger, &who, "localhost", NULL, "is not verified",
                   "CN=stranger");
}

/* ---- Pinned keys --------------------------------------------------------- */

TEST(keys_that_are_pinned) {
  apns_credentials_options_t who = trusting();
  const identity_t *const chain[] = {&all->gateway_in_chain, &all->intermediate, &all->root};
  for (size_t index = 0; index < 3; index++) {
    char pin[64], other[64];
    strcpy(pin, identity_pin(chain[index]));
    strcpy(other, identity_pin(&all->other_root));
    const char *const pins[] = {other, pin};
    who.pinned_keys = pins;
    who.pinned_key_count = 2;
    check_trusted(&all->gateway_in_chain, &who, "localhost", NULL, "localhost");
    who.pinned_key_count = 1;
    check_distrusted(&all->gateway_in_chain, &who, "localhost", NULL,
                     "localhost is not verified: no key in its chain is pinned",
                     identity_pin(&all->gateway_in_chain), "CN=chained");
  }
}

/* A pinned key that the peer sends along, and that is in no chain to a trust anchor. */
TEST(a_pinned_key_that_is_only_sent) {
  apns_credentials_options_t who = trusting();
  const char *const pins[] = {identity_pin(&all->other_root)};
  who.pinned_keys = pins;
  who.pinned_key_count = 1;
  identity_t sends = all->gateway;
  sends.intermediate = all->other_root.certificate;
  check_distrusted(&sends, &who, "localhost", NULL, "no key in its chain is pinned");
}

/* Pins replace nothing of the verification. */
TEST(a_pinned_key_of_a_stranger) {
  apns_credentials_options_t who = trusting();
  const char *const pins[] = {identity_pin(&all->gateway_of_stranger)};
  who.pinned_keys = pins;
  who.pinned_key_count = 1;
  check_distrusted(&all->gateway_of_stranger, &who, "localhost", NULL, "CN=stranger");
  char expired[64];
  strcpy(expired, identity_pin(&all->gateway_expired));
  const char *const others[] = {expired};
  who.pinned_keys = others;
  check_distrusted(&all->gateway_expired, &who, "localhost", NULL, "certificate has expired");
}

TEST(a_pinned_key_and_nothing_else) {
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  who.dangerously_accept_any_peer = 1;
  char own[64], issuers[64];
  strcpy(own, identity_pin(&all->gateway_in_chain));
  strcpy(issuers, identity_pin(&all->intermediate));
  const char *pins[] = {own};
  who.pinned_keys = pins;
  who.pinned_key_count = 1;
  check_trusted(&all->gateway_in_chain, &who, "localhost", NULL, "localhost");
  /* The certificates next to its own prove nothing where no chain is verified. */
  pins[0] = issuers;
  check_distrusted(&all->gateway_in_chain, &who, "localhost", NULL, "no key in its chain is pinned",
                   own);
}

/* The credentials' own copy serves sessions that outlive them. */
TEST(pins_after_the_credentials_are_gone) {
  apns_credentials_options_t who = trusting();
  owned(text) pin = strdup(identity_pin(&all->other_root));
  const char *const pins[] = {pin};
  who.pinned_keys = pins;
  who.pinned_key_count = 1;
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_as(gateway, &who, "localhost", NULL);
  memset(pin, 'A', strlen(pin));
  assert_fails(APNS_ERR_TLS, apns_session_connect(session, &error), identity_pin(&all->gateway));
}

TEST(pins_that_are_none) {
  static const char *const wrong[] = {
      "",
      "sha256//",
      "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
      "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
      "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
      "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=",
      "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA===",
      "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA AAA=",
      "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=;",
  };
  apns_credentials_options_t who = trusting();
  char fine[64];
  strcpy(fine, identity_pin(&all->root));
  for (size_t index = 0; index < sizeof wrong / sizeof *wrong; index++) {
    const char *const pins[] = {fine, wrong[index]};
    who.pinned_keys = pins;
    who.pinned_key_count = 2;
    check_refused(&who, APNS_ERR_ARGUMENT, "pinned_keys[1] is not sha256//", wrong[index]);
  }
  const char *const absent[] = {NULL};
  who.pinned_keys = absent;
  who.pinned_key_count = 1;
  check_refused(&who, APNS_ERR_ARGUMENT, "pinned_keys[0]", "NULL");
  /* An empty list is a mistake: somebody wanted pins. */
  who.pinned_key_count = 0;
  check_refused(&who, APNS_ERR_ARGUMENT, "pinned_key_count is not between 1 and 100");
  who.pinned_key_count = SIZE_MAX;
  check_refused(&who, APNS_ERR_ARGUMENT, "pinned_key_count is not between 1 and 100");
  who.pinned_keys = NULL;
  check_refused(&who, APNS_ERR_ARGUMENT, "pinned_keys is NULL");
}

/* ---- The security level --------------------------------------------------- */

TEST(levels_of_security) {
  apns_credentials_options_t who = trusting();
  identity_t weak;
  identity_make(&weak,
                &(identity_traits_t){"weak", "DNS:localhost", &all->root, false, false, 1024});
  who.security_level = 1;
  check_trusted(&weak, &who, "localhost", NULL, "localhost");
  who.security_level = 2;
  check_trusted(&all->gateway, &who, "localhost", NULL, "localhost");
  check_distrusted(&weak, &who, "localhost", NULL, "localhost", "too weak");
  identity_drop(&weak);
  /* 192 bits, and a key on P-256 has 128; this holds for the provider's own key too. */
  who.security_level = 4;
  check_distrusted(&all->gateway, &who, "localhost", NULL, "localhost");
  who.certificate_file = all->provider.together_file;
  check_refused(&who, APNS_ERR_CREDENTIALS, all->provider.together_file, "too small");
  who.security_level = 3;
  check_trusted(&all->gateway, &who, "localhost", NULL, "localhost");
  static const int32_t none[] = {-1, 6, INT32_MIN, INT32_MAX};
  for (size_t index = 0; index < 4; index++) {
    who.security_level = none[index];
    check_refused(&who, APNS_ERR_ARGUMENT, "security_level is ", "not 1 to 5");
  }
}

TEST(anybody_where_that_is_asked_for) {
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  who.dangerously_accept_any_peer = 1;
  check_trusted(&all->gateway_of_stranger, &who, "localhost", NULL, "localhost");
  check_trusted(&all->gateway_expired, &who, "localhost", NULL, "localhost");
  check_trusted(&all->gateway_elsewhere, &who, "127.0.0.1", NULL, NULL);
}

TEST(the_feedback_service_is_verified_too) {
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.identity = &all->gateway_elsewhere}, NULL);
  apns_credentials_options_t who = trusting();
  owned(feedback) feedback = NULL;
  owned(credentials) credentials = credentials_of(&who);
  apns_feedback_options_t from = APNS_FEEDBACK_OPTIONS_INIT;
  from.peer.host = "localhost";
  from.peer.port = gateway_port(gateway);
  assert_fails(APNS_ERR_TLS, apns_feedback_open(&from, credentials, &feedback, &error),
               "ostname mismatch");
  assert_null(feedback);
  from.peer.server_name = "elsewhere.example";
  assert_ok(apns_feedback_open(&from, credentials, &feedback, &error));
}

/* ---- The provider's certificate ----------------------------------------- */

TEST(a_provider_refused_in_the_handshake) {
  const gateway_options_t strict = {.wants_certificate = true, .tls_version = TLS1_2_VERSION};
  owned(gateway) gateway = gateway_start(&strict, NULL);
  apns_credentials_options_t who = trusting();
  who.certificate_file = all->provider_of_stranger.together_file;
  owned(session) session = session_as(gateway, &who, "127.0.0.1", NULL);
  assert_fails(APNS_ERR_TLS, apns_session_send(session, notification(0), 0, NULL, &error),
               "alert unknown ca");
  assert_int_not_equal(error.tls_code, 0);
  assert_counts(session, 0, 0, 0, 0, 0);
  apns_session_free(session);

  who.certificate_file = NULL;
  session = session_as(gateway, &who, "127.0.0.1", NULL);
  assert_fails(APNS_ERR_TLS, apns_session_connect(session, &error), "alert handshake failure");
}

/* In TLS 1.3 the provider has long continued when the gateway rejects it. */
static void check_refused_after_the_handshake(const char *certificate, const char *reason) {
  FORGET_ERROR();
  const gateway_options_t strict = {.wants_certificate = true, .tls_version = TLS1_3_VERSION};
  owned(gateway) gateway = gateway_start(&strict, NULL);
  apns_credentials_options_t who = trusting();
  who.certificate_file = certificate;
  owned(session) session = session_as(gateway, &who, "127.0.0.1", NULL);
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  size_t unresolved = 0;
  assert_fails(APNS_ERR_TLS, apns_session_drain(session, AMPLE_MS, &unresolved, &error), reason);
  assert_int_not_equal(error.tls_code, 0);
  /* The gateway looked at nothing, so nothing was resent and nothing has an outcome. */
  assert_int_equal(unresolved, 1);
  assert_counts(session, 1, 0, 0, 0, 1);
  assert_int_equal(stats_of(session).resent, 0);
  assert_status(APNS_ERR_TLS, apns_session_drain(session, AMPLE_MS, &unresolved, &error));
  assert_int_equal(stats_of(session).resent, 0);
  assert_no_event(session);
  assert_ok(apns_session_close(session, 0, &error));
  assert_event(session, APNS_EVENT_UNKNOWN, 0, 0);
}

TEST(a_provider_refused_after_the_handshake) {
  check_refused_after_the_handshake(all->provider_of_stranger.together_file, "alert unknown ca");
}

TEST(a_provider_without_a_certificate_refused_after_the_handshake) {
  check_refused_after_the_handshake(NULL, "alert certificate required");
}

/* The event loop's way of meeting the same. */
TEST(a_refusal_met_by_next_event) {
  const gateway_options_t strict = {.wants_certificate = true, .tls_version = TLS1_3_VERSION};
  owned(gateway) gateway = gateway_start(&strict, NULL);
  apns_credentials_options_t who = trusting();
  owned(session) session = session_as(gateway, &who, "127.0.0.1", NULL);
  apns_event_t event = APNS_EVENT_INIT;
  send_range(session, 0, 1);
  assert_fails(APNS_ERR_TLS, apns_session_next_event(session, &event, AMPLE_MS, &error),
               "alert certificate required");
  assert_counts(session, 1, 0, 0, 0, 1);
}

TEST(a_feedback_reader_refused_after_the_handshake) {
  const gateway_options_t strict = {.wants_certificate = true, .tls_version = TLS1_3_VERSION};
  owned(gateway) gateway = gateway_start(&strict, NULL);
  apns_credentials_options_t who = trusting();
  owned(feedback) feedback = NULL;
  owned(credentials) credentials = credentials_of(&who);
  apns_feedback_options_t from = APNS_FEEDBACK_OPTIONS_INIT;
  from.peer.host = "127.0.0.1";
  from.peer.port = gateway_port(gateway);
  assert_ok(apns_feedback_open(&from, credentials, &feedback, &error));
  for (int round = 0; round < 2; round++) {
    apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
    assert_fails(APNS_ERR_TLS, apns_feedback_next(feedback, &tuple, &error),
                 "alert certificate required");
  }
}

/* ---- What is no TLS at all ---------------------------------------------- */

TEST(a_peer_that_speaks_something_else) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_credentials_options_t who = trusting();
  /* A gateway that closes at once, and a gateway that resets. */
  gateway_stop(gateway);
  const gateway_step_t closes[] = {NO_HANDSHAKE, TAKE_RAW(100), CLOSE_FIN};
  const gateway_step_t resets[] = {NO_HANDSHAKE, TAKE_RAW(100), CLOSE_RST};
  gateway = gateway_start(NULL, SCRIPTS(closes, resets));
  owned(session) session = session_as(gateway, &who, "localhost", NULL);
  assert_fails(APNS_ERR_NETWORK, apns_session_connect(session, &error), "handshake");
  assert_contains(error.message, "localhost");
  assert_fails(APNS_ERR_NETWORK, apns_session_connect(session, &error), "handshake");
  assert_int_not_equal(error.sys_errno, 0);
}

void before_all(void) { all = identities_make(); }
