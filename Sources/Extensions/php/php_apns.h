/*
 * The PHP extension: C against apns.h and Zend. A file per noun; each declares its interface to
 * the others here.
 */
#ifndef PHP_APNS_H
#define PHP_APNS_H

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <apns/binary.h>

#include "php.h"

#define PHP_APNS_VERSION "0.2.0"

extern zend_module_entry apns_module_entry;
#define phpext_apns_ptr &apns_module_entry

/* ---- php.ini, and the state of the process ------------------------------- */

ZEND_BEGIN_MODULE_GLOBALS(apns)
  char *host;
  zend_long port;
  char *server_name;
  char *feedback_host;
  zend_long feedback_port;
  char *certificate_file;
  char *key_file;
  const char *passphrase; /* passphrase.c */
  char *own_passphrase;   /* of this request; NULL if not set */
  char *ca_file;
  char *ca_directory;
  char *protocol; /* "http2", "binary", or what sessions refuse */
  char *topic;
  char *token_key_file;
  char *key_id;
  char *team_id;
  char *token_cache; /* a directory, or "off" */
  zend_long connect_timeout_ms;
  zend_long write_timeout_ms;
  zend_long close_timeout_ms;
  zend_long checks;      /* as in apns_session_options_t */
  HashTable *persistent; /* of php_apns_tracked *, by name; NULL: none yet */
  uint64_t requests;     /* begun by this process */
ZEND_END_MODULE_GLOBALS(apns)

ZEND_EXTERN_MODULE_GLOBALS(apns)
#define APNS_G(v) ZEND_MODULE_GLOBALS_ACCESSOR(apns, v)

#if defined(ZTS) && defined(COMPILE_DL_APNS)
ZEND_TSRMLS_CACHE_EXTERN()
#endif

/* A value of php.ini; NULL if it is not set. */
static inline const char *php_apns_configured(const char *text) {
  return text && *text ? text : NULL;
}

/* passphrase.c: handlers that set and show the passphrase, and functions that hide it from
   scripts. */
ZEND_INI_MH(php_apns_update_passphrase);
ZEND_INI_DISP(php_apns_show_passphrase);
void php_apns_hide_passphrase(void);
void php_apns_hide_configured_passphrase(void);
void php_apns_forget_passphrase(void);

/* token_provider.c: a callable of the script that returns provider tokens. Every object that may
   call it has a reference. */
typedef struct php_apns_provider {
  uint32_t references;
  bool is_cut_short; /* by a fatal error, whose jump must not cross the library */
  bool is_at_rest;   /* not called at a session's automatic end: no caller could get exceptions */
  zval callable;
} php_apns_provider;
/* False, and an exception: it is not callable. NULL or null: none. */
bool php_apns_provider_is_one(zval *given);
php_apns_provider *php_apns_provider_new(zval *callable);
php_apns_provider *php_apns_provider_share(php_apns_provider *provider);
void php_apns_provider_release(php_apns_provider *provider);
int php_apns_provider_ask(apns_token_request_t *request, void *provider);
/* Continues with the fatal error, after the library has returned. */
void php_apns_provider_resume(php_apns_provider *provider);

/* ---- Classes ------------------------------------------------------------- */

/* As in interface/apns.stub.php. */
typedef struct php_apns_classes {
  zend_class_entry *exception, *runtime, *argument, *memory, *timeout, *network, *tls,
      *bad_credentials, *protocol, *full, *closed, *forked, *again, *rejected, *in_doubt, *token,
      *credentials, *payload, *strings, *event, *events, *session, *feedback_entry, *feedback,
      *channels;
} php_apns_classes;
extern php_apns_classes php_apns_class;
void php_apns_classes_register(void);
/* Handlers of objects that end with a zend_object, and are neither cloned nor compared. */
void php_apns_handlers_init(zend_object_handlers *handlers, int offset,
                            zend_object_free_obj_t destroy);
/* Makes one, whose own part is zeros. */
zend_object *php_apns_object_new(zend_class_entry *ce, const zend_object_handlers *handlers);
/* The handlers of a class, the structure around an object of it, and its create_object. */
#define PHP_APNS_OBJECT(structure)                                     \
  static zend_object_handlers handlers;                                \
  static structure *of(zend_object *object) {                          \
    return (structure *)((char *)object - XtOffsetOf(structure, std)); \
  }                                                                    \
  static zend_object *create(zend_class_entry *ce) { return php_apns_object_new(ce, &handlers); }

