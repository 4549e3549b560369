/*
 * libapns: push notifications to Apple devices, from C.
 *
 * A provider is a server that pushes. It opens a session, sends, and learns the
 * outcome of every notification it sent:
 *
 *     apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
 *     who.token_key_file = "AuthKey_ABC123DEFG.p8"; // or who.certificate_file
 *     who.key_id = "ABC123DEFG", who.team_id = "DEF123GHIJ";
 *     apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
 *     where.topic = "com.example.app";
 *     apns_credentials_t *credentials = NULL;
 *     apns_session_t *session = NULL;
 *     apns_error_t error = APNS_ERROR_INIT;
 *     apns_notification_t push = APNS_NOTIFICATION_INIT;
 *     push.token = token, push.token_length = 32;
 *     push.payload = json, push.payload_length = strlen(json);
 *     if (apns_credentials_new(&who, &credentials, &error) ||
 *         apns_session_new(&where, credentials, &session, &error) ||
 *         apns_session_push(session, &push, 10000, &event, &error))
 *       fprintf(stderr, "%s\n", error.message);
 *     else if (apns_event_describe(&event, text, sizeof text))
 *       puts(text);
 *     apns_session_free(session);
 *     apns_credentials_free(credentials);
 *
 * Protocols. APNs speaks HTTP/2, and so does a session. With APNS_PROTOCOL_BINARY it speaks
 * the binary interface, for other gateways: a simulator, a private gateway, a relay. Apple
 * switched its own off in 2021.
 *
 * Nouns. apns_credentials_t identifies the provider and holds its trusted CA certificates,
 * apns_session_t sends, apns_channels_t manages the channels that broadcasts go to,
 * apns_feedback_t (binary.h) lists the devices that are gone. All are opaque. A _new or _open
 * function makes one, and _free frees it; _free takes NULL.
 *
 * Outcomes. Every notification that a send function took has exactly one outcome
 * (apns_event_kind_t); see apns_session_next_event(), or the option on_outcome for a callback. If
 * a send function refuses a notification, it was not taken and stays with the caller.
 *
 * Threads. Use a session, a feedback or channels on one thread at a time; different ones are
 * independent. Any thread may read a session's counts (apns_session_stats(),
 * apns_session_metrics()) and wake it (apns_session_wake()) until it is freed. A callback that
 * calls its own session gets APNS_ERR_ARGUMENT. Credentials never change once made, and any number
 * of threads may share them. The library starts no threads.
 *
 * Ownership. The library borrows the bytes and strings that it is given, for the call
 * only. Memory that it returns belongs to the library and is valid as long as its
 * comment says. Never pass a pointer from the library to free().
 *
 * Fork. An object (a session, a feedback, channels) that is used in a child of the process
 * that made it does no I/O and returns APNS_ERR_FORKED. Freeing it there leaves the parent's
 * connection alone.
 *
 * Signals. The library never raises SIGPIPE and never changes what the program does on
 * a signal. A wait that a signal interrupts continues until its deadline.
 *
 * Times are in milliseconds. A timeout argument of 0 does not wait; APNS_TIMEOUT_INFINITE waits
 * for ever, and APNS_TIMEOUT_DEFAULT for the session's connect_timeout_ms, write_timeout_ms and
 * answer_timeout_ms together, 50 seconds unless set. A call without such an argument waits for at
 * most connect_timeout_ms and write_timeout_ms together.
 *
 * Versions. Every structure begins with its size, set by its INIT macro, so a program keeps
 * working with a newer library; apns_peer_t, a part of others, has reserved fields instead of a
 * size. Zero in any other field means its default. An impossible size (smaller than in 0.1, or in
 * the middle of a field) is APNS_ERR_ARGUMENT. So are, in structures that the library reads, a
 * nonzero reserved field, and anything but zero after the known fields. The message names the
 * fault. An apns_error_t with such a size is left unchanged. The interface is this file, binary.h
 * and sendpayload.h, and nothing else.
 */
#ifndef APNS_APNS_H
#define APNS_APNS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct addrinfo;
struct apns_binary_options;
struct apns_event;
struct evp_pkey_st;

#define APNS_VERSION_MAJOR 0
#define APNS_VERSION_MINOR 2
#define APNS_VERSION_PATCH 0
#define APNS_VERSION_STRING "0.2.0"
/** The header's version as one number, 0xMMmmpp, for #if. */
#define APNS_VERSION_NUM \
  ((APNS_VERSION_MAJOR << 16) | (APNS_VERSION_MINOR << 8) | APNS_VERSION_PATCH)

/** The version of the library in use, such as "0.2.0"; APNS_VERSION_STRING is the header's. */
const char *apns_version(void);

/** HTTP/2 is built in: sessions over it, and channels. */
#define APNS_FEATURE_HTTP2 0x1u
/** c-ares is built in: names are looked up without blocking. */
#define APNS_FEATURE_CARES 0x2u
/** The binary interface is built in: sessions over it, <apns/binary.h> and <apns/sendpayload.h>. */
#define APNS_FEATURE_BINARY 0x4u

/** Returns the features that the library in use was built with: APNS_FEATURE_* bits. Later
 * versions may set more bits. */
uint32_t apns_features(void);

/** Timeout arguments. Other negative numbers are APNS_TIMEOUT_DEFAULT. */
#define APNS_TIMEOUT_INFINITE (-1)
#define APNS_TIMEOUT_DEFAULT (-2)

/* ---- Status and errors -------------------------------------------------- */

/** How a call ended. */
typedef enum apns_status {
  APNS_OK = 0,
  APNS_DONE = -1,             /* nothing to take: the list has ended, or no outcome came in time */
  APNS_ERR_ARGUMENT = -2,     /* a mistake of the caller; retrying cannot help */
  APNS_ERR_BUFFER_SMALL = -3, /* the call returns how many bytes it needs */
  APNS_ERR_MEMORY = -4,       /* no memory, or no descriptor to open a file with (sys_errno) */
  APNS_ERR_TIMEOUT = -5,      /* a deadline passed; nothing is lost */
  APNS_ERR_NETWORK = -6,      /* name, connection or peer failed; sys_errno may have the reason */
  APNS_ERR_TLS = -7,          /* handshake or verification failed; tls_code may have the reason */
  APNS_ERR_CREDENTIALS = -8,  /* a certificate, a key or trust anchors cannot be used */
  APNS_ERR_PROTOCOL = -9,     /* the peer broke the protocol */
  APNS_ERR_FULL = -10,        /* outcomes are waiting: take them with apns_session_next_event() */
  APNS_ERR_CLOSED = -11,      /* the session was closed */
  APNS_ERR_FORKED = -12,      /* made by another process, before a fork() */
  APNS_ERR_AGAIN = -13, /* `nonblocking`: not yet; continue after waiting for apns_session_fd() */
  APNS_ERR_REJECTED = -14, /* channels: APNs refused it, see apns_channels_response() */
  APNS_ERR_IN_DOUBT = -15  /* channels: no answer, and it may have been done: list them first */
} apns_status_t;

/** The status's name, such as "APNS_ERR_TIMEOUT"; "unknown status" for any other number. Static. */
const char *apns_status_name(apns_status_t status);

/**
 * 1 if the same call may succeed later without a change by the caller: APNS_ERR_MEMORY,
 * APNS_ERR_TIMEOUT, APNS_ERR_NETWORK and APNS_ERR_AGAIN. 0 for all others: APNS_DONE is
 * not a failure, and after APNS_ERR_FULL the caller has to take outcomes first.
 */
int apns_status_is_retryable(apns_status_t status);

/**
 * Why the gateway refused a notification. The numbers are those of Apple's error-response
 * packet (Binary Provider API, table of status codes).
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
  APNS_REJECT_SHUTDOWN = 10,     /* the gateway is going away; never the fault of a notification */
  APNS_REJECT_PROTOCOL_ERROR = 128,
  APNS_REJECT_UNKNOWN = 255
} apns_reject_t;

/**
 * The reason in words, such as "invalid token"; "unlisted status" for a number Apple
 * never listed. Static.
 */
const char *apns_reject_text(apns_reject_t reject);

/**
 * Why today's APNs refused a notification, in its own words (Handling notification responses
 * from APNs, "reason"); HTTP/2 only. The numbers are the library's own and never change. A
 * library that was built without HTTP/2 never reports one, and the functions below treat all
 * but APNS_REASON_NONE as not listed.
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
  /* For broadcasts and channels (Handling error responses from APNs). */
  APNS_REASON_MISSING_CHANNEL_ID = 33,
  APNS_REASON_BAD_CHANNEL_ID = 34, /* not base64, or longer than APNs allows */
  APNS_REASON_CHANNEL_NOT_REGISTERED = 35,
  APNS_REASON_CANNOT_CREATE_CHANNEL_CONFIG = 36, /* the app has its 10,000 channels */
  APNS_REASON_FEATURE_NOT_ENABLED = 37,          /* broadcasts are not enabled for the app */
  APNS_REASON_MISSING_PUSH_TYPE = 38,
  APNS_REASON_TOPIC_MISMATCH = 39,
  APNS_REASON_OTHER = 255 /* a reason that is not listed here */
} apns_reason_t;

/**
 * The reason as APNs writes it, such as "BadDeviceToken". "none" for APNS_REASON_NONE, and
 * "other" for every number that is not listed. Static.
 */
const char *apns_reason_text(apns_reason_t reason);

/**
 * The reason for APNs's text, compared letter for letter; APNS_REASON_OTHER for any other text
 * and for NULL. Any thread.
 */
apns_reason_t apns_reason_from_text(const char *text, size_t length);

/**
 * The HTTP status that APNs answers with for this reason, such as 400; 0 if the reason is not
 * listed.
 */
int apns_reason_http_status(apns_reason_t reason);

/**
 * The status of the binary interface that corresponds to this reason, for a program that knows
 * only those. APNS_REJECT_INVALID_TOKEN means a fault of the token and nothing else. If neither
 * the token nor the payload is at fault, it is APNS_REJECT_SHUTDOWN or
 * APNS_REJECT_PROCESSING_ERROR. A device that is gone (410) is APNS_REJECT_NONE: the feedback
 * lists it. APNS_REASON_OTHER is APNS_REJECT_UNKNOWN.
 */
apns_reject_t apns_reason_reject(apns_reason_t reason);

/**
 * What exactly went wrong, for a program to switch on: the `cause` of an apns_error_t. The
 * status shows what a program can do next, and the cause why. The message is for people, and
 * its words may change in any version.
 *
 * The numbers are the library's own and never change. A later version may add some, so a
 * program handles a number that it does not know by the status alone. A failure with one of the
 * statuses MEMORY, TIMEOUT, NETWORK, TLS, CREDENTIALS and PROTOCOL always has a cause. In the
 * comments "the peer" is the gateway or server that the session or the feedback connects to.
 */
