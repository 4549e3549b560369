#include "cost.h"

uint64_t send_in_c(apns_session_t *session, const uint8_t *tokens, size_t count, const char *json,
                   size_t json_length) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  uint64_t sum = 0;
  push.payload = json;
  push.payload_length = json_length;
  for (size_t n = 0; n < count; n++) {
    uint32_t identifier = 0;
    push.token = tokens + n * COST_TOKEN;
    push.token_length = COST_TOKEN;
    push.user_data = (void *)(tokens + n * COST_TOKEN);
    if (apns_session_send(session, &push, APNS_SEND_MORE, &identifier, &error) != APNS_OK) return 0;
    sum += identifier;
  }
  return sum;
}

uint64_t events_in_c(apns_session_t *session) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_event_t event = APNS_EVENT_INIT;
  uint64_t sum = 0;
  while (apns_session_next_event(session, &event, 0, &error) == APNS_OK) sum += event.identifier;
  return sum;
}
