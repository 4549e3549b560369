#include <apns/apns.hpp>
#include <iostream>

int main() {
  apns::Session session{apns::Credentials{{.certificate_file = "provider.pem"}}};
  apns::Token token =
      apns::Token::from_hex("5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412");
  std::cout << session.push({token, R"({"aps":{"alert":"Hello"}})"}).describe() << '\n';
}
