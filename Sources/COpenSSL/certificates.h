/* Functions for OpenSSL's macros about certificates, for the simulator and the tool. */
#ifndef APNS_COPENSSL_CERTIFICATES_H
#define APNS_COPENSSL_CERTIFICATES_H

#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* The names in subjectAltName; NULL without that extension. */
static inline GENERAL_NAMES *copenssl_alternative_names(const X509 *certificate) {
  return (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
}
static inline int copenssl_name_count(const GENERAL_NAMES *names) {
  return names ? sk_GENERAL_NAME_num(names) : 0;
}
/* The text of a host name, and the bytes of an address; NULL if it is something else. */
static inline const ASN1_STRING *copenssl_host_name(const GENERAL_NAMES *names, int index) {
  const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
  return name && name->type == GEN_DNS ? name->d.dNSName : NULL;
}
static inline const ASN1_STRING *copenssl_address(const GENERAL_NAMES *names, int index) {
  const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
  return name && name->type == GEN_IPADD ? name->d.iPAddress : NULL;
}

/* Whether it has the URL of its issuer's certificate. */
static inline int copenssl_names_issuers_place(const X509 *certificate) {
  AUTHORITY_INFO_ACCESS *places =
      (AUTHORITY_INFO_ACCESS *)X509_get_ext_d2i(certificate, NID_info_access, NULL, NULL);
  int found = 0;
  for (int index = 0; places && index < sk_ACCESS_DESCRIPTION_num(places); index++)
    found |= OBJ_obj2nid(sk_ACCESS_DESCRIPTION_value(places, index)->method) == NID_ad_ca_issuers;
  AUTHORITY_INFO_ACCESS_free(places);
  return found;
}

/* 1 or 0; -1 if the certificate does not restrict its purpose. */
static inline int copenssl_is_for_clients(X509 *certificate) {
  const uint32_t usage = X509_get_extended_key_usage(certificate);
  return usage == UINT32_MAX ? -1 : (usage & (XKU_SSL_CLIENT | XKU_ANYEKU)) != 0;
}

static inline int copenssl_is_rsa(const X509 *certificate) {
  EVP_PKEY *key = X509_get0_pubkey(certificate);
  return key && EVP_PKEY_base_id(key) == EVP_PKEY_RSA;
}

#endif
