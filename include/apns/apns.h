/*
 * libapns: push notifications to Apple devices, from C.
 *
 * A provider is a server that pushes. It opens a session, sends, and learns the
 * end of every notification it sent:
 *
 *     apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
 *     who.token_key_file = "AuthKey_ABC123DEFG.p8"; // or who.certificate_file
 *     who.key_id = "ABC123DEFG", who.team_id = "DEF123GHIJ";
 *     apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
 *     where.protocol = APNS_PROTOCOL_HTTP2; // to api.push.apple.com
 *     where.topic = "com.example.app";
 *     apns_credentials_t *credentials = NULL;
 *     apns_session_t *session = NULL;
 *     apns_error_t error = APNS_ERROR_INIT;
 *     apns_notification_t push = APNS_NOTIFICATION_INIT;
 *     push.token = token, push.token_length = 32;
 *     push.payload = json, push.payload_length = strlen(json);
 *     if (apns_credentials_new(&who, &credentials, &error) ||
 *         apns_session_new(&where, credentials, &session, &error) ||
 *         apns_session_send(session, &push, 0, NULL, &error) ||
 *         apns_session_drain(session, 10000, NULL, &error))
 *       fprintf(stderr, "%s\n", error.message);
 *     apns_session_free(session);
 *     apns_credentials_free(credentials);
 *
 * Protocols. APNs speaks HTTP/2. The binary interface, which a session speaks where
 * `protocol` does not say otherwise, is for other gateways: a simulator, a private one,
 * a relay. Apple switched its own off in 2021.
 *
 * Nouns. apns_credentials_t says who the provider is and whom it trusts,
 * apns_session_t sends, apns_feedback_t lists the devices that are gone. All
 * are opaque, made by _new or _open and ended by _free, which takes NULL.
 *
 * Every notification that a send function took ends as exactly one of
 * accepted, rejected or unknown; see apns_session_next_event(). One that a
 * send function refused was not taken: it is the caller's still.
 *
 * Threads. One thread at a time per session and per feedback; different ones
 * are independent. Credentials never change once made and may be shared by any
 * number of threads. The library starts no thread.
 *
 * Ownership. Bytes and strings given are borrowed for the call only. What is
 * handed out stays the library's, valid as long as its comment says. Nothing
 * from the library goes to free().
 *
 * Fork. A session or feedback used in a child of the process that made it does
 * no I/O and answers APNS_ERR_FORKED; freeing it there leaves the parent's
 * connection undisturbed.
 *
 * Signals. The library never raises SIGPIPE and never changes what the program
 * does on a signal. A wait interrupted by a signal goes on until its deadline.
 *
 * Times are milliseconds. A timeout argument of 0 does not wait, -1 waits for
 * the session's connect_timeout_ms and write_timeout_ms together.
 *
 * Versions. Structures begin with their size, which their INIT macro sets, so
 * that a program goes on working with a newer library; zero in any other field
 * means its default. Refused as APNS_ERR_ARGUMENT, by name: a size that no version
 * of the structure has (smaller than in 0.1, or in the middle of a field); and in
 * structures that the library reads, a reserved field that is not zero, and
 * anything but zero behind the fields that it knows. An apns_error_t of such a
 * size is left as it is. What is not in this file is not part of the interface.
 */
#ifndef APNS_APNS_H
#define APNS_APNS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct addrinfo;

#define APNS_VERSION_MAJOR 0
#define APNS_VERSION_MINOR 1
#define APNS_VERSION_PATCH 0
#define APNS_VERSION_STRING "0.1.0"

/** The version of the library in use, "0.1.0"; APNS_VERSION_STRING is the header's. */
const char *apns_version(void);

/* ---- Status and errors -------------------------------------------------- */

/** What a call came to. */
typedef enum apns_status {
  APNS_OK = 0,
  APNS_DONE = -1,             /* nothing to take: the list ended, no outcome came in time */
  APNS_ERR_ARGUMENT = -2,     /* a mistake of the caller; retrying cannot help */
  APNS_ERR_BUFFER_SMALL = -3, /* the call says how many bytes to bring */
  APNS_ERR_MEMORY = -4,       /* no memory, or no descriptor to open a file with (sys_errno) */
  APNS_ERR_TIMEOUT = -5,      /* a deadline passed; nothing is lost by it */
  APNS_ERR_NETWORK = -6,      /* name, connection or peer failed; sys_errno may say how */
  APNS_ERR_TLS = -7,          /* handshake or verification failed; tls_code may say how */
  APNS_ERR_CREDENTIALS = -8,  /* a certificate, a key or trust anchors cannot be used */
  APNS_ERR_PROTOCOL = -9,     /* the peer sent what the protocol does not know */
  APNS_ERR_FULL = -10,        /* outcomes wait: take them with apns_session_next_event() */
  APNS_ERR_CLOSED = -11,      /* the session was closed */
  APNS_ERR_FORKED = -12       /* made by another process than this one */
} apns_status_t;

/** The status's name, such as "APNS_ERR_TIMEOUT"; "unknown status" for any other number. Static. */
const char *apns_status_name(apns_status_t status);

/**
 * 1 where the same call may succeed later without a change by the caller: APNS_ERR_MEMORY,
 * APNS_ERR_TIMEOUT and APNS_ERR_NETWORK. 0 for all others: APNS_DONE is no failure, and after
 * APNS_ERR_FULL outcomes have to be taken first.
 */
int apns_status_is_retryable(apns_status_t status);

/**
 * What the gateway says of a notification it refused. The numbers are those of
 * Apple's error-response packet (Binary Provider API, table of status codes).
 */
typedef enum apns_reject {
  APNS_REJECT_NONE = 0,
  APNS_REJECT_PROCESSING_ERROR = 1,
  APNS_REJECT_MISSING_TOKEN = 2,
  APNS_REJECT_MISSING_TOPIC = 3,
  APNS_REJECT_MISSING_PAYLOAD = 4,
  APNS_REJECT_INVALID_TOKEN_SIZE = 5,
  APNS_REJECT_INVALID_TOPIC_SIZE = 6,
  APNS_REJECT_INVALID_PAYLOAD_SIZE = 7,
  APNS_REJECT_INVALID_TOKEN = 8, /* stop pushing to this token */
  APNS_REJECT_SHUTDOWN = 10,     /* the gateway goes away; never the fault of a notification */
  APNS_REJECT_PROTOCOL_ERROR = 128,
  APNS_REJECT_UNKNOWN = 255
} apns_reject_t;

/**
 * The reason in words, such as "invalid token"; "unlisted status" for a number Apple
 * never listed. Static.
 */
const char *apns_reject_text(apns_reject_t reject);

/**
 * Why today's APNs refuses, in its own words (Handling notification responses from
 * APNs, "reason"); HTTP/2 only. The numbers are the library's, and stay. A library that
 * was built without HTTP/2 meets none: to the functions below all but
 * APNS_REASON_NONE are not listed there.
 */
typedef enum apns_reason {
  APNS_REASON_NONE = 0,
  APNS_REASON_BAD_DEVICE_TOKEN = 1,
  APNS_REASON_DEVICE_TOKEN_NOT_FOR_TOPIC = 2,
  APNS_REASON_MISSING_DEVICE_TOKEN = 3,
  APNS_REASON_MISSING_TOPIC = 4,
  APNS_REASON_PAYLOAD_EMPTY = 5,
  APNS_REASON_BAD_TOPIC = 6,
  APNS_REASON_PAYLOAD_TOO_LARGE = 7,
  APNS_REASON_BAD_COLLAPSE_ID = 8,
  APNS_REASON_BAD_EXPIRATION_DATE = 9,
  APNS_REASON_BAD_MESSAGE_ID = 10,
  APNS_REASON_BAD_PRIORITY = 11,
  APNS_REASON_DUPLICATE_HEADERS = 12,
  APNS_REASON_INVALID_PUSH_TYPE = 13,
  APNS_REASON_BAD_PATH = 14,
  APNS_REASON_METHOD_NOT_ALLOWED = 15,
  APNS_REASON_IDLE_TIMEOUT = 16,
  APNS_REASON_EXPIRED_PROVIDER_TOKEN = 17,
  APNS_REASON_UNRELATED_KEY_ID_IN_TOKEN = 18,
  APNS_REASON_TOPIC_DISALLOWED = 19,
  APNS_REASON_BAD_CERTIFICATE = 20,
  APNS_REASON_BAD_CERTIFICATE_ENVIRONMENT = 21,
  APNS_REASON_BAD_ENVIRONMENT_KEY_ID_IN_TOKEN = 22,
  APNS_REASON_FORBIDDEN = 23,
  APNS_REASON_INVALID_PROVIDER_TOKEN = 24,
  APNS_REASON_MISSING_PROVIDER_TOKEN = 25,
  APNS_REASON_UNREGISTERED = 26,
  APNS_REASON_EXPIRED_TOKEN = 27,
  APNS_REASON_TOO_MANY_PROVIDER_TOKEN_UPDATES = 28,
  APNS_REASON_TOO_MANY_REQUESTS = 29,
  APNS_REASON_INTERNAL_SERVER_ERROR = 30,
  APNS_REASON_SERVICE_UNAVAILABLE = 31,
  APNS_REASON_SHUTDOWN = 32,
  APNS_REASON_OTHER = 255 /* a reason that is not listed here */
} apns_reason_t;

/** The reason as APNs writes it, such as "BadDeviceToken"; "none", and "other" for every
    number that is not listed. Static. */
const char *apns_reason_text(apns_reason_t reason);

