/* sendPayload() and its kin on the host's own SSL: sendpayload.h's promises. */
#include <apns/sendpayload.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "listing.h"
#include "provider.h"

static char token[DEVICE_BINARY_SIZE];
static char payload[70000];

static const gateway_step_t record_all[] = {TAKE_ALL, END};

TEST(it_is_a_feature_of_the_build) {
  assert_int_not_equal(apns_features() & APNS_FEATURE_BINARY, 0);
}

/* ---- A host's connection ------------------------------------------------ */

typedef struct host {
  SSL_CTX *context;
  SSL *ssl;
  int descriptor;
} host_t;

static host_t host_connect(const gateway_t *gateway, int send_buffer) {
  host_t host = {.context = SSL_CTX_new(TLS_client_method())};
  host.descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (send_buffer)
    setsockopt(host.descriptor, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons(gateway_port(gateway)),
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
  assert_int_equal(connect(host.descriptor, (struct sockaddr *)&address, sizeof address), 0);
  host.ssl = SSL_new(host.context);
  SSL_set_fd(host.ssl, host.descriptor);
  assert_int_equal(SSL_connect(host.ssl), 1);
  return host;
}

/* Closes as a careful host would, so that the gateway has received everything. */
static void host_close(host_t *host) {
  fcntl(host->descriptor, F_SETFL, fcntl(host->descriptor, F_GETFL) & ~O_NONBLOCK);
  SSL_shutdown(host->ssl);
  shutdown(host->descriptor, SHUT_WR);
  char rest[256];
  while (recv(host->descriptor, rest, sizeof rest, 0) > 0) {
  }
  SSL_free(host->ssl);
  SSL_CTX_free(host->context);
  close(host->descriptor);
}

/* For a child whose peer is gone. */
static int host_drop(host_t *host) {
  SSL_free(host->ssl);
  SSL_CTX_free(host->context);
  close(host->descriptor);
  return 0;
}

static void set_nonblocking(const host_t *host) {
  fcntl(host->descriptor, F_SETFL, fcntl(host->descriptor, F_GETFL) | O_NONBLOCK);
}

/* ---- Bytes -------------------------------------------------------------- */

TEST(the_simple_listing_byte_for_byte) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  host_t host = host_connect(gateway, 0);
  uint8_t *expected = malloc(300 * 300), *end = expected;
  for (size_t length = 1; length <= MAXPAYLOAD_SIZE; length++) {
    assert_true(sendPayload(host.ssl, token, payload, length));
    end += listing_simple(end, token, payload, length);
  }
  host_close(&host);
  assert_heard(gateway, 0, expected, (size_t)(end - expected));
  free(expected);
}

TEST(the_enhanced_listing_byte_for_byte) {
  static const uint32_t numbers[] = {0, 1, 0x01020304, 0x80000000, 0xFFFFFFFF};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  host_t host = host_connect(gateway, 0);
  uint8_t *expected = malloc(310 * 300), *end = expected;
  for (size_t length = 1; length <= MAXPAYLOAD_SIZE; length++) {
    uint32_t identifier = numbers[length % 5], expiry = numbers[length % 3];
    assert_true(sendPayloadEnhanced(host.ssl, token, payload, length, identifier, expiry));
    end += listing_enhanced(end, token, payload, length, identifier, expiry);
  }
  host_close(&host);
  assert_heard(gateway, 0, expected, (size_t)(end - expected));
  free(expected);
}

TEST(limits_of_the_callers_own) {
  static const size_t lengths[] = {257, 2048, 4096, 16384, 40000, 65535};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  host_t host = host_connect(gateway, 0);
  uint8_t *expected = malloc(300000), *end = expected;
  for (size_t index = 0; index < 6; index++) {
    size_t length = lengths[index];
    assert_true(sendPayloadLimited(host.ssl, token, payload, length, length));
    end += listing_simple(end, token, payload, length);
    assert_true(sendPayloadEnhancedLimited(host.ssl, token, payload, length, 7, 8, 65535));
    end += listing_enhanced(end, token, payload, length, 7, 8);
    assert_false(sendPayloadLimited(host.ssl, token, payload, length, length - 1));
    assert_false(sendPayloadEnhancedLimited(host.ssl, token, payload, length, 7, 8, length - 1));
  }
  host_close(&host);
  assert_heard(gateway, 0, expected, (size_t)(end - expected));
  free(expected);
}

