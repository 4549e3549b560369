/*
 * The cost of a notification, in CPU time of the provider's process: the library compared with
 * frames made beforehand (floor), a bare loop (ceiling) and Apple's listing (naive). Rounds are
 * interleaved, figures are medians. The connection is made before the measurement; those that a
 * full window requires are made during it.
 *
 *   apns_benchmark [--quick] [--json] [--payloads]
 */
#include <apns/apns.h>
#include <malloc.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bare.h"
#include "floor/floor.h"
#include "payload.h"
#include "sink.h"

enum {
  FLOOR,
  NAIVE,
  CEILING,
  CEILING_HEX,
  SINGLE,
  MORE,
  ARRAY,
  LOOP,
  ARRAY_4M,
  PROVIDER,
  CONTENDERS
};
static const char *const names[CONTENDERS] = {"floor: frames made beforehand",
                                              "naive: a listing, a write",
                                              "ceiling: bare 16 KB records",
                                              "ceiling: the same, from hex",
                                              "library: single sends",
                                              "library: APNS_SEND_MORE",
                                              "library: array",
                                              "library: array, in an event loop",
                                              "library: array, window 4 MiB",
                                              "library: from hex, window 4 MiB"};

#define ROUNDS_MAX 15

typedef struct figures {
  double cpu_us, wall_us; /* per notification */
  double per_record;      /* notifications */
  double connects;
  double memory_kb; /* peak above the memory of the list and the process */
} figures_t;

static double seconds_of(struct timeval t) { return (double)t.tv_sec + (double)t.tv_usec / 1e6; }

static double cpu_now(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

static double wall_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A line of /proc/self/status, in KB; 0 if the system lacks it. */
static double status_kb(const char *name) {
  FILE *file = fopen("/proc/self/status", "r");
  char line[256];
  double found = 0;
  size_t length = strlen(name);
  while (file && fgets(line, sizeof line, file))
    if (!strncmp(line, name, length)) found = atof(line + length);
  if (file) fclose(file);
  return found;
}

/* Resets the peak, and returns memory of earlier rounds to the system. */
static double memory_start(void) {
  malloc_trim(0);
  FILE *file = fopen("/proc/self/clear_refs", "w");
  if (file) {
    fputs("5", file);
    fclose(file);
  }
  return status_kb("VmRSS:");
}

static double memory_above(double start) { return status_kb("VmHWM:") - start; }

static void must(apns_status_t status, const apns_error_t *error) {
  if (status == APNS_OK) return;
  fprintf(stderr, "%s: %s\n", apns_status_name(status), error->message);
  exit(1);
}

/* A minimal event loop that runs until the call is done. */
static void go_on(apns_session_t *session, apns_status_t status, const apns_error_t *error) {
  apns_error_t own = APNS_ERROR_INIT;
  struct pollfd watched = {.fd = apns_session_fd(session), .events = POLLIN};
  if (status != APNS_ERR_AGAIN) must(status, error);
  if (status == APNS_ERR_AGAIN && poll(&watched, 1, -1) == 1)
    must(apns_session_process(session, &own), &own);
}

static void connect_in_loop(apns_session_t *session) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  do go_on(session, status = apns_session_connect(session, &error), &error);
  while (status != APNS_OK);
}

static void send_all_in_loop(apns_session_t *session, const list_t *list) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_status_t status;
  for (size_t sent = 0, taken; sent < list->count; sent += taken)
    go_on(session,
          apns_session_send_many(session, list->notifications + sent, list->count - sent, 0, &taken,
                                 &error),
          &error);
  do go_on(session, status = apns_session_drain(session, 0, NULL, &error), &error);
  while (status != APNS_OK);
}

static void send_all(int contender, apns_session_t *session, const list_t *list) {
  apns_error_t error = APNS_ERROR_INIT;
  size_t taken = 0;
  if (contender == LOOP) return send_all_in_loop(session, list);
  if (contender == PROVIDER) {
    /* As a provider does: decode the token from its database, then send. */
    for (size_t i = 0; i < list->count; i++) {
      uint8_t token[APNS_TOKEN_MAX];
      apns_notification_t push = list->notifications[i];
      push.token = token;
      must(apns_token_from_hex(list->hex[i], sizeof list->hex[i], token, sizeof token,
                               &push.token_length, &error),
           &error);
      must(apns_session_send(session, &push, APNS_SEND_MORE, NULL, &error), &error);
    }
  } else if (contender >= ARRAY) {
    must(apns_session_send_many(session, list->notifications, list->count, 0, &taken, &error),
         &error);
  } else {
    uint32_t flags = contender == MORE ? APNS_SEND_MORE : 0;
    for (size_t i = 0; i < list->count; i++)
      must(apns_session_send(session, &list->notifications[i], flags, NULL, &error), &error);
  }
  must(apns_session_drain(session, 60000, NULL, &error), &error);
}

