/* Suggests a name for a misspelt one. */
#include "php_apns.h"

/* A longer name is not a typing error. */
#define LONGEST 64

/* The letters and digits of a name, in lower case: userData is user_data. 0: none, or too many. */
static size_t letters(const char *name, char out[LONGEST]) {
  size_t length = 0;
  for (; *name; name++) {
    const char letter = zend_tolower_ascii(*name);
    if ((letter < 'a' || letter > 'z') && (letter < '0' || letter > '9')) continue;
    if (length == LONGEST) return 0;
    out[length++] = letter;
  }
  return length;
}

static size_t least(size_t one, size_t other) { return one < other ? one : other; }

/* How many letters are wrong, missing, surplus, or swapped with their neighbour. */
static size_t distance(const char *one, size_t one_length, const char *other, size_t other_length) {
  size_t rows[3][LONGEST + 1];
  size_t *before = rows[0], *last = rows[1], *row = rows[2];
  for (size_t column = 0; column <= other_length; column++) last[column] = column;
  for (size_t at = 1; at <= one_length; at++) {
    row[0] = at;
    for (size_t column = 1; column <= other_length; column++) {
      const bool is_same = one[at - 1] == other[column - 1];
      row[column] = least(least(last[column], row[column - 1]) + 1, last[column - 1] + !is_same);
      if (at > 1 && column > 1 && one[at - 1] == other[column - 2] &&
          one[at - 2] == other[column - 1]) {
        row[column] = least(row[column], before[column - 2] + 1);
      }
    }
    size_t *oldest = before;
    before = last, last = row, row = oldest;
  }
  return last[other_length];
}

const char *php_apns_nearest(const char *given, php_apns_name_at name_at, const void *names) {
  char wanted[LONGEST], known[LONGEST];
  const char *nearest = NULL, *containing = NULL, *name;
  const size_t length = letters(given, wanted);
  size_t best = length < 6 ? 2 : length / 3 + 1;
  for (size_t index = 0; length > 0 && (name = name_at(names, index)); index++) {
    const size_t known_length = letters(name, known);
    const size_t off = distance(wanted, length, known, known_length);
    if (off < best && 2 * off < length) {
      best = off;
      nearest = name;
    }
    /* The beginning or a part of it, such as "timeout". */
    if (!containing && length >= 4 && length <= known_length) {
      for (size_t at = 0; !containing && at <= known_length - length; at++) {
        if (memcmp(known + at, wanted, length) == 0) containing = name;
      }
    }
  }
  return nearest ? nearest : containing;
}

static bool withhold(const char *given, size_t length, char out[PHP_APNS_SHOWN]) {
  const char *why = apns_why_unquoted(given, length);
  if (why) snprintf(out, PHP_APNS_SHOWN, "(%zu bytes, not shown: %s)", length, why);
  return why != NULL;
}

const char *php_apns_quoted(const char *given, char out[PHP_APNS_SHOWN]) {
  return withhold(given, strlen(given), out) ? out : given;
}

const char *php_apns_shown(const zend_string *given, char out[PHP_APNS_SHOWN]) {
  const size_t most = PHP_APNS_SHOWN - 4;
  if (withhold(ZSTR_VAL(given), ZSTR_LEN(given), out)) return out;
  size_t length = 0;
  for (; length < ZSTR_LEN(given) && length < most; length++) {
    const unsigned char byte = (unsigned char)ZSTR_VAL(given)[length];
    out[length] = byte < 0x20 || byte > 0x7e ? '?' : (char)byte;
  }
  strcpy(out + length, length < ZSTR_LEN(given) ? "..." : "");
  return out;
}
