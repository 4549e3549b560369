#include "bench_service.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MUST(condition)                                                              \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "%s:%d: bench service: %s\n", __FILE__, __LINE__, #condition); \
      _exit(1);                                                                      \
    }                                                                                \
  } while (0)

#define RECORD (16 << 10)
#define CLIENTS_MAX 200

/* A stream whose response is delayed, and until when. */
typedef struct held {
  int32_t stream;
  uint64_t due_ms, arrived_ns;
} held_t;

typedef struct client {
  int descriptor;
  SSL *ssl;
  nghttp2_session *http; /* NULL during the handshake */
  held_t *held;
  uint32_t held_count, held_room;
  uint32_t used;    /* bytes of the window without credit given back */
  uint8_t *out;     /* frames not yet written */
  size_t out_count; /* bytes in `out` */
  bool is_over;
} client_t;

static bench_service_options_t options;
static volatile bench_counts_t *counts;
static client_t clients[CLIENTS_MAX];
static int client_count;
static int devices = -1;
static uint8_t *seen; /* a bit for each number of a device */

void bench_pin(int processor) {
  cpu_set_t set;
  if (processor < 0 || processor >= (int)sysconf(_SC_NPROCESSORS_ONLN)) return;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  sched_setaffinity(0, sizeof set, &set);
}

int bench_listen(const char *given, uint16_t *port_out) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  MUST(!given || inet_pton(AF_INET, given, &address.sin_addr) == 1);
  MUST(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 &&
       listen(listener, 128) == 0 &&
       getsockname(listener, (struct sockaddr *)&address, &size) == 0);
  *port_out = ntohs(address.sin_port);
  return listener;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t now_ms(void) { return now_ns() / 1000000; }

/* ---- Requests ----------------------------------------------------------------- */

/* What a stream keeps of its request. */
typedef struct request {
  char device[256], apns_id[40];
} request_t;

static bool is(const char *text, const uint8_t *name, size_t length) {
  return length == strlen(text) && !memcmp(name, text, length);
}

/* The last 12 digits of a token in hex. */
static uint64_t number_of(const char *device) {
  const size_t length = strlen(device);
  MUST(length >= 12);
  return strtoull(device + length - 12, NULL, 16);
}

static int on_header(nghttp2_session *http, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t length, uint8_t flags,
                     void *context) {
  static const char start[] = "/3/device/";
  request_t *request = nghttp2_session_get_stream_user_data(http, frame->hd.stream_id);
  (void)flags, (void)context;
  if (!request) {
    request = calloc(1, sizeof *request);
    MUST(request && !nghttp2_session_set_stream_user_data(http, frame->hd.stream_id, request));
  }
  if (is(":path", name, name_length)) {
    MUST(length >= sizeof start && !memcmp(value, start, sizeof start - 1));
    snprintf(request->device, sizeof request->device, "%.*s", (int)(length + 1 - sizeof start),
             value + sizeof start - 1);
  } else if (is("apns-id", name, name_length)) {
    snprintf(request->apns_id, sizeof request->apns_id, "%.*s", (int)length, value);
  }
  return 0;
}

static void write_device(nghttp2_session *http, int32_t stream, uint64_t arrived_ns) {
  request_t *request = nghttp2_session_get_stream_user_data(http, stream);
  MUST(request);
  if (options.times) {
    MUST(dprintf(devices, "%s %llu %llu\n", request->device, (unsigned long long)arrived_ns,
                 (unsigned long long)now_ns()) > 0);
  } else {
    MUST(dprintf(devices, "%s\n", request->device) > 0);
  }
}

static void count_device(nghttp2_session *http, int32_t stream) {
  const request_t *request = nghttp2_session_get_stream_user_data(http, stream);
  MUST(request);
  const uint64_t number = number_of(request->device);
  MUST(number < options.numbers);
  uint8_t *byte = &seen[number / 8];
  const uint8_t bit = (uint8_t)(1 << number % 8);
  if (*byte & bit) return;
  *byte |= bit;
  counts->devices++;
  counts->sum += number;
}

