/* Structures that begin with their size: programs older and newer than the library. */
#include <stdio.h>

#include "provider.h"

/* A structure as a newer program has it: with fields after ours. */
#define NEWER(type)           \
  struct {                    \
    type known;               \
    unsigned char beyond[24]; \
  }

#define assert_init_is_asked_for(name, size, call)                                        \
  do {                                                                                    \
    char expected_[120];                                                                  \
    snprintf(expected_, sizeof expected_, "%s.size is %zu: set the structure up", (name), \
             (size_t)(size));                                                             \
    assert_status(APNS_ERR_ARGUMENT, (call));                                             \
    assert_contains(error.message, expected_);                                            \
  } while (0)

static apns_credentials_t *no_credentials(void) { return credentials_of(NULL); }

/* ---- apns_error_t ------------------------------------------------------- */

TEST(an_error_may_be_null) {
  owned(credentials) credentials = NULL;
  owned(session) session = NULL;
  assert_int_equal(apns_credentials_new(NULL, NULL, NULL), APNS_ERR_ARGUMENT);
  assert_int_equal(apns_credentials_new(NULL, &credentials, NULL), APNS_OK);
  assert_int_equal(apns_session_new(NULL, NULL, &session, NULL), APNS_ERR_ARGUMENT);
  /* Apple's service, which is the default, needs an identity. */
  assert_int_equal(apns_session_new(NULL, credentials, &session, NULL), APNS_ERR_ARGUMENT);
  apns_session_options_t how = APNS_SESSION_OPTIONS_INIT;
  how.peer.host = "127.0.0.1";
  /* The default is HTTP/2. */
  assert_int_equal(apns_session_new(&how, credentials, &session, NULL),
                   apns_features() & APNS_FEATURE_HTTP2 ? APNS_OK : APNS_ERR_ARGUMENT);
  assert_int_equal(apns_session_send(session, NULL, 0, NULL, NULL), APNS_ERR_ARGUMENT);
  assert_int_equal(apns_session_stats(session, NULL, NULL), APNS_ERR_ARGUMENT);
  assert_int_equal(apns_feedback_next(NULL, NULL, NULL), APNS_ERR_ARGUMENT);
}

TEST(a_failure_fills_the_error) {
  apns_error_t error;
  memset(&error, 0x5A, sizeof error);
  error.size = sizeof error;
  assert_int_equal(apns_session_connect(NULL, &error), APNS_ERR_ARGUMENT);
  assert_int_equal(error.size, sizeof error);
  assert_int_equal(error.status, APNS_ERR_ARGUMENT);
  assert_int_equal(error.sys_errno, 0);
  assert_int_equal(error.tls_code, 0);
  assert_int_equal(error.reject, 0);
  assert_int_equal(error.cause, APNS_CAUSE_NONE);
  assert_string_equal(error.message, "session is NULL");
}

TEST(a_success_leaves_the_error_as_it_was) {
  apns_error_t error, before;
  memset(&error, 0x5A, sizeof error);
  error.size = sizeof error;
  before = error;
  owned(credentials) credentials = NULL;
  assert_int_equal(apns_credentials_new(NULL, &credentials, &error), APNS_OK);
  assert_memory_equal(&error, &before, sizeof error);
}

