/* Text given where a name belongs, such as a private key instead of its file, is in no message. */
#include <openssl/evp.h>
#include <stddef.h>
#include <stdio.h>

#include "keychain.h"
#include "provider.h"

static const identities_t *all;
static char pem[512], body[512];

/* The message contains no part of the value, wherever it cuts the value off. */
static void check_silent(const char *message, const char *value, const char *where) {
  const size_t least = 6, length = strlen(value);
  char part[8] = {0};
  for (size_t at = 0; at + least <= length; at++) {
    memcpy(part, value + at, least);
    /* The library's own words, and the blanks of a key's shape, do not count as parts of a key. */
    if (strpbrk(part, " \n\r\t\\-:{}\"'") || !strpbrk(part, "0123456789+/=")) continue;
    if (strstr(message, part)) fail_msg("%s: \"%s\" is in: %s", where, part, message);
  }
}

/* ---- The options -------------------------------------------------------- */

#define FIELD(name) \
  { #name, offsetof(apns_credentials_options_t, name) }
static const struct field {
  const char *name;
  size_t offset;
} names[] = {FIELD(certificate_file), FIELD(key_file),       FIELD(ca_file),
             FIELD(ca_directory),     FIELD(token_key_file), FIELD(key_id),
             FIELD(team_id),          FIELD(crl_file),       FIELD(crl_directory),
             FIELD(token_cache_file), FIELD(passphrase)};

static apns_credentials_options_t usual(void) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = all->provider.certificate_file;
  options.key_file = all->provider.key_file;
  options.token_key_bytes = pem;
  options.token_key_length = strlen(pem);
  options.key_id = "ABC123DEFG";
  options.team_id = "DEF123GHIJ";
  return options;
}

static apns_error_t given(const struct field *field, const char *value) {
  apns_credentials_options_t options = usual();
  if (strcmp(field->name, "token_key_file") == 0) options.token_key_bytes = NULL;
  *(const char **)((char *)&options + field->offset) = value;
  owned(credentials) credentials = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_new(&options, &credentials, &error);
  return error;
}

/* Each shape in which somebody may paste a key, `count` in turn. */
static const char *shape(size_t index) {
  static char text[8192];
  size_t at = 0;
  switch (index) {
    case 0:
      return pem;
    case 1:
      return body;
    case 2:
      for (const char *c = pem; *c; c++) {
        if (*c == '\n') text[at++] = '\\';
        text[at++] = *c == '\n' ? 'n' : *c;
      }
      break;
    case 3:
      for (const char *c = pem; *c; c++) text[at++] = *c == '\n' ? ' ' : *c;
      break;
    case 4:
      at = (size_t)sprintf(text, "----BEGIN PRIVATE KEY----\n%s\n", body);
      break;
    case 5:
      at = (size_t)sprintf(text, "%.64s", body + 40);
      break;
    case 6:
      at = (size_t)EVP_EncodeBlock((unsigned char *)text, (const unsigned char *)pem,
                                   (int)strlen(pem));
      break;
    case 7:
      at = (size_t)sprintf(text, "{\"private_key\":\"%s\"}", body);
      break;
    case 8:
      at = (size_t)sprintf(text, "\"%s\"", body);
      break;
    case 9:
      at = (size_t)sprintf(text, "%s\n", body);
      break;
    case 10: /* longer than a path */
      memset(text, 'x', 5000);
      at = 5000 + (size_t)sprintf(text + 5000, "%s", body);
      break;
    default:
      return NULL;
  }
  text[at] = 0;
  return text;
}

TEST(no_option_tells_a_key) {
  for (size_t field = 0; field < sizeof names / sizeof *names; field++) {
    const char *value;
    for (size_t index = 0; (value = shape(index)); index++) {
      apns_error_t error = given(names + field, value);
      check_silent(error.message, value, names[field].name);
    }
  }
  const char *value;
  for (size_t index = 0; (value = shape(index)); index++) {
    apns_credentials_options_t options = usual();
    options.pinned_keys = &value;
    options.pinned_key_count = 1;
    apns_error_t error = check_refused(&options, APNS_ERR_ARGUMENT, "pinned_keys[0]", "not shown");
    check_silent(error.message, value, "pinned_keys");
  }
}

TEST(the_message_says_where_text_goes) {
  static const struct {
    const char *field, *words;
  } told[] = {
      {"token_key_file",
       " bytes, not shown: PEM) is text, not the name of a file: text goes into token_key, in C "
       "token_key_bytes"},
      {"certificate_file", "text goes into certificate, in C certificate_bytes"},
      {"key_file", "text goes into key, in C key_bytes"},
      {"crl_file", "crl file ("},
      {"ca_file", "ca_file ("},
  };
  for (size_t index = 0; index < sizeof told / sizeof *told; index++)
    for (size_t field = 0; field < sizeof names / sizeof *names; field++)
      if (strcmp(names[field].name, told[index].field) == 0) {
        apns_error_t error = given(names + field, pem);
        assert_contains(error.message, told[index].words);
        assert_int_equal(error.cause, APNS_CAUSE_FILE_UNREADABLE);
      }
}

/* ---- Sessions ----------------------------------------------------------- */

static void check_session(const apns_session_options_t *options, const char *value,
                          const char *where) {
  owned(credentials) credentials = provider_credentials();
  owned(session) session = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  if (apns_session_new(options, credentials, &session, &error) == APNS_OK)
    apns_session_connect(session, &error);
  check_silent(error.message, value, where);
}

