#include "php_apns.h"

#include "zend_exceptions.h"

typedef struct credentials_object {
  apns_credentials_t *credentials;
  php_apns_fingerprint fingerprint;
  php_apns_provider *provider;
  bool names_certificate;
  zend_object std;
} credentials_object;

PHP_APNS_OBJECT(credentials_object)

/* ---- Options ------------------------------------------------------------- */

typedef struct settings {
  apns_credentials_options_t options;
  zval *passphrase;
  zval *pinned_keys;
  zval *token_provider;
  char cache[4096];       /* php.ini's directory for a shared provider token */
  const char *pins[101];  /* one more than the library takes */
  bool names_certificate; /* the script names one */
} settings;

#define FIELD(name, type) \
  { #name, type, XtOffsetOf(settings, options.name), true, NULL }
#define CASES(name, cases) \
  { #name, PHP_APNS_ENUM, XtOffsetOf(settings, options.name), true, cases }
static const php_apns_option fields[] = {
    FIELD(certificate_file, PHP_APNS_PATH),
    {"certificate", PHP_APNS_BYTES, XtOffsetOf(settings, options.certificate_bytes), true, NULL},
    FIELD(key_file, PHP_APNS_PATH),
    {"key", PHP_APNS_BYTES, XtOffsetOf(settings, options.key_bytes), true, NULL},
    {"passphrase", PHP_APNS_OTHER, XtOffsetOf(settings, passphrase), true, NULL},
    FIELD(ca_file, PHP_APNS_PATH),
    FIELD(ca_directory, PHP_APNS_PATH),
    CASES(tls_min, &php_apns_tls_versions),
    CASES(tls_max, &php_apns_tls_versions),
    FIELD(accept_expired, PHP_APNS_SWITCH),
    FIELD(dangerously_accept_any_peer, PHP_APNS_SWITCH),
    FIELD(token_key_file, PHP_APNS_PATH),
    {"token_key", PHP_APNS_BYTES, XtOffsetOf(settings, options.token_key_bytes), true, NULL},
    FIELD(key_id, PHP_APNS_TEXT),
    FIELD(team_id, PHP_APNS_TEXT),
    FIELD(crl_file, PHP_APNS_PATH),
    FIELD(crl_directory, PHP_APNS_PATH),
    {"pinned_keys", PHP_APNS_OTHER, XtOffsetOf(settings, pinned_keys), true, NULL},
    FIELD(security_level, PHP_APNS_I32),
    {"token_provider", PHP_APNS_OTHER, XtOffsetOf(settings, token_provider), true, NULL},
    {"token_cache", PHP_APNS_PATH, XtOffsetOf(settings, options.token_cache_file), true, NULL},
};
#undef FIELD
#undef CASES
const php_apns_options php_apns_credentials_options = {"Apns\\Credentials", fields,
                                                       sizeof fields / sizeof *fields};

static bool take_passphrase(settings *settings) {
  zval *given = settings->passphrase;
  if (!given || Z_TYPE_P(given) == IS_NULL) {
    settings->passphrase = NULL;
    return true;
  }
  if (Z_TYPE_P(given) == IS_STRING) {
    settings->passphrase = NULL;
    if (strlen(Z_STRVAL_P(given)) != Z_STRLEN_P(given)) {
      zend_value_error("option 'passphrase' must not contain null bytes");
      return false;
    }
    settings->options.passphrase = Z_STRVAL_P(given);
    return true;
  }
  if (zend_is_callable(given, 0, NULL)) {
    settings->options.passphrase = NULL;
    return true;
  }
  zend_type_error("option 'passphrase' must be of type string or callable, %s given",
                  zend_zval_type_name(given));
  return false;
}

/* An array of strings. The library refuses an empty one. */
static bool take_pins(settings *settings) {
  zval *given = settings->pinned_keys, *pin;
  apns_credentials_options_t *options = &settings->options;
  if (!given || Z_TYPE_P(given) == IS_NULL) return true;
  if (Z_TYPE_P(given) != IS_ARRAY) {
    zend_type_error("option 'pinned_keys' must be of type array, %s given",
                    zend_zval_type_name(given));
    return false;
  }
  options->pinned_keys = settings->pins;
  ZEND_HASH_FOREACH_VAL(Z_ARRVAL_P(given), pin) {
    ZVAL_DEREF(pin);
    if (Z_TYPE_P(pin) != IS_STRING) {
      zend_type_error("option 'pinned_keys' must be an array of strings, %s found",
                      zend_zval_type_name(pin));
      return false;
    }
    if (strlen(Z_STRVAL_P(pin)) != Z_STRLEN_P(pin)) {
      zend_value_error("option 'pinned_keys' must not contain null bytes");
      return false;
    }
    if (options->pinned_key_count < sizeof settings->pins / sizeof *settings->pins) {
      settings->pins[options->pinned_key_count++] = Z_STRVAL_P(pin);
    }
  }
  ZEND_HASH_FOREACH_END();
  return true;
}

/* Takes an ID from php.ini if the script gives no ID. */
static bool take_id(const char **id, const char *name, const char *ini) {
  if (*id || !php_apns_configured(ini)) return true;
  if (strlen(ini) != 10 || strspn(ini,
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789") != 10) {
    char shown[PHP_APNS_SHOWN];
    php_apns_throw_argument("apns.%s of php.ini is \"%s\", not 10 letters and digits", name,
                            php_apns_quoted(ini, shown));
    return false;
  }
  *id = ini;
  return true;
}

/* Takes php.ini's signing key if `is_wanted`, and the missing IDs of the key in use. A key ID
   belongs to one key, a team ID to many. */
static bool take_token_key(apns_credentials_options_t *options, bool is_wanted) {
  const char *ini = php_apns_configured(APNS_G(token_key_file));
  bool is_named = options->token_key_file || options->token_key_bytes;
  if (is_wanted && !is_named) options->token_key_file = ini;
  if (!options->token_key_file && !options->token_key_bytes) return true;
  if ((!is_named || !ini) && !take_id(&options->key_id, "key_id", APNS_G(key_id))) return false;
  if (!take_id(&options->team_id, "team_id", APNS_G(team_id))) return false;
  if (!is_named && (!options->key_id || !options->team_id)) {
    php_apns_throw_argument("apns.token_key_file of php.ini needs apns.%s",
                            options->key_id ? "team_id" : "key_id");
    return false;
  }
  return true;
}

/* Takes php.ini's directory, or its "off", if the script names no file for its key's tokens. */
static void take_cache(settings *settings) {
  apns_credentials_options_t *options = &settings->options;
  const char *ini = php_apns_configured(APNS_G(token_cache));
  if (!ini || options->token_cache_file || !options->key_id) return;
  snprintf(settings->cache, sizeof settings->cache, strcmp(ini, "off") ? "%s/" : "%s", ini);
  options->token_cache_file = settings->cache;
}

/* php.ini first, then the script's options over it. */
static bool read_settings(settings *settings, HashTable *given, HashTable *named, zval *passphrase,
                          zval *key, zval *token_key, int32_t protocol) {
  const apns_credentials_options_t nothing = APNS_CREDENTIALS_OPTIONS_INIT;
  settings->options = nothing;
  settings->passphrase = NULL;
  settings->pinned_keys = NULL;
  settings->token_provider = NULL;
  if (!php_apns_read_options(&php_apns_credentials_options, given, named, settings) ||
      !php_apns_read_option(&php_apns_credentials_options, "passphrase", passphrase, settings) ||
      !php_apns_read_option(&php_apns_credentials_options, "key", key, settings) ||
      !php_apns_read_option(&php_apns_credentials_options, "token_key", token_key, settings)) {
    return false;
  }
  apns_credentials_options_t *options = &settings->options;
  settings->names_certificate = options->certificate_file || options->certificate_bytes;
  if (!php_apns_provider_is_one(settings->token_provider)) return false;
  bool has_provider = settings->token_provider && Z_TYPE_P(settings->token_provider) != IS_NULL;
  bool names_none = !settings->names_certificate && !options->token_key_file &&
                    !options->token_key_bytes && !has_provider;
  if (!take_token_key(options, names_none && protocol != APNS_PROTOCOL_BINARY)) return false;
  /* The certificate, its key and its passphrase belong together; who shows tokens shows none
     that he does not name. */
  if (names_none && (!options->token_key_file || protocol == PHP_APNS_ANY_PROTOCOL)) {
    options->certificate_file = php_apns_configured(APNS_G(certificate_file));
    if (!options->key_file && !options->key_bytes) {
      options->key_file = php_apns_configured(APNS_G(key_file));
    }
    options->passphrase = php_apns_configured(APNS_G(passphrase));
  }
  if (!options->ca_file && !options->ca_directory) {
    options->ca_file = php_apns_configured(APNS_G(ca_file));
    options->ca_directory = php_apns_configured(APNS_G(ca_directory));
  }
  take_cache(settings);
  return take_pins(settings) && take_passphrase(settings);
}

/* ---- Making --------------------------------------------------------------- */

/* A callable of the script that returns a passphrase. */
typedef struct question {
  zval callable;
  bool is_cut_short; /* by a fatal error, whose jump must not cross the library */
} question;

static int ask(const char *file, char *buffer, size_t capacity, void *context) {
  question *asked = (question *)context;
  zval argument, answer;
  volatile int length = -1;
  if (EG(exception) || asked->is_cut_short) return -1;
  if (file) {
    ZVAL_STRING(&argument, file);
  } else {
    ZVAL_NULL(&argument);
  }
  ZVAL_UNDEF(&answer);
  zend_try {
    if (call_user_function(NULL, NULL, &asked->callable, &answer, 1, &argument) == SUCCESS &&
        Z_TYPE(answer) == IS_STRING && Z_STRLEN(answer) <= capacity &&
        Z_STRLEN(answer) <= INT_MAX) {
      memcpy(buffer, Z_STRVAL(answer), Z_STRLEN(answer));
      length = (int)Z_STRLEN(answer);
    }
    zval_ptr_dtor(&answer);
    zval_ptr_dtor(&argument);
  }
  zend_catch { asked->is_cut_short = true; }
  zend_end_try();
  return length;
}

/* Adds to the error that its path comes from php.ini. */
static void name_setting(const settings *settings, apns_error_t *error) {
  const char *path = settings->options.token_key_file;
  char message[sizeof error->message], shown[PHP_APNS_SHOWN];
  if (!path || path != APNS_G(token_key_file) ||
      !strstr(error->message, php_apns_quoted(path, shown)))
    return;
  snprintf(message, sizeof message, "apns.token_key_file of php.ini: %s", error->message);
  memcpy(error->message, message, sizeof message);
}

static apns_credentials_t *make(settings *settings, php_apns_provider **provider_out) {
  apns_credentials_t *credentials = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  question asked = {.is_cut_short = false};
  ZVAL_UNDEF(&asked.callable);
  if (settings->passphrase) {
    ZVAL_COPY(&asked.callable, settings->passphrase);
    settings->options.passphrase_callback = ask;
    settings->options.passphrase_context = &asked;
  }
  *provider_out = php_apns_provider_new(settings->token_provider);
  if (*provider_out) {
    settings->options.token_callback = php_apns_provider_ask;
    settings->options.token_context = *provider_out;
  }
  apns_status_t status = apns_credentials_new(&settings->options, &credentials, &error);
  if (status != APNS_OK || EG(exception) || asked.is_cut_short) {
    php_apns_provider_release(*provider_out);
    *provider_out = NULL;
  }
  if (asked.is_cut_short) {
    apns_credentials_free(credentials);
    zend_bailout();
  }
  zval_ptr_dtor(&asked.callable);
  if (EG(exception)) {
    /* The callable's exception explains more than a missing passphrase. */
    apns_credentials_free(credentials);
    return NULL;
  }
  if (status != APNS_OK) {
    name_setting(settings, &error);
    php_apns_throw(&error);
    return NULL;
  }
  return credentials;
}

static void take_fingerprint(const settings *settings, php_apns_fingerprint *fingerprint) {
  struct {
    const char *passphrase;
  } secret = {settings->options.passphrase};
  static const php_apns_option passphrase = {"passphrase", PHP_APNS_TEXT, 0, true, NULL};
  memset(fingerprint, 0, sizeof *fingerprint);
  php_apns_fingerprint_options(fingerprint, fields, sizeof fields / sizeof *fields, settings);
  php_apns_fingerprint_options(fingerprint, &passphrase, 1, &secret);
  static const php_apns_option pin = {"pinned_keys", PHP_APNS_TEXT, 0, true, NULL};
  for (size_t index = 0; index < settings->options.pinned_key_count; index++) {
    php_apns_fingerprint_options(fingerprint, &pin, 1, settings->pins + index);
  }
}

bool php_apns_identity_is_one(zval *given, uint32_t argument) {
  if (!given || Z_TYPE_P(given) == IS_NULL || Z_TYPE_P(given) == IS_ARRAY) return true;
  if (Z_TYPE_P(given) == IS_OBJECT && Z_OBJCE_P(given) == php_apns_class.credentials) return true;
  zend_argument_type_error(argument, "must be of type Apns\\Credentials|array|null, %s given",
                           zend_zval_type_name(given));
  return false;
}

bool php_apns_identity_from(php_apns_identity *identity, zval *given, int32_t protocol) {
  settings settings;
  memset(identity, 0, sizeof *identity);
  identity->protocol = protocol;
  if (given && Z_TYPE_P(given) == IS_OBJECT) {
    credentials_object *own = of(Z_OBJ_P(given));
    if (!own->credentials) {
      php_apns_throw_unconstructed(&own->std);
      return false;
    }
    identity->credentials = own->credentials;
    identity->provider = own->provider;
    identity->fingerprint = own->fingerprint;
    identity->names_certificate = own->names_certificate;
    return true;
  }
  if (given && Z_TYPE_P(given) == IS_ARRAY) identity->options = Z_ARRVAL_P(given);
  if (!read_settings(&settings, identity->options, NULL, NULL, NULL, NULL, identity->protocol))
    return false;
  take_fingerprint(&settings, &identity->fingerprint);
  identity->names_certificate = settings.names_certificate;
  return true;
}

bool php_apns_identity_make(php_apns_identity *identity) {
  settings settings;
  if (identity->credentials) return true;
  if (!read_settings(&settings, identity->options, NULL, NULL, NULL, NULL, identity->protocol))
    return false;
  identity->credentials = make(&settings, &identity->provider);
  identity->is_own = true;
  return identity->credentials != NULL;
}

void php_apns_identity_end(php_apns_identity *identity) {
  if (identity->is_own) {
    apns_credentials_free(identity->credentials);
    php_apns_provider_release(identity->provider);
  }
  identity->credentials = NULL;
  identity->provider = NULL;
}

/* ---- The class ------------------------------------------------------------- */

static void destroy(zend_object *object) {
  apns_credentials_free(of(object)->credentials);
  php_apns_provider_release(of(object)->provider);
  zend_object_std_dtor(object);
}

void php_apns_credentials_register(void) {
  php_apns_class.credentials->create_object = create;
  php_apns_handlers_init(&handlers, XtOffsetOf(credentials_object, std), destroy);
}

static void construct(INTERNAL_FUNCTION_PARAMETERS, HashTable *named) {
  (void)return_value;
  HashTable *given = NULL;
  zval *passphrase = NULL, *key = NULL, *token_key = NULL;
  settings settings;
  credentials_object *own = of(Z_OBJ_P(ZEND_THIS));
  if (zend_parse_parameters(ZEND_NUM_ARGS(), "|hzzz", &given, &passphrase, &key, &token_key) ==
      FAILURE) {
    return;
  }
  if (own->credentials) {
    zend_throw_error(NULL, "Apns\\Credentials is already constructed");
    return;
  }
  if (!read_settings(&settings, given, named, passphrase, key, token_key, PHP_APNS_ANY_PROTOCOL))
    return;
  php_apns_fingerprint fingerprint;
  take_fingerprint(&settings, &fingerprint);
  php_apns_provider *provider;
  apns_credentials_t *credentials = make(&settings, &provider);
  /* The passphrase's callable may already have constructed it. */
  if (own->credentials) {
    apns_credentials_free(credentials);
    php_apns_provider_release(provider);
    return;
  }
  own->credentials = credentials;
  own->provider = provider;
  own->fingerprint = fingerprint;
  own->names_certificate = settings.names_certificate;
}

PHP_APNS_METHOD(Apns_Credentials, __construct, construct)

static void add_text(zval *array, const char *key, const char *text) {
  if (text) {
    add_assoc_string(array, key, text);
  } else {
    add_assoc_null(array, key);
  }
}

PHP_METHOD(Apns_Credentials, describe) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_description_t said = APNS_CREDENTIALS_DESCRIPTION_INIT;
  credentials_object *own = of(Z_OBJ_P(ZEND_THIS));
  if (zend_parse_parameters_none() == FAILURE) return;
  if (!own->credentials) {
    php_apns_throw_unconstructed(&own->std);
    return;
  }
  if (!php_apns_is_well(apns_credentials_describe(own->credentials, &said, &error), &error)) return;
  if (!said.subject && !said.key_id) RETURN_NULL();
  zval topics, environments;
  array_init(return_value);
  array_init(&environments);
  for (const php_apns_case *one = php_apns_environments.cases; one->word; one++) {
    zval environment;
    if (!(said.environments & 1u << one->number)) continue;
    php_apns_case_of(&php_apns_environments, one->number, &environment);
    add_next_index_zval(&environments, &environment);
  }
  array_init(&topics);
  for (size_t index = 0; index < said.topic_count; index++) {
    add_next_index_string(&topics, said.topics[index]);
  }
  add_text(return_value, "subject", said.subject);
  add_assoc_zval(return_value, "topics", &topics);
  add_assoc_long(return_value, "not_before", said.not_before);
  add_assoc_long(return_value, "not_after", said.not_after);
  add_assoc_zval(return_value, "environments", &environments);
  add_assoc_long(return_value, "chain_length", said.chain_length);
  add_text(return_value, "key_id", said.key_id);
  add_text(return_value, "team_id", said.team_id);
}
