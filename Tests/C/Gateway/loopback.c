#include "loopback.h"

#include <dirent.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union {
  struct sockaddr any;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
} address_t;

static _Atomic size_t holders;

/* Two sockets of one user may have a port together, if both say so before. */
static int bound(address_t *address, socklen_t size) {
  const int on = 1;
  int descriptor = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0 &&
      bind(descriptor, &address->any, size) == 0 &&
      getsockname(descriptor, &address->any, &size) == 0)
    return descriptor;
  close(descriptor);
  return -1;
}

int loopback_listen(bool on_ipv6, int receive_buffer, uint16_t *port_out) {
  address_t address = {.four = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}}};
  if (on_ipv6)
    address.six =
        (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  const socklen_t size = on_ipv6 ? sizeof address.six : sizeof address.four;
  const int listener = bound(&address, size);
  if (listener < 0) return -1;
  /* Never listens and is never closed. */
  const int holder = bound(&address, size);
  if (receive_buffer)
    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  if (holder < 0 || listen(listener, 1024)) {
    if (holder >= 0) close(holder);
    close(listener);
    return -1;
  }
  holders++;
  *port_out = ntohs(on_ipv6 ? address.six.sin6_port : address.four.sin_port);
  return listener;
}

size_t open_descriptors(void) {
  DIR *directory = opendir("/proc/self/fd");
  size_t count = 0;
  if (!directory) return 0;
  while (readdir(directory)) count++;
  closedir(directory);
  return count - holders;
}
