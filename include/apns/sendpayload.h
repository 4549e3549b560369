/*
 * Apple's sample function sendPayload(), as a library function.
 *
 * Apple's Local and Push Notification Programming Guide printed it in two
 * listings (simple and enhanced notification format), and providers pasted it.
 * Include this header in place of the pasted function and link libapns; the
 * calls stay as they are. The bytes on the wire are the same. Fixed bugs:
 *   - a payload over the limit is refused; the sample overran its stack buffer;
 *   - a write that is cut short, or has to read first (renegotiation, key
 *     update, a non-blocking socket), is finished;
 *   - a peer that is gone means `false`, never SIGPIPE;
 *   - old entries in OpenSSL's error queue do not count as an error of this
 *     call, and the call leaves no new ones behind.
 *
 * `sslPtr` is the program's own SSL, connected; the library never frees, shuts
 * down or keeps it. One thread at a time per SSL, as OpenSSL requires. These
 * functions do not read what the gateway answers: apns_session_send() (apns.h)
 * does.
 *
 * `sslPtr` may also come from apns_session_ssl() (binary.h), and then the calls
 * reach today's APNs: they send by that session, over HTTP/2 or the binary
 * interface, with the session's topic and credentials. Only two functions of the
 * pasted code change: connecting makes the session, and disconnecting becomes
 *
 *     apns_session_drain(session, 30000, NULL, NULL);
 *     apns_session_free(session); // and no SSL_shutdown(), SSL_free(), close()
 *
 * With such an SSL `true` means that the session took the notification: it
 * connects and sends again as needed, and the notification has an outcome
 * there. For sendPayloadEnhanced() the event's user_data is the `identifier`,
 * which is never on the wire, and `expiry` is the notification's; 0 means that
 * it is tried once. If the session is full of waiting outcomes, the oldest are
 * dropped, so a program that does not take them continues to work. The session's
 * feedback lists the devices that are gone. `false`: as below, or there is no
 * connection, when the next call may succeed, or apns_session_send() would refuse
 * the notification even without `checks`, which are not made here. In a child of
 * the process that made the session it is always `false`.
 */
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

/** The device token's size in the listings, in bytes. */
#ifndef DEVICE_BINARY_SIZE
#define DEVICE_BINARY_SIZE 32
#endif

/** The largest payload in the listings, in bytes. */
#ifndef MAXPAYLOAD_SIZE
#define MAXPAYLOAD_SIZE 256
#endif

/**
 * Sends one notification in the simple format (Apple's Listing 5-1).
 *
 * `deviceTokenBinary` points at DEVICE_BINARY_SIZE bytes, `payloadBuff` at
 * `payloadLength` bytes of JSON, 1 to MAXPAYLOAD_SIZE, without a NUL.
 *
 * Returns true if the whole frame was handed to the connection. Returns false
 * with nothing written for a NULL, and for a length of 0 or above the limit. Any
 * other false means that the connection cannot be used any more. On a blocking
 * socket it waits as long as the socket does; on a non-blocking one it fails after
 * 30 seconds in which the peer takes nothing.
 */
bool sendPayload(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff, size_t payloadLength);

/** sendPayload() with the caller's limit instead of MAXPAYLOAD_SIZE, up to 65,535 bytes. */
bool sendPayloadLimited(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff,
                        size_t payloadLength, size_t payloadLimit);

/**
 * Sends one notification in the enhanced format (Apple's Listing 5-2). The
 * listing's constants are arguments here: `identifier` comes back in the error
 * packet; `expiry` is in UNIX seconds, UTC, and 0 means that the notification is
 * not stored; the listing used time(NULL) + 86400. Otherwise as sendPayload().
 */
bool sendPayloadEnhanced(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff,
                         size_t payloadLength, uint32_t identifier, uint32_t expiry);

/** sendPayloadEnhanced() with the caller's limit instead of MAXPAYLOAD_SIZE, up to 65,535 bytes. */
bool sendPayloadEnhancedLimited(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff,
                                size_t payloadLength, uint32_t identifier, uint32_t expiry,
                                size_t payloadLimit);

#ifdef __cplusplus
}
#endif

#endif
