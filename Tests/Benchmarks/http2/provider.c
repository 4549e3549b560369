#include "provider.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS
#endif

#include "../bare.h"
#include "bench_service.h"

/* ---- Allocations ------------------------------------------------------------ */

/* The linker redirects the library's calls here, and all others to the function below. */
static uint64_t own_allocations, all_allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size) {
  own_allocations++;
  return __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size) {
  own_allocations++;
  return __real_calloc(count, size);
}
void *__wrap_realloc(void *memory, size_t size) {
  own_allocations++;
  return __real_realloc(memory, size);
}

#ifdef __GLIBC__
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *malloc(size_t size) {
  all_allocations++;
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size) {
  all_allocations++;
  return __libc_calloc(count, size);
}
void *realloc(void *memory, size_t size) {
  all_allocations++;
  return __libc_realloc(memory, size);
}
#endif

/* ---- A process and its cost ------------------------------------------------------ */

static double seconds_of(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

static double wall_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int count_instructions(pid_t process) {
  struct perf_event_attr event = {.type = PERF_TYPE_HARDWARE,
                                  .size = sizeof event,
                                  .config = PERF_COUNT_HW_INSTRUCTIONS,
                                  .inherit = 1,
                                  .exclude_kernel = 1,
                                  .exclude_hv = 1};
  return (int)syscall(SYS_perf_event_open, &event, process, -1, -1, 0);
}

static provider_figures_t watch(pid_t process, int gate) {
  provider_figures_t figures = {0};
  int counter = count_instructions(process), status = 0;
  struct rusage usage;
  double begun = wall_now();
  if (write(gate, "", 1) != 1) abort();
  close(gate);
  wait4(process, &status, 0, &usage);
  figures.wall = wall_now() - begun;
  figures.cpu = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  if (counter >= 0) {
    if (read(counter, &figures.instructions, 8) != 8) figures.instructions = 0;
    close(counter);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status)) figures.cpu = -1;
  return figures;
}

