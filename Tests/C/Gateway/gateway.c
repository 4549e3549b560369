#include "gateway.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "loopback.h"

/* Long enough for a slow machine under valgrind; a test that waits it out has failed. */
enum { PATIENCE_SECONDS = 240 };

typedef struct connection {
  gateway_t *gateway;
  const gateway_step_t *script;
  gateway_record_t record;
  pthread_t thread;
  int descriptor;
  SSL *ssl;
  size_t step;   /* where in the script it is */
  size_t parsed; /* bytes of the record known to be whole frames */
  bool is_over;
} connection_t;

struct gateway {
  SSL_CTX *context;
  const gateway_step_t *const *scripts;
  size_t script_count;
  int listener;
  int receive_buffer;
  int stop; /* an eventfd that wakes every wait */
  uint16_t port;
  pthread_t thread;
  pthread_mutex_t lock; /* all below, and the connections' records until they are over */
  pthread_cond_t change;
  connection_t **connections;
  size_t count;
  size_t signals;
  bool is_stopping;
};

static const gateway_step_t otherwise[] = {JUDGE, END};

static void fail(const char *what, size_t index) {
  fprintf(stderr, "gateway: waited too long: %s, connection %zu\n", what, index);
  abort();
}

/* ---- Frames ------------------------------------------------------------- */

