#include "signing.h"

#include <openssl/ec.h>
#include <openssl/evp.h>

#include "keychain.h"

service_reply_t hear_token(void *context, const service_push_t *push) {
  heard_t *heard = context;
  service_reply_t reply = {0};
  size_t number = 0;
  while (number < heard->count && strcmp(heard->tokens[number], push->authorization)) number++;
  if (number == heard->count && number < sizeof heard->tokens / sizeof *heard->tokens) {
    strncpy(heard->tokens[number], push->authorization, sizeof *heard->tokens - 1);
    heard->count++;
  }
  if (heard->refuses_all || (heard->refused && !strcmp(heard->refused, push->authorization)))
    reply.status = 403, reply.body = "{\"reason\":\"ExpiredProviderToken\"}";
  return reply;
}

apns_credentials_options_t signing_options(EVP_PKEY *key) {
  static struct {
    EVP_PKEY *key;
    uint8_t *bytes;
    size_t length;
  } made[8];
  size_t number = 0;
  while (made[number].key && made[number].key != key) number++;
  assert_true(number < sizeof made / sizeof *made);
  if (!made[number].key) {
    made[number].bytes = keychain_key_bytes(key, &(key_form_t){0}, &made[number].length);
    /* Kept, so that no other key gets its address. */
    EVP_PKEY_up_ref(key);
    made[number].key = key;
  }
  apns_credentials_options_t options = trusting();
  options.token_key_bytes = made[number].bytes;
  options.token_key_length = made[number].length;
  options.key_id = KEY_ID;
  options.team_id = TEAM_ID;
  return options;
}

apns_session_t *signing_session(const service_t *service, const apns_credentials_t *credentials) {
  apns_session_options_t options = push_options(service);
  options.delivery = APNS_DELIVERY_AT_MOST_ONCE;
  return session_with(&options, credentials);
}

void push_once(const service_t *service, const apns_credentials_options_t *options) {
  owned(credentials) credentials = credentials_of(options);
  owned(session) session = signing_session(service, credentials);
  send_range(session, 0, 1);
  drain(session);
  assert_counts(session, 1, 1, 0, 0, 0);
}

/* base64url; returns the decoded length. */
static size_t decoded(const char *text, size_t length, unsigned char *target) {
  char standard[1200];
  assert_true(length + 4 < sizeof standard);
  size_t count = 0;
  for (; count < length; count++) {
    standard[count] = text[count] == '-' ? '+' : text[count] == '_' ? '/' : text[count];
  }
  while (count % 4) standard[count++] = '=';
  const int size = EVP_DecodeBlock(target, (unsigned char *)standard, (int)count);
  return size < 0 ? 0 : (size_t)size - (count - length);
}

bool is_token_of(const char *authorization, EVP_PKEY *key) {
  if (strncmp(authorization, "bearer ", 7)) return false;
  const char *start = authorization + 7, *claims = strchr(start, '.');
  const char *signature = claims ? strchr(claims + 1, '.') : NULL;
  if (!signature) return false;
  unsigned char bytes[1200] = {0};
  decoded(start, (size_t)(claims - start), bytes);
  if (strcmp((char *)bytes, "{\"alg\":\"ES256\",\"kid\":\"" KEY_ID "\"}")) return false;
  memset(bytes, 0, sizeof bytes);
  decoded(claims + 1, (size_t)(signature - claims - 1), bytes);
  if (!strstr((char *)bytes, "\"iss\":\"" TEAM_ID "\"")) return false;
  if (decoded(signature + 1, strlen(signature + 1), bytes) != 64) return false;
  ECDSA_SIG *numbers = ECDSA_SIG_new();
  ECDSA_SIG_set0(numbers, BN_bin2bn(bytes, 32, NULL), BN_bin2bn(bytes + 32, 32, NULL));
  unsigned char *der = NULL;
  const int length = i2d_ECDSA_SIG(numbers, &der);
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  const bool fine = EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, key) == 1 &&
                    EVP_DigestVerify(context, der, (size_t)length, (const unsigned char *)start,
                                     (size_t)(signature - start)) == 1;
  EVP_MD_CTX_free(context);
  OPENSSL_free(der);
  ECDSA_SIG_free(numbers);
  return fine;
}
