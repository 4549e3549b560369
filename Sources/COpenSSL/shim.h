/* OpenSSL (1.1.1 and 3): its headers, and functions for its macros. */
#ifndef APNS_COPENSSL_SHIM_H
#define APNS_COPENSSL_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
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
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
#include <openssl/kdf.h>
#include <openssl/provider.h>

/* Weak references to functions that only OpenSSL 3 has, so that the archive works with 1.1.1 too.
 */
#pragma weak OSSL_LIB_CTX_new
#pragma weak OSSL_LIB_CTX_free
#pragma weak OSSL_PROVIDER_load
#pragma weak OSSL_PROVIDER_unload
#pragma weak PKCS12_init_ex
#pragma weak PKCS12_decrypt_skey_ex
#pragma weak PKCS8_decrypt_ex
#pragma weak EVP_KDF_fetch
#pragma weak EVP_KDF_free
#pragma weak EVP_KEYEXCH_fetch
#pragma weak EVP_KEYEXCH_free
#pragma weak EVP_SIGNATURE_fetch
#pragma weak EVP_SIGNATURE_free
#pragma weak EVP_ASYM_CIPHER_fetch
#pragma weak EVP_ASYM_CIPHER_free
#pragma weak EVP_MAC_fetch
#pragma weak EVP_MAC_free
#pragma weak EVP_RAND_fetch
#pragma weak EVP_RAND_free
#endif

/* The parts of an error code, which 1.1.1 and 3 encode differently. */
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
/* An idle connection frees its buffers. */
static inline void copenssl_release_buffers(SSL_CTX *context) {
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}
/* A small public key without an owner. An EC_KEY, because OpenSSL 3 is slow to put a provider's key
   into a certificate. NULL if memory runs out. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static inline EVP_PKEY *copenssl_placeholder_key(void) {
  EC_KEY *point = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
  EVP_PKEY *key = EVP_PKEY_new();
  if (point && key &&
      EC_KEY_set_public_key(point, EC_GROUP_get0_generator(EC_KEY_get0_group(point))) == 1 &&
      EVP_PKEY_assign(key, EVP_PKEY_EC, point) == 1)
    return key;
  EC_KEY_free(point);
  EVP_PKEY_free(key);
  return NULL;
}
#pragma GCC diagnostic pop
/* Replaces the public key in the peer's certificate after the handshake, when it is no longer
   needed. This frees a tenth of an idle connection's memory. */
static inline void copenssl_drop_peer_key(const SSL *ssl, EVP_PKEY *other) {
  X509 *peer = SSL_get_peer_certificate(ssl);
  if (peer && other) X509_set_pubkey(peer, other);
  X509_free(peer);
  ERR_clear_error();
}
/* Frees the memory of an empty BIO, which never shrinks on its own. */
static inline void copenssl_empty_memory(BIO *bio) {
  BUF_MEM *fresh = BUF_MEM_new();
  if (fresh && BIO_set_mem_buf(bio, fresh, BIO_CLOSE) != 1) BUF_MEM_free(fresh);
}
/* A server sends only the certificates of its file. By default OpenSSL completes the chain from the
   trust store, including the root. */
static inline void copenssl_show_given_chain(SSL_CTX *context) {
  SSL_CTX_set_mode(context, SSL_MODE_NO_AUTO_CHAIN);
}
/* A server does not cache sessions; session tickets hold them, if it sends any. */
static inline void copenssl_keep_no_sessions(SSL_CTX *context) {
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
}
/* Chooses groups as strong as the server's key. */
static inline int copenssl_take_dhe(SSL_CTX *context) {
  return (int)SSL_CTX_set_dh_auto(context, 1);
}
/* Disables tickets in every version. The option alone only makes TLS 1.3 tickets smaller. */
static inline int copenssl_forbid_tickets(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  return SSL_CTX_set_num_tickets(context, 0);
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

/* The state of the connection that verifies its peer. */
static inline void *copenssl_verified_state(X509_STORE_CTX *store) {
  SSL *ssl = (SSL *)X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
  return ssl ? SSL_get_app_data(ssl) : NULL;
}
/* Whether the trust store has certificates. OpenSSL reads a directory only later. */
static inline int copenssl_trusts_anyone(SSL_CTX *context) {
  X509_STORE *store = SSL_CTX_get_cert_store(context);
  return sk_X509_OBJECT_num(X509_STORE_get0_objects(store)) > 0;
}
/* Fetches each kind of algorithm and parses the trusted certificates' extensions. OpenSSL would do
   so in its first handshake, and would never retry if memory ran out then. */
static inline void copenssl_prepare(SSL_CTX *context) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
#define COPENSSL_FETCH(kind, name)                             \
  if (EVP_##kind##_fetch != NULL && EVP_##kind##_free != NULL) \
  EVP_##kind##_free(EVP_##kind##_fetch(NULL, name, NULL))
  if (OpenSSL_version_num() >= 0x30000000L) {
    COPENSSL_FETCH(KDF, "HKDF");
    COPENSSL_FETCH(KEYEXCH, "ECDH");
    COPENSSL_FETCH(SIGNATURE, "ECDSA");
    COPENSSL_FETCH(ASYM_CIPHER, "RSA");
    COPENSSL_FETCH(MAC, "HMAC");
    COPENSSL_FETCH(RAND, "CTR-DRBG");
  }
#undef COPENSSL_FETCH
#endif
  STACK_OF(X509_OBJECT) *all = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context));
  for (int index = 0; index < sk_X509_OBJECT_num(all); index++) {
    X509 *one = X509_OBJECT_get0_X509(sk_X509_OBJECT_value(all, index));
    if (one) X509_check_purpose(one, -1, 0);
  }
}
/* Marks the context's trust store as empty, for the message about an untrusted peer. 0 if memory
   runs out. */
