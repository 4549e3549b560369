/* libc for the core, and functions for its macros and variadic functions. */
#ifndef APNS_CSYSTEM_SHIM_H
#define APNS_CSYSTEM_SHIM_H

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* glibc has two versions of strerror_r. The headers are shared with other modules, so _GNU_SOURCE,
   which selects one, is not defined here. */
static inline const char *csystem_error_text(int code, char *buffer, size_t size) {
#ifdef __USE_GNU
  return strerror_r(code, buffer, size);
#else
  return strerror_r(code, buffer, size) ? "unknown error" : buffer;
#endif
}

/* A started program inherits no descriptors from this number on. Before glibc 2.34 it inherits
   those without CLOEXEC. */
#pragma weak posix_spawn_file_actions_addclosefrom_np
int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
static inline int csystem_spawn_close_from(posix_spawn_file_actions_t *actions, int from) {
  if (!posix_spawn_file_actions_addclosefrom_np) return 0;
  return posix_spawn_file_actions_addclosefrom_np(actions, from);
}

/* memmem, which is a GNU extension. */
static inline int csystem_contains(const void *bytes, size_t count, const void *part,
                                   size_t part_count) {
  const char *from = (const char *)bytes;
  for (; count >= part_count; from++, count--)
    if (!memcmp(from, part, part_count)) return 1;
  return 0;
}

/* A memset that the compiler keeps even if the bytes are never read again. */
static inline void csystem_wipe(void *bytes, size_t count) {
  memset(bytes, 0, count);
  __asm__ __volatile__("" : : "r"(bytes) : "memory");
}

/* 1 if memory has run out. The compiler cannot remove the malloc and free. */
__attribute__((noinline)) static int csystem_is_exhausted(void) {
  void *piece = malloc(4096);
  __asm__ __volatile__("" : : "r"(piece) : "memory");
  free(piece);
  return !piece;
}

/* Writes a line to standard error, unbuffered. */
static inline void csystem_log(const char *peer, const char *words) {
  dprintf(STDERR_FILENO, "apns: %s: %s\n", peer, words);
}

static inline int csystem_errno(void) { return errno; }
static inline void csystem_set_errno(int value) { errno = value; }

/* Fixed prototypes for variadic functions. */
static inline int csystem_open_for_reading(const char *path) {
  return open(path, O_RDONLY | O_CLOEXEC);
}

static inline int csystem_open_directory(const char *path) {
  return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}
/* The name of the next entry, valid until the next call; NULL after the last. */
static inline const char *csystem_next_name(DIR *directory) {
  const struct dirent *entry = readdir(directory);
  return entry ? entry->d_name : NULL;
}
/* Modes to open a file of a directory: to read, to lock, or to create. Links are not followed, and
   opening a FIFO does not block. */
enum {
  CSYSTEM_PRIVATE = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
  CSYSTEM_TO_READ = CSYSTEM_PRIVATE | O_RDONLY,
  CSYSTEM_TO_LOCK = CSYSTEM_PRIVATE | O_RDWR | O_CREAT,
  CSYSTEM_TO_MAKE = CSYSTEM_PRIVATE | O_WRONLY | O_CREAT | O_EXCL
};
static inline int csystem_open_private(int directory, const char *name, int how) {
  return openat(directory, name, how, 0600);
}

/* Fills in an open file's metadata; 0 on failure. Uses the system call, because glibc exports fstat
   only since 2.33; on 64-bit systems the kernel has the same structure. */
typedef struct csystem_file {
  uint32_t owner, permissions;
  int is_regular, is_directory;
  int64_t size;
} csystem_file_t;
static inline int csystem_inspect(int descriptor, csystem_file_t *file) {
  struct stat found;
#if defined(__LP64__) && defined(SYS_fstat)
  if (syscall(SYS_fstat, descriptor, &found)) return 0;
#else
  if (fstat(descriptor, &found)) return 0;
#endif
  file->owner = found.st_uid;
  file->permissions = found.st_mode & 07777;
  file->is_regular = S_ISREG(found.st_mode);
  file->is_directory = S_ISDIR(found.st_mode);
  file->size = found.st_size;
  return 1;
}

/* getenv for programs without setuid, declared by glibc only with _GNU_SOURCE. */
char *secure_getenv(const char *name);

/* Splits the path of a shared provider token into its directory, its name and that of its lock,
   each with a NUL; to be freed. Without a name it is that of the key; NULL: the user's directory.
 */
