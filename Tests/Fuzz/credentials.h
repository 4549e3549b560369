/* What the fuzzers of certificates and keys share. */
#ifndef TESTS_FUZZ_CREDENTIALS_H
#define TESTS_FUZZ_CREDENTIALS_H

#include "fuzz.h"

#define FUZZ_PASSPHRASE "secret"

/**
 * Makes credentials of the options, twice, and asks them all there is to ask. `way`:
 * how the passphrase is said, by callback, as text or not at all.
 */
void fuzz_credentials(apns_credentials_options_t *options, uint8_t way);

#endif
