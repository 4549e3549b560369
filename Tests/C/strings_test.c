/* Localized strings: reading the file, looking a key up, filling the arguments in. */
#include <errno.h>
#include <stdio.h>

#include "provider.h"
#include "vectors.h"

static apns_strings_t *read_strings(const char *text) {
  apns_strings_t *strings = NULL;
  assert_ok(apns_strings_new(text, strlen(text), &strings, &error));
  assert_non_null(strings);
  return strings;
}

/* The library's message for each reason. */
static const struct {
  const char *reason, *words;
} said[] = {
    {"notUTF8", "not UTF-8"},
    {"notUTF16", "the text ends in the middle of a UTF-16 unit"},
    {"unpairedSurrogate", "half a surrogate pair"},
    {"nulCharacter", "a NUL"},
    {"unknownEscape", "after '\\' comes one of"},
    {"unicodeEscape", "\\U needs four hex digits"},
    {"octalEscape", "octal number"},
    {"openString", "the string is never closed"},
    {"openComment", "the comment is never closed"},
    {"openBrace", "the brace is never closed"},
    {"noKey", "expected a key"},
    {"noEqualSign", "expected '=' or ';'"},
    {"noValue", "expected a value"},
    {"noText", "the value is not a string"},
    {"noSemicolon", ": expected ';'"},
    {"behindEnd", "expected the end after the last brace"},
    {"binaryList", "binary property list"},
    {"xmlList", "property list in XML"},
    {"catalog", "string catalog (.xcstrings)"},
    {"directive", "begins neither %@ nor %n$@ nor %%"},
    {"tooFewArguments", "the text uses argument "},
};

static void check_message(const apns_error_t *error, const json_t *fault) {
  char place[80];
  snprintf(place, sizeof place,
           "line %d, column %d: ", (int)json_integer_value(json_object_get(fault, "line")),
           (int)json_integer_value(json_object_get(fault, "column")));
  assert_contains(error->message, place);
  size_t reason = 0;
  while (!vector_is(fault, "reason", said[reason].reason))
    assert_true(++reason < sizeof said / sizeof *said);
  assert_contains(error->message, said[reason].words);
}

TEST(every_file_that_can_be_read) {
  vectors_each("strings.json", vector) {
    if (!vector_is(vector, "result", "valid")) continue;
    size_t length;
    uint8_t *bytes = vector_bytes(vector, "hex", &length);
    owned(strings) strings = NULL;
    assert_ok(apns_strings_new(bytes, length, &strings, &error));
    free(bytes); /* borrowed for the call only */
    json_t *pair;
    size_t number;
    json_array_foreach(json_object_get(vector, "pairs"), number, pair) {
      const json_t *key = json_array_get(pair, 0), *value = json_array_get(pair, 1);
      const char *text = NULL;
      size_t text_length = 999;
      assert_ok(apns_strings_get(strings, json_string_value(key), json_string_length(key), &text,
                                 &text_length, &error));
      assert_int_equal(text_length, json_string_length(value));
      assert_memory_equal(text, json_string_value(value), text_length + 1); /* the NUL too */
    }
    const char *text = NULL;
    assert_invalid(apns_strings_get(strings, "no such key", 11, &text, NULL, &error),
                   "there is no string for the key \"no such key\"");
    assert_null(text);
  }
}

TEST(every_file_that_cannot) {
  vectors_each("strings.json", vector) {
    FORGET_ERROR();
    if (!vector_is(vector, "result", "invalid")) continue;
    size_t length;
    owned(bytes) bytes = vector_bytes(vector, "hex", &length);
    apns_strings_t *strings = NULL;
    assert_status(APNS_ERR_ARGUMENT, apns_strings_new(bytes, length, &strings, &error));
    assert_null(strings);
    check_message(&error, json_object_get(vector, "error"));
    assert_contains(error.message, "strings in memory, line ");
  }
}

