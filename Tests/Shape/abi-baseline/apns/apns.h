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
#define APNS_VERSION_NUM \
  ((APNS_VERSION_MAJOR << 16) | (APNS_VERSION_MINOR << 8) | APNS_VERSION_PATCH)
const char *apns_version(void);
#define APNS_FEATURE_HTTP2 0x1u
#define APNS_FEATURE_CARES 0x2u
#define APNS_FEATURE_BINARY 0x4u
uint32_t apns_features(void);
#define APNS_TIMEOUT_INFINITE (-1)
#define APNS_TIMEOUT_DEFAULT (-2)
typedef enum apns_status {
  APNS_OK = 0,
  APNS_DONE = -1,
  APNS_ERR_ARGUMENT = -2,
  APNS_ERR_BUFFER_SMALL = -3,
  APNS_ERR_MEMORY = -4,
  APNS_ERR_TIMEOUT = -5,
  APNS_ERR_NETWORK = -6,
  APNS_ERR_TLS = -7,
  APNS_ERR_CREDENTIALS = -8,
  APNS_ERR_PROTOCOL = -9,
  APNS_ERR_FULL = -10,
  APNS_ERR_CLOSED = -11,
  APNS_ERR_FORKED = -12,
  APNS_ERR_AGAIN = -13,
  APNS_ERR_REJECTED = -14,
  APNS_ERR_IN_DOUBT = -15
} apns_status_t;
const char *apns_status_name(apns_status_t status);
int apns_status_is_retryable(apns_status_t status);
typedef enum apns_reject {
  APNS_REJECT_NONE = 0,
  APNS_REJECT_PROCESSING_ERROR = 1,
  APNS_REJECT_MISSING_TOKEN = 2,
  APNS_REJECT_MISSING_TOPIC = 3,
  APNS_REJECT_MISSING_PAYLOAD = 4,
  APNS_REJECT_INVALID_TOKEN_SIZE = 5,
  APNS_REJECT_INVALID_TOPIC_SIZE = 6,
  APNS_REJECT_INVALID_PAYLOAD_SIZE = 7,
  APNS_REJECT_INVALID_TOKEN = 8,
  APNS_REJECT_SHUTDOWN = 10,
  APNS_REJECT_PROTOCOL_ERROR = 128,
  APNS_REJECT_UNKNOWN = 255
} apns_reject_t;
const char *apns_reject_text(apns_reject_t reject);
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
  APNS_REASON_MISSING_CHANNEL_ID = 33,
  APNS_REASON_BAD_CHANNEL_ID = 34,
  APNS_REASON_CHANNEL_NOT_REGISTERED = 35,
  APNS_REASON_CANNOT_CREATE_CHANNEL_CONFIG = 36,
  APNS_REASON_FEATURE_NOT_ENABLED = 37,
  APNS_REASON_MISSING_PUSH_TYPE = 38,
  APNS_REASON_TOPIC_MISMATCH = 39,
  APNS_REASON_OTHER = 255
} apns_reason_t;
const char *apns_reason_text(apns_reason_t reason);
apns_reason_t apns_reason_from_text(const char *text, size_t length);
int apns_reason_http_status(apns_reason_t reason);
apns_reject_t apns_reason_reject(apns_reason_t reason);
typedef enum apns_cause {
  APNS_CAUSE_NONE = 0,
  APNS_CAUSE_MEMORY = 1,
  APNS_CAUSE_DESCRIPTORS = 2,
  APNS_CAUSE_NAME_NOT_FOUND = 3,
  APNS_CAUSE_LOOKUP_FAILED = 4,
  APNS_CAUSE_CONNECTION_REFUSED = 5,
  APNS_CAUSE_UNREACHABLE = 6,
  APNS_CAUSE_CONNECTION_FAILED = 7,
  APNS_CAUSE_CONNECTION_LOST = 8,
  APNS_CAUSE_LOOKUP_TIMEOUT = 9,
  APNS_CAUSE_CONNECT_TIMEOUT = 10,
  APNS_CAUSE_PROXY_TIMEOUT = 11,
  APNS_CAUSE_HANDSHAKE_TIMEOUT = 12,
  APNS_CAUSE_WRITE_TIMEOUT = 13,
  APNS_CAUSE_ANSWER_TIMEOUT = 14,
  APNS_CAUSE_RECONNECT_PAUSE = 15,
  APNS_CAUSE_PROXY_UNREACHABLE = 16,
  APNS_CAUSE_PROXY_LOST = 17,
  APNS_CAUSE_PROXY_NOT_HTTP = 18,
  APNS_CAUSE_PROXY_AUTHENTICATION = 19,
  APNS_CAUSE_PROXY_REFUSED = 20,
  APNS_CAUSE_PROXY_NO_ROUTE = 21,
  APNS_CAUSE_PEER_EXPIRED = 22,
  APNS_CAUSE_PEER_NOT_YET_VALID = 23,
  APNS_CAUSE_PEER_NAME = 24,
  APNS_CAUSE_PEER_NOT_TRUSTED = 25,
  APNS_CAUSE_PEER_REVOKED = 26,
  APNS_CAUSE_PEER_REVOCATION_LIST = 27,
  APNS_CAUSE_PEER_NOT_PINNED = 28,
  APNS_CAUSE_PEER_UNFIT = 29,
  APNS_CAUSE_HANDSHAKE_ENDED = 30,
  APNS_CAUSE_NOT_TLS = 31,
  APNS_CAUSE_TLS_VERSION = 32,
  APNS_CAUSE_NO_HTTP2 = 33,
  APNS_CAUSE_CERTIFICATE_WANTED = 34,
  APNS_CAUSE_CERTIFICATE_REFUSED = 35,
  APNS_CAUSE_ALERT = 36,
  APNS_CAUSE_TLS_FAILED = 37,
  APNS_CAUSE_PROTOCOL = 38,
  APNS_CAUSE_FLOOD = 39,
  APNS_CAUSE_FILE_UNREADABLE = 40,
  APNS_CAUSE_FILE_MALFORMED = 41,
  APNS_CAUSE_CERTIFICATE_MISSING = 42,
  APNS_CAUSE_KEY_MISSING = 43,
  APNS_CAUSE_KEY_MISMATCH = 44,
  APNS_CAUSE_KEY_UNFIT = 45,
  APNS_CAUSE_PASSPHRASE_MISSING = 46,
  APNS_CAUSE_PASSPHRASE_WRONG = 47,
  APNS_CAUSE_UNLOCK_COST = 48,
  APNS_CAUSE_LEGACY_PROVIDER = 49,
  APNS_CAUSE_CERTIFICATE_EXPIRED = 50,
  APNS_CAUSE_CERTIFICATE_NOT_YET_VALID = 51,
  APNS_CAUSE_CERTIFICATE_UNFIT = 52,
  APNS_CAUSE_CA_MISSING = 53,
  APNS_CAUSE_REVOCATION_LIST = 54,
  APNS_CAUSE_TOKEN_IDENTIFIER = 55,
  APNS_CAUSE_TOPIC = 56,
  APNS_CAUSE_HTTP2_NOT_BUILT_IN = 57,
  APNS_CAUSE_PROVIDER_TOKEN = 58,
  APNS_CAUSE_SEVERAL_IDENTITIES = 59,
  APNS_CAUSE_BINARY_NOT_BUILT_IN = 60
} apns_cause_t;
const char *apns_cause_name(apns_cause_t cause);
const char *apns_why_unquoted(const void *text, size_t length);
typedef struct apns_error {
  size_t size;
  int32_t status;
  int32_t sys_errno;
  uint64_t tls_code;
  int32_t reject;
  int32_t cause;
  char message[240];
} apns_error_t;
#define APNS_ERROR_INIT                        \
  {                                            \
    sizeof(apns_error_t), 0, 0, 0, 0, 0, { 0 } \
  }
