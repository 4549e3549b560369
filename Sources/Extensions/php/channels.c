/* The channels of an app, which broadcasts go to. */
#include "php_apns.h"

#include "channels_options.h"

#include "zend_exceptions.h"

typedef struct channels_object {
  apns_channels_t *channels; /* NULL: not constructed */
  php_apns_provider *provider;
  php_apns_log *log;
  pid_t process; /* that made it */
  bool never_waits;
  bool is_asking; /* a request is pending; a callable of the script may try another */
  zend_object std;
} channels_object;

PHP_APNS_OBJECT(channels_object)

/* ---- Options ------------------------------------------------------------- */

typedef struct settings {
  apns_channels_options_t options;
  zval *log;
} settings;

#define OPTION(name, field, type, words) \
  {#name, PHP_APNS_##type, XtOffsetOf(settings, options.field), true, words},
static const php_apns_option fields[] = {PHP_APNS_CHANNELS_OPTIONS(OPTION){
    "log", PHP_APNS_OTHER, XtOffsetOf(settings, log), true, NULL}};
#undef OPTION
const php_apns_options php_apns_channels_options = {"Apns\\Channels", fields,
                                                    sizeof fields / sizeof *fields};

static bool read_settings(settings *settings, HashTable *given, HashTable *named, zval *proxy) {
  const apns_channels_options_t nothing = APNS_CHANNELS_OPTIONS_INIT;
  memset(settings, 0, sizeof *settings);
  settings->options = nothing;
  settings->options.peer.connect_timeout_ms = (uint32_t)APNS_G(connect_timeout_ms);
  settings->options.peer.wait_max_ms = PHP_APNS_SLICE_MS;
  return php_apns_read_options(&php_apns_channels_options, given, named, settings) &&
         php_apns_read_option(&php_apns_channels_options, "proxy", proxy, settings);
}

/* Whether the request continues after a slice. False too if a signal handler threw. */
static bool goes_on(channels_object *own, apns_status_t status) {
  if (!php_apns_interrupt()) {
    apns_channels_cancel(own->channels);
    return false;
  }
  return status == APNS_ERR_AGAIN && !own->never_waits;
}

/* ---- Handlers ---------------------------------------------------------------- */

static void destroy(zend_object *object) {
  channels_object *own = of(object);
  apns_channels_free(own->channels);
  php_apns_provider_release(own->provider);
  php_apns_log_free(own->log);
  zend_object_std_dtor(object);
}

/* A logger may refer to its channels. */
static HashTable *collect(zend_object *object, zval **table, int *count) {
  zend_get_gc_buffer *buffer = zend_get_gc_buffer_create();
  php_apns_log *log = of(object)->log;
  if (log) zend_get_gc_buffer_add_zval(buffer, php_apns_log_logger(log));
  zend_get_gc_buffer_use(buffer, table, count);
  return zend_std_get_properties(object);
}

void php_apns_channels_register(void) {
  php_apns_class.channels->create_object = create;
  php_apns_handlers_init(&handlers, XtOffsetOf(channels_object, std), destroy);
  handlers.get_gc = collect;
}

/* ---- Making ------------------------------------------------------------------- */

static void construct(INTERNAL_FUNCTION_PARAMETERS, HashTable *named) {
  (void)return_value;
  zval *who = NULL, *proxy = NULL;
  HashTable *given = NULL;
  php_apns_identity identity;
  settings settings;
  apns_channels_t *channels = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  channels_object *own = of(Z_OBJ_P(ZEND_THIS));
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "|zhz", &who, &given, &proxy) == FAILURE) return;
  if (!php_apns_identity_is_one(who, 1)) return;
  if (!php_apns_identity_from(&identity, who, APNS_PROTOCOL_HTTP2)) return;
  if (php_apns_identity_make(&identity) && read_settings(&settings, given, named, proxy)) {
    apns_channels_options_t *options = &settings.options;
    php_apns_log *log = NULL;
    if (!options->topic && !identity.names_certificate) {
      options->topic = php_apns_configured(APNS_G(topic));
    }
    if (own->channels) {
      zend_throw_error(NULL, "Apns\\Channels is already constructed");
    } else if (!php_apns_log_make(settings.log, false, &options->log, &options->log_context,
                                  &log)) {
      /* with an exception */
    } else if (apns_channels_new(options, identity.credentials, &channels, &error) != APNS_OK) {
      php_apns_log_free(log);
      php_apns_throw_refused(options->topic, &error);
    } else {
      own->channels = channels;
      own->provider = php_apns_provider_share(identity.provider);
      own->log = log;
      own->process = getpid();
      own->never_waits = options->peer.nonblocking;
    }
  }
  php_apns_identity_end(&identity);
}

