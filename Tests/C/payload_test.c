/* Payloads: built, truncated, written. */
#include <stdio.h>

#include "provider.h"
#include "vectors.h"

/* Allocations of the library and of this file; see CMakeLists.txt. */
static size_t allocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size) {
  allocations++;
  return __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
  allocations++;
  return __real_calloc(count, size);
}
void *__wrap_realloc(void *memory, size_t size) {
  allocations++;
  return __real_realloc(memory, size);
}

#define S(literal) (literal), sizeof(literal) - 1

static apns_payload_t *payload_of(size_t limit, const char *suffix) {
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  options.limit = limit;
  options.truncate = suffix != NULL;
  options.suffix = suffix;
  options.suffix_length = suffix ? strlen(suffix) : 0;
  apns_payload_t *payload = payload_with(&options);
  return payload;
}

/* Written to memory of exactly its size, so that valgrind sees a byte too many. */
#define assert_writes(payload, expected) check_writes((payload), (expected), __FILE__, __LINE__)
static void check_writes(apns_payload_t *payload, const char *expected, const char *file,
                         int line) {
  size_t length = 0, cut = 99, again = 0;
  apns_status_t status = apns_payload_write(payload, NULL, 0, &length, &cut, &error);
  check_status(APNS_ERR_BUFFER_SMALL, status, &error, "apns_payload_write", file, line);
  char *json = malloc(length + 1), *wanted = json_of(expected, strlen(expected));
  status = apns_payload_write(payload, json, length - 1, &again, &cut, &error);
  check_status(APNS_ERR_BUFFER_SMALL, status, &error, "apns_payload_write", file, line);
  json = realloc(json, length);
  status = apns_payload_write(payload, json, length, &again, &cut, &error);
  check_status(APNS_OK, status, &error, "apns_payload_write", file, line);
  if (length != again || length != strlen(wanted) || memcmp(json, wanted, length)) {
    print_error("%.*s\n, not\n%s\n", (int)length, json, wanted);
    _fail(file, line);
  }
  _assert_int_equal(cut, 0, file, line);
  free(json), free(wanted);
}

#define assert_refused(call, text) \
  (assert_status(APNS_ERR_ARGUMENT, call), assert_string_equal(error.message, text))

/* ---- Keys --------------------------------------------------------------- */

TEST(an_empty_payload) {
  owned(payload) payload = NULL;
  assert_ok(apns_payload_new(NULL, &payload, NULL));
  assert_writes(payload, "{'aps':{}}");
}

TEST(the_payloads_of_apples_guide) {
  owned(payload) p = payload_of(0, NULL);
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT, S("Message received from Bob"), &error));
  assert_ok(apns_payload_add_json(p, S("acme2"), S("[ \"bang\",  \"whiz\" ]"), &error));
  assert_writes(p, "{'aps':{'alert':'Message received from Bob'},'acme2':['bang','whiz']}");

  apns_payload_reset(p);
  const char *const none[] = {NULL};
  assert_ok(apns_payload_set_string(p, APNS_KEY_LOC_KEY, S("GAME_PLAY_REQUEST_FORMAT"), &error));
  const char *const names[] = {"Jenna", "Frank"};
  assert_ok(apns_payload_set_strings(p, APNS_KEY_LOC_ARGS, names, NULL, 2, &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_SOUND, S("chime"), &error));
  assert_ok(apns_payload_add_string(p, S("acme"), S("foo"), &error));
  assert_writes(p,
                "{'aps':{'alert':{'loc-key':'GAME_PLAY_REQUEST_FORMAT','loc-args':['Jenna','Frank']"
                "},'sound':'chime'},'acme':'foo'}");
  assert_ok(apns_payload_set_strings(p, APNS_KEY_LOC_ARGS, none, NULL, 0, &error));
  apns_payload_remove_custom(p);
  assert_writes(
      p, "{'aps':{'alert':{'loc-key':'GAME_PLAY_REQUEST_FORMAT','loc-args':[]},'sound':'chime'}}");
}

