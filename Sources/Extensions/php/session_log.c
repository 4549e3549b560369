/*
 * The option `log`. The library logs inside a call. PHP's error log gets each line immediately; the
 * script's logger is called after the call, because it may use the session, throw or exit.
 */
#include "php_apns.h"
#include "zend_exceptions.h"

/* Maximum number of lines of one call, such as a trace of a large batch. */
#define LINES_MAX 65536

typedef struct log_line {
  struct log_line *next;
  apns_log_record_t record;
  char words[];
} log_line;

struct php_apns_log {
  zval logger; /* called; UNDEF: the error log */
  zval method; /* of the logger; UNDEF: the logger itself is called */
  log_line *first, *last;
  size_t count;
  uint32_t lost;
  bool is_telling; /* the loop also delivers lines that the logger itself causes */
};

static const char *level_word(int32_t level) {
  static const char *const words[] = {"",     "error", "warning", "notice",
                                      "info", "debug", "debug"}; /* PSR-3 has no trace */
  return level >= 1 && level <= APNS_LOG_TRACE ? words[level] : "info";
}

static void write_to_error_log(const apns_log_record_t *record, void *context) {
  char *text = NULL;
  (void)context;
  spprintf(&text, 0, "apns: %s: %s: %s", record->peer, level_word(record->level), record->line);
  php_log_err(text);
  efree(text);
}

static void keep(const apns_log_record_t *record, void *context) {
  php_apns_log *log = (php_apns_log *)context;
  size_t size = strlen(record->line) + 1, peer = strlen(record->peer) + 1;
  if (log->count >= LINES_MAX) {
    log->lost++;
    return;
  }
  log_line *line = emalloc(sizeof *line + size + peer);
  line->next = NULL;
  line->record = *record;
  line->record.left_out += log->lost;
  log->lost = 0;
  line->record.line = memcpy(line->words, record->line, size);
  line->record.peer = memcpy(line->words + size, record->peer, peer);
  if (log->last) {
    log->last->next = line;
  } else {
    log->first = line;
  }
  log->last = line;
  log->count++;
}

static bool is_on(const zval *given) {
  return given && Z_TYPE_P(given) != IS_NULL && Z_TYPE_P(given) != IS_FALSE;
}

bool php_apns_log_make(zval *given, bool is_persistent, apns_log_t *told_out, void **context_out,
                       php_apns_log **log_out) {
  *log_out = NULL;
  if (!is_on(given)) return true;
  if (Z_TYPE_P(given) == IS_TRUE) {
    *told_out = write_to_error_log;
    return true;
  }
  const bool has_method = Z_TYPE_P(given) == IS_OBJECT &&
                          zend_hash_str_exists(&Z_OBJCE_P(given)->function_table, "log", 3);
  if (!has_method && !zend_is_callable(given, 0, NULL)) {
    zend_type_error(
        "option 'log' must be true, a callable or an object with a method log(), "
        "%s found",
        zend_zval_type_name(given));
    return false;
  }
  if (is_persistent) {
    php_apns_throw_argument(
        "a persistent session takes no logger, which ends with the request: log is true or false");
    return false;
  }
  php_apns_log *log = ecalloc(1, sizeof *log);
  ZVAL_COPY(&log->logger, given);
  if (has_method) ZVAL_STRING(&log->method, "log");
  *told_out = keep;
  *context_out = log;
  *log_out = log;
  return true;
}

static void call(php_apns_log *log, const apns_log_record_t *record) {
  zval arguments[3], nothing;
  ZVAL_STRING(&arguments[0], level_word(record->level));
  ZVAL_STRING(&arguments[1], record->line);
  array_init(&arguments[2]);
  add_assoc_string(&arguments[2], "kind", apns_log_kind_name((apns_log_kind_t)record->kind));
  add_assoc_string(&arguments[2], "peer", record->peer);
  add_assoc_long(&arguments[2], "connection", record->connection);
  const char *cause = php_apns_word_of(&php_apns_causes, record->cause);
  if (cause) {
    add_assoc_string(&arguments[2], "cause", cause);
  } else {
    add_assoc_null(&arguments[2], "cause");
  }
  add_assoc_long(&arguments[2], "count", (zend_long)record->count);
  add_assoc_long(&arguments[2], "milliseconds", record->milliseconds);
  add_assoc_long(&arguments[2], "left_out", record->left_out);
  add_assoc_bool(&arguments[2], "resumed", record->resumed != 0);
  ZVAL_UNDEF(&nothing);
  if (Z_TYPE(log->method) == IS_UNDEF) {
    call_user_function(NULL, NULL, &log->logger, &nothing, 3, arguments);
  } else {
    call_user_function(NULL, &log->logger, &log->method, &nothing, 3, arguments);
  }
  zval_ptr_dtor(&nothing);
  for (size_t index = 0; index < 3; index++) zval_ptr_dtor(&arguments[index]);
}

/* Logs a logger's exception, which is not the call's failure. False if it is exit(). */
static bool put_up_with_exception(void) {
  if (!EG(exception)) return true;
  if (zend_is_unwind_exit(EG(exception))) return false;
  zval held, *message;
  message = zend_read_property(EG(exception)->ce, EG(exception), "message", 7, true, &held);
  char *text = NULL;
  spprintf(&text, 0, "apns: the log threw %s: %s", ZSTR_VAL(EG(exception)->ce->name),
           Z_TYPE_P(message) == IS_STRING ? Z_STRVAL_P(message) : "");
  php_log_err(text);
  efree(text);
  zend_clear_exception();
  return true;
}

static void drop(php_apns_log *log) {
  while (log->first) {
    log_line *line = log->first;
    log->first = line->next;
    efree(line);
  }
  log->last = NULL;
  log->count = 0;
}

/* At the end of a request what the logger needs may be gone; exit() ends the script. */
static bool can_tell(const php_apns_log *log) {
  return !log->is_telling && !(EG(flags) & EG_FLAGS_OBJECT_STORE_NO_REUSE) &&
         !(EG(exception) && zend_is_unwind_exit(EG(exception)));
}

void php_apns_log_loss(php_apns_log *log, const char *peer, uint64_t count) {
  apns_log_record_t record = APNS_LOG_RECORD_INIT;
  char words[96];
  snprintf(words, sizeof words, "the session ended, and %" PRIu64 " notifications have no outcome",
           count);
  record.level = APNS_LOG_ERROR;
  record.kind = APNS_LOG_KIND_CLOSED;
  record.count = count;
  record.peer = peer;
  record.line = words;
  if (log && can_tell(log)) {
    keep(&record, log);
  } else {
    write_to_error_log(&record, NULL);
  }
}

void php_apns_log_tell_lines(php_apns_log *log) {
  if (!log || !log->first || log->is_telling) return;
  if (EG(flags) & EG_FLAGS_OBJECT_STORE_NO_REUSE) return drop(log);
  if (!can_tell(log)) return;
  log->is_telling = true;
  zend_exception_save();
  bool goes_on = true;
  while (goes_on && log->first) {
    log_line *line = log->first;
    log->first = line->next;
    if (!log->first) log->last = NULL;
    log->count--;
    call(log, &line->record);
    efree(line);
    goes_on = put_up_with_exception();
  }
  zend_exception_restore();
  log->is_telling = false;
}

zval *php_apns_log_logger(php_apns_log *log) { return log ? &log->logger : NULL; }

void php_apns_log_free(php_apns_log *log) {
  if (!log) return;
  drop(log);
  zval_ptr_dtor(&log->logger);
  zval_ptr_dtor(&log->method);
  efree(log);
}
