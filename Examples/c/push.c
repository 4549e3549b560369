#include <apns/apns.h>
#include <stdio.h>

int main(void) {
  const char *hex = "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412";
  const char json[] = "{\"aps\":{\"alert\":\"Hello\"}}";
  uint8_t token[APNS_TOKEN_MAX];
  apns_credentials_options_t who = {sizeof who, .certificate_file = "provider.pem"};
  apns_notification_t push = {sizeof push, .payload = json, .payload_length = sizeof json - 1};
  apns_event_t event = APNS_EVENT_INIT;
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_t *key = NULL;
  apns_session_t *session = NULL;

  push.token = token;
  if (!apns_token_from_hex(hex, 64, token, sizeof token, &push.token_length, &error) &&
      !apns_credentials_new(&who, &key, &error) && !apns_session_new(NULL, key, &session, &error) &&
      !apns_session_push(session, &push, 10000, &event, &error))
    apns_event_describe(&event, error.message, sizeof error.message);
  puts(error.message);
  apns_session_free(session);
  apns_credentials_free(key);
}