static int on_frame(nghttp2_session *http, const nghttp2_frame *frame, void *context) {
  client_t *client = context;
  if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) return 0;
  if (!(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
  if (client->held_count == client->held_room) {
    client->held_room = client->held_room ? 2 * client->held_room : 1024;
    client->held = realloc(client->held, client->held_room * sizeof *client->held);
    MUST(client->held);
  }
  client->held[client->held_count++] =
      (held_t){.stream = frame->hd.stream_id,
               .due_ms = options.delay_ms ? now_ms() + options.delay_ms : 0,
               .arrived_ns = options.times ? now_ns() : 0};
  counts->requests++;
  if (options.numbers) count_device(http, frame->hd.stream_id);
  if (options.devices && !options.times) write_device(http, frame->hd.stream_id, 0);
  return 0;
}

static int on_data(nghttp2_session *http, uint8_t flags, int32_t stream, const uint8_t *bytes,
                   size_t length, void *context) {
  client_t *client = context;
  (void)http, (void)flags, (void)stream, (void)bytes;
  client->used += (uint32_t)length;
  return 0;
}

#define FIELD(name, value) \
  { (uint8_t *)(name), (uint8_t *)(value), strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE }

static ssize_t read_body(nghttp2_session *http, int32_t stream, uint8_t *bytes, size_t capacity,
                         uint32_t *flags, nghttp2_data_source *source, void *context) {
  static const char body[] = "{\"reason\":\"Unregistered\",\"timestamp\":1700000000000}";
  (void)http, (void)stream, (void)capacity, (void)source, (void)context;
  memcpy(bytes, body, sizeof body - 1);
  *flags |= NGHTTP2_DATA_FLAG_EOF;
  return sizeof body - 1;
}

static void answer(client_t *client, int32_t stream) {
  /* Like APNs, the request's ID, or a different one each time. */
  static uint64_t number;
  request_t *request = nghttp2_session_get_stream_user_data(client->http, stream);
  char id[40];
  snprintf(id, sizeof id, "5e2a60c0-0000-4000-8000-%012llx", (unsigned long long)number++);
  if (request && *request->apns_id) strcpy(id, request->apns_id);
  free(request);
  nghttp2_session_set_stream_user_data(client->http, stream, NULL);
  const nghttp2_nv fields[] = {FIELD(":status", options.refuses ? "410" : "200"),
                               FIELD("apns-id", id)};
  const nghttp2_data_provider body = {.read_callback = read_body};
  MUST(nghttp2_submit_response(client->http, stream, fields, 2, options.refuses ? &body : NULL) ==
       0);
}

/* ---- Writing ------------------------------------------------------------------- */

static bool has_written(client_t *client) {
  while (client->out_count) {
    ERR_clear_error();
    int got = SSL_write(client->ssl, client->out, (int)client->out_count);
    if (got <= 0) {
      int error = SSL_get_error(client->ssl, got);
      client->is_over = error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
      return false;
    }
    counts->records_out++;
    memmove(client->out, client->out + got, client->out_count - (size_t)got);
    client->out_count -= (size_t)got;
  }
  return true;
}

/* Writes as many frames as fit a record, but at least one. */
static void write_frames(client_t *client) {
  while (has_written(client)) {
    for (;;) {
      const uint8_t *bytes;
      ssize_t count = nghttp2_session_mem_send(client->http, &bytes);
      MUST(count >= 0);
      if (!count) break;
      MUST(client->out_count + (size_t)count <= 4 * RECORD);
      memcpy(client->out + client->out_count, bytes, (size_t)count);
      client->out_count += (size_t)count;
      if (options.trickles || client->out_count >= RECORD - 128) break;
    }
    if (!client->out_count) return;
  }
}

static void give_credit(client_t *client) {
  if (client->used < options.credit * options.window || !client->used) return;
  nghttp2_submit_window_update(client->http, NGHTTP2_FLAG_NONE, 0, (int32_t)client->used);
  client->used = 0;
}

/* They are sorted by due time. */
static void answer_held(client_t *client) {
  uint64_t now = options.delay_ms ? now_ms() : 0;
  uint32_t count = 0;
  while (count < client->held_count && client->held[count].due_ms <= now) {
    const held_t *held = &client->held[count++];
    if (options.times) write_device(client->http, held->stream, held->arrived_ns);
    answer(client, held->stream);
  }
  client->held_count -= count;
  memmove(client->held, client->held + count, client->held_count * sizeof *client->held);
}

/* ---- Connections ----------------------------------------------------------------- */

static void begin_http2(client_t *client) {
  nghttp2_session_callbacks *callbacks;
  nghttp2_option *option;
  MUST(nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
  if (options.devices || options.numbers)
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
  nghttp2_option_set_no_auto_window_update(option, 1);
  MUST(nghttp2_session_server_new2(&client->http, callbacks, client, option) == 0);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(option);
  const nghttp2_settings_entry entries[] = {
      {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, options.streams}};
  MUST(nghttp2_submit_settings(client->http, NGHTTP2_FLAG_NONE, entries, 1) == 0);
  if (options.window > NGHTTP2_INITIAL_CONNECTION_WINDOW_SIZE)
    MUST(nghttp2_session_set_local_window_size(client->http, NGHTTP2_FLAG_NONE, 0,
                                               (int32_t)options.window) == 0);
}

static void serve(client_t *client) {
  static uint8_t buffer[RECORD];
  ERR_clear_error();
  if (!client->http) {
    int result = SSL_do_handshake(client->ssl);
    if (result != 1) {
      int error = SSL_get_error(client->ssl, result);
      client->is_over = error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
      return;
    }
    begin_http2(client);
  }
  for (;;) {
    ERR_clear_error();
    int got = SSL_read(client->ssl, buffer, sizeof buffer);
    if (got <= 0) {
      int error = SSL_get_error(client->ssl, got);
      client->is_over = error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
      break;
    }
    if (nghttp2_session_mem_recv(client->http, buffer, (size_t)got) != got) client->is_over = true;
    if (client->is_over) break;
    give_credit(client);
    if (options.delay_ms || client->held_count < options.batch) continue;
    answer_held(client);
    write_frames(client);
    if (client->is_over) break;
  }
  if (!client->is_over) write_frames(client);
}

static void end_client(int index) {
  client_t *client = &clients[index];
  counts->wire_in += BIO_number_read(SSL_get_rbio(client->ssl));
  counts->wire_out += BIO_number_written(SSL_get_wbio(client->ssl));
  nghttp2_session_del(client->http);
  client->http = NULL;
  SSL_free(client->ssl);
  close(client->descriptor);
  free(client->held);
  free(client->out);
  *client = clients[--client_count];
  if (client->http) nghttp2_session_set_user_data(client->http, client);
  counts->connections++;
}

static int choose_http2(SSL *ssl, const unsigned char **out, unsigned char *length,
                        const unsigned char *offered, unsigned count, void *argument) {
  (void)ssl, (void)argument;
  return nghttp2_select_next_protocol((unsigned char **)out, length, offered, count) == 1
             ? SSL_TLSEXT_ERR_OK
             : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void accept_client(int listener, SSL_CTX *context) {
  int descriptor = accept4(listener, NULL, NULL, SOCK_NONBLOCK), on = 1;
  if (descriptor < 0) return;
  MUST(client_count < CLIENTS_MAX);
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  client_t *client = &clients[client_count];
  *client = (client_t){.descriptor = descriptor};
  client->ssl = SSL_new(context);
  client->out = malloc(4 * RECORD);
  MUST(client->ssl && client->out && SSL_set_fd(client->ssl, descriptor) == 1);
  SSL_set_accept_state(client->ssl);
  client_count++;
}

static void serve_all(int listener, SSL_CTX *context) {
  for (;;) {
    struct pollfd watched[1 + CLIENTS_MAX] = {{.fd = listener, .events = POLLIN}};
    bool holds = false;
    for (int index = 0; index < client_count; index++) {
      watched[1 + index].fd = clients[index].descriptor;
      watched[1 + index].events = (short)(POLLIN | (clients[index].out_count ? POLLOUT : 0));
      holds = holds || clients[index].held_count;
    }
    int count = client_count;
    /* When no more requests come, the batch is complete. */
    int ready = poll(watched, (nfds_t)(1 + count), holds ? 1 : -1);
    for (int index = 0; index < count; index++) {
      if (watched[1 + index].revents) {
        serve(&clients[index]);
      }
      if (clients[index].is_over || !clients[index].http) continue;
      if ((!ready || options.delay_ms) && clients[index].held_count) {
        answer_held(&clients[index]);
        write_frames(&clients[index]);
      }
    }
    for (int index = count - 1; index >= 0; index--)
      if (clients[index].is_over) end_client(index);
    if (watched[0].revents) accept_client(listener, context);
  }
}

static int any_certificate(int is_fine, X509_STORE_CTX *store) {
  (void)is_fine, (void)store;
  return 1;
}

bench_service_t bench_service_start(const identities_t *identities,
                                    const bench_service_options_t *given) {
  bench_service_t service = {0};
  int listener = bench_listen(given->address, &service.port);
  service.counts =
      mmap(NULL, sizeof *service.counts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  MUST(service.counts != MAP_FAILED);
  service.process = fork();
  if (service.process) {
    close(listener);
    return service;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  options = *given;
  counts = service.counts;
  bench_pin(options.processor);
  if (options.devices) {
    devices = open(options.devices, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    MUST(devices >= 0);
  }
  if (options.numbers) MUST(seen = calloc(options.numbers / 8 + 1, 1));
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_use_certificate(context, identities->gateway.certificate);
  SSL_CTX_use_PrivateKey(context, identities->gateway.key);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_alpn_select_cb(context, choose_http2, NULL);
  if (options.asks_for_certificate) SSL_CTX_set_verify(context, SSL_VERIFY_PEER, any_certificate);
  fcntl(listener, F_SETFL, O_NONBLOCK);
  serve_all(listener, context);
  _exit(0);
}

void bench_service_stop(bench_service_t *service) {
  kill(service->process, SIGKILL);
  waitpid(service->process, NULL, 0);
  munmap((void *)service->counts, sizeof *service->counts);
}