/** The reason that APNs writes so, letter for letter; APNS_REASON_OTHER for any other text, and
    NULL. Any thread. */
apns_reason_t apns_reason_from_text(const char *text, size_t length);

/** The HTTP status that APNs answers with for this reason, such as 400; 0 where it is none
    of the list. */
int apns_reason_http_status(apns_reason_t reason);

/**
 * What a rejection for this reason is to a program that knows the binary interface: only
 * a fault of the token is APNS_REJECT_INVALID_TOKEN, and what neither token nor payload
 * is to blame for is APNS_REJECT_SHUTDOWN or APNS_REJECT_PROCESSING_ERROR.
 * APNS_REJECT_NONE for a device that is gone (410), of which the feedback tells;
 * APNS_REJECT_UNKNOWN for APNS_REASON_OTHER.
 */
apns_reject_t apns_reason_reject(apns_reason_t reason);

/**
 * What exactly went wrong, for a program to switch on: the `cause` of an apns_error_t. The
 * status says how a program goes on, the cause says why it has to. The message is for people,
 * and its words may change with any version.
 *
 * The numbers are the library's, and stay. A later version may know more of them, so a program
 * handles a number that it does not know by the status alone. A failure with one of the statuses
 * MEMORY, TIMEOUT, NETWORK, TLS, CREDENTIALS and PROTOCOL always has a cause. In the comments
 * "the peer" is the gateway or the service that the session or the feedback connects to.
 */
typedef enum apns_cause {
  /* The status says it all: ARGUMENT (the message names the argument), BUFFER_SMALL, FULL,
     CLOSED or FORKED. */
  APNS_CAUSE_NONE = 0,

  /* This machine. */

  /* There is no memory (MEMORY). Free some, or try again later. */
  APNS_CAUSE_MEMORY = 1,
  /* The process or the system has no file descriptor left: MEMORY where a file was to be opened,
     NETWORK where a socket was. Raise the limit (ulimit -n), or look for what is never closed. */
  APNS_CAUSE_DESCRIPTORS = 2,

  /* The way to the peer (NETWORK). Where a proxy is set, the name is the proxy's. */

  /* The name service knows no address for the name. Check `host` or `proxy_host` for slips. */
  APNS_CAUSE_NAME_NOT_FOUND = 3,
  /* The name could not be looked up: no name server answers. Check /etc/resolv.conf and the
     network, then try again. */
  APNS_CAUSE_LOOKUP_FAILED = 4,
  /* Nobody listens at that port. Check `port`, and that the peer is up. */
  APNS_CAUSE_CONNECTION_REFUSED = 5,
  /* This machine has no route to the address. Check routes and, for an IPv6 address, IPv6. */
  APNS_CAUSE_UNREACHABLE = 6,
  /* The connection could not be made for another reason, which sys_errno tells. EACCES or EPERM:
     a firewall on this machine. */
  APNS_CAUSE_CONNECTION_FAILED = 7,
  /* A connection that was open is gone. sys_errno is ECONNRESET where it was reset, and 0 where
     the peer ended it without a word. A session connects again by itself. Also PROTOCOL: a
     feedback list that breaks off in the middle of a tuple. */
  APNS_CAUSE_CONNECTION_LOST = 8,

  /* Time ran out (TIMEOUT). Nothing is lost, and the call may be repeated. Where the session
     waits to connect again, the cause is that of the last connection's failure, if known. */

  /* The caller's own apns_lookup_t had no answer within connect_timeout_ms. */
  APNS_CAUSE_LOOKUP_TIMEOUT = 9,
  /* There was no connection in time. Mostly a firewall drops the packets: let the port out, try
     another (APNS_PORT_HTTP2_OTHER), or go through a proxy. */
  APNS_CAUSE_CONNECT_TIMEOUT = 10,
  /* The proxy took the connection, and did not connect to the peer in time. */
  APNS_CAUSE_PROXY_TIMEOUT = 11,
  /* The peer took the connection, and did not finish the TLS handshake in time. Check that it
     is TLS that is spoken at that port. */
  APNS_CAUSE_HANDSHAKE_TIMEOUT = 12,
  /* The peer took no data for write_timeout_ms, or until the call's time was over. */
  APNS_CAUSE_WRITE_TIMEOUT = 13,
  /* The peer's answer did not come in time: its word on notifications in flight, a feedback
     tuple, or the end of a connection that is being closed. */
  APNS_CAUSE_ANSWER_TIMEOUT = 14,
  /* The session pauses before it connects again: see connects_per_minute and
     reconnect_pause_max_ms. */
  APNS_CAUSE_RECONNECT_PAUSE = 15,

  /* The proxy (NETWORK). */

  /* There is no connection to the proxy itself; sys_errno tells why, and the status is TIMEOUT
     where it is ETIMEDOUT. Check proxy_host and proxy_port. */
  APNS_CAUSE_PROXY_UNREACHABLE = 16,
  /* The proxy closed the connection, or its answer has no end. */
  APNS_CAUSE_PROXY_LOST = 17,
  /* What answers at proxy_port is no HTTP proxy. */
  APNS_CAUSE_PROXY_NOT_HTTP = 18,
  /* The proxy asks who is there (407). Set proxy_user and proxy_password, or correct them. */
  APNS_CAUSE_PROXY_AUTHENTICATION = 19,
  /* The proxy does not allow the connection (another answer than 2xx, 407 and 5xx). Have its
     operator allow CONNECT to the peer. */
  APNS_CAUSE_PROXY_REFUSED = 20,
  /* The proxy cannot reach the peer either (5xx). */
  APNS_CAUSE_PROXY_NO_ROUTE = 21,

  /* The peer's certificate (TLS). The message names the certificate. */

  /* A certificate of its chain has expired, by this machine's clock. */
  APNS_CAUSE_PEER_EXPIRED = 22,
  /* A certificate of its chain is not yet valid, by this machine's clock. */
  APNS_CAUSE_PEER_NOT_YET_VALID = 23,
  /* It is for other names than `server_name`, or than `host` where that is NULL. */
  APNS_CAUSE_PEER_NAME = 24,
  /* Its chain does not end at a trust anchor. Set ca_file to the authority that issued it, update
     the system's store, or have the peer send its whole chain. */
  APNS_CAUSE_PEER_NOT_TRUSTED = 25,
  /* A certificate of its chain is in a revocation list. */
  APNS_CAUSE_PEER_REVOKED = 26,
  /* crl_file and crl_directory have no list for a certificate of its chain that is valid now. */
  APNS_CAUSE_PEER_REVOCATION_LIST = 27,
  /* Its chain has none of the pinned_keys: the peer has a new key, or it is somebody else. */
  APNS_CAUSE_PEER_NOT_PINNED = 28,
  /* It is refused for another reason: a weak key or signature, a certificate that is not for
     servers. The message has OpenSSL's words. */
  APNS_CAUSE_PEER_UNFIT = 29,

  /* The TLS handshake (TLS, where nothing else is said). Where the peer sent an alert, tls_code
     is OpenSSL's code for it, and the alert's number (RFC 8446, 6) is (tls_code & 0xFFF) - 1000,
     as ERR_GET_REASON() has it: 1042 is alert 42, bad_certificate. With TLS 1.3 the peer judges
     the provider's certificate after the handshake, so its alert may come from any later call. */

  /* The peer ended or reset the connection during the handshake (NETWORK). A firewall or a list
     of allowed addresses may do that. */
  APNS_CAUSE_HANDSHAKE_ENDED = 30,
  /* What answers there is not TLS. Check `port`. */
  APNS_CAUSE_NOT_TLS = 31,
  /* Peer and provider have no version of TLS in common (alert 70, or the peer chose a version
     that is below tls_min). Mostly the peer's is too old. */
  APNS_CAUSE_TLS_VERSION = 32,
  /* The peer does not speak HTTP/2: alert 120, or PROTOCOL where the handshake came through. */
  APNS_CAUSE_NO_HTTP2 = 33,
  /* The peer wants a certificate, and the credentials have none to show (alert 116, or any alert
     by which peers say so after asking for one). Set certificate_file. */
  APNS_CAUSE_CERTIFICATE_WANTED = 34,
  /* The peer refused the certificate that it was shown (alerts 42 to 46, 48 and 49). Check that
     it is a push certificate, of this app and environment, and has not expired. Where the
     connection was open before, nothing that was sent on it was looked at. */
  APNS_CAUSE_CERTIFICATE_REFUSED = 35,
  /* The peer sent another alert. NETWORK: it did so on a connection that was resumed; the next
     connection makes a whole handshake and tells more. */
  APNS_CAUSE_ALERT = 36,
  /* TLS failed on this side for another reason: no cipher in common, a broken record. The message
     has OpenSSL's words. */
  APNS_CAUSE_TLS_FAILED = 37,

  /* What the peer says (PROTOCOL). The session gives the connection up and makes another. */

  /* It breaks the protocol: not an error packet, not HTTP/2, a tuple without a token. Check
     `protocol` and `port`. */
  APNS_CAUSE_PROTOCOL = 38,
  /* It sends without end, or far more than it was asked for. */
  APNS_CAUSE_FLOOD = 39,

  /* Certificates, keys and other files (CREDENTIALS, where nothing else is said). The message
     names the file. */

  /* The file cannot be opened or read; sys_errno tells why: ENOENT, EACCES. ARGUMENT for a
     strings file. */
  APNS_CAUSE_FILE_UNREADABLE = 40,
  /* What the file holds cannot be read: broken, or too large. */
  APNS_CAUSE_FILE_MALFORMED = 41,
  /* The file holds no certificate. ARGUMENT: the binary interface needs a certificate, and the
     credentials only have a key for provider tokens. */
  APNS_CAUSE_CERTIFICATE_MISSING = 42,
  /* The file holds no private key. Set key_file, or export the certificate with its key. */
  APNS_CAUSE_KEY_MISSING = 43,
  /* The private key is not the certificate's. */
  APNS_CAUSE_KEY_MISMATCH = 44,
  /* The key cannot be used: neither RSA nor EC, too large, or, for provider tokens, not EC on
     P-256. */
  APNS_CAUSE_KEY_UNFIT = 45,
  /* The file is encrypted, and there is no passphrase. */
  APNS_CAUSE_PASSPHRASE_MISSING = 46,
  /* The file is encrypted, and the passphrase does not open it. */
  APNS_CAUSE_PASSPHRASE_WRONG = 47,
  /* Opening the file would take too much time or memory: see apns_credentials_new(). Export it
     again with fewer rounds. */
  APNS_CAUSE_UNLOCK_COST = 48,
  /* The file is encrypted with RC2 or DES, and OpenSSL's legacy provider is not installed.
     Install it, or export the file again with AES. */
  APNS_CAUSE_LEGACY_PROVIDER = 49,
  /* The provider's own certificate has expired, by this machine's clock. */
  APNS_CAUSE_CERTIFICATE_EXPIRED = 50,
  /* The provider's own certificate is not yet valid, by this machine's clock. */
  APNS_CAUSE_CERTIFICATE_NOT_YET_VALID = 51,
  /* OpenSSL refuses the certificate or its chain, mostly for a short key or SHA-1: see
     security_level. */
  APNS_CAUSE_CERTIFICATE_UNFIT = 52,
  /* ca_file holds no certificate in PEM, or the system's store cannot be read. */
  APNS_CAUSE_CA_MISSING = 53,
  /* crl_file holds no revocation list in PEM, or a broken one. */
  APNS_CAUSE_REVOCATION_LIST = 54,

  /* Arguments that a program may take from its users (ARGUMENT). */

  /* key_id or team_id is missing, or not 10 letters and digits. */
  APNS_CAUSE_TOKEN_IDENTIFIER = 55,
  /* The topic is empty, missing, too long or has a character that no topic has. */
  APNS_CAUSE_TOPIC = 56,
  /* HTTP/2 or a provider token is asked for, and this library was built without HTTP/2. */
  APNS_CAUSE_HTTP2_NOT_BUILT_IN = 57
} apns_cause_t;

