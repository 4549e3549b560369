#include "php_apns.h"

#include "feedback_options.h"

#include "zend_exceptions.h"
#include "zend_interfaces.h"

typedef struct feedback_object {
  apns_feedback_t *feedback;
  pid_t process; /* that made it */
  int32_t read_ms;
  zend_object std;
} feedback_object;

PHP_APNS_OBJECT(feedback_object)

#define OPTION(name, field, type, words) \
  {#name, PHP_APNS_##type, XtOffsetOf(apns_feedback_options_t, field), true, words},
static const php_apns_option fields[] = {PHP_APNS_FEEDBACK_OPTIONS(OPTION)};
#undef OPTION
const php_apns_options php_apns_feedback_options = {"Apns\\Feedback", fields,
                                                    sizeof fields / sizeof *fields};

static bool read_options(apns_feedback_options_t *options, HashTable *given, HashTable *named,
                         zval *proxy) {
  const apns_feedback_options_t nothing = APNS_FEEDBACK_OPTIONS_INIT;
  *options = nothing;
  options->peer.port = (uint16_t)APNS_G(feedback_port);
  options->peer.connect_timeout_ms = (uint32_t)APNS_G(connect_timeout_ms);
  options->peer.wait_max_ms = PHP_APNS_SLICE_MS;
  if (!php_apns_read_options(&php_apns_feedback_options, given, named, options) ||
      !php_apns_read_option(&php_apns_feedback_options, "proxy", proxy, options)) {
    return false;
  }
  if (!options->peer.host) {
    options->peer.host = php_apns_configured(APNS_G(feedback_host));
    if (!options->peer.server_name)
      options->peer.server_name = php_apns_configured(APNS_G(server_name));
  }
  return true;
}

static bool take(zend_object *object, bool of_others, int32_t timeout_ms, zval *out) {
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  apns_error_t error = APNS_ERROR_INIT;
  feedback_object *own = of(object);
  (void)of_others;
  (void)timeout_ms;
  ZVAL_NULL(out);
  if (!own->feedback) {
    php_apns_throw_unconstructed(object);
    return false;
  }
  apns_status_t status;
  const int64_t deadline = php_apns_now_ms() + own->read_ms;
  do {
    status = apns_feedback_next(own->feedback, &tuple, &error);
    if (!php_apns_interrupt()) return false;
  } while (status == APNS_ERR_TIMEOUT && php_apns_now_ms() < deadline);
  if (status == APNS_DONE) return true;
  if (!php_apns_is_well(status, &error)) return false;
  php_apns_feedback_entry(out, tuple.token, tuple.token_length, tuple.timestamp);
  return true;
}

void php_apns_feedback_entry(zval *out, const uint8_t *token, size_t length, int64_t timestamp) {
  object_init_ex(out, php_apns_class.feedback_entry);
  ZVAL_STR(OBJ_PROP_NUM(Z_OBJ_P(out), 0), php_apns_token_hex(token, length));
  ZVAL_LONG(OBJ_PROP_NUM(Z_OBJ_P(out), 1), (zend_long)timestamp);
}

static void destroy(zend_object *object) {
  apns_feedback_free(of(object)->feedback);
  zend_object_std_dtor(object);
}

static zend_object_iterator *iterate(zend_class_entry *ce, zval *object, int by_ref) {
  (void)ce;
  return php_apns_iterator_new(Z_OBJ_P(object), take, false, 0, by_ref);
}

void php_apns_feedback_register(void) {
  php_apns_class.feedback->create_object = create;
  php_apns_class.feedback->get_iterator = iterate;
  php_apns_handlers_init(&handlers, XtOffsetOf(feedback_object, std), destroy);
}

static void wait_for_connection(feedback_object *own, int32_t timeout_ms) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  const int64_t deadline = php_apns_now_ms() + timeout_ms;
  do {
    status = apns_feedback_connect(own->feedback, &error);
    if (!php_apns_interrupt()) return;
  } while (status == APNS_ERR_TIMEOUT && php_apns_now_ms() < deadline);
  if (status != APNS_OK) php_apns_throw(&error);
}

static void construct(INTERNAL_FUNCTION_PARAMETERS, HashTable *named) {
  (void)return_value;
  zval *who = NULL, *proxy = NULL;
  HashTable *given = NULL;
  php_apns_identity identity;
  apns_feedback_options_t options;
  apns_feedback_t *feedback = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  feedback_object *own = of(Z_OBJ_P(ZEND_THIS));
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "|zhz", &who, &given, &proxy) == FAILURE) return;
  if (!php_apns_identity_is_one(who, 1)) return;
  if (!php_apns_identity_from(&identity, who, APNS_PROTOCOL_BINARY)) return;
  if (php_apns_identity_make(&identity) && read_options(&options, given, named, proxy)) {
    if (own->feedback) {
      zend_throw_error(NULL, "Apns\\Feedback is already constructed");
    } else if (apns_feedback_open(&options, identity.credentials, &feedback, &error) != APNS_OK) {
      php_apns_throw(&error);
    } else {
      own->feedback = feedback;
      own->process = getpid();
      own->read_ms = php_apns_option_ms(options.read_timeout_ms);
      if (!options.peer.nonblocking)
        wait_for_connection(own, php_apns_option_ms(options.peer.connect_timeout_ms));
    }
  }
  php_apns_identity_end(&identity);
}

PHP_APNS_METHOD(Apns_Feedback, __construct, construct)

PHP_METHOD(Apns_Feedback, read) {
  if (zend_parse_parameters_none() == FAILURE) return;
  take(Z_OBJ_P(ZEND_THIS), false, 0, return_value);
}

PHP_METHOD(Apns_Feedback, stream) {
  if (zend_parse_parameters_none() == FAILURE) return;
  feedback_object *own = of(Z_OBJ_P(ZEND_THIS));
  if (!own->feedback) {
    php_apns_throw_unconstructed(Z_OBJ_P(ZEND_THIS));
    return;
  }
  int descriptor = apns_feedback_fd(own->feedback);
  if (descriptor >= 0) {
    php_apns_stream_of(descriptor, return_value);
  } else {
    php_apns_throw_waits("feedback", own->process != getpid());
  }
}

PHP_METHOD(Apns_Feedback, getIterator) {
  if (zend_parse_parameters_none() == FAILURE) return;
  zend_create_internal_iterator_zval(return_value, ZEND_THIS);
}
