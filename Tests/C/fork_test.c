/* A session and a feedback in a child of the process that made them. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "provider.h"

typedef struct family {
  gateway_t *gateway;
  apns_session_t *session;
  apns_feedback_t *feedback;
} family_t;

static int uses_the_parents_session(void *argument) {
  FORGET_ERROR();
  apns_session_t *session = ((family_t *)argument)->session;
  apns_event_t event = APNS_EVENT_INIT;
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  size_t count = 9;
  const apns_status_t forked = APNS_ERR_FORKED;
  CHILD_REQUIRE(apns_session_connect(session, &error) == forked);
  CHILD_REQUIRE(strstr(error.message, "parent"));
  CHILD_REQUIRE(error.status == forked);
  CHILD_REQUIRE(apns_session_send(session, notification(7), 0, NULL, &error) == forked);
  CHILD_REQUIRE(apns_session_send_many(session, notification(7), 1, 0, &count, &error) == forked);
  CHILD_REQUIRE(count == 0);
  CHILD_REQUIRE(apns_session_flush(session, &error) == forked);
  CHILD_REQUIRE(apns_session_drain(session, 100, NULL, &error) == forked);
  CHILD_REQUIRE(apns_session_next_event(session, &event, 100, &error) == forked);
  CHILD_REQUIRE(apns_session_stats(session, &stats, &error) == forked);
  CHILD_REQUIRE(apns_session_close(session, 100, &error) == forked);
  return 0;
}

static int frees_the_parents_session(void *argument) {
  if (uses_the_parents_session(argument)) return 1;
  apns_session_free(((family_t *)argument)->session);
  return 0;
}

/* The parent sends before and after over the same connection, without bytes of the child
   between. */
static void check_parent_goes_on(int (*body)(void *)) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  family_t family = {.gateway = gateway, .session = session_to(gateway, NULL)};
  send_range(family.session, 0, 10);
  assert_ok(apns_session_send(family.session, notification(10), APNS_SEND_MORE, NULL, &error));
  gateway_await_frames(gateway, 0, 10);
  assert_child_is_fine(body, &family);
  send_range(family.session, 11, 20);
  assert_ok(apns_session_drain(family.session, AMPLE_MS, NULL, &error));
  assert_counts(family.session, 20, 20, 0, 0, 0);
  assert_int_equal(stats_of(family.session).connects, 1);
  assert_int_equal(stats_of(family.session).resent, 0);
  apns_session_free(family.session);
  const gateway_record_t *heard = gateway_heard(gateway, 0);
  assert_int_equal(notifications_in(heard), 20);
  for (size_t n = 0; n < 20; n++) assert_carries(heard, n, n);
}

TEST(a_child_may_not_use_the_session) {
  skip_unless_pages_are_wiped_on_fork();
  check_parent_goes_on(uses_the_parents_session);
}

TEST(a_child_may_free_the_session) {
  skip_unless_pages_are_wiped_on_fork();
  check_parent_goes_on(frees_the_parents_session);
}

static int frees_only(void *argument) {
  apns_session_free(((family_t *)argument)->session);
  return 0;
}

TEST(a_child_may_free_without_having_asked) {
  skip_unless_pages_are_wiped_on_fork();
  check_parent_goes_on(frees_only);
}

/* The child of the child is no less a stranger. */
static int forks_again(void *argument) {
  int status = in_child(frees_the_parents_session, argument);
  CHILD_REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  return 0;
}

TEST(a_grandchild_may_not_use_the_session) {
  skip_unless_pages_are_wiped_on_fork();
  check_parent_goes_on(forks_again);
}

static int makes_its_own_session(void *argument) {
  family_t *family = argument;
  owned(credentials) credentials = NULL;
  owned(session) session = NULL;
  apns_credentials_options_t who = trusting();
  CHILD_REQUIRE(apns_credentials_new(&who, &credentials, &error) == APNS_OK);
  apns_session_options_t options = options_for(family->gateway);
  CHILD_REQUIRE(apns_session_new(&options, credentials, &session, &error) == APNS_OK);
  CHILD_REQUIRE(apns_session_send(session, notification(3), 0, NULL, &error) == APNS_OK);
  CHILD_REQUIRE(apns_session_drain(session, AMPLE_MS, NULL, &error) == APNS_OK);
  apns_session_free(family->session);
  return 0;
}

TEST(a_child_may_have_its_own_session) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  family_t family = {.gateway = gateway, .session = session_to(gateway, NULL)};
  send_range(family.session, 0, 1);
  gateway_await_frames(gateway, 0, 1);
  assert_child_is_fine(makes_its_own_session, &family);
  assert_ok(apns_session_drain(family.session, AMPLE_MS, NULL, &error));
  assert_counts(family.session, 1, 1, 0, 0, 0);
  apns_session_free(family.session);
  assert_carries(gateway_heard(gateway, 1), 0, 3);
}

/* Made in the parent, never connected there: no more the child's for that. */
TEST(a_session_made_and_not_connected) {
  skip_unless_pages_are_wiped_on_fork();
  owned(gateway) gateway = gateway_start(NULL, NULL);
  family_t family = {.gateway = gateway, .session = session_to(gateway, NULL)};
  assert_child_is_fine(frees_the_parents_session, &family);
  assert_int_equal(gateway_connections(gateway), 0);
  apns_session_free(family.session);
}

