/* The channels of an app, managed by the service that is for them. */
#include <poll.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "pushing.h"
#include "signing.h"

#define CHANNEL "dHN0LXNyY2gtY2hubA=="
#define REQUEST "5e2a60c0-0000-4000-8000-00000000000a"
#define PATH "/1/apps/com.example.chess"
#define DESCRIPTION "{\"message-storage-policy\":1,\"push-type\":\"LiveActivity\"}"

/* ---- A service that has channels -------------------------------------------- */

/* Its next responses, in turn; the last one again and again. */
typedef struct plan {
  service_reply_t replies[16];
  size_t count;
  _Atomic size_t asked;
} plan_t;

static service_reply_t follow(void *context, const service_push_t *push) {
  plan_t *plan = context;
  const size_t asked = plan->asked++;
  service_reply_t reply = plan->replies[asked < plan->count ? asked : plan->count - 1];
  (void)push;
  if (!reply.id) reply.id = REQUEST;
  return reply;
}

typedef struct room {
  plan_t plan;
  service_t *service;
  apns_channels_t *channels;
} room_t;

static apns_channels_options_t options_to(const service_t *service) {
  apns_channels_options_t options = APNS_CHANNELS_OPTIONS_INIT;
  options.peer.host = "localhost";
  options.peer.port = service_port(service);
  options.topic = "com.example.chess";
  options.peer.connect_timeout_ms = options.answer_timeout_ms = AMPLE_MS;
  return options;
}

static apns_channels_t *channels_with(const apns_channels_options_t *options) {
  owned(credentials) credentials = provider_credentials();
  apns_channels_t *channels = NULL;
  assert_ok(apns_channels_new(options, credentials, &channels, &error));
  return channels;
}

static void enter(room_t *room) {
  room->service = service_start(&(service_options_t){.judge = follow, .context = &room->plan});
  const apns_channels_options_t options = options_to(room->service);
  room->channels = channels_with(&options);
}

static void leave(room_t *room) {
  apns_channels_free(room->channels);
  service_free(room->service);
}

/* Nobody manages channels any more, and what the service heard can be read. */
static void close_room(room_t *room) {
  apns_channels_free(room->channels);
  room->channels = NULL;
  service_stop(room->service);
}

#define ENTER(...)                                                                      \
  __attribute__((cleanup(leave))) room_t room = {.plan = {.replies = {__VA_ARGS__}}};   \
  room.plan.count = sizeof((service_reply_t[]){__VA_ARGS__}) / sizeof(service_reply_t); \
  enter(&room);                                                                         \
  apns_channels_t *channels = room.channels;                                            \
  (void)channels

#define CREATED \
  { .status = 201, .channel_id = CHANNEL }
#define REFUSAL(code, reason) \
  { .status = code, .body = "{\"reason\":\"" reason "\"}" }

static char made[APNS_CHANNEL_ID_MAX + 1];

static apns_status_t create(apns_channels_t *channels) {
  return apns_channel_create(channels, APNS_STORAGE_LATEST, made, sizeof made, &error);
}

static apns_channels_response_t answer_of(const apns_channels_t *channels) {
  apns_channels_response_t answer = APNS_CHANNELS_RESPONSE_INIT;
  assert_ok(apns_channels_response(channels, &answer, &error));
  return answer;
}

/* ---- The requests ------------------------------------------------------------- */

/* As Apple's page "Sending channel management requests to APNs" shows them. */
TEST(requests_are_as_apple_shows_them) {
  ENTER(CREATED, CREATED, {.body = DESCRIPTION}, {.status = 204},
        {.body = "{\"channels\":[\"" CHANNEL "\",\"AAAA\"]}"});
  assert_ok(create(channels));
  assert_string_equal(made, CHANNEL);
  assert_int_equal(answer_of(channels).http_status, 201);
  assert_string_equal(answer_of(channels).request_id, REQUEST);
  assert_int_equal(answer_of(channels).reason, APNS_REASON_NONE);
  assert_ok(apns_channel_create(channels, APNS_STORAGE_NONE, made, sizeof made, &error));
  apns_channel_description_t description = APNS_CHANNEL_DESCRIPTION_INIT;
  assert_ok(apns_channel_describe(channels, CHANNEL, &description, &error));
  assert_int_equal(description.storage, APNS_STORAGE_LATEST);
  assert_int_equal(description.push_type, APNS_PUSH_TYPE_LIVEACTIVITY);
  assert_ok(apns_channel_delete(channels, CHANNEL, &error));
  assert_int_equal(answer_of(channels).http_status, 204);
  assert_ok(apns_channels_list(channels, &error));
  const char *listed = NULL;
  assert_int_equal(apns_channels_next(channels, &listed), APNS_OK);
  assert_string_equal(listed, CHANNEL);
  assert_int_equal(apns_channels_next(channels, &listed), APNS_OK);
  assert_string_equal(listed, "AAAA");
  assert_int_equal(apns_channels_next(channels, &listed), APNS_DONE);
  assert_null(listed);
  assert_int_equal(apns_channels_next(channels, &listed), APNS_DONE);
  close_room(&room);
  static const struct {
    const char *method, *path, *rest, *payload;
  } expected[] = {
      {"POST", PATH "/channels", "content-type: application/json\n", DESCRIPTION},
      {"POST", PATH "/channels", "content-type: application/json\n",
       "{\"message-storage-policy\":0,\"push-type\":\"LiveActivity\"}"},
      {"GET", PATH "/channels", "apns-channel-id: " CHANNEL "\n", ""},
      {"DELETE", PATH "/channels", "apns-channel-id: " CHANNEL "\n", ""},
      {"GET", PATH "/all-channels", "", ""},
  };
  assert_int_equal(service_count(room.service), 5);
  assert_int_equal(service_connections(room.service), 1);
  for (size_t index = 0; index < 5; index++) {
    char fields[600];
    snprintf(fields, sizeof fields,
             ":method: %s\n:scheme: https\n:path: %s\n:authority: localhost:%d\n%s",
             expected[index].method, expected[index].path, service_port(room.service),
             expected[index].rest);
    const service_push_t *heard = service_push(room.service, index);
    assert_string_equal(heard->fields, fields);
    assert_string_equal(heard->payload ? heard->payload : "", expected[index].payload);
  }
}