TEST(every_key_in_the_order_set) {
  owned(payload) p = payload_of(4096, NULL);
  const char *const args[] = {"x", "y\0z"};
  const size_t lengths[] = {1, 3};
  assert_ok(apns_payload_set_double(p, APNS_KEY_RELEVANCE_SCORE, 0.75, &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_TITLE, S("t"), &error));
  assert_ok(apns_payload_set_strings(p, APNS_KEY_URL_ARGS, args, lengths, 2, &error));
  assert_ok(apns_payload_set_integer(p, APNS_KEY_MUTABLE_CONTENT, 1, &error));
  assert_ok(apns_payload_set_integer(p, APNS_KEY_CONTENT_AVAILABLE, 1, &error));
  assert_ok(apns_payload_set_integer(p, APNS_KEY_BADGE, -7, &error));
  assert_ok(apns_payload_set_strings(p, APNS_KEY_LOC_ARGS, args, lengths, 1, &error));
  assert_ok(apns_payload_set_strings(p, APNS_KEY_SUBTITLE_LOC_ARGS, args, lengths, 1, &error));
  assert_ok(apns_payload_set_strings(p, APNS_KEY_TITLE_LOC_ARGS, args, lengths, 1, &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_LAUNCH_IMAGE, S("i"), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_ACTION_LOC_KEY, NULL, 0, &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_LOC_KEY, S("k"), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_SUBTITLE_LOC_KEY, S("sk"), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_TITLE_LOC_KEY, S("tk"), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_BODY, S("b"), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_SUBTITLE, S("s"), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_FILTER_CRITERIA, S("f"), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_INTERRUPTION_LEVEL, S("active"), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_TARGET_CONTENT_ID, S("tc"), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_THREAD_ID, S("th"), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_CATEGORY, S("c"), &error));
  assert_ok(apns_payload_set_critical_sound(p, S("alarm"), 1, &error));
  assert_writes(
      p,
      "{'aps':{'relevance-score':0.75,'alert':{'title':'t','loc-args':['x'],'subtitle-loc-args':['"
      "x'],'title-loc-args':['x'],'launch-image':'i','action-loc-key':null,'loc-key':'k','subtitle-"
      "loc-key':'sk','title-loc-key':'tk','body':'b','subtitle':'s'},'url-args':['x','y\\u0000z'],'"
      "mutable-content':1,'content-available':1,'badge':-7,'filter-criteria':'f','interruption-"
      "level':'active','target-content-id':'tc','thread-id':'th','category':'c','sound':{'critical'"
      ":1,'name':'alarm','volume':1.0}}}");
}

TEST(custom_values_of_every_type) {
  owned(payload) p = payload_of(4096, NULL);
  assert_ok(apns_payload_add_string(p, S("s"), S("a/b \"c\" \\ \n\x01 \xC3\xA9"), &error));
  assert_ok(apns_payload_add_integer(p, S("i"), INT64_MIN, &error));
  assert_ok(apns_payload_add_integer(p, S("j"), INT64_MAX, &error));
  assert_ok(apns_payload_add_double(p, S("d"), 0.1, &error));
  assert_ok(apns_payload_add_boolean(p, S("t"), 7, &error));
  assert_ok(apns_payload_add_boolean(p, S("f"), 0, &error));
  assert_ok(apns_payload_add_null(p, S("n"), &error));
  assert_ok(apns_payload_add_string(p, "", 0, "", 0, &error));
  assert_ok(
      apns_payload_add_json(p, S("r"), S(" {\"a\\/\\u00e9\" : [1.50 , true ,\n{} ] } "), &error));
  assert_writes(p,
                "{'aps':{},'s':'a/b \\'c\\' \\\\ \\n\\u0001 "
                "\xC3\xA9','i':-9223372036854775808,'j':9223372036854775807,'d':0.1,'t':true,'f':"
                "false,'n':null,'':'','r':{'a/\xC3\xA9':[1.50,true,{}]}}");
}

TEST(doubles_have_as_few_digits_as_can_be) {
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0, "0.0"},
               {-0.0, "-0.0"},
               {5, "5.0"},
               {0.5, "0.5"},
               {1e15, "1000000000000000.0"},
               {1e16, "1e16"},
               {1e-4, "0.0001"},
               {1.5e-5, "1.5e-5"},
               {-1.7976931348623157e308, "-1.7976931348623157e308"},
               {2.2250738585072014e-308, "2.2250738585072014e-308"},
               {5e-324, "5e-324"},
               /* A power of two, whose neighbour above is farther than the one below. */
               {5.684341886080802e-14, "5.684341886080802e-14"},
               {0.1 + 0.2, "0.30000000000000004"}};
  owned(payload) p = payload_of(0, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char expected[80];
    snprintf(expected, sizeof expected, "{\"aps\":{\"relevance-score\":%s}}", cases[i].text);
    assert_ok(apns_payload_set_double(p, APNS_KEY_RELEVANCE_SCORE, cases[i].value, &error));
    assert_writes(p, expected);
  }
}

/* ---- What is refused ---------------------------------------------------- */

