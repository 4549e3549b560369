/* A program without exceptions and RTTI: every function is available under its try_ name. */
#include "check.hpp"

#if APNS_EXCEPTIONS || defined(__cpp_rtti) || defined(__cpp_exceptions)
#error this has to be compiled with -fno-exceptions -fno-rtti
#endif

using std::chrono::seconds;

int pushes_with_exceptions(const char *host, std::uint16_t port);

TEST(tokens_and_strings) {
  apns::ErrorDetail error;
  apns::Token token;
  assert_int_equal(token.try_assign_hex("zz", &error), APNS_ERR_ARGUMENT);
  assert_contains(error.text().data(), "'z' at 0");
  assert_int_equal(token.try_assign_hex("0102"), APNS_OK);
  assert_text("0102", token.hex());
  assert_int_equal(token.try_assign({}, &error), APNS_ERR_ARGUMENT);
  assert_text("token is empty", error.message);

  apns::Strings strings = apns::Strings::try_make("a = \"%@!\";", &error);
  assert_true(static_cast<bool>(strings));
  std::string_view text;
  assert_int_equal(strings.try_get("a", text), APNS_OK);
  assert_text("%@!", text);
  assert_int_equal(strings.try_get("b", text, &error), APNS_ERR_ARGUMENT);
  assert_text("%@!", text);
  const char *args[] = {"Hello"};
  char made[16];
  std::size_t length = 0;
  assert_int_equal(strings.try_format("a", args, 1, made, sizeof made, &length, &error), APNS_OK);
  assert_text("Hello!", made);
  assert_false(static_cast<bool>(apns::Strings::try_open("/nonexistent", &error)));
  assert_contains(error.message, "/nonexistent");
  assert_false(static_cast<bool>(apns::Strings::try_open(std::string("a\0b", 3), &error)));
  assert_text("file holds a NUL", error.message);
}

TEST(payloads) {
  apns::ErrorDetail error;
  apns::Payload payload = apns::Payload::try_make();
  assert_int_equal(payload.try_set(APNS_KEY_BODY, "Hello"), APNS_OK);
  assert_int_equal(payload.try_set(APNS_KEY_BADGE, "one", &error), APNS_ERR_ARGUMENT);
  assert_int_equal(payload.try_set(APNS_KEY_LOC_ARGS, std::vector<const char *>{"a"}), APNS_OK);
  assert_int_equal(payload.try_add("game", true), APNS_OK);
  assert_int_equal(payload.try_add_json("own", "{", &error), APNS_ERR_ARGUMENT);
  assert_int_equal(payload.try_critical_sound("a", 1), APNS_OK);
  assert_int_equal(payload.try_remove(APNS_KEY_SOUND), APNS_OK);
  char json[256];
  std::size_t length = 0, cut = 0;
  assert_int_equal(payload.try_write(json, sizeof json, &length, &cut, &error), APNS_OK);
  assert_text("{\"aps\":{\"alert\":{\"body\":\"Hello\",\"loc-args\":[\"a\"]}},\"game\":true}",
              std::string_view(json, length));
  apns::Finding findings[2];
  assert_int_equal(apns::try_check_payload("[]", 0, findings, 2, &length, &error),
                   APNS_ERR_ARGUMENT);
  assert_true(length >= 1 && findings[0].is_error());
}