static inline int copenssl_note_no_anchors(SSL_CTX *context) {
  static char note;
  return X509_STORE_set_ex_data(SSL_CTX_get_cert_store(context), 0, &note);
}
static inline int copenssl_has_no_anchors(X509_STORE_CTX *verified) {
  return X509_STORE_get_ex_data(X509_STORE_CTX_get0_store(verified), 0) != NULL;
}

/* ---- CA certificates that credentials share ------------------------------ */

/* Identifies a file with CA certificates and a directory for more. It differs once the file has
   changed. */
typedef struct {
  uint64_t file[6], directory;
} copenssl_anchors_id_t;

/* The CA certificates that were read last, while there are credentials: a system's take a megabyte,
   and 20 ms to read. */
typedef struct {
  uint32_t users;
  uint8_t is_busy;
  X509_STORE *store;
  copenssl_anchors_id_t id;
} copenssl_anchors_t;

static inline copenssl_anchors_t *copenssl_anchors(void) {
  static copenssl_anchors_t all;
  return &all;
}
/* 0 while another thread uses them. In a process that was forked at that moment it stays 0. */
static inline int copenssl_enter_anchors(copenssl_anchors_t *all) {
  return !__atomic_test_and_set(&all->is_busy, __ATOMIC_ACQUIRE);
}
/* 0 if the file does not exist. */
__attribute__((noinline)) static int copenssl_identify_anchors(const char *file,
                                                               const char *directory,
                                                               copenssl_anchors_id_t *id) {
  struct statx found;
  /* libc's stat() needs glibc 2.33. */
  if (!file || syscall(SYS_statx, AT_FDCWD, file, 0, STATX_BASIC_STATS, &found)) return 0;
  id->file[0] = (uint64_t)found.stx_dev_major << 32 | found.stx_dev_minor;
  id->file[1] = found.stx_ino;
  id->file[2] = found.stx_size;
  id->file[3] = (uint64_t)found.stx_mtime.tv_sec;
  id->file[4] = (uint64_t)found.stx_ctime.tv_sec;
  id->file[5] = (uint64_t)found.stx_mtime.tv_nsec << 32 | found.stx_ctime.tv_nsec;
  /* FNV-1a */
  for (id->directory = 0xCBF29CE484222325; directory && *directory; directory++)
    id->directory = (id->directory ^ (uint8_t)*directory) * 0x100000001B3;
  return 1;
}
/* Has the context trust them if they are those that were read last. */
__attribute__((noinline)) static int copenssl_share_anchors(SSL_CTX *context,
                                                            const copenssl_anchors_id_t *id) {
  copenssl_anchors_t *all = copenssl_anchors();
  if (!copenssl_enter_anchors(all)) return 0;
  const int is_same =
      all->store && !memcmp(&all->id, id, sizeof *id) && X509_STORE_up_ref(all->store) == 1;
  if (is_same) SSL_CTX_set_cert_store(context, all->store);
  __atomic_clear(&all->is_busy, __ATOMIC_RELEASE);
  return is_same;
}
/* Keeps the context's certificates for others; with a context of NULL, drops those that are kept.
 */
