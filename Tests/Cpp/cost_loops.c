/* Runs each loop once over real TLS, for callgrind to count; see cost. */
#include <stdio.h>

#include "cost.h"
#include "provider.h"

static uint64_t run(send_loop_t *send, event_loop_t *events, size_t count, const uint8_t *tokens) {
  static const char json[] = "{\"aps\":{\"alert\":\"You got your emails.\",\"badge\":9}}";
  gateway_t *gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_for(gateway);
  options.outcomes = APNS_OUTCOMES_EACH;
  apns_session_t *session = session_to(gateway, &options);
  uint64_t sent = send(session, tokens, count, json, sizeof json - 1);
  assert_true(sent > 0);
  assert_ok(apns_session_drain(session, 60000, NULL, &error));
  assert_int_equal(events(session), sent);
  assert_int_equal(stats_of(session).accepted, count);
  session_end(session, gateway);
  return sent;
}

static void every_loop(void **state) {
  const size_t count = *(size_t *)*state;
  uint8_t *tokens = calloc(count, COST_TOKEN);
  for (size_t n = 0; n < count; n++) memcpy(tokens + n * COST_TOKEN, &n, sizeof n);
  const uint64_t sum = run(send_in_c, events_in_c, count, tokens);
  assert_int_equal(run(send_in_cpp, events_in_cpp, count, tokens), sum);
  assert_int_equal(run(send_in_cpp_throwing, events_in_cpp_throwing, count, tokens), sum);
  free(tokens);
}

int main(int argc, char **argv) {
  size_t count = argc > 1 ? (size_t)atol(argv[1]) : 1000;
  void *state = &count;
  const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(every_loop, state)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
