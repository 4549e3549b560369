/* The application's part of the page about sendPayload(): its own connection, tokens, and a sum.
   `push_to_all` is the page's. HOST PORT CERTIFICATE CA COUNT BAD */
#include <netdb.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

size_t push_to_all(SSL *ssl, char (*tokens)[32], size_t count, char *payload);

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
  if (getaddrinfo(argv[1], argv[2], &hints, &list)) return 2;
  int sock = socket(list->ai_family, list->ai_socktype, list->ai_protocol);
  if (sock < 0 || connect(sock, list->ai_addr, list->ai_addrlen)) return 2;
  freeaddrinfo(list);
  SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
  if (SSL_CTX_load_verify_locations(ctx, argv[4], NULL) != 1 ||
      SSL_CTX_use_certificate_file(ctx, argv[3], SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_use_PrivateKey_file(ctx, argv[3], SSL_FILETYPE_PEM) != 1)
    return 2;
  SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
  SSL *ssl = SSL_new(ctx);
  SSL_set_fd(ssl, sock);
  if (SSL_connect(ssl) != 1) return 2;

  size_t count = (size_t)atoi(argv[5]), bad = (size_t)atoi(argv[6]);
  char(*tokens)[32] = calloc(count, sizeof *tokens);
  for (size_t i = 0; i < count; i++) {
    tokens[i][0] = (char)(i + 1 == bad ? 0xff : 0);
    tokens[i][30] = (char)(i >> 8), tokens[i][31] = (char)i;
  }
  char payload[] = "{\"aps\":{\"alert\":\"Hello\"}}";
  printf("sent: %zu\n", push_to_all(ssl, tokens, count, payload));
  free(tokens);
  SSL_shutdown(ssl);
  char rest[64];
  while (SSL_read(ssl, rest, sizeof rest) > 0) continue;
  SSL_free(ssl);
  SSL_CTX_free(ctx);
  close(sock);
  return 0;
}
