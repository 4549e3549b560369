#include "relay.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench_service.h"

#define WAYS_MAX 160

/* Bytes in transit that were read together. */
typedef struct parcel {
  int64_t due; /* ns */
  size_t count, written;
  struct parcel *next;
  unsigned char bytes[];
} parcel_t;

/* One direction of a connection. */
typedef struct way {
  int from, to;
  parcel_t *first, **last;
  bool has_ended; /* input has ended */
  bool is_over;   /* output has ended */
  bool is_full;
} way_t;

static way_t ways[WAYS_MAX]; /* two per connection, next to each other */
static int way_count;
static int64_t delay;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void take_in(way_t *way) {
  static unsigned char buffer[256 << 10];
  ssize_t count;
  while ((count = recv(way->from, buffer, sizeof buffer, MSG_DONTWAIT)) > 0) {
    parcel_t *parcel = malloc(sizeof *parcel + (size_t)count);
    if (!parcel) abort();
    *parcel = (parcel_t){.due = now() + delay, .count = (size_t)count};
    memcpy(parcel->bytes, buffer, (size_t)count);
    *way->last = parcel;
    way->last = &parcel->next;
  }
  if (count == 0 || (errno != EAGAIN && errno != EINTR)) way->has_ended = true;
}

static void let_out(way_t *way) {
  way->is_full = false;
  while (way->first && way->first->due <= now()) {
    parcel_t *parcel = way->first;
    ssize_t count = send(way->to, parcel->bytes + parcel->written, parcel->count - parcel->written,
                         MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) {
      way->is_full = errno == EAGAIN;
      if (!way->is_full) way->is_over = way->has_ended = true;
      return;
    }
    parcel->written += (size_t)count;
    if (parcel->written < parcel->count) continue;
    way->first = parcel->next;
    if (!way->first) way->last = &way->first;
    free(parcel);
  }
  if (way->has_ended && !way->first && !way->is_over) {
    shutdown(way->to, SHUT_WR);
    way->is_over = true;
  }
}

static void accept_one(int listener, uint16_t to_port) {
  struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(to_port)};
  int near = accept(listener, NULL, NULL), far = socket(AF_INET, SOCK_STREAM, 0), on = 1;
  if (near < 0 || way_count == WAYS_MAX ||
      connect(far, (struct sockaddr *)&address, sizeof address)) {
    perror("relay");
    _exit(1);
  }
  setsockopt(near, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(far, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  for (int end = 0; end < 2; end++) {
    way_t *way = &ways[way_count++];
    *way = (way_t){.from = end ? far : near, .to = end ? near : far};
    way->last = &way->first;
  }
}

static void relay_all(int listener, uint16_t to_port) {
  for (;;) {
    struct pollfd watched[1 + WAYS_MAX] = {{.fd = listener, .events = POLLIN}};
    int64_t next = INT64_MAX;
    for (int index = 0; index < way_count; index++) {
      /* The socket read here is written by the other direction. */
      bool is_full = ways[index ^ 1].is_full;
      watched[1 + index].fd = ways[index].has_ended && !is_full ? -1 : ways[index].from;
      watched[1 + index].events =
          (short)((ways[index].has_ended ? 0 : POLLIN) | (is_full ? POLLOUT : 0));
      if (ways[index].first && !ways[index].is_full && ways[index].first->due < next)
        next = ways[index].first->due;
    }
    int64_t left = next - now();
    if (left < 0) left = 0;
    struct timespec timeout = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
    ppoll(watched, (nfds_t)(1 + way_count), next == INT64_MAX ? NULL : &timeout, NULL);
    for (int index = 0; index < way_count; index++) {
      if (!ways[index].has_ended && watched[1 + index].revents & (POLLIN | POLLHUP | POLLERR))
        take_in(&ways[index]);
      let_out(&ways[index]);
    }
    for (int index = way_count - 2; index >= 0; index -= 2) {
      if (!ways[index].is_over || !ways[index + 1].is_over) continue;
      close(ways[index].from), close(ways[index].to);
      for (int end = 0; end < 2; end++) {
        way_t *moved = &ways[way_count - 2 + end];
        ways[index + end] = *moved;
        if (!moved->first) ways[index + end].last = &ways[index + end].first;
      }
      way_count -= 2;
    }
    if (watched[0].revents) accept_one(listener, to_port);
  }
}

relay_t relay_start(uint16_t to_port, uint32_t round_trip_ms) {
  relay_t relay = {0};
  int listener = bench_listen(NULL, &relay.port);
  relay.process = fork();
  if (relay.process) {
    close(listener);
    return relay;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  delay = (int64_t)round_trip_ms * 1000000 / 2;
  relay_all(listener, to_port);
  _exit(0);
}

void relay_stop(relay_t *relay) {
  kill(relay->process, SIGKILL);
  waitpid(relay->process, NULL, 0);
}
