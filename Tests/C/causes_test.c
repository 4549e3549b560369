/*
 * The cause of each failure that can be provoked on one machine, as a number. Other tests provoke
 * these: APNS_CAUSE_MEMORY in memory_test, WRITE_TIMEOUT in deadlines_test, UNLOCK_COST and
 * LEGACY_PROVIDER in keychain_test. CONNECTION_FAILED needs a firewall.
 */
#include <netdb.h>
#include <stdio.h>
#include <sys/resource.h>

#include "keychain.h"
#include "provider.h"
#include "proxy.h"

static const identities_t *all;

static void check_cause(const char *what, apns_status_t status, apns_cause_t cause,
                        apns_status_t found, const apns_error_t *error) {
  if (found != status || error->status != (int32_t)status || error->cause != (int32_t)cause) {
    fail_msg("%s: %s and %s, not %s and %s: %s", what, apns_status_name(found),
             apns_cause_name((apns_cause_t)error->cause), apns_status_name(status),
             apns_cause_name(cause), error->message);
  }
}

/* ---- Certificates, keys and other files ------------------------------------- */

static apns_credentials_options_t who(const char *certificate, const char *key,
                                      const char *passphrase) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = certificate;
  options.key_file = key;
  options.passphrase = passphrase;
  return options;
}

static apns_credentials_options_t with_token_key(const char *key, const char *key_id) {
  apns_credentials_options_t options = who(NULL, NULL, NULL);
  options.token_key_file = key;
  options.key_id = key_id;
  options.team_id = "DEF123GHIJ";
  return options;
}

static apns_credentials_options_t with_bytes(const uint8_t *certificate, size_t length,
                                             const uint8_t *key, size_t key_length) {
  apns_credentials_options_t options = who(NULL, NULL, NULL);
  options.certificate_bytes = certificate;
  options.certificate_length = length;
  options.key_bytes = key;
  options.key_length = key_length;
  return options;
}

TEST(of_files) {
  const identity_t *own = &all->provider;
  static const char broken[] = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  const char *locked = identities_write_encrypted("locked.pem", own, "secret");
  const char *malformed = strdup(identities_write("malformed.pem", broken, strlen(broken)));

  size_t early_length = 0, plain_length = 0, odd_length = 0;
  const key_form_t plain = {0};
  const push_certificate_t tomorrow = {
      .name = "early", .not_before = time(NULL) + 86400, .not_after = time(NULL) + 2 * 86400};
  owned(certificate) early = keychain_certificate(&tomorrow, own->key);
  owned(bytes) early_bytes = keychain_certificate_bytes(early, false, &early_length);
  owned(bytes) plain_bytes = keychain_key_bytes(own->key, &plain, &plain_length);
  owned(key) odd = keychain_key(true);
  owned(bytes) odd_bytes = keychain_key_bytes(odd, &plain, &odd_length);
  apns_credentials_options_t by_rsa = with_token_key(NULL, "ABC123DEFG");
  by_rsa.token_key_bytes = odd_bytes, by_rsa.token_key_length = odd_length;
  apns_credentials_options_t weak = who(own->together_file, NULL, NULL);
  weak.security_level = 5;
  apns_credentials_options_t no_anchor = who(NULL, NULL, NULL);
  no_anchor.ca_file = own->key_file;
  apns_credentials_options_t no_list = who(NULL, NULL, NULL);
  no_list.crl_file = own->key_file;

  const struct {
    const char *what;
    apns_status_t status;
    apns_cause_t cause;
    apns_credentials_options_t options;
  } rows[] = {
      {"a missing file", APNS_ERR_CREDENTIALS, APNS_CAUSE_FILE_UNREADABLE,
       who("/nowhere/provider.pem", NULL, NULL)},
      {"a broken file", APNS_ERR_CREDENTIALS, APNS_CAUSE_FILE_MALFORMED,
       who(malformed, own->key_file, NULL)},
      {"a key for a certificate", APNS_ERR_CREDENTIALS, APNS_CAUSE_CERTIFICATE_MISSING,
       who(own->key_file, NULL, NULL)},
      {"a certificate without a key", APNS_ERR_CREDENTIALS, APNS_CAUSE_KEY_MISSING,
       who(own->certificate_file, NULL, NULL)},
      {"another one's key", APNS_ERR_CREDENTIALS, APNS_CAUSE_KEY_MISMATCH,
       who(own->certificate_file, all->gateway.key_file, NULL)},
      {"no passphrase", APNS_ERR_CREDENTIALS, APNS_CAUSE_PASSPHRASE_MISSING,
       who(own->certificate_file, locked, NULL)},
      {"a wrong passphrase", APNS_ERR_CREDENTIALS, APNS_CAUSE_PASSPHRASE_WRONG,
       who(own->certificate_file, locked, "wrong")},
      {"an expired certificate", APNS_ERR_CREDENTIALS, APNS_CAUSE_CERTIFICATE_EXPIRED,
       who(all->gateway_expired.together_file, NULL, NULL)},
      {"tomorrow's certificate", APNS_ERR_CREDENTIALS, APNS_CAUSE_CERTIFICATE_NOT_YET_VALID,
       with_bytes(early_bytes, early_length, plain_bytes, plain_length)},
      {"a weak certificate", APNS_ERR_CREDENTIALS, APNS_CAUSE_CERTIFICATE_UNFIT, weak},
      {"no trust anchor", APNS_ERR_CREDENTIALS, APNS_CAUSE_CA_MISSING, no_anchor},
      {"no revocation list", APNS_ERR_CREDENTIALS, APNS_CAUSE_REVOCATION_LIST, no_list},
#ifdef WITH_HTTP2
      {"a short key_id", APNS_ERR_ARGUMENT, APNS_CAUSE_TOKEN_IDENTIFIER,
       with_token_key(own->key_file, "ABC")},
      {"a token by RSA", APNS_ERR_CREDENTIALS, APNS_CAUSE_KEY_UNFIT, by_rsa},
#else
      {"a token", APNS_ERR_ARGUMENT, APNS_CAUSE_HTTP2_NOT_BUILT_IN,
       with_token_key(own->key_file, "ABC123DEFG")},
#endif
  };
  for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
    FORGET_ERROR();
    apns_credentials_t *credentials = NULL;
    const apns_status_t found = apns_credentials_new(&rows[index].options, &credentials, &error);
    check_cause(rows[index].what, rows[index].status, rows[index].cause, found, &error);
  }
  free((char *)malformed);
}

