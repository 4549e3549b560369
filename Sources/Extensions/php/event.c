/* Outcomes as objects, one by one and by foreach. */
#include "php_apns.h"

#include "zend_exceptions.h"
#include "zend_interfaces.h"

/* In the order of the stub. */
enum {
  KIND,
  TOKEN,
  REASON,
  USER_DATA,
  IDENTIFIER,
  HTTP_STATUS,
  REASON_TEXT,
  TIMESTAMP,
  RETRY_AFTER,
  APNS_ID,
  UNIQUE_ID,
  REJECT,
  REJECT_STATUS,
  REQUEST,
  WHY
};

/* Sets a text that APNs may omit; null if it is empty. */
static void tell_text(zval *property, const char *text) {
  if (*text) {
    ZVAL_STRING(property, text);
  } else {
    ZVAL_NULL(property);
  }
}

static void report_response(zend_object *event, const php_apns_response *response) {
  static const php_apns_response nothing;
  if (!response) response = &nothing;
  php_apns_reason_of(response->reason, OBJ_PROP_NUM(event, REASON));
  ZVAL_LONG(OBJ_PROP_NUM(event, HTTP_STATUS), response->http_status);
  ZVAL_LONG(OBJ_PROP_NUM(event, TIMESTAMP), response->timestamp);
  ZVAL_LONG(OBJ_PROP_NUM(event, RETRY_AFTER), response->retry_after);
  tell_text(OBJ_PROP_NUM(event, APNS_ID), response->apns_id);
  tell_text(OBJ_PROP_NUM(event, UNIQUE_ID), response->unique_id);
  ZVAL_STRING(OBJ_PROP_NUM(event, REASON_TEXT), response->reason_text);
}

static void tell_outcome(zend_object *event, const php_apns_record *record) {
  /* A newer library may have a kind that is unknown here. */
  const bool is_known = php_apns_word_of(&php_apns_event_kinds, record->kind);
  php_apns_case_of(&php_apns_event_kinds, is_known ? record->kind : APNS_EVENT_UNKNOWN,
                   OBJ_PROP_NUM(event, KIND));
  php_apns_case_of(&php_apns_rejects, record->reject, OBJ_PROP_NUM(event, REJECT));
  ZVAL_LONG(OBJ_PROP_NUM(event, REJECT_STATUS), record->reject);
  ZVAL_STR(OBJ_PROP_NUM(event, WHY), php_apns_why(record));
}

void php_apns_event_new(php_apns_record *record, zval *out) {
  object_init_ex(out, php_apns_class.event);
  zend_object *made = Z_OBJ_P(out);
  tell_outcome(made, record);
  report_response(made, record->response);
  ZVAL_LONG(OBJ_PROP_NUM(made, IDENTIFIER), record->identifier);
  ZVAL_STR(OBJ_PROP_NUM(made, TOKEN), php_apns_token_hex(record->token, record->token_length));
  php_apns_record_user_data(record, OBJ_PROP_NUM(made, USER_DATA));
  if (record->request) {
    ZVAL_STRINGL(OBJ_PROP_NUM(made, REQUEST), ZSTR_VAL(record->request->name),
                 ZSTR_LEN(record->request->name));
  } else {
    ZVAL_NULL(OBJ_PROP_NUM(made, REQUEST));
  }
}

bool php_apns_event_take(zend_object *session, bool of_others, int32_t timeout_ms, zval *out) {
  ZVAL_NULL(out);
  php_apns_tracked *tracked = php_apns_session_tracked(session);
  if (!tracked) return false;
  php_apns_record *record = php_apns_tracked_next(tracked, of_others, timeout_ms);
  if (!record || EG(exception)) return !EG(exception);
  /* Allocate everything before the record leaves its list, so that no outcome is lost. */
  zval event;
  php_apns_event_new(record, &event);
  if (of_others) {
    php_apns_tracked_take_left(tracked, record);
  } else {
    php_apns_records_remove(&tracked->own, record);
  }
  php_apns_record_free(record);
  ZVAL_COPY_VALUE(out, &event);
  return true;
}

/* The number of a case; 0: null. */
static int32_t number_of(const php_apns_enum *of, zval *given) {
  int32_t number = 0;
  if (given) php_apns_is_case(of, given, &number);
  return number;
}

static void tell_given(zval *property, zend_string *text) {
  if (text) {
    ZVAL_STR_COPY(property, text);
  } else {
    ZVAL_NULL(property);
  }
}

/* Whether the text fits, where the library's is in an array. */
static bool fits(const zend_string *text, uint32_t argument, char *out, size_t room) {
  if (!text) return true;
  if (ZSTR_LEN(text) >= room || strlen(ZSTR_VAL(text)) != ZSTR_LEN(text)) {
    zend_argument_value_error(argument, "must have at most %zu bytes, and none that is NUL",
                              room - 1);
    return false;
  }
  memcpy(out, ZSTR_VAL(text), ZSTR_LEN(text) + 1);
  return true;
}