/* ---- Failures ------------------------------------------------------------ */

/* Throws the exception of the error's status. */
void php_apns_throw(const apns_error_t *error);
/* False, and an exception, if the call of the library failed. */
bool php_apns_is_well(apns_status_t status, const apns_error_t *error);
void php_apns_throw_argument(const char *format, ...) ZEND_ATTRIBUTE_FORMAT(printf, 1, 2);
/* The same for a notification, with the status that a gateway would have given. */
void php_apns_refuse(apns_reject_t reject, const char *format, ...)
    ZEND_ATTRIBUTE_FORMAT(printf, 2, 3);
/* Adds to sendMany()'s exception that `taken` notifications were queued. */
void php_apns_tell_taken(size_t taken);
/* "Apns\Session is not constructed" */
void php_apns_throw_unconstructed(zend_object *object);
/* False, and an exception, if the number is not a timeout. NULL means APNS_TIMEOUT_DEFAULT. */
bool php_apns_timeout(const zend_long *given, uint32_t argument, int32_t *out);

/* ---- Names --------------------------------------------------------------- */

/* The name at an index; NULL: there are no more. */
typedef const char *(*php_apns_name_at)(const void *names, size_t index);
/* The name that was probably meant; NULL: none is near. */
const char *php_apns_nearest(const char *given, php_apns_name_at name_at, const void *names);

/* What a caller gave, short and on one line. */
#define PHP_APNS_SHOWN 68
const char *php_apns_shown(const zend_string *given, char out[PHP_APNS_SHOWN]);
/* The text itself, or in `out` how long it is where messages do not quote it: apns_why_unquoted().
 */
const char *php_apns_quoted(const char *given, char out[PHP_APNS_SHOWN]);
/* Whether open_basedir allows the file; the second throws an exception if not. */
bool php_apns_is_allowed(const char *file);
bool php_apns_may_open(const char *file);

/* ---- Enumerations --------------------------------------------------------- */

typedef struct php_apns_case {
  const char *word; /* its value; of an enumeration of numbers in digits. NULL: the end */
  const char *name;
  int32_t number;      /* in C */
  const char *meaning; /* of a status or a reason, in plain words; NULL: none */
} php_apns_case;
typedef struct php_apns_enum {
  const char *name; /* of the class */
  const php_apns_case *cases;
  bool is_of_numbers;
  zend_class_entry *ce;
} php_apns_enum;
extern php_apns_enum php_apns_rejects, php_apns_reasons, php_apns_causes, php_apns_event_kinds,
    php_apns_log_levels, php_apns_protocols, php_apns_formats, php_apns_deliveries,
    php_apns_outcomes, php_apns_tls_versions, php_apns_push_types, php_apns_checks,
    php_apns_environments, php_apns_storages, php_apns_priorities;
void php_apns_enums_register(void);
/* The number of the case with this value, in upper or lower case; NULL if no case has it. */
const int32_t *php_apns_word(const php_apns_enum *of, const char *text, size_t length);
/* The case's value; NULL if no case has the number. */
const char *php_apns_word_of(const php_apns_enum *of, int32_t number);
/* The case's meaning; NULL if no case has the number, or the case has none. */
const char *php_apns_meaning_of(const php_apns_enum *of, int32_t number);
/* The case itself; null if no case has the number. */
void php_apns_case_of(const php_apns_enum *of, int32_t number, zval *out);
/* The same of a reason, where Other stands for those that only a newer library has. */
void php_apns_reason_of(int32_t number, zval *out);
/* Whether the value is a case of the enumeration. */
bool php_apns_is_case(const php_apns_enum *of, const zval *value, int32_t *number_out);
/* A case or its value, of `what`. False, and an exception. */
bool php_apns_read_case(const php_apns_enum *of, const zval *given, const char *what,
                        int32_t *number_out);
/* Throws that `what` takes these words and no other. */
void php_apns_no_word(const char *what, const php_apns_enum *of, const zend_string *given);

/* ---- Options ------------------------------------------------------------- */

