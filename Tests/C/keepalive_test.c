/* The TCP options of the library's sockets. */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "provider.h"
#include "sockets.h"

static int option_of(int descriptor, int level, int option) {
  int value = -1;
  socklen_t size = sizeof value;
  assert_int_equal(getsockopt(descriptor, level, option, &value, &size), 0);
  return value;
}

/* `idle` 0: no probes. */
static void check_socket(int descriptor, int idle, int interval) {
  assert_true(descriptor >= 0);
  assert_int_equal(option_of(descriptor, IPPROTO_TCP, TCP_NODELAY), 1);
  assert_int_equal(option_of(descriptor, SOL_SOCKET, SO_KEEPALIVE), idle > 0);
  if (idle == 0) {
    assert_int_equal(option_of(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT), 0);
    return;
  }
  assert_int_equal(option_of(descriptor, IPPROTO_TCP, TCP_KEEPIDLE), idle);
  assert_int_equal(option_of(descriptor, IPPROTO_TCP, TCP_KEEPINTVL), interval);
  assert_int_equal(option_of(descriptor, IPPROTO_TCP, TCP_KEEPCNT), 3);
  /* TCP gives up unacknowledged bytes at the same time. */
  assert_int_equal(option_of(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT),
                   (idle + 3 * interval) * 1000);
}

TEST(the_option_is_what_tcp_is_told) {
  static const struct {
    int32_t milliseconds;
    int idle, interval;
  } cases[] = {{0, 60, 15},
               {1, 1, 1},
               {1000, 1, 1},
               {1001, 2, 1},
               {7000, 7, 1},
               {40000, 40, 10},
               {100000000, 32767, 8191},
               {INT32_MAX, 32767, 8191},
               {-1, 0, 0}};
  owned(gateway) gateway = gateway_start(NULL, NULL);
  for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
    owned(session) session =
        session_where(gateway, tuning->keepalive_ms = cases[index].milliseconds);
    sockets_reset();
    assert_ok(apns_session_connect(session, &error));
    check_socket(sockets_last(), cases[index].idle, cases[index].interval);
  }
}

/* The connections after the first, the standby ones too. */
TEST(every_connection_is_told) {
  enum { BATCH = 10 };
  static const gateway_step_t names_first[] = {TAKE_FRAMES(BATCH), NAME_NTH(8, 0), END};
  static const gateway_step_t waits[] = {TAKE_FRAMES(BATCH - 1), AWAIT(1), END};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(names_first, waits));
  apns_session_options_t options = options_for(gateway);
  apns_event_t event = APNS_EVENT_INIT;
  tuning_of(&options)->keepalive_ms = 20000;
  binary_of(&options)->no_standby = 0;
  owned(session) session = session_to(gateway, &options);
  sockets_reset();
  send_range(session, 0, BATCH);
  assert_int_equal(sockets_made(), 1);
  check_socket(sockets_last(), 20, 5);
  assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
  await_connects(session, 2);
  check_socket(sockets_last(), 20, 5);
  await_connects(session, 3);
  assert_int_equal(sockets_made(), 3);
  check_socket(sockets_last(), 20, 5);
}

TEST(the_feedback_has_the_usual) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  sockets_reset();
  owned(feedback) feedback = feedback_from(gateway);
  check_socket(sockets_last(), 60, 15);
}