TEST(a_refused_call_writes_nothing) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  host_t host = host_connect(gateway, 0);
  SSL *ssl = host.ssl;
  assert_false(sendPayload(NULL, token, payload, 10));
  assert_false(sendPayload(ssl, NULL, payload, 10));
  assert_false(sendPayload(ssl, token, NULL, 10));
  assert_false(sendPayload(ssl, token, payload, 0));
  assert_false(sendPayload(ssl, token, payload, 257));
  assert_false(sendPayload(ssl, token, payload, SIZE_MAX));
  assert_false(sendPayload(ssl, token, payload, (size_t)1 << 32 | 10));
  assert_false(sendPayloadLimited(NULL, token, payload, 10, 20));
  assert_false(sendPayloadLimited(ssl, NULL, payload, 10, 20));
  assert_false(sendPayloadLimited(ssl, token, NULL, 10, 20));
  assert_false(sendPayloadLimited(ssl, token, payload, 0, 20));
  assert_false(sendPayloadLimited(ssl, token, payload, 21, 20));
  assert_false(sendPayloadLimited(ssl, token, payload, 65536, 65536));
  assert_false(sendPayloadLimited(ssl, token, payload, 10, 65536));
  assert_false(sendPayloadLimited(ssl, token, payload, SIZE_MAX, SIZE_MAX));
  assert_false(sendPayloadLimited(ssl, token, payload, 10, 0));
  assert_false(sendPayloadEnhanced(NULL, token, payload, 10, 1, 1));
  assert_false(sendPayloadEnhanced(ssl, NULL, payload, 10, 1, 1));
  assert_false(sendPayloadEnhanced(ssl, token, NULL, 10, 1, 1));
  assert_false(sendPayloadEnhanced(ssl, token, payload, 0, 1, 1));
  assert_false(sendPayloadEnhanced(ssl, token, payload, 257, 1, 1));
  assert_false(sendPayloadEnhancedLimited(ssl, token, payload, 65536, 1, 1, 65536));
  assert_false(sendPayloadEnhancedLimited(ssl, token, payload, 10, 1, 1, 65536));
  /* The connection still works after it. */
  assert_true(sendPayload(ssl, token, payload, 10));
  host_close(&host);
  assert_int_equal(gateway_heard(gateway, 0)->length, 5 + DEVICE_BINARY_SIZE + 10);
}

/* ---- Writes that do not go through at once ------------------------------- */

/* A filter between OpenSSL and the socket: lets few bytes through at a time, with a "try again"
   before each, and reports the first time that the socket itself is full, or has nothing to
   read. */
typedef struct hurdle {
  size_t most;
  bool refuses;
  size_t refusals;
  gateway_t *told;
  size_t vain_reads;
  gateway_t *told_of_reading;
} hurdle_t;

static int hurdle_write(BIO *bio, const char *bytes, int length) {
  hurdle_t *hurdle = BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  if (hurdle->most) {
    hurdle->refuses = !hurdle->refuses;
    if (hurdle->refuses) {
      hurdle->refusals++;
      BIO_set_retry_write(bio);
      return -1;
    }
    if ((size_t)length > hurdle->most) length = (int)hurdle->most;
  }
  int written = BIO_write(BIO_next(bio), bytes, length);
  BIO_copy_next_retry(bio);
  if (written <= 0 && BIO_should_retry(bio)) {
    if (hurdle->refusals++ == 0 && hurdle->told) gateway_signal(hurdle->told);
  }
  return written;
}

static int hurdle_read(BIO *bio, char *bytes, int length) {
  BIO_clear_retry_flags(bio);
  hurdle_t *hurdle = BIO_get_data(bio);
  int count = BIO_read(BIO_next(bio), bytes, length);
  BIO_copy_next_retry(bio);
  if (count <= 0 && BIO_should_retry(bio) && hurdle->told_of_reading)
    if (hurdle->vain_reads++ == 0) gateway_signal(hurdle->told_of_reading);
  return count;
}

static long hurdle_control(BIO *bio, int command, long number, void *pointer) {
  return command == BIO_CTRL_PUSH || command == BIO_CTRL_POP || command == BIO_CTRL_DUP
             ? 0
             : BIO_ctrl(BIO_next(bio), command, number, pointer);
}

