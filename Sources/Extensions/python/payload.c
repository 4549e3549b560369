#include "core.h"

typedef struct payload {
  PyObject_HEAD apns_payload_t *payload;
} payload_t;

/* ---- Apple's keys ------------------------------------------------------------- */

/* LOCALIZED: a text, or in a Live Activity an object that the device makes a text of. */
typedef enum value_kind { TEXT, TEXTS, INTEGER, DOUBLE, OBJECT, LOCALIZED } value_kind_t;

static const struct {
  const char *name;
  apns_payload_key_t key;
  value_kind_t kind;
} keys[] = {{"alert", APNS_KEY_ALERT, TEXT},
            {"title", APNS_KEY_TITLE, LOCALIZED},
            {"subtitle", APNS_KEY_SUBTITLE, TEXT},
            {"body", APNS_KEY_BODY, LOCALIZED},
            {"title_loc_key", APNS_KEY_TITLE_LOC_KEY, TEXT},
            {"subtitle_loc_key", APNS_KEY_SUBTITLE_LOC_KEY, TEXT},
            {"loc_key", APNS_KEY_LOC_KEY, TEXT},
            {"action_loc_key", APNS_KEY_ACTION_LOC_KEY, TEXT},
            {"launch_image", APNS_KEY_LAUNCH_IMAGE, TEXT},
            {"title_loc_args", APNS_KEY_TITLE_LOC_ARGS, TEXTS},
            {"subtitle_loc_args", APNS_KEY_SUBTITLE_LOC_ARGS, TEXTS},
            {"loc_args", APNS_KEY_LOC_ARGS, TEXTS},
            {"sound", APNS_KEY_SOUND, TEXT},
            {"category", APNS_KEY_CATEGORY, TEXT},
            {"thread_id", APNS_KEY_THREAD_ID, TEXT},
            {"target_content_id", APNS_KEY_TARGET_CONTENT_ID, TEXT},
            {"interruption_level", APNS_KEY_INTERRUPTION_LEVEL, TEXT},
            {"filter_criteria", APNS_KEY_FILTER_CRITERIA, TEXT},
            {"url_args", APNS_KEY_URL_ARGS, TEXTS},
            {"badge", APNS_KEY_BADGE, INTEGER},
            {"content_available", APNS_KEY_CONTENT_AVAILABLE, INTEGER},
            {"mutable_content", APNS_KEY_MUTABLE_CONTENT, INTEGER},
            {"relevance_score", APNS_KEY_RELEVANCE_SCORE, DOUBLE},
            {"timestamp", APNS_KEY_TIMESTAMP, INTEGER},
            {"event", APNS_KEY_EVENT, TEXT},
            {"content_state", APNS_KEY_CONTENT_STATE, OBJECT},
            {"stale_date", APNS_KEY_STALE_DATE, INTEGER},
            {"dismissal_date", APNS_KEY_DISMISSAL_DATE, INTEGER},
            {"attributes_type", APNS_KEY_ATTRIBUTES_TYPE, TEXT},
            {"attributes", APNS_KEY_ATTRIBUTES, OBJECT},
            {"input_push_token", APNS_KEY_INPUT_PUSH_TOKEN, INTEGER},
            {"input_push_channel", APNS_KEY_INPUT_PUSH_CHANNEL, TEXT},
            {"alert_sound", APNS_KEY_ALERT_SOUND, TEXT},
            {"content_changed", APNS_KEY_CONTENT_CHANGED, INTEGER}};
#define KEYS (sizeof keys / sizeof *keys)

/* The key's place in the table; KEYS with a TypeError for an unknown name. */
static size_t key_named(PyObject *name) {
  if (!PyUnicode_Check(name)) {
    PyErr_SetString(PyExc_TypeError, "the name of a key must be str");
    return KEYS;
  }
  for (size_t i = 0; i < KEYS; i++) {
    if (PyUnicode_CompareWithASCIIString(name, keys[i].name) == 0) return i;
  }
  PyObject *shown = quoted(name);
  if (shown)
    PyErr_Format(PyExc_TypeError, "%U is not one of Apple's keys; add() is for the app's own",
                 shown);
  Py_XDECREF(shown);
  return KEYS;
}

/* The state is looked up only for errors, so that making a payload costs less. */
static void *fail(payload_t *self, const apns_error_t *error) {
  const module_state_t *state = state_of_type(Py_TYPE((PyObject *)self));
  return state ? raise_error(state, error) : NULL;
}