TEST(of_descriptors) {
  struct rlimit before, none;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  none = before;
  none.rlim_cur = 0;
  apns_credentials_options_t options = who(NULL, NULL, NULL);
  options.crl_file = all->provider.together_file;
  apns_credentials_t *credentials = NULL;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  const apns_status_t found = apns_credentials_new(&options, &credentials, &error);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  check_cause("no descriptor", APNS_ERR_MEMORY, APNS_CAUSE_DESCRIPTORS, found, &error);
}

/* ---- The way to the peer, TLS, and its certificate -------------------------- */

static int find_nothing(const char *host, struct addrinfo **list, void *context) {
  (void)host, (void)list;
  return *(const int *)context;
}

static const int no_name = EAI_NONAME, no_answer = EAI_AGAIN, not_yet = APNS_LOOKUP_PENDING;

typedef struct connecting {
  const char *what;
  apns_status_t status;
  apns_cause_t cause;
  int alert; /* that is in tls_code; 0: none */
  gateway_options_t gateway;
  const gateway_step_t *script;
  const apns_credentials_options_t *who; /* NULL: somebody without a certificate */
  const char *host;                      /* NULL: the gateway's */
  const int *lookup;                     /* what the name's lookup comes to */
  const char *proxy;                     /* its answer; NULL: there is no proxy */
  bool is_silent_proxy;                  /* takes the request and sends nothing */
  bool has_nobody;                       /* at the port that is connected to */
  uint32_t connect_timeout_ms;
} connecting_t;

static void check_connecting(const connecting_t *row) {
  FORGET_ERROR();
  owned(gateway) gateway = gateway_start(&row->gateway, row->script ? SCRIPTS(row->script) : NULL);
  const proxy_answer_t answer = {.text = row->proxy, .stays = row->is_silent_proxy};
  const bool has_proxy = row->proxy || row->is_silent_proxy;
  proxy_t *proxy = has_proxy ? proxy_start(gateway_port(gateway), &answer, 1) : NULL;
  apns_session_options_t options = options_for(gateway);
  options.peer.host = row->host ? row->host : "localhost";
  if (row->lookup)
    options.peer.lookup = find_nothing, options.peer.lookup_context = (void *)row->lookup;
  if (row->connect_timeout_ms) options.peer.connect_timeout_ms = row->connect_timeout_ms;
  char nobody_there[40];
  if (proxy) options.peer.proxy = proxy_url(proxy, "127.0.0.1", NULL);
  if (row->has_nobody) {
    gateway_accept_no_more(gateway);
    snprintf(nobody_there, sizeof nobody_there, "127.0.0.1:%d", gateway_port(gateway));
    if (row->cause == APNS_CAUSE_PROXY_UNREACHABLE) options.peer.proxy = nobody_there;
  }
  const apns_credentials_options_t nobody = who(NULL, NULL, NULL);
  owned(credentials) credentials = credentials_of(row->who ? row->who : &nobody);
  apns_session_t *session = session_with(&options, credentials);
  const apns_status_t found = apns_session_connect(session, &error);
  check_cause(row->what, row->status, row->cause, found, &error);
  if (row->alert) assert_int_equal((int)(error.tls_code & 0xFFF) - 1000, row->alert);
  apns_session_free(session);
  if (proxy) proxy_stop(proxy);
}