/** The cause's name, such as "APNS_CAUSE_PEER_EXPIRED"; "unknown cause" for any other number.
    Static. */
const char *apns_cause_name(apns_cause_t cause);

/**
 * What went wrong, in detail. Lend one, set up by APNS_ERROR_INIT, to any call;
 * NULL where the status is enough. A call that fails fills it, one that
 * succeeds leaves it as it was.
 */
typedef struct apns_error {
  size_t size;       /* set by APNS_ERROR_INIT */
  int32_t status;    /* apns_status_t */
  int32_t sys_errno; /* errno, 0 when the system was not at fault */
  uint64_t tls_code; /* OpenSSL's error code, 0 when none; of an alert too, see apns_cause_t */
  /* apns_reject_t: the status with which a gateway would have refused the notification, or the
     text of its device token, that this call refused, so that one table of a program's serves
     both. 0: it is about something else, or no gateway has a status for it. */
  int32_t reject;
  int32_t cause; /* apns_cause_t; 0 where the status says it all */
  /* One line of UTF-8, ends in NUL, never a secret. In text of others (names, keys, subjects,
     what a proxy says) a question mark stands for each byte that is not UTF-8 and each
     character that would control how the line is shown: controls, ends of lines, and what
     changes the direction of writing. */
  char message[240];
} apns_error_t;

#define APNS_ERROR_INIT                        \
  {                                            \
    sizeof(apns_error_t), 0, 0, 0, 0, 0, { 0 } \
  }

/* ---- Device tokens ------------------------------------------------------ */

/**
 * The longest device token the protocol carries, in bytes. They were 32 for years; do
 * not count on it.
 */
#define APNS_TOKEN_MAX 100

/**
 * Turns a device token written in hex into bytes: either case, with the angle
 * brackets and spaces in which NSData prints it.
 *
 * Writes at most `capacity` bytes to `token_out` and their number to
 * `length_out`. A text with anything else in it, an odd number of digits, none,
 * or more than APNS_TOKEN_MAX bytes is APNS_ERR_ARGUMENT, and the message names
 * the character and its position, counted from 0. With too small a buffer
 * (NULL and 0 will do) it is APNS_ERR_BUFFER_SMALL and `length_out` says how
 * many bytes to bring. Any thread.
 */
apns_status_t apns_token_from_hex(const char *text, size_t text_length, uint8_t *token_out,
                                  size_t capacity, size_t *length_out, apns_error_t *error_out);

/**
 * Writes a device token as lowercase hex and a NUL to `text_out`.
 *
 * Needs 2 * token_length + 1 bytes; with fewer it is APNS_ERR_BUFFER_SMALL,
 * nothing is written, and `length_out` (which may be NULL) says how many to
 * bring. On success it is the text's length without the NUL. Any thread.
 */
apns_status_t apns_token_to_hex(const void *token, size_t token_length, char *text_out,
                                size_t capacity, size_t *length_out, apns_error_t *error_out);

/**
 * Turns a device token written in base64 into bytes: the standard alphabet (RFC 4648,
 * section 4; `+` and `/`), with its padding or without, and nothing else, neither
 * spaces nor line breaks.
 *
 * Buffer, lengths and errors are those of apns_token_from_hex(). An error too are
 * half a padding, a `=` elsewhere, and a last digit with bits that no byte has room
 * for, which is how a text that was cut shows. Any thread.
 */
apns_status_t apns_token_from_base64(const char *text, size_t text_length, uint8_t *token_out,
                                     size_t capacity, size_t *length_out, apns_error_t *error_out);

/**
 * Writes a device token as base64 with its padding, and a NUL, to `text_out`: 4 bytes
 * for each 3 of the token or what is left of them, and 1. Otherwise as
 * apns_token_to_hex().
 */
apns_status_t apns_token_to_base64(const void *token, size_t token_length, char *text_out,
                                   size_t capacity, size_t *length_out, apns_error_t *error_out);

/* ---- Localized strings -------------------------------------------------- */

/**
 * A Localizable.strings file: what a device looks a loc-key up in. A provider that
 * has the app's can write the text itself, or see what a loc-key will look like.
 * Never changes once made, and serves any number of threads.
 */
typedef struct apns_strings apns_strings_t;

/**
 * Reads a strings file from memory: UTF-8, or UTF-16 of either order with its byte
 * order mark.
 *
 * The grammar is that of the device's parser (CFOldStylePList.c): `"key" = "value";`
 * with comments of both kinds, single quotes too, none around letters, digits and
 * `_ $ / : . -`, `"key";` for a key that is its own value, braces around it all, and
 * of equal keys the last. Escapes are \\ \" \' \a \b \f \n \r \t \v, \U with four
 * hex digits (surrogates in pairs), one to three octal digits (a character of
 * NeXTSTEP's set), and a line break. Where the device would pass over a mistake or
 * leave out the rest it is APNS_ERR_ARGUMENT, and the message says line and column,
 * counted in characters from 1: any other escape, a comment or string never closed,
 * broken UTF-8 or UTF-16, a value that is not a text. Files of property lists in XML
 * or binary are refused as such; none is larger than 16 MiB.
 *
 * On success the caller owns `*strings_out`. Any thread.
 */
apns_status_t apns_strings_new(const void *bytes, size_t length, apns_strings_t **strings_out,
                               apns_error_t *error_out);

/** The same from a file, which the message names. */
apns_status_t apns_strings_open(const char *file, apns_strings_t **strings_out,
                                apns_error_t *error_out);

/**
 * The value of a key, as UTF-8 with a NUL behind it; `length_out`, which may be NULL,
 * is without that. The text is the strings' and valid as long as they are. No such
 * key is APNS_ERR_ARGUMENT. Any thread.
 */
apns_status_t apns_strings_get(const apns_strings_t *strings, const char *key, size_t key_length,
                               const char **text_out, size_t *length_out, apns_error_t *error_out);

/**
 * Writes the value of a key with `args` filled in, and a NUL, to `text_out`: `%@`
 * takes the next of them, `%n$@` the n-th from 1, `%%` is a percent sign (Local and
 * Push Notification Programming Guide, "Localized Formatted Strings"). One that was
 * taken by its number is not skipped by `%@`, and a number may be left out. Arguments are UTF-8 and
 * end in NUL, and there may be more than are wanted.
 *
 * APNS_ERR_ARGUMENT: no such key, fewer arguments than are wanted, or a `%` before
 * anything else, with its line and column in the file. Too small a buffer (NULL and 0
 * will do) is APNS_ERR_BUFFER_SMALL, nothing is written, and `length_out`, which may
 * be NULL, says how many bytes to bring; on success it is the text's length without
 * the NUL. Allocates nothing. Any thread.
 */
apns_status_t apns_strings_format(const apns_strings_t *strings, const char *key, size_t key_length,
                                  const char *const *args, size_t arg_count, char *text_out,
                                  size_t capacity, size_t *length_out, apns_error_t *error_out);

/** Frees the strings. NULL is fine. */
void apns_strings_free(apns_strings_t *strings);

/* ---- Payload ------------------------------------------------------------ */