static bool succeeded(payload_t *self, apns_status_t status, const apns_error_t *error) {
  if (status) fail(self, error);
  return status == APNS_OK;
}

static bool set_text(payload_t *self, size_t key, PyObject *value) {
  apns_error_t error = APNS_ERROR_INIT;
  char *text = NULL;
  Py_ssize_t length = 0;
  PyObject *bytes = NULL;
  /* JSON's null: an alert with one button. */
  bool is_null = value == Py_None && keys[key].key == APNS_KEY_ACTION_LOC_KEY;
  if (!is_null && !(bytes = utf8_argument(value, keys[key].name, &text, &length))) return false;
  bool fine = succeeded(
      self, apns_payload_set_string(self->payload, keys[key].key, text, (size_t)length, &error),
      &error);
  Py_XDECREF(bytes);
  return fine;
}

static bool set_texts(payload_t *self, size_t key, PyObject *value) {
  apns_error_t error = APNS_ERROR_INIT;
  if (PyUnicode_Check(value) || PyBytes_Check(value)) {
    PyErr_Format(PyExc_TypeError, "%s must be a sequence of str", keys[key].name);
    return false;
  }
  PyObject *given = PySequence_Tuple(value);
  if (!given) return false;
  Py_ssize_t count = PyTuple_Size(given);
  PyObject *owners = PyTuple_New(count);
  const char **texts = PyMem_Calloc((size_t)count + 1, sizeof *texts);
  size_t *lengths = PyMem_Calloc((size_t)count + 1, sizeof *lengths);
  bool fine = owners && texts && lengths;
  if (owners && !fine) PyErr_NoMemory();
  for (Py_ssize_t i = 0; fine && i < count; i++) {
    char *text;
    Py_ssize_t length;
    PyObject *bytes = utf8_argument(PyTuple_GetItem(given, i), keys[key].name, &text, &length);
    fine = bytes && PyTuple_SetItem(owners, i, bytes) == 0;
    if (fine) texts[i] = text, lengths[i] = (size_t)length;
  }
  fine = fine && succeeded(self,
                           apns_payload_set_strings(self->payload, keys[key].key, texts, lengths,
                                                    (size_t)count, &error),
                           &error);
  PyMem_Free(lengths);
  PyMem_Free(texts);
  Py_XDECREF(owners);
  Py_DECREF(given);
  return fine;
}

/* Anything that is an object as JSON. */
static bool set_object(payload_t *self, size_t key, PyObject *value) {
  apns_error_t error = APNS_ERROR_INIT;
  char *json;
  Py_ssize_t length;
  PyObject *bytes = json_bytes(value);
  bool fine =
      bytes && PyBytes_AsStringAndSize(bytes, &json, &length) == 0 &&
      succeeded(self,
                apns_payload_set_json(self->payload, keys[key].key, json, (size_t)length, &error),
                &error);
  Py_XDECREF(bytes);
  return fine;
}

static bool set_key(payload_t *self, size_t key, PyObject *value) {
  apns_error_t error = APNS_ERROR_INIT;
  long long integer = 0;
  switch (keys[key].kind) {
    case TEXT:
      return set_text(self, key, value);
    case TEXTS:
      return set_texts(self, key, value);
    case OBJECT:
      return set_object(self, key, value);
    case LOCALIZED:
      return PyDict_Check(value) ? set_object(self, key, value) : set_text(self, key, value);
    case INTEGER:
      if (value == Py_None) break;
      return integer_argument(value, keys[key].name, INT64_MIN, INT64_MAX, &integer) &&
             succeeded(self,
                       apns_payload_set_integer(self->payload, keys[key].key, integer, &error),
                       &error);
    case DOUBLE: {
      double number = PyFloat_AsDouble(value);
      if (number == -1 && PyErr_Occurred()) return false;
      return succeeded(self, apns_payload_set_double(self->payload, keys[key].key, number, &error),
                       &error);
    }
  }
  PyErr_Format(PyExc_TypeError, "%s must be int, not None", keys[key].name);
  return false;
}

static bool set_keys(payload_t *self, PyObject *keywords) {
  PyObject *name, *value;
  Py_ssize_t place = 0;
  while (keywords && PyDict_Next(keywords, &place, &name, &value)) {
    size_t key = key_named(name);
    if (key == KEYS || !set_key(self, key, value)) return false;
  }
  return true;
}

