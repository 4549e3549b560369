/* Localized strings: reading the file, looking a key up, filling the arguments in. */
#include <errno.h>
#include <stdio.h>

#include "provider.h"
#include "vectors.h"

static apns_strings_t *read_strings(const char *text) {
  apns_strings_t *strings = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  assert_ok(apns_strings_new(text, strlen(text), &strings, &error), &error);
  assert_non_null(strings);
  return strings;
}

/* What the library says of each reason. */
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

static void every_file_that_can_be_read(void **state) {
  (void)state;
  json_t *file = vectors_read("strings.json"), *vector;
  size_t index;
  vectors_each(file, index, vector) {
    if (!vector_is(vector, "result", "valid")) continue;
    size_t length;
    uint8_t *bytes = vector_bytes(vector, "hex", &length);
    apns_strings_t *strings = NULL;
    apns_error_t error = APNS_ERROR_INIT;
    assert_ok(apns_strings_new(bytes, length, &strings, &error), &error);
    free(bytes); /* borrowed for the call only */
    json_t *pair;
    size_t number;
    json_array_foreach(json_object_get(vector, "pairs"), number, pair) {
      const json_t *key = json_array_get(pair, 0), *value = json_array_get(pair, 1);
      const char *text = NULL;
      size_t text_length = 999;
      assert_ok(apns_strings_get(strings, json_string_value(key), json_string_length(key), &text,
                                 &text_length, &error),
                &error);
      assert_int_equal(text_length, json_string_length(value));
      assert_memory_equal(text, json_string_value(value), text_length + 1); /* the NUL too */
    }
    const char *text = NULL;
    assert_status(APNS_ERR_ARGUMENT,
                  apns_strings_get(strings, "no such key", 11, &text, NULL, &error), &error);
    assert_contains(error.message, "there is no string for the key \"no such key\"");
    assert_null(text);
    apns_strings_free(strings);
  }
  json_decref(file);
}

static void every_file_that_cannot(void **state) {
  (void)state;
  json_t *file = vectors_read("strings.json"), *vector;
  size_t index;
  vectors_each(file, index, vector) {
    if (!vector_is(vector, "result", "invalid")) continue;
    size_t length;
    uint8_t *bytes = vector_bytes(vector, "hex", &length);
    apns_strings_t *strings = NULL;
    apns_error_t error = APNS_ERROR_INIT;
    assert_status(APNS_ERR_ARGUMENT, apns_strings_new(bytes, length, &strings, &error), &error);
    assert_null(strings);
    check_message(&error, json_object_get(vector, "error"));
    assert_contains(error.message, "strings in memory, line ");
    free(bytes);
  }
  json_decref(file);
}