/**
 * A payload in the making. It writes compact JSON: UTF-8, nothing escaped that
 * need not be, `aps` first, and in every object the keys in the order in which
 * they were first set. The same calls make the same bytes.
 *
 *     char json[APNS_PAYLOAD_MAX_FRAMED];
 *     size_t length = 0;
 *     if (apns_payload_new(NULL, &payload, &error) ||
 *         apns_payload_set_string(payload, APNS_KEY_TITLE, "Chess", 5, &error) ||
 *         apns_payload_set_string(payload, APNS_KEY_BODY, text, strlen(text), &error) ||
 *         apns_payload_set_integer(payload, APNS_KEY_BADGE, 9, &error) ||
 *         apns_payload_add_string(payload, "game", 4, id, strlen(id), &error) ||
 *         apns_payload_write(payload, json, sizeof json, &length, NULL, &error))
 *       fprintf(stderr, "%s\n", error.message);
 *
 * One payload serves for any number of notifications: write it, set what is
 * other for the next device, write it again; or reset it and begin anew. Once
 * it has been as large as it gets, none of these calls allocates memory. Where a
 * session sends it, apns_session_send_payload() saves the array and the copy.
 *
 * Strings are UTF-8 with their length in bytes, and are copied. A call that
 * fails changes nothing; APNS_ERR_ARGUMENT names the key. One thread at a time
 * per payload.
 */
typedef struct apns_payload apns_payload_t;

/* How long a payload may be, in bytes. */
#define APNS_PAYLOAD_MAX_LISTING 256 /* in Apple's listings, and before iOS 8 */
#define APNS_PAYLOAD_MAX_FRAMED 2048 /* binary interface (Binary Provider API) */
#define APNS_PAYLOAD_MAX_HTTP2 4096
#define APNS_PAYLOAD_MAX_VOIP 5120

typedef struct apns_payload_options {
  size_t size;  /* set by APNS_PAYLOAD_OPTIONS_INIT */
  size_t limit; /* in bytes; 0: APNS_PAYLOAD_MAX_FRAMED */

  /* Put at the end of a text that was shortened; NULL and 0: an ellipsis, U+2026;
     "" and 0: nothing. */
  const char *suffix;
  size_t suffix_length;

  /* Not 0: where the payload is too long its text is shortened to fit: the
     alert or its body, or where it has neither the last of loc-args. */
  int32_t truncate;
  int32_t reserved32; /* zero */
} apns_payload_options_t;

#define APNS_PAYLOAD_OPTIONS_INIT \
  { sizeof(apns_payload_options_t), 0, NULL, 0, 0, 0 }

/**
 * Makes an empty payload, `{"aps":{}}`. `options` may be NULL: 2,048 bytes, and what is
 * longer is an error. On success the caller owns `*payload_out`.
 */
apns_status_t apns_payload_new(const apns_payload_options_t *options, apns_payload_t **payload_out,
                               apns_error_t *error_out);

/** Takes all keys away and keeps options and memory. NULL is fine. */
void apns_payload_reset(apns_payload_t *payload);

/** Frees the payload. NULL is fine. */
void apns_payload_free(apns_payload_t *payload);

/**
 * The keys of Apple's (Local and Remote Notification Programming Guide, Payload Key
 * Reference), by the functions that set them.
 */
typedef enum apns_payload_key {
  /* apns_payload_set_string(). The alert is either one string ... */
  APNS_KEY_ALERT = 1,
  /* ... or an object of these. */
  APNS_KEY_TITLE = 2,
  APNS_KEY_SUBTITLE = 3,
  APNS_KEY_BODY = 4,
  APNS_KEY_TITLE_LOC_KEY = 5,
  APNS_KEY_SUBTITLE_LOC_KEY = 6,
  APNS_KEY_LOC_KEY = 7,
  APNS_KEY_ACTION_LOC_KEY = 8, /* NULL and 0: JSON's null, an alert with one button */
  APNS_KEY_LAUNCH_IMAGE = 9,
  /* apns_payload_set_strings(), in the alert's object too */
  APNS_KEY_TITLE_LOC_ARGS = 10,
  APNS_KEY_SUBTITLE_LOC_ARGS = 11,
  APNS_KEY_LOC_ARGS = 12,
  /* apns_payload_set_string(), beside the alert */
  APNS_KEY_SOUND = 13, /* "default", or a sound of the app's; see set_critical_sound too */
  APNS_KEY_CATEGORY = 14,
  APNS_KEY_THREAD_ID = 15,
  APNS_KEY_TARGET_CONTENT_ID = 16,
  APNS_KEY_INTERRUPTION_LEVEL = 17, /* "passive", "active", "time-sensitive" or "critical" */
  APNS_KEY_FILTER_CRITERIA = 18,
  /* apns_payload_set_strings() */
  APNS_KEY_URL_ARGS = 19, /* Safari's web push */
  /* apns_payload_set_integer() */
  APNS_KEY_BADGE = 20,             /* 0 takes the badge away */
  APNS_KEY_CONTENT_AVAILABLE = 21, /* 1 */
  APNS_KEY_MUTABLE_CONTENT = 22,   /* 1 */
  /* apns_payload_set_double() */
  APNS_KEY_RELEVANCE_SCORE = 23
} apns_payload_key_t;

/**
 * Sets one of Apple's keys, or sets it again: the new value takes the place of
 * the old one. An alert that is a string has no parts, and one with parts is no
 * string: apns_payload_remove() APNS_KEY_ALERT to go from one to the other.
 */
apns_status_t apns_payload_set_string(apns_payload_t *payload, apns_payload_key_t key,
                                      const char *text, size_t length, apns_error_t *error_out);

/** Likewise an array of `count` strings. `lengths` may be NULL: each ends in NUL. */
apns_status_t apns_payload_set_strings(apns_payload_t *payload, apns_payload_key_t key,
                                       const char *const *texts, const size_t *lengths,
                                       size_t count, apns_error_t *error_out);

/** Likewise an integer. */
apns_status_t apns_payload_set_integer(apns_payload_t *payload, apns_payload_key_t key,
                                       int64_t value, apns_error_t *error_out);

/** Likewise a number, written with as few digits as tell it from every other; not NaN. */
apns_status_t apns_payload_set_double(apns_payload_t *payload, apns_payload_key_t key, double value,
                                      apns_error_t *error_out);

/**
 * Sets the sound to one that is played though the device is muted, `volume` 0 to 1
 * (critical alerts, for which Apple wants to be asked). It takes the place of
 * APNS_KEY_SOUND.
 */
apns_status_t apns_payload_set_critical_sound(apns_payload_t *payload, const char *name,
                                              size_t length, double volume,
                                              apns_error_t *error_out);

/**
 * Takes one of Apple's keys away; APNS_KEY_ALERT takes the alert away with all its
 * parts. One that is not set is no error.
 */
apns_status_t apns_payload_remove(apns_payload_t *payload, apns_payload_key_t key,
                                  apns_error_t *error_out);

/**
 * Adds a key of the app's own beside `aps`. A name that is there already, and
 * "aps", are APNS_ERR_ARGUMENT: see apns_payload_remove_custom().
 */
apns_status_t apns_payload_add_string(apns_payload_t *payload, const char *name, size_t name_length,
                                      const char *text, size_t length, apns_error_t *error_out);

/** Likewise an integer. */
apns_status_t apns_payload_add_integer(apns_payload_t *payload, const char *name,
                                       size_t name_length, int64_t value, apns_error_t *error_out);

/** Likewise a number, written with as few digits as tell it from every other; not NaN. */
apns_status_t apns_payload_add_double(apns_payload_t *payload, const char *name, size_t name_length,
                                      double value, apns_error_t *error_out);

/** Likewise false (0) or true (anything else). */
apns_status_t apns_payload_add_boolean(apns_payload_t *payload, const char *name,
                                       size_t name_length, int value, apns_error_t *error_out);

/** Likewise null. */
apns_status_t apns_payload_add_null(apns_payload_t *payload, const char *name, size_t name_length,
                                    apns_error_t *error_out);

/**
 * Likewise any JSON value (RFC 8259), nested at most 512 deep with the payload
 * itself. It is checked, and written without spaces and needless escapes;
 * numbers keep their digits. Keys within it are not compared with each other.
 * The error says at which byte it stops being JSON; half a surrogate pair,
 * "\ud800", is one, for UTF-8 has no bytes for it.
 */
apns_status_t apns_payload_add_json(apns_payload_t *payload, const char *name, size_t name_length,
                                    const char *json, size_t length, apns_error_t *error_out);

/** Takes all keys of the app's own away, to add those of the next device. NULL is fine. */
void apns_payload_remove_custom(apns_payload_t *payload);

/**
 * Writes the payload's JSON to `buffer`, without a NUL, and its length to `length_out`.
 *
 * With too small a buffer (NULL and 0 will do) it is APNS_ERR_BUFFER_SMALL,
 * nothing is written, and `length_out` says how many bytes to bring; the
 * options' limit is always enough. APNS_ERR_ARGUMENT: the payload is longer
 * than the limit, even with its text cut to nothing where it may be; the
 * message says by how much, `length_out` how long it is.
 *
 * A text is shortened by as much as needed and no more, between what a person
 * sees as characters (extended grapheme clusters, Unicode Standard Annex 29):
 * never within a combining sequence, an emoji or a flag. `cut_out` (which may
 * be NULL) receives how many bytes of the text were left off: 0 for none.
 */
apns_status_t apns_payload_write(const apns_payload_t *payload, void *buffer, size_t capacity,
                                 size_t *length_out, size_t *cut_out, apns_error_t *error_out);

