#include "provider.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void check_status(apns_status_t expected, apns_status_t found, const apns_error_t *error,
                  const char *call, const char *file, int line) {
  if (found == expected) return;
  print_error("%s\n  came to %s, not %s: %s\n", call, apns_status_name(found),
              apns_status_name(expected), error->status == (int)found ? error->message : "");
  _fail(file, line);
}

void check_contains(const char *text, const char *part, const char *file, int line) {
  if (strstr(text, part)) return;
  print_error("\"%s\" does not say \"%s\"\n", text, part);
  _fail(file, line);
}

int64_t clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t patience_ms(void) { return getenv("APNS_TESTS_LIGHT") ? AMPLE_MS / 2 : AMPLE_MS / 4; }

int64_t cpu_ms(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

void skip_unless_pages_are_wiped_on_fork(void) {
  const size_t size = (size_t)sysconf(_SC_PAGESIZE);
  volatile char *page =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(page != MAP_FAILED);
  *page = 1;
  /* The test itself distinguishes a system that refuses from a failure of the library. */
  bool is_wiped = madvise((void *)page, size, MADV_WIPEONFORK) != 0;
  if (!is_wiped) {
    int status = 0;
    pid_t child = fork();
    if (!child) _exit(*page);
    assert_int_equal(waitpid(child, &status, 0), child);
    is_wiped = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  munmap((void *)page, size);
  if (!is_wiped) skip();
}

size_t as_many_as(size_t many, size_t few) { return getenv("APNS_TESTS_LIGHT") ? few : many; }

apns_credentials_t *credentials_of(const apns_credentials_options_t *options) {
  apns_credentials_t *credentials = NULL;
  assert_ok(apns_credentials_new(options, &credentials, &error));
  assert_non_null(credentials);
  return credentials;
}

apns_session_t *session_with(const apns_session_options_t *options,
                             const apns_credentials_t *credentials) {
  apns_session_t *session = NULL;
  assert_ok(apns_session_new(options, credentials, &session, &error));
  return session;
}

apns_payload_t *payload_with(const apns_payload_options_t *options) {
  apns_payload_t *payload = NULL;
  assert_ok(apns_payload_new(options, &payload, &error));
  return payload;
}

void session_end(apns_session_t *session, gateway_t *gateway) {
  apns_session_free(session);
  gateway_stop(gateway);
}

void drain(apns_session_t *session) {
  assert_ok(apns_session_drain(session, AMPLE_MS, NULL, &error));
}

apns_event_t one_event(apns_session_t *session) {
  apns_event_t event = APNS_EVENT_INIT;
  assert_ok(apns_session_next_event(session, &event, 0, &error));
  return event;
}

apns_event_t next_event(apns_session_t *session) {
  apns_event_t event = APNS_EVENT_INIT;
  assert_ok(apns_session_next_event(session, &event, AMPLE_MS, &error));
  return event;
}

apns_credentials_options_t trusting(void) {
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  options.ca_file = identities_make()->root.certificate_file;
  return options;
}

apns_credentials_t *provider_credentials(void) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = identities_make()->provider.certificate_file;
  options.key_file = identities_make()->provider.key_file;
  return credentials_of(&options);
}

void check_works(const apns_credentials_options_t *given, size_t chain_length) {
  apns_session_t *session = NULL;
  owned(credentials) credentials = credentials_of(given);
  const gateway_options_t strict = {.wants_certificate = true};
  owned(gateway) gateway = gateway_start(&strict, NULL);
  apns_session_options_t options = options_for(gateway);
  assert_ok(apns_session_new(&options, credentials, &session, &error));
  send_range(session, 0, 1);
  assert_ok(apns_session_drain(session, AMPLE_MS, NULL, &error));
  apns_session_free(session);
  const gateway_record_t *heard = gateway_heard(gateway, 0);
  assert_true(heard->showed_certificate);
  if (chain_length) assert_int_equal(heard->chain_length, chain_length);
}

apns_error_t refused(const apns_credentials_options_t *options, apns_status_t expected,
                     const char *const *parts) {
  FORGET_ERROR();
  apns_credentials_t *credentials = NULL;
  assert_status(expected, apns_credentials_new(options, &credentials, &error));
  assert_null(credentials);
  for (; *parts; parts++) assert_contains(error.message, *parts);
  return error;
}

apns_tuning_t *tuning_of(apns_session_options_t *options) {
  static _Thread_local apns_tuning_t all[64];
  static _Thread_local size_t count;
  if (!options->tuning) {
    apns_tuning_t *next = &all[count++ % 64];
    *next = (apns_tuning_t)APNS_TUNING_INIT;
    options->tuning = next;
  }
  return (apns_tuning_t *)options->tuning;
}

apns_binary_options_t *binary_of(apns_session_options_t *options) {
  static _Thread_local apns_binary_options_t all[64];
  static _Thread_local size_t count;
  if (!options->binary) {
    apns_binary_options_t *next = &all[count++ % 64];
    *next = (apns_binary_options_t)APNS_BINARY_OPTIONS_INIT;
    options->binary = next;
  }
  return (apns_binary_options_t *)options->binary;
}

apns_session_options_t options_for(const gateway_t *gateway) {
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  options.peer.host = "127.0.0.1";
  options.peer.port = gateway_port(gateway);
  options.peer.connect_timeout_ms = AMPLE_MS;
  tuning_of(&options)->write_timeout_ms = AMPLE_MS;
  tuning_of(&options)->answer_timeout_ms = AMPLE_MS;
  options.outcomes = APNS_OUTCOMES_FAILURES;
  options.checks = -1; /* most payloads here say as little as they can */
  /* A script belongs to the connections in their order; standby ones have their own tests. */
  binary_of(&options)->no_standby = 1;
  return options;
}

apns_session_t *session_to(const gateway_t *gateway, const apns_session_options_t *given) {
  apns_session_options_t options = given ? *given : options_for(gateway);
  owned(credentials) credentials = provider_credentials();
  return session_with(&options, credentials);
}

apns_feedback_options_t feedback_options(const gateway_t *gateway) {
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  options.peer.host = "127.0.0.1";
  options.peer.port = gateway_port(gateway);
  options.peer.connect_timeout_ms = options.read_timeout_ms = AMPLE_MS;
  return options;
}

apns_feedback_t *feedback_with(const apns_feedback_options_t *options) {
  owned(credentials) credentials = provider_credentials();
  apns_feedback_t *feedback = NULL;
  assert_ok(apns_feedback_open(options, credentials, &feedback, &error));
  return feedback;
}

apns_feedback_t *feedback_from(const gateway_t *gateway) {
  const apns_feedback_options_t options = feedback_options(gateway);
  return feedback_with(&options);
}

/* Lengths that differ, so that frames of different notifications never are alike. */
static void fill_in(apns_notification_t *made, uint8_t *token, char *payload, size_t n) {
  for (size_t index = 0; index < 32; index++) token[index] = (uint8_t)(n * 7 + index);
  memcpy(token, &n, sizeof n);
  int length = snprintf(payload, 96, "{\"aps\":{\"alert\":\"number %zu\"},\"pad\":\"%.*s\"}", n,
                        (int)(n % 23), "xxxxxxxxxxxxxxxxxxxxxxx");
  *made = (apns_notification_t)APNS_NOTIFICATION_INIT;
  made->token = token;
  made->token_length = 32;
  made->payload = payload;
  made->payload_length = (size_t)length;
  made->user_data = (void *)(uintptr_t)(n + 1);
}

/* A listener with a full queue accepts nothing. The gateway holds the port at every address. */
bool silent_address_open(silent_address_t *silent, uint16_t port) {
  const int on = 1;
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_addr = {htonl(0x7F000002)}, .sin_port = htons(port)};
  const struct sockaddr *name = (const struct sockaddr *)&address;
  silent->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (setsockopt(silent->listener, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) ||
      bind(silent->listener, name, sizeof address) || listen(silent->listener, 0)) {
    close(silent->listener);
    return false;
  }
  for (size_t index = 0; index < 8; index++) {
    silent->fillers[index] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    connect(silent->fillers[index], name, sizeof address);
  }
  return true;
}