/* If the size of the program's memory is unknown, nothing is written to it. */
TEST(an_error_that_cannot_be_is_left_alone) {
  unsigned char memory[sizeof(apns_error_t) + 64], before[sizeof memory];
  for (size_t size = 0; size <= sizeof memory + 2; size++) {
    const size_t said = size == sizeof memory + 1   ? SIZE_MAX
                        : size == sizeof memory + 2 ? 4104
                                                    : size;
    memset(memory, 0x5A, sizeof memory);
    memcpy(memory, &said, sizeof said);
    memcpy(before, memory, sizeof memory);
    assert_int_equal(apns_session_connect(NULL, (apns_error_t *)memory), APNS_ERR_ARGUMENT);
    if (said >= sizeof(apns_error_t) && said <= sizeof memory && said % 8 == 0) {
      assert_string_equal(((apns_error_t *)memory)->message, "session is NULL");
      memcpy(before, memory, sizeof(apns_error_t));
    }
    assert_memory_equal(memory, before, sizeof memory);
    /* The payload's functions report their errors in another way. */
    memset(memory, 0x5A, sizeof memory);
    memcpy(memory, &said, sizeof said);
    memcpy(before, memory, sizeof memory);
    assert_int_equal(apns_payload_add_null(NULL, "a", 1, (apns_error_t *)memory),
                     APNS_ERR_ARGUMENT);
    if (said >= sizeof(apns_error_t) && said <= sizeof memory && said % 8 == 0)
      memcpy(before, memory, sizeof(apns_error_t));
    assert_memory_equal(memory, before, sizeof memory);
  }
}

TEST(an_error_of_a_newer_program_keeps_its_own) {
  NEWER(apns_error_t) error;
  memset(&error, 0x5A, sizeof error);
  error.known.size = sizeof error;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  who.certificate_file = "/nonexistent/provider.pem";
  apns_credentials_t *credentials = NULL;
  assert_int_equal(apns_credentials_new(&who, &credentials, &error.known), APNS_ERR_CREDENTIALS);
  assert_int_equal(error.known.cause, APNS_CAUSE_FILE_UNREADABLE);
  error.known.cause = 0x5A5A;
  assert_int_equal(apns_session_connect(NULL, &error.known), APNS_ERR_ARGUMENT);
  assert_int_equal(error.known.size, sizeof error);
  assert_int_equal(error.known.cause, APNS_CAUSE_NONE);
  assert_string_equal(error.known.message, "session is NULL");
  for (size_t index = 0; index < sizeof error.beyond; index++)
    assert_int_equal(error.beyond[index], 0x5A);
}

/* ---- Options ------------------------------------------------------------ */

TEST(options_without_a_size_are_refused) {
  owned(credentials) credentials = NULL;
  apns_session_t *session = NULL;
  apns_feedback_t *feedback = NULL;
  apns_credentials_options_t who = {0};
  apns_session_options_t how = {0};
  apns_feedback_options_t whence = {0};
  assert_init_is_asked_for("apns_credentials_options_t", 0,
                           apns_credentials_new(&who, &credentials, &error));
  assert_null(credentials);
  credentials = no_credentials();
  assert_init_is_asked_for("apns_session_options_t", 0,
                           apns_session_new(&how, credentials, &session, &error));
  assert_null(session);
  assert_init_is_asked_for("apns_feedback_options_t", 0,
                           apns_feedback_open(&whence, credentials, &feedback, &error));
  assert_null(feedback);
  who.size = how.size = whence.size = 5000;
  assert_init_is_asked_for("apns_session_options_t", 5000,
                           apns_session_new(&how, credentials, &session, &error));
  assert_init_is_asked_for("apns_feedback_options_t", 5000,
                           apns_feedback_open(&whence, credentials, &feedback, &error));
}

/* ---- Each structure, by its size and its reserved fields ----------------- */

/* Calls with the structure, and undoes the effects. */
static apns_credentials_t *made;
static apns_session_t *held;

static apns_status_t with_credentials_options(void *memory, apns_error_t *error) {
  owned(credentials) credentials = NULL;
  /* The system's store takes seconds under valgrind. */
  ((apns_credentials_options_t *)memory)->dangerously_accept_any_peer = 1;
  return apns_credentials_new(memory, &credentials, error);
}

static apns_status_t with_description(void *memory, apns_error_t *error) {
  return apns_credentials_describe(made, memory, error);
}

static apns_status_t with_session_options(void *memory, apns_error_t *error) {
  owned(session) session = NULL;
  return apns_session_new(memory, made, &session, error);
}

static apns_status_t with_tuning(void *memory, apns_error_t *error) {
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  options.tuning = memory;
  return with_session_options(&options, error);
}

static apns_status_t with_binary_options(void *memory, apns_error_t *error) {
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  options.binary = memory;
  return with_session_options(&options, error);
}

