/* A provider that pasted Apple's sendPayload(): its calls reach a session, and only the
   functions that connect and disconnect have changed. */
#include <apns/sendpayload.h>
#include <openssl/err.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pushing.h"

/* ---- The pasted provider ---------------------------------------------------- */

typedef struct {
  SSL *ssl;
  apns_session_t *session; /* was: SSL_CTX *ctx; int sock; */
} SSL_Connection;

/* Changed: makes a session instead of a socket. */
static SSL_Connection ssl_connect(const apns_session_options_t *options) {
  SSL_Connection sslcon = {NULL, NULL};
  owned(credentials) credentials = provider_credentials();
  assert_ok(apns_session_new(options, credentials, &sslcon.session, &error));
  sslcon.ssl = apns_session_ssl(sslcon.session);
  return sslcon;
}

/* Changed: instead of SSL_shutdown(), close() and SSL_free(). */
static void ssl_disconnect(SSL_Connection *sslcon) {
  assert_ok(apns_session_drain(sslcon->session, AMPLE_MS, NULL, &error));
  apns_session_free(sslcon->session);
}

/* As it was pasted. */
static int push_all(SSL_Connection *sslcon, size_t from, size_t to) {
  int failed = 0;
  for (size_t n = from; n < to; n++) {
    char deviceTokenBinary[DEVICE_BINARY_SIZE], payloadBuff[MAXPAYLOAD_SIZE];
    size_t payloadLength = notification(n)->payload_length;
    memcpy(deviceTokenBinary, notification(n)->token, sizeof deviceTokenBinary);
    memcpy(payloadBuff, notification(n)->payload, payloadLength);
    if (!sendPayload(sslcon->ssl, deviceTokenBinary, payloadBuff, payloadLength)) failed++;
  }
  return failed;
}

/* ---- What comes of it ---------------------------------------------------------- */

TEST(its_notifications_go_by_http2) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = push_options(service);
  options.outcomes = APNS_OUTCOMES_FAILURES;
  SSL_Connection sslcon = ssl_connect(&options);
  assert_non_null(sslcon.ssl);
  assert_int_equal(push_all(&sslcon, 0, 300), 0);
  assert_int_equal(stats_of(sslcon.session).taken, 300);
  ssl_disconnect(&sslcon);
  service_stop(service);
  assert_int_equal(service_count(service), 300);
  assert_int_equal(service_connections(service), 1);
  for (size_t n = 0; n < 300; n++) {
    const service_push_t *push = service_push(service, n);
    assert_int_equal(number_of(push), n);
    assert_string_equal(push->topic, "com.example.chess");
    assert_string_equal(push->expiration, "");
    assert_int_equal(push->payload_length, notification(n)->payload_length);
    assert_memory_equal(push->payload, notification(n)->payload, push->payload_length);
  }
}

/* Apple's sample checks nothing, and its devices show what they can of such a payload. */
TEST(its_payloads_are_not_checked) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = push_options(service);
  options.checks = 0;
  SSL_Connection sslcon = ssl_connect(&options);
  char token[DEVICE_BINARY_SIZE] = "x", payload[] = "{\"aps\":{\"alert\":\"a\",\"badge\":\"3\"}}";
  assert_true(sendPayload(sslcon.ssl, token, payload, sizeof payload - 1));
  assert_true(sendPayloadEnhanced(sslcon.ssl, token, payload, sizeof payload - 1, 7, 1245345321));
  ssl_disconnect(&sslcon);
  service_stop(service);
  assert_int_equal(service_count(service), 2);
}

TEST(the_enhanced_ones_come_back_by_their_identifier) {
  owned(service) service =
      service_replying(.status = 400, .body = "{\"reason\":\"BadDeviceToken\"}");
  apns_session_options_t options = push_options(service);
  SSL_Connection sslcon = ssl_connect(&options);
  char token[DEVICE_BINARY_SIZE] = {1}, payload[2048];
  memset(payload, 'x', sizeof payload);
  assert_true(sendPayloadEnhanced(sslcon.ssl, token, payload, 256, 0xC0FFEE, 2000000000));
  assert_false(sendPayloadEnhanced(sslcon.ssl, token, payload, 257, 1, 2000000000));
  assert_true(sendPayloadEnhancedLimited(sslcon.ssl, token, payload, 2048, 0, 0, 2048));
  drain(sslcon.session);
  for (size_t n = 0; n < 2; n++) {
    apns_event_t event = one_event(sslcon.session);
    assert_int_equal(event.kind, APNS_EVENT_REJECTED);
    assert_int_equal(event.reject, APNS_REJECT_INVALID_TOKEN);
    assert_int_equal((uintptr_t)event.user_data, n ? 0 : 0xC0FFEE);
  }
  ssl_disconnect(&sslcon);
  service_stop(service);
  assert_int_equal(service_count(service), 2);
  assert_string_equal(service_push(service, 0)->expiration, "2000000000");
  assert_string_equal(service_push(service, 1)->expiration, "0");
  assert_int_equal(service_push(service, 1)->payload_length, 2048);
}

