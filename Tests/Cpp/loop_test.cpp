/* Sessions and feedback in an event loop. */
#include <poll.h>

#include <functional>
#include <map>
#include <thread>

#include "check.hpp"

using std::chrono::milliseconds;
static const std::string json = "{\"aps\":{\"alert\":\"Hello\"}}";

/** A program's event loop. */
class Loop {
 public:
  void add(int fd, std::function<void()> ready) { ready_[fd] = std::move(ready); }
  void remove(int fd) { ready_.erase(fd); }
  bool is_empty() const { return ready_.empty(); }

  /** Waits for the first descriptor. */
  void turn(int timeout = AMPLE_MS) {
    assert_int_equal(ready_.size(), 1);
    pollfd watched = {ready_.begin()->first, POLLIN, 0};
    assert_int_equal(poll(&watched, 1, timeout), 1);
    ready_.begin()->second();
  }

  /** Whether a descriptor is readable now. */
  bool is_ready() const {
    pollfd watched = {ready_.begin()->first, POLLIN, 0};
    return poll(&watched, 1, 0) == 1;
  }

 private:
  std::map<int, std::function<void()>> ready_;
};

static apns::SessionOptions loop_options(const Gateway &gateway) {
  apns::SessionOptions options = gateway.session_options();
  options.peer.nonblocking = true;
  options.outcomes = APNS_OUTCOMES_EACH;
  return options;
}

TEST(a_session_never_waits) {
  const Gateway gateway;
  apns::Session session(apns::Credentials(provider_options()), loop_options(gateway));
  Loop loop;
  {
    apns::Watch watch(loop, session, [&] { session.process(); });
    assert_true(session.fd() >= 0);
    while (!session.connect()) loop.turn();
    const apns::Token good = token_of(1), bad = token_of(2, true);
    session.send({good, json});
    session.send({bad, json});
    session.send({good, json});
    assert_true(session.timeout_ms() >= -1);
    while (session.drain(apns::Session::usual) > 0) loop.turn();
    std::size_t accepted = 0, rejected = 0;
    for (const apns::Event &event : session.events()) {
      accepted += event.is_accepted();
      rejected += event.is_rejected();
    }
    assert_int_equal(accepted, 2);
    assert_int_equal(rejected, 1);
    assert_true(session.flush());
    while (!session.close(milliseconds(AMPLE_MS))) loop.turn();
    assert_false(session.process());
  }
  assert_true(loop.is_empty());
}

TEST(a_full_window_returns_again) {
  const Gateway gateway;
  apns::SessionOptions options = loop_options(gateway);
  options.window_bytes = 16384;
  options.tuning.payload_max = 256;
  apns::Session session(apns::Credentials(provider_options()), options);
  const apns::Token good = token_of(1);
  apns_status_t status = APNS_OK;
  std::size_t taken = 0;
  while ((status = session.try_send({good, json})) == APNS_OK) taken++;
  assert_true(status == APNS_ERR_AGAIN || status == APNS_ERR_FULL);
  assert_true(taken > 10);
  try {
    session.send({good, json});
    fail_because("it had room");
  } catch (const apns::Error &error) {
    // The first send may have begun to connect, so there may be outcomes already.
    assert_true(error.status() == APNS_ERR_AGAIN || error.status() == APNS_ERR_FULL);
    assert_int_equal(error.is_retryable(), error.status() == APNS_ERR_AGAIN);
  }
  Loop loop;
  apns::Watch watch(loop, session, [&] { session.process(); });
  while (session.drain(apns::Session::usual) > 0) loop.turn();
  assert_int_equal(session.stats().accepted, taken);
}

TEST(another_thread_wakes_it) {
  const Gateway gateway;
  apns::Session session(apns::Credentials(provider_options()), loop_options(gateway));
  Loop loop;
  bool was_woken = false;
  apns::Watch watch(loop, session, [&] {
    session.process();
    was_woken = true;
  });
  assert_false(loop.is_ready());
  std::thread other([&] { assert_int_equal(session.wake(), APNS_OK); });
  loop.turn();
  other.join();
  assert_true(was_woken);
  assert_false(loop.is_ready());
}

TEST(connection_errors_are_thrown_and_nothing_is_lost) {
  std::uint16_t port = 0;
  {
    const Gateway gone;
    port = gone.session_options().peer.port;
  }
  apns::SessionOptions options;
  options.protocol = APNS_PROTOCOL_BINARY;
  options.peer.host = "127.0.0.1";
  options.peer.port = port;
  options.peer.nonblocking = true;
  apns::Session session(apns::Credentials(provider_options()), options);
  session.send({token_of(1), json});
  Loop loop;
  std::size_t news = 0;
  apns::Watch watch(loop, session, [&] {
    try {
      session.process();
    } catch (const apns::Error &error) {
      assert_int_equal(error.status(), APNS_ERR_NETWORK);
      news++;
    }
  });
  while (news < 2) loop.turn();
  assert_int_equal(session.stats().unresolved, 1);
}

TEST(a_blocking_session_has_no_descriptor) {
  const Gateway gateway;
  apns::Session session(apns::Credentials(provider_options()), gateway.session_options());
  assert_int_equal(session.fd(), -1);
  assert_int_equal(session.timeout_ms(), -1);
  assert_int_equal(session.wake(), APNS_ERR_ARGUMENT);
  assert_throws(APNS_ERR_ARGUMENT, "nonblocking", [&] { session.process(); });
  Loop loop;
  apns::Watch watch(loop, session, [] {});
  assert_true(loop.is_empty());
}

TEST(feedback_never_waits) {
  static const uint8_t list[] = {0x4c, 0xe3, 0x86, 0x80, 0, 2, 0xab, 0xcd};
  gateway_step_t until_asked = step(STEP_AWAIT);
  until_asked.count = 1;
  const gateway_step_t script[] = {until_asked, say(list, sizeof list), step(STEP_END)};
  const Gateway gateway(script);
  apns::FeedbackOptions options = gateway.feedback_options();
  options.peer.nonblocking = true;
  apns::Feedback feedback(apns::Credentials(provider_options()), options);
  Loop loop;
  apns::Watch watch(loop, feedback, [] {});
  apns::FeedbackTuple tuple;
  apns_status_t status;
  std::size_t count = 0, waits = 0;
  while ((status = feedback.try_next(tuple)) != APNS_DONE) {
    if (status == APNS_OK) {
      assert_text("abcd", tuple.hex());
      count++;
      continue;
    }
    assert_int_equal(status, APNS_ERR_AGAIN);
    if (!waits++) gateway_signal(gateway.get());
    loop.turn();
  }
  assert_int_equal(count, 1);
  assert_true(waits > 0);
}
