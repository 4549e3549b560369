/* Payloads that somebody else made, judged. */
#include <stdio.h>
#include <time.h>

#include "provider.h"
#include "vectors.h"

#define FINDINGS 16

/* The findings of a check; the array has exactly that length, so that valgrind detects more. */
typedef struct told {
  apns_status_t status;
  apns_error_t error;
  size_t count;
  apns_payload_finding_t findings[FINDINGS];
} told_t;

static told_t check_bytes(const char *json, size_t length, size_t limit) {
  told_t told = {.error = APNS_ERROR_INIT, .findings = {APNS_PAYLOAD_FINDING_INIT}};
  /* Has exactly its size. */
  owned(text) copy = malloc(length ? length : 1);
  memcpy(copy, json, length);
  told.status =
      apns_payload_check(copy, length, limit, told.findings, FINDINGS, &told.count, &told.error);
  return told;
}

static told_t check_text(const char *text, size_t length) {
  owned(text) json = json_of(text, length);
  told_t told = check_bytes(json, length, 0);
  return told;
}

#define check(text) check_text((text), sizeof(text) - 1)

#define assert_found(told, index, severity, offset, line, column, message) \
  check_found(&(told), (index), (severity), (offset), (line), (column), (message), __LINE__)
static void check_found(const told_t *told, size_t index, apns_finding_severity_t severity,
                        size_t offset, uint32_t line, uint32_t column, const char *message,
                        int at) {
  const apns_payload_finding_t *found = &told->findings[index];
  if (index >= told->count || found->severity != (int32_t)severity || found->offset != offset ||
      found->line != line || found->column != column || strcmp(found->message, message)) {
    print_error("%zu findings; %zu: severity %d, byte %zu, line %u, column %u: %s\n", told->count,
                index, found->severity, found->offset, found->line, found->column, found->message);
    _fail(__FILE__, at);
  }
  _assert_int_equal(found->size, sizeof *found, __FILE__, at);
}

/* One finding and no other. */
#define assert_one(json, severity, offset, message)                                   \
  do {                                                                                \
    told_t told_ = check(json);                                                       \
    assert_found(told_, 0, (severity), (offset), 1, (offset) + 1, (message));         \
    assert_int_equal(told_.count, 1);                                                 \
    assert_int_equal(told_.status,                                                    \
                     (severity) == APNS_FINDING_ERROR ? APNS_ERR_ARGUMENT : APNS_OK); \
  } while (0)
#define ERROR APNS_FINDING_ERROR
#define WARNING APNS_FINDING_WARNING

#define assert_clean(json)                                           \
  do {                                                               \
    told_t told_ = check(json);                                      \
    if (told_.count) print_error("%s\n", told_.findings[0].message); \
    assert_int_equal(told_.count, 0);                                \
    assert_int_equal(told_.status, APNS_OK);                         \
  } while (0)

TEST(payloads_that_are_fine) {
  assert_clean("{'aps':{}}");
  assert_clean("{'aps':{'alert':'Message received from Bob'},'acme2':['bang','whiz']}");
  assert_clean(
      "{ 'aps' : { 'alert' : { 'title':'t', 'subtitle':'s', 'body':'b', 'title-loc-key':'k', "
      "'title-loc-args':[], 'subtitle-loc-key':'k', 'subtitle-loc-args':['a'], 'loc-key':'k', "
      "'loc-args':['a','b'], 'action-loc-key':null, 'launch-image':'i' }, 'badge':9, "
      "'sound':'bingbong.aiff', 'content-available':1, 'mutable-content':1, 'category':'c', "
      "'thread-id':'t', 'target-content-id':'t', 'interruption-level':'time-sensitive', "
      "'filter-criteria':'f', 'relevance-score':0.5, 'url-args':['a'] } }\n");
  assert_clean("{'aps':{'sound':{'critical':1,'name':'default','volume':0.5}}}");
  assert_clean("{'aps':{'alert':{'action-loc-key':'PLAY'}},'a':{'alert':[1]}}");
  assert_clean("{'\\u0061ps':{'b\\u0061dge':3},'x':null}");
}