typedef enum php_apns_option_type {
  PHP_APNS_TEXT,          /* const char * */
  PHP_APNS_PATH,          /* likewise, of a file that open_basedir lets through */
  PHP_APNS_BYTES,         /* const void *, and a size_t after it */
  PHP_APNS_U16,           /* 1 to 65,535 */
  PHP_APNS_U32,           /* 0 to 2^32 - 1 */
  PHP_APNS_I32,           /* int32_t */
  PHP_APNS_COUNT,         /* uint32_t, not 0: that is C's default */
  PHP_APNS_COUNT_OR_NONE, /* int32_t, -1 or more, and not 0 */
  PHP_APNS_ENUM,          /* int32_t */
  PHP_APNS_SIZE,          /* size_t */
  PHP_APNS_SWITCH,        /* int32_t, from a bool */
  PHP_APNS_CHECKS,        /* uint32_t of apns_check_t, from a bool too */
  PHP_APNS_OTHER          /* the caller's, who gets the zval: const zval * */
} php_apns_option_type;

typedef struct php_apns_option {
  const char *name;
  php_apns_option_type type;
  size_t offset;
  bool is_optional;           /* null is as if it were not there */
  const php_apns_enum *cases; /* of a PHP_APNS_ENUM */
} php_apns_option;

/* Numbers, switches and words may come as text, as parse_ini_file() and getenv() give them. */
typedef struct php_apns_options {
  const char *owner; /* the class, for errors */
  const php_apns_option *list;
  size_t count;
} php_apns_options;
extern const php_apns_options php_apns_credentials_options, php_apns_session_options,
    php_apns_persistent_options, php_apns_feedback_options, php_apns_payload_options,
    php_apns_channels_options;
/* All of them, so that an error can name the class of a misplaced option. */
void php_apns_know_options(const php_apns_options *const *tables, size_t count);

/* Reads both tables, which may be NULL, into `out`; false, and an exception. */
bool php_apns_read_options(const php_apns_options *options, HashTable *given, HashTable *named,
                           void *out);
/* Throws for an unknown option; `name` is NULL for a number. */
void php_apns_unknown_option(const zend_string *name, zend_ulong number, const char *owner,
                             php_apns_name_at name_at, const void *names);
/* Parses apns_check_t: a case of php_apns_checks, or a switch for all; false if neither. */
bool php_apns_checks_of(const zend_string *text, int32_t *out);
/* Parses a whole number in decimal digits; false if the text is anything else. */
bool php_apns_number_of(const zend_string *text, zend_long *out);
/* The named arguments after those of the signature; NULL without any. */
#define PHP_APNS_NAMED(call) \
  ((ZEND_CALL_INFO(call) & ZEND_CALL_HAS_EXTRA_NAMED_PARAMS) ? (call)->extra_named_params : NULL)

/* The same, removed from the call until php_apns_return_named(), because a backtrace shows them
   and PHP can hide only parameters. */
static inline HashTable *php_apns_borrow_named(zend_execute_data *call) {
  HashTable *named = PHP_APNS_NAMED(call);
  if (named) ZEND_DEL_CALL_FLAG(call, ZEND_CALL_HAS_EXTRA_NAMED_PARAMS);
  return named;
}
static inline void php_apns_return_named(zend_execute_data *call, HashTable *named) {
  if (named) ZEND_ADD_CALL_FLAG(call, ZEND_CALL_HAS_EXTRA_NAMED_PARAMS);
}
/* A method that passes them to a function and then returns them to the call. */
#define PHP_APNS_METHOD(class, method, function)            \
  PHP_METHOD(class, method) {                               \
    HashTable *named = php_apns_borrow_named(execute_data); \
    function(INTERNAL_FUNCTION_PARAM_PASSTHRU, named);      \
    php_apns_return_named(execute_data, named);             \
  }

/* Reads an option that is a separate parameter because it is secret. */
bool php_apns_read_option(const php_apns_options *options, const char *name, zval *given,
                          void *out);

#define PHP_APNS_FINGERPRINT 32
typedef struct php_apns_fingerprint {
  unsigned char bytes[PHP_APNS_FINGERPRINT];
} php_apns_fingerprint;
/* Adds the values of the options, so that sessions with different options can be distinguished. */
void php_apns_fingerprint_options(php_apns_fingerprint *fingerprint, const php_apns_option *options,
                                  size_t count, const void *values);

