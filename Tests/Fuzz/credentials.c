/*
 * Certificates and keys as bytes, PEM and DER. The first byte chooses how the passphrase is given
 * and, in its lowest bit, whether there are one or two sources. If two, the next two bytes are the
 * certificate's length, and the rest is its key.
 */
#include "credentials.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input_t input = {data, size};
  uint8_t first = fuzz_take_byte(&input);
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  char *key = NULL;
  size_t length = input.left;
  if (first & 1) {
    length = fuzz_take_byte(&input);
    length = length << 8 | fuzz_take_byte(&input);
  }
  char *certificate = fuzz_take_text(&input, length, &options.certificate_length);
  options.certificate_bytes = certificate;
  if (first & 1) {
    key = fuzz_take_text(&input, input.left, &options.key_length);
    options.key_bytes = key;
  }
  fuzz_credentials(&options, first >> 1);
  free(certificate);
  free(key);
  return 0;
}
