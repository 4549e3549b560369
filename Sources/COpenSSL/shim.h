/* The door to OpenSSL (1.1.1 and 3): its headers, and what is only a macro there. */
#ifndef APNS_COPENSSL_SHIM_H
#define APNS_COPENSSL_SHIM_H

#include <errno.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
#include <openssl/provider.h>

/* What OpenSSL 3 has and 1.1.1 has not is asked for weakly, so that one archive serves both. */
#pragma weak OSSL_LIB_CTX_new
#pragma weak OSSL_LIB_CTX_free
#pragma weak OSSL_PROVIDER_load
#pragma weak OSSL_PROVIDER_unload
#pragma weak PKCS12_init_ex
#pragma weak PKCS12_decrypt_skey_ex
#pragma weak PKCS8_decrypt_ex
#endif

/* An error's parts, which the two put into the number differently. */
__attribute__((noinline)) static int copenssl_error_library(unsigned long code) {
  if (OpenSSL_version_num() < 0x30000000L) return (int)(code >> 24 & 0xFF);
  return code >> 31 & 1 ? ERR_LIB_SYS : (int)(code >> 23 & 0xFF);
}
__attribute__((noinline)) static int copenssl_error_reason(unsigned long code) {
  return (int)(code & (OpenSSL_version_num() < 0x30000000L ? 0xFFF : 0x7FFFFF));
}

