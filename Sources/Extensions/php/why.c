/* What an outcome means, for a person: Event::$why. */
#include "php_apns.h"

#include <time.h>

typedef struct meaning {
  int32_t number;
  const char *words;
} meaning;

#include "meanings.h"

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
    case APNS_EVENT_CANCELLED:
      return "cancelled";
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
  /* A service may send a number that is no time. */
  if (answer->timestamp > 0 && answer->timestamp <= 253402300799 && gmtime_r(&time, &calendar)) {
    strftime(since, sizeof since, ", since %Y-%m-%d %H:%M:%S UTC", &calendar);
  }
  return strpprintf(0, "%s: %s (HTTP %u)%s%s%s", beginning, name, answer->http_status,
                    words ? ": " : "", words ? words : "", since);
}

zend_string *php_apns_why(const php_apns_record *record) {
  const php_apns_answer *answer =
      record->answer && record->answer->http_status != 0 ? record->answer : NULL;
  switch (record->kind) {
    case APNS_EVENT_ACCEPTED:
      if (answer) return strpprintf(0, "accepted (HTTP %u)", answer->http_status);
      return zend_string_init(ZEND_STRL("accepted"), false);
    case APNS_EVENT_REJECTED: {
      if (answer) return tell_answer("rejected", answer);
      const char *words = words_of(rejects, record->reject);
      return strpprintf(0, "rejected: %s (status %d)%s%s",
                        apns_reject_text((apns_reject_t)record->reject), record->reject,
                        words ? ": " : "", words ? words : "");
    }
    case APNS_EVENT_CANCELLED:
      return zend_string_init(ZEND_STRL("cancelled: taken back, and it did not arrive"), false);
    default:
      if (answer) {
        return tell_answer("unknown: the session ended before another try; the last answer",
                           answer);
      }
      return strpprintf(0, "unknown: the connection or the session ended before the answer%s%s",
                        record->answer ? ": " : "",
                        record->answer ? record->answer->reason_text : "");
  }
}
