/* Sessions over HTTP/2 in an event loop. */
#include "looping.h"
#include "pushing.h"

TEST(notifications_are_taken_without_a_connection) {
  owned(service) service = service_start(NULL);
  owned(session) session = push_looping_where(service, tuning->reconnect_pause_max_ms = 1);
  const int descriptor = apns_session_fd(session);
  assert_true(descriptor >= 0);
  send_range(session, 0, 50);
  until_done(session, apns_session_flush(session, &error));
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  assert_counts(session, 50, 50, 0, 0, 0);
  assert_ok(apns_session_connect(session, &error));
  assert_int_equal(apns_session_fd(session), descriptor);
  /* Every outcome is known, and the connection is open: there is nothing to do. */
  assert_ok(apns_session_process(session, &error));
  assert_false(is_readable(descriptor));
  assert_true(apns_session_timeout_ms(session) > 1000);
}

static service_reply_t drops_first(void *context, const service_push_t *push) {
  (void)context;
  return (service_reply_t){.action = push->connection < 3 ? SERVE_GOODBYE_AND_DROP : SERVE_ANSWER};
}

TEST(the_descriptor_stays_over_reconnects) {
  owned(service) service = service_judging(drops_first, NULL);
  owned(session) session = push_looping_where(service, tuning->reconnect_pause_max_ms = 1);
  const int descriptor = apns_session_fd(session);
  send_range(session, 0, 20);
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  assert_counts(session, 20, 20, 0, 0, 0);
  assert_true(stats_of(session).connects > 3);
  assert_int_equal(apns_session_fd(session), descriptor);
}

TEST(what_waits_for_more_is_sent_by_process) {
  owned(service) service = service_start(NULL);
  owned(session) session = push_looping_where(service, tuning->reconnect_pause_max_ms = 1);
  until_done(session, apns_session_connect(session, &error));
  assert_ok(apns_session_send(session, notification(0), APNS_SEND_MORE, NULL, &error));
  while (stats_of(session).events == 0) turn_quietly(session);
  assert_counts(session, 1, 1, 0, 0, 0);
}

TEST(a_window_without_room_says_so) {
  owned(service) service = service_start(NULL);
  owned(session) session = push_looping_where(service, tuning->reconnect_pause_max_ms = 1,
                                              options.window_bytes = 64 << 10);
  apns_status_t status;
  size_t count = 0;
  while ((status = apns_session_send(session, notification(count), 0, NULL, &error)) == APNS_OK)
    count++;
  assert_status(APNS_ERR_AGAIN, status);
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  send_until_full(session, count);
  assert_int_equal(one_event(session).kind, APNS_EVENT_ACCEPTED);
}

TEST(closing_ends_by_its_deadline) {
  owned(service) service = service_replying(.action = SERVE_SILENCE);
  owned(session) session = push_looping_where(service, tuning->reconnect_pause_max_ms = 1);
  send_range(session, 0, 5);
  until_done(session, apns_session_connect(session, &error));
  until_done(session, apns_session_flush(session, &error));
  const int64_t start = clock_ms();
  assert_status(APNS_ERR_AGAIN, apns_session_close(session, 200, &error));
  assert_status(APNS_ERR_AGAIN, apns_session_close(session, AMPLE_MS, &error));
  assert_status(APNS_ERR_CLOSED, apns_session_send(session, notification(5), 0, NULL, &error));
  apns_status_t status;
  while ((status = turn(session)) == APNS_OK) continue;
  assert_status(APNS_DONE, status);
  assert_true(clock_ms() - start >= 200);
  assert_within(start, 200);
  assert_counts(session, 5, 0, 0, 5, 0);
  assert_ok(apns_session_close(session, 0, &error));
  assert_false(is_readable(apns_session_fd(session)));
}

/* The feedback list of a session is read without I/O, so there is no descriptor to watch. */
TEST(the_sessions_own_feedback_needs_no_descriptor) {
  owned(service) service = service_replying(.status = 410, .body = "{\"reason\":\"Unregistered\"}");
  owned(session) session = push_looping_where(service, tuning->reconnect_pause_max_ms = 1);
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  owned(feedback) feedback = NULL;
  options.session = session;
  options.peer.nonblocking = 1;
  assert_ok(apns_feedback_open(&options, NULL, &feedback, &error));
  assert_int_equal(apns_feedback_fd(feedback), -1);
  assert_status(APNS_DONE, apns_feedback_next(feedback, &tuple, &error));
  send_range(session, 0, 1);
  until_done(session, apns_session_drain(session, 0, NULL, &error));
  assert_ok(apns_feedback_next(feedback, &tuple, &error));
  assert_status(APNS_DONE, apns_feedback_next(feedback, &tuple, &error));
}
