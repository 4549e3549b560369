/* However a session or feedback ends, it leaves no descriptor open. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "Gateway/loopback.h"
#include "provider.h"

/* Sessions that end in all the ways there are, turn by turn. */
TEST(many_sessions) {
  const size_t count = as_many_as(1000, 40);
  static const gateway_step_t polite[] = {TAKE_SENTINEL, NAME_LAST(2), END},
                              no_handshake[] = {NO_HANDSHAKE, CLOSE_RST},
                              resets[] = {TAKE_FRAMES(1), CLOSE_RST},
                              closes[] = {TAKE_FRAMES(1), CLOSE_NOTIFY},
                              records[] = {TAKE_ALL, END};
  static const gateway_step_t *const turns[] = {polite, no_handshake, resets, closes, records};
  const gateway_step_t **scripts = calloc(count + 1, sizeof *scripts);
  for (size_t index = 0; index < count; index++) scripts[index] = turns[index % 5];
  size_t before = open_descriptors();
  gateway_t *gateway = gateway_start(NULL, scripts);
  apns_credentials_t *credentials = provider_credentials();
  apns_session_options_t options = options_for(gateway);
  options.delivery = APNS_DELIVERY_AT_MOST_ONCE;
  for (size_t index = 0; index < count; index++) {
    owned(session) session = session_with(&options, credentials);
    apns_status_t status = apns_session_send(session, notification(0), 0, NULL, &error);
    assert_int_equal(status, index % 5 == 1 ? APNS_ERR_NETWORK : APNS_OK);
    if (index % 5 != 1 && index % 5 != 4) drain(session);
    if (index % 2) assert_ok(apns_session_close(session, AMPLE_MS, &error));
  }
  apns_credentials_free(credentials);
  assert_int_equal(gateway_connections(gateway), count);
  gateway_stop(gateway);
  assert_int_equal(open_descriptors(), before);
  free(scripts);
}

TEST(many_feedbacks) {
  const size_t count = as_many_as(200, 20);
  static const uint8_t tuple[] = {0, 0, 0, 9, 0, 2, 'a', 'b'};
  static const gateway_step_t whole[] = {SAY(tuple, 8), END},
                              no_handshake[] = {NO_HANDSHAKE, CLOSE_RST},
                              resets[] = {SAY(tuple, 5), CLOSE_RST};
  static const gateway_step_t *const turns[] = {whole, no_handshake, resets};
  const gateway_step_t **scripts = calloc(count + 1, sizeof *scripts);
  for (size_t index = 0; index < count; index++) scripts[index] = turns[index % 3];
  size_t before = open_descriptors();
  gateway_t *gateway = gateway_start(NULL, scripts);
  apns_credentials_t *credentials = provider_credentials();
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  options.peer.host = "127.0.0.1";
  options.peer.port = gateway_port(gateway);
  for (size_t index = 0; index < count; index++) {
    owned(feedback) feedback = NULL;
    apns_feedback_tuple_t out = APNS_FEEDBACK_TUPLE_INIT;
    apns_status_t status = apns_feedback_open(&options, credentials, &feedback, NULL);
    assert_int_equal(status, index % 3 == 1 ? APNS_ERR_NETWORK : APNS_OK);
    while (status == APNS_OK) status = apns_feedback_next(feedback, &out, NULL);
  }
  apns_credentials_free(credentials);
  gateway_stop(gateway);
  assert_int_equal(open_descriptors(), before);
  free(scripts);
}

TEST(credentials_good_and_bad) {
  const identities_t *identities = identities_make();
  size_t before = open_descriptors();
  for (size_t index = 0; index < as_many_as(20, 2); index++) {
    apns_credentials_free(provider_credentials());
    apns_credentials_options_t options = trusting();
    apns_credentials_t *credentials = NULL;
    options.certificate_file = identities->provider.certificate_file;
    options.key_file = identities->gateway.key_file;
    assert_int_equal(apns_credentials_new(&options, &credentials, NULL), APNS_ERR_CREDENTIALS);
    options.key_file = "/nonexistent";
    assert_int_equal(apns_credentials_new(&options, &credentials, NULL), APNS_ERR_CREDENTIALS);
    options.certificate_file = identities->directory;
    assert_int_equal(apns_credentials_new(&options, &credentials, NULL), APNS_ERR_CREDENTIALS);
  }
  assert_int_equal(open_descriptors(), before);
}

/* Programs that the application executes inherit none of the library's descriptors: all that were
   opened since the start close automatically. */
