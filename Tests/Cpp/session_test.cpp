/* Credentials, sessions and feedback, over real TLS to the scripted gateway. */
#include <stdexcept>

#include "check.hpp"
#if defined(__cpp_lib_ranges)
#include <algorithm>
#include <ranges>
#endif

using std::chrono::milliseconds;
using std::chrono::seconds;
static const std::string json = "{\"aps\":{\"alert\":\"Hello\"}}";

/* ---- Credentials -------------------------------------------------------- */

TEST(credentials_describe_themselves) {
  const apns::Credentials who(provider_options());
  const apns::CredentialsDescription description = who.describe();
  assert_true(description.has_certificate());
  assert_contains(description.subject_text().data(), "provider");
  const auto now = std::chrono::system_clock::now();
  assert_true(description.begins() <= now && now < description.expires());
  assert_int_equal(description.topic_list().size(), description.topic_count);
  for (std::string_view topic : description.topic_list()) assert_false(topic.empty());
  assert_false(description.is_for(APNS_ENVIRONMENT_SANDBOX));
  assert_false(apns::Credentials(apns::CredentialsOptions()).describe().has_certificate());
}

TEST(invalid_credentials_throw) {
  apns::CredentialsOptions options = provider_options();
  options.certificate_file = "/nonexistent.pem";
  assert_throws(APNS_ERR_CREDENTIALS, "/nonexistent.pem", [&] { apns::Credentials who(options); });
  options.certificate_file = std::string("a\0b", 3);
  assert_throws(APNS_ERR_ARGUMENT, "certificate_file holds a NUL",
                [&] { apns::Credentials who(options); });
}

TEST(credentials_come_from_memory_and_a_callback) {
  const identities_t *identities = identities_make();
  std::size_t length = 0;
  char *certificate = identities_read(identities->provider.certificate_file, &length);
  const std::vector<char> bytes(certificate, certificate + length);
  std::free(certificate);
  apns::CredentialsOptions options;
  options.certificate_bytes = bytes;
  options.ca_file = identities->root.certificate_file;
  options.key_file = identities_write_encrypted("cpp.key", &identities->provider, "secret");
  assert_throws(APNS_ERR_CREDENTIALS, "", [&] { apns::Credentials who(options); });
  options.passphrase = "secret";
  assert_true(static_cast<bool>(apns::Credentials(options)));
  options.passphrase = "";
  assert_throws(APNS_ERR_CREDENTIALS, "", [&] { apns::Credentials who(options); });
  options.passphrase.reset();

  std::string asked;
  options.passphrase_callback = [&](const char *file, char *buffer, std::size_t capacity) {
    asked = file;
    assert_true(capacity >= 6);
    std::memcpy(buffer, "secret", 6);
    return 6;
  };
  assert_true(static_cast<bool>(apns::Credentials(options)));
  assert_text(options.key_file, asked);

  // An exception of the callback bypasses the library.
  options.passphrase_callback = [](const char *, char *, std::size_t) -> int {
    throw std::out_of_range("no passphrase today");
  };
  try {
    apns::Credentials who(options);
    fail_because("nothing was thrown");
  } catch (const std::out_of_range &error) {
    assert_text("no passphrase today", error.what());
  }
  apns::ErrorDetail error;
  assert_false(static_cast<bool>(apns::Credentials::try_make(options, &error)));
  assert_int_equal(error.code(), APNS_ERR_CREDENTIALS);
}

/* ---- Credential rotation ------------------------------------------------- */

TEST(rotated_credentials_are_used) {
  const Gateway gateway;
  apns::Session session(apns::Credentials(provider_options()), gateway.session_options());
  session.send({token_of(1), json});
  session.use(apns::Credentials(provider_options()));
  session.send({token_of(3), json});
  assert_int_equal(session.drain(std::chrono::milliseconds(AMPLE_MS)), 0);
  assert_int_equal(session.stats().accepted, 2);
  assert_int_equal(session.stats().connects, 2);
  session.close(std::chrono::milliseconds(AMPLE_MS));
  assert_throws(APNS_ERR_CLOSED, "closed",
                [&] { session.use(apns::Credentials(provider_options())); });
}

