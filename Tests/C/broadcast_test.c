/* Broadcasts: notifications to a channel in place of a device, by HTTP/2. */
#include <stdio.h>

#include "keychain.h"
#include "pushing.h"

#define CHANNEL "dHN0LXNyY2gtY2hubA==" /* in the form of Apple's page */
#define PATH "/4/broadcasts/apps/com.example.chess"
#define UPDATE "{\"aps\":{\"timestamp\":1234,\"event\":\"update\",\"content-state\":{}}}"
#define ID "5e2a60c0-1111-4000-8000-00000000000a"

static const gateway_step_t record_all[] = {TAKE_ALL, END};

static apns_notification_t broadcast(void) {
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  push.channel_id = CHANNEL;
  push.payload = UPDATE, push.payload_length = strlen(UPDATE);
  return push;
}

static void send_one(apns_session_t *session, const apns_notification_t *push) {
  assert_ok(apns_session_send(session, push, 0, NULL, &error));
}

/* ---- The request ---------------------------------------------------------- */

/* The fields of Apple's page "Sending broadcast push notification requests to APNs", and no
   others. */
static void check_fields(const service_t *service, size_t number, const char *path,
                         const char *rest) {
  char expected[1024];
  snprintf(expected, sizeof expected,
           ":method: POST\n:scheme: https\n:path: %s\n:authority: localhost:%d\n"
           "apns-channel-id: " CHANNEL "\napns-push-type: liveactivity\n%s",
           path, service_port(service), rest);
  assert_string_equal(service_push(service, number)->fields, expected);
}

TEST(a_request_is_as_apple_shows_it) {
  owned(service) service = service_start(NULL);
  apns_session_t *session = push_session(service, NULL);
  apns_notification_t push = broadcast();
  send_one(session, &push);
  push.priority = 5, push.expiry = 4000000000, push.push_type = APNS_PUSH_TYPE_LIVEACTIVITY;
  push.apns_id = "5E2A60C0-1111-4000-8000-00000000000A";
  send_one(session, &push);
  push = broadcast();
  push.priority = 1, push.expiry = APNS_EXPIRY_ONCE, push.collapse_id = "";
  push.topic = "com.example.Other_2-app.push-type.liveactivity";
  send_one(session, &push);
  drain(session);
  push_stop(session, service);
  assert_int_equal(service_count(service), 3);
  check_fields(service, 0, PATH, "apns-priority: 10\napns-expiration: 0\n");
  check_fields(service, 1, PATH,
               "apns-priority: 5\napns-expiration: 4000000000\napns-request-id: " ID "\n");
  check_fields(service, 2, "/4/broadcasts/apps/com.example.Other_2-app",
               "apns-priority: 1\napns-expiration: 0\n");
  for (size_t index = 0; index < 3; index++) {
    const service_push_t *heard = service_push(service, index);
    assert_int_equal(heard->payload_length, strlen(UPDATE));
    assert_memory_equal(heard->payload, UPDATE, strlen(UPDATE));
  }
}

/* Channels and devices share the dynamic table, full or not. */
static void check_many(uint32_t table_size_and_one) {
  owned(service) service =
      service_start(&(service_options_t){.table_size_and_one = table_size_and_one});
  apns_session_t *session = push_session(service, NULL);
  enum { MANY = 300 };
  static char channels[7][APNS_CHANNEL_ID_MAX + 1], ids[MANY][40];
  for (size_t index = 0; index < 7; index++) {
    const size_t length = index == 6 ? APNS_CHANNEL_ID_MAX : 20 + index;
    memset(channels[index], 'A' + (int)index, length), channels[index][length] = 0;
  }
  for (size_t n = 0; n < MANY; n++) {
    apns_notification_t push = broadcast();
    if (n % 3 == 2) {
      push = *notification(n);
    } else {
      push.channel_id = channels[n * n % 7];
    }
    push.expiry = n % 5 == 0 ? 4000000000 + (int64_t)(n / 20) : 0;
    snprintf(ids[n], sizeof ids[n], "5e2a60c0-2222-4000-8000-%012zx", n);
    push.apns_id = n % 4 ? NULL : ids[n];
    assert_ok(apns_session_send(session, &push, n % 50 == 49 ? 0 : APNS_SEND_MORE, NULL, &error));
  }
  drain(session);
  assert_counts(session, MANY, MANY, 0, 0, 0);
  push_stop(session, service);
  for (size_t n = 0; n < MANY; n++) {
    const service_push_t *heard = service_push(service, n);
    char expiration[24] = "";
    if (n % 5 == 0) snprintf(expiration, sizeof expiration, "%zu", 4000000000 + n / 20);
    assert_string_equal(heard->id, n % 4 ? "" : ids[n]);
    if (n % 3 == 2) {
      assert_int_equal(number_of(heard), n);
      assert_string_equal(heard->topic, "com.example.chess");
      assert_string_equal(heard->expiration, expiration);
      continue;
    }
    char channel[300], about[700];
    snprintf(channel, sizeof channel, "apns-channel-id: %s\n", channels[n * n % 7]);
    snprintf(about, sizeof about, "%s%s: %s\n", channel, "apns-push-type", "liveactivity");
    assert_contains(heard->fields, about);
    assert_string_equal(heard->path, PATH);
    assert_string_equal(heard->topic, "");
    assert_string_equal(heard->expiration, *expiration ? expiration : "0");
  }
}

