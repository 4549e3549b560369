/* A session of the library, and the notes of what it was given. */
#include "php_apns.h"

#include <time.h>

/* So many notes are not worth looking through. */
#define PRUNE_LEAST 1024

php_apns_line *php_apns_line_new(apns_session_t *session, const apns_session_options_t *options) {
  php_apns_line *line = pecalloc(1, sizeof *line, true);
  line->session = session;
  line->speaks_http2 = options->protocol == APNS_PROTOCOL_HTTP2;
  line->references = 1;
  line->prune_at = PRUNE_LEAST;
  return line;
}

void php_apns_line_release(php_apns_line *line) {
  if (--line->references > 0) return;
  apns_session_free(line->session);
  line->session = NULL;
  php_apns_notes_free(&line->sent);
  php_apns_notes_free(&line->own);
  php_apns_notes_free(&line->left);
  php_apns_request_release(line->request);
  if (line->name) zend_string_release_ex(line->name, true);
  pefree(line, true);
}

bool php_apns_line_is_foreign(const php_apns_line *line) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  return apns_session_stats(line->session, &stats, NULL) == APNS_ERR_FORKED;
}

/* Whether identifier a was given before b; they come round. */
static bool is_before(uint32_t a, uint32_t b) { return (int32_t)(a - b) < 0; }

/*
 * Notes go that have their end and no outcome waiting in the library. It tells how far
 * all have their end, but not which of them wait to be taken; yet the oldest of those is
 * younger than one just taken, `taken`. By HTTP/2 they come in any order, so that nothing
 * can be said of those that wait.
 */
static void prune(php_apns_line *line, const uint32_t *taken) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  php_apns_notes dead = {NULL, NULL, 0};
  php_apns_note *note;
  if (apns_session_stats(line->session, &stats, NULL) != APNS_OK) return;
  if (stats.events > 0 && (!taken || line->speaks_http2)) return;
  while ((note = line->sent.first)) {
    if (stats.first_unresolved != 0 && !is_before(note->identifier, stats.first_unresolved)) break;
    if (stats.events > 0 && !is_before(note->identifier, *taken)) break;
    php_apns_notes_remove(&line->sent, note);
    php_apns_notes_append(&dead, note);
  }
  line->prune_at = line->sent.count < PRUNE_LEAST / 2 ? PRUNE_LEAST : 2 * line->sent.count;
  /* Last, for it may run the script's destructors. */
  php_apns_notes_free(&dead);
}

void php_apns_line_prune(php_apns_line *line) { prune(line, NULL); }

/* Puts one outcome in its list. */
static apns_status_t pull(php_apns_line *line, int32_t timeout_ms, apns_error_t *error) {
  apns_event_t event = APNS_EVENT_INIT;
  apns_status_t status = apns_session_next_event(line->session, &event, timeout_ms, error);
  if (timeout_ms != 0 && status != APNS_ERR_FORKED) line->holds_back = false;
  if (status != APNS_OK) {
    if (status == APNS_DONE && line->sent.count > 0) prune(line, NULL);
    return status;
  }
  php_apns_note *note = (php_apns_note *)event.user_data;
  note->kind = event.kind;
  note->reject = event.reject;
  if (event.http_status != 0) {
    note->answer = pemalloc(sizeof *note->answer, true);
    note->answer->timestamp = event.timestamp;
    note->answer->reason = event.reason;
    note->answer->http_status = event.http_status;
    memcpy(note->answer->apns_id, event.apns_id, sizeof event.apns_id);
    memcpy(note->answer->reason_text, event.reason_text, sizeof event.reason_text);
  }
  php_apns_notes_remove(&line->sent, note);
  php_apns_notes_append(note->request == line->request ? &line->own : &line->left, note);
  if (line->sent.count >= line->prune_at) prune(line, &event.identifier);
  return status;
}

static int64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

php_apns_note *php_apns_line_next(php_apns_line *line, bool of_others, int32_t timeout_ms) {
  apns_error_t error = APNS_ERROR_INIT;
  int64_t deadline = now_ms() + timeout_ms;
  php_apns_notes *notes = of_others ? &line->left : &line->own;
  /* What a child inherited is its parent's to tell. */
  if (php_apns_line_is_foreign(line)) {
    apns_session_flush(line->session, &error);
    php_apns_throw(&error);
    return NULL;
  }
  while (!notes->first) {
    apns_status_t status = pull(line, timeout_ms, &error);
    if (status == APNS_DONE) return notes->first;
    if (status != APNS_OK) {
      php_apns_throw(&error);
      return NULL;
    }
    if (EG(exception)) return NULL;
    if (timeout_ms > 0) {
      int64_t rest = deadline - now_ms();
      timeout_ms = rest > 0 ? (int32_t)rest : 0;
    }
  }
  return notes->first;
}

void php_apns_line_collect(php_apns_line *line) {
  while (pull(line, 0, NULL) == APNS_OK) continue;
}

void php_apns_line_leave_request(php_apns_line *line) {
  php_apns_note *note;
  while ((note = line->own.first)) {
    php_apns_notes_remove(&line->own, note);
    php_apns_notes_append(&line->left, note);
  }
  php_apns_request_release(line->request);
  line->request = NULL;
}

void php_apns_line_finish(php_apns_line *line) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  int32_t timeout = (int32_t)APNS_G(close_timeout_ms);
  if (line->is_closed || apns_session_stats(line->session, &stats, NULL) != APNS_OK) return;
  line->is_closed = true;
  /* Draining sends again what a rejection before it undid, which closing does not. */
  if (stats.unresolved > 0 && timeout > 0 &&
      apns_session_drain(line->session, timeout, NULL, NULL) != APNS_OK) {
    timeout = 0;
  }
  apns_session_close(line->session, timeout, NULL);
}
