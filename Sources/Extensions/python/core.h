/*
 * What the files of the extension share. The limited API of Python 3.9: one
 * binary for that and all later versions.
 *
 * Locks. Objects that may wait have a gate. Nobody waits at one while he has the
 * interpreter lock, and nobody runs Python code inside, so the two cannot block
 * each other.
 */
#ifndef APNS_PYTHON_CORE_H
#define APNS_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <apns/apns.h>
#include <Python.h>
#include <stdbool.h>
#include <structmember.h>
#include <sys/types.h>

/* ---- errors.c ------------------------------------------------------------ */

bool errors_load(void);
/* Sets the exception of the error's status; NULL, to be returned. */
void *raise_error(const apns_error_t *error);
/* Gives the exception that is set an attribute of this number. */
void annotate_exception(const char *name, size_t number);

/* ---- arguments.c: None is the library's default ---------------------------- */

/* A text or a path as a C string, which lives as long as `*owner_out`. */
bool text_argument(PyObject *given, const char *name, const char **text_out, PyObject **owner_out);
/* The text in UTF-8, or an exception without it. */
PyObject *utf8_of(PyObject *text, const char *name);
/* A list or tuple of texts, as many as there is room for. */
bool texts_argument(PyObject *given, const char *name, const char **texts, size_t capacity,
                    size_t *count_out, PyObject **owner_out);
bool path_argument(PyObject *given, const char **path_out, PyObject **owner_out);
bool integer_argument(PyObject *given, const char *name, long long least, long long most,
                      long long *value_out);
/* Seconds, as a number, in ms; at least one. */
bool option_ms_argument(PyObject *given, const char *name, uint32_t *ms_out);
/* A number, or a word of `words`, where a word's number is its place. */
bool word_argument(PyObject *given, const char *name, const char *const *words, size_t count,
                   long long *value_out);
/* How long a call waits; None: -1. */
bool timeout_argument(PyObject *given, int32_t *ms_out);
/* A new reference to bytes of a bytes-like object; other types are a TypeError that says
   `expected`. */
PyObject *bytes_argument(PyObject *given, const char *name, const char *expected);

/* ---- json.c --------------------------------------------------------------- */

bool json_load(void);
/* JSON as bytes, of anything that json.dumps() takes. */
PyObject *json_bytes(PyObject *value);

/* ---- clock.c ------------------------------------------------------------- */

/* A point of the monotonic clock in ms. */
int64_t clock_ms(void);
/* What a timeout of the library's options comes to; 0: its default. */
int32_t whole_ms(uint32_t option_ms);
/* Waits are cut into slices, so that signals are seen to in between. */
#define SLICE_MS 50
/* How long the next slice of a wait is; the last one ends with the wait. */
int32_t slice_before(int64_t deadline);
/* The call stopped because its slice was over, and there is more time. */
bool was_cut(apns_status_t status, int64_t deadline);

/* ---- lookup.c -------------------------------------------------------------- */

/* A name that is being looked up. */
typedef struct search search_t;

/* An apns_lookup_t; its context is a `search_t *` that is NULL while nothing is looked up. */
int search_name(const char *host, struct addrinfo **list_out, void *context);
/* Waits for no answer any more. */
void search_end(search_t **place);

/* ---- gate.c: one thread at a time ------------------------------------------ */

typedef struct gate {
  PyThread_type_lock lock;
  PyThread_type_lock door; /* the next one's, so that who left does not come before him */
  pid_t owner;
} gate_t;

bool gate_init(gate_t *gate);
void gate_free(gate_t *gate);
/* False where this is another process than the one that made the object. */
bool gate_is_home(const gate_t *gate);
/* Comes in, letting other threads run while it waits; false with ForkedError set, or the
   exception of a signal. */
bool gate_enter(gate_t *gate, const char *what);
void gate_leave(gate_t *gate);

/* ---- keepsakes.c: what belongs to a notification that has no end yet -------- */

/* A token that is longer lies outside, and its address in its place. */
#define KEEPSAKE_TOKEN 39

/* 48 bytes for each notification in the window. */
typedef struct keepsake {
  uintptr_t
      object; /* the user_data, or 0; of a free place the next one shifted up, with bit 0 set */
  uint8_t token_length;
  uint8_t token[KEEPSAKE_TOKEN];
} keepsake_t;

/* Keepsakes by the number under which the library knows them. */
typedef struct keepsakes {
  keepsake_t *places;
  size_t capacity;
  uintptr_t free;
} keepsakes_t;