TEST(every_format) {
  json_t *argument;
  size_t number;
  vectors_each("strings-formats.json", vector) {
    FORGET_ERROR();
    size_t length;
    owned(bytes) bytes = vector_bytes(vector, "hex", &length);
    owned(strings) strings = NULL;
    assert_ok(apns_strings_new(bytes, length, &strings, &error));
    const char *args[20];
    size_t count = json_array_size(json_object_get(vector, "args"));
    json_array_foreach(json_object_get(vector, "args"), number, argument) args[number] =
        json_string_value(argument);
    if (vector_is(vector, "result", "valid")) {
      const json_t *expected = json_object_get(vector, "formatted");
      const size_t wanted = json_string_length(expected);
      /* Has exactly the size that may be written, so that valgrind detects more. */
      owned(text) text = malloc(wanted + 1);
      memset(text, '?', wanted + 1);
      size_t found = 999;
      assert_status(APNS_ERR_BUFFER_SMALL, apns_strings_format(strings, "KEY", 3, args, count, text,
                                                               wanted, &found, &error));
      assert_int_equal(found, wanted + 1);
      for (size_t at = 0; at < wanted; at++) assert_int_equal(text[at], '?');
      assert_status(APNS_ERR_BUFFER_SMALL,
                    apns_strings_format(strings, "KEY", 3, args, count, NULL, 0, NULL, &error));
      assert_ok(
          apns_strings_format(strings, "KEY", 3, args, count, text, wanted + 1, &found, &error));
      assert_int_equal(found, wanted);
      assert_memory_equal(text, json_string_value(expected), wanted + 1);
    } else {
      char text[100] = "as it was";
      size_t found = 999;
      const json_t *fault = json_object_get(vector, "error");
      assert_status(APNS_ERR_ARGUMENT, apns_strings_format(strings, "KEY", 3, args, count, text,
                                                           sizeof text, &found, &error));
      check_message(&error, fault);
      assert_contains(error.message, "(key \"KEY\")");
      const json_t *wanted = json_object_get(fault, "wanted");
      if (wanted) {
        char words[80];
        snprintf(words, sizeof words,
                 "the text uses argument %d, but the number of arguments is %zu",
                 (int)json_integer_value(wanted), count);
        assert_contains(error.message, words);
      }
      assert_string_equal(text, "as it was");
      assert_int_equal(found, 999);
    }
  }
}

TEST(a_file_by_its_name) {
  apns_strings_t *strings = NULL;
  identities_make();
  static const char text[] = "\"HELLO\" = \"Hello, %@!\";\n";
  assert_ok(apns_strings_open(identities_write("Localizable.strings", text, strlen(text)), &strings,
                              &error));
  char hello[20];
  assert_ok(apns_strings_format(strings, "HELLO", 5, (const char *const[]){"Jenna"}, 1, hello,
                                sizeof hello, NULL, &error));
  assert_string_equal(hello, "Hello, Jenna!");
  apns_strings_free(strings);

  strings = NULL;
  const char *file = identities_write("Broken.strings", "\n\"a\" = b", 8);
  assert_invalid(apns_strings_open(file, &strings, &error), "strings file ");
  assert_contains(error.message, file);
  assert_contains(error.message, ", line 2, column 8: expected ';', not the end");
  assert_invalid(apns_strings_open("/nonexistent/a.strings", &strings, &error),
                 "strings file /nonexistent/a.strings");
  assert_int_equal(error.sys_errno, ENOENT);
  assert_null(strings);
}

TEST(a_file_that_is_too_large) {
  const size_t limit = 16 << 20;
  owned(text) blanks = malloc(limit + 1);
  memset(blanks, ' ', limit + 1);
  apns_strings_t *strings = NULL;
  assert_invalid(apns_strings_new(blanks, limit + 1, &strings, &error), "larger than 16 MiB");
  if (as_many_as(1, 0)) {
    assert_ok(apns_strings_new(blanks, limit, &strings, &error));
    apns_strings_free(strings);
  }
}

/* Sorted by bytes and found again, from any order; and no order is slow. */
TEST(many_keys) {
  const size_t count = as_many_as(50000, 500);
  for (size_t order = 0; order < 3; order++) {
    char *text = malloc(count * 64), *end = text;
    for (size_t index = 0; index < count; index++) {
      const size_t n = order == 0 ? index : order == 1 ? count - index : index * 7919 % count;
      end += sprintf(end, "\"key %zu\" = \"value %zu of %zu\";\n", n, n, order);
    }
    const int64_t start = cpu_ms();
    owned(strings) strings = read_strings(text);
    assert_costs(start, 9000);
    for (size_t n = 1; n < count; n++) {
      char key[32], value[64];
      const char *found = NULL;
      size_t length = 0;
      const size_t key_length = (size_t)sprintf(key, "key %zu", n);
      sprintf(value, "value %zu of %zu", n, order);
      assert_ok(apns_strings_get(strings, key, key_length, &found, &length, NULL));
      assert_string_equal(found, value);
      assert_int_equal(length, strlen(value));
    }
    free(text);
  }
}

