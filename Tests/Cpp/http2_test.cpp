/* Sessions over HTTP/2, against the service of Tests/C. */
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "check.hpp"

extern "C" {
#include "keychain.h"
#include "Service/service.h"
}

static const std::string json = "{\"aps\":{\"alert\":\"Hello\"}}";
static const char uuid[] = "123e4567-e89b-12d3-a456-42665544000a";

/** A service for the length of a block. */
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

  /** What was heard can be looked at then. */
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
    options.host = "localhost";
    options.port = service_port(service_);
    options.connect_timeout_ms = options.write_timeout_ms = AMPLE_MS;
    options.report_accepted = true;
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

static void a_notification_says_what_it_was_given(void **) {
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

static service_reply_t say_news(void *, const service_push_t *) {
  service_reply_t reply{};
  reply.status = 400;
  reply.body = "{\"reason\":\"SomethingNew\"}";
  return reply;
}

static void a_rejection_says_why(void **) {
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
    // The loop that cleans up after the feedback service goes on working.
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

static void a_provider_shows_its_token(void **) {
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

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(a_notification_says_what_it_was_given),
      cmocka_unit_test(a_rejection_says_why),
      cmocka_unit_test(a_provider_shows_its_token),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
