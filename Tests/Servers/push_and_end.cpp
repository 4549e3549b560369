/* Pushes and exits like C and C++ programs do: push_and_end HOW COUNT PORT PROVIDER CA. */
#include <apns/apns.hpp>
#include <cstdlib>
#include <cstring>
#include <memory>

static std::unique_ptr<apns::Session> made_late; /* destroyed after OpenSSL */

static apns::SessionOptions options_for(char **argv) {
  apns::SessionOptions options;
  options.protocol = APNS_PROTOCOL_HTTP2;
  options.peer.host = "127.0.0.1";
  options.peer.port = static_cast<std::uint16_t>(std::atoi(argv[3]));
  /* The default would be too short on a busy machine. */
  options.close_timeout_ms = 200000;
  return options;
}

static apns::Credentials provider(char **argv) {
  apns::CredentialsOptions options;
  options.certificate_file = argv[4];
  options.ca_file = argv[5];
  return apns::Credentials(options);
}

static void push(apns_session_t *session, int count) {
  static const unsigned char token[32] = {1};
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  push.token = token, push.token_length = sizeof token;
  push.payload = "{\"aps\":{}}", push.payload_length = std::strlen("{\"aps\":{}}");
  for (int n = 0; n < count; n++)
    if (apns_session_send(session, &push, 0, nullptr, nullptr)) std::abort();
}

static apns_session_t *in_c(char **argv, std::uint32_t close_timeout_ms) {
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_session_t *session = nullptr;
  options.protocol = APNS_PROTOCOL_HTTP2;
  options.peer.host = "127.0.0.1";
  options.peer.port = static_cast<std::uint16_t>(std::atoi(argv[3]));
  options.close_timeout_ms = close_timeout_ms;
  apns_session_new(&options, provider(argv).get(), &session, nullptr);
  return session;
}

int main(int, char **argv) {
  const int count = std::atoi(argv[2]);
  if (!std::strcmp(argv[1], "local")) {
    apns::Session session(provider(argv), options_for(argv));
    push(session.get(), count);
  } else if (!std::strcmp(argv[1], "throw")) {
    try {
      apns::Session session(provider(argv), options_for(argv));
      push(session.get(), count);
      throw 1;
    } catch (int) {
    }
  } else if (!std::strcmp(argv[1], "static")) {
    static apns::Session session(provider(argv), options_for(argv));
    push(session.get(), count);
    std::exit(0);
  } else if (!std::strcmp(argv[1], "late")) {
    made_late = std::make_unique<apns::Session>(provider(argv), options_for(argv));
    push(made_late->get(), count);
  } else if (!std::strcmp(argv[1], "c")) {
    apns_session_t *session = in_c(argv, 200000);
    push(session, count);
    apns_session_free(session);
  }
}