typedef enum apns_cause {
  /* The status is enough: ARGUMENT (the message names the argument), BUFFER_SMALL, FULL, CLOSED or
     FORKED. */
  APNS_CAUSE_NONE = 0,

  /* This machine. */

  /* There is not enough memory (MEMORY). Free some, or try again later. */
  APNS_CAUSE_MEMORY = 1,
  /* The process or the system has no file descriptor left: MEMORY if the library was opening a
     file, NETWORK if a socket. Raise the limit (ulimit -n), or look for descriptors that are
     never closed. */
  APNS_CAUSE_DESCRIPTORS = 2,

  /* The way to the peer (NETWORK). If a proxy is set, the name is the proxy's. */

  /* The name service knows no address for the name. Check `host` or `proxy` for typing
     errors. */
  APNS_CAUSE_NAME_NOT_FOUND = 3,
  /* The name could not be looked up: no name server answers. Check /etc/resolv.conf and the
     network, then try again. */
  APNS_CAUSE_LOOKUP_FAILED = 4,
  /* Nothing listens at that port. Check `port`, and that the peer is up. */
  APNS_CAUSE_CONNECTION_REFUSED = 5,
  /* This machine has no route to the address. Check the routes and, for an IPv6 address, IPv6. */
  APNS_CAUSE_UNREACHABLE = 6,
  /* The connection failed for another reason, which sys_errno gives. EACCES or EPERM: a
     firewall on this machine. */
  APNS_CAUSE_CONNECTION_FAILED = 7,
  /* An open connection was lost. sys_errno is ECONNRESET if it was reset, and 0 if the peer
     closed it without an error. A session reconnects automatically. Also PROTOCOL: a feedback list
     that stops in the middle of a tuple. */
  APNS_CAUSE_CONNECTION_LOST = 8,

  /* Time ran out (TIMEOUT). Nothing is lost, and the call may be repeated. While the session
     waits to reconnect, the cause is that of the last connection's failure, if known. */

  /* No name server answered within connect_timeout_ms, or the caller's own apns_lookup_t gave no
     answer. Check /etc/resolv.conf and the network. */
  APNS_CAUSE_LOOKUP_TIMEOUT = 9,
  /* The connection was not made in time. Usually a firewall drops the packets: open the port,
     try another one (APNS_PORT_HTTP2_OTHER), or use a proxy. */
  APNS_CAUSE_CONNECT_TIMEOUT = 10,
  /* The proxy accepted the connection, but did not connect to the peer in time. */
  APNS_CAUSE_PROXY_TIMEOUT = 11,
  /* The peer accepted the connection, but did not finish the TLS handshake in time. Check that
     the port speaks TLS. */
  APNS_CAUSE_HANDSHAKE_TIMEOUT = 12,
  /* The peer took no data for write_timeout_ms, or until the call's time ran out. */
  APNS_CAUSE_WRITE_TIMEOUT = 13,
  /* The peer's answer did not come in time: to notifications in flight, with the next feedback
     tuple, or to the close of a connection. */
  APNS_CAUSE_ANSWER_TIMEOUT = 14,
  /* The session pauses before it reconnects: see connects_per_minute and reconnect_pause_max_ms. */
  APNS_CAUSE_RECONNECT_PAUSE = 15,

  /* The proxy (NETWORK). */

  /* The proxy itself cannot be reached; sys_errno has the reason, and the status is TIMEOUT if it
     is ETIMEDOUT. Check `proxy`. */
  APNS_CAUSE_PROXY_UNREACHABLE = 16,
  /* The proxy closed the connection, or its answer did not end. */
  APNS_CAUSE_PROXY_LOST = 17,
  /* The server at the proxy's port is not an HTTP proxy. */
  APNS_CAUSE_PROXY_NOT_HTTP = 18,
  /* The proxy wants a user and password (407). Put them into `proxy`, or correct them. */
  APNS_CAUSE_PROXY_AUTHENTICATION = 19,
  /* The proxy does not allow the connection (any answer but 2xx, 407 and 5xx). Ask its operator
     to allow CONNECT to the peer. */
  APNS_CAUSE_PROXY_REFUSED = 20,
  /* The proxy cannot reach the peer either (5xx). */
  APNS_CAUSE_PROXY_NO_ROUTE = 21,

  /* The peer's certificate (TLS). The message names the certificate. */

  /* A certificate of its chain has expired, by this machine's clock. */
  APNS_CAUSE_PEER_EXPIRED = 22,
  /* A certificate of its chain is not yet valid, by this machine's clock. */
  APNS_CAUSE_PEER_NOT_YET_VALID = 23,
  /* It is for names other than `server_name`, or `host` if that is NULL. */
  APNS_CAUSE_PEER_NAME = 24,
  /* Its chain does not end at a trust anchor. Set ca_file to the authority that issued it,
     update the system's store, or make the peer send its whole chain. */
  APNS_CAUSE_PEER_NOT_TRUSTED = 25,
  /* A certificate of its chain is in a revocation list. */
  APNS_CAUSE_PEER_REVOKED = 26,
  /* crl_file and crl_directory have no currently valid list for a certificate of its chain. */
  APNS_CAUSE_PEER_REVOCATION_LIST = 27,
  /* Its chain has none of the pinned_keys: the peer has a new key, or is somebody else. */
  APNS_CAUSE_PEER_NOT_PINNED = 28,
  /* It is refused for another reason: a weak key or signature, a certificate that is not for
     servers. The message quotes OpenSSL. */
  APNS_CAUSE_PEER_UNFIT = 29,

  /* The TLS handshake (TLS, unless noted otherwise). If the peer sent an alert, tls_code is
     OpenSSL's code for it, and the alert's number (RFC 8446, 6) is (tls_code & 0xFFF) - 1000, as
     ERR_GET_REASON() returns it: 1042 is alert 42, bad_certificate. With TLS 1.3 the peer checks
     the provider's certificate after the handshake, so its alert may come from any later call. */

  /* The peer closed or reset the connection during the handshake (NETWORK). A firewall or a
     list of allowed addresses may cause that. */
  APNS_CAUSE_HANDSHAKE_ENDED = 30,
  /* The server at that port does not speak TLS. Check `port`. */
  APNS_CAUSE_NOT_TLS = 31,
  /* Peer and provider have no TLS version in common (alert 70, or the peer chose a version below
     tls_min). Usually the peer's versions are too old. */
  APNS_CAUSE_TLS_VERSION = 32,
  /* The peer does not speak HTTP/2: alert 120, or PROTOCOL if it chose another protocol, as
     http/1.1, or none. */
  APNS_CAUSE_NO_HTTP2 = 33,
  /* The peer wants a certificate, and the credentials do not have one (alert 116, or any alert that
     peers use for this after they requested one). Set certificate_file. */
  APNS_CAUSE_CERTIFICATE_WANTED = 34,
  /* The peer refused the provider's certificate (alerts 42 to 46, 48 and 49). Check that it is
     a push certificate for this app and environment, and has not expired. If the connection was
     already open, the peer looked at nothing that was sent on it. */
  APNS_CAUSE_CERTIFICATE_REFUSED = 35,
  /* The peer sent another alert. NETWORK: it came on a resumed connection; the next connection
     makes a full handshake and shows more. */
  APNS_CAUSE_ALERT = 36,
  /* TLS failed on this side for another reason: no cipher in common, a broken record. The
     message quotes OpenSSL. */
  APNS_CAUSE_TLS_FAILED = 37,

  /* What the peer sends (PROTOCOL). The session drops the connection and makes a new one. */

  /* It breaks the protocol: its data is not an error packet, not HTTP/2, or a tuple without a
     token. Check `protocol` and `port`. */
  APNS_CAUSE_PROTOCOL = 38,
  /* It does not stop sending, or sends far more than was requested. */
  APNS_CAUSE_FLOOD = 39,

  /* Certificates, keys and other files (CREDENTIALS, unless noted otherwise). The message names the
     file. */

  /* The file cannot be opened or read; sys_errno has the reason: ENOENT, EACCES. ARGUMENT for a
     strings file. */
  APNS_CAUSE_FILE_UNREADABLE = 40,
  /* The file's content is broken or too large. */
  APNS_CAUSE_FILE_MALFORMED = 41,
  /* The file holds no certificate. ARGUMENT: the binary interface needs a certificate, and the
     credentials have only a key for provider tokens; or Apple's service needs either, and they
     have neither. */
  APNS_CAUSE_CERTIFICATE_MISSING = 42,
  /* The file holds no private key. Set key_file, or export the certificate with its key. */
  APNS_CAUSE_KEY_MISSING = 43,
  /* The private key does not belong to the certificate. */
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
  /* OpenSSL refuses the certificate or its chain, usually for a short key or SHA-1: see
     security_level. */
  APNS_CAUSE_CERTIFICATE_UNFIT = 52,
  /* ca_file holds no certificate in PEM. */
  APNS_CAUSE_CA_MISSING = 53,
  /* crl_file holds no revocation list in PEM, or a broken one. */
  APNS_CAUSE_REVOCATION_LIST = 54,

  /* Arguments that a program may take from its users (ARGUMENT). */

  /* key_id or team_id is missing, or not 10 letters and digits. */
  APNS_CAUSE_TOKEN_IDENTIFIER = 55,
  /* The topic is empty, missing or too long, or has a character that no topic may have. */
  APNS_CAUSE_TOPIC = 56,
  /* The options require HTTP/2 or a provider token, and this library was built without HTTP/2. */
  APNS_CAUSE_HTTP2_NOT_BUILT_IN = 57,

  /* The provider token. */

  /* The credentials' token_callback or sign_callback gave no token or signature (CREDENTIALS), or
     no token for the moment (TIMEOUT). The message has the callback's own words. Nothing is lost: a
     call that comes later, by a second or renew_after_s, calls it again. */
  APNS_CAUSE_PROVIDER_TOKEN = 58,
  /** The certificate's file or bytes hold several certificates for pushing, each with its key and
      for another app or environment. Keep one of them. */
  APNS_CAUSE_SEVERAL_IDENTITIES = 59,
  /* The options require the binary interface, and this library was built without it (ARGUMENT). */
  APNS_CAUSE_BINARY_NOT_BUILT_IN = 60
} apns_cause_t;

/** The cause's name, such as "APNS_CAUSE_PEER_EXPIRED"; "unknown cause" for any other number.
    Static. */
const char *apns_cause_name(apns_cause_t cause);

/** Why messages do not quote this text: somebody may have given a private key where a name belongs,
    and messages go to terminals and logs. NULL: they quote it. Otherwise a few words, such as
   "PEM"; static. It is PEM or the beginning of it, has line breaks or other control characters, has
   as many digits of base64 as a key, has a user's password before a host, or is longer than a path.
    The library's own messages follow this; a program may for its own. Any thread. */
const char *apns_why_unquoted(const void *text, size_t length);

/**
 * What went wrong, in detail. Pass one, set up by APNS_ERROR_INIT, to any call, or NULL if the
 * status is enough. A call that fails fills it in; a call that succeeds leaves it unchanged.
 */
typedef struct apns_error {
  size_t size;       /* set by APNS_ERROR_INIT */
  int32_t status;    /* apns_status_t */
  int32_t sys_errno; /* errno; 0 if the system was not at fault */
  uint64_t tls_code; /* OpenSSL's error code, or its code for an alert, see apns_cause_t; 0: none */
  /* apns_reject_t: if this call refused a notification or the text of a device token, the
     status that a gateway would have refused it with, so that one table in a program serves
     both. 0: the error is about something else, or gateways have no status for it. */
  int32_t reject;
  int32_t cause; /* apns_cause_t; 0 if the status is enough */
  /* One line of UTF-8 that ends in NUL and never holds a secret. In text from others (names,
     keys, subjects, a proxy's words) a question mark replaces each byte that is not UTF-8 and
     each character that would control how the line is shown: controls, line ends, and changes
     of the direction of writing. */
  char message[240];
} apns_error_t;

#define APNS_ERROR_INIT                        \
  {                                            \
    sizeof(apns_error_t), 0, 0, 0, 0, 0, { 0 } \
  }

/* ---- Device tokens ------------------------------------------------------ */

/**
 * The longest device token the protocol carries, in bytes. Tokens had 32 bytes for years; do
 * not rely on that.
 */
#define APNS_TOKEN_MAX 100

/**
 * Turns a device token written in hex into bytes. Digits may be in either case, with the angle
 * brackets and spaces that NSData prints.
 *
 * Writes at most `capacity` bytes to `token_out` and their number to `length_out`.
 * APNS_ERR_ARGUMENT: the text has any other character, an odd number of digits, no digits, or
 * more than APNS_TOKEN_MAX bytes; the message names the character and its position, counted
 * from 0. If the buffer is too small (NULL and 0 will do), the call returns
 * APNS_ERR_BUFFER_SMALL, and `length_out` receives how many bytes it needs. Any thread.
 */
apns_status_t apns_token_from_hex(const char *text, size_t text_length, uint8_t *token_out,
                                  size_t capacity, size_t *length_out, apns_error_t *error_out);

/**
 * Writes a device token as lowercase hex and a NUL to `text_out`.
 *
 * Needs 2 * token_length + 1 bytes. With fewer the call returns APNS_ERR_BUFFER_SMALL and
 * writes nothing, and `length_out` (which may be NULL) receives how many it needs. On
 * success `length_out` is the text's length without the NUL. Any thread.
 */
apns_status_t apns_token_to_hex(const void *token, size_t token_length, char *text_out,
                                size_t capacity, size_t *length_out, apns_error_t *error_out);

/**
 * Turns a device token written in base64 into bytes: the standard alphabet (RFC 4648, section
 * 4; `+` and `/`), with or without padding. Spaces and line breaks are not allowed.
 *
 * Buffer, lengths and errors are those of apns_token_from_hex(). Half a padding, a `=`
 * elsewhere, and a last digit with bits that fit in no byte are errors too; the last is how a
 * text that was cut shows. Any thread.
 */
apns_status_t apns_token_from_base64(const char *text, size_t text_length, uint8_t *token_out,
                                     size_t capacity, size_t *length_out, apns_error_t *error_out);

/**
 * Writes a device token as base64 with padding, and a NUL, to `text_out`. It needs 4 bytes for
 * each 3 bytes of the token, or part of 3, and 1 more. Otherwise as apns_token_to_hex().
 */
apns_status_t apns_token_to_base64(const void *token, size_t token_length, char *text_out,
                                   size_t capacity, size_t *length_out, apns_error_t *error_out);

/* ---- Localized strings -------------------------------------------------- */

/**
 * A Localizable.strings file, in which a device looks up a loc-key. A provider that has the
 * app's file can write the text itself, or see what a loc-key will look like. It never changes
 * once made, and any number of threads may use it.
 */
typedef struct apns_strings apns_strings_t;

/**
 * Reads a strings file from memory: UTF-8, or UTF-16 in either byte order with a byte order
 * mark.
 *
 * The grammar is that of the device's parser (CFOldStylePList.c): `"key" = "value";`, comments
 * of both kinds, single quotes too, no quotes needed around letters, digits and `_ $ / : . -`,
 * `"key";` for a key that is its own value, braces around the whole, and of equal keys the last
 * one counts. Escapes are \\ \" \' \a \b \f \n \r \t \v, \U with four hex digits (surrogates in
 * pairs), one to three octal digits (a character of NeXTSTEP's set), and a line break. A
 * mistake that makes the device skip something or leave out the rest is APNS_ERR_ARGUMENT: any
 * other escape, an unclosed comment or string, broken UTF-8 or UTF-16, a value that is not a
 * text. The message gives line and column, counted in characters from 1. Property lists in XML
 * or binary are refused, and files larger than 16 MiB.
 *
 * On success the caller owns `*strings_out`. Any thread.
 */
apns_status_t apns_strings_new(const void *bytes, size_t length, apns_strings_t **strings_out,
                               apns_error_t *error_out);

/** Reads a strings file by its name; otherwise as apns_strings_new(). Messages name the file. */
apns_status_t apns_strings_open(const char *file, apns_strings_t **strings_out,
                                apns_error_t *error_out);

/**
 * Gives the value of a key, as UTF-8 with a NUL after it; `length_out`, which may be NULL,
 * does not count the NUL. The text belongs to the strings and is valid as long as they are. A
 * key that is not there is APNS_ERR_ARGUMENT. Any thread.
 */
apns_status_t apns_strings_get(const apns_strings_t *strings, const char *key, size_t key_length,
                               const char **text_out, size_t *length_out, apns_error_t *error_out);

/**
 * Writes the value of a key with `args` filled in, and a NUL, to `text_out`. `%@` takes the
 * next argument, `%n$@` the n-th, counted from 1, and `%%` is a percent sign (Local and Push
 * Notification Programming Guide, "Localized Formatted Strings"). `%@` does not skip an
 * argument that was taken by its number, and numbers may be missing. Arguments are UTF-8 and
 * end in NUL, and there may be more than the value needs.
 *
 * APNS_ERR_ARGUMENT: the key does not exist, there are too few arguments, or a `%` stands
 * before anything else; the message gives its line and column in the file. If the buffer is too
 * small (NULL and 0 will do), the call returns APNS_ERR_BUFFER_SMALL and writes nothing, and
 * `length_out`, which may be NULL, receives how many bytes it needs. On success `length_out` is
 * the text's length without the NUL. Allocates nothing. Any thread.
 */
apns_status_t apns_strings_format(const apns_strings_t *strings, const char *key, size_t key_length,
                                  const char *const *args, size_t arg_count, char *text_out,
                                  size_t capacity, size_t *length_out, apns_error_t *error_out);

/** Frees the strings. NULL is fine. */
void apns_strings_free(apns_strings_t *strings);

/* ---- Payload ------------------------------------------------------------ */

/**
 * A payload builder. It writes compact JSON in UTF-8 without needless escapes: `aps`
 * first, and in every object the keys in the order in which they were first set. The
 * same calls make the same bytes.
 *
 *     char json[APNS_PAYLOAD_MAX_HTTP2];
 *     size_t length = 0;
 *     if (apns_payload_new(NULL, &payload, &error) ||
 *         apns_payload_set_string(payload, APNS_KEY_TITLE, "Chess", 5, &error) ||
 *         apns_payload_set_string(payload, APNS_KEY_BODY, text, strlen(text), &error) ||
 *         apns_payload_set_integer(payload, APNS_KEY_BADGE, 9, &error) ||
 *         apns_payload_add_string(payload, "game", 4, id, strlen(id), &error) ||
 *         apns_payload_write(payload, json, sizeof json, &length, NULL, &error))
 *       fprintf(stderr, "%s\n", error.message);
 *
 * One payload serves any number of notifications: write it, set what is different for
 * the next device, write it again; or reset it and start again. Once it has reached its
 * largest size, none of these calls allocates memory. To send it by a session,
 * apns_session_send_payload() needs neither the array nor the copy.
 *
 * Strings are UTF-8 with their length in bytes, and are copied. A call that fails
 * changes nothing, and the message of APNS_ERR_ARGUMENT names the key. One thread at a
 * time per payload.
 */
