/* What the fuzzers in C share: saying what does not hold, and taking input apart. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <apns/apns.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Ends the program where the condition does not hold, and says which it was. */
#define REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

void fuzz_fail(const char *file, int line, const char *condition) __attribute__((noreturn));

/** Whether the bytes are UTF-8 as the Unicode Standard has it. */
bool fuzz_is_utf8(const void *bytes, size_t length);

/**
 * What every call owes: a status that the header knows and that the error repeats, and
 * a message in UTF-8 on one line; untouched where the call was fine. `error` was set
 * up by APNS_ERROR_INIT.
 */
void fuzz_check_error(apns_status_t status, const apns_error_t *error);

/** The same for calls that may not want for memory, time or a network: OK or ARGUMENT. */
void fuzz_check_refusal(apns_status_t status, const apns_error_t *error);

/** Input that is taken from the front; what is missing reads as zeros. */
typedef struct fuzz_input {
  const uint8_t *at;
  size_t left;
} fuzz_input_t;

uint8_t fuzz_take_byte(fuzz_input_t *input);
void fuzz_take_number(fuzz_input_t *input, void *number, size_t size);

/** At most so many bytes, in memory of exactly their size; the caller frees. */
char *fuzz_take_text(fuzz_input_t *input, size_t length, size_t *length_out);

/** Memory of exactly that size, so that the sanitizer sees a byte beyond it. */
void *fuzz_memory(size_t size);

/** One input; what a fuzzer and the replay call. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