TEST(many_channels_and_devices) {
  check_many(0);
  check_many(1 + 0);
  check_many(1 + 200);
  check_many(1 + 1024);
}

/* The certificate's app, if neither the notification nor the session names one. */
TEST(the_app_has_to_be_known) {
  owned(service) service = service_start(NULL);
  owned(session) session = push_session_where(service, options.topic = NULL);
  apns_notification_t push = broadcast();
  assert_says(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, NULL, &error),
              "there is no topic: channels need the app's bundle id");
  assert_int_equal(error.reject, APNS_REJECT_MISSING_TOPIC);
  assert_int_equal(error.cause, APNS_CAUSE_TOPIC);
}

static apns_credentials_t *certificate_for(const char *app) {
  static const char *const others[] = {"com.example.other", NULL};
  const push_certificate_t traits = {.name = "Apple Push Services",
                                     .user_id = app,
                                     .topics = others,
                                     .not_before = time(NULL) - 1000,
                                     .not_after = time(NULL) + 100000};
  const key_form_t plain = {0};
  owned(key) key = keychain_key(false);
  owned(certificate) certificate = keychain_certificate(&traits, key);
  apns_credentials_options_t who = trusting();
  who.certificate_bytes = keychain_certificate_bytes(certificate, false, &who.certificate_length);
  who.key_bytes = keychain_key_bytes(key, &plain, &who.key_length);
  apns_credentials_t *credentials = credentials_of(&who);
  free((void *)who.certificate_bytes), free((void *)who.key_bytes);
  return credentials;
}

TEST(the_app_is_that_of_the_certificate) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = push_options(service);
  options.topic = NULL;
  apns_credentials_t *one = certificate_for("com.example.one"),
                     *other = certificate_for("com.example.two");
  apns_session_t *session = session_with(&options, one);
  apns_credentials_free(one);
  const apns_notification_t push = broadcast();
  send_one(session, &push);
  drain(session);
  assert_ok(apns_session_use_credentials(session, other, &error));
  apns_credentials_free(other);
  send_one(session, &push);
  drain(session);
  push_stop(session, service);
  assert_string_equal(service_push(service, 0)->path, "/4/broadcasts/apps/com.example.one");
  assert_string_equal(service_push(service, 1)->path, "/4/broadcasts/apps/com.example.two");
}

/* ---- What is refused ------------------------------------------------------- */

