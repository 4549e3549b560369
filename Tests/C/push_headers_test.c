/* Header fields over HTTP/2: they arrive unchanged, even with the smallest dynamic table of the
   service; and the session accepts only well-formed responses. */
#include <openssl/pem.h>
#include <stdio.h>

#include "keychain.h"
#include "pushing.h"

/* ---- Requests ------------------------------------------------------------- */

/* A notification with fields drawn from its number, some often and some once. */
typedef struct drawn {
  uint8_t token[APNS_TOKEN_MAX];
  char path[2 * APNS_TOKEN_MAX + 16], topic[256], collapse_id[65], id[37], expiration[24];
  const char *type, *priority;
  apns_notification_t push;
} drawn_t;

static uint32_t draw(uint64_t *seed, uint32_t below) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33) % below;
}

/* Characters with short codes, with long ones and without any of ours. */
static void draw_text(uint64_t *seed, char *text, size_t length) {
  static const char usual[] = "abcdefghijklmnopqrstuvwxyz0123456789.-_ABCXYZ&*,;!?()#>|+'\"";
  static const char rare[] = "$@[]~^}<`{\\\xC3\xA4";
  const bool is_rare = draw(seed, 4) == 0;
  for (size_t index = 0; index < length; index++)
    text[index] = is_rare && draw(seed, 3) == 0 ? rare[draw(seed, sizeof rare - 1)]
                                                : usual[draw(seed, sizeof usual - 1)];
  text[length] = 0;
}

static const apns_notification_t *notification_drawn(size_t n, drawn_t *drawn) {
  static const char *const types[] = {"alert", "voip", "location", "mdm", "complication"};
  static const uint8_t kinds[] = {APNS_PUSH_TYPE_ALERT, APNS_PUSH_TYPE_VOIP,
                                  APNS_PUSH_TYPE_LOCATION, APNS_PUSH_TYPE_MDM,
                                  APNS_PUSH_TYPE_COMPLICATION};
  static const char *const priorities[] = {"", "1", "5", "10"};
  uint64_t seed = n * 7919 + 1;
  memset(drawn, 0, sizeof *drawn);
  drawn->push = (apns_notification_t)APNS_NOTIFICATION_INIT;
  apns_notification_t *push = &drawn->push;
  for (int warm = 0; warm < 4; warm++) draw(&seed, 2);

  push->token = drawn->token;
  push->token_length = n % 3 ? 32 : 4 + draw(&seed, APNS_TOKEN_MAX - 3);
  memcpy(drawn->token, &(uint32_t){(uint32_t)n}, 4);
  for (size_t index = 4; index < push->token_length; index++)
    drawn->token[index] = (uint8_t)draw(&seed, 256);
  size_t end = (size_t)sprintf(drawn->path, "/3/device/");
  for (size_t index = 0; index < push->token_length; index++)
    end += (size_t)sprintf(drawn->path + end, "%02x", drawn->token[index]);

  uint64_t often = draw(&seed, n % 2 ? 3 : 40) + 1, *from = draw(&seed, 10) ? &often : &seed;
  draw_text(from, drawn->topic, draw(&seed, 50) ? 1 + (size_t)(*from % 30) : 255);
  push->topic = drawn->topic;
  uint32_t type = draw(&seed, 5), priority = draw(&seed, 4);
  push->push_type = kinds[type], drawn->type = types[type];
  push->priority = (uint8_t[]){0, 1, 5, 10}[priority], drawn->priority = priorities[priority];
  if (draw(&seed, 2)) {
    push->expiry = 4000000000 + n / 50 % 2 * draw(&seed, 1000000);
    sprintf(drawn->expiration, "%lld", (long long)push->expiry);
  }
  if (draw(&seed, 2)) {
    draw_text(from, drawn->collapse_id, 1 + (size_t)(*from % 64));
    push->collapse_id = drawn->collapse_id;
  }
  if (draw(&seed, 3) == 0) {
    sprintf(drawn->id, "5e2a60c0-1111-4000-8000-%012zx", n);
    push->apns_id = drawn->id;
  }
  push->payload = "{\"aps\":{}}";
  push->payload_length = 10;
  return push;
}

/* Changes the size of its dynamic table now and then. */
static service_reply_t judge_with_sizes(void *context, const service_push_t *push) {
  static const uint32_t sizes[] = {4096, 100, 3000, 0, 150, 65536, 40};
  const size_t every = *(const size_t *)context;
  service_reply_t reply = {0};
  if (every && push->number % every == every - 1)
    reply.table_size_and_one = 1 + sizes[push->number / every % (sizeof sizes / sizeof *sizes)];
  return reply;
}

