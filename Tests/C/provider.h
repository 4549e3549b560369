/*
 * The provider's side of the tests: sessions to a scripted gateway, distinguishable notifications,
 * and checks of their outcomes.
 */
#ifndef TESTS_PROVIDER_H
#define TESTS_PROVIDER_H

#include "Gateway/gateway.h"
#include "testing.h"

/** Fails with the text of `error` if the call did not return `expected`. */
#define assert_status(expected, call) \
  check_status((expected), (call), &error, #call, __FILE__, __LINE__)
#define assert_ok(call) assert_status(APNS_OK, call)

void check_status(apns_status_t expected, apns_status_t found, const apns_error_t *error,
                  const char *call, const char *file, int line);

/** The call fails with that status, and the message contains that part. */
#define assert_fails(expected, call, part) \
  (assert_status(expected, call), assert_contains(error.message, part))

/** An argument is refused. */
#define assert_invalid(call, part) assert_fails(APNS_ERR_ARGUMENT, call, part)

/** The message is that text. */
#define assert_says(expected, call, text) \
  (assert_status(expected, call), assert_string_equal(error.message, text))

#define assert_caused(expected, call, by) \
  (assert_status(expected, call), assert_int_equal(error.cause, by))

#define assert_contains(text, part) check_contains((text), (part), __FILE__, __LINE__)
void check_contains(const char *text, const char *part, const char *file, int line);

/** Milliseconds of the monotonic clock. */
int64_t clock_ms(void);

/** The time that a busy machine may add; less than AMPLE_MS, so that a wrong wait is detected. */
int64_t patience_ms(void);

/** Fails if more than `limit_ms`, and the delay of a busy machine, have passed. */
#define assert_within(start_ms, limit_ms) \
  assert_in_range(clock_ms() - (start_ms), 0, (limit_ms) + patience_ms())

/**
 * A deadline for calls that have to succeed. It does not pass even on a busy machine or under
 * valgrind; a call that hangs ends by it before ctest ends the test.
 */
#define AMPLE_MS 240000

/** Milliseconds of a processor that this program has used, which other programs do not add to. */
int64_t cpu_ms(void);

/** Fails where more than `limit_ms` of it, ten times that under valgrind, have been used. */
#define assert_costs(start_ms, limit_ms) \
  assert_in_range(cpu_ms() - (start_ms), 0, (limit_ms)*as_many_as(1, 10))

/**
 * For a test of the parent's objects in a child process: the library detects a child by a page that
 * the system wipes on fork. An emulator that accepts and ignores the request (qemu) runs the child
 * as if it were the parent; then the test is skipped.
 */
void skip_unless_pages_are_wiped_on_fork(void);

/** `many`, or `few` where each step is dear (under valgrind). */
size_t as_many_as(size_t many, size_t few);

apns_credentials_t *credentials_of(const apns_credentials_options_t *options);

/** Options that trust the root, and show nothing. */
apns_credentials_options_t trusting(void);

/** Trusts the root and shows the provider's certificate; the caller frees. */
apns_credentials_t *provider_credentials(void);

/** The options make credentials that satisfy a gateway with client authentication; `chain_length`
    is the number of certificates that it must receive, 0 for any. */
void check_works(const apns_credentials_options_t *options, size_t chain_length);

/** The options are refused, with a message that contains all of `...`. */
#define check_refused(options, expected, ...) \
  refused((options), (expected), (const char *const[]){__VA_ARGS__, NULL})
apns_error_t refused(const apns_credentials_options_t *options, apns_status_t expected,
                     const char *const *parts);

/** Options for a session to the gateway, with deadlines that end a failing test. */
apns_session_options_t options_for(const gateway_t *gateway);

/** The options' own tuning and binary options, to be changed. They live until options have been
    made a few dozen times more. */
apns_tuning_t *tuning_of(apns_session_options_t *options);
apns_binary_options_t *binary_of(apns_session_options_t *options);

apns_payload_t *payload_with(const apns_payload_options_t *options);

/** Does not free the credentials. */
apns_session_t *session_with(const apns_session_options_t *options,
                             const apns_credentials_t *credentials);

/** A session to the gateway with provider_credentials(); `options` NULL: options_for(). */
apns_session_t *session_to(const gateway_t *gateway, const apns_session_options_t *options);

/** The same with changes of options_for(), such as
    session_where(gateway, options.connections = 2, binary->no_standby = 0). */
#define session_where(gateway, ...)                                                    \
  ({                                                                                   \
    apns_session_options_t options = options_for(gateway);                             \
    __attribute__((unused)) apns_tuning_t *const tuning = tuning_of(&options);         \
    __attribute__((unused)) apns_binary_options_t *const binary = binary_of(&options); \
    __VA_ARGS__;                                                                       \
    session_to(gateway, &options);                                                     \
  })

/** Options for a feedback service at the gateway, with deadlines that end a failing test. */
apns_feedback_options_t feedback_options(const gateway_t *gateway);

/** Opened with provider_credentials(). */
apns_feedback_t *feedback_with(const apns_feedback_options_t *options);
apns_feedback_t *feedback_from(const gateway_t *gateway);

/** With changes of feedback_options(), as session_where() has them. */
#define feedback_where(gateway, ...)                             \
  ({                                                             \
    apns_feedback_options_t options = feedback_options(gateway); \
    __VA_ARGS__;                                                 \
    feedback_with(&options);                                     \
  })

/** Frees the session and stops the gateway. */
void session_end(apns_session_t *session, gateway_t *gateway);

/** 127.0.0.2, which takes no connection to this port and sends nothing, like a silent network. */
typedef struct silent_address {
  int listener, fillers[8];
} silent_address_t;

/** `port`: of a gateway of this program. False if the system does not allow it. */
bool silent_address_open(silent_address_t *silent, uint16_t port);
void silent_address_close(silent_address_t *silent);

/** The n-th notification: its token, payload and user_data contain n. Valid until the next call. */
const apns_notification_t *notification(size_t n);

/** The same in an array with their contents; free() it. */
apns_notification_t *notifications(size_t count);
OWNED(notifications, apns_notification_t, free)

/** Sends the notifications `from` to `to`, not included, in one batch; each has to be taken. */
void send_range(apns_session_t *session, size_t from, size_t to);

/** The same, each with APNS_SEND_MORE. */
void hold_range(apns_session_t *session, size_t from, size_t to);

/** Until every notification has its outcome. */
void drain(apns_session_t *session);

/** send_range() and then drain(). */
void send_and_drain(apns_session_t *session, size_t from, size_t to);

/** The next event, which has to be there; next_event() waits for it. */
apns_event_t one_event(apns_session_t *session);
apns_event_t next_event(apns_session_t *session);

/** The next event is this one, of the n-th notification, and is there at once. */
#define assert_event(session, kind, reject, n) \
  check_event((session), (kind), (reject), (n), __FILE__, __LINE__)
void check_event(apns_session_t *session, apns_event_kind_t kind, int reject, size_t n,
                 const char *file, int line);

/** Lets the session work until it has opened `count` connections; no event may come meanwhile. */
void await_connects(apns_session_t *session, uint64_t count);

/** No event waits. */
void assert_no_event(apns_session_t *session);

apns_session_stats_t stats_of(const apns_session_t *session);

apns_session_metrics_t metrics_of(const apns_session_t *session);

/** The sum of one of the arrays of metrics. */
uint64_t sum(const uint64_t *places, size_t count);

/** The counts are these, and every notification counts in exactly one of them. */
#define assert_counts(session, taken, accepted, rejected, unknown, unresolved)                \
  check_counts((session), (taken), (accepted), (rejected), (unknown), (unresolved), __FILE__, \
               __LINE__)
void check_counts(const apns_session_t *session, uint64_t taken, uint64_t accepted,
                  uint64_t rejected, uint64_t unknown, uint64_t unresolved, const char *file,
                  int line);

/** Frees the session: what connection `index` received until its end. */
const gateway_record_t *heard_after(apns_session_t *session, gateway_t *gateway, size_t index);

/** Connection `index` received exactly these bytes. */
#define assert_heard(gateway, index, bytes, count) \
  check_heard((gateway), (index), (bytes), (count), __FILE__, __LINE__)
void check_heard(gateway_t *gateway, size_t index, const void *bytes, size_t length,
                 const char *file, int line);

/** Which notification frame `index` of a record carries; the framed format only. */
size_t carried_by(const gateway_record_t *record, size_t index);

/** Frame `index` of a record carries the n-th notification. */
void assert_carries(const gateway_record_t *record, size_t index, size_t n);

/** One record contains the bytes of another from frame `from` on, sentinels aside. */
void assert_same_frames(const gateway_record_t *record, const gateway_record_t *earlier,
                        size_t from, size_t count);

/** From connection `index` on the notifications 0 to `count`, not included, came, each once and
    in order. */
#define assert_carry_all(gateway, index, count) \
  check_carry_all((gateway), (index), (count), __FILE__, __LINE__)
void check_carry_all(gateway_t *gateway, size_t index, size_t count, const char *file, int line);

/** The number of frames in a record that are not sentinels. */
size_t notifications_in(const gateway_record_t *record);

/** Runs `body` in a child with SIGPIPE as the system has it; its exit status as waitpid() has it.
 */
int in_child(int (*body)(void *), void *argument);

/** Runs it there, and it comes to 0. */
void assert_child_is_fine(int (*body)(void *), void *argument);

/** For `body`: ends the child with a line on stderr if the condition does not hold. */
#define CHILD_REQUIRE(condition)                                                    \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: in the child: %s\n", __FILE__, __LINE__, #condition); \
      return 1;                                                                     \
    }                                                                               \
  } while (0)

#endif