TEST(what_cannot_be_broadcast) {
  owned(service) service = service_start(NULL);
  apns_session_t *session = push_session(service, NULL);
  static char large[5121], long_channel[APNS_CHANNEL_ID_MAX + 2];
  memset(large, ' ', sizeof large);
  memset(long_channel, 'A', sizeof long_channel - 1);
#define REFUSED(change, status, text)                                                     \
  do {                                                                                    \
    apns_notification_t push = broadcast();                                               \
    change;                                                                               \
    error.reject = 99;                                                                    \
    assert_status(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, NULL, &error)); \
    assert_string_equal(error.message, text);                                             \
    assert_int_equal(error.reject, status);                                               \
  } while (0)
  const int processing = APNS_REJECT_PROCESSING_ERROR;
  REFUSED(push.token = "0123", processing, "a notification has a token or a channel_id, not both");
  REFUSED(push.token_length = 4, processing,
          "a notification has a token or a channel_id, not both");
  REFUSED(push.channel_id = "", APNS_REJECT_MISSING_TOKEN,
          "the device token has 0 bytes, not 1 to 100");
  REFUSED(push.channel_id = "ab c", processing, "channel_id cannot have character 0x20 at 2");
  REFUSED(push.channel_id = "ab\nc", processing, "channel_id cannot have character 0x0a at 2");
  REFUSED(push.channel_id = "ab,c", processing, "channel_id is not base64: character 0x2c at 2");
  REFUSED(push.channel_id = "=abc", processing, "channel_id is not base64: character 0x3d at 0");
  REFUSED(push.channel_id = "ab=c", processing, "channel_id is not base64: character 0x63 at 3");
  REFUSED(push.channel_id = "ab\xC3\xA4", processing,
          "channel_id is not base64: character 0xc3 at 2");
  REFUSED(push.channel_id = long_channel, processing, "channel_id has more than 255 bytes");
  REFUSED(push.payload = NULL, APNS_REJECT_MISSING_PAYLOAD, "payload is NULL");
  REFUSED(push.payload_length = 0, APNS_REJECT_MISSING_PAYLOAD, "the payload is empty");
  REFUSED((push.payload = large, push.payload_length = 5121), APNS_REJECT_INVALID_PAYLOAD_SIZE,
          "the payload has 5121 bytes, more than 5120");
  REFUSED(push.push_type = APNS_PUSH_TYPE_ALERT, processing,
          "push_type is 1, but a broadcast is for Live Activities");
  REFUSED(push.push_type = 99, processing,
          "push_type is 99, but a broadcast is for Live Activities");
  REFUSED(push.priority = 7, processing, "priority is 7, not 1, 5 or 10");
  REFUSED(push.expiry = -2, processing, "expiry is -2, neither a time nor APNS_EXPIRY_ONCE");
  REFUSED(push.topic = "com.example/../x", APNS_REJECT_INVALID_TOPIC_SIZE,
          "a bundle id cannot have character 0x2f at 11");
  REFUSED(push.topic = "a?b", APNS_REJECT_INVALID_TOPIC_SIZE,
          "a bundle id cannot have character 0x3f at 1");
  REFUSED(push.topic = "a b", APNS_REJECT_INVALID_TOPIC_SIZE,
          "topic cannot have character 0x20 at 1");
  REFUSED(push.topic = ".push-type.liveactivity", APNS_REJECT_MISSING_TOPIC,
          "there is no topic: channels need the app's bundle id");
  REFUSED(push.collapse_id = "x", processing, "a broadcast has no collapse_id");
  REFUSED(push.apns_id = "x", processing, "apns_id is not a UUID");
#undef REFUSED
  assert_int_equal(stats_of(session).taken, 0);
  apns_notification_t push = broadcast();
  push.payload = large, push.payload_length = 5120;
  long_channel[APNS_CHANNEL_ID_MAX] = 0, push.channel_id = long_channel;
  send_one(session, &push);
  drain(session);
  apns_session_free(session);

  session = push_session_where(service, tuning->payload_max = 300);
  push.payload_length = 301;
  assert_says(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, NULL, &error),
              "the payload has 301 bytes, more than 300");
  push_stop(session, service);
  assert_int_equal(service_count(service), 1);
  assert_int_equal(service_push(service, 0)->payload_length, 5120);
}

/* A device's push has its own limit, and the rules of before. */
TEST(a_device_has_its_own_rules) {
  owned(service) service = service_start(NULL);
  apns_session_t *session = push_session(service, NULL);
  static char large[4097];
  memset(large, ' ', sizeof large);
  apns_notification_t push = *notification(1);
  push.push_type = APNS_PUSH_TYPE_LIVEACTIVITY;
  push.payload = large, push.payload_length = sizeof large;
  assert_says(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, NULL, &error),
              "the payload has 4097 bytes, more than 4096");
  push.payload_length = 4096, push.channel_id = "";
  send_one(session, &push);
  drain(session);
  push_stop(session, service);
  assert_int_equal(service_count(service), 1);
}