__attribute__((noinline)) static void copenssl_keep_anchors(SSL_CTX *context,
                                                            const copenssl_anchors_id_t *id) {
  copenssl_anchors_t *all = copenssl_anchors();
  X509_STORE *kept = context ? SSL_CTX_get_cert_store(context) : NULL;
  if (!copenssl_enter_anchors(all)) return;
  X509_STORE *old = all->store;
  all->store = kept && X509_STORE_up_ref(kept) == 1 ? kept : NULL;
  if (all->store) all->id = *id;
  __atomic_clear(&all->is_busy, __ATOMIC_RELEASE);
  X509_STORE_free(old);
}
static inline void copenssl_use_anchors(void) {
  __atomic_add_fetch(&copenssl_anchors()->users, 1, __ATOMIC_ACQ_REL);
}
static inline void copenssl_leave_anchors(void) {
  if (!__atomic_sub_fetch(&copenssl_anchors()->users, 1, __ATOMIC_ACQ_REL))
    copenssl_keep_anchors(NULL, NULL);
}

/* The peer's certificate, which the caller frees; NULL if it sent none. */
static inline X509 *copenssl_peer_certificate(const SSL *ssl) {
  return SSL_get_peer_certificate(ssl);
}
static inline char *copenssl_subject_line(X509 *certificate, char *line, int size) {
  return X509_NAME_oneline(X509_get_subject_name(certificate), line, size);
}

static inline void copenssl_retry_write(BIO *bio) { BIO_set_retry_write(bio); }
static inline void copenssl_retry_read(BIO *bio) { BIO_set_retry_read(bio); }
static inline void copenssl_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

/* The alert behind a TLS error; 0 if the error has another cause. */
static inline int copenssl_alert(unsigned long code) {
  int reason = copenssl_error_reason(code);
  return copenssl_error_library(code) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET
             ? reason - SSL_AD_REASON_OFFSET
             : 0;
}
/* The peer sent something other than a TLS record. */
static inline int copenssl_is_not_tls(unsigned long code) {
  if (copenssl_error_library(code) != ERR_LIB_SSL) return 0;
  const int reason = copenssl_error_reason(code);
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_PACKET_LENGTH_TOO_LONG ||
         reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST;
}
/* The peer chose a TLS version that is not allowed here. */
static inline int copenssl_is_other_version(unsigned long code) {
  if (copenssl_error_library(code) != ERR_LIB_SSL) return 0;
  const int reason = copenssl_error_reason(code);
  return reason == SSL_R_UNSUPPORTED_PROTOCOL || reason == SSL_R_WRONG_SSL_VERSION;
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

/* Memory or file descriptors ran out. The code for memory depends on the OpenSSL that runs. */
static inline int copenssl_is_exhausted(unsigned long code) {
  const int reason = copenssl_error_reason(code);
  if (copenssl_error_library(code) == ERR_LIB_SYS)
    return reason == ENOMEM || reason == EMFILE || reason == ENFILE;
  return reason == (OpenSSL_version_num() < 0x30000000L ? 65 : 0xC0100);
}

/* OpenSSL failed internally, not because of the peer; it does not with enough memory. These reasons
   have a separate range of numbers: in 1.1.1, 65 to 71. */
static inline int copenssl_is_internal(unsigned long code) {
  const int reason = copenssl_error_reason(code);
  if (copenssl_error_library(code) == ERR_LIB_EVP && reason == EVP_R_INITIALIZATION_ERROR) return 1;
#ifdef EVP_R_NOT_ABLE_TO_COPY_CTX /* not in 1.1.1 */
  if (copenssl_error_library(code) == ERR_LIB_EVP && reason == EVP_R_NOT_ABLE_TO_COPY_CTX) return 1;
#endif
  return OpenSSL_version_num() < 0x30000000L ? reason > 64 && reason < 72
                                             : (reason & 0xC0000) == 0xC0000;
}

/* The key does not belong to the certificate. */
static inline int copenssl_is_other_key(unsigned long code) {
  const int reason = copenssl_error_reason(code);
  return copenssl_error_library(code) == ERR_LIB_X509 &&
         (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH);
}

/* ---- Certificates and keys ---------------------------------------------- */

/* A stack of certificates, for which OpenSSL has only macros. NULL is an empty stack. */
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
  /* Cannot fail: the deletion left a free place. */
  if (moved) sk_X509_unshift(stack, moved);
}

static inline void copenssl_drop_certificate(STACK_OF(X509) * stack, int index) {
  X509_free(sk_X509_delete(stack, index));
}