TEST(what_is_refused_names_the_key_and_changes_nothing) {
  owned(payload) p = payload_of(0, NULL);
  const double nan = 0.0 / 0.0, infinite = 1.0 / 0.0;
  assert_ok(apns_payload_set_string(p, APNS_KEY_BODY, S("b"), &error));
  assert_ok(apns_payload_add_integer(p, S("acme"), 1, &error));

  assert_refused(apns_payload_set_string(p, APNS_KEY_TITLE, S("caf\xE9"), &error),
                 "title is not UTF-8 at byte 3");
  assert_refused(apns_payload_set_string(p, APNS_KEY_BODY, S("123456789\xED\xA0\x80"), &error),
                 "body is not UTF-8 at byte 9");
  const char *const args[] = {"fine", "\xFF"};
  assert_refused(apns_payload_set_strings(p, APNS_KEY_LOC_ARGS, args, NULL, 2, &error),
                 "loc-args[1] is not UTF-8 at byte 0");
  const char *const holes[] = {"fine", NULL};
  assert_refused(apns_payload_set_strings(p, APNS_KEY_LOC_ARGS, holes, NULL, 2, &error),
                 "loc-args[1] is NULL or its length is impossible");
  assert_refused(apns_payload_set_string(p, APNS_KEY_ALERT, S("a"), &error),
                 "alert: the alert already has parts, so set its text as APNS_KEY_BODY");
  assert_refused(apns_payload_set_string(p, APNS_KEY_BADGE, S("3"), &error),
                 "badge is an integer: set it with apns_payload_set_integer()");
  assert_refused(apns_payload_set_integer(p, APNS_KEY_TITLE, 3, &error),
                 "title is a string: set it with apns_payload_set_string()");
  assert_refused(apns_payload_set_double(p, APNS_KEY_URL_ARGS, 3, &error),
                 "url-args is an array of strings: set it with apns_payload_set_strings()");
  assert_refused(apns_payload_set_integer(p, APNS_KEY_RELEVANCE_SCORE, 1, &error),
                 "relevance-score is a number: set it with apns_payload_set_double()");
  assert_refused(apns_payload_set_string(p, (apns_payload_key_t)99, S("a"), &error),
                 "key 99 is not an apns_payload_key_t");
  assert_refused(apns_payload_set_string(p, (apns_payload_key_t)0, S("a"), &error),
                 "key 0 is not an apns_payload_key_t");
  assert_refused(apns_payload_remove(p, (apns_payload_key_t)35, &error),
                 "key 35 is not an apns_payload_key_t");
  assert_refused(apns_payload_set_double(p, APNS_KEY_RELEVANCE_SCORE, nan, &error),
                 "relevance-score is NaN or infinite, which JSON cannot express");
  assert_refused(apns_payload_set_critical_sound(p, S("s"), 1.5, &error),
                 "sound: the volume is not from 0 to 1");
  assert_refused(apns_payload_set_critical_sound(p, S("s"), nan, &error),
                 "sound: the volume is not from 0 to 1");
  assert_refused(apns_payload_set_string(p, APNS_KEY_SOUND, NULL, 0, &error),
                 "sound is NULL or its length is impossible");
  assert_refused(apns_payload_add_integer(p, S("acme"), 2, &error),
                 "custom key 'acme' is there already");
  assert_refused(apns_payload_add_json(p, S("acme"), S("{}"), &error),
                 "custom key 'acme' is there already");
  assert_refused(apns_payload_add_null(p, S("aps"), &error),
                 "custom key 'aps' is Apple's: set what is in it with apns_payload_set_string() "
                 "and the like");
  assert_refused(apns_payload_add_null(p, S("a\x80z"), &error),
                 "custom key 'a?z': the name is not UTF-8 at byte 1");
  assert_refused(apns_payload_add_string(p, S("k"), S("ab\xC3"), &error),
                 "custom key 'k' is not UTF-8 at byte 2");
  assert_refused(apns_payload_add_double(p, S("k"), infinite, &error),
                 "custom key 'k' is NaN or infinite, which JSON cannot express");
  assert_refused(apns_payload_add_json(p, S("k"), S("[1,]"), &error),
                 "custom key 'k': byte 3: not a JSON value");
  assert_refused(apns_payload_add_json(p, S("k"), S("[\"\\ud800\"]"), &error),
                 "custom key 'k': byte 2: half a surrogate pair");
  char deep[1024];
  memset(deep, '[', sizeof deep);
  assert_refused(apns_payload_add_json(p, S("k"), deep, sizeof deep, &error),
                 "custom key 'k': byte 511: nested deeper than 512");
  assert_refused(apns_payload_add_string(p, NULL, 0, S("a"), &error),
                 "name is NULL or its length is impossible");
  assert_refused(apns_payload_add_string(p, S("k"), NULL, 0, &error),
                 "custom key 'k' is NULL or its length is impossible");
  assert_refused(apns_payload_add_string(p, S("k"), "a", SIZE_MAX, &error),
                 "custom key 'k' is NULL or its length is impossible");
  assert_refused(apns_payload_set_string(p, APNS_KEY_BODY, "a", SIZE_MAX, &error),
                 "body is NULL or its length is impossible");
  assert_refused(apns_payload_set_string(NULL, APNS_KEY_BODY, S("a"), &error), "payload is NULL");
  assert_writes(p, "{'aps':{'alert':{'body':'b'}},'acme':1}");

  assert_ok(apns_payload_remove(p, APNS_KEY_ALERT, &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT, S("a"), &error));
  assert_refused(apns_payload_set_string(p, APNS_KEY_TITLE, S("t"), &error),
                 "title: the alert is already a string, which has no parts");
  assert_writes(p, "{'aps':{'alert':'a'},'acme':1}");
}