static figures_t run_library(int contender, const sink_t *sink, const apns_credentials_t *who,
                             const list_t *list) {
  apns_error_t error = APNS_ERROR_INIT;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_session_stats_t before = APNS_SESSION_STATS_INIT;
  apns_session_t *session = NULL;
  double memory = memory_start();
  options.peer.host = "127.0.0.1";
  options.peer.port = sink->port;
  options.outcomes = APNS_OUTCOMES_FAILURES;
  options.peer.nonblocking = contender == LOOP;
  options.window_bytes = contender >= ARRAY_4M ? 0 : 256u << 20;
  must(apns_session_new(&options, who, &session, &error), &error);
  connect_in_loop(session);

  /* A session runs for days: send the list once before measuring, so that the system has already
     given its window memory. */
  send_all(contender, session, list);
  connect_in_loop(session);
  apns_session_stats(session, &before, NULL);

  double cpu = cpu_now(), wall = wall_now();
  send_all(contender, session, list);
  cpu = cpu_now() - cpu;
  wall = wall_now() - wall;

  apns_session_stats(session, &stats, NULL);
  if (stats.accepted != 2 * list->count) {
    fprintf(stderr, "%llu accepted of %zu\n", (unsigned long long)stats.accepted, 2 * list->count);
    exit(1);
  }
  memory = memory_above(memory);
  apns_session_free(session);
  double n = (double)list->count;
  return (figures_t){.cpu_us = cpu / n * 1e6,
                     .wall_us = wall / n * 1e6,
                     .per_record = n / (double)(stats.records - before.records),
                     .connects = (double)(stats.connects - before.connects + 1),
                     .memory_kb = memory};
}