/* A stack of private keys, of a type that 1.1.1 also has. */
static inline OPENSSL_STACK *copenssl_new_keys(void) { return OPENSSL_sk_new_null(); }
static inline int copenssl_key_count(const OPENSSL_STACK *keys) { return OPENSSL_sk_num(keys); }
static inline EVP_PKEY *copenssl_key(const OPENSSL_STACK *keys, int index) {
  return (EVP_PKEY *)OPENSSL_sk_value(keys, index);
}
static inline int copenssl_append_key(OPENSSL_STACK *keys, EVP_PKEY *key) {
  return OPENSSL_sk_push(keys, key);
}
static inline void copenssl_drop_keys(OPENSSL_STACK *keys) {
  while (OPENSSL_sk_num(keys) > 0) EVP_PKEY_free((EVP_PKEY *)OPENSSL_sk_pop(keys));
}
static inline void copenssl_free_keys(OPENSSL_STACK *keys) {
  copenssl_drop_keys(keys);
  OPENSSL_sk_free(keys);
}

/* Apple's push extensions in a certificate: bit n for 1.2.840.113635.100.6.3.n. */
static inline uint32_t copenssl_push_uses(const X509 *certificate) {
  static const unsigned char arc[] = {0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x03};
  uint32_t uses = 0;
  for (int index = 0; index < X509_get_ext_count(certificate); index++) {
    const ASN1_OBJECT *object = X509_EXTENSION_get_object(X509_get_ext(certificate, index));
    const unsigned char *bytes = OBJ_get0_data(object);
    if (OBJ_length(object) == sizeof arc + 1 && !memcmp(bytes, arc, sizeof arc))
      uses |= UINT32_C(1) << (bytes[sizeof arc] & 31);
  }
  return uses;
}
/* The subject's first entry of that type; NULL without one. */
static inline const ASN1_STRING *copenssl_subject_entry(const X509 *certificate, int nid) {
  X509_NAME *name = X509_get_subject_name(certificate);
  const int index = X509_NAME_get_index_by_NID(name, nid, -1);
  return index < 0 ? NULL : X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index));
}
/* Whether both certificates are for the same app and environments. */
static inline int copenssl_is_same_app(const X509 *one, const X509 *other) {
  const ASN1_STRING *app = copenssl_subject_entry(one, NID_userId);
  const ASN1_STRING *others = copenssl_subject_entry(other, NID_userId);
  return app && others && ASN1_STRING_cmp(app, others) == 0 &&
         copenssl_push_uses(one) == copenssl_push_uses(other);
}
static inline int copenssl_ends_later(const X509 *one, const X509 *other) {
  return ASN1_TIME_compare(X509_get0_notAfter(one), X509_get0_notAfter(other)) > 0;
}

/* Prints a name in the format of RFC 2253, but in UTF-8. */
static inline int copenssl_print_name(BIO *bio, const X509_NAME *name) {
  return X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253 & ~(unsigned long)ASN1_STRFLGS_ESC_MSB);
}
static inline int copenssl_print_subject(BIO *bio, X509 *certificate) {
  return copenssl_print_name(bio, X509_get_subject_name(certificate));
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
/* The element if it is a string, else NULL. */
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

/* Whether the key uses the curve P-256. Reads the public half, which works in 1.1.1 and 3. */
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

/* Converts an ES256 signature from OpenSSL's DER to two numbers of 32 bytes. */
static inline int copenssl_read_es256(const unsigned char *der, size_t length, void *signature) {
  unsigned char *start = (unsigned char *)signature;
  const unsigned char *next = der;
  ECDSA_SIG *made = d2i_ECDSA_SIG(NULL, &next, (long)length);
  int fine = made && next == der + length &&
             BN_bn2binpad(ECDSA_SIG_get0_r(made), start, 32) == 32 &&
             BN_bn2binpad(ECDSA_SIG_get0_s(made), start + 32, 32) == 32;
  ECDSA_SIG_free(made);
  return fine;
}
/* Signs by ES256 with a P-256 key. */
static inline int copenssl_sign_es256(EVP_MD_CTX *context, EVP_PKEY *key, const void *bytes,
                                      size_t count, void *signature) {
  unsigned char der[80];
  size_t length = sizeof der;
  return EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
         EVP_DigestSign(context, der, &length, (const unsigned char *)bytes, count) == 1 &&
         copenssl_read_es256(der, length, signature);
}

static inline int copenssl_sha256(const void *bytes, size_t count, void *digest) {
  return EVP_Digest(bytes, count, (unsigned char *)digest, NULL, EVP_sha256(), NULL);
}
/* SHA-256 of a SubjectPublicKeyInfo; 0 if memory runs out. */
static inline int copenssl_info_digest(X509_PUBKEY *info, void *digest) {
  unsigned char *bytes = NULL;
  const int length = i2d_X509_PUBKEY(info, &bytes);
  const int fine = length > 0 && copenssl_sha256(bytes, (size_t)length, digest);
  OPENSSL_free(bytes);
  return fine;
}
static inline int copenssl_public_digest(EVP_PKEY *key, void *digest) {
  X509_PUBKEY *half = NULL;
  const int fine = X509_PUBKEY_set(&half, key) == 1 && copenssl_info_digest(half, digest);
  X509_PUBKEY_free(half);
  return fine;
}
static inline int copenssl_key_digest(X509 *certificate, unsigned char *digest) {
  return copenssl_info_digest(X509_get_X509_PUBKEY(certificate), digest);
}

/* ---- Requirements on a peer --------------------------------------------- */

/* Answers HelloRequest with an alert (RFC 9113, 9.2.1). No protocol here needs renegotiation. */
static inline void copenssl_refuse_renegotiation(SSL_CTX *context) {
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
}

/* Ignores the common name if there are alternative names. By default OpenSSL uses it unless one of
   them is a host name. */
static inline void copenssl_compare_names_strictly(X509_STORE_CTX *verified) {
  unsigned flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS;
  X509 *certificate = X509_STORE_CTX_get0_cert(verified);
  if (certificate && X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1) >= 0)
    flags |= X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  X509_VERIFY_PARAM_set_hostflags(X509_STORE_CTX_get0_param(verified), flags);
}

