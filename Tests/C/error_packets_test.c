/* The outcomes of notifications when the gateway names a notification, or fails to. */
#include "clock.h"
#include "provider.h"
#include "vectors.h"

enum { BATCH = 10 };

static const gateway_step_t polite[] = {TAKE_SENTINEL, NAME_LAST(2), END};

/* ---- Every status, at every place --------------------------------------- */

/* A batch of ten, one named; the rest is resent and drained. */
static void check_named(uint8_t status, size_t place) {
  const gateway_step_t first[] = {TAKE_FRAMES(BATCH), NAME_NTH(status, place), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  apns_session_t *session = session_to(gateway, NULL);
  send_range(session, 0, BATCH);
  gateway_await_step(gateway, 0, 2);
  size_t unresolved = 99;
  assert_ok(apns_session_drain(session, AMPLE_MS, &unresolved, &error));
  assert_int_equal(unresolved, 0);

  /* The named one is good, or is the last accepted one. */
  bool is_rejection = status != APNS_REJECT_NONE && status != APNS_REJECT_SHUTDOWN;
  assert_counts(session, BATCH, BATCH - is_rejection, is_rejection, 0, 0);
  if (is_rejection) assert_event(session, APNS_EVENT_REJECTED, status, place);
  assert_no_event(session);

  size_t again = BATCH - place - 1;
  apns_session_stats_t stats = stats_of(session);
  assert_int_equal(stats.resent, again);
  assert_int_equal(stats.connects, again ? 2 : gateway_connections(gateway));
  const gateway_record_t *before = heard_after(session, gateway, 0);
  for (size_t n = 0; n < BATCH; n++) assert_carries(before, n, n);
  if (again) assert_same_frames(gateway_heard(gateway, 1), before, place + 1, again);
}

TEST(each_status_at_each_place) {
  static const uint8_t statuses[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 128, 254, 255};
  static const size_t places[] = {0, 4, BATCH - 1};
  for (size_t index = 0; index < sizeof statuses; index++)
    for (size_t place = 0; place < 3; place++) check_named(statuses[index], places[place]);
}

/* ---- No gateway ------------------------------------------------------------ */

/* An HTTP/2 service, or a web server that received bytes other than HTTP. */
TEST(a_service_of_http_is_named) {
  static const char web[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
  static const uint8_t settings[] = {0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100};
  /* When the peer turns out not to be a gateway, the session writes the rest to the next
   * connection, which leads to one. */
  static const gateway_step_t scripts[][3] = {{TAKE_FRAMES(1), SAY(settings, sizeof settings), END},
                                              {TAKE_FRAMES(1), SAY(web, sizeof web - 1), END}};
  for (size_t index = 0; index < 2; index++) {
    owned(gateway) gateway = gateway_start(NULL, SCRIPTS(scripts[index]));
    owned(session) session = session_where(gateway, options.delivery = APNS_DELIVERY_AT_MOST_ONCE);
    send_range(session, 0, 1);
    apns_event_t event = next_event(session);
    assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
    assert_string_equal(event.reason_text,
                        "the peer speaks HTTP: set the option protocol to HTTP/2: 127.0.");
  }
}

/* ---- Vectors ------------------------------------------------------------ */

/* The vector's bytes come after ten notifications; a whole packet names number 3. */
static void check_vector(const json_t *vector) {
  size_t length;
  owned(bytes) bytes = vector_bytes(vector, "hex", &length);
  const gateway_step_t first[] = {
      TAKE_FRAMES(BATCH), AWAIT(1), {.kind = STEP_SAY, .bytes = bytes, .count = length}, CLOSE_FIN};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  owned(session) session = session_to(gateway, NULL);
  uint32_t named = 0;
  for (size_t n = 0; n < BATCH; n++)
    assert_ok(apns_session_send(session, notification(n), 0, n == 3 ? &named : NULL, &error));
  bool is_valid = vector_is(vector, "result", "valid");
  if (is_valid)
    for (int index = 0; index < 4; index++) bytes[2 + index] = (uint8_t)(named >> (24 - 8 * index));
  gateway_signal(gateway);
  gateway_await_step(gateway, 0, 3);
  drain(session);
  int status =
      (int)json_integer_value(json_object_get(json_object_get(vector, "packet"), "status"));
  if (is_valid && status != APNS_REJECT_NONE && status != APNS_REJECT_SHUTDOWN) {
    assert_counts(session, BATCH, BATCH - 1, 1, 0, 0);
    assert_event(session, APNS_EVENT_REJECTED, status, 3);
  } else {
    assert_counts(session, BATCH, BATCH, 0, 0, 0);
  }
  assert_no_event(session);
  assert_int_equal(stats_of(session).resent, is_valid ? BATCH - 4 : BATCH);
}

TEST(every_vector) {
  size_t index = 0;
  vectors_each("error-packets.json", vector) {
    if (index++ % as_many_as(1, 4) == 0) check_vector(vector);
  }
}

/* ---- Bad tokens among good ones ----------------------------------------- */

/* Each good one is accepted by the gateway once and each bad one rejected once,
   over all connections together. */
TEST(none_lost_and_none_sent_twice) {
  const size_t count = as_many_as(20000, 1500), every = 100;
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_t *session = session_to(gateway, NULL);
  owned(notifications) all = notifications(count);
  for (size_t n = every / 2; n < count; n += every) memset((char *)all[n].token + 30, 0xFF, 2);
  size_t taken = 0;
  assert_ok(apns_session_send_many(session, all, count, 0, &taken, &error));
  drain(session);
  const size_t bad = count / every;
  assert_counts(session, count, count - bad, bad, 0, 0);
  for (size_t n = every / 2; n < count; n += every)
    assert_event(session, APNS_EVENT_REJECTED, 8, n);
  assert_no_event(session);
  apns_session_free(session);
  size_t next = 0;
  for (size_t index = 0; index < gateway_connections(gateway); index++) {
    const gateway_record_t *heard = gateway_heard(gateway, index);
    for (size_t at = 0; at < heard->accepted; at++) {
      if (next % every == every / 2) next++;
      size_t n;
      memcpy(&n, heard->bytes + heard->frames[at].start + 8, sizeof n);
      assert_int_equal(n, next);
      next++;
    }
  }
  assert_int_equal(next, count);
}

/* ---- How the packet comes ----------------------------------------------- */

/* The first connection follows `first`, which names number 3 of ten with status 8. */
static void check_packet(const gateway_step_t *first, size_t steps, int format) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  apns_session_t *session = session_where(gateway, binary->format = format);
  send_range(session, 0, BATCH);
  gateway_await_step(gateway, 0, steps);
  drain(session);
  assert_counts(session, BATCH, BATCH - 1, 1, 0, 0);
  assert_event(session, APNS_EVENT_REJECTED, 8, 3);
  assert_no_event(session);
  apns_session_free(session);
  assert_same_frames(gateway_heard(gateway, 1), gateway_heard(gateway, 0), 4, 6);
}

TEST(a_packet_however_it_comes) {
  static const struct {
    gateway_step_t names, then;
    int format;
  } ways[] = {
      {NAME_NTH(8, 3), CLOSE_NOTIFY, 0},
      {NAME_NTH(8, 3), CLOSE_FIN, 0},
      {NAME_NTH(8, 3), CLOSE_RST, 0},
      {NAME_NTH(8, 3), STALL, 0},
      {NAME_NTH_PIECEMEAL(8, 3), CLOSE_NOTIFY, 0},
      {NAME_NTH_PIECEMEAL(8, 3), CLOSE_RST, 0},
      {NAME_NTH(8, 3), CLOSE_NOTIFY, APNS_FORMAT_ENHANCED},
  };
  for (size_t index = 0; index < sizeof ways / sizeof *ways; index++) {
    const gateway_step_t first[] = {TAKE_FRAMES(BATCH), ways[index].names, ways[index].then};
    check_packet(first, ways[index].then.kind == STEP_CLOSE_RST ? 3 : 2, ways[index].format);
  }
}

/* The packet comes in two reads of the session's: the half is kept. */
TEST(a_packet_in_two_halves) {
  const uint8_t half[3] = {8, 8, 0};
  /* The library's numbers begin with 1; otherwise the checks below would fail. */
  uint8_t rest[3] = {0, 0, 0};
  const gateway_step_t first[] = {TAKE_FRAMES(BATCH), SAY(half, 3), AWAIT(1), SAY(rest, 3), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  owned(session) session = session_to(gateway, NULL);
  uint32_t named = 0;
  for (size_t n = 0; n < BATCH; n++)
    assert_ok(apns_session_send(session, notification(n), 0, n == 3 ? &named : NULL, &error));
  assert_in_range(named, 1, 0xFFFF);
  rest[1] = (uint8_t)(named >> 8), rest[2] = (uint8_t)named;
  gateway_await_step(gateway, 0, 2);
  assert_no_event(session);
  gateway_signal(gateway);
  drain(session);
  assert_counts(session, BATCH, BATCH - 1, 1, 0, 0);
  assert_event(session, APNS_EVENT_REJECTED, 8, 3);
}

/* The provider wrote on while the gateway was thinking: all of that is lost there. */
TEST(a_late_packet) {
  const gateway_step_t first[] = {TAKE_FRAMES(BATCH), AWAIT(1), TAKE_FRAMES(BATCH), NAME_NTH(8, 3),
                                  END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  apns_session_t *session = session_to(gateway, NULL);
  send_range(session, 0, BATCH);
  gateway_await_step(gateway, 0, 1);
  send_range(session, BATCH, 2 * BATCH);
  gateway_signal(gateway);
  gateway_await_step(gateway, 0, 4);
  send_and_drain(session, 2 * BATCH, 3 * BATCH);
  assert_counts(session, 3 * BATCH, 3 * BATCH - 1, 1, 0, 0);
  assert_event(session, APNS_EVENT_REJECTED, 8, 3);
  assert_no_event(session);
  const gateway_record_t *after = heard_after(session, gateway, 1);
  assert_int_equal(notifications_in(after), 3 * BATCH - 4);
  for (size_t index = 0; index < 3 * BATCH - 4; index++) assert_carries(after, index, index + 4);
}

/* The write meets a reset, and the packet is still there to be read. */
TEST(a_packet_found_after_a_failed_write) {
  const gateway_step_t first[] = {TAKE_FRAMES(BATCH), NAME_NTH(8, 3), CLOSE_RST, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  apns_session_t *session = session_to(gateway, NULL);
  send_range(session, 0, BATCH);
  gateway_heard(gateway, 0);
  /* At once after the look that comes with a connection: these are written blindly. */
  send_and_drain(session, BATCH, 2 * BATCH);
  assert_counts(session, 2 * BATCH, 2 * BATCH - 1, 1, 0, 0);
  assert_event(session, APNS_EVENT_REJECTED, 8, 3);
  const gateway_record_t *after = heard_after(session, gateway, 1);
  assert_int_equal(notifications_in(after), 2 * BATCH - 4);
  for (size_t index = 0; index < 2 * BATCH - 4; index++) assert_carries(after, index, index + 4);
}

/* The gateway reads no more, names the failed one and closes: the provider finds the packet while
   its writes do not get through. */
TEST(a_packet_while_the_gateway_reads_no_more) {
  const gateway_step_t first[] = {TAKE_FRAMES(BATCH), NAME_NTH(8, 3), STALL};
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.receive_buffer = 4096}, SCRIPTS(first, polite));
  apns_session_t *session = session_to(gateway, NULL);
  const size_t count = as_many_as(20000, 5000);
  size_t taken = 0;
  owned(notifications) all = notifications(count);
  assert_ok(apns_session_send_many(session, all, count, 0, &taken, &error));
  drain(session);
  assert_counts(session, count, count - 1, 1, 0, 0);
  assert_event(session, APNS_EVENT_REJECTED, 8, 3);
  const gateway_record_t *after = heard_after(session, gateway, 1);
  assert_carries(after, 0, 4);
  assert_int_equal(notifications_in(after), count - 4);
}

TEST(several_rejections_in_a_row) {
  const gateway_step_t script[] = {TAKE_FRAMES(2), NAME_NTH(8, 1), END};
  owned(gateway) gateway =
      gateway_start(NULL, SCRIPTS(script, script, script, script, script, polite));
  apns_session_t *session = session_to(gateway, NULL);
  int64_t start = clock_ms();
  send_and_drain(session, 0, 12);
  assert_within(start, 1000);
  assert_counts(session, 12, 7, 5, 0, 0);
  for (size_t n = 1; n < 11; n += 2) assert_event(session, APNS_EVENT_REJECTED, 8, n);
  assert_no_event(session);
  assert_int_equal(stats_of(session).resent, 10 + 8 + 6 + 4 + 2);
  apns_session_free(session);
  assert_int_equal(notifications_in(gateway_heard(gateway, 5)), 2);
}

TEST(events_come_in_the_order_of_sending) {
  const gateway_step_t first[] = {TAKE_FRAMES(BATCH), NAME_NTH(8, 5), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  owned(session) session = session_where(gateway, options.outcomes = APNS_OUTCOMES_EACH);
  send_range(session, 0, BATCH);
  gateway_await_step(gateway, 0, 2);
  drain(session);
  assert_int_equal(stats_of(session).events, BATCH);
  for (size_t n = 0; n < BATCH; n++)
    assert_event(session, n == 5 ? APNS_EVENT_REJECTED : APNS_EVENT_ACCEPTED, n == 5 ? 8 : 0, n);
  assert_no_event(session);
}

TEST(an_event_has_the_identifier_of_its_send) {
  const gateway_step_t first[] = {TAKE_FRAMES(2), NAME_NTH(7, 1), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first));
  apns_session_t *session = session_to(gateway, NULL);
  uint32_t identifiers[2] = {0, 0};
  for (size_t n = 0; n < 2; n++)
    assert_ok(apns_session_send(session, notification(n), 0, &identifiers[n], &error));
  apns_event_t event = next_event(session);
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  assert_int_equal(event.reject, 7);
  assert_int_equal(event.identifier, identifiers[1]);
  assert_ptr_equal(event.user_data, (void *)2);
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  assert_int_equal(heard->frames[1].identifier, identifiers[1]);
}

/* ---- Packets without a name --------------------------------------------- */

/* The first connection takes ten and ends as in `first`, without a name. */
static void check_ambiguous(const gateway_step_t *first, size_t steps, int delivery, bool resends) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  apns_session_t *session = session_where(gateway, options.delivery = delivery);
  send_range(session, 0, BATCH);
  gateway_await_step(gateway, 0, steps);
  drain(session);
  if (resends) {
    assert_counts(session, BATCH, BATCH, 0, 0, 0);
    assert_int_equal(stats_of(session).resent, BATCH);
  } else {
    assert_counts(session, BATCH, 0, 0, BATCH, 0);
    assert_int_equal(stats_of(session).resent, 0);
    for (size_t n = 0; n < BATCH; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  }
  assert_no_event(session);
  apns_session_free(session);
  if (resends) assert_same_frames(gateway_heard(gateway, 1), gateway_heard(gateway, 0), 0, BATCH);
}

TEST(an_end_that_names_nobody) {
  static const uint8_t half[5] = {8, 8, 0, 0, 0};
  static const char page[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
  static const gateway_step_t ends[][2] = {
      {CLOSE_NOTIFY},
      {CLOSE_FIN},
      {CLOSE_RST},
      {SAY(half, 5), CLOSE_FIN},
      {SAY(half, 5), CLOSE_RST},
      {SAY(page, sizeof page - 1), CLOSE_NOTIFY},
      {NAME(8, 0), CLOSE_NOTIFY},
      /* Nothing with these numbers is in flight. */
      {NAME(8, 0x7FFFFFFF), CLOSE_NOTIFY},
      {NAME(8, 0xFFFFFFFF), CLOSE_NOTIFY},
      {NAME(10, 900), CLOSE_NOTIFY},
  };
  for (size_t index = 0; index < sizeof ends / sizeof *ends; index++) {
    const gateway_step_t *end = ends[index];
    const gateway_step_t first[] = {TAKE_FRAMES(BATCH), end[0], end[1], END};
    const size_t steps = !end[1].kind ? 1 : end[1].kind == STEP_CLOSE_RST ? 3 : 2;
    check_ambiguous(first, steps, APNS_DELIVERY_AT_LEAST_ONCE, true);
    check_ambiguous(first, steps, APNS_DELIVERY_AT_MOST_ONCE, false);
  }
}

/* Only a sentinel explains "missing token" for identifier 0. */
TEST(identifier_0_without_a_sentinel) {
  const gateway_step_t first[] = {TAKE_FRAMES(BATCH), NAME(2, 0), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  owned(session) session = session_to(gateway, NULL);
  send_range(session, 0, BATCH);
  gateway_await_step(gateway, 0, 2);
  assert_no_event(session);
  drain(session);
  assert_counts(session, BATCH, BATCH, 0, 0, 0);
  assert_int_equal(stats_of(session).resent, BATCH);
}

TEST(a_packet_for_one_never_written) {
  const gateway_step_t first[] = {TAKE_FRAMES(BATCH), NAME(8, BATCH + 2), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  apns_session_t *session = session_to(gateway, NULL);
  send_range(session, 0, BATCH);
  gateway_await_step(gateway, 0, 2);
  /* In the window, but held back: the gateway cannot mean these. */
  hold_range(session, BATCH, 2 * BATCH);
  assert_no_event(session);
  drain(session);
  assert_counts(session, 2 * BATCH, 2 * BATCH, 0, 0, 0);
  apns_session_free(session);
  assert_int_equal(notifications_in(gateway_heard(gateway, 1)), 2 * BATCH);
}

/* The gateway goes away in the middle of a frame: the rest of it, alone, would
   be garbage on the next connection. */
TEST(reset_in_the_middle_of_a_frame) {
  const gateway_step_t first[] = {TAKE_BYTES(1000), CLOSE_RST};
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.receive_buffer = 4096}, SCRIPTS(first, polite));
  apns_session_t *session = session_to(gateway, NULL);
  const size_t count = as_many_as(20000, 5000);
  owned(notifications) all = notifications(count);
  assert_ok(apns_session_send_many(session, all, count, 0, NULL, &error));
  drain(session);
  assert_counts(session, count, count, 0, 0, 0);
  apns_session_free(session);
  assert_carry_all(gateway, 1, count);
}

/* With "report" only notifications that may be on the connection are unknown; the rest is sent. */
TEST(report_sends_on_what_was_never_written) {
  const gateway_step_t first[] = {TAKE_FRAMES(BATCH), CLOSE_FIN};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  apns_session_t *session = session_where(gateway, options.delivery = APNS_DELIVERY_AT_MOST_ONCE);
  send_range(session, 0, BATCH);
  gateway_await_step(gateway, 0, 1);
  apns_event_t event = next_event(session);
  assert_int_equal(event.kind, APNS_EVENT_UNKNOWN);
  for (size_t n = 1; n < BATCH; n++) assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
  send_and_drain(session, BATCH, 2 * BATCH);
  assert_counts(session, 2 * BATCH, BATCH, 0, BATCH, 0);
  apns_session_free(session);
  assert_carries(gateway_heard(gateway, 1), 0, BATCH);
}

/* ---- Sentinels ---------------------------------------------------------- */

static void check_sentinel(const gateway_step_t *script, int format) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_t *session = session_where(gateway, binary->format = format);
  send_and_drain(session, 0, BATCH);
  assert_counts(session, BATCH, BATCH, 0, 0, 0);
  assert_no_event(session);
  assert_int_equal(stats_of(session).resent, 0);
  assert_int_equal(stats_of(session).connects, 1);
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  assert_int_equal(heard->frame_count, BATCH + 1);
  assert_true(heard->frames[BATCH].is_sentinel);
}

TEST(a_sentinel_proves_all_before_it) {
  static const uint8_t statuses[] = {2, 5, 8, 128};
  for (size_t index = 0; index < sizeof statuses; index++) {
    const gateway_step_t script[] = {TAKE_SENTINEL, NAME_LAST(statuses[index]), END};
    check_sentinel(script, APNS_FORMAT_FRAMED);
    check_sentinel(script, APNS_FORMAT_ENHANCED);
  }
}

TEST(a_sentinel_answered_with_identifier_0) {
  check_sentinel((gateway_step_t[]){TAKE_SENTINEL, NAME(2, 0), END}, 0);
  check_sentinel((gateway_step_t[]){TAKE_SENTINEL, NAME(5, 0), END}, 0);
}

TEST(a_rejection_before_the_sentinel) {
  const gateway_step_t first[] = {TAKE_SENTINEL, NAME_NTH(8, 3), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  apns_session_t *session = session_to(gateway, NULL);
  send_and_drain(session, 0, BATCH);
  assert_counts(session, BATCH, BATCH - 1, 1, 0, 0);
  assert_int_equal(stats_of(session).resent, BATCH - 4);
  assert_event(session, APNS_EVENT_REJECTED, 8, 3);
  apns_session_free(session);
  assert_same_frames(gateway_heard(gateway, 1), gateway_heard(gateway, 0), 4, BATCH - 4);
}

/* Nothing is left to prove after the last one was named. */
TEST(the_last_one_named_before_the_sentinel) {
  const gateway_step_t first[] = {TAKE_SENTINEL, NAME_NTH(8, BATCH - 1), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, polite));
  owned(session) session = session_to(gateway, NULL);
  send_and_drain(session, 0, BATCH);
  assert_counts(session, BATCH, BATCH - 1, 1, 0, 0);
  assert_int_equal(stats_of(session).connects, 1);
}

TEST(a_drained_session_sends_on) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(polite, polite, polite));
  apns_session_t *session = session_to(gateway, NULL);
  for (size_t round = 0; round < 3; round++) {
    send_and_drain(session, round * BATCH, (round + 1) * BATCH);
    assert_counts(session, (round + 1) * BATCH, (round + 1) * BATCH, 0, 0, 0);
  }
  apns_session_free(session);
  for (size_t round = 0; round < 3; round++) {
    const gateway_record_t *heard = gateway_heard(gateway, round);
    assert_int_equal(notifications_in(heard), BATCH);
    assert_carries(heard, 0, round * BATCH);
  }
}