/* ---- Making and freeing -------------------------------------------------------- */

/* Takes an option out of the keywords; a new reference, or NULL. */
static PyObject *take_option(PyObject *keywords, const char *name) {
  PyObject *value = PyDict_GetItemString(keywords, name);
  Py_XINCREF(value);
  if (value && PyDict_DelItemString(keywords, name)) Py_CLEAR(value);
  return value;
}

static PyObject *payload_new(PyTypeObject *type, PyObject *args, PyObject *given) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  char *suffix_text;
  Py_ssize_t suffix_length;
  long long most = 0;
  if (!PyArg_ParseTuple(args, ":Payload")) return NULL;
  PyObject *keywords = given ? PyDict_Copy(given) : PyDict_New();
  if (!keywords) return NULL;
  PyObject *limit = take_option(keywords, "limit"), *truncate = take_option(keywords, "truncate");
  PyObject *suffix = take_option(keywords, "suffix"), *bytes = NULL;
  int truncates = truncate ? PyObject_IsTrue(truncate) : 0;
  payload_t *self = NULL;
  bool fine = truncates >= 0 && integer_argument(limit, "limit", 0, INT32_MAX, &most);
  options.limit = (size_t)most;
  options.truncate = truncates;
  if (fine && suffix && suffix != Py_None) {
    bytes = utf8_argument(suffix, "suffix", &suffix_text, &suffix_length);
    fine = bytes != NULL;
    if (fine) options.suffix = suffix_text, options.suffix_length = (size_t)suffix_length;
  }
  if (fine) self = object_alloc(type);
  fine = self && succeeded(self, apns_payload_new(&options, &self->payload, &error), &error) &&
         set_keys(self, keywords);
  Py_XDECREF(bytes);
  Py_XDECREF(suffix);
  Py_XDECREF(truncate);
  Py_XDECREF(limit);
  Py_DECREF(keywords);
  if (fine) return (PyObject *)self;
  Py_XDECREF(self);
  return NULL;
}

static void payload_dealloc(PyObject *object) {
  apns_payload_free(((payload_t *)object)->payload);
  object_free(object);
}

static bool is_payload(const module_state_t *state, PyObject *object) {
  return Py_TYPE(object) == state->payload;
}

/* ---- Setting --------------------------------------------------------------------- */

static PyObject *payload_set(PyObject *object, PyObject *args, PyObject *keywords) {
  if (!PyArg_ParseTuple(args, ":set") || !set_keys((payload_t *)object, keywords)) return NULL;
  Py_RETURN_NONE;
}

static PyObject *payload_set_critical_sound(PyObject *object, PyObject *args, PyObject *keywords) {
  payload_t *self = (payload_t *)object;
  static char *names[] = {"name", "volume", NULL};
  apns_error_t error = APNS_ERROR_INIT;
  PyObject *name;
  double volume = 1;
  char *text;
  Py_ssize_t length;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|d:set_critical_sound", names, &name,
                                   &volume)) {
    return NULL;
  }
  PyObject *bytes = utf8_argument(name, "name", &text, &length);
  if (!bytes) return NULL;
  bool fine = succeeded(
      self, apns_payload_set_critical_sound(self->payload, text, (size_t)length, volume, &error),
      &error);
  Py_DECREF(bytes);
  if (!fine) return NULL;
  Py_RETURN_NONE;
}

static PyObject *payload_remove(PyObject *object, PyObject *names) {
  payload_t *self = (payload_t *)object;
  for (Py_ssize_t i = 0; i < PyTuple_Size(names); i++) {
    apns_error_t error = APNS_ERROR_INIT;
    size_t key = key_named(PyTuple_GetItem(names, i));
    if (key == KEYS ||
        !succeeded(self, apns_payload_remove(self->payload, keys[key].key, &error), &error)) {
      return NULL;
    }
  }
  Py_RETURN_NONE;
}

/* Any other value as JSON. */
static apns_status_t add_json(apns_payload_t *payload, const char *name, size_t name_length,
                              PyObject *value, apns_error_t *error) {
  char *json;
  Py_ssize_t length;
  apns_status_t status = APNS_ERR_ARGUMENT;
  PyObject *bytes = json_bytes(value);
  if (bytes && PyBytes_AsStringAndSize(bytes, &json, &length) == 0) {
    status = apns_payload_add_json(payload, name, name_length, json, (size_t)length, error);
  }
  Py_XDECREF(bytes);
  return status;
}