static void check_drawn(uint32_t table_size_and_one, size_t every, size_t count) {
  const service_options_t options = {
      .judge = judge_with_sizes, .context = &every, .table_size_and_one = table_size_and_one};
  owned(service) service = service_start(&options);
  apns_session_t *session = push_session_where(service, options.outcomes = APNS_OUTCOMES_FAILURES);
  drawn_t drawn;
  for (size_t n = 0; n < count; n++)
    assert_ok(apns_session_send(session, notification_drawn(n, &drawn),
                                n % 97 == 96 || n + 1 == count ? 0 : APNS_SEND_MORE, NULL, &error));
  drain(session);
  assert_counts(session, count, count, 0, 0, 0);
  push_stop(session, service);
  assert_int_equal(service_connections(service), 1);
  assert_int_equal(service_count(service), count);
  char authority[32];
  snprintf(authority, sizeof authority, "localhost:%d", service_port(service));
  for (size_t index = 0; index < count; index++) {
    const service_push_t *push = service_push(service, index);
    notification_drawn(index, &drawn);
    assert_string_equal(push->path, drawn.path);
    assert_string_equal(push->authority, authority);
    assert_string_equal(push->topic, drawn.topic);
    assert_string_equal(push->push_type, drawn.type);
    assert_string_equal(push->priority, drawn.priority);
    assert_string_equal(push->expiration, drawn.expiration);
    assert_string_equal(push->collapse_id, drawn.collapse_id);
    assert_string_equal(push->id, drawn.id);
    assert_string_equal(push->authorization, "");
  }
}

TEST(fields_arrive_as_they_were_said) { check_drawn(0, 0, as_many_as(20000, 1000)); }

TEST(fields_arrive_where_little_is_remembered) {
  static const uint32_t sizes[] = {0, 1, 57, 120, 1000, 1024, 4095, 65536};
  for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++)
    check_drawn(1 + sizes[index], 0, as_many_as(2000, 100));
}

TEST(fields_arrive_while_that_changes) { check_drawn(0, 50, as_many_as(5000, 500)); }

/* An invalid value is refused where it is set: a session's topic when the session is made. */
TEST(what_cannot_be_asked) {
  owned(service) service = service_start(NULL);
  owned(credentials) credentials = provider_credentials();
  char long_topic[300];
  memset(long_topic, 'x', sizeof long_topic - 1);
  long_topic[sizeof long_topic - 1] = 0;
  const char *const topics[][2] = {
      {"", "topic is empty"},
      {"com.example\napp", "topic cannot have character 0x0a at 11"},
      {"com example", "topic cannot have character 0x20 at 3"},
      {" ", "topic cannot have character 0x20 at 0"},
      {"app\x7F", "topic cannot have character 0x7f at 3"},
      {long_topic, "topic has more than 255 bytes"},
  };
  for (size_t index = 0; index < sizeof topics / sizeof *topics; index++) {
    apns_session_options_t options = push_options(service);
    options.topic = topics[index][0];
    apns_session_t *session = NULL;
    assert_says(APNS_ERR_ARGUMENT, apns_session_new(&options, credentials, &session, &error),
                topics[index][1]);
    assert_null(session);
  }
  apns_session_t *session = push_session(service, NULL);
#define REFUSED(change, status, text)                                                     \
  do {                                                                                    \
    apns_notification_t push = *notification(1);                                          \
    change;                                                                               \
    error.reject = 99;                                                                    \
    assert_status(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, NULL, &error)); \
    assert_contains(error.message, text);                                                 \
    assert_int_equal(error.reject, status);                                               \
  } while (0)
  static char large[4097];
  memset(large, ' ', sizeof large);
  const int processing = APNS_REJECT_PROCESSING_ERROR;
  REFUSED(push.expiry = -2, processing, "expiry is -2, neither a time nor APNS_EXPIRY_ONCE");
  REFUSED(push.expiry = INT64_MIN, processing, "expiry is -9223372036854775808, neither");
  REFUSED(push.token = NULL, APNS_REJECT_MISSING_TOKEN, "token is NULL");
  REFUSED(push.token_length = 0, APNS_REJECT_MISSING_TOKEN, "token has 0 bytes, not 1 to 100");
  REFUSED(push.token_length = SIZE_MAX, APNS_REJECT_INVALID_TOKEN_SIZE,
          "token has 18446744073709551615 bytes, not 1 to 100");
  REFUSED(push.payload = NULL, APNS_REJECT_MISSING_PAYLOAD, "payload is NULL");
  REFUSED(push.payload_length = 0, APNS_REJECT_MISSING_PAYLOAD, "payload is empty");
  REFUSED(push.payload_length = SIZE_MAX, APNS_REJECT_INVALID_PAYLOAD_SIZE,
          "payload has 18446744073709551615 bytes, more than");
  REFUSED((push.payload = large, push.payload_length = 4097), APNS_REJECT_INVALID_PAYLOAD_SIZE,
          "payload has 4097 bytes, more than 4096");
  REFUSED(push.reserved[5] = 1, APNS_REJECT_NONE,
          "apns_notification_t.reserved is reserved and has to be zero");
  REFUSED(push.topic = "a b", APNS_REJECT_INVALID_TOPIC_SIZE,
          "topic cannot have character 0x20 at 1");
  REFUSED(push.topic = long_topic, APNS_REJECT_INVALID_TOPIC_SIZE, "topic has more than 255");
  REFUSED(push.push_type = 99, processing, "push_type is 99");
  REFUSED(push.priority = 7, processing, "priority is 7");
  REFUSED((push.push_type = APNS_PUSH_TYPE_BACKGROUND, push.priority = 10), processing,
          "priority is 10, but a background push needs 5");
  REFUSED(push.collapse_id = "a\nb", processing, "collapse_id cannot have character 0x0a at 1");
  REFUSED(push.apns_id = "x", processing, "apns_id is not a UUID");