void silent_address_close(silent_address_t *silent) {
  for (size_t index = 0; index < 8; index++) close(silent->fillers[index]);
  close(silent->listener);
}

const apns_notification_t *notification(size_t n) {
  static _Thread_local apns_notification_t made;
  static _Thread_local uint8_t token[32];
  static _Thread_local char payload[96];
  fill_in(&made, token, payload, n);
  return &made;
}

apns_notification_t *notifications(size_t count) {
  struct {
    uint8_t token[32];
    char payload[96];
  } * contents;
  apns_notification_t *array = malloc(count * (sizeof *array + sizeof *contents));
  contents = (void *)(array + count);
  for (size_t n = 0; n < count; n++) fill_in(&array[n], contents[n].token, contents[n].payload, n);
  return array;
}

void send_range(apns_session_t *session, size_t from, size_t to) {
  for (size_t n = from; n < to; n++)
    assert_ok(
        apns_session_send(session, notification(n), n + 1 < to ? APNS_SEND_MORE : 0, NULL, &error));
}

void hold_range(apns_session_t *session, size_t from, size_t to) {
  for (size_t n = from; n < to; n++)
    assert_ok(apns_session_send(session, notification(n), APNS_SEND_MORE, NULL, &error));
}

void send_and_drain(apns_session_t *session, size_t from, size_t to) {
  send_range(session, from, to);
  drain(session);
}

