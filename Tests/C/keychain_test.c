/* The files of Keychain and OpenSSL: PKCS#12, keys in every form, and their certificates'
   contents. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
#include <openssl/provider.h>
#endif

#include "keychain.h"
#include "provider.h"

static const identities_t *all;
static EVP_PKEY *ec_key, *rsa_key;
static X509 *ec_certificate, *rsa_certificate;

#define RC2_40 NID_pbe_WithSHA1And40BitRC2_CBC
#define TRIPLE_DES NID_pbe_WithSHA1And3_Key_TripleDES_CBC

static void check_loads(const apns_credentials_options_t *options) {
  apns_credentials_free(credentials_of(options));
}

/* As old Keychains exported: the certificates in RC2, the key in 3DES. */
static pkcs12_t old_export(void) {
  return (pkcs12_t){.key = rsa_key,
                    .certificate = rsa_certificate,
                    .passphrase = "open sesame",
                    .key_cipher = TRIPLE_DES,
                    .certificate_cipher = RC2_40};
}

/* Bytes of a test, which are freed behind it. */
static void *kept[64];
static size_t kept_count;

static const void *keep(void *bytes) {
  assert_true(kept_count < sizeof kept / sizeof *kept);
  return kept[kept_count++] = bytes;
}

void after_each(void) {
  while (kept_count > 0) free(kept[--kept_count]);
}

/* Trusts the root and has this file in memory. */
static apns_credentials_options_t with_pkcs12(const pkcs12_t *traits, const char *passphrase) {
  apns_credentials_options_t options = trusting();
  options.passphrase = passphrase;
  options.certificate_bytes = keep(keychain_pkcs12(traits, &options.certificate_length));
  return options;
}

/* Writes the certificate to a file of that name instead. */
static void move_to_file(apns_credentials_options_t *options, const char *name) {
  options->certificate_file =
      identities_write(name, options->certificate_bytes, options->certificate_length);
  options->certificate_bytes = NULL;
  options->certificate_length = 0;
}

/* Has these in memory instead of what was there. */
static void have(apns_credentials_options_t *options, X509 *certificate, EVP_PKEY *key,
                 const key_form_t *form) {
  options->certificate_bytes =
      keep(keychain_certificate_bytes(certificate, form->is_der, &options->certificate_length));
  options->key_bytes = keep(keychain_key_bytes(key, form, &options->key_length));
}

/* ---- PKCS#12 ------------------------------------------------------------ */

TEST(every_cipher_from_file_and_memory) {
  static const struct {
    int key, certificate;
  } ciphers[] = {
      {TRIPLE_DES, RC2_40},
      {TRIPLE_DES, TRIPLE_DES},
      {RC2_40, RC2_40},
      {NID_pbe_WithSHA1And128BitRC2_CBC, TRIPLE_DES},
      {NID_aes_256_cbc, NID_aes_256_cbc},
      {-1, -1},
      {TRIPLE_DES, -1},
  };
  for (size_t index = 0; index < sizeof ciphers / sizeof *ciphers; index++) {
    pkcs12_t traits = old_export();
    traits.key_cipher = ciphers[index].key;
    traits.certificate_cipher = ciphers[index].certificate;
    if (index % 2) traits.key = ec_key, traits.certificate = ec_certificate;
    apns_credentials_options_t options = with_pkcs12(&traits, "open sesame");
    check_works(&options, 0);
    move_to_file(&options, "provider.p12");
    check_works(&options, 0);
  }
}

TEST(the_program_s_openssl_stays_as_it_was) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
  pkcs12_t traits = old_export();
  assert_false(OSSL_PROVIDER_available(NULL, "legacy"));
  const apns_credentials_options_t options = with_pkcs12(&traits, "open sesame");
  owned(credentials) credentials = credentials_of(&options);
  assert_false(OSSL_PROVIDER_available(NULL, "legacy"));
  assert_true(OSSL_PROVIDER_available(NULL, "default"));
  assert_null(EVP_CIPHER_fetch(NULL, "RC2-40-CBC", NULL));
  ERR_clear_error();
  EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "AES-128-CBC", NULL);
  assert_non_null(cipher);
  EVP_CIPHER_free(cipher);
#endif
}

#if OPENSSL_VERSION_NUMBER >= 0x30000000L
static int loads_without_the_provider(void *argument) {
  FORGET_ERROR();
  CHILD_REQUIRE(setenv("OPENSSL_MODULES", "/nonexistent", 1) == 0);
  owned(credentials) credentials = NULL;
  CHILD_REQUIRE(apns_credentials_new(argument, &credentials, &error) == APNS_ERR_CREDENTIALS);
  CHILD_REQUIRE(strstr(error.message, "RC2 or DES"));
  CHILD_REQUIRE(strstr(error.message, "legacy provider; it is not installed"));
  CHILD_REQUIRE(error.cause == APNS_CAUSE_LEGACY_PROVIDER);
  /* Files without old ciphers do not need the module. */
  apns_credentials_options_t options = trusting();
  options.certificate_file = all->provider.together_file;
  CHILD_REQUIRE(apns_credentials_new(&options, &credentials, &error) == APNS_OK);
  return 0;
}

TEST(a_missing_provider_is_named) {
  pkcs12_t traits = old_export();
  apns_credentials_options_t options = with_pkcs12(&traits, "open sesame");
  assert_child_is_fine(loads_without_the_provider, &options);
  /* The same for a key that OpenSSL 0.9 encrypted. */
  const key_form_t form = {.cipher = NID_pbeWithMD5AndDES_CBC, .passphrase = "open sesame"};
  have(&options, rsa_certificate, rsa_key, &form);
  assert_child_is_fine(loads_without_the_provider, &options);
}
#endif

TEST(the_chain_comes_along) {
  pkcs12_t traits = old_export();
  traits.key = all->provider_in_chain.key;
  traits.certificate = all->provider_in_chain.certificate;
  traits.chain = all->intermediate.certificate;
  apns_credentials_options_t options = with_pkcs12(&traits, "open sesame");
  check_works(&options, 2);
}

TEST(no_passphrase_and_an_empty_one) {
  const char *const passphrases[] = {NULL, ""};
  for (size_t index = 0; index < 4; index++) {
    pkcs12_t traits = old_export();
    traits.passphrase = passphrases[index % 2];
    if (index >= 2) traits.key_cipher = traits.certificate_cipher = TRIPLE_DES;
    apns_credentials_options_t options = with_pkcs12(&traits, NULL);
    check_loads(&options);
    options.passphrase = "";
    check_loads(&options);
    /* As with a key without a passphrase, it does no harm. */
    options.passphrase = "open sesame";
    check_loads(&options);
  }
}

