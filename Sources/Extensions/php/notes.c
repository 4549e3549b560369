/* What is kept of each notification, until its outcome is handed out. */
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

/* False: it holds what cannot outlive a request. */
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

/* ---- Notes ------------------------------------------------------------------- */

php_apns_note *php_apns_note_new(const uint8_t *token, size_t token_length, zval *user_data,
                                 php_apns_request *request) {
  php_apns_note *note = pemalloc(sizeof *note + token_length, true);
  memset(note, 0, sizeof *note);
  memcpy(note->token, token, token_length);
  note->token_length = (uint8_t)token_length;
  ZVAL_NULL(&note->user_data);
  if (request) {
    note->request = request;
    request->references++;
    if (user_data && !keep(&note->user_data, user_data, DEEPEST)) {
      php_apns_note_free(note);
      zend_type_error(
          "user data of a persistent session outlives the request: null, bool, int, float, string, "
          "or arrays of these, nested at most %d deep",
          DEEPEST);
      return NULL;
    }
  } else if (user_data) {
    ZVAL_COPY_DEREF(&note->user_data, user_data);
  }
  return note;
}

void php_apns_note_free(php_apns_note *note) {
  if (note->answer) pefree(note->answer, true);
  if (note->request) {
    forget(&note->user_data);
    php_apns_request_release(note->request);
    pefree(note, true);
    return;
  }
  /* May run the script's destructor, which must not meet the note. */
  zval user_data;
  ZVAL_COPY_VALUE(&user_data, &note->user_data);
  pefree(note, true);
  zval_ptr_dtor(&user_data);
}

void php_apns_note_user_data(const php_apns_note *note, zval *out) {
  if (note->request) {
    recall(out, &note->user_data);
  } else {
    ZVAL_COPY(out, &note->user_data);
  }
}

void php_apns_notes_append(php_apns_notes *notes, php_apns_note *note) {
  note->before = notes->last;
  note->after = NULL;
  *(notes->last ? &notes->last->after : &notes->first) = note;
  notes->last = note;
  notes->count++;
}

void php_apns_notes_remove(php_apns_notes *notes, php_apns_note *note) {
  *(note->before ? &note->before->after : &notes->first) = note->after;
  *(note->after ? &note->after->before : &notes->last) = note->before;
  note->before = note->after = NULL;
  notes->count--;
}

void php_apns_notes_free(php_apns_notes *notes) {
  php_apns_note *note;
  while ((note = notes->first)) {
    php_apns_notes_remove(notes, note);
    php_apns_note_free(note);
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
