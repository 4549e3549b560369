/* Sessions over HTTP/2, against the service of Tests/C. */
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <poll.h>

#include <atomic>
#include <thread>

#include "check.hpp"

extern "C" {
#include "keychain.h"
#include "Service/service.h"
}

static const std::string json = "{\"aps\":{\"alert\":\"Hello\"}}";
static const char uuid[] = "123e4567-e89b-12d3-a456-42665544000a";

/** A service for the lifetime of a block. */
class Service {
 public:
  explicit Service(service_judge_t judge = nullptr) {
    service_options_t options{};
    options.judge = judge;
    service_ = service_start(&options);
  }
  Service(const Service &) = delete;
  ~Service() {
    stop();
    service_free(service_);
  }

  /** After this the requests can be examined. */
  void stop() {
    if (!is_stopped_) service_stop(service_);
    is_stopped_ = true;
  }
  const service_push_t &push(std::size_t number) const {
    assert_true(number < service_count(service_));
    return *service_push(service_, number);
  }

  apns::SessionOptions session_options() const {
    apns::SessionOptions options;
    options.protocol = APNS_PROTOCOL_HTTP2;
    options.peer.host = "localhost";
    options.peer.port = service_port(service_);
    options.peer.connect_timeout_ms = options.tuning.write_timeout_ms = AMPLE_MS;
    options.outcomes = APNS_OUTCOMES_EACH;
    options.checks = -1;
    options.topic = "com.example.chess";
    return options;
  }

 private:
  service_t *service_;
  bool is_stopped_ = false;
};

static apns::Event only_event(apns::Session &session) {
  assert_int_equal(session.drain(std::chrono::milliseconds(AMPLE_MS)), 0);
  const std::optional<apns::Event> event = session.next_event();
  assert_true(event.has_value());
  return *event;
}

TEST(a_notification_keeps_its_fields) {
  Service service;
  apns::Session session(apns::Credentials(provider_options()), service.session_options());
  const auto token = token_of(1);
  apns::Notification push(token, json);
  push.of_type(APNS_PUSH_TYPE_LOCATION).at_priority(1).to_topic("com.example.other");
  session.send(push.collapsing("score").identified_by(uuid).once());
  const apns::Event event = only_event(session);
  assert_true(event.is_accepted());
  assert_int_equal(event.http_status, 200);
  assert_text(uuid, event.id());
  assert_int_equal(event.reason(), APNS_REASON_NONE);
  assert_text("", event.reason_text());
  session.send({token_of(1), json});
  assert_true(only_event(session).is_accepted());
  service.stop();
  const service_push_t &heard = service.push(0);
  assert_text("location", heard.push_type);
  assert_text("com.example.other", heard.topic);
  assert_text("score", heard.collapse_id);
  assert_text("1", heard.priority);
  assert_text("0", heard.expiration);
  assert_text(json, std::string_view(heard.payload, heard.payload_length));
  assert_text("com.example.chess", service.push(1).topic);
}

static service_reply_t say_gone(void *, const service_push_t *) {
  service_reply_t reply{};
  reply.status = 410;
  reply.body = "{\"reason\":\"Unregistered\",\"timestamp\":1454402113000}";
  return reply;
}

static service_reply_t say_sandbox(void *, const service_push_t *push) {
  service_reply_t reply{};
  reply.unique_id = "0e8a4f6c-8a4b-4f5e-9f0a-3d2c1b0a9f8e";
  if (push->number == 1) {
    reply.status = 400;
    reply.body = "{\"reason\":\"ChannelNotRegistered\"}";
  }
  return reply;
}

