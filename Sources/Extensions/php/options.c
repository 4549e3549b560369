/* Options, from arrays and named arguments. */
#include "php_apns.h"

#include "ext/hash/php_hash.h"
#include "ext/hash/php_hash_sha.h"
#include "main/fopen_wrappers.h"

#define U32_MOST (zend_long) MIN((uint64_t)UINT32_MAX, (uint64_t)ZEND_LONG_MAX)

/* The least and the greatest number of an option, and the size of its field; 0: not a number. */
static const struct {
  zend_long least, most;
  size_t size;
} numbers[PHP_APNS_OTHER + 1] = {
    [PHP_APNS_U16] = {1, UINT16_MAX, sizeof(uint16_t)},
    [PHP_APNS_U32] = {0, U32_MOST, sizeof(uint32_t)},
    [PHP_APNS_I32] = {INT32_MIN, INT32_MAX, sizeof(int32_t)},
    [PHP_APNS_COUNT] = {1, U32_MOST, sizeof(uint32_t)},
    [PHP_APNS_COUNT_OR_NONE] = {-1, INT32_MAX, sizeof(int32_t)},
    [PHP_APNS_SIZE] = {0, ZEND_LONG_MAX, sizeof(size_t)},
};

static bool is_number(php_apns_option_type type) { return numbers[type].size > 0; }

static const char *expected(const php_apns_option *option) {
  if (option->type == PHP_APNS_CHECKS) return "Apns\\Checks, string or bool";
  if (is_number(option->type)) return "int";
  return option->type == PHP_APNS_SWITCH ? "bool" : "string";
}

static bool wrong_type(const php_apns_option *option, const zval *value) {
  zend_type_error("option '%s' must be of type %s, %s given", option->name, expected(option),
                  zend_zval_type_name(value));
  return false;
}

/* ---- Texts --------------------------------------------------------------- */

/* PHP's own warnings quote the file. */
bool php_apns_is_allowed(const char *file) {
  if (!PG(open_basedir) || !*PG(open_basedir)) return true;
  return !apns_why_unquoted(file, strlen(file)) && !php_check_open_basedir(file);
}

bool php_apns_may_open(const char *file) {
  char shown[PHP_APNS_SHOWN];
  if (php_apns_is_allowed(file)) return true;
  if (!EG(exception))
    php_apns_throw_argument("open_basedir does not allow %s", php_apns_quoted(file, shown));
  return false;
}

static bool read_text(const php_apns_option *option, const zend_string *text, char *field) {
  if (option->type == PHP_APNS_BYTES) {
    *(const void **)field = ZSTR_VAL(text);
    *(size_t *)(field + sizeof(void *)) = ZSTR_LEN(text);
    return true;
  }
  if (strlen(ZSTR_VAL(text)) != ZSTR_LEN(text)) {
    zend_value_error("option '%s' must not contain null bytes", option->name);
    return false;
  }
  if (option->type == PHP_APNS_PATH && !php_apns_may_open(ZSTR_VAL(text))) return false;
  *(const char **)field = ZSTR_VAL(text);
  return true;
}

/* ---- Numbers ------------------------------------------------------------- */

static bool read_number(const php_apns_option *option, zend_long number, char *field) {
  const zend_long least = numbers[option->type].least, most = numbers[option->type].most;
  if (number == 0 && (option->type == PHP_APNS_COUNT || option->type == PHP_APNS_COUNT_OR_NONE)) {
    zend_value_error("option '%s' must not be 0; null is its default", option->name);
    return false;
  }
  if (number < least || number > most) {
    zend_value_error("option '%s' must be between " ZEND_LONG_FMT " and " ZEND_LONG_FMT
                     ", " ZEND_LONG_FMT " given",
                     option->name, least, most, number);
    return false;
  }
  if (option->type == PHP_APNS_U16) {
    *(uint16_t *)field = (uint16_t)number;
  } else if (option->type == PHP_APNS_SIZE) {
    *(size_t *)field = (size_t)number;
  } else {
    *(uint32_t *)field = (uint32_t)number; /* or its int32_t */
  }
  return true;
}

