/* The peer ends at every stage of a send: no signal, no wait past a deadline, no loss. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "provider.h"

enum { CONNECT_MS = 1500, WRITE_MS = 500, DRAIN_MS = 200, SCRIPTED = 200 };

/* Runs in a child, where SIGPIPE is the system's, and checks the books. */
static int sends_and_drains(void *argument) {
  gateway_t *gateway = argument;
  apns_credentials_options_t who = trusting();
  apns_credentials_t *credentials = NULL;
  owned(session) session = NULL;
  CHILD_REQUIRE(apns_credentials_new(&who, &credentials, &error) == APNS_OK);
  apns_session_options_t options = options_for(gateway);
  options.peer.connect_timeout_ms = CONNECT_MS;
  tuning_of(&options)->write_timeout_ms = WRITE_MS;
  /* No wait for the next end. */
  tuning_of(&options)->reconnect_pause_max_ms = 20;
  CHILD_REQUIRE(apns_session_new(&options, credentials, &session, &error) == APNS_OK);
  apns_credentials_free(credentials);

  const size_t count = as_many_as(3000, 600);
  size_t taken = 0;
  uint64_t refused = 0;
  int64_t start = clock_ms();
  for (size_t n = 0; n < count && clock_ms() - start < DRAIN_MS; n++) {
    int64_t before = clock_ms();
    apns_status_t status =
        apns_session_send(session, notification(n), n % 50 ? APNS_SEND_MORE : 0, NULL, &error);
    CHILD_REQUIRE(clock_ms() - before < CONNECT_MS + WRITE_MS + patience_ms());
    CHILD_REQUIRE(status == APNS_OK || status == APNS_ERR_NETWORK || status == APNS_ERR_TIMEOUT ||
                  status == APNS_ERR_TLS);
    taken += status == APNS_OK;
    if (status != APNS_OK && ++refused > 3) break;
  }
  start = clock_ms();
  size_t unresolved = 0;
  apns_session_drain(session, DRAIN_MS, &unresolved, &error);
  CHILD_REQUIRE(clock_ms() - start < DRAIN_MS + patience_ms());
  start = clock_ms();
  CHILD_REQUIRE(apns_session_close(session, 200, &error) == APNS_OK);
  CHILD_REQUIRE(clock_ms() - start < 200 + patience_ms());

  /* Each queued notification has exactly one outcome, and an event unless it was accepted. */
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  CHILD_REQUIRE(apns_session_stats(session, &stats, &error) == APNS_OK);
  CHILD_REQUIRE(stats.taken == taken);
  CHILD_REQUIRE(stats.unresolved == 0);
  CHILD_REQUIRE(stats.accepted + stats.rejected + stats.unknown == taken);
  apns_event_t event = APNS_EVENT_INIT;
  uint64_t told = 0, last = 0;
  while (apns_session_next_event(session, &event, 0, &error) == APNS_OK) {
    CHILD_REQUIRE((uintptr_t)event.user_data > last);
    last = (uintptr_t)event.user_data;
    told++;
  }
  CHILD_REQUIRE(told == stats.rejected + stats.unknown);
  return 0;
}

/* All connections follow the same script. */
static void check_dying(const gateway_step_t *script, int tls_version, int receive_buffer) {
  const gateway_step_t *scripts[SCRIPTED + 1] = {NULL};
  for (size_t index = 0; index < SCRIPTED; index++) scripts[index] = script;
  const gateway_options_t options = {.tls_version = tls_version, .receive_buffer = receive_buffer};
  owned(gateway) gateway = gateway_start(&options, scripts);
  assert_child_is_fine(sends_and_drains, gateway);
}

static void check_dying_every_way(gateway_step_t *script, size_t last, int tls_version) {
  static const step_kind_t ways[] = {STEP_CLOSE_RST, STEP_CLOSE_UNREAD, STEP_CLOSE_FIN};
  for (size_t way = 0; way < as_many_as(3, 1); way++) {
    script[last].kind = ways[way];
    check_dying(script, tls_version, 0);
  }
}

