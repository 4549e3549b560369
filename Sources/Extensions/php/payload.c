#include "php_apns.h"

#include "ext/json/php_json.h"
#include "zend_exceptions.h"
#include "zend_smart_str.h"

typedef struct payload_object {
  apns_payload_t *payload;
  zend_object std;
} payload_object;

PHP_APNS_OBJECT(payload_object)

/* NULL, and an exception, if its constructor did not run. */
static apns_payload_t *payload_of(zval *object) {
  payload_object *own = of(Z_OBJ_P(object));
  if (!own->payload) php_apns_throw_unconstructed(&own->std);
  return own->payload;
}

/* ---- Apple's keys ----------------------------------------------------------- */

/* LOCALIZED: a string, or in a Live Activity an array that the device makes a text of. */
typedef enum value_type { STRING, STRINGS, INTEGER, DOUBLE, OBJECT, LOCALIZED } value_type;

static const struct {
  const char *name;
  apns_payload_key_t key;
  value_type type;
  bool is_of_alert;
} keys[] = {
    {"alert", APNS_KEY_ALERT, STRING, false},
    {"title", APNS_KEY_TITLE, LOCALIZED, true},
    {"subtitle", APNS_KEY_SUBTITLE, STRING, true},
    {"body", APNS_KEY_BODY, LOCALIZED, true},
    {"title-loc-key", APNS_KEY_TITLE_LOC_KEY, STRING, true},
    {"subtitle-loc-key", APNS_KEY_SUBTITLE_LOC_KEY, STRING, true},
    {"loc-key", APNS_KEY_LOC_KEY, STRING, true},
    {"action-loc-key", APNS_KEY_ACTION_LOC_KEY, STRING, true},
    {"launch-image", APNS_KEY_LAUNCH_IMAGE, STRING, true},
    {"title-loc-args", APNS_KEY_TITLE_LOC_ARGS, STRINGS, true},
    {"subtitle-loc-args", APNS_KEY_SUBTITLE_LOC_ARGS, STRINGS, true},
    {"loc-args", APNS_KEY_LOC_ARGS, STRINGS, true},
    {"sound", APNS_KEY_SOUND, STRING, false},
    {"category", APNS_KEY_CATEGORY, STRING, false},
    {"thread-id", APNS_KEY_THREAD_ID, STRING, false},
    {"target-content-id", APNS_KEY_TARGET_CONTENT_ID, STRING, false},
    {"interruption-level", APNS_KEY_INTERRUPTION_LEVEL, STRING, false},
    {"filter-criteria", APNS_KEY_FILTER_CRITERIA, STRING, false},
    {"url-args", APNS_KEY_URL_ARGS, STRINGS, false},
    {"badge", APNS_KEY_BADGE, INTEGER, false},
    {"content-available", APNS_KEY_CONTENT_AVAILABLE, INTEGER, false},
    {"mutable-content", APNS_KEY_MUTABLE_CONTENT, INTEGER, false},
    {"relevance-score", APNS_KEY_RELEVANCE_SCORE, DOUBLE, false},
    {"timestamp", APNS_KEY_TIMESTAMP, INTEGER, false},
    {"event", APNS_KEY_EVENT, STRING, false},
    {"content-state", APNS_KEY_CONTENT_STATE, OBJECT, false},
    {"stale-date", APNS_KEY_STALE_DATE, INTEGER, false},
    {"dismissal-date", APNS_KEY_DISMISSAL_DATE, INTEGER, false},
    {"attributes-type", APNS_KEY_ATTRIBUTES_TYPE, STRING, false},
    {"attributes", APNS_KEY_ATTRIBUTES, OBJECT, false},
    {"input-push-token", APNS_KEY_INPUT_PUSH_TOKEN, INTEGER, false},
    {"input-push-channel", APNS_KEY_INPUT_PUSH_CHANNEL, STRING, false},
    {"content-changed", APNS_KEY_CONTENT_CHANGED, INTEGER, false},
    /* "sound" among the parts of an alert; next to the alert, "sound" is the key above. */
    {"alert-sound", APNS_KEY_ALERT_SOUND, STRING, true},
};
static const size_t key_count = sizeof keys / sizeof *keys;
/* The last. */
static const size_t sound_of_alert = sizeof keys / sizeof *keys - 1;

static const char *key_at(const void *names, size_t index) {
  (void)names;
  return index < key_count ? keys[index].name : NULL;
}

