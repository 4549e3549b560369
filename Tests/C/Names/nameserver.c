#include "nameserver.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include "Gateway/identity.h"

/* ---- The system ----------------------------------------------------------- */

static bool write_line(const char *path, const char *line) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  bool wrote = write(file, line, strlen(line)) == (ssize_t)strlen(line);
  close(file);
  return wrote;
}

static bool put_over(const char *path, const char *text) {
  const char *file = identities_write(strrchr(path, '/') + 1, text, strlen(text));
  return !mount(file, path, "", MS_BIND, "");
}

static bool raise_loopback(void) {
  struct ifreq request = {.ifr_name = "lo"};
  int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool is_up = !ioctl(any, SIOCGIFFLAGS, &request);
  request.ifr_flags |= IFF_UP;
  is_up = is_up && !ioctl(any, SIOCSIFFLAGS, &request);
  close(any);
  return is_up;
}

bool nameserver_enter(void) {
  char users[64], groups[64];
  snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
  snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
  return !unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) &&
         write_line("/proc/self/setgroups", "deny") && write_line("/proc/self/uid_map", users) &&
         write_line("/proc/self/gid_map", groups) && raise_loopback() &&
         !mount("", "/", "", MS_REC | MS_PRIVATE, "") &&
         put_over("/etc/resolv.conf", "nameserver 127.0.0.1\n") &&
         put_over("/etc/hosts", "127.0.0.1 localhost\n127.0.0.1 hosted.test\n") &&
         put_over("/etc/nsswitch.conf", "hosts: files dns\n");
}

/* ---- The server ------------------------------------------------------------- */