TEST(what_is_no_payload) {
  assert_one("[]", ERROR, 0, "a payload is an object, in braces");
  assert_one(" 'aps'", ERROR, 1, "a payload is an object, in braces");
  assert_one("{'aps':[]}", ERROR, 7, "'aps' is not an object");
  assert_one("{'aps':{},}", ERROR, 10, "expected a key in quotation marks");
  assert_one("{'aps':{'badge':03}}", ERROR, 17, "not a JSON number");
  assert_one("{'aps':{'alert':'\xFF'}}", ERROR, 17, "not UTF-8");
  assert_one("{'aps':{}} x", ERROR, 11, "there is text after the end");
  assert_one("{'aps':{}}\0", ERROR, 10, "there is text after the end");
  assert_one("", ERROR, 0, "the JSON ends too early");
  assert_one("{'aps':{'alert':'a\\x'}}", ERROR, 18, "not a JSON escape");
  assert_one("{'aps':{'alert':'a\tb'}}", ERROR, 18,
             "a control character in a string is not escaped");
}

TEST(types_of_every_key) {
  assert_one("{'aps':{'alert':7}}", ERROR, 16, "'alert' is not a string or an object");
  assert_one("{'aps':{'badge':'3'}}", ERROR, 16, "'badge' is not an integer");
  assert_one("{'aps':{'badge':1.5}}", ERROR, 16, "'badge' is not an integer");
  assert_one("{'aps':{'sound':true}}", ERROR, 16, "'sound' is not a string or an object");
  assert_one("{'aps':{'sound':{'volume':'1'}}}", ERROR, 26, "'volume' is not a number");
  assert_one("{'aps':{'content-available':true}}", ERROR, 28,
             "'content-available' is not an integer");
  assert_one("{'aps':{'category':{'a':[{}]}}}", ERROR, 19, "'category' is not a string");
  assert_one("{'aps':{'relevance-score':'1'}}", ERROR, 26, "'relevance-score' is not a number");
  assert_one("{'aps':{'url-args':'a'}}", ERROR, 19, "'url-args' is not an array of strings");
  assert_one("{'aps':{'alert':{'loc-args':['a',['b'],'c']}}}", ERROR, 33,
             "'loc-args' has an element that is not a string");
  assert_one("{'aps':{'alert':{'action-loc-key':0}}}", ERROR, 34,
             "'action-loc-key' is not a string or null");
  assert_one("{'aps':{'alert':{'body':null}}}", ERROR, 24, "'body' is not a string");
  assert_one("{'aps':{'alert':{'body':{'loc-key':'a'}}}}", ERROR, 24, "'body' is not a string");
}

TEST(what_a_device_ignores) {
  assert_one("{'aps':{'badges':3}}", WARNING, 8, "'badges' is not a key of Apple's; 'badge' is");
  assert_one("{'aps':{'budge':3}}", WARNING, 8, "'budge' is not a key of Apple's; 'badge' is");
  assert_one("{'aps':{'Sound':'a'}}", WARNING, 8, "'Sound' is not a key of Apple's; 'sound' is");
  assert_one("{'aps':{'content_available':1}}", WARNING, 8,
             "'content_available' is not a key of Apple's; 'content-available' is");
  assert_one("{'aps':{'alert':{'loc_key':'k'}}}", WARNING, 17,
             "'loc_key' is not a key of Apple's; 'loc-key' is");
  assert_one("{'aps':{'acme':[{'a':1}]}}", WARNING, 8, "'acme' is not a key of Apple's");
  assert_one("{'aps':{'alert':['a']}}", WARNING, 16,
             "'alert' is an array, which the device ignores");
  assert_one("{'aps':{'title':'t'}}", WARNING, 8, "'title' belongs in 'alert'");
  assert_one("{'aps':{},'badge':1}", WARNING, 10, "'badge' belongs in 'aps'");
  assert_one("{'acme':1}", WARNING, 0, "there is no 'aps', so the device shows nothing by itself");
  assert_one("{'aps':{'badge':1,'badge':2}}", WARNING, 18,
             "'badge' is there twice: devices differ in which one they use");
  assert_one("{'aps':{},'a':1,'a':2}", WARNING, 16,
             "'a' is there twice: devices differ in which one they use");
  assert_one("{'aps':{'content-available':0}}", WARNING, 28,
             "'content-available' has an effect only as 1");
  assert_one("{'aps':{'interruption-level':'loud'}}", WARNING, 29,
             "'interruption-level' is not passive, active, time-sensitive or critical");
}

/* What Apple shows on its pages, or describes key by key. */
#define ACTIVITY "{'aps':{'timestamp':1685952000,'event':"
#define STATE                                                                                   \
  "'content-state':{'currentHealthLevel':0.0,'eventDescription':'Power Panda has been knocked " \
  "down!'}"
