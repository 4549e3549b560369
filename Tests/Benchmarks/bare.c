#include "bare.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RECORD 16384

static void fail(const char *what) {
  perror(what);
  exit(1);
}

SSL *bare_connect(SSL_CTX *context, uint16_t port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int descriptor = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  SSL *ssl = SSL_new(context);
  address.sin_port = htons(port);
  if (connect(descriptor, (struct sockaddr *)&address, sizeof address)) fail("connect");
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  SSL_set_fd(ssl, descriptor);
  /* A session ticket makes the socket readable without data: let a read return after it. */
  SSL_clear_mode(ssl, SSL_MODE_AUTO_RETRY);
  if (SSL_connect(ssl) != 1) fail("SSL_connect");
  return ssl;
}

void bare_close(SSL *ssl) {
  int descriptor = SSL_get_fd(ssl);
  SSL_shutdown(ssl);
  SSL_free(ssl);
  close(descriptor);
}

static uint8_t *put16(uint8_t *at, size_t value) {
  uint16_t order = htons((uint16_t)value);
  memcpy(at, &order, 2);
  return at + 2;
}
static uint8_t *put32(uint8_t *at, uint32_t value) {
  uint32_t order = htonl(value);
  memcpy(at, &order, 4);
  return at + 4;
}

/* Command 1, as in Apple's enhanced listing. */
static size_t enhanced(uint8_t *frame, const apns_notification_t *push, uint32_t identifier) {
  uint8_t *at = frame;
  *at++ = 1;
  at = put32(at, identifier);
  at = put32(at, 0);
  at = put16(at, push->token_length);
  memcpy(at, push->token, push->token_length);
  at = put16(at + push->token_length, push->payload_length);
  memcpy(at, push->payload, push->payload_length);
  return (size_t)(at - frame) + push->payload_length;
}

/* Command 2 with the items the library sends. */
size_t bare_frame(uint8_t *frame, const apns_notification_t *push, uint32_t identifier) {
  uint8_t *at = frame;
  *at++ = 2;
  at = put32(at, (uint32_t)(3 + push->token_length + 3 + push->payload_length + 7));
  *at++ = 1;
  at = put16(at, push->token_length);
  memcpy(at, push->token, push->token_length);
  at += push->token_length;
  *at++ = 2;
  at = put16(at, push->payload_length);
  memcpy(at, push->payload, push->payload_length);
  at += push->payload_length;
  *at++ = 3;
  at = put16(at, 4);
  at = put32(at, identifier);
  return (size_t)(at - frame);
}

static void look(SSL *ssl) {
  struct pollfd entry = {.fd = SSL_get_fd(ssl), .events = POLLIN};
  uint8_t packet[6];
  if (poll(&entry, 1, 0) > 0 && SSL_read(ssl, packet, sizeof packet) > 0) fail("an error packet");
}

void bare_end(SSL *ssl) {
  apns_notification_t sentinel = {.token = "", .payload = "{}", .payload_length = 2};
  uint8_t frame[64], packet[6];
  size_t length = bare_frame(frame, &sentinel, 0xFFFFFFFF);
  if (SSL_write(ssl, frame, (int)length) <= 0) fail("SSL_write");
  int got;
  do {
    got = SSL_read(ssl, packet, sizeof packet);
  } while (got <= 0 && SSL_get_error(ssl, got) == SSL_ERROR_WANT_READ);
  if (got != sizeof packet || packet[2] != 0xFF) fail("answer");
}

uint64_t bare_naive(SSL *ssl, const list_t *list) {
  uint8_t frame[4096];
  for (size_t i = 0; i < list->count; i++) {
    size_t length = enhanced(frame, &list->notifications[i], (uint32_t)i + 1);
    if (SSL_write(ssl, frame, (int)length) <= 0) fail("SSL_write");
  }
  bare_end(ssl);
  return list->count + 1;
}

static uint8_t digits[256]; /* 0x80: not a digit */

static void decode(const char *hex, uint8_t *token) {
  uint8_t faults = 0;
  for (size_t at = 0; at < 32; at++) {
    const uint8_t high = digits[(uint8_t)hex[2 * at]], low = digits[(uint8_t)hex[2 * at + 1]];
    faults |= high | low;
    token[at] = (uint8_t)(high << 4 | low);
  }
  if (faults & 0x80) fail("a token that is not hex");
}

static uint64_t fill_records(SSL *ssl, const list_t *list, bool from_hex) {
  static uint8_t record[RECORD];
  size_t held = 0;
  uint64_t records = 0;
  for (size_t i = 0; i < list->count; i++) {
    const apns_notification_t *push = &list->notifications[i];
    apns_notification_t decoded;
    uint8_t token[32];
    if (from_hex) {
      decode(list->hex[i], token);
      decoded = *push;
      decoded.token = token;
      push = &decoded;
    }
    if (held + 18 + push->token_length + push->payload_length > RECORD) {
      if (SSL_write(ssl, record, (int)held) <= 0) fail("SSL_write");
      look(ssl);
      records++;
      held = 0;
    }
    held += bare_frame(record + held, push, (uint32_t)i + 1);
  }
  if (SSL_write(ssl, record, (int)held) <= 0) fail("SSL_write");
  bare_end(ssl);
  return records + 2;
}

uint64_t bare_ceiling(SSL *ssl, const list_t *list) { return fill_records(ssl, list, false); }

uint64_t bare_ceiling_hex(SSL *ssl, const list_t *list) {
  memset(digits, 0x80, sizeof digits);
  for (int digit = 0; digit < 16; digit++)
    digits[(uint8_t) "0123456789abcdef"[digit]] = digits[(uint8_t) "0123456789ABCDEF"[digit]] =
        (uint8_t)digit;
  return fill_records(ssl, list, true);
}