TEST(a_broadcast_names_its_channel) {
  const std::string update = "{\"aps\":{\"timestamp\":1800000000,\"event\":\"update\"}}";
  Service service(say_sandbox);
  apns::Session session(apns::Credentials(provider_options()), service.session_options());
  const char channel[] = "dHN0LXNyY2gtY2hubA==";
  session.send(apns::Notification{}.to_channel(channel).saying(update).identified_by(uuid));
  const apns::Event event = only_event(session);
  assert_true(event.is_accepted());
  assert_text(uuid, event.id());
  assert_text("0e8a4f6c-8a4b-4f5e-9f0a-3d2c1b0a9f8e", event.unique_id());
  session.send(apns::Notification{}.to_channel(channel).saying(update));
  const apns::Event refused = only_event(session);
  assert_true(refused.is_rejected());
  assert_int_equal(refused.reason(), APNS_REASON_CHANNEL_NOT_REGISTERED);
  assert_text("ChannelNotRegistered", refused.why());
  try {
    session.send(apns::Notification(token_of(1), json).to_channel(channel));
    fail_because("a notification went to a device and a channel");
  } catch (const apns::Error &error) {
    assert_int_equal(error.status(), APNS_ERR_ARGUMENT);
  }
  service.stop();
  const service_push_t &heard = service.push(0);
  assert_text("/4/broadcasts/apps/com.example.chess", heard.path);
  assert_non_null(std::strstr(heard.fields, "apns-channel-id: dHN0LXNyY2gtY2hubA==\n"));
  assert_text("liveactivity", heard.push_type);
  assert_text(update, std::string_view(heard.payload, heard.payload_length));
}

static service_reply_t manage_channels(void *, const service_push_t *push) {
  service_reply_t reply{};
  reply.id = uuid;
  switch (push->number) {
    case 0:
      reply.status = 201;
      reply.channel_id = "dHN0LXNyY2gtY2hubA==";
      break;
    case 1:
      reply.body = "{\"message-storage-policy\":1,\"push-type\":\"LiveActivity\"}";
      break;
    case 2:
      reply.body = "{\"channels\":[\"dHN0LXNyY2gtY2hubA==\",\"YW5vdGhlcg==\"]}";
      break;
    case 3:
      reply.status = 204;
      break;
    default:
      reply.status = 400;
      reply.body = "{\"reason\":\"ChannelNotRegistered\"}";
  }
  return reply;
}

TEST(channels_are_created_and_deleted) {
  Service service(manage_channels);
  const apns::SessionOptions where = service.session_options();
  apns::ChannelsOptions options;
  options.peer.host = where.peer.host;
  options.peer.port = where.peer.port;
  options.topic = where.topic;
  options.peer.connect_timeout_ms = options.answer_timeout_ms = AMPLE_MS;
  apns::Channels channels(apns::Credentials(provider_options()), options);
  const std::string channel = channels.create(APNS_STORAGE_LATEST);
  assert_text("dHN0LXNyY2gtY2hubA==", channel);
  assert_int_equal(channels.response().http_status, 201);
  const apns::ChannelDescription described = channels.describe(channel);
  assert_true(described.stores_latest());
  assert_int_equal(described.push_type, APNS_PUSH_TYPE_LIVEACTIVITY);
  const std::vector<std::string> all = channels.list();
  assert_int_equal(all.size(), 2);
  assert_text(channel, all[0]);
  assert_text("YW5vdGhlcg==", all[1]);
  channels.remove(channel);
  try {
    channels.remove(channel);
    fail_because("a channel was deleted twice");
  } catch (const apns::RejectedError &error) {
    assert_int_equal(error.status(), APNS_ERR_REJECTED);
    assert_int_equal(error.reason(), APNS_REASON_CHANNEL_NOT_REGISTERED);
    assert_int_equal(error.http_status(), 400);
    assert_text("ChannelNotRegistered", error.reason_text());
    assert_text(uuid, error.request_id());
    assert_int_equal(error.retry_after().count(), 0);
  }
  apns::ErrorDetail detail;
  assert_int_equal(channels.try_remove(std::string("a\0b", 3), &detail), APNS_ERR_ARGUMENT);
  assert_text("channel_id holds a NUL", detail.text());
  assert_int_equal(channels.try_list(&detail), APNS_ERR_REJECTED);
  assert_null(channels.next());
  assert_int_equal(channels.fd(), -1);
  apns::Channels moved = std::move(channels);
  assert_int_equal(channels.try_list(), APNS_ERR_ARGUMENT);
  assert_true(static_cast<bool>(moved));
  service.stop();
  assert_text("POST", service.push(0).method);
  assert_text("/1/apps/com.example.chess/all-channels", service.push(2).path);
  assert_text("DELETE", service.push(3).method);
}