TEST(of_connecting) {
  const apns_credentials_options_t nobody = who(NULL, NULL, NULL);
  const apns_credentials_options_t stranger =
      who(all->provider_of_stranger.together_file, NULL, NULL);
  apns_credentials_options_t newest = nobody, strict = nobody, pinned = nobody, listed = nobody,
                             unlisted = nobody;
  newest.tls_min = APNS_TLS_1_3;
  strict.security_level = 3;
  const char *pin = identity_pin(&all->provider);
  pinned.pinned_keys = &pin, pinned.pinned_key_count = 1;
  char list[PATH_MAX], old[PATH_MAX];
  snprintf(list, sizeof list, "%s",
           identities_add_list("revoked.crl", &(list_traits_t){&all->root, &all->gateway, 0, 0}));
  snprintf(old, sizeof old, "%s",
           identities_add_list("old.crl", &(list_traits_t){&all->root, NULL, true, 0}));
  listed.crl_file = list;
  unlisted.crl_file = old;

  identity_t early = all->gateway, unfit;
  const push_certificate_t tomorrow = {
      .name = "localhost", .not_before = time(NULL) + 86400, .not_after = time(NULL) + 2 * 86400};
  early.certificate = keychain_certificate(&tomorrow, early.key);
  identity_make(&unfit, &(identity_traits_t){"unfit", "DNS:localhost", &all->root, 0, 0, 2048});

  static const gateway_step_t resets[] = {NO_HANDSHAKE, TAKE_RAW(100), CLOSE_RST, END};
  static const gateway_step_t stalls[] = {NO_HANDSHAKE, STALL, END};
  static const gateway_step_t web[] = {NO_HANDSHAKE, TAKE_RAW(100),
                                       SAY_RAW("HTTP/1.1 400 Bad Request\r\n\r\n", 28), STALL, END};
  static const gateway_step_t alarms[] = {NO_HANDSHAKE, TAKE_RAW(100),
                                          SAY_RAW("\x15\x03\x03\x00\x02\x02\x50", 7), STALL, END};
  static const gateway_step_t babbles[] = {
      NO_HANDSHAKE, TAKE_RAW(100), SAY_RAW("\x16\x03\x03\x00\x04\x02\x00\x00\x00", 9), STALL, END};
  const gateway_options_t wanting = {.wants_certificate = true, .tls_version = TLS1_2_VERSION};

  const connecting_t rows[] = {
      {"an unknown name", APNS_ERR_NETWORK, APNS_CAUSE_NAME_NOT_FOUND, .lookup = &no_name},
      {"no name server", APNS_ERR_NETWORK, APNS_CAUSE_LOOKUP_FAILED, .lookup = &no_answer},
      {"a slow lookup", APNS_ERR_TIMEOUT, APNS_CAUSE_LOOKUP_TIMEOUT, .lookup = &not_yet,
       .connect_timeout_ms = 100},
      {"a closed port", APNS_ERR_NETWORK, APNS_CAUSE_CONNECTION_REFUSED, .has_nobody = true},
      {"an address of many", APNS_ERR_NETWORK, APNS_CAUSE_UNREACHABLE, .host = "224.0.0.1"},
      {"a silent peer", APNS_ERR_TIMEOUT, APNS_CAUSE_HANDSHAKE_TIMEOUT, .script = stalls,
       .connect_timeout_ms = 300},

      {"no proxy there", APNS_ERR_NETWORK, APNS_CAUSE_PROXY_UNREACHABLE, .has_nobody = true},
      {"a silent proxy", APNS_ERR_TIMEOUT, APNS_CAUSE_PROXY_TIMEOUT, .is_silent_proxy = true,
       .connect_timeout_ms = 300},
      {"a proxy that closes", APNS_ERR_NETWORK, APNS_CAUSE_PROXY_LOST, .proxy = "HTTP/1.1 200"},
      {"no HTTP proxy", APNS_ERR_NETWORK, APNS_CAUSE_PROXY_NOT_HTTP,
       .proxy = "220 mail.example ESMTP\r\n\r\n"},
      {"a proxy's 407", APNS_ERR_NETWORK, APNS_CAUSE_PROXY_AUTHENTICATION,
       .proxy = "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"},
      {"a proxy's 403", APNS_ERR_NETWORK, APNS_CAUSE_PROXY_REFUSED,
       .proxy = "HTTP/1.1 403 Forbidden\r\n\r\n"},
      {"a proxy's 502", APNS_ERR_NETWORK, APNS_CAUSE_PROXY_NO_ROUTE,
       .proxy = "HTTP/1.1 502 Bad Gateway\r\n\r\n"},

      {"an expired peer", APNS_ERR_TLS, APNS_CAUSE_PEER_EXPIRED,
       .gateway = {.identity = &all->gateway_expired}},
      {"tomorrow's peer", APNS_ERR_TLS, APNS_CAUSE_PEER_NOT_YET_VALID,
       .gateway = {.identity = &early}},
      {"another's name", APNS_ERR_TLS, APNS_CAUSE_PEER_NAME,
       .gateway = {.identity = &all->gateway_elsewhere}},
      {"another's address", APNS_ERR_TLS, APNS_CAUSE_PEER_NAME,
       .gateway = {.identity = &all->gateway_without_address}, .host = "127.0.0.1"},
      {"a stranger", APNS_ERR_TLS, APNS_CAUSE_PEER_NOT_TRUSTED,
       .gateway = {.identity = &all->gateway_of_stranger}},
      {"a revoked peer", APNS_ERR_TLS, APNS_CAUSE_PEER_REVOKED, .who = &listed},
      {"an old list", APNS_ERR_TLS, APNS_CAUSE_PEER_REVOCATION_LIST, .who = &unlisted},
      {"another key", APNS_ERR_TLS, APNS_CAUSE_PEER_NOT_PINNED, .who = &pinned},
      {"a weak peer", APNS_ERR_TLS, APNS_CAUSE_PEER_UNFIT, .who = &strict,
       .gateway = {.identity = &unfit}},

      {"a reset", APNS_ERR_NETWORK, APNS_CAUSE_HANDSHAKE_ENDED, .script = resets},
      {"a web server", APNS_ERR_TLS, APNS_CAUSE_NOT_TLS, .script = web},
      {"another version", APNS_ERR_TLS, APNS_CAUSE_TLS_VERSION, .who = &newest,
       .gateway = {.tls_version = TLS1_2_VERSION}, .alert = 70},
      {"no certificate", APNS_ERR_TLS, APNS_CAUSE_CERTIFICATE_WANTED, .gateway = wanting,
       .alert = 40},
      {"a stranger's certificate", APNS_ERR_TLS, APNS_CAUSE_CERTIFICATE_REFUSED, .who = &stranger,
       .gateway = wanting, .alert = 48},
      {"an alert", APNS_ERR_TLS, APNS_CAUSE_ALERT, .script = alarms, .alert = 80},
      {"a broken handshake", APNS_ERR_TLS, APNS_CAUSE_TLS_FAILED, .script = babbles},
  };
  for (size_t index = 0; index < sizeof rows / sizeof *rows; index++)
    check_connecting(&rows[index]);
  X509_free(early.certificate);
  identity_drop(&unfit);
}

