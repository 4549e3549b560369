/* A program of tests: what TEST() makes of a file, and what goes before and after. */
#ifndef TESTS_TESTING_H
#define TESTS_TESTING_H

#include <apns/binary.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* cmocka.h needs the two before it, in this order. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
/* clang-format on */

#include "owned.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef __cplusplus
/** The error of the last failed call; separate for each thread, and empty where a test begins. */
__attribute__((unused)) static _Thread_local apns_error_t error = APNS_ERROR_INIT;
#define FORGET_ERROR() error = (apns_error_t)APNS_ERROR_INIT
#else
#define FORGET_ERROR() (void)0
#endif

/** A test. A program runs those of its file in their order; or only one, if TEST names it. */
#define TEST(name)                                                                           \
  static void name(void);                                                                    \
  static void run_##name(__attribute__((unused)) void **state) {                             \
    FORGET_ERROR();                                                                          \
    name();                                                                                  \
  }                                                                                          \
  __attribute__((constructor)) static void add_##name(void) { add_test(#name, run_##name); } \
  static void name(void)
void add_test(const char *name, CMUnitTestFunction run);

/** A file defines those it needs. A function that cannot continue exits with SKIPPED. By
    default, identities_make() runs before all. */
void before_all(void);
void after_all(void);
void before_each(void);
void after_each(void);

/** JSON that has single quotes in C for its double ones; the caller frees. */
char *json_of(const char *text, size_t length);

#define SKIPPED 77

OWNED(credentials, apns_credentials_t, apns_credentials_free)
OWNED(session, apns_session_t, apns_session_free)
OWNED(feedback, apns_feedback_t, apns_feedback_free)
OWNED(payload, apns_payload_t, apns_payload_free)
OWNED(channels, apns_channels_t, apns_channels_free)
OWNED(strings, apns_strings_t, apns_strings_free)
OWNED(text, char, free)
OWNED(bytes, uint8_t, free)

#ifdef __cplusplus
}
#endif

#endif
