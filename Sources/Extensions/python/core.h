/*
 * Declarations that the extension's files share. It uses the limited API of Python 3.9: one
 * binary serves that and all later versions.
 *
 * No static variable holds a Python object, so each interpreter of a process, and each new import,
 * has its own types and classes: see state.c.
 *
 * Locks. Objects that may wait have an object lock. No thread waits for one while it holds the
 * interpreter lock, and none runs Python code while it holds one, so the two cannot deadlock.
 */
#ifndef APNS_PYTHON_CORE_H
#define APNS_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <apns/binary.h>
#include <Python.h>
#include <stdbool.h>
#include <structmember.h>
#include <sys/types.h>

/* ---- state.c: what one import of the module has ----------------------------- */

typedef struct module_state {
  PyObject *module; /* borrowed: the state is a part of it */
  PyTypeObject *credentials, *channels, *description, *device, *event, *events, *feedback, *finding,
      *outcomes, *payload, *session, *stats, *strings;
  PyObject *exception_classes; /* by status */
  PyObject *event_fields;      /* of an Event that a program makes */
  PyObject *log_changes, *log_loss, *tell_line;
  PyObject *end_with_process; /* arranges for sessions_end() */
  struct session *sessions;   /* the last one made, of those that are there */
  PyObject *channel_description, *channels_response; /* make them */
  PyObject *event_kinds[APNS_EVENT_EXPIRED + 1];
  PyObject *severities[APNS_FINDING_WARNING + 1];
  PyObject *reject_class, *reason_class;
  PyObject *rejects[256], *reasons[256]; /* members of the classes, made when first needed */
} module_state_t;

/* Lacks methods and slots until the module is made. */
extern struct PyModuleDef module_definition;
module_state_t *state_of_module(PyObject *module);
/* The state of a type of the module, for functions that are given no object and no module. */
module_state_t *state_of_type(PyTypeObject *type);

/* Makes a type and adds it to the module; a new reference. */
PyTypeObject *load_type(PyObject *module, PyType_Spec *spec);
/* The same of a tuple with names. */
PyTypeObject *load_tuple_type(PyObject *module, PyStructSequence_Desc *shape);
/* Makes such a tuple. Takes over the references, of which some may be NULL with an exception. */
PyObject *tuple_make(PyTypeObject *type, PyObject *const *values, Py_ssize_t count);
/* An attribute of another module of the package. */
PyObject *load_attribute(const char *module, const char *name);
/* Memory of an object, and its end. */
void *object_alloc(PyTypeObject *type);
void object_free(PyObject *object);
/* __enter__() of a type. */
PyObject *object_enter(PyObject *self, PyObject *none);

/* ---- errors.c --------------------------------------------------------------- */

