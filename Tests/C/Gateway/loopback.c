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

/* Two sockets of one user can share a port if both set SO_REUSEPORT before bind(). */
static int bound(address_t *address, socklen_t size) {
  const int on = 1, off = 0;
  int descriptor = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return -1;
  /* IPv6's "any" includes IPv4's addresses, independent of this machine's default. */
  if (address->any.sa_family == AF_INET6)
    setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) == 0 &&
      bind(descriptor, &address->any, size) == 0 &&
      getsockname(descriptor, &address->any, &size) == 0)
    return descriptor;
  close(descriptor);
  return -1;
}

/* Holds a port at every address of this machine; never listens, and stays open until the program
 * ends. */
static int hold(in_port_t *port) {
  address_t address = {.six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT}};
  int holder = bound(&address, sizeof address.six);
  *port = address.six.sin6_port;
  if (holder >= 0) return holder;
  /* A machine without IPv6. */
  address = (address_t){.four = {.sin_family = AF_INET}};
  holder = bound(&address, sizeof address.four);
  *port = address.four.sin_port;
  return holder;
}

int loopback_listen(bool on_ipv6, int receive_buffer, uint16_t *port_out) {
  in_port_t port;
  const int holder = hold(&port);
  if (holder < 0) return -1;
  address_t address = {
      .four = {.sin_family = AF_INET, .sin_port = port, .sin_addr = {htonl(INADDR_LOOPBACK)}}};
  if (on_ipv6)
    address.six = (struct sockaddr_in6){
        .sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  const int listener = bound(&address, on_ipv6 ? sizeof address.six : sizeof address.four);
  if (listener >= 0 && receive_buffer)
    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  if (listener < 0 || listen(listener, 1024)) {
    if (listener >= 0) close(listener);
    close(holder);
    return -1;
  }
  holders++;
  *port_out = ntohs(port);
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
