/* That the library is found and runs; Conan's package is not tested for what it does. */
#include <apns/apns.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  uint8_t token[APNS_TOKEN_MAX];
  size_t length = 0;
  apns_error_t error = APNS_ERROR_INIT;
  const char *hex = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412";
  if (apns_token_from_hex(hex, strlen(hex), token, sizeof token, &length, &error)) {
    puts(error.message);
    return 1;
  }
  printf("libapns %s\n", apns_version());
  return length != 32;
}
