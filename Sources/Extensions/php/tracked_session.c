/* A session of the library, with the records of what it sent. */
#include "php_apns.h"

#include <poll.h>

static const char *apples_host(const apns_session_options_t *options) {
  const bool is_sandbox = options->environment == APNS_ENVIRONMENT_SANDBOX;
  if (options->protocol == APNS_PROTOCOL_BINARY)
    return is_sandbox ? APNS_BINARY_HOST_SANDBOX : APNS_BINARY_HOST_PRODUCTION;
  return is_sandbox ? APNS_HOST_SANDBOX : APNS_HOST_PRODUCTION;
}

php_apns_tracked *php_apns_tracked_new(apns_session_t *session,
                                       const php_apns_session_settings *settings) {
  const apns_session_options_t *options = &settings->options;
  php_apns_tracked *tracked = pecalloc(1, sizeof *tracked, true);
  tracked->session = session;
  tracked->speaks_http2 = options->protocol == APNS_PROTOCOL_HTTP2;
  tracked->yields = options->outcomes == APNS_OUTCOMES_ALL;
  tracked->never_waits = options->peer.nonblocking;
  tracked->references = 1;
  tracked->connect_ms = php_apns_option_ms(options->peer.connect_timeout_ms);
  const int64_t both =
      (int64_t)tracked->connect_ms + php_apns_option_ms(settings->tuning.write_timeout_ms);
  const uint32_t answer_ms = settings->tuning.answer_timeout_ms;
  tracked->send_ms = (int32_t)MIN(both, INT32_MAX);
  tracked->patience_ms = (int32_t)MIN(both + (answer_ms ? answer_ms : 30000), INT32_MAX);
  tracked->close_timeout_ms = settings->close_timeout_ms;
  snprintf(tracked->peer, sizeof tracked->peer, "%s:%d",
           options->peer.host ? options->peer.host : apples_host(options),
           options->peer.port      ? options->peer.port
           : tracked->speaks_http2 ? APNS_PORT_HTTP2
                                   : APNS_PORT_GATEWAY);
  return tracked;
}

void php_apns_tracked_release(php_apns_tracked *tracked) {
  if (--tracked->references > 0) return;
  apns_session_free(tracked->session);
  tracked->session = NULL;
  php_apns_provider_release(tracked->provider);
  php_apns_log_free(tracked->log);
  php_apns_records_free(&tracked->dead);
  php_apns_records_free(&tracked->own);
  php_apns_records_free(&tracked->left);
  php_apns_request_release(tracked->request);
  if (tracked->name) zend_string_release_ex(tracked->name, true);
  pefree(tracked, true);
}

bool php_apns_tracked_is_inherited(const php_apns_tracked *tracked) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  return apns_session_stats(tracked->session, &stats, NULL) == APNS_ERR_FORKED;
}

void php_apns_tracked_sweep(php_apns_tracked *tracked) {
  php_apns_records dead = tracked->dead;
  tracked->dead = (php_apns_records){NULL, NULL, 0};
  /* Last, for it may run the script's destructors. */
  php_apns_records_free(&dead);
}

php_apns_tracked *php_apns_session_tracked(zend_object *object) {
  php_apns_tracked *tracked =
      ((php_apns_session *)((char *)object - XtOffsetOf(php_apns_session, std)))->tracked;
  if (!tracked) php_apns_throw_unconstructed(object);
  return tracked;
}

void php_apns_throw_refused(const char *topic, const apns_error_t *error) {
  apns_error_t named = *error;
  if (topic && topic == APNS_G(topic) && error->cause == APNS_CAUSE_TOPIC) {
    snprintf(named.message, sizeof named.message, "apns.topic of php.ini: %s", error->message);
  }
  php_apns_throw(&named);
}

void php_apns_log_tell(php_apns_tracked *tracked) {
  if (!tracked->log) return;
  tracked->references++;
  php_apns_log_tell_lines(tracked->log);
  php_apns_tracked_release(tracked);
}

