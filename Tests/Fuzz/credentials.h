/* Shared by the fuzzers of certificates and keys. */
#ifndef TESTS_FUZZ_CREDENTIALS_H
#define TESTS_FUZZ_CREDENTIALS_H

#include "fuzz.h"

#define FUZZ_PASSPHRASE "secret"

/**
 * Makes credentials of the options, twice, and calls every getter. `way`: how the passphrase is
 * given, by callback, as text or not at all.
 */
void fuzz_credentials(apns_credentials_options_t *options, uint8_t way);

#endif
