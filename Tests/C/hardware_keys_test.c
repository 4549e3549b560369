/*
 * Keys that never leave their device: SoftHSM stands for it, by PKCS#11. It signs provider tokens,
 * through the callback and as OpenSSL's key, and the handshakes of a client certificate.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/engine.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <unistd.h>

#include "keychain.h"
#include "signing.h"

static const char *const modules[] = {"/usr/lib/softhsm/libsofthsm2.so",
                                      "/usr/lib64/pkcs11/libsofthsm2.so",
                                      "/usr/lib/pkcs11/libsofthsm2.so"};

static ENGINE *device;
static EVP_PKEY *key; /* the same as in the device, for its public half */

/* Why there is no device here; NULL if there is a device. */
static const char *missing(void) {
#ifdef OPENSSL_NO_ENGINE
  return "this OpenSSL has no engines";
#else
  const char *module = NULL;
  for (size_t n = 0; n < sizeof modules / sizeof *modules; n++)
    if (access(modules[n], R_OK) == 0) module = modules[n];
  if (!module || system("softhsm2-util --version >/dev/null 2>&1") != 0)
    return "SoftHSM is not installed (Debian: softhsm2)";
  ENGINE_load_dynamic();
  device = ENGINE_by_id("pkcs11");
  if (!device) return "OpenSSL's engine for PKCS#11 is not installed (libengine-pkcs11-openssl)";
  assert_int_equal(ENGINE_ctrl_cmd_string(device, "MODULE_PATH", module, 0), 1);
  return NULL;
#endif
}

static void import(const char *file, const char *label, const char *id) {
  char command[PATH_MAX + 200];
  snprintf(command, sizeof command,
           "softhsm2-util --import '%s' --token apns --label %s --id %s --pin 1234 >/dev/null",
           file, label, id);
  assert_int_equal(system(command), 0);
}

static void fill_device(void) {
  const char *directory = identities_directory("softhsm");
  char text[PATH_MAX + 100];
  snprintf(text, sizeof text,
           "directories.tokendir = %s\nobjectstore.backend = file\nlog.level = ERROR\n", directory);
  setenv("SOFTHSM2_CONF", identities_write("softhsm.conf", text, strlen(text)), 1);
  assert_int_equal(
      system("softhsm2-util --init-token --free --label apns --so-pin 1234 --pin 1234 >/dev/null"),
      0);
  size_t length;
  owned(bytes) bytes = keychain_key_bytes(key, &(key_form_t){0}, &length);
  import(identities_write("device.p8", bytes, length), "signing", "A1");
  import(identities_make()->provider.key_file, "provider", "A2");
  assert_int_equal(ENGINE_init(device), 1);
}

static EVP_PKEY *device_key(const char *label) {
  char name[100];
  snprintf(name, sizeof name, "pkcs11:token=apns;object=%s;type=private;pin-value=1234", label);
  EVP_PKEY *found = ENGINE_load_private_key(device, name, NULL, NULL);
  assert_non_null(found);
  return found;
}

static int sign_by_device(const void *message, size_t length, uint8_t *signature, size_t capacity,
                          void *context) {
  size_t count = capacity;
  EVP_MD_CTX *digest = EVP_MD_CTX_new();
  const bool fine = EVP_DigestSignInit(digest, NULL, EVP_sha256(), NULL, context) == 1 &&
                    EVP_DigestSign(digest, signature, &count, message, length) == 1;
  EVP_MD_CTX_free(digest);
  return fine ? (int)count : -1;
}

TEST(tokens) {
  heard_t *heard = calloc(1, sizeof *heard);
  owned(service) service = service_judging(hear_token, heard);
  owned(key) signing = device_key("signing");
  apns_credentials_options_t options = trusting();
  options.key_id = KEY_ID, options.team_id = TEAM_ID;
  options.sign_callback = sign_by_device, options.sign_context = signing;
  push_once(service, &options);
  options.sign_callback = NULL;
  options.token_private_key = signing;
  push_once(service, &options);
  assert_int_equal(heard->count, 2);
  for (size_t n = 0; n < 2; n++) assert_true(is_token_of(heard->tokens[n], key));
  /* A cache knows it by its public half, as the .p8 would be. */
  char file[PATH_MAX + 16];
  snprintf(file, sizeof file, "%s/token", identities_directory("device-cache"));
  options.token_cache_file = file;
  push_once(service, &options);
  apns_credentials_options_t by_file = signing_options(key);
  by_file.token_cache_file = file;
  push_once(service, &by_file);
  assert_int_equal(heard->count, 3);
  free(heard);
}

TEST(handshakes) {
  const identities_t *all = identities_make();
  apns_credentials_options_t options = trusting();
  options.certificate_file = all->provider.certificate_file;
  options.private_key = device_key("provider");
  const apns_tls_version_t versions[] = {APNS_TLS_1_2, APNS_TLS_1_3};
  for (size_t n = 0; n < 2; n++) {
    options.tls_min = options.tls_max = versions[n];
    check_works(&options, 0);
  }
  EVP_PKEY_free(options.private_key);
}

void before_all(void) {
  identities_make();
  const char *why = missing();
  if (why) {
    printf("skipped: %s\n", why);
    exit(SKIPPED);
  }
  key = keychain_key(false);
  fill_device();
}

void after_all(void) {
  EVP_PKEY_free(key);
  ENGINE_finish(device), ENGINE_free(device);
}
