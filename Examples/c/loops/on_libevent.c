/* cc on_libevent.c -lapns $(pkg-config --cflags --libs libevent_core) -o on_libevent */
#include <event2/event.h>

#include "push.h"

static void is_readable(evutil_socket_t descriptor, short events, void *base) {
  (void)descriptor, (void)events;
  if (!push_process()) event_base_loopbreak(base);
}

int main(int argc, char **argv) {
  if (!push_begin(argc, argv)) return 1;
  struct event_base *base = event_base_new();
  struct event *event =
      event_new(base, apns_session_fd(session), EV_READ | EV_PERSIST, is_readable, base);
  event_add(event, NULL);
  event_base_dispatch(base);
  event_free(event);
  event_base_free(base);
  return push_end();
}