TEST(without_a_checksum) {
  pkcs12_t traits = old_export();
  traits.without_checksum = true;
  apns_credentials_options_t options = with_pkcs12(&traits, "open sesame");
  check_refused(&options, APNS_ERR_CREDENTIALS, "certificate in memory", "without a checksum");
}

TEST(a_passphrase_beyond_ascii) {
  pkcs12_t traits = old_export();
  traits.passphrase =
      "S\xC3\xA9same, \xC3\xB6"
      "ffne dich";
  apns_credentials_options_t options = with_pkcs12(&traits, traits.passphrase);
  check_loads(&options);
}

TEST(pkcs12_that_cannot_be_opened) {
  pkcs12_t traits = old_export();
  apns_credentials_options_t options = with_pkcs12(&traits, NULL);
  move_to_file(&options, "sesame.p12");
  check_refused(&options, APNS_ERR_CREDENTIALS, "sesame.p12", "PKCS#12 that needs a passphrase");
  options.passphrase = "open barley";
  apns_error_t error = check_refused(&options, APNS_ERR_CREDENTIALS, "sesame.p12",
                                     "PKCS#12 that the passphrase does not open");
  assert_null(strstr(error.message, "barley"));
  char endless[3000];
  memset(endless, 'x', sizeof endless - 1);
  endless[sizeof endless - 1] = 0;
  options.passphrase = endless;
  check_refused(&options, APNS_ERR_CREDENTIALS, "sesame.p12", "passphrase does not open");

  traits.key = NULL;
  options = with_pkcs12(&traits, "open sesame");
  move_to_file(&options, "keyless.p12");
  check_refused(&options, APNS_ERR_CREDENTIALS, "keyless.p12", "without a private key");
  traits = old_export();
  traits.certificate = NULL;
  options = with_pkcs12(&traits, "open sesame");
  move_to_file(&options, "bare.p12");
  check_refused(&options, APNS_ERR_CREDENTIALS, "bare.p12", "without a certificate");
}

/* Cut and changed at many places: an error each time, unless nothing reads that place. */
TEST(pkcs12_that_is_broken) {
  pkcs12_t traits = old_export();
  traits.key_cipher = traits.certificate_cipher = TRIPLE_DES;
  size_t length;
  owned(bytes) bytes = keychain_pkcs12(&traits, &length);
  apns_credentials_options_t options = trusting();
  options.passphrase = "open sesame";
  const size_t step = as_many_as(7, 97);
  for (size_t cut = 1; cut < length; cut += step) {
    owned(bytes) exact = malloc(cut);
    memcpy(exact, bytes, cut);
    options.certificate_bytes = exact;
    options.certificate_length = cut;
    check_refused(&options, APNS_ERR_CREDENTIALS, "certificate in memory");
  }
  size_t fine = 0, bent = 0;
  for (size_t at = 0; at < length; at += step) {
    bent++;
    bytes[at] ^= 0x41;
    options.certificate_bytes = bytes;
    options.certificate_length = length;
    owned(credentials) credentials = NULL;
    fine += apns_credentials_new(&options, &credentials, NULL) == APNS_OK;
    bytes[at] ^= 0x41;
  }
  assert_true(fine * 20 < bent); /* the checksum covers all but its own description */
  check_loads(&options);
}

/* ---- Keys in every form ------------------------------------------------- */

TEST(keys_in_every_form) {
  static const key_form_t forms[] = {
      {.is_traditional = false},
      {.is_traditional = true},
      {.is_der = true},
      {.is_der = true, .is_traditional = true},
      {.is_traditional = true, .cipher = NID_des_ede3_cbc, .passphrase = "open sesame"},
      {.is_traditional = true, .cipher = NID_aes_256_cbc, .passphrase = "open sesame"},
      {.cipher = NID_aes_256_cbc, .passphrase = "open sesame"},
      {.cipher = NID_des_ede3_cbc, .passphrase = "open sesame"},
      {.cipher = TRIPLE_DES, .passphrase = "open sesame"},
      {.cipher = NID_pbeWithMD5AndDES_CBC, .passphrase = "open sesame"},
      {.cipher = RC2_40, .passphrase = "open sesame"},
      {.cipher = NID_aes_256_cbc, .passphrase = "open sesame", .is_der = true},
      {.cipher = NID_pbeWithMD5AndDES_CBC, .passphrase = "open sesame", .is_der = true},
  };
  for (size_t index = 0; index < 2 * sizeof forms / sizeof *forms; index++) {
    const key_form_t *form = &forms[index / 2];
    const bool is_rsa = index % 2;
    apns_credentials_options_t options = trusting();
    have(&options, is_rsa ? rsa_certificate : ec_certificate, is_rsa ? rsa_key : ec_key, form);
    if (form->passphrase) {
      check_refused(&options, APNS_ERR_CREDENTIALS, "key in memory", "needs a passphrase");
      options.passphrase = "open barley";
      check_refused(&options, APNS_ERR_CREDENTIALS, "key in memory", "passphrase does not open");
    }
    options.passphrase = form->passphrase;
    check_works(&options, 0);
  }
}

/* The key's certificate is the provider's, in any order of the blocks. */
TEST(blocks_in_any_order) {
  const key_form_t plain = {0};
  size_t lengths[3];
  uint8_t *const blocks[3] = {
      keychain_key_bytes(all->provider_in_chain.key, &plain, &lengths[0]),
      keychain_certificate_bytes(all->provider_in_chain.certificate, false, &lengths[1]),
      keychain_certificate_bytes(all->intermediate.certificate, false, &lengths[2]),
  };
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (size_t index = 0; index < 6; index++) {
    char text[10000];
    size_t length = 0;
    for (size_t place = 0; place < 3; place++) {
      const int block = orders[index][place];
      memcpy(text + length, blocks[block], lengths[block]);
      length += lengths[block];
      length += (size_t)sprintf(text + length, "\nBag Attributes: <No Attributes>\n");
    }
    apns_credentials_options_t options = trusting();
    options.certificate_bytes = text;
    options.certificate_length = length;
    check_works(&options, 2);
    owned(credentials) credentials = credentials_of(&options);
    apns_credentials_description_t said = APNS_CREDENTIALS_DESCRIPTION_INIT;
    assert_ok(apns_credentials_describe(credentials, &said, NULL));
    assert_string_equal(said.subject, "CN=chained-provider");
    assert_int_equal(said.chain_length, 2);
  }
  for (size_t block = 0; block < 3; block++) free(blocks[block]);
}

