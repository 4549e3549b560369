/* Sending: single notifications, and those of arrays and generators. */
#include "php_apns.h"

#include "ext/date/php_date.h"
#include "ext/spl/spl_iterators.h"
#include "zend_exceptions.h"
#include "zend_interfaces.h"

typedef struct push {
  zval *token, *payload, *user_data;
  int64_t expiry;      /* as in C, where 0 means not given */
  int32_t deadline_ms; /* 0: the session's */
  uint8_t priority, push_type;
  zend_string *topic, *collapse_id, *apns_id, *channel_id;
} push;

/* A header's text, which has no NUL. */
static bool take_header(const zend_string *given, const char *name, apns_reject_t reject,
                        const char **out) {
  if (!given) return true;
  if (strlen(ZSTR_VAL(given)) != ZSTR_LEN(given)) {
    php_apns_refuse(reject, "%s has a null byte", name);
    return false;
  }
  *out = ZSTR_VAL(given);
  return true;
}

static bool take_headers(const push *push, apns_notification_t *notification) {
  notification->priority = push->priority;
  notification->push_type = push->push_type;
  return take_header(push->topic, "topic", APNS_REJECT_INVALID_TOPIC_SIZE, &notification->topic) &&
         take_header(push->collapse_id, "collapse_id", APNS_REJECT_PROCESSING_ERROR,
                     &notification->collapse_id) &&
         take_header(push->apns_id, "apns_id", APNS_REJECT_PROCESSING_ERROR,
                     &notification->apns_id) &&
         take_header(push->channel_id, "channel_id", APNS_REJECT_PROCESSING_ERROR,
                     &notification->channel_id);
}

/* False: a channel stands in its place. */
static bool has_token(const push *push) {
  zval *token = push->token;
  ZVAL_DEREF(token);
  return !push->channel_id || Z_TYPE_P(token) != IS_NULL;
}

/* A parameter or a field, for messages. */
typedef struct place {
  const char *method; /* NULL: a field of a notification */
  uint32_t argument;
  const char *name;
} place;

static const char *name_of(const place *place, char out[PHP_APNS_SHOWN]) {
  if (place->method) {
    snprintf(out, PHP_APNS_SHOWN, "Apns\\Session::%s(): Argument #%u ($%s)", place->method,
             place->argument, place->name);
  } else {
    snprintf(out, PHP_APNS_SHOWN, "'%s' of a notification", place->name);
  }
  return out;
}

static bool wrong_type(const place *place, const char *wanted, const zval *value) {
  char name[PHP_APNS_SHOWN];
  zend_type_error("%s must be of type %s, %s given", name_of(place, name), wanted,
                  zend_zval_type_name(value));
  return false;
}

/* A whole number; a database and a CSV file give one as text. */
static bool take_number(const zval *given, const place *place, const char *wanted, zend_long *out) {
  char name[PHP_APNS_SHOWN], shown[PHP_APNS_SHOWN];
  if (Z_TYPE_P(given) == IS_LONG) {
    *out = Z_LVAL_P(given);
    return true;
  }
  if (Z_TYPE_P(given) != IS_STRING) return wrong_type(place, wanted, given);
  if (php_apns_number_of(Z_STR_P(given), out)) return true;
  zend_value_error("%s must be a whole number, '%s' given", name_of(place, name),
                   php_apns_shown(Z_STR_P(given), shown));
  return false;
}

/* UNIX seconds, or a date object. NULL or null: not given. */
static bool take_expiry(zval *given, const place *place, int64_t *out) {
  zend_long seconds = 0;
  char name[PHP_APNS_SHOWN];
  *out = 0;
  if (!given || Z_TYPE_P(given) == IS_NULL) return true;
  if (Z_TYPE_P(given) == IS_OBJECT &&
      instanceof_function(Z_OBJCE_P(given), php_date_get_interface_ce())) {
    zval result;
    zend_call_method_with_0_params(Z_OBJ_P(given), Z_OBJCE_P(given), NULL, "gettimestamp", &result);
    if (EG(exception)) return false;
    seconds = zval_get_long(&result);
    zval_ptr_dtor(&result);
    /* The date 1970-01-01 00:00 is a time, and does not mean once. */
    if (seconds == 0) seconds = 1;
  } else if (!take_number(given, place, "DateTimeInterface, int or null", &seconds)) {
    return false;
  }
  if (seconds < 0) {
    php_apns_throw_argument("%s is " ZEND_LONG_FMT ", which is before 1970", name_of(place, name),
                            seconds);
    return false;
  }
  *out = seconds == 0 ? APNS_EXPIRY_ONCE : seconds;
  return true;
}