#define START                                                                                     \
  ACTIVITY "'start'," STATE                                                                       \
           ",'attributes-type':'AdventureAttributes','attributes':{'hero':{'name':'Power "        \
           "Panda','healthRecoveryRatePerHour':0.25,'level':3}},'alert':{'title':{'loc-key':'%@ " \
           "is on an adventure!','loc-args':['Power Panda']},'body':{'loc-key':'%@ found a "      \
           "sword!','loc-args':['Power Panda']},'sound':'chime.aiff'}"
static const char *const documented[] = {
    /* Generating a remote notification */
    "{'aps':{'alert':{'title':'Game Request','subtitle':'Five Card Draw','body':'Bob wants to play "
    "poker'},'category':'GAME_INVITATION'},'gameID':'12345678'}",
    "{'aps':{'badge':9,'sound':'bingbong.aiff'},'messageID':'ABCDEFGHIJ'}",
    "{'aps':{'alert':{'loc-key':'GAME_PLAY_REQUEST_FORMAT','loc-args':['Shelly','Rick']}}}",
    "{'aps':{'alert':{'title-loc-key':'k','title-loc-args':['a'],'subtitle-loc-key':'k','subtitle-"
    "loc-args':['a'],'launch-image':'i'},'sound':{'critical':1,'name':'default','volume':1.0},'"
    "thread-id':'t','mutable-content':1,'target-content-id':'t','interruption-level':'critical','"
    "relevance-score':0.5,'filter-criteria':'f'}}",
    /* Pushing background updates to your App */
    "{'aps':{'content-available':1},'acme1':'bar','acme2':42}",
    /* Modifying content in newly delivered notifications */
    "{'aps':{'category':'SECRET','mutable-content':1,'alert':{'title':'Secret "
    "Message!','body':'(Encrypted)'}},'ENCRYPTED_DATA':'Salted__'}",
    /* Local and Remote Notification Programming Guide */
    "{'aps':{'alert':'Message received from Bob'},'acme2':['bang','whiz']}",
    "{'aps':{'alert':{'title':'Game Request','body':'Bob wants to play "
    "poker','action-loc-key':'PLAY'},'badge':5},'acme1':'bar','acme2':['bang','whiz']}",
    "{'aps':{'alert':{'summary-arg':'Bob','summary-arg-count':2,'body':'b'}}}",
    /* Notification Programming Guide for Websites */
    "{'aps':{'alert':{'title':'Flight A998 Now Boarding','body':'Boarding has "
    "begun','action':'View'},'url-args':['boarding','A998']}}",
    /* Starting and updating Live Activities with ActivityKit push notifications */
    ACTIVITY "'update'," STATE
             ",'alert':{'title':{'loc-key':'%@ is knocked down!','loc-args':['Power "
             "Panda']},'body':{'loc-key':'Use a potion to heal %@!','loc-args':['Power "
             "Panda']},'sound':'HeroDown.mp4'}}}",
    ACTIVITY "'update'," STATE ",'alert':{'title':'t','body':'b'}}}",
    ACTIVITY "'update'," STATE ",'relevance-score':100,'stale-date':1685955600}}",
    ACTIVITY "'end'," STATE ",'dismissal-date':1663177260}}",
    START "}}",
    START ",'input-push-channel':'dHN0LXNyY2gtY2hubA=='}}",
    START ",'input-push-token':1}}",
    /* Widgets, controls; a location push; device management; a file provider */
    "{'aps':{'content-changed':true}}",
    "{'aps':{}}",
    "{'mdm':'PushMagicValue'}",
    "{'container-identifier':'NSFileProviderWorkingSetContainerItemIdentifier','domain':'d'}",
};

static told_t check_json(json_t *json) {
  owned(text) text = json_dumps(json, JSON_COMPACT);
  told_t told = check_bytes(text, strlen(text), 0);
  return told;
}

TEST(what_apple_documents_has_no_finding) {
  for (size_t index = 0; index < sizeof documented / sizeof *documented; index++) {
    const char *json = documented[index];
    told_t told = check_text(json, strlen(json));
    if (told.count) fail_msg("%s: %s", json, told.findings[0].message);
    assert_int_equal(told.status, APNS_OK);
  }
}

