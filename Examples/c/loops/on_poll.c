/* cc on_poll.c -lapns -o on_poll */
#include <poll.h>

#include "push.h"

int main(int argc, char **argv) {
  if (!push_begin(argc, argv)) return 1;
  struct pollfd watched = {.fd = apns_session_fd(session), .events = POLLIN};
  while (true)
    if (poll(&watched, 1, -1) == 1 && !push_process()) break;
  return push_end();
}