/* NULL or null: the session's. */
static bool take_deadline(const zval *given, const place *place, int32_t *out) {
  char name[PHP_APNS_SHOWN];
  zend_long number = 0;
  if (!given || Z_TYPE_P(given) == IS_NULL) return true;
  if (!take_number(given, place, "int or null", &number)) return false;
  if (number < -1 || number == 0 || number > INT32_MAX) {
    zend_value_error("%s must be between 1 and %d, -1 or null, " ZEND_LONG_FMT " given",
                     name_of(place, name), INT32_MAX, number);
    return false;
  }
  *out = (int32_t)number;
  return true;
}

/* NULL or null: not given. */
static bool take_priority(const zval *given, const place *place, uint8_t *out) {
  int32_t number = 0;
  zend_long plain = 0;
  if (!given || Z_TYPE_P(given) == IS_NULL) return true;
  if (php_apns_is_case(&php_apns_priorities, given, &number)) {
    *out = (uint8_t)number;
    return true;
  }
  if (!take_number(given, place, "Apns\\Priority, int or null", &plain)) return false;
  if (plain < 1 || plain > UINT8_MAX) {
    php_apns_refuse(APNS_REJECT_PROCESSING_ERROR, "priority is " ZEND_LONG_FMT ", not 5 or 10",
                    plain);
    return false;
  }
  *out = (uint8_t)plain;
  return true;
}

/* NULL or null: as the payload has it. */
static bool take_push_type(const zval *given, const place *place, uint8_t *out) {
  char name[PHP_APNS_SHOWN];
  int32_t number = 0;
  if (!given || Z_TYPE_P(given) == IS_NULL) return true;
  if (!php_apns_read_case(&php_apns_push_types, given, name_of(place, name), &number)) return false;
  *out = (uint8_t)number;
  return true;
}

/* Sends it, in slices where the window is full; handlers that throw end that. */
static apns_status_t take(php_apns_tracked *tracked, const apns_notification_t *notification,
                          const apns_payload_t *builder, uint32_t flags, uint32_t *identifier,
                          apns_error_t *error) {
  const int64_t deadline = php_apns_deadline(tracked, tracked->send_ms);
  for (;;) {
    const int64_t began = php_apns_now_ms();
    const apns_status_t status =
        builder ? apns_session_send_payload(tracked->session, notification, builder, flags,
                                            identifier, NULL, error)
                : apns_session_send(tracked->session, notification, flags, identifier, error);
    if (status != APNS_ERR_TIMEOUT || tracked->never_waits) return status;
    if (!php_apns_interrupt()) return status;
    if (php_apns_now_ms() - began < PHP_APNS_SLICE_MS || php_apns_now_ms() >= deadline)
      return status;
  }
}

/* Sends it and waits for its outcome, in slices. A handler that throws ends the wait. */
static apns_status_t take_and_wait(php_apns_tracked *tracked, const apns_notification_t *given,
                                   int32_t timeout_ms, apns_event_t *event, apns_error_t *error) {
  const int64_t deadline = php_apns_deadline(tracked, timeout_ms);
  for (;;) {
    const int64_t began = php_apns_now_ms();
    const int32_t left = deadline > began ? (int32_t)MIN(deadline - began, INT32_MAX) : 0;
    const apns_status_t status = apns_session_push(tracked->session, given, left, event, error);
    const int64_t now = php_apns_now_ms();
    php_apns_provider_resume(tracked->provider);
    if (status == APNS_ERR_AGAIN) {
      given = NULL; /* it was taken */
    } else if (status != APNS_ERR_TIMEOUT || now - began < PHP_APNS_SLICE_MS || now >= deadline) {
      return status;
    }
    if (php_apns_interrupt()) continue;
    return given ? status : apns_session_push(tracked->session, NULL, 0, event, error);
  }
}