static int nowhere(const char *host, struct addrinfo **list, void *context) {
  (void)host, (void)list, (void)context;
  return -2; /* EAI_NONAME */
}

TEST(no_session_tells_a_key) {
  const char *value;
  for (size_t index = 0; (value = shape(index)); index++) {
    apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
    options.protocol = APNS_PROTOCOL_HTTP2;
    options.topic = "com.example.app";
    options.peer.host = value;
    options.peer.lookup = nowhere;
    check_session(&options, value, "host");
    options.peer.host = "127.0.0.1";
    options.peer.port = 1;
    options.peer.server_name = value;
    check_session(&options, value, "server_name");
    options.peer.server_name = NULL;
    options.peer.addresses = value;
    check_session(&options, value, "addresses");
    options.peer.addresses = NULL;
    options.topic = value;
    check_session(&options, value, "topic");
    options.topic = "com.example.app";
    options.peer.proxy = value;
    check_session(&options, value, "proxy");
    owned(text) url = malloc(strlen(value) + 30);
    sprintf(url, "http://user:%s@127.0.0.1:1", value);
    options.peer.proxy = url;
    check_session(&options, value, "proxy");
    options.peer.proxy = NULL;
    tuning_of(&options)->retry_schedule = value;
    check_session(&options, value, "retry_schedule");
  }
}

TEST(no_other_call_tells_a_key) {
  const char *value;
  for (size_t index = 0; (value = shape(index)); index++) {
    apns_error_t error = APNS_ERROR_INIT;
    apns_strings_t *strings = NULL;
    assert_int_not_equal(apns_strings_open(value, &strings, &error), APNS_OK);
    check_silent(error.message, value, "strings");
    uint8_t token[100];
    size_t length;
    apns_token_from_hex(value, strlen(value), token, sizeof token, &length, &error);
    check_silent(error.message, value, "token");
    apns_payload_finding_t findings[8];
    for (size_t finding = 0; finding < 8; finding++)
      findings[finding] = (apns_payload_finding_t)APNS_PAYLOAD_FINDING_INIT;
    size_t count = 0;
    apns_payload_check(value, strlen(value), 4096, findings, 8, &count, &error);
    check_silent(error.message, value, "payload");
    for (size_t finding = 0; finding < count && finding < 8; finding++)
      check_silent(findings[finding].message, value, "finding");
  }
}

/* ---- What is still quoted ------------------------------------------------ */

TEST(names_are_quoted) {
  static const char *const paths[] = {
      "/etc/apns/AuthKey_ABC123DEFG.p8",
      "/Users/Anna/Library/Application Support/Example2024/PushCertificates/Provider.pem",
      "/var/lib/docker/overlay2/3f2a9c0de4b1578e6a0c9d2b7f4e1a3c5d8b6f0e2a4c7d9b1e3f5a7c9d0b2e4f/"
      "x.p8",
      "/run/secrets/3F2504E0-4F89-11D3-9A0C-0305E82C3301/key.p8",
      "Certificats/Société Générale/clé privée.p8",
      "/opt/ca-certificates/mozilla/D-TRUST_Root_Class_3_CA_2_EV_2009.crt",
  };
  for (size_t path = 0; path < sizeof paths / sizeof *paths; path++) {
    char expected[256];
    snprintf(expected, sizeof expected, "token_key file %s: No such file", paths[path]);
    apns_error_t error = given(&(struct field)FIELD(token_key_file), paths[path]);
    assert_contains(error.message, expected);
    assert_int_equal(error.sys_errno, 2);
  }
}

/* A proxy as environments have it. */
TEST(a_password_in_a_url_is_not_quoted) {
  static const char *const urls[] = {"http://user:sesame@proxy.example:3128",
                                     "user:sesame@proxy.example"};
  for (size_t url = 0; url < 2; url++) {
    apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
    options.protocol = APNS_PROTOCOL_BINARY;
    owned(credentials) credentials = provider_credentials();
    apns_session_t *session = NULL;
    options.peer.host = urls[url];
    assert_invalid(apns_session_new(&options, credentials, &session, &error),
                   "host is not a name: (");
    assert_contains(error.message, " bytes, not shown: perhaps a password)");
  }
  assert_null(apns_why_unquoted("https://proxy.example:3128/a@b", 30));
  assert_null(apns_why_unquoted("user@proxy.example:3128", 23));
}

/* The hash of a public key reveals nothing of a private one, and users need it. */
TEST(pins_are_quoted) {
  assert_null(apns_why_unquoted("sha256//Wec45nQiFwKvHtuHxSAMGkt19k+uPSw9JlEkxhvYPHk=", 52));
  assert_string_equal(apns_why_unquoted("Wec45nQiFwKvHtuHxSAMGkt19k+uPSw9JlEkxhvYPHk=", 44),
                      "perhaps a key");
  assert_string_equal(apns_why_unquoted("-----BEGIN", 10), "PEM");
  assert_string_equal(apns_why_unquoted("a\nb", 3), "line breaks or the like");
  assert_null(apns_why_unquoted(NULL, 0));
  assert_null(apns_why_unquoted("key.p8", 6));
}

void before_all(void) {
  all = identities_make();
  owned(key) key = keychain_key(false);
  size_t length;
  owned(bytes) bytes = keychain_key_bytes(key, &(key_form_t){0}, &length);
  memcpy(pem, bytes, length);
  free(bytes);
  bytes = keychain_key_bytes(key, &(key_form_t){.is_der = true}, &length);
  EVP_EncodeBlock((unsigned char *)body, bytes, (int)length);
}