/* The key's index; key_count, and an exception, if Apple does not have the key. */
static size_t find_key(const zend_string *name) {
  size_t index = 0;
  while (index < key_count &&
         !zend_string_equals_cstr(name, keys[index].name, strlen(keys[index].name))) {
    index++;
  }
  if (index == key_count) {
    const char *nearest = php_apns_nearest(ZSTR_VAL(name), key_at, NULL);
    char shown[PHP_APNS_SHOWN];
    php_apns_throw_argument("Apple has no key \"%s\"%s%s%s", php_apns_quoted(ZSTR_VAL(name), shown),
                            nearest ? "; did you mean \"" : "", nearest ? nearest : "",
                            nearest ? "\"?" : "");
  }
  return index;
}

static bool wrong_type(size_t key, const char *wanted, const zval *value) {
  zend_type_error("\"%s\" must be of type %s, %s given", keys[key].name, wanted,
                  zend_zval_type_name(value));
  return false;
}

static bool set_texts(apns_payload_t *payload, size_t key, HashTable *list) {
  apns_error_t error = APNS_ERROR_INIT;
  size_t count = zend_hash_num_elements(list), index = 0;
  const char **texts = safe_emalloc(count, sizeof *texts, sizeof *texts);
  size_t *lengths = safe_emalloc(count, sizeof *lengths, sizeof *lengths);
  zval *value;
  bool is_fine = true;
  ZEND_HASH_FOREACH_VAL(list, value) {
    ZVAL_DEREF(value);
    if (Z_TYPE_P(value) != IS_STRING) {
      is_fine = wrong_type(key, "array of string", value);
      break;
    }
    texts[index] = Z_STRVAL_P(value);
    lengths[index++] = Z_STRLEN_P(value);
  }
  ZEND_HASH_FOREACH_END();
  if (is_fine) {
    is_fine = php_apns_is_well(
        apns_payload_set_strings(payload, keys[key].key, texts, lengths, count, &error), &error);
  }
  efree(texts);
  efree(lengths);
  return is_fine;
}

#define ENCODING                                                                                   \
  (PHP_JSON_UNESCAPED_SLASHES | PHP_JSON_UNESCAPED_UNICODE | PHP_JSON_UNESCAPED_LINE_TERMINATORS | \
   PHP_JSON_PRESERVE_ZERO_FRACTION)

static void append_key(smart_str *path, const zend_string *name, zend_ulong number) {
  if (!name) {
    smart_str_append_printf(path, "[" ZEND_ULONG_FMT "]", number);
  } else if (path->s == NULL || ZSTR_LEN(path->s) < 100) {
    smart_str_append_printf(path, "['%.*s']", (int)MIN(ZSTR_LEN(name), 40), ZSTR_VAL(name));
  }
}

/* Appends the path to the first text that is not UTF-8; false if all text is UTF-8. */
static bool find_unencodable(zval *value, smart_str *path, int depth) {
  ZVAL_DEREF(value);
  if (Z_TYPE_P(value) == IS_STRING) {
    smart_str json = {0};
    php_json_encode(&json, value, ENCODING);
    smart_str_free(&json);
    return JSON_G(error_code) != PHP_JSON_ERROR_NONE;
  }
  if (Z_TYPE_P(value) != IS_ARRAY || depth > 32) return false;
  zend_ulong number;
  zend_string *name;
  zval *element;
  ZEND_HASH_FOREACH_KEY_VAL(Z_ARRVAL_P(value), number, name, element) {
    const size_t length = path->s ? ZSTR_LEN(path->s) : 0;
    append_key(path, name, number);
    if (find_unencodable(element, path, depth + 1)) return true;
    if (path->s) ZSTR_LEN(path->s) = length;
  }
  ZEND_HASH_FOREACH_END();
  return false;
}

/* NULL, and an exception. */
static zend_string *encode(zval *value) {
  smart_str json = {0};
  php_json_encode(&json, value, ENCODING);
  if (EG(exception) || JSON_G(error_code) != PHP_JSON_ERROR_NONE || !json.s) {
    smart_str_free(&json);
    if (!EG(exception)) {
      zval function, message;
      ZVAL_STRING(&function, "json_last_error_msg");
      ZVAL_UNDEF(&message);
      call_user_function(NULL, NULL, &function, &message, 0, NULL);
      smart_str path = {0};
      const bool is_found = find_unencodable(value, &path, 0) && path.s;
      smart_str_0(&path);
      php_apns_refuse(APNS_REJECT_PROCESSING_ERROR, "it cannot be encoded as JSON: %s%s%s",
                      Z_TYPE(message) == IS_STRING ? Z_STRVAL(message) : "unknown error",
                      is_found ? ", at " : "", is_found ? ZSTR_VAL(path.s) : "");
      smart_str_free(&path);
      zval_ptr_dtor(&message);
      zval_ptr_dtor(&function);
    }
    return NULL;
  }
  smart_str_0(&json);
  return json.s;
}

