#include "sockets.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_ours[4096];
static size_t made, open_now, most;
static int last = -1;

/* Both linked before libc's. */
int socket(int domain, int type, int protocol) {
  int (*system)(int, int, int);
  *(void **)&system = dlsym(RTLD_NEXT, "socket");
  int descriptor = system(domain, type, protocol);
  if (protocol != IPPROTO_TCP || descriptor < 0 || descriptor >= 4096) return descriptor;
  pthread_mutex_lock(&lock);
  is_ours[descriptor] = true;
  last = descriptor;
  made++;
  open_now++;
  if (most < open_now) most = open_now;
  pthread_mutex_unlock(&lock);
  return descriptor;
}

int close(int descriptor) {
  int (*system)(int);
  *(void **)&system = dlsym(RTLD_NEXT, "close");
  pthread_mutex_lock(&lock);
  if (descriptor >= 0 && descriptor < 4096 && is_ours[descriptor]) {
    is_ours[descriptor] = false;
    open_now--;
  }
  pthread_mutex_unlock(&lock);
  return system(descriptor);
}

void sockets_reset(void) {
  pthread_mutex_lock(&lock);
  made = 0;
  most = open_now;
  last = -1;
  pthread_mutex_unlock(&lock);
}

static size_t read_count(const size_t *count) {
  pthread_mutex_lock(&lock);
  size_t value = *count;
  pthread_mutex_unlock(&lock);
  return value;
}

size_t sockets_made(void) { return read_count(&made); }
size_t sockets_open(void) { return read_count(&open_now); }
size_t sockets_most(void) { return read_count(&most); }
int sockets_last(void) {
  pthread_mutex_lock(&lock);
  int descriptor = last;
  pthread_mutex_unlock(&lock);
  return descriptor;
}
