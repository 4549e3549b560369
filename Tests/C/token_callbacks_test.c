/* Provider tokens that the host gives, tokens that the host signs, and keys of the host's. */
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <pthread.h>
#include <stdio.h>

#include "clock.h"
#include "keychain.h"
#include "signing.h"

static EVP_PKEY *key;
static service_t *service;
static heard_t heard;

void before_each(void) {
  memset(&heard, 0, sizeof heard);
  service = service_start(&(service_options_t){.judge = hear_token, .context = &heard});
}

void after_each(void) { service_free(service); }

/* ---- The host gives the token ---------------------------------------------------- */

typedef struct host {
  const char *token; /* NULL: none now; "-": a failure */
  const char *words;
  uint32_t renew_after_s;
  size_t asked;
  int32_t need; /* the last one */
  int length;   /* not 0: returned instead of the real length */
} host_t;

static int give_token(apns_token_request_t *request, void *context) {
  host_t *host = context;
  host->asked++;
  host->need = request->need;
  assert_int_equal(request->size, sizeof *request);
  assert_int_equal(request->capacity, APNS_PROVIDER_TOKEN_MAX);
  request->renew_after_s = host->renew_after_s;
  if (host->words) {
    const size_t length = strlen(host->words) + 1, room = sizeof request->message;
    memcpy(request->message, host->words, length < room ? length : room);
  }
  if (!host->token) return 0;
  if (!strcmp(host->token, "-")) return -1;
  memcpy(request->token, host->token, strlen(host->token));
  return host->length ? host->length : (int)strlen(host->token);
}

static apns_credentials_t *hosted(host_t *host) {
  apns_credentials_options_t options = trusting();
  options.token_callback = give_token;
  options.token_context = host;
  return credentials_of(&options);
}

TEST(a_token_of_the_host) {
  host_t host = {.token = "one.two-three_four"};
  owned(credentials) credentials = hosted(&host);
  assert_int_equal(host.asked, 0);
  apns_credentials_description_t told = APNS_CREDENTIALS_DESCRIPTION_INIT;
  assert_ok(apns_credentials_describe(credentials, &told, NULL));
  assert_null(told.key_id);
  assert_null(told.team_id);
  apns_session_t *sessions[] = {signing_session(service, credentials),
                                signing_session(service, credentials)};
  for (size_t n = 0; n < 2; n++) send_range(sessions[n], 0, 20), drain(sessions[n]);
  assert_int_equal(host.asked, 1);
  assert_int_equal(host.need, APNS_TOKEN_FIRST);
  assert_int_equal(heard.count, 1);
  assert_string_equal(heard.tokens[0], "bearer one.two-three_four");
  /* 45 minutes by default; a busy machine adds some seconds. */
  clock_forward(2500 * 1000);
  send_range(sessions[0], 20, 21), drain(sessions[0]);
  assert_int_equal(host.asked, 1);
  host.token = "another", host.renew_after_s = 600;
  clock_forward(300 * 1000);
  for (size_t n = 0; n < 2; n++) send_range(sessions[n], 21, 22), drain(sessions[n]);
  assert_int_equal(host.asked, 2);
  assert_int_equal(host.need, APNS_TOKEN_AGED);
  assert_string_equal(heard.tokens[1], "bearer another");
  /* The same again, and a new one after the given number of seconds. */
  clock_forward(300 * 1000);
  send_range(sessions[0], 22, 23), drain(sessions[0]);
  assert_int_equal(host.asked, 2);
  clock_forward(400 * 1000);
  for (size_t n = 0; n < 2; n++) send_range(sessions[n], 23, 24), drain(sessions[n]);
  assert_int_equal(host.asked, 3);
  assert_int_equal(heard.count, 2);
  for (size_t n = 0; n < 2; n++) apns_session_free(sessions[n]);
}

TEST(the_longest_token) {
  char longest[APNS_PROVIDER_TOKEN_MAX + 1] = {0};
  memset(longest, 'x', APNS_PROVIDER_TOKEN_MAX);
  host_t host = {.token = longest};
  owned(credentials) credentials = hosted(&host);
  owned(session) session = signing_session(service, credentials);
  send_range(session, 0, 3), drain(session);
  assert_counts(session, 3, 3, 0, 0, 0);
}

