/* Shared by the fuzzers in C: reporting a false condition, and parsing the input. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <apns/apns.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Ends the program if the condition is false, and prints it. */
#define REQUIRE(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

void fuzz_fail(const char *file, int line, const char *condition) __attribute__((noreturn));

/** Whether the bytes are UTF-8 by the Unicode Standard. */
bool fuzz_is_utf8(const void *bytes, size_t length);

/**
 * Checks every call's error: the header has the status, the error repeats it and has a message in
 * UTF-8 on one line; it is untouched on success. `error` was set up with APNS_ERROR_INIT.
 */
void fuzz_check_error(apns_status_t status, const apns_error_t *error);

/** The same for calls that need no memory, time or network: OK or ARGUMENT. */
void fuzz_check_refusal(apns_status_t status, const apns_error_t *error);

/** Input that is read from the front; missing bytes read as zeros. */
typedef struct fuzz_input {
  const uint8_t *at;
  size_t left;
} fuzz_input_t;

uint8_t fuzz_take_byte(fuzz_input_t *input);
void fuzz_take_number(fuzz_input_t *input, void *number, size_t size);

/** At most `length` bytes, in memory of exactly their size; the caller frees it. */
char *fuzz_take_text(fuzz_input_t *input, size_t length, size_t *length_out);

/** Memory of exactly that size, so that the sanitizer detects an access beyond it. */
void *fuzz_memory(size_t size);

/** Runs one input; called by a fuzzer and by the replay. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