#define APNS_TOKEN_MAX 100
apns_status_t apns_token_from_hex(const char *text, size_t text_length, uint8_t *token_out,
                                  size_t capacity, size_t *length_out, apns_error_t *error_out);
apns_status_t apns_token_to_hex(const void *token, size_t token_length, char *text_out,
                                size_t capacity, size_t *length_out, apns_error_t *error_out);
apns_status_t apns_token_from_base64(const char *text, size_t text_length, uint8_t *token_out,
                                     size_t capacity, size_t *length_out, apns_error_t *error_out);
apns_status_t apns_token_to_base64(const void *token, size_t token_length, char *text_out,
                                   size_t capacity, size_t *length_out, apns_error_t *error_out);
typedef struct apns_strings apns_strings_t;
apns_status_t apns_strings_new(const void *bytes, size_t length, apns_strings_t **strings_out,
                               apns_error_t *error_out);
apns_status_t apns_strings_open(const char *file, apns_strings_t **strings_out,
                                apns_error_t *error_out);
apns_status_t apns_strings_get(const apns_strings_t *strings, const char *key, size_t key_length,
                               const char **text_out, size_t *length_out, apns_error_t *error_out);
apns_status_t apns_strings_format(const apns_strings_t *strings, const char *key, size_t key_length,
                                  const char *const *args, size_t arg_count, char *text_out,
                                  size_t capacity, size_t *length_out, apns_error_t *error_out);
