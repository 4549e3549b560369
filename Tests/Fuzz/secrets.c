/*
 * Key and certificate files, whole, in parts and in other shapes, as content and instead of names.
 * The only condition: no message contains a byte of the private key. The first byte chooses where
 * the text is passed; each further byte appends to it or changes all of it.
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

/* This run's key, in the forms in which a message could contain it. */
static char pem[512], body[256], wrapped[1024], certificate[2048];
static unsigned char der[256];
static size_t der_length;

static void make_certificate(EVP_PKEY *key) {
  X509 *made = X509_new();
  X509_gmtime_adj(X509_getm_notBefore(made), 0);
  X509_gmtime_adj(X509_getm_notAfter(made), 86400);
  X509_set_pubkey(made, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                             (const unsigned char *)"provider", -1, -1, 0);
  REQUIRE(X509_sign(made, key, EVP_sha256()) > 0);
  BIO *bio = BIO_new(BIO_s_mem());
  REQUIRE(PEM_write_bio_X509(bio, made) == 1);
  REQUIRE(BIO_read(bio, certificate, sizeof certificate - 1) > 0);
  BIO_free(bio);
  X509_free(made);
}

static void make_key(void) {
  if (der_length) return;
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
  REQUIRE(EVP_PKEY_keygen_init(context) == 1 &&
          EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1 &&
          EVP_PKEY_keygen(context, &key) == 1);
  EVP_PKEY_CTX_free(context);
  make_certificate(key);
  PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
  unsigned char *end = der;
  der_length = (size_t)i2d_PKCS8_PRIV_KEY_INFO(info, &end);
  EVP_EncodeBlock((unsigned char *)body, der, (int)der_length);
  BIO *bio = BIO_new(BIO_s_mem());
  REQUIRE(PEM_write_bio_PKCS8_PRIV_KEY_INFO(bio, info) == 1);
  REQUIRE(BIO_read(bio, pem, sizeof pem - 1) > 0);
  EVP_EncodeBlock((unsigned char *)wrapped, (const unsigned char *)pem, (int)strlen(pem));
  BIO_free(bio);
  PKCS8_PRIV_KEY_INFO_free(info);
  EVP_PKEY_free(key);
}

/* ---- The text ------------------------------------------------------------ */

typedef struct text {
  unsigned char bytes[8192];
  size_t length;
} text_t;

static void add(text_t *text, const void *bytes, size_t length) {
  if (length > sizeof text->bytes - 1 - text->length)
    length = sizeof text->bytes - 1 - text->length;
  memcpy(text->bytes + text->length, bytes, length);
  text->length += length;
}

static void add_string(text_t *text, const char *string) { add(text, string, strlen(string)); }

/* Replaces each line break. */
static void break_lines(text_t *text, const char *line_end) {
  text_t before = *text;
  text->length = 0;
  for (size_t at = 0; at < before.length; at++) {
    if (before.bytes[at] == '\n')
      add_string(text, line_end);
    else
      add(text, before.bytes + at, 1);
  }
}

static void widen(text_t *text) {
  text_t before = *text;
  text->length = 0;
  for (size_t at = 0; at < before.length; at++) {
    add(text, before.bytes + at, 1);
    add(text, "", 1);
  }
}

static void encode(text_t *text) {
  static unsigned char made[2 * sizeof text->bytes];
  const int length = EVP_EncodeBlock(made, text->bytes, (int)text->length);
  text->length = 0;
  add(text, made, (size_t)length);
}

static void take(text_t *text, fuzz_input_t *input) {
  while (input->left > 0) {
    const uint8_t what = fuzz_take_byte(input);
    switch (what % 20) {
      case 0:
        add_string(text, pem);
        break;
      case 1:
        add_string(text, body);
        break;
      /* As long as a key: the body from a place in its first half. */
      case 2:
        add_string(text, body + fuzz_take_byte(input) % 64);
        break;
      case 3:
        add_string(text, "-----BEGIN PRIVATE KEY-----\n");
        break;
      case 4:
        add_string(text, "-----END PRIVATE KEY-----\n");
        break;
      case 5:
        add(text, der, der_length);
        break;
      case 6:
        add_string(text, certificate);
        break;
      case 7:
        add_string(text, "/etc/apns/AuthKey_");
        break;
      case 8:
        add_string(text, "\"");
        break;
      case 9:
        add_string(text, "{\"private_key\":\"");
        break;
      case 10:
        add_string(text, "=");
        break;
      case 11:
        break_lines(text, "\\n");
        break;
      case 12:
        break_lines(text, " ");
        break;
      case 13:
        break_lines(text, "");
        break;
      case 14:
        break_lines(text, "\r");
        break;
      case 15:
        encode(text);
        break;
      case 16:
        widen(text);
        break;
      case 17:
        add_string(text, "\n");
        break;
      /* Changes a byte of the text, or truncates it. */
      case 18:
        if (text->length) text->bytes[fuzz_take_byte(input) % text->length] = fuzz_take_byte(input);
        break;
      default:
        if (text->length > 160) text->length -= fuzz_take_byte(input) % 40;
        break;
    }
  }
  text->bytes[text->length] = 0;
}