/* Whether a payload is nothing without the key of this object. */
static bool is_needed(json_t *payload, json_t *object, const char *key) {
  json_t *aps = json_object_get(payload, "aps");
  const char *event = json_string_value(json_object_get(aps, "event"));
  if (object == payload) return true;
  /* In an alert itself, `loc-key` has `title` and `body` in its place. */
  if (object != aps)
    return event && !strcmp(key, "loc-key") && object != json_object_get(aps, "alert");
  if (!event) return false;
  if (!strcmp(key, "timestamp") || !strcmp(key, "event")) return true;
  if (!strcmp(key, "content-state")) return strcmp(event, "end") != 0;
  return !strcmp(event, "start") && (!strcmp(key, "alert") || !strncmp(key, "attributes", 10));
}

/* Checks the payload without the key, with its last letter lost, and with a value of another type.
   `needed` is a key that Apple's documents require in such a payload. */
static void judge_key(json_t *payload, json_t *object, const char *key) {
  const char *without_aps = "there is no 'aps', so the device shows nothing by itself";
  bool needed = is_needed(payload, object, key);
  json_t *value = json_incref(json_object_get(object, key));
  char message[160];

  json_object_del(object, key);
  told_t told = check_json(payload);
  if (told.count != needed) fail_msg("%zu findings without '%s'", told.count, key);
  snprintf(message, sizeof message, "'%s' is missing, which a Live Activity needs here", key);
  if (needed)
    assert_string_equal(told.findings[0].message, object == payload ? without_aps : message);

  char misspelt[32];
  snprintf(misspelt, strlen(key), "%s", key);
  json_object_set(object, misspelt, value);
  told = check_json(payload);
  snprintf(message, sizeof message, "'%s' is not a key of Apple's; '%s' is", misspelt, key);
  if (told.count != 1) fail_msg("%zu findings with '%s'", told.count, misspelt);
  assert_string_equal(told.findings[0].message, object == payload ? without_aps : message);
  assert_int_equal(told.findings[0].severity, WARNING);
  json_object_del(object, misspelt);

  json_object_set_new(object, key, json_is_number(value) ? json_string("7") : json_integer(7));
  told = check_json(payload);
  snprintf(message, sizeof message, "'%s' is not ", key);
  if (!told.count) fail_msg("no finding with '%s' of another type", key);
  if (object != payload || !strcmp(key, "aps")) {
    assert_memory_equal(told.findings[0].message, message, strlen(message));
    assert_int_equal(told.findings[0].severity, ERROR);
  }
  json_object_set_new(object, key, value);
}

/* Custom keys, and keys within custom objects, may be anything. */
static bool is_of_apple(json_t *payload, json_t *object, const char *key) {
  return object != payload || !strcmp(key, "aps") || !strcmp(key, "mdm") ||
         !strcmp(key, "container-identifier");
}

static size_t judge_keys(json_t *payload, json_t *object) {
  /* Judging a key moves it to the end. */
  const char *keys[32], *key;
  json_t *value;
  size_t count = 0, judged = 0;
  json_object_foreach(object, key, value) keys[count++] = strdup(key);
  for (size_t index = 0; index < count; index++) {
    key = keys[index];
    value = json_object_get(object, key);
    if (is_of_apple(payload, object, key)) {
      judge_key(payload, object, key);
      judged++;
      value = json_object_get(object, key);
      if (json_is_object(value) && strcmp(key, "content-state") && strcmp(key, "attributes"))
        judged += judge_keys(payload, value);
    }
    free((char *)key);
  }
  return judged;
}

TEST(each_key_that_apple_documents) {
  size_t judged = 0;
  for (size_t index = 0; index < sizeof documented / sizeof *documented; index++) {
    owned(text) json = json_of(documented[index], strlen(documented[index]));
    owned(json) payload = json_loads(json, 0, NULL);
    assert_non_null(payload);
    judged += judge_keys(payload, payload);
  }
  assert_true(judged > 100);
}

