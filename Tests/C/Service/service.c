#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../Gateway/identity.h"
#include "../Gateway/loopback.h"

#define REQUIRE(condition)                                                     \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: service: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                                 \
    }                                                                          \
  } while (0)

typedef struct stream {
  service_push_t push;
  const char *body; /* of the answer */
  size_t body_sent;
  bool is_endless;
  char fields[2048];
  char body_text[256];
  struct stream *next; /* of the connection */
  bool is_answered;
} stream_t;

typedef struct client {
  service_t *service;
  size_t number;
  int descriptor;
  SSL *ssl;
  char provider[64];
  nghttp2_session *http;
  stream_t *streams;
  size_t open;
  bool is_open, is_leaving, drops_when_written, says_goodbye, is_mute, is_ended, is_over;
  const void *last_words;
  size_t last_words_length;
  int32_t last_stream;
  /* Streams allowed: by the SETTINGS sent, in order, as many as were acknowledged. */
  uint32_t limits[256];
  size_t limits_sent, limits_known;
  int32_t used; /* of the window, with gives_credit_late */
  uint8_t *unwritten;
  size_t unwritten_count;
  struct client *next;
} client_t;

struct service {
  service_options_t options;
  SSL_CTX *context;
  int listener;
  uint16_t port;
  int wakeup[2];
  pthread_t thread;
  bool is_stopped;
  client_t *clients;
  size_t connections, most_streams, streams_too_many, pings, complaints;
  service_push_t *heard;
  size_t count, room;
};

/* ---- Requests and responses ----------------------------------------------- */

static void copy_text(char *target, size_t size, const uint8_t *value, size_t length) {
  if (length >= size) length = size - 1;
  memcpy(target, value, length);
  target[length] = 0;
}

static int on_begin_headers(nghttp2_session *http, const nghttp2_frame *frame, void *context) {
  client_t *client = context;
  if (frame->hd.type != NGHTTP2_HEADERS) return 0;
  stream_t *stream = calloc(1, sizeof *stream);
  REQUIRE(stream);
  stream->push.connection = client->number;
  memcpy(stream->push.provider, client->provider, sizeof client->provider);
  stream->push.stream = frame->hd.stream_id;
  stream->next = client->streams;
  client->streams = stream;
  if (++client->open > client->service->most_streams) client->service->most_streams = client->open;
  if (client->limits_known && client->open > client->limits[client->limits_known - 1])
    client->service->streams_too_many++;
  nghttp2_session_set_stream_user_data(http, frame->hd.stream_id, stream);
  return 0;
}

static int on_header(nghttp2_session *http, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t length, uint8_t flags,
                     void *context) {
  (void)flags, (void)context;
  stream_t *stream = nghttp2_session_get_stream_user_data(http, frame->hd.stream_id);
  if (!stream) return 0;
  service_push_t *push = &stream->push;
  const struct {
    const char *name;
    char *target;
    size_t size;
  } fields[] = {{":method", push->method, sizeof push->method},
                {":path", push->path, sizeof push->path},
                {":authority", push->authority, sizeof push->authority},
                {"apns-topic", push->topic, sizeof push->topic},
                {"apns-push-type", push->push_type, sizeof push->push_type},
                {"apns-id", push->id, sizeof push->id},
                {"apns-request-id", push->id, sizeof push->id},
                {"apns-collapse-id", push->collapse_id, sizeof push->collapse_id},
                {"apns-expiration", push->expiration, sizeof push->expiration},
                {"apns-priority", push->priority, sizeof push->priority},
                {"authorization", push->authorization, sizeof push->authorization}};
  for (size_t index = 0; index < sizeof fields / sizeof *fields; index++)
    if (name_length == strlen(fields[index].name) && !memcmp(name, fields[index].name, name_length))
      copy_text(fields[index].target, fields[index].size, value, length);
  const size_t known = strlen(stream->fields);
  snprintf(stream->fields + known, sizeof stream->fields - known, "%.*s: %.*s\n", (int)name_length,
           (const char *)name, (int)length, (const char *)value);
  return 0;
}

static bool is_to_device(const service_push_t *push) {
  return strncmp(push->path, "/3/device", 9) == 0;
}