bool php_apns_number_of(const zend_string *text, zend_long *out) {
  int overflow = 0;
  return is_numeric_string_ex(ZSTR_VAL(text), ZSTR_LEN(text), out, NULL, false, &overflow, NULL) ==
         IS_LONG;
}

/* As parse_ini_file(), getenv() and forms give it. */
static bool read_number_text(const php_apns_option *option, const zend_string *text, char *field) {
  zend_long number = 0;
  char shown[PHP_APNS_SHOWN];
  if (php_apns_number_of(text, &number)) return read_number(option, number, field);
  zend_value_error("option '%s' must be a whole number between " ZEND_LONG_FMT " and " ZEND_LONG_FMT
                   ", '%s' given",
                   option->name, numbers[option->type].least, numbers[option->type].most,
                   php_apns_shown(text, shown));
  return false;
}

/* ---- Switches ------------------------------------------------------------ */

/* php.ini's words; parse_ini_file() makes "1" and "" of them. */
static const char *const switches[] = {"0", "1", "off", "on", "no", "yes", "false", "true", "none"};

/* Parses a switch; false if the text is not one of `switches`. */
static bool switch_of(const zend_string *text, int32_t *out) {
  *out = 0;
  if (ZSTR_LEN(text) == 0) return true;
  for (size_t index = 0; index < sizeof switches / sizeof *switches; index++) {
    if (strlen(switches[index]) == ZSTR_LEN(text) &&
        strncasecmp(switches[index], ZSTR_VAL(text), ZSTR_LEN(text)) == 0) {
      *out = index % 2;
      return true;
    }
  }
  return false;
}

static bool read_switch(const php_apns_option *option, const zval *value, char *field) {
  char shown[PHP_APNS_SHOWN] = "";
  if (Z_TYPE_P(value) == IS_STRING) {
    if (switch_of(Z_STR_P(value), (int32_t *)field)) return true;
    php_apns_shown(Z_STR_P(value), shown);
  } else if (Z_TYPE_P(value) != IS_LONG) {
    *(int32_t *)field = Z_TYPE_P(value) == IS_TRUE;
    return true;
  } else if (Z_LVAL_P(value) == 0 || Z_LVAL_P(value) == 1) {
    *(int32_t *)field = (int32_t)Z_LVAL_P(value);
    return true;
  } else {
    snprintf(shown, sizeof shown, ZEND_LONG_FMT, Z_LVAL_P(value));
  }
  zend_value_error("option '%s' must be true or false, on or off, '%s' given", option->name, shown);
  return false;
}

/* "1" is what parse_ini_file() makes of "on". */
bool php_apns_checks_of(const zend_string *text, int32_t *out) {
  const int32_t *word = php_apns_word(&php_apns_checks, ZSTR_VAL(text), ZSTR_LEN(text));
  int32_t is_on = 0;
  if (word) {
    *out = *word;
    return true;
  }
  if (!switch_of(text, &is_on)) return false;
  *out = is_on ? 0 : -1;
  return true;
}

static bool read_checks(const php_apns_option *option, const zval *value, char *field) {
  int32_t *checks = (int32_t *)field;
  if (Z_TYPE_P(value) == IS_TRUE || Z_TYPE_P(value) == IS_FALSE) {
    *checks = Z_TYPE_P(value) == IS_TRUE ? 0 : -1;
    return true;
  }
  if (php_apns_is_case(&php_apns_checks, value, checks)) return true;
  if (Z_TYPE_P(value) != IS_STRING) return wrong_type(option, value);
  if (php_apns_checks_of(Z_STR_P(value), checks)) return true;
  php_apns_no_word("option 'checks'", &php_apns_checks, Z_STR_P(value));
  return false;
}

/* ---- Tables -------------------------------------------------------------- */

