#include "keychain.h"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "Gateway/identity.h"
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
#include <openssl/provider.h>
#endif

/* Setting up a test must not fail: print where, and stop. */
#define REQUIRE(condition)                                                           \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "%s:%d: cannot set up: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                       \
    }                                                                                \
  } while (0)

/* Only tests use this key. Under valgrind, generating one takes 20 seconds. */
static const char an_rsa_key[] =
    "-----BEGIN RSA PRIVATE KEY-----\n"
    "MIIEowIBAAKCAQEAs1IJhao5YxtjnFvosvB9ZpauW77MEbd8I0ZGpMdmQquD7lAI\n"
    "gwMVxNbY8VOOQM7HCNan17ARMHDADjjW1DAAZo0485OBdfFzf3XxyqHfUKgiHDjJ\n"
    "5rkgAu2p8TlJc9kJ0U1QzHwIleMY/tSCfbQqDJbWq7vZmQTkD7AEgHQEaXlcC3fe\n"
    "Wuu2oLIdz8K1zg6oK3G72+sOr5SHFRlrE7wKbDymZJ+4JW8tvA9d7ti+8NFsFo4h\n"
    "T5WTdA8NN84OJOpdAgFacUjDcznoqc2ptI4R7sV6N5f20aSkwyOavYpQN4EQPfET\n"
    "UyG8yRO1RYIeo7MRFuWxlDHuBecx5ALqw2PsAwIDAQABAoIBADyGLACZe9UfoXdc\n"
    "7iW3VhwSL7d3ppk0PQoK5j0nsDRAf78n9DeECwztFzwc356wLC2nhe8e1i5rX+ds\n"
    "99WWfgwfDmHoH4IXhMw4muuxxxYKKbks0bi2Mz/Jx9pLY6deUhn65pKeKqeshvs7\n"
    "7u9OqAKnxr0gIkmrhO5mkp5oijSu2JzVHjdVnNODm+LY7P8uq9uVNG0SttlVx2gP\n"
    "4qKd9qT2wLkYgTWkWOdmVKdrH30IVv9esmJnYudrcZIS0802ASLUeUZtlbyyqths\n"
    "qM3+Rii1WcR7+gXURtSAWxruENPCWHtwoQyXUqakEgDG7HoZLZEFtExpB1VMIgSx\n"
    "1N26SoECgYEA5Fzw3Q6Se4k/rCUIwJMwlm3zzCvfxA/w91kkW6q8rINUxmmT9sYe\n"
    "Cw7og+uZxE+cBQq7fd0Kse2xIm/G8EGmWo1Bbi5GnRI45GZSb93Xwprmu2EbJ3aI\n"
    "lI3JSpLn4XzpfihVijurrN/MlwFS10hXsgUP4ILgUdASRkA7oB8Sp8sCgYEAyQWt\n"
    "TOOuo7NbTfJVCoYBN305m5fjno1Yju0JNnPSudBO23IY4DmR9mB/31Dtm9HpKF5v\n"
    "pNLPtBQ6QpTelrY/ffS7J0xHue82Ets8QNg0RW7FoENlCF4vRGr4LTk/4K5VggAF\n"
    "rfkWtRuoyfUDVQw5HlOgPY3JAK9zEKofUpv+lakCgYEAgV19PV0x8jWwEk7whFdd\n"
    "oPossC7yllkJgrXG+P7h30CO18+beKKHBnCtm33uH92RXvHTgNulYWJrhDyaECTA\n"
    "nm+C723bpsNZ41lrvd+IiL/DkcbS4Sou+SjRLSPHpF9kzoj+3E4tVMN7XNftG/Pp\n"
    "afmgIulBNleO4qkknfK8WL0CgYBMrfywMr2ANj9i2Uh1Li6yovLhliu+ZD5erq5v\n"
    "9fhw5rPd44T3qx4xdBfy8GTipkyhGHzPy5ZtI7YhhbXumXBYtIzbba6Cj2v5/2TZ\n"
    "e19dCOcbvfmBGqQ/HeqzHX5vTzDQ2P9RoI134igdeXee7n2vQskCEd6Vg1eKCMrP\n"
    "8S9ImQKBgHQi9NRWwTKvUnwMBNj0pW0mV68fAQJURMzAGWDPuKlcEBcTMSsnCmKM\n"
    "VBfxFzACkXEh7B5tjS9DjyiG6H7n+nEerTqIxF1qyvcUBF6S3yBEzx9edulayu49\n"
    "oNPBSRnCn6ZFFixaszQvuQXYvpO5OKl38wGx99SYfq2xqqU9vich\n"
    "-----END RSA PRIVATE KEY-----\n";

