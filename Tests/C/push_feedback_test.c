/* Gone devices of an HTTP/2 session, read as the feedback service's list. */
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

#include "pushing.h"

/* The loop that a legacy provider runs after it has pushed: it contains nothing about HTTP/2. */
typedef struct registry {
  size_t count;
  struct {
    size_t number; /* first, for by_number() */
    uint32_t gone;
  } found[100000];
} registry_t;

static registry_t registry;

static int by_number(const void *one, const void *other) {
  const size_t *first = one, *second = other;
  return (*first > *second) - (*first < *second);
}

static void clean_up(apns_feedback_t *feedback) {
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  apns_status_t status;
  registry.count = 0;
  while ((status = apns_feedback_next(feedback, &tuple, NULL)) == APNS_OK) {
    assert_int_equal(tuple.token_length, 32);
    memcpy(&registry.found[registry.count].number, tuple.token, sizeof(size_t));
    const size_t number = registry.found[registry.count].number;
    assert_memory_equal(tuple.token, notification(number)->token, 32);
    registry.found[registry.count++].gone = tuple.timestamp;
  }
  assert_int_equal(status, APNS_DONE);
  /* Answers come in any order. */
  qsort(registry.found, registry.count, sizeof *registry.found, by_number);
}

static apns_feedback_t *feedback_of(apns_session_t *session) {
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  apns_feedback_t *feedback = NULL;
  options.session = session;
  assert_ok(apns_feedback_open(&options, NULL, &feedback, &error));
  return feedback;
}

static void read_list(apns_session_t *session) {
  owned(feedback) feedback = feedback_of(session);
  clean_up(feedback);
}

/* Every third device is gone, since a different time each and later with each round. */
typedef struct gone {
  size_t every, round;
  const char *body; /* NULL: as APNs has it */
  bool is_long;     /* the body stays where it is */
  int status;       /* 0: 410 */
  char text[128];
} gone_t;

static service_reply_t judge(void *context, const service_push_t *push) {
  gone_t *gone = context;
  const size_t n = number_of(push);
  service_reply_t reply = {0};
  if (n % gone->every) return reply;
  reply.status = gone->status ? gone->status : 410;
  snprintf(gone->text, sizeof gone->text, "{\"reason\":\"%s\",\"timestamp\":%zu}",
           n % 2 ? "ExpiredToken" : "Unregistered",
           (1400000000 + 1000 * gone->round + n) * 1000 + 999);
  if (gone->is_long)
    reply.long_body = gone->body;
  else
    reply.body = gone->body ? gone->body : gone->text;
  return reply;
}

static service_t *service_with(gone_t *gone) {
  return service_start(&(service_options_t){.judge = judge, .context = gone});
}

TEST(the_list_is_that_of_the_410s) {
  gone_t gone = {.every = 3};
  owned(service) service = service_with(&gone);
  owned(session) session = push_session(service, NULL);
  send_and_drain(session, 0, 100);
  read_list(session);
  assert_int_equal(registry.count, 34);
  for (size_t index = 0; index < registry.count; index++) {
    assert_int_equal(registry.found[index].number, 3 * index);
    assert_int_equal(registry.found[index].gone, 1400000000 + 3 * index);
  }
  /* Once read, it is empty; the events report each device all the same. */
  read_list(session);
  assert_int_equal(registry.count, 0);
  assert_counts(session, 100, 66, 34, 0, 0);
  apns_event_t event = APNS_EVENT_INIT;
  size_t told = 0;
  while (apns_session_next_event(session, &event, 0, NULL) == APNS_OK) {
    if (event.kind != APNS_EVENT_REJECTED) continue;
    const size_t n = (size_t)(uintptr_t)event.user_data - 1;
    assert_int_equal(event.http_status, 410);
    assert_int_equal(event.timestamp, 1400000000 + n);
    told++;
  }
  assert_int_equal(told, 34);
}

