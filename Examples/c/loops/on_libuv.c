/* cc on_libuv.c -lapns $(pkg-config --cflags --libs libuv) -o on_libuv */
#include <uv.h>

#include "push.h"

static void is_readable(uv_poll_t *handle, int status, int events) {
  (void)status, (void)events;
  if (!push_process()) uv_close((uv_handle_t *)handle, NULL);
}

int main(int argc, char **argv) {
  if (!push_begin(argc, argv)) return 1;
  uv_poll_t handle;
  uv_poll_init(uv_default_loop(), &handle, apns_session_fd(session));
  uv_poll_start(&handle, UV_READABLE, is_readable);
  uv_run(uv_default_loop(), UV_RUN_DEFAULT);
  uv_loop_close(uv_default_loop());
  return push_end();
}