TEST(a_token_that_is_refused) {
  host_t host = {.token = "first"};
  owned(credentials) credentials = hosted(&host);
  owned(session) session = signing_session(service, credentials);
  send_range(session, 0, 1), drain(session);
  heard.refused = heard.tokens[0];
  host.token = "second";
  send_range(session, 1, 30), drain(session);
  assert_counts(session, 30, 30, 0, 0, 0);
  assert_int_equal(host.asked, 2);
  assert_int_equal(host.need, APNS_TOKEN_REFUSED);
  /* It is refused for ever: the application gets one call a minute, not one each time. */
  heard.refuses_all = true;
  send_range(session, 30, 60), drain(session);
  assert_counts(session, 60, 30, 30, 0, 0);
  assert_int_equal(host.asked, 2);
  clock_forward(60 * 1000);
  send_range(session, 60, 90), drain(session);
  assert_int_equal(host.asked, 3);
  assert_counts(session, 90, 30, 60, 0, 0);
}

/* Each call reports why, nothing is lost, and it is sent when there is a token. */
TEST(no_token_now) {
  host_t host = {.renew_after_s = 7};
  owned(credentials) credentials = hosted(&host);
  owned(session) session = signing_session(service, credentials);
  int64_t began = cpu_ms();
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  assert_caused(APNS_ERR_TIMEOUT, apns_session_flush(session, &error), APNS_CAUSE_PROVIDER_TOKEN);
  assert_contains(error.message, "no provider token at the moment");
  assert_caused(APNS_ERR_TIMEOUT, apns_session_drain(session, AMPLE_MS, NULL, &error),
                APNS_CAUSE_PROVIDER_TOKEN);
  assert_costs(began, 1000);
  assert_int_equal(host.asked, 1);
  /* None comes before the time that the application set. */
  clock_forward(7000);
  assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, AMPLE_MS, NULL, &error));
  assert_int_equal(host.asked, 2);
  clock_forward(7000);
  host.token = "now", host.renew_after_s = 60;
  drain(session);
  assert_counts(session, 1, 1, 0, 0, 0);
  /* Later it has no token: the last one stays in use. */
  clock_forward(61000);
  host.token = NULL, host.renew_after_s = 0;
  send_range(session, 1, 5), drain(session);
  assert_int_equal(host.asked, 4);
  assert_int_equal(host.need, APNS_TOKEN_AGED);
  assert_int_equal(heard.count, 1);
  host.token = "again";
  clock_forward(1000);
  send_range(session, 5, 6), drain(session);
  assert_string_equal(heard.tokens[1], "bearer again");
}

/* It may request a longer pause. */
TEST(a_host_that_fails_says_for_how_long) {
  host_t host = {.token = "-", .renew_after_s = 3600};
  owned(credentials) credentials = hosted(&host);
  owned(session) session = signing_session(service, credentials);
  apns_notification_t given = *notification(0);
  given.deadline_ms = -1;
  assert_ok(apns_session_send(session, &given, 0, NULL, &error));
  for (size_t n = 0; n < 3; n++) {
    assert_caused(APNS_ERR_CREDENTIALS, apns_session_flush(session, &error),
                  APNS_CAUSE_PROVIDER_TOKEN);
    assert_int_equal(host.asked, n < 2 ? 1 : 2);
    clock_forward(2000 * 1000);
  }
}

TEST(a_host_that_fails) {
  static const struct {
    host_t host;
    const char *words;
  } kinds[] = {
      {{.token = "-", .words = "the vault is sealed"},
       "token_callback failed: the vault is sealed"},
      {{.token = "-"}, "the token_callback failed"},
      {{.token = "a b"}, "what is no token"},
      {{.token = "a\r\nb"}, "what is no token"},
      {{.token = "bearer a"}, "what is no token"},
      {{.token = "a", .length = APNS_PROVIDER_TOKEN_MAX + 1}, "what is no token"},
  };
  for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
    FORGET_ERROR();
    host_t host = kinds[n].host;
    owned(credentials) credentials = hosted(&host);
    owned(session) session = signing_session(service, credentials);
    assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
    assert_caused(APNS_ERR_CREDENTIALS, apns_session_flush(session, &error),
                  APNS_CAUSE_PROVIDER_TOKEN);
    assert_contains(error.message, kinds[n].words);
    assert_counts(session, 1, 0, 0, 0, 1);
    host = (host_t){.token = "mended"};
    clock_forward(1000);
    drain(session);
    assert_counts(session, 1, 1, 0, 0, 0);
  }
}

/* Words that fill their room have no NUL, and nothing is read after them. */
TEST(a_host_of_many_words) {
  char words[124 + 1] = {0};
  memset(words, 'w', sizeof words - 1);
  host_t host = {.token = "-", .words = words};
  owned(credentials) credentials = hosted(&host);
  owned(session) session = signing_session(service, credentials);
  assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
  assert_fails(APNS_ERR_CREDENTIALS, apns_session_flush(session, &error), words);
}