static figures_t run_bare(int contender, const sink_t *sink, SSL_CTX *context, const list_t *list,
                          const floor_frames_t *frames) {
  double memory = memory_start();
  SSL *ssl = bare_connect(context, sink->port);
  double cpu = cpu_now(), wall = wall_now();
  uint64_t records = contender == FLOOR     ? floor_send_binary(ssl, frames)
                     : contender == NAIVE   ? bare_naive(ssl, list)
                     : contender == CEILING ? bare_ceiling(ssl, list)
                                            : bare_ceiling_hex(ssl, list);
  cpu = cpu_now() - cpu;
  wall = wall_now() - wall;
  memory = memory_above(memory);
  bare_close(ssl);
  double n = (double)list->count;
  return (figures_t){.cpu_us = cpu / n * 1e6,
                     .wall_us = wall / n * 1e6,
                     .per_record = n / (double)records,
                     .connects = 1,
                     .memory_kb = memory};
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The value at a place of the rounds' sorted values of a field. */
static double of_rounds(const figures_t *rounds, int count, size_t field, int place) {
  double values[ROUNDS_MAX];
  for (int i = 0; i < count; i++)
    memcpy(&values[i], (const char *)&rounds[i] + field, sizeof values[i]);
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[place];
}
#define MEDIAN(contender, field) \
  of_rounds(all[contender], rounds, offsetof(figures_t, field), rounds / 2)
/* The round least disturbed by other programs. */
#define BEST(contender, field) of_rounds(all[contender], rounds, offsetof(figures_t, field), 0)
#define WORST(contender, field) \
  of_rounds(all[contender], rounds, offsetof(figures_t, field), rounds - 1)

static void measure(const identities_t *identities, int version, size_t payload, size_t count,
                    int rounds, bool json) {
  static figures_t all[CONTENDERS][ROUNDS_MAX];
  apns_error_t error = APNS_ERROR_INIT;
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_credentials_t *who = NULL;
  options.certificate_file = identities->provider.together_file;
  options.ca_file = identities->root.certificate_file;
  must(apns_credentials_new(&options, &who, &error), &error);
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  list_t list = list_make(count, payload);
  floor_frames_t frames = floor_binary(&list);
  sink_t sink = sink_start(identities, version);

  /* The first round warms up caches and does not count. */
  for (int round = -1; round < rounds; round++) {
    for (int contender = 0; contender < CONTENDERS; contender++) {
      figures_t figures = contender < SINGLE ? run_bare(contender, &sink, context, &list, &frames)
                                             : run_library(contender, &sink, who, &list);
      if (round >= 0) all[contender][round] = figures;
    }
  }
  /* The library sends the list twice. */
  uint64_t expected = (uint64_t)count * (uint64_t)(rounds + 1) * (CONTENDERS + CONTENDERS - SINGLE);
  if (*sink.frames != expected) {
    fprintf(stderr, "the sink received %llu frames, not %llu\n", (unsigned long long)*sink.frames,
            (unsigned long long)expected);
    exit(1);
  }

  const char *tls = version == TLS1_2_VERSION ? "1.2" : "1.3";
  double floor = MEDIAN(FLOOR, cpu_us), naive = MEDIAN(NAIVE, cpu_us),
         best_naive = BEST(NAIVE, cpu_us);
  if (!json)
    printf(
        "\nTLS %s, payload of %zu bytes, %zu notifications, %d rounds: median, best and worst\n"
        "%-31s %7s %7s %9s %7s %7s %9s %7s %8s %7s %8s %8s %7s\n",
        tls, payload, count, rounds, "", "CPU us", "x floor", "x ceiling", "x naive", "best us",
        "x ceiling", "x naive", "worst us", "1000/s", "a record", "connects", "peak KB");
  for (int contender = 0; contender < CONTENDERS; contender++) {
    double cpu = MEDIAN(contender, cpu_us), wall = MEDIAN(contender, wall_us);
    double best = BEST(contender, cpu_us);
    /* Compares a contender that decodes hex with a bare loop that does too. */
    const int bare = contender == PROVIDER ? CEILING_HEX : CEILING;
    double ceiling = MEDIAN(bare, cpu_us), best_ceiling = BEST(bare, cpu_us);
    if (json) {
      printf("{\"tls\":\"%s\",\"payload\":%zu,\"contender\":\"%s\",\"cpu_us\":%.4f,", tls, payload,
             names[contender], cpu);
      printf("\"of_floor\":%.3f,\"worst_us\":%.4f,", cpu / floor, WORST(contender, cpu_us));
      printf("\"of_ceiling\":%.3f,\"of_naive\":%.3f,\"best_us\":%.4f,\"best_of_ceiling\":%.3f,",
             cpu / ceiling, cpu / naive, best, best / best_ceiling);
      printf("\"best_of_naive\":%.3f,\"thousand_per_second\":%.0f,\"per_record\":%.1f,",
             best / best_naive, 1000 / wall, MEDIAN(contender, per_record));
      printf("\"connects\":%.0f,\"peak_kb\":%.0f}\n", MEDIAN(contender, connects),
             MEDIAN(contender, memory_kb));
    } else {
      printf("%-31s %7.3f %7.2f %9.2f %7.2f %7.3f %9.2f %7.2f %8.3f %7.0f %8.1f %8.0f %7.0f\n",
             names[contender], cpu, cpu / floor, cpu / ceiling, cpu / naive, best,
             best / best_ceiling, best / best_naive, WORST(contender, cpu_us), 1000 / wall,
             MEDIAN(contender, per_record), MEDIAN(contender, connects),
             MEDIAN(contender, memory_kb));
    }
  }
  fflush(stdout);
  sink_stop(&sink);
  floor_free(&frames);
  list_free(&list);
  SSL_CTX_free(context);
  apns_credentials_free(who);
}

int main(int argc, char **argv) {
  bool quick = false, json = false, only_payloads = false;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--quick")) {
      quick = true;
    } else if (!strcmp(argv[i], "--json")) {
      json = true;
    } else if (!strcmp(argv[i], "--payloads")) {
      only_payloads = true;
    } else {
      fprintf(stderr, "usage: %s [--quick] [--json] [--payloads]\n", argv[0]);
      return 2;
    }
  }
  static const size_t payloads[] = {100, 200, 2000};
  int rounds = quick ? 5 : ROUNDS_MAX;
  payload_measure(rounds, json);
  if (only_payloads) return 0;
  const identities_t *identities = identities_make();
  for (int version = TLS1_2_VERSION; version <= TLS1_3_VERSION; version++) {
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
      if (quick && (version == TLS1_2_VERSION) == (payloads[i] == 200)) continue;
      measure(identities, version, payloads[i], payloads[i] > 1000 ? 20000 : 100000, rounds, json);
    }
  }
  return 0;
}