static inline char *csystem_token_names(const char *path, int is_directory, const char *team,
                                        const char *key) {
  char usual[32], own[48];
  if (!path) {
    snprintf(usual, sizeof usual, "/run/user/%u", (unsigned)geteuid());
    path = usual;
  }
  const char *slash = is_directory ? path + strlen(path) : strrchr(path, '/');
  const char *name = slash ? slash + (*slash == '/') : path;
  if (!*name) {
    snprintf(own, sizeof own, "apns-%s-%s.token", team, key);
    name = own;
  }
  /* "/name" is in "/", and "name" in ".". */
  const int length = slash && slash > path ? (int)(slash - path) : 1;
  const size_t size = (size_t)length + 2 * strlen(name) + 8;
  char *names = (char *)malloc(size);
  if (names)
    snprintf(names, size, "%.*s%c%s%c%s.lock", length, slash ? path : ".", 0, name, 0, name);
  return names;
}

/* Takes a lock, which the kernel releases when the process ends: 1 if taken, 0 if another process
   holds it, -1 if the file system has no locks. */
static inline int csystem_try_lock(int descriptor) {
  if (!flock(descriptor, LOCK_EX | LOCK_NB)) return 1;
  return errno == EWOULDBLOCK ? 0 : -1;
}
/* close() is not enough: a child may have a copy of the descriptor. */
static inline void csystem_unlock(int descriptor) { flock(descriptor, LOCK_UN); }

/* A TCP socket that is non-blocking and CLOEXEC. */
static inline int csystem_tcp_socket(int family) {
  return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
}

/* send and recv that neither block nor raise SIGPIPE. */
static inline ssize_t csystem_send(int descriptor, const void *bytes, size_t count) {
  return send(descriptor, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
}
static inline ssize_t csystem_receive(int descriptor, void *bytes, size_t count) {
  return recv(descriptor, bytes, count, MSG_DONTWAIT);
}

/* Discards the bytes that a socket has received, up to about `max`. */
static inline void csystem_discard(int descriptor, size_t max) {
  char bytes[16384];
  ssize_t count = 1;
  for (size_t taken = 0; taken < max && count > 0; taken += (size_t)count)
    count = recv(descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
}

/* glibc's connect takes a transparent union, which Swift does not support. */
static inline int csystem_connect(int descriptor, const void *address, socklen_t size) {
  return connect(descriptor, (const struct sockaddr *)address, size);
}
static inline int csystem_peer_address(int descriptor, void *address, socklen_t *size) {
  return getpeername(descriptor, (struct sockaddr *)address, size);
}

/* The numeric address without its port; empty on failure. */
static inline void csystem_address_text(const void *address, char *text, size_t size) {
  const sa_family_t family = ((const struct sockaddr *)address)->sa_family;
  const void *number = family == AF_INET6
                           ? (const void *)&((const struct sockaddr_in6 *)address)->sin6_addr
                           : (const void *)&((const struct sockaddr_in *)address)->sin_addr;
  if (!inet_ntop(family, number, text, (socklen_t)size) && size > 0) text[0] = 0;
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

/* Parses a numeric address, which need not end with a NUL. Returns the size of the result; 0 if it
   is not an address. */
static inline socklen_t csystem_parse_address(const void *text, size_t length,
                                              struct sockaddr_storage *address) {
  char copy[INET6_ADDRSTRLEN];
  if (length == 0 || length >= sizeof copy || memchr(text, 0, length)) return 0;
  memcpy(copy, text, length);
  copy[length] = 0;
  memset(address, 0, sizeof *address);
  struct sockaddr_in *ipv4 = (struct sockaddr_in *)address;
  struct sockaddr_in6 *ipv6 = (struct sockaddr_in6 *)address;
  if (inet_pton(AF_INET, copy, &ipv4->sin_addr) == 1) {
    ipv4->sin_family = AF_INET;
    return sizeof *ipv4;
  }
  if (inet_pton(AF_INET6, copy, &ipv6->sin6_addr) != 1) return 0;
  ipv6->sin6_family = AF_INET6;
  return sizeof *ipv6;
}

/* The error of a connection attempt; 0 if it succeeded. */
static inline int csystem_socket_error(int descriptor) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &value, &size) ? errno : value;
}

/* epoll without its union. `events` are those of poll(), which have the same numbers. */
static inline int csystem_epoll(void) { return epoll_create1(EPOLL_CLOEXEC); }
static inline int csystem_epoll_add(int epoll, int descriptor, int16_t events, uint32_t number) {
  struct epoll_event event = {.events = (uint16_t)events, .data = {.u32 = number}};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}
static inline int csystem_epoll_change(int epoll, int descriptor, int16_t events, uint32_t number) {
  struct epoll_event event = {.events = (uint16_t)events, .data = {.u32 = number}};
  return epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event);
}
static inline void csystem_epoll_remove(int epoll, int descriptor) {
  struct epoll_event event = {.events = 0};
  epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event);
}
/* Descriptors that are ready now, each with its number. Further ones are reported by the next call.
 */
