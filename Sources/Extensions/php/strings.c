#include "php_apns.h"

#include "zend_exceptions.h"

typedef struct strings_object {
  apns_strings_t *strings;
  zend_object std;
} strings_object;

PHP_APNS_OBJECT(strings_object)

static apns_strings_t *strings_of(zval *object) {
  strings_object *own = of(Z_OBJ_P(object));
  if (!own->strings) php_apns_throw_unconstructed(&own->std);
  return own->strings;
}

static void destroy(zend_object *object) {
  apns_strings_free(of(object)->strings);
  zend_object_std_dtor(object);
}

void php_apns_strings_register(void) {
  php_apns_class.strings->create_object = create;
  php_apns_handlers_init(&handlers, XtOffsetOf(strings_object, std), destroy);
}

PHP_METHOD(Apns_Strings, __construct) {
  zend_string *bytes;
  apns_error_t error = APNS_ERROR_INIT;
  strings_object *own = of(Z_OBJ_P(ZEND_THIS));
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "S", &bytes) == FAILURE) return;
  if (own->strings) {
    zend_throw_error(NULL, "Apns\\Strings is already constructed");
    return;
  }
  php_apns_is_well(apns_strings_new(ZSTR_VAL(bytes), ZSTR_LEN(bytes), &own->strings, &error),
                   &error);
}

PHP_METHOD(Apns_Strings, open) {
  zend_string *file;
  apns_strings_t *strings = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "P", &file) == FAILURE) return;
  if (!php_apns_may_open(ZSTR_VAL(file))) return;
  if (!php_apns_is_well(apns_strings_open(ZSTR_VAL(file), &strings, &error), &error)) return;
  object_init_ex(return_value, php_apns_class.strings);
  of(Z_OBJ_P(return_value))->strings = strings;
}

PHP_METHOD(Apns_Strings, has) {
  zend_string *key;
  const char *text = NULL;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "S", &key) == FAILURE) return;
  apns_strings_t *strings = strings_of(ZEND_THIS);
  if (!strings) return;
  RETURN_BOOL(apns_strings_get(strings, ZSTR_VAL(key), ZSTR_LEN(key), &text, NULL, NULL) ==
              APNS_OK);
}

PHP_METHOD(Apns_Strings, get) {
  zend_string *key;
  const char *text = NULL;
  size_t length = 0;
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "S", &key) == FAILURE) return;
  apns_strings_t *strings = strings_of(ZEND_THIS);
  if (!strings) return;
  if (!php_apns_is_well(
          apns_strings_get(strings, ZSTR_VAL(key), ZSTR_LEN(key), &text, &length, &error), &error))
    return;
  RETURN_STRINGL(text, length);
}

static zend_string *format(apns_strings_t *strings, zend_string *key, const char *const *args,
                           size_t count) {
  size_t length = 0;
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status = apns_strings_format(strings, ZSTR_VAL(key), ZSTR_LEN(key), args, count,
                                             NULL, 0, &length, &error);
  if (status == APNS_ERR_BUFFER_SMALL) {
    zend_string *text = zend_string_alloc(length, false);
    size_t room = ZSTR_LEN(text) + 1;
    status = apns_strings_format(strings, ZSTR_VAL(key), ZSTR_LEN(key), args, count, ZSTR_VAL(text),
                                 room, &length, &error);
    if (status == APNS_OK) return zend_string_truncate(text, length, false);
    zend_string_efree(text);
  }
  php_apns_throw(&error);
  return NULL;
}

PHP_METHOD(Apns_Strings, format) {
  zend_string *key;
  zval *given = NULL;
  uint32_t count = 0;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "S*", &key, &given, &count) == FAILURE) return;
  apns_strings_t *strings = strings_of(ZEND_THIS);
  if (!strings) return;
  const char **args = safe_emalloc(count, sizeof *args, sizeof *args);
  zend_string **texts = safe_emalloc(count, sizeof *texts, sizeof *texts);
  uint32_t taken = 0;
  for (; taken < count; taken++) {
    texts[taken] = zval_try_get_string(given + taken);
    if (!texts[taken]) break;
    args[taken] = ZSTR_VAL(texts[taken]);
    if (strlen(args[taken]) != ZSTR_LEN(texts[taken])) {
      zend_argument_value_error(taken + 2, "must not contain any null bytes");
      taken++;
      break;
    }
  }
  if (!EG(exception)) {
    zend_string *text = format(strings, key, args, count);
    if (text) RETVAL_STR(text);
  }
  while (taken > 0) zend_string_release(texts[--taken]);
  efree(texts);
  efree(args);
}
