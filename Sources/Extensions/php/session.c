#include "php_apns.h"

#include "session_options.h"
#include "zend_exceptions.h"
#include "zend_interfaces.h"

PHP_APNS_OBJECT(php_apns_session)

/* ---- Options ------------------------------------------------------------- */

#define OPTION(name, field, type, words) \
  {#name, PHP_APNS_##type, XtOffsetOf(php_apns_session_settings, field), true, words},
static const php_apns_option fields[] = {
    PHP_APNS_SESSION_OPTIONS(OPTION){"log", PHP_APNS_OTHER,
                                     XtOffsetOf(php_apns_session_settings, log), true, NULL},
    {"request", PHP_APNS_OTHER, XtOffsetOf(php_apns_session_settings, request), true, NULL}};
#undef OPTION
static const size_t field_count = sizeof fields / sizeof *fields;
/* The last one is for persistent sessions. */
const php_apns_options php_apns_session_options = {"Apns\\Session", fields,
                                                   sizeof fields / sizeof *fields - 1};
const php_apns_options php_apns_persistent_options = {"Apns\\Session::persistent()", fields,
                                                      sizeof fields / sizeof *fields};

/* Whether the script gives an option a value other than null. */
static bool says(HashTable *given, HashTable *named, const char *name) {
  HashTable *const tables[] = {given, named};
  for (size_t index = 0; index < 2; index++) {
    zval *value = tables[index] ? zend_hash_str_find(tables[index], name, strlen(name)) : NULL;
    if (value) ZVAL_DEREF(value);
    if (value && Z_TYPE_P(value) != IS_NULL) return true;
  }
  return false;
}

/* php.ini's protocol; NULL if it is missing or unknown. */
static const int32_t *configured_protocol(void) {
  const char *text = php_apns_configured(APNS_G(protocol));
  return text ? php_apns_word(&php_apns_protocols, text, strlen(text)) : NULL;
}

/* php.ini first, then the script's options over it. */
static bool read_settings(php_apns_session_settings *settings, HashTable *given, HashTable *named,
                          zval *proxy, bool is_persistent) {
  const php_apns_session_settings nothing = {
      APNS_SESSION_OPTIONS_INIT, APNS_BINARY_OPTIONS_INIT, APNS_TUNING_INIT, NULL, NULL, 0};
  const int32_t *protocol = configured_protocol();
  const php_apns_options *known =
      is_persistent ? &php_apns_persistent_options : &php_apns_session_options;
  *settings = nothing;
  settings->options.binary = &settings->binary;
  settings->options.tuning = &settings->tuning;
  settings->options.peer.connect_timeout_ms = (uint32_t)APNS_G(connect_timeout_ms);
  settings->tuning.write_timeout_ms = (uint32_t)APNS_G(write_timeout_ms);
  settings->options.close_timeout_ms = (uint32_t)APNS_G(close_timeout_ms);
  settings->options.checks = (int32_t)APNS_G(checks);
  if (!php_apns_read_options(known, given, named, settings) ||
      !php_apns_read_option(known, "proxy", proxy, settings)) {
    return false;
  }
  /* Another host has another name, and may speak another protocol. */
  apns_session_options_t *options = &settings->options;
  if (!says(given, named, "protocol") && !options->peer.host) {
    if (!protocol && php_apns_configured(APNS_G(protocol))) {
      char shown[PHP_APNS_SHOWN];
      php_apns_throw_argument("apns.protocol of php.ini is \"%s\", not \"http2\" or \"binary\"",
                              php_apns_quoted(APNS_G(protocol), shown));
      return false;
    }
    if (protocol) options->protocol = *protocol;
  }
  /* php.ini's host and port are for php.ini's protocol. */
  if (!protocol || options->protocol == *protocol) {
    if (!says(given, named, "port")) options->peer.port = (uint16_t)APNS_G(port);
    if (!options->peer.host) {
      options->peer.host = php_apns_configured(APNS_G(host));
      if (!options->peer.server_name)
        options->peer.server_name = php_apns_configured(APNS_G(server_name));
    }
  }
  settings->close_timeout_ms = (int32_t)MIN(options->close_timeout_ms, INT32_MAX);
  options->close_timeout_ms = 0;
  options->peer.wait_max_ms = PHP_APNS_SLICE_MS;
  options->user_data_free = php_apns_record_forget;
  if (settings->request && Z_TYPE_P(settings->request) == IS_NULL) settings->request = NULL;
  if (settings->request &&
      (Z_TYPE_P(settings->request) != IS_STRING || Z_STRLEN_P(settings->request) == 0)) {
    zend_type_error("option 'request' must be a string that is not empty");
    return false;
  }
  return true;
}

/* Takes php.ini's topic, which is for php.ini's certificate, or for provider tokens. */
static void take_topic(php_apns_session_settings *settings, const php_apns_identity *identity) {
  if (settings->options.topic || settings->options.protocol != APNS_PROTOCOL_HTTP2) return;
  if (!identity->names_certificate) settings->options.topic = php_apns_configured(APNS_G(topic));
}

/* ---- Handlers ---------------------------------------------------------------- */

/* Closes gracefully, so that no notification in flight is destroyed. */
static void end(zend_object *object) {
  php_apns_tracked *tracked = of(object)->tracked;
  if (tracked && !tracked->is_persistent) php_apns_tracked_finish(tracked);
}

static void destroy(zend_object *object) {
  php_apns_session *own = of(object);
  php_apns_tracked *tracked = own->tracked;
  /* After a fatal error no destructor was called. */
  end(object);
  own->tracked = NULL;
  if (tracked) php_apns_tracked_release(tracked);
  zend_object_std_dtor(object);
}

static void collect_user_data(zend_get_gc_buffer *buffer, const php_apns_records *records) {
  for (php_apns_record *record = records->first; record; record = record->after) {
    zend_get_gc_buffer_add_zval(buffer, &record->user_data);
  }
}

/* User data may refer to the session; closing it puts accepted notifications among the dead. */
static HashTable *collect(zend_object *object, zval **table, int *count) {
  zend_get_gc_buffer *buffer = zend_get_gc_buffer_create();
  php_apns_tracked *tracked = of(object)->tracked;
  if (tracked && !tracked->is_persistent) {
    collect_user_data(buffer, &tracked->sent);
    collect_user_data(buffer, &tracked->dead);
    collect_user_data(buffer, &tracked->own);
    if (tracked->log) zend_get_gc_buffer_add_zval(buffer, php_apns_log_logger(tracked->log));
  }
  zend_get_gc_buffer_use(buffer, table, count);
  return zend_std_get_properties(object);
}

static zend_object_iterator *iterate(zend_class_entry *ce, zval *object, int by_ref) {
  (void)ce;
  return php_apns_iterator_new(Z_OBJ_P(object), php_apns_event_take, false, 0, by_ref);
}

void php_apns_session_register(void) {
  php_apns_class.session->create_object = create;
  php_apns_class.session->get_iterator = iterate;
  php_apns_handlers_init(&handlers, XtOffsetOf(php_apns_session, std), destroy);
  handlers.dtor_obj = end;
  handlers.get_gc = collect;
}

void php_apns_session_object(zval *out, php_apns_tracked *tracked) {
  object_init_ex(out, php_apns_class.session);
  of(Z_OBJ_P(out))->tracked = tracked;
}

/* ---- Making ------------------------------------------------------------------- */

static void construct(INTERNAL_FUNCTION_PARAMETERS, HashTable *named) {
  (void)return_value;
  zval *who = NULL, *proxy = NULL;
  HashTable *given = NULL;
  php_apns_identity identity;
  php_apns_session_settings settings;
  apns_session_t *session = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  php_apns_session *own = of(Z_OBJ_P(ZEND_THIS));
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "|zhz", &who, &given, &proxy) == FAILURE) return;
  if (!php_apns_identity_is_one(who, 1)) return;
  if (!read_settings(&settings, given, named, proxy, false)) return;
  if (!php_apns_identity_from(&identity, who, settings.options.protocol)) return;
  /* Read again, as the callable for a passphrase may have changed what they point to. */
  if (php_apns_identity_make(&identity) && read_settings(&settings, given, named, proxy, false)) {
    take_topic(&settings, &identity);
    php_apns_log *log = NULL;
    if (own->tracked) {
      zend_throw_error(NULL, "Apns\\Session is already constructed");
    } else if (!php_apns_log_make(settings.log, false, &settings.options.log,
                                  &settings.options.log_context, &log)) {
      /* with an exception */
    } else if (apns_session_new(&settings.options, identity.credentials, &session, &error) !=
               APNS_OK) {
      php_apns_log_free(log);
      php_apns_throw_refused(settings.options.topic, &error);
    } else {
      own->tracked = php_apns_tracked_new(session, &settings);
      own->tracked->provider = php_apns_provider_share(identity.provider);
      own->tracked->log = log;
    }
  }
  php_apns_identity_end(&identity);
}