typedef struct apns_payload apns_payload_t;

/* How long a payload may be, in bytes. */
#define APNS_PAYLOAD_MAX_LISTING 256 /* in Apple's listings, and before iOS 8 */
#define APNS_PAYLOAD_MAX_FRAMED 2048 /* binary interface (Binary Provider API) */
#define APNS_PAYLOAD_MAX_HTTP2 4096
#define APNS_PAYLOAD_MAX_VOIP 5120
#define APNS_PAYLOAD_MAX_BROADCAST 5120

typedef struct apns_payload_options {
  size_t size; /* set by APNS_PAYLOAD_OPTIONS_INIT */

  /* In bytes; 0: what the session and the push type allow, see payload_max, and
     APNS_PAYLOAD_MAX_HTTP2 in apns_payload_write(). */
  size_t limit;

  /* Put at the end of a shortened text; NULL and 0: an ellipsis, U+2026; "" and 0: nothing. */
  const char *suffix;
  size_t suffix_length;

  /* Not 0: if the payload is too long, its text is shortened to fit: the alert or its body, or,
     if there is neither, the last of loc-args. */
  int32_t truncate;
  int32_t reserved32; /* zero */
} apns_payload_options_t;

#define APNS_PAYLOAD_OPTIONS_INIT \
  { sizeof(apns_payload_options_t), 0, NULL, 0, 0, 0 }

/**
 * Makes an empty payload, `{"aps":{}}`. `options` may be NULL: the limit is then what APNs
 * allows, and a longer payload is an error. On success the caller owns `*payload_out`.
 */
apns_status_t apns_payload_new(const apns_payload_options_t *options, apns_payload_t **payload_out,
                               apns_error_t *error_out);

/** Removes all keys and keeps options and memory. NULL is fine. */
void apns_payload_reset(apns_payload_t *payload);

/** Frees the payload. NULL is fine. */
void apns_payload_free(apns_payload_t *payload);

/**
 * Apple's keys (Local and Remote Notification Programming Guide, Payload Key Reference),
 * grouped by the functions that set them.
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
  APNS_KEY_SOUND = 13, /* "default", or a sound of the app; see set_critical_sound too */
  APNS_KEY_CATEGORY = 14,
  APNS_KEY_THREAD_ID = 15,
  APNS_KEY_TARGET_CONTENT_ID = 16,
  APNS_KEY_INTERRUPTION_LEVEL = 17, /* "passive", "active", "time-sensitive" or "critical" */
  APNS_KEY_FILTER_CRITERIA = 18,
  /* apns_payload_set_strings() */
  APNS_KEY_URL_ARGS = 19, /* Safari's web push */
  /* apns_payload_set_integer() */
  APNS_KEY_BADGE = 20,             /* 0 removes the badge */
  APNS_KEY_CONTENT_AVAILABLE = 21, /* 1 */
  APNS_KEY_MUTABLE_CONTENT = 22,   /* 1 */
  /* apns_payload_set_double() */
  APNS_KEY_RELEVANCE_SCORE = 23,

  /* Of Live Activities (Apple: Starting and updating Live Activities with ActivityKit push
     notifications). Times are UNIX seconds. */
  APNS_KEY_TIMESTAMP = 24,          /* set_integer(): when it was sent; an older one is ignored */
  APNS_KEY_EVENT = 25,              /* set_string(): "start", "update" or "end" */
  APNS_KEY_CONTENT_STATE = 26,      /* set_json() */
  APNS_KEY_STALE_DATE = 27,         /* set_integer() */
  APNS_KEY_DISMISSAL_DATE = 28,     /* set_integer() */
  APNS_KEY_ATTRIBUTES_TYPE = 29,    /* set_string() */
  APNS_KEY_ATTRIBUTES = 30,         /* set_json() */
  APNS_KEY_INPUT_PUSH_TOKEN = 31,   /* set_integer(): 1 */
  APNS_KEY_INPUT_PUSH_CHANNEL = 32, /* set_string() */
  APNS_KEY_ALERT_SOUND = 33,        /* set_string(): `sound` in the alert's object */
  /* For widgets and controls */
  APNS_KEY_CONTENT_CHANGED = 34 /* set_integer(): 1, which is written as true; 0 is false */
} apns_payload_key_t;

/**
 * Sets one of Apple's keys; a new value replaces the old one. An alert is either a string or an
 * object with parts: call apns_payload_remove() with APNS_KEY_ALERT to change from one to the
 * other.
 */
apns_status_t apns_payload_set_string(apns_payload_t *payload, apns_payload_key_t key,
                                      const char *text, size_t length, apns_error_t *error_out);

/**
 * Sets one of Apple's keys to an array of `count` strings. `lengths` may be NULL: each ends in
 * NUL.
 */
apns_status_t apns_payload_set_strings(apns_payload_t *payload, apns_payload_key_t key,
                                       const char *const *texts, const size_t *lengths,
                                       size_t count, apns_error_t *error_out);

/** Sets one of Apple's keys to an integer. */
apns_status_t apns_payload_set_integer(apns_payload_t *payload, apns_payload_key_t key,
                                       int64_t value, apns_error_t *error_out);

/** Sets one of Apple's keys to a number, in the fewest digits that identify it; not NaN. */
apns_status_t apns_payload_set_double(apns_payload_t *payload, apns_payload_key_t key, double value,
                                      apns_error_t *error_out);

/**
 * Sets one of Apple's keys to a JSON object, checked and written as by apns_payload_add_json():
 * APNS_KEY_CONTENT_STATE and APNS_KEY_ATTRIBUTES to one of the app's; in the alert of a Live
 * Activity APNS_KEY_TITLE and APNS_KEY_BODY to one with `loc-key`, a string, and perhaps
 * `loc-args`, an array of strings.
 *
 * For a Live Activity on many devices, set all once; then only the content state and
 * APNS_KEY_TIMESTAMP for each device. JSON without spaces is read once and copied.
 */
apns_status_t apns_payload_set_json(apns_payload_t *payload, apns_payload_key_t key,
                                    const char *json, size_t length, apns_error_t *error_out);

/**
 * Sets a sound that plays even if the device is muted, with `volume` 0 to 1 (critical alerts,
 * which need Apple's permission). It replaces APNS_KEY_SOUND.
 */
apns_status_t apns_payload_set_critical_sound(apns_payload_t *payload, const char *name,
                                              size_t length, double volume,
                                              apns_error_t *error_out);

/**
 * Removes one of Apple's keys; APNS_KEY_ALERT removes the alert with all its parts. A missing
 * key is not an error.
 */
apns_status_t apns_payload_remove(apns_payload_t *payload, apns_payload_key_t key,
                                  apns_error_t *error_out);

/**
 * Adds a custom key, which the app defines, beside `aps`. A name that is already there, and
 * "aps", are APNS_ERR_ARGUMENT: see apns_payload_remove_custom().
 */
apns_status_t apns_payload_add_string(apns_payload_t *payload, const char *name, size_t name_length,
                                      const char *text, size_t length, apns_error_t *error_out);

/** Adds an integer in the same way. */
apns_status_t apns_payload_add_integer(apns_payload_t *payload, const char *name,
                                       size_t name_length, int64_t value, apns_error_t *error_out);

/** Adds a number in the same way, in the fewest digits that identify it; not NaN. */
apns_status_t apns_payload_add_double(apns_payload_t *payload, const char *name, size_t name_length,
                                      double value, apns_error_t *error_out);

/** Adds false (0) or true (anything else) in the same way. */
apns_status_t apns_payload_add_boolean(apns_payload_t *payload, const char *name,
                                       size_t name_length, int value, apns_error_t *error_out);

/** Adds null in the same way. */
apns_status_t apns_payload_add_null(apns_payload_t *payload, const char *name, size_t name_length,
                                    apns_error_t *error_out);

/**
 * Adds any JSON value (RFC 8259) in the same way, nested at most 512 deep with the payload
 * itself. The library checks it and writes it without spaces and needless escapes; numbers keep
 * their digits. Keys within it are not compared with each other. The error gives the byte at
 * which it stops being JSON. Half a surrogate pair, such as "\ud800", is an error, because
 * UTF-8 cannot express it.
 */
apns_status_t apns_payload_add_json(apns_payload_t *payload, const char *name, size_t name_length,
                                    const char *json, size_t length, apns_error_t *error_out);

/** Removes all of the app's own keys, to add those of the next device. NULL is fine. */
void apns_payload_remove_custom(apns_payload_t *payload);

/**
 * Writes the payload's JSON to `buffer`, without a NUL, and its length to `length_out`.
 *
 * If the buffer is too small (NULL and 0 will do), the call returns APNS_ERR_BUFFER_SMALL and
 * writes nothing, and `length_out` receives how many bytes it needs; the options' limit is
 * always enough. APNS_ERR_ARGUMENT: the payload is longer than the limit, even with its text
 * cut to nothing if it may be cut. The message names the excess; `length_out` is its length.
 *
 * A text is shortened by as much as needed and no more. It is cut between what a person sees as
 * characters (extended grapheme clusters, Unicode Standard Annex 29), never within a combining
 * sequence, an emoji or a flag. `cut_out` (which may be NULL) receives how many bytes of the
 * text were cut; 0: none.
 */
apns_status_t apns_payload_write(const apns_payload_t *payload, void *buffer, size_t capacity,
                                 size_t *length_out, size_t *cut_out, apns_error_t *error_out);

/** How much a finding matters. */
typedef enum apns_finding_severity {
  APNS_FINDING_ERROR = 1,  /* not JSON, not a payload, or too long */
  APNS_FINDING_WARNING = 2 /* the device gets the payload and ignores this part */
} apns_finding_severity_t;

/** A mistake in a payload, and where it is. */
typedef struct apns_payload_finding {
  size_t size;      /* set by APNS_PAYLOAD_FINDING_INIT */
  int32_t severity; /* apns_finding_severity_t */
  int32_t reserved32;
  size_t offset;     /* in bytes, from 0 */
  uint32_t line;     /* from 1 */
  uint32_t column;   /* in characters (code points), from 1 */
  char message[160]; /* UTF-8, one line, ends in NUL; as in apns_error_t */
} apns_payload_finding_t;

#define APNS_PAYLOAD_FINDING_INIT                        \
  {                                                      \
    sizeof(apns_payload_finding_t), 0, 0, 0, 0, 0, { 0 } \
  }

/**
 * Checks a payload that the caller made: JSON (RFC 8259), an object, `aps` an object in it,
 * Apple's keys of the right type, at most `limit` bytes (0: APNS_PAYLOAD_MAX_HTTP2). The times of
 * a Live Activity have to be times in UNIX seconds, not milliseconds, a duration or seconds since
 * 2001; a badge has to be 0 to 2,147,483,647, a volume 0 to 1.
 *
 * APNS_OK: no error. APNS_ERR_ARGUMENT: `error_out` has the first one, with line, column and
 * byte. Warnings are about what a device ignores: an unknown key, with the most similar one of
 * Apple's; an array as the alert; a duplicate key; a Live Activity without a required key of
 * its event; no `aps`, unless the payload is for device management or a file provider (`mdm`,
 * `container-identifier`), and `mdm` beside `aps`; doubly escaped text; a byte order mark,
 * which is skipped.
 *
 * `findings` is the caller's array for all errors and warnings, in order; NULL and 0 if the
 * status is enough. Only its first element has to be set up by APNS_PAYLOAD_FINDING_INIT.
 * `count_out` (which may be NULL) receives how many there are, which may be more than
 * `capacity`. Any thread.
 */
apns_status_t apns_payload_check(const void *json, size_t length, size_t limit,
                                 apns_payload_finding_t *findings, size_t capacity,
                                 size_t *count_out, apns_error_t *error_out);

/* ---- Credentials -------------------------------------------------------- */

/** The provider's identity and trusted CA certificates, for any sessions and threads. Immutable. */
typedef struct apns_credentials apns_credentials_t;

/** TLS versions, for apns_credentials_options_t. */
typedef enum apns_tls_version {
  APNS_TLS_DEFAULT = 0, /* at least 1.2, at most the highest that OpenSSL has */
  APNS_TLS_1_2 = 12,
  APNS_TLS_1_3 = 13
} apns_tls_version_t;

/**
 * Gives the passphrase of an encrypted key or PKCS#12 file: writes it to `buffer`, without a
 * NUL, and returns its length, at most `capacity`. A negative number means no passphrase; the
 * file is then refused.
 *
 * `file` is the name in the options, NULL for bytes, and `context` is the options'
 * passphrase_context. apns_credentials_new() calls it before it returns, on the same thread: at
 * most once for the certificate and once for each key, and only if something is encrypted. The
 * library wipes the buffer.
 */
typedef int (*apns_passphrase_t)(const char *file, char *buffer, size_t capacity, void *context);

/** Why a provider token is requested; see apns_provider_token_t. */
typedef enum apns_token_need {
  APNS_TOKEN_FIRST = 1,  /* no token so far */
  APNS_TOKEN_AGED = 2,   /* renew_after_s have passed since the last one */
  APNS_TOKEN_REFUSED = 3 /* APNs answered ExpiredProviderToken to the last one */
} apns_token_need_t;

/** The longest provider token, in bytes; an ordinary one has about 200. */
#define APNS_PROVIDER_TOKEN_MAX 1000

/** The library's request to an apns_provider_token_t, with room for the token. */
typedef struct apns_token_request {
  size_t size;         /* set by the library: the fields that it knows */
  int32_t need;        /* apns_token_need_t */
  uint32_t reserved32; /* zero */
  char *token;         /* room for the token, which needs no NUL */
  size_t capacity;     /* of `token`: APNS_PROVIDER_TOKEN_MAX */

  /* Set by the callback: after how many seconds it is called again. With a token, 0 means 2,700 (45
     minutes), and 86,400 is the most. Without one, be it a failure, 0 means 1. */
  uint32_t renew_after_s;

  /* Set by the callback where it gives no token: why, for the message of apns_error_t. Ends in
     NUL; never a secret. */
  char message[124];
} apns_token_request_t;

/* For a program that calls its own callback, as in a test; the library sets up its own. */
#define APNS_TOKEN_REQUEST_INIT                           \
  {                                                       \
    sizeof(apns_token_request_t), 0, 0, NULL, 0, 0, { 0 } \
  }