/* Nothing listens on the port, so that accepted options fail soon. */
static apns_status_t with_feedback_options(void *memory, apns_error_t *error) {
  owned(feedback) feedback = NULL;
  ((apns_feedback_options_t *)memory)->peer.host = "127.0.0.1";
  ((apns_feedback_options_t *)memory)->peer.port = 1;
  return apns_feedback_open(memory, made, &feedback, error);
}

/* Without HTTP/2 it is checked all the same. */
static apns_status_t with_channels_options(void *memory, apns_error_t *error) {
  owned(channels) channels = NULL;
  return apns_channels_new(memory, made, &channels, error);
}

static apns_status_t with_payload_options(void *memory, apns_error_t *error) {
  owned(payload) payload = NULL;
  return apns_payload_new(memory, &payload, error);
}

/* It has no token, and the token is checked last. */
static apns_status_t with_notification(void *memory, apns_error_t *error) {
  return apns_session_send(held, memory, 0, NULL, error);
}

static apns_status_t with_notifications(void *memory, apns_error_t *error) {
  return apns_session_send_many(held, memory, 1, 0, NULL, error);
}

static apns_status_t with_payload_of_its_own(void *memory, apns_error_t *error) {
  owned(payload) payload = NULL;
  assert_int_equal(apns_payload_new(NULL, &payload, NULL), APNS_OK);
  const apns_status_t status =
      apns_session_send_payload(held, memory, payload, 0, NULL, NULL, error);
  return status;
}

static apns_status_t with_event(void *memory, apns_error_t *error) {
  return apns_session_next_event(held, memory, 0, error);
}

static apns_status_t with_stats(void *memory, apns_error_t *error) {
  return apns_session_stats(held, memory, error);
}

static apns_status_t with_metrics(void *memory, apns_error_t *error) {
  return apns_session_metrics(held, memory, error);
}

static apns_status_t with_findings(void *memory, apns_error_t *error) {
  return apns_payload_check("{\"aps\":{}}", 10, 0, memory, 1, NULL, error);
}