TEST(what_only_a_live_activity_has) {
  assert_one("{'aps':{'alert':{'body':'b','sound':'s'}}}", WARNING, 28, "'sound' belongs in 'aps'");
  assert_one("{'aps':{'alert':{'title':{'loc-key':'a'}}}}", ERROR, 25, "'title' is not a string");
  assert_one("{'aps':{'event':'stop','timestamp':1800000000}}", WARNING, 16,
             "'event' is not start, update or end");
  assert_one("{'aps':{'content-changed':false}}", WARNING, 26,
             "'content-changed' has an effect only as true");
  assert_one("{'aps':{'content-changed':1}}", ERROR, 26, "'content-changed' is not true");
  assert_one("{'aps':{'event':'end','timestamp':1800000000,'input-push-token':2}}", WARNING, 64,
             "'input-push-token' has an effect only as 1");
  /* The alert may come before the key that makes it a Live Activity. */
  assert_clean(
      "{'aps':{'alert':{'title':{'loc-key':'a'},'sound':'s'},'event':'\\u0065nd','timestamp':"
      "1800000000.5}"
      "}");
  told_t told = check("{'aps':{'event':'start'}}");
  assert_int_equal(told.status, APNS_OK);
  assert_int_equal(told.count, 5);
  assert_found(told, 0, WARNING, 7, 1, 8, "'alert' is missing, which a Live Activity needs here");
  assert_found(told, 4, WARNING, 7, 1, 8,
               "'attributes' is missing, which a Live Activity needs here");
  assert_one("{'mdm':1}", WARNING, 0, "there is no 'aps', so the device shows nothing by itself");
}

#define READS ": a device reads UNIX seconds, "

/* Times that are not in UNIX seconds, for each key, and what was probably meant. */
TEST(times_of_a_live_activity) {
  static const char *const keys[] = {"timestamp", "stale-date", "dismissal-date"};
  static const struct {
    const char *number, *message;
  } wrong[] = {
      {"1795600000000", "milliseconds" READS "1795600000"},
      {"1795600000000.5", "milliseconds" READS "1795600000"},
      {"1.7956e12", "milliseconds" READS "1795600000"},
      {"17956E+8", "milliseconds" READS "1795600000"},
      {"1795600000123456", "microseconds" READS "1795600000"},
      {"1795600000123456789", "nanoseconds" READS "1795600000"},
      {"817292800", "seconds since 2001" READS "1795600000"},
      {"817292800.123456", "seconds since 2001" READS "1795600000"},
      {"817292800000", "milliseconds since 2001" READS "1795600000"},
      {"900", "a duration" READS "time(NULL) + 900"},
      {"14400.0", "a duration" READS "time(NULL) + 14400"},
      {"1", "a duration" READS "time(NULL) + 1"},
      {"-5", "a duration" READS "time(NULL)"},
  };
  static const char *const fine[] = {"1000000000", "1795600000",      "1795600000.25",
                                     "1.7956e9",   "179560000000e-2", "99999999999"};
  char json[256], message[160];
  for (size_t key = 0; key < sizeof keys / sizeof *keys; key++) {
    const int offset = sprintf(json, "{'aps':{'%s':", keys[key]);
    for (size_t index = 0; index < sizeof wrong / sizeof *wrong; index++) {
      snprintf(json + offset, sizeof json - (size_t)offset, "%s,'event':'end'%s}}",
               wrong[index].number, key ? ",'timestamp':1795600000" : "");
      snprintf(message, sizeof message, "'%s' looks like %s", keys[key], wrong[index].message);
      told_t told = check_text(json, strlen(json));
      assert_found(told, 0, ERROR, (size_t)offset, 1, (uint32_t)offset + 1, message);
      assert_int_equal(told.count, 1);
    }
    for (size_t index = 0; index < sizeof fine / sizeof *fine; index++) {
      snprintf(json + offset, sizeof json - (size_t)offset, "%s,'event':'end'%s}}", fine[index],
               key ? ",'timestamp':1795600000" : "");
      told_t told = check_text(json, strlen(json));
      if (told.count) fail_msg("%s: %s", json, told.findings[0].message);
    }
  }
  /* A date in the past dismisses it at once. */
  assert_clean("{'aps':{'event':'end','timestamp':1795600000,'dismissal-date':0}}");
  assert_one("{'aps':{'event':'end','timestamp':0}}", ERROR, 34,
             "'timestamp' looks like a duration" READS "time(NULL)");
}