/**
 * Gives the provider token, for hosts that keep the .p8 elsewhere: in a vault, or with a service
 * that signs. Writes the text of the JSON Web Token, without "bearer ", to `request->token` and
 * returns its length. 0 means "not now": the last token stays in use. A negative number is a
 * failure. Without a token nothing is sent and nothing is lost: the notifications stay in the
 * session, and a call after renew_after_s calls it again and sends them. Meanwhile flush, drain
 * and next_event return APNS_ERR_TIMEOUT ("not now" without an earlier token) or
 * APNS_ERR_CREDENTIALS (a failure) with APNS_CAUSE_PROVIDER_TOKEN; a send function that took its
 * notification returns APNS_OK.
 *
 * `context` is the options' token_context. It is called for the first token, when
 * renew_after_s have passed, and at most once a minute after APNs refused a token as expired.
 * APNs refuses tokens older than an hour, and more than one new token within 20 minutes (429
 * TooManyProviderTokenUpdates), so give all processes that share a key the same token.
 *
 * It is called on the thread of the session's call that needs the token, never by
 * apns_credentials_new(). All sessions of the credentials share the token: one thread at a time
 * is in the callback, and others that need a new token wait for it meanwhile. So it should be
 * quick, and it must not call the library with these credentials or their sessions. The context
 * has to live until the credentials and all their sessions are freed. The library wipes the
 * token's memory.
 */
typedef int (*apns_provider_token_t)(apns_token_request_t *request, void *context);

/**
 * Signs a provider token, for a key that never leaves its device. The library makes the text,
 * `length` bytes at `message`. The host signs it by ES256 (ECDSA with P-256 over the message's
 * SHA-256) and writes the signature to `signature`: either the two numbers r and s with 32 bytes
 * each, or the DER that OpenSSL and PKCS#11 wrappers make of them. It returns the length: 64
 * means the first, any other DER. 0 or a negative number is a failure, as that of an
 * apns_provider_token_t is; it is called again after a second.
 *
 * `context` is the options' sign_context. When, on which thread and under which lock it is called
 * is as with apns_provider_token_t; but the library decides when, every 45 to 55 minutes.
 */
typedef int (*apns_sign_t)(const void *message, size_t length, uint8_t *signature, size_t capacity,
                           void *context);

typedef struct apns_credentials_options {
  size_t size; /* set by APNS_CREDENTIALS_OPTIONS_INIT */

  /* The client certificate, with its chain if it has one: a file or bytes, not both. PEM with
     the blocks in any order, PKCS#12 (what Keychain exports, RC2 and 3DES too) or a single
     certificate in DER; the library recognizes the format. Text that is no longer PEM is read too,
     as is that of keys: with "\n" instead of line breaks or without any, indented, in quotes or
     JSON, in UTF-16, as base64 of PEM, DER or PKCS#12. If there are several certificates with their
     keys, the library takes the push certificate, by Apple's extensions, and of several for one app
     the last to expire; push certificates for different apps are APNS_CAUSE_SEVERAL_IDENTITIES.
     Neither file nor bytes: the provider shows no certificate. */
  const char *certificate_file;
  const void *certificate_bytes;
  size_t certificate_length;

  /* Its private key, RSA or EC, in PEM or DER, PKCS#8 or traditional: a file or bytes. Neither:
     the key is in the certificate's file or bytes. */
  const char *key_file;
  const void *key_bytes;
  size_t key_length;

  /* The passphrase of the key or the PKCS#12 file, at most 1,024 bytes; NULL: see
     passphrase_callback. The library never prompts on a terminal. */
  const char *passphrase;

  /* Trusted CA certificates: a PEM file, a directory as OpenSSL's rehash makes one, or both.
     Neither: the system's store, where OpenSSL or the environment (SSL_CERT_FILE, SSL_CERT_DIR) has
     it. If OpenSSL's own places are empty and these variables are not set, the files of other
     systems are tried, so that a program may leave the system that it was linked on. Credentials of
     one process share the certificates of a file that has not changed since it was read. */
  const char *ca_file;
  const char *ca_directory;

  int32_t tls_min; /* apns_tls_version_t; APNS_TLS_DEFAULT: 1.2 */
  int32_t tls_max; /* apns_tls_version_t; APNS_TLS_DEFAULT: the highest */

  /* Not 0: any peer is accepted as the gateway, and anybody on the way can read and change all
     data. For tests on one machine, if at all. */
  int32_t dangerously_accept_any_peer;

  /* Not 0: a certificate that has expired or is not yet valid is accepted here. A gateway will
     probably refuse it. */
  int32_t accept_expired;

  /* Gives the passphrase if `passphrase` is NULL. Encrypted files are refused if this is NULL too.
   */
  apns_passphrase_t passphrase_callback;
  void *passphrase_context;

  /* HTTP/2 only, instead of a certificate or with one: the signing key of the provider's tokens
     (Establishing a token-based connection to APNs). It is the .p8 from Apple, a file or bytes, not
     both: PKCS#8 in PEM, EC on the curve P-256. It needs key_id and team_id too, 10 letters and
     digits each, as Apple's account page shows them. The binary interface has no tokens: a binary
     session and apns_feedback_open() refuse credentials that have such a key and no certificate.
     See below for keys and tokens that are elsewhere, and for token_cache_file. */
  const char *token_key_file;
  const void *token_key_bytes;
  size_t token_key_length;
  const char *key_id;
  const char *team_id;

  /* Certificate revocation lists in PEM: a file, a directory as OpenSSL's rehash makes one, or
     both. If there is one, every certificate of the peer's chain is looked up, not only the
     peer's own, so each issuer needs a list. A list that is missing, has expired or is not yet
     valid is APNS_ERR_TLS, like a revoked certificate. The file is read once. The directory is
     read whenever a peer is verified, and a newer list is found there under the next number
     (HASH.r1 after HASH.r0). Neither the file nor the directory provides trust anchors. Ignored
     with dangerously_accept_any_peer. */
  const char *crl_file;
  const char *crl_directory;

  /* Pinned public keys. The peer's chain as it was verified, from the peer's own certificate to
     the trust anchor, must have at least one of them. Each is "sha256//" and the SHA-256 of the
     certificate's SubjectPublicKeyInfo in base64, as RFC 7469 defines it and curl writes it.
     The pins add to the verification: a peer without any of them is APNS_ERR_TLS, and the message
     has the hash of the peer's key. With dangerously_accept_any_peer there is no verified chain:
     you must pin the peer's own key. At most 100; NULL and 0: none. */
  const char *const *pinned_keys;
  size_t pinned_key_count;

  /* The weakest keys, signatures and ciphers that are accepted, from the peer and in the
     provider's own certificate, as an OpenSSL security level: 1 to 5, from 80 bits of strength to
     256; 0: this OpenSSL's own setting. */
  int32_t security_level;
  int32_t reserved32; /* zero */

  /* A file by which the processes of this machine share one provider token, because APNs refuses
     tokens that change too often. NULL: a file of the user's. It is apns-TEAM-KEY.token in the
     directory APNS_TOKEN_CACHE of the environment, or else in XDG_RUNTIME_DIR, or else in
     /run/user/ with the user's number; a setuid program ignores the environment. A path that ends
     in "/" is another directory for that file. "off", here or in APNS_TOKEN_CACHE: no file, so each
     process signs its own token.

     The library makes the file (0600) and FILE.lock beside it, replaces it by rename, and follows
     no link to it. Its path is resolved each time it is used, so give an absolute one. Its
     directory has to exist, to belong to the effective user or to root, and to be writable by
     nobody else. The token in it is used if the file is a regular one of the effective user,
     readable by nobody else, whole, from the same key, team and key_id, and of a valid age. In
     every other case it is ignored, and no call fails because of it: the process signs a token
     itself, and puts it there if it can. The log has a warning then, if the file or its directory
     was named here or by APNS_TOKEN_CACHE. A killed process delays nobody; a process that hangs
     while it signs delays another by at most 0.1 s. After APNs refused a token as expired, one
     process renews it and the others take the new one. Anybody who can read the file can push for
     about an hour; only the same user can write it. For the tokens of a key or of a sign_callback,
     not of a token_callback. */
  const char *token_cache_file;

  /* Instead of a token_key: a function that gives the tokens. key_id and team_id are NULL, because
     the tokens name them. */
  apns_provider_token_t token_callback;
  void *token_context;

  /* Instead of a token_key: a function that signs the tokens, or an OpenSSL private key, EC on
     P-256, such as one in a PKCS#11 token or a TPM. Both need key_id and team_id. `struct
     evp_pkey_st` is OpenSSL's EVP_PKEY; the library counts itself as one more user of it. */
  apns_sign_t sign_callback;
  void *sign_context;
  struct evp_pkey_st *token_private_key;

  /* Instead of a key_file or key_bytes: the certificate's private key as OpenSSL's EVP_PKEY, such
     as one in a PKCS#11 token or a TPM. The certificate's file or bytes may then lack the key. */
  struct evp_pkey_st *private_key;
} apns_credentials_options_t;

#define APNS_CREDENTIALS_OPTIONS_INIT                                                            \
  {                                                                                              \
    sizeof(apns_credentials_options_t), NULL, NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, 0, 0, 0, \
        0, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL,   \
        NULL, NULL, NULL, NULL                                                                   \
  }

/**
 * Reads certificate, keys, trust anchors and revocation lists, and checks that the key belongs
 * to the certificate and that the certificate is valid now.
 *
 * `options` may be NULL: no certificate, no token, the system's store. If a file holds several
 * certificates, the provider's certificate is found by the key, and the others are shown as
 * its chain in their order. On success the caller owns `*credentials_out`. The message of
 * APNS_ERR_CREDENTIALS names the file and the reason, and the certificate's subject if the
 * certificate is at fault. The library wipes its copies of keys and passphrases as soon as it
 * no longer needs them, and the key itself when the last user of the credentials is gone. Any
 * thread.
 *
 * An encrypted file determines itself how often its passphrase is hashed. A file that would
 * take more than about a second of an ordinary core to open, all its parts together, is refused
 * before it is opened, and the message gives its cost: about 2.5 million rounds of PBKDF2 with
 * SHA-256 pass, and exporters write far fewer. Also refused are keys that are neither RSA nor
 * EC, RSA keys of more than 16,384 bits, more than 100 certificates, and a certificate with
 * more than 1,000 topics.
 *
 * A peer's certificate must carry the expected name among its alternative names, or as its
 * common name if it has no alternative names at all; "*" stands for one whole label. A resumed
 * TLS session is not checked again: only sessions that the same credentials have verified are
 * resumed.
 *
 * RC2 and single DES, with which old Keychains and OpenSSL encrypted, are in OpenSSL 3's legacy
 * provider. The library loads it only for such a file, into a separate context, so the
 * program's OpenSSL is not changed. If the provider's module is not installed, the message
 * names it.
 */
apns_status_t apns_credentials_new(const apns_credentials_options_t *options,
                                   apns_credentials_t **credentials_out, apns_error_t *error_out);

/** Which of Apple's services: each has its own hosts, device tokens and channels. */
typedef enum apns_environment {
  APNS_ENVIRONMENT_PRODUCTION = 0, /* apps of the App Store, TestFlight or a company */
  APNS_ENVIRONMENT_SANDBOX = 1     /* apps that Xcode installed on the device */
} apns_environment_t;

/** A description of the provider's certificate and signing key. */
typedef struct apns_credentials_description {
  size_t size; /* set by APNS_CREDENTIALS_DESCRIPTION_INIT */

  /* In the form of RFC 2253, but in UTF-8; NULL: there is no certificate, and everything up to
     chain_length is 0. */
  const char *subject;

  /* The apps it may push to: the subject's UID, then those in Apple's extension
     1.2.840.113635.100.6.3.6. topic_count strings and a NULL. */
  const char *const *topics;
  size_t topic_count;

  int64_t not_before; /* UNIX seconds */
  int64_t not_after;
  uint32_t environments; /* 1 << each apns_environment_t that it is for; 0: unknown */
  uint32_t chain_length; /* certificates in the options, this one included */

  /* The key and team of the provider's tokens, as in the options; NULL: without a signing key, or
     with a token_callback. */
  const char *key_id;
  const char *team_id;
} apns_credentials_description_t;

#define APNS_CREDENTIALS_DESCRIPTION_INIT \
  { sizeof(apns_credentials_description_t), NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL }

/**
 * Describes the provider's certificate, its validity, and the key and team of the provider's
 * tokens. The strings belong to the credentials and are valid as long as they are. Any thread.
 */
apns_status_t apns_credentials_describe(const apns_credentials_t *credentials,
                                        apns_credentials_description_t *description_out,
                                        apns_error_t *error_out);

/**
 * Frees the credentials; sessions and feedbacks made with them keep what they need. NULL is
 * fine.
 */
void apns_credentials_free(apns_credentials_t *credentials);

/* ---- Session ------------------------------------------------------------ */

#define APNS_HOST_PRODUCTION "api.push.apple.com"
#define APNS_HOST_SANDBOX "api.sandbox.push.apple.com"
#define APNS_PORT_HTTP2 443
#define APNS_PORT_HTTP2_OTHER 2197 /* for networks that allow 443 to web servers only */

/** A provider's session with one gateway: it connects, sends and keeps the outcomes. */
typedef struct apns_session apns_session_t;

/**
 * How notifications in flight are handled if a connection ends without showing which one failed.
 * A notification that was in flight at five such ends becomes unknown, even with
 * APNS_DELIVERY_AT_LEAST_ONCE: it may be the cause. To protect the others, fewer are in flight
 * together after each such end, down to one, until something is proven. HTTP/2: from the second
 * end on they have a separate connection, beside `connections`, and the others continue. An
 * abandoned (answer_timeout_ms) or reset stream does not count as such an end, but the fifth time
 * its notification becomes unknown too.
 *
 * Over the binary interface this is so only if something can be proven (with the simple format,
 * only with quiet_period_ms). There, all that were in flight become unknown after 64 such ends
 * in a row with nothing proven in between, or after 12 if nothing was ever proven.
 */
typedef enum apns_delivery {
  /* They are sent again, so some may arrive twice. With the simple format and without
     quiet_period_ms, where nothing can be proven, it is as at most once. */
  APNS_DELIVERY_AT_LEAST_ONCE = 0,
  APNS_DELIVERY_AT_MOST_ONCE = 1 /* each becomes APNS_EVENT_UNKNOWN */
} apns_delivery_t;

/** Which outcomes a session reports, as events or by apns_session_push(). */
typedef enum apns_outcomes {
  /* All. Untaken accepted outcomes give way when the session needs their memory, the oldest first;
     `forgotten` of apns_session_stats_t counts them, and the first one is logged as a warning. All
     other outcomes stay until they are taken. */
  APNS_OUTCOMES_ALL = 0,
  /* All, and each stays in the window until it is taken; if they fill it, the send functions return
     APNS_ERR_FULL. For programs that need each outcome. */
  APNS_OUTCOMES_EACH = 1,
  /* All but accepted ones. */
  APNS_OUTCOMES_FAILURES = 2
} apns_outcomes_t;

/**
 * Frees the `user_data` of a notification, for the option `user_data_free`; such as free().
 *
 * The session calls it once for each value except NULL that no event brings back: if an accepted
 * outcome gave way or, with APNS_OUTCOMES_FAILURES, is not reported; and in apns_session_free(),
 * for untaken outcomes and unresolved notifications. If a send function does not take the
 * notification, the value stays the caller's.
 *
 * It runs on the thread of a call on the session, in the middle of it. It must return (no
 * exception, no longjmp). A call on that session from it returns APNS_ERR_ARGUMENT;
 * apns_session_free() then does nothing.
 */
