#include "php_apns.h"

#include "zend_exceptions.h"

/* The only property of Apns\Token. */
#define HEX(object) OBJ_PROP_NUM(object, 0)

zend_string *php_apns_token_hex(const uint8_t *bytes, size_t length) {
  zend_string *hex = zend_string_alloc(2 * length, false);
  if (apns_token_to_hex(bytes, length, ZSTR_VAL(hex), 2 * length + 1, NULL, NULL) != APNS_OK) {
    ZSTR_LEN(hex) = 0;
    ZSTR_VAL(hex)[0] = 0;
  }
  return hex;
}

/* A text's length without the end of its line, as file() and fgets() leave it there. */
static size_t length_of_line(const zend_string *text) {
  size_t length = ZSTR_LEN(text);
  if (length > 0 && ZSTR_VAL(text)[length - 1] == '\n') length--;
  if (length > 0 && ZSTR_VAL(text)[length - 1] == '\r') length--;
  return length;
}

bool php_apns_token_bytes(zval *given, uint8_t bytes[APNS_TOKEN_MAX], size_t *length) {
  apns_error_t error = APNS_ERROR_INIT;
  ZVAL_DEREF(given);
  if (Z_TYPE_P(given) == IS_OBJECT && Z_OBJCE_P(given) == php_apns_class.token) {
    zend_object *object = Z_OBJ_P(given);
    given = HEX(object);
    if (Z_TYPE_P(given) != IS_STRING) {
      php_apns_throw_unconstructed(object);
      return false;
    }
  }
  if (Z_TYPE_P(given) != IS_STRING) {
    zend_type_error("a device token must be of type Apns\\Token or string, %s given",
                    zend_zval_type_name(given));
    return false;
  }
  return php_apns_is_well(apns_token_from_hex(Z_STRVAL_P(given), length_of_line(Z_STR_P(given)),
                                              bytes, APNS_TOKEN_MAX, length, &error),
                          &error);
}

static void make(zval *out, const uint8_t *bytes, size_t length) {
  object_init_ex(out, php_apns_class.token);
  ZVAL_STR(HEX(Z_OBJ_P(out)), php_apns_token_hex(bytes, length));
}

PHP_METHOD(Apns_Token, __construct) { zend_parse_parameters_none(); }

PHP_METHOD(Apns_Token, fromHex) {
  zval *text;
  uint8_t bytes[APNS_TOKEN_MAX];
  size_t length = 0;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "z", &text) == FAILURE) return;
  zend_string *string = zval_try_get_string(text);
  if (!string) return;
  zval holder;
  ZVAL_STR(&holder, string);
  if (php_apns_token_bytes(&holder, bytes, &length)) make(return_value, bytes, length);
  zend_string_release(string);
}

PHP_METHOD(Apns_Token, fromBase64) {
  zend_string *text;
  uint8_t bytes[APNS_TOKEN_MAX];
  size_t length = 0;
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "S", &text) == FAILURE) return;
  if (!php_apns_is_well(apns_token_from_base64(ZSTR_VAL(text), length_of_line(text), bytes,
                                               sizeof bytes, &length, &error),
                        &error))
    return;
  make(return_value, bytes, length);
}

PHP_METHOD(Apns_Token, fromBytes) {
  zend_string *bytes;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "S", &bytes) == FAILURE) return;
  if (ZSTR_LEN(bytes) < 1 || ZSTR_LEN(bytes) > APNS_TOKEN_MAX) {
    php_apns_refuse(
        ZSTR_LEN(bytes) == 0 ? APNS_REJECT_MISSING_TOKEN : APNS_REJECT_INVALID_TOKEN_SIZE,
        "the device token has %zu bytes, not 1 to %d", ZSTR_LEN(bytes), APNS_TOKEN_MAX);
    return;
  }
  make(return_value, (const uint8_t *)ZSTR_VAL(bytes), ZSTR_LEN(bytes));
}

PHP_METHOD(Apns_Token, toBase64) {
  uint8_t bytes[APNS_TOKEN_MAX];
  char text[4 * ((APNS_TOKEN_MAX + 2) / 3) + 1];
  size_t length = 0;
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters_none() == FAILURE) return;
  if (!php_apns_token_bytes(ZEND_THIS, bytes, &length)) return;
  if (!php_apns_is_well(apns_token_to_base64(bytes, length, text, sizeof text, &length, &error),
                        &error))
    return;
  RETURN_STRINGL(text, length);
}

PHP_METHOD(Apns_Token, toBytes) {
  uint8_t bytes[APNS_TOKEN_MAX];
  size_t length = 0;
  if (zend_parse_parameters_none() == FAILURE) return;
  if (!php_apns_token_bytes(ZEND_THIS, bytes, &length)) return;
  RETURN_STRINGL((const char *)bytes, length);
}

PHP_METHOD(Apns_Token, __toString) {
  if (zend_parse_parameters_none() == FAILURE) return;
  zval *hex = HEX(Z_OBJ_P(ZEND_THIS));
  if (Z_TYPE_P(hex) != IS_STRING) {
    php_apns_throw_unconstructed(Z_OBJ_P(ZEND_THIS));
    return;
  }
  RETURN_COPY(hex);
}
