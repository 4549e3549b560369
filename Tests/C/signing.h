/* Provider tokens in the tests: whose key signs them, and which of them the service received. */
#ifndef TESTS_SIGNING_H
#define TESTS_SIGNING_H

#include <openssl/evp.h>

#include "pushing.h"

#define KEY_ID "ABC123DEFG"
#define TEAM_ID "DEF123GHIJ"

/** The tokens that a service received, each once, in the order in which they came. */
typedef struct heard {
  _Atomic size_t count;
  char tokens[64][1100];
  const char *refused; /* answered by ExpiredProviderToken; NULL: none */
  bool refuses_all;
} heard_t;

/** A judge that notes them; its context is a heard_t. */
service_reply_t hear_token(void *context, const service_push_t *push);

/** Options with such a key in memory, as a .p8; the bytes live as long as the program. */
apns_credentials_options_t signing_options(EVP_PKEY *key);

/** A session to the service with these credentials. */
apns_session_t *signing_session(const service_t *service, const apns_credentials_t *credentials);

/** Pushes one notification, like a separate process: with new credentials and a new session. It is
    accepted. */
void push_once(const service_t *service, const apns_credentials_options_t *options);

/** Whether the text after "bearer " is a token of that key, made for KEY_ID and TEAM_ID. */
bool is_token_of(const char *authorization, EVP_PKEY *key);

#endif