static const struct {
  const char *name;
  size_t smallest;
  apns_status_t (*call)(void *, apns_error_t *);
} structures[] = {
#define STRUCTURE(type, call) \
  { #type, sizeof(type), call }
    STRUCTURE(apns_credentials_options_t, with_credentials_options),
    STRUCTURE(apns_credentials_description_t, with_description),
    STRUCTURE(apns_session_options_t, with_session_options),
    STRUCTURE(apns_tuning_t, with_tuning),
    STRUCTURE(apns_binary_options_t, with_binary_options),
    STRUCTURE(apns_feedback_options_t, with_feedback_options),
    STRUCTURE(apns_channels_options_t, with_channels_options),
    STRUCTURE(apns_payload_options_t, with_payload_options),
    STRUCTURE(apns_notification_t, with_notification),
    STRUCTURE(apns_notification_t, with_notifications),
    STRUCTURE(apns_notification_t, with_payload_of_its_own),
    STRUCTURE(apns_event_t, with_event),
    STRUCTURE(apns_session_stats_t, with_stats),
    STRUCTURE(apns_session_metrics_t, with_metrics),
    STRUCTURE(apns_payload_finding_t, with_findings),
#undef STRUCTURE
};

static void hold(void) {
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  options.peer.host = "127.0.0.1";
  options.peer.port = 1;
  made = no_credentials();
  assert_ok(apns_session_new(&options, made, &held, NULL));
}

static void let_go(void) {
  apns_session_free(held);
  apns_credentials_free(made);
}

/* Smaller than the first version's, in the middle of a field, or larger than any will ever be. */
TEST(sizes_that_cannot_be_are_refused) {
  hold();
  for (size_t which = 0; which < sizeof structures / sizeof *structures; which++) {
    static const size_t large[] = {4088,  4096,         4097,         4104,    5000,
                                   65536, SIZE_MAX / 2, SIZE_MAX - 7, SIZE_MAX};
    for (size_t step = 0; step < 400 + sizeof large / sizeof *large; step++) {
      FORGET_ERROR();
      const size_t size = step < 400 ? step : large[step - 400];
      _Alignas(8) unsigned char memory[5000] = {0};
      memcpy(memory, &size, sizeof size);
      const apns_status_t status = structures[which].call(memory, &error);
      char expected[100];
      snprintf(expected, sizeof expected, "%s.size is %zu: set the structure up",
               structures[which].name, size);
      if (size >= structures[which].smallest && size <= 4096 && size % 8 == 0) {
        assert_null(strstr(error.message, ".size is "));
      } else {
        assert_int_equal(status, APNS_ERR_ARGUMENT);
        assert_contains(error.message, expected);
      }
    }
  }
  let_go();
}

TEST(reserved_fields_are_zero) {
#define RESERVED(type, call, field) \
  { #type, #field, offsetof(type, field), sizeof((type *)0)->field, sizeof(type), call }
  static const struct {
    const char *name, *field;
    size_t offset, length, size;
    apns_status_t (*call)(void *, apns_error_t *);
  } reserved[] = {
#define RESERVED_IN_PEER(type, call)                                            \
  RESERVED(type, call, peer.reserved16), RESERVED(type, call, peer.reserved32), \
      RESERVED(type, call, peer.reserved)
      RESERVED_IN_PEER(apns_session_options_t, with_session_options),
      RESERVED_IN_PEER(apns_feedback_options_t, with_feedback_options),
      RESERVED_IN_PEER(apns_channels_options_t, with_channels_options),
      RESERVED(apns_binary_options_t, with_binary_options, reserved32),
      RESERVED(apns_channels_options_t, with_channels_options, reserved32),
      RESERVED(apns_payload_options_t, with_payload_options, reserved32),
      RESERVED(apns_notification_t, with_notification, reserved),
      RESERVED(apns_notification_t, with_notifications, reserved),
      RESERVED(apns_notification_t, with_payload_of_its_own, reserved),
  };
#undef RESERVED_IN_PEER
#undef RESERVED
  hold();
  for (size_t which = 0; which < sizeof reserved / sizeof *reserved; which++) {
    for (size_t byte = 0; byte < reserved[which].length; byte++) {
      FORGET_ERROR();
      _Alignas(8) unsigned char memory[512] = {0};
      memcpy(memory, &reserved[which].size, sizeof(size_t));
      memory[reserved[which].offset + byte] = 0x80;
      /* All else is as it should be. */
      if (reserved[which].call == with_notification || reserved[which].call == with_notifications) {
        const apns_notification_t *push = notification(0);
        memory[reserved[which].offset + byte] = 0;
        memcpy(memory, push, sizeof *push);
        memory[reserved[which].offset + byte] = 0x80;
      }
      assert_status(APNS_ERR_ARGUMENT, reserved[which].call(memory, &error));
      char expected[100];
      snprintf(expected, sizeof expected, "%s.%s is reserved and has to be zero",
               reserved[which].name, reserved[which].field);
      assert_string_equal(error.message, expected);
    }
  }
  assert_int_equal(stats_of(held).taken, 0);
  let_go();
}

TEST(options_of_a_newer_program) {
  NEWER(apns_session_options_t) options;
  memset(&options, 0, sizeof options);
  options.known.size = sizeof options;
  options.known.protocol = APNS_PROTOCOL_BINARY;
  owned(credentials) credentials = no_credentials();
  apns_session_t *session = session_with(&options.known, credentials);
  apns_session_free(session);
  /* A setting that cannot be met is not ignored. */
  session = NULL;
  options.beyond[7] = 1;
  assert_invalid(apns_session_new(&options.known, credentials, &session, &error),
                 "apns_session_options_t");
  assert_contains(error.message, "does not know");
  assert_null(session);
  NEWER(apns_credentials_options_t) who;
  memset(&who, 0, sizeof who);
  who.known.size = sizeof who;
  who.beyond[0] = 1;
  apns_credentials_t *more = NULL;
  assert_invalid(apns_credentials_new(&who.known, &more, &error), "apns_credentials_options_t");
}

TEST(options_that_cannot_be_are_named) {
  struct all {
    apns_session_options_t options;
    apns_binary_options_t binary;
    apns_tuning_t tuning;
  };
  static const struct {
    size_t offset, size;
    uint32_t value;
    const char *message;
  } wrong[] = {
#define FIELD(name) offsetof(struct all, name), sizeof((struct all *)0)->name
      {FIELD(options.environment), 2, "environment is 2"},
      {FIELD(options.protocol), 2, "protocol is 2"},
      {FIELD(options.delivery), 2, "delivery is 2"},
      {FIELD(options.window_bytes), 16383, "window_bytes is 16383"},
      {FIELD(options.window_bytes), 1, "window_bytes is 1"},
      {FIELD(options.window_bytes), UINT32_MAX, "window_bytes is 4294967295"},
      {FIELD(binary.format), 4, "format is 4"},
      {FIELD(binary.format), (uint32_t)-1, "format is -1"},
      {FIELD(tuning.payload_max), 65536, "payload_max is 65536"},
#undef FIELD
  };
  owned(credentials) credentials = no_credentials();
  for (size_t index = 0; index < sizeof wrong / sizeof *wrong; index++) {
    struct all all = {APNS_SESSION_OPTIONS_INIT, APNS_BINARY_OPTIONS_INIT, APNS_TUNING_INIT};
    all.options.protocol = APNS_PROTOCOL_BINARY;
    all.options.binary = &all.binary, all.options.tuning = &all.tuning;
    memcpy((char *)&all + wrong[index].offset, &wrong[index].value, wrong[index].size);
    apns_session_t *session = NULL;
    assert_invalid(apns_session_new(&all.options, credentials, &session, &error),
                   wrong[index].message);
    assert_null(session);
  }
  apns_session_t *session = NULL;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  options.peer.host = "";
  assert_invalid(apns_session_new(&options, credentials, &session, &error), "host");
  options.peer.host = NULL;
  options.peer.server_name = "";
  assert_invalid(apns_session_new(&options, credentials, &session, &error), "server_name");
}

TEST(the_smallest_window_there_may_be) {
  owned(credentials) credentials = no_credentials();
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  options.window_bytes = 16384;
  owned(session) session = session_with(&options, credentials);
}

/* ---- Notifications ------------------------------------------------------ */

TEST(notifications_without_a_size_are_refused) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_to(gateway, NULL);
  apns_notification_t push = *notification(0);
  push.size = 0;
  assert_init_is_asked_for("apns_notification_t", 0,
                           apns_session_send(session, &push, 0, NULL, &error));
  assert_int_equal(stats_of(session).taken, 0);
  size_t taken = 9;
  assert_init_is_asked_for("apns_notification_t", 0,
                           apns_session_send_many(session, &push, 1, 0, &taken, &error));
  assert_int_equal(taken, 0);
}

/* The structure continues after ours. */
TEST(notifications_of_other_programs_in_an_array) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_t *session = session_to(gateway, NULL);
  owned(notifications) source = notifications(3);
  size_t taken = 0;
  NEWER(apns_notification_t) newer[3];
  memset(newer, 0, sizeof newer);
  for (size_t n = 0; n < 3; n++) {
    newer[n].known = source[n];
    newer[n].known.size = sizeof *newer;
  }
  assert_ok(apns_session_send_many(session, &newer[0].known, 3, 0, &taken, &error));
  assert_int_equal(taken, 3);
  newer[1].beyond[0] = 1;
  assert_status(APNS_ERR_ARGUMENT,
                apns_session_send_many(session, &newer[0].known, 3, 0, &taken, &error));
  assert_int_equal(taken, 1);
  assert_contains(error.message, "does not know");
  drain(session);
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  assert_int_equal(notifications_in(heard), 4);
  for (size_t n = 0; n < 3; n++) assert_carries(heard, n, n);
  assert_carries(heard, 3, 0);
}