TEST(a_long_name_leaves_room_for_what_is_said_of_it) {
  char name[1000];
  memset(name, 'n', sizeof name);
  owned(payload) p = payload_of(0, NULL);
  assert_ok(apns_payload_add_null(p, name, sizeof name, &error));
  assert_invalid(apns_payload_add_null(p, name, sizeof name, &error), "nnn...' is there already");
}

TEST(options_that_cannot_be) {
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  apns_payload_t *payload = NULL;
  assert_status(APNS_ERR_ARGUMENT, apns_payload_new(&options, NULL, &error));
  assert_string_equal(error.message, "payload_out is NULL");
  options.limit = SIZE_MAX;
  assert_status(APNS_ERR_ARGUMENT, apns_payload_new(&options, &payload, &error));
  assert_string_equal(error.message, "limit is 18446744073709551615, which is larger than memory");
  options.limit = 0;
  options.truncate = 1;
  options.suffix = "\xFF";
  options.suffix_length = 1;
  assert_status(APNS_ERR_ARGUMENT, apns_payload_new(&options, &payload, &error));
  assert_string_equal(error.message, "suffix is not UTF-8 at byte 0");
  options.suffix = "\xCC\x81"; /* a combining acute accent */
  options.suffix_length = 2;
  assert_invalid(apns_payload_new(&options, &payload, &error), "joins the one before it");
  options.size = 3;
  assert_invalid(apns_payload_new(&options, &payload, &error),
                 "set the structure up with its INIT macro");
  assert_null(payload);
}

/* ---- Templates and memory ----------------------------------------------- */

TEST(a_template_changes_in_place) {
  owned(payload) p = payload_of(0, NULL);
  assert_ok(apns_payload_set_string(p, APNS_KEY_BODY, S("first"), &error));
  assert_ok(apns_payload_set_integer(p, APNS_KEY_BADGE, 1, &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_SOUND, S("default"), &error));
  assert_ok(apns_payload_add_integer(p, S("id"), 1, &error));
  static const char *const bodies[] = {"", "a much longer text than the one before", "mid", "x"};
  for (int i = 0; i < 4; i++) {
    char expected[200];
    assert_ok(apns_payload_set_integer(p, APNS_KEY_BADGE, i * 1000000007LL, &error));
    assert_ok(apns_payload_set_string(p, APNS_KEY_BODY, bodies[i], strlen(bodies[i]), &error));
    apns_payload_remove_custom(p);
    assert_ok(apns_payload_add_integer(p, S("id"), i, &error));
    snprintf(expected, sizeof expected,
             "{\"aps\":{\"alert\":{\"body\":\"%s\"},\"badge\":%lld,\"sound\":\"default\"},"
             "\"id\":%d}",
             bodies[i], i * 1000000007LL, i);
    assert_writes(p, expected);
  }
  /* A key that was removed and set again comes last. */
  assert_ok(apns_payload_remove(p, APNS_KEY_BADGE, &error));
  assert_ok(apns_payload_remove(p, APNS_KEY_BODY, &error));
  assert_ok(apns_payload_remove(p, APNS_KEY_TITLE, &error));
  assert_writes(p, "{'aps':{'sound':'default'},'id':3}");
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT, S("a"), &error));
  assert_writes(p, "{'aps':{'sound':'default','alert':'a'},'id':3}");
  assert_ok(apns_payload_set_string(p, APNS_KEY_SOUND, S("other"), &error));
  assert_writes(p, "{'aps':{'sound':'other','alert':'a'},'id':3}");
}

/* ---- Live Activities ---------------------------------------------------- */

#define STATE "{\"currentHealthLevel\":100,\"eventDescription\":\"Adventure has begun!\"}"
#define TITLE "{\"loc-key\":\"%@ is on an adventure!\",\"loc-args\":[\"Power Panda\"]}"
#define BODY "{\"loc-key\":\"%@ found a sword!\",\"loc-args\":[\"Power Panda\"]}"

static void assert_passes_the_check(apns_payload_t *p) {
  char json[4096];
  size_t length = 0, count = 0;
  assert_ok(apns_payload_write(p, json, sizeof json, &length, NULL, &error));
  assert_ok(apns_payload_check(json, length, sizeof json, NULL, 0, &count, &error));
  assert_int_equal(count, 0);
}