#undef REFUSED
  assert_int_equal(stats_of(session).taken, 0);
  apns_notification_t push = *notification(1);
  push.expiry = APNS_EXPIRY_ONCE;
  assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  drain(session);
  push_stop(session, service);
  assert_string_equal(service_push(service, 0)->expiration, "0");
}

/* The checks are those of the binary interface. */
TEST(checks_by_http2) {
  owned(service) service = service_start(NULL);
  owned(session) session = push_session_where(service, options.checks = APNS_CHECK_ALL);
  apns_notification_t push = *notification(1);
  push.payload = "{\"aps\":{\"badge\":\"3\"}}", push.payload_length = 21;
  assert_invalid(apns_session_send(session, &push, 0, NULL, &error),
                 "payload, line 1, column 17 (byte 16): 'badge'");
  assert_int_equal(error.reject, APNS_REJECT_PROCESSING_ERROR);
  push = *notification(1);
  push.payload = "{\"aps\":{\"content-available\":1}}", push.payload_length = 31;
  assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  push.expiry = 3600;
  assert_invalid(apns_session_send(session, &push, 0, NULL, &error), "looks like a duration");
  assert_int_equal(error.reject, APNS_REJECT_PROCESSING_ERROR);
  owned(payload) payload = payload_with(NULL);
  push.payload = NULL, push.payload_length = 0;
  assert_invalid(apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error),
                 "looks like a duration");
  push.expiry = APNS_EXPIRY_ONCE;
  assert_ok(apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error));
  drain(session);
  assert_int_equal(stats_of(session).taken, 2);
}

/* ---- What is answered ----------------------------------------------------- */

#define ID "apns-id", "5e2a60c0-0000-4000-8000-00000000000a"

static const struct {
  int32_t kind;
  const char *fields[12];
} answers[] = {
    {APNS_EVENT_ACCEPTED, {":status", "200", ID, NULL, NULL}},
    {APNS_EVENT_ACCEPTED, {":status", "103", "link", "</a>", NULL, ":status", "200", ID}},
    {APNS_EVENT_ACCEPTED, {":status", "100", NULL, ":status", "103", NULL, ":status", "200"}},
    {APNS_EVENT_ACCEPTED, {":status", "200", ID, NULL, "server-timing", "a"}},
    {APNS_EVENT_REJECTED, {":status", "410", ID}},
    {APNS_EVENT_ACCEPTED, {":status", "200", "content-length", "0"}},
    /* Malformed responses: a second status is not allowed (RFC 9113, 8.3.2). */
    {APNS_EVENT_UNKNOWN, {":status", "200", NULL, ":status", "400"}},
    {APNS_EVENT_UNKNOWN, {":status", "400", ID, NULL, ":status", "200"}},
    {APNS_EVENT_UNKNOWN, {":status", "200", ":status", "400"}},
    {APNS_EVENT_UNKNOWN, {":status", "200", ":status", "200"}},
    /* Nor is a content-length larger than the body (8.1.1). */
    {APNS_EVENT_UNKNOWN, {":status", "200", "content-length", "5"}},
    {APNS_EVENT_UNKNOWN, {":status", "200", "content-length", "-0"}},
    {APNS_EVENT_UNKNOWN, {ID}},
    {APNS_EVENT_UNKNOWN, {ID, ":status", "200"}},
    {APNS_EVENT_UNKNOWN, {"server", "a", ":status", "200"}},
    {APNS_EVENT_UNKNOWN, {":path", "/", ":status", "200"}},
    {APNS_EVENT_UNKNOWN, {":status", "103", "link", "</a>"}},
    {APNS_EVENT_UNKNOWN, {":status", "103", ":status", "200"}},
    {APNS_EVENT_UNKNOWN, {":status", "101", NULL, ":status", "200"}},
    {APNS_EVENT_UNKNOWN, {":status", "2x0"}},
    {APNS_EVENT_UNKNOWN, {":status", "20"}},
    {APNS_EVENT_UNKNOWN, {":status", "2000"}},
    {APNS_EVENT_UNKNOWN, {":status", "020"}},
    {APNS_EVENT_UNKNOWN, {":status", ""}},
};
#define ANSWERS (sizeof answers / sizeof *answers)

