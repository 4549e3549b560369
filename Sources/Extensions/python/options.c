/* Options of a class by a table, as the header's structures have them. */
#include "core.h"

static const option_t *find(const option_table_t *table, PyObject *name) {
  for (size_t i = 0; i < table->count; i++) {
    if (PyUnicode_CompareWithASCIIString(name, table->list[i].name) == 0) return &table->list[i];
  }
  return NULL;
}

static bool read_text(const option_t *option, PyObject *given, char *field, PyObject *owners) {
  PyObject *owner = NULL;
  if (!text_argument(given, option->name, (const char **)field, &owner)) return false;
  bool fine = !owner || PyList_Append(owners, owner) == 0;
  Py_XDECREF(owner);
  return fine;
}

static bool read_whole_seconds(const option_t *option, PyObject *given, int32_t *field) {
  long long seconds = 0;
  if (!integer_argument(given, option->name, -1, INT32_MAX / 1000, &seconds)) return false;
  *field = (int32_t)(seconds < 0 ? -1 : seconds * 1000);
  return true;
}

static bool read_timeout(const option_t *option, PyObject *given, uint32_t *field) {
  int32_t ms = 0;
  if (!timeout_argument(given, option->name, &ms)) return false;
  *field = (uint32_t)ms;
  return true;
}

static bool read_switch(const option_t *option, PyObject *given, int32_t *field) {
  int is_true = PyObject_IsTrue(given);
  if (is_true < 0) return false;
  *field = option->kind == OPTION_SWITCH ? is_true : !is_true;
  return true;
}

static bool read_number(const option_t *option, PyObject *given, char *field) {
  long long least = 0, most = UINT32_MAX, value = 0;
  if (option->kind == OPTION_U16) most = UINT16_MAX;
  if (option->kind == OPTION_I32) least = INT32_MIN, most = INT32_MAX;
  if (option->kind == OPTION_BITS) most = INT32_MAX;
  if (option->kind == OPTION_COUNT) least = 1;
  if (!integer_argument(given, option->name, least, most, &value)) return false;
  if (option->kind == OPTION_U16) {
    *(uint16_t *)field = (uint16_t)value;
  } else if (option->kind == OPTION_I32) {
    *(int32_t *)field = (int32_t)value;
  } else if (option->kind == OPTION_BITS) {
    *(int32_t *)field = value == 0 ? -1 : (int32_t)value;
  } else {
    *(uint32_t *)field = (uint32_t)value;
  }
  return true;
}

static bool read_option(const option_t *option, PyObject *given, char *structure,
                        PyObject *owners) {
  char *field = structure + option->offset;
  long long word = 0;
  switch (option->kind) {
    case OPTION_SWITCH:
    case OPTION_SWITCH_OFF:
      return read_switch(option, given, (int32_t *)field);
    default:
      break;
  }
  if (given == Py_None) return true;
  switch (option->kind) {
    case OPTION_TEXT:
      return read_text(option, given, field, owners);
    case OPTION_SECONDS:
      return option_ms_argument(given, option->name, (uint32_t *)field);
    case OPTION_TIMEOUT:
      return read_timeout(option, given, (uint32_t *)field);
    case OPTION_SECONDS_OR_NONE:
      return seconds_or_none_argument(given, option->name, (int32_t *)field);
    case OPTION_WHOLE_SECONDS:
      return read_whole_seconds(option, given, (int32_t *)field);
    case OPTION_WORD:
      if (!word_argument(given, option->name, option->words, &word)) return false;
      *(int32_t *)field = (int32_t)word;
      return true;
    case OPTION_BITS:
      /* True stands for the default, which is all of them. */
      return given == Py_True || read_number(option, given, field);
    default:
      return read_number(option, given, field);
  }
}

/* The credentials, borrowed: the only positional argument, or by name. */
static PyObject *read_credentials(const module_state_t *state, const option_table_t *table,
                                  PyObject *args, PyObject *keywords) {
  Py_ssize_t count = PyTuple_Size(args);
  PyObject *named = keywords ? PyDict_GetItemString(keywords, "credentials") : NULL;
  if (count + (named != NULL) != 1) {
    PyErr_Format(PyExc_TypeError, "%s() takes one positional argument, credentials", table->owner);
    return NULL;
  }
  PyObject *credentials = named ? named : PyTuple_GetItem(args, 0);
  if (!PyObject_TypeCheck(credentials, state->credentials)) {
    wrong_type("credentials", "libapns.Credentials", credentials);
    return NULL;
  }
  return credentials;
}

/* Names the option that was probably meant. */
static void refuse(const option_table_t *table, PyObject *name) {
  PyObject *shown = quoted(name), *names = PyList_New(0);
  PyObject *find_nearest = load_attribute("difflib", "get_close_matches");
  for (size_t i = 0; names && i < table->count; i++) {
    PyObject *known = PyUnicode_FromString(table->list[i].name);
    if (!known || PyList_Append(names, known)) Py_CLEAR(names);
    Py_XDECREF(known);
  }
  PyObject *found =
      find_nearest && names ? PyObject_CallFunction(find_nearest, "OOi", name, names, 1) : NULL;
  PyObject *nearest = found && PyList_Size(found) > 0 ? PyList_GetItem(found, 0) : NULL;
  if (shown && found && nearest) {
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %U; did you mean '%U'?",
                 table->owner, shown, nearest);
  } else if (shown && found) {
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument %U", table->owner,
                 shown);
  }
  Py_XDECREF(found);
  Py_XDECREF(find_nearest);
  Py_XDECREF(names);
  Py_XDECREF(shown);
}

bool options_read(const module_state_t *state, const option_table_t *table, PyObject *args,
                  PyObject *keywords, void *structure, PyObject **credentials_out,
                  PyObject **owners_out) {
  PyObject *name, *value;
  Py_ssize_t place = 0;
  *credentials_out = read_credentials(state, table, args, keywords);
  if (!*credentials_out) return false;
  *owners_out = PyList_New(0);
  if (!*owners_out) return false;
  while (keywords && PyDict_Next(keywords, &place, &name, &value)) {
    if (!PyUnicode_Check(name)) {
      PyErr_SetString(PyExc_TypeError, "keywords must be strings");
      return false;
    }
    if (PyUnicode_CompareWithASCIIString(name, "credentials") == 0) continue;
    const option_t *option = find(table, name);
    if (!option) {
      refuse(table, name);
      return false;
    }
    if (!read_option(option, value, structure, *owners_out)) return false;
  }
  return true;
}
