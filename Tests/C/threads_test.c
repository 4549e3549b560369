/* Sessions in many threads, over the same credentials. */
#include <pthread.h>
#include <stdio.h>

#include "provider.h"

enum { THREADS = 8, SESSIONS = 8, BATCH = 30 };

typedef struct worker {
  pthread_t thread;
  gateway_t *gateway;
  apns_credentials_t *credentials;
  size_t sessions;
  const char *fault;
  char message[300];
} worker_t;

static bool came_to(worker_t *worker, apns_status_t status, const apns_error_t *error,
                    const char *what) {
  if (status == APNS_OK) return true;
  snprintf(worker->message, sizeof worker->message, "%s: %s", what, error->message);
  worker->fault = worker->message;
  return false;
}

/* Sessions at a time, each used turn by turn. */
static void *work(void *argument) {
  worker_t *worker = argument;
  apns_session_t *sessions[SESSIONS] = {NULL};
  apns_session_options_t options = options_for(worker->gateway);
  for (size_t index = 0; index < worker->sessions && !worker->fault; index++)
    came_to(worker, apns_session_new(&options, worker->credentials, &sessions[index], &error),
            &error, "new");
  for (size_t n = 0; n < BATCH && !worker->fault; n++)
    for (size_t index = 0; index < worker->sessions && !worker->fault; index++)
      came_to(worker, apns_session_send(sessions[index], notification(n), 0, NULL, &error), &error,
              "send");
  for (size_t index = 0; index < worker->sessions && !worker->fault; index++) {
    apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
    came_to(worker, apns_session_drain(sessions[index], AMPLE_MS, NULL, &error), &error, "drain");
    came_to(worker, apns_session_stats(sessions[index], &stats, &error), &error, "stats");
    if (!worker->fault && (stats.accepted != BATCH || stats.unresolved != 0))
      worker->fault = "not all were accepted";
    /* Failures at the same time, each with its own words. */
    apns_error_t own = APNS_ERROR_INIT;
    apns_notification_t push = *notification(0);
    push.payload_length = 0;
    if (apns_session_send(sessions[index], &push, 0, NULL, &own) != APNS_ERR_ARGUMENT ||
        strcmp(own.message, "the payload is empty") != 0)
      worker->fault = "another error than its own";
  }
  for (size_t index = 0; index < worker->sessions; index++) apns_session_free(sessions[index]);
  return NULL;
}

TEST(many_threads_and_one_credentials) {
  owned(gateway) gateway = gateway_start(&(gateway_options_t){.wants_certificate = true}, NULL);
  apns_credentials_t *credentials = provider_credentials();
  worker_t workers[THREADS];
  memset(workers, 0, sizeof workers);
  const size_t sessions = as_many_as(SESSIONS, 2);
  for (size_t index = 0; index < THREADS; index++) {
    workers[index].gateway = gateway;
    workers[index].credentials = credentials;
    workers[index].sessions = sessions;
    assert_int_equal(pthread_create(&workers[index].thread, NULL, work, &workers[index]), 0);
  }
  for (size_t index = 0; index < THREADS; index++) pthread_join(workers[index].thread, NULL);
  for (size_t index = 0; index < THREADS; index++)
    if (workers[index].fault) fail_msg("thread %zu: %s", index, workers[index].fault);
  apns_credentials_free(credentials);
  assert_int_equal(gateway_connections(gateway), THREADS * sessions);
  for (size_t index = 0; index < THREADS * sessions; index++)
    assert_int_equal(notifications_in(gateway_heard(gateway, index)), BATCH);
}

/* ---- Rejections, resends, standby connections ---------------------------- */

enum { REJECTED_EVERY = 9 };

static bool is_bad(size_t n) { return n % REJECTED_EVERY == 4; }

