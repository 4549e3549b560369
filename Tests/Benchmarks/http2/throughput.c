/*
 * The throughput of a session over a long line, compared with what streams and flow-control windows
 * allow.
 *
 *   apns_http2_throughput [--quick] [--json]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_service.h"
#include "provider.h"
#include "relay.h"

#define ROUND_TRIP_MS 100
#define PAYLOAD 200
/* The service gives credit when half of the window is used, so it may hold back up to that half. */
#define CREDIT 0.5

static double measure(const identities_t *identities, uint32_t window, uint32_t streams,
                      uint32_t connections, bool json) {
  const bench_service_options_t options = {
      .processor = -1, .streams = streams, .window = window, .credit = CREDIT, .batch = 1};
  const double round_trip = ROUND_TRIP_MS / 1000.0;
  double by_streams = streams / round_trip;
  double by_window = CREDIT * window / (PAYLOAD * round_trip);
  double allowed = connections * (by_streams < by_window ? by_streams : by_window);
  bench_service_t service = bench_service_start(identities, &options);
  relay_t relay = relay_start(service.port, ROUND_TRIP_MS);
  /* Three seconds open all connections; the next three are measured. */
  size_t warm = (size_t)(3 * allowed), count = warm + (size_t)(3 * allowed);
  list_t list = list_make(count, PAYLOAD);
  const provider_task_t task = {.identities = identities,
                                .list = &list,
                                .port = relay.port,
                                .connections = connections,
                                .window_bytes = 64 << 20,
                                .warm = warm};
  provider_figures_t figures = provider_library(&task);
  double rate = (double)(count - warm) / figures.sending;
  if (json) {
    printf(
        "{\"window\":%u,\"streams\":%u,\"connections\":%u,\"made\":%llu,\"allowed\":%.0f,"
        "\"per_second\":%.0f,\"share\":%.3f}\n",
        window, streams, connections, (unsigned long long)figures.connects, allowed, rate,
        rate / allowed);
  } else {
    printf("%9u %8u %12u %5llu %10.0f %10.0f %7.0f %%\n", window, streams, connections,
           (unsigned long long)figures.connects, allowed, rate, 100 * rate / allowed);
  }
  fflush(stdout);
  list_free(&list);
  relay_stop(&relay);
  bench_service_stop(&service);
  return rate / allowed;
}

int main(int argc, char **argv) {
  bool quick = false, json = false;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--quick")) {
      quick = true;
    } else if (!strcmp(argv[i], "--json")) {
      json = true;
    } else {
      fprintf(stderr, "usage: %s [--quick] [--json]\n", argv[0]);
      return 2;
    }
  }
  static const uint32_t windows[] = {65535, 1 << 20}, streams[] = {100, 500, 1500},
                        connections[] = {1, 2, 4};
  const identities_t *identities = identities_make();
  double least = 1e9;
  if (!json)
    printf(
        "payload of %d bytes, %d ms round trip, credit given at %.1f windows\n"
        "%9s %8s %12s %5s %10s %10s %9s\n",
        PAYLOAD, ROUND_TRIP_MS, CREDIT, "window B", "streams", "connections", "made", "allowed/s",
        "sent/s", "share");
  for (size_t w = 0; w < 2; w++)
    for (size_t s = 0; s < 3; s++)
      for (size_t c = 0; c < 3; c++) {
        if (quick && (s == 1 || c == 1)) continue;
        double share = measure(identities, windows[w], streams[s], connections[c], json);
        if (share < least) least = share;
      }
  if (least < 0.9) fprintf(stderr, "less than 90 %% of the allowed rate\n");
  return least < 0.9;
}