TEST(while_the_connection_is_accepted) {
  check_dying_every_way((gateway_step_t[]){NO_HANDSHAKE, END}, 1, 0);
}

TEST(in_the_middle_of_the_clients_first_flight) {
  check_dying_every_way((gateway_step_t[]){NO_HANDSHAKE, TAKE_RAW(20), END}, 2, 0);
}

TEST(after_the_handshake) {
  gateway_step_t script[] = {END};
  check_dying_every_way(script, 0, TLS1_2_VERSION);
  check_dying_every_way(script, 0, TLS1_3_VERSION);
}

TEST(after_the_first_bytes) {
  gateway_step_t script[] = {TAKE_BYTES(1), END};
  check_dying_every_way(script, 1, TLS1_2_VERSION);
  check_dying_every_way(script, 1, TLS1_3_VERSION);
}

TEST(in_the_middle_of_a_record) {
  check_dying_every_way((gateway_step_t[]){TAKE_BYTES(5000), END}, 1, 0);
}

TEST(after_many_frames) { check_dying_every_way((gateway_step_t[]){TAKE_FRAMES(200), END}, 1, 0); }

TEST(after_a_packet) {
  check_dying_every_way((gateway_step_t[]){TAKE_FRAMES(100), NAME_NTH(8, 20), END}, 2, 0);
}

TEST(in_the_middle_of_a_packet) {
  static const uint8_t half[3] = {8, 8, 0};
  check_dying_every_way((gateway_step_t[]){TAKE_FRAMES(100), SAY(half, 3), END}, 2, 0);
}

TEST(while_it_reads_no_more) { check_dying((gateway_step_t[]){TAKE_FRAMES(20), STALL}, 0, 4096); }

/* ---- close_notify without a peer ---------------------------------------- */

typedef struct parting {
  gateway_t *gateway;
  bool closes;
} parting_t;

/* The session's socket, for the test to wait until the reset has come. */
static int descriptor_to(const gateway_t *gateway) {
  for (int descriptor = 3; descriptor < 1024; descriptor++) {
    struct sockaddr_in peer = {0};
    socklen_t size = sizeof peer;
    if (getpeername(descriptor, (struct sockaddr *)&peer, &size) == 0 &&
        peer.sin_family == AF_INET && ntohs(peer.sin_port) == gateway_port(gateway))
      return descriptor;
  }
  return -1;
}

static int parts_from_nobody(void *argument) {
  const parting_t *parting = argument;
  apns_credentials_options_t who = trusting();
  apns_credentials_t *credentials = NULL;
  owned(session) session = NULL;
  CHILD_REQUIRE(apns_credentials_new(&who, &credentials, &error) == APNS_OK);
  apns_session_options_t options = options_for(parting->gateway);
  CHILD_REQUIRE(apns_session_new(&options, credentials, &session, &error) == APNS_OK);
  apns_credentials_free(credentials);
  CHILD_REQUIRE(apns_session_connect(session, &error) == APNS_OK);
  struct pollfd entry = {.fd = descriptor_to(parting->gateway)};
  CHILD_REQUIRE(entry.fd >= 0);
  CHILD_REQUIRE(apns_session_send(session, notification(0), 0, NULL, &error) == APNS_OK);
  CHILD_REQUIRE(poll(&entry, 1, AMPLE_MS) == 1 && entry.revents & (POLLERR | POLLHUP));
  /* The first call after a reset gets it as an error, without a signal; here that is this call. */
  int code;
  socklen_t size = sizeof code;
  CHILD_REQUIRE(getsockopt(entry.fd, SOL_SOCKET, SO_ERROR, &code, &size) == 0);
  if (parting->closes) CHILD_REQUIRE(apns_session_close(session, 1000, &error) == APNS_OK);
  return 0;
}

TEST(saying_goodbye_to_nobody) {
  static const gateway_step_t script[] = {TAKE_FRAMES(1), CLOSE_RST};
  for (int closes = 0; closes < 2; closes++) {
    parting_t parting = {gateway_start(NULL, SCRIPTS(script)), closes};
    assert_child_is_fine(parts_from_nobody, &parting);
    gateway_stop(parting.gateway);
  }
}
