/* Keys as people have them: any form with a whole key is accepted, and the rest is named. */
#include <openssl/evp.h>
#include <stdio.h>

#include "keychain.h"
#include "provider.h"

static const identities_t *all;
static EVP_PKEY *key, *rsa_key;
/* The key in PEM, its lines of base64 as one, and it in DER. */
static char pem[512], body[512];
static uint8_t *der;
static size_t der_length;

static apns_credentials_options_t with(const void *bytes, size_t length) {
  apns_credentials_options_t options = trusting();
  options.token_key_bytes = bytes;
  options.token_key_length = length;
  options.key_id = "ABC123DEFG";
  options.team_id = "DEF123GHIJ";
  return options;
}

static void check_taken(const char *shape, const void *bytes, size_t length) {
  apns_credentials_options_t options = with(bytes, length);
  owned(credentials) credentials = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  if (apns_credentials_new(&options, &credentials, &error) != APNS_OK)
    fail_msg("%s: %s", shape, error.message);
}

/* The PEM with `line_end` at the end of each line and `before` at its beginning. */
static char *shaped(const char *before, const char *line_end) {
  static char made[4096];
  char *end = made;
  for (const char *line = pem; *line; line = strchr(line, '\n') + 1) {
    const int length = (int)(strchr(line, '\n') - line);
    end += sprintf(end, "%s%.*s%s", before, length, line, line_end);
  }
  return made;
}

static void check_text(const char *shape, const char *text) {
  check_taken(shape, text, strlen(text));
}

static void base64(const void *bytes, size_t length, char *text) {
  EVP_EncodeBlock((unsigned char *)text, bytes, (int)length);
}

TEST(a_whole_key_in_any_shape) {
  char text[4096];
  check_text("as it is", pem);
  check_taken("DER", der, der_length);
  check_text("CRLF", shaped("", "\r\n"));
  check_text("CR", shaped("", "\r"));
  check_text("spaces at the ends", shaped("", "  \n"));
  check_text("empty lines", shaped("", "\n\n"));
  check_text("indented", shaped("    ", "\n"));
  check_text("tabs", shaped("\t", "\n"));
  check_text("quoted in a mail", shaped("> ", "\n"));
  check_text("escaped", shaped("", "\\n"));
  check_text("escaped twice", shaped("", "\\\\n"));
  check_text("escaped CRLF", shaped("", "\\r\\n"));
  check_text("continued lines", shaped("", "\\\n"));
  check_text("spaces for line breaks", shaped("", " "));
  check_text("no line breaks", shaped("", ""));
  snprintf(text, sizeof text, "\"%s\"", shaped("", "\\n"));
  check_text("escaped, in quotes", text);
  snprintf(text, sizeof text, "'%s'\n", pem);
  check_text("in quotes", text);
  snprintf(text, sizeof text, "APNS_KEY=\"%s\"\n", shaped("", "\\n"));
  check_text("a line of .env", text);
  snprintf(text, sizeof text, "{\"id\": \"ABC123DEFG\", \"private_key\": \"%s\"}",
           shaped("", "\\n"));
  check_text("in JSON", text);
  snprintf(text, sizeof text, "\xEF\xBB\xBF%s", pem);
  check_text("a byte order mark", text);
  check_text("base64", body);
  snprintf(text, sizeof text, "%.64s\n%.64s\n%s\n", body, body + 64, body + 128);
  check_text("base64 in lines", text);
  snprintf(text, sizeof text, "{\"key\": \"%s\"}", body);
  check_text("base64 in JSON", text);
  base64(pem, strlen(pem), text);
  check_text("base64 of PEM", text);
  base64(shaped("", "\r"), strlen(shaped("", "\r")), text);
  check_text("base64 of PEM with CR", text);
  snprintf(text, sizeof text, "-----BEGIN PRIVATE KEY-----\n%s\n-----END PRIVATE KEY-----", body);
  check_text("one line of base64", text);
  snprintf(text, sizeof text, "-----BEGIN PRIVATE KEY-----\n%s\n", body);
  check_text("no footer", text);
  snprintf(text, sizeof text, "----BEGIN PRIVATE KEY----\n%s\n----END PRIVATE KEY----\n", body);
  check_text("four hyphens", text);
  char *slash = strchr(body, '/');
  if (slash) {
    snprintf(text, sizeof text, "%.*s\\/%s", (int)(slash - body), body, slash + 1);
    check_text("slashes that JSON escapes", text);
  }
  snprintf(text, sizeof text, "%.*s\\u003D", (int)strcspn(body, "="), body);
  check_text("characters that JSON escapes", text);

  for (int way = 0; way < 4; way++) {
    uint8_t wide[2048];
    size_t length = 0;
    const bool is_big = way & 1;
    if (way < 2) wide[length++] = is_big ? 0xFE : 0xFF, wide[length++] = is_big ? 0xFF : 0xFE;
    for (const char *c = pem; *c; c++) {
      wide[length++] = is_big ? 0 : (uint8_t)*c;
      wide[length++] = is_big ? (uint8_t)*c : 0;
    }
    check_taken("UTF-16", wide, length);
  }
}