/* Apple's hosts and ports: nothing is sent there, but the name is looked up. */
static char asked_host[300];

static int note_host(const char *host, struct addrinfo **list, void *context) {
  (void)list, (void)context;
  snprintf(asked_host, sizeof asked_host, "%s", host);
  return -2; /* EAI_NONAME */
}

static char logged_peer[300];

static void note_peer(const apns_log_record_t *record, void *context) {
  (void)context;
  snprintf(logged_peer, sizeof logged_peer, "%s", record->peer);
}

TEST(each_environment_has_its_host) {
  static const struct {
    int32_t environment;
    const char *host, *peer;
  } expected[] = {
      {0, APNS_CHANNELS_HOST_PRODUCTION, "api-manage-broadcast.push.apple.com:2196"},
      {APNS_ENVIRONMENT_PRODUCTION, APNS_CHANNELS_HOST_PRODUCTION,
       "api-manage-broadcast.push.apple.com:2196"},
      {APNS_ENVIRONMENT_SANDBOX, APNS_CHANNELS_HOST_SANDBOX,
       "api-manage-broadcast.sandbox.push.apple.com:2195"},
  };
  for (size_t index = 0; index < 3; index++) {
    apns_channels_options_t options = APNS_CHANNELS_OPTIONS_INIT;
    options.environment = expected[index].environment;
    options.topic = "com.example.chess";
    options.peer.lookup = note_host;
    options.log = note_peer;
    owned(channels) channels = channels_with(&options);
    assert_caused(APNS_ERR_NETWORK, create(channels), APNS_CAUSE_NAME_NOT_FOUND);
    assert_string_equal(asked_host, expected[index].host);
    assert_string_equal(logged_peer, expected[index].peer);
  }
}

