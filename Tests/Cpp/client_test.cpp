/* Client: pushes of many threads, each with the future of its outcome; messages that own. */
#include <atomic>
#include <thread>

#include "check.hpp"

using std::chrono::milliseconds;
static const std::uint8_t kToken[] = {'t', 't'};
static const std::string json = "{\"aps\":{\"alert\":\"Hello\"}}";

/* A token is neither text nor bytes of one by accident. */
static_assert(!std::is_constructible_v<apns::Message, std::string, std::string>);
static_assert(!std::is_constructible_v<apns::Token, std::string>);
static_assert(!std::is_constructible_v<apns::Token, const char *>);
static_assert(!std::is_constructible_v<apns::Token, std::string_view>);
static_assert(!std::is_constructible_v<apns::Notification, std::string, std::string>);
static_assert(!std::is_constructible_v<apns::Notification, const char *, const char *>);
static_assert(!std::is_copy_constructible_v<apns::Client>);

/** A message owns its texts, because the caller's are gone before it is sent. */
static apns::Message message_of(unsigned number, bool is_bad = false) {
  apns::Message message{token_of(number, is_bad), std::string(json)};
  message.priority = 5;
  message.expiry = 4000000000;
  return message;
}

TEST(a_message_owns_what_it_has) {
  const gateway_step_t script[] = {step(STEP_TAKE_ALL), step(STEP_END)};
  const Gateway gateway(script);
  apns::SessionOptions options = gateway.session_options();
  options.binary.quiet_period_ms = 1;
  apns::Message copy;
  {
    apns::Session session(apns::Credentials(provider_options()), options);
    {
      apns::Message message{apns::Token(kToken), "{}"};
      message.priority = 5;
      message.expiry = 0x01020304;
      copy = message;
    }
    session.send(copy.view());
    session.close(milliseconds(AMPLE_MS));
  }
  static const char expected[] = "\2\0\0\0\x1c\1\0\2tt\2\0\2{}\3\0\4\0\0\0\1\4\0\4\1\2\3\4\5\0\1\5";
  const gateway_record_t *heard = gateway.heard(0);
  assert_int_equal(heard->length, sizeof expected - 1);
  assert_memory_equal(heard->bytes, expected, sizeof expected - 1);
  copy.topic = std::string("com.example\0app", 15);
  assert_throws(APNS_ERR_ARGUMENT, "topic holds a NUL", [&] { copy.view(); });
  apns::Notification view;
  assert_int_equal(copy.try_view(view), APNS_ERR_ARGUMENT);
  assert_null(view.payload);
}

TEST(a_future_has_its_own_outcome) {
  const Gateway gateway;
  apns::Client client(apns::Credentials(provider_options()), gateway.session_options());
  int mine = 0;
  apns::Message good = message_of(1);
  good.user_data = &mine;
  std::future<apns::Event> first = client.push_async(good);
  std::future<apns::Event> second = client.push_async(message_of(2, true));
  const apns::Event rejected = second.get(), accepted = first.get();
  assert_true(rejected.is_rejected());
  assert_true(accepted.is_accepted());
  assert_ptr_equal(accepted.data<int>(), &mine);
  assert_true(client.push({token_of(3), json}).is_accepted());
}

TEST(any_number_of_threads_push) {
  const Gateway gateway;
  apns::SessionOptions options = gateway.session_options();
  /* So small that they wait for room. */
  options.window_bytes = 16384;
  options.tuning.payload_max = 256;
  apns::Client client(apns::Credentials(provider_options()), options);
  std::atomic<unsigned> accepted{0}, rejected{0}, wrong{0};
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; thread++) {
    threads.emplace_back([&, thread] {
      std::vector<std::pair<bool, std::future<apns::Event>>> outcomes;
      for (unsigned number = 0; number < 500; number++) {
        const bool is_bad = number == 250;
        outcomes.emplace_back(is_bad,
                              client.push_async(message_of(1000 * thread + number, is_bad)));
      }
      for (auto &[is_bad, outcome] : outcomes) {
        const apns::Event event = outcome.get();
        (event.is_accepted() ? accepted : rejected)++;
        wrong += event.is_rejected() != is_bad;
      }
    });
  }
  for (std::thread &thread : threads) thread.join();
  assert_int_equal(accepted, 4 * 499);
  assert_int_equal(rejected, 4);
  assert_int_equal(wrong, 0);
}

TEST(what_is_refused_is_thrown_by_the_future) {
  const Gateway gateway;
  apns::Client client(apns::Credentials(provider_options()), gateway.session_options());
  std::future<apns::Event> refused = client.push_async({token_of(1), ""});
  assert_throws(APNS_ERR_ARGUMENT, "payload is empty", [&] { refused.get(); });
  apns::Message message = message_of(1);
  message.collapse_id = std::string(1, '\0');
  assert_throws(APNS_ERR_ARGUMENT, "collapse_id holds a NUL", [&] { client.push(message); });
  assert_throws(APNS_ERR_ARGUMENT, "token", [&] { client.push({{}, json}); });
  assert_true(client.push(message_of(1)).is_accepted());
}

TEST(closing_leaves_no_future_waiting) {
  /* Nobody answers there. */
  const gateway_step_t silent[] = {step(STEP_STALL), step(STEP_END)};
  const Gateway gateway(silent);
  apns::SessionOptions options = gateway.session_options();
  options.window_bytes = 16384;
  apns::Client client(apns::Credentials(provider_options()), options);
  std::vector<std::future<apns::Event>> outcomes;
  for (unsigned number = 0; number < 200; number++)
    outcomes.push_back(client.push_async(message_of(number)));
  client.close(milliseconds(50));
  unsigned cancelled = 0, unknown = 0;
  for (auto &outcome : outcomes) {
    assert_true(outcome.wait_for(milliseconds(0)) == std::future_status::ready);
    const apns::Event event = outcome.get();
    cancelled += event.is_cancelled();
    unknown += event.is_unknown();
  }
  assert_int_equal(cancelled + unknown, 200);
  assert_true(cancelled > 0);
  assert_throws(APNS_ERR_CLOSED, "was closed", [&] { client.push_async(message_of(1)); });
  client.close(milliseconds(0));
}

TEST(the_end_of_a_client_waits_for_outcomes) {
  const Gateway gateway;
  std::future<apns::Event> outcome;
  {
    apns::SessionOptions options = gateway.session_options();
    options.close_timeout_ms = AMPLE_MS;
    apns::Client client(apns::Credentials(provider_options()), options);
    outcome = client.push_async(message_of(1));
  }
  assert_true(outcome.get().is_accepted());
}
