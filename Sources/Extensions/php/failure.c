/* Exceptions, from the library's errors. */
#include "php_apns.h"

#include "zend_exceptions.h"

typedef struct class_of_status {
  apns_status_t status;
  zend_class_entry **ce;
} class_of_status;

static const class_of_status classes[] = {
    {APNS_ERR_ARGUMENT, &php_apns_class.argument},
    {APNS_ERR_MEMORY, &php_apns_class.memory},
    {APNS_ERR_TIMEOUT, &php_apns_class.timeout},
    {APNS_ERR_NETWORK, &php_apns_class.network},
    {APNS_ERR_TLS, &php_apns_class.tls},
    {APNS_ERR_CREDENTIALS, &php_apns_class.bad_credentials},
    {APNS_ERR_PROTOCOL, &php_apns_class.protocol},
    {APNS_ERR_FULL, &php_apns_class.full},
    {APNS_ERR_CLOSED, &php_apns_class.closed},
    {APNS_ERR_FORKED, &php_apns_class.forked},
    {APNS_ERR_AGAIN, &php_apns_class.again},
    {APNS_ERR_REJECTED, &php_apns_class.rejected},
    {APNS_ERR_IN_DOUBT, &php_apns_class.in_doubt},
};
#define CLASSES (sizeof classes / sizeof *classes)

static zend_class_entry *class_of(int32_t status) {
  for (size_t index = 0; index < CLASSES; index++)
    if (classes[index].status == status) return *classes[index].ce;
  return php_apns_class.runtime;
}

/* The class that has the exception's own properties. */
static zend_class_entry *owner_of(zend_object *object) {
  const bool is_argument = instanceof_function(object->ce, php_apns_class.argument);
  return is_argument ? php_apns_class.argument : php_apns_class.runtime;
}

static void set_number(zend_object *object, const char *name, zend_long number) {
  zend_update_property_long(owner_of(object), object, name, strlen(name), number);
}

static void set_case(zend_object *object, const char *name, const php_apns_enum *of,
                     int32_t number) {
  zval value;
  php_apns_case_of(of, number, &value);
  zend_update_property(owner_of(object), object, name, strlen(name), &value);
  zval_ptr_dtor(&value);
}

void php_apns_throw(const apns_error_t *error) {
  /* The token_provider's exception explains more. */
  if (error->cause == APNS_CAUSE_PROVIDER_TOKEN && EG(exception)) return;
  zend_object *thrown =
      zend_throw_exception(class_of(error->status), error->message, error->status);
  set_number(thrown, "systemError", error->sys_errno);
  set_number(thrown, "tlsCode", (zend_long)error->tls_code);
  set_case(thrown, "cause", &php_apns_causes, error->cause);
  set_case(thrown, "reject", &php_apns_rejects, error->reject);
}

bool php_apns_is_well(apns_status_t status, const apns_error_t *error) {
  if (status != APNS_OK) php_apns_throw(error);
  return status == APNS_OK;
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

bool php_apns_timeout(const zend_long *given, uint32_t argument, int32_t *out) {
  *out = APNS_TIMEOUT_DEFAULT;
  if (!given) return true;
  if (*given < APNS_TIMEOUT_INFINITE || *given > INT32_MAX) {
    zend_argument_value_error(argument, "must be between -1 and 2147483647, or null");
    return false;
  }
  *out = (int32_t)*given;
  return true;
}

/* ---- Methods -------------------------------------------------------------- */

PHP_METHOD(Apns_RuntimeException, isRetryable) {
  if (zend_parse_parameters_none() == FAILURE) return;
  for (size_t index = 0; index < CLASSES; index++)
    if (instanceof_function(Z_OBJCE_P(ZEND_THIS), *classes[index].ce))
      RETURN_BOOL(apns_status_is_retryable(classes[index].status));
  RETURN_FALSE;
}

static void return_property(INTERNAL_FUNCTION_PARAMETERS, const char *name) {
  zval room;
  if (zend_parse_parameters_none() == FAILURE) return;
  zend_object *object = Z_OBJ_P(ZEND_THIS);
  RETURN_COPY_DEREF(zend_read_property(owner_of(object), object, name, strlen(name), true, &room));
}

#define GETTER(method, property)                                 \
  PHP_METHOD(Apns_RuntimeException, method) {                    \
    return_property(INTERNAL_FUNCTION_PARAM_PASSTHRU, property); \
  }
GETTER(getCause, "cause")
GETTER(getSystemError, "systemError")
GETTER(getTlsCode, "tlsCode")
GETTER(getReject, "reject")
GETTER(getTaken, "taken")