static int reads_the_parents_feedback(void *argument) {
  FORGET_ERROR();
  owned(feedback) feedback = ((family_t *)argument)->feedback;
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  CHILD_REQUIRE(apns_feedback_next(feedback, &tuple, &error) == APNS_ERR_FORKED);
  CHILD_REQUIRE(strstr(error.message, "parent"));
  CHILD_REQUIRE(tuple.token == NULL);
  return 0;
}

TEST(a_child_may_not_read_the_feedback) {
  skip_unless_pages_are_wiped_on_fork();
  static const uint8_t tuples[] = {0, 0, 0, 9, 0, 2, 'a', 'b', 0, 0, 0, 8, 0, 1, 'c'};
  const gateway_step_t script[] = {SAY(tuples, 8), AWAIT(1), SAY(tuples + 8, 7), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  family_t family = {.gateway = gateway, .feedback = feedback_from(gateway)};
  gateway_await_step(gateway, 0, 1);
  assert_child_is_fine(reads_the_parents_feedback, &family);
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  assert_ok(apns_feedback_next(family.feedback, &tuple, &error));
  assert_int_equal(tuple.timestamp, 9);
  assert_child_is_fine(reads_the_parents_feedback, &family);
  gateway_signal(gateway);
  assert_ok(apns_feedback_next(family.feedback, &tuple, &error));
  assert_int_equal(tuple.timestamp, 8);
  assert_status(APNS_DONE, apns_feedback_next(family.feedback, &tuple, &error));
  apns_feedback_free(family.feedback);
}

/* ---- With all that a session can have open ------------------------------- */

/* Three connections with notifications in flight, and a standby connection next to the connection
   with a rejection. The child asks, gets no answer, and frees; the gateway's packets come
   meanwhile; and the parent continues as if nothing had happened. */
TEST(several_connections_and_a_standby) {
  skip_unless_pages_are_wiped_on_fork();
  enum { COUNT = 600, MORE = 100 };
  static const gateway_step_t rejects[] = {TAKE_FRAMES(20), NAME_NTH(8, 5), END};
  static const gateway_step_t works[] = {TAKE_SENTINEL, AWAIT(1), NAME_LAST(2), END};
  static const gateway_step_t late[] = {TAKE_FRAMES(30), AWAIT(1), NAME_NTH(7, 10), END};
  for (size_t round = 0; round < 2; round++) {
    owned(gateway) gateway = gateway_start(NULL, SCRIPTS(rejects, works, late, works, works));
    apns_session_options_t options = options_for(gateway);
    options.connections = 3;
    binary_of(&options)->no_standby = 0;
    family_t family = {.gateway = gateway, .session = session_to(gateway, &options)};
    apns_event_t event = APNS_EVENT_INIT;
    assert_ok(apns_session_connect(family.session, &error));
    await_connects(family.session, 3);
    send_range(family.session, 0, COUNT);
    assert_ok(apns_session_next_event(family.session, &event, AMPLE_MS, &error));
    assert_int_equal(event.reject, 8);
    /* The fourth replaces the connection that ended, the fifth is the standby. */
    await_connects(family.session, 5);
    assert_ok(apns_session_flush(family.session, &error));
    assert_int_equal(stats_of(family.session).in_flight + stats_of(family.session).accepted,
                     COUNT - 1);
    /* Taken, and on no connection yet. */
    for (size_t n = COUNT; n < COUNT + MORE; n++)
      assert_ok(apns_session_send(family.session, notification(n), APNS_SEND_MORE, NULL, &error));
    apns_session_stats_t before = stats_of(family.session);
    gateway_await_step(gateway, 2, 1);
    if (round) gateway_signal(gateway);
    assert_child_is_fine(uses_the_parents_session, &family);
    assert_child_is_fine(frees_the_parents_session, &family);
    assert_child_is_fine(frees_only, &family);
    assert_child_is_fine(forks_again, &family);
    apns_session_stats_t after = stats_of(family.session);
    assert_memory_equal(&before, &after, sizeof before);
    if (!round) gateway_signal(gateway);
    assert_ok(apns_session_drain(family.session, AMPLE_MS, NULL, &error));
    assert_counts(family.session, COUNT + MORE, COUNT + MORE - 2, 2, 0, 0);
    assert_ok(apns_session_next_event(family.session, &event, 0, &error));
    assert_int_equal(event.reject, 7);
    assert_no_event(family.session);
    /* Nothing was lost, so the only duplicates are those of the rejections. */
    apns_session_free(family.session);
    uint8_t times[COUNT + MORE] = {0};
    size_t connections = gateway_connections(gateway);
    for (size_t index = 0; index < connections; index++) {
      const gateway_record_t *heard = gateway_heard(gateway, index);
      /* The last standby connection may not have opened. */
      if (index <= 4 || heard->frame_count) assert_int_equal(heard->ending, ENDING_NOTIFY);
      size_t first = 0, end = heard->frame_count;
      if (index == 0) end = 5;
      if (index == 2) end = 10;
      for (; first < end; first++)
        if (!heard->frames[first].is_sentinel) times[carried_by(heard, first)]++;
    }
    size_t rejected = 0;
    for (size_t n = 0; n < COUNT + MORE; n++) {
      assert_in_range(times[n], 0, 1);
      rejected += times[n] == 0;
    }
    assert_int_equal(rejected, 2);
  }
}
