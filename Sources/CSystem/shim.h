/* The door to libc: what the core uses of it, and what is only a macro or variadic there. */
#ifndef APNS_CSYSTEM_SHIM_H
#define APNS_CSYSTEM_SHIM_H

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* strerror_r, of which glibc has two: whether _GNU_SOURCE is defined is for the
   headers that other modules share with us to decide, so it is not defined here. */
static inline const char *csystem_error_text(int code, char *buffer, size_t size) {
#ifdef __USE_GNU
  return strerror_r(code, buffer, size);
#else
  return strerror_r(code, buffer, size) ? "unknown error" : buffer;
#endif
}

/* memmem, which is GNU's. */
static inline int csystem_contains(const void *bytes, size_t count, const void *part,
                                   size_t part_count) {
  const char *from = (const char *)bytes;
  for (; count >= part_count; from++, count--)
    if (!memcmp(from, part, part_count)) return 1;
  return 0;
}

/* memset that the compiler does not leave out where nobody reads the bytes any more. */
static inline void csystem_wipe(void *bytes, size_t count) {
  memset(bytes, 0, count);
  __asm__ __volatile__("" : : "r"(bytes) : "memory");
}

/* 1 where there is no memory at the moment. Not left out by a compiler that knows what malloc
   and free come to together. */
__attribute__((noinline)) static int csystem_is_exhausted(void) {
  void *piece = malloc(4096);
  __asm__ __volatile__("" : : "r"(piece) : "memory");
  free(piece);
  return !piece;
}

static inline int csystem_errno(void) { return errno; }
static inline void csystem_set_errno(int value) { errno = value; }

/* Fixed prototypes for what is variadic. */
static inline int csystem_open_for_reading(const char *path) {
  return open(path, O_RDONLY | O_CLOEXEC);
}

/* A TCP socket that waits for nothing by itself and is not inherited by exec. */
static inline int csystem_tcp_socket(int family) {
  return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
}

/* send and recv that neither wait nor raise SIGPIPE. */
static inline ssize_t csystem_send(int descriptor, const void *bytes, size_t count) {
  return send(descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}
static inline ssize_t csystem_receive(int descriptor, void *bytes, size_t count) {
  return recv(descriptor, bytes, count, MSG_DONTWAIT);
}

/* Takes bytes that nobody wants off a socket: all that are there, and so many at most. */
static inline void csystem_discard(int descriptor, size_t most) {
  char bytes[4096];
  ssize_t count = 1;
  for (size_t taken = 0; taken < most && count > 0; taken += (size_t)count)
    count = recv(descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
}

/* glibc's connect takes a transparent union, which Swift does not know. */
static inline int csystem_connect(int descriptor, const void *address, socklen_t size) {
  return connect(descriptor, (const struct sockaddr *)address, size);
}
static inline int csystem_peer_address(int descriptor, void *address, socklen_t *size) {
  return getpeername(descriptor, (struct sockaddr *)address, size);
}

static inline int csystem_set(int descriptor, int level, int option, int value) {
  return setsockopt(descriptor, level, option, &value, sizeof value);
}

static inline int csystem_enable(int descriptor, int level, int option) {
  return csystem_set(descriptor, level, option, 1);
}

static inline void csystem_set_port(void *address, uint16_t port) {
  sa_family_t family = ((struct sockaddr *)address)->sa_family;
  if (family == AF_INET) ((struct sockaddr_in *)address)->sin_port = htons(port);
  if (family == AF_INET6) ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
}

/* The error a connection attempt left behind, 0 when it succeeded. */
static inline int csystem_socket_error(int descriptor) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &value, &size) ? errno : value;
}

/* A number in scientific notation, with the locale's decimal point, and back. */
static inline int csystem_format_double(char *text, size_t size, int digits, double value) {
  return snprintf(text, size, "%.*e", digits - 1, value);
}
static inline double csystem_parse_double(const char *text) { return strtod(text, NULL); }

