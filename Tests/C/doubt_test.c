/* Notifications in doubt again and again: how often they are resent, and the others' outcomes. */
#include "provider.h"

/* Sends `count` notifications of which every `step`-th from `first` on is deadly. */
static void send_poisoned(apns_session_t *session, size_t count, size_t first, size_t step) {
  owned(notifications) all = notifications(count);
  for (size_t n = first; n < count; n += step)
    memset((uint8_t *)all[n].token + all[n].token_length - 2, 0xFE, 2);
  assert_ok(apns_session_send_many(session, all, count, APNS_SEND_MORE, NULL, &error));
}

/* How often each of `count` was carried, on any connection. */
static void check_times(gateway_t *gateway, size_t count, size_t first, size_t step) {
  size_t *times = calloc(count, sizeof *times);
  for (size_t index = 0; index < gateway_connections(gateway); index++) {
    const gateway_record_t *heard = gateway_heard(gateway, index);
    for (size_t frame = 0; frame < heard->frame_count; frame++)
      if (!heard->frames[frame].is_sentinel) times[carried_by(heard, frame)]++;
  }
  for (size_t n = 0; n < count; n++) {
    bool is_deadly = n >= first && (n - first) % step == 0;
    assert_in_range(times[n], is_deadly ? 5 : 1, 5);
  }
  free(times);
}

static void check_poison(size_t count, size_t first, size_t step, bool has_standby, int format,
                         size_t most_connections) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_t *session =
      session_where(gateway, binary->no_standby = !has_standby, binary->format = format,
                    tuning->reconnect_pause_max_ms = 1);
  send_poisoned(session, count, first, step);
  drain(session);
  const size_t deadly = (count - first + step - 1) / step;
  /* All the others get through, and the deadly ones alone are named. */
  assert_counts(session, count, count - deadly, 0, deadly, 0);
  for (size_t n = first; n < count; n += step) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  assert_no_event(session);
  assert_in_range(stats_of(session).connects, 5, most_connections);
  apns_session_free(session);
  if (format == APNS_FORMAT_FRAMED) check_times(gateway, count, first, step);
}

TEST(one_that_ends_connections_is_found) {
  /* The fourth root of 1,000 is 6: four times that, and those that were in doubt once. */
  check_poison(1000, 500, 1000, false, APNS_FORMAT_FRAMED, 40);
  check_poison(1000, 0, 1000, true, APNS_FORMAT_FRAMED, 60);
  check_poison(1000, 999, 1000, false, APNS_FORMAT_ENHANCED, 40);
  check_poison(as_many_as(20000, 2000), 1234, 100000, true, APNS_FORMAT_FRAMED, 200);
}

TEST(some_that_end_connections_are_found) {
  check_poison(500, 20, 100, false, APNS_FORMAT_FRAMED, 200);
  check_poison(40, 1, 4, false, APNS_FORMAT_FRAMED, 200);
}

/* A run of them leaves nothing proven for as many ends as it is long, and more. */
TEST(those_side_by_side_are_found) {
  enum { COUNT = 500, FIRST = 100, RUN = 30 };
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_where(gateway, tuning->reconnect_pause_max_ms = 1);
  send_poisoned(session, FIRST + RUN, FIRST, 1);
  send_range(session, FIRST + RUN, COUNT);
  assert_ok(apns_session_drain(session, 60000, NULL, &error));
  assert_counts(session, COUNT, COUNT - RUN, 0, RUN, 0);
  for (size_t n = FIRST; n < FIRST + RUN; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  assert_no_event(session);
}

/* Alone, or in the company of nothing else. */
TEST(one_alone) { check_poison(1, 0, 1, false, APNS_FORMAT_FRAMED, 5); }

/* Nothing could prove, so nothing is resent, and all that was with it is unknown. */
TEST(without_identifiers_all_end_together) {
  enum { COUNT = 10 };
  static const gateway_step_t script[] = {TAKE_FRAMES(COUNT), CLOSE_RST};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script, script));
  owned(session) session = session_where(gateway, binary->format = APNS_FORMAT_SIMPLE,
                                         tuning->reconnect_pause_max_ms = 1);
  send_range(session, 0, COUNT);
  apns_event_t event = next_event(session);
  assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
  for (size_t n = 1; n < COUNT; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  assert_counts(session, COUNT, 0, 0, COUNT, 0);
  assert_int_equal(gateway_connections(gateway), 1);
}