EVP_PKEY *keychain_key(bool is_rsa) {
  EVP_PKEY *key = NULL;
  if (is_rsa) {
    BIO *text = BIO_new_mem_buf(an_rsa_key, -1);
    REQUIRE(text && (key = PEM_read_bio_PrivateKey(text, NULL, NULL, NULL)));
    BIO_free(text);
    return key;
  }
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, NULL);
  REQUIRE(context && EVP_PKEY_keygen_init(context) == 1);
  REQUIRE(EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1);
  REQUIRE(EVP_PKEY_keygen(context, &key) == 1);
  EVP_PKEY_CTX_free(context);
  return key;
}

static void sign(X509 *certificate) {
  REQUIRE(X509_sign(certificate, identities_make()->root.key, EVP_sha256()) > 0);
}

static void add_extension(X509 *certificate, const char *name, const void *bytes, size_t length) {
  ASN1_OBJECT *object = OBJ_txt2obj(name, 1);
  ASN1_OCTET_STRING *value = ASN1_OCTET_STRING_new();
  REQUIRE(object && value && ASN1_OCTET_STRING_set(value, bytes, (int)length) == 1);
  X509_EXTENSION *extension = X509_EXTENSION_create_by_OBJ(NULL, object, 0, value);
  REQUIRE(extension && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
  ASN1_OCTET_STRING_free(value);
  ASN1_OBJECT_free(object);
}

void keychain_extend(X509 *certificate, const char *object, const void *bytes, size_t length) {
  add_extension(certificate, object, bytes, length);
  sign(certificate);
}

/* A DER element with a short length. */
static size_t element(uint8_t *at, uint8_t tag, const void *bytes, size_t length) {
  REQUIRE(length < 128);
  at[0] = tag;
  at[1] = (uint8_t)length;
  memmove(at + 2, bytes, length);
  return 2 + length;
}

/* As Apple does: each topic, then a sequence with the kind of app. */
static void add_topics(X509 *certificate, const char *const *topics) {
  uint8_t inside[1024], kind[64];
  size_t length = 0;
  for (; *topics; topics++) {
    length += element(inside + length, 0x0C, *topics, strlen(*topics));
    size_t kind_length = element(kind, 0x0C, "app", 3);
    length += element(inside + length, 0x30, kind, kind_length);
    REQUIRE(length < sizeof inside - 200);
  }
  uint8_t sequence[1024 + 4] = {0x30, 0x82, (uint8_t)(length >> 8), (uint8_t)length};
  memcpy(sequence + 4, inside, length);
  add_extension(certificate, "1.2.840.113635.100.6.3.6", sequence, length + 4);
}

static void add_name(X509_NAME *name, const char *field, const char *value) {
  REQUIRE(X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8, (const unsigned char *)value, -1,
                                     -1, 0) == 1);
}