TEST(a_binary_session_has_no_channels) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  owned(session) session = session_to(gateway, NULL);
  apns_notification_t push = broadcast();
  const char *refusal = "the binary interface has no channels: broadcasts need HTTP/2";
  assert_says(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, NULL, &error), refusal);
  assert_int_equal(error.reject, APNS_REJECT_PROCESSING_ERROR);
  push = *notification(1);
  push.channel_id = CHANNEL;
  assert_says(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, NULL, &error), refusal);
  assert_int_equal(stats_of(session).taken, 0);
  push.channel_id = "";
  send_one(session, &push);
}

TEST(a_broadcast_starts_nothing) {
  owned(service) service = service_start(NULL);
  apns_session_t *session = push_session_where(service, options.checks = APNS_CHECK_PAYLOAD);
  static const struct {
    const char *payload;
    bool is_refused;
  } given[] = {
      {"{\"aps\":{\"timestamp\":1800000000,\"event\":\"start\",\"content-state\":{}}}", true},
      {"{\"a\":{\"event\":\"start\"},\"aps\":{\"content-state\":{\"event\":\"x\"},"
       "\"\\u0065vent\":\"st\\u0061rt\"}}",
       true},
      {"{\"event\":\"start\",\"aps\":{\"event\":\"update\",\"content-state\":{\"event\":\"start\"}}"
       "}",
       false},
      {"{\"aps\":{\"event\":\"end\"}}", false},
  };
  const char *refusal = "event is \"start\", but a broadcast cannot start a Live Activity";
  for (size_t index = 0; index < sizeof given / sizeof *given; index++) {
    apns_notification_t push = broadcast();
    push.payload = given[index].payload, push.payload_length = strlen(given[index].payload);
    if (!given[index].is_refused) {
      send_one(session, &push);
      continue;
    }
    assert_says(APNS_ERR_ARGUMENT, apns_session_send(session, &push, 0, NULL, &error), refusal);
    /* To a device that is another matter. */
    push.channel_id = NULL;
    push.token = "0123456789012345678901234567890", push.token_length = 32;
    send_one(session, &push);
  }
  owned(payload) payload = payload_with(NULL);
  apns_notification_t push = broadcast();
  push.payload = NULL, push.payload_length = 0;
  static const char *const events[] = {"update", "start", "end", "start", "update"};
  for (size_t index = 0; index < 5; index++) {
    assert_ok(apns_payload_set_string(payload, APNS_KEY_EVENT, events[index], strlen(events[index]),
                                      &error));
    const apns_status_t status =
        apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error);
    assert_int_equal(status, index % 2 ? APNS_ERR_ARGUMENT : APNS_OK);
    if (index % 2) assert_string_equal(error.message, refusal);
  }
  drain(session);
  push_stop(session, service);
  assert_int_equal(service_count(service), 2 + 2 + 3);
  assert_string_equal(service_push(service, 6)->payload, "{\"aps\":{\"event\":\"update\"}}");
}

/* ---- What is answered ------------------------------------------------------- */

static service_reply_t judge_with_ids(void *context, const service_push_t *push) {
  (void)context;
  static const char *const given[] = {"5E2A60C0-3333-4000-8000-00000000000B", NULL, "no UUID"};
  return (service_reply_t){.status = push->number % 2 ? 400 : 200,
                           .body = push->number % 2 ? "{\"reason\":\"BadPriority\"}" : NULL,
                           .unique_id = given[push->number / 2 % 3]};
}

/* By the answer's own field, to a channel and to a device. */
TEST(an_answer_has_its_ids) {
  owned(service) service = service_start(&(service_options_t){.judge = judge_with_ids});
  owned(session) session = push_session(service, NULL);
  for (size_t n = 0; n < 12; n++) {
    apns_notification_t push = broadcast();
    if (n >= 6) push = *notification(n);
    if (n == 3) push.apns_id = ID;
    send_one(session, &push);
    drain(session);
    apns_event_t event = one_event(session);
    assert_int_equal(event.kind, n % 2 ? APNS_EVENT_REJECTED : APNS_EVENT_ACCEPTED);
    assert_string_equal(event.unique_id, n / 2 % 3 ? "" : "5e2a60c0-3333-4000-8000-00000000000b");
    char made[64];
    snprintf(made, sizeof made, "5e2a60c0-0000-4000-8000-%012zx", n);
    assert_string_equal(event.apns_id, n == 3 ? ID : made);
  }
}

