#include "sink.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint32_t u32(const uint8_t *bytes) {
  return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}
static uint32_t u16(const uint8_t *bytes) { return (uint32_t)bytes[0] << 8 | bytes[1]; }

/* The status of a token: 0, or the number that a gateway refuses it with. */
static uint8_t status_of(const uint8_t *token, size_t length) {
  if (length == 0) return 2;
  return token[length - 1] == SINK_REFUSES ? 8 : 0;
}

/* The length of the frame at `bytes`, 0 if it is incomplete; its status and identifier. */
static size_t frame_at(const uint8_t *bytes, size_t count, uint8_t *status, uint32_t *identifier) {
  size_t length, token_length;
  if (count < 5) return 0;
  if (bytes[0] == 2) {
    length = 5 + u32(bytes + 1);
    if (count < length) return 0;
    /* The contenders put the token first, then payload, then identifier. */
    token_length = u16(bytes + 6);
    *status = status_of(bytes + 8, token_length);
    size_t payload = 5 + 3 + token_length;
    *identifier = u32(bytes + payload + 3 + u16(bytes + payload + 1) + 3);
    return length;
  }
  if (bytes[0] != 1) {
    fprintf(stderr, "the sink received command %u\n", bytes[0]);
    _exit(1);
  }
  if (count < 11) return 0;
  token_length = u16(bytes + 9);
  if (count < 13 + token_length) return 0;
  *status = status_of(bytes + 11, token_length);
  length = 13 + token_length + u16(bytes + 11 + token_length);
  *identifier = u32(bytes + 1);
  return count < length ? 0 : length;
}

/* Polls without blocking: the kernel charges the writer for waking a reader and for sharing the
   socket's lock with it, in amounts that vary by chance and are not to be measured. */
static int read_some(SSL *ssl, uint8_t *buffer, size_t room) {
  const struct timespec pause = {.tv_nsec = 200 * 1000};
  int got;
  while ((got = SSL_read(ssl, buffer, (int)room)) <= 0 &&
         SSL_get_error(ssl, got) == SSL_ERROR_WANT_READ)
    nanosleep(&pause, NULL);
  return got;
}

static void serve(SSL *ssl, volatile uint64_t *frames) {
  static uint8_t buffer[1 << 18];
  size_t held = 0;
  int got;
  fcntl(SSL_get_fd(ssl), F_SETFL, O_NONBLOCK);
  while ((got = read_some(ssl, buffer + held, sizeof buffer - held)) > 0) {
    size_t start = 0, length;
    uint32_t identifier;
    uint8_t status;
    held += (size_t)got;
    while ((length = frame_at(buffer + start, held - start, &status, &identifier))) {
      start += length;
      if (status) {
        uint8_t packet[6] = {8,
                             status,
                             (uint8_t)(identifier >> 24),
                             (uint8_t)(identifier >> 16),
                             (uint8_t)(identifier >> 8),
                             (uint8_t)identifier};
        SSL_write(ssl, packet, sizeof packet);
        SSL_shutdown(ssl);
        shutdown(SSL_get_fd(ssl), SHUT_WR);
        fcntl(SSL_get_fd(ssl), F_SETFL, 0);
        while (read(SSL_get_fd(ssl), buffer, sizeof buffer) > 0) {
        }
        return;
      }
      ++*frames;
    }
    memmove(buffer, buffer + start, held - start);
    held -= start;
  }
}

static void list_devices(SSL *ssl, size_t count) {
  enum { TUPLE = 38, TUPLES = 400 };
  uint8_t record[TUPLES * TUPLE];
  for (size_t i = 0; i < TUPLES; i++) memcpy(record + i * TUPLE, "\x65\0\0\0\0\x20", 6);
  for (size_t i = 0; i < TUPLES; i++) memset(record + i * TUPLE + 6, (int)(i % 251), 32);
  for (; count >= TUPLES; count -= TUPLES)
    if (SSL_write(ssl, record, sizeof record) <= 0) return;
  SSL_shutdown(ssl);
}

/* A feedback service if `devices` is not 0. */
static sink_t start(const identities_t *identities, int version, size_t devices) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  sink_t sink = {0};
  sink.frames = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 64) ||
      getsockname(listener, (struct sockaddr *)&address, &size)) {
    perror("sink");
    exit(1);
  }
  /* Room for what arrives between two reads. */
  int room = 8 << 20;
  setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
  sink.port = ntohs(address.sin_port);
  sink.process = fork();
  if (sink.process != 0) {
    close(listener);
    return sink;
  }

  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  SSL_CTX_use_certificate(context, identities->gateway.certificate);
  SSL_CTX_use_PrivateKey(context, identities->gateway.key);
  SSL_CTX_set_min_proto_version(context, version);
  SSL_CTX_set_max_proto_version(context, version);
  static const unsigned char name[] = "sink";
  SSL_CTX_set_session_id_context(context, name, sizeof name);
  for (;;) {
    int descriptor = accept(listener, NULL, NULL);
    int on = 1;
    SSL *ssl = SSL_new(context);
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    SSL_set_fd(ssl, descriptor);
    if (SSL_accept(ssl) == 1) {
      if (devices) {
        list_devices(ssl, devices);
      } else {
        serve(ssl, sink.frames);
      }
    }
    SSL_free(ssl);
    close(descriptor);
    ERR_clear_error();
  }
}

sink_t sink_start(const identities_t *identities, int version) {
  return start(identities, version, 0);
}

sink_t sink_start_feedback(const identities_t *identities, size_t count) {
  return start(identities, TLS1_3_VERSION, count);
}

void sink_stop(sink_t *sink) {
  kill(sink->process, SIGKILL);
  waitpid(sink->process, NULL, 0);
  munmap((void *)sink->frames, 4096);
}