static size_t be16(const uint8_t *bytes) { return (size_t)bytes[0] << 8 | bytes[1]; }
static uint32_t be32(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static void judge(gateway_frame_t *frame, const uint8_t *token, size_t length) {
  frame->is_sentinel = length == 0;
  frame->is_bad = length >= 2 && token[length - 2] == 0xFF && token[length - 1] == 0xFF;
  frame->is_deadly = length >= 2 && token[length - 2] == 0xFE && token[length - 1] == 0xFE;
}

/* The first frame of the bytes; false if it is not whole. */
static bool next_frame(const uint8_t *bytes, size_t length, gateway_frame_t *frame) {
  if (length < 5) return false;
  frame->command = bytes[0];
  frame->identifier = 0;
  frame->is_sentinel = true;
  frame->is_bad = frame->is_deadly = false;
  if (bytes[0] == 2) {
    size_t end = 5 + (size_t)be32(bytes + 1);
    if (length < end) return false;
    frame->length = end;
    for (size_t at = 5; at + 3 <= end;) {
      size_t size = be16(bytes + at + 1);
      if (at + 3 + size > end) break;
      if (bytes[at] == 1) judge(frame, bytes + at + 3, size);
      if (bytes[at] == 3 && size == 4) frame->identifier = be32(bytes + at + 3);
      at += 3 + size;
    }
    return true;
  }
  size_t head = bytes[0] == 1 ? 9 : 1;
  if (length < head + 2) return false;
  size_t token = be16(bytes + head);
  if (length < head + 2 + token + 2) return false;
  size_t payload = be16(bytes + head + 2 + token);
  frame->length = head + 2 + token + 2 + payload;
  judge(frame, bytes + head + 2, token);
  if (bytes[0] == 1) frame->identifier = be32(bytes + 1);
  return length >= frame->length;
}

static void parse(gateway_record_t *record, size_t *parsed) {
  gateway_frame_t frame = {.start = *parsed};
  while (next_frame(record->bytes + *parsed, record->length - *parsed, &frame)) {
    /* Room doubles at every power of two. */
    size_t count = record->frame_count;
    if ((count & (count - 1)) == 0)
      record->frames = realloc(record->frames, (count ? count * 2 : 1) * sizeof frame);
    frame.start = *parsed;
    record->frames[record->frame_count++] = frame;
    *parsed += frame.length;
  }
}

gateway_frame_t *gateway_frames(const uint8_t *bytes, size_t length, size_t *count_out) {
  gateway_record_t record = {.bytes = (uint8_t *)bytes, .length = length};
  size_t parsed = 0;
  parse(&record, &parsed);
  *count_out = record.frame_count;
  return record.frames;
}

/* ---- Waiting ------------------------------------------------------------ */

/* False when the gateway stops. */
static bool wait_for(connection_t *connection, short events) {
  struct pollfd entries[2] = {{connection->descriptor, events, 0},
                              {connection->gateway->stop, POLLIN, 0}};
  while (poll(entries, 2, -1) < 0 && errno == EINTR) {
  }
  return !(entries[1].revents & POLLIN);
}

/* After a call on the SSL: true to try again. */
static bool again(connection_t *connection, int result) {
  switch (SSL_get_error(connection->ssl, result)) {
    case SSL_ERROR_WANT_READ:
      return wait_for(connection, POLLIN);
    case SSL_ERROR_WANT_WRITE:
      return wait_for(connection, POLLOUT);
    default:
      return false;
  }
}

static void announce(gateway_t *gateway) { pthread_cond_broadcast(&gateway->change); }

/* Waits, with the lock held, until `connection` exists and `reached` says so. */
static connection_t *await(gateway_t *gateway, size_t index, const char *what,
                           bool (*reached)(const connection_t *, size_t), size_t argument) {
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += PATIENCE_SECONDS;
  while (index >= gateway->count || !reached(gateway->connections[index], argument))
    if (pthread_cond_timedwait(&gateway->change, &gateway->lock, &limit)) fail(what, index);
  return gateway->connections[index];
}

static bool is_over(const connection_t *connection, size_t unused) {
  (void)unused;
  return connection->is_over;
}
static bool has_frames(const connection_t *connection, size_t count) {
  return connection->record.frame_count >= count;
}
static bool is_at_step(const connection_t *connection, size_t step) {
  return connection->step >= step || connection->is_over;
}

const gateway_record_t *gateway_heard(gateway_t *gateway, size_t index) {
  pthread_mutex_lock(&gateway->lock);
  connection_t *connection = await(gateway, index, "the connection's end", is_over, 0);
  pthread_mutex_unlock(&gateway->lock);
  return &connection->record;
}

void gateway_await_frames(gateway_t *gateway, size_t index, size_t count) {
  pthread_mutex_lock(&gateway->lock);
  await(gateway, index, "frames", has_frames, count);
  pthread_mutex_unlock(&gateway->lock);
}

void gateway_await_step(gateway_t *gateway, size_t index, size_t step) {
  pthread_mutex_lock(&gateway->lock);
  await(gateway, index, "a step", is_at_step, step);
  pthread_mutex_unlock(&gateway->lock);
}

void gateway_signal(gateway_t *gateway) {
  pthread_mutex_lock(&gateway->lock);
  gateway->signals++;
  announce(gateway);
  pthread_mutex_unlock(&gateway->lock);
}

void gateway_accept_no_more(gateway_t *gateway) { shutdown(gateway->listener, SHUT_RD); }

size_t gateway_connections(gateway_t *gateway) {
  pthread_mutex_lock(&gateway->lock);
  size_t count = gateway->count;
  pthread_mutex_unlock(&gateway->lock);
  return count;
}

uint16_t gateway_port(const gateway_t *gateway) { return gateway->port; }

/* ---- Hearing and saying ------------------------------------------------- */

static void record_ending(connection_t *connection, int result) {
  int code = errno;
  gateway_record_t *record = &connection->record;
  if (record->ending != ENDING_NONE) return;
  switch (SSL_get_error(connection->ssl, result)) {
    case SSL_ERROR_ZERO_RETURN:
      record->ending = ENDING_NOTIFY;
      break;
    case SSL_ERROR_SYSCALL:
      record->ending = code ? ENDING_RESET : ENDING_FIN;
      break;
    case SSL_ERROR_SSL:
      record->ending = ENDING_FIN;
      record->refused_renegotiation =
          ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_NO_RENEGOTIATION;
      break;
    default:
      break;
  }
}

/* Records what comes next; false when the provider has ended or the gateway stops. */
static bool hear(connection_t *connection) {
  uint8_t buffer[16384];
  while (true) {
    ERR_clear_error();
    errno = 0;
    int count = SSL_read(connection->ssl, buffer, sizeof buffer);
    if (count > 0) {
      gateway_record_t *record = &connection->record;
      pthread_mutex_lock(&connection->gateway->lock);
      record->bytes = realloc(record->bytes, record->length + (size_t)count);
      memcpy(record->bytes + record->length, buffer, (size_t)count);
      record->length += (size_t)count;
      parse(record, &connection->parsed);
      announce(connection->gateway);
      pthread_mutex_unlock(&connection->gateway->lock);
      return true;
    }
    int code = errno;
    if (again(connection, count)) continue;
    errno = code;
    record_ending(connection, count);
    return false;
  }
}

static bool say(connection_t *connection, const uint8_t *bytes, size_t length, bool piecemeal) {
  size_t piece = piecemeal ? 1 : 16384;
  while (length > 0) {
    int size = (int)(length < piece ? length : piece);
    ERR_clear_error();
    int count = SSL_write(connection->ssl, bytes, size);
    if (count > 0) {
      bytes += count;
      length -= (size_t)count;
    } else if (!again(connection, count)) {
      return false;
    }
  }
  return true;
}

static bool name(connection_t *connection, uint8_t status, uint32_t identifier, bool piecemeal) {
  const uint8_t packet[6] = {8,
                             status,
                             (uint8_t)(identifier >> 24),
                             (uint8_t)(identifier >> 16),
                             (uint8_t)(identifier >> 8),
                             (uint8_t)identifier};
  return say(connection, packet, sizeof packet, piecemeal);
}

static bool handshake_again(connection_t *connection) {
  while (true) {
    ERR_clear_error();
    int result = SSL_do_handshake(connection->ssl);
    if (result == 1) return true;
    if (!again(connection, result)) return false;
  }
}

/* Discards later bytes, so that closing does not become a reset. */
static void discard(connection_t *connection) {
  uint8_t buffer[16384];
  while (wait_for(connection, POLLIN)) {
    ssize_t count = recv(connection->descriptor, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count == 0) return;
    if (count < 0 && errno != EAGAIN && errno != EINTR) return;
  }
}

static bool has_sentinel(const connection_t *connection, size_t from) {
  for (; from < connection->record.frame_count; from++)
    if (connection->record.frames[from].is_sentinel) return true;
  return false;
}

static void reset(connection_t *connection) {
  const struct linger at_once = {.l_onoff = 1, .l_linger = 0};
  setsockopt(connection->descriptor, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static void stall(connection_t *connection) {
  /* POLLIN would also report bytes that must not be read. */
  wait_for(connection, POLLRDHUP);
}

/* ---- The script --------------------------------------------------------- */

typedef enum { GO_ON, OVER } verdict_t;

static bool shake_hands(connection_t *connection);

static SSL *new_ssl(connection_t *connection) {
  SSL *ssl = SSL_new(connection->gateway->context);
  SSL_set_fd(ssl, connection->descriptor);
  SSL_set_app_data(ssl, connection);
  return ssl;
}

/* From the end of our first flight on there is nothing more to be read. */
static void stop_reading(const SSL *ssl, int where, int value) {
  (void)value;
  if (where != SSL_CB_ACCEPT_LOOP || SSL_get_state(ssl) != TLS_ST_SW_SRVR_DONE) return;
  BIO *nothing = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(nothing, -1);
  SSL_set0_rbio((SSL *)ssl, nothing);
}

static verdict_t perform(connection_t *connection, const gateway_step_t *step) {
  gateway_t *gateway = connection->gateway;
  gateway_record_t *record = &connection->record;
  size_t bytes = record->length, frames = record->frame_count;
  bool fine = true;
  switch (step->kind) {
    case STEP_NO_HANDSHAKE:
      break;
    case STEP_SHAKE_HANDS:
      fine = shake_hands(connection);
      break;
    case STEP_TAKE_RAW:
      for (size_t left = step->count; fine && left > 0;) {
        uint8_t buffer[4096];
        fine = wait_for(connection, POLLIN);
        ssize_t count = !fine ? 0
                              : recv(connection->descriptor, buffer,
                                     left < sizeof buffer ? left : sizeof buffer, MSG_DONTWAIT);
        if (count > 0) left -= (size_t)count;
        if (count == 0 || (count < 0 && errno != EAGAIN)) fine = false;
      }
      break;
    case STEP_TAKE_BYTES:
      while (fine && record->length < bytes + step->count) fine = hear(connection);
      break;
    case STEP_TAKE_FRAMES:
      while (fine && record->frame_count < frames + step->count) fine = hear(connection);
      break;
    case STEP_TAKE_SENTINEL:
      for (size_t seen = 0; fine && !has_sentinel(connection, seen);) {
        seen = record->frame_count;
        fine = hear(connection);
      }
      break;
    case STEP_TAKE_ALL:
      while (hear(connection)) {
      }
      break;
    case STEP_JUDGE:
      while (fine) {
        if (record->accepted == record->frame_count) {
          fine = hear(connection);
          continue;
        }
        const gateway_frame_t *frame = &record->frames[record->accepted];
        if (frame->is_deadly) break;
        if (frame->is_sentinel || frame->is_bad) {
          fine = name(connection, frame->is_bad ? 8 : 2, frame->identifier, false);
          break;
        }
        record->accepted++;
      }
      break;
    case STEP_SAY:
      fine = say(connection, step->bytes, step->count, step->piecemeal);
      break;
    case STEP_SAY_RAW:
      fine = send(connection->descriptor, step->bytes, step->count, MSG_NOSIGNAL) > 0;
      break;
    case STEP_NAME:
      fine = name(connection, step->status, step->identifier, step->piecemeal);
      break;
    case STEP_NAME_NTH:
      fine = step->count < frames && name(connection, step->status,
                                          record->frames[step->count].identifier, step->piecemeal);
      break;
    case STEP_NAME_LAST:
      fine = frames > 0 &&
             name(connection, step->status, record->frames[frames - 1].identifier, step->piecemeal);
      break;
    case STEP_KEY_UPDATE:
      fine = SSL_key_update(connection->ssl, SSL_KEY_UPDATE_REQUESTED) == 1 &&
             handshake_again(connection);
      break;
    case STEP_RENEGOTIATE:
      fine = SSL_renegotiate(connection->ssl) == 1 && handshake_again(connection);
      break;
    case STEP_FLOOD:
      while (fine)
        fine = SSL_key_update(connection->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1 &&
               handshake_again(connection);
      reset(connection);
      return OVER;
    case STEP_CUT_HANDSHAKE:
      connection->ssl = new_ssl(connection);
      /* Until the provider's first flight is answered; its last is not read, however soon it
         comes. */
      SSL_set_info_callback(connection->ssl, stop_reading);
      while (SSL_accept(connection->ssl) <= 0 &&
             BIO_number_written(SSL_get_wbio(connection->ssl)) == 0 &&
             wait_for(connection, POLLIN)) {
      }
      wait_for(connection, POLLIN);
      reset(connection);
      return OVER;
    case STEP_AWAIT:
      pthread_mutex_lock(&gateway->lock);
      while (gateway->signals < step->count && !gateway->is_stopping)
        pthread_cond_wait(&gateway->change, &gateway->lock);
      fine = !gateway->is_stopping;
      pthread_mutex_unlock(&gateway->lock);
      break;
    case STEP_STALL:
      stall(connection);
      return OVER;
    case STEP_END:
    case STEP_CLOSE_NOTIFY:
      if (connection->ssl && SSL_is_init_finished(connection->ssl)) {
        ERR_clear_error();
        SSL_shutdown(connection->ssl);
        shutdown(connection->descriptor, SHUT_WR);
        while (hear(connection)) {
        }
      } else {
        shutdown(connection->descriptor, SHUT_WR);
      }
      discard(connection);
      return OVER;
    case STEP_CLOSE_FIN:
      shutdown(connection->descriptor, SHUT_WR);
      if (connection->ssl && SSL_is_init_finished(connection->ssl))
        while (hear(connection)) {
        }
      discard(connection);
      return OVER;
    case STEP_CLOSE_RST:
      reset(connection);
      return OVER;
    case STEP_CLOSE_UNREAD:
      return OVER;
  }
  return fine ? GO_ON : OVER;
}

static bool shake_hands(connection_t *connection) {
  connection->ssl = new_ssl(connection);
  while (true) {
    ERR_clear_error();
    int result = SSL_accept(connection->ssl);
    if (result == 1) break;
    if (again(connection, result)) continue;
    connection->record.ending = ENDING_HANDSHAKE;
    /* The alert with the reason has to arrive. */
    shutdown(connection->descriptor, SHUT_WR);
    discard(connection);
    return false;
  }
  gateway_record_t *record = &connection->record;
  record->tls_version = SSL_version(connection->ssl);
  record->was_resumed = SSL_session_reused(connection->ssl);
  const char *server_name = SSL_get_servername(connection->ssl, TLSEXT_NAMETYPE_host_name);
  record->server_name = server_name ? strdup(server_name) : NULL;
  X509 *certificate = SSL_get_peer_certificate(connection->ssl);
  record->showed_certificate = certificate != NULL;
  if (certificate)
    X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, record->provider,
                              sizeof record->provider);
  X509_free(certificate);
  /* A server's own view leaves the certificate itself out. */
  record->chain_length = SSL_get_peer_cert_chain(connection->ssl)
                             ? (size_t)sk_X509_num(SSL_get_peer_cert_chain(connection->ssl)) + 1
                             : record->showed_certificate;
  return true;
}

static void *run(void *argument) {
  connection_t *connection = argument;
  gateway_t *gateway = connection->gateway;
  const gateway_step_t *step = connection->script;
  if (step->kind == STEP_NO_HANDSHAKE || shake_hands(connection)) {
    while (perform(connection, step) == GO_ON) {
      step++;
      pthread_mutex_lock(&gateway->lock);
      connection->step++;
      announce(gateway);
      pthread_mutex_unlock(&gateway->lock);
    }
  }
  SSL_free(connection->ssl);
  connection->ssl = NULL;
  close(connection->descriptor);
  pthread_mutex_lock(&gateway->lock);
  connection->is_over = true;
  announce(gateway);
  pthread_mutex_unlock(&gateway->lock);
  return NULL;
}

static void *accept_all(void *argument) {
  gateway_t *gateway = argument;
  struct pollfd entries[2] = {{gateway->listener, POLLIN, 0}, {gateway->stop, POLLIN, 0}};
  while (true) {
    if (poll(entries, 2, -1) < 0) continue;
    if (entries[1].revents) return NULL;
    int descriptor = accept4(gateway->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0 && errno == EINVAL) return NULL;
    if (descriptor < 0) continue;
    int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection_t *connection = calloc(1, sizeof *connection);
    connection->gateway = gateway;
    connection->descriptor = descriptor;
    pthread_mutex_lock(&gateway->lock);
    size_t index = gateway->count;
    connection->script = index < gateway->script_count ? gateway->scripts[index] : otherwise;
    if ((index & (index - 1)) == 0)
      gateway->connections =
          realloc(gateway->connections, (index ? index * 2 : 1) * sizeof connection);
    gateway->connections[gateway->count++] = connection;
    pthread_create(&connection->thread, NULL, run, connection);
    announce(gateway);
    pthread_mutex_unlock(&gateway->lock);
  }
}

/* ---- Starting and stopping ---------------------------------------------- */

/* Notes whether a session is offered: by a ticket, a key (TLS 1.3), or a number. TLS 1.3 sends
   numbers that mean nothing. */
static int look_at_hello(SSL *ssl, int *alert, void *unused) {
  (void)alert, (void)unused;
  connection_t *connection = SSL_get_app_data(ssl);
  const unsigned char *bytes;
  size_t length = 0;
  bool was_offered = SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_psk, &bytes, &length) == 1;
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_session_ticket, &bytes, &length) == 1)
    was_offered |= length > 0;
  if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_supported_versions, &bytes, &length) != 1)
    was_offered |= SSL_client_hello_get0_session_id(ssl, &bytes) > 0;
  connection->record.was_offered = was_offered;
  return SSL_CLIENT_HELLO_SUCCESS;
}

