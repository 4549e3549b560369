/* A service that breaks HTTP/2's rules (RFC 9113), gets GOAWAY or a reset, and stays silent with
   its connection open: nobody waits for responses in vain, and each notification gets an
   outcome. */
#include "pushing.h"

enum { COUNT = 40, ANSWERED = 30 };

typedef struct breach {
  const char *name;
  uint8_t frame[16];
  size_t length;
} breach_t;

static const breach_t breaches[] = {
    /* 6.1: DATA is of a stream, never of the connection. */
    {"DATA on stream 0", {0, 0, 1, 0x0, 0, 0, 0, 0, 0, '!'}, 10},
    /* 4.3: a header block has to be decodable. Index 0 of HPACK's table stands for nothing. */
    {"a header block nobody can read", {0, 0, 1, 0x1, 0x4, 0, 0, 0, 1, 0x80}, 10},
    /* 6.5: SETTINGS are six bytes each. */
    {"half of a setting", {0, 0, 3, 0x4, 0, 0, 0, 0, 0, 0, 3, 0}, 12},
    /* 6.9: a window of nothing more. */
    {"WINDOW_UPDATE of 0", {0, 0, 4, 0x8, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 13},
    /* 4.2: no frame is larger than SETTINGS_MAX_FRAME_SIZE, which is 16,384. */
    {"a frame of 16 MB", {0xFF, 0xFF, 0xFF, 0x0, 0, 0, 0, 0, 1}, 9},
};

typedef struct script {
  const breach_t *breach;
  size_t answered; /* of the first connection's, of which the last brings the breach */
} script_t;

static service_reply_t judge(void *context, const service_push_t *push) {
  const script_t *script = context;
  service_reply_t reply = {0};
  if (push->connection > 0) return reply;
  if (push->number >= script->answered) reply.action = SERVE_SILENCE;
  if (push->number == COUNT - 1) {
    reply.last_words = script->breach->frame;
    reply.last_words_length = script->breach->length;
  }
  return reply;
}

/* Responses come only if no call waits for `answer_timeout_ms`, which is longer than the drain. */
static void check_breach(const breach_t *breach, size_t answered, int delivery) {
  script_t script = {breach, answered};
  owned(service) service = service_judging(judge, &script);
  apns_session_t *session =
      push_session_where(service, options.delivery = delivery, tuning->answer_timeout_ms = 600000);
  const size_t owed = COUNT - answered;
  const size_t again = delivery == APNS_DELIVERY_AT_LEAST_ONCE ? owed : 0;
  size_t accepted = 0, unknown = 0;
  send_and_drain(session, 0, COUNT);
  for (size_t n = 0; n < COUNT; n++) {
    const apns_event_t event = one_event(session);
    if (event.kind == APNS_EVENT_ACCEPTED) accepted++;
    if (event.kind == APNS_EVENT_UNKNOWN) unknown++;
  }
  assert_int_equal(accepted, answered + again);
  assert_int_equal(unknown, owed - again);
  assert_int_equal(stats_of(session).resent, again);
  /* And the session is as good as before. */
  send_and_drain(session, COUNT, COUNT + 1);
  assert_int_equal(one_event(session).kind, APNS_EVENT_ACCEPTED);
  push_stop(session, service);
  assert_int_equal(service_connections(service), 2);
  assert_int_equal(service_complaints(service), 1);
  assert_int_equal(service_count(service), COUNT + again + 1);
}

static void check_breaches(size_t answered, int delivery) {
  for (size_t index = 0; index < sizeof breaches / sizeof *breaches; index++) {
    print_message("%s\n", breaches[index].name);
    check_breach(&breaches[index], answered, delivery);
  }
}

TEST(what_is_in_flight_is_named_as_unknown) {
  check_breaches(ANSWERED, APNS_DELIVERY_AT_MOST_ONCE);
}

TEST(what_is_in_flight_is_sent_again) { check_breaches(ANSWERED, APNS_DELIVERY_AT_LEAST_ONCE); }

TEST(with_nothing_in_flight_only_the_connection_is_replaced) {
  check_breaches(COUNT, APNS_DELIVERY_AT_MOST_ONCE);
}
