/* listing PORT CERTIFICATE FIRST COUNT: pushes to COUNT devices with Apple's unchanged listings of
   2009: the simple one, or with ENHANCED defined the enhanced one. */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define DEVICE_BINARY_SIZE 32
#define MAXPAYLOAD_SIZE 256

#ifndef ENHANCED
static bool sendPayload(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff,
                        size_t payloadLength) {
  bool rtn = false;
  if (sslPtr && deviceTokenBinary && payloadBuff && payloadLength) {
    uint8_t command = 0; /* command number */
    char binaryMessageBuff[sizeof(uint8_t) + sizeof(uint16_t) + DEVICE_BINARY_SIZE +
                           sizeof(uint16_t) + MAXPAYLOAD_SIZE];
    /* message format is, |COMMAND|TOKENLEN|TOKEN|PAYLOADLEN|PAYLOAD| */
    char *binaryMessagePt = binaryMessageBuff;
    uint16_t networkOrderTokenLength = htons(DEVICE_BINARY_SIZE);
    uint16_t networkOrderPayloadLength = htons(payloadLength);
    /* command */
    *binaryMessagePt++ = command;
    /* token length network order */
    memcpy(binaryMessagePt, &networkOrderTokenLength, sizeof(uint16_t));
    binaryMessagePt += sizeof(uint16_t);
    /* device token */
    memcpy(binaryMessagePt, deviceTokenBinary, DEVICE_BINARY_SIZE);
    binaryMessagePt += DEVICE_BINARY_SIZE;
    /* payload length network order */
    memcpy(binaryMessagePt, &networkOrderPayloadLength, sizeof(uint16_t));
    binaryMessagePt += sizeof(uint16_t);
    /* payload */
    memcpy(binaryMessagePt, payloadBuff, payloadLength);
    binaryMessagePt += payloadLength;
    if (SSL_write(sslPtr, binaryMessageBuff, (binaryMessagePt - binaryMessageBuff)) > 0) rtn = true;
  }
  return rtn;
}
#else
static bool sendPayload(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff,
                        size_t payloadLength) {
  bool rtn = false;
  if (sslPtr && deviceTokenBinary && payloadBuff && payloadLength) {
    uint8_t command = 1; /* command number */
    char binaryMessageBuff[sizeof(uint8_t) + sizeof(uint32_t) + sizeof(uint32_t) +
                           sizeof(uint16_t) + DEVICE_BINARY_SIZE + sizeof(uint16_t) +
                           MAXPAYLOAD_SIZE];
    /* message format is, |COMMAND|ID|EXPIRY|TOKENLEN|TOKEN|PAYLOADLEN|PAYLOAD| */
    char *binaryMessagePt = binaryMessageBuff;
    uint32_t whicheverOrderIWantToGetBackInAErrorResponse_ID = 1234;
    uint32_t networkOrderExpiryEpochUTC =
        htonl(time(NULL) + 86400); // expire message if not delivered in 1 day
    uint16_t networkOrderTokenLength = htons(DEVICE_BINARY_SIZE);
    uint16_t networkOrderPayloadLength = htons(payloadLength);
    /* command */
    *binaryMessagePt++ = command;
    /* provider preference ordered ID */
    memcpy(binaryMessagePt, &whicheverOrderIWantToGetBackInAErrorResponse_ID, sizeof(uint32_t));
    binaryMessagePt += sizeof(uint32_t);
    /* expiry date network order */
    memcpy(binaryMessagePt, &networkOrderExpiryEpochUTC, sizeof(uint32_t));
    binaryMessagePt += sizeof(uint32_t);
    /* token length network order */
    memcpy(binaryMessagePt, &networkOrderTokenLength, sizeof(uint16_t));
    binaryMessagePt += sizeof(uint16_t);
    /* device token */
    memcpy(binaryMessagePt, deviceTokenBinary, DEVICE_BINARY_SIZE);
    binaryMessagePt += DEVICE_BINARY_SIZE;
    /* payload length network order */
    memcpy(binaryMessagePt, &networkOrderPayloadLength, sizeof(uint16_t));
    binaryMessagePt += sizeof(uint16_t);
    /* payload */
    memcpy(binaryMessagePt, payloadBuff, payloadLength);
    binaryMessagePt += payloadLength;
    if (SSL_write(sslPtr, binaryMessageBuff, (binaryMessagePt - binaryMessageBuff)) > 0) rtn = true;
  }
  return rtn;
}
#endif

int main(int count, char **words) {
  if (count != 5) return 2;
  struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[1]))};
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  int sock = socket(AF_INET, SOCK_STREAM, 0);
  SSL *ssl = NULL;
  if (SSL_CTX_use_certificate_file(context, words[2], SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_use_PrivateKey_file(context, words[2], SSL_FILETYPE_PEM) != 1 ||
      connect(sock, (struct sockaddr *)&place, sizeof place) != 0 || !(ssl = SSL_new(context)) ||
      SSL_set_fd(ssl, sock) != 1 || SSL_connect(ssl) != 1) {
    ERR_print_errors_fp(stderr);
    return 1;
  }
  int sent = 0;
  char payload[] = "{\"aps\":{\"alert\":\"Hello\"}}";
  for (int index = 0; index < atoi(words[4]); index++) {
    char token[DEVICE_BINARY_SIZE] = {0};
    const uint32_t number = htonl((uint32_t)(atoi(words[3]) + index));
    memcpy(token + DEVICE_BINARY_SIZE - sizeof number, &number, sizeof number);
    sent += sendPayload(ssl, token, payload, strlen(payload));
  }
  SSL_shutdown(ssl);
  SSL_free(ssl);
  SSL_CTX_free(context);
  close(sock);
  printf("%d\n", sent);
  return 0;
}