PHP_APNS_METHOD(Apns_Channels, __construct, construct)

/* ---- Requests -------------------------------------------------------------------- */

static channels_object *constructed(zval *self) {
  channels_object *own = of(Z_OBJ_P(self));
  if (own->channels) return own;
  php_apns_throw_unconstructed(Z_OBJ_P(self));
  return NULL;
}

/* Begins a request; NULL, and an exception. */
static channels_object *begin(zval *self) {
  channels_object *own = constructed(self);
  if (!own) return NULL;
  if (own->is_asking) {
    zend_throw_error(NULL, "Apns\\Channels has a request under way");
    return NULL;
  }
  own->is_asking = true;
  return own;
}

static void tell_refusal(const channels_object *own, zend_object *thrown) {
  apns_channels_response_t response = APNS_CHANNELS_RESPONSE_INIT;
  zend_class_entry *ce = php_apns_class.rejected;
  if (apns_channels_response(own->channels, &response, NULL) != APNS_OK) return;
  zval reason;
  php_apns_reason_of(response.reason, &reason);
  zend_update_property(ce, thrown, ZEND_STRL("reason"), &reason);
  zval_ptr_dtor(&reason);
  zend_update_property_string(ce, thrown, ZEND_STRL("reasonText"), response.reason_text);
  zend_update_property_long(ce, thrown, ZEND_STRL("httpStatus"), response.http_status);
  zend_update_property_string(ce, thrown, ZEND_STRL("requestId"), response.request_id);
  zend_update_property_long(ce, thrown, ZEND_STRL("retryAfter"), response.retry_after_s);
}

/* Ends a request; false, and an exception. */
static bool end(channels_object *own, apns_status_t status, const apns_error_t *error) {
  php_apns_provider_resume(own->provider);
  const bool is_refused = status == APNS_ERR_REJECTED && !EG(exception);
  if (status != APNS_OK) php_apns_throw_after(error);
  if (is_refused) tell_refusal(own, EG(exception));
  own->is_asking = false;
  /* The logger may take the last variable that holds the object. */
  GC_ADDREF(&own->std);
  php_apns_log_tell_lines(own->log);
  OBJ_RELEASE(&own->std);
  return status == APNS_OK && !EG(exception);
}

PHP_METHOD(Apns_Channels, create) {
  zval *given;
  int32_t storage = 0;
  char channel[APNS_CHANNEL_ID_MAX + 1];
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "z", &given) == FAILURE) return;
  if (!php_apns_read_case(&php_apns_storages, given,
                          "Apns\\Channels::create(): Argument #1 ($storage)", &storage)) {
    return;
  }
  channels_object *own = begin(ZEND_THIS);
  if (!own) return;
  apns_status_t status;
  do {
    status = apns_channel_create(own->channels, (apns_storage_t)storage, channel, sizeof channel,
                                 &error);
  } while (goes_on(own, status));
  if (status == APNS_OK) RETVAL_STRING(channel);
  end(own, status, &error);
}

/* The only argument of a method; NULL, and an exception. */
static const char *channel_argument(zend_execute_data *execute_data) {
  zend_string *given;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "S", &given) == FAILURE) return NULL;
  if (strlen(ZSTR_VAL(given)) == ZSTR_LEN(given)) return ZSTR_VAL(given);
  php_apns_throw_argument("channel_id has a null byte");
  return NULL;
}