/** How much a finding matters. */
typedef enum apns_finding_severity {
  APNS_FINDING_ERROR = 1,  /* not JSON, not a payload, or too long */
  APNS_FINDING_WARNING = 2 /* a device gets it and ignores that part of it */
} apns_finding_severity_t;

/** Something about a payload that its maker should know. */
typedef struct apns_payload_finding {
  size_t size;      /* set by APNS_PAYLOAD_FINDING_INIT */
  int32_t severity; /* apns_finding_severity_t */
  int32_t reserved32;
  size_t offset;     /* in bytes, from 0 */
  uint32_t line;     /* from 1 */
  uint32_t column;   /* in characters (code points), from 1 */
  char message[160]; /* UTF-8, one line, ends in NUL; as of apns_error_t */
} apns_payload_finding_t;

#define APNS_PAYLOAD_FINDING_INIT                        \
  {                                                      \
    sizeof(apns_payload_finding_t), 0, 0, 0, 0, 0, { 0 } \
  }

/**
 * Checks a payload that the caller made: JSON (RFC 8259), an object, `aps` an
 * object in it, Apple's keys of the right type, at most `limit` bytes (0:
 * APNS_PAYLOAD_MAX_FRAMED).
 *
 * APNS_OK: no error. APNS_ERR_ARGUMENT: `error_out` has the first one, with line,
 * column and byte. Warnings are of what a device ignores: a key that Apple has
 * not, with the one that was probably meant; an alert that is an array; a key
 * that is there twice.
 *
 * `findings` is the caller's array for all of them, in order, errors and
 * warnings; NULL and 0 where the status is enough. Only its first element need
 * be set up by APNS_PAYLOAD_FINDING_INIT. `count_out` (which may be NULL)
 * receives how many there are, which may be more than `capacity`. Any thread.
 */
apns_status_t apns_payload_check(const void *json, size_t length, size_t limit,
                                 apns_payload_finding_t *findings, size_t capacity,
                                 size_t *count_out, apns_error_t *error_out);

/* ---- Credentials -------------------------------------------------------- */

/** Who the provider is and whom it trusts; immutable, for any number of sessions and threads. */
typedef struct apns_credentials apns_credentials_t;

/** TLS versions, for apns_credentials_options_t. */
typedef enum apns_tls_version {
  APNS_TLS_DEFAULT = 0, /* at least 1.2, at most what OpenSSL knows */
  APNS_TLS_1_2 = 12,
  APNS_TLS_1_3 = 13
} apns_tls_version_t;

/**
 * Says the passphrase of an encrypted key or PKCS#12 file: writes it to `buffer`,
 * without a NUL, and returns its length, at most `capacity`; a negative number where
 * there is none, and the file is refused.
 *
 * `file` is as the options name it, NULL for bytes, and `context` is the options'
 * passphrase_context. Called by apns_credentials_new() before it returns, on its
 * thread; at most once for the certificate and once for each key, and only where there
 * is something to open. The library wipes the buffer.
 */
typedef int (*apns_passphrase_t)(const char *file, char *buffer, size_t capacity, void *context);

typedef struct apns_credentials_options {
  size_t size; /* set by APNS_CREDENTIALS_OPTIONS_INIT */

  /* The client certificate with its chain where it has one: a file or bytes, not
     both. PEM with the blocks in any order, PKCS#12 (what Keychain exports, RC2 and
     3DES too) or a single one in DER; which of them shows by itself. Neither file
     nor bytes: the provider shows no certificate. */
  const char *certificate_file;
  const void *certificate_bytes;
  size_t certificate_length;

  /* Its private key, RSA or EC, in PEM or DER, PKCS#8 or traditional, a file or
     bytes; neither: it stands beside the certificate. */
  const char *key_file;
  const void *key_bytes;
  size_t key_length;

  /* The passphrase of the key or the PKCS#12 file, at most 1,024 bytes; NULL: see
     passphrase_callback. Nobody is ever asked on a terminal. */
  const char *passphrase;

  /* Whom to trust: a PEM file, a directory as OpenSSL's rehash lays one out, or
     both. Neither: the system's store. */
  const char *ca_file;
  const char *ca_directory;

  int32_t tls_min; /* apns_tls_version_t; APNS_TLS_DEFAULT: 1.2 */
  int32_t tls_max; /* apns_tls_version_t; APNS_TLS_DEFAULT: the highest */

  /* Not 0: whoever answers is taken for the gateway, and anybody on the way can
     read and change what is sent. For a test on one machine, if at all. */
  int32_t dangerously_accept_any_peer;

  /* Not 0: a certificate that has expired or is not yet valid is taken, though a
     gateway will hardly want it. */
  int32_t accept_expired;

  /* Who says the passphrase where `passphrase` is NULL; NULL too: there is none,
     and what is encrypted is refused. */
  apns_passphrase_t passphrase_callback;
  void *passphrase_context;

  /* HTTP/2 only, instead of a certificate or beside it: the key with which the provider
     signs its tokens (Establishing a token-based connection to APNs), the .p8 that Apple
     hands out, a file or bytes, not both: PKCS#8 in PEM, EC on the curve P-256. Then
     key_id and team_id are needed too, 10 letters and digits each, as Apple's account
     page shows them. The binary interface knows no tokens: a session over it, and
     apns_feedback_open(), refuse credentials that have such a key and no certificate. */
  const char *token_key_file;
  const void *token_key_bytes;
  size_t token_key_length;
  const char *key_id;
  const char *team_id;

  /* Certificate revocation lists in PEM: a file, a directory as OpenSSL's rehash lays one
     out, or both. Given one, every certificate of the peer's chain is looked up, not only
     the peer's own, so a list of each issuer is needed: one that is missing, has expired or
     is not yet valid is APNS_ERR_TLS, like a certificate that was revoked. The file is read
     once; the directory is looked into whenever a peer is verified, and a newer list is
     found there under the next number (HASH.r1 after HASH.r0). Neither file nor directory
     is a place of trust anchors. Not looked at with dangerously_accept_any_peer. */
  const char *crl_file;
  const char *crl_directory;

  /* Pinned public keys, any one of which has to be in the peer's chain as it was verified,
     from the peer's own certificate to the trust anchor: "sha256//" and the SHA-256 of the
     certificate's SubjectPublicKeyInfo in base64, as RFC 7469 defines it and curl writes
     it. They come on top of the verification, and a peer without any of them is
     APNS_ERR_TLS, with the hash of its own key in the message. With
     dangerously_accept_any_peer there is no verified chain: the peer's own key has to be
     pinned. At most 100; NULL and 0: none. */
  const char *const *pinned_keys;
  size_t pinned_key_count;

  /* The weakest keys, signatures and ciphers that are taken, the peer's and the
     provider's own, by the security levels of OpenSSL: 1 to 5, from 80 bits of strength
     to 256; 0: what this OpenSSL is set to. */
  int32_t security_level;
  int32_t reserved32; /* zero */
} apns_credentials_options_t;

#define APNS_CREDENTIALS_OPTIONS_INIT                                                            \
  {                                                                                              \
    sizeof(apns_credentials_options_t), NULL, NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, 0, 0, 0, \
        0, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0                      \
  }

/**
 * Reads certificate, keys, trust anchors and revocation lists, and checks that the key is
 * the certificate's and that the certificate's time has come and not gone.
 *
 * `options` may be NULL: no certificate, no token, the system's store. Where a file holds
 * several certificates, the provider's is the one of the key, and the others are
 * shown as its chain in their order. On success the caller owns
 * `*credentials_out`. APNS_ERR_CREDENTIALS names the file and the reason, and the
 * certificate's subject where it is to blame. The library's copies of key and
 * passphrase are wiped once it is done with them, and the key when the last user
 * of the credentials is gone. Any thread.
 *
 * A file says itself how often its passphrase is hashed. One that would take longer
 * than about a second of an ordinary core to open, all its parts together, is refused
 * before it is opened, and the error says what was asked for: some 2.5 million rounds
 * of PBKDF2 with SHA-256 pass, and what exporters write is well below. Refused too are
 * keys that are neither RSA nor EC, RSA of more than 16,384 bits, more than 100
 * certificates, and a certificate with more than 1,000 topics.
 *
 * A peer's certificate has to carry the name asked for among its alternative names, or as
 * its common name where it has no alternative names at all; "*" stands for one whole label.
 * What a peer was checked against is not checked again where a TLS session is resumed: a
 * session resumes only what the same credentials have verified.
 *
 * RC2 and single DES, in which old Keychains and OpenSSL encrypted, are in OpenSSL
 * 3's legacy provider. It is loaded for such a file alone and into a context of the
 * library's own, so the program's OpenSSL stays as it was. Where the provider's
 * module is not installed the error says so.
 */
apns_status_t apns_credentials_new(const apns_credentials_options_t *options,
                                   apns_credentials_t **credentials_out, apns_error_t *error_out);

/** Apple's services that a certificate is for, for apns_credentials_description_t. */
typedef enum apns_environment {
  APNS_ENVIRONMENT_SANDBOX = 1,   /* extension 1.2.840.113635.100.6.3.1 */
  APNS_ENVIRONMENT_PRODUCTION = 2 /* extension 1.2.840.113635.100.6.3.2 */
} apns_environment_t;