void apns_strings_free(apns_strings_t *strings);
typedef struct apns_payload apns_payload_t;
#define APNS_PAYLOAD_MAX_LISTING 256
#define APNS_PAYLOAD_MAX_FRAMED 2048
#define APNS_PAYLOAD_MAX_HTTP2 4096
#define APNS_PAYLOAD_MAX_VOIP 5120
#define APNS_PAYLOAD_MAX_BROADCAST 5120
typedef struct apns_payload_options {
  size_t size;
  size_t limit;
  const char *suffix;
  size_t suffix_length;
  int32_t truncate;
  int32_t reserved32;
} apns_payload_options_t;
#define APNS_PAYLOAD_OPTIONS_INIT \
  { sizeof(apns_payload_options_t), 0, NULL, 0, 0, 0 }
apns_status_t apns_payload_new(const apns_payload_options_t *options, apns_payload_t **payload_out,
                               apns_error_t *error_out);
void apns_payload_reset(apns_payload_t *payload);
void apns_payload_free(apns_payload_t *payload);
typedef enum apns_payload_key {
  APNS_KEY_ALERT = 1,
  APNS_KEY_TITLE = 2,
  APNS_KEY_SUBTITLE = 3,
  APNS_KEY_BODY = 4,
  APNS_KEY_TITLE_LOC_KEY = 5,
  APNS_KEY_SUBTITLE_LOC_KEY = 6,
  APNS_KEY_LOC_KEY = 7,
  APNS_KEY_ACTION_LOC_KEY = 8,
  APNS_KEY_LAUNCH_IMAGE = 9,
  APNS_KEY_TITLE_LOC_ARGS = 10,
  APNS_KEY_SUBTITLE_LOC_ARGS = 11,
  APNS_KEY_LOC_ARGS = 12,
  APNS_KEY_SOUND = 13,
  APNS_KEY_CATEGORY = 14,
  APNS_KEY_THREAD_ID = 15,
  APNS_KEY_TARGET_CONTENT_ID = 16,
  APNS_KEY_INTERRUPTION_LEVEL = 17,
  APNS_KEY_FILTER_CRITERIA = 18,
  APNS_KEY_URL_ARGS = 19,
  APNS_KEY_BADGE = 20,
  APNS_KEY_CONTENT_AVAILABLE = 21,
  APNS_KEY_MUTABLE_CONTENT = 22,
  APNS_KEY_RELEVANCE_SCORE = 23,
  APNS_KEY_TIMESTAMP = 24,
  APNS_KEY_EVENT = 25,
  APNS_KEY_CONTENT_STATE = 26,
  APNS_KEY_STALE_DATE = 27,
  APNS_KEY_DISMISSAL_DATE = 28,
  APNS_KEY_ATTRIBUTES_TYPE = 29,
  APNS_KEY_ATTRIBUTES = 30,
  APNS_KEY_INPUT_PUSH_TOKEN = 31,
  APNS_KEY_INPUT_PUSH_CHANNEL = 32,
  APNS_KEY_ALERT_SOUND = 33,
  APNS_KEY_CONTENT_CHANGED = 34
} apns_payload_key_t;
apns_status_t apns_payload_set_string(apns_payload_t *payload, apns_payload_key_t key,
                                      const char *text, size_t length, apns_error_t *error_out);
apns_status_t apns_payload_set_strings(apns_payload_t *payload, apns_payload_key_t key,
                                       const char *const *texts, const size_t *lengths,
                                       size_t count, apns_error_t *error_out);
apns_status_t apns_payload_set_integer(apns_payload_t *payload, apns_payload_key_t key,
                                       int64_t value, apns_error_t *error_out);
apns_status_t apns_payload_set_double(apns_payload_t *payload, apns_payload_key_t key, double value,
                                      apns_error_t *error_out);
apns_status_t apns_payload_set_json(apns_payload_t *payload, apns_payload_key_t key,
                                    const char *json, size_t length, apns_error_t *error_out);
apns_status_t apns_payload_set_critical_sound(apns_payload_t *payload, const char *name,
                                              size_t length, double volume,
                                              apns_error_t *error_out);