static service_reply_t judge_by_fields(void *context, const service_push_t *push) {
  (void)context;
  return (service_reply_t){.fields = answers[number_of(push) % ANSWERS].fields};
}

TEST(an_answer_is_formed_like_one) {
  const size_t count = 5 * ANSWERS;
  const service_options_t options = {.judge = judge_by_fields};
  owned(service) service = service_start(&options);
  owned(session) session =
      push_session_where(service, options.delivery = APNS_DELIVERY_AT_MOST_ONCE);
  send_and_drain(session, 0, count);
  for (size_t n = 0; n < count; n++) {
    apns_event_t event = one_event(session);
    size_t which = (size_t)(uintptr_t)event.user_data - 1;
    if (event.kind != answers[which % ANSWERS].kind)
      fail_msg("answer %zu ended as %d", which % ANSWERS, event.kind);
    if (event.kind == APNS_EVENT_REJECTED)
      assert_int_equal(event.http_status, atoi(answers[which % ANSWERS].fields[1]));
    if (answers[which % ANSWERS].fields[2] && event.kind != APNS_EVENT_UNKNOWN &&
        !strcmp(answers[which % ANSWERS].fields[2], "apns-id"))
      assert_string_equal(event.apns_id, "5e2a60c0-0000-4000-8000-00000000000a");
  }
  assert_int_equal(stats_of(session).connects, 1);
}

static service_reply_t judge_with_a_hostile_reason(void *context, const service_push_t *push) {
  (void)context, (void)push;
  return (service_reply_t){.status = 400,
                           .body =
                               "{\"reason\":\"Bad\\u202eDevice\\u2028\\u0085\\u001b[2J\\ufeff"
                               "\xD8\x9C\xE2\x81\xA6\xC2\x9B \xC3\xA4\"}"};
}

/* It may come to stand in a log, or on a terminal. */
TEST(a_reason_that_would_not_stay_in_its_line) {
  owned(service) service =
      service_start(&(service_options_t){.judge = judge_with_a_hostile_reason});
  owned(session) session = push_session(service, NULL);
  send_and_drain(session, 0, 1);
  assert_string_equal(one_event(session).reason_text, "Bad?Device???[2J???? \xC3\xA4");
}

/* ---- Push type and topic ---------------------------------------------------- */

#define ACTIVITY "{\"aps\":{\"timestamp\":1800000000,\"event\":\"update\",\"content-state\":{}}}"
#define CHANGED "{\"aps\":{\"content-changed\":true}}"

/* A notification of this type and with this topic; 0 and NULL leave them out. */
typedef struct told {
  const char *payload, *topic;
  apns_push_type_t type;
} told_t;

static apns_notification_t telling(const told_t *told) {
  apns_notification_t push = *notification(1);
  push.payload = told->payload, push.payload_length = strlen(told->payload);
  push.topic = told->topic;
  push.push_type = (uint8_t)told->type;
  return push;
}

/* A session whose topic is com.example.app, which neither needs nor has a suffix. */
static apns_session_t *session_of_app(service_t *service, int32_t checks) {
  return push_session_where(service, options.topic = "com.example.app", options.checks = checks);
}

/* A missing type or topic follows from payload and session topic; given ones are never changed. */
TEST(type_and_topic_that_are_not_said) {
  static const struct {
    told_t told;
    const char *type, *topic;
  } cases[] = {
      {{ACTIVITY, NULL, 0}, "liveactivity", "com.example.app.push-type.liveactivity"},
      {{ACTIVITY, "a.b", 0}, "liveactivity", "a.b"},
      {{ACTIVITY, NULL, APNS_PUSH_TYPE_ALERT}, "alert", "com.example.app"},
      {{"{\"aps\":{}}", NULL, APNS_PUSH_TYPE_LIVEACTIVITY},
       "liveactivity",
       "com.example.app.push-type.liveactivity"},
      {{"{\"aps\":{}}", "a.push-type.liveactivity", 0}, "liveactivity", "a.push-type.liveactivity"},
      {{CHANGED, NULL, 0}, "alert", "com.example.app"},
      {{CHANGED, "a.push-type.widgets", 0}, "widgets", "a.push-type.widgets"},
      {{CHANGED, "a.push-type.controls", 0}, "controls", "a.push-type.controls"},
      {{CHANGED, NULL, APNS_PUSH_TYPE_CONTROLS}, "controls", "com.example.app.push-type.controls"},
      {{"{\"aps\":{}}", NULL, APNS_PUSH_TYPE_VOIP}, "voip", "com.example.app.voip"},
      {{"{\"aps\":{}}", "com.example.voip", APNS_PUSH_TYPE_ALERT}, "alert", "com.example.voip"},
      {{"{\"call\":7}", "a.voip", 0}, "voip", "a.voip"},
      {{"{\"aps\":{\"content-available\":1}}", "a.voip", 0}, "voip", "a.voip"},
      {{"{\"aps\":{}}", "a.voip-ptt", 0}, "pushtotalk", "a.voip-ptt"},
      {{"{\"aps\":{}}", "a.complication", 0}, "complication", "a.complication"},
      {{"{}", "a.pushkit.fileprovider", 0}, "fileprovider", "a.pushkit.fileprovider"},
      {{"{\"aps\":{}}", "a.location-query", 0}, "location", "a.location-query"},
      {{"{\"aps\":{}}", "com.apple.mgmt.External.7", 0}, "mdm", "com.apple.mgmt.External.7"},
      {{"{\"mdm\":\"p\"}", "com.apple.mgmt.External.7", 0}, "mdm", "com.apple.mgmt.External.7"},
  };
#define CASES (sizeof cases / sizeof *cases)
  owned(service) service = service_start(NULL);
  apns_session_t *session = session_of_app(service, -1);
  for (size_t index = 0; index < CASES; index++) {
    const apns_notification_t push = telling(&cases[index].told);
    assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  }
  drain(session);
  push_stop(session, service);
  for (size_t index = 0; index < CASES; index++) {
    assert_string_equal(service_push(service, index)->push_type, cases[index].type);
    assert_string_equal(service_push(service, index)->topic, cases[index].topic);
  }
#undef CASES
}