void check_event(apns_session_t *session, apns_event_kind_t kind, int reject, size_t n,
                 const char *file, int line) {
  FORGET_ERROR();
  apns_event_t event = APNS_EVENT_INIT;
  apns_status_t status = apns_session_next_event(session, &event, 0, &error);
  size_t found = (size_t)(uintptr_t)event.user_data - 1;
  if (status == APNS_OK && event.kind == (int32_t)kind && event.reject == reject && found == n &&
      event.identifier != 0)
    return;
  print_error("expected kind %d, reject %d of notification %zu; ", kind, reject, n);
  if (status != APNS_OK)
    print_error("found %s %s\n", apns_status_name(status), error.message);
  else
    print_error("found kind %d, reject %d of %zu, identifier %u\n", event.kind, event.reject, found,
                event.identifier);
  _fail(file, line);
}

void await_connects(apns_session_t *session, uint64_t count) {
  apns_event_t event = APNS_EVENT_INIT;
  for (int64_t start = clock_ms(); stats_of(session).connects < count;) {
    assert_in_range(clock_ms() - start, 0, AMPLE_MS);
    apns_status_t status = apns_session_next_event(session, &event, 10, &error);
    if (status != APNS_ERR_TIMEOUT) assert_status(APNS_DONE, status);
  }
}

void assert_no_event(apns_session_t *session) {
  apns_event_t event = APNS_EVENT_INIT;
  assert_status(APNS_DONE, apns_session_next_event(session, &event, 0, &error));
}

apns_session_stats_t stats_of(const apns_session_t *session) {
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  assert_ok(apns_session_stats(session, &stats, &error));
  return stats;
}

apns_session_metrics_t metrics_of(const apns_session_t *session) {
  apns_session_metrics_t metrics = APNS_SESSION_METRICS_INIT;
  assert_ok(apns_session_metrics(session, &metrics, &error));
  assert_int_equal(metrics.size, sizeof metrics);
  return metrics;
}

uint64_t sum(const uint64_t *places, size_t count) {
  uint64_t sum = 0;
  while (count > 0) sum += places[--count];
  return sum;
}