apns_status_t apns_payload_remove(apns_payload_t *payload, apns_payload_key_t key,
                                  apns_error_t *error_out);
apns_status_t apns_payload_add_string(apns_payload_t *payload, const char *name, size_t name_length,
                                      const char *text, size_t length, apns_error_t *error_out);
apns_status_t apns_payload_add_integer(apns_payload_t *payload, const char *name,
                                       size_t name_length, int64_t value, apns_error_t *error_out);
apns_status_t apns_payload_add_double(apns_payload_t *payload, const char *name, size_t name_length,
                                      double value, apns_error_t *error_out);
apns_status_t apns_payload_add_boolean(apns_payload_t *payload, const char *name,
                                       size_t name_length, int value, apns_error_t *error_out);
apns_status_t apns_payload_add_null(apns_payload_t *payload, const char *name, size_t name_length,
                                    apns_error_t *error_out);
apns_status_t apns_payload_add_json(apns_payload_t *payload, const char *name, size_t name_length,
                                    const char *json, size_t length, apns_error_t *error_out);
void apns_payload_remove_custom(apns_payload_t *payload);
apns_status_t apns_payload_write(const apns_payload_t *payload, void *buffer, size_t capacity,
                                 size_t *length_out, size_t *cut_out, apns_error_t *error_out);
typedef enum apns_finding_severity {
  APNS_FINDING_ERROR = 1,
  APNS_FINDING_WARNING = 2
} apns_finding_severity_t;
typedef struct apns_payload_finding {
  size_t size;
  int32_t severity;
  int32_t reserved32;
  size_t offset;
  uint32_t line;
  uint32_t column;
  char message[160];
} apns_payload_finding_t;
#define APNS_PAYLOAD_FINDING_INIT                        \
  {                                                      \
    sizeof(apns_payload_finding_t), 0, 0, 0, 0, 0, { 0 } \
  }
apns_status_t apns_payload_check(const void *json, size_t length, size_t limit,
                                 apns_payload_finding_t *findings, size_t capacity,
                                 size_t *count_out, apns_error_t *error_out);
typedef struct apns_credentials apns_credentials_t;
typedef enum apns_tls_version {
  APNS_TLS_DEFAULT = 0,
  APNS_TLS_1_2 = 12,
  APNS_TLS_1_3 = 13
} apns_tls_version_t;
typedef int (*apns_passphrase_t)(const char *file, char *buffer, size_t capacity, void *context);
typedef enum apns_token_need {
  APNS_TOKEN_FIRST = 1,
  APNS_TOKEN_AGED = 2,
  APNS_TOKEN_REFUSED = 3
} apns_token_need_t;
#define APNS_PROVIDER_TOKEN_MAX 1000
typedef struct apns_token_request {
  size_t size;
  int32_t need;
  uint32_t reserved32;
  char *token;
  size_t capacity;
  uint32_t renew_after_s;
  char message[124];
} apns_token_request_t;
#define APNS_TOKEN_REQUEST_INIT                           \
  {                                                       \
    sizeof(apns_token_request_t), 0, 0, NULL, 0, 0, { 0 } \
  }
typedef int (*apns_provider_token_t)(apns_token_request_t *request, void *context);
typedef int (*apns_sign_t)(const void *message, size_t length, uint8_t *signature, size_t capacity,
                           void *context);
typedef struct apns_credentials_options {
  size_t size;
  const char *certificate_file;
  const void *certificate_bytes;
  size_t certificate_length;
  const char *key_file;
  const void *key_bytes;
  size_t key_length;
  const char *passphrase;
  const char *ca_file;
  const char *ca_directory;
  int32_t tls_min;
  int32_t tls_max;
  int32_t dangerously_accept_any_peer;
  int32_t accept_expired;
  apns_passphrase_t passphrase_callback;
  void *passphrase_context;
  const char *token_key_file;
  const void *token_key_bytes;
  size_t token_key_length;
  const char *key_id;
  const char *team_id;
  const char *crl_file;
  const char *crl_directory;
  const char *const *pinned_keys;
  size_t pinned_key_count;
  int32_t security_level;
  int32_t reserved32;
  const char *token_cache_file;
  apns_provider_token_t token_callback;
  void *token_context;
  apns_sign_t sign_callback;
  void *sign_context;
  struct evp_pkey_st *token_private_key;
  struct evp_pkey_st *private_key;
} apns_credentials_options_t;
#define APNS_CREDENTIALS_OPTIONS_INIT                                                            \
  {                                                                                              \
    sizeof(apns_credentials_options_t), NULL, NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, 0, 0, 0, \
        0, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL,   \
        NULL, NULL, NULL, NULL                                                                   \
  }