TEST(a_key_of_another_names_the_certificate) {
  apns_credentials_options_t options = trusting();
  have(&options, ec_certificate, rsa_key, &(key_form_t){0});
  check_refused(&options, APNS_ERR_CREDENTIALS, "key in memory", "does not match the certificate");
  options.key_bytes = NULL;
  options.key_length = 0;
  options.key_file = all->gateway.key_file;
  check_refused(&options, APNS_ERR_CREDENTIALS, all->gateway.key_file,
                "holds a key that does not match the certificate",
                "CN=Apple Push Services: example");
  /* In DER there is room for one of them. */
  have(&options, ec_certificate, ec_key, &(key_form_t){.is_der = true});
  options.key_bytes = NULL;
  options.key_length = 0;
  options.key_file = NULL;
  check_refused(&options, APNS_ERR_CREDENTIALS, "certificate in memory", "private key");
}

/* ---- Passphrases by callback -------------------------------------------- */

typedef struct asked {
  int calls;
  char file[PATH_MAX];
  size_t capacity;
  const char *answer; /* NULL: none */
  int length;         /* the callback's result */
} asked_t;

static int answer(const char *file, char *buffer, size_t capacity, void *context) {
  asked_t *asked = context;
  asked->calls++;
  strcpy(asked->file, file ? file : "(memory)");
  asked->capacity = capacity;
  if (!asked->answer) return -1;
  const size_t length = asked->length < 0 ? 0 : (size_t)asked->length;
  memcpy(buffer, asked->answer, length < capacity ? length : capacity);
  return asked->length;
}

TEST(a_callback_is_asked_once) {
  pkcs12_t traits = old_export();
  asked_t asked = {.answer = "open sesame", .length = 11};
  apns_credentials_options_t options = with_pkcs12(&traits, NULL);
  options.passphrase_callback = answer;
  options.passphrase_context = &asked;
  check_loads(&options); /* RC2: read twice, one passphrase request */
  assert_int_equal(asked.calls, 1);
  assert_string_equal(asked.file, "(memory)");
  move_to_file(&options, "asked.p12");
  check_loads(&options);
  assert_int_equal(asked.calls, 2);
  assert_string_equal(asked.file, options.certificate_file);
  assert_int_equal(asked.capacity, 1024);

  /* A PEM key, and one whose cipher is old. */
  const int ciphers[] = {NID_aes_256_cbc, NID_pbeWithMD5AndDES_CBC};
  options.certificate_file = NULL;
  for (size_t index = 0; index < 2; index++) {
    const key_form_t form = {.cipher = ciphers[index], .passphrase = "open sesame"};
    have(&options, rsa_certificate, rsa_key, &form);
    options.key_file = identities_write("asked.key", options.key_bytes, options.key_length);
    options.key_bytes = NULL;
    options.key_length = 0;
    asked.calls = 0;
    check_loads(&options);
    assert_int_equal(asked.calls, 1);
    assert_string_equal(asked.file, options.key_file);
  }
}

TEST(a_callback_is_not_asked_in_vain) {
  asked_t asked = {.answer = "open sesame", .length = 11};
  pkcs12_t traits = old_export();
  traits.passphrase = "";
  apns_credentials_options_t options[] = {with_pkcs12(&traits, NULL), trusting()};
  options[1].certificate_file = all->provider.together_file;
  for (size_t index = 0; index < 2; index++) {
    options[index].passphrase_callback = answer;
    options[index].passphrase_context = &asked;
    check_loads(&options[index]);
  }
  assert_int_equal(asked.calls, 0);
}

TEST(answers_that_open_nothing) {
  static char endless[2000];
  memset(endless, 'x', sizeof endless);
  pkcs12_t traits = old_export();
  const key_form_t form = {.cipher = NID_aes_256_cbc, .passphrase = "open sesame"};
  size_t length;
  const void *key = keep(keychain_key_bytes(rsa_key, &form, &length));
  char file[PATH_MAX], key_file[PATH_MAX];
  strcpy(key_file, identities_write("unopened.key", key, length));
  const void *bytes = keep(keychain_pkcs12(&traits, &length));
  strcpy(file, identities_write("unopened.p12", bytes, length));
  const struct {
    asked_t asked;
    const char *said;
  } cases[] = {
      {{.answer = NULL}, "needs a passphrase"},
      {{.answer = "", .length = -7}, "needs a passphrase"},
      {{.answer = "open barley", .length = 11}, "the passphrase does not open"},
      {{.answer = endless, .length = 1024}, "the passphrase does not open"},
      {{.answer = endless, .length = 1025}, "needs a passphrase"},
      {{.answer = endless, .length = INT_MAX}, "needs a passphrase"},
      {{.answer = "open\0sesame", .length = 11}, "needs a passphrase"},
      {{.answer = "", .length = 0}, "the passphrase does not open"},
  };
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    asked_t asked = cases[index].asked;
    apns_credentials_options_t options = trusting();
    options.passphrase_callback = answer;
    options.passphrase_context = &asked;
    options.certificate_file = file;
    check_refused(&options, APNS_ERR_CREDENTIALS, file, cases[index].said);
    assert_int_equal(asked.calls, 1);
    options.certificate_file = all->provider.certificate_file;
    options.key_file = key_file;
    check_refused(&options, APNS_ERR_CREDENTIALS, key_file, cases[index].said);
    assert_int_equal(asked.calls, 2);
  }
  asked_t asked = {.answer = "open sesame", .length = 11};
  apns_credentials_options_t options = trusting();
  options.certificate_file = file;
  options.passphrase_callback = answer;
  options.passphrase_context = &asked;
  options.passphrase = "open sesame";
  check_refused(&options, APNS_ERR_ARGUMENT, "both a passphrase and a callback");
}

/* ---- Wiping ------------------------------------------------------------- */

/* A passphrase that stands nowhere in the program as it is. */
static const unsigned char veiled[24] = {0x31, 0x0c, 0x2f, 0x0a, 0x39, 0x3f, 0x2d, 0x30,
                                         0x1d, 0x28, 0x3b, 0x14, 0x36, 0x0b, 0x22, 0x35,
                                         0x0e, 0x13, 0x2c, 0x3d, 0x29, 0x0f, 0x16, 0x33};
#define VEIL 0x5A

static int unveil(const char *file, char *buffer, size_t capacity, void *context) {
  (void)file, (void)capacity, (void)context;
  for (size_t index = 0; index < sizeof veiled; index++)
    buffer[index] = (char)(veiled[index] ^ VEIL);
  return sizeof veiled;
}

