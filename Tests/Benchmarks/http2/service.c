/*
 * The service of these benchmarks as a separate program: prints its port and certificates, answers
 * 200 to all until its standard input ends, and then prints how many requests it received:
 * apns_http2_service [DELAY_MS [FILE [times]]]. DELAY_MS delays each response; FILE gets the device
 * of each request, a line each; with "times" after the response, and when both were.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench_service.h"

int main(int count, char **words) {
  const identities_t *identities = identities_make();
  const bench_service_options_t options = {.processor = -1,
                                           .streams = 4000,
                                           .window = 16 << 20,
                                           .credit = 0.5,
                                           .batch = 500,
                                           .delay_ms = count > 1 ? (uint32_t)atoi(words[1]) : 0,
                                           .asks_for_certificate = true,
                                           .devices = count > 2 ? words[2] : NULL,
                                           .times = count > 3};
  bench_service_t service = bench_service_start(identities, &options);
  printf("{\"http2_port\": %d, \"ca\": \"%s\", \"provider\": \"%s\"}\n", service.port,
         identities->root.certificate_file, identities->provider.together_file);
  fflush(stdout);
  char rest[64];
  while (read(STDIN_FILENO, rest, sizeof rest) > 0) continue;
  printf("{\"requests\": %llu}\n", (unsigned long long)service.counts->requests);
  bench_service_stop(&service);
}