TEST(numbers_that_a_device_ignores) {
  static const char *const badges[] = {"-1", "2147483648", "4294967296", "99999999999",
                                       "99999999999999999999999999"};
  char json[96];
  for (size_t index = 0; index < sizeof badges / sizeof *badges; index++) {
    snprintf(json, sizeof json, "{'aps':{'badge':%s}}", badges[index]);
    told_t told = check_text(json, strlen(json));
    assert_found(told, 0, ERROR, 16, 1, 17,
                 "'badge' is not from 0 to 2147483647, so the device ignores it");
  }
  assert_clean("{'aps':{'badge':2147483647}}");
  assert_clean("{'aps':{'badge':0}}");
  static const char *const volumes[] = {"80", "1.01", "1.0000001", "-0.1",
                                        "-1", "2e0",  "1e2",       "10e-0"};
  for (size_t index = 0; index < sizeof volumes / sizeof *volumes; index++) {
    snprintf(json, sizeof json, "{'aps':{'sound':{'volume':%s}}}", volumes[index]);
    told_t told = check_text(json, strlen(json));
    assert_found(told, 0, ERROR, 26, 1, 27, "'volume' is not from 0 to 1");
  }
  static const char *const heard[] = {"0",    "1",   "1.0",   "0.999", "-0",
                                      "-0.0", "1e0", "10e-1", "5e-1"};
  for (size_t index = 0; index < sizeof heard / sizeof *heard; index++) {
    snprintf(json, sizeof json, "{'aps':{'sound':{'volume':%s}}}", heard[index]);
    told_t told = check_text(json, strlen(json));
    if (told.count) fail_msg("%s: %s", json, told.findings[0].message);
  }
}

/* Text that went through an encoder once too often. */
TEST(what_was_escaped_twice) {
#define TWICE " has an escape that was escaped twice: the device shows its backslash"
  assert_one("{'aps':{'alert':'a\\\\nb'}}", WARNING, 18, "'alert'" TWICE);
  assert_one("{'aps':{'alert':{'body':'caf\\\\u00e9'}}}", WARNING, 28, "'body'" TWICE);
  assert_one("{'aps':{'alert':{'title':'\\\\\\'a'}}}", WARNING, 26, "'title'" TWICE);
  assert_one("{'aps':{'alert':{'loc-args':['a','\\\\tb']}}}", WARNING, 34, "'loc-args'" TWICE);
  assert_clean("{'aps':{'alert':'a\\nb\\u00e9\\'c\\''}}");
  assert_clean("{'aps':{'alert':'C:\\\\new\\\\\\u0041'}}");
  assert_clean("{'aps':{'alert':'a\\\\ b \\\\u12 \\\\'}}");
  /* Any other key with an escape is a custom key. */
  assert_clean("{'aps':{},'k':'a\\\\nb'}");
  assert_one("'{\\'aps\\':{}}'", ERROR, 0,
             "the payload is a string with JSON in it: it was encoded twice");
  assert_one("{'aps':'{\\'alert\\':1}'}", ERROR, 7,
             "'aps' is a string with JSON in it: it was encoded twice");
  assert_one("{\\'aps\\':{}}", ERROR, 1,
             "the JSON's own quotation marks are escaped: it was encoded twice");
}

TEST(where_a_file_is_not_utf_8) {
  told_t told = check("\xEF\xBB\xBF{'aps':{'alert':'a'}}");
  assert_found(told, 0, WARNING, 0, 1, 1,
               "the payload begins with a byte order mark, which not every reader accepts: leave "
               "it out");
  assert_int_equal(told.count, 1);
  assert_int_equal(told.status, APNS_OK);
  static const struct {
    const char *bytes;
    size_t length;
  } wide[] = {
      {"\xFF\xFE{\0\"\0a\0", 8},
      {"\xFE\xFF\0{\0\"\0a", 8},
      {"{\0\"\0a\0\"\0", 8},
      {"\0{\0\"\0a\0\"", 8},
  };
  for (size_t index = 0; index < sizeof wide / sizeof *wide; index++) {
    told = check_bytes(wide[index].bytes, wide[index].length, 0);
    assert_int_equal(told.status, APNS_ERR_ARGUMENT);
    assert_string_equal(told.findings[0].message, "the JSON is in UTF-16, and has to be in UTF-8");
  }
}

TEST(device_management_beside_an_alert) {
  assert_one("{'aps':{},'mdm':'p'}", WARNING, 10,
             "'mdm' is for device management, whose payload has no 'aps'");
  assert_one("{'mdm':'p','aps':{}}", WARNING, 1,
             "'mdm' is for device management, whose payload has no 'aps'");
}

TEST(places_are_those_an_editor_shows) {
  told_t told = check("{\r\n 'aps': {\n\t'badges': 1,\r'alert': '\xC3\xA9\xF0\x9F\x98\x80', x}}");
  assert_int_equal(told.count, 2);
  assert_found(told, 0, WARNING, 14, 3, 2, "'badges' is not a key of Apple's; 'badge' is");
  assert_found(told, 1, ERROR, 46, 4, 16, "expected a key in quotation marks");
  assert_int_equal(told.status, APNS_ERR_ARGUMENT);
  assert_string_equal(told.error.message,
                      "line 4, column 16 (byte 46): expected a key in quotation marks");
}