TEST(one_call_takes_one_device) {
  gone_t gone = {.every = 3};
  owned(service) service = service_with(&gone);
  owned(session) session = push_session(service, NULL);
  apns_gone_device_t device = APNS_GONE_DEVICE_INIT;
  assert_status(APNS_DONE, apns_session_next_gone(session, &device, &error));
  send_and_drain(session, 0, 100);
  bool found[100] = {false};
  for (size_t count = 0; count < 33; count++) {
    size_t n;
    assert_ok(apns_session_next_gone(session, &device, &error));
    memcpy(&n, device.token, sizeof n);
    assert_in_range(n, 0, 99);
    assert_false(found[n]);
    found[n] = true;
    assert_int_equal(n % 3, 0);
    assert_int_equal(device.token_length, 32);
    assert_memory_equal(device.token, notification(n)->token, 32);
    assert_int_equal(device.timestamp, 1400000000 + n);
  }
  /* The list is the same one, and a closed session still has it. */
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  read_list(session);
  assert_int_equal(registry.count, 1);
  assert_status(APNS_DONE, apns_session_next_gone(session, &device, &error));
  assert_invalid(apns_session_next_gone(session, NULL, &error), "device_out");
  assert_invalid(apns_session_next_gone(NULL, &device, &error), "session");
  device.size = 0;
  assert_invalid(apns_session_next_gone(session, &device, &error), "apns_gone_device_t.size");
}

TEST(each_device_is_listed_once_with_the_last_time) {
  gone_t gone = {.every = 1};
  owned(service) service = service_with(&gone);
  owned(session) session = push_session(service, NULL);
  for (gone.round = 0; gone.round < 3; gone.round++) send_and_drain(session, 0, 20);
  gone.round = 1; /* And an earlier one changes nothing. */
  send_and_drain(session, 0, 20);
  read_list(session);
  assert_int_equal(registry.count, 20);
  for (size_t n = 0; n < 20; n++) {
    assert_int_equal(registry.found[n].number, n);
    assert_int_equal(registry.found[n].gone, 1400002000 + n);
  }
  /* Once taken, it can be reported again. */
  send_and_drain(session, 0, 1);
  read_list(session);
  assert_int_equal(registry.count, 1);
}

TEST(what_is_not_taken_stays) {
  gone_t gone = {.every = 1};
  owned(service) service = service_with(&gone);
  owned(session) session = push_session(service, NULL);
  apns_feedback_t *feedback = feedback_of(session);
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  assert_int_equal(apns_feedback_next(feedback, &tuple, NULL), APNS_DONE);
  send_and_drain(session, 0, 5);
  /* Later entries are there for a feedback that had reached its end. */
  assert_int_equal(apns_feedback_next(feedback, &tuple, NULL), APNS_OK);
  apns_feedback_free(feedback);
  read_list(session);
  assert_int_equal(registry.count, 4);
  for (size_t n = 0; n < 4; n++) assert_true(registry.found[n].gone != tuple.timestamp);
}

TEST(the_list_outlives_the_session) {
  gone_t gone = {.every = 2};
  owned(service) service = service_with(&gone);
  apns_session_t *session = push_session(service, NULL);
  send_range(session, 0, 10);
  assert_ok(apns_session_close(session, AMPLE_MS, &error));
  owned(feedback) feedback = feedback_of(session);
  apns_session_free(session);
  clean_up(feedback);
  assert_int_equal(registry.count, 5);
}

static void check_one(int status, const char *body, size_t listed) {
  gone_t gone = {.every = 1, .status = status, .body = body};
  owned(service) service = service_with(&gone);
  owned(session) session = push_session(service, NULL);
  const uint32_t before = (uint32_t)time(NULL);
  send_and_drain(session, 0, 1);
  read_list(session);
  assert_int_equal(registry.count, listed);
  if (listed) assert_in_range(registry.found[0].gone, before, time(NULL));
}

TEST(only_what_apns_says_is_gone) {
  check_one(410, "{\"reason\":\"Unregistered\"}", 1); /* since now, if the response has no time */
  check_one(410, "<html>Gone</html>", 0);
  check_one(410, "{\"reason\":\"BadDeviceToken\"}", 0);
  check_one(400, "{\"reason\":\"Unregistered\",\"timestamp\":1400000000000}", 0);
  check_one(400, "{\"reason\":\"BadDeviceToken\"}", 0);
}