static BIO_METHOD *put_hurdle(const host_t *host, hurdle_t *hurdle) {
  BIO_METHOD *method = BIO_meth_new(BIO_TYPE_FILTER | 0x60, "hurdle");
  BIO_meth_set_write(method, hurdle_write);
  BIO_meth_set_read(method, hurdle_read);
  BIO_meth_set_ctrl(method, hurdle_control);
  BIO *bio = BIO_new(method);
  BIO_set_data(bio, hurdle);
  BIO_set_init(bio, 1);
  BIO *socket_bio = SSL_get_wbio(host->ssl);
  BIO_up_ref(socket_bio);
  SSL_set0_wbio(host->ssl, BIO_push(bio, socket_bio));
  BIO_up_ref(bio);
  SSL_set0_rbio(host->ssl, bio);
  return method;
}

static void many_small_writes(long mode) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  host_t host = host_connect(gateway, 0);
  set_nonblocking(&host);
  SSL_set_mode(host.ssl, mode);
  hurdle_t hurdle = {.most = 50};
  BIO_METHOD *method = put_hurdle(&host, &hurdle);
  assert_true(sendPayloadLimited(host.ssl, token, payload, 40000, 40000));
  assert_true(sendPayloadEnhanced(host.ssl, token, payload, 256, 1, 2));
  assert_true(hurdle.refusals > 800);
  /* Nothing in its way now: partial writes end after each record. */
  hurdle.most = 0;
  assert_true(sendPayloadLimited(host.ssl, token, payload, 50000, 50000));
  host_close(&host);
  BIO_meth_free(method);
  owned(bytes) expected = malloc(100000);
  size_t length = listing_simple(expected, token, payload, 40000);
  length += listing_enhanced(expected + length, token, payload, 256, 1, 2);
  length += listing_simple(expected + length, token, payload, 50000);
  assert_heard(gateway, 0, expected, length);
}

TEST(a_write_taken_in_small_pieces) { many_small_writes(0); }

TEST(a_write_taken_in_small_pieces_in_partial_write_mode) {
  many_small_writes(SSL_MODE_ENABLE_PARTIAL_WRITE);
}

/* The real thing: a full socket, and a reader that starts only when it is full. */
TEST(a_full_nonblocking_socket) {
  const gateway_step_t script[] = {AWAIT(1), TAKE_ALL, END};
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.receive_buffer = 2048}, SCRIPTS(script));
  host_t host = host_connect(gateway, 2048);
  set_nonblocking(&host);
  hurdle_t hurdle = {.told = gateway};
  BIO_METHOD *method = put_hurdle(&host, &hurdle);
  assert_true(sendPayloadLimited(host.ssl, token, payload, 65535, 65535));
  assert_true(hurdle.refusals > 0);
  host_close(&host);
  BIO_meth_free(method);
  owned(bytes) expected = malloc(70000);
  size_t length = listing_simple(expected, token, payload, 65535);
  assert_heard(gateway, 0, expected, length);
}

/* The gateway wants an answer before it continues. */
static void check_interrupted(int version, const gateway_step_t *script, size_t step,
                              bool nonblocking) {
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.tls_version = version}, SCRIPTS(script));
  host_t host = host_connect(gateway, 0);
  if (nonblocking) set_nonblocking(&host);
  uint8_t expected[1024];
  size_t length = 0;
  for (size_t number = 0; number < 3; number++) {
    assert_true(sendPayload(host.ssl, token, payload, 100 + number));
    length += listing_simple(expected + length, token, payload, 100 + number);
    if (number == 0) {
      gateway_await_step(gateway, 0, step);
      /* The host reads now and then, as the listings never did: this is where OpenSSL reads the
         gateway's request. */
      set_nonblocking(&host);
      char none;
      assert_true(SSL_read(host.ssl, &none, 1) <= 0);
      if (!nonblocking)
        fcntl(host.descriptor, F_SETFL, fcntl(host.descriptor, F_GETFL) & ~O_NONBLOCK);
    }
  }
  host_close(&host);
  assert_heard(gateway, 0, expected, length);
}

TEST(a_key_update_asked_for) {
  const gateway_step_t script[] = {TAKE_FRAMES(1), KEY_UPDATE, TAKE_ALL, END};
  check_interrupted(TLS1_3_VERSION, script, 2, false);
  check_interrupted(TLS1_3_VERSION, script, 2, true);
}

TEST(a_renegotiation_asked_for) {
  const gateway_step_t script[] = {TAKE_FRAMES(1), RENEGOTIATE, TAKE_ALL, END};
  check_interrupted(TLS1_2_VERSION, script, 2, false);
  check_interrupted(TLS1_2_VERSION, script, 2, true);
}