/* Finds an issuer's revocation lists in a separate store. In the trust store, any certificate in
   the lists' directory would count as a CA certificate. */
__attribute__((noinline)) static STACK_OF(X509_CRL) *
    copenssl_look_up_lists(const X509_STORE_CTX *verified, const X509_NAME *issuer) {
  SSL *ssl = (SSL *)X509_STORE_CTX_get_ex_data((X509_STORE_CTX *)verified,
                                               SSL_get_ex_data_X509_STORE_CTX_idx());
  X509_STORE *lists = ssl ? (X509_STORE *)SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)) : NULL;
  X509_STORE_CTX *search = lists ? X509_STORE_CTX_new() : NULL;
  STACK_OF(X509_CRL) *found = NULL;
  if (search && X509_STORE_CTX_init(search, lists, NULL, NULL) == 1)
    found = X509_STORE_CTX_get1_crls(search, (X509_NAME *)issuer);
  X509_STORE_CTX_free(search);
  return found;
}

/* Looks up every certificate of a chain in the lists, which must outlive the context. */
static inline void copenssl_check_lists(SSL_CTX *context, X509_STORE *lists) {
  X509_STORE *anchors = SSL_CTX_get_cert_store(context);
  SSL_CTX_set_app_data(context, lists);
  X509_STORE_set_lookup_crls(anchors, (X509_STORE_CTX_lookup_crls_fn)copenssl_look_up_lists);
  X509_STORE_set_flags(anchors, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);
}
static inline int copenssl_add_list_directory(X509_STORE *lists, const char *directory) {
  X509_LOOKUP *lookup = X509_STORE_add_lookup(lists, X509_LOOKUP_hash_dir());
  return lookup && X509_LOOKUP_add_dir(lookup, directory, X509_FILETYPE_PEM) == 1;
}

/* ---- Legacy files ------------------------------------------------------- */

/* OpenSSL, or the loaded providers, lack a cipher or digest. */
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

/* A library context with OpenSSL 3's legacy provider. */
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