/* How often it stands in the memory that the process may write. */
static size_t found_in_memory(void) {
  size_t found = 0;
  FILE *maps = fopen("/proc/self/maps", "r");
  int memory = open("/proc/self/mem", O_RDONLY);
  assert_true(maps && memory >= 0);
  static uint8_t page[1 << 16];
  char line[1000], rights[5];
  unsigned long from, to;
  while (fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3) continue;
    if (rights[0] != 'r' || rights[1] != 'w' || to - from > 1ul << 30) continue;
    /* Overlapping, so that it is not cut in two. */
    for (unsigned long at = from; at < to; at += sizeof page - sizeof veiled) {
      ssize_t count = pread(memory, page, to - at < sizeof page ? to - at : sizeof page, (off_t)at);
      for (ssize_t start = 0; start + (ssize_t)sizeof veiled <= count; start++) {
        size_t same = 0;
        while (same < sizeof veiled && page[start + (ssize_t)same] == (veiled[same] ^ VEIL)) same++;
        found += same == sizeof veiled;
      }
    }
  }
  memset(page, 0, sizeof page);
  fclose(maps);
  close(memory);
  return found;
}

TEST(a_passphrase_is_wiped) {
  if (!as_many_as(1, 0)) skip(); /* valgrind's own memory is among it, and large */
  char passphrase[sizeof veiled + 1] = {0};
  unveil(NULL, passphrase, sizeof passphrase, NULL);
  pkcs12_t traits = old_export();
  traits.passphrase = passphrase;
  size_t length;
  owned(bytes) bytes = keychain_pkcs12(&traits, &length);
  const key_form_t form = {.cipher = NID_aes_256_cbc, .passphrase = passphrase};
  size_t key_length;
  owned(bytes) key = keychain_key_bytes(rsa_key, &form, &key_length);
  assert_true(found_in_memory() > 0); /* it would be seen */
  OPENSSL_cleanse(passphrase, sizeof passphrase);
  const size_t before = found_in_memory(); /* copies left by making the files */
  apns_credentials_options_t options = trusting();
  options.passphrase_callback = unveil;
  options.certificate_bytes = bytes;
  options.certificate_length = length;
  check_loads(&options);
  owned(bytes) certificate =
      keychain_certificate_bytes(rsa_certificate, false, &options.certificate_length);
  options.certificate_bytes = certificate;
  options.key_bytes = key;
  options.key_length = key_length;
  check_loads(&options);
  assert_true(found_in_memory() <= before);
}

/* ---- Time --------------------------------------------------------------- */

TEST(a_certificate_out_of_its_time) {
  const int64_t day = 24 * 60 * 60, now = time(NULL);
  const struct {
    int64_t from, to;
    const char *said;
  } times[] = {{now - 3 * day, now - day, "has expired"},
               {now + day, now + 3 * day, "is not yet valid"}};
  for (size_t index = 0; index < 2; index++) {
    const push_certificate_t traits = {
        /* An override, an isolate and a control of C1 in it. */
        .name = "out-of-time \xE2\x80\xAE\xE2\x81\xA7\xC2\x9B \xC3\xA4",
        .not_before = times[index].from,
        .not_after = times[index].to};
    owned(certificate) certificate = keychain_certificate(&traits, rsa_key);
    pkcs12_t file = old_export();
    file.certificate = certificate;
    apns_credentials_options_t options = with_pkcs12(&file, "open sesame");
    move_to_file(&options, "out-of-time.p12");
    check_refused(&options, APNS_ERR_CREDENTIALS, "out-of-time.p12", times[index].said,
                  "CN=out-of-time ??? \xC3\xA4)");
    options.accept_expired = 1;
    check_loads(&options);
  }
}

/* ---- Its contents ------------------------------------------------------- */

static apns_credentials_t *described(X509 *certificate, EVP_PKEY *key,
                                     apns_credentials_description_t *said) {
  apns_credentials_options_t options = trusting();
  have(&options, certificate, key, &(key_form_t){0});
  apns_credentials_t *credentials = credentials_of(&options);
  after_each(); /* They keep nothing of the bytes. */
  *said = (apns_credentials_description_t)APNS_CREDENTIALS_DESCRIPTION_INIT;
  assert_ok(apns_credentials_describe(credentials, said, &error));
  return credentials;
}

TEST(what_a_certificate_says) {
  static const char *const topics[] = {"com.example.app", "com.example.app.voip",
                                       "com.example.app.complication", NULL};
  const int64_t now = time(NULL);
  const push_certificate_t traits = {.name = "Apple Push Services: M\xC3\xBCller, Caf\xC3\xA9",
                                     .user_id = "com.example.app",
                                     .topics = topics,
                                     .for_sandbox = true,
                                     .for_production = true,
                                     .not_before = now - 12345,
                                     .not_after = now + 54321};
  owned(certificate) certificate = keychain_certificate(&traits, ec_key);
  apns_credentials_description_t said;
  owned(credentials) credentials = described(certificate, ec_key, &said);
  assert_string_equal(said.subject,
                      "CN=Apple Push Services: M\xC3\xBCller\\, Caf\xC3\xA9,UID=com.example.app");
  assert_int_equal(said.topic_count, 3);
  for (size_t index = 0; index < 3; index++) assert_string_equal(said.topics[index], topics[index]);
  assert_null(said.topics[3]);
  assert_int_equal(said.not_before, now - 12345);
  assert_int_equal(said.not_after, now + 54321);
  assert_int_equal(said.environments,
                   1 << APNS_ENVIRONMENT_SANDBOX | 1 << APNS_ENVIRONMENT_PRODUCTION);
  assert_int_equal(said.chain_length, 1);
}

TEST(certificates_that_say_less) {
  apns_credentials_description_t said;
  push_certificate_t traits = {.name = "sandbox", .user_id = "com.example", .for_sandbox = true};
  X509 *certificate = keychain_certificate(&traits, ec_key);
  owned(credentials) credentials = described(certificate, ec_key, &said);
  assert_int_equal(said.environments, 1 << APNS_ENVIRONMENT_SANDBOX);
  assert_int_equal(said.topic_count, 1);
  assert_string_equal(said.topics[0], "com.example");
  assert_null(said.topics[1]);
  apns_credentials_free(credentials);
  X509_free(certificate);

  /* A time before 1970 and one after 2050, where ASN.1 writes the year in another form. */
  traits = (push_certificate_t){.name = "production",
                                .for_production = true,
                                .not_before = -86400 * 365,
                                .not_after = 4102444800};
  certificate = keychain_certificate(&traits, ec_key);
  credentials = described(certificate, ec_key, &said);
  assert_string_equal(said.subject, "CN=production");
  assert_int_equal(said.environments, 1 << APNS_ENVIRONMENT_PRODUCTION);
  assert_int_equal(said.topic_count, 0);
  assert_non_null(said.topics);
  assert_null(said.topics[0]);
  assert_int_equal(said.not_before, -86400 * 365);
  assert_int_equal(said.not_after, 4102444800);
  apns_credentials_free(credentials);
  X509_free(certificate);

  memset(&said, 0x5A, sizeof said);
  said.size = sizeof said;
  assert_ok(apns_credentials_new(NULL, &credentials, &error));
  assert_ok(apns_credentials_describe(credentials, &said, &error));
  assert_null(said.subject);
  assert_null(said.topics);
  assert_int_equal(said.topic_count, 0);
  assert_int_equal(said.not_after, 0);
  assert_int_equal(said.environments, 0);
  assert_int_equal(said.chain_length, 0);
}