TEST(a_live_activity_starts_and_ends) {
  owned(payload) p = payload_of(4096, NULL);
  assert_ok(apns_payload_set_integer(p, APNS_KEY_TIMESTAMP, 1800000000, &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_EVENT, S("start"), &error));
  assert_ok(apns_payload_set_json(p, APNS_KEY_CONTENT_STATE, S(STATE), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_ATTRIBUTES_TYPE, S("AdventureAttributes"), &error));
  assert_ok(apns_payload_set_json(p, APNS_KEY_ATTRIBUTES,
                                  S(" { \"hero\" : { \"name\" : \"P\\u0061nda\" } } "), &error));
  assert_ok(apns_payload_set_json(p, APNS_KEY_TITLE, S(TITLE), &error));
  assert_ok(apns_payload_set_json(p, APNS_KEY_BODY, S(BODY), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT_SOUND, S("chime.aiff"), &error));
  assert_ok(apns_payload_set_integer(p, APNS_KEY_INPUT_PUSH_TOKEN, 1, &error));
  assert_writes(p, "{'aps':{'timestamp':1800000000,'event':'start','content-state':" STATE
                   ",'attributes-type':'AdventureAttributes','attributes':{'hero':{'name':'Panda'}}"
                   ",'alert':{'title':" TITLE ",'body':" BODY
                   ",'sound':'chime.aiff'},'input-push-token':1}}");
  assert_passes_the_check(p);
  assert_ok(apns_payload_remove(p, APNS_KEY_INPUT_PUSH_TOKEN, &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_INPUT_PUSH_CHANNEL, S("dHN0LXNyY2g="), &error));
  assert_passes_the_check(p);

  apns_payload_reset(p);
  assert_ok(apns_payload_set_string(p, APNS_KEY_EVENT, S("end"), &error));
  assert_ok(apns_payload_set_integer(p, APNS_KEY_TIMESTAMP, 1685952000, &error));
  assert_ok(apns_payload_set_integer(p, APNS_KEY_STALE_DATE, 1685952001, &error));
  assert_ok(apns_payload_set_integer(p, APNS_KEY_DISMISSAL_DATE, 1663177260, &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_TITLE, S("t"), &error));
  assert_writes(p,
                "{'aps':{'event':'end','timestamp':1685952000,'stale-date':1685952001,'dismissal-"
                "date':1663177260,'alert':{'title':'t'}}}");
  assert_passes_the_check(p);
}

/* Apple's only boolean key. */
TEST(content_that_changed) {
  owned(payload) p = payload_of(4096, NULL);
  assert_ok(apns_payload_set_integer(p, APNS_KEY_CONTENT_CHANGED, 1, &error));
  assert_writes(p, "{'aps':{'content-changed':true}}");
  assert_passes_the_check(p);
  assert_ok(apns_payload_set_integer(p, APNS_KEY_CONTENT_CHANGED, 0, &error));
  assert_writes(p, "{'aps':{'content-changed':false}}");
  assert_ok(apns_payload_set_integer(p, APNS_KEY_CONTENT_CHANGED, INT64_MIN, &error));
  assert_ok(apns_payload_set_integer(p, APNS_KEY_BADGE, 1, &error));
  assert_writes(p, "{'aps':{'content-changed':true,'badge':1}}");
  assert_refused(apns_payload_set_string(p, APNS_KEY_CONTENT_CHANGED, S("true"), &error),
                 "content-changed is an integer: set it with apns_payload_set_integer()");
  assert_ok(apns_payload_remove(p, APNS_KEY_CONTENT_CHANGED, &error));
  assert_writes(p, "{'aps':{'badge':1}}");
}

TEST(a_json_that_is_refused_changes_nothing) {
  owned(payload) p = payload_of(200, "...");
  const char *const localized =
      " is not an object with loc-key, a string, and loc-args, an array of strings";
  char message[160];
  assert_ok(apns_payload_set_json(p, APNS_KEY_CONTENT_STATE, S("{\"a\":[1,{}]}"), &error));
  assert_ok(apns_payload_set_json(p, APNS_KEY_BODY, S("{\"loc-key\":\"k\"}"), &error));
  assert_refused(apns_payload_set_json(p, APNS_KEY_CONTENT_STATE, S("{\"a\":[2,{]}"), &error),
                 "content-state: byte 9: expected a key in quotation marks or '}'");
  assert_refused(apns_payload_set_json(p, APNS_KEY_CONTENT_STATE, S(" [1]"), &error),
                 "content-state is not a JSON object");
  assert_refused(apns_payload_set_json(p, APNS_KEY_ATTRIBUTES, NULL, 0, &error),
                 "attributes is NULL or its length is impossible");
  assert_refused(apns_payload_set_string(p, APNS_KEY_ATTRIBUTES, S("a"), &error),
                 "attributes is an object: set it with apns_payload_set_json()");
  assert_refused(apns_payload_set_json(p, APNS_KEY_EVENT, S("{}"), &error),
                 "event is a string: set it with apns_payload_set_string()");
  static const char *const texts[] = {"{}",
                                      "{\"loc_key\":\"k\"}",
                                      "{\"loc-key\":1}",
                                      "{\"loc-args\":[]}",
                                      "{\"loc-key\":\"k\",\"loc-key\":\"l\"}",
                                      "{\"loc-key\":\"k\",\"loc-args\":[1]}",
                                      "{\"loc-key\":\"k\",\"loc-args\":[\"a\",{}]}",
                                      "{\"loc-key\":\"k\",\"loc-args\":\"a\"}"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    snprintf(message, sizeof message, "title%s", localized);
    assert_refused(apns_payload_set_json(p, APNS_KEY_TITLE, texts[i], strlen(texts[i]), &error),
                   message);
    snprintf(message, sizeof message, "body%s", localized);
    assert_refused(apns_payload_set_json(p, APNS_KEY_BODY, texts[i], strlen(texts[i]), &error),
                   message);
  }
  const char *const before =
      "{\"aps\":{\"content-state\":{\"a\":[1,{}]},\"alert\":{\"body\":{\"loc-key\":\"k\"}}}}";
  assert_writes(p, before);
  /* As deep as the device reads, and one deeper: within aps, and aps within the payload. */
  char deep[4000];
  size_t length = 0;
  for (size_t level = 0; level < 509; level++, length += 5) memcpy(deep + length, "{\"a\":", 5);
  memcpy(deep + length, "[]", 2);
  length += 2;
  memset(deep + length, '}', 509);
  owned(payload) nested = payload_of(8192, NULL);
  assert_ok(apns_payload_set_json(nested, APNS_KEY_ATTRIBUTES, deep, length + 509, &error));
  assert_ok(apns_payload_set_string(nested, APNS_KEY_EVENT, S("end"), &error));
  assert_ok(apns_payload_set_integer(nested, APNS_KEY_TIMESTAMP, 1800000000, &error));
  assert_passes_the_check(nested);
  memcpy(deep + length - 2, "[[]]", 4);
  memset(deep + length + 2, '}', 509);
  assert_invalid(apns_payload_set_json(p, APNS_KEY_ATTRIBUTES, deep, length + 511, &error),
                 "nested deeper than 512");
  /* The library cannot truncate an object. */
  char text[200], json[300];
  memset(text, 'x', sizeof text);
  assert_ok(apns_payload_set_string(p, APNS_KEY_CATEGORY, text, sizeof text, &error));
  assert_refused(apns_payload_write(p, json, sizeof json, &length, NULL, &error),
                 "the payload has 285 bytes, 85 more than its limit of 200");
}