apns_status_t apns_credentials_new(const apns_credentials_options_t *options,
                                   apns_credentials_t **credentials_out, apns_error_t *error_out);
typedef enum apns_environment {
  APNS_ENVIRONMENT_PRODUCTION = 0,
  APNS_ENVIRONMENT_SANDBOX = 1
} apns_environment_t;
typedef struct apns_credentials_description {
  size_t size;
  const char *subject;
  const char *const *topics;
  size_t topic_count;
  int64_t not_before;
  int64_t not_after;
  uint32_t environments;
  uint32_t chain_length;
  const char *key_id;
  const char *team_id;
} apns_credentials_description_t;
#define APNS_CREDENTIALS_DESCRIPTION_INIT \
  { sizeof(apns_credentials_description_t), NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL }
apns_status_t apns_credentials_describe(const apns_credentials_t *credentials,
                                        apns_credentials_description_t *description_out,
                                        apns_error_t *error_out);
void apns_credentials_free(apns_credentials_t *credentials);
#define APNS_HOST_PRODUCTION "api.push.apple.com"
#define APNS_HOST_SANDBOX "api.sandbox.push.apple.com"
#define APNS_PORT_HTTP2 443
#define APNS_PORT_HTTP2_OTHER 2197
typedef struct apns_session apns_session_t;
typedef enum apns_delivery {
  APNS_DELIVERY_AT_LEAST_ONCE = 0,
  APNS_DELIVERY_AT_MOST_ONCE = 1
} apns_delivery_t;
typedef enum apns_outcomes {
  APNS_OUTCOMES_ALL = 0,
  APNS_OUTCOMES_EACH = 1,
  APNS_OUTCOMES_FAILURES = 2
} apns_outcomes_t;
typedef void (*apns_user_data_free_t)(void *user_data);
typedef void (*apns_outcome_t)(const struct apns_event *event, void *context);
typedef enum apns_protocol { APNS_PROTOCOL_HTTP2 = 0, APNS_PROTOCOL_BINARY = 1 } apns_protocol_t;
#define APNS_LOOKUP_PENDING 1
typedef int (*apns_lookup_t)(const char *host, struct addrinfo **list_out, void *context);
typedef enum apns_check {
  APNS_CHECK_PAYLOAD = 1,
  APNS_CHECK_EXPIRY = 2,
  APNS_CHECK_ALL = 3
} apns_check_t;
typedef enum apns_log_level {
  APNS_LOG_DEFAULT = 0,
  APNS_LOG_ERROR = 1,
  APNS_LOG_WARNING = 2,
  APNS_LOG_NOTICE = 3,
  APNS_LOG_INFO = 4,
  APNS_LOG_DEBUG = 5,
  APNS_LOG_TRACE = 6
} apns_log_level_t;
typedef enum apns_log_kind {
  APNS_LOG_KIND_CONNECTED = 1,
  APNS_LOG_KIND_CONNECT_FAILED = 2,
  APNS_LOG_KIND_DISCONNECTED = 3,
  APNS_LOG_KIND_ABANDONED = 4,
  APNS_LOG_KIND_GOAWAY = 5,
  APNS_LOG_KIND_RESET = 6,
  APNS_LOG_KIND_TIMEOUT = 7,
  APNS_LOG_KIND_RESENT = 8,
  APNS_LOG_KIND_RETRY = 9,
  APNS_LOG_KIND_BACKOFF = 10,
  APNS_LOG_KIND_FULL = 11,
  APNS_LOG_KIND_TOKEN = 12,
  APNS_LOG_KIND_CACHE = 13,
  APNS_LOG_KIND_CLOSED = 14,
  APNS_LOG_KIND_CONNECTING = 15,
  APNS_LOG_KIND_PING = 16,
  APNS_LOG_KIND_FRAME = 17,
  APNS_LOG_KIND_FORGOTTEN = 18
} apns_log_kind_t;
const char *apns_log_kind_name(apns_log_kind_t kind);
typedef struct apns_log_record {
  size_t size;
  int32_t level;
  int32_t kind;
  int32_t cause;
  uint32_t connection;
  uint64_t count;
  uint32_t milliseconds;
  uint32_t left_out;
  int32_t resumed;
  int32_t reserved32;
  const char *peer;
  const char *line;
} apns_log_record_t;
#define APNS_LOG_RECORD_INIT \
  { sizeof(apns_log_record_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL }
typedef void (*apns_log_t)(const apns_log_record_t *record, void *context);
typedef struct apns_peer {
  const char *host;
  const char *server_name;
  uint16_t port;
  uint16_t reserved16;
  uint32_t connect_timeout_ms;
  const char *proxy;
  int32_t proxy_from_environment;
  int32_t nonblocking;
  uint32_t wait_max_ms;
  uint32_t reserved32;
  const char *addresses;
  apns_lookup_t lookup;
  void *lookup_context;
  const void *reserved[4];
} apns_peer_t;
#define APNS_PEER_INIT                                                                  \
  {                                                                                     \
    NULL, NULL, 0, 0, 0, NULL, 0, 0, 0, 0, NULL, NULL, NULL, { NULL, NULL, NULL, NULL } \
  }
typedef struct apns_tuning {
  size_t size;
  uint32_t write_timeout_ms;
  uint32_t answer_timeout_ms;
  int32_t ping_after_ms;
  int32_t keepalive_ms;
  int32_t retry_timeout_ms;
  uint32_t connects_per_minute;
  uint32_t reconnect_pause_max_ms;
  uint32_t payload_max;
  const char *retry_schedule;
  const char *server_error_schedule;
} apns_tuning_t;
#define APNS_TUNING_INIT \
  { sizeof(apns_tuning_t), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL }
typedef struct apns_session_options {
  size_t size;
  apns_peer_t peer;
  int32_t environment;
  int32_t protocol;
  const char *topic;
  int32_t device_order;
  uint32_t connections;
  uint32_t window_bytes;
  int32_t checks;
  int32_t delivery;
  int32_t outcomes;
  apns_log_t log;
  void *log_context;
  int32_t log_level;
  uint32_t close_timeout_ms;
  const struct apns_binary_options *binary;
  const apns_tuning_t *tuning;
  apns_user_data_free_t user_data_free;
  int32_t deadline_ms;
  int32_t reserved32;
  apns_outcome_t on_outcome;
  void *outcome_context;
} apns_session_options_t;
#define APNS_SESSION_OPTIONS_INIT                                                                \
  {                                                                                              \
    sizeof(apns_session_options_t), APNS_PEER_INIT, 0, 0, NULL, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, \
        0, NULL, NULL, NULL, 0, 0, NULL, NULL                                                    \
  }
apns_status_t apns_session_new(const apns_session_options_t *options,
                               const apns_credentials_t *credentials, apns_session_t **session_out,
                               apns_error_t *error_out);
apns_status_t apns_session_use_credentials(apns_session_t *session,
                                           const apns_credentials_t *credentials,
                                           apns_error_t *error_out);
apns_status_t apns_session_limit_connections(apns_session_t *session, uint32_t most,
                                             apns_error_t *error_out);
apns_status_t apns_session_connect(apns_session_t *session, apns_error_t *error_out);
#define APNS_EXPIRY_ONCE (-1)
typedef enum apns_push_type {
  APNS_PUSH_TYPE_DEFAULT = 0,
  APNS_PUSH_TYPE_ALERT = 1,
  APNS_PUSH_TYPE_BACKGROUND = 2,
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
const char *apns_push_type_text(apns_push_type_t type);
#define APNS_CHANNEL_ID_MAX 255
typedef struct apns_notification {
  size_t size;
  const void *token;
  size_t token_length;
  const void *payload;
  size_t payload_length;
  void *user_data;
  int64_t expiry;
  uint8_t priority;
  uint8_t push_type;
  uint8_t reserved[6];
  const char *topic;
  const char *collapse_id;
  const char *apns_id;
  const char *channel_id;
  int32_t deadline_ms;
  int32_t reserved32;
} apns_notification_t;
#define APNS_NOTIFICATION_INIT                                                                    \
  {                                                                                               \
    sizeof(apns_notification_t), NULL, 0, NULL, 0, NULL, 0, 0, 0, {0, 0, 0, 0, 0, 0}, NULL, NULL, \
        NULL, NULL, 0, 0                                                                          \
  }
#define APNS_SEND_MORE 1u
apns_status_t apns_session_send(apns_session_t *session, const apns_notification_t *notification,
                                uint32_t flags, uint32_t *identifier_out, apns_error_t *error_out);
apns_status_t apns_session_send_many(apns_session_t *session,
                                     const apns_notification_t *notifications, size_t count,
                                     uint32_t flags, size_t *taken_out, apns_error_t *error_out);
apns_status_t apns_session_send_payload(apns_session_t *session,
                                        const apns_notification_t *notification,
                                        const apns_payload_t *payload, uint32_t flags,
                                        uint32_t *identifier_out, size_t *cut_out,
                                        apns_error_t *error_out);
apns_status_t apns_session_flush(apns_session_t *session, apns_error_t *error_out);
apns_status_t apns_session_drain(apns_session_t *session, int32_t timeout_ms,
                                 size_t *unresolved_out, apns_error_t *error_out);
apns_status_t apns_session_cancel(apns_session_t *session, uint32_t identifier,
                                  size_t *cancelled_out, apns_error_t *error_out);
typedef enum apns_event_kind {
  APNS_EVENT_ACCEPTED = 1,
  APNS_EVENT_REJECTED = 2,
  APNS_EVENT_UNKNOWN = 3,
  APNS_EVENT_CANCELLED = 4,
  APNS_EVENT_EXPIRED = 5
} apns_event_kind_t;
typedef struct apns_event {
  size_t size;
  int32_t kind;
  int32_t reject;
  uint32_t identifier;
  uint32_t retry_after_s;
  void *user_data;
  int32_t reason;
  uint16_t http_status;
  uint16_t retry_asked;
  int64_t timestamp;
  char apns_id[40];
  char reason_text[64];
  char unique_id[40];
} apns_event_t;
#define APNS_EVENT_INIT                                                 \
  {                                                                     \
    sizeof(apns_event_t), 0, 0, 0, 0, NULL, 0, 0, 0, 0, {0}, {0}, { 0 } \
  }
apns_status_t apns_session_next_event(apns_session_t *session, apns_event_t *event_out,
                                      int32_t timeout_ms, apns_error_t *error_out);
apns_status_t apns_session_push(apns_session_t *session, const apns_notification_t *notification,
                                int32_t timeout_ms, apns_event_t *event_out,
                                apns_error_t *error_out);
size_t apns_event_describe(const apns_event_t *event, char *text_out, size_t capacity);
const char *apns_event_kind_text(apns_event_kind_t kind);
int apns_event_has_invalid_token(const apns_event_t *event);
typedef struct apns_gone_device {
  size_t size;
  int64_t timestamp;
  uint32_t token_length;
  uint8_t token[APNS_TOKEN_MAX];
} apns_gone_device_t;
#define APNS_GONE_DEVICE_INIT               \
  {                                         \
    sizeof(apns_gone_device_t), 0, 0, { 0 } \
  }
apns_status_t apns_session_next_gone(apns_session_t *session, apns_gone_device_t *device_out,
                                     apns_error_t *error_out);
typedef struct apns_session_stats {
  size_t size;
  uint64_t taken;
  uint64_t accepted;
  uint64_t rejected;
  uint64_t unknown;
  uint64_t unresolved;
  uint64_t resent;
  uint64_t connects;
  uint64_t bytes;
  uint64_t records;
  uint64_t events;
  uint64_t in_flight;
  uint64_t window;
  uint32_t first_unresolved;
  uint32_t reserved32;
  uint64_t cancelled;
  uint64_t forgotten;
  uint64_t expired;
} apns_session_stats_t;
#define APNS_SESSION_STATS_INIT \
  { sizeof(apns_session_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
apns_status_t apns_session_stats(const apns_session_t *session, apns_session_stats_t *stats_out,
                                 apns_error_t *error_out);
#define APNS_METRICS_TIMES 16
#define APNS_METRICS_CLASSES 8
#define APNS_METRICS_REASONS 64
#define APNS_METRICS_REJECTS 16
#define APNS_METRICS_FAILURES 16
typedef struct apns_session_metrics {
  size_t size;
  uint64_t responses;
  uint64_t response_us;
  uint64_t times[APNS_METRICS_TIMES];
  uint64_t classes[APNS_METRICS_CLASSES];
  uint64_t reasons[APNS_METRICS_REASONS];
  uint64_t rejected_reasons[APNS_METRICS_REASONS];
  uint64_t rejects[APNS_METRICS_REJECTS];
  uint64_t retries_asked;
  uint64_t resends_in_doubt;
  uint64_t resends_unprocessed;
  uint64_t tls12_full;
  uint64_t tls12_resumed;
  uint64_t tls13_full;
  uint64_t tls13_resumed;
  uint64_t connect_failures[APNS_METRICS_FAILURES];
  uint64_t bytes_written;
  uint64_t bytes_read;
  uint64_t goaways;
  uint64_t pings;
  uint64_t resets;
  uint64_t timeouts;
  uint64_t tokens;
  uint32_t connecting;
  uint32_t open;
  uint32_t draining;
  uint32_t standby;
  uint32_t backoff_ms;
  uint32_t free_streams;
} apns_session_metrics_t;
#define APNS_SESSION_METRICS_INIT                                                                  \
  {                                                                                                \
    sizeof(apns_session_metrics_t), 0, 0, {0}, {0}, {0}, {0}, {0}, 0, 0, 0, 0, 0, 0, 0, {0}, 0, 0, \
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0                                                            \
  }
apns_status_t apns_session_metrics(const apns_session_t *session,
                                   apns_session_metrics_t *metrics_out, apns_error_t *error_out);
uint64_t apns_metrics_bound_us(size_t index);
apns_status_t apns_session_close(apns_session_t *session, int32_t timeout_ms,
                                 apns_error_t *error_out);
void apns_session_free(apns_session_t *session);
int apns_session_fd(const apns_session_t *session);
int32_t apns_session_timeout_ms(const apns_session_t *session);
apns_status_t apns_session_process(apns_session_t *session, apns_error_t *error_out);
apns_status_t apns_session_wake(apns_session_t *session);
#define APNS_CHANNELS_HOST_PRODUCTION "api-manage-broadcast.push.apple.com"
#define APNS_CHANNELS_HOST_SANDBOX "api-manage-broadcast.sandbox.push.apple.com"
#define APNS_PORT_CHANNELS_PRODUCTION 2196
#define APNS_PORT_CHANNELS_SANDBOX 2195
typedef struct apns_channels apns_channels_t;
typedef enum apns_storage { APNS_STORAGE_NONE = 0, APNS_STORAGE_LATEST = 1 } apns_storage_t;
typedef struct apns_channels_options {
  size_t size;
  apns_peer_t peer;
  int32_t environment;
  uint32_t answer_timeout_ms;
  const char *topic;
  apns_log_t log;
  void *log_context;
  int32_t log_level;
  uint32_t reserved32;
} apns_channels_options_t;
#define APNS_CHANNELS_OPTIONS_INIT \
  { sizeof(apns_channels_options_t), APNS_PEER_INIT, 0, 0, NULL, NULL, NULL, 0, 0 }
apns_status_t apns_channels_new(const apns_channels_options_t *options,
                                const apns_credentials_t *credentials,
                                apns_channels_t **channels_out, apns_error_t *error_out);
apns_status_t apns_channel_create(apns_channels_t *channels, apns_storage_t storage,
                                  char *channel_id_out, size_t capacity, apns_error_t *error_out);
typedef struct apns_channel_description {
  size_t size;
  int32_t storage;
  int32_t push_type;
} apns_channel_description_t;
#define APNS_CHANNEL_DESCRIPTION_INIT \
  { sizeof(apns_channel_description_t), 0, 0 }
apns_status_t apns_channel_describe(apns_channels_t *channels, const char *channel_id,
                                    apns_channel_description_t *description_out,
                                    apns_error_t *error_out);
apns_status_t apns_channel_delete(apns_channels_t *channels, const char *channel_id,
                                  apns_error_t *error_out);
apns_status_t apns_channels_list(apns_channels_t *channels, apns_error_t *error_out);
apns_status_t apns_channels_next(apns_channels_t *channels, const char **channel_id_out);
typedef struct apns_channels_response {
  size_t size;
  int32_t reason;
  uint16_t http_status;
  uint16_t reserved16;
  uint32_t retry_after_s;
  uint32_t reserved32;
  char request_id[40];
  char reason_text[64];
} apns_channels_response_t;
#define APNS_CHANNELS_RESPONSE_INIT                             \
  {                                                             \
    sizeof(apns_channels_response_t), 0, 0, 0, 0, 0, {0}, { 0 } \
  }
apns_status_t apns_channels_response(const apns_channels_t *channels,
                                     apns_channels_response_t *response_out,
                                     apns_error_t *error_out);
void apns_channels_cancel(apns_channels_t *channels);
int apns_channels_fd(const apns_channels_t *channels);
int32_t apns_channels_timeout_ms(const apns_channels_t *channels);
void apns_channels_free(apns_channels_t *channels);
#ifdef __cplusplus
}
#endif
#endif