/* Apple's extension with other contents: entries that are not topics are skipped. */
TEST(topics_that_are_none) {
  static const struct {
    const char *bytes;
    size_t length, topics;
  } extensions[] = {
      {"", 0, 1},
      {"\x05\x00", 2, 1},
      {"\x30\x00", 2, 1},
      {"\x30\x80", 2, 1},
      {"\x30\x05\x0C\x7F"
       "abc",
       7, 1},
      {"\x30\x03\x0C\x01"
       "a",
       5, 2},
      {"\x30\x03\x13\x01"
       "a",
       5, 2},
      {"\x30\x03\x16\x01"
       "a",
       5, 2},
      {"\x30\x03\x04\x01"
       "a",
       5, 1},
      {"\x30\x02\x0C\x00", 4, 1},
      {"\x30\x05\x0C\x03"
       "a\0b",
       7, 1},
      {"\x30\x06\x0C\x01"
       "a\x0C\x01"
       "a",
       8, 2},
      {"\x30\x06\x0C\x01"
       "a\x0C\x01"
       "b",
       8, 3},
      {"\x30\x0B\x0C\x09"
       "com.first",
       13, 1},
  };
  for (size_t index = 0; index < sizeof extensions / sizeof *extensions; index++) {
    const push_certificate_t traits = {.name = "odd", .user_id = "com.first"};
    owned(certificate) certificate = keychain_certificate(&traits, ec_key);
    keychain_extend(certificate, "1.2.840.113635.100.6.3.6", extensions[index].bytes,
                    extensions[index].length);
    apns_credentials_description_t said;
    owned(credentials) credentials = described(certificate, ec_key, &said);
    assert_int_equal(said.topic_count, extensions[index].topics);
    assert_string_equal(said.topics[0], "com.first");
    if (said.topic_count > 1) assert_string_equal(said.topics[1], "a");
    if (said.topic_count > 2) assert_string_equal(said.topics[2], "b");
  }
}

TEST(descriptions_of_other_programs) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = all->provider.together_file;
  owned(credentials) credentials = credentials_of(&options);
  apns_credentials_description_t said = {0};
  assert_invalid(apns_credentials_describe(credentials, &said, &error),
                 "apns_credentials_description_t.size is 0");
  memset(&said, 0x5A, sizeof said);
  const apns_credentials_description_t before = said;
  said.size = offsetof(apns_credentials_description_t, team_id);
  assert_invalid(apns_credentials_describe(credentials, &said, &error),
                 "apns_credentials_description_t.size is 64");
  said.size = before.size;
  assert_memory_equal(&said, &before, sizeof said);
  said = (apns_credentials_description_t)APNS_CREDENTIALS_DESCRIPTION_INIT;
  assert_invalid(apns_credentials_describe(NULL, &said, &error), "credentials is NULL");
  assert_invalid(apns_credentials_describe(credentials, NULL, &error), "description_out is NULL");
}

void after_all(void) {
  X509_free(ec_certificate);
  X509_free(rsa_certificate);
  EVP_PKEY_free(ec_key);
  EVP_PKEY_free(rsa_key);
}

/* ---- What takes too long to open ----------------------------------------- */

/* A file that would take hours to open: an error at once, with the reason. */
static void check_gives_up(const void *bytes, size_t length, bool as_key, const char *said,
                           apns_cause_t cause) {
  apns_credentials_options_t options = trusting();
  options.passphrase = "open sesame";
  if (as_key) {
    options.certificate_file = all->provider.certificate_file;
    options.key_bytes = bytes;
    options.key_length = length;
  } else {
    options.certificate_bytes = bytes;
    options.certificate_length = length;
  }
  const apns_error_t error = check_refused(
      &options, APNS_ERR_CREDENTIALS, as_key ? "key in memory" : "certificate in memory", said);
  assert_int_equal(error.cause, cause);
  assert_int_equal(ERR_peek_error(), 0);
}

static void check_tires_of(const void *bytes, size_t length, bool as_key, const char *said) {
  check_gives_up(bytes, length, as_key, said, APNS_CAUSE_UNLOCK_COST);
}

static X509_ALGOR *pbe(void) { return PKCS5_pbe_set(TRIPLE_DES, INT_MAX, NULL, 8); }
static X509_ALGOR *md5_pbe(void) {
  return PKCS5_pbe_set(NID_pbeWithMD5AndDES_CBC, 5000000, NULL, 8);
}
static X509_ALGOR *pbkdf2(void) { return PKCS5_pbe2_set(EVP_aes_128_cbc(), INT_MAX, NULL, 0); }
static X509_ALGOR *pbkdf2_of_sha512(void) {
  return PKCS5_pbe2_set_iv(EVP_aes_256_cbc(), 10000000, NULL, 0, NULL, NID_hmacWithSHA512);
}