TEST(what_cannot_be_asked) {
  owned(credentials) credentials = provider_credentials();
  apns_channels_options_t options = APNS_CHANNELS_OPTIONS_INIT;
  owned(channels) channels = NULL;
#define REFUSED(given, text)                   \
  do {                                         \
    assert_status(APNS_ERR_ARGUMENT, (given)); \
    assert_string_equal(error.message, text);  \
  } while (0)
  const char *no_topic = "there is no topic: channels need the app's bundle id";
  REFUSED(apns_channels_new(&options, credentials, &channels, &error), no_topic);
  REFUSED(apns_channels_new(NULL, credentials, &channels, &error), no_topic);
  assert_int_equal(error.cause, APNS_CAUSE_TOPIC);
  options.topic = "com.example/chess";
  REFUSED(apns_channels_new(&options, credentials, &channels, &error),
          "a bundle id cannot have character 0x2f at 11");
  options.topic = "com.example.chess.push-type.liveactivity", options.environment = 3;
  REFUSED(apns_channels_new(&options, credentials, &channels, &error),
          "environment is 3, not an apns_environment_t");
  options.environment = 0, options.log_level = 9;
  REFUSED(apns_channels_new(&options, credentials, &channels, &error),
          "log_level is 9, not an apns_log_level_t");
  options.log_level = 0, options.reserved32 = 1;
  REFUSED(apns_channels_new(&options, credentials, &channels, &error),
          "apns_channels_options_t.reserved32 is reserved and has to be zero");
  options.reserved32 = 0, options.size = 128;
  REFUSED(apns_channels_new(&options, credentials, &channels, &error),
          "apns_channels_options_t.size is 128: set the structure up with its INIT macro");
  options.size = sizeof options;
  REFUSED(apns_channels_new(&options, NULL, &channels, &error), "credentials is NULL");
  REFUSED(apns_channels_new(&options, credentials, NULL, &error), "channels_out is NULL");
  assert_null(channels);
  assert_ok(apns_channels_new(&options, credentials, &channels, &error));
  apns_channel_description_t description = APNS_CHANNEL_DESCRIPTION_INIT;
  apns_channels_response_t answer = APNS_CHANNELS_RESPONSE_INIT;
  const char *listed = "";
  REFUSED(create(NULL), "channels is NULL");
  REFUSED(apns_channel_describe(NULL, CHANNEL, &description, &error), "channels is NULL");
  REFUSED(apns_channel_delete(NULL, CHANNEL, &error), "channels is NULL");
  REFUSED(apns_channels_list(NULL, &error), "channels is NULL");
  REFUSED(apns_channels_response(NULL, &answer, &error), "channels is NULL");
  REFUSED(apns_channel_describe(channels, NULL, &description, &error), "channel_id is NULL");
  REFUSED(apns_channel_describe(channels, CHANNEL, NULL, &error), "description_out is NULL");
  REFUSED(apns_channel_delete(channels, NULL, &error), "channel_id is NULL");
  REFUSED(apns_channel_delete(channels, "", &error), "channel_id is empty");
  REFUSED(apns_channel_delete(channels, "a*b", &error),
          "channel_id is not base64: character 0x2a at 1");
  REFUSED(apns_channels_response(channels, NULL, &error), "answer_out is NULL");
  REFUSED(apns_channel_create(channels, 2, made, sizeof made, &error),
          "storage is 2, not an apns_storage_t");
#undef REFUSED
  for (size_t size = 0; size < 300; size++) {
    _Alignas(8) unsigned char memory[300] = {0};
    memcpy(memory, &size, sizeof size);
    const bool is_known = size >= sizeof answer && size % 8 == 0;
    apns_status_t status =
        apns_channels_response(channels, (apns_channels_response_t *)memory, &error);
    assert_int_equal(status, is_known ? APNS_OK : APNS_ERR_ARGUMENT);
    if (size >= sizeof description && size % 8 == 0) continue;
    status = apns_channel_describe(channels, CHANNEL, (apns_channel_description_t *)memory, &error);
    assert_int_equal(status, APNS_ERR_ARGUMENT);
    assert_contains(error.message, "apns_channel_description_t.size is ");
  }
  assert_says(APNS_ERR_BUFFER_SMALL,
              apns_channel_create(channels, 0, made, APNS_CHANNEL_ID_MAX, &error),
              "channel_id_out needs 256 bytes");
  assert_status(APNS_ERR_BUFFER_SMALL, apns_channel_create(channels, 0, NULL, SIZE_MAX, &error));
  assert_int_equal(apns_channels_next(NULL, &listed), APNS_ERR_ARGUMENT);
  assert_null(listed);
  assert_int_equal(apns_channels_next(channels, NULL), APNS_ERR_ARGUMENT);
  assert_int_equal(apns_channels_next(channels, &listed), APNS_DONE);
  assert_int_equal(answer_of(channels).http_status, 0);
  assert_int_equal(apns_channels_fd(channels), -1);
  assert_int_equal(apns_channels_fd(NULL), -1);
  assert_int_equal(apns_channels_timeout_ms(channels), -1);
  assert_int_equal(apns_channels_timeout_ms(NULL), -1);
  apns_channels_cancel(channels), apns_channels_cancel(NULL);
  apns_channels_free(NULL);
}

/* ---- What is refused ------------------------------------------------------------ */