/* The gateway answers only once sendPayload() has looked for its answer in vain. */
TEST(a_renegotiation_that_has_to_be_waited_for) {
  const gateway_step_t script[] = {TAKE_FRAMES(1), RENEGOTIATE, AWAIT(1), TAKE_ALL, END};
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.tls_version = TLS1_2_VERSION}, SCRIPTS(script));
  host_t host = host_connect(gateway, 0);
  set_nonblocking(&host);
  hurdle_t hurdle = {0};
  BIO_METHOD *method = put_hurdle(&host, &hurdle);
  uint8_t expected[1024];
  size_t length = listing_simple(expected, token, payload, 100);
  assert_true(sendPayload(host.ssl, token, payload, 100));
  gateway_await_step(gateway, 0, 2);
  char none;
  assert_true(SSL_read(host.ssl, &none, 1) <= 0);
  hurdle.told_of_reading = gateway;
  assert_true(sendPayload(host.ssl, token, payload, 200));
  length += listing_simple(expected + length, token, payload, 200);
  assert_true(hurdle.vain_reads > 0);
  host_close(&host);
  BIO_meth_free(method);
  assert_heard(gateway, 0, expected, length);
}

/* ---- Errors ------------------------------------------------------------- */

TEST(old_errors_make_no_difference) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  host_t host = host_connect(gateway, 0);
  set_nonblocking(&host);
  hurdle_t hurdle = {.most = 40};
  BIO_METHOD *method = put_hurdle(&host, &hurdle);
  ERR_put_error(ERR_LIB_SSL, 0, SSL_R_SSL_HANDSHAKE_FAILURE, __FILE__, __LINE__);
  ERR_put_error(ERR_LIB_SSL, 0, SSL_R_BAD_SIGNATURE, __FILE__, __LINE__);
  assert_true(sendPayload(host.ssl, token, payload, 200));
  assert_int_equal(ERR_peek_error(), 0);
  assert_true(hurdle.refusals > 0);
  hurdle.most = 0;
  host_close(&host);
  BIO_meth_free(method);
  assert_int_equal(gateway_heard(gateway, 0)->frame_count, 1);
}

TEST(no_errors_are_left_behind) {
  const gateway_step_t script[] = {CLOSE_RST};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  host_t host = host_connect(gateway, 0);
  gateway_heard(gateway, 0);
  signal(SIGPIPE, SIG_IGN);
  while (sendPayload(host.ssl, token, payload, 200)) {
  }
  assert_int_equal(ERR_peek_error(), 0);
  assert_false(sendPayload(host.ssl, token, payload, 200));
  assert_int_equal(ERR_peek_error(), 0);
  signal(SIGPIPE, SIG_DFL);
  host_close(&host);
}

TEST(after_shutdown_it_is_false) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(record_all));
  host_t host = host_connect(gateway, 0);
  SSL_shutdown(host.ssl);
  assert_false(sendPayload(host.ssl, token, payload, 200));
  assert_int_equal(ERR_peek_error(), 0);
  host_close(&host);
}

/* ---- SIGPIPE ------------------------------------------------------------ */

/* Each of these runs in a separate child, with the default disposition. */

static int sends_to_nobody(void *argument) {
  host_t host = host_connect(argument, 0);
  for (int count = 0; count < 100000; count++)
    if (!sendPayload(host.ssl, token, payload, 200)) {
      CHILD_REQUIRE(!sendPayload(host.ssl, token, payload, 200));
      CHILD_REQUIRE(!sendPayloadEnhanced(host.ssl, token, payload, 200, 1, 1));
      sigset_t mask, pending;
      sigprocmask(SIG_BLOCK, NULL, &mask);
      CHILD_REQUIRE(!sigismember(&mask, SIGPIPE));
      sigpending(&pending);
      CHILD_REQUIRE(!sigismember(&pending, SIGPIPE));
      return host_drop(&host);
    }
  return 2;
}

/* Sends until it fails, and then some more: the first failure after a reset is ECONNRESET, and only
   later ones are EPIPE with its signal. */
static bool sends_until_false(const host_t *host) {
  for (int count = 0; sendPayload(host->ssl, token, payload, 200); count++)
    if (count == 100000) return false;
  for (int count = 0; count < 3; count++)
    if (sendPayload(host->ssl, token, payload, 200)) return false;
  return true;
}