X509 *keychain_certificate(const push_certificate_t *traits, EVP_PKEY *key) {
  static long serial = 1000;
  const int64_t day = 24 * 60 * 60, now = time(NULL);
  X509 *certificate = X509_new();
  REQUIRE(certificate && X509_set_version(certificate, 2) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  ASN1_TIME_set(X509_getm_notBefore(certificate),
                traits->not_before ? traits->not_before : now - day);
  ASN1_TIME_set(X509_getm_notAfter(certificate), traits->not_after ? traits->not_after : now + day);
  X509_NAME *name = X509_get_subject_name(certificate);
  if (traits->user_id) add_name(name, "UID", traits->user_id);
  add_name(name, "CN", traits->name);
  REQUIRE(X509_set_issuer_name(certificate,
                               X509_get_subject_name(identities_make()->root.certificate)) == 1);
  REQUIRE(X509_set_pubkey(certificate, key) == 1);
  /* Apple's mark is an ASN.1 NULL. */
  if (traits->for_sandbox) add_extension(certificate, "1.2.840.113635.100.6.3.1", "\x05\x00", 2);
  if (traits->for_production) add_extension(certificate, "1.2.840.113635.100.6.3.2", "\x05\x00", 2);
  if (traits->topics) add_topics(certificate, traits->topics);
  sign(certificate);
  return certificate;
}

/* ---- Files -------------------------------------------------------------- */

static uint8_t *taken(BIO *bio, size_t *length_out) {
  char *start;
  long length = BIO_get_mem_data(bio, &start);
  REQUIRE(length > 0);
  uint8_t *bytes = malloc((size_t)length);
  memcpy(bytes, start, (size_t)length);
  *length_out = (size_t)length;
  BIO_free(bio);
  return bytes;
}

uint8_t *keychain_pkcs12(const pkcs12_t *traits, size_t *length_out) {
  STACK_OF(X509) *chain = NULL;
  if (traits->chain) {
    chain = sk_X509_new_null();
    sk_X509_push(chain, traits->chain);
  }
  const int iterations = 16, checksum = traits->without_checksum ? -1 : 1;
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
  /* A separate context, so that the default one has nothing old in it. */
  OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
  OSSL_PROVIDER *base = OSSL_PROVIDER_load(context, "default");
  OSSL_PROVIDER *legacy = OSSL_PROVIDER_load(context, "legacy");
  REQUIRE(base && legacy);
  PKCS12 *file = PKCS12_create_ex(traits->passphrase, "provider", traits->key, traits->certificate,
                                  chain, traits->key_cipher, traits->certificate_cipher, iterations,
                                  checksum, 0, context, NULL);
  if (file && !traits->without_checksum)
    REQUIRE(PKCS12_set_mac(file, traits->passphrase, -1, NULL, 0, 1, EVP_sha1()) == 1);
#else
  PKCS12 *file =
      PKCS12_create(traits->passphrase, "provider", traits->key, traits->certificate, chain,
                    traits->key_cipher, traits->certificate_cipher, iterations, checksum, 0);
#endif
  REQUIRE(file);
  BIO *bio = BIO_new(BIO_s_mem());
  REQUIRE(i2d_PKCS12_bio(bio, file) == 1);
  PKCS12_free(file);
  sk_X509_free(chain);
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
  OSSL_PROVIDER_unload(legacy);
  OSSL_PROVIDER_unload(base);
  OSSL_LIB_CTX_free(context);
#endif
  return taken(bio, length_out);
}

static void write_pkcs8(BIO *bio, EVP_PKEY *key, const key_form_t *form) {
  PKCS8_PRIV_KEY_INFO *inside = EVP_PKEY2PKCS8(key);
  REQUIRE(inside);
  if (!form->cipher) {
    REQUIRE((form->is_der ? i2d_PKCS8_PRIV_KEY_INFO_bio(bio, inside)
                          : PEM_write_bio_PKCS8_PRIV_KEY_INFO(bio, inside)) == 1);
    PKCS8_PRIV_KEY_INFO_free(inside);
    return;
  }
  const EVP_CIPHER *cipher = EVP_get_cipherbynid(form->cipher);
  const int length = (int)strlen(form->passphrase);
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
  OSSL_LIB_CTX *context = OSSL_LIB_CTX_new();
  OSSL_PROVIDER *base = OSSL_PROVIDER_load(context, "default");
  OSSL_PROVIDER *legacy = OSSL_PROVIDER_load(context, "legacy");
  REQUIRE(base && legacy);
  X509_SIG *locked = PKCS8_encrypt_ex(cipher ? -1 : form->cipher, cipher, form->passphrase, length,
                                      NULL, 0, 16, inside, context, NULL);
  OSSL_PROVIDER_unload(legacy);
  OSSL_PROVIDER_unload(base);
  OSSL_LIB_CTX_free(context);
#else
  X509_SIG *locked = PKCS8_encrypt(cipher ? -1 : form->cipher, cipher, form->passphrase, length,
                                   NULL, 0, 16, inside);
#endif
  REQUIRE(locked);
  REQUIRE((form->is_der ? i2d_PKCS8_bio(bio, locked) : PEM_write_bio_PKCS8(bio, locked)) == 1);
  X509_SIG_free(locked);
  PKCS8_PRIV_KEY_INFO_free(inside);
}

uint8_t *keychain_key_bytes(EVP_PKEY *key, const key_form_t *form, size_t *length_out) {
  BIO *bio = BIO_new(BIO_s_mem());
  if (!form->is_traditional)
    write_pkcs8(bio, key, form);
  else if (form->is_der)
    REQUIRE(i2d_PrivateKey_bio(bio, key) == 1);
  else
    REQUIRE(PEM_write_bio_PrivateKey_traditional(
                bio, key, form->cipher ? EVP_get_cipherbynid(form->cipher) : NULL,
                (unsigned char *)form->passphrase,
                form->passphrase ? (int)strlen(form->passphrase) : 0, NULL, NULL) == 1);
  return taken(bio, length_out);
}

uint8_t *keychain_certificate_bytes(X509 *certificate, bool is_der, size_t *length_out) {
  BIO *bio = BIO_new(BIO_s_mem());
  REQUIRE((is_der ? i2d_X509_bio(bio, certificate) : PEM_write_bio_X509(bio, certificate)) == 1);
  return taken(bio, length_out);
}