/* Copies the token and takes a reference to the object, which may be NULL; 0 where there is no
   memory. */
uintptr_t keepsakes_put(keepsakes_t *keepsakes, PyObject *object, const void *token,
                        size_t token_length);
/* Hands the keepsake over, to be freed; false where there is none of that number. */
bool keepsakes_take(keepsakes_t *keepsakes, uintptr_t number, keepsake_t *keepsake_out);
const uint8_t *keepsake_token(const keepsake_t *keepsake);
void keepsake_free(keepsake_t *keepsake);
void keepsakes_drop(keepsakes_t *keepsakes, uintptr_t number);
int keepsakes_traverse(const keepsakes_t *keepsakes, visitproc visit, void *arg);
/* Gives the objects up; the places stay taken, with their tokens. */
void keepsakes_clear(keepsakes_t *keepsakes);
void keepsakes_free(keepsakes_t *keepsakes);

/* ---- outcomes.c: ends taken from the library, not yet by the program -------- */

/* What the service answered; HTTP/2 only. */
typedef struct answer {
  int64_t timestamp;
  int32_t reason;
  uint16_t http_status;
  char apns_id[40], reason_text[64];
} answer_t;

typedef struct outcome {
  uintptr_t keepsake;
  answer_t *answer; /* from malloc; NULL: it said nothing */
  uint32_t identifier;
  uint8_t kind;
  uint8_t reject;
} outcome_t;

typedef struct outcomes {
  outcome_t *items;
  size_t start, end, capacity;
} outcomes_t;

static inline size_t outcomes_count(const outcomes_t *outcomes) {
  return outcomes->end - outcomes->start;
}
/* Room for one more; needs no interpreter lock. */
bool outcomes_reserve(outcomes_t *outcomes);
void outcomes_put(outcomes_t *outcomes, outcome_t outcome);
/* The event as it is kept. `answer`, which may be NULL, is room for what the service said; where
   that is nothing it is given back. */
outcome_t outcome_make(const apns_event_t *event, answer_t *answer);
bool outcomes_take(outcomes_t *outcomes, outcome_t *outcome_out);
void outcomes_free(outcomes_t *outcomes);

bool events_load(PyObject *module);
/* The event as Python has it; takes over the outcome's answer, and the keepsake. */
PyObject *event_make(outcome_t outcome, keepsake_t *keepsake);

/* ---- tokens.c ------------------------------------------------------------ */

extern PyMethodDef token_functions[];
/* False with an exception where the bytes are the hex digits of a token, and not the token. */
bool token_check(const void *token, size_t length);
/* A device token as bytes: of hex, or bytes as they are. Writes at most APNS_TOKEN_MAX. */
bool token_argument(PyObject *given, uint8_t *buffer, const void **token_out, size_t *length_out,
                    PyObject **owner_out);

/* ---- notification.c -------------------------------------------------------- */

/* What may be said of a notification, as send() names it; NULL is as good as None. */
typedef struct manner {
  PyObject *expiry, *priority, *topic, *push_type, *collapse_id, *apns_id;
} manner_t;

/* What a notification's pointers point into. */
typedef struct parcel {
  PyObject *token_owner, *payload_owner, *topic_owner, *collapse_owner, *id_owner;
  uint8_t token[APNS_TOKEN_MAX];
} parcel_t;

bool parcel_pack(parcel_t *parcel, apns_notification_t *push, PyObject *token, PyObject *payload,
                 const manner_t *manner);
/* Of a notification that points into nothing of the parcel's. */
void parcel_leave_empty(parcel_t *parcel);
void parcel_free(parcel_t *parcel);

/* ---- The types ------------------------------------------------------------- */

bool credentials_load(PyObject *module);
bool payload_load(PyObject *module);
bool strings_load(PyObject *module);
bool session_load(PyObject *module);
bool feedback_load(PyObject *module);
/* An apns.Device. */
PyObject *device_make(uint32_t timestamp, const void *token, size_t length);

extern PyMethodDef payload_functions[];
bool is_payload(PyObject *object);
PyObject *payload_bytes(PyObject *payload);

extern PyTypeObject *credentials_type;
/* Lends the credentials to a call that may wait; NULL with an exception where they are closed. */
const apns_credentials_t *credentials_lend(PyObject *credentials);
void credentials_return(PyObject *credentials);

/* Makes a type and puts it into the module. */
PyTypeObject *load_type(PyObject *module, PyType_Spec *spec);
/* Memory of a type's object, and the end of it. */
void *object_alloc(PyTypeObject *type);
void object_free(PyObject *object);

#endif