static _Atomic int inside, most_inside;
static int give_slowly(apns_token_request_t *request, void *context) {
  (void)context;
  const int now = ++inside;
  if (now > most_inside) most_inside = now;
  for (volatile int n = 0; n < 1000000; n++) continue;
  memcpy(request->token, "slow", 4);
  inside--;
  return 4;
}

static void *push_ten(void *credentials) {
  owned(session) session = signing_session(service, credentials);
  send_range(session, 0, 10), drain(session);
  return NULL;
}

TEST(threads_one_at_a_time) {
  apns_credentials_options_t options = trusting();
  options.token_callback = give_slowly;
  owned(credentials) credentials = credentials_of(&options);
  pthread_t threads[4];
  for (size_t n = 0; n < 4; n++) pthread_create(&threads[n], NULL, push_ten, credentials);
  for (size_t n = 0; n < 4; n++) pthread_join(threads[n], NULL);
  assert_int_equal(most_inside, 1);
  assert_int_equal(heard.count, 1);
}

/* ---- The host signs --------------------------------------------------------------- */

typedef struct signing {
  bool is_der;
  int length; /* not 0: returned instead of the real length */
  size_t times;
} signing_t;

static int sign(const void *message, size_t length, uint8_t *signature, size_t capacity,
                void *context) {
  signing_t *how = context;
  how->times++;
  assert_true(capacity >= 80);
  size_t count = capacity;
  EVP_MD_CTX *digest = EVP_MD_CTX_new();
  assert_int_equal(EVP_DigestSignInit(digest, NULL, EVP_sha256(), NULL, key), 1);
  assert_int_equal(EVP_DigestSign(digest, signature, &count, message, length), 1);
  EVP_MD_CTX_free(digest);
  if (!how->is_der) {
    const uint8_t *next = signature;
    ECDSA_SIG *numbers = d2i_ECDSA_SIG(NULL, &next, (long)count);
    BN_bn2binpad(ECDSA_SIG_get0_r(numbers), signature, 32);
    BN_bn2binpad(ECDSA_SIG_get0_s(numbers), signature + 32, 32);
    ECDSA_SIG_free(numbers);
    count = 64;
  }
  return how->length ? how->length : (int)count;
}

static apns_credentials_options_t signed_by(signing_t *how) {
  apns_credentials_options_t options = trusting();
  options.sign_callback = sign;
  options.sign_context = how;
  options.key_id = KEY_ID;
  options.team_id = TEAM_ID;
  return options;
}

TEST(signatures_of_the_host) {
  for (int round = 0; round < 20; round++) {
    signing_t how = {.is_der = round % 2};
    apns_credentials_options_t options = signed_by(&how);
    push_once(service, &options);
    assert_int_equal(how.times, 1);
    assert_int_equal(heard.count, round + 1);
    assert_true(is_token_of(heard.tokens[round], key));
  }
}

TEST(signatures_that_are_none) {
  const int lengths[] = {-1, 1, 63, 65, 129, 1000};
  for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++) {
    FORGET_ERROR();
    signing_t how = {.length = lengths[n]};
    apns_credentials_options_t options = signed_by(&how);
    owned(credentials) credentials = credentials_of(&options);
    owned(session) session = signing_session(service, credentials);
    assert_ok(apns_session_send(session, notification(0), 0, NULL, &error));
    assert_caused(APNS_ERR_CREDENTIALS, apns_session_flush(session, &error),
                  APNS_CAUSE_PROVIDER_TOKEN);
    assert_contains(error.message, "sign_callback gave no signature");
    how.length = 0;
    clock_forward(1000);
    drain(session);
    assert_counts(session, 1, 1, 0, 0, 0);
  }
}

/* And not on every call. */
TEST(a_callback_that_fails_is_asked_once_a_second) {
  host_t host = {.token = "-"};
  signing_t how = {.length = -1};
  apns_credentials_options_t signs = signed_by(&how);
  apns_credentials_t *both[] = {hosted(&host), credentials_of(&signs)};
  for (size_t index = 0; index < 2; index++) {
    apns_session_t *session = signing_session(service, both[index]);
    const int64_t start = clock_ms();
    for (size_t n = 0; n < 2000; n++) send_range(session, n, n + 1);
    for (size_t n = 0; n < 100; n++)
      assert_caused(APNS_ERR_CREDENTIALS, apns_session_flush(session, &error),
                    APNS_CAUSE_PROVIDER_TOKEN);
    const size_t asked = index ? how.times : host.asked;
    assert_in_range(asked, 1, (size_t)(clock_ms() - start) / 1000 + 2);
    if (index) how.length = 0;
    host.token = "mended";
    clock_forward(1000);
    drain(session);
    assert_counts(session, 2000, 2000, 0, 0, 0);
    apns_session_free(session), apns_credentials_free(both[index]);
  }
}

