/* A session as Python has it, for the two files that are about it. */
#ifndef APNS_PYTHON_SESSION_H
#define APNS_PYTHON_SESSION_H

#include "core.h"

typedef struct session {
  PyObject_HEAD apns_session_t *session;
  gate_t gate;
  PyObject *credentials, *weakrefs;
  PyObject *host;
  uint16_t port;
  bool reports_accepted, speaks_http2, closed;
  int32_t connect_ms, patience_ms; /* connect_timeout; what a timeout of None is */
  size_t events_max;
  keepsakes_t keepsakes;
  /* Inside the gate. */
  outcomes_t outcomes; /* to be taken by the program */
  outcomes_t ended;    /* accepted, of which only the keepsake has to be given up */
  apns_session_stats_t told;
  search_t *search;
} session_t;

/* Room for what the service says with the next event; false where there is no memory. */
bool session_reserve_answer(const session_t *self, answer_t **answer_out);

/* What a call inside the gate leaves to be done outside of it. */
typedef struct aftermath {
  outcomes_t ended;
  apns_session_stats_t before, after;
} aftermath_t;

/* Moves the library's outcomes to the session's own; their number. Inside the gate,
   needs no interpreter lock. */
size_t session_collect(session_t *self);
/* Leaves the gate; needs no interpreter lock. */
void session_leave(session_t *self, aftermath_t *aftermath);
/* With the interpreter lock, and no exception set: gives up keepsakes and logs. False with
   the exception of a signal, which comes to Python code here for the first time. */
bool session_settle(session_t *self, aftermath_t *aftermath);

extern const char send_doc[], send_many_doc[];
PyObject *session_send(PyObject *self, PyObject *args, PyObject *keywords);
PyObject *session_send_many(PyObject *self, PyObject *args, PyObject *keywords);

#endif
