/* The counts at each stage of a session. */
#include <stdio.h>

#include "provider.h"

enum { BATCH = 10 };

static const gateway_step_t polite[] = {TAKE_SENTINEL, NAME_LAST(2), END};

/* Every field, so that none moves unseen. */
#define assert_stats(session, ...) \
  check_stats((session),           \
              (apns_session_stats_t){.size = sizeof(apns_session_stats_t), __VA_ARGS__}, __LINE__)
static void check_stats(const apns_session_t *session, apns_session_stats_t expected, int line) {
  apns_session_stats_t found = stats_of(session);
  const struct {
    const char *name;
    uint64_t found, expected;
  } fields[] = {
      {"taken", found.taken, expected.taken},
      {"accepted", found.accepted, expected.accepted},
      {"rejected", found.rejected, expected.rejected},
      {"unknown", found.unknown, expected.unknown},
      {"unresolved", found.unresolved, expected.unresolved},
      {"resent", found.resent, expected.resent},
      {"connects", found.connects, expected.connects},
      {"bytes", found.bytes, expected.bytes},
      {"records", found.records, expected.records},
      {"events", found.events, expected.events},
      {"in_flight", found.in_flight, expected.in_flight},
      {"window", found.window, expected.window},
      {"first_unresolved", found.first_unresolved, expected.first_unresolved},
      {"reserved32", found.reserved32, 0},
      {"cancelled", found.cancelled, expected.cancelled},
      {"expired", found.expired, expected.expired},
  };
  for (size_t index = 0; index < sizeof fields / sizeof *fields; index++)
    if (fields[index].found != fields[index].expected) {
      print_error("%s is %llu, not %llu\n", fields[index].name,
                  (unsigned long long)fields[index].found,
                  (unsigned long long)fields[index].expected);
      _fail(__FILE__, line);
    }
}

/* Bytes of frames `from` to `to` of a connection's record. */
static uint64_t bytes_of(const gateway_record_t *heard, size_t from, size_t to) {
  uint64_t bytes = 0;
  for (size_t index = from; index < to; index++) bytes += heard->frames[index].length;
  return bytes;
}

/* The length of each notification's frame, learned from a separate session. */
static uint64_t lengths[2 * BATCH], sentinel;

static void learn_lengths(void) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(polite));
  apns_session_t *session = session_to(gateway, NULL);
  send_and_drain(session, 0, 2 * BATCH);
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  for (size_t n = 0; n < 2 * BATCH; n++) lengths[n] = heard->frames[n].length;
  sentinel = heard->frames[2 * BATCH].length;
}

static uint64_t length_of(size_t from, size_t to) {
  uint64_t sum = 0;
  for (size_t n = from; n < to; n++) sum += lengths[n];
  return sum;
}

/* ---- One session, stage by stage ---------------------------------------- */

