/*
 * A TLS server that floods below the protocol, which Python's ssl cannot. Used like peer.py:
 * `tls_peer DIRECTORY KIND [deaf]`. It counts no notifications.
 *
 *   tickets                 endless NewSessionTickets (TLS 1.3)
 *   key updates             endless KeyUpdates
 *   key updates, requested  the same, each of which must be answered
 *   empty records           empty application data records
 *   renegotiation           TLS 1.2: one handshake after another
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char *kind;
static bool is_deaf;
static SSL_CTX *context;
static atomic_ulong connections, felt;

/* Reports the first time to the provider, which may wait for it. */
static void feel(void) {
  if (felt++) return;
  puts("felt");
  fflush(stdout);
}

/* ---- Handmade TLS records (RFC 8446, 5.2 and 7.3) ------------------------------ */

struct keys {
  unsigned char secret[32], key[32], iv[32];
  unsigned long sequence;
};

static int keys_index;

static void keep_secret(const SSL *ssl, const char *line) {
  struct keys *keys = SSL_get_ex_data(ssl, keys_index);
  const char *hex = strrchr(line, ' ');
  if (!keys || !hex || strncmp(line, "SERVER_TRAFFIC_SECRET_0 ", 24)) return;
  for (size_t at = 0; at < sizeof keys->secret; at++) {
    char digits[3] = {hex[1 + 2 * at], hex[2 + 2 * at], 0};
    keys->secret[at] = (unsigned char)strtoul(digits, NULL, 16);
  }
}

/* HKDF-Expand-Label of at most one block, with an empty context. */
static void expand(const struct keys *keys, const char *label, unsigned char length,
                   unsigned char out[32]) {
  unsigned char info[64] = {0, length, (unsigned char)(6 + strlen(label))};
  size_t size = 3 + (size_t)sprintf((char *)info + 3, "tls13 %s", label);
  info[size++] = 0;
  info[size++] = 1;
  HMAC(EVP_sha256(), keys->secret, sizeof keys->secret, info, size, out, NULL);
}

static void derive(struct keys *keys) {
  expand(keys, "key", 16, keys->key);
  expand(keys, "iv", 12, keys->iv);
}

/* A record with `length` bytes of that type, at most 16 KB; its size. */
static size_t record(struct keys *keys, unsigned char type, const unsigned char *bytes,
                     size_t length, unsigned char *out) {
  unsigned char nonce[12];
  int done = 0;
  size_t size = length + 17;
  EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
  memcpy(nonce, keys->iv, sizeof nonce);
  for (int at = 0; at < 8; at++) nonce[11 - at] ^= (unsigned char)(keys->sequence >> (8 * at));
  keys->sequence++;
  memcpy(out, (unsigned char[]){0x17, 3, 3, (unsigned char)(size >> 8), (unsigned char)size}, 5);
  if (!cipher || !EVP_EncryptInit_ex(cipher, EVP_aes_128_gcm(), NULL, keys->key, nonce) ||
      !EVP_EncryptUpdate(cipher, NULL, &done, out, 5) ||
      (length && !EVP_EncryptUpdate(cipher, out + 5, &done, bytes, (int)length)) ||
      !EVP_EncryptUpdate(cipher, out + 5 + length, &done, &type, 1) ||
      !EVP_EncryptFinal_ex(cipher, out + 6 + length, &done) ||
      !EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, 16, out + 6 + length))
    abort();
  EVP_CIPHER_CTX_free(cipher);
  return 5 + size;
}

enum { HANDSHAKE = 22, APPLICATION_DATA = 23, TICKETS = 900 };

/* One record of the flood. */
static size_t unit(struct keys *keys, unsigned char *out) {
  /* NewSessionTicket: an hour, no nonce, a ticket of one byte, no extensions. */
  static const unsigned char ticket[18] = {4, 0, 0, 14, 0, 0, 14, 16, 0, 0, 0, 0, 0, 0, 1, 'x'};
  static unsigned char tickets[TICKETS * sizeof ticket];
  unsigned char update[5] = {24, 0, 0, 1, !strcmp(kind, "key updates, requested")};
  if (!strcmp(kind, "empty records")) return record(keys, APPLICATION_DATA, NULL, 0, out);
  if (!strcmp(kind, "tickets")) {
    for (size_t at = 0; at < TICKETS; at++)
      memcpy(tickets + at * sizeof ticket, ticket, sizeof ticket);
    return record(keys, HANDSHAKE, tickets, sizeof tickets, out);
  }
  size_t size = record(keys, HANDSHAKE, update, sizeof update, out);
  unsigned char next[32];
  expand(keys, "traffic upd", 32, next);
  memcpy(keys->secret, next, sizeof next);
  keys->sequence = 0;
  derive(keys);
  return size;
}