/* Most notifications of a campaign differ in the token only. Each of the others is what it says. */
TEST(each_notification_of_a_campaign_is_what_it_says) {
  static const told_t payloads[] = {{"{\"aps\":{\"alert\":\"a\"}}", "com.example.app", 0},
                                    {"{\"aps\":{\"content-available\":1}}", "com.example.app", 0},
                                    {ACTIVITY, "com.example.app.push-type.liveactivity", 0}};
  static const char *const types[] = {"alert", "background", "liveactivity"};
  enum { COUNT = 2000 };
  static struct {
    uint32_t payload, priority, expiry, type, own;
    size_t token_length;
  } said[COUNT];
  static uint8_t token[APNS_TOKEN_MAX];
  uint64_t seed = 7;
  owned(service) service = service_start(NULL);
  apns_session_t *session = session_of_app(service, APNS_CHECK_ALL);
  for (size_t n = 0; n < COUNT; n++) {
    if (n) said[n] = said[n - 1];
    if (draw(&seed, 4) == 0) said[n].payload = draw(&seed, 3);
    if (draw(&seed, 4) == 0) said[n].priority = draw(&seed, 2) * 5;
    if (draw(&seed, 4) == 0) said[n].expiry = draw(&seed, 2);
    if (draw(&seed, 4) == 0) said[n].type = draw(&seed, 2);
    said[n].own = draw(&seed, 12);
    said[n].token_length = draw(&seed, 5) ? 32 : 4 + draw(&seed, 60);
    apns_notification_t push = telling(&payloads[said[n].payload]);
    memcpy(token, &(uint32_t){(uint32_t)n}, 4);
    push.token = token, push.token_length = said[n].token_length;
    push.priority = (uint8_t)said[n].priority;
    push.expiry = said[n].expiry ? APNS_EXPIRY_ONCE : 0;
    push.topic = said[n].own == 1 ? "com.example.other" : NULL;
    push.collapse_id = said[n].own == 2 ? "game" : NULL;
    push.apns_id = said[n].own == 3 ? "5e2a60c0-0000-4000-8000-00000000000a" : NULL;
    if (said[n].type) push.push_type = (uint8_t)(APNS_PUSH_TYPE_ALERT + said[n].payload);
    if (said[n].payload == 2) push.push_type = said[n].type ? APNS_PUSH_TYPE_LIVEACTIVITY : 0;
    if (said[n].own == 1 && said[n].payload == 2) push.topic = "a.push-type.liveactivity";
    if (said[n].own == 4) {
      /* Like the one before, but of a type that its payload does not suit. */
      apns_notification_t other = push;
      other.push_type = APNS_PUSH_TYPE_WIDGETS;
      assert_invalid(apns_session_send(session, &other, 0, NULL, &error), "push_type is widgets");
    }
    assert_ok(apns_session_send(session, &push, APNS_SEND_MORE, NULL, &error));
  }
  drain(session);
  push_stop(session, service);
  assert_int_equal(service_count(service), COUNT);
  for (size_t n = 0; n < COUNT; n++) {
    const service_push_t *push = service_push(service, n);
    const told_t *told = &payloads[said[n].payload];
    memcpy(token, &(uint32_t){(uint32_t)n}, 4);
    char path[2 * APNS_TOKEN_MAX + 16] = "/3/device/";
    for (size_t index = 0; index < said[n].token_length; index++)
      sprintf(path + 10 + 2 * index, "%02x", token[index]);
    assert_string_equal(push->path, path);
    assert_string_equal(push->payload, told->payload);
    assert_string_equal(push->push_type, types[said[n].payload]);
    assert_string_equal(push->topic, said[n].own != 1       ? told->topic
                                     : said[n].payload == 2 ? "a.push-type.liveactivity"
                                                            : "com.example.other");
    assert_string_equal(push->priority, said[n].priority || said[n].payload == 1 ? "5" : "");
    assert_string_equal(push->expiration, said[n].expiry ? "0" : "");
    assert_string_equal(push->collapse_id, said[n].own == 2 ? "game" : "");
    assert_string_equal(push->id, said[n].own == 3 ? "5e2a60c0-0000-4000-8000-00000000000a" : "");
  }
}