apns_status_t php_apns_wait(php_apns_tracked *tracked, php_apns_step step, int32_t timeout_ms,
                            int64_t deadline, apns_error_t *error) {
  for (;;) {
    const int64_t began = php_apns_now_ms();
    const int32_t slice = php_apns_slice(deadline);
    const apns_status_t status =
        step(tracked->session, timeout_ms == 0 || tracked->never_waits ? timeout_ms : slice, error);
    const int64_t now = php_apns_now_ms();
    php_apns_provider_resume(tracked->provider);
    /* Handlers run before the caller throws, or PHP would drop them, and before the logger, whose
       exceptions are ignored. */
    const bool is_calm = php_apns_interrupt();
    php_apns_log_tell(tracked);
    php_apns_tracked_sweep(tracked);
    if (!is_calm) return status;
    if (status != APNS_ERR_TIMEOUT || now - began < slice || now >= deadline) return status;
  }
}

static apns_status_t flush_step(apns_session_t *session, int32_t ms, apns_error_t *error) {
  (void)ms;
  return apns_session_flush(session, error);
}

apns_status_t php_apns_flush(php_apns_tracked *tracked, apns_error_t *error) {
  return php_apns_wait(tracked, flush_step, APNS_TIMEOUT_DEFAULT,
                       php_apns_deadline(tracked, tracked->send_ms), error);
}

/* ---- Outcomes of earlier requests -------------------------------------------------- */

bool php_apns_tracked_is_full(const php_apns_tracked *tracked) {
  const size_t yielding = tracked->yields ? tracked->left_accepted : 0;
  return tracked->left.count - yielding >= PHP_APNS_LEFT_MAX;
}

void php_apns_tracked_take_left(php_apns_tracked *tracked, php_apns_record *record) {
  tracked->left_accepted -= record->kind == APNS_EVENT_ACCEPTED;
  php_apns_records_remove(&tracked->left, record);
}

/* Drops the oldest accepted outcome, and one more for every eight others before it. */
static void forget_left(php_apns_tracked *tracked) {
  size_t stay = 0, gone = 0;
  for (php_apns_record *next, *record = tracked->left.first; record && gone <= stay / 8;
       record = next) {
    next = record->after;
    if (record->kind != APNS_EVENT_ACCEPTED) {
      stay++;
      continue;
    }
    gone++;
    php_apns_tracked_take_left(tracked, record);
    php_apns_records_append(&tracked->dead, record);
  }
  tracked->forgotten += gone;
}

static void leave(php_apns_tracked *tracked, php_apns_record *record) {
  if (tracked->yields && tracked->left_accepted > 0 && tracked->left.count >= PHP_APNS_LEFT_MAX)
    forget_left(tracked);
  tracked->left_accepted += record->kind == APNS_EVENT_ACCEPTED;
  php_apns_records_append(&tracked->left, record);
}

/* Puts one outcome in its list. */
static apns_status_t pull(php_apns_tracked *tracked, int32_t timeout_ms, apns_error_t *error) {
  apns_event_t event = APNS_EVENT_INIT;
  apns_status_t status = apns_session_next_event(tracked->session, &event, timeout_ms, error);
  php_apns_provider_resume(tracked->provider);
  if (timeout_ms != 0 && status != APNS_ERR_FORKED) tracked->holds_back = false;
  if (status != APNS_OK) return status;
  php_apns_record *record = (php_apns_record *)event.user_data;
  php_apns_record_tell(record, &event);
  php_apns_records_remove(&tracked->sent, record);
  if (record->request == tracked->request) {
    php_apns_records_append(&tracked->own, record);
  } else {
    leave(tracked, record);
  }
  return status;
}