TEST(sessions) {
  const Gateway gateway;
  apns::ErrorDetail error;
  apns::CredentialsOptions with = provider_options();
  const apns::Credentials who = apns::Credentials::try_make(with, &error);
  assert_true(static_cast<bool>(who));
  apns::CredentialsDescription description;
  assert_int_equal(who.try_describe(description), APNS_OK);
  assert_true(description.has_certificate());
  with.key_file = "/nonexistent";
  assert_false(static_cast<bool>(apns::Credentials::try_make(with, &error)));
  assert_int_equal(error.code(), APNS_ERR_CREDENTIALS);

  apns::SessionOptions options = gateway.session_options();
  options.connections = 65;
  assert_false(static_cast<bool>(apns::Session::try_make(who, options, &error)));
  assert_contains(error.message, "connections");
  options.connections = 0;
  apns::Session session = apns::Session::try_make(who, options, &error);
  assert_int_equal(session.try_connect(&error), APNS_OK);
  assert_int_equal(session.try_use(who, &error), APNS_OK);
  assert_int_equal(session.try_use(apns::Credentials::try_make(with, nullptr), &error),
                   APNS_ERR_ARGUMENT);
  std::uint32_t identifier = 0;
  const apns::Token good = token_of(1), bad = token_of(2, true);
  assert_int_equal(session.try_send({good, "{}"}, APNS_SEND_MORE, &identifier, &error), APNS_OK);
  assert_int_equal(session.try_send(apns::Notification().to(good), apns::Payload::try_make(),
                                    APNS_SEND_MORE, &identifier, nullptr, &error),
                   APNS_OK);
  assert_int_equal(session.try_send({bad, "{}"}, 0, &identifier, &error), APNS_OK);
  assert_int_equal(session.try_send({bad, ""}, 0, &identifier, &error), APNS_ERR_ARGUMENT);
  const apns::Notification many[] = {{good, "{}"}, {good, "{}"}};
  std::size_t taken = 0, unresolved = 0;
  assert_int_equal(session.try_send_many(many, 2, APNS_SEND_MORE, &taken, &error), APNS_OK);
  assert_int_equal(taken, 2);
  assert_int_equal(session.try_flush(&error), APNS_OK);
  assert_int_equal(session.try_drain(std::chrono::milliseconds(AMPLE_MS), &unresolved, &error),
                   APNS_OK);
  auto events = session.try_events(seconds(0), &error);
  int count = 0;
  for (const apns::Event &event : events) {
    assert_true(event.is_rejected() && event.reject() == APNS_REJECT_INVALID_TOKEN);
    assert_int_equal(event.identifier, identifier);
    count++;
  }
  assert_int_equal(count, 1);
  assert_int_equal(events.status(), APNS_DONE);
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  assert_int_equal(session.try_stats(stats), APNS_OK);
  assert_int_equal(stats.accepted, 4);
  apns::Event outcome;
  assert_int_equal(
      session.try_push({bad, "{}"}, outcome, std::chrono::milliseconds(AMPLE_MS), &error), APNS_OK);
  assert_text("rejected: invalid token (status 8)", outcome.describe());
  assert_int_equal(session.try_continue_push(outcome, seconds(0), &error), APNS_ERR_ARGUMENT);
  apns::Session moved = std::move(session);
  assert_int_equal(session.try_flush(&error), APNS_ERR_ARGUMENT);
  assert_int_equal(moved.try_close(std::chrono::milliseconds(AMPLE_MS), &error), APNS_OK);
  assert_int_equal(moved.try_send({good, "{}"}), APNS_ERR_CLOSED);
}

TEST(feedback_lists) {
  static const char list[] = "\0\0\0\1\0\1a\0\0\0\2\0\1b";
  const gateway_step_t script[] = {say(list, sizeof list - 1), step(STEP_END)};
  const Gateway gateway(script);
  apns::ErrorDetail error;
  const apns::Credentials who = apns::Credentials::try_make(provider_options(), &error);
  apns::Feedback feedback = apns::Feedback::try_open(who, gateway.feedback_options(), &error);
  assert_true(static_cast<bool>(feedback));
  apns::FeedbackTuple first;
  assert_int_equal(feedback.try_next(first, &error), APNS_OK);
  assert_text("61", first.hex());
  auto tuples = feedback.try_tuples(&error);
  for (const apns::FeedbackTuple &gone : tuples) assert_text("62", gone.hex());
  assert_int_equal(tuples.status(), APNS_DONE);
}

/* Both modes work in the same program, independently. */
TEST(together_with_a_file_with_exceptions) {
  const Gateway gateway;
  const apns::SessionOptions options = gateway.session_options();
  assert_int_equal(pushes_with_exceptions(options.peer.host.c_str(), options.peer.port), 1);
}
