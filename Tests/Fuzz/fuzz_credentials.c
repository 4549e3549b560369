#include <openssl/err.h>
#include <string.h>

#include "credentials.h"

static int questions;

static int say_passphrase(const char *file, char *buffer, size_t capacity, void *context) {
  REQUIRE(file == NULL && context == &questions);
  REQUIRE(capacity >= strlen(FUZZ_PASSPHRASE));
  /* The callback may write the whole buffer. */
  memset(buffer, 0x5A, capacity);
  memcpy(buffer, FUZZ_PASSPHRASE, strlen(FUZZ_PASSPHRASE));
  questions++;
  return (int)strlen(FUZZ_PASSPHRASE);
}

static void check_text(const char *text) {
  REQUIRE(text != NULL && fuzz_is_utf8(text, strlen(text)));
}

static void check_description(const apns_credentials_t *credentials) {
  apns_credentials_description_t told = APNS_CREDENTIALS_DESCRIPTION_INIT, again = told;
  apns_error_t error = APNS_ERROR_INIT;
  REQUIRE(apns_credentials_describe(credentials, &told, &error) == APNS_OK);
  REQUIRE(apns_credentials_describe(credentials, &again, NULL) == APNS_OK);
  REQUIRE(memcmp(&told, &again, sizeof told) == 0);
  check_text(told.subject);
  REQUIRE(told.chain_length >= 1);
  REQUIRE(told.environments <= (1 << APNS_ENVIRONMENT_SANDBOX | 1 << APNS_ENVIRONMENT_PRODUCTION));
  for (size_t i = 0; i < told.topic_count; i++) {
    check_text(told.topics[i]);
    REQUIRE(told.topics[i][0] != 0);
    for (size_t j = 0; j < i; j++) REQUIRE(strcmp(told.topics[i], told.topics[j]) != 0);
  }
  REQUIRE(told.topics[told.topic_count] == NULL);
}

void fuzz_credentials(apns_credentials_options_t *options, uint8_t way) {
  /* Trust and expiry are not tested here. */
  options->dangerously_accept_any_peer = 1;
  options->accept_expired = 1;
  if (way % 4 == 0) {
    options->passphrase_callback = say_passphrase;
    options->passphrase_context = &questions;
  } else if (way % 4 < 3) {
    options->passphrase = way % 4 == 1 ? FUZZ_PASSPHRASE : "";
  }
  apns_error_t errors[2] = {APNS_ERROR_INIT, APNS_ERROR_INIT};
  apns_status_t statuses[2];
  for (int i = 0; i < 2; i++) {
    apns_credentials_t *credentials = NULL;
    questions = 0;
    statuses[i] = apns_credentials_new(options, &credentials, &errors[i]);
    fuzz_check_error(statuses[i], &errors[i]);
    /* Bad bytes never cause errors of memory or network. */
    REQUIRE(statuses[i] == APNS_OK || statuses[i] == APNS_ERR_CREDENTIALS ||
            (statuses[i] == APNS_ERR_ARGUMENT &&
             (options->certificate_length == 0 || (options->key_bytes && !options->key_length))));
    REQUIRE((statuses[i] == APNS_OK) == (credentials != NULL));
    /* Asked once for the certificate and once for the key. */
    REQUIRE(questions <= 2);
    /* OpenSSL's errors do not stay in its queue. */
    REQUIRE(ERR_peek_error() == 0);
    if (credentials) check_description(credentials);
    apns_credentials_free(credentials);
  }
  REQUIRE(statuses[0] == statuses[1]);
  REQUIRE(memcmp(&errors[0], &errors[1], sizeof errors[0]) == 0);
}