static int on_data(nghttp2_session *http, uint8_t flags, int32_t id, const uint8_t *bytes,
                   size_t length, void *context) {
  (void)flags;
  client_t *client = context;
  client->used += (int32_t)length;
  if (client->service->options.gives_credit_late &&
      client->used == NGHTTP2_INITIAL_CONNECTION_WINDOW_SIZE) {
    REQUIRE(nghttp2_submit_window_update(http, NGHTTP2_FLAG_NONE, 0, client->used) == 0);
    client->used = 0;
  }
  stream_t *stream = nghttp2_session_get_stream_user_data(http, id);
  if (!stream) return 0;
  stream->push.payload = realloc(stream->push.payload, stream->push.payload_length + length + 1);
  REQUIRE(stream->push.payload);
  memcpy(stream->push.payload + stream->push.payload_length, bytes, length);
  stream->push.payload_length += length;
  stream->push.payload[stream->push.payload_length] = 0;
  return 0;
}

static ssize_t read_body(nghttp2_session *http, int32_t id, uint8_t *buffer, size_t size,
                         uint32_t *flags, nghttp2_data_source *source, void *context) {
  (void)http, (void)id, (void)context;
  stream_t *stream = source->ptr;
  if (stream->is_endless) {
    memset(buffer, ' ', size);
    return (ssize_t)size;
  }
  size_t left = strlen(stream->body) - stream->body_sent;
  if (left > size) left = size;
  memcpy(buffer, stream->body + stream->body_sent, left);
  stream->body_sent += left;
  if (!stream->body[stream->body_sent]) *flags |= NGHTTP2_DATA_FLAG_EOF;
  return (ssize_t)left;
}

#define FIELD(name, value) \
  { (uint8_t *)(name), (uint8_t *)(value), strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE }

static void answer(client_t *client, stream_t *stream, const service_reply_t *reply) {
  char status[8], id[64];
  snprintf(status, sizeof status, "%d", reply->status ? reply->status : 200);
  if (reply->id) {
    snprintf(id, sizeof id, "%s", reply->id);
  } else if (*stream->push.id) {
    snprintf(id, sizeof id, "%s", stream->push.id);
  } else {
    snprintf(id, sizeof id, "5e2a60c0-0000-4000-8000-%012zx", stream->push.number);
  }
  nghttp2_nv fields[5] = {FIELD(":status", status),
                          FIELD(is_to_device(&stream->push) ? "apns-id" : "apns-request-id", id)};
  size_t count = 2;
  if (reply->retry_after) fields[count++] = (nghttp2_nv)FIELD("retry-after", reply->retry_after);
  if (reply->unique_id) fields[count++] = (nghttp2_nv)FIELD("apns-unique-id", reply->unique_id);
  if (reply->channel_id) fields[count++] = (nghttp2_nv)FIELD("apns-channel-id", reply->channel_id);
  nghttp2_data_provider source = {.source.ptr = stream, .read_callback = read_body};
  if (reply->long_body) stream->body = reply->long_body;
  stream->is_endless = reply->has_endless_body;
  if (reply->body) {
    snprintf(stream->body_text, sizeof stream->body_text, "%s", reply->body);
    stream->body = stream->body_text;
  }
  const bool has_body = stream->body || stream->is_endless;
  REQUIRE(nghttp2_submit_response(client->http, stream->push.stream, fields, count,
                                  has_body ? &source : NULL) == 0);
}

static void answer_by_fields(client_t *client, stream_t *stream, const char *const *next) {
  do {
    nghttp2_nv fields[8];
    size_t count = 0;
    for (; *next; next += 2) fields[count++] = (nghttp2_nv)FIELD(next[0], next[1]);
    const uint8_t flag = next[1] ? NGHTTP2_FLAG_NONE : NGHTTP2_FLAG_END_STREAM;
    REQUIRE(nghttp2_submit_headers(client->http, flag, stream->push.stream, NULL, fields, count,
                                   NULL) == 0);
  } while (*++next);
}

static void allow_streams(client_t *client, uint32_t streams) {
  REQUIRE(client->limits_sent < sizeof client->limits / sizeof *client->limits);
  client->limits[client->limits_sent++] = streams;
}

static void say_table_size(client_t *client, uint32_t size) {
  nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, size};
  REQUIRE(nghttp2_submit_settings(client->http, NGHTTP2_FLAG_NONE, &entry, 1) == 0);
  allow_streams(client, client->limits[client->limits_sent - 1]);
}