TEST(a_live_activity_as_a_template_allocates_nothing) {
  owned(payload) p = payload_of(4096, NULL);
  char content[200], json[4096], expected[300];
  size_t length = 0, before = 0;
  assert_ok(apns_payload_set_string(p, APNS_KEY_EVENT, S("update"), &error));
  for (int round = 0; round < 2000; round++) {
    /* The first is the longest. */
    int size = snprintf(content, sizeof content, "{\"level\":%d,\"text\":\"%.*s\"}", 9999 - round,
                        40 - round % 40, "Power Panda has been knocked down, and up");
    assert_ok(apns_payload_set_json(p, APNS_KEY_CONTENT_STATE, content, (size_t)size, &error));
    assert_ok(apns_payload_set_integer(p, APNS_KEY_TIMESTAMP, 1685952000 + round, &error));
    assert_ok(apns_payload_write(p, json, sizeof json, &length, NULL, &error));
    snprintf(expected, sizeof expected,
             "{\"aps\":{\"event\":\"update\",\"content-state\":%s,\"timestamp\":%d}}", content,
             1685952000 + round);
    assert_int_equal(length, strlen(expected));
    assert_memory_equal(json, expected, length);
    if (round == 0) before = allocations;
  }
  assert_int_equal(allocations, before);
}

static void fill(apns_payload_t *p, size_t round) {
  char text[600];
  memset(text, 'a' + (int)(round % 26), sizeof text);
  const char *const args[] = {"Jenna", "Frank"};
  assert_ok(apns_payload_set_string(p, APNS_KEY_BODY, text, round % sizeof text, &error));
  assert_ok(apns_payload_set_strings(p, APNS_KEY_LOC_ARGS, args, NULL, 2, &error));
  assert_ok(apns_payload_set_integer(p, APNS_KEY_BADGE, (int64_t)round, &error));
  assert_ok(apns_payload_set_double(p, APNS_KEY_RELEVANCE_SCORE, 0.1 * (double)round, &error));
  for (int key = 0; key < 20; key++) {
    char name[20];
    int length = snprintf(name, sizeof name, "key%d", key);
    assert_ok(apns_payload_add_string(p, name, (size_t)length, text, round % 40, &error));
  }
  assert_ok(apns_payload_add_json(p, S("json"), S("[1, 2, {\"a\": null}]"), &error));
}

TEST(a_payload_that_is_warm_allocates_nothing) {
  char json[8192];
  size_t length = 0;
  owned(payload) p = payload_of(sizeof json, NULL);
  fill(p, 599);
  size_t before = allocations;
  assert_true(before > 0);
  for (size_t round = 0; round < 2000; round++) {
    apns_payload_reset(p);
    fill(p, round);
    assert_int_equal(apns_payload_write(p, json, sizeof json, &length, NULL, NULL), APNS_OK);
  }
  assert_int_equal(allocations, before);
  /* As a template: after a round of the longest, none allocates. */
  const char longest[600] = {0};
  assert_ok(apns_payload_set_string(p, APNS_KEY_BODY, longest, sizeof longest, NULL));
  before = allocations;
  for (size_t round = 0; round < 2000; round++) {
    assert_ok(apns_payload_set_string(p, APNS_KEY_BODY, longest, round % 600, NULL));
    assert_ok(apns_payload_set_integer(p, APNS_KEY_BADGE, INT64_MIN + (int64_t)round, NULL));
  }
  assert_int_equal(allocations, before);
}

