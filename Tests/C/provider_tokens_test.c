/* Credentials with a key for provider tokens, and every way to fail. */
#include <errno.h>
#include <stdio.h>

#include "keychain.h"
#include "provider.h"

#define KEY_ID "ABC123DEFG"
#define TEAM_ID "DEF123GHIJ"

static const identities_t *all;
/* As Apple hands it out. */
static EVP_PKEY *key;
static uint8_t *p8;
static size_t p8_length;
static const char *p8_file;

static apns_credentials_options_t with_token(void) {
  apns_credentials_options_t options = trusting();
  options.token_key_file = p8_file;
  options.key_id = KEY_ID;
  options.team_id = TEAM_ID;
  /* The system's store takes seconds under valgrind. */
  return options;
}

static apns_credentials_t *made_with(const apns_credentials_options_t *options) {
  return credentials_of(options);
}

/* ---- Ways to load ------------------------------------------------------- */

static void check_described(const apns_credentials_options_t *options, bool has_certificate) {
  owned(credentials) credentials = made_with(options);
  apns_credentials_description_t told = APNS_CREDENTIALS_DESCRIPTION_INIT;
  assert_ok(apns_credentials_describe(credentials, &told, &error));
  assert_int_equal(told.subject != NULL, has_certificate);
  assert_int_equal(told.chain_length, has_certificate);
  assert_string_equal(told.key_id, KEY_ID);
  assert_string_equal(told.team_id, TEAM_ID);
}

TEST(a_file) {
  apns_credentials_options_t options = with_token();
  check_described(&options, false);
}

TEST(bytes) {
  apns_credentials_options_t options = with_token();
  /* Borrowed for the call only, and not ended by a NUL. */
  char *exact = malloc(p8_length), id[] = KEY_ID, team[] = TEAM_ID;
  memcpy(exact, p8, p8_length);
  options.token_key_file = NULL;
  options.token_key_bytes = exact;
  options.token_key_length = p8_length;
  options.key_id = id;
  options.team_id = team;
  owned(credentials) credentials = made_with(&options);
  memset(exact, 'x', p8_length), memset(id, 'x', sizeof id), memset(team, 'x', sizeof team);
  free(exact);
  apns_credentials_description_t told = APNS_CREDENTIALS_DESCRIPTION_INIT;
  assert_ok(apns_credentials_describe(credentials, &told, NULL));
  assert_string_equal(told.key_id, KEY_ID);
  assert_string_equal(told.team_id, TEAM_ID);
}

TEST(beside_a_certificate) {
  apns_credentials_options_t options = with_token();
  options.certificate_file = all->provider.together_file;
  check_described(&options, true);
  check_works(&options, 0);
}

/* TLS without a client certificate. */
TEST(without_a_certificate) {
  apns_credentials_options_t options = with_token();
  owned(credentials) credentials = made_with(&options);
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t how = options_for(gateway);
  apns_session_t *session = NULL;
  /* The binary interface has nothing else that could be shown. */
  assert_invalid(apns_session_new(&how, credentials, &session, &error),
                 "a .p8 signing key is for HTTP/2 only");
}

TEST(without_a_token) {
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  options.certificate_file = all->provider.together_file;
  for (int round = 0; round < 2; round++) {
    owned(credentials) credentials = made_with(round ? &options : NULL);
    apns_credentials_description_t told = APNS_CREDENTIALS_DESCRIPTION_INIT;
    told.key_id = told.team_id = "from before";
    assert_ok(apns_credentials_describe(credentials, &told, NULL));
    assert_null(told.key_id);
    assert_null(told.team_id);
  }
}

TEST(an_encrypted_key) {
  size_t length;
  owned(bytes) locked = keychain_key_bytes(
      key, &(key_form_t){.cipher = NID_aes_256_cbc, .passphrase = "open sesame"}, &length);
  apns_credentials_options_t options = with_token();
  options.token_key_file = identities_write("locked.p8", locked, length);
  check_refused(&options, APNS_ERR_CREDENTIALS, "token_key file", options.token_key_file,
                "needs a passphrase");
  options.passphrase = "open barley";
  check_refused(&options, APNS_ERR_CREDENTIALS, options.token_key_file, "passphrase does not open");
  options.passphrase = "open sesame";
  check_described(&options, false);
}

/* ---- Failures ----------------------------------------------------------- */

TEST(files_that_are_no_key) {
  apns_credentials_options_t options = with_token();
  options.token_key_file = "/nonexistent/AuthKey.p8";
  apns_error_t error = check_refused(&options, APNS_ERR_CREDENTIALS, "token_key file",
                                     "/nonexistent/AuthKey.p8", strerror(ENOENT));
  assert_int_equal(error.sys_errno, ENOENT);
  options.token_key_file = identities_write("empty.p8", "", 0);
  check_refused(&options, APNS_ERR_CREDENTIALS, "token_key file", options.token_key_file,
                "no private key in PEM");
  options.token_key_file = all->provider.certificate_file;
  check_refused(&options, APNS_ERR_CREDENTIALS, "token_key file", options.token_key_file,
                "no private key in PEM");
  options.token_key_file = identities_write("cut.p8", p8, p8_length / 2);
  check_refused(&options, APNS_ERR_CREDENTIALS, "token_key file", options.token_key_file);
  options.token_key_file = identities_write("text.p8", "no key at all", 13);
  check_refused(&options, APNS_ERR_CREDENTIALS, "token_key file", options.token_key_file,
                "no private key in PEM");
}

