// The provider of Examples/c/provider.c in C++, with the same output.
#include <apns/apns.hpp>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  apns::CredentialsOptions who;
  who.certificate_file = argv[4];
  who.ca_file = argv[5];
  apns::Credentials credentials(who);
  apns::SessionOptions where;
  where.protocol = APNS_PROTOCOL_BINARY;
  where.peer.host = argv[1];
  where.peer.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  apns::Session session(credentials, where);

  std::ifstream file(argv[6]);
  std::string text;
  std::uintptr_t lines = 0;
  unsigned long rejected = 0, refused = 0, unknown = 0;
  while (std::getline(file, text)) {
    lines++;
    const auto tab = text.find('\t');
    try {
      const apns::Token token = apns::Token::from_hex(text.substr(0, tab));
      session.send({token, text.substr(tab + 1), reinterpret_cast<void *>(lines)}, APNS_SEND_MORE);
    } catch (const apns::Error &error) {
      if (error.status() != APNS_ERR_ARGUMENT) throw;
      refused++;
      std::cout << "line " << lines << ": refused: " << error.what() << '\n';
    }
  }
  session.drain(std::chrono::seconds{60});
  for (const apns::Event &event : session.events()) {
    const auto line = reinterpret_cast<std::uintptr_t>(event.user_data);
    if (event.kind == APNS_EVENT_REJECTED) {
      rejected++;
      std::cout << "line " << line << ": rejected: " << event.why() << '\n';
    } else if (event.kind == APNS_EVENT_UNKNOWN) {
      unknown++;
      std::cout << "line " << line << ": unknown\n";
    }
  }
  std::cout << "lines " << lines << " = accepted " << session.stats().accepted << " + rejected "
            << rejected << " + refused " << refused << " + unknown " << unknown << '\n';

  apns::FeedbackOptions list;
  list.peer.host = argv[1];
  list.peer.port = static_cast<std::uint16_t>(std::atoi(argv[3]));
  apns::Feedback feedback(credentials, list);
  for (const apns::FeedbackTuple &device : feedback.tuples())
    std::cout << "gone since " << device.timestamp << ": " << device.hex() << '\n';
}
