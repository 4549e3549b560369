#include "identity.h"

#include <assert.h>
#include <dirent.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static identities_t all;
static pid_t maker;

/* Setting up a test must not fail: print where, and stop. */
#define REQUIRE(condition)                                                           \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "%s:%d: cannot set up: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                       \
    }                                                                                \
  } while (0)

static EVP_PKEY *make_key(int rsa_bits) {
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(rsa_bits ? EVP_PKEY_RSA : EVP_PKEY_EC, NULL);
  REQUIRE(context && EVP_PKEY_keygen_init(context) == 1);
  if (rsa_bits)
    REQUIRE(EVP_PKEY_CTX_set_rsa_keygen_bits(context, rsa_bits) == 1);
  else
    REQUIRE(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1);
  REQUIRE(EVP_PKEY_keygen(context, &key) == 1);
  EVP_PKEY_CTX_free(context);
  return key;
}

static void add_extension(X509 *certificate, int nid, const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, (char *)value);
  REQUIRE(extension && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

static void path_of(char *path, const char *name, const char *ending) {
  int length = snprintf(path, PATH_MAX, "%s/%s%s", all.directory, name, ending);
  REQUIRE(length > 0 && length < PATH_MAX);
}

static void write_certificates(FILE *file, const identity_t *identity) {
  REQUIRE(file && PEM_write_X509(file, identity->certificate) == 1);
  if (identity->intermediate) REQUIRE(PEM_write_X509(file, identity->intermediate) == 1);
}

void identity_make(identity_t *identity, const identity_traits_t *traits) {
  static long serial = 1;
  memset(identity, 0, sizeof *identity);
  identity->key = make_key(traits->rsa_bits);
  X509 *certificate = identity->certificate = X509_new();
  REQUIRE(certificate && X509_set_version(certificate, 2) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  long day = 24 * 60 * 60;
  X509_gmtime_adj(X509_getm_notBefore(certificate), -2 * day);
  X509_gmtime_adj(X509_getm_notAfter(certificate), traits->is_expired ? -day : day);
  X509_NAME *name = X509_get_subject_name(certificate);
  REQUIRE(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)traits->name,
                                     -1, -1, 0) == 1);
  const identity_t *signer = traits->signer ? traits->signer : identity;
  REQUIRE(X509_set_issuer_name(certificate, X509_get_subject_name(signer->certificate)) == 1);
  REQUIRE(X509_set_pubkey(certificate, identity->key) == 1);
  add_extension(certificate, NID_basic_constraints,
                traits->is_authority ? "critical,CA:TRUE" : "CA:FALSE");
  if (traits->alternative_names)
    add_extension(certificate, NID_subject_alt_name, traits->alternative_names);
  REQUIRE(X509_sign(certificate, signer->key, EVP_sha256()) > 0);
  if (!traits->is_authority && traits->signer && traits->signer->intermediate)
    identity->intermediate = traits->signer->certificate;
  /* An intermediate marks itself, so that what it signs knows to send it along. */
  if (traits->is_authority && traits->signer) identity->intermediate = certificate;

  path_of(identity->certificate_file, traits->name, ".crt");
  path_of(identity->key_file, traits->name, ".key");
  path_of(identity->together_file, traits->name, ".pem");
  FILE *file = fopen(identity->certificate_file, "w");
  write_certificates(file, identity);
  fclose(file);
  file = fopen(identity->key_file, "w");
  REQUIRE(file && PEM_write_PrivateKey(file, identity->key, NULL, NULL, 0, NULL, NULL) == 1);
  fclose(file);
  file = fopen(identity->together_file, "w");
  write_certificates(file, identity);
  REQUIRE(PEM_write_PrivateKey(file, identity->key, NULL, NULL, 0, NULL, NULL) == 1);
  fclose(file);
}

void identity_drop(identity_t *identity) {
  EVP_PKEY_free(identity->key);
  X509_free(identity->certificate);
}

static void remove_directory(const char *path) {
  DIR *directory = opendir(path);
  if (!directory) return;
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (entry->d_name[0] == '.') continue;
    char inside[PATH_MAX];
    int length = snprintf(inside, PATH_MAX, "%s/%s", path, entry->d_name);
    if (length < PATH_MAX && unlink(inside) != 0) remove_directory(inside);
  }
  closedir(directory);
  rmdir(path);
}

static void remove_all(void) {
  /* A forked child ends through here too, and the directory is its parent's. */
  if (getpid() != maker) return;
  remove_directory(all.directory);
  identity_t *const made[] = {&all.root,
                              &all.intermediate,
                              &all.other_root,
                              &all.gateway,
                              &all.gateway_of_stranger,
                              &all.gateway_expired,
                              &all.gateway_elsewhere,
                              &all.gateway_without_address,
                              &all.gateway_in_chain,
                              &all.provider,
                              &all.provider_of_stranger,
                              &all.provider_in_chain};
  for (size_t index = 0; index < sizeof made / sizeof *made; index++) identity_drop(made[index]);
}