PHP_APNS_METHOD(Apns_Session, __construct, construct)

static void find_persistent(INTERNAL_FUNCTION_PARAMETERS, HashTable *named) {
  zend_string *name;
  zval *who = NULL, *proxy = NULL;
  HashTable *given = NULL;
  php_apns_identity identity;
  php_apns_session_settings settings;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "S|zhz", &name, &who, &given, &proxy) == FAILURE)
    return;
  if (!php_apns_identity_is_one(who, 2)) return;
  if (!read_settings(&settings, given, named, proxy, true)) return;
  php_apns_log *log;
  if (!php_apns_log_make(settings.log, true, &settings.options.log, &settings.options.log_context,
                         &log)) {
    return;
  }
  if (settings.options.peer.nonblocking) {
    /* No loop runs for it between two requests. */
    php_apns_throw_argument("a persistent session cannot be nonblocking");
    return;
  }
  if (php_apns_identity_from(&identity, who, settings.options.protocol)) {
    take_topic(&settings, &identity);
    php_apns_fingerprint fingerprint = identity.fingerprint;
    php_apns_fingerprint_options(&fingerprint, fields, field_count, &settings);
    php_apns_tracked *tracked =
        php_apns_persistent_session(name, &identity, &settings, &fingerprint);
    if (tracked) php_apns_session_object(return_value, tracked);
  }
  php_apns_identity_end(&identity);
}

