/*
 * The signing key, a .p8, with its identifiers. The first byte chooses how the passphrase is given
 * and, in its highest bit, whether the identifiers are valid or come first in the input, each with
 * its length.
 */
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>

#include "credentials.h"

static char *take_identifier(fuzz_input_t *input) {
  size_t length = 0;
  char *text = fuzz_take_text(input, fuzz_take_byte(input) % 16, &length);
  char *ended = fuzz_memory(length + 1);
  memcpy(ended, text, length);
  ended[length] = 0;
  free(text);
  return ended;
}

static bool is_identifier(const char *text) {
  return strlen(text) == 10 && strspn(text,
                                      "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
                                      "wxyz") == 10;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input_t input = {data, size};
  uint8_t first = fuzz_take_byte(&input);
  char *key_id = first & 0x80 ? take_identifier(&input) : NULL;
  char *team_id = first & 0x80 ? take_identifier(&input) : NULL;
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  options.key_id = key_id ? key_id : "ABC123DEFG";
  options.team_id = team_id ? team_id : "DEF123GHIJ";
  char *key = fuzz_take_text(&input, input.left, &options.token_key_length);
  options.token_key_bytes = key;
  /* Reading the system's store would be slow. */
  options.ca_directory = "/";
  if ((first & 3) < 2) options.passphrase = first & 1 ? FUZZ_PASSPHRASE : "";

  apns_error_t errors[2] = {APNS_ERROR_INIT, APNS_ERROR_INIT};
  apns_status_t statuses[2];
  for (int i = 0; i < 2; i++) {
    apns_credentials_t *credentials = NULL;
    statuses[i] = apns_credentials_new(&options, &credentials, &errors[i]);
    fuzz_check_error(statuses[i], &errors[i]);
    REQUIRE(statuses[i] == APNS_OK || statuses[i] == APNS_ERR_CREDENTIALS ||
            statuses[i] == APNS_ERR_ARGUMENT);
    REQUIRE((statuses[i] == APNS_OK) == (credentials != NULL));
    REQUIRE(ERR_peek_error() == 0);
    bool is_known = is_identifier(options.key_id) && is_identifier(options.team_id);
    REQUIRE((statuses[i] == APNS_ERR_ARGUMENT) == (!is_known || options.token_key_length == 0));
    if (credentials) {
      apns_credentials_description_t told = APNS_CREDENTIALS_DESCRIPTION_INIT;
      REQUIRE(apns_credentials_describe(credentials, &told, NULL) == APNS_OK);
      REQUIRE(strcmp(told.key_id, options.key_id) == 0);
      REQUIRE(strcmp(told.team_id, options.team_id) == 0);
      REQUIRE(told.subject == NULL && told.chain_length == 0 && told.topic_count == 0);
    }
    apns_credentials_free(credentials);
  }
  REQUIRE(statuses[0] == statuses[1]);
  REQUIRE(memcmp(&errors[0], &errors[1], sizeof errors[0]) == 0);
  free(key);
  free(key_id);
  free(team_id);
  return 0;
}
