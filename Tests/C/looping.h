/* A program's event loop, as small as it can be. */
#ifndef TESTS_LOOPING_H
#define TESTS_LOOPING_H

#include <poll.h>

#include "provider.h"

/** session_where() that does not wait; push_looping_where() needs pushing.h. */
#define looping_where(gateway, ...) \
  session_where(gateway, options.peer.nonblocking = 1, ##__VA_ARGS__)
#define push_looping_where(service, ...) \
  push_session_where(service, options.peer.nonblocking = 1, ##__VA_ARGS__)

/** Waits until the session has something to do, and has it done. */
static inline apns_status_t turn(apns_session_t *session) {
  struct pollfd watched = {.fd = apns_session_fd(session), .events = POLLIN};
  assert_true(watched.fd >= 0);
  assert_int_equal(poll(&watched, 1, AMPLE_MS), 1);
  return apns_session_process(session, &error);
}

/** Has nothing to report. */
static inline void turn_quietly(apns_session_t *session) { assert_ok(turn(session)); }

/** An application that calls only when it must: waits for the descriptor or the session's timeout,
    and then lets the session work. The two have to agree, and one of them has to come. */
static inline apns_status_t strict_turn(apns_session_t *session) {
  struct pollfd watched = {.fd = apns_session_fd(session), .events = POLLIN};
  const int timeout = apns_session_timeout_ms(session);
  if (poll(&watched, 1, timeout < 0 ? AMPLE_MS : timeout) == 0) {
    if (timeout < 0) fail_msg("nobody wakes the event loop");
    assert_int_equal(poll(&watched, 1, AMPLE_MS), 1);
  }
  return apns_session_process(session, &error);
}

/** Such turns until the condition holds. */
#define turn_strictly_until(session, condition) \
  while (!(condition)) strict_turn(session)

/** Opens the session's first connection. */
static inline void connect_strictly(apns_session_t *session) {
  apns_status_t status = apns_session_connect(session, &error);
  if (status) assert_status(APNS_ERR_AGAIN, status);
  turn_strictly_until(session, stats_of(session).connects == 1);
}

static inline bool is_readable(int descriptor) {
  struct pollfd watched = {.fd = descriptor, .events = POLLIN};
  return poll(&watched, 1, 0) == 1;
}

/** Sends, with turns while there is no room; returns how that ended. */
static inline apns_status_t send_turning(apns_session_t *session, const apns_notification_t *push,
                                         int flags) {
  apns_status_t status;
  while ((status = apns_session_send(session, push, flags, NULL, &error)) == APNS_ERR_AGAIN)
    turn_quietly(session);
  return status;
}

/** Sends notifications from number `count` on, until the window is full of outcomes that wait to be
    taken; returns how many there are with those before. */
static inline size_t send_until_full(apns_session_t *session, size_t count) {
  apns_status_t status;
  while ((status = send_turning(session, notification(count), 0)) == APNS_OK) count++;
  assert_status(APNS_ERR_FULL, status);
  return count;
}

/** Makes a call again after each turn until it is done. */
#define until_done(session, call)                                              \
  do {                                                                         \
    apns_status_t status_of_call;                                              \
    while ((status_of_call = (call)) == APNS_ERR_AGAIN) turn_quietly(session); \
    assert_status(APNS_OK, status_of_call);                                    \
  } while (0)

#endif