static apns_status_t add_text(apns_payload_t *payload, const char *name, size_t name_length,
                              PyObject *value, apns_error_t *error) {
  char *text;
  Py_ssize_t length;
  PyObject *bytes = utf8_argument(value, "value", &text, &length);
  if (!bytes) return APNS_ERR_ARGUMENT;
  apns_status_t status =
      apns_payload_add_string(payload, name, name_length, text, (size_t)length, error);
  Py_DECREF(bytes);
  return status;
}

static apns_status_t add_value(apns_payload_t *payload, const char *name, size_t length,
                               PyObject *value, apns_error_t *error) {
  if (value == Py_None) return apns_payload_add_null(payload, name, length, error);
  if (PyBool_Check(value)) {
    return apns_payload_add_boolean(payload, name, length, value == Py_True, error);
  }
  if (PyUnicode_Check(value)) return add_text(payload, name, length, value, error);
  if (PyFloat_Check(value)) {
    return apns_payload_add_double(payload, name, length, PyFloat_AsDouble(value), error);
  }
  if (PyLong_CheckExact(value)) {
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (!overflow) return apns_payload_add_integer(payload, name, length, number, error);
  }
  return add_json(payload, name, length, value, error);
}

static PyObject *payload_add(PyObject *object, PyObject *args) {
  apns_error_t error = APNS_ERROR_INIT;
  PyObject *name, *value;
  char *text;
  Py_ssize_t length;
  if (!PyArg_ParseTuple(args, "OO:add", &name, &value)) return NULL;
  PyObject *bytes = utf8_argument(name, "name", &text, &length);
  if (!bytes) return NULL;
  apns_status_t status =
      add_value(((payload_t *)object)->payload, text, (size_t)length, value, &error);
  Py_DECREF(bytes);
  if (PyErr_Occurred()) return NULL;
  if (status) return fail((payload_t *)object, &error);
  Py_RETURN_NONE;
}

static PyObject *payload_remove_custom(PyObject *object, PyObject *none) {
  (void)none;
  apns_payload_remove_custom(((payload_t *)object)->payload);
  Py_RETURN_NONE;
}

static PyObject *payload_reset(PyObject *object, PyObject *none) {
  (void)none;
  apns_payload_reset(((payload_t *)object)->payload);
  Py_RETURN_NONE;
}

/* ---- Writing --------------------------------------------------------------------- */

static PyObject *write_payload(payload_t *self, size_t *cut_out) {
  apns_error_t error = APNS_ERROR_INIT;
  char small[APNS_PAYLOAD_MAX_FRAMED];
  size_t length = 0;
  apns_status_t status =
      apns_payload_write(self->payload, small, sizeof small, &length, cut_out, &error);
  if (status == APNS_OK) return PyBytes_FromStringAndSize(small, (Py_ssize_t)length);
  if (status != APNS_ERR_BUFFER_SMALL) return fail(self, &error);
  PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)length);
  if (!bytes) return NULL;
  size_t written = 0;
  status =
      apns_payload_write(self->payload, PyBytes_AsString(bytes), length, &written, cut_out, &error);
  if (status == APNS_OK && written == length) return bytes;
  Py_DECREF(bytes);
  return fail(self, &error);
}

static PyObject *payload_bytes(PyObject *payload) {
  return write_payload((payload_t *)payload, NULL);
}

PyObject *payload_argument(const module_state_t *state, PyObject *given) {
  if (PyUnicode_Check(given)) return PyUnicode_AsUTF8String(given);
  if (PyDict_Check(given)) return json_bytes(given);
  /* A copy, and not apns_session_send_payload(): another thread may change the Payload while
     the session has released the interpreter lock, and a lock in the Payload would cost each
     set() as much as the copy costs, a fiftieth of a send(). */
  if (is_payload(state, given)) return payload_bytes(given);
  return bytes_argument(given, "payload", "bytes, str, dict or Payload");
}

static PyObject *payload_write(PyObject *object, PyObject *none) {
  (void)none;
  return payload_bytes(object);
}