TEST(a_refusal_has_its_reason) {
  ENTER(REFUSAL(400, "CannotCreateChannelConfig"), REFUSAL(400, "ChannelNotRegistered"),
        REFUSAL(429, "TooManyRequests"),
        {.status = 503, .body = "{\"reason\":\"ServiceUnavailable\"}", .retry_after = "7"},
        REFUSAL(403, "SomethingNew"), {.status = 500}, {.status = 302, .body = "<html>"}, CREATED);
  static const struct {
    const char *message;
    int status;
    apns_reason_t reason;
    uint32_t retry_after;
    const char *text;
  } expected[] = {
      {"the service refused to create a channel: 400 CannotCreateChannelConfig", 400,
       APNS_REASON_CANNOT_CREATE_CHANNEL_CONFIG, 0, "CannotCreateChannelConfig"},
      {"the service refused to delete the channel: 400 ChannelNotRegistered", 400,
       APNS_REASON_CHANNEL_NOT_REGISTERED, 0, "ChannelNotRegistered"},
      {"the service refused to create a channel: 429 TooManyRequests, try again in 60 s", 429,
       APNS_REASON_TOO_MANY_REQUESTS, 60, "TooManyRequests"},
      {"the service refused to delete the channel: 503 ServiceUnavailable, try again in 7 s", 503,
       APNS_REASON_SERVICE_UNAVAILABLE, 7, "ServiceUnavailable"},
      {"the service refused to create a channel: 403 SomethingNew", 403, APNS_REASON_OTHER, 0,
       "SomethingNew"},
      {"the service refused to delete the channel: 500, try again in 900 s", 500, APNS_REASON_OTHER,
       900, ""},
      {"the service refused to create a channel: 302", 302, APNS_REASON_OTHER, 0, ""},
  };
  for (size_t index = 0; index < sizeof expected / sizeof *expected; index++) {
    assert_says(APNS_ERR_REJECTED,
                index % 2 ? apns_channel_delete(channels, CHANNEL, &error) : create(channels),
                expected[index].message);
    assert_int_equal(error.cause, APNS_CAUSE_NONE);
    apns_channels_response_t answer = answer_of(channels);
    assert_int_equal(answer.http_status, expected[index].status);
    assert_int_equal(answer.reason, expected[index].reason);
    assert_int_equal(answer.retry_after_s, expected[index].retry_after);
    assert_string_equal(answer.reason_text, expected[index].text);
    assert_string_equal(answer.request_id, REQUEST);
  }
  assert_ok(create(channels));
  assert_int_equal(room.plan.asked, 8);
}

/* ---- Invalid responses ----------------------------------------------------------- */

/* Another 2xx than Apple's page says is a success; without a channel ID it is not. */
TEST(answers_that_are_strange) {
  static char long_channel[400];
  memset(long_channel, 'A', sizeof long_channel - 1);
  ENTER({.status = 200, .channel_id = "AAAA"}, {.status = 201}, {.status = 201, .channel_id = ""},
        {.status = 201, .channel_id = long_channel}, {.status = 201, .channel_id = "a b"},
        {.status = 200, .body = "{}"}, CREATED);
  assert_ok(create(channels));
  assert_string_equal(made, "AAAA");
  for (int index = 0; index < 4; index++) {
    assert_status(APNS_ERR_IN_DOUBT, create(channels));
    assert_string_equal(error.message,
                        "the service answered 201 without an apns-channel-id: a channel may have "
                        "been made, list them");
    assert_int_equal(error.cause, APNS_CAUSE_PROTOCOL);
  }
  assert_ok(apns_channel_delete(channels, CHANNEL, &error));
  assert_ok(create(channels));
  assert_string_equal(made, CHANNEL);
  assert_int_equal(room.plan.asked, 7);
}

TEST(descriptions_and_lists_that_are_none) {
  static const char *const descriptions[] = {
      "",
      "null",
      "[1]",
      "{}",
      "{\"message-storage-policy\":\"1\"}",
      "{\"message-storage-policy\":-1}",
      "{\"message-storage-policy\":10}",
      "{\"message-storage-policy\":1.0}",
      "{\"message-storage-policy\":1",
      "{\"message-storage-policy\":1}x",
      "\xFF",
  };
  static const char *const lists[] = {
      "",
      "[]",
      "{}",
      "{\"channels\":null}",
      "{\"channels\":{}}",
      "{\"channels\":[1]}",
      "{\"channels\":[\"AAAA\",[]]}",
      "{\"channels\":[\"\"]}",
      "{\"channels\":[\"a b\"]}",
      "{\"channels\":[\"\\u0000\"]}",
      "{\"channels\":[\"\\u00e4\"]}",
      "{\"channels\":[\"AAAA\"",
      "{\"channels\":[\"AAAA\"],\"channels\":[]}",
      "{\"channels\":[\"AAAA\"]} {",
      "{\"channels\":[\"AAAA\xFF\"]}",
  };
  ENTER({.body = ""});
  for (size_t index = 0; index < sizeof descriptions / sizeof *descriptions; index++) {
    room.plan.replies[0].body = descriptions[index];
    apns_channel_description_t description = APNS_CHANNEL_DESCRIPTION_INIT;
    assert_status(APNS_ERR_PROTOCOL,
                  apns_channel_describe(channels, CHANNEL, &description, &error));
    assert_contains(error.message,
                    "the service's answer is not a channel's description: localhost:");
  }
  static char long_one[400];
  snprintf(long_one, sizeof long_one, "{\"channels\":[\"%0256d\"]}", 0);
  for (size_t index = 0; index <= sizeof lists / sizeof *lists; index++) {
    room.plan.replies[0].body = NULL;
    room.plan.replies[0].long_body = index ? lists[index - 1] : long_one;
    assert_fails(APNS_ERR_PROTOCOL, apns_channels_list(channels, &error),
                 "the service's answer is not a list of channels: localhost:");
    const char *listed;
    assert_int_equal(apns_channels_next(channels, &listed), APNS_DONE);
  }
  /* Unknown members are not errors. */
  room.plan.replies[0].long_body =
      " {\"a\":[{\"channels\":[1]}], \"channels\" : [ \"a\\/b\\u003d\" , \"AAAA\" ] ,\"b\":{}} ";
  assert_ok(apns_channels_list(channels, &error));
  const char *listed;
  assert_int_equal(apns_channels_next(channels, &listed), APNS_OK);
  assert_string_equal(listed, "a/b=");
  assert_int_equal(apns_channels_next(channels, &listed), APNS_OK);
  assert_string_equal(listed, "AAAA");
  assert_int_equal(apns_channels_next(channels, &listed), APNS_DONE);
  room.plan.replies[0].long_body = "{\"channels\":[]}";
  assert_ok(apns_channels_list(channels, &error));
  assert_int_equal(apns_channels_next(channels, &listed), APNS_DONE);
  room.plan.replies[0].long_body =
      "{\"push-type\":\"Other\",\"message-storage-policy\":2,\"new\":[]}";
  apns_channel_description_t description = APNS_CHANNEL_DESCRIPTION_INIT;
  assert_ok(apns_channel_describe(channels, CHANNEL, &description, &error));
  assert_int_equal(description.storage, 2);
  assert_int_equal(description.push_type, 0);
}

