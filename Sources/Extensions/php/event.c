/* Outcomes as objects, one by one and by foreach. */
#include "php_apns.h"

#include "zend_exceptions.h"
#include "zend_interfaces.h"

/* In the order of the stub. */
enum {
  KIND,
  REJECT,
  REASON,
  HTTP_STATUS,
  TIMESTAMP,
  RETRY_AFTER,
  APNS_ID,
  UNIQUE_ID,
  REASON_TEXT,
  IDENTIFIER,
  TOKEN,
  USER_DATA,
  REQUEST,
  KIND_TEXT,
  WHY
};

/* What the service may leave out. */
static void tell_text(zval *property, const char *text) {
  if (*text) {
    ZVAL_STRING(property, text);
  } else {
    ZVAL_NULL(property);
  }
}

static void tell_answer(zend_object *event, const php_apns_answer *answer) {
  static const php_apns_answer nothing;
  if (!answer) answer = &nothing;
  ZVAL_LONG(OBJ_PROP_NUM(event, REASON), answer->reason);
  ZVAL_LONG(OBJ_PROP_NUM(event, HTTP_STATUS), answer->http_status);
  ZVAL_LONG(OBJ_PROP_NUM(event, TIMESTAMP), answer->timestamp);
  ZVAL_LONG(OBJ_PROP_NUM(event, RETRY_AFTER), answer->retry_after);
  tell_text(OBJ_PROP_NUM(event, APNS_ID), answer->apns_id);
  tell_text(OBJ_PROP_NUM(event, UNIQUE_ID), answer->unique_id);
  ZVAL_STRING(OBJ_PROP_NUM(event, REASON_TEXT), answer->reason_text);
}

void php_apns_event_new(php_apns_record *record, zval *out) {
  object_init_ex(out, php_apns_class.event);
  zend_object *made = Z_OBJ_P(out);
  ZVAL_LONG(OBJ_PROP_NUM(made, KIND), record->kind);
  ZVAL_LONG(OBJ_PROP_NUM(made, REJECT), record->reject);
  tell_answer(made, record->answer);
  ZVAL_LONG(OBJ_PROP_NUM(made, IDENTIFIER), record->identifier);
  ZVAL_STR(OBJ_PROP_NUM(made, TOKEN), php_apns_token_hex(record->token, record->token_length));
  php_apns_record_user_data(record, OBJ_PROP_NUM(made, USER_DATA));
  if (record->request) {
    ZVAL_STRINGL(OBJ_PROP_NUM(made, REQUEST), ZSTR_VAL(record->request->name),
                 ZSTR_LEN(record->request->name));
  } else {
    ZVAL_NULL(OBJ_PROP_NUM(made, REQUEST));
  }
  ZVAL_STRING(OBJ_PROP_NUM(made, KIND_TEXT), php_apns_kind_text(record->kind));
  ZVAL_STR(OBJ_PROP_NUM(made, WHY), php_apns_why(record));
}

bool php_apns_event_take(zend_object *session, bool of_others, int32_t timeout_ms, zval *out) {
  ZVAL_NULL(out);
  php_apns_tracked *tracked = php_apns_session_tracked(session);
  if (!tracked) return false;
  php_apns_record *record = php_apns_tracked_next(tracked, of_others, timeout_ms);
  if (!record || EG(exception)) return !EG(exception);
  /* The record stays in its list until all memory is there, so that it is not lost without. */
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

/* The number in a property; 0: the event was not constructed. */
static zend_long number(zval *event, int property) {
  zval *value = OBJ_PROP_NUM(Z_OBJ_P(event), property);
  return Z_TYPE_P(value) == IS_LONG ? Z_LVAL_P(value) : 0;
}

PHP_METHOD(Apns_Event, __construct) { zend_parse_parameters_none(); }

PHP_METHOD(Apns_Event, isAccepted) {
  if (zend_parse_parameters_none() == FAILURE) return;
  RETURN_BOOL(number(ZEND_THIS, KIND) == APNS_EVENT_ACCEPTED);
}

PHP_METHOD(Apns_Event, isRejected) {
  if (zend_parse_parameters_none() == FAILURE) return;
  RETURN_BOOL(number(ZEND_THIS, KIND) == APNS_EVENT_REJECTED);
}

PHP_METHOD(Apns_Event, isUnknown) {
  if (zend_parse_parameters_none() == FAILURE) return;
  RETURN_BOOL(number(ZEND_THIS, KIND) == APNS_EVENT_UNKNOWN);
}

PHP_METHOD(Apns_Event, isCancelled) {
  if (zend_parse_parameters_none() == FAILURE) return;
  RETURN_BOOL(number(ZEND_THIS, KIND) == APNS_EVENT_CANCELLED);
}

PHP_METHOD(Apns_Event, isExpired) {
  if (zend_parse_parameters_none() == FAILURE) return;
  RETURN_BOOL(number(ZEND_THIS, KIND) == APNS_EVENT_EXPIRED);
}

PHP_METHOD(Apns_Event, __toString) {
  if (zend_parse_parameters_none() == FAILURE) return;
  zval *text = OBJ_PROP_NUM(Z_OBJ_P(ZEND_THIS), REASON_TEXT);
  php_apns_answer answer = {.reason = (int32_t)number(ZEND_THIS, REASON),
                            .http_status = (uint16_t)number(ZEND_THIS, HTTP_STATUS)};
  if (Z_TYPE_P(text) == IS_STRING)
    snprintf(answer.reason_text, sizeof answer.reason_text, "%s", Z_STRVAL_P(text));
  const php_apns_record record = {.kind = (int32_t)number(ZEND_THIS, KIND),
                                  .reject = (int32_t)number(ZEND_THIS, REJECT),
                                  .answer = &answer};
  RETURN_STR(php_apns_describe(&record));
}

PHP_METHOD(Apns_FeedbackEntry, __construct) { zend_parse_parameters_none(); }

/* ---- Events ---------------------------------------------------------------------- */

typedef struct events_object {
  zend_object *session; /* NULL: not constructed */
  bool of_others;
  int32_t timeout_ms;
  zend_object std;
} events_object;

static zend_object_handlers handlers;

static events_object *of(zend_object *object) {
  return (events_object *)((char *)object - XtOffsetOf(events_object, std));
}

static zend_object *create(zend_class_entry *ce) {
  events_object *own = zend_object_alloc(sizeof *own, ce);
  own->session = NULL;
  zend_object_std_init(&own->std, ce);
  object_properties_init(&own->std, ce);
  own->std.handlers = &handlers;
  return &own->std;
}

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
  memcpy(&handlers, zend_get_std_object_handlers(), sizeof handlers);
  handlers.offset = XtOffsetOf(events_object, std);
  handlers.free_obj = destroy;
  handlers.get_gc = collect;
  handlers.clone_obj = NULL;
  handlers.compare = zend_objects_not_comparable;
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