/* An array with names, or an empty one. */
static bool set_object(apns_payload_t *payload, size_t key, zval *value) {
  apns_error_t error = APNS_ERROR_INIT;
  if (Z_TYPE_P(value) != IS_ARRAY) return wrong_type(key, "array", value);
  if (!zend_hash_num_elements(Z_ARRVAL_P(value))) {
    return php_apns_is_well(apns_payload_set_json(payload, keys[key].key, "{}", 2, &error), &error);
  }
  /* May run the script's jsonSerialize(). */
  zend_string *json = encode(value);
  if (!json) return false;
  bool is_fine = php_apns_is_well(
      apns_payload_set_json(payload, keys[key].key, ZSTR_VAL(json), ZSTR_LEN(json), &error),
      &error);
  zend_string_release(json);
  return is_fine;
}

static bool set_value(apns_payload_t *payload, size_t key, zval *value) {
  apns_error_t error = APNS_ERROR_INIT;
  ZVAL_DEREF(value);
  if (keys[key].type == OBJECT || (keys[key].type == LOCALIZED && Z_TYPE_P(value) == IS_ARRAY)) {
    return set_object(payload, key, value);
  }
  switch (keys[key].type) {
    case STRING:
    case LOCALIZED:
      if (Z_TYPE_P(value) == IS_NULL && keys[key].key == APNS_KEY_ACTION_LOC_KEY) {
        return php_apns_is_well(apns_payload_set_string(payload, keys[key].key, NULL, 0, &error),
                                &error);
      }
      if (Z_TYPE_P(value) != IS_STRING) return wrong_type(key, "string", value);
      return php_apns_is_well(apns_payload_set_string(payload, keys[key].key, Z_STRVAL_P(value),
                                                      Z_STRLEN_P(value), &error),
                              &error);
    case STRINGS:
      if (Z_TYPE_P(value) != IS_ARRAY) return wrong_type(key, "array", value);
      return set_texts(payload, key, Z_ARRVAL_P(value));
    case INTEGER:
      if (Z_TYPE_P(value) == IS_TRUE || Z_TYPE_P(value) == IS_FALSE) {
        return php_apns_is_well(
            apns_payload_set_integer(payload, keys[key].key, Z_TYPE_P(value) == IS_TRUE, &error),
            &error);
      }
      if (Z_TYPE_P(value) != IS_LONG) return wrong_type(key, "int", value);
      return php_apns_is_well(
          apns_payload_set_integer(payload, keys[key].key, Z_LVAL_P(value), &error), &error);
    default:
      if (Z_TYPE_P(value) != IS_LONG && Z_TYPE_P(value) != IS_DOUBLE) {
        return wrong_type(key, "float", value);
      }
      return php_apns_is_well(
          apns_payload_set_double(payload, keys[key].key, zval_get_double(value), &error), &error);
  }
}

static bool set_alert(apns_payload_t *payload, HashTable *parts) {
  zend_string *name;
  zval *value;
  ZEND_HASH_FOREACH_STR_KEY_VAL(parts, name, value) {
    if (!name) {
      php_apns_throw_argument("the parts of an alert must have names");
      return false;
    }
    size_t key = find_key(name);
    if (key == key_count) return false;
    if (keys[key].key == APNS_KEY_SOUND) key = sound_of_alert;
    if (!keys[key].is_of_alert) {
      php_apns_throw_argument("\"%s\" is not a part of an alert", ZSTR_VAL(name));
      return false;
    }
    if (!set_value(payload, key, value)) return false;
  }
  ZEND_HASH_FOREACH_END();
  return true;
}

/* ---- Values of the app's own -------------------------------------------------- */