/* Nobody knows its public key, so it does not use a token of a .p8 with the same names. */
TEST(signatures_and_a_cache) {
  char file[PATH_MAX + 16];
  snprintf(file, sizeof file, "%s/token", identities_directory("signed"));
  signing_t how = {.is_der = true};
  apns_credentials_options_t options = signed_by(&how), by_key = signing_options(key);
  options.token_cache_file = by_key.token_cache_file = file;
  push_once(service, &options);
  push_once(service, &options);
  assert_int_equal(heard.count, 1);
  assert_int_equal(how.times, 1);
  push_once(service, &by_key);
  assert_int_equal(heard.count, 2);
}

/* ---- Keys of the host's ------------------------------------------------------------ */

TEST(a_token_key_of_the_host) {
  apns_credentials_options_t options = trusting();
  owned(key) own = keychain_key(false);
  options.token_private_key = own;
  check_refused(&options, APNS_ERR_ARGUMENT, "key_id is missing");
  options.key_id = KEY_ID, options.team_id = TEAM_ID;
  owned(credentials) credentials = credentials_of(&options);
  unsigned char *bytes = NULL;
  const int length = i2d_PUBKEY(own, &bytes);
  const unsigned char *next = bytes;
  owned(key) half = d2i_PUBKEY(NULL, &next, length);
  OPENSSL_free(bytes);
  EVP_PKEY_free(own); /* the credentials have it too */
  apns_session_t *session = signing_session(service, credentials);
  send_range(session, 0, 1), drain(session);
  assert_true(is_token_of(heard.tokens[0], half));
  apns_session_free(session);
  options.token_private_key = own = keychain_key(true);
  check_refused(&options, APNS_ERR_CREDENTIALS, "token_private_key is not EC P-256");
}

TEST(a_certificate_s_key_of_the_host) {
  const identities_t *all = identities_make();
  apns_credentials_options_t options = trusting();
  FILE *file = fopen(all->provider.key_file, "r");
  owned(key) own = PEM_read_PrivateKey(file, NULL, NULL, NULL);
  fclose(file);
  options.private_key = own;
  check_refused(&options, APNS_ERR_ARGUMENT, "a key is given without a certificate");
  options.certificate_file = all->provider.certificate_file;
  check_works(&options, 0);
  options.key_file = all->provider.key_file;
  check_refused(&options, APNS_ERR_ARGUMENT, "both a key and a private_key are given");
  options.key_file = NULL;
  options.private_key = key;
  apns_error_t error = check_refused(&options, APNS_ERR_CREDENTIALS, "certificate file",
                                     "holds no certificate that matches private_key");
  assert_int_equal(error.cause, APNS_CAUSE_KEY_MISMATCH);
}

TEST(options_that_contradict) {
  host_t host = {0};
  signing_t how = {0};
  static const char *one = "more than one is given of token_key, token_private_key";
  apns_credentials_options_t options = signing_options(key);
  options.token_callback = give_token, options.token_context = &host;
  check_refused(&options, APNS_ERR_ARGUMENT, one);
  options = signing_options(key);
  options.sign_callback = sign, options.sign_context = &how;
  check_refused(&options, APNS_ERR_ARGUMENT, one);
  options = signing_options(key);
  options.token_private_key = key;
  check_refused(&options, APNS_ERR_ARGUMENT, one);
  options = trusting();
  options.token_callback = give_token, options.token_context = &host;
  options.key_id = KEY_ID;
  check_refused(&options, APNS_ERR_ARGUMENT, "key_id or team_id is given with a token_callback");
  options.key_id = NULL, options.token_cache_file = "/tmp/token";
  check_refused(&options, APNS_ERR_ARGUMENT, "not for a token_callback");
  options = signed_by(&how);
  options.team_id = NULL;
  check_refused(&options, APNS_ERR_ARGUMENT, "team_id is missing");
  assert_int_equal(how.times, 0);
}

void before_all(void) {
  identities_make();
  key = keychain_key(false);
}

void after_all(void) { EVP_PKEY_free(key); }