/* A missing type and topic come from the certificate, by its names and its extensions. */
TEST(type_and_topic_of_the_certificate) {
  static const char *const all[] = {"a.voip", "a.voip.voip", "a.voip.complication", NULL};
  static const struct {
    push_certificate_t certificate;
    bool is_for_voip;
    const char *session_topic, *payload;
    apns_push_type_t said;
    const char *type, *topic;
  } cases[] = {
      {{.user_id = "a.b.voip"}, true, NULL, "{\"call\":7}", 0, "voip", ""},
      {{.user_id = "a.b.voip"}, false, NULL, "{\"aps\":{\"alert\":\"a\"}}", 0, "voip", ""},
      {{.user_id = "a.b"}, true, NULL, "{\"call\":7}", 0, "voip", "a.b.voip"},
      {{.user_id = "a.b.voip"}, true, "a.b", "{\"call\":7}", 0, "voip", "a.b.voip"},
      {{.user_id = "a.b.complication"}, false, NULL, "{\"aps\":{}}", 0, "complication", ""},
      {{.user_id = "com.apple.mgmt.External.7"}, false, NULL, "{\"mdm\":\"p\"}", 0, "mdm", ""},
      {{.user_id = "a.b", .for_sandbox = true}, true, NULL, "{\"aps\":{}}", 0, "alert", ""},
      {{.user_id = "a.b"}, false, NULL, "{\"aps\":{}}", APNS_PUSH_TYPE_VOIP, "voip", "a.b.voip"},
      {{.user_id = "a.b"}, false, NULL, ACTIVITY, 0, "liveactivity", "a.b.push-type.liveactivity"},
      /* An app's own name ends in .voip, which the certificate shows by its other topics. */
      {{.user_id = "a.voip", .topics = all}, false, NULL, "{\"aps\":{}}", 0, "alert", ""},
      {{.user_id = "a.voip", .topics = all}, false, "a.voip", "{\"aps\":{}}", 0, "alert", "a.voip"},
      {{.user_id = "a.voip", .topics = all}, false, "a.voip.voip", "{}", 0, "voip", "a.voip.voip"},
  };
#define CASES (sizeof cases / sizeof *cases)
  owned(service) service = service_start(NULL);
  owned(key) key = keychain_key(false);
  for (size_t index = 0; index < CASES; index++) {
    push_certificate_t traits = cases[index].certificate;
    traits.name = "Provider";
    owned(certificate) certificate = keychain_certificate(&traits, key);
    if (cases[index].is_for_voip)
      keychain_extend(certificate, "1.2.840.113635.100.6.3.4", "\x05\x00", 2);
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(bio, certificate);
    PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    char *start;
    apns_credentials_options_t options = trusting();
    options.certificate_length = (size_t)BIO_get_mem_data(bio, &start);
    options.certificate_bytes = start;
    owned(credentials) credentials = credentials_of(&options);
    apns_session_options_t given = push_options(service);
    given.topic = cases[index].session_topic;
    given.checks = APNS_CHECK_ALL;
    owned(session) session = session_with(&given, credentials);
    told_t told = {cases[index].payload, NULL, cases[index].said};
    apns_notification_t push = telling(&told);
    assert_ok(apns_session_send(session, &push, 0, NULL, &error));
    /* Another type contradicts the certificate. */
    push.push_type = APNS_PUSH_TYPE_BACKGROUND;
    if (index < 6)
      assert_invalid(apns_session_send(session, &push, 0, NULL, &error),
                     "push_type is background, but the certificate is for ");
    drain(session);
    BIO_free(bio);
  }
  service_stop(service);
  for (size_t index = 0; index < CASES; index++) {
    assert_string_equal(service_push(service, index)->push_type, cases[index].type);
    assert_string_equal(service_push(service, index)->topic, cases[index].topic);
  }
#undef CASES
}