const identities_t *identities_make(void) {
  if (maker) return &all;
  const char *base = getenv("TMPDIR");
  int length = snprintf(all.directory, sizeof all.directory, "%s/libapns-XXXXXX",
                        base && *base ? base : "/tmp");
  REQUIRE(length > 0 && length < (int)sizeof all.directory && mkdtemp(all.directory));
  maker = getpid();
  static const char here[] = "DNS:localhost,IP:127.0.0.1,IP:::1";
  identity_make(&all.root, &(identity_traits_t){.name = "root", .is_authority = true});
  identity_make(&all.other_root, &(identity_traits_t){.name = "other-root", .is_authority = true});
  identity_make(
      &all.intermediate,
      &(identity_traits_t){.name = "intermediate", .signer = &all.root, .is_authority = true});
  identity_make(&all.gateway, &(identity_traits_t){"gateway", here, &all.root, false, false, 0});
  identity_make(&all.gateway_of_stranger,
                &(identity_traits_t){"stranger", here, &all.other_root, false, false, 0});
  identity_make(&all.gateway_expired,
                &(identity_traits_t){"expired", here, &all.root, false, true, 0});
  identity_make(&all.gateway_elsewhere, &(identity_traits_t){"elsewhere", "DNS:elsewhere.example",
                                                             &all.root, false, false, 0});
  identity_make(&all.gateway_without_address,
                &(identity_traits_t){"nameonly", "DNS:localhost", &all.root, false, false, 0});
  identity_make(&all.gateway_in_chain,
                &(identity_traits_t){"chained", here, &all.intermediate, false, false, 0});
  identity_make(&all.provider, &(identity_traits_t){.name = "provider", .signer = &all.root});
  identity_make(&all.provider_of_stranger,
                &(identity_traits_t){.name = "unknown-provider", .signer = &all.other_root});
  identity_make(&all.provider_in_chain,
                &(identity_traits_t){.name = "chained-provider", .signer = &all.intermediate});
  atexit(remove_all);
  return &all;
}

const char *identities_directory(const char *name) {
  static char path[PATH_MAX];
  identities_make();
  path_of(path, name, "");
  REQUIRE(mkdir(path, 0700) == 0);
  return path;
}

const char *identities_add_list(const char *file_name, const list_traits_t *traits) {
  static char path[PATH_MAX];
  static long number = 1;
  identities_make();
  path_of(path, file_name, "");
  X509_CRL *list = X509_CRL_new();
  ASN1_TIME *time = ASN1_TIME_new();
  ASN1_INTEGER *serial = ASN1_INTEGER_new();
  const long day = 24 * 60 * 60;
  REQUIRE(list && time && serial && X509_CRL_set_version(list, 1) == 1);
  REQUIRE(X509_CRL_set_issuer_name(list, X509_get_subject_name(traits->issuer->certificate)) == 1);
  /* If there are two lists, the newer counts. */
  REQUIRE(X509_gmtime_adj(time, -2 * day + number) && X509_CRL_set1_lastUpdate(list, time) == 1);
  REQUIRE(X509_gmtime_adj(time, traits->is_expired ? -day : day) &&
          X509_CRL_set1_nextUpdate(list, time) == 1);
  REQUIRE(ASN1_INTEGER_set(serial, number++) == 1 &&
          X509_CRL_add1_ext_i2d(list, NID_crl_number, serial, 0, 0) == 1);
  if (traits->revoked) {
    X509_REVOKED *entry = X509_REVOKED_new();
    REQUIRE(entry &&
            X509_REVOKED_set_serialNumber(
                entry, X509_get_serialNumber(traits->revoked->certificate)) == 1 &&
            X509_gmtime_adj(time, -day) && X509_REVOKED_set_revocationDate(entry, time) == 1 &&
            X509_CRL_add0_revoked(list, entry) == 1);
  }
  EVP_PKEY *key = traits->is_forged ? all.other_root.key : traits->issuer->key;
  REQUIRE(X509_CRL_sort(list) == 1 && X509_CRL_sign(list, key, EVP_sha256()) > 0);
  FILE *file = fopen(path, "a");
  REQUIRE(file && PEM_write_X509_CRL(file, list) == 1);
  fclose(file);
  ASN1_INTEGER_free(serial);
  ASN1_TIME_free(time);
  X509_CRL_free(list);
  return path;
}

const char *identity_pin(const identity_t *identity) {
  static char text[64] = "sha256//";
  unsigned char *bytes = NULL, digest[32];
  int length = i2d_PUBKEY(identity->key, &bytes);
  REQUIRE(length > 0 && EVP_Digest(bytes, (size_t)length, digest, NULL, EVP_sha256(), NULL) == 1);
  OPENSSL_free(bytes);
  EVP_EncodeBlock((unsigned char *)text + 8, digest, sizeof digest);
  return text;
}

const char *identities_write(const char *name, const void *bytes, size_t length) {
  static char path[PATH_MAX];
  identities_make();
  path_of(path, name, "");
  FILE *file = fopen(path, "w");
  REQUIRE(file && fwrite(bytes, 1, length, file) == length);
  fclose(file);
  return path;
}

char *identities_read(const char *path, size_t *length_out) {
  FILE *file = fopen(path, "r");
  struct stat about;
  REQUIRE(file && fstat(fileno(file), &about) == 0);
  char *bytes = malloc((size_t)about.st_size + 1);
  REQUIRE(bytes && fread(bytes, 1, (size_t)about.st_size, file) == (size_t)about.st_size);
  bytes[about.st_size] = 0;
  *length_out = (size_t)about.st_size;
  fclose(file);
  return bytes;
}

const char *identities_write_encrypted(const char *name, const identity_t *identity,
                                       const char *passphrase) {
  static char path[PATH_MAX];
  identities_make();
  path_of(path, name, "");
  FILE *file = fopen(path, "w");
  REQUIRE(file &&
          PEM_write_PrivateKey(file, identity->key, EVP_aes_128_cbc(), (unsigned char *)passphrase,
                               (int)strlen(passphrase), NULL, NULL) == 1);
  fclose(file);
  return path;
}