TEST(each_stage_of_a_session) {
  learn_lengths();
  static const gateway_step_t first[] = {TAKE_FRAMES(BATCH), AWAIT(1), NAME_NTH(8, 3), END};
  static const gateway_step_t second[] = {TAKE_FRAMES(6), AWAIT(2), CLOSE_RST};
  static const gateway_step_t third[] = {TAKE_SENTINEL, AWAIT(3), NAME_NTH(7, 5), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, second, third, polite));
  apns_session_t *session = session_to(gateway, NULL);
  apns_event_t event = APNS_EVENT_INIT;
  uint32_t identifiers[2 * BATCH];

  assert_stats(session, .taken = 0);

  /* Held back: taken, and nowhere yet. */
  for (size_t n = 0; n < BATCH; n++)
    assert_ok(apns_session_send(session, notification(n), APNS_SEND_MORE, &identifiers[n], &error));
  assert_stats(session, .taken = BATCH, .unresolved = BATCH, .connects = 1,
               .window = length_of(0, BATCH), .first_unresolved = identifiers[0]);

  /* Written. */
  uint64_t bytes = length_of(0, BATCH);
  assert_ok(apns_session_flush(session, &error));
  assert_stats(session, .taken = BATCH, .unresolved = BATCH, .connects = 1, .bytes = bytes,
               .records = 1, .in_flight = BATCH, .window = bytes,
               .first_unresolved = identifiers[0]);

  /* The fourth is rejected: three before it accepted, six after it resent. */
  gateway_await_step(gateway, 0, 1);
  gateway_signal(gateway);
  gateway_await_step(gateway, 0, 3);
  assert_ok(apns_session_next_event(session, &event, 0, &error));
  assert_int_equal(event.reject, 8);
  assert_int_equal(event.identifier, identifiers[3]);
  assert_stats(session, .taken = BATCH, .accepted = 3, .rejected = 1, .unresolved = 6, .resent = 6,
               .connects = 1, .bytes = bytes, .records = 1, .window = length_of(4, BATCH),
               .first_unresolved = identifiers[4]);
  assert_ok(apns_session_flush(session, &error));
  bytes += length_of(4, BATCH);
  assert_stats(session, .taken = BATCH, .accepted = 3, .rejected = 1, .unresolved = 6, .resent = 6,
               .connects = 2, .bytes = bytes, .records = 2, .in_flight = 6,
               .window = length_of(4, BATCH), .first_unresolved = identifiers[4]);

  /* The second connection breaks: the same six again, with ten more after them. */
  gateway_await_step(gateway, 1, 1);
  gateway_signal(gateway);
  gateway_heard(gateway, 1);
  assert_no_event(session);
  assert_stats(session, .taken = BATCH, .accepted = 3, .rejected = 1, .unresolved = 6, .resent = 12,
               .connects = 2, .bytes = bytes, .records = 2, .window = length_of(4, BATCH),
               .first_unresolved = identifiers[4]);
  for (size_t n = BATCH; n < 2 * BATCH; n++)
    assert_ok(apns_session_send(session, notification(n), APNS_SEND_MORE, &identifiers[n], &error));
  size_t unresolved = 0;
  while (stats_of(session).in_flight < 16)
    assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 10, &unresolved, &error));
  bytes += length_of(4, 2 * BATCH) + sentinel;
  /* The sentinel does not count as a notification, and not in the window. */
  assert_stats(session, .taken = 2 * BATCH, .accepted = 3, .rejected = 1, .unresolved = 16,
               .resent = 12, .connects = 3, .bytes = bytes, .records = stats_of(session).records,
               .in_flight = 16, .window = length_of(4, 2 * BATCH),
               .first_unresolved = identifiers[4]);
  assert_int_equal(unresolved, 16);

  /* The tenth is rejected there, and the rest is proven on a fourth. */
  gateway_signal(gateway);
  assert_ok(apns_session_drain(session, AMPLE_MS, &unresolved, &error));
  assert_int_equal(unresolved, 0);
  bytes += length_of(BATCH, 2 * BATCH) + sentinel;
  assert_stats(session, .taken = 2 * BATCH, .accepted = 18, .rejected = 2, .resent = 22,
               .connects = 4, .bytes = bytes, .records = stats_of(session).records, .events = 1);
  assert_event(session, APNS_EVENT_REJECTED, 7, 9);
  assert_stats(session, .taken = 2 * BATCH, .accepted = 18, .rejected = 2, .resent = 22,
               .connects = 4, .bytes = bytes, .records = stats_of(session).records);

  /* The gateways received every byte of it. */
  apns_session_free(session);
  uint64_t heard = 0;
  for (size_t index = 0; index < 4; index++) heard += gateway_heard(gateway, index)->length;
  assert_int_equal(heard, bytes);
  assert_int_equal(gateway_connections(gateway), 4);
  assert_int_equal(bytes_of(gateway_heard(gateway, 1), 0, 6), length_of(4, BATCH));
}

/* ---- Ends that are not the gateway's ------------------------------------ */

TEST(unknown_ones_are_counted_when_they_are_known_to_be) {
  learn_lengths();
  static const gateway_step_t first[] = {TAKE_FRAMES(BATCH), CLOSE_RST};
  static const gateway_step_t second[] = {TAKE_ALL, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, second));
  owned(session) session = session_where(gateway, options.delivery = APNS_DELIVERY_AT_MOST_ONCE);
  send_range(session, 0, BATCH);
  uint64_t records = stats_of(session).records, bytes = length_of(0, BATCH);
  gateway_heard(gateway, 0);
  assert_event(session, APNS_EVENT_UNKNOWN, 0, 0);
  assert_stats(session, .taken = BATCH, .unknown = BATCH, .connects = 1, .bytes = bytes,
               .records = records, .events = BATCH - 1);
  uint32_t identifier = 0;
  assert_ok(apns_session_send(session, notification(BATCH), 0, &identifier, &error));
  bytes += lengths[BATCH];
  assert_stats(session, .taken = BATCH + 1, .unknown = BATCH, .unresolved = 1, .connects = 2,
               .bytes = bytes, .records = records + 1, .events = BATCH - 1, .in_flight = 1,
               .window = lengths[BATCH], .first_unresolved = identifier);
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  bytes += sentinel;
  assert_stats(session, .taken = BATCH + 1, .unknown = BATCH + 1, .connects = 2, .bytes = bytes,
               .records = stats_of(session).records, .events = BATCH);
}