static inline int copenssl_set_min_version(SSL_CTX *context, int version) {
  return (int)SSL_CTX_set_min_proto_version(context, version);
}
static inline int copenssl_set_max_version(SSL_CTX *context, int version) {
  return (int)SSL_CTX_set_max_proto_version(context, version);
}
static inline int copenssl_add_chain_certificate(SSL_CTX *context, X509 *certificate) {
  return (int)SSL_CTX_add1_chain_cert(context, certificate);
}
static inline void copenssl_set_write_mode(SSL *ssl) {
  SSL_set_mode(ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}
static inline int copenssl_set_server_name(SSL *ssl, const char *name) {
  return (int)SSL_set_tlsext_host_name(ssl, name);
}
static inline void copenssl_set_state(SSL *ssl, void *state) { SSL_set_app_data(ssl, state); }
static inline void *copenssl_state(const SSL *ssl) { return SSL_get_app_data(ssl); }

/* The state of the connection whose peer is being verified. */
static inline void *copenssl_verified_state(X509_STORE_CTX *store) {
  SSL *ssl = (SSL *)X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
  return ssl ? SSL_get_app_data(ssl) : NULL;
}
static inline char *copenssl_subject_line(X509 *certificate, char *line, int size) {
  return X509_NAME_oneline(X509_get_subject_name(certificate), line, size);
}

static inline void copenssl_retry_write(BIO *bio) { BIO_set_retry_write(bio); }
static inline void copenssl_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void copenssl_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

/* The alert a TLS error came from, 0 when it was none. */
static inline int copenssl_alert(unsigned long code) {
  int reason = copenssl_error_reason(code);
  return copenssl_error_library(code) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET
             ? reason - SSL_AD_REASON_OFFSET
             : 0;
}
static inline int copenssl_is_no_more_pem(unsigned long code) {
  return copenssl_error_library(code) == ERR_LIB_PEM &&
         copenssl_error_reason(code) == PEM_R_NO_START_LINE;
}
static inline int copenssl_is_end_without_close(unsigned long code) {
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
  return copenssl_error_library(code) == ERR_LIB_SSL &&
         copenssl_error_reason(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
#else
  (void)code;
  return 0;
#endif
}

/* There was no memory, or no file descriptor, for it. The number of the first is 1.1.1's or
   3's, by the library that runs. */
static inline int copenssl_is_exhausted(unsigned long code) {
  const int reason = copenssl_error_reason(code);
  if (copenssl_error_library(code) == ERR_LIB_SYS)
    return reason == ENOMEM || reason == EMFILE || reason == ENFILE;
  return reason == (OpenSSL_version_num() < 0x30000000L ? 65 : 0xC0100);
}

/* ---- Certificates and keys ---------------------------------------------- */

/* A stack of certificates and what is only a macro about it; NULL is an empty one. */
static inline STACK_OF(X509) * copenssl_new_certificates(void) { return sk_X509_new_null(); }
static inline void copenssl_free_certificates(STACK_OF(X509) * stack) {
  sk_X509_pop_free(stack, X509_free);
}
static inline int copenssl_certificate_count(const STACK_OF(X509) * stack) {
  return stack ? sk_X509_num(stack) : 0;
}
static inline X509 *copenssl_certificate(const STACK_OF(X509) * stack, int index) {
  return sk_X509_value(stack, index);
}
static inline int copenssl_append_certificate(STACK_OF(X509) * stack, X509 *certificate) {
  return sk_X509_push(stack, certificate);
}
static inline void copenssl_bring_certificate_to_front(STACK_OF(X509) * stack, int index) {
  X509 *moved = sk_X509_delete(stack, index);
  /* There is room for what was taken out just now. */
  if (moved) sk_X509_unshift(stack, moved);
}

/* The subject as RFC 2253 writes it, but in UTF-8. */
static inline int copenssl_print_subject(BIO *bio, X509 *certificate) {
  return X509_NAME_print_ex(bio, X509_get_subject_name(certificate), 0,
                            XN_FLAG_RFC2253 & ~(unsigned long)ASN1_STRFLGS_ESC_MSB);
}
static inline long copenssl_written(BIO *bio, char **start) { return BIO_get_mem_data(bio, start); }

static inline int copenssl_chain_length(SSL_CTX *context) {
  STACK_OF(X509) *chain = NULL;
  SSL_CTX_get0_chain_certs(context, &chain);
  return copenssl_certificate_count(chain);
}
static inline void copenssl_free(void *bytes) { OPENSSL_free(bytes); }

/* The elements of an ASN.1 sequence. */
static inline int copenssl_element_count(const ASN1_SEQUENCE_ANY *sequence) {
  return sequence ? sk_ASN1_TYPE_num(sequence) : 0;
}
/* The element where it is a text, else NULL. */
static inline const ASN1_STRING *copenssl_text_element(const ASN1_SEQUENCE_ANY *sequence,
                                                       int index) {
  const ASN1_TYPE *element = sk_ASN1_TYPE_value(sequence, index);
  switch (element ? ASN1_TYPE_get(element) : V_ASN1_UNDEF) {
    case V_ASN1_UTF8STRING:
    case V_ASN1_PRINTABLESTRING:
    case V_ASN1_IA5STRING:
      return element->value.asn1_string;
    default:
      return NULL;
  }
}
static inline void copenssl_free_elements(ASN1_SEQUENCE_ANY *sequence) {
  sk_ASN1_TYPE_pop_free(sequence, ASN1_TYPE_free);
}

/* ---- Provider tokens ---------------------------------------------------- */

/* The key is of the curve P-256: as its public half says it, which both read alike. */
static inline int copenssl_is_p256(EVP_PKEY *key) {
  X509_PUBKEY *half = NULL;
  X509_ALGOR *kind = NULL;
  int fine = X509_PUBKEY_set(&half, key) == 1 &&
             X509_PUBKEY_get0_param(NULL, NULL, NULL, &kind, half) == 1 &&
             OBJ_obj2nid(kind->algorithm) == NID_X9_62_id_ecPublicKey && kind->parameter &&
             kind->parameter->type == V_ASN1_OBJECT &&
             OBJ_obj2nid(kind->parameter->value.object) == NID_X9_62_prime256v1;
  X509_PUBKEY_free(half);
  return fine;
}

/* Signs by ES256 with such a key: the two numbers, which OpenSSL has in DER, come to
   `signature`, 32 bytes each. */
static inline int copenssl_sign_es256(EVP_MD_CTX *context, EVP_PKEY *key, const void *bytes,
                                      size_t count, void *signature) {
  unsigned char der[80], *start = (unsigned char *)signature;
  const unsigned char *next = der;
  size_t length = sizeof der;
  if (EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) != 1 ||
      EVP_DigestSign(context, der, &length, (const unsigned char *)bytes, count) != 1)
    return 0;
  ECDSA_SIG *made = d2i_ECDSA_SIG(NULL, &next, (long)length);
  int fine = made && BN_bn2binpad(ECDSA_SIG_get0_r(made), start, 32) == 32 &&
             BN_bn2binpad(ECDSA_SIG_get0_s(made), start + 32, 32) == 32;
  ECDSA_SIG_free(made);
  return fine;
}

/* ---- Files of old ------------------------------------------------------- */

/* This OpenSSL, or the providers it was asked for, have not got a cipher or digest. */
static inline int copenssl_is_unsupported(unsigned long code) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
  return copenssl_error_reason(code) == ERR_R_UNSUPPORTED ||
         (copenssl_error_library(code) == ERR_LIB_EVP &&
          (copenssl_error_reason(code) == EVP_R_UNSUPPORTED_ALGORITHM ||
           copenssl_error_reason(code) == EVP_R_UNSUPPORTED_CIPHER));
#else
  (void)code;
  return 0;
#endif
}

