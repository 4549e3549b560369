/*
 * PKCS#12. The first byte chooses how the passphrase is given and, in its lowest bit, whether the
 * file's checksum is corrected first: otherwise a changed file is refused for its checksum, and the
 * rest is never parsed.
 */
#include <openssl/err.h>
#include <openssl/pkcs12.h>
#include <stdlib.h>
#include <string.h>

#include "credentials.h"

/* Few rounds are fast, and the library refuses more than the maximum; between them it would only
   compute. */
enum { FEW_ITERATIONS = 5000, MOST_ITERATIONS = 10000000 };

static bool is_patient(const PKCS12 *file) {
  const ASN1_INTEGER *iterations = NULL;
  PKCS12_get0_mac(NULL, NULL, NULL, &iterations, file);
  long count = iterations ? ASN1_INTEGER_get(iterations) : 0;
  return count > FEW_ITERATIONS && count <= MOST_ITERATIONS;
}

/* The file with a correct checksum; NULL if its format has no checksum. */
static uint8_t *seal(const uint8_t *data, size_t size, size_t *length_out) {
  PKCS12 *file = d2i_PKCS12(NULL, &data, (long)size);
  uint8_t *sealed = NULL;
  if (file && PKCS12_mac_present(file) &&
      PKCS12_set_mac(file, FUZZ_PASSPHRASE, -1, NULL, 0, 1, EVP_sha1()) == 1) {
    uint8_t *written = NULL;
    int length = i2d_PKCS12(file, &written);
    if (length > 0) {
      *length_out = (size_t)length;
      sealed = fuzz_memory(*length_out);
      memcpy(sealed, written, *length_out);
    }
    OPENSSL_free(written);
  }
  PKCS12_free(file);
  ERR_clear_error();
  return sealed;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input_t input = {data, size};
  uint8_t first = fuzz_take_byte(&input);
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  const uint8_t *next = input.at;
  PKCS12 *file = d2i_PKCS12(NULL, &next, (long)input.left);
  bool takes_long = file && is_patient(file);
  PKCS12_free(file);
  ERR_clear_error();
  if (takes_long) return 0;
  size_t length = 0;
  uint8_t *bytes = first & 1 ? seal(input.at, input.left, &length) : NULL;
  if (!bytes) bytes = (uint8_t *)fuzz_take_text(&input, input.left, &length);
  options.certificate_bytes = bytes;
  options.certificate_length = length;
  fuzz_credentials(&options, first >> 1);
  free(bytes);
  return 0;
}
