/* php.ini's passphrase, hidden from scripts: for ini_get(), ini_get_all() and get_cfg_var() it is
   empty. */
#include "php_apns.h"

#include "main/php_ini.h"

#define NAME "apns.passphrase"

/* The passphrase for the whole process, from php.ini, -d or the php-fpm pool. */
static char *configured;

static char *copy_of(const zend_string *text) {
  return text && ZSTR_LEN(text) > 0 ? pestrndup(ZSTR_VAL(text), ZSTR_LEN(text), 1) : NULL;
}

/* ZEND_SECURE_ZERO is explicit_bzero, which needs glibc 2.25. */
static void drop(char *text) {
  if (text) {
    memset(text, 0, strlen(text));
    __asm__ __volatile__("" : : "r"(text) : "memory");
  }
  free(text);
}

ZEND_INI_MH(php_apns_update_passphrase) {
  (void)mh_arg1, (void)mh_arg2, (void)mh_arg3;
  if (new_value && strlen(ZSTR_VAL(new_value)) != ZSTR_LEN(new_value)) return FAILURE;
  drop(APNS_G(own_passphrase));
  APNS_G(own_passphrase) = NULL;
  if (entry->modified && stage != PHP_INI_STAGE_DEACTIVATE && stage != PHP_INI_STAGE_SHUTDOWN) {
    /* From the settings of a directory or a virtual host, for one request. */
    APNS_G(passphrase) = APNS_G(own_passphrase) = copy_of(new_value);
    return SUCCESS;
  }
  /* The end of a request restores the entry's empty text, and a new thread starts with it. */
  if (new_value && ZSTR_LEN(new_value) > 0) {
    drop(configured);
    configured = copy_of(new_value);
  }
  APNS_G(passphrase) = configured;
  return SUCCESS;
}

/* phpinfo() must not show a passphrase. */
ZEND_INI_DISP(php_apns_show_passphrase) {
  const char *text =
      type == ZEND_INI_DISPLAY_ORIG && ini_entry->modified ? configured : APNS_G(passphrase);
  if (text) {
    ZEND_PUTS("set, not shown");
  } else {
    ZEND_PUTS("no value");
  }
}

static void empty(zend_string **text) {
  if (!*text || ZSTR_LEN(*text) == 0) return;
  zend_string_release(*text);
  *text = ZSTR_EMPTY_ALLOC();
}

void php_apns_hide_passphrase(void) {
  zend_ini_entry *entry = zend_hash_str_find_ptr(EG(ini_directives), NAME, sizeof NAME - 1);
  if (!entry) return;
  /* An unmodified entry has no other value; a modified one may have the same. */
  if (entry->orig_value == entry->value) entry->orig_value = NULL;
  bool was_same = entry->modified && !entry->orig_value;
  empty(&entry->value);
  empty(&entry->orig_value);
  if (was_same) entry->orig_value = entry->value;
}

void php_apns_hide_configured_passphrase(void) {
  zval *said = cfg_get_entry(NAME, sizeof NAME - 1);
  if (!said || Z_TYPE_P(said) != IS_STRING) return;
  zend_string *text = Z_STR_P(said);
  empty(&text);
  ZVAL_STR(said, text);
}

void php_apns_forget_passphrase(void) {
  drop(configured);
  configured = NULL;
}
