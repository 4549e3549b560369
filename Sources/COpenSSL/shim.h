/* The door to OpenSSL (1.1.1 and 3): its headers, and what is only a macro there. */
#ifndef APNS_COPENSSL_SHIM_H
#define APNS_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

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
  int reason = ERR_GET_REASON(code);
  return ERR_GET_LIB(code) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET
             ? reason - SSL_AD_REASON_OFFSET
             : 0;
}
static inline int copenssl_is_no_more_pem(unsigned long code) {
  return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}
static inline int copenssl_is_end_without_close(unsigned long code) {
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
  return ERR_GET_LIB(code) == ERR_LIB_SSL &&
         ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
#else
  (void)code;
  return 0;
#endif
}

#endif