TEST(older_forms_and_encrypted_ones) {
  static const key_form_t forms[] = {
      {.is_traditional = true},
      {.is_traditional = true, .is_der = true},
      {.cipher = NID_aes_256_cbc, .passphrase = "open sesame"},
      {.cipher = NID_aes_256_cbc, .passphrase = "open sesame", .is_der = true},
      {.is_traditional = true, .cipher = NID_aes_128_cbc, .passphrase = "open sesame"},
  };
  for (size_t form = 0; form < sizeof forms / sizeof *forms; form++) {
    size_t length;
    owned(bytes) bytes = keychain_key_bytes(key, forms + form, &length);
    owned(text) encoded = malloc(length * 2 + 8);
    base64(bytes, length, encoded);
    for (int way = 0; way < 2; way++) {
      apns_credentials_options_t options =
          way ? with(encoded, strlen(encoded)) : with(bytes, length);
      options.passphrase = "open sesame";
      owned(credentials) credentials = credentials_of(&options);
    }
  }
}

/* A certificate with its key, from an environment, is mended as a key is. */
TEST(certificates_too) {
  size_t length;
  owned(text) given = identities_read(all->provider.together_file, &length);
  char *text = malloc(2 * length + 1), *end = text;
  for (size_t at = 0; at < length; at++) {
    if (given[at] == '\n') *end++ = '\\', *end++ = 'n';
    if (given[at] != '\n') *end++ = given[at];
  }
  apns_credentials_options_t options = trusting();
  options.certificate_bytes = text;
  options.certificate_length = (size_t)(end - text);
  check_works(&options, 2);
  free(text);

  const pkcs12_t traits = {
      .key = rsa_key,
      .certificate = keychain_certificate(&(push_certificate_t){.name = "provider"}, rsa_key),
      .passphrase = "open sesame",
      .key_cipher = NID_aes_256_cbc,
      .certificate_cipher = NID_aes_256_cbc};
  owned(bytes) export = keychain_pkcs12(&traits, &length);
  text = malloc(length * 2 + 8);
  base64(export, length, text);
  options.certificate_bytes = text;
  options.certificate_length = strlen(text);
  options.passphrase = "open sesame";
  check_works(&options, 2);
  free(text);
  X509_free(traits.certificate);
}

static apns_error_t not_a_key(const void *bytes, size_t length, const char *words) {
  apns_credentials_options_t options = with(bytes, length);
  options.passphrase = "";
  return check_refused(&options, APNS_ERR_CREDENTIALS, "token_key in memory ", words);
}