/* ---- Credentials --------------------------------------------------------- */

void php_apns_credentials_register(void);

/* Credentials: those of an object, or options whose files are not yet read. */
typedef struct php_apns_identity {
  apns_credentials_t *credentials; /* NULL until made */
  bool is_own;                     /* made for this call: free it */
  bool names_certificate;          /* the script does, and so php.ini's is not shown */
  int32_t protocol;                /* what they are for */
  HashTable *options;              /* if there is no object */
  php_apns_provider *provider;     /* of the credentials; NULL: none */
  php_apns_fingerprint fingerprint;
} php_apns_identity;
/* False, and an exception: it is not Credentials|array|null. */
bool php_apns_identity_is_one(zval *given, uint32_t argument);
/* `protocol` is an apns_protocol_t, which selects php.ini's settings: the certificate, the signing
   key, or, with PHP_APNS_ANY_PROTOCOL, both. */
#define PHP_APNS_ANY_PROTOCOL -1
bool php_apns_identity_from(php_apns_identity *identity, zval *given, int32_t protocol);
bool php_apns_identity_make(php_apns_identity *identity);
void php_apns_identity_end(php_apns_identity *identity);

/* ---- Tokens -------------------------------------------------------------- */

/* From a Token or hex; false, and an exception. */
bool php_apns_token_bytes(zval *given, uint8_t bytes[APNS_TOKEN_MAX], size_t *length);
zend_string *php_apns_token_hex(const uint8_t *bytes, size_t length);

/* ---- Payloads ------------------------------------------------------------ */

void php_apns_payload_register(void);
/* The payload to send: a Payload's builder, which the session writes straight into its buffer, or
   the JSON of a string or an array. */
typedef struct php_apns_content {
  const apns_payload_t *builder; /* as long as the Payload lives */
  zend_string *json;             /* to be released */
  bool is_of_array;              /* `json` was made of an array */
} php_apns_content;
/* False, and an exception. */
bool php_apns_content_from(php_apns_content *content, zval *given);
/* Replaces a builder by its JSON. False, and an exception. */
bool php_apns_content_write(php_apns_content *content);
/* Replaces the library's position in the JSON by the keys of the array that it was made from. */
void php_apns_content_name_key(const php_apns_content *content, apns_error_t *error);

void php_apns_strings_register(void);

/* ---- records.c: a record of each notification ---------------------------- */

/* The name of a request, shared by its records; outlives the request. */
typedef struct php_apns_request {
  uint32_t references;
  zend_string *name;
} php_apns_request;

/* APNs' response; HTTP/2 only. */
typedef struct php_apns_response {
  int64_t timestamp;
  int32_t reason;
  uint32_t retry_after; /* seconds */
  uint16_t http_status;
  char apns_id[40], unique_id[40], reason_text[64];
} php_apns_response;

typedef struct php_apns_record {
  struct php_apns_record *before, *after;
  struct php_apns_tracked *tracked;
  php_apns_request *request; /* NULL: the session is not persistent */
  zval user_data;            /* persistent: of memory that outlives the request */
  uint32_t identifier;
  int32_t kind; /* 0: no outcome yet */
  int32_t reject;
  php_apns_response *response; /* NULL without a response */
  uint8_t token_length;
  uint8_t token[];
} php_apns_record;

typedef struct php_apns_records {
  php_apns_record *first, *last;
  size_t count;
} php_apns_records;

/* NULL, and an exception, without memory or if the user data cannot be kept. */
php_apns_record *php_apns_record_new(const uint8_t *token, size_t token_length, zval *user_data,
                                     php_apns_request *request);
void php_apns_record_free(php_apns_record *record);
/* Stores the outcome. */
void php_apns_record_tell(php_apns_record *record, const apns_event_t *event);
/* The library's `user_data_free`, for a notification without an outcome for the script. */
void php_apns_record_forget(void *record);
void php_apns_records_append(php_apns_records *records, php_apns_record *record);
void php_apns_records_remove(php_apns_records *records, php_apns_record *record);
void php_apns_records_free(php_apns_records *records);
/* A copy that the script may have. */
void php_apns_record_user_data(const php_apns_record *record, zval *out);

