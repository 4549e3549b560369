/*
 * Apple's sample function sendPayload(), as a library function.
 *
 * Apple's Local and Push Notification Programming Guide printed it in two
 * listings (simple and enhanced notification format), and providers pasted it.
 * Include this header in place of the pasted function and link libapns; the
 * calls stay as they are. What goes over the wire is the same, byte for byte.
 * What is mended:
 *   - a payload over the limit is refused; the sample overran its stack buffer;
 *   - a write that is cut short, or has to read first (renegotiation, key
 *     update, a non-blocking socket), is carried to its end;
 *   - a peer that is gone means `false`, never SIGPIPE;
 *   - old entries in OpenSSL's error queue are not taken for an error of this
 *     call, and no new ones are left behind.
 *
 * `sslPtr` is the host's own, connected; the library never frees, shuts down or
 * keeps it. One thread at a time per SSL, as OpenSSL demands. These functions
 * do not read what the gateway answers: apns_session_send() (apns.h) does.
 *
 * Or it is one that apns_session_ssl() (apns.h) gave, and the calls reach today's APNs:
 * what is sent goes by that session, over HTTP/2 or the binary interface, with the
 * session's topic and credentials. Of pasted code only the function that connects
 * changes, which makes the session, and the one that disconnects:
 *
 *     apns_session_drain(session, 30000, NULL, NULL);
 *     apns_session_free(session); // and no SSL_shutdown(), SSL_free(), close()
 *
 * `true` then says that the session took the notification: it connects where it has
 * to, sends again what has to be, and the notification has an end there. For what
 * sendPayloadEnhanced() sent, the event's user_data is the `identifier`, which is never
 * on the wire; `expiry` is the notification's, 0 that it is tried once. Where so many
 * outcomes wait that the session is full, the oldest are dropped: a program that takes
 * none goes on. What devices are gone is in the session's feedback. `false`: as
 * below, or what apns_session_send() would refuse, or nothing to connect to; here the
 * next call may succeed. In a child of the process that made the session it is `false`.
 */
#ifndef APNS_SENDPAYLOAD_H
#define APNS_SENDPAYLOAD_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
 * Returns true when all of the frame was handed to the connection. False with
 * nothing written: a NULL, a length of 0 or above the limit. False otherwise:
 * the connection cannot be used any more. On a blocking socket it waits as long
 * as the socket does; on a non-blocking one a peer that takes nothing for 30
 * seconds ends the wait.
 */
bool sendPayload(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff, size_t payloadLength);

/** sendPayload() with a limit of the caller's in place of MAXPAYLOAD_SIZE, up to 65,535 bytes. */
bool sendPayloadLimited(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff,
                        size_t payloadLength, size_t payloadLimit);

/**
 * Sends one notification in the enhanced format (Apple's Listing 5-2), whose
 * constants are arguments here: `identifier` comes back in the error packet;
 * `expiry` is in UNIX seconds, UTC, 0 for a notification not to be stored; the
 * listing used time(NULL) + 86400. Otherwise as sendPayload().
 */
bool sendPayloadEnhanced(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff,
                         size_t payloadLength, uint32_t identifier, uint32_t expiry);

/** sendPayloadEnhanced() with a limit of the caller's in place of MAXPAYLOAD_SIZE, up to 65,535
 * bytes. */
bool sendPayloadEnhancedLimited(SSL *sslPtr, char *deviceTokenBinary, char *payloadBuff,
                                size_t payloadLength, uint32_t identifier, uint32_t expiry,
                                size_t payloadLimit);

#ifdef __cplusplus
}
#endif

#endif