/* ---- Sending ------------------------------------------------------------ */

TEST(every_notification_has_its_event) {
  const Gateway gateway;
  apns::SessionOptions options = gateway.session_options();
  options.outcomes = APNS_OUTCOMES_EACH;
  apns::Session session(apns::Credentials(provider_options()), options);
  session.connect();
  std::string names[] = {"one", "two", "three"};
  std::uint32_t identifiers[3];
  const apns::Token bad = token_of(2, true);
  const apns::Token tokens[] = {token_of(1), bad, token_of(3)};
  for (int n = 0; n < 3; n++)
    identifiers[n] = session.send({tokens[n], json, &names[n]}, n < 2 ? APNS_SEND_MORE : 0);
  assert_true(identifiers[0] != 0 && identifiers[0] < identifiers[1]);
  assert_int_equal(session.drain(std::chrono::milliseconds(AMPLE_MS)), 0);
  int count = 0;
  for (const apns::Event &event : session.events()) {
    assert_int_equal(event.identifier, identifiers[count]);
    assert_ptr_equal(event.data<std::string>(), &names[count]);
    assert_int_equal(event.is_rejected(), count == 1);
    assert_int_equal(event.is_accepted(), count != 1);
    assert_false(event.is_unknown());
    if (count == 1) {
      assert_text("invalid token", event.reject_text());
      assert_text("invalid token", event.why());
      assert_text("", event.reason_text());
    }
    count++;
  }
  assert_int_equal(count, 3);
  assert_false(session.next_event().has_value());
  const apns_session_stats_t stats = session.stats();
  assert_int_equal(stats.accepted, 2);
  assert_int_equal(stats.rejected, 1);
  assert_int_equal(session.metrics().rejects[APNS_REJECT_INVALID_TOKEN], 1);
  assert_true(apns::metrics_bound(0) == std::chrono::milliseconds(1));
  assert_true(apns::metrics_bound(APNS_METRICS_TIMES - 1) == std::chrono::microseconds::max());
  session.close(std::chrono::milliseconds(AMPLE_MS));
  assert_throws(APNS_ERR_CLOSED, "closed", [&] { session.send({tokens[0], json}); });
}

static const apns::Token kToken(apns::TokenBytes("tt", 2)), kOther(apns::TokenBytes("u", 1));

TEST(the_gateway_receives_what_was_sent) {
  const gateway_step_t script[] = {step(STEP_TAKE_ALL), step(STEP_END)};
  const Gateway gateway(script);
  apns::SessionOptions options = gateway.session_options();
  options.binary.quiet_period_ms = 1;
  {
    apns::Session session(apns::Credentials(provider_options()), options);
    const auto time = std::chrono::system_clock::time_point{} + seconds{0x01020304};
    session.send(apns::Notification().to(kToken).saying("{}").until(time).at_priority(5));
    session.send(apns::Notification(kOther, "{}").once());
    session.close(std::chrono::milliseconds(AMPLE_MS));
  }
  const gateway_record_t *heard = gateway.heard(0);
  static const char expected[] =
      "\2\0\0\0\x1c\1\0\2tt\2\0\2{}\3\0\4\0\0\0\1\4\0\4\1\2\3\4\5\0\1\5"
      "\2\0\0\0\x17\1\0\1u\2\0\2{}\3\0\4\0\0\0\2\4\0\4\0\0\0\0";
  assert_int_equal(heard->length, sizeof expected - 1);
  assert_memory_equal(heard->bytes, expected, sizeof expected - 1);
}