TEST(draining_nothing_does_nothing) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_to(gateway, NULL);
  size_t unresolved = 99;
  assert_ok(apns_session_drain(session, 0, &unresolved, &error));
  assert_int_equal(unresolved, 0);
  assert_int_equal(gateway_connections(gateway), 0);
}

/* ---- Silence ------------------------------------------------------------ */

TEST(silence_is_acceptance_after_the_quiet_period) {
  const gateway_step_t script[] = {TAKE_ALL, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  apns_session_t *session = session_where(gateway, binary->quiet_period_ms = 300);
  clock_stop();
  send_range(session, 0, BATCH);
  size_t unresolved = 0;
  assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 0, &unresolved, &error));
  assert_int_equal(unresolved, BATCH);
  clock_forward(299);
  assert_status(APNS_ERR_TIMEOUT, apns_session_drain(session, 0, &unresolved, &error));
  assert_int_equal(unresolved, BATCH);
  clock_forward(1);
  assert_ok(apns_session_drain(session, 0, NULL, &error));
  clock_go();
  assert_counts(session, BATCH, BATCH, 0, 0, 0);
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  assert_int_equal(heard->frame_count, BATCH);
  assert_int_equal(notifications_in(heard), BATCH);
}

TEST(a_packet_within_the_quiet_period) {
  const gateway_step_t first[] = {TAKE_FRAMES(BATCH), NAME_NTH(8, 3), END};
  const gateway_step_t second[] = {TAKE_ALL, END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(first, second));
  apns_session_t *session = session_where(gateway, binary->quiet_period_ms = 2000);
  send_range(session, 0, BATCH);
  gateway_await_step(gateway, 0, 2);
  int64_t start = clock_ms();
  drain(session);
  /* It returns when the period is over, not when the drain's time is. */
  assert_in_range(clock_ms() - start, 2000, AMPLE_MS / 2);
  assert_counts(session, BATCH, BATCH - 1, 1, 0, 0);
  assert_event(session, APNS_EVENT_REJECTED, 8, 3);
  apns_session_free(session);
  assert_same_frames(gateway_heard(gateway, 1), gateway_heard(gateway, 0), 4, BATCH - 4);
}

