#include "testing.h"

#include "Gateway/identity.h"

static struct CMUnitTest tests[64];
static size_t count;

__attribute__((weak)) void before_all(void) { identities_make(); }
__attribute__((weak)) void after_all(void) {}
__attribute__((weak)) void before_each(void) {}
__attribute__((weak)) void after_each(void) {}

static int begin(void **state) {
  (void)state;
  before_each();
  return 0;
}

static int finish(void **state) {
  (void)state;
  after_each();
  return 0;
}

void add_test(const char *name, CMUnitTestFunction run) {
  if (count == sizeof tests / sizeof *tests) abort();
  tests[count++] = (struct CMUnitTest){name, run, begin, finish, NULL};
}

char *json_of(const char *text, size_t length) {
  char *json = malloc(length + 1);
  for (size_t index = 0; index < length; index++)
    json[index] = text[index] == '\'' ? '"' : text[index];
  json[length] = 0;
  return json;
}

int main(void) {
  /* No provider token is shared with this user's programs. */
  setenv("APNS_TOKEN_CACHE", "off", 1);
  before_all();
  if (getenv("TEST")) cmocka_set_test_filter(getenv("TEST"));
  const int failures = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
  after_all();
  return failures;
}