/* ---- Long lists ------------------------------------------------------------------- */

static char *list_of(size_t count, size_t *length) {
  char *text = malloc(32 + count * 40);
  size_t end = (size_t)sprintf(text, "{\"channels\":[");
  for (size_t n = 0; n < count; n++)
    end += (size_t)sprintf(text + end, "%s\"Y2hhbm5lbC1udW1iZXItMD%08zu==\"", n ? "," : "", n);
  end += (size_t)sprintf(text + end, "]}");
  *length = end;
  return text;
}

TEST(ten_thousand_channels) {
  size_t length;
  owned(text) text = list_of(10000, &length);
  ENTER({.long_body = text});
  for (int again = 0; again < 2; again++) {
    assert_ok(apns_channels_list(channels, &error));
    const char *listed;
    for (size_t n = 0; n < 10000; n++) {
      char expected[64];
      snprintf(expected, sizeof expected, "Y2hhbm5lbC1udW1iZXItMD%08zu==", n);
      assert_int_equal(apns_channels_next(channels, &listed), APNS_OK);
      assert_string_equal(listed, expected);
    }
    assert_int_equal(apns_channels_next(channels, &listed), APNS_DONE);
  }
}

TEST(a_list_has_its_limit) {
  static char text[(4 << 20) + 64];
  ENTER({.long_body = text}, {.long_body = text}, {.has_endless_body = true}, {.status = 204},
        {.status = 400, .has_endless_body = true}, {.body = "{\"channels\":[]}"});
  const size_t most = 4 << 20;
  memset(text, ' ', most + 1);
  memcpy(text, "{\"channels\":[]}", 15);
  text[most] = 0;
  assert_ok(apns_channels_list(channels, &error));
  text[most] = ' ';
  for (int which = 0; which < 2; which++) {
    assert_caused(APNS_ERR_PROTOCOL, apns_channels_list(channels, &error), APNS_CAUSE_FLOOD);
    assert_contains(error.message, "the service's answer has more than 4 MiB: localhost:");
  }
  /* The connection stays open: only the stream timed out. */
  assert_ok(apns_channel_delete(channels, CHANNEL, &error));
  assert_int_equal(room.plan.asked, 4);
  /* A rejection is never this long. */
  const apns_status_t status = apns_channel_delete(channels, CHANNEL, &error);
  if (status != APNS_OK) assert_status(APNS_ERR_PROTOCOL, status);
  close_room(&room);
  assert_int_equal(service_complaints(room.service), 0);
}

/* ---- Connections that end --------------------------------------------------------- */

/* A request that can be repeated is repeated; each time on another connection. */
TEST(what_is_lost_is_asked_again) {
  ENTER({.action = SERVE_DROP}, {.status = 204}, {.action = SERVE_RESET, .error = 2},
        {.body = DESCRIPTION}, {.action = SERVE_RESET, .error = 7}, CREATED,
        {.action = SERVE_GOODBYE_AND_DROP, .status = 204}, {.body = "{\"channels\":[\"AAAA\"]}"});
  assert_ok(apns_channel_delete(channels, CHANNEL, &error));
  apns_channel_description_t description = APNS_CHANNEL_DESCRIPTION_INIT;
  assert_ok(apns_channel_describe(channels, CHANNEL, &description, &error));
  /* The service did not process a refused stream, so even this may be repeated. */
  assert_ok(create(channels));
  assert_ok(apns_channel_delete(channels, CHANNEL, &error));
  assert_ok(apns_channels_list(channels, &error));
  const char *listed;
  assert_int_equal(apns_channels_next(channels, &listed), APNS_OK);
  assert_int_equal(room.plan.asked, 8);
  close_room(&room);
  assert_int_equal(service_connections(room.service), 3);
}