TEST(accepted_ones_wait_as_events_only_where_asked_for) {
  for (int asked = 0; asked < 2; asked++) {
    owned(gateway) gateway = gateway_start(NULL, SCRIPTS(polite));
    owned(session) session = session_where(
        gateway, options.outcomes = asked ? APNS_OUTCOMES_EACH : APNS_OUTCOMES_FAILURES);
    send_and_drain(session, 0, BATCH);
    for (size_t n = 0; asked && n < BATCH; n++) {
      assert_int_equal(stats_of(session).events, BATCH - n);
      assert_event(session, APNS_EVENT_ACCEPTED, 0, n);
    }
    assert_int_equal(stats_of(session).events, 0);
    assert_int_equal(stats_of(session).window, 0);
    assert_int_equal(stats_of(session).first_unresolved, 0);
  }
}

/* A frame is not in flight if the socket took only a part of it, or its connection is gone. */
TEST(what_is_not_whole_on_the_wire_is_not_in_flight) {
  static const gateway_step_t stalls[] = {TAKE_FRAMES(1), AWAIT(1), CLOSE_RST};
  const size_t count = 60000;
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.receive_buffer = 4096}, SCRIPTS(stalls));
  owned(session) session = session_where(gateway, options.window_bytes = 16 << 20);
  owned(notifications) all = notifications(count);
  assert_ok(apns_session_send_many(session, all, count, APNS_SEND_MORE, NULL, &error));
  gateway_await_step(gateway, 0, 1);
  apns_session_stats_t stats = stats_of(session);
  assert_int_equal(stats.unresolved, count);
  assert_in_range(stats.in_flight, 1, count - 1);
  /* As many as the bytes allow: none of these frames is longer than 200 bytes. */
  assert_in_range(stats.in_flight, stats.bytes / 200, stats.bytes / 50);
  assert_true(stats.bytes < stats.window);
  gateway_accept_no_more(gateway);
  gateway_signal(gateway);
  gateway_heard(gateway, 0);
  assert_no_event(session);
  stats = stats_of(session);
  assert_int_equal(stats.unresolved, count);
  assert_int_equal(stats.in_flight, 0);
  assert_in_range(stats.resent, 1, count - 1);
}

/* With several connections: the sums, and the oldest of all. */
TEST(several_connections_are_counted_together) {
  enum { COUNT = 600 };
  static const gateway_step_t late[] = {TAKE_SENTINEL, AWAIT(1), NAME_LAST(2), END};
  static const gateway_step_t soon[] = {TAKE_SENTINEL, NAME_LAST(2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(soon, late));
  apns_session_t *session = session_where(gateway, options.connections = 2);
  uint32_t identifiers[COUNT];
  assert_ok(apns_session_connect(session, &error));
  await_connects(session, 2);
  for (size_t n = 0; n < COUNT; n++)
    assert_ok(apns_session_send(session, notification(n), n + 1 < COUNT ? APNS_SEND_MORE : 0,
                                &identifiers[n], &error));
  apns_session_stats_t stats = stats_of(session);
  assert_int_equal(stats.in_flight, COUNT);
  assert_int_equal(stats.first_unresolved, identifiers[0]);
  assert_int_equal(stats.window, stats.bytes);
  for (int64_t start = clock_ms(); stats.accepted == 0;) {
    assert_in_range(clock_ms() - start, 0, 40000);
    assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 10, NULL, &error));
    stats = stats_of(session);
  }
  assert_in_range(stats.accepted, 100, COUNT - 100);
  /* The oldest is the first on the late connection, which may be either of the two. */
  size_t oldest = SIZE_MAX;
  for (size_t n = 0; n < COUNT; n++)
    if (stats.first_unresolved == identifiers[n]) oldest = n;
  assert_in_range(oldest, 0, COUNT - 1);
  gateway_signal(gateway);
  drain(session);
  assert_counts(session, COUNT, COUNT, 0, 0, 0);
  assert_int_equal(stats_of(session).first_unresolved, 0);
  apns_session_free(session);
  assert_carries(gateway_heard(gateway, 1), 0, oldest);
}
