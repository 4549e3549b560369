/* The same loops in C and in C++; Tests/Cpp/cost counts their instructions. */
#ifndef TESTS_CPP_COST_H
#define TESTS_CPP_COST_H

#include <apns/apns.h>

#define COST_TOKEN 32

#ifdef __cplusplus
extern "C" {
#endif

/** Sends to consecutive tokens of COST_TOKEN bytes; returns the sum of the identifiers, 0 if one
    fails. */
typedef uint64_t send_loop_t(apns_session_t *session, const uint8_t *tokens, size_t count,
                             const char *json, size_t json_length);
send_loop_t send_in_c, send_in_cpp, send_in_cpp_throwing;

/** Reads all outcomes; returns the sum of their identifiers. */
typedef uint64_t event_loop_t(apns_session_t *session);
event_loop_t events_in_c, events_in_cpp, events_in_cpp_throwing;

#ifdef __cplusplus
}
#endif

#endif
