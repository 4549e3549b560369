/* Sessions and feedback in a script's event loop, made with the option `nonblocking`. */
#include "php_apns.h"

#include <fcntl.h>

void php_apns_throw_waits(const char *what, bool is_inherited) {
  apns_error_t error = APNS_ERROR_INIT;
  error.status = is_inherited ? APNS_ERR_FORKED : APNS_ERR_ARGUMENT;
  snprintf(error.message, sizeof error.message,
           is_inherited ? "the %s was made by the parent process"
                        : "the %s was made without nonblocking",
           what);
  php_apns_throw(&error);
}

/* Duplicates the descriptor, so that closing the stream closes only the copy. */
void php_apns_stream_of(int descriptor, zval *out) {
  int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  php_stream *stream = copy >= 0 ? php_stream_fopen_from_fd(copy, "r", NULL) : NULL;
  if (!stream) {
    apns_error_t error = APNS_ERROR_INIT;
    error.status = APNS_ERR_NETWORK;
    error.sys_errno = errno;
    snprintf(error.message, sizeof error.message, "no stream can be made: %s", strerror(errno));
    if (copy >= 0) close(copy);
    php_apns_throw(&error);
    return;
  }
  stream->flags |= PHP_STREAM_FLAG_NO_BUFFER | PHP_STREAM_FLAG_NO_SEEK;
  php_stream_to_zval(stream, out);
}

/* The session, if it is nonblocking; else NULL, and an exception. */
static php_apns_tracked *that_never_waits(zend_object *object) {
  php_apns_tracked *tracked = php_apns_session_tracked(object);
  if (!tracked) return NULL;
  bool is_inherited = php_apns_tracked_is_inherited(tracked);
  if (tracked->never_waits && !is_inherited) return tracked;
  php_apns_throw_waits("session", is_inherited);
  return NULL;
}

PHP_METHOD(Apns_Session, stream) {
  if (zend_parse_parameters_none() == FAILURE) return;
  php_apns_tracked *tracked = that_never_waits(Z_OBJ_P(ZEND_THIS));
  if (tracked) php_apns_stream_of(apns_session_fd(tracked->session), return_value);
}

PHP_METHOD(Apns_Session, process) {
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters_none() == FAILURE) return;
  php_apns_tracked *tracked = that_never_waits(Z_OBJ_P(ZEND_THIS));
  if (!tracked) return;
  apns_status_t status = apns_session_process(tracked->session, &error);
  tracked->holds_back = false;
  php_apns_log_tell(tracked);
  php_apns_tracked_sweep(tracked);
  if (status == APNS_DONE) {
    tracked->is_closed = true;
    RETURN_FALSE;
  }
  if (status == APNS_OK) RETURN_TRUE;
  php_apns_throw(&error);
}

PHP_METHOD(Apns_Session, timeoutMs) {
  if (zend_parse_parameters_none() == FAILURE) return;
  php_apns_tracked *tracked = that_never_waits(Z_OBJ_P(ZEND_THIS));
  if (!tracked) return;
  int32_t ms = apns_session_timeout_ms(tracked->session);
  if (ms < 0) RETURN_NULL();
  RETURN_LONG(ms);
}