TEST(many_custom_keys) {
  const size_t count = as_many_as(100000, 3000);
  int64_t start = cpu_ms();
  owned(payload) p = payload_of((size_t)1 << 24, NULL);
  for (size_t key = 0; key < count; key++) {
    char name[24];
    int length = snprintf(name, sizeof name, "k%zu", key);
    assert_ok(apns_payload_add_integer(p, name, (size_t)length, 1, &error));
  }
  assert_refused(apns_payload_add_integer(p, S("k77"), 2, &error),
                 "custom key 'k77' is there already");
  apns_payload_remove_custom(p);
  assert_ok(apns_payload_add_integer(p, S("k77"), 2, &error));
  assert_writes(p, "{'aps':{},'k77':2}");
  assert_costs(start, 9000);
}

/* However many names there are, and however often one of them comes again. */
TEST(each_name_is_there_once) {
  owned(payload) p = payload_of((size_t)1 << 16, NULL);
  for (int round = 0; round < 3; round++) {
    for (int count = 0; count < 70; count++) {
      char name[24], message[64];
      int length = snprintf(name, sizeof name, "name %d", count);
      assert_ok(apns_payload_add_integer(p, name, (size_t)length, count, &error));
      for (int again = 0; again <= count; again++) {
        length = snprintf(name, sizeof name, "name %d", again);
        snprintf(message, sizeof message, "custom key '%s' is there already", name);
        for (int times = 0; times < 5; times++)
          assert_refused(apns_payload_add_integer(p, name, (size_t)length, 0, &error), message);
      }
    }
    apns_payload_reset(p);
    assert_writes(p, "{'aps':{}}");
  }
}

/* ---- Limits ------------------------------------------------------------- */

TEST(too_long_says_by_how_much) {
  char json[256], text[300];
  size_t length = 0, cut = 9;
  memset(text, 'x', sizeof text);
  owned(payload) p = payload_of(APNS_PAYLOAD_MAX_LISTING, NULL);
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT, text, 236, &error));
  assert_ok(apns_payload_write(p, json, sizeof json, &length, &cut, &error));
  assert_int_equal(length, 256);
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT, text, 300, &error));
  assert_status(APNS_ERR_ARGUMENT, apns_payload_write(p, json, sizeof json, &length, &cut, &error));
  assert_string_equal(error.message, "the payload has 320 bytes, 64 more than its limit of 256");
  assert_int_equal(length, 320);
  assert_int_equal(cut, 0);
}

#define assert_cut(payload, expected, bytes) \
  check_cut((payload), (expected), (bytes), __FILE__, __LINE__)
static void check_cut(apns_payload_t *payload, const char *expected, size_t bytes, const char *file,
                      int line) {
  char json[512], *wanted = json_of(expected, strlen(expected));
  size_t length = 0, cut = 0;
  check_status(APNS_OK, apns_payload_write(payload, json, sizeof json, &length, &cut, &error),
               &error, "apns_payload_write", file, line);
  if (length != strlen(wanted) || memcmp(json, wanted, length)) {
    print_error("%.*s\n, not\n%s\n", (int)length, json, wanted);
    _fail(file, line);
  }
  _assert_int_equal(cut, bytes, file, line);
  free(wanted);
}

TEST(a_text_is_shortened_by_what_is_needed) {
  owned(payload) p = payload_of(42, "...");
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT, S("1234567890123456789012"), &error));
  assert_writes(p, "{'aps':{'alert':'1234567890123456789012'}}");
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT, S("12345678901234567890123"), &error));
  assert_cut(p, "{'aps':{'alert':'1234567890123456789...'}}", 4);
  /* An escape is not cut in two, and is counted as it is written. */
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT, S("123456789012345678\n0123"), &error));
  assert_cut(p, "{'aps':{'alert':'123456789012345678...'}}", 5);
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT, S("1234567890123\x01\"890123"), &error));
  assert_cut(p, "{'aps':{'alert':'1234567890123\\u0001...'}}", 7);
  /* e with a combining accent, a family, a flag. */
  assert_ok(
      apns_payload_set_string(p, APNS_KEY_ALERT, S("12345678901234567e\xCC\x81 xyz"), &error));
  assert_cut(p, "{'aps':{'alert':'12345678901234567...'}}", 7);
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT,
                                    S("1234\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D"
                                      "\xF0\x9F\x91\xA7 xyz"),
                                    &error));
  assert_cut(p, "{'aps':{'alert':'1234...'}}", 22);
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT,
                                    S("12\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA\xF0\x9F\x87\xAF"
                                      "\xF0\x9F\x87\xB5 wxyz"),
                                    &error));
  assert_cut(
      p,
      "{'aps':{'alert':'12\xF0\x9F\x87\xA9\xF0\x9F\x87\xAA\xF0\x9F\x87\xAF\xF0\x9F\x87\xB5 ...'}}",
      4);
}