static bool add_value(zval *object, zend_string *name, zval *value) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_payload_t *payload = payload_of(object);
  if (!payload) return false;
  ZVAL_DEREF(value);
  const char *text = ZSTR_VAL(name);
  size_t length = ZSTR_LEN(name);
  switch (Z_TYPE_P(value)) {
    case IS_NULL:
      return php_apns_is_well(apns_payload_add_null(payload, text, length, &error), &error);
    case IS_TRUE:
    case IS_FALSE:
      return php_apns_is_well(
          apns_payload_add_boolean(payload, text, length, Z_TYPE_P(value) == IS_TRUE, &error),
          &error);
    case IS_LONG:
      return php_apns_is_well(
          apns_payload_add_integer(payload, text, length, Z_LVAL_P(value), &error), &error);
    case IS_DOUBLE:
      return php_apns_is_well(
          apns_payload_add_double(payload, text, length, Z_DVAL_P(value), &error), &error);
    case IS_STRING:
      return php_apns_is_well(apns_payload_add_string(payload, text, length, Z_STRVAL_P(value),
                                                      Z_STRLEN_P(value), &error),
                              &error);
    default:
      break;
  }
  /* May run the script's jsonSerialize(). */
  zend_string *json = encode(value);
  if (!json) return false;
  bool is_fine = php_apns_is_well(
      apns_payload_add_json(payload, text, length, ZSTR_VAL(json), ZSTR_LEN(json), &error), &error);
  zend_string_release(json);
  return is_fine;
}

/* ---- Writing ------------------------------------------------------------------- */

static zend_string *write_payload(const apns_payload_t *payload, size_t *cut) {
  apns_error_t error = APNS_ERROR_INIT;
  size_t length = 0, room = 512;
  zend_string *json = zend_string_alloc(room, false);
  apns_status_t status = apns_payload_write(payload, ZSTR_VAL(json), room, &length, cut, &error);
  if (status == APNS_ERR_BUFFER_SMALL) {
    room = length;
    json = zend_string_realloc(json, room, false);
    status = apns_payload_write(payload, ZSTR_VAL(json), room, &length, cut, &error);
  }
  if (status != APNS_OK || length > room) {
    zend_string_efree(json);
    php_apns_throw(&error);
    return NULL;
  }
  json = zend_string_truncate(json, length, false);
  ZSTR_VAL(json)[length] = 0;
  return json;
}

static bool is_empty_array(zval *value) {
  if (!value) return false;
  ZVAL_DEREF(value);
  return Z_TYPE_P(value) == IS_ARRAY && zend_hash_num_elements(Z_ARRVAL_P(value)) == 0;
}

/* PHP's [] is both an array and an object: where Apple has an object, it is one. */
static zend_string *encode_payload(zval *given) {
  static const char *const objects[] = {"content-state", "attributes"};
  if (is_empty_array(given)) return zend_string_init("{}", 2, false);
  zval *aps = zend_hash_str_find(Z_ARRVAL_P(given), "aps", 3);
  if (aps) ZVAL_DEREF(aps);
  if (!aps || Z_TYPE_P(aps) != IS_ARRAY) return encode(given);
  zval copy, inside;
  if (is_empty_array(aps)) {
    object_init(&inside);
  } else {
    ZVAL_ARR(&inside, zend_array_dup(Z_ARRVAL_P(aps)));
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
      const size_t length = strlen(objects[i]);
      zval object;
      if (!is_empty_array(zend_hash_str_find(Z_ARRVAL(inside), objects[i], length))) continue;
      object_init(&object);
      zend_hash_str_update(Z_ARRVAL(inside), objects[i], length, &object);
    }
  }
  ZVAL_ARR(&copy, zend_array_dup(Z_ARRVAL_P(given)));
  zend_hash_str_update(Z_ARRVAL(copy), "aps", 3, &inside);
  zend_string *json = encode(&copy);
  zval_ptr_dtor(&copy);
  return json;
}

/* Appends the keys of the array that lead to an offset of the JSON that PHP made of it. */
static void append_path(smart_str *path, const char *json, size_t length, size_t offset) {
  struct {
    bool is_object, needs_key;
    size_t key, key_length;
    zend_ulong index;
  } levels[16], *top = NULL;
  size_t depth = 0;
  for (size_t at = 0; at < length; at++) {
    const bool is_key = json[at] == '"' && top && top->needs_key;
    if (at >= offset && !is_key) break;
    if (json[at] == '"') {
      const size_t start = at + 1;
      for (at = start; at < length && json[at] != '"'; at++) at += json[at] == '\\';
      if (is_key) {
        top->needs_key = false;
        top->key = start;
        top->key_length = at - start;
      }
      if (at >= offset) break;
    } else if (json[at] == '{' || json[at] == '[') {
      if (depth == sizeof levels / sizeof *levels) return;
      top = &levels[depth++];
      memset(top, 0, sizeof *top);
      top->is_object = top->needs_key = json[at] == '{';
    } else if (json[at] == '}' || json[at] == ']') {
      top = --depth ? &levels[depth - 1] : NULL;
    } else if (json[at] == ',' && top) {
      top->index++;
      top->needs_key = top->is_object;
    }
  }
  for (size_t level = 0; level < depth; level++) {
    if (!levels[level].is_object) {
      append_key(path, NULL, levels[level].index);
    } else if (levels[level].key_length) {
      zend_string *name =
          zend_string_init(json + levels[level].key, levels[level].key_length, false);
      append_key(path, name, 0);
      zend_string_release(name);
    }
  }
}

