#ifndef APNS_SENDPAYLOAD_H
#define APNS_SENDPAYLOAD_H
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "binary.h"
#ifdef __cplusplus
extern "C" {
#endif
#ifndef DEVICE_BINARY_SIZE
#define DEVICE_BINARY_SIZE 32
#endif
#ifndef MAXPAYLOAD_SIZE
#define MAXPAYLOAD_SIZE 256
#endif
bool sendPayload(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff, size_t payloadLength);
bool sendPayloadLimited(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff,
                        size_t payloadLength, size_t payloadLimit);
bool sendPayloadEnhanced(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff,
                         size_t payloadLength, uint32_t identifier, uint32_t expiry);
bool sendPayloadEnhancedLimited(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff,
                                size_t payloadLength, uint32_t identifier, uint32_t expiry,
                                size_t payloadLimit);
#ifdef __cplusplus
}
#endif
#endif
