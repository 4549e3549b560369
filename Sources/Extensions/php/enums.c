/* The enumerations, which interface/enums.stub.php shows. */
#include "php_apns.h"

#include "zend_enum.h"

#include "words.h"

/* ---- Their methods -------------------------------------------------------- */

static int32_t number_of(const php_apns_enum *of, const zval *one) {
  int32_t number = 0;
  php_apns_is_case(of, one, &number);
  return number;
}

static ZEND_NAMED_FUNCTION(reject_text) {
  if (zend_parse_parameters_none() == FAILURE) return;
  RETURN_STRING(apns_reject_text((apns_reject_t)number_of(&php_apns_rejects, ZEND_THIS)));
}

static ZEND_NAMED_FUNCTION(reason_http_status) {
  if (zend_parse_parameters_none() == FAILURE) return;
  RETURN_LONG(apns_reason_http_status((apns_reason_t)number_of(&php_apns_reasons, ZEND_THIS)));
}

ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(returns_string, 0, 0, IS_STRING, 0)
ZEND_END_ARG_INFO()
ZEND_BEGIN_ARG_WITH_RETURN_TYPE_INFO_EX(returns_int, 0, 0, IS_LONG, 0)
ZEND_END_ARG_INFO()

static const zend_function_entry reject_methods[] = {
    ZEND_NAMED_ME(text, reject_text, returns_string, ZEND_ACC_PUBLIC) ZEND_FE_END};
static const zend_function_entry reason_methods[] = {
    ZEND_NAMED_ME(httpStatus, reason_http_status, returns_int, ZEND_ACC_PUBLIC) ZEND_FE_END};

static const zend_function_entry *methods_of(const php_apns_enum *one) {
  if (one == &php_apns_rejects) return reject_methods;
  return one == &php_apns_reasons ? reason_methods : NULL;
}

/* ---- Registration --------------------------------------------------------- */

void php_apns_enums_register(void) {
  for (php_apns_enum *const *next = php_apns_enums; *next; next++) {
    php_apns_enum *one = *next;
    one->ce = zend_register_internal_enum(one->name, one->is_of_numbers ? IS_LONG : IS_STRING,
                                          methods_of(one));
    for (const php_apns_case *at = one->cases; at->word; at++) {
      zval value;
      if (one->is_of_numbers) {
        ZVAL_LONG(&value, at->number);
      } else {
        ZVAL_STR(&value, zend_string_init_interned(at->word, strlen(at->word), true));
      }
      zend_enum_add_case_cstr(one->ce, at->name, &value);
    }
  }
}

/* ---- Values --------------------------------------------------------------- */

const int32_t *php_apns_word(const php_apns_enum *of, const char *text, size_t length) {
  for (const php_apns_case *at = of->cases; at->word; at++) {
    if (strlen(at->word) == length && strncasecmp(at->word, text, length) == 0) return &at->number;
  }
  return NULL;
}

static const php_apns_case *find(const php_apns_enum *of, int32_t number) {
  for (const php_apns_case *at = of->cases; at->word; at++)
    if (at->number == number) return at;
  return NULL;
}

const char *php_apns_word_of(const php_apns_enum *of, int32_t number) {
  const php_apns_case *found = find(of, number);
  return found ? found->word : NULL;
}

const char *php_apns_meaning_of(const php_apns_enum *of, int32_t number) {
  const php_apns_case *found = find(of, number);
  return found ? found->meaning : NULL;
}

void php_apns_case_of(const php_apns_enum *of, int32_t number, zval *out) {
  const php_apns_case *found = find(of, number);
  if (found) {
    ZVAL_OBJ_COPY(out, zend_enum_get_case_cstr(of->ce, found->name));
  } else {
    ZVAL_NULL(out);
  }
}

void php_apns_reason_of(int32_t number, zval *out) {
  const bool is_known = number == APNS_REASON_NONE || find(&php_apns_reasons, number);
  php_apns_case_of(&php_apns_reasons, is_known ? number : APNS_REASON_OTHER, out);
}

bool php_apns_is_case(const php_apns_enum *of, const zval *value, int32_t *number_out) {
  if (Z_TYPE_P(value) != IS_OBJECT || Z_OBJCE_P(value) != of->ce) return false;
  const zval *name = zend_enum_fetch_case_name(Z_OBJ_P(value));
  for (const php_apns_case *at = of->cases; at->word; at++) {
    if (zend_string_equals_cstr(Z_STR_P(name), at->name, strlen(at->name))) {
      *number_out = at->number;
      return true;
    }
  }
  return false;
}

bool php_apns_read_case(const php_apns_enum *of, const zval *given, const char *what,
                        int32_t *number_out) {
  if (php_apns_is_case(of, given, number_out)) return true;
  if (Z_TYPE_P(given) != IS_STRING) {
    zend_type_error("%s must be of type %s or string, %s given", what, of->name,
                    zend_zval_type_name(given));
    return false;
  }
  const int32_t *number = php_apns_word(of, Z_STRVAL_P(given), Z_STRLEN_P(given));
  if (number) *number_out = *number;
  if (!number) php_apns_no_word(what, of, Z_STR_P(given));
  return number != NULL;
}

static const char *word_at(const void *cases, size_t index) {
  return ((const php_apns_case *)cases)[index].word;
}

void php_apns_no_word(const char *what, const php_apns_enum *of, const zend_string *given) {
  char list[256] = "", shown[PHP_APNS_SHOWN];
  size_t length = 0;
  for (const php_apns_case *at = of->cases; at->word && length < sizeof list; at++) {
    length += (size_t)snprintf(list + length, sizeof list - length, "%s'%s'",
                               at == of->cases ? ""
                               : !at[1].word   ? " or "
                                               : ", ",
                               at->word);
  }
  const char *nearest = php_apns_nearest(ZSTR_VAL(given), word_at, of->cases);
  zend_value_error("%s must be %s, '%s' given%s%s%s", what, list, php_apns_shown(given, shown),
                   nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}