static void add_case(zval *array, const char *name, const php_apns_enum *of, int32_t number) {
  zval value;
  php_apns_case_of(of, number, &value);
  add_assoc_zval(array, name, &value);
}

PHP_METHOD(Apns_Channels, describe) {
  apns_channel_description_t said = APNS_CHANNEL_DESCRIPTION_INIT;
  apns_error_t error = APNS_ERROR_INIT;
  const char *channel = channel_argument(execute_data);
  channels_object *own = channel ? begin(ZEND_THIS) : NULL;
  if (!own) return;
  apns_status_t status;
  do {
    status = apns_channel_describe(own->channels, channel, &said, &error);
  } while (goes_on(own, status));
  if (status == APNS_OK) {
    array_init(return_value);
    add_case(return_value, "storage", &php_apns_storages, said.storage);
    add_case(return_value, "push_type", &php_apns_push_types, said.push_type);
  }
  end(own, status, &error);
}

PHP_METHOD(Apns_Channels, delete) {
  apns_error_t error = APNS_ERROR_INIT;
  const char *channel = channel_argument(execute_data);
  channels_object *own = channel ? begin(ZEND_THIS) : NULL;
  if (!own) return;
  apns_status_t status;
  do {
    status = apns_channel_delete(own->channels, channel, &error);
  } while (goes_on(own, status));
  end(own, status, &error);
}

PHP_METHOD(Apns_Channels, list) {
  apns_error_t error = APNS_ERROR_INIT;
  const char *channel;
  if (zend_parse_parameters_none() == FAILURE) return;
  channels_object *own = begin(ZEND_THIS);
  if (!own) return;
  apns_status_t status;
  do {
    status = apns_channels_list(own->channels, &error);
  } while (goes_on(own, status));
  if (status == APNS_OK) {
    array_init(return_value);
    while (apns_channels_next(own->channels, &channel) == APNS_OK) {
      add_next_index_string(return_value, channel);
    }
  }
  end(own, status, &error);
}

/* ---- Beside requests ----------------------------------------------------------------- */

PHP_METHOD(Apns_Channels, response) {
  apns_channels_response_t response = APNS_CHANNELS_RESPONSE_INIT;
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters_none() == FAILURE) return;
  channels_object *own = constructed(ZEND_THIS);
  if (!own) return;
  if (!php_apns_is_well(apns_channels_response(own->channels, &response, &error), &error)) return;
  if (response.http_status == 0) RETURN_NULL();
  array_init(return_value);
  add_assoc_long(return_value, "http_status", response.http_status);
  zval reason;
  php_apns_reason_of(response.reason, &reason);
  add_assoc_zval(return_value, "reason", &reason);
  add_assoc_string(return_value, "reason_text", response.reason_text);
  add_assoc_string(return_value, "request_id", response.request_id);
  add_assoc_long(return_value, "retry_after", response.retry_after_s);
}

PHP_METHOD(Apns_Channels, cancel) {
  if (zend_parse_parameters_none() == FAILURE) return;
  channels_object *own = begin(ZEND_THIS);
  if (!own) return;
  apns_channels_cancel(own->channels);
  own->is_asking = false;
}

/* The object, if it is nonblocking; else NULL, and an exception. */
static channels_object *that_never_wait(zval *self) {
  channels_object *own = constructed(self);
  if (!own || apns_channels_fd(own->channels) >= 0) return own;
  php_apns_throw_waits("channels object", own->process != getpid());
  return NULL;
}

PHP_METHOD(Apns_Channels, stream) {
  if (zend_parse_parameters_none() == FAILURE) return;
  channels_object *own = that_never_wait(ZEND_THIS);
  if (own) php_apns_stream_of(apns_channels_fd(own->channels), return_value);
}

PHP_METHOD(Apns_Channels, timeoutMs) {
  if (zend_parse_parameters_none() == FAILURE) return;
  channels_object *own = that_never_wait(ZEND_THIS);
  if (!own) return;
  int32_t ms = apns_channels_timeout_ms(own->channels);
  if (ms < 0) RETURN_NULL();
  RETURN_LONG(ms);
}