static void judge(client_t *client, stream_t *stream) {
  service_t *service = client->service;
  if (stream->is_answered || (client->is_leaving && stream->push.stream > client->last_stream))
    return;
  stream->is_answered = true;
  if (service->count == service->room) {
    service->room = service->room ? 2 * service->room : 1024;
    service->heard = realloc(service->heard, service->room * sizeof *service->heard);
    REQUIRE(service->heard);
  }
  stream->push.number = service->count;
  service_push_t *kept = &service->heard[service->count++];
  *kept = stream->push;
  stream->push.payload = NULL;
  if (!is_to_device(kept)) REQUIRE(kept->fields = strdup(stream->fields));
  service_reply_t reply = service->options.reply;
  if (service->options.judge) reply = service->options.judge(service->options.context, kept);
  if (reply.settings) {
    nghttp2_settings_entry entry = {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, reply.settings};
    REQUIRE(nghttp2_submit_settings(client->http, NGHTTP2_FLAG_NONE, &entry, 1) == 0);
    allow_streams(client, reply.settings);
  }
  if (reply.table_size_and_one) say_table_size(client, reply.table_size_and_one - 1);
  if (reply.last_words) {
    client->last_words = reply.last_words;
    client->last_words_length = reply.last_words_length;
  }
  switch (reply.action) {
    case SERVE_ANSWER:
      if (reply.fields) {
        answer_by_fields(client, stream, reply.fields);
      } else {
        answer(client, stream, &reply);
      }
      break;
    case SERVE_SILENCE:
      break;
    case SERVE_RESET:
      nghttp2_submit_rst_stream(client->http, NGHTTP2_FLAG_NONE, stream->push.stream, reply.error);
      break;
    case SERVE_GOODBYE:
    case SERVE_GOODBYE_AND_DROP:
      answer(client, stream, &reply);
      client->is_leaving = true;
      client->last_stream = stream->push.stream;
      client->says_goodbye = true;
      client->drops_when_written = reply.action == SERVE_GOODBYE_AND_DROP;
      static const char reason[] = "{\"reason\":\"Shutdown\"}";
      nghttp2_submit_goaway(client->http, NGHTTP2_FLAG_NONE, stream->push.stream, NGHTTP2_NO_ERROR,
                            (const uint8_t *)reason, sizeof reason - 1);
      break;
    case SERVE_DROP:
      client->is_leaving = client->drops_when_written = true;
      client->last_stream = stream->push.stream;
      break;
  }
}

static int on_frame(nghttp2_session *http, const nghttp2_frame *frame, void *context) {
  client_t *client = context;
  if (frame->hd.type == NGHTTP2_SETTINGS && frame->hd.flags & NGHTTP2_FLAG_ACK)
    client->limits_known++;
  if (frame->hd.type == NGHTTP2_PING) client->service->pings++;
  if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR)
    client->service->complaints++;
  if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
  stream_t *stream = nghttp2_session_get_stream_user_data(http, frame->hd.stream_id);
  if (!stream) return 0;
  if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
    judge(client, stream);
  } else if (client->service->options.answers_early && frame->hd.type == NGHTTP2_HEADERS) {
    judge(client, stream);
  }
  return 0;
}

/* After an early response the rest of the request is not wanted. */
static int on_frame_sent(nghttp2_session *http, const nghttp2_frame *frame, void *context) {
  client_t *client = context;
  if (client->service->options.answers_early && frame->hd.type == NGHTTP2_HEADERS)
    nghttp2_submit_rst_stream(http, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
  return 0;
}

static int on_stream_close(nghttp2_session *http, int32_t id, uint32_t error, void *context) {
  (void)error;
  client_t *client = context;
  stream_t *stream = nghttp2_session_get_stream_user_data(http, id);
  for (stream_t **at = &client->streams; *at; at = &(*at)->next) {
    if (*at != stream) continue;
    *at = stream->next;
    free(stream->push.payload);
    free(stream);
    client->open--;
    break;
  }
  return 0;
}

/* ---- Connections ----------------------------------------------------------- */

static bool begin_http2(client_t *client) {
  const unsigned char *name = NULL;
  unsigned length = 0;
  SSL_get0_alpn_selected(client->ssl, &name, &length);
  if (length != 2 || memcmp(name, "h2", 2)) return false;
  nghttp2_session_callbacks *callbacks;
  REQUIRE(nghttp2_session_callbacks_new(&callbacks) == 0);
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
  const service_options_t *options = &client->service->options;
  nghttp2_option *option;
  REQUIRE(nghttp2_option_new(&option) == 0);
  nghttp2_option_set_no_auto_ping_ack(option, options->ignores_pings);
  if (options->gives_credit_late || (options->shuts_first_window && client->number == 0))
    nghttp2_option_set_no_auto_window_update(option, 1);
  REQUIRE(nghttp2_session_server_new2(&client->http, callbacks, client, option) == 0);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(option);
  const nghttp2_settings_entry entries[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options->streams ? options->streams : 1000},
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE,
       options->stream_window ? options->stream_window : 65535}};
  REQUIRE(nghttp2_submit_settings(client->http, NGHTTP2_FLAG_NONE, entries, 2) == 0);
  allow_streams(client, entries[0].value);
  if (options->table_size_and_one) say_table_size(client, options->table_size_and_one - 1);
  return true;
}