/* Another server, or another Apple, may send a longer response. Up to 4 KB of it is read. */
TEST(long_answers_are_read) {
  static const char *const forms[] = {
      "{\"message\":\"%.*s\",\"timestamp\":1400000000999,\"reason\":\"Unregistered\"}",
      "{\"reason\":\"Unregistered\",\"more\":[{\"reason\":\"%.*s\"}],\"timestamp\":1400000000999}",
      "{\"timestamp\":1400000000999,\"a\":\"%.*s\",\"reason\":\"Unregistered\",\"b\":null}",
  };
  static const size_t lengths[] = {254, 255, 256, 257, 600, 4095, 4096, 4097, 9000};
  char filling[9000], body[9001];
  memset(filling, 'x', sizeof filling);
  for (size_t form = 0; form < 3; form++)
    for (size_t index = 0; index < sizeof lengths / sizeof *lengths; index++) {
      const int rest = (int)(lengths[index] - (size_t)snprintf(NULL, 0, forms[form], 0, ""));
      snprintf(body, sizeof body, forms[form], rest, filling);
      assert_int_equal(strlen(body), lengths[index]);
      gone_t gone = {.every = 1, .body = body, .is_long = true};
      owned(service) service = service_with(&gone);
      owned(session) session = push_session(service, NULL);
      send_and_drain(session, 0, 2);
      const bool is_read = lengths[index] <= 4096;
      for (int n = 0; n < 2; n++) {
        apns_event_t event = one_event(session);
        assert_int_equal(event.kind, APNS_EVENT_REJECTED);
        assert_int_equal(event.http_status, 410);
        assert_string_equal(event.reason_text, is_read ? "Unregistered" : "");
        assert_int_equal(event.timestamp, is_read ? 1400000000 : 0);
      }
      read_list(session);
      assert_int_equal(registry.count, is_read ? 2 : 0);
    }
}

TEST(memory_is_bounded) {
  if (getenv("APNS_TESTS_LIGHT")) skip();
  gone_t gone = {.every = 1};
  owned(service) service = service_with(&gone);
  apns_session_options_t options = push_options(service);
  owned(session) session = push_session(service, &options);
  for (size_t from = 0; from < 66000; from += 1000) {
    apns_event_t event = APNS_EVENT_INIT;
    send_and_drain(session, from, from + 1000);
    while (apns_session_next_event(session, &event, 0, NULL) == APNS_OK) {
    }
  }
  read_list(session);
  assert_int_equal(registry.count, 65536);
  size_t missing = 0;
  for (size_t n = 1; n < registry.count; n++)
    assert_true(registry.found[n].number > registry.found[n - 1].number);
  while (missing < registry.count && registry.found[missing].number == missing) missing++;
  /* The others are reported with the next push to them. */
  send_and_drain(session, missing, missing + 1);
  read_list(session);
  assert_int_equal(registry.count, 1);
  assert_int_equal(registry.found[0].number, missing);
}

/* The same call and the same loop over the binary interface. */
TEST(a_binary_session_has_the_service) {
  uint8_t list[38] = {0x53, 0x72, 0x4E, 0x00, 0, 32};
  memcpy(list + 6, notification(7)->token, 32);
  const gateway_step_t script[] = {SAY(list, sizeof list), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(session) session = session_to(gateway, NULL);
  owned(feedback) feedback = feedback_where(gateway, options.session = session);
  clean_up(feedback);
  assert_int_equal(registry.count, 1);
  assert_int_equal(registry.found[0].number, 7);
  apns_gone_device_t device = APNS_GONE_DEVICE_INIT;
  assert_invalid(apns_session_next_gone(session, &device, &error),
                 "the feedback service lists the devices");
}

typedef struct family {
  apns_session_t *session;
  apns_feedback_t *feedback;
} family_t;

static int uses_the_parents(void *argument) {
  family_t *family = argument;
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  apns_feedback_t *feedback = NULL;
  options.session = family->session;
  CHILD_REQUIRE(apns_feedback_open(&options, NULL, &feedback, NULL) == APNS_ERR_FORKED);
  CHILD_REQUIRE(apns_feedback_next(family->feedback, &tuple, NULL) == APNS_ERR_FORKED);
  apns_gone_device_t device = APNS_GONE_DEVICE_INIT;
  CHILD_REQUIRE(apns_session_next_gone(family->session, &device, NULL) == APNS_ERR_FORKED);
  apns_feedback_free(family->feedback);
  apns_session_free(family->session);
  return 0;
}

TEST(a_child_has_none) {
  skip_unless_pages_are_wiped_on_fork();
  gone_t gone = {.every = 1};
  owned(service) service = service_with(&gone);
  owned(session) session = push_session(service, NULL);
  send_and_drain(session, 0, 3);
  family_t family = {.session = session, .feedback = feedback_of(session)};
  assert_child_is_fine(uses_the_parents, &family);
  clean_up(family.feedback);
  assert_int_equal(registry.count, 3);
  apns_feedback_free(family.feedback);
}