TEST(the_body_or_the_last_argument_is_what_is_shortened) {
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  options.limit = 70;
  options.truncate = 1;
  owned(payload) p = payload_with(&options);
  assert_ok(apns_payload_set_string(p, APNS_KEY_TITLE, S("title"), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_BODY, S("the body is what is shortened"), &error));
  assert_ok(apns_payload_add_integer(p, S("id"), 12345, &error));
  assert_cut(p, "{'aps':{'alert':{'title':'title','body':'the body is\xE2\x80\xA6'}},'id':12345}",
             18);
  const char *const args[] = {"Jenna", "Frank who has a very long name"};
  apns_payload_reset(p);
  assert_ok(apns_payload_set_strings(p, APNS_KEY_LOC_ARGS, args, NULL, 2, &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_LOC_KEY, S("K"), &error));
  assert_cut(p, "{'aps':{'alert':{'loc-args':['Jenna','Frank who \xE2\x80\xA6'],'loc-key':'K'}}}",
             20);
  /* Nothing that may be truncated, or not by enough. */
  apns_payload_reset(p);
  assert_ok(apns_payload_set_string(p, APNS_KEY_TITLE, args[1], strlen(args[1]), &error));
  assert_ok(apns_payload_set_string(p, APNS_KEY_SOUND, args[1], strlen(args[1]), &error));
  char json[70];
  size_t length = 0;
  assert_refused(apns_payload_write(p, json, sizeof json, &length, NULL, &error),
                 "the payload has 101 bytes, 31 more than its limit of 70");
  assert_ok(apns_payload_set_string(p, APNS_KEY_BODY, S("body"), &error));
  assert_refused(apns_payload_write(p, json, sizeof json, &length, NULL, &error),
                 "the payload has 115 bytes, 114 with all its text cut, 44 more than its "
                 "limit of 70");
  assert_int_equal(length, 114);
}

TEST(a_long_text_is_shortened_in_no_time) {
  const size_t count = as_many_as(20000000, 200000);
  owned(text) text = malloc(count);
  memset(text, '"', count);
  owned(payload) p = payload_of(2048, "");
  int64_t start = cpu_ms();
  assert_ok(apns_payload_set_string(p, APNS_KEY_ALERT, text, count, &error));
  for (int i = 0; i < 100; i++) {
    char json[2048];
    size_t length = 0, cut = 0;
    assert_ok(apns_payload_write(p, json, sizeof json, &length, &cut, &error));
    assert_int_equal(length, 2048);
    assert_int_equal(cut, count - (2048 - 20) / 2);
  }
  assert_costs(start, 9000);
}

TEST(null_is_fine_where_the_header_says_so) {
  apns_payload_free(NULL);
  apns_payload_reset(NULL);
  apns_payload_remove_custom(NULL);
  size_t length = 0;
  char json[16];
  assert_int_equal(apns_payload_write(NULL, json, 16, &length, NULL, NULL), APNS_ERR_ARGUMENT);
  owned(payload) p = payload_of(0, NULL);
  assert_refused(apns_payload_write(p, json, 16, NULL, NULL, &error), "length_out is NULL");
}

/* ---- Raw JSON ----------------------------------------------------------- */

TEST(every_json_vector) {
  size_t valid = 0, invalid = 0;
  owned(payload) p = payload_of(65536, NULL);
  vectors_each("json.json", vector) {
    FORGET_ERROR();
    size_t length, compact_length, written = 0;
    owned(bytes) json = vector_bytes(vector, "hex", &length);
    owned(bytes) compact = vector_bytes(vector, "compact", &compact_length);
    char buffer[65536];
    apns_payload_reset(p);
    apns_status_t status = apns_payload_add_json(p, S("k"), (const char *)json, length, &error);
    bool is_valid = vector_is(vector, "result", "valid");
    if (status != (is_valid ? APNS_OK : APNS_ERR_ARGUMENT))
      fail_msg("%s: %s %s", vector_text(vector, "name"), apns_status_name(status), error.message);
    assert_ok(apns_payload_write(p, buffer, sizeof buffer, &written, NULL, &error));
    if (is_valid) {
      valid++;
      if (written != 14 + compact_length + 1 || memcmp(buffer + 14, compact, compact_length))
        fail_msg("%s: %.*s", vector_text(vector, "name"), (int)written, buffer);
    } else {
      invalid++;
      assert_memory_equal(buffer, "{\"aps\":{}}", written);
      assert_contains(error.message, "custom key 'k': byte ");
    }
  }
  assert_true(valid >= 75 && invalid >= 75);
}