/* Scrypt in a form that OpenSSL would not make. */
static X509_ALGOR *scrypt_of(uint64_t n, uint64_t r, uint64_t p) {
  X509_ALGOR *algorithm = PKCS5_pbe2_set_scrypt(EVP_aes_128_cbc(), NULL, 0, NULL, 16, 1, 1);
  PBE2PARAM *outer = ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(PBE2PARAM), algorithm->parameter);
  SCRYPT_PARAMS *inner =
      ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(SCRYPT_PARAMS), outer->keyfunc->parameter);
  ASN1_INTEGER_set_uint64(inner->costParameter, n);
  ASN1_INTEGER_set_uint64(inner->blockSize, r);
  ASN1_INTEGER_set_uint64(inner->parallelizationParameter, p);
  assert_non_null(
      ASN1_TYPE_pack_sequence(ASN1_ITEM_rptr(SCRYPT_PARAMS), inner, &outer->keyfunc->parameter));
  assert_non_null(ASN1_TYPE_pack_sequence(ASN1_ITEM_rptr(PBE2PARAM), outer, &algorithm->parameter));
  SCRYPT_PARAMS_free(inner);
  PBE2PARAM_free(outer);
  return algorithm;
}
/* Little memory, and 2^33 blocks to mix. */
static X509_ALGOR *scrypt_of_many(void) { return scrypt_of(1 << 17, 1, 1 << 16); }
static X509_ALGOR *scrypt_of_much_memory(void) { return scrypt_of(1 << 18, 8, 1); }
static X509_ALGOR *scrypt_of_a_product_that_comes_to_nothing(void) {
  return scrypt_of(1ull << 32, 1ull << 32, 1ull << 32);
}
/* More rounds than 32 bits hold, which an int would take for two. */
static X509_ALGOR *pbkdf2_beyond_an_int(void) {
  X509_ALGOR *algorithm = PKCS5_pbe2_set(EVP_aes_128_cbc(), 2, NULL, 0);
  PBE2PARAM *outer = ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(PBE2PARAM), algorithm->parameter);
  PBKDF2PARAM *inner =
      ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(PBKDF2PARAM), outer->keyfunc->parameter);
  ASN1_INTEGER_set_uint64(inner->iter, (1ull << 32) + 2);
  assert_non_null(
      ASN1_TYPE_pack_sequence(ASN1_ITEM_rptr(PBKDF2PARAM), inner, &outer->keyfunc->parameter));
  assert_non_null(ASN1_TYPE_pack_sequence(ASN1_ITEM_rptr(PBE2PARAM), outer, &algorithm->parameter));
  PBKDF2PARAM_free(inner);
  PBE2PARAM_free(outer);
  return algorithm;
}
/* A hash whose cost the library does not know. */
static X509_ALGOR *of_another_kind(void) {
  X509_ALGOR *algorithm = PKCS5_pbe2_set(EVP_aes_128_cbc(), 2, NULL, 0);
  PBE2PARAM *outer = ASN1_TYPE_unpack_sequence(ASN1_ITEM_rptr(PBE2PARAM), algorithm->parameter);
  ASN1_OBJECT_free(outer->keyfunc->algorithm);
  outer->keyfunc->algorithm = OBJ_txt2obj("1.2.3.4.5", 1);
  assert_non_null(ASN1_TYPE_pack_sequence(ASN1_ITEM_rptr(PBE2PARAM), outer, &algorithm->parameter));
  PBE2PARAM_free(outer);
  return algorithm;
}

static const struct {
  X509_ALGOR *(*make)(void);
  const char *said;
} costly[] = {
    {pbe, "takes too long to open: 2147483647 rounds of hashing"},
    {md5_pbe, "takes too long to open: 5000000 rounds of hashing"},
    {pbkdf2, "takes too long to open: 2147483647 rounds of hashing"},
    {pbkdf2_of_sha512, "takes too long to open: 10000000 rounds of hashing"},
    {pbkdf2_beyond_an_int, "takes too long to open: 4294967298 rounds of hashing"},
    {scrypt_of_many, "takes too long to open: scrypt with N 131072, r 1, p 65536"},
    {scrypt_of_much_memory,
     "takes too much memory to open: 256 MiB, scrypt with N 262144, r 8, p 1"},
    {scrypt_of_a_product_that_comes_to_nothing,
     "takes too long to open: scrypt with N 4294967296, r 4294967296, p 4294967296"},
    {of_another_kind, "is encrypted with an algorithm whose cost is unknown"},
};
#define COSTLY (sizeof costly / sizeof *costly)

static X509_SIG *locked_by(size_t which) {
  const key_form_t form = {.is_der = true, .cipher = TRIPLE_DES, .passphrase = "open sesame"};
  size_t length;
  owned(bytes) bytes = keychain_key_bytes(ec_key, &form, &length);
  const uint8_t *next = bytes;
  X509_SIG *locked = d2i_X509_SIG(NULL, &next, (long)length);
  assert_non_null(locked);
  X509_ALGOR *inside = NULL, *algorithm = costly[which].make();
  assert_non_null(algorithm);
  X509_SIG_getm(locked, &inside, NULL);
  assert_int_equal(X509_ALGOR_copy(inside, algorithm), 1);
  X509_ALGOR_free(algorithm);
  return locked;
}

TEST(keys_that_take_hours) {
  for (size_t which = 0; which < COSTLY; which++) {
    X509_SIG *locked = locked_by(which);
    for (int is_der = 0; is_der < 2; is_der++) {
      BIO *bio = BIO_new(BIO_s_mem());
      char *bytes;
      /* A block without a key stands before it. */
      if (!is_der) assert_int_equal(PEM_write_bio_X509(bio, ec_certificate), 1);
      assert_int_equal(is_der ? i2d_PKCS8_bio(bio, locked) : PEM_write_bio_PKCS8(bio, locked), 1);
      size_t length = (size_t)BIO_get_mem_data(bio, &bytes);
      check_tires_of(bytes, length, true, costly[which].said);
      BIO_free(bio);
    }
    X509_SIG_free(locked);
  }
}

/* A file of these parts, with a checksum of `rounds`; the caller frees, by OpenSSL. */
static uint8_t *file_of(STACK_OF(PKCS7) * safes, int rounds, size_t *length_out) {
  PKCS12 *file = PKCS12_add_safes(safes, NID_pkcs7_data);
  assert_non_null(file);
  assert_int_equal(PKCS12_set_mac(file, "open sesame", -1, NULL, 0, rounds, EVP_sha1()), 1);
  uint8_t *bytes = NULL;
  const int length = i2d_PKCS12(file, &bytes);
  assert_true(length > 0);
  PKCS12_free(file);
  *length_out = (size_t)length;
  return bytes;
}

/* A file of one part, where the bag or the file itself takes hours to open. */
static void check_part(bool is_bag, size_t which) {
  STACK_OF(PKCS12_SAFEBAG) *bags = sk_PKCS12_SAFEBAG_new_null();
  STACK_OF(PKCS7) *safes = sk_PKCS7_new_null();
  PKCS12_SAFEBAG *bag = is_bag ? PKCS12_SAFEBAG_create0_pkcs8(locked_by(which))
                               : PKCS12_SAFEBAG_create_cert(ec_certificate);
  assert_true(bags && safes && bag && sk_PKCS12_SAFEBAG_push(bags, bag) > 0);
  PKCS7 *safe = is_bag ? PKCS12_pack_p7data(bags)
                       : PKCS12_pack_p7encdata(TRIPLE_DES, "open sesame", -1, NULL, 0, 1, bags);
  assert_true(safe && sk_PKCS7_push(safes, safe) > 0);
  if (!is_bag) {
    X509_ALGOR *algorithm = costly[which].make();
    assert_int_equal(X509_ALGOR_copy(safe->d.encrypted->enc_data->algorithm, algorithm), 1);
    X509_ALGOR_free(algorithm);
  }
  size_t length;
  uint8_t *bytes = file_of(safes, 1, &length);
  check_tires_of(bytes, length, false, costly[which].said);
  OPENSSL_free(bytes);
  sk_PKCS7_pop_free(safes, PKCS7_free);
  sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
}