/* Forks; the child continues once it is measured. */
static pid_t begin(int *gate_out) {
  int gate[2];
  char byte;
  fflush(NULL);
  if (pipe2(gate, O_CLOEXEC)) abort();
  pid_t process = fork();
  if (process) {
    close(gate[0]);
    *gate_out = gate[1];
    return process;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  bench_pin(0);
  close(gate[1]);
  if (read(gate[0], &byte, 1) != 1) _exit(1);
  close(gate[0]);
  /* Under valgrind a child starts with its parent's counts. */
  CALLGRIND_ZERO_STATS;
  return 0;
}

/* ---- The floor ------------------------------------------------------------------- */

provider_figures_t provider_floor(const provider_task_t *task) {
  int gate;
  pid_t process = begin(&gate);
  if (!process) {
    SSL *ssl = floor_connect(task->identities->provider.together_file, task->port);
    floor_send_http2(ssl, task->frames);
    bare_close(ssl);
    _exit(0);
  }
  return watch(process, gate);
}

/* ---- The library ----------------------------------------------------------------- */

static void must(apns_status_t status, const apns_error_t *error) {
  if (status == APNS_OK) return;
  fprintf(stderr, "%s: %s\n", apns_status_name(status), error->message);
  _exit(1);
}

/* A minimal event loop. */
static void send_part_in_a_loop(apns_session_t *session, const list_t *list, size_t from,
                                size_t to) {
  apns_error_t error = APNS_ERROR_INIT;
  struct pollfd watched = {.fd = apns_session_fd(session), .events = POLLIN};
  while (true) {
    size_t taken = 0;
    apns_status_t status = from < to ? apns_session_send_many(session, list->notifications + from,
                                                              to - from, 0, &taken, &error)
                                     : apns_session_drain(session, 0, NULL, &error);
    from += taken;
    if (status == APNS_OK && from == to && !taken) return;
    if (status != APNS_ERR_AGAIN) must(status, &error);
    if (status != APNS_ERR_AGAIN) continue;
    if (poll(&watched, 1, -1) == 1) must(apns_session_process(session, &error), &error);
  }
}

static void send_part(apns_session_t *session, const list_t *list, size_t from, size_t to) {
  apns_error_t error = APNS_ERROR_INIT;
  if (apns_session_fd(session) >= 0) {
    send_part_in_a_loop(session, list, from, to);
    return;
  }
  must(apns_session_send_many(session, list->notifications + from, to - from, 0, NULL, &error),
       &error);
  must(apns_session_drain(session, 600000, NULL, &error), &error);
}

static void send_by_library(const provider_task_t *task, provider_figures_t *figures) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_session_stats_t before = APNS_SESSION_STATS_INIT, stats = APNS_SESSION_STATS_INIT;
  apns_credentials_t *credentials = NULL;
  apns_session_t *session = NULL;
  who.certificate_file = task->identities->provider.together_file;
  who.ca_file = task->identities->root.certificate_file;
  must(apns_credentials_new(&who, &credentials, &error), &error);
  options.protocol = APNS_PROTOCOL_HTTP2;
  options.outcomes = APNS_OUTCOMES_FAILURES;
  options.peer.host = "127.0.0.1";
  options.peer.port = task->port;
  options.topic = PROVIDER_TOPIC;
  options.connections = task->connections;
  options.window_bytes = task->window_bytes;
  options.peer.nonblocking = task->loops;
  must(apns_session_new(&options, credentials, &session, &error), &error);
  if (task->warm) send_part(session, task->list, 0, task->warm);
  apns_session_stats(session, &before, NULL);
  uint64_t own = own_allocations, all = all_allocations;
  double begun = wall_now();
  send_part(session, task->list, task->warm, task->list->count);
  figures->sending = wall_now() - begun;
  figures->own_allocations = own_allocations - own;
  figures->other_allocations = all_allocations - all - figures->own_allocations;
  apns_session_stats(session, &stats, NULL);
  figures->records = stats.records - before.records;
  figures->connects = stats.connects;
  figures->accepted = stats.accepted;
  apns_status_t closed;
  while ((closed = apns_session_close(session, 10000, &error)) == APNS_ERR_AGAIN) {
    struct pollfd watched = {.fd = apns_session_fd(session), .events = POLLIN};
    if (poll(&watched, 1, -1) == 1 && apns_session_process(session, NULL) == APNS_DONE) break;
  }
  if (closed != APNS_ERR_AGAIN) must(closed, &error);
  apns_session_free(session);
  apns_credentials_free(credentials);
}

provider_figures_t provider_library(const provider_task_t *task) {
  provider_figures_t *told =
      mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (told == MAP_FAILED) abort();
  int gate;
  pid_t process = begin(&gate);
  if (!process) {
    send_by_library(task, told);
    _exit(0);
  }
  provider_figures_t figures = watch(process, gate);
  if (told->accepted != task->list->count || figures.cpu < 0) {
    fprintf(stderr, "the library: %llu accepted of %zu\n", (unsigned long long)told->accepted,
            task->list->count);
    exit(1);
  }
  told->cpu = figures.cpu, told->wall = figures.wall, told->instructions = figures.instructions;
  figures = *told;
  munmap(told, sizeof *told);
  return figures;
}

/* ---- h2load ------------------------------------------------------------------------ */

provider_figures_t provider_h2load(const provider_task_t *task) {
  const apns_notification_t *push = &task->list->notifications[task->list->count / 2];
  char count[24], streams[24], clients[24], url[256], token[2 * APNS_TOKEN_MAX + 1];
  const char *body = identities_write("payload.json", push->payload, push->payload_length);
  apns_token_to_hex(push->token, push->token_length, token, sizeof token, NULL, NULL);
  snprintf(url, sizeof url, "https://127.0.0.1:%u/3/device/%s", task->port, token);
  snprintf(count, sizeof count, "%zu", task->list->count);
  snprintf(streams, sizeof streams, "%u", task->streams);
  snprintf(clients, sizeof clients, "%u", task->connections ? task->connections : 1);
  int gate;
  pid_t process = begin(&gate);
  if (!process) {
    int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, 1);
    execlp("h2load", "h2load", "-n", count, "-c", clients, "-t", "1", "-m", streams, "-d", body,
           "-H", "apns-topic: " PROVIDER_TOPIC, "-H", "apns-push-type: alert", url, (char *)NULL);
    _exit(127);
  }
  return watch(process, gate);
}