/* A legacy provider takes no outcomes, for months. */
TEST(outcomes_nobody_takes_are_no_end) {
  owned(service) service =
      service_replying(.status = 400, .body = "{\"reason\":\"BadDeviceToken\"}");
  apns_session_options_t options = push_options(service);
  options.window_bytes = 32768;
  tuning_of(&options)->payload_max = 256;
  SSL_Connection sslcon = ssl_connect(&options);
  const size_t count = as_many_as(3000, 600);
  for (size_t n = 0; n < count; n += 20) {
    assert_int_equal(push_all(&sslcon, n, n + 20), 0);
    drain(sslcon.session);
  }
  assert_counts(sslcon.session, count, 0, count, 0, 0);
  assert_in_range(stats_of(sslcon.session).events, 1, 200);
  ssl_disconnect(&sslcon);
  service_stop(service);
  assert_int_equal(service_count(service), count);
}

TEST(its_notifications_go_by_the_binary_interface) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_for(gateway);
  SSL_Connection sslcon = ssl_connect(&options);
  assert_int_equal(push_all(&sslcon, 0, 50), 0);
  ssl_disconnect(&sslcon);
  const gateway_record_t *heard = gateway_heard(gateway, 0);
  assert_int_equal(notifications_in(heard), 50);
  for (size_t n = 0; n < 50; n++) assert_carries(heard, n, n);
}

/* ---- What else a host does with an SSL -------------------------------------------- */

TEST(openssl_itself_fails_on_it) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = push_options(service);
  SSL_Connection sslcon = ssl_connect(&options);
  SSL *ssl = sslcon.ssl;
  char buffer[64] = "nothing of this may be sent";
  assert_ptr_equal(apns_session_ssl(sslcon.session), ssl);
  for (int round = 0; round < 2; round++) {
    assert_in_range(-SSL_write(ssl, buffer, sizeof buffer), 0, 1);
    assert_in_range(-SSL_read(ssl, buffer, sizeof buffer), 0, 1);
    assert_in_range(-SSL_peek(ssl, buffer, sizeof buffer), 0, 1);
    assert_int_equal(SSL_pending(ssl), 0);
    assert_int_equal(SSL_get_fd(ssl), -1);
    assert_in_range(-SSL_shutdown(ssl), 0, 1);
    assert_null(SSL_get_peer_certificate(ssl));
    assert_non_null(SSL_get_SSL_CTX(ssl));
    /* Handshake: there is no peer. */
    assert_in_range(-SSL_connect(ssl), 0, 1);
    assert_int_not_equal(SSL_get_error(ssl, -1), SSL_ERROR_WANT_READ);
    ERR_clear_error();
  }
  /* The session is unaffected by all this. */
  assert_int_equal(push_all(&sslcon, 0, 3), 0);
  ssl_disconnect(&sslcon);
  service_stop(service);
  assert_int_equal(service_count(service), 3);
}

/* With a socket of the host's it is an SSL like any other, and not the session's. */
TEST(an_ssl_with_a_socket_is_the_hosts) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = push_options(service);
  SSL_Connection sslcon = ssl_connect(&options);
  int pair[2];
  assert_int_equal(pipe(pair), 0);
  SSL_set_fd(sslcon.ssl, pair[1]);
  assert_int_equal(push_all(&sslcon, 0, 1), 1);
  assert_int_equal(stats_of(sslcon.session).taken, 0);
  ssl_disconnect(&sslcon);
  close(pair[0]), close(pair[1]);
}

static int pushes_by_the_parents(void *argument) {
  SSL_Connection *sslcon = argument;
  CHILD_REQUIRE(push_all(sslcon, 10, 13) == 3);
  CHILD_REQUIRE(!apns_session_ssl(sslcon->session));
  apns_session_free(sslcon->session);
  return 0;
}

TEST(a_child_cannot_push_by_it) {
  skip_unless_pages_are_wiped_on_fork();
  owned(service) service = service_start(NULL);
  apns_session_options_t options = push_options(service);
  SSL_Connection sslcon = ssl_connect(&options);
  assert_int_equal(push_all(&sslcon, 0, 5), 0);
  assert_child_is_fine(pushes_by_the_parents, &sslcon);
  assert_int_equal(push_all(&sslcon, 5, 10), 0);
  ssl_disconnect(&sslcon);
  service_stop(service);
  assert_int_equal(service_count(service), 10);
  assert_int_equal(service_connections(service), 1);
}

TEST(a_closed_session_takes_nothing) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = push_options(service);
  SSL_Connection sslcon = ssl_connect(&options);
  assert_null(apns_session_ssl(NULL));
  assert_ok(apns_session_close(sslcon.session, AMPLE_MS, &error));
  assert_int_equal(push_all(&sslcon, 0, 2), 2);
  assert_null(apns_session_ssl(sslcon.session));
  apns_session_free(sslcon.session);
}

TEST(nobody_to_connect_to_is_false) {
  owned(service) service = service_start(NULL);
  apns_session_options_t options = push_options(service);
  service_stop(service);
  SSL_Connection sslcon = ssl_connect(&options);
  assert_int_equal(push_all(&sslcon, 0, 1), 1);
  assert_int_equal(stats_of(sslcon.session).taken, 0);
  ssl_disconnect(&sslcon);
}