TEST(a_payload_is_sent_from_where_it_is_built) {
  const gateway_step_t script[] = {step(STEP_TAKE_ALL), step(STEP_END)};
  const Gateway gateway(script);
  apns::SessionOptions options = gateway.session_options();
  options.binary.quiet_period_ms = 1;
  {
    apns::Session session(apns::Credentials(provider_options()), options);
    apns::PayloadOptions limits;
    limits.limit = 27;
    limits.truncate = true;
    apns::Payload payload(limits);
    const auto push = apns::Notification().to(kToken);
    payload.alert("Hello");
    std::size_t cut = 99;
    assert_true(session.send(push, payload, APNS_SEND_MORE, &cut) != 0);
    assert_int_equal(cut, 0);
    payload.alert("Good-bye");
    session.send(push, payload, 0, &cut);
    assert_int_equal(cut, 4);
    assert_throws(APNS_ERR_ARGUMENT, "has a payload already", [&] {
      session.send({kToken, "{}"}, payload);
    });
    session.close(std::chrono::milliseconds(AMPLE_MS));
  }
  static const char expected[] =
      "\2\0\0\0\x28\1\0\2tt\2\0\x19{\"aps\":{\"alert\":\"Hello\"}}\3\0\4\0\0\0\1"
      "\2\0\0\0\x2a\1\0\2tt\2\0\x1b{\"aps\":{\"alert\":\"Good\u2026\"}}\3\0\4\0\0\0\2";
  const gateway_record_t *heard = gateway.heard(0);
  assert_int_equal(heard->length, sizeof expected - 1);
  assert_memory_equal(heard->bytes, expected, sizeof expected - 1);
}

TEST(options_have_their_effect) {
  const gateway_step_t script[] = {{STEP_TAKE_BYTES, 8, nullptr, 0, 0, false},
                                   step(STEP_CLOSE_FIN)};
  const Gateway gateway(script);
  apns::SessionOptions options = gateway.session_options();
  options.binary.format = APNS_FORMAT_SIMPLE;
  options.delivery = APNS_DELIVERY_AT_MOST_ONCE;
  apns::Session session(apns::Credentials(provider_options()), options);
  session.send({kOther, "{}"});
  const auto event = session.next_event(std::chrono::milliseconds(AMPLE_MS));
  assert_true(event.has_value() && event->is_unknown());
  assert_memory_equal(gateway.heard(0)->bytes, "\0\0\1u\0\2{}", 8);
}

TEST(sending_an_array_returns_the_count) {
  const Gateway gateway;
  apns::Session session(apns::Credentials(provider_options()), gateway.session_options());
  std::vector<apns::Token> tokens;
  for (unsigned n = 0; n < 100; n++) tokens.push_back(token_of(n));
  std::vector<apns::Notification> pushes;
  for (const apns::Token &token : tokens) pushes.emplace_back(token, json);
#if defined(__cpp_lib_span)
  session.send_many(pushes, APNS_SEND_MORE);
#else
  session.send_many(pushes.data(), pushes.size(), APNS_SEND_MORE);
#endif
  session.flush();
  assert_int_equal(session.stats().taken, 100);
  pushes[40].payload_length = 5000;
  try {
    session.send_many(pushes.data(), pushes.size());
    fail_because("nothing was thrown");
  } catch (const apns::SendManyError &error) {
    assert_int_equal(error.taken(), 40);
    assert_int_equal(error.status(), APNS_ERR_ARGUMENT);
    assert_int_equal(error.cause(), APNS_CAUSE_NONE);
    assert_contains(error.what(), "5000");
  }
  std::size_t taken = 0;
  assert_int_equal(session.try_send_many(pushes.data() + 41, 59, 0, &taken), APNS_OK);
  assert_int_equal(taken, 59);
  assert_int_equal(session.drain(std::chrono::milliseconds(AMPLE_MS)), 0);
  assert_int_equal(session.stats().accepted, 199);
}

TEST(a_refused_notification_throws) {
  const Gateway gateway;
  apns::Session session(apns::Credentials(provider_options()), gateway.session_options());
  assert_throws(APNS_ERR_ARGUMENT, "token", [&] { session.send({apns::TokenBytes(), json}); });
  assert_throws(APNS_ERR_ARGUMENT, "payload", [&] {
    session.send({token_of(1), std::string(3000, ' ')});
  });
  assert_throws(APNS_ERR_ARGUMENT, "flags", [&] { session.send({token_of(1), json}, 8); });
  assert_int_equal(session.stats().taken, 0);
}