TEST(descriptors_are_closed_on_exec) {
  bool was_open[1024];
  for (int descriptor = 0; descriptor < 1024; descriptor++)
    was_open[descriptor] = fcntl(descriptor, F_GETFD) >= 0;
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_to(gateway, NULL);
  size_t before = open_descriptors();
  assert_ok(apns_session_connect(session, &error));
  assert_true(open_descriptors() > before);
  for (int descriptor = 0; descriptor < 1024; descriptor++) {
    int flags = fcntl(descriptor, F_GETFD);
    if (flags >= 0 && !was_open[descriptor]) assert_true(flags & FD_CLOEXEC);
  }
}

/* With no descriptor left. */
static int without_descriptors(void *argument) {
  FORGET_ERROR();
  (void)argument;
  const struct rlimit few = {64, 64};
  CHILD_REQUIRE(!setrlimit(RLIMIT_NOFILE, &few));
  const identities_t *all = identities_make();
  apns_credentials_t *credentials = provider_credentials();
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_for(gateway);
  apns_session_t *session = NULL;
  CHILD_REQUIRE(!apns_session_new(&options, credentials, &session, &error));
  apns_credentials_options_t who = trusting();
  who.certificate_file = all->provider.certificate_file;
  who.key_file = all->provider.key_file;
  apns_credentials_t *made = NULL;
  apns_strings_t *strings = NULL;
  while (open("/dev/null", O_RDONLY) >= 0) {
  }
  CHILD_REQUIRE(errno == EMFILE);
  const apns_status_t loaded = apns_credentials_new(&who, &made, &error);
  CHILD_REQUIRE(loaded == APNS_ERR_MEMORY && apns_status_is_retryable(loaded));
  who.ca_file = NULL, who.ca_directory = all->directory;
  CHILD_REQUIRE(apns_credentials_new(&who, &made, &error) == APNS_ERR_MEMORY);
  CHILD_REQUIRE(error.sys_errno == EMFILE);
  CHILD_REQUIRE(apns_strings_open(who.key_file, &strings, &error) == APNS_ERR_MEMORY);
  CHILD_REQUIRE(error.sys_errno == EMFILE);
  const apns_status_t connected = apns_session_connect(session, &error);
  CHILD_REQUIRE(connected == APNS_ERR_NETWORK && apns_status_is_retryable(connected));
  CHILD_REQUIRE(error.sys_errno == EMFILE);
  return 0;
}

/* Fails to open each file in turn, and the system's own certificates. */
static int files_without_descriptors(void *context) {
  const identities_t *identities = context;
  const char *certificate = identities->provider.certificate_file;
  const apns_credentials_options_t init = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_credentials_options_t kinds[] = {init, init, init, init, init};
  kinds[0].ca_file = identities->root.certificate_file;
  kinds[1].certificate_file = certificate;
  kinds[2].crl_file = certificate;
  kinds[3].token_key_file = certificate;
  kinds[3].key_id = "ABC123DEFG", kinds[3].team_id = "DEF123GHIJ";
  for (int index = 0; index < 5; index++) {
    apns_error_t error = APNS_ERROR_INIT;
    apns_credentials_t *credentials = NULL;
    const struct rlimit few = {32, 32};
    int kept[64], count = 0;
    CHILD_REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
    while (count < 64 && (kept[count] = dup(0)) >= 0) count++;
    CHILD_REQUIRE(count < 64);
    const apns_status_t status = apns_credentials_new(kinds + index, &credentials, &error);
    while (count > 0) close(kept[--count]);
    if (error.cause == APNS_CAUSE_HTTP2_NOT_BUILT_IN) continue;
    CHILD_REQUIRE(status == APNS_ERR_MEMORY && apns_status_is_retryable(status));
    CHILD_REQUIRE(error.cause == APNS_CAUSE_DESCRIPTORS && error.sys_errno == EMFILE);
  }
  return 0;
}

TEST(files_that_no_descriptor_is_left_for) {
  if (getenv("APNS_TESTS_LIGHT")) skip();
  assert_child_is_fine(files_without_descriptors, (void *)(uintptr_t)identities_make());
}

/* The next call may succeed: no file and no peer is to blame. */
TEST(no_descriptor_left_is_retryable) {
  /* valgrind has its own descriptors. */
  if (getenv("APNS_TESTS_LIGHT")) skip();
  identities_make();
  assert_child_is_fine(without_descriptors, NULL);
}