/** What the provider's certificate says, and its tokens. */
typedef struct apns_credentials_description {
  size_t size; /* set by APNS_CREDENTIALS_DESCRIPTION_INIT */

  /* As RFC 2253 writes it, but in UTF-8; NULL: there is no certificate, and
     everything up to chain_length is 0. */
  const char *subject;

  /* The apps it may push to: the subject's UID, then what Apple's extension
     1.2.840.113635.100.6.3.6 lists. topic_count strings and a NULL. */
  const char *const *topics;
  size_t topic_count;

  int64_t not_before; /* UNIX seconds */
  int64_t not_after;
  uint32_t environments; /* of apns_environment_t, one or both; 0: it does not say */
  uint32_t chain_length; /* certificates that were given, this one included */

  /* Whose tokens the provider shows, as the options say; NULL: it has no key for them. */
  const char *key_id;
  const char *team_id;
} apns_credentials_description_t;

#define APNS_CREDENTIALS_DESCRIPTION_INIT \
  { sizeof(apns_credentials_description_t), NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL }

/**
 * Says what the provider's certificate is for, and how long, and whose tokens it shows.
 * The strings are the credentials' and valid as long as they are. Any thread.
 */
apns_status_t apns_credentials_describe(const apns_credentials_t *credentials,
                                        apns_credentials_description_t *description_out,
                                        apns_error_t *error_out);

/**
 * Frees the credentials; sessions and feedbacks made with them keep what they need.
 * NULL is fine.
 */
void apns_credentials_free(apns_credentials_t *credentials);

/* ---- Session ------------------------------------------------------------ */

/* The binary interface's were switched off in 2021: these names are what old programs say. */
#define APNS_HOST_PRODUCTION "gateway.push.apple.com"
#define APNS_HOST_SANDBOX "gateway.sandbox.push.apple.com"
#define APNS_PORT_GATEWAY 2195
#define APNS_HOST_HTTP2_PRODUCTION "api.push.apple.com"
#define APNS_HOST_HTTP2_SANDBOX "api.sandbox.push.apple.com"
#define APNS_PORT_HTTP2 443
#define APNS_PORT_HTTP2_OTHER 2197 /* for networks that let 443 through to web servers only */

/** One provider's way to one gateway. */
typedef struct apns_session apns_session_t;

/** How notifications are framed (Apple's commands; Binary Provider API). */
typedef enum apns_format {
  APNS_FORMAT_DEFAULT = 0,  /* framed */
  APNS_FORMAT_SIMPLE = 1,   /* command 0: without identifiers, so none can be named as failed */
  APNS_FORMAT_ENHANCED = 2, /* command 1 */
  APNS_FORMAT_FRAMED = 3    /* command 2 */
} apns_format_t;

/**
 * What becomes of notifications in flight when a connection ends without saying which
 * one failed. One that was in flight at five such ends becomes unknown even where it is to
 * be sent again: it may be what ends the connections. So that only that one does, fewer are
 * in flight together after each such end, down to one, until proof has come; over the binary
 * interface only where something proves (not with the simple format without
 * quiet_period_ms), and after 64 such ends in a row, with nothing proven in between (12 where
 * nothing was ever proven), all that were in flight become unknown.
 */
typedef enum apns_ambiguous {
  APNS_AMBIGUOUS_DEFAULT = 0, /* resend; with the simple format: report */
  APNS_AMBIGUOUS_RESEND = 1,  /* at least once: some may arrive twice */
  APNS_AMBIGUOUS_REPORT = 2   /* at most once: each comes out as APNS_EVENT_UNKNOWN */
} apns_ambiguous_t;

/** Which of Apple's interfaces a session speaks. */
typedef enum apns_protocol {
  APNS_PROTOCOL_DEFAULT = 0, /* binary */
  APNS_PROTOCOL_BINARY = 1,  /* the Binary Provider API, which Apple's gateways speak no more */
  APNS_PROTOCOL_HTTP2 = 2    /* today's APNs: Sending notification requests to APNs */
} apns_protocol_t;

/** What an apns_lookup_t returns while it has no answer. */
#define APNS_LOOKUP_PENDING 1

/**
 * Looks a name up, in the place of getaddrinfo(), which takes as long as it likes: for a program
 * that asks its own resolver, or libc on another thread. `struct addrinfo` is <netdb.h>'s.
 *
 * Returns 0 with the addresses, for stream sockets, in a list that freeaddrinfo() takes, which
 * the library does; an EAI_ code; or APNS_LOOKUP_PENDING. Then it is asked again after some
 * milliseconds, until it has an answer or the connection's time is over, which nobody tells it.
 * It does not wait, runs on the thread of the call that connects and calls nothing of that
 * session or feedback.
 */
typedef int (*apns_lookup_t)(const char *host, struct addrinfo **list_out, void *context);

/**
 * Mistakes that a gateway, the service or a device passes over without a word, for the option
 * `checks`. The send functions refuse what has one as APNS_ERR_ARGUMENT, and say what it is.
 */
typedef enum apns_check {
  /* The payload has an error, as apns_payload_check() finds them (what it warns of is sent), or
     is for priority 5 and has priority 10. Reads the payload once and allocates nothing. That
     of a builder has none and is not read. */
  APNS_CHECK_PAYLOAD = 1,
  /* The expiry lies in the past, or is no time of this age in UNIX seconds but looks like a
     duration (3600) or like milliseconds. 0 and APNS_EXPIRY_ONCE are fine. */
  APNS_CHECK_EXPIRY = 2,
  APNS_CHECK_ALL = 3 /* both */
} apns_check_t;

typedef struct apns_session_options {
  size_t size; /* set by APNS_SESSION_OPTIONS_INIT */

  /* Name or address; NULL: APNS_HOST_PRODUCTION, or APNS_HOST_HTTP2_PRODUCTION. */
  const char *host;
  const char *server_name; /* the name its certificate must carry; NULL: host */
  uint16_t port;           /* 0: APNS_PORT_GATEWAY, or APNS_PORT_HTTP2 */
  uint16_t reserved16;     /* zero */
  int32_t format;          /* apns_format_t; binary only */

  uint32_t connect_timeout_ms; /* name, connection and handshake together; 0: 10,000 */
  uint32_t write_timeout_ms;   /* the peer takes nothing for so long; 0: 10,000 */

  /* The notification known to be bad (see quiet_period_ms) has no answer for so long:
     the connection is taken for dead, an end that says nothing of what it had; 0:
     30,000. Longer than the gateway may need for all that was written before it.
     HTTP/2: a stream without an answer for so long is given up, and where nothing
     at all comes, its connection. */
  uint32_t answer_timeout_ms;

  /* Memory for notifications that have no end yet, frames and bookkeeping
     together, in bytes; 0: 4 MiB; at least 16 KiB. */
  uint32_t window_bytes;
  /* Larger payloads are refused; 0: 2,048, at most 65,535. HTTP/2: 4,096, or 5,120 with
     APNS_PUSH_TYPE_VOIP, and never more. */
  uint32_t payload_max;

  int32_t ambiguous;       /* apns_ambiguous_t */
  int32_t report_accepted; /* not 0: accepted ones are events too, in the window until taken */

  /* 0: a notification known to be bad is sent last, and the error packet that
     names it proves all before it. Otherwise, for peers that do not answer such
     a one: silence for so many ms after the last write is taken for acceptance.
     Binary only: HTTP/2 answers each. */
  uint32_t quiet_period_ms;

  /* Not 0: an error packet with identifier 0 is taken for the answer to that bad
     notification whenever one is out (but for a shutdown, status 10), as of a
     gateway that names all others but answers this one so. Without it such a
     packet proves only where its status can mean nothing else:
     APNS_REJECT_MISSING_TOKEN, or, while all tokens in flight have 32 bytes,
     APNS_REJECT_INVALID_TOKEN_SIZE. */
  int32_t zero_proves;

  /* Connections used side by side, each with its part of the window; 0: 1, at most
     64. Every rejection costs its connection one answer's delay, so several cost
     less time; order is kept within a connection only. HTTP/2: at most so many, the
     next where the streams or the flow control of those there are is what limits. */
  uint32_t connections;

  /* Not 0: no connection is made ready while the one before it works. Otherwise
     one is, where the window is half full or the last connection ended by a
     rejection, so that moving on costs no handshake. Binary only. */
  int32_t no_standby;

  /* Never more than so many connections in a minute, standby ones included, half
     of them at once; 0: no limit. Apple took rapid reconnects for an attack. */
  uint32_t connects_per_minute;

  /* After connections that achieved nothing the next is made later each time,
     twice 50 ms, four times and so on, by chance up to half of it sooner, but
     never later than this; 0: 5,000. */
  uint32_t reconnect_pause_max_ms;

  /* After so many seconds of silence TCP asks whether the peer is there, so that
     a connection cut by a firewall is found dead before it is needed; 0: 60,
     -1: never. */
  int32_t keepalive_s;

  /* An HTTP proxy (CONNECT) to go through; NULL: none. With a user it is told
     who asks by Basic authentication, in clear text. */
  const char *proxy_host;
  const char *proxy_user;     /* without a colon; NULL: nobody */
  const char *proxy_password; /* NULL: an empty one */
  uint16_t proxy_port;
  uint16_t reserved[3]; /* zero */

  int32_t protocol;    /* apns_protocol_t */
  uint32_t reserved32; /* zero */
  /* HTTP/2: of notifications that name none; NULL: the certificate's. 1 to 255 bytes, no
     spaces and no control characters. */
  const char *topic;

  /* HTTP/2: a connection on which nothing has been heard for so many ms is asked by a PING
     (RFC 9113, 6.7) whether it still is one, before anything more is sent on it; one that
     does not answer within connect_timeout_ms is replaced, and nothing was in flight on it.
     It is asked in calls that wait or send. 0: 3,600,000, an hour, as Apple allows; -1: never. */
  int32_t ping_after_ms;

  /* HTTP/2: what the service answers by "later" (429 TooManyRequests, 500, 503) is tried
     again after 1 s, 2, 4 and so on up to 32, until so many ms after it was taken, or until
     its expiry where that is sooner; then its last answer is its end. 0: 60,000. */
  uint32_t retry_timeout_ms;

  /* Binary only, where nothing is answered that is accepted: what is in flight for so many
     ms without proof is proven, by the notification known to be bad or by the quiet period,
     in whatever call on the session comes next, so that a provider that sends now and then
     learns of acceptance too, and has little to send again when a connection is lost. The
     proof costs its connection, so it waits where connects_per_minute allows no other. 0:
     60,000; -1: only where a call needs it. The simple format without quiet_period_ms has no
     proof. */
  int32_t prove_after_ms;

  /* What each notification is checked for before it is taken: bits of apns_check_t; 0: nothing
     but sizes and what a frame or a header cannot say, which costs nothing. */
  uint32_t checks;

  /* No call waits longer than so many ms, for a program that has to look at other things in
     between: where it would, it is APNS_ERR_TIMEOUT, nothing is lost by it, and the same call made
     again goes on where this one stopped. The other times are counted as ever, but for those of
     a whole call (timeout_ms, and connect_timeout_ms and write_timeout_ms together), which are
     then for the caller to count. A send function whose notifications are taken is APNS_OK;
     apns_session_flush() goes on with what it has not written. apns_session_close() is to be
     called until it is another answer. 0: no such limit. */
  uint32_t wait_max_ms;
  uint32_t reserved32c; /* zero */

  apns_lookup_t lookup; /* NULL: getaddrinfo() */
  void *lookup_context;
} apns_session_options_t;