static EVP_PKEY *key_on(int curve) {
  EVP_PKEY *made = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
  assert_int_equal(EVP_PKEY_keygen_init(context), 1);
  assert_int_equal(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, curve), 1);
  assert_int_equal(EVP_PKEY_keygen(context, &made), 1);
  EVP_PKEY_CTX_free(context);
  return made;
}

TEST(keys_of_another_kind) {
  EVP_PKEY *others[] = {keychain_key(true), key_on(NID_secp384r1), key_on(NID_secp256k1)};
  for (size_t index = 0; index < sizeof others / sizeof *others; index++) {
    size_t length;
    owned(bytes) bytes = keychain_key_bytes(others[index], &(key_form_t){0}, &length);
    apns_credentials_options_t options = with_token();
    options.token_key_file = identities_write("other.p8", bytes, length);
    check_refused(&options, APNS_ERR_CREDENTIALS, "token_key file", options.token_key_file,
                  "not EC P-256");
    options.token_key_file = NULL;
    options.token_key_bytes = bytes;
    options.token_key_length = length;
    check_refused(&options, APNS_ERR_CREDENTIALS, "token_key in memory", "not EC P-256");
    EVP_PKEY_free(others[index]);
  }
}

TEST(identifiers_that_cannot_be) {
  static const struct {
    const char *text, *message;
  } wrong[] = {
      {NULL, "is missing; the token_key needs it"},
      {"", "has 0 characters, not 10"},
      {"ABC123DEF", "has 9 characters, not 10"},
      {"ABC123DEFGH", "has 11 characters, not 10"},
      {"ABC123DEF\"", "has characters other than letters and digits"},
      {"ABC 23DEFG", "has characters other than letters and digits"},
      {"\xc3\xa9"
       "BC123DEF",
       "has characters other than letters and digits"},
  };
  for (size_t index = 0; index < sizeof wrong / sizeof *wrong; index++) {
    char message[100];
    apns_credentials_options_t options = with_token();
    options.key_id = wrong[index].text;
    snprintf(message, sizeof message, "key_id %s", wrong[index].message);
    check_refused(&options, APNS_ERR_ARGUMENT, message);
    options = with_token();
    options.team_id = wrong[index].text;
    snprintf(message, sizeof message, "team_id %s", wrong[index].message);
    check_refused(&options, APNS_ERR_ARGUMENT, message);
  }
}

TEST(options_that_contradict) {
  apns_credentials_options_t options = with_token();
  options.token_key_bytes = p8;
  options.token_key_length = p8_length;
  check_refused(&options, APNS_ERR_ARGUMENT, "token_key", "both");
  options.token_key_file = NULL;
  options.token_key_length = 0;
  check_refused(&options, APNS_ERR_ARGUMENT, "token_key_length is 0");
  options.token_key_bytes = NULL;
  check_refused(&options, APNS_ERR_ARGUMENT, "is given without a token_key");
  options.key_id = NULL;
  check_refused(&options, APNS_ERR_ARGUMENT, "is given without a token_key");
  options.key_id = KEY_ID;
  options.team_id = NULL;
  check_refused(&options, APNS_ERR_ARGUMENT, "is given without a token_key");
}

/* A key in a message would end up in a log. */
TEST(messages_hold_no_secret) {
  char line[21] = {0};
  memcpy(line, strchr((const char *)p8, '\n') + 1, 20);
  apns_credentials_options_t options = with_token();
  options.token_key_file = NULL;
  options.token_key_bytes = p8;
  const size_t step = as_many_as(1, 29);
  for (size_t length = 1; length < p8_length; length += step) {
    FORGET_ERROR();
    options.token_key_length = length;
    apns_credentials_t *credentials = NULL;
    if (apns_credentials_new(&options, &credentials, &error) == APNS_OK) {
      /* Only the line after the key may be missing. */
      assert_true(length >= (size_t)(strstr((const char *)p8, "\n-----END") - (const char *)p8));
      apns_credentials_free(credentials);
      continue;
    }
    assert_contains(error.message, "token_key in memory");
    assert_null(strstr(error.message, line));
  }
}

/* ---- Other versions ----------------------------------------------------- */

void before_all(void) {
  all = identities_make();
  key = keychain_key(false);
  p8 = keychain_key_bytes(key, &(key_form_t){0}, &p8_length);
  p8 = realloc(p8, p8_length + 1);
  p8[p8_length] = 0;
  static char path[PATH_MAX];
  p8_file = strcpy(path, identities_write("AuthKey_" KEY_ID ".p8", p8, p8_length));
}

void after_all(void) {
  EVP_PKEY_free(key);
  free(p8);
}
