/* Exceptions, from the library's errors. */
#include "php_apns.h"

#include "zend_exceptions.h"

static zend_class_entry *class_of(int32_t status) {
  const php_apns_classes *all = &php_apns_class;
  switch (status) {
    case APNS_ERR_ARGUMENT:
      return all->argument;
    case APNS_ERR_MEMORY:
      return all->memory;
    case APNS_ERR_TIMEOUT:
      return all->timeout;
    case APNS_ERR_NETWORK:
      return all->network;
    case APNS_ERR_TLS:
      return all->tls;
    case APNS_ERR_CREDENTIALS:
      return all->bad_credentials;
    case APNS_ERR_PROTOCOL:
      return all->protocol;
    case APNS_ERR_FULL:
      return all->full;
    case APNS_ERR_CLOSED:
      return all->closed;
    case APNS_ERR_FORKED:
      return all->forked;
    case APNS_ERR_AGAIN:
      return all->again;
    case APNS_ERR_REFUSED:
      return all->refused;
    case APNS_ERR_IN_DOUBT:
      return all->in_doubt;
    default:
      return all->exception;
  }
}

static void set_number(zend_object *object, const char *name, zend_long number) {
  zend_update_property_long(php_apns_class.exception, object, name, strlen(name), number);
}

void php_apns_throw(const apns_error_t *error) {
  /* What the token_provider threw says more. */
  if (error->cause == APNS_CAUSE_PROVIDER_TOKEN && EG(exception)) return;
  zend_object *thrown =
      zend_throw_exception(class_of(error->status), error->message, error->status);
  set_number(thrown, "status", error->status);
  set_number(thrown, "systemError", error->sys_errno);
  set_number(thrown, "tlsCode", (zend_long)error->tls_code);
  set_number(thrown, "reject", error->reject);
  set_number(thrown, "cause", error->cause);
}

static void throw_argument(int32_t reject, const char *format, va_list arguments) {
  apns_error_t error = APNS_ERROR_INIT;
  error.status = APNS_ERR_ARGUMENT;
  error.reject = reject;
  vsnprintf(error.message, sizeof error.message, format, arguments);
  php_apns_throw(&error);
}

void php_apns_throw_argument(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  throw_argument(APNS_REJECT_NONE, format, arguments);
  va_end(arguments);
}

void php_apns_refuse(apns_reject_t reject, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  throw_argument(reject, format, arguments);
  va_end(arguments);
}

void php_apns_tell_taken(size_t taken) {
  if (EG(exception) && instanceof_function(EG(exception)->ce, php_apns_class.exception)) {
    set_number(EG(exception), "taken", (zend_long)taken);
  }
}

void php_apns_throw_unconstructed(zend_object *object) {
  zend_throw_error(NULL, "%s is not constructed", ZSTR_VAL(object->ce->name));
}

bool php_apns_timeout(zend_long given, uint32_t argument, int32_t *out) {
  if (given < -1 || given > INT32_MAX) {
    zend_argument_value_error(argument, "must be between -1 and 2147483647");
    return false;
  }
  *out = (int32_t)given;
  return true;
}

PHP_METHOD(Apns_Exception, isRetryable) {
  if (zend_parse_parameters_none() == FAILURE) return;
  zval room;
  zval *status = zend_read_property(php_apns_class.exception, Z_OBJ_P(ZEND_THIS), "status",
                                    strlen("status"), true, &room);
  RETURN_BOOL(apns_status_is_retryable((apns_status_t)zval_get_long(status)));
}

/* A status of the library; -1, which is none, for a number that cannot be one. */
static int clamped(zend_long number) {
  return number < INT32_MIN || number > INT32_MAX ? -1 : (int)number;
}

PHP_METHOD(Apns_Reject, text) {
  zend_long reject = 0;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "l", &reject) == FAILURE) return;
  RETURN_STRING(apns_reject_text((apns_reject_t)clamped(reject)));
}

PHP_METHOD(Apns_Reason, text) {
  zend_long reason = 0;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "l", &reason) == FAILURE) return;
  RETURN_STRING(apns_reason_text((apns_reason_t)clamped(reason)));
}

PHP_METHOD(Apns_Reason, httpStatus) {
  zend_long reason = 0;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "l", &reason) == FAILURE) return;
  RETURN_LONG(apns_reason_http_status((apns_reason_t)clamped(reason)));
}

PHP_METHOD(Apns_PushType, text) {
  zend_long type = 0;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "l", &type) == FAILURE) return;
  RETURN_STRING(apns_push_type_text((apns_push_type_t)clamped(type)));
}