/* ---- Timeouts, and errors that a peer reports -------------------------------- */

TEST(of_waiting) {
  static const gateway_step_t silent[] = {TAKE_ALL, END};
  static const gateway_step_t ends[] = {TAKE_FRAMES(1), CLOSE_FIN, END};
  const struct {
    const char *what;
    apns_cause_t cause;
    const gateway_step_t *script;
    uint32_t connects_per_minute;
  } rows[] = {
      {"no word", APNS_CAUSE_ANSWER_TIMEOUT, silent, 0},
      {"a pause", APNS_CAUSE_RECONNECT_PAUSE, ends, 1},
  };
  for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
    FORGET_ERROR();
    const gateway_options_t small = {.receive_buffer = 4096};
    const gateway_step_t *script = rows[index].script;
    owned(gateway) gateway = gateway_start(&small, SCRIPTS(script, script, script, script));
    owned(session) session =
        session_where(gateway, tuning->connects_per_minute = rows[index].connects_per_minute);
    apns_status_t found = apns_session_send(session, notification(0), 0, NULL, &error);
    if (found == APNS_OK) found = apns_session_drain(session, 300, NULL, &error);
    check_cause(rows[index].what, APNS_ERR_TIMEOUT, rows[index].cause, found, &error);
  }
}

TEST(of_a_list) {
  static const char device[] = "\x4f\x00\x00\x00\x00\x01\xaa\x4f\x00\x00\x00\x00\x01\xbb";
  static const gateway_step_t half[] = {SAY(device, 3), CLOSE_NOTIFY, END};
  static const gateway_step_t resets[] = {SAY(device, 7), CLOSE_RST, END};
  static const gateway_step_t empty[] = {SAY("\x4f\x00\x00\x00\x00\x00", 6), TAKE_ALL, END};
  static const gateway_step_t many[] = {SAY(device, 14), TAKE_ALL, END};
  static const gateway_step_t stalls[] = {NO_HANDSHAKE, STALL, END};
  const struct {
    const char *what;
    apns_status_t status;
    apns_cause_t cause;
    const gateway_step_t *script;
    uint32_t wait_max_ms;
  } rows[] = {
      {"half a tuple", APNS_ERR_PROTOCOL, APNS_CAUSE_CONNECTION_LOST, half, 0},
      {"a reset", APNS_ERR_NETWORK, APNS_CAUSE_CONNECTION_LOST, resets, 0},
      {"no token", APNS_ERR_PROTOCOL, APNS_CAUSE_PROTOCOL, empty, 0},
      {"two devices", APNS_ERR_PROTOCOL, APNS_CAUSE_FLOOD, many, 0},
      {"a connection under way", APNS_ERR_TIMEOUT, APNS_CAUSE_CONNECT_TIMEOUT, stalls, 50},
  };
  for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
    FORGET_ERROR();
    owned(gateway) gateway = gateway_start(NULL, SCRIPTS(rows[index].script));
    owned(feedback) feedback = feedback_where(gateway, options.tuples_max = 1,
                                              options.peer.wait_max_ms = rows[index].wait_max_ms);
    apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
    apns_status_t found = APNS_OK;
    while (found == APNS_OK) found = apns_feedback_next(feedback, &tuple, &error);
    check_cause(rows[index].what, rows[index].status, rows[index].cause, found, &error);
  }
}