TEST(a_creation_is_not_repeated) {
  static const char *const half[] = {
      ":status", "201", "apns-channel-id", CHANNEL, "content-length", "7", NULL, NULL};
  ENTER({.action = SERVE_DROP}, {.action = SERVE_RESET, .error = 2}, {.fields = half}, CREATED,
        {.status = 201, .has_endless_body = true, .channel_id = CHANNEL}, CREATED);
  for (size_t index = 0; index < 3; index++) {
    assert_fails(APNS_ERR_IN_DOUBT, create(channels), "; a channel may have been made: list them");
    assert_int_equal(error.cause, APNS_CAUSE_CONNECTION_LOST);
    assert_int_equal(answer_of(channels).http_status, 0);
    assert_int_equal(apns_status_is_retryable(error.status), 0);
  }
  assert_ok(create(channels));
  assert_caused(APNS_ERR_IN_DOUBT, create(channels), APNS_CAUSE_FLOOD);
  assert_int_equal(room.plan.asked, 5);
}

/* Five ends are enough. */
/* A connection that was silent for a minute may have been cut silently. */
TEST(a_silent_connection_is_made_anew) {
  ENTER(CREATED);
  assert_ok(create(channels));
  clock_forward(50000);
  assert_ok(create(channels));
  clock_forward(61000); /* and back below: timers of the kernel know nothing of it */
  assert_ok(create(channels));
  close_room(&room);
  assert_int_equal(service_count(room.service), 3);
  assert_int_equal(service_connections(room.service), 2);
  assert_int_equal(service_push(room.service, 1)->connection, 0);
  assert_int_equal(service_push(room.service, 2)->connection, 1);
  clock_forward(-111000);
}

TEST(what_ends_connections_is_given_up) {
  ENTER({.action = SERVE_DROP});
  assert_caused(APNS_ERR_NETWORK, apns_channel_delete(channels, CHANNEL, &error),
                APNS_CAUSE_CONNECTION_LOST);
  assert_int_equal(room.plan.asked, 5);
}

TEST(a_service_that_is_silent) {
  ENTER({.action = SERVE_SILENCE});
  apns_channels_free(channels);
  apns_channels_options_t options = options_to(room.service);
  options.answer_timeout_ms = 100;
  room.channels = channels = channels_with(&options);
  assert_caused(APNS_ERR_IN_DOUBT, create(channels), APNS_CAUSE_ANSWER_TIMEOUT);
  assert_contains(error.message, "a channel may have been made: list them");
}