TEST(pkcs12_that_takes_hours) {
  for (size_t which = 0; which < COSTLY; which++) {
    check_part(true, which);
    check_part(false, which);
  }
  /* And the checksum's own. */
  pkcs12_t traits = old_export();
  size_t length;
  owned(bytes) bytes = keychain_pkcs12(&traits, &length);
  const uint8_t *next = bytes;
  PKCS12 *file = d2i_PKCS12(NULL, &next, (long)length);
  assert_non_null(file);
  const ASN1_INTEGER *iterations = NULL;
  PKCS12_get0_mac(NULL, NULL, NULL, &iterations, file);
  if (iterations) {
    uint8_t *written = NULL;
    assert_int_equal(ASN1_INTEGER_set((ASN1_INTEGER *)(uintptr_t)iterations, INT_MAX), 1);
    int written_length = i2d_PKCS12(file, &written);
    check_tires_of(written, (size_t)written_length, false,
                   "takes too long to open: 2147483647 rounds of hashing");
    OPENSSL_free(written);
  }
  PKCS12_free(file);
}

/* Each part is opened in no time, and their sum takes minutes. */
TEST(many_parts_that_take_a_little) {
  const int rounds = (int)as_many_as(200000, 200);
  const size_t count = as_many_as(1000, 3);
  STACK_OF(PKCS12_SAFEBAG) *bags = sk_PKCS12_SAFEBAG_new_null();
  STACK_OF(PKCS7) *safes = sk_PKCS7_new_null();
  PKCS12_SAFEBAG *bag = PKCS12_SAFEBAG_create_cert(ec_certificate);
  assert_true(sk_PKCS12_SAFEBAG_push(bags, bag) > 0);
  PKCS7 *safe = PKCS12_pack_p7encdata(NID_aes_128_cbc, "open sesame", -1, NULL, 0, rounds, bags);
  assert_non_null(safe);
  for (size_t n = 0; n < count; n++) sk_PKCS7_push(safes, PKCS7_dup(safe));
  size_t length;
  uint8_t *bytes = file_of(safes, 1, &length);
  if (count > 10) {
    const clock_t before = clock();
    char said[100];
    snprintf(said, sizeof said, "takes too long to open: %d rounds of hashing, after ", rounds);
    check_tires_of(bytes, length, false, said);
    /* All of them would take a thousand times the time of one. */
    const clock_t used = clock() - before;
    PKCS12_SAFEBAG *one;
    STACK_OF(PKCS12_SAFEBAG) *opened = NULL;
    const clock_t start = clock();
    opened = PKCS12_unpack_p7encdata(safe, "open sesame", -1);
    assert_non_null(opened);
    one = sk_PKCS12_SAFEBAG_value(opened, 0);
    assert_non_null(one);
    assert_true(used < 200 * (clock() - start));
    sk_PKCS12_SAFEBAG_pop_free(opened, PKCS12_SAFEBAG_free);
  }
  OPENSSL_free(bytes);
  PKCS7_free(safe);
  sk_PKCS7_pop_free(safes, PKCS7_free);
  sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
  /* The checksum is computed for no passphrase, for an empty one and for this. */
  if (count > 10) {
    safes = sk_PKCS7_new_null();
    bytes = file_of(safes, 3000000, &length);
    check_tires_of(bytes, length, false,
                   "takes too long to open: 3000000 rounds of hashing, after 2 other keys");
    OPENSSL_free(bytes);
    sk_PKCS7_pop_free(safes, PKCS7_free);
  }
}

/* As careful exporters make them: these open. */
TEST(exports_that_take_their_time) {
  const int rounds = (int)as_many_as(600000, 300);
  PKCS12 *file = PKCS12_create("open sesame", "provider", rsa_key, rsa_certificate, NULL,
                               NID_aes_256_cbc, NID_aes_256_cbc, rounds, rounds, 0);
  assert_non_null(file);
  uint8_t *bytes = NULL;
  apns_credentials_options_t options = trusting();
  options.passphrase = "open sesame";
  options.certificate_length = (size_t)i2d_PKCS12(file, &bytes);
  options.certificate_bytes = bytes;
  check_loads(&options);
  OPENSSL_free(bytes);
  PKCS12_free(file);

  PKCS8_PRIV_KEY_INFO *inside = EVP_PKEY2PKCS8(rsa_key);
  X509_ALGOR *algorithms[] = {
      PKCS5_pbe2_set_iv(EVP_aes_256_cbc(), rounds, NULL, 0, NULL, NID_hmacWithSHA1),
      PKCS5_pbe2_set_iv(EVP_aes_256_cbc(), rounds, NULL, 0, NULL, NID_hmacWithSHA512),
      PKCS5_pbe2_set_iv(EVP_des_ede3_cbc(), rounds, NULL, 0, NULL, NID_hmacWithSHA256),
      PKCS5_pbe2_set_scrypt(EVP_aes_256_cbc(), NULL, 0, NULL, as_many_as(16384, 512), 8, 1),
      PKCS5_pbe_set(TRIPLE_DES, rounds, NULL, 8),
  };
  options.certificate_bytes = NULL;
  options.certificate_length = 0;
  options.certificate_file = identities_write("slow.pem", NULL, 0);
  BIO *bio = BIO_new_file(options.certificate_file, "w");
  assert_int_equal(PEM_write_bio_X509(bio, rsa_certificate), 1);
  BIO_free(bio);
  for (size_t index = 0; index < sizeof algorithms / sizeof *algorithms; index++) {
    assert_non_null(algorithms[index]);
    X509_SIG *locked = PKCS8_set0_pbe("open sesame", -1, inside, algorithms[index]);
    assert_non_null(locked);
    bytes = NULL;
    options.key_length = (size_t)i2d_X509_SIG(locked, &bytes);
    options.key_bytes = bytes;
    check_loads(&options);
    OPENSSL_free(bytes);
    X509_SIG_free(locked);
  }
  PKCS8_PRIV_KEY_INFO_free(inside);
}

/* ---- Keys and certificates that take too long to use ---------------------- */

