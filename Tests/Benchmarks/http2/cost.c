/*
 * The cost of a notification over HTTP/2, in CPU time of the provider's process, compared with the
 * floor (floor.h), a session in an event loop and h2load, all with the same requests to the same
 * service: 1,000 streams on one connection, on loopback, payloads of 200 bytes. They take turns,
 * and figures are medians.
 *
 *   apns_http2_cost [--quick] [--json] [--once COUNT]
 *
 * --once has each of them send COUNT and prints nothing: for a profiler.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_service.h"
#include "provider.h"

#define ROUNDS_MAX 15
#define STREAMS 1000
#define PAYLOAD 200

enum { FLOOR, LIBRARY, LOOP, H2LOAD, CONTENDERS };
static const char *const names[CONTENDERS] = {"floor", "library", "loop", "h2load"};

typedef struct round {
  double cpu_us, wall_us, instructions, sent, heard, records, own, other;
} round_t;

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(const round_t *rounds, int count, size_t field, int place) {
  double values[ROUNDS_MAX];
  for (int i = 0; i < count; i++)
    memcpy(&values[i], (const char *)&rounds[i] + field, sizeof values[i]);
  qsort(values, (size_t)count, sizeof *values, by_value);
  return values[place];
}
#define MEDIAN(contender, field) \
  median(all[contender], rounds, offsetof(round_t, field), rounds / 2)
#define BEST(contender, field) median(all[contender], rounds, offsetof(round_t, field), 0)
#define WORST(contender, field) median(all[contender], rounds, offsetof(round_t, field), rounds - 1)

static void zero(volatile bench_counts_t *counts) {
  counts->requests = counts->connections = counts->wire_in = counts->wire_out =
      counts->records_out = 0;
}

static round_t play(int contender, const bench_service_t *service, const provider_task_t *task) {
  volatile bench_counts_t *counts = service->counts;
  zero(counts);
  provider_task_t own = *task;
  own.loops = contender == LOOP;
  provider_figures_t figures = contender == H2LOAD  ? provider_h2load(task)
                               : contender == FLOOR ? provider_floor(task)
                                                    : provider_library(&own);
  if (figures.cpu < 0) {
    fprintf(stderr, "%s did not work%s\n", names[contender],
            contender == H2LOAD ? "; Debian has h2load in nghttp2-client" : "");
    exit(1);
  }
  while (!counts->connections) sched_yield();
  double n = (double)counts->requests, timed = (double)(task->list->count - task->warm);
  if (counts->requests != task->list->count) {
    fprintf(stderr, "%s requested %.0f, not %zu\n", names[contender], n, task->list->count);
    exit(1);
  }
  return (round_t){.cpu_us = figures.cpu / n * 1e6,
                   .wall_us = figures.wall / n * 1e6,
                   .instructions = (double)figures.instructions / n,
                   .sent = (double)counts->wire_in / n,
                   .heard = (double)counts->wire_out / n,
                   .records = n / (double)counts->records_out,
                   .own = (double)figures.own_allocations / timed,
                   .other = (double)figures.other_allocations / timed};
}

static void print(const char *answers, size_t count, round_t all[CONTENDERS][ROUNDS_MAX],
                  int rounds, bool json) {
  double h2load = MEDIAN(H2LOAD, cpu_us), floor = MEDIAN(FLOOR, cpu_us);
  if (!json)
    printf(
        "\nanswers %s, %zu notifications, %d rounds: median, best and worst\n"
        "%-8s %7s %8s %8s %7s %8s %6s %12s %9s %10s %8s %11s %11s\n",
        answers, count, rounds, "", "CPU us", "x floor", "x h2load", "best us", "worst us",
        "1000/s", "instructions", "sent B", "received B", "a record", "own mallocs", "all mallocs");
  for (int contender = 0; contender < CONTENDERS; contender++) {
    const double cpu = MEDIAN(contender, cpu_us);
    if (json) {
      printf("{\"answers\":\"%s\",\"contender\":\"%s\",\"cpu_us\":%.4f,\"of_h2load\":%.3f,",
             answers, names[contender], cpu, cpu / h2load);
      printf("\"of_floor\":%.3f,\"worst_us\":%.4f,", cpu / floor, WORST(contender, cpu_us));
      printf("\"best_us\":%.4f,\"best_of_h2load\":%.3f,\"thousand_per_second\":%.0f,",
             BEST(contender, cpu_us), BEST(contender, cpu_us) / BEST(H2LOAD, cpu_us),
             1000 / MEDIAN(contender, wall_us));
      printf("\"instructions\":%.0f,\"sent_bytes\":%.1f,\"received_bytes\":%.1f,",
             MEDIAN(contender, instructions), MEDIAN(contender, sent), MEDIAN(contender, heard));
      printf("\"own_allocations\":%.4f,\"all_allocations\":%.4f}\n", MEDIAN(contender, own),
             MEDIAN(contender, own) + MEDIAN(contender, other));
      continue;
    }
    printf("%-8s %7.2f %8.2f %8.2f %7.2f %8.2f %6.0f ", names[contender], cpu, cpu / floor,
           cpu / h2load, BEST(contender, cpu_us), WORST(contender, cpu_us),
           1000 / MEDIAN(contender, wall_us));
    if (MEDIAN(contender, instructions) > 0) {
      printf("%12.0f ", MEDIAN(contender, instructions));
    } else {
      printf("%12s ", "-");
    }
    printf("%9.1f %10.1f %8.1f ", MEDIAN(contender, sent), MEDIAN(contender, heard),
           MEDIAN(contender, records));
    if (contender == LIBRARY || contender == LOOP)
      printf("%11.4f %11.4f", MEDIAN(contender, own),
             MEDIAN(contender, own) + MEDIAN(contender, other));
    putchar('\n');
  }
  if (!json)
    printf("the loop's CPU time is %.2f of the library's, at best %.2f\n",
           MEDIAN(LOOP, cpu_us) / MEDIAN(LIBRARY, cpu_us),
           BEST(LOOP, cpu_us) / BEST(LIBRARY, cpu_us));
  fflush(stdout);
}

static void measure(const identities_t *identities, bool trickles, size_t count, int rounds,
                    bool json) {
  static round_t all[CONTENDERS][ROUNDS_MAX];
  const bench_service_options_t options = {.processor = 1,
                                           .streams = STREAMS,
                                           .window = 16 << 20,
                                           .credit = 0.5,
                                           .batch = trickles ? 1 : STREAMS / 2,
                                           .trickles = trickles};
  const char *answers = trickles ? "one by one" : "in batches";
  bench_service_t service = bench_service_start(identities, &options);
  list_t list = list_make(count, PAYLOAD);
  char authority[32];
  snprintf(authority, sizeof authority, "127.0.0.1:%u", service.port);
  floor_frames_t frames = floor_http2(&list, authority, PROVIDER_TOPIC);
  const provider_task_t task = {.identities = identities,
                                .list = &list,
                                .frames = &frames,
                                .port = service.port,
                                .streams = STREAMS,
                                .warm = count / 10};
  for (int round = -1; round < rounds; round++) {
    for (int contender = 0; contender < CONTENDERS; contender++) {
      round_t played = play(contender, &service, &task);
      if (round >= 0) all[contender][round] = played;
    }
  }
  if (rounds) print(answers, count, all, rounds, json);
  floor_free(&frames);
  list_free(&list);
  bench_service_stop(&service);
}

int main(int argc, char **argv) {
  bool json = false;
  size_t count = 200000;
  int rounds = ROUNDS_MAX;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--quick")) {
      count = 50000, rounds = 5;
    } else if (!strcmp(argv[i], "--json")) {
      json = true;
    } else if (!strcmp(argv[i], "--once") && i + 1 < argc) {
      count = strtoul(argv[++i], NULL, 10), rounds = 0;
    } else {
      count = 0;
    }
  }
  if (!count) {
    fprintf(stderr, "usage: %s [--quick] [--json] [--once COUNT]\n", argv[0]);
    return 2;
  }
  const identities_t *identities = identities_make();
  for (int trickles = 0; trickles < 2; trickles++)
    measure(identities, trickles, count, rounds, json);
  return 0;
}