typedef void (*apns_user_data_free_t)(void *user_data);

/**
 * Receives an outcome, for the option `on_outcome`; `context` is the options' outcome_context.
 *
 * The session calls it once for each outcome, in the order of apns_session_next_event(), and the
 * outcome is taken by that: its `user_data` is the callee's, and not for `user_data_free`. Only the
 * outcome that apns_session_push() returns to its caller does not come here, and accepted ones do
 * not with APNS_OUTCOMES_FAILURES. The event is the library's until the callback returns.
 *
 * It runs on the thread of the call that finds the outcome, before that call returns: a send
 * function, connect, flush, drain, cancel, next_event, push, process, close, or free with
 * close_timeout_ms. So outcomes come only while the program makes such calls. It must return (no
 * exception, no longjmp), and should be quick: the session waits. A call on that session from it
 * returns APNS_ERR_ARGUMENT and changes nothing; apns_session_free() then does nothing.
 */
typedef void (*apns_outcome_t)(const struct apns_event *event, void *context);

/** Which of Apple's interfaces a session speaks. */
typedef enum apns_protocol {
  APNS_PROTOCOL_HTTP2 = 0, /* today's APNs: Sending notification requests to APNs */
  APNS_PROTOCOL_BINARY = 1 /* the Binary Provider API, which Apple switched off in 2021 */
} apns_protocol_t;

/** An apns_lookup_t returns this while it has no answer yet. */
#define APNS_LOOKUP_PENDING 1

/**
 * Resolves a name for a program with its own resolver, or with libc on another thread. `struct
 * addrinfo` is <netdb.h>'s.
 *
 * Without it, c-ares resolves names where it is built in, without waiting: it reads /etc/hosts,
 * /etc/resolv.conf and /etc/nsswitch.conf, and queries the name servers within connect_timeout_ms.
 * Otherwise getaddrinfo() resolves them, which may block for any time. An address needs no query,
 * in `host` or in the option `addresses`.
 *
 * Returns 0 with the addresses, for stream sockets, in a list that the library frees by
 * freeaddrinfo(); an EAI_ code; or APNS_LOOKUP_PENDING. After APNS_LOOKUP_PENDING the library
 * calls it again every few milliseconds until it has an answer or the connection's time is
 * over; it gets no notice of the latter. It must not wait and must not call anything of that
 * session or feedback. It runs on the thread of the call that connects.
 */
typedef int (*apns_lookup_t)(const char *host, struct addrinfo **list_out, void *context);

/**
 * Mistakes that gateways, APNs and devices silently ignore, for the option `checks`. The send
 * functions refuse such a notification with APNS_ERR_ARGUMENT, and the message names the
 * mistake.
 */
typedef enum apns_check {
  /* The payload has an error that apns_payload_check() finds (its warnings do not count), needs
     priority 5 and has priority 10, or would start a Live Activity by a broadcast. Reads the
     payload once, unless it equals the one before. In a builder's payload only the badge and the
     times of a Live Activity are checked: it has no other errors. HTTP/2, also a mismatch with the
     push type: a topic without the type's suffix; a topic or a certificate for another type; alert
     and background without `aps`, except for `{}`, the payload of Wallet passes, and with `mdm`;
     liveactivity without a key of a Live Activity, widgets and controls without `content-changed`,
     mdm without `mdm`; alert with a Live Activity or `content-changed` and nothing to show or to
     wake the app. */
  APNS_CHECK_PAYLOAD = 1,
  /* The expiry is in the past, or not a plausible time in UNIX seconds: it looks like a duration
     (3600), like milliseconds or like seconds since 2001. 0 and APNS_EXPIRY_ONCE are fine. */
  APNS_CHECK_EXPIRY = 2,
  APNS_CHECK_ALL = 3 /* both */
} apns_check_t;

/**
 * How much a line of the log matters. The option log_level is the last one logged.
 */
typedef enum apns_log_level {
  APNS_LOG_DEFAULT = 0, /* info */
  APNS_LOG_ERROR = 1,   /* nothing can be sent until somebody acts: the provider is refused; or
                           notifications were lost with the session */
  APNS_LOG_WARNING = 2, /* something failed, and the session continues automatically */
  APNS_LOG_NOTICE = 3,  /* worth knowing: a pause, notifications that are sent again */
  APNS_LOG_INFO = 4,    /* the usual: connections made, provider tokens renewed */
  APNS_LOG_DEBUG = 5,   /* what the session is about to do */
  APNS_LOG_TRACE = 6    /* every frame: without payloads, and with device tokens shortened */
} apns_log_level_t;

/** The subject of a line of the log. Later versions may add kinds. */
typedef enum apns_log_kind {
  APNS_LOG_KIND_CONNECTED = 1,      /* info: a connection is open after `milliseconds`; `resumed` */
  APNS_LOG_KIND_CONNECT_FAILED = 2, /* warning: a connection could not be made; error: the peer
                                       refuses the provider */
  APNS_LOG_KIND_DISCONNECTED = 3, /* the peer ended a connection, or it broke; warning with `count`
                                     notifications in flight on it, else info */
  APNS_LOG_KIND_ABANDONED = 4,    /* warning: the session abandoned an unproductive connection */
  APNS_LOG_KIND_GOAWAY = 5,       /* the peer ends a connection, and why; notice, or warning with an
                                     error. Binary: status 10 */
  APNS_LOG_KIND_RESET = 6,        /* warning: the peer reset a stream, and why */
  APNS_LOG_KIND_TIMEOUT = 7,      /* warning: `count` answers did not come in time */
  APNS_LOG_KIND_RESENT = 8,       /* notice: `count` notifications are sent again */
  APNS_LOG_KIND_RETRY = 9,        /* notice: APNs wants a notification later: a retry follows in
                                     `milliseconds` */
  APNS_LOG_KIND_BACKOFF = 10,     /* notice: no connection is made for `milliseconds`, and why */
  APNS_LOG_KIND_FULL = 11,   /* info: the window is full, and a call waits; notice: the caller has
                                to take `count` outcomes */
  APNS_LOG_KIND_TOKEN = 12,  /* info: new provider token; warning: APNs rejected one; error: none
                                could be made */
  APNS_LOG_KIND_CACHE = 13,  /* warning: the token_cache_file cannot be used, and why */
  APNS_LOG_KIND_CLOSED = 14, /* info: the session has closed, and its counts; error: it was freed,
                                and `count` notifications have no outcome */
  APNS_LOG_KIND_CONNECTING = 15, /* debug: a connection starts */
  APNS_LOG_KIND_PING = 16,       /* debug: a PING, whether the peer still works; binary: a request
                                    for proof */
  APNS_LOG_KIND_FRAME = 17,      /* trace: a frame, with > sent and with < received */
  APNS_LOG_KIND_FORGOTTEN = 18   /* warning, once: accepted outcomes give way, because nobody takes
                                    them (apns_outcomes_t) */
} apns_log_kind_t;

/** The kind in one word, such as "goaway"; "unknown" for any other number. Static. */
const char *apns_log_kind_name(apns_log_kind_t kind);

/** A line of a session's log. Everything in it is the library's until the callback returns. */
typedef struct apns_log_record {
  size_t size;         /* set by the library: the fields that it knows */
  int32_t level;       /* apns_log_level_t */
  int32_t kind;        /* apns_log_kind_t */
  int32_t cause;       /* apns_cause_t */
  uint32_t connection; /* the session's connections are numbered from 1; 0: about none of them */
  uint64_t count;      /* a number, see apns_log_kind_t */
  uint32_t milliseconds;
  uint32_t left_out; /* lines of this kind that were dropped before this one */
  int32_t resumed;   /* not 0: the handshake resumed an earlier TLS session */
  int32_t reserved32;
  const char *peer; /* "host:port" as in the options */
  /* One line of UTF-8 that ends in NUL. Text from others (names, reasons, a proxy's words) is made
     safe as in apns_error_t. Never a payload, a provider token, a passphrase or a password; of a
     device token at most the first 8 hex digits. */
  const char *line;
} apns_log_record_t;