enum { A = 1, AAAA = 28, NO_NAME = 3, FAILURE = 2, MOST_HELD = 16 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool holds;
static size_t heard, held_count;
static int server = -1, listener = -1;

typedef struct query {
  uint8_t bytes[512];
  size_t length; /* header and question, nothing after them */
  uint16_t type;
  struct sockaddr_in from;
} query_t;
static query_t held[MOST_HELD];

static bool is_named(const query_t *query, const char *label) {
  size_t length = strlen(label);
  return query->bytes[12] == length && !memcmp(query->bytes + 13, label, length);
}

/* Cuts off everything after the question; false without a question. */
static bool understand(query_t *query, size_t length) {
  size_t at = 12;
  while (at < length && query->bytes[at]) at += query->bytes[at] + 1u;
  if (at + 5 > length) return false;
  query->type = (uint16_t)(query->bytes[at + 1] << 8 | query->bytes[at + 2]);
  query->length = at + 5;
  return true;
}

static void say(const query_t *query, const uint8_t *bytes, size_t length) {
  sendto(server, bytes, length, MSG_NOSIGNAL, (const struct sockaddr *)&query->from,
         sizeof query->from);
}

/* An answer with up to `count` addresses of 127.0.0.0/8, given by their last bytes. */
static void answer(const query_t *query, int code, bool is_cut, const uint8_t *last, size_t count) {
  uint8_t bytes[1024];
  size_t length = query->length;
  memcpy(bytes, query->bytes, length);
  bytes[2] = 0x81 | (is_cut ? 2 : 0);
  bytes[3] = (uint8_t)(0x80 | code);
  memset(bytes + 6, 0, 6);
  bytes[7] = (uint8_t)count;
  for (size_t index = 0; index < count; index++) {
    const uint8_t record[] = {0xC0, 12, 0, A, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, last[index]};
    memcpy(bytes + length, record, sizeof record);
    length += sizeof record;
  }
  say(query, bytes, length);
}

static void say_rubbish(const query_t *query, int kind) {
  uint8_t bytes[600];
  size_t length = query->length;
  memcpy(bytes, query->bytes, length);
  bytes[2] = 0x81, bytes[3] = 0x80;
  const uint8_t loop[] = {0xC0, (uint8_t)length, 0, A, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1};
  const uint8_t short_address[] = {0xC0, 12, 0, A, 0, 1, 0, 0, 0, 60, 0, 2, 127, 0};
  const uint8_t beyond[] = {0xC0, 12, 0, A, 0, 1, 0, 0, 0, 60, 0xFF, 0xFF, 127};
  switch (kind) {
    case 0:
      length = 0;
      break;
    case 1:
      length = 11;
      break;
    case 2:
      memset(bytes + 2, 0xFF, sizeof bytes - 2), length = sizeof bytes;
      break;
    case 3:
      bytes[7] = 200;
      break; /* answers that are not there */
    case 4:
      memcpy(bytes + length, loop, sizeof loop), length += sizeof loop, bytes[7] = 1;
      break;
    case 5:
      memcpy(bytes + length, short_address, sizeof short_address);
      length += sizeof short_address, bytes[7] = 1;
      break;
    case 6:
      memcpy(bytes + length, beyond, sizeof beyond), length += sizeof beyond, bytes[7] = 1;
      break;
    default:
      bytes[0] ^= 0x55;
      break; /* to another question */
  }
  say(query, bytes, length);
}

static void reply(const query_t *query) {
  static size_t slow_asked;
  static const uint8_t one[] = {1}, both[] = {2, 1};
  const bool is_ipv4 = query->type == A;
  if (is_named(query, "fine") || is_named(query, "late"))
    answer(query, 0, false, one, is_ipv4);
  else if (is_named(query, "two"))
    answer(query, 0, false, both, is_ipv4 ? 2 : 0);
  else if (is_named(query, "half") && is_ipv4)
    answer(query, 0, false, one, 1);
  else if (is_named(query, "slow") && (!is_ipv4 || slow_asked++))
    answer(query, 0, false, one, is_ipv4);
  else if (is_named(query, "none"))
    answer(query, 0, false, NULL, 0);
  else if (is_named(query, "failing"))
    answer(query, FAILURE, false, NULL, 0);
  else if (is_named(query, "cut"))
    answer(query, 0, true, NULL, 0);
  else if (query->bytes[12] == 8 && !memcmp(query->bytes + 13, "rubbish", 7))
    say_rubbish(query, query->bytes[20] - '0');
  else if (!is_named(query, "half") && !is_named(query, "silent") && !is_named(query, "slow"))
    answer(query, NO_NAME, false, NULL, 0);
}

static void *serve(void *unused) {
  struct pollfd both[] = {{.fd = server, .events = POLLIN}, {.fd = listener, .events = POLLIN}};
  while (poll(both, 2, -1) >= 0) {
    if (both[1].revents) {
      const struct linger reset = {.l_onoff = 1};
      int stream = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
      setsockopt(stream, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
      close(stream);
    }
    if (!both[0].revents) continue;
    query_t query;
    socklen_t size = sizeof query.from;
    ssize_t length =
        recvfrom(server, query.bytes, sizeof query.bytes, 0, (struct sockaddr *)&query.from, &size);
    if (length < 12 || !understand(&query, (size_t)length)) continue;
    pthread_mutex_lock(&lock);
    heard++;
    bool waits = holds && is_named(&query, "late") && held_count < MOST_HELD;
    if (waits) held[held_count++] = query;
    pthread_mutex_unlock(&lock);
    if (!waits) reply(&query);
  }
  return unused;
}

void nameserver_start(void) {
  const struct sockaddr_in address = {
      .sin_family = AF_INET, .sin_port = htons(53), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  const struct sockaddr *place = (const struct sockaddr *)&address;
  pthread_t thread;
  server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (bind(server, place, sizeof address) || bind(listener, place, sizeof address) ||
      listen(listener, 16) || pthread_create(&thread, NULL, serve, NULL)) {
    perror("the name server");
    abort();
  }
  pthread_detach(thread);
}

size_t nameserver_queries(void) {
  pthread_mutex_lock(&lock);
  size_t count = heard;
  heard = 0;
  pthread_mutex_unlock(&lock);
  return count;
}

void nameserver_hold(void) {
  pthread_mutex_lock(&lock);
  holds = true;
  pthread_mutex_unlock(&lock);
}

void nameserver_release(void) {
  pthread_mutex_lock(&lock);
  holds = false;
  for (size_t index = 0; index < held_count; index++) reply(&held[index]);
  held_count = 0;
  pthread_mutex_unlock(&lock);
}