TEST(an_unreachable_gateway_throws) {
  apns::SessionOptions options;
  {
    const Gateway gateway;
    options = gateway.session_options();
  }
  apns::Session session(apns::Credentials(provider_options()), options);
  try {
    session.connect();
    fail_because("nothing was thrown");
  } catch (const apns::Error &error) {
    assert_int_equal(error.status(), APNS_ERR_NETWORK);
    assert_int_equal(error.detail().sys_errno, ECONNREFUSED);
    assert_int_equal(error.cause(), APNS_CAUSE_CONNECTION_REFUSED);
    assert_int_equal(error.detail().cause, APNS_CAUSE_CONNECTION_REFUSED);
    assert_text("APNS_CAUSE_CONNECTION_REFUSED", apns::cause_name(error.cause()));
    assert_true(error.is_retryable());
  }
}

TEST(options_reach_the_library) {
  const apns::Credentials who(provider_options());
  const auto refused = [&](const char *name, void (*change)(apns::SessionOptions &)) {
    apns::SessionOptions options;
    options.protocol = APNS_PROTOCOL_BINARY;
    change(options);
    assert_throws(APNS_ERR_ARGUMENT, name, [&] { apns::Session session(who, options); });
  };
  refused("host", [](auto &o) { o.peer.host = std::string("a\0b", 3); });
  refused("server_name", [](auto &o) { o.peer.server_name = std::string("a\0b", 3); });
  refused("window_bytes", [](auto &o) { o.window_bytes = 1; });
  refused("payload_max", [](auto &o) { o.tuning.payload_max = 65536; });
  refused("connections", [](auto &o) { o.connections = 65; });
  refused("checks is 4", [](auto &o) { o.checks = 4; });
  refused("environment is sandbox", [](auto &o) {
    o.environment = APNS_ENVIRONMENT_SANDBOX;
    o.peer.host = APNS_BINARY_HOST_PRODUCTION;
  });
  assert_throws(APNS_ERR_ARGUMENT, "environment is sandbox", [&] {
    apns::FeedbackOptions options;
    options.environment = APNS_ENVIRONMENT_SANDBOX;
    options.peer.host = APNS_FEEDBACK_HOST_PRODUCTION;
    apns::Feedback feedback(who, options);
  });
  refused("proxy is an https:// URL", [](auto &o) { o.peer.proxy = "https://localhost"; });
  refused("proxy", [](auto &o) { o.peer.proxy = std::string("a\0b", 3); });
  refused("retry_schedule", [](auto &o) { o.tuning.retry_schedule = "soon, later"; });
  const auto refused_of = [](apns_status_t status, const char *name,
                             void (*change)(apns::CredentialsOptions &)) {
    apns::CredentialsOptions options = provider_options();
    change(options);
    assert_throws(status, name, [&] { apns::Credentials made(options); });
  };
  refused_of(APNS_ERR_CREDENTIALS, "/nonexistent/a",
             [](auto &o) { o.crl_file = "/nonexistent/a"; });
  refused_of(APNS_ERR_CREDENTIALS, "/nonexistent",
             [](auto &o) { o.crl_directory = "/nonexistent"; });
  refused_of(APNS_ERR_ARGUMENT, "security_level", [](auto &o) { o.security_level = 6; });
  refused_of(APNS_ERR_ARGUMENT, "pinned_keys[0]", [](auto &o) { o.pinned_keys = {""}; });
  refused_of(APNS_ERR_ARGUMENT, "pinned_keys",
             [](auto &o) { o.pinned_keys = {std::string("a\0b", 3)}; });
  refused_of(APNS_ERR_ARGUMENT, "between 1 and 100",
             [](auto &o) { o.pinned_keys.resize(200, "a"); });
#if __cplusplus >= 202002L
  assert_true(static_cast<bool>(apns::Session(
      who, {.peer = {.host = "localhost", .port = 1}, .protocol = APNS_PROTOCOL_BINARY})));
  assert_true(static_cast<bool>(apns::Credentials{{.accept_expired = true}}));
#endif
}

