/* Options, from arrays and named arguments. */
#include "php_apns.h"

#include "ext/hash/php_hash.h"
#include "ext/hash/php_hash_sha.h"
#include "main/fopen_wrappers.h"

static const char *expected(php_apns_option_type type) {
  switch (type) {
    case PHP_APNS_TEXT:
    case PHP_APNS_PATH:
    case PHP_APNS_BYTES:
      return "string";
    case PHP_APNS_SWITCH:
      return "bool";
    default:
      return "int";
  }
}

static bool out_of_range(const php_apns_option *option, zend_long most) {
  zend_value_error("option \"%s\" must be between 0 and " ZEND_LONG_FMT, option->name, most);
  return false;
}

static bool read_text(const php_apns_option *option, const zend_string *text, char *field) {
  if (option->type == PHP_APNS_BYTES) {
    *(const void **)field = ZSTR_VAL(text);
    *(size_t *)(field + sizeof(void *)) = ZSTR_LEN(text);
    return true;
  }
  if (strlen(ZSTR_VAL(text)) != ZSTR_LEN(text)) {
    zend_value_error("option \"%s\" must not contain null bytes", option->name);
    return false;
  }
  if (option->type == PHP_APNS_PATH && php_check_open_basedir(ZSTR_VAL(text))) {
    if (!EG(exception)) php_apns_throw_argument("open_basedir keeps %s shut", ZSTR_VAL(text));
    return false;
  }
  *(const char **)field = ZSTR_VAL(text);
  return true;
}

static bool read_number(const php_apns_option *option, zend_long number, char *field) {
  switch (option->type) {
    case PHP_APNS_U16:
      if (number < 0 || number > UINT16_MAX) return out_of_range(option, UINT16_MAX);
      *(uint16_t *)field = (uint16_t)number;
      return true;
    case PHP_APNS_U32:
      if (number < 0 || (uint64_t)number > UINT32_MAX) return out_of_range(option, UINT32_MAX);
      *(uint32_t *)field = (uint32_t)number;
      return true;
    case PHP_APNS_SIZE:
      if (number < 0) return out_of_range(option, ZEND_LONG_MAX);
      *(size_t *)field = (size_t)number;
      return true;
    default:
      if (number < INT32_MIN || number > INT32_MAX) return out_of_range(option, INT32_MAX);
      *(int32_t *)field = (int32_t)number;
      return true;
  }
}

static bool read_option(const php_apns_option *option, zval *value, char *out) {
  char *field = out + option->offset;
  ZVAL_DEREF(value);
  if (option->type == PHP_APNS_OTHER) {
    *(const zval **)field = value;
    return true;
  }
  if (Z_TYPE_P(value) == IS_NULL && option->is_optional) return true;
  const char *type = expected(option->type);
  if (Z_TYPE_P(value) == IS_STRING && *type == 's') {
    return read_text(option, Z_STR_P(value), field);
  }
  if (Z_TYPE_P(value) == IS_LONG && *type == 'i') {
    return read_number(option, Z_LVAL_P(value), field);
  }
  if ((Z_TYPE_P(value) == IS_TRUE || Z_TYPE_P(value) == IS_FALSE) && *type == 'b') {
    *(int32_t *)field = Z_TYPE_P(value) == IS_TRUE;
    return true;
  }
  zend_type_error("option \"%s\" must be of type %s, %s given", option->name, type,
                  zend_zval_type_name(value));
  return false;
}

static const php_apns_option *find(const php_apns_option *options, size_t count,
                                   const zend_string *name) {
  for (size_t index = 0; name && index < count; index++) {
    if (zend_string_equals_cstr(name, options[index].name, strlen(options[index].name))) {
      return options + index;
    }
  }
  return NULL;
}

static bool read_table(const php_apns_option *options, size_t count, HashTable *table, void *out) {
  zend_string *name;
  zval *value;
  if (!table) return true;
  ZEND_HASH_FOREACH_STR_KEY_VAL(table, name, value) {
    const php_apns_option *found = find(options, count, name);
    if (!found) {
      zend_value_error("there is no option \"%s\"", name ? ZSTR_VAL(name) : "(a number)");
      return false;
    }
    if (!read_option(found, value, out)) return false;
  }
  ZEND_HASH_FOREACH_END();
  return true;
}

bool php_apns_read_options(const php_apns_option *options, size_t count, HashTable *given,
                           HashTable *named, void *out) {
  return read_table(options, count, given, out) && read_table(options, count, named, out);
}

bool php_apns_read_option(const php_apns_option *options, size_t count, const char *name,
                          zval *given, void *out) {
  if (!given || Z_TYPE_P(given) == IS_NULL) return true;
  for (size_t index = 0; index < count; index++) {
    if (strcmp(options[index].name, name) == 0) return read_option(options + index, given, out);
  }
  return false;
}

static void add(PHP_SHA256_CTX *hash, const void *bytes, size_t length) {
  uint64_t size = length;
  PHP_SHA256Update(hash, (const unsigned char *)&size, sizeof size);
  if (length > 0) PHP_SHA256Update(hash, (const unsigned char *)bytes, length);
}

void php_apns_fingerprint_options(php_apns_fingerprint *fingerprint, const php_apns_option *options,
                                  size_t count, const void *values) {
  PHP_SHA256_CTX hash;
  PHP_SHA256InitArgs(&hash, NULL);
  add(&hash, fingerprint->bytes, sizeof fingerprint->bytes);
  for (size_t index = 0; index < count; index++) {
    const char *field = (const char *)values + options[index].offset;
    const char *text = NULL;
    switch (options[index].type) {
      case PHP_APNS_TEXT:
      case PHP_APNS_PATH:
        text = *(const char *const *)field;
        /* Absent is not the same as empty. */
        add(&hash, text ? "+" : "-", 1);
        add(&hash, text, text ? strlen(text) : 0);
        break;
      case PHP_APNS_BYTES:
        add(&hash, *(const void *const *)field, *(const size_t *)(field + sizeof(void *)));
        break;
      case PHP_APNS_U16:
        add(&hash, field, sizeof(uint16_t));
        break;
      case PHP_APNS_SIZE:
        add(&hash, field, sizeof(size_t));
        break;
      case PHP_APNS_OTHER:
        break;
      default:
        add(&hash, field, sizeof(uint32_t));
        break;
    }
  }
  PHP_SHA256Final(fingerprint->bytes, &hash);
}