void php_apns_content_name_key(const php_apns_content *content, apns_error_t *error) {
  const char *place =
      strncmp(error->message, "payload, line ", 14) == 0 ? strstr(error->message, "(byte ") : NULL;
  const char *said = place ? strstr(place, "): ") : NULL;
  if (!said || !content->is_of_array) return;
  smart_str path = {0};
  append_path(&path, ZSTR_VAL(content->json), ZSTR_LEN(content->json),
              (size_t)strtoul(place + 6, NULL, 10));
  smart_str_0(&path);
  char words[sizeof error->message];
  snprintf(words, sizeof words, "payload%s: %s", path.s ? ZSTR_VAL(path.s) : "", said + 3);
  memcpy(error->message, words, sizeof words);
  smart_str_free(&path);
}

bool php_apns_content_from(php_apns_content *content, zval *given) {
  content->builder = NULL;
  content->json = NULL;
  content->is_of_array = false;
  ZVAL_DEREF(given);
  if (Z_TYPE_P(given) == IS_STRING) {
    content->json = zend_string_copy(Z_STR_P(given));
  } else if (Z_TYPE_P(given) == IS_ARRAY) {
    content->json = encode_payload(given);
    content->is_of_array = true;
  } else if (Z_TYPE_P(given) == IS_OBJECT && Z_OBJCE_P(given) == php_apns_class.payload) {
    content->builder = payload_of(given);
  } else {
    zend_type_error("a payload must be of type Apns\\Payload, array or string, %s given",
                    zend_zval_type_name(given));
  }
  return content->builder || content->json;
}

bool php_apns_content_write(php_apns_content *content) {
  if (content->builder) content->json = write_payload(content->builder, NULL);
  content->builder = NULL;
  return content->json != NULL;
}

/* ---- The class ------------------------------------------------------------------ */

static void destroy(zend_object *object) {
  apns_payload_free(of(object)->payload);
  zend_object_std_dtor(object);
}

void php_apns_payload_register(void) {
  php_apns_class.payload->create_object = create;
  php_apns_handlers_init(&handlers, XtOffsetOf(payload_object, std), destroy);
}

static const php_apns_option fields[] = {
    {"limit", PHP_APNS_SIZE, XtOffsetOf(apns_payload_options_t, limit), false, NULL},
    {"suffix", PHP_APNS_BYTES, XtOffsetOf(apns_payload_options_t, suffix), true, NULL},
    {"truncate", PHP_APNS_SWITCH, XtOffsetOf(apns_payload_options_t, truncate), false, NULL},
};
const php_apns_options php_apns_payload_options = {"Apns\\Payload", fields,
                                                   sizeof fields / sizeof *fields};

PHP_METHOD(Apns_Payload, __construct) {
  HashTable *given = NULL;
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  apns_error_t error = APNS_ERROR_INIT;
  payload_object *own = of(Z_OBJ_P(ZEND_THIS));
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "|h", &given) == FAILURE) return;
  if (own->payload) {
    zend_throw_error(NULL, "Apns\\Payload is already constructed");
    return;
  }
  if (!php_apns_read_options(&php_apns_payload_options, given, PHP_APNS_NAMED(execute_data),
                             &options)) {
    return;
  }
  php_apns_is_well(apns_payload_new(&options, &own->payload, &error), &error);
}

PHP_METHOD(Apns_Payload, set) {
  zend_string *name;
  zval *value;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "Sz", &name, &value) == FAILURE) return;
  apns_payload_t *payload = payload_of(ZEND_THIS);
  if (!payload) return;
  size_t key = find_key(name);
  if (key == key_count) return;
  ZVAL_DEREF(value);
  bool is_set = keys[key].key == APNS_KEY_ALERT && Z_TYPE_P(value) == IS_ARRAY
                    ? set_alert(payload, Z_ARRVAL_P(value))
                    : set_value(payload, key, value);
  if (is_set) RETURN_OBJ_COPY(Z_OBJ_P(ZEND_THIS));
}

