#include "process.h"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Programs that this process starts, such as a backtrace writer, would inherit its ports. SwiftNIO
   opens sockets without SOCK_CLOEXEC and has no option for it, and marking them afterwards leaves a
   gap. These functions therefore replace libc's in this process. */
int socket(int family, int kind, int protocol) {
  return (int)syscall(SYS_socket, family, kind | SOCK_CLOEXEC, protocol);
}

int accept4(int listener, struct sockaddr *restrict address, socklen_t *restrict size, int flags) {
  return (int)syscall(SYS_accept4, listener, address, size, flags | SOCK_CLOEXEC);
}

int accept(int listener, struct sockaddr *restrict address, socklen_t *restrict size) {
  return accept4(listener, address, size, 0);
}

int epoll_create(int size) {
  (void)size;
  return epoll_create1(EPOLL_CLOEXEC);
}

void process_forbid_dumps(void) {
  /* A program that receives dumps from the kernel may ignore the limit, so both. */
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L);
}

void process_end_at_abort(void) {
  signal(SIGABRT, SIG_DFL);
  signal(SIGQUIT, SIG_DFL);
}

int process_follow(int process) {
#ifdef SYS_pidfd_open
  return (int)syscall(SYS_pidfd_open, process, 0);
#else
  (void)process;
  return -1;
#endif
}

void process_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0L, 0L, 0L); }
