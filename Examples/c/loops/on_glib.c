/* cc on_glib.c -lapns $(pkg-config --cflags --libs glib-2.0) -o on_glib */
#include <glib-unix.h>

#include "push.h"

static gboolean is_readable(gint descriptor, GIOCondition condition, gpointer loop) {
  (void)descriptor, (void)condition;
  if (push_process()) return G_SOURCE_CONTINUE;
  g_main_loop_quit(loop);
  return G_SOURCE_REMOVE;
}

int main(int argc, char **argv) {
  if (!push_begin(argc, argv)) return 1;
  GMainLoop *loop = g_main_loop_new(NULL, FALSE);
  g_unix_fd_add(apns_session_fd(session), G_IO_IN, is_readable, loop);
  g_main_loop_run(loop);
  g_main_loop_unref(loop);
  return push_end();
}
