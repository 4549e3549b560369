/* Files with several certificates and keys, as Keychain exports a selection: the session shows the
   push certificate, and an error names two of different apps. */
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <stdio.h>
#include <time.h>

#include "keychain.h"
#include "provider.h"

static const identities_t *all;
static EVP_PKEY *keys[3];

#define DAY (24 * 60 * 60)
#define APP "com.example.app"

static const push_certificate_t distribution = {.name = "iPhone Distribution: Example",
                                                .user_id = "EXAMPLE123"};
static const push_certificate_t push = {.name = "Apple Push Services: " APP,
                                        .user_id = APP,
                                        .for_sandbox = true,
                                        .for_production = true};

/* Certificates and keys, and their order in a file: certificate and key, one after the other, in
   PEM or in PKCS#12. */
typedef struct selection {
  const push_certificate_t *traits[3];
  int key_of[3]; /* which of the keys each has */
} selection_t;

static void add_bag(STACK_OF(PKCS12_SAFEBAG) * *bags, X509 *certificate, EVP_PKEY *key) {
  assert_non_null(PKCS12_add_cert(bags, certificate));
  assert_non_null(
      PKCS12_add_key(bags, key, 0, 2048, NID_pbe_WithSHA1And3_Key_TripleDES_CBC, "open sesame"));
}

static char *written(const selection_t *selection, bool is_pkcs12, size_t *length_out) {
  BIO *bio = BIO_new(BIO_s_mem());
  STACK_OF(PKCS12_SAFEBAG) *bags = NULL;
  for (int index = 0; index < 3 && selection->traits[index]; index++) {
    EVP_PKEY *key = keys[selection->key_of[index]];
    owned(certificate) certificate = keychain_certificate(selection->traits[index], key);
    if (is_pkcs12) {
      add_bag(&bags, certificate, key);
    } else {
      PEM_write_bio_X509(bio, certificate);
      PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    }
  }
  if (is_pkcs12) {
    STACK_OF(PKCS7) *safes = NULL;
    assert_int_equal(PKCS12_add_safe(&safes, bags, -1, 2048, NULL), 1);
    PKCS12 *file = PKCS12_add_safes(safes, 0);
    assert_int_equal(PKCS12_set_mac(file, "open sesame", -1, NULL, 0, 2048, EVP_sha256()), 1);
    i2d_PKCS12_bio(bio, file);
    PKCS12_free(file);
    sk_PKCS7_pop_free(safes, PKCS7_free);
    sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
  }
  char *start;
  *length_out = (size_t)BIO_get_mem_data(bio, &start);
  char *bytes = malloc(*length_out);
  memcpy(bytes, start, *length_out);
  BIO_free(bio);
  return bytes;
}

static void check_chosen(const selection_t *selection, const char *name, uint32_t chain_length) {
  for (int is_pkcs12 = 0; is_pkcs12 < 2; is_pkcs12++) {
    apns_credentials_options_t options = trusting();
    owned(text) bytes = written(selection, is_pkcs12, &options.certificate_length);
    options.certificate_bytes = bytes;
    options.passphrase = "open sesame";
    apns_error_t error = APNS_ERROR_INIT;
    owned(credentials) credentials = credentials_of(&options);
    apns_credentials_description_t told = APNS_CREDENTIALS_DESCRIPTION_INIT;
    assert_ok(apns_credentials_describe(credentials, &told, &error));
    assert_contains(told.subject, name);
    assert_int_equal(told.chain_length, chain_length);
    if (chain_length == 1) check_works(&options, 2);
  }
}

TEST(the_one_for_pushing_is_shown) {
  check_chosen(&(selection_t){{&distribution, &push}, {0, 1}}, push.name, 1);
  check_chosen(&(selection_t){{&push, &distribution}, {1, 0}}, push.name, 1);
  const push_certificate_t development = {.name = "Apple Development", .user_id = "OTHER"};
  check_chosen(&(selection_t){{&distribution, &development, &push}, {0, 1, 2}}, push.name, 1);
}