static int sends_with_the_signal_blocked(void *argument) {
  host_t host = host_connect(argument, 0);
  sigset_t pipe_and_usr1, before, after, pending;
  sigemptyset(&pipe_and_usr1);
  sigaddset(&pipe_and_usr1, SIGPIPE);
  sigaddset(&pipe_and_usr1, SIGUSR1);
  sigprocmask(SIG_BLOCK, &pipe_and_usr1, NULL);
  sigprocmask(SIG_BLOCK, NULL, &before);
  CHILD_REQUIRE(sends_until_false(&host));
  sigprocmask(SIG_BLOCK, NULL, &after);
  for (int number = 1; number < 65; number++)
    CHILD_REQUIRE(sigismember(&before, number) == sigismember(&after, number));
  CHILD_REQUIRE(sigismember(&after, SIGPIPE));
  /* It would kill the host when it unblocks. */
  sigpending(&pending);
  CHILD_REQUIRE(!sigismember(&pending, SIGPIPE));
  /* So it would have been without the library's care. */
  CHILD_REQUIRE(write(host.descriptor, token, 1) < 0 && errno == EPIPE);
  sigpending(&pending);
  CHILD_REQUIRE(sigismember(&pending, SIGPIPE));
  signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_UNBLOCK, &pipe_and_usr1, NULL);
  return host_drop(&host);
}

static int sends_with_the_signal_pending(void *argument) {
  host_t host = host_connect(argument, 0);
  sigset_t pipe_only, mask, pending;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  sigprocmask(SIG_BLOCK, &pipe_only, NULL);
  pthread_kill(pthread_self(), SIGPIPE);
  CHILD_REQUIRE(sends_until_false(&host));
  sigpending(&pending);
  CHILD_REQUIRE(sigismember(&pending, SIGPIPE));
  sigprocmask(SIG_BLOCK, NULL, &mask);
  CHILD_REQUIRE(sigismember(&mask, SIGPIPE));
  return host_drop(&host);
}

static volatile sig_atomic_t handled;
static void handle(int number) { handled = number; }

static int sends_with_a_handler(void *argument) {
  host_t host = host_connect(argument, 0);
  struct sigaction action = {.sa_handler = handle}, after;
  sigaction(SIGPIPE, &action, NULL);
  CHILD_REQUIRE(sends_until_false(&host));
  CHILD_REQUIRE(handled == 0);
  sigaction(SIGPIPE, NULL, &after);
  CHILD_REQUIRE(after.sa_handler == handle);
  raise(SIGPIPE);
  CHILD_REQUIRE(handled == SIGPIPE);
  return host_drop(&host);
}

static void check_nobody_there(int (*body)(void *), const gateway_step_t *script) {
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  assert_child_is_fine(body, gateway);
}

static const gateway_step_t resets[] = {TAKE_FRAMES(2), CLOSE_RST};
static const gateway_step_t closes[] = {TAKE_FRAMES(2), CLOSE_UNREAD};

TEST(a_peer_that_is_gone_is_false_and_no_signal) {
  check_nobody_there(sends_to_nobody, resets);
  check_nobody_there(sends_to_nobody, closes);
}

TEST(a_blocked_signal_stays_blocked_and_not_pending) {
  check_nobody_there(sends_with_the_signal_blocked, resets);
  check_nobody_there(sends_with_the_signal_blocked, closes);
}

TEST(a_pending_signal_stays_pending) {
  check_nobody_there(sends_with_the_signal_pending, resets);
  check_nobody_there(sends_with_the_signal_pending, closes);
}

TEST(a_handler_is_not_called) {
  check_nobody_there(sends_with_a_handler, resets);
  check_nobody_there(sends_with_a_handler, closes);
}

/* A call that succeeds leaves a signal alone that came from elsewhere meanwhile. */
static int sends_while_a_signal_is_pending(void *argument) {
  host_t host = host_connect(argument, 0);
  sigset_t pipe_only, pending;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  sigprocmask(SIG_BLOCK, &pipe_only, NULL);
  pthread_kill(pthread_self(), SIGPIPE);
  CHILD_REQUIRE(sendPayload(host.ssl, token, payload, 200));
  sigpending(&pending);
  CHILD_REQUIRE(sigismember(&pending, SIGPIPE));
  host_close(&host);
  return 0;
}

TEST(a_successful_call_leaves_signals_alone) {
  check_nobody_there(sends_while_a_signal_is_pending, record_all);
}

void before_all(void) {
  identities_make();
  for (size_t index = 0; index < sizeof payload; index++) payload[index] = (char)(index * 31);
  for (size_t index = 0; index < sizeof token; index++) token[index] = (char)(200 + index);
}