/* Checks that a thread's sessions reported each notification once and rightly. */
static void check_events(worker_t *worker, apns_session_t *session, size_t count) {
  apns_event_t event = APNS_EVENT_INIT;
  for (size_t n = 0; n < count && !worker->fault; n++) {
    /* Over several connections not in the order of sending. */
    if (!came_to(worker, apns_session_next_event(session, &event, 0, &error), &error, "event"))
      return;
    size_t which = (size_t)(uintptr_t)event.user_data - 1;
    if (which >= count ||
        event.kind != (is_bad(which) ? APNS_EVENT_REJECTED : APNS_EVENT_ACCEPTED) ||
        event.reject != (is_bad(which) ? 8 : 0))
      worker->fault = "an event of another's, or a wrong one";
  }
  if (!worker->fault && apns_session_next_event(session, &event, 0, &error) != APNS_DONE)
    worker->fault = "an event too many";
}

/* Every other session has a standby connection, every third several connections. */
static void *work_with_rejections(void *argument) {
  worker_t *worker = argument;
  apns_session_t *sessions[SESSIONS] = {NULL};
  apns_session_options_t options = options_for(worker->gateway);
  options.outcomes = APNS_OUTCOMES_EACH;
  for (size_t index = 0; index < worker->sessions && !worker->fault; index++) {
    binary_of(&options)->no_standby = index % 2;
    options.connections = index % 3 == 2 ? 2 : 1;
    came_to(worker, apns_session_new(&options, worker->credentials, &sessions[index], &error),
            &error, "new");
  }
  for (size_t n = 0; n < BATCH && !worker->fault; n++)
    for (size_t index = 0; index < worker->sessions && !worker->fault; index++) {
      apns_notification_t push = *notification(n);
      uint8_t token[32];
      memcpy(token, push.token, sizeof token);
      if (is_bad(n)) memset(token + 30, 0xFF, 2);
      push.token = token;
      came_to(worker,
              apns_session_send(sessions[index], &push, n % 3 ? APNS_SEND_MORE : 0, NULL, &error),
              &error, "send");
    }
  for (size_t index = 0; index < worker->sessions && !worker->fault; index++) {
    came_to(worker, apns_session_drain(sessions[index], AMPLE_MS, NULL, &error), &error, "drain");
    check_events(worker, sessions[index], BATCH);
    if (index % 4 == 3)
      came_to(worker, apns_session_close(sessions[index], AMPLE_MS, &error), &error, "close");
  }
  for (size_t index = 0; index < worker->sessions; index++) apns_session_free(sessions[index]);
  return NULL;
}

TEST(many_threads_with_rejections) {
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.wants_certificate = true, .tickets = 1}, NULL);
  apns_credentials_t *credentials = provider_credentials();
  worker_t workers[THREADS];
  memset(workers, 0, sizeof workers);
  const size_t sessions = as_many_as(SESSIONS, 2);
  for (size_t index = 0; index < THREADS; index++) {
    workers[index].gateway = gateway;
    workers[index].credentials = credentials;
    workers[index].sessions = sessions;
    assert_int_equal(
        pthread_create(&workers[index].thread, NULL, work_with_rejections, &workers[index]), 0);
  }
  for (size_t index = 0; index < THREADS; index++) pthread_join(workers[index].thread, NULL);
  apns_credentials_free(credentials);
  for (size_t index = 0; index < THREADS; index++)
    if (workers[index].fault) fail_msg("thread %zu: %s", index, workers[index].fault);
  /* The gateway accepted the good notifications of every session once. */
  size_t accepted = 0, good = 0;
  for (size_t n = 0; n < BATCH; n++) good += !is_bad(n);
  for (size_t index = 0; index < gateway_connections(gateway); index++)
    accepted += gateway_heard(gateway, index)->accepted;
  assert_int_equal(accepted, good * THREADS * sessions);
}

/* A session may go from thread to thread, one at a time. */
static void *drain_there(void *argument) {
  return apns_session_drain(argument, AMPLE_MS, NULL, &error) == APNS_OK ? argument : NULL;
}

TEST(a_session_that_goes_to_another_thread) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_to(gateway, NULL);
  send_range(session, 0, 10);
  pthread_t thread;
  void *result = NULL;
  assert_int_equal(pthread_create(&thread, NULL, drain_there, session), 0);
  pthread_join(thread, &result);
  assert_ptr_equal(result, session);
  send_and_drain(session, 10, 20);
  assert_counts(session, 20, 20, 0, 0, 0);
}