static bool read_option(const php_apns_option *option, zval *value, char *out) {
  char *field = out + option->offset;
  ZVAL_DEREF(value);
  if (option->type == PHP_APNS_OTHER) {
    *(const zval **)field = value;
    return true;
  }
  const int type = Z_TYPE_P(value);
  if (type == IS_NULL && option->is_optional) return true;
  if (option->type == PHP_APNS_ENUM) {
    char what[PHP_APNS_SHOWN];
    snprintf(what, sizeof what, "option '%s'", option->name);
    return php_apns_read_case(option->cases, value, what, (int32_t *)field);
  }
  if (option->type == PHP_APNS_CHECKS) return read_checks(option, value, field);
  if (option->type == PHP_APNS_SWITCH) {
    if (type == IS_TRUE || type == IS_FALSE || type == IS_LONG || type == IS_STRING) {
      return read_switch(option, value, field);
    }
  } else if (is_number(option->type)) {
    if (type == IS_LONG) return read_number(option, Z_LVAL_P(value), field);
    if (type == IS_STRING) return read_number_text(option, Z_STR_P(value), field);
  } else if (type == IS_STRING) {
    return read_text(option, Z_STR_P(value), field);
  }
  return wrong_type(option, value);
}

static const php_apns_option *find(const php_apns_options *options, const char *name,
                                   size_t length) {
  for (size_t index = 0; index < options->count; index++) {
    const char *known = options->list[index].name;
    if (strlen(known) == length && memcmp(known, name, length) == 0) return options->list + index;
  }
  return NULL;
}

void php_apns_unknown_option(const zend_string *name, zend_ulong number, const char *owner,
                             php_apns_name_at name_at, const void *names) {
  char shown[PHP_APNS_SHOWN];
  if (!name) {
    zend_value_error("unknown option " ZEND_ULONG_FMT " of %s; options have names", number, owner);
    return;
  }
  const char *nearest = php_apns_nearest(ZSTR_VAL(name), name_at, names);
  zend_value_error("unknown option '%s'%s%s%s", php_apns_shown(name, shown),
                   nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static const char *option_at(const void *names, size_t index) {
  const php_apns_options *options = names;
  return index < options->count ? options->list[index].name : NULL;
}

static const php_apns_options *const *all;
static size_t all_count;

void php_apns_know_options(const php_apns_options *const *tables, size_t count) {
  all = tables;
  all_count = count;
}

/* Names the class that has this option, where it is in the wrong array. */
static void refuse(const php_apns_options *options, const zend_string *name, zend_ulong number) {
  for (size_t index = 0; name && index < all_count; index++) {
    if (!find(all[index], ZSTR_VAL(name), ZSTR_LEN(name))) continue;
    zend_value_error("unknown option '%s'; it is an option of %s, not of %s", ZSTR_VAL(name),
                     all[index]->owner, options->owner);
    return;
  }
  php_apns_unknown_option(name, number, options->owner, option_at, options);
}

static bool read_table(const php_apns_options *options, HashTable *table, void *out) {
  zend_ulong number;
  zend_string *name;
  zval *value;
  if (!table) return true;
  ZEND_HASH_FOREACH_KEY_VAL(table, number, name, value) {
    const php_apns_option *found = name ? find(options, ZSTR_VAL(name), ZSTR_LEN(name)) : NULL;
    if (!found) {
      refuse(options, name, number);
      return false;
    }
    if (!read_option(found, value, out)) return false;
  }
  ZEND_HASH_FOREACH_END();
  return true;
}

bool php_apns_read_options(const php_apns_options *options, HashTable *given, HashTable *named,
                           void *out) {
  return read_table(options, given, out) && read_table(options, named, out);
}

bool php_apns_read_option(const php_apns_options *options, const char *name, zval *given,
                          void *out) {
  if (!given || Z_TYPE_P(given) == IS_NULL) return true;
  const php_apns_option *found = find(options, name, strlen(name));
  return found && read_option(found, given, out);
}

/* ---- Fingerprints -------------------------------------------------------- */

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
      case PHP_APNS_SIZE:
        add(&hash, field, numbers[options[index].type].size);
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