/* The binary interface has no fields for HTTP/2's options. */
TEST(what_is_for_http2_is_passed_over) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_t *session = session_to(gateway, NULL);
  apns_notification_t push = *notification(1);
  assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  push.push_type = APNS_PUSH_TYPE_BACKGROUND;
  push.topic = "com.example.app";
  push.collapse_id = "a collapse id that is longer than the 64 bytes that HTTP/2 has room for";
  push.apns_id = "not a UUID";
  assert_ok(apns_session_send(session, &push, 0, NULL, &error));
  drain(session);
  const gateway_record_t *heard = heard_after(session, gateway, 0);
  assert_int_equal(notifications_in(heard), 2);
  assert_carries(heard, 0, 1);
  assert_carries(heard, 1, 1);
  size_t count;
  gateway_frame_t *frames = gateway_frames(heard->bytes, heard->length, &count);
  assert_in_range(count, 2, 3);
  assert_int_equal(frames[0].length, frames[1].length);
  free(frames);
}

/* ---- What is handed out ------------------------------------------------- */

TEST(events_and_stats_of_other_programs) {
  const gateway_step_t script[] = {TAKE_FRAMES(1), NAME_NTH(8, 0), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script, script, script));
  owned(session) session = session_to(gateway, NULL);
  for (size_t n = 0; n < 3; n++) send_and_drain(session, n, n + 1);
  assert_int_equal(stats_of(session).events, 3);

  /* A wrong structure costs no outcome. */
  apns_event_t event = {0};
  assert_init_is_asked_for("apns_event_t", 0, apns_session_next_event(session, &event, 0, &error));
  assert_int_equal(stats_of(session).events, 3);
  event.size = offsetof(apns_event_t, reason_text);
  assert_init_is_asked_for("apns_event_t", event.size,
                           apns_session_next_event(session, &event, 0, &error));
  assert_int_equal(stats_of(session).events, 3);
  event.size = sizeof event;
  assert_ok(apns_session_next_event(session, &event, 0, &error));
  assert_int_equal(event.size, sizeof event);
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  assert_int_equal(event.reject, 8);
  NEWER(apns_event_t) newer;
  memset(&newer, 0, sizeof newer);
  newer.known.size = sizeof newer;
  assert_ok(apns_session_next_event(session, &newer.known, 0, &error));
  assert_int_equal(newer.known.size, sizeof newer);
  assert_ptr_equal(newer.known.user_data, (void *)2);

  apns_session_stats_t stats = {0};
  assert_init_is_asked_for("apns_session_stats_t", 0, apns_session_stats(session, &stats, &error));
  memset(&stats, 0x5A, sizeof stats);
  stats.size = offsetof(apns_session_stats_t, first_unresolved);
  assert_init_is_asked_for("apns_session_stats_t", stats.size,
                           apns_session_stats(session, &stats, &error));
  assert_int_equal(stats.taken, 0x5A5A5A5A5A5A5A5A);
  stats.size = sizeof stats;
  assert_ok(apns_session_stats(session, &stats, &error));
  assert_int_equal(stats.taken, 3);
  NEWER(apns_session_stats_t) more;
  memset(&more, 0, sizeof more);
  more.known.size = sizeof more;
  assert_ok(apns_session_stats(session, &more.known, &error));
  assert_int_equal(more.known.rejected, 3);
  assert_int_equal(more.known.events, 1);
}

/* A structure for results is filled, so its old contents do not matter: a newer program may pass a
   structure that it never cleared. */
TEST(what_stood_in_an_answer_does_not_matter) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_to(gateway, NULL);
  NEWER(apns_event_t) event;
  memset(&event, 0x5A, sizeof event);
  event.known.size = sizeof event;
  assert_status(APNS_DONE, apns_session_next_event(session, &event.known, 0, &error));
  NEWER(apns_session_stats_t) stats;
  memset(&stats, 0x5A, sizeof stats);
  stats.known.size = sizeof stats;
  assert_ok(apns_session_stats(session, &stats.known, &error));
  assert_int_equal(stats.known.taken, 0);
}