/* The outcome of what a push took. */
static void return_event(php_apns_tracked *tracked, php_apns_record *record,
                         const apns_event_t *event, zval *out) {
  php_apns_record_tell(record, event);
  tracked->holds_back = false;
  if (EG(exception)) {
    /* Keep it for nextEvent(): this call throws. */
    php_apns_records_append(&tracked->own, record);
    return;
  }
  php_apns_event_new(record, out);
  php_apns_record_free(record);
}

/* Here 0 is what C has a constant for. */
static void name_once(apns_error_t *error) {
  static const char once[] = "APNS_EXPIRY_ONCE (-1)";
  char *found = strstr(error->message, once);
  if (!found) return;
  *found++ = '0';
  memmove(found, found + sizeof once - 2, strlen(found + sizeof once - 2) + 1);
}

/* The identifier; 0, and an exception. With `event_out` it waits for the outcome. */
static uint32_t send_push(zend_object *object, const push *push, bool more, int32_t timeout_ms,
                          zval *event_out) {
  apns_notification_t notification = APNS_NOTIFICATION_INIT;
  apns_error_t error = APNS_ERROR_INIT;
  uint8_t token[APNS_TOKEN_MAX];
  if (has_token(push) && !php_apns_token_bytes(push->token, token, &notification.token_length)) {
    return 0;
  }
  if (!take_headers(push, &notification)) return 0;
  /* May run the script's code, so examine the session only afterwards. */
  php_apns_content content;
  if (!php_apns_content_from(&content, push->payload)) return 0;
  if (event_out && !php_apns_content_write(&content)) return 0;
  uint32_t identifier = 0;
  php_apns_record *record = NULL;
  php_apns_tracked *tracked = php_apns_session_tracked(object);
  if (tracked && php_apns_tracked_is_full(tracked)) {
    error.status = APNS_ERR_FULL;
    snprintf(error.message, sizeof error.message,
             "%zu outcomes of earlier requests are waiting: take them with leftEvents()",
             tracked->left.count);
    php_apns_throw(&error);
  } else if (tracked) {
    record =
        php_apns_record_new(token, notification.token_length, push->user_data, tracked->request);
  }
  if (record) {
    if (notification.token_length > 0) notification.token = token;
    notification.user_data = record;
    record->tracked = tracked;
    php_apns_records_append(&tracked->sent, record);
    notification.expiry = push->expiry;
    notification.deadline_ms = push->deadline_ms;
    notification.payload = content.builder ? NULL : ZSTR_VAL(content.json);
    notification.payload_length = content.builder ? 0 : ZSTR_LEN(content.json);
    const uint32_t flags = more ? APNS_SEND_MORE : 0;
    const int64_t began = php_apns_now_ms();
    apns_event_t event = APNS_EVENT_INIT;
    apns_status_t status =
        event_out ? take_and_wait(tracked, &notification, timeout_ms, &event, &error)
                  : take(tracked, &notification, content.builder, flags, &identifier, &error);
    if (status != APNS_OK || event_out) php_apns_records_remove(&tracked->sent, record);
    if (status == APNS_OK && event_out) {
      identifier = event.identifier;
      return_event(tracked, record, &event, event_out);
    } else if (status == APNS_OK) {
      tracked->holds_back = more;
      /* Write what the slice was too short for; the next call meets any failure again. */
      if (!more && !tracked->never_waits && php_apns_now_ms() - began >= PHP_APNS_SLICE_MS)
        php_apns_flush(tracked, NULL);
    } else {
      identifier = 0;
      php_apns_record_free(record);
      php_apns_content_name_key(&content, &error);
      name_once(&error);
      php_apns_throw_after(&error);
    }
    php_apns_provider_resume(tracked->provider);
    php_apns_log_tell(tracked);
    php_apns_tracked_sweep(tracked);
  }
  if (content.json) zend_string_release(content.json);
  return identifier;
}

/* The parameters that send() and push() have in common, of which some have other places. */
static bool take_parameters(push *push, zval *expiry, zval *priority, zval *push_type,
                            zval *deadline, const char *method, uint32_t expiry_argument,
                            uint32_t push_type_argument) {
  const place at_expiry = {method, expiry_argument, "expiry"};
  const place at_priority = {method, expiry_argument + 1, "priority"};
  const place at_push_type = {method, push_type_argument, "pushType"};
  const place at_deadline = {method, push_type_argument + 4, "deadlineMs"};
  return take_expiry(expiry, &at_expiry, &push->expiry) &&
         take_priority(priority, &at_priority, &push->priority) &&
         take_push_type(push_type, &at_push_type, &push->push_type) &&
         take_deadline(deadline, &at_deadline, &push->deadline_ms);
}