PHP_APNS_METHOD(Apns_Session, persistent, find_persistent)

/* ---- The rest -------------------------------------------------------------------- */

PHP_METHOD(Apns_Session, useCredentials) {
  zval *who;
  php_apns_identity identity;
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "z", &who) == FAILURE) return;
  if (Z_TYPE_P(who) == IS_NULL) {
    zend_argument_type_error(1, "must be of type Apns\\Credentials|array, null given");
    return;
  }
  if (!php_apns_identity_is_one(who, 1)) return;
  php_apns_tracked *tracked = php_apns_session_tracked(Z_OBJ_P(ZEND_THIS));
  if (!tracked) return;
  if (tracked->is_persistent) {
    /* It is found by the credentials it was made with. */
    php_apns_throw_argument("a persistent session takes no other credentials");
    return;
  }
  const int32_t protocol = tracked->speaks_http2 ? APNS_PROTOCOL_HTTP2 : APNS_PROTOCOL_BINARY;
  if (!php_apns_identity_from(&identity, who, protocol)) return;
  if (php_apns_identity_make(&identity)) {
    if (apns_session_use_credentials(tracked->session, identity.credentials, &error) != APNS_OK) {
      php_apns_throw(&error);
    } else {
      php_apns_provider *before = tracked->provider;
      tracked->provider = php_apns_provider_share(identity.provider);
      php_apns_provider_release(before);
    }
  }
  php_apns_identity_end(&identity);
}

