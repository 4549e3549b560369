/* What an outcome means, for a person: Event::$why. */
#include "php_apns.h"

#include <time.h>

zend_string *php_apns_describe(const php_apns_record *record) {
  apns_event_t event = APNS_EVENT_INIT;
  char text[160];
  event.kind = record->kind;
  event.reject = record->reject;
  if (record->response) {
    event.reason = record->response->reason;
    event.http_status = record->response->http_status;
    memcpy(event.reason_text, record->response->reason_text, sizeof event.reason_text);
  }
  const size_t length = apns_event_describe(&event, text, sizeof text);
  return zend_string_init(text, length, false);
}

/* ": this certificate or key may not push to the topic, since ..."; "" without more to explain. */
static zend_string *tell_more(const php_apns_record *record) {
  const php_apns_response *response =
      record->response && record->response->http_status != 0 ? record->response : NULL;
  char since[48] = "";
  struct tm calendar;
  const time_t time = response ? (time_t)response->timestamp : 0;
  const char *words = NULL;
  if (record->kind == APNS_EVENT_ACCEPTED && response)
    return strpprintf(0, " (HTTP %u)", response->http_status);
  if (record->kind == APNS_EVENT_REJECTED && !response)
    words = php_apns_meaning_of(&php_apns_rejects, record->reject);
  if ((record->kind == APNS_EVENT_REJECTED || record->kind == APNS_EVENT_UNKNOWN) && response &&
      response->reason != APNS_REASON_NONE) {
    words = php_apns_meaning_of(&php_apns_reasons, response->reason);
    /* A peer may send a number that is not a valid time. */
    if (time > 0 && time <= 253402300799 && gmtime_r(&time, &calendar))
      strftime(since, sizeof since, ", since %Y-%m-%d %H:%M:%S UTC", &calendar);
  }
  return strpprintf(0, "%s%s%s", words ? ": " : "", words ? words : "", since);
}

zend_string *php_apns_why(const php_apns_record *record) {
  zend_string *what = php_apns_describe(record), *more = tell_more(record);
  zend_string *why = strpprintf(0, "%s%s", ZSTR_VAL(what), ZSTR_VAL(more));
  zend_string_release(what);
  zend_string_release(more);
  return why;
}
