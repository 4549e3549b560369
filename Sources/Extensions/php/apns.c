#include "php_apns.h"

#include "ext/standard/info.h"
#include "main/fopen_wrappers.h"
#include "main/php_ini.h"

ZEND_DECLARE_MODULE_GLOBALS(apns)

#ifdef COMPILE_DL_APNS
#ifdef ZTS
ZEND_TSRMLS_CACHE_DEFINE()
#endif
ZEND_GET_MODULE(apns)
#endif

/* ---- php.ini ------------------------------------------------------------- */

/* PHP itself would use the default without a word. */
static ZEND_INI_MH(update_number) {
  zend_long number = 0;
  char shown[PHP_APNS_SHOWN];
  const zend_long most = (zend_long)(intptr_t)mh_arg3;
  /* A blank value in php.ini leaves the default. */
  if (stage == PHP_INI_STAGE_STARTUP && ZSTR_LEN(new_value) == 0) return FAILURE;
  if (!php_apns_number_of(new_value, &number) || number < 0 || number > most) {
    zend_error(E_WARNING, "%s must be a whole number between 0 and " ZEND_LONG_FMT ", '%s' given",
               ZSTR_VAL(entry->name), most, php_apns_shown(new_value, shown));
    return FAILURE;
  }
  *(zend_long *)ZEND_INI_GET_ADDR() = number;
  return SUCCESS;
}

static ZEND_INI_MH(update_checks) {
  int32_t checks = 0;
  char shown[PHP_APNS_SHOWN];
  (void)mh_arg3;
  if (!php_apns_checks_of(new_value, &checks)) {
    zend_error(E_WARNING, "%s must be 'all', 'payload', 'expiry' or 'none', '%s' given",
               ZSTR_VAL(entry->name), php_apns_shown(new_value, shown));
    return FAILURE;
  }
  *(zend_long *)ZEND_INI_GET_ADDR() = (zend_long)checks;
  return SUCCESS;
}

/* Refuses a text with a NUL, and a path that open_basedir forbids to scripts. */
static ZEND_INI_MH(update_text) {
  if (new_value && strlen(ZSTR_VAL(new_value)) != ZSTR_LEN(new_value)) return FAILURE;
  if (mh_arg3 && new_value && ZSTR_LEN(new_value) > 0 &&
      (stage == PHP_INI_STAGE_RUNTIME || stage == PHP_INI_STAGE_HTACCESS) &&
      !php_apns_is_allowed(ZSTR_VAL(new_value))) {
    return FAILURE;
  }
  return OnUpdateString(entry, new_value, mh_arg1, mh_arg2, mh_arg3, stage);
}

#define SETTING(field, is_path)                                    \
  ZEND_INI_ENTRY3_EX("apns." #field, "", PHP_INI_ALL, update_text, \
                     (void *)XtOffsetOf(zend_apns_globals, field), GLOBALS_BASE, is_path, NULL)
#define TEXT(field) SETTING(field, NULL)
#define PATH(field) SETTING(field, (void *)"path")
#define NUMBER(field, value, most)                                                               \
  ZEND_INI_ENTRY3_EX("apns." #field, value, PHP_INI_ALL, update_number,                          \
                     (void *)XtOffsetOf(zend_apns_globals, field), GLOBALS_BASE, (void *)(most), \
                     NULL)
#ifdef ZTS
#define GLOBALS_BASE (void *)&apns_globals_id
#else
#define GLOBALS_BASE (void *)&apns_globals
#endif

/* clang-format off */
PHP_INI_BEGIN()
  TEXT(host)
  NUMBER(port, "0", 65535)
  TEXT(server_name)
  TEXT(feedback_host)
  NUMBER(feedback_port, "0", 65535)
  PATH(certificate_file)
  PATH(key_file)
  /* Not for ini_set(), since any script can read what that sets. */
  ZEND_INI_ENTRY_EX("apns.passphrase", "", PHP_INI_SYSTEM | PHP_INI_PERDIR,
                    php_apns_update_passphrase, php_apns_show_passphrase)
  PATH(ca_file)
  PATH(ca_directory)
  TEXT(protocol)
  TEXT(topic)
  PATH(token_key_file)
  TEXT(key_id)
  TEXT(team_id)
  PATH(token_cache)
  NUMBER(connect_timeout_ms, "0", 0x7fffffff)
  NUMBER(write_timeout_ms, "0", 0x7fffffff)
  NUMBER(close_timeout_ms, "5000", 0x7fffffff)
  ZEND_INI_ENTRY3_EX("apns.checks", "all", PHP_INI_ALL, update_checks,
                     (void *)XtOffsetOf(zend_apns_globals, checks), GLOBALS_BASE, NULL, NULL)
PHP_INI_END()
/* clang-format on */

#define PREFIX "apns."