/* ---- HTTP/2 ------------------------------------------------------------------ */

TEST(of_http2) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(credentials) credentials = provider_credentials();
  apns_session_options_t options = options_for(gateway);
  options.protocol = APNS_PROTOCOL_HTTP2;
  apns_session_t *session = NULL;
  apns_status_t found = apns_session_new(&options, credentials, &session, &error);
#ifdef WITH_HTTP2
  assert_ok(found);
  found = apns_session_connect(session, &error);
  check_cause("no ALPN", APNS_ERR_PROTOCOL, APNS_CAUSE_NO_HTTP2, found, &error);
  apns_session_free(session);
  options.topic = "com.example app";
  found = apns_session_new(&options, credentials, &session, &error);
  check_cause("a topic with a space", APNS_ERR_ARGUMENT, APNS_CAUSE_TOPIC, found, &error);
#else
  check_cause("no HTTP/2", APNS_ERR_ARGUMENT, APNS_CAUSE_HTTP2_NOT_BUILT_IN, found, &error);
#endif
}

/* ---- Without a cause, and names ---------------------------------------------- */

TEST(of_what_the_status_says) {
  error.cause = APNS_CAUSE_FLOOD;
  const apns_status_t found = apns_session_connect(NULL, &error);
  check_cause("NULL", APNS_ERR_ARGUMENT, APNS_CAUSE_NONE, found, &error);
}

TEST(names) {
  assert_string_equal(apns_cause_name(APNS_CAUSE_NONE), "APNS_CAUSE_NONE");
  assert_string_equal(apns_cause_name(APNS_CAUSE_PEER_EXPIRED), "APNS_CAUSE_PEER_EXPIRED");
  assert_string_equal(apns_cause_name(APNS_CAUSE_FLOOD), "APNS_CAUSE_FLOOD");
  assert_string_equal(apns_cause_name(APNS_CAUSE_HTTP2_NOT_BUILT_IN),
                      "APNS_CAUSE_HTTP2_NOT_BUILT_IN");
  const int last = APNS_CAUSE_BINARY_NOT_BUILT_IN;
  for (int number = 0; number <= last; number++) {
    assert_memory_equal(apns_cause_name((apns_cause_t)number), "APNS_CAUSE_", 11);
  }
  assert_string_equal(apns_cause_name((apns_cause_t)(last + 1)), "unknown cause");
  assert_string_equal(apns_cause_name((apns_cause_t)-1), "unknown cause");
}

void before_all(void) { all = identities_make(); }
