/* c-ares for the core: functions for its statuses, which are macros or an enumeration depending on
   the version, and one epoll descriptor for its sockets. */
#ifndef APNS_CARES_SHIM_H
#define APNS_CARES_SHIM_H

#include <ares.h>
#include <errno.h>
#include <netdb.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static inline int cares_is_success(int status) { return status == ARES_SUCCESS; }
static inline int cares_is_out_of_memory(int status) { return status == ARES_ENOMEM; }
static inline int cares_is_timeout(int status) { return status == ARES_ETIMEOUT; }
static inline int cares_is_cancelled(int status) { return status == ARES_ECANCELLED; }

static inline int cares_no_data(void) { return ARES_ENODATA; }
static inline int cares_bad_name(void) { return ARES_EBADNAME; }

/* A name server answered, but has no address for the name; or the name is malformed. */
static inline int cares_is_unknown_name(int status) {
  return status == ARES_ENOTFOUND || status == ARES_ENODATA || status == ARES_EBADNAME;
}

/* A channel that reports its sockets to `report`. The system's files configure the rest. */
static inline int cares_make(ares_channel *channel, ares_sock_state_cb report, void *state) {
  struct ares_options options = {0};
  options.sock_state_cb = report;
  options.sock_state_cb_data = state;
  return ares_init_options(channel, &options, ARES_OPT_SOCK_STATE_CB);
}

/* Resolves every address of the name, for stream sockets. */
static inline void cares_resolve(ares_channel channel, const char *name,
                                 ares_addrinfo_callback report, void *state) {
  struct ares_addrinfo_hints hints = {0};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  ares_getaddrinfo(channel, name, NULL, &hints, report, state);
}

static inline int cares_epoll(void) { return epoll_create1(EPOLL_CLOEXEC); }

/* Watches a socket for reading or writing, or stops watching it. Returns 0 or errno. */
static inline int cares_watch(int epoll, ares_socket_t descriptor, int reading, int writing) {
  struct epoll_event event = {0};
  event.events = (reading ? EPOLLIN : 0) | (writing ? EPOLLOUT : 0);
  event.data.fd = descriptor;
  if (!event.events) {
    epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, &event);
    return 0;
  }
  if (!epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &event)) return 0;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) ? errno : 0;
}

/* Lets c-ares read, write and check its timeouts. Not 0 if there was something to read. */
static inline int cares_process(ares_channel channel, int epoll) {
  int is_read = 0;
  struct epoll_event ready[16];
  int count = epoll_wait(epoll, ready, sizeof ready / sizeof *ready, 0);
  if (count <= 0) ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  for (int index = 0; index < count; index++) {
    const int descriptor = ready[index].data.fd, is_broken = EPOLLERR | EPOLLHUP;
    const int events = (int)ready[index].events;
    is_read |= events & EPOLLIN;
    ares_process_fd(channel, events & (EPOLLIN | is_broken) ? descriptor : ARES_SOCKET_BAD,
                    events & (EPOLLOUT | is_broken) ? descriptor : ARES_SOCKET_BAD);
  }
  return is_read;
}

/* Nanoseconds until c-ares retries or times out; negative if no query is pending. */
static inline int64_t cares_due_ns(ares_channel channel) {
  struct timeval left;
  if (!ares_timeout(channel, NULL, &left)) return -1;
  return (int64_t)left.tv_sec * 1000000000 + (int64_t)left.tv_usec * 1000;
}

#endif