enum { csystem_max_ready = 64 };
struct csystem_ready {
  uint32_t number;
  int16_t events;
};
static inline int csystem_epoll_look(int epoll, struct csystem_ready *ready, int max) {
  struct epoll_event found[csystem_max_ready];
  int count = epoll_wait(epoll, found, max < csystem_max_ready ? max : csystem_max_ready, 0);
  for (int index = 0; index < count; index++) {
    ready[index].number = found[index].data.u32;
    ready[index].events = (int16_t)found[index].events;
  }
  return count;
}

/* A descriptor that becomes readable at a monotonic time, and a descriptor that another thread
   makes readable. Reading resets both. */
static inline int csystem_timer(void) {
  return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}
static inline void csystem_timer_set(int timer, int64_t nanoseconds) {
  struct itimerspec when = {
      .it_value = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000}};
  timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
}
static inline int csystem_wakeup(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
/* Keeps errno, so that a signal handler may call it. */
static inline void csystem_wake(int wakeup) {
  uint64_t one = 1;
  int before = errno;
  ssize_t written = write(wakeup, &one, sizeof one);
  (void)written;
  errno = before;
}
static inline void csystem_empty(int descriptor) {
  uint64_t count;
  ssize_t taken = read(descriptor, &count, sizeof count);
  (void)taken;
}

/* Formats and parses a number in scientific notation, with the locale's decimal point. */
static inline int csystem_format_double(char *text, size_t size, int digits, double value) {
  return snprintf(text, size, "%.*e", digits - 1, value);
}
static inline double csystem_parse_double(const char *text) { return strtod(text, NULL); }

/* The name service answered, but has no address for the name. The numbers are EAI_NODATA and
   EAI_ADDRFAMILY, which glibc only defines with _GNU_SOURCE. */
static inline int csystem_is_unknown_name(int code) {
  return code == EAI_NONAME || code == -5 || code == -9;
}

/* Functions, because Swift imports glibc's enumerations as types. */
static inline int csystem_sock_stream(void) { return SOCK_STREAM; }
static inline int csystem_shut_wr(void) { return SHUT_WR; }

static inline int64_t csystem_clock_ns(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
static inline int64_t csystem_monotonic_ns(void) { return csystem_clock_ns(CLOCK_MONOTONIC); }
/* The same clock as of the last tick, for a fifth of the cost. */
static inline int64_t csystem_monotonic_lately_ns(void) {
  return csystem_clock_ns(CLOCK_MONOTONIC_COARSE);
}

static inline int64_t csystem_unix_seconds(void) { return time(NULL); }

/* Sixteen secret random bytes that the kernel gave this process at its start: no file to open, and
   no failure. libc derives its stack guards from them, so use them only as the key of a hash. */
static inline void csystem_process_secret(uint64_t *one, uint64_t *other) {
  const char *bytes = (const char *)getauxval(AT_RANDOM);
  *one = *other = 0;
  if (!bytes) return;
  memcpy(one, bytes, sizeof *one);
  memcpy(other, bytes + sizeof *one, sizeof *other);
}

/* Atomic operations on numbers that threads share. */
static inline uint32_t csystem_atomic_load(const uint32_t *number) {
  return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}
static inline void csystem_atomic_store(uint32_t *number, uint32_t value) {
  __atomic_store_n(number, value, __ATOMIC_RELEASE);
}
/* Returns the sum. */
static inline uint32_t csystem_atomic_add(uint32_t *number, uint32_t value) {
  return __atomic_add_fetch(number, value, __ATOMIC_ACQ_REL);
}
/* 1 if it had the old value. */
static inline int csystem_atomic_replace(uint32_t *number, uint32_t old, uint32_t value) {
  return __atomic_compare_exchange_n(number, &old, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

/* Takes a lock, in short sleeps while another thread holds it: its owner releases it before it
   waits for anything. Returns 0 if this thread already holds it. */
static inline int csystem_claim(uintptr_t *owner) {
  const uintptr_t self = (uintptr_t)pthread_self();
  const struct timespec nap = {0, 20000};
  for (;;) {
    uintptr_t found = 0;
    if (__atomic_compare_exchange_n(owner, &found, self, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      return 1;
    if (found == self) return 0;
    nanosleep(&nap, NULL);
  }
}
static inline void csystem_release(uintptr_t *owner) {
  __atomic_store_n(owner, 0, __ATOMIC_RELEASE);
}

/* Sleeps for less than a second; a signal ends it. */
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

/* A page that reads as zeros in every child; NULL before Linux 4.14. */
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

/* Blocks SIGPIPE for this thread (on Linux sigprocmask is per thread) and returns what
   csystem_restore_sigpipe() has to undo. A SIGPIPE that was already pending is blocked, and is left
   for the application. */
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

/* Undoes it, after it has consumed a SIGPIPE from our own write. */
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