TEST(channels_in_an_event_loop) {
  Service service(manage_channels);
  const apns::SessionOptions where = service.session_options();
  apns::ChannelsOptions options;
  options.peer.host = where.peer.host;
  options.peer.port = where.peer.port;
  options.topic = where.topic;
  options.peer.nonblocking = true;
  options.environment = APNS_ENVIRONMENT_SANDBOX;
  apns::Channels channels =
      apns::Channels::try_make(apns::Credentials(provider_options()), options);
  assert_true(channels.fd() >= 0);
  std::string channel;
  apns::ErrorDetail detail;
  apns_status_t status;
  while ((status = channels.try_create(APNS_STORAGE_NONE, channel, &detail)) == APNS_ERR_AGAIN) {
    pollfd watched{channels.fd(), POLLIN, 0};
    assert_true(poll(&watched, 1, AMPLE_MS) > 0);
  }
  assert_int_equal(status, APNS_OK);
  assert_text("dHN0LXNyY2gtY2hubA==", channel);
  assert_int_equal(channels.try_list(), APNS_ERR_AGAIN);
  channels.cancel();
  assert_int_equal(channels.timeout_ms(), -1);
  options.peer.host = APNS_CHANNELS_HOST_PRODUCTION;
  assert_false(
      static_cast<bool>(apns::Channels::try_make(apns::Credentials(provider_options()), options)));
}

static service_reply_t say_every_second_is_gone(void *, const service_push_t *push) {
  return push->number % 2 == 1 ? say_gone(nullptr, push) : service_reply_t{};
}

TEST(a_push_has_its_own_outcome) {
  Service service(say_every_second_is_gone);
  apns::SessionOptions options = service.session_options();
  options.outcomes = APNS_OUTCOMES_FAILURES;
  apns::Session session(apns::Credentials(provider_options()), options);
  int mark = 0;
  const apns::Event accepted = session.push({token_of(1), json, &mark});
  assert_true(accepted.is_accepted());
  assert_ptr_equal(accepted.data<int>(), &mark);
  assert_text("accepted", accepted.describe());
  session.send({token_of(2), json});
  const apns::Event next = session.push({token_of(3), json}, std::chrono::milliseconds(AMPLE_MS));
  assert_true(next.is_accepted());
  assert_text("rejected: Unregistered (HTTP 410)", only_event(session).describe());
  apns::ErrorDetail detail;
  apns::Event rejected;
  assert_int_equal(
      session.try_push({token_of(4), json}, rejected, std::chrono::milliseconds(AMPLE_MS), &detail),
      APNS_OK);
  assert_true(rejected.is_rejected());
  assert_int_equal(rejected.reason(), APNS_REASON_UNREGISTERED);
  assert_true(rejected.has_invalid_token());
  assert_text("rejected", rejected.kind_text());
  assert_throws(APNS_ERR_ARGUMENT, "payload", [&] { session.push({token_of(5), ""}); });
  assert_throws(APNS_ERR_ARGUMENT, "notification",
                [&] { session.continue_push(std::chrono::milliseconds(0)); });
  assert_false(session.next_event().has_value());
}

TEST(a_push_in_slices) {
  Service service;
  apns::SessionOptions options = service.session_options();
  options.peer.wait_max_ms = 1;
  apns::Session session(apns::Credentials(provider_options()), options);
  const std::chrono::milliseconds ample(AMPLE_MS);
  apns::Event event;
  apns_status_t status;
  do status = session.try_push({token_of(1), json}, event, ample);
  while (status == APNS_ERR_TIMEOUT); // not connected yet
  while (status == APNS_ERR_AGAIN) {
    try {
      event = session.continue_push(ample);
      status = APNS_OK;
    } catch (const apns::Error &error) {
      status = error.status();
    }
  }
  assert_int_equal(status, APNS_OK);
  assert_true(event.is_accepted());
}

static service_reply_t say_news(void *, const service_push_t *) {
  service_reply_t reply{};
  reply.status = 400;
  reply.body = "{\"reason\":\"SomethingNew\"}";
  return reply;
}