/* The only parameter, where null is the session's own timeouts; false, and an exception. */
static bool take_timeout(INTERNAL_FUNCTION_PARAMETERS, bool is_null_unless_given,
                         int32_t *timeout_out) {
  zend_long given = 0;
  bool is_null = is_null_unless_given;
  (void)return_value;
  ZEND_PARSE_PARAMETERS_START(0, 1)
  Z_PARAM_OPTIONAL
  Z_PARAM_LONG_OR_NULL(given, is_null)
  ZEND_PARSE_PARAMETERS_END_EX(return false);
  return php_apns_timeout(is_null ? NULL : &given, 1, timeout_out);
}

static apns_status_t connect_step(apns_session_t *session, int32_t ms, apns_error_t *error) {
  (void)ms;
  return apns_session_connect(session, error);
}

static apns_status_t drain_step(apns_session_t *session, int32_t ms, apns_error_t *error) {
  return apns_session_drain(session, ms, NULL, error);
}

PHP_METHOD(Apns_Session, connect) {
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters_none() == FAILURE) return;
  php_apns_tracked *tracked = php_apns_session_tracked(Z_OBJ_P(ZEND_THIS));
  if (!tracked) return;
  if (php_apns_wait(tracked, connect_step, APNS_TIMEOUT_DEFAULT,
                    php_apns_deadline(tracked, tracked->connect_ms), &error) != APNS_OK) {
    php_apns_throw_after(&error);
  }
}

PHP_METHOD(Apns_Session, flush) {
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters_none() == FAILURE) return;
  php_apns_tracked *tracked = php_apns_session_tracked(Z_OBJ_P(ZEND_THIS));
  if (!tracked) return;
  if (php_apns_flush(tracked, &error) != APNS_OK) {
    php_apns_throw_after(&error);
    return;
  }
  tracked->holds_back = false;
}

PHP_METHOD(Apns_Session, drain) {
  int32_t timeout;
  apns_error_t error = APNS_ERROR_INIT;
  if (!take_timeout(INTERNAL_FUNCTION_PARAM_PASSTHRU, true, &timeout)) return;
  php_apns_tracked *tracked = php_apns_session_tracked(Z_OBJ_P(ZEND_THIS));
  if (!tracked) return;
  apns_status_t status =
      php_apns_wait(tracked, drain_step, timeout, php_apns_deadline(tracked, timeout), &error);
  if (status == APNS_OK) {
    tracked->holds_back = false;
  } else {
    php_apns_throw_after(&error);
  }
}

PHP_METHOD(Apns_Session, cancel) {
  zend_long identifier = 0;
  bool is_all = true;
  size_t count = 0;
  apns_error_t error = APNS_ERROR_INIT;
  ZEND_PARSE_PARAMETERS_START(0, 1)
  Z_PARAM_OPTIONAL
  Z_PARAM_LONG_OR_NULL(identifier, is_all)
  ZEND_PARSE_PARAMETERS_END();
  php_apns_tracked *tracked = php_apns_session_tracked(Z_OBJ_P(ZEND_THIS));
  if (!tracked) return;
  if (!is_all && (identifier < 1 || identifier > UINT32_MAX)) {
    zend_argument_value_error(1, "must be what send() returned, or null");
    return;
  }
  if (!php_apns_is_well(apns_session_cancel(tracked->session, (uint32_t)identifier, &count, &error),
                        &error))
    return;
  RETURN_LONG((zend_long)count);
}

static void next_event(INTERNAL_FUNCTION_PARAMETERS, bool of_others) {
  int32_t timeout;
  if (!take_timeout(INTERNAL_FUNCTION_PARAM_PASSTHRU, false, &timeout)) return;
  php_apns_event_take(Z_OBJ_P(ZEND_THIS), of_others, timeout, return_value);
}