/* Apple marks VoIP by another extension. */
TEST(each_kind_of_pushing) {
  owned(certificate) voip = keychain_certificate(
      &(push_certificate_t){.name = "VoIP Services: " APP, .user_id = APP ".voip"}, keys[1]);
  keychain_extend(voip, "1.2.840.113635.100.6.3.4", "\x05\x00", 2);
  owned(certificate) other = keychain_certificate(&distribution, keys[0]);
  BIO *bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, other);
  PEM_write_bio_PrivateKey(bio, keys[0], NULL, NULL, 0, NULL, NULL);
  PEM_write_bio_X509(bio, voip);
  PEM_write_bio_PrivateKey(bio, keys[1], NULL, NULL, 0, NULL, NULL);
  char *start;
  apns_credentials_options_t options = trusting();
  options.certificate_length = (size_t)BIO_get_mem_data(bio, &start);
  options.certificate_bytes = start;
  apns_error_t error = APNS_ERROR_INIT;
  owned(credentials) credentials = credentials_of(&options);
  apns_credentials_description_t told = APNS_CREDENTIALS_DESCRIPTION_INIT;
  assert_ok(apns_credentials_describe(credentials, &told, &error));
  assert_contains(told.subject, "VoIP Services");
  BIO_free(bio);
}

TEST(none_for_pushing_is_as_it_was) {
  const push_certificate_t second = {.name = "second", .user_id = "SECOND"};
  check_chosen(&(selection_t){{&distribution, &second}, {0, 1}}, distribution.name, 1);
}

/* A renewed certificate for the same app, with any key: the latest expiry wins. */
TEST(the_newer_one_of_an_app) {
  push_certificate_t newer = push, older = push, over = push, early = push;
  newer.name = "newer", newer.not_after = time(NULL) + 300 * DAY;
  older.name = "older";
  over.name = "over", over.not_before = time(NULL) - 9 * DAY, over.not_after = time(NULL) - 2 * DAY;
  early.name = "early", early.not_before = time(NULL) + DAY;
  early.not_after = time(NULL) + 400 * DAY;
  for (int key = 0; key < 2; key++) {
    check_chosen(&(selection_t){{&older, &newer}, {0, key}}, "newer", 1);
    check_chosen(&(selection_t){{&newer, &older}, {0, key}}, "newer", 1);
    check_chosen(&(selection_t){{&over, &older}, {0, key}}, "older", 1);
    check_chosen(&(selection_t){{&early, &older, &over}, {0, key, 2}}, "older", 1);
  }
}

TEST(two_apps_are_both_named) {
  push_certificate_t other = push, sandbox = push;
  other.name = "Apple Push Services: com.example.other", other.user_id = "com.example.other";
  sandbox.name = "Apple Development IOS Push Services: " APP, sandbox.for_production = false;
  const push_certificate_t *const rivals[] = {&other, &sandbox};
  for (size_t rival = 0; rival < 2; rival++)
    for (int is_pkcs12 = 0; is_pkcs12 < 2; is_pkcs12++) {
      const selection_t selection = {{&distribution, &push, rivals[rival]}, {0, 1, 2}};
      apns_credentials_options_t options = trusting();
      owned(text) bytes = written(&selection, is_pkcs12, &options.certificate_length);
      options.certificate_bytes = bytes;
      options.passphrase = "open sesame";
      apns_error_t error =
          check_refused(&options, APNS_ERR_CREDENTIALS,
                        "certificate in memory holds several identities for pushing: ", push.name,
                        " and ", rivals[rival]->name, "; keep one");
      assert_int_equal(error.cause, APNS_CAUSE_SEVERAL_IDENTITIES);
      /* A separate key selects the certificate. */
      owned(bytes) key = keychain_key_bytes(keys[1], &(key_form_t){0}, &options.key_length);
      options.key_bytes = key;
      check_works(&options, 0);
      options.key_bytes = NULL;
      options.private_key = keys[1];
      check_works(&options, 0);
    }
}

/* An unreadable key next to the usable one. */
TEST(a_second_key_that_is_broken) {
  apns_credentials_options_t options = trusting();
  size_t length;
  owned(text) bytes = written(&(selection_t){{&push}, {1}}, false, &length);
  static const char broken[] =
      "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQ==\n"
      "-----END PRIVATE KEY-----\n";
  owned(text) both = malloc(length + sizeof broken);
  memcpy(both, bytes, length);
  memcpy(both + length, broken, sizeof broken);
  options.certificate_bytes = both;
  options.certificate_length = length + sizeof broken - 1;
  check_works(&options, 2);
}

void before_all(void) {
  all = identities_make();
  for (int key = 0; key < 3; key++) keys[key] = keychain_key(false);
}

void after_all(void) {
  for (int key = 0; key < 3; key++) EVP_PKEY_free(keys[key]);
}