TEST(all_that_is_found_is_told_in_order) {
  told_t told = check("{'aps':{'alert':[],'badge':'1','sounds':'s','sound':1},'badge':2,}");
  assert_int_equal(told.count, 6);
  assert_found(told, 0, WARNING, 16, 1, 17, "'alert' is an array, which the device ignores");
  assert_found(told, 1, ERROR, 27, 1, 28, "'badge' is not an integer");
  assert_found(told, 2, WARNING, 31, 1, 32, "'sounds' is not a key of Apple's; 'sound' is");
  assert_found(told, 3, ERROR, 52, 1, 53, "'sound' is not a string or an object");
  assert_found(told, 4, WARNING, 55, 1, 56, "'badge' belongs in 'aps'");
  assert_found(told, 5, ERROR, 65, 1, 66, "expected a key in quotation marks");
  /* The error is the first, wherever the array ends. */
  assert_string_equal(told.error.message, "line 1, column 28 (byte 27): 'badge' is not an integer");
}

TEST(more_than_the_array_holds_are_counted) {
  static const char json[] = "{\"aps\":{\"x1\":1,\"x2\":1,\"x3\":1,\"badge\":null}}";
  apns_payload_finding_t *findings = malloc(2 * sizeof *findings);
  findings[0] = (apns_payload_finding_t)APNS_PAYLOAD_FINDING_INIT;
  size_t count = 0;
  assert_status(APNS_ERR_ARGUMENT,
                apns_payload_check(json, sizeof json - 1, 0, findings, 2, &count, &error));
  assert_int_equal(count, 4);
  assert_string_equal(findings[1].message, "'x2' is not a key of Apple's");
  assert_string_equal(error.message, "line 1, column 38 (byte 37): 'badge' is not an integer");
  free(findings);
  assert_int_equal(apns_payload_check(json, sizeof json - 1, 0, NULL, 0, NULL, NULL),
                   APNS_ERR_ARGUMENT);
}

TEST(a_program_with_a_larger_structure) {
  struct {
    apns_payload_finding_t known;
    unsigned char beyond[24];
  } findings[2];
  memset(findings, 0x5A, sizeof findings);
  findings[0].known.size = sizeof findings[0];
  size_t count = 0;
  static const char json[] = "{\"aps\":{\"x1\":1,\"x2\":1}}";
  assert_ok(apns_payload_check(json, sizeof json - 1, 0, &findings[0].known, 2, &count, NULL));
  assert_int_equal(count, 2);
  assert_string_equal(findings[1].known.message, "'x2' is not a key of Apple's");
  assert_int_equal(findings[1].known.size, sizeof findings[0]);
  assert_int_equal(findings[1].beyond[23], 0x5A);
}

TEST(too_long) {
  static const char json[] = "{\"aps\":{\"alert\":\"0123456789\"}}";
  told_t told = check_bytes(json, sizeof json - 1, 30);
  assert_int_equal(told.status, APNS_OK);
  told = check_bytes(json, sizeof json - 1, 29);
  assert_int_equal(told.status, APNS_ERR_ARGUMENT);
  assert_int_equal(told.count, 1);
  assert_found(told, 0, ERROR, 29, 1, 30, "the payload has 30 bytes, 1 more than 29");
  char long_json[APNS_PAYLOAD_MAX_HTTP2 + 1];
  memset(long_json, ' ', sizeof long_json);
  memcpy(long_json, "{\"aps\":{}}", 10);
  assert_int_equal(check_bytes(long_json, sizeof long_json - 1, 0).status, APNS_OK);
  assert_int_equal(check_bytes(long_json, sizeof long_json, 0).status, APNS_ERR_ARGUMENT);
}

TEST(arguments_that_cannot_be) {
  apns_payload_finding_t finding = {0};
  assert_says(APNS_ERR_ARGUMENT, apns_payload_check(NULL, 0, 0, NULL, 0, NULL, &error),
              "json is NULL");
  assert_status(APNS_ERR_ARGUMENT, apns_payload_check("{}", SIZE_MAX, 0, NULL, 0, NULL, &error));
  assert_invalid(apns_payload_check("{}", 2, 0, &finding, 1, NULL, &error),
                 "apns_payload_finding_t.size is 0");
}

