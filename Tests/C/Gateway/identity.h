/*
 * Certificates for the tests, made when they run: a CA, the gateway's and the provider's
 * certificates, and each of the wrong kinds.
 */
#ifndef TESTS_GATEWAY_IDENTITY_H
#define TESTS_GATEWAY_IDENTITY_H

#include <limits.h>
#include <openssl/ssl.h>
#include <stdbool.h>

/** A certificate with its key, in memory and as PEM files. */
typedef struct identity {
  EVP_PKEY *key;
  X509 *certificate;
  X509 *intermediate;              /* sent along with it; NULL: the root signed it */
  char certificate_file[PATH_MAX]; /* the certificate, then its chain */
  char key_file[PATH_MAX];
  char together_file[PATH_MAX]; /* certificate, chain and key */
} identity_t;

/** The contents of a certificate for identity_make(). */
typedef struct identity_traits {
  const char *name;              /* file name and CN */
  const char *alternative_names; /* as OpenSSL's subjectAltName, NULL: none */
  const identity_t *signer;      /* NULL: signs itself */
  bool is_authority;
  bool is_expired;
  int rsa_bits; /* 0: EC on P-256 */
} identity_traits_t;

/** All the identities the tests use; made once by identities_make(). */
typedef struct identities {
  char directory[PATH_MAX];
  identity_t root, intermediate, other_root;
  identity_t gateway;             /* localhost, 127.0.0.1, ::1 */
  identity_t gateway_of_stranger; /* the same names, from other_root */
  identity_t gateway_expired;
  identity_t gateway_elsewhere;       /* another host's name */
  identity_t gateway_without_address; /* localhost only */
  identity_t gateway_in_chain;        /* from the intermediate */
  identity_t provider;
  identity_t provider_of_stranger; /* from other_root */
  identity_t provider_in_chain;    /* from the intermediate */
} identities_t;

/** Makes them all in a private temporary directory, removed when the program ends. */
const identities_t *identities_make(void);

/** Makes one more identity. */
void identity_make(identity_t *identity, const identity_traits_t *traits);

/** Frees what identity_make() made; its files stay as long as the program runs. */
void identity_drop(identity_t *identity);

/** A new directory in the temporary one; its path, valid until the next call. */
const char *identities_directory(const char *name);

/** The contents of a list for identities_add_list(). */
typedef struct list_traits {
  const identity_t *issuer;
  const identity_t *revoked; /* NULL: none */
  bool is_expired;
  bool is_forged; /* signed by another key than the issuer's */
} list_traits_t;

/** Appends a revocation list in PEM to a file of the temporary directory, which it creates if
    necessary; returns the path. */
const char *identities_add_list(const char *name, const list_traits_t *traits);

/** "sha256//" and the hash of its key. Valid until the next call. */
const char *identity_pin(const identity_t *identity);

/** The path of a new file with these bytes in the temporary directory, created if necessary. */
const char *identities_write(const char *name, const void *bytes, size_t length);

/** The same file read whole; the caller frees it. */
char *identities_read(const char *file, size_t *length_out);

/** Writes a key encrypted with the passphrase; returns its path. */
const char *identities_write_encrypted(const char *name, const identity_t *identity,
                                       const char *passphrase);

#endif