/* A builder without a limit has that of the push. */
TEST(a_builders_limit_follows_the_push_type) {
  static const struct {
    apns_push_type_t type;
    const char *topic;
    size_t most;
  } cases[] = {
      {APNS_PUSH_TYPE_DEFAULT, NULL, APNS_PAYLOAD_MAX_HTTP2},
      {APNS_PUSH_TYPE_ALERT, NULL, APNS_PAYLOAD_MAX_HTTP2},
      {APNS_PUSH_TYPE_VOIP, NULL, APNS_PAYLOAD_MAX_VOIP},
      {APNS_PUSH_TYPE_DEFAULT, "com.example.chess.voip", APNS_PAYLOAD_MAX_VOIP},
  };
  const size_t count = sizeof cases / sizeof *cases;
  owned(service) service = service_start(NULL);
  apns_session_t *session = session_of_app(service, -1);
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  static char text[6000];
  memset(text, 'x', sizeof text);
  options.truncate = 1;
  owned(payload) payload = payload_with(&options);
  assert_ok(apns_payload_set_string(payload, APNS_KEY_ALERT, text, sizeof text, &error));
  for (size_t index = 0; index < count; index++) {
    apns_notification_t push = *notification(1);
    push.payload = NULL, push.payload_length = 0;
    push.push_type = (uint8_t)cases[index].type;
    push.topic = cases[index].topic;
    size_t cut = 0;
    assert_ok(apns_session_send_payload(session, &push, payload, 0, NULL, &cut, &error));
    assert_int_equal(cut, 23 + sizeof text - cases[index].most);
    drain(session);
  }
  push_stop(session, service);
  for (size_t index = 0; index < count; index++)
    assert_int_equal(service_push(service, index)->payload_length, cases[index].most);
}

TEST(hex_is_no_token) {
  static const char hex[] = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0E412";
  owned(service) service = service_start(NULL);
  apns_session_t *session = session_of_app(service, -1);
  apns_notification_t push = *notification(1);
  push.token = hex, push.token_length = 64;
  assert_says(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, NULL, &error),
              "the device token is 64 hexadecimal characters, not the bytes that they stand for: "
              "see apns_token_from_hex()");
  assert_int_equal(error.reject, APNS_REJECT_INVALID_TOKEN);
  /* A shorter one may be bytes that look like text. */
  push.token_length = 63;
  assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  drain(session);
  push_stop(session, service);
}

/* A builder knows what it builds before the payload is written. */
TEST(a_builders_live_activity) {
  owned(service) service = service_start(NULL);
  apns_session_t *session = session_of_app(service, APNS_CHECK_ALL);
  owned(payload) payload = payload_with(NULL);
  assert_ok(apns_payload_set_integer(payload, APNS_KEY_TIMESTAMP, 1800000000, &error));
  assert_ok(apns_payload_set_string(payload, APNS_KEY_EVENT, "end", 3, &error));
  apns_notification_t push = *notification(1);
  push.payload = NULL, push.payload_length = 0;
  push.push_type = APNS_PUSH_TYPE_LIVEACTIVITY;
  assert_ok(apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error));
  push.push_type = 0;
  assert_ok(apns_payload_set_integer(payload, APNS_KEY_DISMISSAL_DATE, 0, &error));
  assert_ok(apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error));
  push.push_type = APNS_PUSH_TYPE_ALERT;
  assert_says(APNS_ERR_ARGUMENT,
              apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error),
              "push_type is alert, but the payload is a Live Activity's");
  /* A builder takes a payload that no device acts on; a session that checks refuses it. */
  push.push_type = 0;
  assert_ok(apns_payload_set_integer(payload, APNS_KEY_STALE_DATE, 1795600000000, &error));
  assert_says(APNS_ERR_ARGUMENT,
              apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error),
              "payload: 'stale-date' looks like milliseconds: a device reads UNIX seconds, "
              "1795600000");
  apns_payload_reset(payload);
  assert_ok(apns_payload_set_integer(payload, APNS_KEY_BADGE, -1, &error));
  assert_says(APNS_ERR_ARGUMENT,
              apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error),
              "payload: 'badge' is not from 0 to 2147483647, so the device ignores it");
  apns_payload_reset(payload);
  assert_ok(apns_payload_set_integer(payload, APNS_KEY_CONTENT_CHANGED, 1, &error));
  push.push_type = APNS_PUSH_TYPE_WIDGETS;
  assert_ok(apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error));
  drain(session);
  push_stop(session, service);
  assert_string_equal(service_push(service, 0)->push_type, "liveactivity");
  assert_string_equal(service_push(service, 1)->push_type, "liveactivity");
  assert_string_equal(service_push(service, 1)->topic, "com.example.app.push-type.liveactivity");
  assert_string_equal(service_push(service, 2)->topic, "com.example.app.push-type.widgets");
  assert_string_equal(service_push(service, 2)->payload, CHANGED);
}