static bool in_range(zend_long given, uint32_t argument, zend_long most) {
  if (given >= 0 && given <= most) return true;
  zend_argument_value_error(argument, "must be between 0 and " ZEND_LONG_FMT, most);
  return false;
}

PHP_METHOD(Apns_Event, __construct) {
  zval *kind, *reason = NULL, *reject = NULL, *user_data = NULL;
  zend_string *token = NULL, *reason_text = NULL, *apns_id = NULL, *unique_id = NULL,
              *request = NULL;
  zend_long identifier = 0, http_status = 0, timestamp = 0, retry_after = 0, reject_status = 0;
  bool usual_status = true, usual_reject = true;
  ZEND_PARSE_PARAMETERS_START(1, 14)
  Z_PARAM_OBJECT_OF_CLASS(kind, php_apns_event_kinds.ce)
  Z_PARAM_OPTIONAL
  Z_PARAM_STR(token)
  Z_PARAM_OBJECT_OF_CLASS_OR_NULL(reason, php_apns_reasons.ce)
  Z_PARAM_ZVAL(user_data)
  Z_PARAM_LONG(identifier)
  Z_PARAM_LONG_OR_NULL(http_status, usual_status)
  Z_PARAM_STR_OR_NULL(reason_text)
  Z_PARAM_LONG(timestamp)
  Z_PARAM_LONG(retry_after)
  Z_PARAM_STR_OR_NULL(apns_id)
  Z_PARAM_STR_OR_NULL(unique_id)
  Z_PARAM_OBJECT_OF_CLASS_OR_NULL(reject, php_apns_rejects.ce)
  Z_PARAM_LONG_OR_NULL(reject_status, usual_reject)
  Z_PARAM_STR_OR_NULL(request)
  ZEND_PARSE_PARAMETERS_END();
  zend_object *made = Z_OBJ_P(ZEND_THIS);
  if (Z_TYPE_P(OBJ_PROP_NUM(made, KIND)) != IS_UNDEF) {
    zend_throw_error(NULL, "Apns\\Event is already constructed");
    return;
  }
  php_apns_response response = {.reason = number_of(&php_apns_reasons, reason)};
  php_apns_record record = {.kind = number_of(&php_apns_event_kinds, kind),
                            .reject = number_of(&php_apns_rejects, reject)};
  if (usual_status && reason) http_status = apns_reason_http_status((apns_reason_t)response.reason);
  if (usual_status && !reason && record.kind == APNS_EVENT_ACCEPTED) http_status = 200;
  if (!usual_reject) record.reject = (int32_t)reject_status;
  if (!in_range(identifier, 5, UINT32_MAX) || !in_range(http_status, 6, UINT16_MAX) ||
      !in_range(retry_after, 9, UINT32_MAX) || !in_range(record.reject, 13, UINT8_MAX) ||
      !fits(reason_text, 7, response.reason_text, sizeof response.reason_text)) {
    return;
  }
  if (!reason_text && reason) {
    snprintf(response.reason_text, sizeof response.reason_text, "%s",
             apns_reason_text((apns_reason_t)response.reason));
  }
  response.http_status = (uint16_t)http_status;
  response.timestamp = timestamp;
  response.retry_after = (uint32_t)retry_after;
  record.response = &response;
  tell_outcome(made, &record);
  report_response(made, &response);
  tell_given(OBJ_PROP_NUM(made, APNS_ID), apns_id);
  tell_given(OBJ_PROP_NUM(made, UNIQUE_ID), unique_id);
  tell_given(OBJ_PROP_NUM(made, REQUEST), request);
  ZVAL_STR(OBJ_PROP_NUM(made, TOKEN), token ? zend_string_copy(token) : ZSTR_EMPTY_ALLOC());
  ZVAL_LONG(OBJ_PROP_NUM(made, IDENTIFIER), identifier);
  if (user_data) {
    ZVAL_COPY(OBJ_PROP_NUM(made, USER_DATA), user_data);
  } else {
    ZVAL_NULL(OBJ_PROP_NUM(made, USER_DATA));
  }
}

/* The case's number; 0: the event was not constructed. */
static int32_t kind_of(zval *event) {
  return number_of(&php_apns_event_kinds, OBJ_PROP_NUM(Z_OBJ_P(event), KIND));
}

static zend_long number(zval *event, int property) {
  zval *value = OBJ_PROP_NUM(Z_OBJ_P(event), property);
  return Z_TYPE_P(value) == IS_LONG ? Z_LVAL_P(value) : 0;
}

#define IS_KIND(method, wanted)                          \
  PHP_METHOD(Apns_Event, method) {                       \
    if (zend_parse_parameters_none() == FAILURE) return; \
    RETURN_BOOL(kind_of(ZEND_THIS) == wanted);           \
  }