/* The failure of one request does not affect the next one. */
TEST(each_request_has_its_own_cause) {
  static const char noise[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
  ENTER({.action = SERVE_SILENCE, .last_words = noise, .last_words_length = sizeof noise},
        {.action = SERVE_DROP});
  assert_caused(APNS_ERR_IN_DOUBT, create(channels), APNS_CAUSE_PROTOCOL);
  assert_contains(error.message, "the peer broke the rules of HTTP/2: localhost:");
  assert_caused(APNS_ERR_IN_DOUBT, create(channels), APNS_CAUSE_CONNECTION_LOST);
}

/* Nothing was sent, so nothing is in doubt. */
TEST(nobody_is_there) {
  owned(service) service = service_start(NULL);
  const apns_channels_options_t options = options_to(service);
  owned(channels) channels = channels_with(&options);
  service_stop(service);
  for (int again = 0; again < 3; again++) {
    assert_caused(APNS_ERR_NETWORK, create(channels), APNS_CAUSE_CONNECTION_REFUSED);
    assert_null(strstr(error.message, "may have been made"));
    assert_status(APNS_ERR_NETWORK, apns_channels_list(channels, &error));
  }
}

TEST(a_service_without_http2) {
  owned(service) service = service_start(&(service_options_t){.speaks_no_http2 = true});
  const apns_channels_options_t options = options_to(service);
  owned(channels) channels = channels_with(&options);
  assert_caused(APNS_ERR_PROTOCOL, create(channels), APNS_CAUSE_NO_HTTP2);
}

/* Fields without end, in frames without end (RFC 9113, 6.10). */
TEST(fields_without_end) {
  enum { FRAMES = 400, SIZE = 16000 };
  owned(bytes) flood = calloc(FRAMES, SIZE + 9);
  for (size_t index = 0; index < FRAMES; index++) {
    uint8_t *frame = flood + index * (SIZE + 9);
    frame[0] = SIZE >> 16, frame[1] = SIZE >> 8 & 255, frame[2] = SIZE & 255;
    frame[3] = index ? 9 : 1; /* CONTINUATION, HEADERS */
    frame[8] = 1;
    for (size_t at = 9; at < 9 + SIZE; at += 8) /* a literal field: x: 1234 */
      memcpy(frame + at,
             "\x00\x01x\x04"
             "1234",
             8);
  }
  ENTER({.action = SERVE_SILENCE, .last_words = flood, .last_words_length = FRAMES * (SIZE + 9)});
  const int64_t start = cpu_ms();
  assert_status(APNS_ERR_IN_DOUBT, create(channels));
  assert_costs(start, 5000);
}

/* ---- Tokens ------------------------------------------------------------------------- */

static service_reply_t refuse_first_token(void *context, const service_push_t *push) {
  char *refused = context;
  if (!*refused) snprintf(refused, 512, "%s", push->authorization);
  if (strcmp(refused, push->authorization) == 0)
    return (service_reply_t){.status = 403, .body = "{\"reason\":\"ExpiredProviderToken\"}"};
  return (service_reply_t)CREATED;
}

static int token_count;

static int give_token(apns_token_request_t *request, void *context) {
  (void)context;
  request->renew_after_s = 3600;
  return snprintf(request->token, request->capacity, "token-%d", ++token_count);
}

/* A token that APNs rejects as expired is refreshed, for the creation too: it was not made. */
TEST(a_token_is_renewed) {
  char refused[512] = "";
  owned(service) service =
      service_start(&(service_options_t){.judge = refuse_first_token, .context = refused});
  apns_credentials_options_t who = trusting();
  who.token_callback = give_token;
  owned(credentials) credentials = credentials_of(&who);
  const apns_channels_options_t options = options_to(service);
  owned(channels) channels = NULL;
  assert_ok(apns_channels_new(&options, credentials, &channels, &error));
  assert_ok(create(channels));
  /* A session with the same credentials has the same token. */
  apns_session_t *session = signing_session(service, credentials);
  send_and_drain(session, 0, 1);
  apns_session_free(session);
  service_stop(service);
  assert_int_equal(service_count(service), 3);
  assert_string_equal(service_push(service, 0)->authorization, "bearer token-1");
  assert_string_equal(service_push(service, 1)->authorization, "bearer token-2");
  assert_string_equal(service_push(service, 2)->authorization, "bearer token-2");
}

/* ---- In an event loop ----------------------------------------------------------------- */

static bool is_readable(int descriptor) {
  struct pollfd watched = {.fd = descriptor, .events = POLLIN};
  return poll(&watched, 1, 0) == 1;
}

static void await(const apns_channels_t *channels) {
  struct pollfd watched = {.fd = apns_channels_fd(channels), .events = POLLIN};
  assert_true(watched.fd >= 0);
  assert_int_equal(poll(&watched, 1, AMPLE_MS), 1);
}

#define LOOPED(channels, call)                                \
  ({                                                          \
    apns_status_t looped;                                     \
    while ((looped = (call)) == APNS_ERR_AGAIN) {             \
      assert_true(apns_channels_timeout_ms(channels) >= 0);   \
      await(channels);                                        \
    }                                                         \
    assert_int_equal(apns_channels_timeout_ms(channels), -1); \
    assert_false(is_readable(apns_channels_fd(channels)));    \
    looped;                                                   \
  })

static apns_channels_t *looping(room_t *room) {
  apns_channels_free(room->channels);
  apns_channels_options_t options = options_to(room->service);
  options.peer.nonblocking = 1;
  return room->channels = channels_with(&options);
}

TEST(calls_that_never_wait) {
  size_t length;
  owned(text) text = list_of(5000, &length);
  ENTER(CREATED, {.action = SERVE_DROP}, {.body = DESCRIPTION}, REFUSAL(400, "BadChannelId"),
        {.long_body = text}, {.action = SERVE_DROP}, CREATED);
  channels = looping(&room);
  const int descriptor = apns_channels_fd(channels);
  assert_false(is_readable(descriptor));
  assert_int_equal(create(channels), APNS_ERR_AGAIN);
  assert_int_equal(LOOPED(channels, create(channels)), APNS_OK);
  assert_string_equal(made, CHANNEL);
  apns_channel_description_t description = APNS_CHANNEL_DESCRIPTION_INIT;
  assert_int_equal(LOOPED(channels, apns_channel_describe(channels, CHANNEL, &description, &error)),
                   APNS_OK);
  assert_int_equal(LOOPED(channels, apns_channel_delete(channels, CHANNEL, &error)),
                   APNS_ERR_REJECTED);
  assert_int_equal(LOOPED(channels, apns_channels_list(channels, &error)), APNS_OK);
  const char *listed;
  size_t count = 0;
  while (apns_channels_next(channels, &listed) == APNS_OK) count++;
  assert_int_equal(count, 5000);
  assert_int_equal(LOOPED(channels, create(channels)), APNS_ERR_IN_DOUBT);
  assert_int_equal(LOOPED(channels, create(channels)), APNS_OK);
  assert_int_equal(apns_channels_fd(channels), descriptor);
}

/* Another request has to wait until the pending one ends or is abandoned. */
TEST(one_request_at_a_time) {
  ENTER({.action = SERVE_SILENCE}, {.status = 204}, CREATED);
  channels = looping(&room);
  while (!room.plan.asked) {
    assert_status(APNS_ERR_AGAIN, apns_channel_delete(channels, CHANNEL, &error));
    await(channels);
  }
  const char *busy =
      "another request is under way, to delete the channel: repeat that call, or "
      "cancel it";
  assert_says(APNS_ERR_ARGUMENT, create(channels), busy);
  assert_says(APNS_ERR_ARGUMENT, apns_channel_delete(channels, "AAAA", &error), busy);
  assert_status(APNS_ERR_AGAIN, apns_channel_delete(channels, CHANNEL, &error));
  apns_channels_cancel(channels);
  assert_int_equal(apns_channels_timeout_ms(channels), -1);
  assert_false(is_readable(apns_channels_fd(channels)));
  assert_int_equal(LOOPED(channels, apns_channel_delete(channels, "AAAA", &error)), APNS_OK);
  assert_int_equal(LOOPED(channels, create(channels)), APNS_OK);
  close_room(&room);
  assert_int_equal(service_count(room.service), 3);
  assert_contains(service_push(room.service, 1)->fields, "apns-channel-id: AAAA\n");
}

TEST(a_loop_has_its_deadlines) {
  ENTER({.action = SERVE_SILENCE});
  apns_channels_free(channels);
  apns_channels_options_t options = options_to(room.service);
  options.peer.nonblocking = 1;
  options.answer_timeout_ms = 50;
  room.channels = channels = channels_with(&options);
  assert_int_equal(LOOPED(channels, create(channels)), APNS_ERR_IN_DOUBT);
  assert_int_equal(error.cause, APNS_CAUSE_ANSWER_TIMEOUT);
}

TEST(nobody_is_there_in_a_loop) {
  owned(service) service = service_start(NULL);
  apns_channels_options_t options = options_to(service);
  options.peer.nonblocking = 1;
  owned(channels) channels = channels_with(&options);
  service_stop(service);
  for (int again = 0; again < 3; again++) {
    assert_int_equal(LOOPED(channels, create(channels)), APNS_ERR_NETWORK);
    assert_int_equal(error.cause, APNS_CAUSE_CONNECTION_REFUSED);
  }
}

/* A call that may wait for a millisecond only, and continues when it is repeated. */
TEST(calls_that_wait_a_little) {
  ENTER(CREATED, {.action = SERVE_SILENCE});
  apns_channels_free(channels);
  apns_channels_options_t options = options_to(room.service);
  options.peer.wait_max_ms = 1;
  room.channels = channels = channels_with(&options);
  apns_status_t status;
  while ((status = create(channels)) == APNS_ERR_AGAIN) continue;
  assert_ok(status);
  assert_int_equal(room.plan.asked, 1);
  while (room.plan.asked < 2) assert_status(APNS_ERR_AGAIN, apns_channels_list(channels, &error));
  assert_status(APNS_ERR_AGAIN, apns_channels_list(channels, &error));
  assert_int_equal(room.plan.asked, 2);
}

/* ---- Forks, and memory --------------------------------------------------------------- */

static int uses_the_parents_channels(void *argument) {
  FORGET_ERROR();
  owned(channels) channels = argument;
  apns_channel_description_t description = APNS_CHANNEL_DESCRIPTION_INIT;
  apns_channels_response_t answer = APNS_CHANNELS_RESPONSE_INIT;
  const char *listed;
  const apns_status_t forked = APNS_ERR_FORKED;
  CHILD_REQUIRE(create(channels) == forked);
  CHILD_REQUIRE(strstr(error.message, "parent"));
  CHILD_REQUIRE(apns_channel_describe(channels, CHANNEL, &description, &error) == forked);
  CHILD_REQUIRE(apns_channel_delete(channels, CHANNEL, &error) == forked);
  CHILD_REQUIRE(apns_channels_list(channels, &error) == forked);
  CHILD_REQUIRE(apns_channels_next(channels, &listed) == forked);
  CHILD_REQUIRE(apns_channels_response(channels, &answer, &error) == forked);
  CHILD_REQUIRE(apns_channels_fd(channels) == -1);
  CHILD_REQUIRE(apns_channels_timeout_ms(channels) == -1);
  apns_channels_cancel(channels);
  return 0;
}

TEST(a_child_leaves_them_alone) {
  skip_unless_pages_are_wiped_on_fork();
  ENTER(CREATED);
  assert_ok(create(channels));
  assert_child_is_fine(uses_the_parents_channels, channels);
  assert_ok(create(channels));
  close_room(&room);
  assert_int_equal(service_connections(room.service), 1);
}
