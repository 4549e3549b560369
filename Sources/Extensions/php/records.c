/* The record of each notification, kept until the script takes its outcome. */
#include "php_apns.h"

/* ---- User data that outlives a request -------------------------------------- */

/* Deeper arrays are refused: they may contain themselves. */
#define DEEPEST 64

static void forget(zval *kept) {
  if (Z_TYPE_P(kept) == IS_STRING) {
    zend_string_release_ex(Z_STR_P(kept), true);
  } else if (Z_TYPE_P(kept) == IS_ARRAY) {
    zval *element;
    ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(kept), element) { forget(element); }
    ZEND_HASH_FOREACH_END();
    zend_hash_destroy(Z_ARRVAL_P(kept));
    pefree(Z_ARRVAL_P(kept), true);
  }
  ZVAL_UNDEF(kept);
}

/* False: it contains something that cannot outlive a request. */
static bool keep(zval *kept, zval *given, int depth) {
  ZVAL_DEREF(given);
  ZVAL_NULL(kept);
  switch (Z_TYPE_P(given)) {
    case IS_NULL:
    case IS_FALSE:
    case IS_TRUE:
    case IS_LONG:
    case IS_DOUBLE:
      ZVAL_COPY_VALUE(kept, given);
      return true;
    case IS_STRING:
      ZVAL_STR(kept, zend_string_init(Z_STRVAL_P(given), Z_STRLEN_P(given), true));
      return true;
    case IS_ARRAY:
      break;
    default:
      return false;
  }
  if (depth == 0) return false;
  HashTable *table = pemalloc(sizeof *table, true);
  zend_hash_init(table, zend_hash_num_elements(Z_ARRVAL_P(given)), NULL, NULL, true);
  ZVAL_ARR(kept, table);
  zend_ulong index;
  zend_string *key;
  zval *element;
  bool is_fine = true;
  ZEND_HASH_FOREACH_KEY_VAL(Z_ARRVAL_P(given), index, key, element) {
    zval copy;
    is_fine = keep(&copy, element, depth - 1);
    if (!is_fine) {
      forget(&copy);
      break;
    }
    if (key) {
      zend_string *name = zend_string_init(ZSTR_VAL(key), ZSTR_LEN(key), true);
      zend_hash_add_new(table, name, &copy);
      zend_string_release_ex(name, true);
    } else {
      zend_hash_index_add_new(table, index, &copy);
    }
  }
  ZEND_HASH_FOREACH_END();
  return is_fine;
}

static void recall(zval *out, const zval *kept) {
  if (Z_TYPE_P(kept) == IS_STRING) {
    ZVAL_STRINGL(out, Z_STRVAL_P(kept), Z_STRLEN_P(kept));
  } else if (Z_TYPE_P(kept) == IS_ARRAY) {
    zend_ulong index;
    zend_string *key;
    zval *element;
    array_init_size(out, zend_hash_num_elements(Z_ARRVAL_P(kept)));
    ZEND_HASH_FOREACH_KEY_VAL(Z_ARRVAL_P(kept), index, key, element) {
      zval copy;
      recall(&copy, element);
      if (key) {
        zend_hash_str_add(Z_ARRVAL_P(out), ZSTR_VAL(key), ZSTR_LEN(key), &copy);
      } else {
        zend_hash_index_add(Z_ARRVAL_P(out), index, &copy);
      }
    }
    ZEND_HASH_FOREACH_END();
  } else {
    ZVAL_COPY_VALUE(out, kept);
  }
}

/* ---- Records ----------------------------------------------------------------- */

php_apns_record *php_apns_record_new(const uint8_t *token, size_t token_length, zval *user_data,
                                     php_apns_request *request) {
  php_apns_record *record = pemalloc(sizeof *record + token_length, true);
  memset(record, 0, sizeof *record);
  memcpy(record->token, token, token_length);
  record->token_length = (uint8_t)token_length;
  ZVAL_NULL(&record->user_data);
  if (request) {
    record->request = request;
    request->references++;
    if (user_data && !keep(&record->user_data, user_data, DEEPEST)) {
      php_apns_record_free(record);
      zend_type_error(
          "user data of a persistent session outlives the request, so it must be null, bool, int, "
          "float, string, "
          "or arrays of these, nested at most %d deep",
          DEEPEST);
      return NULL;
    }
  } else if (user_data) {
    ZVAL_COPY_DEREF(&record->user_data, user_data);
  }
  return record;
}

void php_apns_record_free(php_apns_record *record) {
  if (record->response) pefree(record->response, true);
  if (record->request) {
    forget(&record->user_data);
    php_apns_request_release(record->request);
    pefree(record, true);
    return;
  }
  /* The record is freed first, as this may run the script's destructor. */
  zval user_data;
  ZVAL_COPY_VALUE(&user_data, &record->user_data);
  pefree(record, true);
  zval_ptr_dtor(&user_data);
}

void php_apns_record_tell(php_apns_record *record, const apns_event_t *event) {
  record->identifier = event->identifier;
  record->kind = event->kind;
  record->reject = event->reject;
  if (event->http_status != 0 || event->reason_text[0] != '\0') {
    record->response = pemalloc(sizeof *record->response, true);
    record->response->timestamp = event->timestamp;
    record->response->retry_after = event->retry_after_s;
    record->response->reason = event->reason;
    record->response->http_status = event->http_status;
    memcpy(record->response->apns_id, event->apns_id, sizeof event->apns_id);
    memcpy(record->response->unique_id, event->unique_id, sizeof event->unique_id);
    memcpy(record->response->reason_text, event->reason_text, sizeof event->reason_text);
  }
}

void php_apns_record_user_data(const php_apns_record *record, zval *out) {
  if (record->request) {
    recall(out, &record->user_data);
  } else {
    ZVAL_COPY(out, &record->user_data);
  }
}

void php_apns_record_forget(void *forgotten) {
  php_apns_record *record = forgotten;
  php_apns_records_remove(&record->tracked->sent, record);
  php_apns_records_append(&record->tracked->dead, record);
}

void php_apns_records_append(php_apns_records *records, php_apns_record *record) {
  record->before = records->last;
  record->after = NULL;
  *(records->last ? &records->last->after : &records->first) = record;
  records->last = record;
  records->count++;
}

void php_apns_records_remove(php_apns_records *records, php_apns_record *record) {
  *(record->before ? &record->before->after : &records->first) = record->after;
  *(record->after ? &record->after->before : &records->last) = record->before;
  record->before = record->after = NULL;
  records->count--;
}

void php_apns_records_free(php_apns_records *records) {
  php_apns_record *record;
  while ((record = records->first)) {
    php_apns_records_remove(records, record);
    php_apns_record_free(record);
  }
}

/* ---- Requests ------------------------------------------------------------------ */

php_apns_request *php_apns_request_new(const char *name, size_t length) {
  php_apns_request *request = pemalloc(sizeof *request, true);
  request->references = 1;
  request->name = zend_string_init(name, length, true);
  return request;
}

void php_apns_request_release(php_apns_request *request) {
  if (!request || --request->references > 0) return;
  zend_string_release_ex(request->name, true);
  pefree(request, true);
}