IS_KIND(isAccepted, APNS_EVENT_ACCEPTED)
IS_KIND(isRejected, APNS_EVENT_REJECTED)
IS_KIND(isUnknown, APNS_EVENT_UNKNOWN)
IS_KIND(isCancelled, APNS_EVENT_CANCELLED)
IS_KIND(isExpired, APNS_EVENT_EXPIRED)

PHP_METHOD(Apns_Event, hasInvalidToken) {
  if (zend_parse_parameters_none() == FAILURE) return;
  apns_event_t event = APNS_EVENT_INIT;
  event.kind = kind_of(ZEND_THIS);
  event.reject = (int32_t)number(ZEND_THIS, REJECT_STATUS);
  event.reason = number_of(&php_apns_reasons, OBJ_PROP_NUM(Z_OBJ_P(ZEND_THIS), REASON));
  event.http_status = (uint16_t)number(ZEND_THIS, HTTP_STATUS);
  RETURN_BOOL(apns_event_has_invalid_token(&event));
}

PHP_METHOD(Apns_Event, __toString) {
  if (zend_parse_parameters_none() == FAILURE) return;
  zend_object *event = Z_OBJ_P(ZEND_THIS);
  zval *text = OBJ_PROP_NUM(event, REASON_TEXT);
  php_apns_response response = {.reason = number_of(&php_apns_reasons, OBJ_PROP_NUM(event, REASON)),
                                .http_status = (uint16_t)number(ZEND_THIS, HTTP_STATUS)};
  if (Z_TYPE_P(text) == IS_STRING)
    snprintf(response.reason_text, sizeof response.reason_text, "%s", Z_STRVAL_P(text));
  const php_apns_record record = {.kind = kind_of(ZEND_THIS),
                                  .reject = (int32_t)number(ZEND_THIS, REJECT_STATUS),
                                  .response = &response};
  RETURN_STR(php_apns_describe(&record));
}

PHP_METHOD(Apns_FeedbackEntry, __construct) {
  zend_string *token;
  zend_long timestamp = 0;
  ZEND_PARSE_PARAMETERS_START(1, 2)
  Z_PARAM_STR(token)
  Z_PARAM_OPTIONAL
  Z_PARAM_LONG(timestamp)
  ZEND_PARSE_PARAMETERS_END();
  if (Z_TYPE_P(OBJ_PROP_NUM(Z_OBJ_P(ZEND_THIS), 0)) != IS_UNDEF) {
    zend_throw_error(NULL, "Apns\\FeedbackEntry is already constructed");
    return;
  }
  ZVAL_STR_COPY(OBJ_PROP_NUM(Z_OBJ_P(ZEND_THIS), 0), token);
  ZVAL_LONG(OBJ_PROP_NUM(Z_OBJ_P(ZEND_THIS), 1), timestamp);
}

/* ---- Events ---------------------------------------------------------------------- */

typedef struct events_object {
  zend_object *session; /* NULL: not constructed */
  bool of_others;
  int32_t timeout_ms;
  zend_object std;
} events_object;

PHP_APNS_OBJECT(events_object)

static void destroy(zend_object *object) {
  events_object *own = of(object);
  if (own->session) OBJ_RELEASE(own->session);
  own->session = NULL;
  zend_object_std_dtor(object);
}

static HashTable *collect(zend_object *object, zval **table, int *count) {
  zend_get_gc_buffer *buffer = zend_get_gc_buffer_create();
  if (of(object)->session) zend_get_gc_buffer_add_obj(buffer, of(object)->session);
  zend_get_gc_buffer_use(buffer, table, count);
  return zend_std_get_properties(object);
}

static zend_object_iterator *iterate(zend_class_entry *ce, zval *object, int by_ref) {
  (void)ce;
  events_object *own = of(Z_OBJ_P(object));
  if (!own->session) {
    php_apns_throw_unconstructed(&own->std);
    return NULL;
  }
  return php_apns_iterator_new(own->session, php_apns_event_take, own->of_others, own->timeout_ms,
                               by_ref);
}

void php_apns_event_register(void) {
  php_apns_class.events->create_object = create;
  php_apns_class.events->get_iterator = iterate;
  php_apns_handlers_init(&handlers, XtOffsetOf(events_object, std), destroy);
  handlers.get_gc = collect;
}

void php_apns_events_new(zend_object *session, bool of_others, int32_t timeout_ms, zval *out) {
  object_init_ex(out, php_apns_class.events);
  events_object *made = of(Z_OBJ_P(out));
  GC_ADDREF(session);
  made->session = session;
  made->of_others = of_others;
  made->timeout_ms = timeout_ms;
}

PHP_METHOD(Apns_Events, __construct) { zend_parse_parameters_none(); }

PHP_METHOD(Apns_Events, getIterator) {
  if (zend_parse_parameters_none() == FAILURE) return;
  zend_create_internal_iterator_zval(return_value, ZEND_THIS);
}