php_apns_request *php_apns_request_new(const char *name, size_t length);
void php_apns_request_release(php_apns_request *request);

/* ---- tracked_session.c: a session of the library, with its notifications' records ---- */

/* session_log.c: the option `log`. */
typedef struct php_apns_log php_apns_log;

typedef struct php_apns_tracked {
  apns_session_t *session;
  uint32_t references;   /* of the objects, and of the table of persistent ones */
  php_apns_records sent; /* without an outcome yet */
  php_apns_records dead; /* nothing to take any more; freed after the call */
  php_apns_records own;  /* outcomes that wait for this request */
  php_apns_records left; /* outcomes of earlier requests */
  size_t left_accepted;  /* how many of them are */
  uint64_t forgotten;    /* of these, how many were dropped for newer ones */
  bool is_persistent;
  bool is_closed;
  bool holds_back; /* something waits for more */
  bool speaks_http2;
  bool yields; /* accepted outcomes are dropped for newer ones: Session::OUTCOMES_ALL */
  bool never_waits;
  int32_t connect_ms;  /* the session's own timeouts */
  int32_t send_ms;     /* connect_timeout_ms and write_timeout_ms together */
  int32_t patience_ms; /* what a timeout of null is: with answer_timeout_ms */
  int32_t close_timeout_ms;
  char peer[280];              /* "host:port" */
  php_apns_provider *provider; /* that the session may call; NULL: none */
  php_apns_log *log;           /* of the script; NULL: none */
  zend_string *name;           /* persistent */
  php_apns_request *request;   /* the current one; persistent */
  php_apns_fingerprint fingerprint;
} php_apns_tracked;

typedef struct php_apns_session_settings {
  apns_session_options_t options; /* with the two below */
  apns_binary_options_t binary;
  apns_tuning_t tuning;
  zval *log;
  zval *request;            /* for persistent ones only */
  int32_t close_timeout_ms; /* the library's own wait would be in one piece */
} php_apns_session_settings;

/* Takes over the session. */
php_apns_tracked *php_apns_tracked_new(apns_session_t *session,
                                       const php_apns_session_settings *settings);
void php_apns_tracked_release(php_apns_tracked *tracked);
/* Whether another process made the session. */
bool php_apns_tracked_is_inherited(const php_apns_tracked *tracked);
/* After a call of the library: frees records without an outcome for the script. */
void php_apns_tracked_sweep(php_apns_tracked *tracked);
/* Whether PHP_APNS_LEFT_MAX outcomes of earlier requests wait that cannot be dropped. */
bool php_apns_tracked_is_full(const php_apns_tracked *tracked);
/* Takes one of them out of the list. */
void php_apns_tracked_take_left(php_apns_tracked *tracked, php_apns_record *record);
/* The next outcome, still in its list; NULL: none, or an exception. */
php_apns_record *php_apns_tracked_next(php_apns_tracked *tracked, bool of_others,
                                       int32_t timeout_ms);
/* Puts all outcomes that are there in their lists, without waiting. */
void php_apns_tracked_collect(php_apns_tracked *tracked);
/* From here on outcomes are another request's. */
void php_apns_tracked_leave_request(php_apns_tracked *tracked);
/* Waits for outcomes for up to close_timeout_ms, closes, and logs how many notifications have no
   outcome. Does nothing if the session is closed. */
void php_apns_tracked_finish(php_apns_tracked *tracked);
/* Tells the script's logger, after a call of the library. */
void php_apns_log_tell(php_apns_tracked *tracked);
typedef apns_status_t (*php_apns_step)(apns_session_t *session, int32_t ms, apns_error_t *error);
/* Makes a call of the library until it is done or its time is over. Perhaps with an exception. */
apns_status_t php_apns_wait(php_apns_tracked *tracked, php_apns_step step, int32_t timeout_ms,
                            int64_t deadline, apns_error_t *error);
/* Writes what waits; as php_apns_wait(). */
apns_status_t php_apns_flush(php_apns_tracked *tracked, apns_error_t *error);
/* Throws why nothing can be made with this topic, php.ini's by its name there. */
void php_apns_throw_refused(const char *topic, const apns_error_t *error);