TEST(what_is_no_key_is_named) {
  char text[4096];
  size_t length;
  static const char page[] = "<!DOCTYPE html><html><body>Sign in</body></html>";
  not_a_key(page, strlen(page), "holds no private key in PEM or DER, but a web page");
  not_a_key("\n", 1, "holds no private key in PEM or DER");
  snprintf(text, sizeof text, "-----BEGIN PRIVATE KEY-----\n%.64s\n", body);
  not_a_key(text, strlen(text), "holds a key that cannot be read: it is cut short");
  for (int length = 80; length < 84; length++) {
    snprintf(text, sizeof text, "-----BEGIN PRIVATE KEY-----\n%.64s\n%.*s", body, length - 64,
             body + 64);
    not_a_key(text, strlen(text), "holds a key that cannot be read: it is cut short");
  }
  not_a_key(body, 100, "holds a key that cannot be read: it is cut short");
  not_a_key(der, der_length - 1, "holds a key that cannot be read: it is cut short");

  BIO *bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PUBKEY(bio, key);
  char *start;
  length = (size_t)BIO_get_mem_data(bio, &start);
  not_a_key(start, length, "holds no private key in PEM, but a public key");
  BIO_free(bio);

  owned(text) certificate = identities_read(all->provider.certificate_file, &length);
  not_a_key(certificate, length, "holds no private key in PEM, but a certificate");
  owned(bytes) rsa = keychain_key_bytes(rsa_key, &(key_form_t){0}, &length);
  apns_error_t error = not_a_key(rsa, length, "holds a key that is not EC P-256, as Apple's are");
  assert_int_equal(error.cause, APNS_CAUSE_KEY_UNFIT);
  owned(bytes) locked = keychain_key_bytes(
      key, &(key_form_t){.cipher = NID_aes_256_cbc, .passphrase = "open sesame"}, &length);
  apns_credentials_options_t options = with(locked, length);
  error = check_refused(&options, APNS_ERR_CREDENTIALS, "holds a key that needs a passphrase");
  assert_int_equal(error.cause, APNS_CAUSE_PASSPHRASE_MISSING);
}

/* A .p8 where the certificate belongs. */
TEST(a_key_is_no_certificate) {
  apns_credentials_options_t options = trusting();
  const struct {
    const void *bytes;
    size_t length;
  } shapes[] = {{pem, strlen(pem)}, {der, der_length}, {body, strlen(body)}};
  for (size_t shape = 0; shape < 3; shape++) {
    options.certificate_bytes = shapes[shape].bytes;
    options.certificate_length = shapes[shape].length;
    apns_error_t error = check_refused(&options, APNS_ERR_CREDENTIALS,
                                       "certificate in memory holds no PEM certificate",
                                       ", but a private key: a .p8 from Apple is a token_key");
    assert_int_equal(error.cause, APNS_CAUSE_CERTIFICATE_MISSING);
  }
}

/* Bytes of every kind are mended or refused, and never more than that. */
TEST(any_change_of_a_byte) {
  static const char changes[] = {0, '\n', '\\', '-', ' ', 'A', '=', '"', (char)0xFF};
  char text[512];
  const size_t length = strlen(pem);
  for (size_t at = 0; at < length; at += as_many_as(1, 17))
    for (size_t change = 0; change < sizeof changes; change++) {
      memcpy(text, pem, length);
      text[at] = changes[change];
      apns_credentials_options_t options = with(text, length);
      owned(credentials) credentials = NULL;
      apns_error_t error = APNS_ERROR_INIT;
      const apns_status_t status = apns_credentials_new(&options, &credentials, &error);
      assert_true(status == APNS_OK || status == APNS_ERR_CREDENTIALS);
    }
}

void before_all(void) {
  all = identities_make();
  key = keychain_key(false);
  rsa_key = keychain_key(true);
  size_t length;
  owned(bytes) bytes = keychain_key_bytes(key, &(key_form_t){0}, &length);
  memcpy(pem, bytes, length);
  der = keychain_key_bytes(key, &(key_form_t){.is_der = true}, &der_length);
  base64(der, der_length, body);
}

void after_all(void) {
  EVP_PKEY_free(key);
  EVP_PKEY_free(rsa_key);
  free(der);
}
