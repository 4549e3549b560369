/*
 * The option `log`. The library logs inside a call, with the object's lock. The lines are kept, and
 * given to the program's logger when the lock is free again: it may use the object, or wait for
 * another thread that does.
 */
#include <stdlib.h>

#include "core.h"

/* Maximum number of waiting lines, if a logger hangs or a large batch is traced. */
enum { LINES_MAX = 65536 };

struct log_line {
  log_line_t *next;
  apns_log_record_t record;
  char words[];
};

void log_lines_keep(const apns_log_record_t *record, void *context) {
  log_lines_t *lines = context;
  const size_t peer = strlen(record->peer) + 1, size = strlen(record->line) + 1;
  log_line_t *line = lines->count < LINES_MAX ? malloc(sizeof *line + size + peer) : NULL;
  if (!line) {
    lines->lost++;
    return;
  }
  line->next = NULL;
  line->record = *record;
  line->record.left_out += lines->lost;
  lines->lost = 0;
  line->record.line = memcpy(line->words, record->line, size);
  line->record.peer = memcpy(line->words + size, record->peer, peer);
  if (lines->last) {
    lines->last->next = line;
  } else {
    lines->first = line;
  }
  lines->last = line;
  lines->count++;
}

void log_lines_free(log_lines_t *lines) {
  while (lines->first) {
    log_line_t *line = lines->first;
    lines->first = line->next;
    free(line);
  }
  lines->last = NULL;
  lines->count = 0;
}

/* Reports a logger's exception as unraisable; only Ctrl-C stays set for the program. */
static void put_up_with_exception(PyObject *owner) {
  if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
    PyErr_Clear();
    PyErr_SetInterrupt();
  } else {
    PyErr_WriteUnraisable(owner);
  }
}

void log_lines_tell(PyObject *owner, const module_state_t *state, PyObject *log,
                    log_lines_t *lines) {
  Py_XINCREF(log);
  for (log_line_t *line = log ? lines->first : NULL; line; line = line->next) {
    const apns_log_record_t *told = &line->record;
    PyObject *nothing = PyObject_CallFunction(
        state->tell_line, "OiissIiKIII", log, (int)told->level, (int)told->kind, told->line,
        told->peer, (unsigned)told->connection, (int)told->cause, (unsigned long long)told->count,
        (unsigned)told->milliseconds, (unsigned)told->left_out, (unsigned)told->resumed);
    Py_XDECREF(nothing);
    if (!nothing) put_up_with_exception(owner);
  }
  Py_XDECREF(log);
  log_lines_free(lines);
}

PyObject *log_take(PyObject *keywords, PyObject **log_out) {
  PyObject *log = keywords ? PyDict_GetItemString(keywords, "log") : NULL;
  if (!log) {
    Py_XINCREF(keywords);
    return keywords;
  }
  if (log != Py_None) {
    if (!PyCallable_Check(log) && !PyObject_HasAttrString(log, "log")) {
      wrong_type("log", "a logging.Logger, a callable or None", log);
      return NULL;
    }
    Py_INCREF(log);
    *log_out = log;
  }
  PyObject *rest = PyDict_Copy(keywords);
  if (rest && PyDict_DelItemString(rest, "log")) Py_CLEAR(rest);
  return rest;
}