static void append_number(uint8_t **at, int bits) {
  BIGNUM *number = BN_new();
  assert_int_equal(BN_rand(number, bits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ODD), 1);
  ASN1_INTEGER *integer = BN_to_ASN1_INTEGER(number, NULL);
  assert_true(i2d_ASN1_INTEGER(integer, at) > 0);
  ASN1_INTEGER_free(integer);
  BN_free(number);
}

/* Integers with the bits given, as a sequence; the caller frees. */
static uint8_t *numbers(const int *bits, size_t count, bool has_version, int *length_out) {
  uint8_t *inside = malloc(1 << 20), *next = inside;
  if (has_version) memcpy(next, "\x02\x01\x00", 3), next += 3;
  for (size_t index = 0; index < count; index++) append_number(&next, bits[index]);
  const int length = (int)(next - inside), whole = ASN1_object_size(1, length, V_ASN1_SEQUENCE);
  uint8_t *bytes = malloc((size_t)whole);
  next = bytes;
  ASN1_put_object(&next, 1, length, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL);
  memcpy(next, inside, (size_t)length);
  free(inside);
  *length_out = whole;
  return bytes;
}

/* As PKCS#8 in DER and PEM, and as a bag. */
static void check_key_is_refused(int kind, ASN1_STRING *parameters, uint8_t *key, int length,
                                 const char *said) {
  PKCS8_PRIV_KEY_INFO *whole = PKCS8_PRIV_KEY_INFO_new();
  uint8_t *copy = OPENSSL_malloc((size_t)length);
  memcpy(copy, key, (size_t)length);
  assert_int_equal(
      PKCS8_pkey_set0(whole, OBJ_nid2obj(kind), 0, parameters ? V_ASN1_SEQUENCE : V_ASN1_NULL,
                      parameters, copy, length),
      1);
  for (int is_der = 0; is_der < 2; is_der++) {
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes;
    assert_int_equal(is_der ? i2d_PKCS8_PRIV_KEY_INFO_bio(bio, whole)
                            : PEM_write_bio_PKCS8_PRIV_KEY_INFO(bio, whole),
                     1);
    const size_t count = (size_t)BIO_get_mem_data(bio, &bytes);
    check_gives_up(bytes, count, true, said, APNS_CAUSE_KEY_UNFIT);
    BIO_free(bio);
  }
  STACK_OF(PKCS12_SAFEBAG) *bags = sk_PKCS12_SAFEBAG_new_null();
  STACK_OF(PKCS7) *safes = sk_PKCS7_new_null();
  sk_PKCS12_SAFEBAG_push(bags, PKCS12_SAFEBAG_create0_p8inf(whole));
  sk_PKCS7_push(safes, PKCS12_pack_p7data(bags));
  size_t count;
  uint8_t *bytes = file_of(safes, 1, &count);
  check_gives_up(bytes, count, false, said, APNS_CAUSE_KEY_UNFIT);
  OPENSSL_free(bytes);
  sk_PKCS7_pop_free(safes, PKCS7_free);
  sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
}

TEST(keys_with_numbers_that_take_hours) {
  /* Reading a DSA key computes its public half. */
  static const int dsa[] = {400000, 256, 399999};
  int length;
  ASN1_STRING *parameters = ASN1_STRING_new();
  uint8_t *bytes = numbers(dsa, 3, false, &length);
  ASN1_STRING_set(parameters, bytes, length);
  free(bytes);
  uint8_t *number = malloc(1 << 17), *next = number;
  append_number(&next, 399998);
  check_key_is_refused(NID_dsa, parameters, number, (int)(next - number),
                       "holds a key that is neither RSA nor EC");
  free(number);
  /* RSA with a modulus, and with primes, longer than can be. */
  static const int rsa[][8] = {
      {50000, 17, 50000, 25000, 25000, 25000, 25000, 25000},
      {17000, 17, 17000, 8500, 8500, 8500, 8500, 8500},
      {2048, 17, 2048, 30000, 30000, 30000, 30000, 1024},
      {2048, 17, 90000, 1024, 1024, 1024, 1024, 1024},
  };
  for (size_t which = 0; which < sizeof rsa / sizeof *rsa; which++) {
    bytes = numbers(rsa[which], 8, true, &length);
    check_gives_up(bytes, (size_t)length, true, "is too large", APNS_CAUSE_KEY_UNFIT);
    check_key_is_refused(NID_rsaEncryption, NULL, bytes, length, "is too large");
    free(bytes);
  }
}

TEST(more_certificates_than_a_chain_has) {
  BIO *bio = BIO_new(BIO_s_mem());
  assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, ec_key, NULL, NULL, 0, NULL, NULL), 1);
  for (size_t n = 0; n < 100; n++) assert_int_equal(PEM_write_bio_X509(bio, ec_certificate), 1);
  apns_credentials_options_t options = trusting();
  char *bytes;
  options.certificate_length = (size_t)BIO_get_mem_data(bio, &bytes);
  options.certificate_bytes = bytes;
  check_loads(&options);
  assert_int_equal(PEM_write_bio_X509(bio, ec_certificate), 1);
  options.certificate_length = (size_t)BIO_get_mem_data(bio, &bytes);
  options.certificate_bytes = bytes;
  check_refused(&options, APNS_ERR_CREDENTIALS, "certificate in memory",
                "holds more than 100 certificates");
  BIO_free(bio);
}

TEST(more_topics_than_apps) {
  const push_certificate_t traits = {.name = "everybody's"};
  owned(certificate) certificate = keychain_certificate(&traits, ec_key);
  uint8_t inside[1001 * 6], sequence[sizeof inside + 4], *next = inside;
  for (int n = 0; n < 1001; n++) {
    *next++ = V_ASN1_UTF8STRING, *next++ = 4;
    char text[5];
    snprintf(text, sizeof text, "%04d", n);
    memcpy(next, text, 4), next += 4;
  }
  memcpy(sequence, (uint8_t[]){0x30, 0x82, sizeof inside >> 8, sizeof inside & 0xFF}, 4);
  memcpy(sequence + 4, inside, sizeof inside);
  keychain_extend(certificate, "1.2.840.113635.100.6.3.6", sequence, sizeof sequence);
  apns_credentials_options_t options = trusting();
  have(&options, certificate, ec_key, &(key_form_t){0});
  check_refused(&options, APNS_ERR_CREDENTIALS, "more than 1000 topics");
}

void before_all(void) {
  all = identities_make();
  ec_key = keychain_key(false);
  rsa_key = keychain_key(true);
  const push_certificate_t traits = {.name = "Apple Push Services: example"};
  ec_certificate = keychain_certificate(&traits, ec_key);
  rsa_certificate = keychain_certificate(&traits, rsa_key);
}