PHP_METHOD(Apns_Session, nextEvent) { next_event(INTERNAL_FUNCTION_PARAM_PASSTHRU, false); }
PHP_METHOD(Apns_Session, nextLeftEvent) { next_event(INTERNAL_FUNCTION_PARAM_PASSTHRU, true); }

static void events(INTERNAL_FUNCTION_PARAMETERS, bool of_others) {
  int32_t timeout;
  if (!take_timeout(INTERNAL_FUNCTION_PARAM_PASSTHRU, false, &timeout)) return;
  if (!php_apns_session_tracked(Z_OBJ_P(ZEND_THIS))) return;
  php_apns_events_new(Z_OBJ_P(ZEND_THIS), of_others, timeout, return_value);
}

PHP_METHOD(Apns_Session, events) { events(INTERNAL_FUNCTION_PARAM_PASSTHRU, false); }
PHP_METHOD(Apns_Session, leftEvents) { events(INTERNAL_FUNCTION_PARAM_PASSTHRU, true); }

PHP_METHOD(Apns_Session, getIterator) {
  if (zend_parse_parameters_none() == FAILURE) return;
  zend_create_internal_iterator_zval(return_value, ZEND_THIS);
}

PHP_METHOD(Apns_Session, stats) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters_none() == FAILURE) return;
  php_apns_tracked *tracked = php_apns_session_tracked(Z_OBJ_P(ZEND_THIS));
  if (!tracked) return;
  if (!php_apns_is_well(apns_session_stats(tracked->session, &stats, &error), &error)) return;
  array_init(return_value);
#define COUNT(name) add_assoc_long(return_value, #name, (zend_long)stats.name)
  COUNT(taken);
  COUNT(accepted);
  COUNT(rejected);
  COUNT(unknown);
  COUNT(unresolved);
  COUNT(resent);
  COUNT(connects);
  COUNT(bytes);
  COUNT(records);
  COUNT(events);
  COUNT(in_flight);
  COUNT(window);
  COUNT(first_unresolved);
  COUNT(cancelled);
  COUNT(expired);
#undef COUNT
  add_assoc_long(return_value, "forgotten", (zend_long)(stats.forgotten + tracked->forgotten));
  /* The outcomes that this object keeps, not the library. */
  add_assoc_long(return_value, "left", (zend_long)tracked->left.count);
}

/* Adds the counts of an array that are not 0, by the name of each place. */
static void add_places(zval *metrics, const char *name, const uint64_t *array, size_t count,
                       const char *(*key)(size_t)) {
  zval places;
  array_init(&places);
  for (size_t place = 0; place < count; place++)
    if (array[place] > 0) add_assoc_long(&places, key(place), (zend_long)array[place]);
  add_assoc_zval(metrics, name, &places);
}

static const char *reason_key(size_t place) {
  return apns_reason_text(place == APNS_METRICS_REASONS - 1 ? APNS_REASON_OTHER
                                                            : (apns_reason_t)place);
}

static const char *reject_key(size_t place) {
  if (place == APNS_METRICS_REJECTS - 1) return "other";
  return apns_reject_text(place == APNS_METRICS_REJECTS - 2 ? APNS_REJECT_PROTOCOL_ERROR
                                                            : (apns_reject_t)place);
}

static const char *failure_key(size_t place) {
  return apns_status_name((apns_status_t)(-(int)place));
}

