/* cc on_epoll.c -lapns -o on_epoll */
#include <sys/epoll.h>
#include <unistd.h>

#include "push.h"

int main(int argc, char **argv) {
  if (!push_begin(argc, argv)) return 1;
  int loop = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event event = {.events = EPOLLIN};
  epoll_ctl(loop, EPOLL_CTL_ADD, apns_session_fd(session), &event);
  while (true)
    if (epoll_wait(loop, &event, 1, -1) == 1 && !push_process()) break;
  close(loop);
  return push_end();
}