/* Any JSON is valid as a custom key's value, and anything else is an error. */
TEST(every_json_vector) {
  vectors_each("json.json", vector) {
    size_t length;
    owned(bytes) json = vector_bytes(vector, "hex", &length);
    /* In the middle of a payload it does not count as a byte order mark. */
    const bool has_mark = length > 3 && !memcmp(json, "\xEF\xBB\xBF", 3);
    if (has_mark) memmove(json, json + 3, length -= 3);
    char payload[20000];
    size_t head = (size_t)sprintf(payload, "{\"aps\":{},\"k\":");
    memcpy(payload + head, json, length);
    payload[head + length] = '}';
    told_t told = check_bytes(payload, head + length + 1, sizeof payload);
    if ((told.status == APNS_OK) != vector_is(vector, "result", "valid"))
      fail_msg("%s: %s", vector_text(vector, "name"), told.error.message);
  }
}

TEST(a_thousand_keys_are_no_trouble) {
  const size_t count = as_many_as(50000, 2000);
  owned(text) json = malloc(40 * count + 20);
  size_t length = (size_t)sprintf(json, "{\"aps\":{}");
  for (size_t key = 0; key < count; key++)
    length += (size_t)sprintf(json + length, ",\"k%zu\":1,\"k%zu\":2\n", key, key);
  json[length++] = '}';
  int64_t start = cpu_ms();
  apns_payload_finding_t *findings = calloc(count, sizeof *findings);
  size_t found = 0;
  findings[0].size = sizeof *findings;
  assert_ok(apns_payload_check(json, length, length, findings, count, &found, &error));
  assert_int_equal(found, count);
  assert_int_equal(findings[count - 1].line, count);
  assert_costs(start, 9000);
  free(findings);
}

/* Texts of which each may take the place of the other, after those before them: the lowest 48 bits
   of FNV-1a are the same for every choice, and so is a place in a table of 2^16. */
static const char *const alike[15][2] = {
    {"bdiBFvekmgtk", "Ajqhxwhbcvic"}, {"nguvrjizCwFC", "yauxzfgzbgdm"},
    {"iFfeCfwldzql", "kdnkChektnsc"}, {"wiarfBBhawBa", "wBfsqhdbhyqy"},
    {"oodxcgnriuzj", "xhnjCdwjjkcl"}, {"yBCyzjssotcw", "CgoEhoFjjCyw"},
    {"usEzrfyoxkiB", "yBunxkyCCbFA"}, {"jsnfnFgmwgyF", "bxDAxqwpqDFp"},
    {"lkqmmxDlfyok", "bhzebnmfqCju"}, {"BEueqynmeClo", "rdAgtajoBBli"},
    {"kAwpreeeCkDf", "uflCpvyvcdFF"}, {"AzkCeuAuepaE", "kwrFFbalenDF"},
    {"iFfeCfwldzql", "kdnkChektnsc"}, {"wiarfBBhawBa", "wBfsqhdbhyqy"},
    {"oodxcgnriuzj", "xhnjCdwjjkcl"},
};

/* So many keys; alike or, with another beginning, as long and not alike. */
static char *payload_of(size_t count, bool are_alike, size_t *length_out) {
  char *json = malloc(220 * count + 20), *next = json + sprintf(json, "{\"aps\":{}");
  for (size_t key = 0; key < count; key++) {
    next += sprintf(next, are_alike ? ",\"" : ",\"%04zx", key);
    for (size_t part = 0; part < 15; part++)
      next += sprintf(next, "%s", alike[part][are_alike ? key >> part & 1 : 0]);
    next += sprintf(next, "\":1");
  }
  *next++ = '}';
  *length_out = (size_t)(next - json);
  return json;
}

static clock_t time_to_check(const char *json, size_t length) {
  const clock_t start = clock();
  size_t found = 0;
  assert_ok(apns_payload_check(json, length, length, NULL, 0, &found, &error));
  assert_int_equal(found, 0);
  return clock() - start;
}

/* An attacker who knows the hash can make colliding keys: a payload of them takes no longer. */
TEST(keys_that_collide_in_a_known_hash) {
  const size_t count = as_many_as(32768, 8192);
  size_t length;
  owned(text) json = payload_of(count, false, &length);
  clock_t usual = time_to_check(json, length);
  for (int again = 0; again < 4; again++) usual += time_to_check(json, length);
  free(json);
  json = payload_of(count, true, &length);
  assert_true(time_to_check(json, length) < 20 * (usual / 5) + CLOCKS_PER_SEC / 100);
}