TEST(keys_are_bytes) {
  owned(strings) strings =
      read_strings("\"a\\U0000b\" = \"1\"; \"a\" = \"2\"; \"\xC3\xA9\" = \"3\";");
  const char *text = NULL;
  assert_ok(apns_strings_get(strings, "a\0b", 3, &text, NULL, &error));
  assert_string_equal(text, "1");
  /* Not ended by a NUL. */
  assert_ok(apns_strings_get(strings, "abc", 1, &text, NULL, &error));
  assert_string_equal(text, "2");
  assert_ok(apns_strings_get(strings, "\xC3\xA9", 2, &text, NULL, &error));
  assert_string_equal(text, "3");
  /* The same to the eye, but other bytes. */
  assert_status(APNS_ERR_ARGUMENT, apns_strings_get(strings, "e\xCC\x81", 3, &text, NULL, &error));
  /* A long key leaves room for the words, and no line break is let through. */
  char key[300];
  memset(key, 'k', sizeof key);
  key[3] = '\n';
  assert_invalid(apns_strings_get(strings, key, 300, &text, NULL, &error),
                 "there is no string for the key \"kkk?kkk");
  assert_contains(error.message, "...\"");
  /* The error message never splits the key's characters, and never repeats an invalid one. */
  char euros[304] = "k";
  for (size_t i = 1; i < 300; i += 3) memcpy(euros + i, "\xE2\x82\xAC", 4);
  for (size_t skipped = 0; skipped < 2; skipped++) {
    assert_invalid(apns_strings_get(strings, euros + skipped, 298 - skipped, &text, NULL, &error),
                   "\xE2\x82\xAC...\"");
  }
  assert_invalid(apns_strings_get(strings, "\xFF\xE2\x82", 3, &text, NULL, &error),
                 "there is no string for the key \"???\"");
}

TEST(arguments_that_cannot_be) {
  owned(strings) strings = NULL;
  const char *text = NULL;
  char buffer[10];
  const char *const args[] = {"a", NULL};
  assert_invalid(apns_strings_new(NULL, 3, &strings, &error), "bytes is NULL");
  assert_invalid(apns_strings_new("a;", 2, NULL, &error), "strings_out is NULL");
  assert_invalid(apns_strings_new("a;", SIZE_MAX, &strings, &error), "length");
  assert_invalid(apns_strings_open(NULL, &strings, &error), "file is NULL");
  assert_status(APNS_ERR_ARGUMENT, apns_strings_open("x", NULL, &error));
  assert_null(strings);
  /* Nothing is a file without a pair. */
  assert_ok(apns_strings_new(NULL, 0, &strings, &error));
  assert_status(APNS_ERR_ARGUMENT, apns_strings_get(strings, "a", 1, &text, NULL, &error));
  apns_strings_free(strings);

  strings = read_strings("\"a\" = \"%@%@\";");
  assert_invalid(apns_strings_get(NULL, "a", 1, &text, NULL, &error), "strings is NULL");
  assert_invalid(apns_strings_get(strings, NULL, 1, &text, NULL, &error), "key is NULL");
  assert_invalid(apns_strings_get(strings, "a", SIZE_MAX, &text, NULL, &error), "key_length");
  assert_invalid(apns_strings_get(strings, "a", 1, NULL, NULL, &error), "text_out is NULL");
  assert_invalid(apns_strings_format(strings, "a", 1, args, 2, buffer, 10, NULL, &error),
                 "argument 2 is NULL");
  assert_invalid(apns_strings_format(strings, "a", 1, NULL, 2, buffer, 10, NULL, &error),
                 "args is NULL");
  assert_invalid(apns_strings_format(strings, "a", 1, args, SIZE_MAX, buffer, 10, NULL, &error),
                 "arg_count");
  assert_invalid(apns_strings_format(strings, "b", 1, args, 1, buffer, 10, NULL, &error),
                 "there is no string for the key \"b\"");
  apns_strings_free(NULL);
}
