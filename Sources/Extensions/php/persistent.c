/* Sessions that a process keeps from request to request. */
#include "php_apns.h"

#include <unistd.h>

/* ---- Finding and making -------------------------------------------------------- */

static apns_session_t *make(php_apns_identity *identity,
                            const php_apns_session_settings *settings) {
  apns_session_t *session = NULL;
  apns_error_t error = APNS_ERROR_INIT;
  if (!php_apns_identity_make(identity)) return NULL;
  if (apns_session_new(&settings->options, identity->credentials, &session, &error) != APNS_OK) {
    php_apns_session_refused(&settings->options, &error);
    return NULL;
  }
  return session;
}

static php_apns_line *find(const zend_string *name) {
  return APNS_G(persistent)
             ? zend_hash_str_find_ptr(APNS_G(persistent), ZSTR_VAL(name), ZSTR_LEN(name))
             : NULL;
}

static php_apns_line *keep(const zend_string *name, apns_session_t *session,
                           const apns_session_options_t *options) {
  php_apns_line *line = php_apns_line_new(session, options);
  line->is_persistent = true;
  line->name = zend_string_init(ZSTR_VAL(name), ZSTR_LEN(name), true);
  if (!APNS_G(persistent)) {
    APNS_G(persistent) = pemalloc(sizeof(HashTable), true);
    zend_hash_init(APNS_G(persistent), 4, NULL, NULL, true);
  }
  zend_hash_add_ptr(APNS_G(persistent), line->name, line);
  return line;
}

/* A session that was closed goes; its outcomes stay. */
static bool renew(php_apns_line *line, php_apns_identity *identity,
                  const php_apns_session_settings *settings) {
  apns_session_t *session = make(identity, settings);
  if (!session) return false;
  php_apns_line_collect(line);
  apns_session_free(line->session);
  line->session = session;
  line->is_closed = false;
  /* What has no outcome by now was accepted. */
  php_apns_notes_free(&line->sent);
  return true;
}

static void name_request(php_apns_line *line, const zval *name) {
  if (name) {
    if (line->request && zend_string_equal_content(line->request->name, Z_STR_P(name))) {
      return;
    }
    php_apns_line_leave_request(line);
    line->request = php_apns_request_new(Z_STRVAL_P(name), Z_STRLEN_P(name));
  } else if (!line->request) {
    char text[48];
    int length = snprintf(text, sizeof text, "%ld.%llu", (long)getpid(),
                          (unsigned long long)APNS_G(requests));
    line->request = php_apns_request_new(text, (size_t)length);
  }
}

php_apns_line *php_apns_persistent_line(zend_string *name, php_apns_identity *identity,
                                        const php_apns_session_settings *settings,
                                        const php_apns_fingerprint *fingerprint) {
  php_apns_line *line = find(name);
  if (line && php_apns_line_is_foreign(line)) {
    /* The parent's, and so are its outcomes. */
    zend_hash_str_del(APNS_G(persistent), ZSTR_VAL(name), ZSTR_LEN(name));
    php_apns_line_release(line);
    line = NULL;
  }
  if (line && memcmp(&line->fingerprint, fingerprint, sizeof *fingerprint) != 0) {
    php_apns_throw_argument("the persistent session \"%s\" was made with other options",
                            ZSTR_VAL(name));
    return NULL;
  }
  if (!line) {
    apns_session_t *session = make(identity, settings);
    if (!session) return NULL;
    /* A script that was asked for the passphrase may have made it meanwhile. */
    line = find(name);
    if (line) {
      apns_session_free(session);
      php_apns_throw_argument("the persistent session \"%s\" was made meanwhile", ZSTR_VAL(name));
      return NULL;
    }
    line = keep(name, session, &settings->options);
    line->fingerprint = *fingerprint;
  } else if (line->is_closed && !renew(line, identity, settings)) {
    return NULL;
  }
  name_request(line, settings->request);
  line->references++;
  return line;
}

/* ---- Ends ------------------------------------------------------------------------ */

void php_apns_persistent_end_request(void) {
  php_apns_line *line;
  if (!APNS_G(persistent)) return;
  ZEND_HASH_FOREACH_PTR(APNS_G(persistent), line) {
    if (php_apns_line_is_foreign(line)) continue;
    if (line->holds_back) {
      /* A failure loses nothing: the next request meets it again. */
      line->holds_back = apns_session_flush(line->session, NULL) != APNS_OK;
    }
    php_apns_line_leave_request(line);
  }
  ZEND_HASH_FOREACH_END();
}

static void log_note(const php_apns_line *line, const php_apns_note *note) {
  if (note->kind == APNS_EVENT_ACCEPTED) return;
  char *text = NULL, token[2 * APNS_TOKEN_MAX + 1] = "";
  apns_token_to_hex(note->token, note->token_length, token, sizeof token, NULL, NULL);
  spprintf(&text, 0,
           "apns: session \"%s\" ends, and nobody took the outcome of notification %u of request "
           "\"%s\" to %s: %s%s",
           ZSTR_VAL(line->name), note->identifier, ZSTR_VAL(note->request->name), token,
           note->kind == APNS_EVENT_REJECTED ? "rejected, " : "unknown",
           note->kind != APNS_EVENT_REJECTED ? ""
           : note->answer                    ? note->answer->reason_text
                                             : apns_reject_text((apns_reject_t)note->reject));
  php_log_err(text);
  efree(text);
}

void php_apns_persistent_end(void) {
  php_apns_line *line;
  HashTable *table = APNS_G(persistent);
  if (!table) return;
  APNS_G(persistent) = NULL;
  ZEND_HASH_FOREACH_PTR(table, line) {
    if (!php_apns_line_is_foreign(line)) {
      php_apns_line_finish(line);
      php_apns_line_leave_request(line);
      php_apns_line_collect(line);
      for (php_apns_note *note = line->left.first; note; note = note->after) log_note(line, note);
    }
    php_apns_line_release(line);
  }
  ZEND_HASH_FOREACH_END();
  zend_hash_destroy(table);
  pefree(table, true);
}