PHP_METHOD(Apns_Session, send) {
  push push = {0};
  zval *expiry = NULL, *priority = NULL, *push_type = NULL, *deadline = NULL;
  bool more = false;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "zz|zzzbS!zS!S!S!z", &push.token, &push.payload,
                            &push.user_data, &expiry, &priority, &more, &push.topic, &push_type,
                            &push.collapse_id, &push.apns_id, &push.channel_id,
                            &deadline) == FAILURE) {
    return;
  }
  if (!take_parameters(&push, expiry, priority, push_type, deadline, "send", 4, 8)) return;
  uint32_t identifier = send_push(Z_OBJ_P(ZEND_THIS), &push, more, 0, NULL);
  if (identifier != 0) RETURN_LONG(identifier);
}

PHP_METHOD(Apns_Session, push) {
  push push = {0};
  zval *expiry = NULL, *priority = NULL, *push_type = NULL, *deadline = NULL;
  zend_long given = 0;
  bool is_usual = true;
  int32_t timeout_ms;
  ZEND_PARSE_PARAMETERS_START(2, 12)
  Z_PARAM_ZVAL(push.token)
  Z_PARAM_ZVAL(push.payload)
  Z_PARAM_OPTIONAL
  Z_PARAM_LONG_OR_NULL(given, is_usual)
  Z_PARAM_ZVAL(push.user_data)
  Z_PARAM_ZVAL(expiry)
  Z_PARAM_ZVAL(priority)
  Z_PARAM_STR_OR_NULL(push.topic)
  Z_PARAM_ZVAL(push_type)
  Z_PARAM_STR_OR_NULL(push.collapse_id)
  Z_PARAM_STR_OR_NULL(push.apns_id)
  Z_PARAM_STR_OR_NULL(push.channel_id)
  Z_PARAM_ZVAL(deadline)
  ZEND_PARSE_PARAMETERS_END();
  if (!php_apns_timeout(is_usual ? NULL : &given, 3, &timeout_ms)) return;
  if (!take_parameters(&push, expiry, priority, push_type, deadline, "push", 5, 8)) return;
  send_push(Z_OBJ_P(ZEND_THIS), &push, false, timeout_ms, return_value);
}

typedef struct batch {
  zend_object *session;
  size_t taken;
} batch;

/* The fields that a notification in an array may have. */
enum {
  TOKEN,
  PAYLOAD,
  USER_DATA,
  EXPIRY,
  PRIORITY,
  PUSH_TYPE,
  TOPIC,
  COLLAPSE_ID,
  APNS_ID,
  CHANNEL_ID,
  DEADLINE,
  NONE
};
static const char *const fields[] = {
    [TOKEN] = "token",          [PAYLOAD] = "payload",        [USER_DATA] = "userData",
    [EXPIRY] = "expiry",        [PRIORITY] = "priority",      [PUSH_TYPE] = "pushType",
    [TOPIC] = "topic",          [COLLAPSE_ID] = "collapseId", [APNS_ID] = "apnsId",
    [CHANNEL_ID] = "channelId", [DEADLINE] = "deadlineMs",
};

static const char *field_at(const void *names, size_t index) {
  return index < NONE ? ((const char *const *)names)[index] : NULL;
}

static size_t find_field(const zend_string *name) {
  size_t index = 0;
  while (index < NONE &&
         (!name || !zend_string_equals_cstr(name, fields[index], strlen(fields[index])))) {
    index++;
  }
  return index;
}

/* Finds the fields; false, and an exception. */
static bool find_fields(HashTable *table, zval *found[NONE]) {
  zend_ulong number;
  zend_string *name;
  zval *value;
  ZEND_HASH_FOREACH_KEY_VAL(table, number, name, value) {
    const size_t field = find_field(name);
    if (field == NONE) {
      php_apns_unknown_option(name, number, "a notification", field_at, fields);
      return false;
    }
    ZVAL_DEREF(value);
    found[field] = Z_TYPE_P(value) == IS_NULL ? NULL : value;
  }
  ZEND_HASH_FOREACH_END();
  return true;
}