/* Fails if the gateway makes a ticket for a resumed connection. */
static int make_ticket(SSL *ssl, void *unused) {
  (void)unused;
  return !SSL_session_reused(ssl);
}
static SSL_TICKET_RETURN take_ticket(SSL *ssl, SSL_SESSION *session, const unsigned char *name,
                                     size_t length, SSL_TICKET_STATUS status, void *unused) {
  (void)ssl, (void)session, (void)name, (void)length, (void)unused;
  return status == SSL_TICKET_SUCCESS || status == SSL_TICKET_SUCCESS_RENEW
             ? SSL_TICKET_RETURN_USE_RENEW
             : SSL_TICKET_RETURN_IGNORE_RENEW;
}

static SSL_CTX *make_context(const gateway_options_t *options) {
  const identities_t *identities = identities_make();
  const identity_t *identity = options->identity ? options->identity : &identities->gateway;
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_min_proto_version(context, options->tls_version);
  SSL_CTX_set_max_proto_version(context, options->tls_version);
  SSL_CTX_set_num_tickets(context, options->tickets);
  if (!options->tickets) SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_session_cache_mode(
      context, options->keeps_sessions ? SSL_SESS_CACHE_SERVER : SSL_SESS_CACHE_OFF);
  if (!options->no_session_context)
    SSL_CTX_set_session_id_context(context, (const unsigned char *)"gateway", 7);
  SSL_CTX_set_client_hello_cb(context, look_at_hello, NULL);
  if (options->regrets_resumption)
    SSL_CTX_set_session_ticket_cb(context, make_ticket, take_ticket, NULL);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  /* Weak keys are for the provider to refuse. */
  SSL_CTX_set_security_level(context, 1);
  SSL_CTX_use_certificate(context, identity->certificate);
  if (identity->intermediate) SSL_CTX_add1_chain_cert(context, identity->intermediate);
  SSL_CTX_use_PrivateKey(context, identity->key);
  /* The gateway may see a provider's certificate without requesting more. */
  if (options->wants_certificate) {
    SSL_CTX_load_verify_locations(context, identities->root.certificate_file, NULL);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
  }
  return context;
}

