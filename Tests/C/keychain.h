/*
 * Certificates and keys in the files that Keychain and OpenSSL made of them over
 * the years, made when the tests run.
 */
#ifndef TESTS_KEYCHAIN_H
#define TESTS_KEYCHAIN_H

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "owned.h"

OWNED(key, EVP_PKEY, EVP_PKEY_free)
OWNED(certificate, X509, X509_free)

/** What Apple puts into a provider's certificate. */
typedef struct push_certificate {
  const char *name;          /* CN */
  const char *user_id;       /* UID, NULL: none */
  const char *const *topics; /* extension .6.3.6, ends with NULL; NULL: none */
  bool for_sandbox;          /* extension .6.3.1 */
  bool for_production;       /* extension .6.3.2 */
  int64_t not_before;        /* UNIX seconds; 0: yesterday */
  int64_t not_after;         /* 0: tomorrow */
} push_certificate_t;

/** A new key, RSA or EC; the caller frees. */
EVP_PKEY *keychain_key(bool is_rsa);

/** A certificate for the key, signed by the tests' root; the caller frees. */
X509 *keychain_certificate(const push_certificate_t *traits, EVP_PKEY *key);

/** Puts an extension with these bytes into a certificate that is then signed again. */
void keychain_extend(X509 *certificate, const char *object, const void *bytes, size_t length);

/** A PKCS#12 file to be made. */
typedef struct pkcs12 {
  EVP_PKEY *key;          /* NULL: none */
  X509 *certificate;      /* NULL: none */
  X509 *chain;            /* one more certificate; NULL: none */
  const char *passphrase; /* NULL and "" are two things */
  int key_cipher;         /* NID of a PBE, -1: not encrypted */
  int certificate_cipher;
  bool without_checksum;
} pkcs12_t;

/** Its bytes; the caller frees. */
uint8_t *keychain_pkcs12(const pkcs12_t *traits, size_t *length_out);

/** How a private key is written. */
typedef struct key_form {
  bool is_traditional; /* else PKCS#8 */
  bool is_der;
  int cipher; /* 0: not encrypted; traditional: NID of a cipher; PKCS#8: of a PBE or a cipher */
  const char *passphrase;
} key_form_t;

/** The key in that form; the caller frees. */
uint8_t *keychain_key_bytes(EVP_PKEY *key, const key_form_t *form, size_t *length_out);

/** A certificate as PEM or DER; the caller frees. */
uint8_t *keychain_certificate_bytes(X509 *certificate, bool is_der, size_t *length_out);

#endif