/* Payloads that the service refuses for their topic, and payloads that a device ignores. */
TEST(what_does_not_fit_is_refused_where_asked_for) {
  static const struct {
    told_t told;
    const char *message;
  } wrong[] = {
      {{ACTIVITY, "a.b", 0},
       "push_type is liveactivity, but the topic does not end in .push-type.liveactivity"},
      {{"{\"aps\":{}}", "a.b", APNS_PUSH_TYPE_VOIP},
       "push_type is voip, but the topic does not end in .voip"},
      {{"{\"aps\":{}}", "a.push-type.widgets", APNS_PUSH_TYPE_ALERT},
       "push_type is alert, but the topic ends in .push-type.widgets"},
      {{"{\"aps\":{}}", "a.voip", APNS_PUSH_TYPE_ALERT},
       "push_type is alert, but the topic ends in .voip"},
      {{"{\"aps\":{}}", "a.complication", APNS_PUSH_TYPE_BACKGROUND},
       "push_type is background, but the topic ends in .complication"},
      {{"{\"aps\":{}}", "com.apple.mgmt.External.7", APNS_PUSH_TYPE_ALERT},
       "push_type is alert, but the topic is for mdm"},
      {{ACTIVITY, NULL, APNS_PUSH_TYPE_ALERT},
       "push_type is alert, but the payload is a Live Activity's"},
      {{CHANGED, NULL, 0},
       "push_type is alert, but the payload's content-changed is for widgets and controls"},
      {{"{\"aps\":{\"alert\":\"a\"}}", NULL, APNS_PUSH_TYPE_LIVEACTIVITY},
       "push_type is liveactivity, but the payload has no key of a Live Activity"},
      {{"{\"aps\":{}}", NULL, APNS_PUSH_TYPE_WIDGETS},
       "push_type is widgets, but the payload has no content-changed"},
      {{"{\"aps\":{}}", NULL, APNS_PUSH_TYPE_MDM}, "push_type is mdm, but the payload has no mdm"},
      {{"{\"alert\":\"no aps around it\"}", NULL, 0},
       "push_type is alert, but the payload has no aps"},
      {{"{\"a\":1}", NULL, APNS_PUSH_TYPE_BACKGROUND},
       "push_type is background, but the payload has no aps"},
  };
#define WRONG (sizeof wrong / sizeof *wrong)
  /* Everything else may mean something to the app, or to a later device. */
  static const told_t fine[] = {
      {ACTIVITY, NULL, 0},
      {ACTIVITY, NULL, APNS_PUSH_TYPE_LOCATION},
      {"{\"aps\":{\"event\":\"end\",\"timestamp\":1800000000}}", NULL, APNS_PUSH_TYPE_LIVEACTIVITY},
      {"{\"aps\":{\"event\":\"end\",\"content-state\":{},\"alert\":\"a\"}}", NULL,
       APNS_PUSH_TYPE_ALERT},
      {"{\"aps\":{\"content-changed\":true,\"alert\":\"a\"}}", NULL, 0},
      {"{\"aps\":{\"content-changed\":true,\"content-available\":1}}", NULL, 0},
      {"{\"aps\":{\"content-changed\":true,\"content-available\":1}}", NULL,
       APNS_PUSH_TYPE_CONTROLS},
      {"{\"mdm\":\"p\"}", "com.example.mdm", APNS_PUSH_TYPE_MDM},
      {"{\"mdm\":\"p\"}", NULL, APNS_PUSH_TYPE_ALERT},
      {"{\"aps\":{\"alert\":\"a\"}}", NULL, APNS_PUSH_TYPE_BACKGROUND},
      {"{\"call\":7}", "a.voip", APNS_PUSH_TYPE_VOIP},
      {"{}", NULL, 0},
      {"{}", "pass.com.example.ticket", 0},
      {"{}", "pass.com.example.ticket", APNS_PUSH_TYPE_BACKGROUND},
      {"{\"container-identifier\":\"c\"}", "a.pushkit.fileprovider", 0},
  };
#define FINE (sizeof fine / sizeof *fine)
  owned(service) service = service_start(NULL);
  apns_session_t *session = session_of_app(service, APNS_CHECK_PAYLOAD);
  for (size_t index = 0; index < WRONG; index++) {
    const apns_notification_t push = telling(&wrong[index].told);
    assert_says(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, NULL, &error),
                wrong[index].message);
    assert_int_equal(error.reject, APNS_REJECT_PROCESSING_ERROR);
    assert_int_equal(error.cause, index < 6 ? APNS_CAUSE_TOPIC : APNS_CAUSE_NONE);
  }
  /* No connection ended because of them. */
  assert_int_equal(service_connections(service), 0);
  for (size_t index = 0; index < FINE; index++) {
    const apns_notification_t push = telling(&fine[index]);
    assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  }
  drain(session);
  apns_session_free(session);
  /* Without a check in the options nothing is refused. */
  session = session_of_app(service, APNS_CHECK_EXPIRY);
  for (size_t index = 0; index < WRONG; index++) {
    const apns_notification_t push = telling(&wrong[index].told);
    assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  }
  drain(session);
  push_stop(session, service);
  assert_int_equal(service_count(service), FINE + WRONG);
}