#define MADE "5e2a60c0-3333-4000-8000-00000000000b"

/* A value that is not a UUID is ignored, and the last of two equal headers counts. */
TEST(an_accepted_one_has_the_id_that_is_one) {
  static const struct {
    const char *fields[12], *own, *id, *unique_id;
  } rows[] = {
      {{"apns-id", "5E2A60C0-3333-4000-8000-00000000000B"}, NULL, MADE, ""},
      {{"apns-id", "5e2a60c0-3333-4000-8000-00000000000g"}, NULL, "", ""},
      {{"apns-id", "5e2a60c0-3333-4000-8000-00000000000"}, NULL, "", ""},
      {{"apns-id", "5e2a60c033333-4000-8000-00000000000b"}, NULL, "", ""},
      {{"apns-id", "5e2a60c0-3333-4000-8000-00000000000g"}, ID, ID, ""},
      {{"apns-id", MADE}, ID, MADE, ""},
      {{"apns-id", MADE, "apns-unique-id", ID}, NULL, MADE, ID},
      {{"apns-unique-id", ID, "apns-id", MADE}, NULL, MADE, ID},
      {{"apns-id", MADE, "apns-unique-id", "no"}, NULL, MADE, ""},
      {{"apns-id", ID, "apns-id", MADE}, NULL, MADE, ""},
      {{"apns-id", MADE, "apns-id", "no"}, NULL, MADE, ""},
      {{NULL}, NULL, "", ""},
  };
  for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
    const char *fields[15] = {":status", "200"};
    for (size_t field = 0; rows[n].fields[field]; field++)
      fields[2 + field] = rows[n].fields[field];
    service_reply_t reply = {.fields = fields};
    owned(service) service = service_judging(judge_first, &reply);
    owned(session) session = push_session(service, NULL);
    apns_notification_t push = *notification(0);
    push.apns_id = rows[n].own;
    send_one(session, &push);
    drain(session);
    apns_event_t event = one_event(session);
    assert_int_equal(event.kind, APNS_EVENT_ACCEPTED);
    assert_string_equal(event.apns_id, rows[n].id);
    assert_string_equal(event.unique_id, rows[n].unique_id);
  }
}

/* A field that belongs to the other kind of request has no effect. */
TEST(a_device_has_no_request_id) {
  static const char *const fields[] = {
      ":status", "200", "apns-id", ID, "apns-request-id", "5e2a60c0-4444-4000-8000-00000000000c",
      NULL,      NULL};
  owned(service) service = service_replying(.fields = fields);
  owned(session) session = push_session(service, NULL);
  send_and_drain(session, 0, 1);
  assert_string_equal(one_event(session).apns_id, ID);
  apns_notification_t push = broadcast();
  send_one(session, &push);
  drain(session);
  assert_string_equal(one_event(session).apns_id, "5e2a60c0-4444-4000-8000-00000000000c");
}

static const struct {
  const char *text;
  apns_reason_t reason;
  int status;
  apns_reject_t reject;
} refusals[] = {
    {"MissingChannelId", APNS_REASON_MISSING_CHANNEL_ID, 400, APNS_REJECT_MISSING_TOKEN},
    {"BadChannelId", APNS_REASON_BAD_CHANNEL_ID, 400, APNS_REJECT_PROCESSING_ERROR},
    {"ChannelNotRegistered", APNS_REASON_CHANNEL_NOT_REGISTERED, 400, APNS_REJECT_PROCESSING_ERROR},
    {"CannotCreateChannelConfig", APNS_REASON_CANNOT_CREATE_CHANNEL_CONFIG, 400,
     APNS_REJECT_PROCESSING_ERROR},
    {"FeatureNotEnabled", APNS_REASON_FEATURE_NOT_ENABLED, 400, APNS_REJECT_SHUTDOWN},
    {"MissingPushType", APNS_REASON_MISSING_PUSH_TYPE, 400, APNS_REJECT_PROCESSING_ERROR},
    {"TopicMismatch", APNS_REASON_TOPIC_MISMATCH, 400, APNS_REJECT_INVALID_TOPIC_SIZE},
    {"PayloadTooLarge", APNS_REASON_PAYLOAD_TOO_LARGE, 413, APNS_REJECT_INVALID_PAYLOAD_SIZE},
    /* A response for a channel never makes a device gone. */
    {"Unregistered", APNS_REASON_UNREGISTERED, 410, APNS_REJECT_NONE},
};

