#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../bare.h"
#include "floor.h"

#define FRAME_HEADER 9

static uint8_t *put32(uint8_t *at, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) *at++ = (uint8_t)(value >> shift);
  return at;
}

static uint8_t *put_header(uint8_t *at, size_t length, uint8_t type, uint8_t flags,
                           uint32_t stream) {
  put32(at, (uint32_t)length << 8 | type);
  at[4] = flags;
  return put32(at + 5, stream);
}

#define FIELD(name, value) \
  { (uint8_t *)(name), (uint8_t *)(value), strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE }

floor_frames_t floor_http2(const list_t *list, const char *authority, const char *topic) {
  floor_frames_t frames = floor_make_room(list);
  nghttp2_hd_deflater *encoder;
  uint8_t *at = frames.bytes;
  floor_must(nghttp2_hd_deflate_new(&encoder, NGHTTP2_DEFAULT_HEADER_TABLE_SIZE) == 0, "HPACK");
  for (size_t i = 0; i < list->count; i++) {
    const apns_notification_t *push = &list->notifications[i];
    const uint32_t stream = (uint32_t)(2 * i + 1);
    char path[16 + sizeof list->hex[i]];
    snprintf(path, sizeof path, "/3/device/%.*s", (int)sizeof list->hex[i], list->hex[i]);
    const nghttp2_nv fields[] = {FIELD(":method", "POST"),   FIELD(":scheme", "https"),
                                 FIELD(":path", path),       FIELD(":authority", authority),
                                 FIELD("apns-topic", topic), FIELD("apns-push-type", "alert")};
    const ssize_t length =
        nghttp2_hd_deflate_hd(encoder, at + FRAME_HEADER, FLOOR_ROOM - 2 * FRAME_HEADER, fields,
                              sizeof fields / sizeof *fields);
    floor_must(length > 0, "HPACK");
    at = put_header(at, (size_t)length, NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream) + length;
    at = put_header(at, push->payload_length, NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream);
    memcpy(at, push->payload, push->payload_length);
    at += push->payload_length;
    frames.ends[i] = (size_t)(at - frames.bytes);
  }
  nghttp2_hd_deflate_del(encoder);
  return frames;
}

SSL *floor_connect(const char *provider_file, uint16_t port) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  floor_must(SSL_CTX_use_certificate_chain_file(context, provider_file) == 1 &&
                 SSL_CTX_use_PrivateKey_file(context, provider_file, SSL_FILETYPE_PEM) == 1 &&
                 SSL_CTX_set_alpn_protos(context, (const uint8_t *)"\x02h2", 3) == 0,
             "context");
  SSL_CTX_set_read_ahead(context, 1);
  SSL *ssl = bare_connect(context, port);
  SSL_CTX_free(context);
  return ssl;
}

/* What the peer told. */
typedef struct peer {
  size_t responses, streams, credit;
  uint8_t bytes[2 * FLOOR_RECORD];
  size_t count;
} peer_t;

static uint32_t u32(const uint8_t *at) {
  return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void learn_settings(SSL *ssl, peer_t *peer, const uint8_t *at, const uint8_t *end) {
  static const uint8_t acknowledgement[] = {0, 0, 0, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0,
                                            0, 0, 0};
  for (; at < end; at += 6)
    if (at[1] == NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS) peer->streams = u32(at + 2);
  floor_must(SSL_write(ssl, acknowledgement, sizeof acknowledgement) > 0, "SSL_write");
}

/* Reads once what has gathered, because each wake-up costs more than a response; every response is
 * one frame of type HEADERS. */
static void read_frames(SSL *ssl, peer_t *peer) {
  if (!SSL_has_pending(ssl)) nanosleep(&(struct timespec){.tv_nsec = 300 * 1000}, NULL);
  const int got = SSL_read(ssl, peer->bytes + peer->count, (int)(sizeof peer->bytes - peer->count));
  if (got <= 0) {
    floor_must(SSL_get_error(ssl, got) == SSL_ERROR_WANT_READ, "SSL_read");
    return;
  }
  const uint8_t *at = peer->bytes, *end = at + peer->count + (size_t)got;
  while ((size_t)(end - at) >= FRAME_HEADER) {
    const uint8_t *next = at + FRAME_HEADER + (u32(at) >> 8), flags = at[4];
    if (next > end) break;
    if (at[3] == NGHTTP2_HEADERS) {
      floor_must(flags & NGHTTP2_FLAG_END_STREAM, "a response with a body");
      peer->responses++;
    } else if (at[3] == NGHTTP2_WINDOW_UPDATE) {
      peer->credit += u32(at + FRAME_HEADER);
    } else if (at[3] == NGHTTP2_SETTINGS && !(flags & NGHTTP2_FLAG_ACK)) {
      learn_settings(ssl, peer, at + FRAME_HEADER, next);
    } else {
      floor_must(at[3] == NGHTTP2_SETTINGS, "an unexpected frame");
    }
    at = next;
  }
  peer->count = (size_t)(end - at);
  memmove(peer->bytes, at, peer->count);
}

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

void floor_send_http2(SSL *ssl, const floor_frames_t *frames) {
  static const char preface[] = NGHTTP2_CLIENT_MAGIC "\0\0\0\x04\0\0\0\0";
  peer_t peer = {.credit = NGHTTP2_INITIAL_CONNECTION_WINDOW_SIZE};
  size_t written = 0;
  floor_must(SSL_write(ssl, preface, sizeof preface) == sizeof preface, "SSL_write");
  while (peer.responses < frames->count) {
    const size_t may =
        least(frames->count, least(peer.responses + peer.streams, peer.credit / frames->payload));
    const size_t end = may ? frames->ends[may - 1] : 0;
    /* Only full records, and the last. */
    if (end >= written + FLOOR_RECORD || (may == frames->count && end > written)) {
      floor_write_record(ssl, frames, &written, end);
    } else {
      read_frames(ssl, &peer);
    }
  }
}