static bool take_string(zval *const found[NONE], size_t field, zend_string **out) {
  zval *value = found[field];
  if (!value) return true;
  const place place = {NULL, 0, fields[field]};
  if (Z_TYPE_P(value) != IS_STRING) return wrong_type(&place, "string", value);
  /* Kept, since the script's own code may remove it. */
  *out = zend_string_copy(Z_STR_P(value));
  return true;
}

static bool send_element(batch *batch, zval *element) {
  push push = {0};
  zval *found[NONE] = {NULL};
  zval absent;
  ZVAL_NULL(&absent);
  ZVAL_DEREF(element);
  if (Z_TYPE_P(element) != IS_ARRAY) {
    zend_type_error("a notification must be of type array, %s given", zend_zval_type_name(element));
    return false;
  }
  /* Kept, since the script's own code may remove it. */
  zval held;
  ZVAL_COPY(&held, element);
  const place at_expiry = {NULL, 0, fields[EXPIRY]}, at_priority = {NULL, 0, fields[PRIORITY]},
              at_push_type = {NULL, 0, fields[PUSH_TYPE]},
              at_deadline = {NULL, 0, fields[DEADLINE]};
  bool is_sent = find_fields(Z_ARRVAL(held), found);
  push.token = found[TOKEN] ? found[TOKEN] : &absent;
  push.payload = found[PAYLOAD] ? found[PAYLOAD] : &absent;
  push.user_data = found[USER_DATA];
  is_sent = is_sent && take_expiry(found[EXPIRY], &at_expiry, &push.expiry) &&
            take_priority(found[PRIORITY], &at_priority, &push.priority) &&
            take_push_type(found[PUSH_TYPE], &at_push_type, &push.push_type) &&
            take_deadline(found[DEADLINE], &at_deadline, &push.deadline_ms) &&
            take_string(found, TOPIC, &push.topic) &&
            take_string(found, COLLAPSE_ID, &push.collapse_id) &&
            take_string(found, APNS_ID, &push.apns_id) &&
            take_string(found, CHANNEL_ID, &push.channel_id) &&
            send_push(batch->session, &push, true, 0, NULL) != 0;
  batch->taken += is_sent;
  if (push.topic) zend_string_release(push.topic);
  if (push.collapse_id) zend_string_release(push.collapse_id);
  if (push.apns_id) zend_string_release(push.apns_id);
  if (push.channel_id) zend_string_release(push.channel_id);
  zval_ptr_dtor(&held);
  return is_sent && !EG(exception);
}

static int send_next(zend_object_iterator *iterator, void *context) {
  zval *element = iterator->funcs->get_current_data(iterator);
  if (!element || EG(exception)) return ZEND_HASH_APPLY_STOP;
  return send_element((batch *)context, element) ? ZEND_HASH_APPLY_KEEP : ZEND_HASH_APPLY_STOP;
}

PHP_METHOD(Apns_Session, sendMany) {
  zval *list;
  bool more = false;
  batch batch = {Z_OBJ_P(ZEND_THIS), 0};
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "z|b", &list, &more) == FAILURE) return;
  if (!php_apns_session_tracked(batch.session)) return;
  if (Z_TYPE_P(list) == IS_ARRAY) {
    zval *element;
    ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(list), element) {
      if (!send_element(&batch, element)) break;
    }
    ZEND_HASH_FOREACH_END();
  } else if (Z_TYPE_P(list) == IS_OBJECT &&
             instanceof_function(Z_OBJCE_P(list), zend_ce_traversable)) {
    spl_iterator_apply(list, send_next, &batch);
  } else {
    zend_argument_type_error(1, "must be of type iterable, %s given", zend_zval_type_name(list));
    return;
  }
  php_apns_tracked *tracked = php_apns_session_tracked(batch.session);
  if (tracked && !more && tracked->holds_back) {
    /* Write the queued notifications even if an exception ended the loop. A failure loses nothing,
       and the next call meets it again. */
    tracked->holds_back = php_apns_flush(tracked, NULL) != APNS_OK;
  }
  php_apns_tell_taken(batch.taken);
  RETURN_LONG((zend_long)batch.taken);
}