static service_reply_t judge_with_reasons(void *context, const service_push_t *push) {
  (void)context;
  static char body[sizeof refusals / sizeof *refusals][64];
  char *text = body[push->number];
  snprintf(text, sizeof *body, "{\"reason\":\"%s\"}", refusals[push->number].text);
  return (service_reply_t){.status = refusals[push->number].status, .body = text};
}

TEST(every_reason_of_a_broadcast) {
  owned(service) service = service_start(&(service_options_t){.judge = judge_with_reasons});
  owned(session) session = push_session(service, NULL);
  for (size_t index = 0; index < sizeof refusals / sizeof *refusals; index++) {
    apns_notification_t push = broadcast();
    push.user_data = &push;
    send_one(session, &push);
    drain(session);
    apns_event_t event = one_event(session);
    assert_int_equal(event.kind, APNS_EVENT_REJECTED);
    assert_int_equal(event.reason, refusals[index].reason);
    assert_int_equal(event.http_status, refusals[index].status);
    assert_int_equal(event.reject, refusals[index].reject);
    assert_string_equal(event.reason_text, refusals[index].text);
    assert_ptr_equal(event.user_data, &push);
    assert_int_equal(event.retry_after_s, 0);
  }
  apns_feedback_options_t whence = APNS_FEEDBACK_OPTIONS_INIT;
  whence.session = session;
  owned(feedback) feedback = NULL;
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  assert_ok(apns_feedback_open(&whence, NULL, &feedback, &error));
  assert_status(APNS_DONE, apns_feedback_next(feedback, &tuple, &error));
}

/* ---- Again, and in order ----------------------------------------------------- */

static service_reply_t judge_with_trouble(void *context, const service_push_t *push) {
  (void)context;
  static const service_reply_t replies[] = {
      {.status = 429, .body = "{\"reason\":\"TooManyRequests\"}"},
      {.status = 503, .body = "{\"reason\":\"ServiceUnavailable\"}"},
      {.action = SERVE_GOODBYE},
      {.action = SERVE_DROP},
      {.action = SERVE_RESET, .error = 7 /* REFUSED_STREAM */},
  };
  return push->number < 10 && push->number % 2 ? replies[push->number / 2] : (service_reply_t){0};
}

TEST(a_broadcast_is_sent_again) {
  owned(service) service = service_start(&(service_options_t){.judge = judge_with_trouble});
  apns_session_t *session =
      push_session_where(service, tuning->retry_schedule = tuning->server_error_schedule = "1");
  enum { MANY = 60 };
  for (size_t n = 0; n < MANY; n++) {
    apns_notification_t push = broadcast();
    push.expiry = 4000000000 + (int64_t)n;
    push.user_data = (void *)(uintptr_t)(n + 1);
    assert_ok(apns_session_send(session, &push, APNS_SEND_MORE, NULL, &error));
  }
  drain(session);
  assert_counts(session, MANY, MANY, 0, 0, 0);
  push_stop(session, service);
  assert_true(service_connections(service) >= 3);
  bool has_come[MANY] = {0};
  for (size_t index = 0; index < service_count(service); index++) {
    const service_push_t *heard = service_push(service, index);
    assert_string_equal(heard->path, PATH);
    has_come[(size_t)(atoll(heard->expiration) - 4000000000)] = true;
  }
  for (size_t n = 0; n < MANY; n++) assert_true(has_come[n]);
}

/* Defers every third notification; notifications to one channel arrive in order all the same. */
static service_reply_t judge_with_delay(void *context, const service_push_t *push) {
  bool *has_come = context;
  const long long n = atoll(push->expiration) - 4000000000;
  if (n % 7 || has_come[n]) return (service_reply_t){0};
  has_come[n] = true;
  return (service_reply_t){.status = 429, .body = "{\"reason\":\"TooManyRequests\"}"};
}