/* A context of our own with OpenSSL 3's legacy provider in it. */
typedef struct copenssl_legacy {
  void *context, *base, *legacy;
} copenssl_legacy_t;

static inline void copenssl_legacy_close(copenssl_legacy_t opened) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
  if (opened.legacy) OSSL_PROVIDER_unload((OSSL_PROVIDER *)opened.legacy);
  if (opened.base) OSSL_PROVIDER_unload((OSSL_PROVIDER *)opened.base);
  if (opened.context) OSSL_LIB_CTX_free((OSSL_LIB_CTX *)opened.context);
#else
  (void)opened;
#endif
}

/* 1 where it is open; 0 where the provider is not installed, or in 1.1.1, which has
   one kind of cipher only. */
static inline int copenssl_legacy_open(copenssl_legacy_t *opened) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
  /* By the version: a weak name may be that of another OpenSSL in the process. */
  OSSL_LIB_CTX *context = OpenSSL_version_num() >= 0x30000000L ? OSSL_LIB_CTX_new() : NULL;
  opened->context = context;
  opened->base = context ? OSSL_PROVIDER_load(context, "default") : NULL;
  opened->legacy = opened->base ? OSSL_PROVIDER_load(context, "legacy") : NULL;
  if (opened->legacy) return 1;
  copenssl_legacy_close(*opened);
#endif
  (void)opened;
  return 0;
}

/* `legacy` NULL: the default context. */
static inline PKCS12 *copenssl_read_pkcs12(BIO *bio, const copenssl_legacy_t *legacy) {
  PKCS12 *file = NULL;
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
  if (legacy && !(file = PKCS12_init_ex(NID_pkcs7_data, (OSSL_LIB_CTX *)legacy->context, NULL)))
    return NULL;
#else
  (void)legacy;
#endif
  return d2i_PKCS12_bio(bio, file ? &file : NULL);
}
static inline PKCS8_PRIV_KEY_INFO *copenssl_unlock_pkcs8(const X509_SIG *locked,
                                                         const char *passphrase,
                                                         const copenssl_legacy_t *legacy) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
  if (legacy)
    return PKCS8_decrypt_ex(locked, passphrase, -1, (OSSL_LIB_CTX *)legacy->context, NULL);
#else
  (void)legacy;
#endif
  return PKCS8_decrypt(locked, passphrase, -1);
}

/* The parts of a PKCS#12 file, each encrypted for itself or not, and what is in one:
   NULL where it cannot be opened. Parts of other kinds are taken for empty. */