static void flood(int descriptor, struct keys *keys) {
  static const size_t room = 1 << 16;
  unsigned char *bytes = malloc(room);
  char come[16384];
  derive(keys);
  for (;;) {
    size_t length = 0, done = 0;
    while (length < room - 17000) length += unit(keys, bytes + length), feel();
    while (done < length) {
      struct pollfd both = {descriptor, (short)(is_deaf ? POLLOUT : POLLIN | POLLOUT), 0};
      poll(&both, 1, -1);
      ssize_t sent = send(descriptor, bytes + done, length - done, MSG_DONTWAIT);
      if (sent > 0) done += (size_t)sent;
      bool is_over = sent < 0 && errno != EAGAIN;
      if (both.revents & POLLIN && recv(descriptor, come, sizeof come, MSG_DONTWAIT) == 0)
        is_over = true;
      if (!is_over) continue;
      free(bytes);
      return;
    }
  }
}

/* TLS 1.2: one handshake after another. */
static void renegotiate(SSL *ssl) {
  char bytes[16384];
  while (SSL_renegotiate(ssl) && SSL_do_handshake(ssl) == 1) {
    feel();
    if (!is_deaf && SSL_read(ssl, bytes, sizeof bytes) <= 0) return;
  }
}

static void *serve(void *argument) {
  int descriptor = (int)(intptr_t)argument;
  struct keys keys = {0};
  const unsigned char *protocol = NULL;
  unsigned length = 0;
  char bytes[16384];
  SSL *ssl = SSL_new(context);
  SSL_set_ex_data(ssl, keys_index, &keys);
  SSL_set_fd(ssl, descriptor);
  if (SSL_accept(ssl) == 1) {
    SSL_get0_alpn_selected(ssl, &protocol, &length);
    /* HTTP/2's SETTINGS, in a separate record. */
    if (length) keys.sequence += SSL_write(ssl, "\0\0\0\4\0\0\0\0\0", 9) > 0;
    /* First let something be in flight. */
    if (SSL_read(ssl, bytes, sizeof bytes) > 0) {
      if (!strcmp(kind, "renegotiation")) {
        renegotiate(ssl);
      } else {
        flood(descriptor, &keys);
      }
    }
  }
  ERR_clear_error();
  SSL_free(ssl);
  close(descriptor);
  return NULL;
}

static void *listen_on(void *argument) {
  for (;;) {
    pthread_t thread;
    int descriptor = accept((int)(intptr_t)argument, NULL, NULL);
    if (descriptor < 0) return NULL;
    connections++;
    if (!pthread_create(&thread, NULL, serve, (void *)(intptr_t)descriptor)) pthread_detach(thread);
  }
}

static int choose_h2(SSL *ssl, const unsigned char **out, unsigned char *out_length,
                     const unsigned char *in, unsigned in_length, void *unused) {
  (void)ssl, (void)unused;
  return SSL_select_next_proto((unsigned char **)out, out_length, (const unsigned char *)"\2h2", 3,
                               in, in_length) == OPENSSL_NPN_NEGOTIATED
             ? SSL_TLSEXT_ERR_OK
             : SSL_TLSEXT_ERR_NOACK;
}

int main(int argc, char **argv) {
  char file[4096];
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  pthread_t thread;
  if (argc < 3) return 2;
  signal(SIGPIPE, SIG_IGN);
  kind = argv[2];
  is_deaf = argc > 3 && !strcmp(argv[3], "deaf");
  context = SSL_CTX_new(TLS_server_method());
  keys_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
  snprintf(file, sizeof file, "%s/server.pem", argv[1]);
  bool is_fine = SSL_CTX_use_certificate_chain_file(context, file) == 1;
  snprintf(file, sizeof file, "%s/server.key", argv[1]);
  is_fine = is_fine && SSL_CTX_use_PrivateKey_file(context, file, SSL_FILETYPE_PEM) == 1 &&
            SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1;
  SSL_CTX_set_alpn_select_cb(context, choose_h2, NULL);
  SSL_CTX_set_keylog_callback(context, keep_secret);
  SSL_CTX_set_num_tickets(context, 0);
  if (!strcmp(kind, "renegotiation")) SSL_CTX_set_max_proto_version(context, TLS1_2_VERSION);
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (!is_fine || bind(listener, (struct sockaddr *)&address, length) || listen(listener, 64) ||
      getsockname(listener, (struct sockaddr *)&address, &length) ||
      pthread_create(&thread, NULL, listen_on, (void *)(intptr_t)listener)) {
    ERR_print_errors_fp(stderr);
    return 1;
  }
  printf("{\"port\": %d}\n", ntohs(address.sin_port));
  fflush(stdout);
  while (getchar() != EOF) continue;
  printf(
      "{\"deliveries\": {}, \"refused\": {}, \"accepted\": [], \"connections\": %lu, \"offers\": "
      "0, \"felt\": %lu, "
      "\"notes\": {}, \"failures\": []}\n",
      connections, felt);
  fflush(stdout);
  _exit(0);
}