/* For a program that calls its own callback, as in a test; the library sets up its own. */
#define APNS_LOG_RECORD_INIT \
  { sizeof(apns_log_record_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL }

/**
 * Takes a line of a session's log, for the option `log`; `context` is the options' log_context.
 *
 * It runs on the thread of the call that logs, in the middle of it. It must not call anything of
 * that session, must return (no exception, no longjmp), and should be quick: the session waits.
 * The last line may come from apns_session_free().
 *
 * A peer cannot flood a log: five lines of each kind are logged immediately and then one every
 * ten seconds. The next line of that kind counts the dropped ones. Only frames are all logged.
 */
typedef void (*apns_log_t)(const apns_log_record_t *record, void *context);

/**
 * Where a session, a feedback or channels connect to, and how. All zero: Apple's service, without
 * a proxy.
 */
typedef struct apns_peer {
  /* Name or address; NULL: Apple's host for the environment. A production host of Apple's
     contradicts APNS_ENVIRONMENT_SANDBOX. */
  const char *host;
  const char *server_name;     /* the name its certificate must carry; NULL: host */
  uint16_t port;               /* 0: Apple's for the server, such as 443 */
  uint16_t reserved16;         /* zero */
  uint32_t connect_timeout_ms; /* name, connection and handshake together; 0: 10,000 */

  /* An HTTP proxy (CONNECT) to go through, as a URL: "http://user:password@proxy.example:3128".
     User and password are optional; special characters of a URL are written as %XX there, and they
     go to the proxy by Basic authentication, in clear text. An IPv6 address stands in brackets. As
     with curl, the port is 1080 if it is missing, and "proxy.example:3128" is an http:// URL too.
     Proxies that speak TLS (https://) or SOCKS are refused. No message and no log quotes this text.
     NULL: none. */
  const char *proxy;

  /* Not 0: where `proxy` and `addresses` are NULL, the environment names the proxy, as for curl:
     https_proxy, HTTPS_PROXY, all_proxy or ALL_PROXY, the first that is not empty. A host that
     no_proxy or NO_PROXY lists, and this machine, are connected to directly. It is read once, by
     the call that takes these options. 0: the environment does not count. */
  int32_t proxy_from_environment;

  /* Not 0: no call waits, for a program with an event loop; see apns_session_process(). wait_max_ms
     then has no effect. */
  int32_t nonblocking;

  /* No call waits longer than this many ms, for a program that has other things to do in between.
     A call that would wait longer returns APNS_ERR_TIMEOUT; nothing is lost, and the same call
     made again continues. The other timeouts still count, except those of a whole call
     (timeout_ms, and connect_timeout_ms and write_timeout_ms together), which the caller then
     has to count. A send function that took its notifications returns APNS_OK;
     apns_session_flush() continues with what it has not written. Repeat apns_session_close()
     until it returns anything else than APNS_ERR_TIMEOUT. 0: no limit. */
  uint32_t wait_max_ms;
  uint32_t reserved32; /* zero */

  /* IPv4 and IPv6 addresses with commas between them, such as "17.188.1.1, 2620:149::1". They are
     tried in this order, the last working one first, and no name is resolved, not even by `lookup`.
     They are those of `host`, or of the proxy if there is one. The certificate must still carry
     `server_name`, or `host`. NULL: the name is looked up. */
  const char *addresses;

  apns_lookup_t lookup; /* NULL: c-ares where it is built in, else getaddrinfo(), which waits */
  void *lookup_context;

  const void *reserved[4]; /* NULL */
} apns_peer_t;

#define APNS_PEER_INIT                                                                  \
  {                                                                                     \
    NULL, NULL, 0, 0, 0, NULL, 0, 0, 0, 0, NULL, NULL, NULL, { NULL, NULL, NULL, NULL } \
  }

/** What few programs change of a session, for its option `tuning`. */
typedef struct apns_tuning {
  size_t size; /* set by APNS_TUNING_INIT */

  uint32_t write_timeout_ms; /* how long the peer may take nothing; 0: 10,000 */

  /* Binary: how long the answer to a sentinel (see quiet_period_ms) may take. After that the
     session closes the connection, with the notifications in flight in doubt. It must be longer
     than the gateway may need for all that was written before. HTTP/2: a stream without a response
     for this long is abandoned; if nothing at all arrives, not even the acknowledgement of a PING
     after half of it, so is its connection. 0: 30,000. */
  uint32_t answer_timeout_ms;

  /* HTTP/2: after this many ms without data from the peer the session sends a PING (RFC 9113,
     6.7) before anything more is sent on that connection. If the PING is not answered within
     connect_timeout_ms, the connection is replaced; nothing was in flight on it. Calls that
     wait or send do this. 0: 3,600,000, an hour, as Apple allows; -1: never, and no other PING
     is sent either (`answer_timeout_ms`). */
  int32_t ping_after_ms;

  /* After this many ms of silence, in whole seconds, TCP probes whether the peer is still there, so
     that a connection cut by a firewall is noticed before it is needed; 0: 60,000; -1: never. */
  int32_t keepalive_ms;

  /* HTTP/2: a notification that APNs answers with "later" (429, 500, 503) is sent again after the
     pauses of retry_schedule or server_error_schedule, until this many ms after the first of these
     answers, or until its expiry if that is sooner. Then the last answer is its outcome, and
     `retry_after_s` of its event is the time before another try. Nothing else waits meanwhile. 0:
     60,000; -1: not sent again. */
  int32_t retry_timeout_ms;

  /* At most this many connections in a minute, standby ones included, and at most half of them
     at once; 0: no limit. Apple took rapid reconnects for an attack. */
  uint32_t connects_per_minute;

  /* The longest pause before the next connection. After unproductive connections the pauses grow:
     twice 50 ms, four times and so on, shortened at random by up to half; 0: 5,000. */
  uint32_t reconnect_pause_max_ms;

  /* The largest payload in bytes; larger ones are refused; 0: 4,096, or 5,120 with
     APNS_PUSH_TYPE_VOIP and to a channel, and never more. Binary: 0: 2,048, at most 65,535. */
  uint32_t payload_max;

  /* HTTP/2: the pauses before a notification is sent again, in seconds with commas between them;
     the last one holds for all further tries. At most 16, each 1 to 86,400. A pause is at least
     this long, and at least as long as the response's retry-after, up to a day. If a pause would
     end after retry_timeout_ms, the notification ends at once. retry_schedule is for a device that
     gets too many (429), and for connections and streams that APNs closes; NULL: "1,2,4,8,16,32".
     */
  const char *retry_schedule;

  /* The same for server errors (5xx), after which Apple wants longer pauses; NULL: "5,10,20,40". */
  const char *server_error_schedule;
} apns_tuning_t;

#define APNS_TUNING_INIT \
  { sizeof(apns_tuning_t), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL }

typedef struct apns_session_options {
  size_t size; /* set by APNS_SESSION_OPTIONS_INIT */

  apns_peer_t peer;    /* where to connect to */
  int32_t environment; /* apns_environment_t; 0: production */
  int32_t protocol;    /* apns_protocol_t; 0: HTTP/2 */

  /* HTTP/2: the topic of notifications that name none, the app's bundle identifier; NULL: the
     certificate's. Where the push type needs a suffix (see apns_push_type_t) and this topic
     lacks it, it is appended, to the certificate's topic where this is NULL; a topic that ends in
     `.push-type.liveactivity`, `.widgets` or `.controls` stays as it is. 1 to 255 bytes, no spaces
     and no control characters. */
  const char *topic;

  /* Not 0: the notifications to one device token, or to one channel, go out one after the other.
     HTTP/2: a notification is written only when the one taken before it for the same token has its
     outcome, across retries, resends and lost connections. It waits in the window for its own
     bytes only; those to other devices pass it. A call that reads the answer sends the next one:
     drain, next_event with a timeout, flush, process or another send. Each of several to one token
     costs a round trip, and a deferred one defers the others: their retry_timeout_ms runs
     meanwhile, and APNs handles an expiry that passes meanwhile. After an abandoned stream
     (answer_timeout_ms) and with `delivery`, the earlier notification may still arrive later.
     Binary: only with one connection (`connections`), which writes in order anyway. Notifications
     that a rejection discarded are resent in the same order, before anything newer; after an end in
     doubt some may arrive twice, in order each time. 0: a later notification may overtake an
     earlier one. */
  int32_t device_order;

  /* Connections used at the same time, each with its part of the window; 0: 1, at most 64.
     Every rejection costs its connection the delay of one answer, so several connections lose
     less time. Order is kept within a connection only. HTTP/2: this is a maximum; another
     connection is made when the streams or the flow control of the existing ones are the limit.
     One more is made for notifications that may be ending connections, see `delivery`; and for each
     connection with one allowed stream and no answer for 250 ms. */
  uint32_t connections;

  /* Memory for notifications that have no outcome yet, frames and bookkeeping together, in
     bytes; 0: 4 MiB; at least 16 KiB, at most 1 GiB. */
  uint32_t window_bytes;

  /* Checks of each notification before it is taken: bits of apns_check_t; 0: all; -1: none. Sizes
     and values that fit in no frame or header are always checked, and sendPayload() (sendpayload.h)
     checks nothing else. */
  int32_t checks;

  int32_t delivery; /* apns_delivery_t; 0: at least once */
  int32_t outcomes; /* apns_outcomes_t; 0: all, and accepted ones give way */

  /* Receives a line for each of the session's actions. NULL: no log, and no lines are made. */
  apns_log_t log;
  void *log_context;
  int32_t log_level; /* apns_log_level_t; 0: info */

  /* apns_session_free() of a session that nobody closed waits up to this many ms for the outcomes
     of its notifications, with `nonblocking` too; 0: it does not wait. See there. */
  uint32_t close_timeout_ms;

  /* apns_binary_options_t of <apns/binary.h>; NULL: all defaults. HTTP/2 ignores it. */
  const struct apns_binary_options *binary;

  const apns_tuning_t *tuning; /* NULL: all defaults */

  apns_user_data_free_t user_data_free; /* NULL: the session frees no user_data */

  /* In ms: each notification has its outcome this long after it was queued, even without a
     network. 0: 300,000; -1: no limit. A notification may have its own `deadline_ms`. If nothing of
     it was written, or if the peer reported that it was not processed, it ends as
     APNS_EVENT_EXPIRED: it is safe to send it again. During a retry after 429 or 5xx it ends with
     that response, as with retry_timeout_ms. Otherwise it may have arrived, and ends as
     APNS_EVENT_UNKNOWN; over HTTP/2 its stream is abandoned, and the connection stays. Over the
     binary interface the session requests proof 5 seconds before, or at half of the time if that is
     less. A session does nothing between calls: a blocking one looks at the clock in calls that
     wait, write or take an event, one with `nonblocking` when it is due
     (apns_session_timeout_ms()). Each reads what has arrived first, so a process that was suspended
     loses no response. */
  int32_t deadline_ms;
  int32_t reserved32; /* zero */

  apns_outcome_t on_outcome; /* gets the outcomes that apns_session_next_event() would return;
                                NULL: none */
  void *outcome_context;
} apns_session_options_t;

#define APNS_SESSION_OPTIONS_INIT                                                                \
  {                                                                                              \
    sizeof(apns_session_options_t), APNS_PEER_INIT, 0, 0, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, \
        0, NULL, NULL, NULL, 0, 0, NULL, NULL                                                    \
  }

/**
 * Makes a session. It connects with the first send or by apns_session_connect().
 *
 * `options` may be NULL: all defaults, which mean today's APNs in production, with the
 * certificate's topic. `credentials` may be freed before the session. On success the caller owns
 * `*session_out`. The message of APNS_ERR_ARGUMENT names the option at fault.
 */
apns_status_t apns_session_new(const apns_session_options_t *options,
                               const apns_credentials_t *credentials, apns_session_t **session_out,
                               apns_error_t *error_out);

/**
 * Gives a running session other credentials: a certificate or a key renewed before it expires.
 * They are checked as by apns_session_new(). On an error the session continues with the old
 * ones. `credentials` may be freed before the session. The same ones again change nothing.
 *
 * From now on every connection is made with the new credentials. A connection that is still
 * being opened and a standby connection are dropped, and made again when they are needed. An
 * open one takes no new notification and is closed gracefully, so none is lost or sent
 * twice:
 * - HTTP/2: it waits for its responses, beside the next connection. That goes for a new provider
 *   token too: APNs ties a connection to the key of its first token.
 * - Binary interface: what is in flight is proven first, as when the window is full; the
 *   notifications after it wait for that. That takes quiet_period_ms, if set. With the simple
 *   format and without quiet_period_ms nothing can be proven, and what is in flight ends as
 *   APNS_EVENT_UNKNOWN, as in apns_session_drain().
 *
 * This call does not wait; the next calls on the session do the work. The old credentials'
 * secrets are wiped when the last connection with them is closed and nobody else uses them. A
 * pause before the next connection continues, and connects_per_minute counts the new
 * connections too.
 *
 * Over HTTP/2, a topic that a notification does not name comes from the certificate that its
 * connection shows. APNS_ERR_ARGUMENT: the binary interface needs a certificate; or a provider
 * token is to take the place of a certificate while notifications without a topic have no
 * outcome. APNS_ERR_CLOSED: the session was closed.
 */
apns_status_t apns_session_use_credentials(apns_session_t *session,
                                           const apns_credentials_t *credentials,
                                           apns_error_t *error_out);

/**
 * HTTP/2: limits the connections of a running session, such as for a share of a limit that
 * several processes keep together. From now on there are at most `most` at the same time, and
 * never more than `connections` of the options. Unlike there, a draining connection (after
 * GOAWAY, after other credentials) counts too, so a successor waits for its end.
 *
 * Connections that are too many take no new notification and are closed after their last answer;
 * apns_session_metrics() counts them as draining until then. 0: no connection, and unsent
 * notifications wait, as without a network. UINT32_MAX takes the limit away. This call does not
 * wait; the next calls on the session do the work. APNS_ERR_ARGUMENT: the session speaks the
 * binary interface. APNS_ERR_CLOSED: it was closed.
 */
apns_status_t apns_session_limit_connections(apns_session_t *session, uint32_t most,
                                             apns_error_t *error_out);

/**
 * Connects now, which is the best time to find a mistake in host or credentials. It tries every
 * address of the name, within connect_timeout_ms. Does nothing on a connected session.
 */
apns_status_t apns_session_connect(apns_session_t *session, apns_error_t *error_out);

/** For apns_notification_t.expiry: try once, and do not store. */
#define APNS_EXPIRY_ONCE (-1)

/**
 * The kind of push, for HTTP/2 (the header apns-push-type). Some need a suffix of the topic,
 * after the app's bundle ID. A session's topic gets it automatically; a notification's own topic
 * is never changed.
 */
typedef enum apns_push_type {
  /* That of the topic, if it ends in a suffix below or begins with com.apple.mgmt. (mdm). Where the
     notification names no topic, that of the session or else of the certificate counts, and a
     certificate for VoIP only says voip. If the name of an app ends in a suffix, say the type; a
     certificate that lists all topics of the app makes that clear too. Otherwise that of the
     payload: liveactivity if its aps has event, with content-state or dismissal-date; background
     if its aps has content-available 1 and neither alert, badge nor sound; mdm if it has mdm and
     no aps. All else is alert: content-changed does not say whether it is for widgets or for
     controls. */
  APNS_PUSH_TYPE_DEFAULT = 0,
  APNS_PUSH_TYPE_ALERT = 1,
  APNS_PUSH_TYPE_BACKGROUND = 2,   /* only with priority 5; 0 means 5 */
  APNS_PUSH_TYPE_LOCATION = 3,     /* topic: .location-query */
  APNS_PUSH_TYPE_VOIP = 4,         /* topic: .voip */
  APNS_PUSH_TYPE_COMPLICATION = 5, /* topic: .complication */
  APNS_PUSH_TYPE_FILEPROVIDER = 6, /* topic: .pushkit.fileprovider */
  APNS_PUSH_TYPE_MDM = 7,          /* topic: the certificate's UID */
  APNS_PUSH_TYPE_LIVEACTIVITY = 8, /* topic: .push-type.liveactivity */
  APNS_PUSH_TYPE_PUSHTOTALK = 9,   /* topic: .voip-ptt */
  APNS_PUSH_TYPE_WIDGETS = 10,     /* topic: .push-type.widgets */
  APNS_PUSH_TYPE_CONTROLS = 11     /* topic: .push-type.controls */
} apns_push_type_t;

/**
 * The type as APNs reads it, such as "alert". "default" for APNS_PUSH_TYPE_DEFAULT, and
 * "unlisted push type" for any other number. Static.
 */
const char *apns_push_type_text(apns_push_type_t type);

/** The longest channel_id that the library takes, in bytes without the NUL. */
#define APNS_CHANNEL_ID_MAX 255

/**
 * One notification to one device, or with `channel_id` to all that follow a channel.
 *
 * A broadcast (Sending broadcast push notification requests to APNs; HTTP/2 only) is a notification
 * with a channel instead of a device token. It updates and ends Live Activities; it cannot start
 * one. The same functions send it, and it has the same outcome, events, retries and deadlines as a
 * push to a device. Differences:
 * - `token` is NULL and `token_length` 0.
 * - `topic`, or the session's, or the first of the certificate's, is the app's bundle ID: letters,
 *   digits, `.`, `-` and `_`. ".push-type.liveactivity" at its end is removed.
 * - `push_type` is 0 or APNS_PUSH_TYPE_LIVEACTIVITY.
 * - `priority` 0 means 10, and `expiry` 0 the same as APNS_EXPIRY_ONCE: APNs needs both. A later
 *   expiry is for channels that store messages (APNS_STORAGE_LATEST).
 * - `collapse_id` is NULL: a broadcast cannot have one.
 * - `apns_id` goes as apns-request-id, and the event's `apns_id` is the answer's.
 * - The payload may have 5,120 bytes (APNS_PAYLOAD_MAX_BROADCAST), unless payload_max is less.
 * - With APNS_CHECK_PAYLOAD an `event` of "start" is refused.
 */
typedef struct apns_notification {
  size_t size; /* set by APNS_NOTIFICATION_INIT */
  const void *token;
  size_t token_length; /* 1 to APNS_TOKEN_MAX */
  const void *payload; /* JSON, UTF-8, without a NUL at its end */
  size_t payload_length;
  void *user_data; /* comes back with the outcome, unchanged; see also `user_data_free` */
  /* Until when the gateway keeps trying, in UNIX seconds, UTC. APNS_EXPIRY_ONCE: it tries once;
     any other number below 0 is refused. 0: not set (enhanced: as APNS_EXPIRY_ONCE, because the
     frame always has an expiry). */
  int64_t expiry;
  /* 10: at once; 5: considers the device's power; 0: not set. Framed and HTTP/2, where 1 puts power
     above all else. */
  uint8_t priority;
  uint8_t push_type;   /* apns_push_type_t. HTTP/2 only. */
  uint8_t reserved[6]; /* zero */

  /* HTTP/2 only: the headers of these names (Sending notification requests to APNs). The binary
     interface cannot carry them, and a binary session ignores them. Each ends in NUL; "" means
     NULL. */
  const char *topic;       /* with its suffix; NULL: the session's, or the certificate's */
  const char *collapse_id; /* at most 64 bytes; replaces an earlier push with the same */
  const char *apns_id;     /* a UUID, in either case; NULL: APNs makes one */

  /* The channel instead of a token: base64, as apns_channel_create() gave it, with a NUL at its
     end. NULL or "": none. A binary session refuses it. */
  const char *channel_id;

  /* In ms: it has its outcome this long after it was queued. 0: the session's deadline_ms; -1: no
     limit. */
  int32_t deadline_ms;
  int32_t reserved32; /* zero */
} apns_notification_t;

#define APNS_NOTIFICATION_INIT                                                                    \
  {                                                                                               \
    sizeof(apns_notification_t), NULL, 0, NULL, 0, NULL, 0, 0, 0, {0, 0, 0, 0, 0, 0}, NULL, NULL, \
        NULL, NULL, 0, 0                                                                          \
  }

/** For apns_session_send(): another one follows at once, so this one may wait for it. */
#define APNS_SEND_MORE 1u

/**
 * Sends one notification.
 *
 * APNS_OK: the session took it and copied its bytes, and it will have exactly one outcome.
 * Anything else: it was not taken, and nothing of it is on the wire. APNS_ERR_ARGUMENT refuses
 * what the gateway would refuse (no token, too large a payload) before it costs a connection,
 * with the gateway's status in the error's `reject`. It also refuses what the session's
 * `checks` find. Without APNS_SEND_MORE the call writes all waiting notifications before it
 * returns. With it they are written as soon as they fill a TLS record of 16 KB, or by the next
 * call that writes.
 *
 * APNS_ERR_FULL, of this and the other send functions: the window is full of outcomes that wait
 * to be taken and do not give way (see apns_outcomes_t). Waiting and retrying makes no room: take
 * outcomes with apns_session_next_event() until no more come, and send the same notification
 * again. With APNS_OUTCOMES_EACH, a program that sends more than its window holds does that in its
 * loop. Any program has to do it after some thousand rejections that it did not take.
 *
 * If a connection fails in the meantime, the session replaces it and sends again what was lost,
 * as the options say; an error says that no connection can be had. If the window is full, the
 * call waits for the gateway's answer about what is in flight.
 *
 * `identifier_out` (which may be NULL) receives the number that names the notification in its
 * event. It is never 0, and is not used twice within 2^32 notifications.
 */
apns_status_t apns_session_send(apns_session_t *session, const apns_notification_t *notification,
                                uint32_t flags, uint32_t *identifier_out, apns_error_t *error_out);

/**
 * Sends an array, in order, with the least work per notification.
 *
 * `taken_out` receives how many the session took: all with APNS_OK, otherwise those before the
 * failed one. After APNS_ERR_FULL, take the outcomes and continue after those. Every element
 * has the same `size`.
 */
apns_status_t apns_session_send_many(apns_session_t *session,
                                     const apns_notification_t *notifications, size_t count,
                                     uint32_t flags, size_t *taken_out, apns_error_t *error_out);

/**
 * Sends one notification as apns_session_send() does, with the payload of a builder. The
 * payload is written once, straight into the session's window. The notification's own `payload`
 * is NULL and 0.
 *
 * APNS_ERR_ARGUMENT also if the payload is longer than its limit, or, after shortening, longer
 * than the session's payload_max. `cut_out` (which may be NULL) receives how many bytes of its
 * text were cut, as in apns_payload_write(). The payload stays the caller's, who may change it
 * for the next device.
 */
apns_status_t apns_session_send_payload(apns_session_t *session,
                                        const apns_notification_t *notification,
                                        const apns_payload_t *payload, uint32_t flags,
                                        uint32_t *identifier_out, size_t *cut_out,
                                        apns_error_t *error_out);

/**
 * Writes what APNS_SEND_MORE held back. An error loses nothing: the next call continues where
 * this one stopped.
 */
apns_status_t apns_session_flush(apns_session_t *session, apns_error_t *error_out);

/**
 * Waits until every notification has an outcome.
 *
 * Then it returns APNS_OK. It returns APNS_ERR_TIMEOUT if `timeout_ms` passes first, or another
 * error if the gateway cannot be reached; notifications without an outcome stay in the session.
 * `unresolved_out` (which may be NULL) says how many. With the simple format silence does not
 * prove anything, so notifications that the gateway accepted silently end as unknown unless
 * quiet_period_ms is set.
 */
apns_status_t apns_session_drain(apns_session_t *session, int32_t timeout_ms,
                                 size_t *unresolved_out, apns_error_t *error_out);

/**
 * Takes back notifications: the one with that identifier, or all of the session with 0. After this
 * call none of them is begun to be written, neither for the first time nor again.
 *
 * If it waits to be written, it ends at once as APNS_EVENT_CANCELLED; as APNS_EVENT_UNKNOWN
 * if it was written on an earlier connection, which ended before the answer. If it is being
 * written or in flight, it keeps waiting for its answer and ends by that; if no answer comes,
 * as unknown. A status such as 429 then ends it as rejected, with retry_after_s.
 *
 * `cancelled_out` (which may be NULL) receives how many have ended by this call; 0 if no
 * notification without an outcome has the identifier. Each has its event, which brings `user_data`
 * back. The call does no I/O; for one identifier it takes time in proportion to the notifications
 * in the session. It works while the session is closing too.
 */
apns_status_t apns_session_cancel(apns_session_t *session, uint32_t identifier,
                                  size_t *cancelled_out, apns_error_t *error_out);

/** How a notification ended. */
typedef enum apns_event_kind {
  APNS_EVENT_ACCEPTED = 1,  /* not with APNS_OUTCOMES_FAILURES */
  APNS_EVENT_REJECTED = 2,  /* with the cause in `reason` (HTTP/2) or `reject` (binary) */
  APNS_EVENT_UNKNOWN = 3,   /* the connection or the session ended before a response */
  APNS_EVENT_CANCELLED = 4, /* apns_session_cancel(): it did not arrive, and may be sent again */
  APNS_EVENT_EXPIRED = 5    /* its deadline_ms: it did not arrive, and may be sent again */
} apns_event_kind_t;

typedef struct apns_event {
  size_t size;    /* set by APNS_EVENT_INIT */
  int32_t kind;   /* apns_event_kind_t */
  int32_t reject; /* apns_reject_t */
  uint32_t identifier;

  /* HTTP/2: the seconds until the notification may be sent again, if the session could not wait
     for that: as many as APNs asked for (retry-after), at most a day; otherwise 900 after 5xx,
     1,200 after TooManyProviderTokenUpdates, and 60 after another 429 or a connection that APNs
     closed. If the outcome is unknown or cancelled, they follow from the last response that asked
     for a retry, unless a later attempt got no response. 0: the same notification would fail again,
     may have arrived, or has expired. */
  uint32_t retry_after_s;
  void *user_data; /* the notification's */

  /* The response of APNs; HTTP/2 only, otherwise 0 and "". If the outcome is unknown, `reason`,
     `http_status` and `reason_text` have the last response that asked for a retry, such as
     TooManyProviderTokenUpdates, or a 2xx other than 200, which APNs does not send; the text of an
     unlisted reason is then "". Without such a response the numbers are 0, and `reason_text` has
     the beginning of the failure that ended the last connection, over the binary interface too, or
     reports that no response came in time. For an expired notification it has the beginning of the
     failure that ended or prevented the last connection. */
  int32_t reason;       /* apns_reason_t */
  uint16_t http_status; /* such as 200, 410 */
  uint16_t retry_asked; /* 1: the service said retry_after_s (retry-after) */
  int64_t timestamp;    /* UNIX seconds since when the device is gone (410) */
  char apns_id[40];     /* of the notification: the caller's, or the service's */
  /* As the service wrote it, even if the reason is not listed; made safe like the message of
     apns_error_t. */
  char reason_text[64];

  /* The ID that finds the notification in Apple's console (Push Notifications Console, Delivery
     Log). "" if APNs sent none, as in production. */
  char unique_id[40];
} apns_event_t;

#define APNS_EVENT_INIT                                                 \
  {                                                                     \
    sizeof(apns_event_t), 0, 0, 0, 0, NULL, 0, 0, 0, 0, {0}, {0}, { 0 } \
  }

/**
 * Takes the next outcome, in the order in which the notifications were sent; with HTTP/2 in the
 * order of the answers.
 *
 * Waits up to `timeout_ms` for one, and writes and reconnects meanwhile. APNS_DONE: no outcome
 * came. If every notification already has its outcome, there is nothing to wait for: the call
 * returns APNS_DONE at once. With 0 it reads what has arrived, writes the proofs that are due
 * (see prove_after_ms), and neither waits nor connects. With HTTP/2, if 128 or more are in
 * flight and their answers arrive one by one, this and other waiting calls collect answers for
 * up to 0.3 ms and read them together. The call works on a closed session too, where it returns
 * the unknown notifications.
 *
 * With the option on_outcome all outcomes go there, and this call returns none: it waits until
 * some came, and returns APNS_DONE.
 */
apns_status_t apns_session_next_event(apns_session_t *session, apns_event_t *event_out,
                                      int32_t timeout_ms, apns_error_t *error_out);

/**
 * Sends one notification and returns its outcome, within `timeout_ms` for all of it: connecting,
 * writing, and waiting for the answer.
 *
 * APNS_OK: `event_out` has the outcome, which is APNS_EVENT_ACCEPTED even with
 * APNS_OUTCOMES_FAILURES. With any other status except APNS_ERR_AGAIN (see below) the notification
 * was not taken. After APNS_ERR_TIMEOUT or APNS_ERR_NETWORK the session has no connection; after
 * APNS_ERR_FULL, take waiting outcomes first.
 *
 * If the time passes, or no retry can help, the session takes the notification back, as
 * apns_session_cancel() does. APNS_EVENT_CANCELLED means that none of it was written, so you may
 * send it again, and so does APNS_EVENT_EXPIRED, where its deadline_ms was the shorter time.
 * APNS_EVENT_UNKNOWN means that it may have arrived. `reason_text` then begins with
 * the cause, unless the service gave a reason. The session still counts a later answer, and notes a
 * device that is gone; until then the notification counts as `unresolved`. No other event follows.
 *
 * Outcomes of other notifications stay in order for apns_session_next_event(), or go to the option
 * on_outcome, which does not get this one. The returned event
 * has the notification's `user_data`, contains no pointers of the library, and is the caller's.
 *
 * The binary interface confirms accepted notifications only by ending the connection, so each call
 * costs one, as each apns_session_drain() does. With the simple format the outcome is unknown
 * unless quiet_period_ms is set.
 *
 * A session with `nonblocking` returns APNS_ERR_ARGUMENT. With wait_max_ms the call returns
 * APNS_ERR_AGAIN after that time, if the notification was taken and `timeout_ms` has not passed.
 * Then call again with NULL for `notification` and the remaining time, until another status
 * returns; 0 ends the wait. Until then another push is APNS_ERR_ARGUMENT. All other calls work.
 */
apns_status_t apns_session_push(apns_session_t *session, const apns_notification_t *notification,
                                int32_t timeout_ms, apns_event_t *event_out,
                                apns_error_t *error_out);

/**
 * Writes an outcome as one line of text with a NUL, for a log or a person: "accepted",
 * "rejected: BadDeviceToken (HTTP 400)", or "unknown: ", "cancelled: " or "expired: " with the
 * cause.
 *
 * Returns the length of the whole line without the NUL, less than 160. A smaller `capacity` cuts
 * the line. The words may change: programs use `kind` and `reason`. Any thread may call it.
 */
size_t apns_event_describe(const apns_event_t *event, char *text_out, size_t capacity);

/** The kind as a word, such as "accepted"; never NULL. Static text, any thread. */
const char *apns_event_kind_text(apns_event_kind_t kind);

/**
 * 1 if the notification was rejected because of its token, so that no later push to it can arrive:
 * the device is gone (410), or the token is bad (BadDeviceToken, DeviceTokenNotForTopic, or the
 * binary interface's invalid token). Otherwise 0. Remove the token from your list, unless the
 * device registered again after `timestamp`. If many tokens turn out bad at once, check environment
 * and topic first: a token of the other environment is bad here too. Any thread may call it.
 */
int apns_event_has_invalid_token(const apns_event_t *event);

/** A device that no longer has the app. */
typedef struct apns_gone_device {
  size_t size;       /* set by APNS_GONE_DEVICE_INIT */
  int64_t timestamp; /* UNIX seconds when it was found gone; a later registration counts */
  uint32_t token_length;
  uint8_t token[APNS_TOKEN_MAX];
} apns_gone_device_t;

#define APNS_GONE_DEVICE_INIT               \
  {                                         \
    sizeof(apns_gone_device_t), 0, 0, { 0 } \
  }

/**
 * Takes the next device that APNs reported to this HTTP/2 session as gone (410 with Unregistered or
 * ExpiredToken). Each is listed once, by its first report. Its time is the last one from APNs, or
 * else that of the response. The list keeps 65,536 devices, about 80 bytes each; APNs reports any
 * other device again with the next push to it.
 *
 * APNS_DONE: no other is known now; later calls return devices that are reported later. The call
 * does no I/O, and works on a closed session too. APNS_ERR_ARGUMENT: the session speaks the binary
 * interface, which has a feedback service (binary.h).
 */
apns_status_t apns_session_next_gone(apns_session_t *session, apns_gone_device_t *device_out,
                                     apns_error_t *error_out);

/**
 * Counts since the session was made. Each notification counts as exactly one of accepted,
 * rejected, unknown, cancelled, expired and unresolved.
 */
typedef struct apns_session_stats {
  size_t size;    /* set by APNS_SESSION_STATS_INIT */
  uint64_t taken; /* by the send functions */
  uint64_t accepted;
  uint64_t rejected;
  uint64_t unknown;
  uint64_t unresolved; /* no outcome yet */
  uint64_t resent;     /* times that a notification was sent again */
  uint64_t connects;   /* connections made, standby ones included */
  uint64_t bytes;      /* written, before encryption */
  uint64_t records;    /* writes, a TLS record each */
  uint64_t events;     /* outcomes that wait to be taken */
  uint64_t in_flight;  /* unresolved and written on an open connection */
  uint64_t window;     /* bytes of the window that unresolved ones use */

  /* Every notification sent before the one with this identifier has its outcome; 0 if all have.
     A caller that keeps notifications for a restart can forget those before it. */
  uint32_t first_unresolved;
  uint32_t reserved32;
  uint64_t cancelled; /* by apns_session_cancel(), without having arrived */
  uint64_t forgotten; /* the accepted ones whose outcome gave way, see apns_outcomes_t */
  uint64_t expired;   /* by their deadline_ms, without having arrived */
} apns_session_stats_t;

#define APNS_SESSION_STATS_INIT \
  { sizeof(apns_session_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/**
 * Fills in the counts. Does no I/O. Any thread: beside a call of another thread it returns when
 * that call waits for a connection or ends.
 */
apns_status_t apns_session_stats(const apns_session_t *session, apns_session_stats_t *stats_out,
                                 apns_error_t *error_out);

/* How many places the arrays of apns_session_metrics_t have. They never change. */
#define APNS_METRICS_TIMES 16
#define APNS_METRICS_CLASSES 8
#define APNS_METRICS_REASONS 64
#define APNS_METRICS_REJECTS 16
#define APNS_METRICS_FAILURES 16

/**
 * A session's metrics for a monitoring system, beyond apns_session_stats(). The counts are
 * since the session was made and only grow; "now" values go up and down. Counting takes no
 * memory for each notification, and reads no clock that the session does not read anyway.
 *
 * The last place of an array counts everything without another place, so the places of an
 * array together are always the whole, even if a later version of APNs adds values.
 */
typedef struct apns_session_metrics {
  size_t size; /* set by APNS_SESSION_METRICS_INIT */

  /* Answer times. times[n] counts those of at most apns_metrics_bound_us(n), and longer than the
     bound before it; the last place has no bound. HTTP/2: each whole answer, from when its request
     was last given to its connection, with the clock read once for each 16 KB written or read. The
     binary interface answers no notification that it accepts, so there it is the time of a proof,
     for which apns_session_drain() waits: from a sentinel (see `quiet_period_ms`) to its error
     packet. */
  uint64_t responses;   /* all of `times` together */
  uint64_t response_us; /* their times added up, in microseconds */
  uint64_t times[APNS_METRICS_TIMES];

  /* HTTP/2. classes[n]: answers with an HTTP status of n hundred and more, together `responses`.
     reasons[n]: answers that gave this apns_reason_t, those included after which the session
     tried again. rejected_reasons[n]: rejected notifications, together `rejected` of
     apns_session_stats_t. APNS_REASON_OTHER has the last place. */
  uint64_t classes[APNS_METRICS_CLASSES];
  uint64_t reasons[APNS_METRICS_REASONS];
  uint64_t rejected_reasons[APNS_METRICS_REASONS];

  /* Binary. rejects[n]: notifications that were rejected with this apns_reject_t, together
     `rejected` of apns_session_stats_t. APNS_REJECT_PROTOCOL_ERROR has the last place but one,
     and APNS_REJECT_UNKNOWN the last. */
  uint64_t rejects[APNS_METRICS_REJECTS];

  /* Notifications that were put back to be sent again: because a response asked for it (429, 5xx,
     an expired provider token); because their connection or stream ended without a response, so
     they may arrive twice; because they were not processed (a GOAWAY, a refused stream, or binary:
     after a rejected one). */
  uint64_t retries_asked;
  uint64_t resends_in_doubt;
  uint64_t resends_unprocessed;

  /* Handshakes that succeeded, together the connections that were made; a resumed one saves a
     round trip or the certificates. connect_failures[n]: attempts that failed with the
     apns_status_t -n, such as connect_failures[-APNS_ERR_TLS]. An attempt that failed because it
     resumed a TLS session counts too, though the session tries again at once. */
  uint64_t tls12_full;
  uint64_t tls12_resumed;
  uint64_t tls13_full;
  uint64_t tls13_resumed;
  uint64_t connect_failures[APNS_METRICS_FAILURES];

  uint64_t bytes_written; /* before encryption, as in apns_session_stats_t */
  uint64_t bytes_read;    /* after decryption */

  /* HTTP/2. */
  uint64_t goaways;  /* that the peer sent */
  uint64_t pings;    /* that the session sent, because a connection was silent */
  uint64_t resets;   /* streams that the service reset with an error */
  uint64_t timeouts; /* streams given up, see `answer_timeout_ms` and `deadline_ms` */
  uint64_t tokens;   /* provider tokens that the session used, one after the other */

  /* Connections now. A draining one starts nothing new and is only read from: after a GOAWAY, or
     binary, after a sentinel. A standby one is open and not in use yet. */
  uint32_t connecting;
  uint32_t open;
  uint32_t draining;
  uint32_t standby;
  uint32_t
      backoff_ms; /* how long no connection may be made, see `reconnect_pause_max_ms`; 0: now */

  /* HTTP/2. How many requests the open connections can begin now; 0 while others wait for that. */
  uint32_t free_streams;
} apns_session_metrics_t;

#define APNS_SESSION_METRICS_INIT                                                                  \
  {                                                                                                \
    sizeof(apns_session_metrics_t), 0, 0, {0}, {0}, {0}, {0}, {0}, 0, 0, 0, 0, 0, 0, 0, {0}, 0, 0, \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                            \
  }

/**
 * Fills in the metrics. Allocates nothing and does no I/O. Works on a closed session too. Any
 * thread, as with apns_session_stats().
 */
apns_status_t apns_session_metrics(const apns_session_t *session,
                                   apns_session_metrics_t *metrics_out, apns_error_t *error_out);

/**
 * The longest answer time that times[index] counts, in microseconds: 1,000, 2,000, 5,000, 10,000
 * and so on up to 50 seconds. UINT64_MAX for the last place and for all beyond. The bounds never
 * change. Any thread.
 */
uint64_t apns_metrics_bound_us(size_t index);

/**
 * Closes the connection without destroying what is in flight, within `timeout_ms`.
 * Notifications that the gateway's last answers prove get their outcome. The others become
 * APNS_EVENT_UNKNOWN, in order, because nothing is sent again. Call apns_session_drain() first
 * to learn all outcomes. The session takes no more notifications.
 */
apns_status_t apns_session_close(apns_session_t *session, int32_t timeout_ms,
                                 apns_error_t *error_out);

/**
 * Frees the session and everything it holds. NULL is fine.
 *
 * With the option `close_timeout_ms` it first drains and closes an open session, within that time
 * together; it connects and reconnects for that. Without it, an open session is closed without
 * waiting. If notifications then have no outcome, one line counts them: an error of the kind
 * APNS_LOG_KIND_CLOSED with its `count`, to `log`; without a log, but with `close_timeout_ms`, to
 * standard error. After OpenSSL's own end (in a static destructor or an atexit() handler from
 * before the first credentials) nothing can be sent any more, so no notification gets an outcome.
 */
void apns_session_free(apns_session_t *session);

/* ---- Sessions in an event loop ------------------------------------------ */

/**
 * The descriptor of a session with the option `nonblocking`. It becomes readable whenever the
 * session has something to do: a connection is ready, a deadline or a pause has passed, or
 * apns_session_wake() was called. Then call apns_session_process(). It stays the same for the
 * session's whole life, through all reconnects, and apns_session_free() closes it.
 *
 * Watch it for reading in any event loop (level-triggered, as poll() and most libraries do; with
 * EPOLLET, call apns_session_process() once after adding it). Never read from it, write to it
 * or close it. -1: the session is NULL, was made by another process or without `nonblocking`.
 */
int apns_session_fd(const apns_session_t *session);

/**
 * In how many ms apns_session_process() is due, rounded up: 0 now, -1 not before the descriptor
 * is readable. Every call on the session may change it, so call this before each wait. The
 * descriptor becomes readable at that time itself, so only a program that cannot watch
 * descriptors needs this. -1 too where apns_session_fd() is -1. Does no I/O.
 */
int32_t apns_session_timeout_ms(const apns_session_t *session);

/**
 * Does what can be done now on a session with the option `nonblocking`, and returns: connects,
 * shakes hands, writes what waits, reads answers, sends again, proves, pauses, closes. It does
 * not wait, and it stops after about a millisecond of work; the descriptor then stays readable.
 * Once a call has worked that long, the others leave the work to it.
 *
 * With `nonblocking`
 * - the send functions take a notification while the window has room, connected or not, and
 *   write as far as the connection takes it; APNS_ERR_AGAIN: there is no room before earlier
 *   ones have their outcome, and APNS_ERR_FULL as ever;
 * - apns_session_connect(), apns_session_flush(), apns_session_drain() and apns_session_close()
 *   begin their work and return APNS_ERR_AGAIN until it is done; apns_session_process()
 *   continues it, and the same call made again returns whether it is done. Their timeouts are
 *   ignored, except the first one of apns_session_close(): at its end, notifications without an
 *   answer end as unknown;
 * - apns_session_next_event() takes an outcome that is there, and does no I/O.
 *
 * APNS_OK: there is nothing to report; outcomes may have come. Another error is the last failure,
 * such as a connection that cannot be made, with its cause: nothing is lost, the session pauses
 * and tries again automatically, when the descriptor becomes readable. APNS_DONE: the session has
 * closed, so nothing is left to do but to take outcomes. APNS_ERR_ARGUMENT: the session was made
 * without `nonblocking`.
 *
 * Resolving a name waits if libc does it; see `lookup`. Nothing else waits.
 */
apns_status_t apns_session_process(apns_session_t *session, apns_error_t *error_out);

/**
 * Makes the descriptor readable, so that the thread that owns the session wakes up and looks for
 * work. Any thread may call it at any time until apns_session_free(), and a signal handler too.
 * Several calls before the next apns_session_process() count as one. APNS_ERR_ARGUMENT: the session
 * is NULL or was made without `nonblocking`; APNS_ERR_FORKED.
 */
apns_status_t apns_session_wake(apns_session_t *session);

/* ---- Channels ----------------------------------------------------------- */

#define APNS_CHANNELS_HOST_PRODUCTION "api-manage-broadcast.push.apple.com"
#define APNS_CHANNELS_HOST_SANDBOX "api-manage-broadcast.sandbox.push.apple.com"
#define APNS_PORT_CHANNELS_PRODUCTION 2196
#define APNS_PORT_CHANNELS_SANDBOX 2195

/**
 * The channels of an app, to which broadcasts go; see `channel_id` of apns_notification_t. A
 * separate service manages them, over HTTP/2 (Sending channel management requests to APNs). In
 * a library without HTTP/2 apns_channels_new() fails.
 *
 *     apns_channels_options_t where = APNS_CHANNELS_OPTIONS_INIT;
 *     where.topic = "com.example.app";
 *     char channel_id[APNS_CHANNEL_ID_MAX + 1];
 *     if (apns_channels_new(&where, credentials, &channels, &error) ||
 *         apns_channel_create(channels, APNS_STORAGE_LATEST, channel_id,
 *                             sizeof channel_id, &error))
 *       fprintf(stderr, "%s\n", error.message);
 *     apns_channels_free(channels);
 *
 * Requests go one after the other, over one connection that is kept between them for a minute.
 * They work as in a session: proxies, shared provider tokens, a new token if APNs refused the old
 * one. If a connection is lost, or ended by GOAWAY, its request goes out again on another one;
 * all but the creation of a channel, which would make a second one. A response that requests a
 * retry (429, 5xx) is the caller's: APNS_ERR_REJECTED, with `retry_after_s`.
 */
typedef struct apns_channels apns_channels_t;

/** The messages that a channel keeps for later subscribers ("message-storage-policy"). */
typedef enum apns_storage {
  APNS_STORAGE_NONE = 0,  /* nothing: an update reaches the devices that are there */
  APNS_STORAGE_LATEST = 1 /* the latest update, until its expiry */
} apns_storage_t;

typedef struct apns_channels_options {
  size_t size; /* set by APNS_CHANNELS_OPTIONS_INIT */

  /* Where to connect to; host NULL and port 0: Apple's for the environment. With `wait_max_ms` a
     call returns APNS_ERR_AGAIN after that time, and the same call made again continues. With
     `nonblocking` a call begins its request and returns APNS_ERR_AGAIN until it is answered; see
     apns_channels_fd(). */
  apns_peer_t peer;
  int32_t environment; /* apns_environment_t; 0: production. Each has its own channels */

  uint32_t answer_timeout_ms; /* for a request and its whole answer, connected; 0: 30,000 */

  /* The app's bundle id, as in apns_notification_t; NULL: the first topic of the certificate. */
  const char *topic;

  /* As in apns_session_options_t. */
  apns_log_t log;
  void *log_context;
  int32_t log_level;   /* apns_log_level_t; 0: info */
  uint32_t reserved32; /* zero */
} apns_channels_options_t;

#define APNS_CHANNELS_OPTIONS_INIT \
  { sizeof(apns_channels_options_t), APNS_PEER_INIT, 0, 0, NULL, NULL, NULL, 0, 0 }

/**
 * Makes an object that manages the channels of one app in one environment. It connects with the
 * first request. `options` may be NULL: Apple's production service, and the certificate's topic.
 * `credentials` may be freed before the channels. On success the caller owns `*channels_out`.
 */
apns_status_t apns_channels_new(const apns_channels_options_t *options,
                                const apns_credentials_t *credentials,
                                apns_channels_t **channels_out, apns_error_t *error_out);

/**
 * Creates a channel, and writes its identifier and a NUL to `channel_id_out`, which has room for
 * APNS_CHANNEL_ID_MAX + 1 bytes; with a smaller `capacity` nothing is sent, and the call returns
 * APNS_ERR_BUFFER_SMALL.
 *
 * This and the three next calls return APNS_ERR_REJECTED if APNs rejected the request; the message
 * has the status and reason, and apns_channels_response() has them as numbers. APNS_ERR_PROTOCOL:
 * its response is invalid. APNS_ERR_TIMEOUT and the other errors of a connection: there was no
 * response. APNS_ERR_IN_DOUBT, from this call only: there was no response, or no identifier in it,
 * and the channel may have been made; apns_channels_list() shows it. After any error but
 * APNS_ERR_AGAIN the request is abandoned.
 */
apns_status_t apns_channel_create(apns_channels_t *channels, apns_storage_t storage,
                                  char *channel_id_out, size_t capacity, apns_error_t *error_out);

/** APNs' description of a channel. */
typedef struct apns_channel_description {
  size_t size;       /* set by APNS_CHANNEL_DESCRIPTION_INIT */
  int32_t storage;   /* apns_storage_t, or a number that this version does not know */
  int32_t push_type; /* APNS_PUSH_TYPE_LIVEACTIVITY; 0: another one */
} apns_channel_description_t;

#define APNS_CHANNEL_DESCRIPTION_INIT \
  { sizeof(apns_channel_description_t), 0, 0 }

/** Asks what a channel is for. */
apns_status_t apns_channel_describe(apns_channels_t *channels, const char *channel_id,
                                    apns_channel_description_t *description_out,
                                    apns_error_t *error_out);

/** Deletes a channel, which must exist (otherwise APNS_REASON_CHANNEL_NOT_REGISTERED). */
apns_status_t apns_channel_delete(apns_channels_t *channels, const char *channel_id,
                                  apns_error_t *error_out);

/**
 * Asks for the identifiers of all channels of the app; apns_channels_next() gives them. A list of
 * more than 4 MiB is APNS_ERR_PROTOCOL with APNS_CAUSE_FLOOD; an app's 10,000 channels take less
 * than a tenth of that.
 */
apns_status_t apns_channels_list(apns_channels_t *channels, apns_error_t *error_out);

/**
 * Gives the next identifier of the list, with a NUL at its end. It is the library's, until the next
 * call with these channels. APNS_DONE: the list has ended, or there is no list. Any other request
 * ends the list.
 */
apns_status_t apns_channels_next(apns_channels_t *channels, const char **channel_id_out);

/** The response to the last request. */
typedef struct apns_channels_response {
  size_t size;          /* set by APNS_CHANNELS_RESPONSE_INIT */
  int32_t reason;       /* apns_reason_t */
  uint16_t http_status; /* such as 201, 400; 0: no answer came */
  uint16_t reserved16;
  uint32_t retry_after_s; /* as in apns_event_t */
  uint32_t reserved32;
  char request_id[40];  /* apns-request-id, for questions to Apple; "": missing */
  char reason_text[64]; /* as in apns_event_t */
} apns_channels_response_t;

#define APNS_CHANNELS_RESPONSE_INIT                             \
  {                                                             \
    sizeof(apns_channels_response_t), 0, 0, 0, 0, 0, {0}, { 0 } \
  }

/** Fills in the answer to the last request that has ended, refused or not. Does no I/O. */
apns_status_t apns_channels_response(const apns_channels_t *channels,
                                     apns_channels_response_t *response_out,
                                     apns_error_t *error_out);

/**
 * Abandons the pending request, such as after APNS_ERR_AGAIN, and drops its connection. It may be
 * carried out all the same. Does nothing without a pending request; NULL is fine.
 */
void apns_channels_cancel(apns_channels_t *channels);

/**
 * The descriptor of channels with the option `nonblocking`: it is readable whenever the pending
 * request has something to do, because of bytes or of a deadline. Then make the same call again,
 * with the same arguments. Without a pending request it is not readable. Watch it as
 * apns_session_fd(); it is closed by apns_channels_free(). -1: the channels are NULL, were made by
 * another process or without `nonblocking`.
 */
int apns_channels_fd(const apns_channels_t *channels);

/**
 * In how many ms the pending request is due, for programs that cannot watch descriptors: 0 now,
 * -1 not before the descriptor is readable, and without a request.
 */
int32_t apns_channels_timeout_ms(const apns_channels_t *channels);

/** Frees the channels and closes their connection. NULL is fine. */
void apns_channels_free(apns_channels_t *channels);

#ifdef __cplusplus
}
#endif

#endif
