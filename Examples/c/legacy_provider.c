/*
 * A provider in the style of 2009: TLS context, connect, sendPayload(), shutdown. Only
 * sendPayload() is no longer pasted: it comes from libapns.
 *
 *   cc legacy_provider.c -lapns -lnghttp2 -lcares -lssl -lcrypto
 *   legacy_provider HOST PORT CERTIFICATE CA TOKEN PAYLOAD
 */
#include <apns/sendpayload.h> /* instead of the pasted function */
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int connect_to(const char *host, const char *port) {
  struct addrinfo hints, *list, *address;
  int sock = -1;
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(host, port, &hints, &list)) return -1;
  for (address = list; address && sock < 0; address = address->ai_next) {
    sock = socket(address->ai_family, address->ai_socktype, address->ai_protocol);
    if (sock >= 0 && connect(sock, address->ai_addr, address->ai_addrlen)) {
      close(sock);
      sock = -1;
    }
  }
  freeaddrinfo(list);
  return sock;
}

int main(int argc, char **argv) {
  char token[DEVICE_BINARY_SIZE];
  int i, sock, sent;
  SSL_CTX *ctx;
  SSL *ssl;

  if (argc != 7 || strlen(argv[5]) != 2 * DEVICE_BINARY_SIZE) {
    fprintf(stderr, "usage: %s HOST PORT CERTIFICATE CA TOKEN PAYLOAD\n", argv[0]);
    return 2;
  }
  for (i = 0; i < DEVICE_BINARY_SIZE; i++) {
    unsigned byte;
    if (sscanf(argv[5] + 2 * i, "%2x", &byte) != 1) return 2;
    token[i] = (char)byte;
  }

  ctx = SSL_CTX_new(SSLv23_client_method());
  if (!SSL_CTX_load_verify_locations(ctx, argv[4], NULL) ||
      SSL_CTX_use_certificate_file(ctx, argv[3], SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_use_PrivateKey_file(ctx, argv[3], SSL_FILETYPE_PEM) != 1) {
    ERR_print_errors_fp(stderr);
    return 1;
  }
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);

  sock = connect_to(argv[1], argv[2]);
  if (sock < 0) {
    perror("connect");
    return 1;
  }
  ssl = SSL_new(ctx);
  SSL_set_fd(ssl, sock);
  if (SSL_connect(ssl) != 1) {
    ERR_print_errors_fp(stderr);
    return 1;
  }

  sent = sendPayload(ssl, token, argv[6], strlen(argv[6]));
  printf("%s\n", sent ? "sent" : "not sent");

  SSL_shutdown(ssl);
  SSL_free(ssl);
  close(sock);
  SSL_CTX_free(ctx);
  return sent ? 0 : 1;
}