/* 1 if it is open; 0 if the provider is not installed, or in 1.1.1, which has no providers. */
static inline int copenssl_legacy_open(copenssl_legacy_t *opened) {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
  /* Checks the version, because a weak symbol may belong to another OpenSSL in the process. */
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

/* Uses the default context if `legacy` is NULL. */
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

/* The parts of a PKCS#12 file, each encrypted separately or not at all, and the contents of a part:
   NULL if it cannot be opened, empty if its type is unknown. */
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
/* Offers HTTP/2 by ALPN (RFC 7301). */
static inline int copenssl_offer_http2(SSL *ssl) {
  return SSL_set_alpn_protos(ssl, (const unsigned char *)"\2h2", 3) == 0;
}
/* Calls a function with each of the peer's extensions; number 16 is ALPN (RFC 7301). */
typedef void (*copenssl_extension)(SSL *ssl, int from_server, int type, const unsigned char *data,
                                   int length, void *context);
static inline void copenssl_watch_extensions(SSL *ssl, copenssl_extension report, void *context) {
  SSL_set_tlsext_debug_callback(ssl, report);
  SSL_set_tlsext_debug_arg(ssl, context);
}
static inline int copenssl_has_http2(const SSL *ssl) {
  const unsigned char *name = NULL;
  unsigned length = 0;
  SSL_get0_alpn_selected(ssl, &name, &length);
  return length == 2 && name[0] == 'h' && name[1] == '2';
}
/* A server with HTTP/2 chooses it if the client offers it, and no protocol otherwise. */
__attribute__((noinline)) static int copenssl_choose_http2(SSL *ssl, const unsigned char **name,
                                                           unsigned char *length,
                                                           const unsigned char *offered,
                                                           unsigned count, void *nothing) {
  (void)ssl, (void)nothing;
  const int chosen = SSL_select_next_proto((unsigned char **)name, length,
                                           (const unsigned char *)"\2h2", 3, offered, count);
  return chosen == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}
static inline void copenssl_take_http2(SSL_CTX *context) {
  SSL_CTX_set_alpn_select_cb(context, copenssl_choose_http2, NULL);
}

/* In C, because a Swift literal would link Swift's String. */
static inline const char *copenssl_empty_text(void) { return ""; }

/* ---- Cost of a passphrase ------------------------------------------------ */

/* How a key is derived from a passphrase, and about how long that takes. */
typedef enum copenssl_derivation {
  COPENSSL_PLAIN,   /* not encrypted */
  COPENSSL_UNKNOWN, /* unknown algorithm */
  COPENSSL_ROUNDS,  /* PBKDF1, PBKDF2 or PKCS#12's */
  COPENSSL_SCRYPT
} copenssl_derivation_t;
typedef struct copenssl_work {
  copenssl_derivation_t derivation;
  uint64_t rounds; /* scrypt: N */
  uint64_t r, p;   /* scrypt */
  uint64_t ns;     /* on an ordinary core without hash instructions */
  uint64_t memory; /* in bytes */
} copenssl_work_t;

/* Saturates at UINT64_MAX. */
static inline uint64_t copenssl_times(uint64_t one, uint64_t other) {
  uint64_t product;
  return __builtin_mul_overflow(one, other, &product) ? UINT64_MAX : product;
}
static inline uint64_t copenssl_plus(uint64_t one, uint64_t other) {
  return one > UINT64_MAX - other ? UINT64_MAX : one + other;
}
/* UINT64_MAX for a negative number or one of more than 64 bits. */
static inline uint64_t copenssl_number(const ASN1_INTEGER *number, uint64_t missing) {
  uint64_t value;
  if (!number) return missing;
  if (ASN1_INTEGER_get_uint64(&value, number) == 1) return value;
  ERR_clear_error();
  return UINT64_MAX;
}

/* How long a round of a hash takes, in ns, and its size in `bytes`; 0 if unknown. */
static inline uint64_t copenssl_hash_ns(int nid, int is_hmac, uint64_t *bytes) {
  static const struct {
    int hash, hmac;
    uint16_t bytes, ns;
  } all[] = {
      {NID_md5, NID_hmacWithMD5, 16, 150},
      {NID_sha1, NID_hmacWithSHA1, 20, 150},
      {NID_sha224, NID_hmacWithSHA224, 28, 180},
      {NID_sha256, NID_hmacWithSHA256, 32, 180},
      {NID_sha384, NID_hmacWithSHA384, 48, 250},
      {NID_sha512, NID_hmacWithSHA512, 64, 250},
      {NID_sha512_224, NID_hmacWithSHA512_224, 28, 250},
      {NID_sha512_256, NID_hmacWithSHA512_256, 32, 250},
      {NID_sha3_224, NID_hmac_sha3_224, 28, 400},
      {NID_sha3_256, NID_hmac_sha3_256, 32, 400},
      {NID_sha3_384, NID_hmac_sha3_384, 48, 400},
      {NID_sha3_512, NID_hmac_sha3_512, 64, 400},
  };
  for (size_t place = 0; place < sizeof all / sizeof *all; place++) {
    if (nid != (is_hmac ? all[place].hmac : all[place].hash)) continue;
    *bytes = all[place].bytes;
    return all[place].ns;
  }
  return 0;
}
static inline copenssl_work_t copenssl_rounds(uint64_t rounds, uint64_t ns_each) {
  copenssl_work_t work = {ns_each ? COPENSSL_ROUNDS : COPENSSL_UNKNOWN, rounds, 0, 0, 0, 0};
  work.ns = copenssl_times(rounds, ns_each);
  return work;
}

/* The bytes of a parameter that is a sequence. Avoids ASN1_ITEM, which is data in 1.1.1 and a
   function in 3. */
static inline long copenssl_sequence(const ASN1_TYPE *parameter, const unsigned char **bytes) {
  if (!parameter || parameter->type != V_ASN1_SEQUENCE) return 0;
  *bytes = parameter->value.sequence->data;
  return parameter->value.sequence->length;
}

/* A round costs two and a half hashes for each hash-sized piece of the key's `length` bytes. */
static inline copenssl_work_t copenssl_pbkdf2(const ASN1_TYPE *parameter, uint64_t length) {
  const unsigned char *bytes = NULL;
  const long count = copenssl_sequence(parameter, &bytes);
  PBKDF2PARAM *given = count > 0 ? d2i_PBKDF2PARAM(NULL, &bytes, count) : NULL;
  copenssl_work_t work = copenssl_rounds(0, 0);
  if (given) {
    uint64_t size = 1;
    const int hmac = given->prf ? OBJ_obj2nid(given->prf->algorithm) : NID_hmacWithSHA1;
    const uint64_t ns = copenssl_hash_ns(hmac, 1, &size);
    if (size > length) size = length;
    work = copenssl_rounds(copenssl_number(given->iter, UINT64_MAX),
                           ns * 5 / 2 * ((length + size - 1) / size));
  }
  PBKDF2PARAM_free(given);
  return work;
}
static inline copenssl_work_t copenssl_scrypt(const ASN1_TYPE *parameter) {
  const unsigned char *bytes = NULL;
  const long count = copenssl_sequence(parameter, &bytes);
  SCRYPT_PARAMS *given = count > 0 ? d2i_SCRYPT_PARAMS(NULL, &bytes, count) : NULL;
  copenssl_work_t work = {COPENSSL_UNKNOWN, 0, 0, 0, 0, 0};
  if (given) {
    work.derivation = COPENSSL_SCRYPT;
    work.rounds = copenssl_number(given->costParameter, UINT64_MAX);
    work.r = copenssl_number(given->blockSize, UINT64_MAX);
    work.p = copenssl_number(given->parallelizationParameter, UINT64_MAX);
    const uint64_t blocks = copenssl_times(work.r, work.p);
    /* PBKDF2 makes the blocks, which are then mixed. */
    work.ns = copenssl_plus(copenssl_times(copenssl_times(work.rounds, blocks), 300),
                            copenssl_times(blocks, 1000));
    work.memory = copenssl_plus(copenssl_times(copenssl_times(work.rounds, work.r), 128),
                                copenssl_times(blocks, 128));
  }
  SCRYPT_PARAMS_free(given);
  return work;
}

static inline copenssl_work_t copenssl_algorithm_work(const X509_ALGOR *algorithm) {
  const copenssl_work_t plain = {COPENSSL_PLAIN, 0, 0, 0, 0, 0};
  copenssl_work_t work = {COPENSSL_UNKNOWN, 0, 0, 0, 0, 0};
  const unsigned char *bytes = NULL;
  if (!algorithm) return plain;
  const long count = copenssl_sequence(algorithm->parameter, &bytes);
  switch (OBJ_obj2nid(algorithm->algorithm)) {
    case NID_pbes2:
    case NID_pbmac1: { /* has the same two parts */
      PBE2PARAM *given = count > 0 ? d2i_PBE2PARAM(NULL, &bytes, count) : NULL;
      if (given) {
        /* No cipher or checksum takes a longer key; common ciphers take at most half. */
        uint64_t length = 64;
        switch (OBJ_obj2nid(given->encryption->algorithm)) {
          case NID_aes_128_cbc:
          case NID_aes_192_cbc:
          case NID_aes_256_cbc:
          case NID_des_ede3_cbc:
          case NID_des_cbc:
          case NID_rc2_cbc:
            length = 32;
        }
        switch (OBJ_obj2nid(given->keyfunc->algorithm)) {
          case NID_id_pbkdf2:
            work = copenssl_pbkdf2(given->keyfunc->parameter, length);
            break;
          case NID_id_scrypt:
            work = copenssl_scrypt(given->keyfunc->parameter);
            break;
        }
      }
      PBE2PARAM_free(given);
      break;
    }
    case NID_pbe_WithSHA1And128BitRC4:
    case NID_pbe_WithSHA1And40BitRC4:
    case NID_pbe_WithSHA1And3_Key_TripleDES_CBC:
    case NID_pbe_WithSHA1And2_Key_TripleDES_CBC:
    case NID_pbe_WithSHA1And128BitRC2_CBC:
    case NID_pbe_WithSHA1And40BitRC2_CBC:
    case NID_pbeWithMD2AndDES_CBC:
    case NID_pbeWithMD5AndDES_CBC:
    case NID_pbeWithMD2AndRC2_CBC:
    case NID_pbeWithMD5AndRC2_CBC:
    case NID_pbeWithSHA1AndDES_CBC:
    case NID_pbeWithSHA1AndRC2_CBC: {
      /* Two pieces for the longest key, and one for the start. */
      PBEPARAM *given = count > 0 ? d2i_PBEPARAM(NULL, &bytes, count) : NULL;
      if (given) work = copenssl_rounds(copenssl_number(given->iter, 1), 3 * 150);
      PBEPARAM_free(given);
      break;
    }
  }
  ERR_clear_error();
  return work;
}

/* The cost of checking a PKCS#12 file's checksum once, of a key, of a part, and of a key in a part.
 */
static inline copenssl_work_t copenssl_mac_work(const PKCS12 *file) {
  const ASN1_INTEGER *iterations = NULL;
  const X509_ALGOR *algorithm = NULL;
  uint64_t size;
  PKCS12_get0_mac(NULL, &algorithm, NULL, &iterations, file);
  const int nid = algorithm ? OBJ_obj2nid(algorithm->algorithm) : NID_undef;
  if (nid == NID_pbmac1) return copenssl_algorithm_work(algorithm);
  return copenssl_rounds(copenssl_number(iterations, 1), copenssl_hash_ns(nid, 0, &size));
}
static inline copenssl_work_t copenssl_pkcs8_work(const X509_SIG *locked) {
  const X509_ALGOR *algorithm = NULL;
  if (locked) X509_SIG_get0(locked, &algorithm, NULL);
  return copenssl_algorithm_work(algorithm);
}
static inline copenssl_work_t copenssl_safe_work(const STACK_OF(PKCS7) * safes, int index) {
  const PKCS7 *safe = sk_PKCS7_value(safes, index);
  if (!PKCS7_type_is_encrypted(safe) || !safe->d.encrypted) return copenssl_algorithm_work(NULL);
  return copenssl_algorithm_work(safe->d.encrypted->enc_data->algorithm);
}
static inline copenssl_work_t copenssl_bag_work(const PKCS12_SAFEBAG *bag) {
  return copenssl_pkcs8_work(PKCS12_SAFEBAG_get0_pkcs8(bag));
}

/* ---- Cost of a key ------------------------------------------------------- */

/* Key types for TLS. Reading others may take any time: for DSA, OpenSSL computes the public half,
   with numbers as long as the file. */
static inline int copenssl_is_usual_kind(const ASN1_OBJECT *kind) {
  switch (OBJ_obj2nid(kind)) {
    case NID_rsaEncryption:
    case NID_rsassaPss:
    case NID_X9_62_id_ecPublicKey:
    case NID_ED25519:
    case NID_ED448:
      return 1;
    default:
      return 0;
  }
}
/* The size of the key in bytes; 0 if it has another type. */
static inline int copenssl_private_length(const PKCS8_PRIV_KEY_INFO *given) {
  const ASN1_OBJECT *kind = NULL;
  const unsigned char *bytes = NULL;
  int length = 0;
  if (PKCS8_pkey_get0(&kind, &bytes, &length, NULL, given) != 1) return 0;
  return copenssl_is_usual_kind(kind) ? length : 0;
}
/* Whether a key of `length` bytes signs in a normal time: RSA with at most 16,384 bits, and no part
   longer than its modulus allows. */
static inline int copenssl_is_quick(EVP_PKEY *key, long length) {
  X509_PUBKEY *half = NULL;
  ASN1_OBJECT *kind = NULL;
  const unsigned char *bytes = NULL;
  int count = 0;
  const int fine = X509_PUBKEY_set(&half, key) == 1 &&
                   X509_PUBKEY_get0_param(&kind, &bytes, &count, NULL, half) == 1 &&
                   copenssl_is_usual_kind(kind) && count <= 2100 && length <= 5L * count + 512;
  X509_PUBKEY_free(half);
  return fine;
}
static inline void copenssl_wipe_and_free(void *bytes, long count) {
  OPENSSL_clear_free(bytes, count > 0 ? (size_t)count : 0);
}

#endif