/* No sentinel: the gateway could not name the failed one anyway. */
TEST(with_the_simple_format) {
  static const struct {
    gateway_step_t script[3];
    uint32_t quiet_period_ms;
    apns_delivery_t delivery;
    bool proves;
  } rows[] = {
      {{TAKE_ALL, END}, 0, APNS_DELIVERY_AT_LEAST_ONCE, false}, /* silence proves nothing */
      {{TAKE_ALL, END}, 100, APNS_DELIVERY_AT_LEAST_ONCE, true},
      /* The end is reported: nothing could ever be proven, or the option wants it so. */
      {{TAKE_FRAMES(BATCH), CLOSE_FIN, END}, 0, APNS_DELIVERY_AT_LEAST_ONCE, false},
      {{TAKE_FRAMES(BATCH), CLOSE_FIN, END}, AMPLE_MS, APNS_DELIVERY_AT_MOST_ONCE, false},
  };
  for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
    owned(gateway) gateway = gateway_start(NULL, SCRIPTS(rows[index].script));
    apns_session_t *session = session_where(gateway, binary->format = APNS_FORMAT_SIMPLE,
                                            binary->quiet_period_ms = rows[index].quiet_period_ms,
                                            options.delivery = (int32_t)rows[index].delivery);
    send_and_drain(session, 0, BATCH);
    assert_int_equal(stats_of(session).resent, 0);
    assert_counts(session, BATCH, rows[index].proves * BATCH, 0, !rows[index].proves * BATCH, 0);
    for (size_t n = 0; n < BATCH && !rows[index].proves; n++)
      assert_event(session, APNS_EVENT_UNKNOWN, 0, n);
    apns_session_free(session);
    assert_int_equal(gateway_heard(gateway, 0)->frame_count, BATCH);
  }
}

/* A gateway that answers nothing and ends each connection may do so because of a notification:
   after a while they come out as unknown, not again and again. */
TEST(endless_ambiguity_ends) {
  const gateway_step_t script[] = {TAKE_FRAMES(1), CLOSE_FIN};
  owned(gateway) gateway = gateway_start(
      NULL, SCRIPTS(script, script, script, script, script, script, script, script, script));
  owned(session) session = session_to(gateway, NULL);
  send_and_drain(session, 0, 1);
  assert_counts(session, 1, 0, 0, 1, 0);
  assert_event(session, APNS_EVENT_UNKNOWN, 0, 0);
}