static const char *setting_at(const void *names, size_t index) {
  const zend_ini_entry_def *entries = names;
  return entries[index].name ? entries[index].name + strlen(PREFIX) : NULL;
}

/* PHP takes any name, so a typing error would be a setting without effect. */
static void tell_unknown_settings(void) {
  char shown[PHP_APNS_SHOWN];
  zend_string *name;
  ZEND_HASH_FOREACH_STR_KEY(php_ini_get_configuration_hash(), name) {
    if (!name || strncmp(ZSTR_VAL(name), PREFIX, strlen(PREFIX)) != 0) continue;
    if (zend_hash_exists(EG(ini_directives), name)) continue;
    const char *nearest =
        php_apns_nearest(ZSTR_VAL(name) + strlen(PREFIX), setting_at, ini_entries);
    zend_error(E_WARNING, "unknown setting '%s' in php.ini%s%s%s", php_apns_shown(name, shown),
               nearest ? "; did you mean '" PREFIX : "", nearest ? nearest : "",
               nearest ? "'?" : "");
  }
  ZEND_HASH_FOREACH_END();
}

/* ---- The module ----------------------------------------------------------- */

static PHP_MINIT_FUNCTION(apns) {
  static const php_apns_options *const options[] = {
      &php_apns_credentials_options, &php_apns_session_options, &php_apns_persistent_options,
      &php_apns_feedback_options,    &php_apns_payload_options, &php_apns_channels_options};
  (void)type;
  php_apns_know_options(options, sizeof options / sizeof *options);
  REGISTER_INI_ENTRIES();
  tell_unknown_settings();
  php_apns_hide_passphrase();
  php_apns_hide_configured_passphrase();
  php_apns_classes_register();
  php_apns_credentials_register();
  php_apns_payload_register();
  php_apns_strings_register();
  php_apns_event_register();
  php_apns_session_register();
  php_apns_feedback_register();
  php_apns_channels_register();
  return SUCCESS;
}

static PHP_MSHUTDOWN_FUNCTION(apns) {
  (void)type;
  php_apns_persistent_end();
  UNREGISTER_INI_ENTRIES();
  php_apns_forget_passphrase();
  return SUCCESS;
}

static PHP_RINIT_FUNCTION(apns) {
  (void)type;
  (void)module_number;
#if defined(ZTS) && defined(COMPILE_DL_APNS)
  ZEND_TSRMLS_CACHE_UPDATE();
#endif
  /* The settings of a php-fpm pool and of a directory come after php.ini, before a request. */
  php_apns_hide_passphrase();
  APNS_G(requests)++;
  return SUCCESS;
}

static PHP_RSHUTDOWN_FUNCTION(apns) {
  (void)type;
  (void)module_number;
  php_apns_persistent_end_request();
  return SUCCESS;
}

static PHP_MINFO_FUNCTION(apns) {
  char number[32];
  php_info_print_table_start();
  php_info_print_table_row(2, "apns support", "enabled");
  php_info_print_table_row(2, "Extension version", PHP_APNS_VERSION);
  php_info_print_table_row(2, "libapns version", apns_version());
  snprintf(number, sizeof number, "%u",
           APNS_G(persistent) ? zend_hash_num_elements(APNS_G(persistent)) : 0);
  php_info_print_table_row(2, "Persistent sessions of this process", number);
  php_info_print_table_end();
  DISPLAY_INI_ENTRIES();
  (void)zend_module;
}

static PHP_GINIT_FUNCTION(apns) {
#if defined(ZTS) && defined(COMPILE_DL_APNS)
  ZEND_TSRMLS_CACHE_UPDATE();
#endif
  memset(apns_globals, 0, sizeof *apns_globals);
}

#ifdef ZTS
/* Sessions belong to a thread, and end with it. */
static PHP_GSHUTDOWN_FUNCTION(apns) {
  (void)apns_globals;
  php_apns_persistent_end();
}
#define END_OF_GLOBALS PHP_GSHUTDOWN(apns)
#else
#define END_OF_GLOBALS NULL
#endif

static const zend_module_dep dependencies[] = {ZEND_MOD_REQUIRED("hash") ZEND_MOD_REQUIRED("json")
                                                   ZEND_MOD_REQUIRED("spl") ZEND_MOD_END};

zend_module_entry apns_module_entry = {STANDARD_MODULE_HEADER_EX,
                                       NULL,
                                       dependencies,
                                       "apns",
                                       NULL,
                                       PHP_MINIT(apns),
                                       PHP_MSHUTDOWN(apns),
                                       PHP_RINIT(apns),
                                       PHP_RSHUTDOWN(apns),
                                       PHP_MINFO(apns),
                                       PHP_APNS_VERSION,
                                       PHP_MODULE_GLOBALS(apns),
                                       PHP_GINIT(apns),
                                       END_OF_GLOBALS,
                                       NULL,
                                       STANDARD_MODULE_PROPERTIES_EX};