void check_counts(const apns_session_t *session, uint64_t taken, uint64_t accepted,
                  uint64_t rejected, uint64_t unknown, uint64_t unresolved, const char *file,
                  int line) {
  apns_session_stats_t stats = stats_of(session);
  if (stats.taken == taken && stats.accepted == accepted && stats.rejected == rejected &&
      stats.unknown == unknown && stats.unresolved == unresolved)
    return;
  print_error(
      "taken %d, accepted %d, rejected %d, unknown %d, unresolved %d;\n"
      "not   %d           %d           %d          %d             %d\n",
      (int)stats.taken, (int)stats.accepted, (int)stats.rejected, (int)stats.unknown,
      (int)stats.unresolved, (int)taken, (int)accepted, (int)rejected, (int)unknown,
      (int)unresolved);
  _fail(file, line);
}

const gateway_record_t *heard_after(apns_session_t *session, gateway_t *gateway, size_t index) {
  apns_session_free(session);
  return gateway_heard(gateway, index);
}

void check_heard(gateway_t *gateway, size_t index, const void *bytes, size_t length,
                 const char *file, int line) {
  const gateway_record_t *heard = gateway_heard(gateway, index);
  _assert_int_equal(heard->length, length, file, line);
  _assert_memory_equal(heard->bytes, bytes, length, file, line);
}

static bool holds(const uint8_t *bytes, size_t length, const void *part, size_t part_length) {
  for (size_t at = 0; at + part_length <= length; at++)
    if (memcmp(bytes + at, part, part_length) == 0) return true;
  return false;
}

size_t carried_by(const gateway_record_t *record, size_t index) {
  size_t n;
  assert_true(index < record->frame_count && !record->frames[index].is_sentinel);
  /* After command, length, and the head of the first item, which is the token. */
  memcpy(&n, record->bytes + record->frames[index].start + 8, sizeof n);
  return n;
}

void assert_carries(const gateway_record_t *record, size_t index, size_t n) {
  assert_true(index < record->frame_count);
  const gateway_frame_t *frame = &record->frames[index];
  const apns_notification_t *expected = notification(n);
  assert_true(holds(record->bytes + frame->start, frame->length, expected->token, 32));
  assert_true(holds(record->bytes + frame->start, frame->length, expected->payload,
                    expected->payload_length));
}

void assert_same_frames(const gateway_record_t *record, const gateway_record_t *earlier,
                        size_t from, size_t count) {
  assert_int_equal(notifications_in(record), count);
  assert_true(from + count <= earlier->frame_count);
  for (size_t index = 0; index < count; index++) {
    const gateway_frame_t *here = &record->frames[index], *there = &earlier->frames[from + index];
    assert_int_equal(here->length, there->length);
    assert_memory_equal(record->bytes + here->start, earlier->bytes + there->start, here->length);
  }
}

void check_carry_all(gateway_t *gateway, size_t index, size_t count, const char *file, int line) {
  size_t next = 0;
  for (; next < count && index < gateway_connections(gateway); index++) {
    const gateway_record_t *heard = gateway_heard(gateway, index);
    for (size_t frame = 0; frame < heard->frame_count; frame++) {
      if (heard->frames[frame].is_sentinel) continue;
      size_t found = carried_by(heard, frame);
      if (found == next++) continue;
      print_error("connection %zu carries %zu where %zu is due\n", index, found, next - 1);
      _fail(file, line);
    }
  }
  if (next == count) return;
  print_error("%zu of %zu came\n", next, count);
  _fail(file, line);
}

size_t notifications_in(const gateway_record_t *record) {
  size_t count = 0;
  for (size_t index = 0; index < record->frame_count; index++)
    count += !record->frames[index].is_sentinel;
  return count;
}

int in_child(int (*body)(void *), void *argument) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(4 * AMPLE_MS / 1000); /* a child that hangs does not stay */
    _exit(body(argument));
  }
  int status = -1;
  assert_true(child > 0);
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

void assert_child_is_fine(int (*body)(void *), void *argument) {
  const int status = in_child(body, argument);
  if (WIFSIGNALED(status)) fail_msg("signal %d ended the child", WTERMSIG(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}