/* ---- Events ------------------------------------------------------------- */

/* A plain function, as in the C interface: no exception may pass through the library. */
TEST(the_log_gets_lines) {
  const Gateway gateway;
  struct Seen {
    int lines = 0;
    std::string words;
  } seen;
  apns::SessionOptions options = gateway.session_options();
  options.log = [](const apns_log_record_t *record, void *context) {
    Seen *seen = static_cast<Seen *>(context);
    seen->lines++;
    if (record->kind == APNS_LOG_KIND_CONNECTED) seen->words = record->line;
  };
  options.log_context = &seen;
  apns::Session session(apns::Credentials(provider_options()), options);
  session.connect();
  assert_int_equal(seen.lines, 1);
  assert_contains(seen.words.c_str(), "connected to 127.0.0.1:");
  apns::SessionOptions quiet = gateway.session_options();
  quiet.log = options.log;
  quiet.log_context = &seen;
  quiet.log_level = APNS_LOG_ERROR;
  apns::Session(apns::Credentials(provider_options()), quiet).connect();
  assert_int_equal(seen.lines, 1);
}

TEST(the_destructor_waits_and_logs_unresolved_notifications) {
  const gateway_step_t script[] = {step(STEP_TAKE_ALL), step(STEP_END)};
  std::uint64_t count = 0;
  const auto push = [&](const Gateway &gateway, std::uint32_t timeout) {
    apns::SessionOptions options = gateway.session_options();
    assert_int_equal(options.close_timeout_ms, 5000);
    options.close_timeout_ms = timeout;
    options.log_level = APNS_LOG_ERROR;
    options.log = [](const apns_log_record_t *record, void *context) {
      *static_cast<std::uint64_t *>(context) += record->count;
    };
    options.log_context = &count;
    apns::Session session(apns::Credentials(provider_options()), options);
    for (int n = 0; n < 300; n++) session.send({token_of(1), json}, APNS_SEND_MORE);
  };
  push(Gateway(), AMPLE_MS);
  assert_int_equal(count, 0);
  push(Gateway(script), 50);
  assert_int_equal(count, 300);
}

TEST(a_drain_that_times_out_has_the_count) {
  const gateway_step_t script[] = {step(STEP_TAKE_ALL), step(STEP_END)};
  const Gateway gateway(script);
  apns::Session session(apns::Credentials(provider_options()), gateway.session_options());
  session.send({token_of(1), json});
  session.send({token_of(2), json});
  assert_int_equal(session.drain(milliseconds(1)), 2);
  int count = 0;
  for (const apns::Event &event : session.events(milliseconds(1))) {
    static_cast<void>(event);
    count++;
  }
  assert_int_equal(count, 0);
  // Longer than C's maximum, and negative.
  assert_int_equal(session.try_next_event(*std::make_unique<apns::Event>(), milliseconds(0)),
                   APNS_DONE);
  assert_int_equal(apns::detail::timeout(std::chrono::hours(10000)), 2147483647);
  assert_int_equal(apns::detail::timeout(milliseconds(-7)), APNS_TIMEOUT_DEFAULT);
  assert_int_equal(apns::detail::timeout(apns::Session::usual), APNS_TIMEOUT_DEFAULT);
  assert_int_equal(apns::detail::timeout(apns::Session::forever), APNS_TIMEOUT_INFINITE);
  session.try_close(milliseconds(1));
  while (auto event = session.next_event()) count += event->is_unknown();
  assert_int_equal(count, 2);
}

TEST(a_range_that_fails_throws) {
  apns::Session session(static_cast<apns_session_t *>(nullptr));
  assert_throws(APNS_ERR_ARGUMENT, "NULL", [&] {
    for (const apns::Event &event : session.events()) static_cast<void>(event);
  });
  apns::ErrorDetail error;
  auto events = session.try_events(milliseconds(0), &error);
  for (const apns::Event &event : events) {
    static_cast<void>(event);
    fail_because("there was one");
  }
  assert_int_equal(events.status(), APNS_ERR_ARGUMENT);
  assert_contains(error.message, "NULL");
#if defined(__cpp_lib_ranges)
  static_assert(std::ranges::input_range<decltype(events)>);
  static_assert(std::ranges::input_range<decltype(session.events())>);
#endif
}