/* ---- Counts from another thread ------------------------------------------ */

typedef struct watcher {
  pthread_t thread;
  apns_session_t *session;
  gateway_t *gateway; /* to signal once three are in flight; NULL: looks until it is stopped */
  int stopped;
  uint64_t looks;
  const char *fault;
} watcher_t;

/* The counts of a single moment, and no sum of two. */
static void *watch(void *argument) {
  watcher_t *watcher = argument;
  uint64_t before = 0;
  while (!watcher->fault && !__atomic_load_n(&watcher->stopped, __ATOMIC_ACQUIRE)) {
    apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
    apns_session_metrics_t metrics = APNS_SESSION_METRICS_INIT;
    if (apns_session_stats(watcher->session, &stats, NULL) ||
        apns_session_metrics(watcher->session, &metrics, NULL))
      watcher->fault = "refused";
    if (stats.accepted + stats.rejected + stats.unknown + stats.unresolved != stats.taken)
      watcher->fault = "counts that do not add up";
    if (stats.taken < before) watcher->fault = "a count that falls";
    before = stats.taken;
    __atomic_add_fetch(&watcher->looks, 1, __ATOMIC_RELAXED);
    if (watcher->gateway && stats.in_flight == 3 && metrics.open == 1) {
      gateway_signal(watcher->gateway);
      return NULL;
    }
    sched_yield();
  }
  return NULL;
}

TEST(counts_are_read_while_another_thread_sends) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  owned(session) session = session_to(gateway, NULL);
  watcher_t watcher = {.session = session};
  assert_int_equal(pthread_create(&watcher.thread, NULL, watch, &watcher), 0);
  const size_t count = as_many_as(20000, 500);
  for (size_t n = 0; n < count; n++)
    assert_ok(
        apns_session_send(session, notification(n), n % 8 ? APNS_SEND_MORE : 0, NULL, &error));
  assert_ok(apns_session_drain(session, AMPLE_MS, NULL, &error));
  while (__atomic_load_n(&watcher.looks, __ATOMIC_RELAXED) == 0) sched_yield();
  __atomic_store_n(&watcher.stopped, 1, __ATOMIC_RELEASE);
  pthread_join(watcher.thread, NULL);
  if (watcher.fault) fail_msg("%s", watcher.fault);
}

/* The response comes when the other thread has seen the expected counts. */
TEST(counts_are_read_while_another_thread_waits) {
  const gateway_step_t script[] = {TAKE_FRAMES(3), AWAIT(1), NAME_NTH(8, 1), STALL};
  owned(gateway) gateway = gateway_start(NULL, SCRIPTS(script));
  owned(session) session = session_to(gateway, NULL);
  watcher_t watcher = {.session = session, .gateway = gateway};
  assert_int_equal(pthread_create(&watcher.thread, NULL, watch, &watcher), 0);
  for (size_t n = 0; n < 3; n++) send_range(session, n, n + 1);
  apns_event_t event = next_event(session);
  assert_int_equal(event.kind, APNS_EVENT_REJECTED);
  pthread_join(watcher.thread, NULL);
  if (watcher.fault) fail_msg("%s", watcher.fault);
}

static apns_session_t *logging;
static apns_status_t refusal;
static char refusal_text[100];

static void call_back(const apns_log_record_t *record, void *context) {
  (void)record, (void)context;
  apns_error_t said = APNS_ERROR_INIT;
  if (!logging) return;
  refusal = apns_session_flush(logging, &said);
  snprintf(refusal_text, sizeof refusal_text, "%s", said.message);
}

TEST(a_callback_that_calls_its_session_is_refused) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  logging = session_where(gateway, options.log = call_back);
  assert_ok(apns_session_connect(logging, &error));
  owned(session) session = logging;
  logging = NULL;
  assert_status(APNS_ERR_ARGUMENT, refusal);
  assert_string_equal(refusal_text, "called from a callback of the same session");
}