static PyObject *payload_fit(PyObject *object, PyObject *none) {
  size_t cut = 0;
  (void)none;
  PyObject *bytes = write_payload((payload_t *)object, &cut);
  return bytes ? Py_BuildValue("Nn", bytes, (Py_ssize_t)cut) : NULL;
}

/* ---- Checking --------------------------------------------------------------------- */

static PyStructSequence_Field finding_fields[] = {
    {"severity", "A Severity: ERROR, or WARNING for what a device ignores."},
    {"offset", "The position in bytes, from 0."},
    {"line", "From 1."},
    {"column", "The column in characters, from 1."},
    {"message", "One line."},
    {NULL, NULL}};

static PyStructSequence_Desc finding_shape = {
    "libapns.Finding", "An error or a warning about a payload. A named tuple.", finding_fields, 5};

static PyObject *finding_make(const module_state_t *state, const apns_payload_finding_t *found) {
  PyObject *const values[] = {
      state->severities[found->severity], PyLong_FromSize_t(found->offset),
      PyLong_FromUnsignedLong(found->line), PyLong_FromUnsignedLong(found->column),
      PyUnicode_DecodeUTF8(found->message, (Py_ssize_t)strlen(found->message), "replace")};
  Py_XINCREF(values[0]);
  return tuple_make(state->finding, values, 5);
}

static PyObject *list_findings(const module_state_t *state, const char *json, size_t length,
                               size_t limit) {
  size_t count = 0;
  apns_payload_check(json, length, limit, NULL, 0, &count, NULL);
  apns_payload_finding_t *findings = PyMem_Calloc(count + 1, sizeof *findings);
  if (!findings) return PyErr_NoMemory();
  findings[0] = (apns_payload_finding_t)APNS_PAYLOAD_FINDING_INIT;
  size_t again = 0;
  apns_payload_check(json, length, limit, findings, count, &again, NULL);
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < count && i < again; i++) {
    PyObject *finding = finding_make(state, &findings[i]);
    if (!finding || PyList_Append(list, finding)) Py_CLEAR(list);
    Py_XDECREF(finding);
  }
  PyMem_Free(findings);
  return list;
}

static PyObject *check_payload(PyObject *module, PyObject *args, PyObject *keywords) {
  static char *names[] = {"payload", "limit", NULL};
  PyObject *given, *limit = NULL, *bytes, *findings = NULL;
  long long most = 0;
  char *json;
  Py_ssize_t length;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|$O:check_payload", names, &given, &limit) ||
      !integer_argument(limit, "limit", 0, INT32_MAX, &most)) {
    return NULL;
  }
  bytes = payload_argument(state_of_module(module), given);
  if (bytes && PyBytes_AsStringAndSize(bytes, &json, &length) == 0) {
    findings = list_findings(state_of_module(module), json, (size_t)length, (size_t)most);
  }
  Py_XDECREF(bytes);
  return findings;
}

PyMethodDef payload_functions[] = {
    {"check_payload", (PyCFunction)(void (*)(void))check_payload, METH_VARARGS | METH_KEYWORDS,
     "check_payload(payload, *, limit=None)\n--\n\n"
     "Checks a payload, bytes, str, dict or Payload: a JSON object with an object `aps`,\n"
     "Apple's keys of the right type, at most `limit` bytes (None: 4,096).\n\n"
     "Returns a list of Finding, errors and warnings in order; an empty list if all is well.\n"
     "Warnings are about what a device ignores: an unknown key, with the most similar known\n"
     "one; an alert that is an array; a duplicate key; a Live Activity without a key that\n"
     "its event needs."},
    {NULL, NULL, 0, NULL}};

/* ---- The type ---------------------------------------------------------------------- */

