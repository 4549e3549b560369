#include <apns/apns.hpp>

#include "cost.h"

uint64_t send_in_cpp(apns_session_t *lent, const uint8_t *tokens, size_t count, const char *json,
                     size_t json_length) {
  apns::Session session(lent);
  apns::ErrorDetail error;
  std::uint64_t sum = 0;
  apns::Notification push;
  push.saying({json, json_length});
  for (std::size_t n = 0; n < count; n++) {
    std::uint32_t identifier = 0;
    const std::uint8_t *token = tokens + n * COST_TOKEN;
    push.to({token, COST_TOKEN}).with(const_cast<std::uint8_t *>(token));
    if (session.try_send(push, APNS_SEND_MORE, &identifier, &error) != APNS_OK) break;
    sum += identifier;
  }
  session.release();
  return sum;
}

uint64_t send_in_cpp_throwing(apns_session_t *lent, const uint8_t *tokens, size_t count,
                              const char *json, size_t json_length) {
  apns::Session session(lent);
  std::uint64_t sum = 0;
  apns::Notification push;
  push.saying({json, json_length});
  for (std::size_t n = 0; n < count; n++) {
    const std::uint8_t *token = tokens + n * COST_TOKEN;
    push.to({token, COST_TOKEN}).with(const_cast<std::uint8_t *>(token));
    sum += session.send(push, APNS_SEND_MORE);
  }
  session.release();
  return sum;
}

uint64_t events_in_cpp(apns_session_t *lent) {
  apns::Session session(lent);
  apns::ErrorDetail error;
  std::uint64_t sum = 0;
  for (const apns::Event &event : session.try_events(apns::Session::Milliseconds(0), &error))
    sum += event.identifier;
  session.release();
  return sum;
}

uint64_t events_in_cpp_throwing(apns_session_t *lent) {
  apns::Session session(lent);
  std::uint64_t sum = 0;
  for (const apns::Event &event : session.events()) sum += event.identifier;
  session.release();
  return sum;
}