PHP_METHOD(Apns_Session, metrics) {
  apns_session_metrics_t metrics = APNS_SESSION_METRICS_INIT;
  apns_error_t error = APNS_ERROR_INIT;
  if (zend_parse_parameters_none() == FAILURE) return;
  php_apns_tracked *tracked = php_apns_session_tracked(Z_OBJ_P(ZEND_THIS));
  if (!tracked) return;
  if (!php_apns_is_well(apns_session_metrics(tracked->session, &metrics, &error), &error)) return;
  array_init(return_value);
#define COUNT(name) add_assoc_long(return_value, #name, (zend_long)metrics.name)
  COUNT(responses);
  COUNT(response_us);
  zval times, classes;
  array_init(&times);
  for (size_t place = 0; place < APNS_METRICS_TIMES; place++) {
    const uint64_t bound = apns_metrics_bound_us(place);
    add_index_long(&times, bound > ZEND_LONG_MAX ? ZEND_LONG_MAX : (zend_ulong)bound,
                   (zend_long)metrics.times[place]);
  }
  add_assoc_zval(return_value, "times", &times);
  array_init(&classes);
  for (size_t place = 0; place < APNS_METRICS_CLASSES; place++)
    if (metrics.classes[place] > 0)
      add_index_long(&classes, 100 * place, (zend_long)metrics.classes[place]);
  add_assoc_zval(return_value, "classes", &classes);
  add_places(return_value, "reasons", metrics.reasons, APNS_METRICS_REASONS, reason_key);
  add_places(return_value, "rejected_reasons", metrics.rejected_reasons, APNS_METRICS_REASONS,
             reason_key);
  add_places(return_value, "rejects", metrics.rejects, APNS_METRICS_REJECTS, reject_key);
  COUNT(retries_asked);
  COUNT(resends_in_doubt);
  COUNT(resends_unprocessed);
  COUNT(tls12_full);
  COUNT(tls12_resumed);
  COUNT(tls13_full);
  COUNT(tls13_resumed);
  add_places(return_value, "connect_failures", metrics.connect_failures, APNS_METRICS_FAILURES,
             failure_key);
  COUNT(bytes_written);
  COUNT(bytes_read);
  COUNT(goaways);
  COUNT(pings);
  COUNT(resets);
  COUNT(timeouts);
  COUNT(tokens);
  COUNT(connecting);
  COUNT(open);
  COUNT(draining);
  COUNT(standby);
  COUNT(backoff_ms);
  COUNT(free_streams);
#undef COUNT
}

PHP_METHOD(Apns_Session, gone) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_gone_device_t device = APNS_GONE_DEVICE_INIT;
  apns_status_t status;
  if (zend_parse_parameters_none() == FAILURE) return;
  php_apns_tracked *tracked = php_apns_session_tracked(Z_OBJ_P(ZEND_THIS));
  if (!tracked) return;
  array_init(return_value);
  while ((status = apns_session_next_gone(tracked->session, &device, &error)) == APNS_OK) {
    zval entry;
    php_apns_feedback_entry(&entry, device.token, device.token_length, device.timestamp);
    add_next_index_zval(return_value, &entry);
  }
  if (status != APNS_DONE) php_apns_throw(&error);
}

PHP_METHOD(Apns_Session, request) {
  if (zend_parse_parameters_none() == FAILURE) return;
  php_apns_tracked *tracked = php_apns_session_tracked(Z_OBJ_P(ZEND_THIS));
  if (!tracked || !tracked->request) RETURN_NULL();
  RETURN_STRINGL(ZSTR_VAL(tracked->request->name), ZSTR_LEN(tracked->request->name));
}

static apns_status_t close_step(apns_session_t *session, int32_t ms, apns_error_t *error) {
  return apns_session_close(session, ms, error);
}

PHP_METHOD(Apns_Session, close) {
  int32_t timeout;
  apns_error_t error = APNS_ERROR_INIT;
  if (!take_timeout(INTERNAL_FUNCTION_PARAM_PASSTHRU, true, &timeout)) return;
  php_apns_tracked *tracked = php_apns_session_tracked(Z_OBJ_P(ZEND_THIS));
  if (!tracked) return;
  apns_status_t status =
      php_apns_wait(tracked, close_step, timeout, php_apns_deadline(tracked, timeout), &error);
  /* A handler has thrown, or the last slice ended with the time. */
  if (status == APNS_ERR_TIMEOUT) status = apns_session_close(tracked->session, 0, &error);
  if (status != APNS_OK) {
    php_apns_throw_after(&error);
    return;
  }
  tracked->is_closed = true;
  tracked->holds_back = false;
}
