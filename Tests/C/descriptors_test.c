/* However a session or feedback ends, it leaves no descriptor open. */
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "provider.h"

static size_t open_descriptors(void) {
  DIR *directory = opendir("/proc/self/fd");
  size_t count = 0;
  assert_non_null(directory);
  while (readdir(directory)) count++;
  closedir(directory);
  return count;
}

/* Sessions that end in all the ways there are, turn by turn. */
static void many_sessions(void **state) {
  (void)state;
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
  options.ambiguous = APNS_AMBIGUOUS_REPORT;
  for (size_t index = 0; index < count; index++) {
    apns_session_t *session = NULL;
    apns_error_t error = APNS_ERROR_INIT;
    assert_ok(apns_session_new(&options, credentials, &session, &error), &error);
    apns_status_t status = apns_session_send(session, notification(0), 0, NULL, &error);
    assert_int_equal(status, index % 5 == 1 ? APNS_ERR_NETWORK : APNS_OK);
    if (index % 5 != 1 && index % 5 != 4)
      assert_ok(apns_session_drain(session, 30000, NULL, &error), &error);
    if (index % 2) assert_ok(apns_session_close(session, 30000, &error), &error);
    apns_session_free(session);
  }
  apns_credentials_free(credentials);
  assert_int_equal(gateway_connections(gateway), count);
  gateway_stop(gateway);
  assert_int_equal(open_descriptors(), before);
  free(scripts);
}

static void many_feedbacks(void **state) {
  (void)state;
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
  options.host = "127.0.0.1";
  options.port = gateway_port(gateway);
  for (size_t index = 0; index < count; index++) {
    apns_feedback_t *feedback = NULL;
    apns_feedback_tuple_t out = APNS_FEEDBACK_TUPLE_INIT;
    apns_status_t status = apns_feedback_open(&options, credentials, &feedback, NULL);
    assert_int_equal(status, index % 3 == 1 ? APNS_ERR_NETWORK : APNS_OK);
    while (status == APNS_OK) status = apns_feedback_next(feedback, &out, NULL);
    apns_feedback_free(feedback);
  }
  apns_credentials_free(credentials);
  gateway_stop(gateway);
  assert_int_equal(open_descriptors(), before);
  free(scripts);
}

static void credentials_good_and_bad(void **state) {
  (void)state;
  const identities_t *identities = identities_make();
  size_t before = open_descriptors();
  for (size_t index = 0; index < as_many_as(20, 2); index++) {
    apns_credentials_free(provider_credentials());
    apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
    apns_credentials_t *credentials = NULL;
    options.ca_file = identities->root.certificate_file;
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

/* What the host executes inherits none of the library's descriptors: all that
   are open now and were not at the start close by themselves. */
static void descriptors_are_closed_on_exec(void **state) {
  (void)state;
  bool was_open[1024];
  for (int descriptor = 0; descriptor < 1024; descriptor++)
    was_open[descriptor] = fcntl(descriptor, F_GETFD) >= 0;
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_session_t *session = session_to(gateway, NULL);
  apns_error_t error = APNS_ERROR_INIT;
  size_t before = open_descriptors();
  assert_ok(apns_session_connect(session, &error), &error);
  assert_true(open_descriptors() > before);
  for (int descriptor = 0; descriptor < 1024; descriptor++) {
    int flags = fcntl(descriptor, F_GETFD);
    if (flags >= 0 && !was_open[descriptor]) assert_true(flags & FD_CLOEXEC);
  }
  apns_session_free(session);
  gateway_stop(gateway);
}

int main(void) {
  identities_make();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_sessions),
      cmocka_unit_test(many_feedbacks),
      cmocka_unit_test(credentials_good_and_bad),
      cmocka_unit_test(descriptors_are_closed_on_exec),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