#define APNS_SESSION_OPTIONS_INIT                                                                  \
  {                                                                                                \
    sizeof(apns_session_options_t), NULL, NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        NULL, NULL, NULL, 0, {0, 0, 0}, 0, 0, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL                   \
  }

/**
 * Makes a session; it connects with the first send, or apns_session_connect().
 *
 * `options` may be NULL: all defaults, which are the binary interface and its production
 * gateway. `credentials` may be freed before the session. On success the caller owns
 * `*session_out`. APNS_ERR_ARGUMENT names the option that cannot be.
 */
apns_status_t apns_session_new(const apns_session_options_t *options,
                               const apns_credentials_t *credentials, apns_session_t **session_out,
                               apns_error_t *error_out);

/**
 * Connects now, where a mistake in host or credentials is best found: every
 * address of the name is tried, within connect_timeout_ms. Does nothing on a
 * session that is connected.
 */
apns_status_t apns_session_connect(apns_session_t *session, apns_error_t *error_out);

/** Not to be stored but tried once, for apns_notification_t.expiry. */
#define APNS_EXPIRY_ONCE (-1)

/** What kind of push a notification is, for HTTP/2 (the header apns-push-type). */
typedef enum apns_push_type {
  /* Background where the payload's aps says content-available 1 and has neither alert,
     badge nor sound; else alert. */
  APNS_PUSH_TYPE_DEFAULT = 0,
  APNS_PUSH_TYPE_ALERT = 1,
  APNS_PUSH_TYPE_BACKGROUND = 2, /* priority 5 and no other; 0 is 5 */
  APNS_PUSH_TYPE_LOCATION = 3,
  APNS_PUSH_TYPE_VOIP = 4,
  APNS_PUSH_TYPE_COMPLICATION = 5,
  APNS_PUSH_TYPE_FILEPROVIDER = 6,
  APNS_PUSH_TYPE_MDM = 7,
  APNS_PUSH_TYPE_LIVEACTIVITY = 8,
  APNS_PUSH_TYPE_PUSHTOTALK = 9,
  APNS_PUSH_TYPE_WIDGETS = 10,
  APNS_PUSH_TYPE_CONTROLS = 11
} apns_push_type_t;

/** The type as APNs reads it, such as "alert"; "default", and "unlisted push type" for any
    other number. Static. */
const char *apns_push_type_text(apns_push_type_t type);

/** One notification to one device. */
typedef struct apns_notification {
  size_t size; /* set by APNS_NOTIFICATION_INIT */
  const void *token;
  size_t token_length; /* 1 to APNS_TOKEN_MAX */
  const void *payload; /* JSON, UTF-8, without a NUL at its end */
  size_t payload_length;
  void *user_data; /* comes back with the outcome, untouched */
  /* UNIX seconds, UTC, until which the gateway keeps trying. 0: not said
     (enhanced: as APNS_EXPIRY_ONCE, for the frame has no way to leave it out). No other
     number below 0 means anything, and is refused. */
  int64_t expiry;
  /* 10 at once, 5 power-considerate; 0: not said. Framed, and HTTP/2, where 1 is still
     more considerate. */
  uint8_t priority;
  uint8_t push_type;   /* apns_push_type_t. HTTP/2 only. */
  uint8_t reserved[6]; /* zero */

  /* HTTP/2 only, as the headers of these names (Sending notification requests to APNs);
     the binary interface has no way to say them, and a session of it passes over them.
     Each ends in NUL; "" is NULL. */
  const char *topic;       /* the app's; NULL: the session's, or the certificate's */
  const char *collapse_id; /* at most 64 bytes; takes the place of one that came before */
  const char *apns_id;     /* a UUID, in either case; NULL: APNs makes one */
} apns_notification_t;

#define APNS_NOTIFICATION_INIT                                                                    \
  {                                                                                               \
    sizeof(apns_notification_t), NULL, 0, NULL, 0, NULL, 0, 0, 0, {0, 0, 0, 0, 0, 0}, NULL, NULL, \
        NULL                                                                                      \
  }

/** For apns_session_send(): another notification follows at once, so this one may wait for it. */
#define APNS_SEND_MORE 1u

/**
 * Sends one notification.
 *
 * APNS_OK: the session took it, and it will have exactly one end; the bytes are
 * copied. Anything else: it was not taken, and nothing of it is on the wire.
 * APNS_ERR_ARGUMENT refuses what the gateway would (no token, too large a
 * payload), before it costs a connection, with the gateway's status in the error's `reject`,
 * and what the session's `checks` find. Without APNS_SEND_MORE what waits is
 * written before the call returns; with it, as soon as it fills a TLS record of
 * 16 KB, or with the next call that writes.
 *
 * APNS_ERR_FULL, of this and the other send functions: the window is full of outcomes that
 * wait to be taken. It is not retryable as it stands, for no waiting makes room: take outcomes
 * with apns_session_next_event() until it has none, and send the same notification again. A
 * program that sends more than its window holds needs that in its loop.
 *
 * A connection that fails meanwhile is replaced and what it lost is sent again
 * as the options say; an error says that there is none to be had. Where the
 * window is full the call waits for the gateway's word on what is in flight.
 *
 * `identifier_out` (which may be NULL) receives the number by which the
 * notification is known in its event: never 0, and not given twice before
 * 2^32 notifications have passed.
 */
apns_status_t apns_session_send(apns_session_t *session, const apns_notification_t *notification,
                                uint32_t flags, uint32_t *identifier_out, apns_error_t *error_out);

/**
 * Sends an array, in order, with the least work per notification.
 *
 * `taken_out` receives how many the session took: all with APNS_OK, else those
 * before the one the error is about: after APNS_ERR_FULL, take the outcomes and go on behind
 * those. Every element has the same `size`.
 */
apns_status_t apns_session_send_many(apns_session_t *session,
                                     const apns_notification_t *notifications, size_t count,
                                     uint32_t flags, size_t *taken_out, apns_error_t *error_out);

/**
 * Sends one notification as apns_session_send() does, with the payload of a builder,
 * which is written once and where it is sent from: into the session's window. The
 * notification's own `payload` is NULL and 0.
 *
 * APNS_ERR_ARGUMENT also where the payload is longer than its limit, or, shortened
 * already, than the session's payload_max. `cut_out` (which may be NULL) receives how
 * many bytes of its text were left off, as of apns_payload_write(). The payload stays
 * the caller's, to be changed for the next device.
 */
apns_status_t apns_session_send_payload(apns_session_t *session,
                                        const apns_notification_t *notification,
                                        const apns_payload_t *payload, uint32_t flags,
                                        uint32_t *identifier_out, size_t *cut_out,
                                        apns_error_t *error_out);

/**
 * Writes what APNS_SEND_MORE held back. An error loses nothing: the next call goes on
 * where this one stopped.
 */
apns_status_t apns_session_flush(apns_session_t *session, apns_error_t *error_out);

/**
 * Waits until the end of every notification is known.
 *
 * Returns APNS_OK then; APNS_ERR_TIMEOUT when `timeout_ms` passed first, or
 * another error when the gateway cannot be reached: what has no end yet stays
 * in the session. `unresolved_out` (which may be NULL) says how many. With the
 * simple format silence is no proof, so what the gateway took in silence ends
 * as unknown unless quiet_period_ms is set.
 */
apns_status_t apns_session_drain(apns_session_t *session, int32_t timeout_ms,
                                 size_t *unresolved_out, apns_error_t *error_out);

/** How a notification ended. */
typedef enum apns_event_kind {
  APNS_EVENT_ACCEPTED = 1, /* only with report_accepted */
  APNS_EVENT_REJECTED = 2, /* by the gateway; `reject` says why */
  APNS_EVENT_UNKNOWN = 3   /* the connection ended before the gateway's word, or the session did */
} apns_event_kind_t;