TEST(a_rejection_has_its_reason) {
  {
    const Service service(say_gone);
    apns::Session session(apns::Credentials(provider_options()), service.session_options());
    session.send({token_of(1), json});
    const apns::Event event = only_event(session);
    assert_true(event.is_rejected());
    assert_int_equal(event.reason(), APNS_REASON_UNREGISTERED);
    assert_int_equal(event.reject(), APNS_REJECT_NONE);
    assert_int_equal(event.http_status, 410);
    assert_text("Unregistered", event.reason_text());
    assert_text("Unregistered", event.why());
    assert_true(event.gone_since() ==
                std::chrono::system_clock::time_point{} + std::chrono::seconds{1454402113});
    session.send({token_of(1), json});
    only_event(session);
    const std::optional<apns::GoneDevice> device = session.next_gone();
    assert_true(device.has_value());
    assert_true(device->time() == event.gone_since());
    assert_true(device->hex() == apns::to_hex(token_of(1)));
    assert_false(session.next_gone().has_value());
    // A loop that cleans up with the feedback service still works.
    session.send({token_of(1), json});
    only_event(session);
    apns::FeedbackOptions options;
    options.session = session.get();
    apns::Feedback feedback(apns::Credentials(provider_options()), options);
    const std::optional<apns::FeedbackTuple> gone = feedback.next();
    assert_true(gone.has_value());
    assert_int_equal(gone->timestamp, 1454402113);
    assert_true(gone->hex() == apns::to_hex(token_of(1)));
    assert_false(feedback.next().has_value());
    assert_non_null(session.ssl());
  }
  const Service service(say_news);
  apns::Session session(apns::Credentials(provider_options()), service.session_options());
  session.send({token_of(1), json});
  const apns::Event event = only_event(session);
  assert_int_equal(event.reason(), APNS_REASON_OTHER);
  assert_text("SomethingNew", event.reason_text());
  assert_text("SomethingNew", event.why());
}

static std::vector<char> make_token_key() {
  EVP_PKEY *key = keychain_key(false);
  BIO *memory = BIO_new(BIO_s_mem());
  assert_int_equal(
      PEM_write_bio_PKCS8PrivateKey(memory, key, nullptr, nullptr, 0, nullptr, nullptr), 1);
  char *text = nullptr;
  const long length = BIO_get_mem_data(memory, &text);
  std::vector<char> bytes(text, text + length);
  BIO_free(memory);
  EVP_PKEY_free(key);
  return bytes;
}

TEST(a_provider_shows_its_token) {
  Service service;
  const std::vector<char> key = make_token_key();
  apns::CredentialsOptions options;
  options.ca_file = provider_options().ca_file;
  options.token_key_bytes = key;
  options.key_id = "ABC123DEFG";
  options.team_id = "DEF123GHIJ";
  const apns::Credentials who(options);
  assert_true(who.describe().has_token());
  assert_false(who.describe().has_certificate());
  apns::Session session(who, service.session_options());
  session.send({token_of(1), json});
  assert_true(only_event(session).is_accepted());
  service.stop();
  assert_text("bearer ", std::string_view(service.push(0).authorization).substr(0, 7));

  apns::SessionOptions without = service.session_options();
  without.topic = std::string("a\0b", 3);
  assert_throws(APNS_ERR_ARGUMENT, "topic holds a NUL", [&] { apns::Session other(who, without); });
  options.key_id = "short";
  assert_throws(APNS_ERR_ARGUMENT, "key_id has 5 characters",
                [&] { apns::Credentials other(options); });
}

TEST(a_client_pushes_for_many_threads) {
  const Service service;
  apns::SessionOptions options = service.session_options();
  options.outcomes = APNS_OUTCOMES_FAILURES; /* the client sets it itself */
  options.window_bytes = 16384;
  options.tuning.payload_max = 256;
  apns::Client client(apns::Credentials(provider_options()), options);
  std::atomic<unsigned> accepted{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; thread++) {
    threads.emplace_back([&, thread] {
      std::vector<std::future<apns::Event>> outcomes;
      for (unsigned number = 0; number < 500; number++)
        outcomes.push_back(client.push_async({token_of(1000 * thread + number), json}));
      for (std::future<apns::Event> &outcome : outcomes)
        accepted += outcome.get().http_status == 200;
    });
  }
  for (std::thread &thread : threads) thread.join();
  assert_int_equal(accepted, 2000);
  apns::Message broadcast;
  broadcast.payload = json;
  broadcast.channel_id = "dHN0LXNyY2gtY2hubA==";
  broadcast.push_type = APNS_PUSH_TYPE_LIVEACTIVITY;
  assert_false(client.push(broadcast).is_unknown());
}
