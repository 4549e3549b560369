/* What an outcome means, for a person: Event::$why. */
#include "php_apns.h"

#include <time.h>

typedef struct meaning {
  int32_t number;
  const char *words;
} meaning;

/* clang-format off */
static const meaning rejects[] = {
    {APNS_REJECT_PROCESSING_ERROR, "the gateway's own trouble; send it again later"},
    {APNS_REJECT_MISSING_TOKEN, "the notification has no device token"},
    {APNS_REJECT_MISSING_TOPIC, "the certificate names no app"},
    {APNS_REJECT_MISSING_PAYLOAD, "the notification has no payload"},
    {APNS_REJECT_INVALID_TOKEN_SIZE, "the gateway takes no token of this length"},
    {APNS_REJECT_INVALID_TOPIC_SIZE, "the certificate's topic has a length that the gateway does not take"},
    {APNS_REJECT_INVALID_PAYLOAD_SIZE, "the payload is longer than the gateway takes"},
    {APNS_REJECT_INVALID_TOKEN, "not a device of this app in this environment"},
    {APNS_REJECT_SHUTDOWN, "the gateway refuses the provider, not the notification"},
    {APNS_REJECT_PROTOCOL_ERROR, "the gateway could not read the notification"},
    {APNS_REJECT_UNKNOWN, "the gateway gives no reason"},
    {0, NULL}};

static const meaning reasons[] = {
    {APNS_REASON_BAD_DEVICE_TOKEN, "not a token, or one of the other environment: sandbox or production"},
    {APNS_REASON_DEVICE_TOKEN_NOT_FOR_TOPIC, "the token is another app's, not the topic's"},
    {APNS_REASON_MISSING_DEVICE_TOKEN, "the notification has no device token"},
    {APNS_REASON_MISSING_TOPIC, "the session needs a topic: the app's bundle identifier"},
    {APNS_REASON_PAYLOAD_EMPTY, "the notification has no payload"},
    {APNS_REASON_BAD_TOPIC, "the topic is not one"},
    {APNS_REASON_PAYLOAD_TOO_LARGE, "the payload is longer than this kind of push may be"},
    {APNS_REASON_BAD_COLLAPSE_ID, "the collapse_id is longer than 64 bytes"},
    {APNS_REASON_BAD_EXPIRATION_DATE, "the expiry is not one"},
    {APNS_REASON_BAD_MESSAGE_ID, "the apns_id is not a UUID"},
    {APNS_REASON_BAD_PRIORITY, "the priority does not go with this kind of push"},
    {APNS_REASON_DUPLICATE_HEADERS, "a header field came twice"},
    {APNS_REASON_INVALID_PUSH_TYPE, "the push_type is not one, or not the payload's"},
    {APNS_REASON_BAD_PATH, "the request went to a path that is not there"},
    {APNS_REASON_METHOD_NOT_ALLOWED, "the request was not a POST"},
    {APNS_REASON_IDLE_TIMEOUT, "the connection was idle too long"},
    {APNS_REASON_EXPIRED_PROVIDER_TOKEN, "the provider token is too old; look at the clock"},
    {APNS_REASON_UNRELATED_KEY_ID_IN_TOKEN, "another key was used on the same connection"},
    {APNS_REASON_TOPIC_DISALLOWED, "this certificate or key may not push to the topic"},
    {APNS_REASON_BAD_CERTIFICATE, "the certificate is not one for pushing"},
    {APNS_REASON_BAD_CERTIFICATE_ENVIRONMENT, "the certificate is for the other environment: sandbox or production"},
    {APNS_REASON_BAD_ENVIRONMENT_KEY_ID_IN_TOKEN, "the key is for the other environment: sandbox or production"},
    {APNS_REASON_FORBIDDEN, "the provider may not push this"},
    {APNS_REASON_INVALID_PROVIDER_TOKEN, "key, key_id and team_id do not belong together, or the key was revoked"},
    {APNS_REASON_MISSING_PROVIDER_TOKEN, "no certificate was shown, so a provider token is needed"},
    {APNS_REASON_UNREGISTERED, "the app is no longer on the device"},
    {APNS_REASON_EXPIRED_TOKEN, "the device token has expired"},
    {APNS_REASON_TOO_MANY_PROVIDER_TOKEN_UPDATES, "new provider tokens come too often for one key"},
    {APNS_REASON_TOO_MANY_REQUESTS, "too many pushes to one device"},
    {APNS_REASON_INTERNAL_SERVER_ERROR, "the service's own trouble"},
    {APNS_REASON_SERVICE_UNAVAILABLE, "the service is busy"},
    {APNS_REASON_SHUTDOWN, "the service is going away"},
    {0, NULL}};
/* clang-format on */

static const char *words_of(const meaning *meanings, int32_t number) {
  while (meanings->words && meanings->number != number) meanings++;
  return meanings->words;
}

const char *php_apns_kind_text(int32_t kind) {
  switch (kind) {
    case APNS_EVENT_ACCEPTED:
      return "accepted";
    case APNS_EVENT_REJECTED:
      return "rejected";
    default:
      return "unknown";
  }
}

/* "TopicDisallowed (HTTP 403): this certificate or key may not push to the topic" */
static zend_string *tell_answer(const char *beginning, const php_apns_answer *answer) {
  const char *words = words_of(reasons, answer->reason);
  const char *name =
      *answer->reason_text ? answer->reason_text : apns_reason_text((apns_reason_t)answer->reason);
  char since[48] = "";
  struct tm calendar;
  const time_t time = (time_t)answer->timestamp;
  if (answer->reason == APNS_REASON_NONE) {
    return strpprintf(0, "%s: HTTP %u", beginning, answer->http_status);
  }
  /* What a service says may be no time. */
  if (answer->timestamp > 0 && answer->timestamp <= 253402300799 && gmtime_r(&time, &calendar)) {
    strftime(since, sizeof since, ", since %Y-%m-%d %H:%M:%S UTC", &calendar);
  }
  return strpprintf(0, "%s: %s (HTTP %u)%s%s%s", beginning, name, answer->http_status,
                    words ? ": " : "", words ? words : "", since);
}

zend_string *php_apns_why(const php_apns_note *note) {
  const php_apns_answer *answer =
      note->answer && note->answer->http_status != 0 ? note->answer : NULL;
  switch (note->kind) {
    case APNS_EVENT_ACCEPTED:
      if (answer) return strpprintf(0, "accepted (HTTP %u)", answer->http_status);
      return zend_string_init(ZEND_STRL("accepted"), false);
    case APNS_EVENT_REJECTED: {
      if (answer) return tell_answer("rejected", answer);
      const char *words = words_of(rejects, note->reject);
      return strpprintf(0, "rejected: %s (status %d)%s%s",
                        apns_reject_text((apns_reject_t)note->reject), note->reject,
                        words ? ": " : "", words ? words : "");
    }
    default:
      if (answer) {
        return tell_answer("unknown: the session ended before another try; the last answer",
                           answer);
      }
      return strpprintf(0, "unknown: the connection or the session ended before the answer");
  }
}