static PyMethodDef methods[] = {
    {"set", (PyCFunction)(void (*)(void))payload_set, METH_VARARGS | METH_KEYWORDS,
     "set($self, /, **keys)\n--\n\n"
     "Sets Apple's keys; a new value replaces the old one. See Payload for the names. An\n"
     "alert is either a string or has parts: remove(\"alert\") to change from one to the\n"
     "other. If one of several keys cannot be set, those before it are set."},
    {"set_critical_sound", (PyCFunction)(void (*)(void))payload_set_critical_sound,
     METH_VARARGS | METH_KEYWORDS,
     "set_critical_sound($self, /, name, volume=1.0)\n--\n\n"
     "Sets a sound that plays even on a muted device, `volume` 0 to 1. It replaces `sound`."},
    {"remove", payload_remove, METH_VARARGS,
     "remove($self, /, *names)\n--\n\n"
     "Removes Apple's keys; \"alert\" removes the alert with all its parts. It is not an error\n"
     "if a key is not set."},
    {"add", payload_add, METH_VARARGS,
     "add($self, name, value, /)\n--\n\n"
     "Adds a custom key next to `aps`: str, int, float, bool, None, or anything that\n"
     "json.dumps() accepts. ArgumentError: the name is already there, see remove_custom(),\n"
     "or it is \"aps\"."},
    {"remove_custom", payload_remove_custom, METH_NOARGS,
     "remove_custom($self, /)\n--\n\n"
     "Removes all custom keys, to add those for the next device."},
    {"reset", payload_reset, METH_NOARGS,
     "reset($self, /)\n--\n\nRemoves all keys and keeps options and memory."},
    {"write", payload_write, METH_NOARGS,
     "write($self, /)\n--\n\n"
     "The payload's JSON as bytes. ArgumentError: it is longer than the limit, even with all\n"
     "its text truncated if that is allowed; the message has the excess."},
    {"fit", payload_fit, METH_NOARGS,
     "fit($self, /)\n--\n\n"
     "As write(), and how many bytes of the text were cut off, or 0. A text is truncated only\n"
     "as much as needed, and only between characters as a person sees them: never within a\n"
     "combining sequence, an emoji or a flag."},
    {"__bytes__", payload_write, METH_NOARGS, "__bytes__($self, /)\n--\n\nAs write()."},
    {NULL, NULL, 0, NULL}};

static const char doc[] =
    "Payload(*, limit=None, truncate=False, suffix=None, **keys)\n--\n\n"
    "Builds a payload and writes compact JSON: UTF-8, only necessary escapes, `aps` first,\n"
    "and in every object the keys in the order in which they were first set.\n\n"
    "limit\n"
    "    The largest size in bytes. Default: PAYLOAD_MAX_HTTP2, 4,096.\n"
    "truncate\n"
    "    Shortens the text of a payload that is too long: the alert or its body, or, without\n"
    "    these, the last of loc_args.\n"
    "suffix\n"
    "    The end of a truncated text. Default: an ellipsis.\n\n"
    "Keys, here and in set(), are Apple's. str: alert, or title, subtitle, body,\n"
    "title_loc_key, subtitle_loc_key, loc_key, action_loc_key (None for JSON's null) and\n"
    "launch_image; sound, category, thread_id, target_content_id, interruption_level,\n"
    "filter_criteria. Sequences of str: title_loc_args, subtitle_loc_args, loc_args,\n"
    "url_args. int: badge, content_available, mutable_content. float: relevance_score. bool:\n"
    "content_changed, of widgets and controls.\n\n"
    "Of Live Activities: int: timestamp, stale_date, dismissal_date, input_push_token. str:\n"
    "event, attributes_type, input_push_channel, and alert_sound for the alert's own sound.\n"
    "dict: content_state, attributes; their title and body may be a dict with \"loc-key\" and\n"
    "\"loc-args\".\n\n"
    "A payload can be used for any number of notifications: send it, change it for the next\n"
    "device, send it again. A call that fails changes nothing; ArgumentError names the\n"
    "key.";

static PyType_Slot slots[] = {{Py_tp_new, payload_new},
                              {Py_tp_dealloc, payload_dealloc},
                              {Py_tp_methods, methods},
                              {Py_tp_doc, (void *)doc},
                              {0, NULL}};

static PyType_Spec spec = {"libapns.Payload", sizeof(payload_t), 0, Py_TPFLAGS_DEFAULT, slots};

bool payload_load(module_state_t *state) {
  PyObject *severity = load_attribute("libapns._constants", "Severity");
  bool fine = severity != NULL;
  for (int i = APNS_FINDING_ERROR; fine && i <= APNS_FINDING_WARNING; i++) {
    state->severities[i] = PyObject_CallFunction(severity, "i", i);
    fine = state->severities[i] != NULL;
  }
  Py_XDECREF(severity);
  if (fine) state->payload = load_type(state->module, &spec);
  if (state->payload) state->finding = load_tuple_type(state->module, &finding_shape);
  return state->finding != NULL;
}