bool errors_load(module_state_t *state);
/* Sets the exception of the error's status. NULL, for the caller to return. */
void *raise_error(const module_state_t *state, const apns_error_t *error);
/* The same of the status, with a message for printf(). */
void *raise_status(const module_state_t *state, apns_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* fileno() of what `subject` names, such as "the feedback was". */
PyObject *descriptor_of(const module_state_t *state, const char *subject, bool is_closed,
                        int descriptor);
/* Gives the exception that is set an attribute with this number. */
void annotate_exception(const char *name, size_t number);
/* The same with an object, of which it takes over the reference; NULL: it could not be made. */
void annotate_exception_with(const char *name, PyObject *value);

/* ---- arguments.c; None means the library's default --------------------------- */

/* Raises a TypeError that names the expected type; false. */
bool wrong_type(const char *name, const char *expected, PyObject *given);
/* A text or a path as a C string, which is valid as long as `*owner_out`. */
bool text_argument(PyObject *given, const char *name, const char **text_out, PyObject **owner_out);
/* The text in UTF-8. An exception does not contain the text. */
PyObject *utf8_of(PyObject *text, const char *name);
/* UTF-8 of a str, and its bytes; other types are a TypeError. */
PyObject *utf8_argument(PyObject *given, const char *name, char **bytes_out,
                        Py_ssize_t *length_out);
/* How an exception quotes a text: its repr, or how long it is; see apns_why_unquoted(). */
PyObject *quoted(PyObject *text);
/* A list or tuple of texts, as many as there is room for. */
bool texts_argument(PyObject *given, const char *name, const char **texts, size_t capacity,
                    size_t *count_out, PyObject **owner_out);
bool path_argument(PyObject *given, const char **path_out, PyObject **owner_out);
bool integer_argument(PyObject *given, const char *name, long long least, long long most,
                      long long *value_out);
/* Seconds, as a number, in ms; at least one. */
bool option_ms_argument(PyObject *given, const char *name, uint32_t *ms_out);
/* The same; -1: none. */
bool seconds_or_none_argument(PyObject *given, const char *name, int32_t *ms_out);
/* A number, or a word of `words`, which ends with NULL; the number of a word is its index. */
bool word_argument(PyObject *given, const char *name, const char *const *words,
                   long long *value_out);
/* Seconds in ms; None: -1. */
bool timeout_argument(PyObject *given, const char *name, int32_t *ms_out);
/* How long a call waits; None: -1; -1: no limit. */
bool call_timeout_argument(PyObject *given, int32_t *ms_out);
/* A new reference to bytes of a bytes-like object; other types are a TypeError that says
   `expected`. */
PyObject *bytes_argument(PyObject *given, const char *name, const char *expected);

/* ---- options.c: tables of options --------------------------------------------- */

typedef enum option_kind {
  OPTION_TEXT,            /* const char *, from str */
  OPTION_U16,             /* uint16_t */
  OPTION_U32,             /* uint32_t */
  OPTION_I32,             /* int32_t */
  OPTION_COUNT,           /* uint32_t, at least 1 */
  OPTION_SECONDS,         /* uint32_t in ms, from seconds as a number */
  OPTION_TIMEOUT,         /* the same, and 0 is a time */
  OPTION_SECONDS_OR_NONE, /* int32_t in ms, from seconds as a number; -1: none */
  OPTION_WHOLE_SECONDS,   /* int32_t in ms, from whole seconds; -1: never */
  OPTION_SWITCH,          /* int32_t, from a truth value */
  OPTION_SWITCH_OFF,      /* int32_t, from the opposite of a truth value */
  OPTION_WORD,            /* int32_t, from a number or a word */
  OPTION_BITS             /* int32_t, from a number; 0: -1, none; True is the default */
} option_kind_t;

typedef struct option {
  const char *name;
  option_kind_t kind;
  size_t offset;            /* of the field, in the structure that is filled in */
  const char *const *words; /* of an OPTION_WORD: by number, then NULL */
} option_t;

typedef struct option_table {
  const char *owner; /* the class, for errors */
  const option_t *list;
  size_t count;
} option_table_t;

/* Reads the arguments of a class whose only positional argument is `credentials`, all others
   being options. `*owners_out` is a list that owns the objects that the structure points into. */
bool options_read(const module_state_t *state, const option_table_t *table, PyObject *args,
                  PyObject *keywords, void *structure, PyObject **credentials_out,
                  PyObject **owners_out);

/* ---- json.c ------------------------------------------------------------------- */

/* JSON as bytes, from anything that json.dumps() takes. */
PyObject *json_bytes(PyObject *value);

/* ---- clock.c ------------------------------------------------------------------ */

/* The monotonic clock in ms. */
int64_t clock_ms(void);
/* How long a timeout of the library's options is; 0: its default. */
int32_t whole_ms(uint32_t option_ms);
/* Waits are cut into slices, so that signals are handled in between. */
#define SLICE_MS 50
/* How long the next slice of a wait is; the last one ends with the wait. */
int32_t slice_before(int64_t deadline);
/* Whether the call stopped because its slice was over, and more time is left. */
bool was_cut(apns_status_t status, int64_t deadline);

/* ---- lookup.c ------------------------------------------------------------------ */

/* A name that is being resolved. */
typedef struct lookup lookup_t;

/* An apns_lookup_t; its context is a `lookup_t *`, NULL unless a name is being resolved. */
int lookup_name(const char *host, struct addrinfo **list_out, void *context);
/* The same, for calls that may not wait at all. */
int lookup_name_at_once(const char *host, struct addrinfo **list_out, void *context);
/* Abandons a lookup without waiting for its result. */
void lookup_end(lookup_t **place);

/* ---- object_lock.c: one thread at a time ---------------------------------------- */

typedef struct object_lock {
  const module_state_t *state;
  PyThread_type_lock lock;
  PyThread_type_lock next; /* held by the next owner of `lock`, so that the last owner does not
                              get it again first */
  pid_t process;
} object_lock_t;

bool object_lock_init(object_lock_t *lock, const module_state_t *state);
void object_lock_free(object_lock_t *lock);
/* False in a child of the process that made the object. */
bool object_lock_is_of_this_process(const object_lock_t *lock);
/* The same for at most `ms`, and without an exception; handles no signals. */
bool object_lock_acquire_in_time(object_lock_t *lock, int64_t ms);
/* Lets other threads run while it waits. False with ForkedError, or the exception of a signal
   handler. */
bool object_lock_acquire(object_lock_t *lock, const char *what);
void object_lock_release(object_lock_t *lock);

/* ---- log_lines.c: the option `log` ------------------------------------------------ */

/* Log lines that the program's logger has not received yet. */
typedef struct log_line log_line_t;
typedef struct log_lines {
  log_line_t *first, *last;
  size_t count;
  uint32_t lost; /* since the last, because no memory was available */
} log_lines_t;

/* An apns_log_t; its context is the log_lines_t, with the lock of the object. */
void log_lines_keep(const apns_log_record_t *record, void *context);
/* Tells the program's `log`, which may be NULL, without the lock and with the interpreter lock. */
void log_lines_tell(PyObject *owner, const module_state_t *state, PyObject *log,
                    log_lines_t *lines);
void log_lines_free(log_lines_t *lines);
/* Takes the option `log`, NULL if not given. Returns the other keywords, or NULL with or without an
   exception. */
PyObject *log_take(PyObject *keywords, PyObject **log_out);

/* ---- pending.c: what is kept of each notification without an outcome -------------- */

/* A longer token is allocated, and its address stored in its place. */
#define PENDING_TOKEN_INLINE 35

/* 48 bytes for each notification in the window. */
typedef struct pending {
  uintptr_t object; /* the user_data, or 0; in a free entry the number of the next free one, shifted
                       left, with bit 0 set */
  uint32_t owner;   /* the waiter that gets the outcome; 0: it is an event of the session */
  uint8_t token_length;
  uint8_t token[PENDING_TOKEN_INLINE];
} pending_t;

/* The caller was already told that the outcome is unknown. */
#define OWNER_TOLD UINT32_MAX
/* The library knows each entry by its number, from 1; with this bit, if it has an owner. */
#define PENDING_OWNED ((uintptr_t)1 << (8 * sizeof(uintptr_t) - 1))
typedef struct pending_table {
  pending_t *entries;
  size_t capacity;
  uintptr_t free;
} pending_table_t;

/* Copies the token and takes a reference to the object, which may be NULL; 0: no memory. */
uintptr_t pending_add(pending_table_t *table, PyObject *object, const void *token,
                      size_t token_length);
/* Moves the entry to the caller, who frees it; false if no entry has that number. */
bool pending_take(pending_table_t *table, uintptr_t number, pending_t *entry_out);
/* The waiter that gets the outcome; 0 for the session, and if no entry has that number. */
uint32_t pending_owner(const pending_table_t *table, uintptr_t number);
/* Moves what the entry has to the caller, and leaves it in use, with OWNER_TOLD. */
bool pending_tell(pending_table_t *table, uintptr_t number, pending_t *entry_out);
void pending_own(pending_table_t *table, uintptr_t number, uint32_t owner);
/* Makes the entries of an owner events of the session. */
void pending_disown(pending_table_t *table, uint32_t owner);
const uint8_t *pending_token(const pending_t *entry);
void pending_free(pending_t *entry);
void pending_drop(pending_table_t *table, uintptr_t number);
int pending_traverse(const pending_table_t *table, visitproc visit, void *arg);
/* Releases the objects; the entries stay in use, with their tokens. */
void pending_clear(pending_table_t *table);
void pending_table_free(pending_table_t *table);

/* ---- outcomes.c: outcomes taken from the library, not yet by the program ----------- */

/* APNs' response; HTTP/2 only. */
typedef struct response {
  int64_t timestamp;
  int32_t reason;
  uint32_t retry_after; /* seconds */
  uint16_t http_status;
  char apns_id[40], reason_text[64], unique_id[40];
} response_t;

typedef struct outcome {
  uintptr_t pending;    /* number of the entry */
  response_t *response; /* from malloc; NULL without a response */
  uint32_t identifier;
  uint8_t kind;
  uint8_t reject;
  bool is_owned; /* it is for the owner of the entry */
} outcome_t;

typedef struct outcomes {
  outcome_t *items;
  size_t start, end, capacity;
  size_t accepted; /* how many of them are */
} outcomes_t;

static inline size_t outcomes_count(const outcomes_t *outcomes) {
  return outcomes->end - outcomes->start;
}
/* Makes room for one more; needs no interpreter lock. */
bool outcomes_reserve(outcomes_t *outcomes);
void outcomes_put(outcomes_t *outcomes, outcome_t outcome);
/* Copies the event. `response`, which may be NULL, is memory for the response, and is freed without
   a response. */
outcome_t outcome_make(const apns_event_t *event, response_t *response);
bool outcomes_take(outcomes_t *outcomes, outcome_t *outcome_out);
/* Moves the oldest accepted outcomes to `gone`: one, and one more for every eight others before
   them, which have to move. Returns how many. */
size_t outcomes_forget(outcomes_t *outcomes, outcomes_t *gone);
void outcomes_free(outcomes_t *outcomes);

/* ---- event.c ----------------------------------------------------------------------- */

bool event_load(module_state_t *state);
PyObject *event_describe(PyObject *module, PyObject *args);
PyObject *event_has_invalid_token(PyObject *module, PyObject *args);
/* Makes a libapns.Event. Frees the outcome's response and the entry. */
PyObject *event_make(module_state_t *state, outcome_t outcome, pending_t *entry);

/* ---- tokens.c ---------------------------------------------------------------------- */

extern PyMethodDef token_functions[];
/* False with an exception: the bytes are the hex digits of a token, not the token itself. */
bool token_check(const module_state_t *state, const void *token, size_t length);
/* A device token as bytes, from hex or bytes. Writes at most APNS_TOKEN_MAX. */
bool token_argument(const module_state_t *state, PyObject *given, uint8_t *buffer,
                    const void **token_out, size_t *length_out, PyObject **owner_out);

/* ---- notification.c ----------------------------------------------------------------- */

/* The optional arguments of send(); NULL is as None. */
typedef struct push_options {
  PyObject *expiry, *priority, *topic, *push_type, *collapse_id, *apns_id, *channel_id, *deadline;
} push_options_t;

/* What a notification's pointers point into. */
typedef struct push_buffers {
  PyObject *token_owner, *payload_owner, *topic_owner, *collapse_owner, *id_owner, *channel_owner;
  uint8_t token[APNS_TOKEN_MAX];
} push_buffers_t;

bool notification_read(const module_state_t *state, push_buffers_t *buffers,
                       apns_notification_t *push, PyObject *token, PyObject *payload,
                       const push_options_t *options);
void push_buffers_init(push_buffers_t *buffers);
void push_buffers_free(push_buffers_t *buffers);

/* ---- The types ------------------------------------------------------------------------ */

bool credentials_load(module_state_t *state);
bool payload_load(module_state_t *state);
bool strings_load(module_state_t *state);
bool session_load(module_state_t *state);
bool feedback_load(module_state_t *state);
bool channels_load(module_state_t *state);

/* An libapns.Device. */
PyObject *device_make(const module_state_t *state, int64_t timestamp, const void *token,
                      size_t length);

extern PyMethodDef payload_functions[];
/* JSON as bytes of what a program gives as a payload; NULL with an exception. */
PyObject *payload_argument(const module_state_t *state, PyObject *given);

/* Lends the credentials to a call that may wait; NULL with an exception: they are closed. */
const apns_credentials_t *credentials_lend(PyObject *credentials);
void credentials_return(PyObject *credentials);

#endif