/* Enumerations in glibc, which Swift would import as types of their own. */
/* The name service answered, and has no address for the name. The numbers are EAI_NODATA and
   EAI_ADDRFAMILY, which glibc only names with _GNU_SOURCE. */
static inline int csystem_is_unknown_name(int code) {
  return code == EAI_NONAME || code == -5 || code == -9;
}

static inline int csystem_sock_stream(void) { return SOCK_STREAM; }
static inline int csystem_shut_wr(void) { return SHUT_WR; }

static inline int64_t csystem_monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The same clock in seconds, as of the last tick: for a fifth of the time it takes. */
static inline uint32_t csystem_monotonic_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint32_t)now.tv_sec;
}

static inline int64_t csystem_unix_seconds(void) { return time(NULL); }

/* Sixteen random bytes that the kernel gave this process when it began, unknown outside: no
   file to open and nothing to fail. libc's own guards are made of them, so they are only ever
   the key of a hash. */
static inline void csystem_process_secret(uint64_t *one, uint64_t *other) {
  const char *bytes = (const char *)getauxval(AT_RANDOM);
  *one = *other = 0;
  if (!bytes) return;
  memcpy(one, bytes, sizeof *one);
  memcpy(other, bytes + sizeof *one, sizeof *other);
}

/* Numbers that several threads read and write. */
static inline uint32_t csystem_atomic_load(const uint32_t *number) {
  return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}
static inline void csystem_atomic_store(uint32_t *number, uint32_t value) {
  __atomic_store_n(number, value, __ATOMIC_RELEASE);
}
/* What it came to. */
static inline uint32_t csystem_atomic_add(uint32_t *number, uint32_t value) {
  return __atomic_add_fetch(number, value, __ATOMIC_ACQ_REL);
}
/* 1 where it had the old value. */
static inline int csystem_atomic_replace(uint32_t *number, uint32_t old, uint32_t value) {
  return __atomic_compare_exchange_n(number, &old, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Less than a second; a signal ends it. */
static inline void csystem_pause(int64_t ns) {
  const struct timespec time = {0, (long)ns};
  nanosleep(&time, NULL);
}

#ifndef TCP_USER_TIMEOUT
#define TCP_USER_TIMEOUT 18
#endif

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

/* A page that reads as zeros in every child, or NULL where the kernel cannot (before 4.14). */
static inline void *csystem_map_wiped_on_fork(size_t size) {
  void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return NULL;
  if (madvise(page, size, MADV_WIPEONFORK)) {
    munmap(page, size);
    return NULL;
  }
  return page;
}

enum { CSYSTEM_UNBLOCK_SIGPIPE = 1, CSYSTEM_TAKE_SIGPIPE = 2 };

/* Blocks SIGPIPE for this thread (on Linux sigprocmask is the thread's) and says
   what csystem_restore_sigpipe() has to undo. One that was pending before is
   blocked already, and not ours to take. */
static inline int csystem_block_sigpipe(void) {
  sigset_t pipe_only, before, pending;
  sigemptyset(&pending);
  if (sigpending(&pending) || sigismember(&pending, SIGPIPE)) return 0;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  sigemptyset(&before);
  if (sigprocmask(SIG_BLOCK, &pipe_only, &before)) return 0;
  return sigismember(&before, SIGPIPE) ? CSYSTEM_TAKE_SIGPIPE
                                       : CSYSTEM_TAKE_SIGPIPE | CSYSTEM_UNBLOCK_SIGPIPE;
}

/* Undoes it; a SIGPIPE that our own write left pending is taken away first. */
static inline void csystem_restore_sigpipe(int undo, int has_failed) {
  sigset_t pipe_only;
  struct timespec at_once = {0, 0};
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  if (undo & CSYSTEM_TAKE_SIGPIPE && has_failed)
    while (sigtimedwait(&pipe_only, NULL, &at_once) < 0 && errno == EINTR) {
    }
  if (undo & CSYSTEM_UNBLOCK_SIGPIPE) sigprocmask(SIG_UNBLOCK, &pipe_only, NULL);
}

#endif
