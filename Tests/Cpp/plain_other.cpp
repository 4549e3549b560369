/* The only file with exceptions in a program without them. */
#include "check.hpp"

int pushes_with_exceptions(const char *host, std::uint16_t port) {
  apns::SessionOptions options;
  options.protocol = APNS_PROTOCOL_BINARY;
  options.peer.host = host;
  options.peer.port = port;
  apns::Session session(apns::Credentials(provider_options()), options);
  try {
    session.send({apns::Token::from_hex("xx"), "{}"});
  } catch (const apns::Error &) {
    session.send({apns::Token::from_hex("01"), "{}"});
  }
  session.drain(std::chrono::seconds(30));
  return static_cast<int>(session.stats().accepted);
}