PHP_METHOD(Apns_Payload, setCriticalSound) {
  zend_string *name;
  double volume = 1;
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "S|d", &name, &volume) == FAILURE) return;
  apns_payload_t *payload = payload_of(ZEND_THIS);
  if (payload && php_apns_is_well(apns_payload_set_critical_sound(payload, ZSTR_VAL(name),
                                                                  ZSTR_LEN(name), volume, &error),
                                  &error)) {
    RETURN_OBJ_COPY(Z_OBJ_P(ZEND_THIS));
  }
}

PHP_METHOD(Apns_Payload, add) {
  zend_string *name;
  zval *value;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "Sz", &name, &value) == FAILURE) return;
  if (add_value(ZEND_THIS, name, value)) RETURN_OBJ_COPY(Z_OBJ_P(ZEND_THIS));
}

PHP_METHOD(Apns_Payload, remove) {
  zend_string *name;
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "S", &name) == FAILURE) return;
  apns_payload_t *payload = payload_of(ZEND_THIS);
  if (!payload) return;
  size_t key = find_key(name);
  if (key == key_count) return;
  if (php_apns_is_well(apns_payload_remove(payload, keys[key].key, &error), &error)) {
    RETURN_OBJ_COPY(Z_OBJ_P(ZEND_THIS));
  }
}

PHP_METHOD(Apns_Payload, removeCustom) {
  if (zend_parse_parameters_none() == FAILURE) return;
  apns_payload_t *payload = payload_of(ZEND_THIS);
  if (!payload) return;
  apns_payload_remove_custom(payload);
  RETURN_OBJ_COPY(Z_OBJ_P(ZEND_THIS));
}

PHP_METHOD(Apns_Payload, reset) {
  if (zend_parse_parameters_none() == FAILURE) return;
  apns_payload_t *payload = payload_of(ZEND_THIS);
  if (!payload) return;
  apns_payload_reset(payload);
  RETURN_OBJ_COPY(Z_OBJ_P(ZEND_THIS));
}

PHP_METHOD(Apns_Payload, write) {
  zval *cut_out = NULL;
  size_t cut = 0;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "|z", &cut_out) == FAILURE) return;
  apns_payload_t *payload = payload_of(ZEND_THIS);
  zend_string *json = payload ? write_payload(payload, &cut) : NULL;
  if (!json) return;
  if (cut_out) ZEND_TRY_ASSIGN_REF_LONG(cut_out, (zend_long)cut);
  RETURN_STR(json);
}

PHP_METHOD(Apns_Payload, __toString) {
  if (zend_parse_parameters_none() == FAILURE) return;
  apns_payload_t *payload = payload_of(ZEND_THIS);
  zend_string *json = payload ? write_payload(payload, NULL) : NULL;
  if (json) RETURN_STR(json);
}

PHP_METHOD(Apns_Payload, check) {
  zend_string *json;
  zend_long limit = 0;
  bool is_usual = true;
  size_t count = 0;
  apns_error_t error = APNS_ERROR_INIT;
  const apns_payload_finding_t unset = APNS_PAYLOAD_FINDING_INIT;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "S|l!", &json, &limit, &is_usual) == FAILURE) return;
  if (limit < 1 && !is_usual && ZEND_NUM_ARGS() > 1) {
    zend_argument_value_error(2, "must be at least 1, or null");
    return;
  }
  size_t room = 16;
  apns_payload_finding_t *findings = NULL;
  do {
    if (count > room) room = count;
    findings = safe_erealloc(findings, room, sizeof *findings, 0);
    findings[0] = unset;
    apns_payload_check(ZSTR_VAL(json), ZSTR_LEN(json), (size_t)limit, findings, room, &count,
                       &error);
  } while (count > room);
  array_init(return_value);
  for (size_t index = 0; index < count; index++) {
    zval finding;
    array_init(&finding);
    add_assoc_string(&finding, "severity",
                     findings[index].severity == APNS_FINDING_ERROR ? "error" : "warning");
    add_assoc_long(&finding, "offset", (zend_long)findings[index].offset);
    add_assoc_long(&finding, "line", findings[index].line);
    add_assoc_long(&finding, "column", findings[index].column);
    add_assoc_string(&finding, "message", findings[index].message);
    add_next_index_zval(return_value, &finding);
  }
  efree(findings);
}
