/* Sessions that a process keeps from request to request. */
#include "php_apns.h"

#include <unistd.h>

/* ---- Finding and making -------------------------------------------------------- */

static apns_session_t *make(php_apns_identity *identity,
                            const php_apns_session_settings *settings) {
  apns_session_t *session = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  if (!php_apns_identity_make(identity)) return NULL;
  if (identity->provider) {
    php_apns_throw_argument(
        "a persistent session takes no token_provider, which ends with the request");
    return NULL;
  }
  if (apns_session_new(&settings->options, identity->credentials, &session, &error) != APNS_OK) {
    php_apns_throw_refused(settings->options.topic, &error);
    return NULL;
  }
  return session;
}

static php_apns_tracked *find(const zend_string *name) {
  return APNS_G(persistent)
             ? zend_hash_str_find_ptr(APNS_G(persistent), ZSTR_VAL(name), ZSTR_LEN(name))
             : NULL;
}

static php_apns_tracked *keep(const zend_string *name, apns_session_t *session,
                              const php_apns_session_settings *settings) {
  php_apns_tracked *tracked = php_apns_tracked_new(session, settings);
  tracked->is_persistent = true;
  tracked->name = zend_string_init(ZSTR_VAL(name), ZSTR_LEN(name), true);
  if (!APNS_G(persistent)) {
    APNS_G(persistent) = pemalloc(sizeof(HashTable), true);
    zend_hash_init(APNS_G(persistent), 4, NULL, NULL, true);
  }
  zend_hash_add_ptr(APNS_G(persistent), tracked->name, tracked);
  return tracked;
}

/* Removes a closed session and keeps its outcomes. */
static bool renew(php_apns_tracked *tracked, php_apns_identity *identity,
                  const php_apns_session_settings *settings) {
  apns_session_t *session = make(identity, settings);
  if (!session) return false;
  php_apns_tracked_collect(tracked);
  apns_session_free(tracked->session);
  tracked->session = session;
  tracked->is_closed = false;
  php_apns_tracked_sweep(tracked);
  return true;
}

static void name_request(php_apns_tracked *tracked, const zval *name) {
  if (name) {
    if (tracked->request && zend_string_equal_content(tracked->request->name, Z_STR_P(name))) {
      return;
    }
    php_apns_tracked_leave_request(tracked);
    tracked->request = php_apns_request_new(Z_STRVAL_P(name), Z_STRLEN_P(name));
  } else if (!tracked->request) {
    char text[48];
    int length = snprintf(text, sizeof text, "%ld.%llu", (long)getpid(),
                          (unsigned long long)APNS_G(requests));
    tracked->request = php_apns_request_new(text, (size_t)length);
  }
}

php_apns_tracked *php_apns_persistent_session(zend_string *name, php_apns_identity *identity,
                                              const php_apns_session_settings *settings,
                                              const php_apns_fingerprint *fingerprint) {
  php_apns_tracked *tracked = find(name);
  if (tracked && php_apns_tracked_is_inherited(tracked)) {
    /* The session and its outcomes belong to the parent. */
    zend_hash_str_del(APNS_G(persistent), ZSTR_VAL(name), ZSTR_LEN(name));
    php_apns_tracked_release(tracked);
    tracked = NULL;
  }
  char shown[PHP_APNS_SHOWN];
  if (tracked && memcmp(&tracked->fingerprint, fingerprint, sizeof *fingerprint) != 0) {
    php_apns_throw_argument("the persistent session \"%s\" was made with other options",
                            php_apns_quoted(ZSTR_VAL(name), shown));
    return NULL;
  }
  if (!tracked) {
    apns_session_t *session = make(identity, settings);
    if (!session) return NULL;
    /* The callable for the passphrase may already have made the session. */
    tracked = find(name);
    if (tracked) {
      apns_session_free(session);
      php_apns_throw_argument("the persistent session \"%s\" was made in the meantime",
                              php_apns_quoted(ZSTR_VAL(name), shown));
      return NULL;
    }
    tracked = keep(name, session, settings);
    tracked->fingerprint = *fingerprint;
  } else if (tracked->is_closed && !renew(tracked, identity, settings)) {
    return NULL;
  }
  name_request(tracked, settings->request);
  tracked->references++;
  return tracked;
}

/* ---- Ends ------------------------------------------------------------------------ */

void php_apns_persistent_end_request(void) {
  php_apns_tracked *tracked;
  if (!APNS_G(persistent)) return;
  ZEND_HASH_FOREACH_PTR(APNS_G(persistent), tracked) {
    if (php_apns_tracked_is_inherited(tracked)) continue;
    if (tracked->holds_back) {
      /* A failure loses nothing: the next request meets it again. */
      tracked->holds_back = php_apns_flush(tracked, NULL) != APNS_OK;
    }
    php_apns_tracked_leave_request(tracked);
  }
  ZEND_HASH_FOREACH_END();
}

static void log_note(const php_apns_tracked *tracked, const php_apns_record *record) {
  if (record->kind == APNS_EVENT_ACCEPTED) return;
  char *text = NULL, token[2 * APNS_TOKEN_MAX + 1] = "";
  apns_token_to_hex(record->token, record->token_length, token, sizeof token, NULL, NULL);
  const char *kind = php_apns_word_of(&php_apns_event_kinds, record->kind);
  spprintf(&text, 0,
           "apns: session \"%s\" ends, and nobody took the outcome of notification %u of request "
           "\"%s\" to %s: %s%s",
           ZSTR_VAL(tracked->name), record->identifier, ZSTR_VAL(record->request->name), token,
           record->kind == APNS_EVENT_REJECTED ? "rejected, "
           : kind                              ? kind
                                               : "unknown",
           record->kind != APNS_EVENT_REJECTED ? ""
           : record->response                  ? record->response->reason_text
                                               : apns_reject_text((apns_reject_t)record->reject));
  php_log_err(text);
  efree(text);
}

void php_apns_persistent_end(void) {
  php_apns_tracked *tracked;
  HashTable *table = APNS_G(persistent);
  if (!table) return;
  APNS_G(persistent) = NULL;
  ZEND_HASH_FOREACH_PTR(table, tracked) {
    if (!php_apns_tracked_is_inherited(tracked)) {
      php_apns_tracked_finish(tracked);
      php_apns_tracked_leave_request(tracked);
      php_apns_tracked_collect(tracked);
      for (php_apns_record *record = tracked->left.first; record; record = record->after)
        if (!tracked->yields || record->kind != APNS_EVENT_ACCEPTED) log_note(tracked, record);
    }
    php_apns_tracked_release(tracked);
  }
  ZEND_HASH_FOREACH_END();
  zend_hash_destroy(table);
  pefree(table, true);
}
