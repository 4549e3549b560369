/* Shared by all tests of <apns/apns.hpp>: cmocka, the scripted gateway in C, scripts for it. */
#ifndef TESTS_CPP_CHECK_HPP
#define TESTS_CPP_CHECK_HPP

#include <apns/apns.hpp>

extern "C" {
#include "provider.h"
}
/* Names of the standard library's streams, too. */
#undef fail
#undef fail_msg
#define fail_because(...) (print_error(__VA_ARGS__), print_error("\n"), _fail(__FILE__, __LINE__))

/** Steps of a script; the macros of gateway.h are for C only. */
inline gateway_step_t step(step_kind_t kind) { return {kind, 0, nullptr, 0, 0, false}; }
inline gateway_step_t say(const void *bytes, size_t length) {
  return {STEP_SAY, length, bytes, 0, 0, false};
}

/** A gateway for the lifetime of a block. Without a script it uses JUDGE. */
class Gateway {
 public:
  explicit Gateway(const gateway_step_t *script = nullptr) {
    scripts_[0] = script;
    gateway_ = gateway_start(nullptr, script ? scripts_ : nullptr);
  }
  Gateway(const Gateway &) = delete;
  ~Gateway() { gateway_stop(gateway_); }

  gateway_t *get() const { return gateway_; }
  const gateway_record_t *heard(size_t index) const { return gateway_heard(gateway_, index); }

  apns::SessionOptions session_options() const {
    apns::SessionOptions options;
    options.outcomes = APNS_OUTCOMES_FAILURES;
    options.checks = -1;
    options.protocol = APNS_PROTOCOL_BINARY;
    options.peer.host = "127.0.0.1";
    options.peer.port = gateway_port(gateway_);
    options.peer.connect_timeout_ms = AMPLE_MS;
    options.tuning.write_timeout_ms = AMPLE_MS;
    options.binary.no_standby = true;
    return options;
  }
  apns::FeedbackOptions feedback_options() const {
    apns::FeedbackOptions options;
    options.peer.host = "127.0.0.1";
    options.peer.port = gateway_port(gateway_);
    options.peer.connect_timeout_ms = AMPLE_MS;
    options.read_timeout_ms = AMPLE_MS;
    return options;
  }

 private:
  const gateway_step_t *scripts_[2] = {};
  gateway_t *gateway_;
};

inline apns::CredentialsOptions provider_options() {
  const identities_t *identities = identities_make();
  apns::CredentialsOptions options;
  options.certificate_file = identities->provider.certificate_file;
  options.key_file = identities->provider.key_file;
  options.ca_file = identities->root.certificate_file;
  return options;
}

/** A token that contains n; JUDGE rejects a bad one. */
inline apns::Token token_of(unsigned n, bool is_bad = false) {
  std::uint8_t bytes[32] = {};
  std::memcpy(bytes, &n, sizeof n);
  if (is_bad) bytes[30] = bytes[31] = 0xFF;
  apns::Token token;
  assert_int_equal(token.try_assign(bytes), APNS_OK);
  return token;
}

inline void assert_text(std::string_view expected, std::string_view found) {
  if (expected == found) return;
  print_error("found    \"%.*s\"\nexpected \"%.*s\"\n", static_cast<int>(found.size()),
              found.data(), static_cast<int>(expected.size()), expected.data());
  assert_true(expected == found);
}

#if APNS_EXCEPTIONS
/** `body` must throw apns::Error with this status and a message that contains `part`. */
template <class Body>
void assert_throws(apns_status_t status, const char *part, Body body) {
  try {
    body();
  } catch (const apns::Error &error) {
    assert_int_equal(error.status(), status);
    assert_contains(error.what(), part);
    return;
  }
  fail_because("nothing was thrown, where \"%s\" was expected", part);
}
#endif

#endif
