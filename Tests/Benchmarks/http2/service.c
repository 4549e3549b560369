/*
 * The service of these benchmarks as a separate program: prints its port and certificates, answers
 * 200 to all until its standard input ends, and then prints how many requests it received:
 * apns_http2_service [OPTION...] [DELAY_MS [FILE [times]]]. DELAY_MS delays each response; FILE
 * gets the device of each request, a line each; with "times" after the response, and when both
 * were.
 *
 *   --address A   listens there; default: loopback
 *   --streams N   of a connection; default: 4000
 *   --batch N     without DELAY_MS, responses wait for this many, or until no request comes for a
 *                 millisecond; default: 500
 *   --numbers N   tokens end with a number below N in hex: prints also how many different devices
 *                 there were, and the sum of their numbers; instead of FILE
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench_service.h"

static bool read_options(int count, char **words, bench_service_options_t *options) {
  static const struct option names[] = {{"address", required_argument, NULL, 'a'},
                                        {"streams", required_argument, NULL, 's'},
                                        {"batch", required_argument, NULL, 'b'},
                                        {"numbers", required_argument, NULL, 'n'},
                                        {0}};
  int name;
  while ((name = getopt_long(count, words, "", names, NULL)) != -1) {
    if (name == 'a') options->address = optarg;
    if (name == 's') options->streams = (uint32_t)atoi(optarg);
    if (name == 'b') options->batch = (uint32_t)atoi(optarg);
    if (name == 'n') options->numbers = strtoull(optarg, NULL, 10);
    if (name == '?') return false;
  }
  if (optind < count) options->delay_ms = (uint32_t)atoi(words[optind]);
  if (optind + 1 < count) options->devices = words[optind + 1];
  options->times = optind + 2 < count;
  return !(options->numbers && options->devices);
}

int main(int count, char **words) {
  bench_service_options_t options = {.processor = -1,
                                     .streams = 4000,
                                     .window = 16 << 20,
                                     .credit = 0.5,
                                     .batch = 500,
                                     .asks_for_certificate = true};
  if (!read_options(count, words, &options)) return 2;
  const identities_t *identities = identities_make();
  bench_service_t service = bench_service_start(identities, &options);
  printf("{\"http2_port\": %d, \"ca\": \"%s\", \"provider\": \"%s\"}\n", service.port,
         identities->root.certificate_file, identities->provider.together_file);
  fflush(stdout);
  char rest[64];
  while (read(STDIN_FILENO, rest, sizeof rest) > 0) continue;
  printf("{\"requests\": %llu", (unsigned long long)service.counts->requests);
  if (options.numbers)
    printf(", \"devices\": %llu, \"sum\": %llu", (unsigned long long)service.counts->devices,
           (unsigned long long)service.counts->sum);
  printf("}\n");
  bench_service_stop(&service);
}