/* ---- The messages ----------------------------------------------------------- */

static void check_parts(const char *message, const char *secret) {
  char part[9] = {0};
  for (size_t at = 0; at + 8 <= strlen(secret); at++) {
    memcpy(part, secret + at, 8);
    REQUIRE(strstr(message, part) == NULL);
  }
}

static void check_silent(const char *message) {
  check_parts(message, body);
  check_parts(message, wrapped);
  /* Bytes that are printed unchanged. */
  for (size_t at = 30; at + 4 <= der_length; at++) {
    if (memchr(der + at, 0, 4)) continue;
    char part[5] = {0};
    memcpy(part, der + at, 4);
    bool is_text = true;
    for (int i = 0; i < 4; i++) is_text = is_text && part[i] > 0x20 && part[i] < 0x7F;
    REQUIRE(!is_text || strstr(message, part) == NULL);
  }
}

static void check_credentials(const apns_credentials_options_t *options) {
  apns_credentials_t *credentials = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  const apns_status_t status = apns_credentials_new(options, &credentials, &error);
  fuzz_check_error(status, &error);
  check_silent(error.message);
  apns_credentials_free(credentials);
  REQUIRE(ERR_peek_error() == 0);
}

static int nowhere(const char *host, struct addrinfo **list, void *context) {
  (void)host, (void)list, (void)context;
  return -2; /* EAI_NONAME */
}

static void check_session(uint8_t where, const char *value) {
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_credentials_t *credentials = NULL;
  apns_session_t *session = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  who.dangerously_accept_any_peer = 1;
  REQUIRE(apns_credentials_new(&who, &credentials, &error) == APNS_OK);
  options.protocol = APNS_PROTOCOL_HTTP2;
  options.topic = "com.example.app";
  options.peer.host = "service.example";
  options.peer.lookup = nowhere;
  apns_tuning_t tuning = APNS_TUNING_INIT;
  options.tuning = &tuning;
  const char **const fields[] = {&options.peer.host,      &options.peer.server_name,
                                 &options.topic,          &options.peer.proxy,
                                 &options.peer.addresses, &tuning.retry_schedule};
  *fields[where % 6] = value;
  if (apns_session_new(&options, credentials, &session, &error) == APNS_OK &&
      !options.peer.addresses)
    apns_session_connect(session, &error);
  check_silent(error.message);
  apns_session_free(session);
  apns_credentials_free(credentials);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static text_t text;
  fuzz_input_t input = {data, size};
  make_key();
  const uint8_t where = fuzz_take_byte(&input);
  text.length = 0;
  take(&text, &input);
  const char *value = (const char *)text.bytes;

  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  options.dangerously_accept_any_peer = 1;
  const char **const names[] = {&options.certificate_file, &options.token_key_file,
                                &options.crl_file,         &options.crl_directory,
                                &options.key_file,         &options.key_id,
                                &options.team_id,          &options.token_cache_file};
  if (where & 0x80) {
    check_session(where & 0x7F, value);
  } else if (where & 0x40) {
    if ((where & 3) == 0)
      options.certificate_bytes = value, options.certificate_length = text.length;
    if ((where & 3) == 1) {
      options.certificate_bytes = certificate, options.certificate_length = strlen(certificate);
      options.key_bytes = value, options.key_length = text.length;
    }
    if ((where & 3) > 1) {
      options.token_key_bytes = value, options.token_key_length = text.length;
      options.key_id = "ABC123DEFG", options.team_id = "DEF123GHIJ";
    }
    check_credentials(&options);
  } else {
    if ((where & 7) > 3 && (where & 7) != 4) {
      options.token_key_bytes = pem, options.token_key_length = strlen(pem);
    }
    if ((where & 7) == 1 || (where & 7) > 4)
      options.key_id = "ABC123DEFG", options.team_id = "DEF123GHIJ";
    if ((where & 7) == 4)
      options.certificate_bytes = certificate, options.certificate_length = strlen(certificate);
    *names[where & 7] = value;
    check_credentials(&options);
  }
  return 0;
}