TEST(a_session_moves) {
  const Gateway gateway;
  apns::Session first(apns::Credentials(provider_options()), gateway.session_options());
  first.send({token_of(1), json});
  apns::Session second(std::move(first));
  assert_false(static_cast<bool>(first));
  assert_throws(APNS_ERR_ARGUMENT, "NULL", [&] { first.send({token_of(1), json}); });
  assert_throws(APNS_ERR_ARGUMENT, "NULL", [&] { first.connect(); });
  assert_throws(APNS_ERR_ARGUMENT, "NULL", [&] { first.stats(); });
  assert_throws(APNS_ERR_ARGUMENT, "NULL", [&] { first.drain(milliseconds(0)); });
  second.send({token_of(2), json});
  std::vector<apns::Session> sessions;
  sessions.push_back(std::move(second));
  assert_int_equal(sessions[0].drain(std::chrono::milliseconds(AMPLE_MS)), 0);
  assert_int_equal(sessions[0].stats().accepted, 2);
  assert_int_equal(gateway_connections(gateway.get()), 1);
}

/* ---- Feedback ----------------------------------------------------------- */

static const char list[] = "\x01\x02\x03\x04\0\3abc\x05\x06\x07\x08\0\2de";

TEST(feedback_is_a_range) {
  const gateway_step_t script[] = {say(list, sizeof list - 1), step(STEP_END)};
  const Gateway gateway(script);
  apns::Feedback feedback(apns::Credentials(provider_options()), gateway.feedback_options());
  feedback.connect(); /* already connected */
  std::string text;
  for (const apns::FeedbackTuple &gone : feedback.tuples())
    text +=
        gone.hex() + " " + std::to_string(std::chrono::system_clock::to_time_t(gone.time())) + "\n";
  assert_text("616263 16909060\n6465 84281096\n", text);
  assert_false(feedback.next().has_value());
  apns::Feedback moved = std::move(feedback);
  assert_false(moved.next().has_value());
  assert_throws(APNS_ERR_ARGUMENT, "NULL", [&] { feedback.next(); });
}

TEST(truncated_feedback_returns_complete_tuples) {
  const gateway_step_t script[] = {say(list, sizeof list - 2), step(STEP_END)};
  const Gateway gateway(script);
  apns::Feedback feedback(apns::Credentials(provider_options()), gateway.feedback_options());
  int count = 0;
  assert_throws(APNS_ERR_PROTOCOL, "broke off", [&] {
    for (const apns::FeedbackTuple &gone : feedback.tuples()) {
      assert_true(apns::Token(gone.bytes()) == apns::Token(apns::TokenBytes("abc", 3)));
      count++;
    }
  });
  assert_int_equal(count, 1);
  auto again = feedback.try_tuples();
  for (const apns::FeedbackTuple &gone : again) {
    static_cast<void>(gone);
    fail_because("there was one");
  }
  assert_int_equal(again.status(), APNS_ERR_PROTOCOL);
}

TEST(unreachable_feedback_throws) {
  apns::FeedbackOptions options;
  {
    const Gateway gateway;
    options = gateway.feedback_options();
  }
  const apns::Credentials who(provider_options());
  assert_throws(APNS_ERR_NETWORK, "", [&] { apns::Feedback feedback(who, options); });
  options.peer.host = std::string("a\0b", 3);
  assert_throws(APNS_ERR_ARGUMENT, "host holds a NUL",
                [&] { apns::Feedback feedback(who, options); });
}

#ifdef WITHOUT_HTTP2
TEST(a_protocol_that_is_not_built_in_throws) {
  const apns::Credentials who(provider_options());
  apns::SessionOptions options;
  options.protocol = APNS_PROTOCOL_HTTP2;
  assert_throws(APNS_ERR_ARGUMENT, "HTTP/2, which this library was built without",
                [&] { apns::Session session(who, options); });
}
#endif