/* Adds them after all pending bytes, in the same TLS record; nothing later is sent. */
static size_t add_last_words(client_t *client, size_t room) {
  if (!client->last_words) return room;
  client->is_mute = true;
  client->unwritten = realloc(client->unwritten, room + client->last_words_length);
  REQUIRE(client->unwritten);
  memcpy(client->unwritten + room, client->last_words, client->last_words_length);
  return room + client->last_words_length;
}

/* Writes pending bytes; false if the connection is over. */
static bool write_all(client_t *client) {
  for (;;) {
    if (!client->unwritten_count) {
      const uint8_t *bytes;
      size_t room = 0;
      while (!client->is_mute) {
        ssize_t count = nghttp2_session_mem_send(client->http, &bytes);
        REQUIRE(count >= 0);
        if (!count) {
          room = add_last_words(client, room);
          break;
        }
        client->unwritten = realloc(client->unwritten, room + (size_t)count);
        REQUIRE(client->unwritten);
        memcpy(client->unwritten + room, bytes, (size_t)count);
        room += (size_t)count;
        /* A response is a HEADERS frame, and a DATA frame if it has a body. */
        if (client->service->options.trickles || room > 16000) break;
      }
      client->unwritten_count = room;
      if (!room) return true;
    }
    ERR_clear_error();
    size_t written = 0;
    if (SSL_write_ex(client->ssl, client->unwritten, client->unwritten_count, &written) != 1)
      return SSL_get_error(client->ssl, 0) == SSL_ERROR_WANT_WRITE ||
             SSL_get_error(client->ssl, 0) == SSL_ERROR_WANT_READ;
    memmove(client->unwritten, client->unwritten + written, client->unwritten_count - written);
    client->unwritten_count -= written;
  }
}

/* A socket that is closed with unread bytes resets, and the reset may overtake what was sent: the
   client sees no GOAWAY. So this reads everything that still comes and ignores it. */
static void end_gently(client_t *client) {
  char rest[16384];
  ssize_t count;
  if (!client->is_ended) shutdown(client->descriptor, SHUT_WR);
  client->is_ended = true;
  do count = recv(client->descriptor, rest, sizeof rest, MSG_DONTWAIT);
  while (count > 0 || (count < 0 && errno == EINTR));
  client->is_over = count == 0 || errno != EAGAIN;
}

static void serve(client_t *client) {
  if (client->is_ended) return end_gently(client);
  ERR_clear_error();
  if (!client->is_open) {
    int result = SSL_do_handshake(client->ssl);
    if (result != 1) {
      int error = SSL_get_error(client->ssl, result);
      client->is_over = error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
      return;
    }
    client->is_open = true;
    X509 *certificate = SSL_get_peer_certificate(client->ssl);
    if (certificate)
      X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                client->provider, sizeof client->provider);
    X509_free(certificate);
    if (!begin_http2(client)) {
      client->is_over = true;
      return;
    }
  }
  uint8_t buffer[16384];
  size_t count;
  for (;;) {
    ERR_clear_error();
    int result = SSL_read_ex(client->ssl, buffer, sizeof buffer, &count);
    if (result != 1) {
      int error = SSL_get_error(client->ssl, result);
      if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) client->is_over = true;
      break;
    }
    if (nghttp2_session_mem_recv(client->http, buffer, count) != (ssize_t)count) {
      client->is_over = true;
      break;
    }
    if (client->is_over) break;
  }
  if (client->is_over) return;
  if (!write_all(client)) client->is_over = true;
  if (client->drops_when_written && !client->unwritten_count) {
    SSL_shutdown(client->ssl);
    if (client->says_goodbye) return end_gently(client);
    client->is_over = true;
  }
}

static void end_client(client_t *client) {
  nghttp2_session_del(client->http);
  while (client->streams) {
    stream_t *stream = client->streams;
    client->streams = stream->next;
    free(stream->push.payload);
    free(stream);
  }
  SSL_free(client->ssl);
  close(client->descriptor);
  free(client->unwritten);
  free(client);
}

