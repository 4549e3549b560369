/*
 * What a notification costs the provider, in CPU time of its own process: the
 * library beside a bare loop (ceiling) and Apple's listing (naive). Rounds are
 * interleaved, figures are medians, the connection is made before the clock; the
 * ones a full window asks for are made on it.
 *
 *   apns_benchmark [--quick] [--json] [--payloads]
 */
#include <apns/apns.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bare.h"
#include "payload.h"
#include "sink.h"

enum { NAIVE, CEILING, SINGLE, MORE, ARRAY, ARRAY_4M, CONTENDERS };
static const char *const names[CONTENDERS] = {"naive: a listing, a write",
                                              "ceiling: bare 16 KB records",
                                              "library: single sends",
                                              "library: APNS_SEND_MORE",
                                              "library: array",
                                              "library: array, window 4 MiB"};

#define ROUNDS_MAX 15

typedef struct figures {
  double cpu_us, wall_us; /* each notification */
  double per_record;      /* notifications */
  double connects;
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

static void must(apns_status_t status, const apns_error_t *error) {
  if (status == APNS_OK) return;
  fprintf(stderr, "%s: %s\n", apns_status_name(status), error->message);
  exit(1);
}

static void send_all(int contender, apns_session_t *session, const list_t *list) {
  apns_error_t error = APNS_ERROR_INIT;
  size_t taken = 0;
  if (contender >= ARRAY) {
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
  apns_session_stats_t stats = APNS_SESSION_STATS_INIT;
  apns_session_stats_t before = APNS_SESSION_STATS_INIT;
  apns_session_t *session = NULL;
  options.host = "127.0.0.1";
  options.port = sink->port;
  options.window_bytes = contender == ARRAY_4M ? 0 : 256u << 20;
  must(apns_session_new(&options, who, &session, &error), &error);
  must(apns_session_connect(session, &error), &error);

  /* A session lives for days: once through the list first, so that its window is
     memory the system has already given. */
  send_all(contender, session, list);
  must(apns_session_connect(session, &error), &error);
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
  apns_session_free(session);
  double n = (double)list->count;
  return (figures_t){.cpu_us = cpu / n * 1e6,
                     .wall_us = wall / n * 1e6,
                     .per_record = n / (double)(stats.records - before.records),
                     .connects = (double)(stats.connects - before.connects + 1)};
}

static figures_t run_bare(int contender, const sink_t *sink, SSL_CTX *context, const list_t *list) {
  SSL *ssl = bare_connect(context, sink->port);
  double cpu = cpu_now(), wall = wall_now();
  uint64_t records = contender == NAIVE ? bare_naive(ssl, list) : bare_ceiling(ssl, list);
  cpu = cpu_now() - cpu;
  wall = wall_now() - wall;
  bare_close(ssl);
  double n = (double)list->count;
  return (figures_t){.cpu_us = cpu / n * 1e6,
                     .wall_us = wall / n * 1e6,
                     .per_record = n / (double)records,
                     .connects = 1};
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* The median of one field over the rounds. */
static double median(const figures_t *rounds, int count, size_t field) {
  double values[ROUNDS_MAX];
  for (int i = 0; i < count; i++)
    memcpy(&values[i], (const char *)&rounds[i] + field, sizeof values[i]);
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[count / 2];
}
#define MEDIAN(contender, field) median(all[contender], rounds, offsetof(figures_t, field))

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
  sink_t sink = sink_start(identities, version);

  /* The first round warms caches and is not counted. */
  for (int round = -1; round < rounds; round++) {
    for (int contender = 0; contender < CONTENDERS; contender++) {
      figures_t figures = contender <= CEILING ? run_bare(contender, &sink, context, &list)
                                               : run_library(contender, &sink, who, &list);
      if (round >= 0) all[contender][round] = figures;
    }
  }
  /* The library goes through the list twice. */
  uint64_t expected = (uint64_t)count * (uint64_t)(rounds + 1) * (CONTENDERS + CONTENDERS - SINGLE);
  if (*sink.frames != expected) {
    fprintf(stderr, "the sink took %llu frames, not %llu\n", (unsigned long long)*sink.frames,
            (unsigned long long)expected);
    exit(1);
  }

  const char *tls = version == TLS1_2_VERSION ? "1.2" : "1.3";
  double ceiling = MEDIAN(CEILING, cpu_us), naive = MEDIAN(NAIVE, cpu_us);
  if (!json)
    printf(
        "\nTLS %s, payload of %zu bytes, %zu notifications, median of %d rounds\n"
        "%-30s %8s %10s %10s %9s %9s %9s\n",
        tls, payload, count, rounds, "", "CPU us", "x ceiling", "x naive", "1000/s", "a record",
        "connects");
  for (int contender = 0; contender < CONTENDERS; contender++) {
    double cpu = MEDIAN(contender, cpu_us), wall = MEDIAN(contender, wall_us);
    if (json) {
      printf("{\"tls\":\"%s\",\"payload\":%zu,\"contender\":\"%s\",\"cpu_us\":%.4f,", tls, payload,
             names[contender], cpu);
      printf("\"of_ceiling\":%.3f,\"of_naive\":%.3f,\"thousand_per_second\":%.0f,", cpu / ceiling,
             cpu / naive, 1000 / wall);
      printf("\"per_record\":%.1f,\"connects\":%.0f}\n", MEDIAN(contender, per_record),
             MEDIAN(contender, connects));
    } else {
      printf("%-30s %8.3f %10.2f %10.2f %9.0f %9.1f %9.0f\n", names[contender], cpu, cpu / ceiling,
             cpu / naive, 1000 / wall, MEDIAN(contender, per_record), MEDIAN(contender, connects));
    }
  }
  fflush(stdout);
  sink_stop(&sink);
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