TEST(a_channel_has_its_order) {
  enum { MANY = 40, CHANNELS = 4 };
  bool has_come[MANY] = {0};
  const service_options_t options = {.judge = judge_with_delay, .context = has_come};
  owned(service) service = service_start(&options);
  apns_session_t *session =
      push_session_where(service, tuning->retry_schedule = "1", options.device_order = 1);
  static const char *const channels[] = {"AAAA", "AAAB", "AAA=", "AAAAAAAA"};
  for (size_t n = 0; n < MANY; n++) {
    apns_notification_t push = broadcast();
    push.channel_id = channels[n % CHANNELS];
    push.expiry = 4000000000 + (int64_t)n;
    assert_ok(apns_session_send(session, &push, APNS_SEND_MORE, NULL, &error));
  }
  drain(session);
  assert_counts(session, MANY, MANY, 0, 0, 0);
  push_stop(session, service);
  assert_true(service_most_streams(service) <= CHANNELS);
  long long last[CHANNELS] = {-1, -1, -1, -1};
  for (size_t index = 0; index < service_count(service); index++) {
    const long long n = atoll(service_push(service, index)->expiration) - 4000000000;
    assert_true(n >= last[n % CHANNELS]);
    assert_true(n <= last[n % CHANNELS] + CHANNELS || last[n % CHANNELS] < 0);
    last[n % CHANNELS] = n;
  }
}

/* ---- The other ways to send --------------------------------------------------- */

TEST(an_array_and_a_builder) {
  owned(service) service = service_start(NULL);
  apns_session_t *session = push_session(service, NULL);
  apns_notification_t array[20];
  for (size_t n = 0; n < 20; n++) {
    array[n] = n % 2 ? *notification(n) : broadcast();
    if (n % 2) array[n].payload = UPDATE, array[n].payload_length = strlen(UPDATE);
  }
  static uint8_t tokens[20][32];
  for (size_t n = 1; n < 20; n += 2) {
    memset(tokens[n], (int)n, 32);
    array[n].token = tokens[n];
  }
  array[19].channel_id = CHANNEL;
  size_t taken = 0;
  assert_status(APNS_ERR_ARGUMENT, apns_session_send_many(session, array, 20, 0, &taken, &error));
  assert_int_equal(taken, 19);
  assert_string_equal(error.message, "a notification has a token or a channel_id, not both");

  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  options.limit = APNS_PAYLOAD_MAX_BROADCAST + 1;
  owned(payload) payload = payload_with(&options);
  static char text[6000];
  memset(text, 'x', sizeof text);
  apns_notification_t push = broadcast();
  push.payload = NULL, push.payload_length = 0;
  /* {"aps":{"thread-id":""}} */
  const size_t around = 24;
  assert_ok(apns_payload_set_string(payload, APNS_KEY_THREAD_ID, text, 5121 - around, &error));
  assert_says(APNS_ERR_ARGUMENT,
              apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error),
              "the payload has 5121 bytes, more than 5120");
  assert_ok(apns_payload_set_string(payload, APNS_KEY_THREAD_ID, text, 5120 - around, &error));
  assert_ok(apns_session_send_payload(session, &push, payload, 0, NULL, NULL, &error));
  drain(session);
  assert_counts(session, 20, 20, 0, 0, 0);
  push_stop(session, service);
  for (size_t n = 0; n < 19; n++)
    assert_string_equal(service_push(service, n)->push_type, "liveactivity");
  assert_int_equal(service_push(service, 19)->payload_length, 5120);
  assert_string_equal(service_push(service, 19)->path, PATH);
}

/* ---- The log ---------------------------------------------------------------------- */

static char frames[4096];

static void write_down(const apns_log_record_t *record, void *context) {
  (void)context;
  if (record->kind != APNS_LOG_KIND_FRAME || strlen(frames) > 3000) return;
  strcat(strcat(frames, record->line), "\n");
}

TEST(the_log_names_the_channel) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = push_options(service);
  options.log = write_down, options.log_level = APNS_LOG_TRACE;
  apns_session_t *session = push_session(service, &options);
  apns_notification_t push = broadcast();
  send_one(session, &push);
  drain(session);
  push_stop(session, service);
  assert_contains(frames, "> HEADERS, stream 1, to channel " CHANNEL);
  assert_null(strstr(frames, "content-state"));
}