php_apns_record *php_apns_tracked_next(php_apns_tracked *tracked, bool of_others,
                                       int32_t timeout_ms) {
  apns_error_t error = APNS_ERROR_INIT;
  const int64_t deadline = php_apns_deadline(tracked, timeout_ms);
  php_apns_records *records = of_others ? &tracked->left : &tracked->own;
  /* The outcomes of an inherited session belong to the parent. */
  if (php_apns_tracked_is_inherited(tracked)) {
    apns_session_flush(tracked->session, &error);
    php_apns_throw(&error);
    return NULL;
  }
  while (!records->first) {
    const int64_t began = php_apns_now_ms();
    const int32_t slice = tracked->never_waits ? timeout_ms : php_apns_slice(deadline);
    const apns_status_t status = pull(tracked, slice, &error);
    const int64_t now = php_apns_now_ms();
    php_apns_log_tell(tracked);
    php_apns_tracked_sweep(tracked);
    if (!php_apns_interrupt()) return NULL;
    if (status == APNS_OK) continue;
    if ((status == APNS_DONE || status == APNS_ERR_TIMEOUT) && !tracked->never_waits &&
        now - began >= slice && now < deadline) {
      continue;
    }
    if (status != APNS_DONE) {
      php_apns_throw(&error);
      return NULL;
    }
    break;
  }
  return records->first;
}

void php_apns_tracked_collect(php_apns_tracked *tracked) {
  while (pull(tracked, 0, NULL) == APNS_OK) continue;
}

void php_apns_tracked_leave_request(php_apns_tracked *tracked) {
  php_apns_record *record;
  while ((record = tracked->own.first)) {
    php_apns_records_remove(&tracked->own, record);
    leave(tracked, record);
  }
  php_apns_request_release(tracked->request);
  tracked->request = NULL;
}

/* ---- The end ----------------------------------------------------------------------- */

enum {
  GOODBYE_MS = 1000, /* for the peer's, where everything has its outcome */
  PAUSE_MS = 10      /* before a call that did not wait is made again */
};

/* After a call that is not done: waits for what the next one needs. */
static void go_on(php_apns_tracked *tracked, int64_t began, int64_t deadline) {
  if (tracked->never_waits) {
    php_apns_wait_process(tracked->session, deadline);
  } else if (php_apns_now_ms() - began < PAUSE_MS) {
    poll(NULL, 0, PAUSE_MS);
  }
}

static int32_t left_until(int64_t deadline, int64_t now) {
  return deadline > now ? (int32_t)MIN(deadline - now, INT32_MAX) : 0;
}

static void drain(php_apns_tracked *tracked, int64_t deadline) {
  int64_t now;
  while ((now = php_apns_now_ms()) < deadline) {
    apns_error_t error = APNS_ERROR_INIT;
    apns_status_t status =
        apns_session_drain(tracked->session, left_until(deadline, now), NULL, &error);
    /* Retrying helps against nothing else, and the token provider is not called any more. */
    if (!apns_status_is_retryable(status) || error.cause == APNS_CAUSE_PROVIDER_TOKEN) return;
    go_on(tracked, now, deadline);
  }
}

static void close_session(php_apns_tracked *tracked, int64_t deadline) {
  int64_t now = php_apns_now_ms();
  while (apns_status_is_retryable(
      apns_session_close(tracked->session, left_until(deadline, now), NULL))) {
    go_on(tracked, now, deadline);
    now = php_apns_now_ms();
  }
}

/* The number of unknown and unresolved notifications. */
static uint64_t lost(const php_apns_tracked *tracked) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_session_stats(tracked->session, &stats, NULL);
  return stats.unknown + stats.unresolved;
}

void php_apns_tracked_finish(php_apns_tracked *tracked) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  const int64_t began = php_apns_now_ms();
  int64_t deadline = began + tracked->close_timeout_ms;
  if (tracked->is_closed || apns_session_stats(tracked->session, &stats, NULL) != APNS_OK) return;
  tracked->is_closed = true;
  if (tracked->provider) tracked->provider->is_at_rest = true;
  const uint64_t before = stats.unknown;
  /* Draining resends notifications that a rejection discarded; closing does not. */
  if (stats.unresolved > 0) drain(tracked, deadline);
  if (lost(tracked) == before) deadline = MIN(deadline, php_apns_now_ms() + GOODBYE_MS);
  close_session(tracked, deadline);
  php_apns_log_tell(tracked);
  if (lost(tracked) > before) {
    php_apns_log_loss(tracked->log, tracked->peer, lost(tracked) - before);
    php_apns_log_tell(tracked);
  }
  if (tracked->provider) tracked->provider->is_at_rest = false;
}