static inline void copenssl_free_safes(STACK_OF(PKCS7) * safes) {
  sk_PKCS7_pop_free(safes, PKCS7_free);
}
static inline int copenssl_safe_count(const STACK_OF(PKCS7) * safes) { return sk_PKCS7_num(safes); }
static inline STACK_OF(PKCS12_SAFEBAG) *
    copenssl_unlock_safe(const STACK_OF(PKCS7) * safes, int index, const char *passphrase) {
  PKCS7 *safe = sk_PKCS7_value(safes, index);
  if (PKCS7_type_is_data(safe)) return PKCS12_unpack_p7data(safe);
  if (!PKCS7_type_is_encrypted(safe)) return sk_PKCS12_SAFEBAG_new_null();
  return PKCS12_unpack_p7encdata(safe, passphrase, passphrase ? -1 : 0);
}
static inline void copenssl_free_bags(STACK_OF(PKCS12_SAFEBAG) * bags) {
  sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
}
static inline int copenssl_bag_count(const STACK_OF(PKCS12_SAFEBAG) * bags) {
  return sk_PKCS12_SAFEBAG_num(bags);
}
static inline PKCS12_SAFEBAG *copenssl_bag(const STACK_OF(PKCS12_SAFEBAG) * bags, int index) {
  return sk_PKCS12_SAFEBAG_value(bags, index);
}
static inline PKCS8_PRIV_KEY_INFO *copenssl_unlock_key(PKCS12_SAFEBAG *bag, const char *passphrase,
                                                       const copenssl_legacy_t *legacy) {
  const int length = passphrase ? -1 : 0;
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
  if (legacy)
    return PKCS12_decrypt_skey_ex(bag, passphrase, length, (OSSL_LIB_CTX *)legacy->context, NULL);
#else
  (void)legacy;
#endif
  return PKCS12_decrypt_skey(bag, passphrase, length);
}
/* Not a literal of Swift's, which would bring its String along. */
/* HTTP/2 by ALPN (RFC 7301), and whether the peer chose it. */
static inline int copenssl_offer_http2(SSL *ssl) {
  return SSL_set_alpn_protos(ssl, (const unsigned char *)"\2h2", 3) == 0;
}
static inline int copenssl_has_http2(const SSL *ssl) {
  const unsigned char *name = NULL;
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl, &name, &length);
  return length == 2 && name[0] == 'h' && name[1] == '2';
}

static inline const char *copenssl_empty_text(void) { return ""; }

/* How often a passphrase is hashed, 0 where it is not or that cannot be known: for the
   checksum of a PKCS#12 file, a key, one of its parts, a key in a part. */
static inline long copenssl_mac_iterations(const PKCS12 *file) {
  const ASN1_INTEGER *iterations = NULL;
  PKCS12_get0_mac(NULL, NULL, NULL, &iterations, file);
  return iterations ? ASN1_INTEGER_get(iterations) : 0;
}
/* Where the parameter is a sequence, its bytes; not by an ASN1_ITEM, which is data in 1.1.1
   and a function in 3. */
static inline long copenssl_sequence(const ASN1_TYPE *parameter, const unsigned char **bytes) {
  if (!parameter || parameter->type != V_ASN1_SEQUENCE) return 0;
  *bytes = parameter->value.sequence->data;
  return parameter->value.sequence->length;
}
static inline long copenssl_algorithm_iterations(const X509_ALGOR *algorithm) {
  const ASN1_TYPE *parameter = algorithm ? algorithm->parameter : NULL;
  const unsigned char *bytes = NULL;
  PBE2PARAM *outer = NULL;
  if (algorithm && OBJ_obj2nid(algorithm->algorithm) == NID_pbes2) {
    const long length = copenssl_sequence(parameter, &bytes);
    outer = length > 0 ? d2i_PBE2PARAM(NULL, &bytes, length) : NULL;
    parameter = outer ? outer->keyfunc->parameter : NULL;
  }
  /* The older PBEs have salt and iterations too, and nothing behind them. */
  const long length = copenssl_sequence(parameter, &bytes);
  PBKDF2PARAM *inner = length > 0 ? d2i_PBKDF2PARAM(NULL, &bytes, length) : NULL;
  long iterations = inner ? ASN1_INTEGER_get(inner->iter) : 0;
  PBKDF2PARAM_free(inner);
  PBE2PARAM_free(outer);
  ERR_clear_error();
  return iterations;
}
static inline long copenssl_pkcs8_iterations(const X509_SIG *locked) {
  const X509_ALGOR *algorithm = NULL;
  if (locked) X509_SIG_get0(locked, &algorithm, NULL);
  return copenssl_algorithm_iterations(algorithm);
}
static inline long copenssl_safe_iterations(const STACK_OF(PKCS7) * safes, int index) {
  const PKCS7 *safe = sk_PKCS7_value(safes, index);
  if (!PKCS7_type_is_encrypted(safe) || !safe->d.encrypted) return 0;
  return copenssl_algorithm_iterations(safe->d.encrypted->enc_data->algorithm);
}
static inline long copenssl_bag_iterations(const PKCS12_SAFEBAG *bag) {
  return copenssl_pkcs8_iterations(PKCS12_SAFEBAG_get0_pkcs8(bag));
}

#endif