static void accept_client(service_t *service) {
  int descriptor = accept4(service->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (descriptor < 0) return;
  client_t *client = calloc(1, sizeof *client);
  REQUIRE(client);
  client->service = service;
  client->number = service->connections++;
  client->descriptor = descriptor;
  client->ssl = SSL_new(service->context);
  REQUIRE(client->ssl && SSL_set_fd(client->ssl, descriptor));
  SSL_set_accept_state(client->ssl);
  client->next = service->clients;
  service->clients = client;
}

static void *serve_all(void *argument) {
  service_t *service = argument;
  sigset_t pipe_only;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_only, NULL);
  for (;;) {
    struct pollfd watched[2 + 256] = {{.fd = service->wakeup[0], .events = POLLIN},
                                      {.fd = service->listener, .events = POLLIN}};
    client_t *clients[256];
    nfds_t count = 0;
    for (client_t *client = service->clients; client; client = client->next) {
      REQUIRE(count < 256);
      clients[count] = client;
      watched[2 + count].fd = client->descriptor;
      watched[2 + count].events = (short)(POLLIN | (client->unwritten_count ? POLLOUT : 0));
      count++;
    }
    if (poll(watched, 2 + count, -1) < 0) continue;
    if (watched[0].revents) break;
    for (nfds_t index = 0; index < count; index++)
      if (watched[2 + index].revents) serve(clients[index]);
    for (client_t **at = &service->clients; *at;) {
      client_t *client = *at;
      if (client->is_over) {
        *at = client->next;
        end_client(client);
      } else {
        at = &client->next;
      }
    }
    if (watched[1].revents) accept_client(service);
  }
  while (service->clients) {
    client_t *client = service->clients;
    service->clients = client->next;
    end_client(client);
  }
  return NULL;
}

/* ---- Starting and stopping --------------------------------------------------- */

static int choose_http2(SSL *ssl, const unsigned char **out, unsigned char *length,
                        const unsigned char *offered, unsigned count, void *argument) {
  (void)ssl;
  const service_t *service = argument;
  if (service->options.chooses) {
    *out = (const unsigned char *)service->options.chooses;
    *length = (unsigned char)strlen(service->options.chooses);
    return SSL_TLSEXT_ERR_OK;
  }
  return nghttp2_select_next_protocol((unsigned char **)out, length, offered, count) == 1
             ? SSL_TLSEXT_ERR_OK
             : SSL_TLSEXT_ERR_NOACK;
}

service_t *service_start(const service_options_t *options) {
  service_t *service = calloc(1, sizeof *service);
  REQUIRE(service);
  if (options) service->options = *options;
  const identity_t *identity = service->options.identity;
  if (!identity) identity = &identities_make()->gateway;
  service->context = SSL_CTX_new(TLS_server_method());
  REQUIRE(service->context);
  SSL_CTX_use_certificate(service->context, identity->certificate);
  SSL_CTX_use_PrivateKey(service->context, identity->key);
  if (service->options.wants_certificate) {
    SSL_CTX_load_verify_locations(service->context, identities_make()->root.certificate_file, NULL);
    SSL_CTX_set_verify(service->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    SSL_CTX_set_session_id_context(service->context, (const unsigned char *)"service", 7);
  }
  SSL_CTX_set_mode(service->context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (!service->options.speaks_no_http2)
    SSL_CTX_set_alpn_select_cb(service->context, choose_http2, service);
  service->listener = loopback_listen(false, 0, &service->port);
  REQUIRE(service->listener >= 0);
  REQUIRE(pipe2(service->wakeup, O_CLOEXEC) == 0);
  REQUIRE(pthread_create(&service->thread, NULL, serve_all, service) == 0);
  return service;
}

service_t *service_judging(service_judge_t judge, void *context) {
  return service_start(&(service_options_t){.judge = judge, .context = context});
}

uint16_t service_port(const service_t *service) { return service->port; }

void service_stop(service_t *service) {
  if (service->is_stopped) return;
  service->is_stopped = true;
  REQUIRE(write(service->wakeup[1], "", 1) == 1);
  pthread_join(service->thread, NULL);
  close(service->wakeup[0]), close(service->wakeup[1]);
  close(service->listener);
  SSL_CTX_free(service->context);
}

void service_free(service_t *service) {
  if (!service) return;
  service_stop(service);
  for (size_t index = 0; index < service->count; index++) {
    free(service->heard[index].payload);
    free(service->heard[index].fields);
  }
  free(service->heard);
  free(service);
}

size_t service_connections(const service_t *service) { return service->connections; }
size_t service_count(const service_t *service) { return service->count; }
size_t service_complaints(const service_t *service) { return service->complaints; }
size_t service_pings(const service_t *service) { return service->pings; }
size_t service_most_streams(const service_t *service) { return service->most_streams; }
size_t service_streams_too_many(const service_t *service) { return service->streams_too_many; }
const service_push_t *service_push(const service_t *service, size_t number) {
  return number < service->count ? &service->heard[number] : NULL;
}