gateway_t *gateway_start(const gateway_options_t *given, const gateway_step_t *const *scripts) {
  gateway_options_t options = {0};
  if (given) options = *given;
  gateway_t *gateway = calloc(1, sizeof *gateway);
  gateway->listener = loopback_listen(options.on_ipv6, options.receive_buffer, &gateway->port);
  if (gateway->listener < 0) {
    perror("gateway: no port to listen on");
    free(gateway);
    return NULL;
  }
  gateway->context = make_context(&options);
  gateway->scripts = scripts;
  while (scripts && scripts[gateway->script_count]) gateway->script_count++;
  gateway->stop = eventfd(0, EFD_CLOEXEC);
  pthread_mutex_init(&gateway->lock, NULL);
  pthread_cond_init(&gateway->change, NULL);
  /* A write to a provider that is gone must not end the test: the threads made
     here inherit the mask, the test's own thread keeps its mask. */
  sigset_t pipe_only, before;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  pthread_create(&gateway->thread, NULL, accept_all, gateway);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return gateway;
}

void gateway_stop(gateway_t *gateway) {
  if (!gateway) return;
  pthread_mutex_lock(&gateway->lock);
  gateway->is_stopping = true;
  announce(gateway);
  pthread_mutex_unlock(&gateway->lock);
  eventfd_write(gateway->stop, 1);
  pthread_join(gateway->thread, NULL);
  for (size_t index = 0; index < gateway->count; index++) {
    connection_t *connection = gateway->connections[index];
    pthread_join(connection->thread, NULL);
    free(connection->record.bytes);
    free(connection->record.frames);
    free(connection->record.server_name);
    free(connection);
  }
  free(gateway->connections);
  close(gateway->listener);
  close(gateway->stop);
  SSL_CTX_free(gateway->context);
  pthread_mutex_destroy(&gateway->lock);
  pthread_cond_destroy(&gateway->change);
  free(gateway);
}