/* A Session object of PHP. */
typedef struct php_apns_session {
  php_apns_tracked *tracked; /* NULL until constructed */
  zend_object std;
} php_apns_session;

/* NULL, and an exception, if its constructor did not run. */
php_apns_tracked *php_apns_session_tracked(zend_object *object);

/* ---- waiting.c: calls that wait ---------------------------------------------------- */

/* How long one call of the library waits. */
#define PHP_APNS_SLICE_MS 50

/* Runs what interrupts the script. False: with an exception. */
bool php_apns_interrupt(void);
int64_t php_apns_now_ms(void);
/* How long a timeout of the options is. */
int32_t php_apns_option_ms(uint32_t given);
/* Continues pending work until the deadline, in ms of the monotonic clock. */
bool php_apns_wait_process(apns_session_t *session, int64_t deadline);
/* How long the next slice before the deadline is. */
int32_t php_apns_slice(int64_t deadline);
/* When a wait ends that lasts `timeout_ms`, milliseconds or an APNS_TIMEOUT_. */
int64_t php_apns_deadline(const php_apns_tracked *tracked, int32_t timeout_ms);
/* Throws, where no handler of a signal has thrown. */
void php_apns_throw_after(const apns_error_t *error);

/* Makes what the script gives: the options of the library; false, and an exception. */
bool php_apns_log_make(zval *given, bool is_persistent, apns_log_t *told_out, void **context_out,
                       php_apns_log **log_out);
/* Keeps for the script's logger, or logs in PHP's error log, that notifications have no outcome. */
void php_apns_log_loss(php_apns_log *log, const char *peer, uint64_t count);
/* Like php_apns_log_tell() for a log that may be NULL and outlives this call. */
void php_apns_log_tell_lines(php_apns_log *log);
zval *php_apns_log_logger(php_apns_log *log);
void php_apns_log_free(php_apns_log *log);

/* How many outcomes of earlier requests are kept before send() throws. */
#define PHP_APNS_LEFT_MAX 65536

/* ---- Sessions, events, feedback ------------------------------------------ */

void php_apns_session_register(void);
/* A Session object, which takes over a reference to the session. */
void php_apns_session_object(zval *out, php_apns_tracked *tracked);

void php_apns_event_register(void);
/* The record as an event. */
void php_apns_event_new(php_apns_record *record, zval *out);
/* The next outcome as an object, or null; false with an exception. */
bool php_apns_event_take(zend_object *session, bool of_others, int32_t timeout_ms, zval *out);
/* Events, to go over with foreach. */
void php_apns_events_new(zend_object *session, bool of_others, int32_t timeout_ms, zval *out);

/* why.c */
/* The outcome in one line; and with what it means. */
zend_string *php_apns_describe(const php_apns_record *record);
zend_string *php_apns_why(const php_apns_record *record);

/* loop.c: a stream over a copy of the descriptor, which is the library's. */
void php_apns_stream_of(int descriptor, zval *out);
/* Throws for a method that works only with `nonblocking`. */
void php_apns_throw_waits(const char *what, bool is_inherited);

void php_apns_feedback_register(void);
void php_apns_channels_register(void);
/* Makes an Apns\FeedbackEntry of it. */
void php_apns_feedback_entry(zval *out, const uint8_t *token, size_t length, int64_t timestamp);

/* A foreach over values that `take` takes one at a time from `owner`: false is an exception, and
   null the end. */
typedef bool (*php_apns_take)(zend_object *owner, bool of_others, int32_t timeout_ms, zval *out);
zend_object_iterator *php_apns_iterator_new(zend_object *owner, php_apns_take take, bool of_others,
                                            int32_t timeout_ms, int by_ref);

/* ---- Persistent sessions -------------------------------------------------- */

/* The session of that name, with a reference for the caller; NULL, and an exception. */
php_apns_tracked *php_apns_persistent_session(zend_string *name, php_apns_identity *identity,
                                              const php_apns_session_settings *settings,
                                              const php_apns_fingerprint *fingerprint);
/* At the end of a request, writes buffered notifications and sets outcomes aside. */
void php_apns_persistent_end_request(void);
/* At the end of the process, closes gracefully, and logs outcomes that were not taken. */
void php_apns_persistent_end(void);

#endif