static void every_format(void **state) {
  (void)state;
  json_t *file = vectors_read("strings-formats.json"), *vector, *argument;
  size_t index, number;
  vectors_each(file, index, vector) {
    size_t length;
    uint8_t *bytes = vector_bytes(vector, "hex", &length);
    apns_strings_t *strings = NULL;
    apns_error_t error = APNS_ERROR_INIT;
    assert_ok(apns_strings_new(bytes, length, &strings, &error), &error);
    free(bytes);
    const char *args[20];
    size_t count = json_array_size(json_object_get(vector, "args"));
    json_array_foreach(json_object_get(vector, "args"), number, argument) args[number] =
        json_string_value(argument);
    if (vector_is(vector, "result", "valid")) {
      const json_t *expected = json_object_get(vector, "formatted");
      const size_t wanted = json_string_length(expected);
      /* Of exactly the size it may be written to, so that valgrind sees more. */
      char *text = malloc(wanted + 1);
      memset(text, '?', wanted + 1);
      size_t found = 999;
      assert_status(
          APNS_ERR_BUFFER_SMALL,
          apns_strings_format(strings, "KEY", 3, args, count, text, wanted, &found, &error),
          &error);
      assert_int_equal(found, wanted + 1);
      for (size_t at = 0; at < wanted; at++) assert_int_equal(text[at], '?');
      assert_status(APNS_ERR_BUFFER_SMALL,
                    apns_strings_format(strings, "KEY", 3, args, count, NULL, 0, NULL, &error),
                    &error);
      assert_ok(
          apns_strings_format(strings, "KEY", 3, args, count, text, wanted + 1, &found, &error),
          &error);
      assert_int_equal(found, wanted);
      assert_memory_equal(text, json_string_value(expected), wanted + 1);
      free(text);
    } else {
      char text[100] = "as it was";
      size_t found = 999;
      const json_t *fault = json_object_get(vector, "error");
      assert_status(
          APNS_ERR_ARGUMENT,
          apns_strings_format(strings, "KEY", 3, args, count, text, sizeof text, &found, &error),
          &error);
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
    apns_strings_free(strings);
  }
  json_decref(file);
}

static void a_file_by_its_name(void **state) {
  (void)state;
  apns_strings_t *strings = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  identities_make();
  static const char text[] = "\"HELLO\" = \"Hello, %@!\";\n";
  assert_ok(apns_strings_open(identities_write("Localizable.strings", text, strlen(text)), &strings,
                              &error),
            &error);
  char hello[20];
  assert_ok(apns_strings_format(strings, "HELLO", 5, (const char *const[]){"Jenna"}, 1, hello,
                                sizeof hello, NULL, &error),
            &error);
  assert_string_equal(hello, "Hello, Jenna!");
  apns_strings_free(strings);

  strings = NULL;
  const char *file = identities_write("Broken.strings", "\n\"a\" = b", 8);
  assert_status(APNS_ERR_ARGUMENT, apns_strings_open(file, &strings, &error), &error);
  assert_contains(error.message, "strings file ");
  assert_contains(error.message, file);
  assert_contains(error.message, ", line 2, column 8: expected ';', not the end");
  assert_status(APNS_ERR_ARGUMENT, apns_strings_open("/nonexistent/a.strings", &strings, &error),
                &error);
  assert_contains(error.message, "strings file /nonexistent/a.strings");
  assert_int_equal(error.sys_errno, ENOENT);
  assert_null(strings);
}

static void a_file_that_is_too_large(void **state) {
  (void)state;
  const size_t limit = 16 << 20;
  char *blanks = malloc(limit + 1);
  memset(blanks, ' ', limit + 1);
  apns_strings_t *strings = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  assert_status(APNS_ERR_ARGUMENT, apns_strings_new(blanks, limit + 1, &strings, &error), &error);
  assert_contains(error.message, "larger than 16 MiB");
  if (as_many_as(1, 0)) {
    assert_ok(apns_strings_new(blanks, limit, &strings, &error), &error);
    apns_strings_free(strings);
  }
  free(blanks);
}

/* Sorted by bytes and found again, in whatever order they stood; and no order is slow. */
static void many_keys(void **state) {
  (void)state;
  const size_t count = as_many_as(50000, 500);
  for (size_t order = 0; order < 3; order++) {
    char *text = malloc(count * 64), *end = text;
    for (size_t index = 0; index < count; index++) {
      const size_t n = order == 0 ? index : order == 1 ? count - index : index * 7919 % count;
      end += sprintf(end, "\"key %zu\" = \"value %zu of %zu\";\n", n, n, order);
    }
    const int64_t start = cpu_ms();
    apns_strings_t *strings = read_strings(text);
    assert_costs(start, 9000);
    for (size_t n = 1; n < count; n++) {
      char key[32], value[64];
      const char *found = NULL;
      size_t length = 0;
      const size_t key_length = (size_t)sprintf(key, "key %zu", n);
      sprintf(value, "value %zu of %zu", n, order);
      assert_ok(apns_strings_get(strings, key, key_length, &found, &length, NULL), NULL);
      assert_string_equal(found, value);
      assert_int_equal(length, strlen(value));
    }
    apns_strings_free(strings);
    free(text);
  }
}

static void keys_are_bytes(void **state) {
  (void)state;
  apns_strings_t *strings =
      read_strings("\"a\\U0000b\" = \"1\"; \"a\" = \"2\"; \"\xC3\xA9\" = \"3\";");
  apns_error_t error = APNS_ERROR_INIT;
  const char *text = NULL;
  assert_ok(apns_strings_get(strings, "a\0b", 3, &text, NULL, &error), &error);
  assert_string_equal(text, "1");
  /* Not ended by a NUL. */
  assert_ok(apns_strings_get(strings, "abc", 1, &text, NULL, &error), &error);
  assert_string_equal(text, "2");
  assert_ok(apns_strings_get(strings, "\xC3\xA9", 2, &text, NULL, &error), &error);
  assert_string_equal(text, "3");
  /* The same to the eye, but other bytes. */
  assert_status(APNS_ERR_ARGUMENT, apns_strings_get(strings, "e\xCC\x81", 3, &text, NULL, &error),
                &error);
  /* A long key leaves room for the words, and no line break is let through. */
  char key[300];
  memset(key, 'k', sizeof key);
  key[3] = '\n';
  assert_status(APNS_ERR_ARGUMENT, apns_strings_get(strings, key, 300, &text, NULL, &error),
                &error);
  assert_contains(error.message, "there is no string for the key \"kkk?kkk");
  assert_contains(error.message, "...\"");
  /* None of its characters is cut in two, and what is none is not repeated. */
  char euros[304] = "k";
  for (size_t i = 1; i < 300; i += 3) memcpy(euros + i, "\xE2\x82\xAC", 4);
  for (size_t skipped = 0; skipped < 2; skipped++) {
    assert_status(APNS_ERR_ARGUMENT,
                  apns_strings_get(strings, euros + skipped, 298 - skipped, &text, NULL, &error),
                  &error);
    assert_contains(error.message, "\xE2\x82\xAC...\"");
  }
  assert_status(APNS_ERR_ARGUMENT,
                apns_strings_get(strings, "\xFF\xE2\x82", 3, &text, NULL, &error), &error);
  assert_contains(error.message, "there is no string for the key \"???\"");
  apns_strings_free(strings);
}

static void arguments_that_cannot_be(void **state) {
  (void)state;
  apns_strings_t *strings = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  const char *text = NULL;
  char buffer[10];
  const char *const args[] = {"a", NULL};
  assert_status(APNS_ERR_ARGUMENT, apns_strings_new(NULL, 3, &strings, &error), &error);
  assert_contains(error.message, "bytes is NULL");
  assert_status(APNS_ERR_ARGUMENT, apns_strings_new("a;", 2, NULL, &error), &error);
  assert_contains(error.message, "strings_out is NULL");
  assert_status(APNS_ERR_ARGUMENT, apns_strings_new("a;", SIZE_MAX, &strings, &error), &error);
  assert_contains(error.message, "length");
  assert_status(APNS_ERR_ARGUMENT, apns_strings_open(NULL, &strings, &error), &error);
  assert_contains(error.message, "file is NULL");
  assert_status(APNS_ERR_ARGUMENT, apns_strings_open("x", NULL, &error), &error);
  assert_null(strings);
  /* Nothing is a file without a pair. */
  assert_ok(apns_strings_new(NULL, 0, &strings, &error), &error);
  assert_status(APNS_ERR_ARGUMENT, apns_strings_get(strings, "a", 1, &text, NULL, &error), &error);
  apns_strings_free(strings);

  strings = read_strings("\"a\" = \"%@%@\";");
  assert_status(APNS_ERR_ARGUMENT, apns_strings_get(NULL, "a", 1, &text, NULL, &error), &error);
  assert_contains(error.message, "strings is NULL");
  assert_status(APNS_ERR_ARGUMENT, apns_strings_get(strings, NULL, 1, &text, NULL, &error), &error);
  assert_contains(error.message, "key is NULL");
  assert_status(APNS_ERR_ARGUMENT, apns_strings_get(strings, "a", SIZE_MAX, &text, NULL, &error),
                &error);
  assert_contains(error.message, "key_length");
  assert_status(APNS_ERR_ARGUMENT, apns_strings_get(strings, "a", 1, NULL, NULL, &error), &error);
  assert_contains(error.message, "text_out is NULL");
  assert_status(APNS_ERR_ARGUMENT,
                apns_strings_format(strings, "a", 1, args, 2, buffer, 10, NULL, &error), &error);
  assert_contains(error.message, "argument 2 is NULL");
  assert_status(APNS_ERR_ARGUMENT,
                apns_strings_format(strings, "a", 1, NULL, 2, buffer, 10, NULL, &error), &error);
  assert_contains(error.message, "args is NULL");
  assert_status(APNS_ERR_ARGUMENT,
                apns_strings_format(strings, "a", 1, args, SIZE_MAX, buffer, 10, NULL, &error),
                &error);
  assert_contains(error.message, "arg_count");
  assert_status(APNS_ERR_ARGUMENT,
                apns_strings_format(strings, "b", 1, args, 1, buffer, 10, NULL, &error), &error);
  assert_contains(error.message, "there is no string for the key \"b\"");
  apns_strings_free(strings);
  apns_strings_free(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_file_that_can_be_read),
      cmocka_unit_test(every_file_that_cannot),
      cmocka_unit_test(every_format),
      cmocka_unit_test(a_file_by_its_name),
      cmocka_unit_test(a_file_that_is_too_large),
      cmocka_unit_test(many_keys),
      cmocka_unit_test(keys_are_bytes),
      cmocka_unit_test(arguments_that_cannot_be),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