typedef struct apns_event {
  size_t size;    /* set by APNS_EVENT_INIT */
  int32_t kind;   /* apns_event_kind_t */
  int32_t reject; /* apns_reject_t */
  uint32_t identifier;
  uint32_t reserved32;
  void *user_data; /* the notification's */

  /* What the service answered; HTTP/2 only, else 0 and "". Of an unknown one `reason`,
     `http_status` and `reason_text` are its last answer by which it was to be tried again,
     such as TooManyProviderTokenUpdates; 0 and "" where it never said so. The text of a
     reason that is not listed is "" then. */
  int32_t reason;       /* apns_reason_t */
  uint16_t http_status; /* such as 200, 410 */
  uint16_t reserved16;
  int64_t timestamp; /* UNIX seconds since when the device is gone (410) */
  char apns_id[40];  /* of the notification: the caller's, or what the service gave it */
  /* As the service wrote it, for a reason that is not listed too; made safe as the message of
     apns_error_t. */
  char reason_text[64];
} apns_event_t;

#define APNS_EVENT_INIT                                            \
  {                                                                \
    sizeof(apns_event_t), 0, 0, 0, 0, NULL, 0, 0, 0, 0, {0}, { 0 } \
  }

/**
 * Takes the next outcome, in the order in which the notifications were sent; by HTTP/2 in
 * that of the answers.
 *
 * Waits up to `timeout_ms` for one, and writes and reconnects meanwhile. Where every
 * notification has its end there is nothing to wait for: it returns APNS_DONE at once,
 * whatever `timeout_ms`. With 0 it hears what has come, writes what is to prove by now (see
 * prove_after_ms), and neither waits nor connects. By HTTP/2, where 128 and more are in flight and
 * their answers come one by one, a wait here or elsewhere lets some gather, for up to 0.3 ms, and
 * reads them together. APNS_DONE: there is none. Works on a closed session too, and is how the ones
 * with no known end are got back there.
 */
apns_status_t apns_session_next_event(apns_session_t *session, apns_event_t *event_out,
                                      int32_t timeout_ms, apns_error_t *error_out);

/**
 * Counts since the session was made. A notification is in exactly one of accepted,
 * rejected, unknown, unresolved.
 */
typedef struct apns_session_stats {
  size_t size;    /* set by APNS_SESSION_STATS_INIT */
  uint64_t taken; /* by the send functions */
  uint64_t accepted;
  uint64_t rejected;
  uint64_t unknown;
  uint64_t unresolved; /* no end yet */
  uint64_t resent;     /* sendings again, one for each notification and time */
  uint64_t connects;   /* connections made, standby ones included */
  uint64_t bytes;      /* written, before encryption */
  uint64_t records;    /* writes, a TLS record each */
  uint64_t events;     /* outcomes waiting to be taken */
  uint64_t in_flight;  /* of the unresolved ones: written on a connection that is open */
  uint64_t window;     /* bytes of the window in use by unresolved ones */

  /* Each notification sent before the one with this identifier has its end; 0 where
     all have. What a caller keeps for a restart can be forgotten up to here. */
  uint32_t first_unresolved;
  uint32_t reserved32;
} apns_session_stats_t;

#define APNS_SESSION_STATS_INIT \
  { sizeof(apns_session_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/** Fills in the counts. Does no I/O. */
apns_status_t apns_session_stats(const apns_session_t *session, apns_session_stats_t *stats_out,
                                 apns_error_t *error_out);

/**
 * An SSL that stands for the session in code that pasted Apple's sendPayload(): the
 * functions of sendpayload.h know it, and send by the session, with its protocol and topic.
 * `struct ssl_st` is OpenSSL's SSL, from the credentials' SSL_CTX.
 *
 * Each call gives the same one. It is the session's: apns_session_free() frees it, nobody
 * else may, and it is not to be used afterwards. There is no connection behind it, so
 * OpenSSL's own functions (SSL_write, SSL_read, SSL_connect, SSL_shutdown) fail on it and do
 * nothing. NULL: the session is NULL, closed or the parent process's, or there is no memory.
 * For the rule of threads what is done with it is done with the session.
 */
struct ssl_st *apns_session_ssl(apns_session_t *session);

/**
 * Ends the connection gently, so that nothing in flight is destroyed, within
 * `timeout_ms`. What the gateway proves by its last word has its end; what has
 * none then becomes an APNS_EVENT_UNKNOWN, in order, for nothing is sent again.
 * Drain first to know all. The session takes no more notifications.
 */
apns_status_t apns_session_close(apns_session_t *session, int32_t timeout_ms,
                                 apns_error_t *error_out);

/**
 * Frees the session and everything it held, closing it without waiting where it is
 * open. NULL is fine.
 */
void apns_session_free(apns_session_t *session);

/* ---- Feedback ----------------------------------------------------------- */

#define APNS_FEEDBACK_HOST_PRODUCTION "feedback.push.apple.com"
#define APNS_FEEDBACK_HOST_SANDBOX "feedback.sandbox.push.apple.com"
#define APNS_PORT_FEEDBACK 2196

/** The feedback service's list of devices that are gone, as it is read. */
typedef struct apns_feedback apns_feedback_t;

typedef struct apns_feedback_options {
  size_t size; /* set by APNS_FEEDBACK_OPTIONS_INIT */

  const char *host;        /* name or address; NULL: APNS_FEEDBACK_HOST_PRODUCTION */
  const char *server_name; /* the name its certificate must carry; NULL: host */
  uint16_t port;           /* 0: APNS_PORT_FEEDBACK */
  uint16_t reserved16;     /* zero */

  uint32_t connect_timeout_ms; /* name, connection and handshake together; 0: 10,000 */
  uint32_t read_timeout_ms;    /* for a whole apns_feedback_next(); 0: 10,000 */
  uint32_t reserved32;         /* zero */

  /* As in apns_session_options_t. */
  const char *proxy_host;
  const char *proxy_user;
  const char *proxy_password;
  uint16_t proxy_port;
  uint16_t reserved[3]; /* zero */

  /* A session over HTTP/2, where Apple has no feedback service: its own list is read, see
     apns_feedback_open(). NULL, and one over the binary interface: the service's. */
  apns_session_t *session;

  /* A list that has no end is broken off when its calls have taken so many ms together, or
     have told of so many devices; 0: 600,000 (ten minutes) and 10,000,000. */
  uint32_t list_timeout_ms;
  uint32_t tuples_max;

  /* As in apns_session_options_t. With wait_max_ms apns_feedback_open() only begins to connect:
     apns_feedback_connect() goes on with it. */
  uint32_t wait_max_ms;
  uint32_t reserved32b; /* zero */
  apns_lookup_t lookup;
  void *lookup_context;
} apns_feedback_options_t;

#define APNS_FEEDBACK_OPTIONS_INIT                                                              \
  {                                                                                             \
    sizeof(apns_feedback_options_t), NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL, NULL, 0, {0, 0, 0}, \
        NULL, 0, 0, 0, 0, NULL, NULL                                                            \
  }

/** A device on which the app no longer is. */
typedef struct apns_feedback_tuple {
  size_t size;        /* set by APNS_FEEDBACK_TUPLE_INIT */
  uint32_t timestamp; /* UNIX seconds at which it was found gone; later registrations count */
  uint32_t reserved32;
  const uint8_t *token; /* the library's, until the next call with this feedback */
  size_t token_length;
} apns_feedback_tuple_t;

#define APNS_FEEDBACK_TUPLE_INIT \
  { sizeof(apns_feedback_tuple_t), 0, 0, NULL, 0 }

/**
 * Connects to the feedback service. Reading its list clears it there.
 *
 * `options` may be NULL: Apple's production service. `credentials` are the ones
 * the provider pushes with, and may be freed before the feedback. On success
 * the caller owns `*feedback_out`.
 *
 * With an HTTP/2 session in the options it does no I/O, all else in them is passed
 * over, and `credentials` may be NULL. The list has the devices that the session was
 * told are gone (410 with Unregistered or ExpiredToken), each once, with the last time
 * the service gave, in seconds, or that of its answer where it gave none. A tuple
 * that is taken is no longer in the list, one that is not stays for the next feedback.
 * It keeps 65,536 devices, some 80 bytes each; of another one the service tells again
 * with the next push to it. The session may be closed, or freed first; for the rule of
 * threads the feedback is a part of it.
 */
apns_status_t apns_feedback_open(const apns_feedback_options_t *options,
                                 const apns_credentials_t *credentials,
                                 apns_feedback_t **feedback_out, apns_error_t *error_out);

/**
 * Goes on with the connection that apns_feedback_open() began under the option wait_max_ms:
 * APNS_ERR_TIMEOUT while it is under way, within connect_timeout_ms. APNS_OK: there is one, as
 * always without that option, or the list is a session's. apns_feedback_next() does the same
 * where it was not called.
 */
apns_status_t apns_feedback_connect(apns_feedback_t *feedback, apns_error_t *error_out);

/**
 * Takes the next tuple, in the service's order. APNS_DONE: the list has ended; that of
 * an HTTP/2 session for now, and what it is told later comes with a later call.
 *
 * Waits for a whole tuple for read_timeout_ms at most, however its bytes come; after
 * APNS_ERR_TIMEOUT the next call goes on. Where the connection died, the whole tuples
 * come first, then the error: with APNS_ERR_PROTOCOL it broke off in the middle of a tuple,
 * or was broken off for what the options allow (list_timeout_ms, tuples_max). The same
 * answer is given to every call after it.
 */
apns_status_t apns_feedback_next(apns_feedback_t *feedback, apns_feedback_tuple_t *tuple_out,
                                 apns_error_t *error_out);

/** Frees the feedback and closes its connection. NULL is fine. */
void apns_feedback_free(apns_feedback_t *feedback);

#ifdef __cplusplus
}
#endif

#endif
