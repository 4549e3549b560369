/*
 * Resolves names on a separate thread. getaddrinfo() may wait for any time, and no signal ends it,
 * so a program that ends must not wait for it. The thread uses no Python object, and frees its
 * result if the caller has abandoned it.
 */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "core.h"

struct lookup {
  PyThread_type_lock done; /* free once the thread has its result */
  int holders;             /* the thread, and the caller */
  int code, sys_errno;
  struct addrinfo *list;
  char host[];
};

static void leave(lookup_t *lookup) {
  if (__atomic_sub_fetch(&lookup->holders, 1, __ATOMIC_ACQ_REL) > 0) return;
  if (lookup->list) freeaddrinfo(lookup->list);
  PyThread_free_lock(lookup->done);
  free(lookup);
}

static int resolve(const char *host, int flags, struct addrinfo **list_out) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
  return getaddrinfo(host, NULL, &hints, list_out);
}

static void run(void *given) {
  lookup_t *lookup = given;
  lookup->code = resolve(lookup->host, 0, &lookup->list);
  lookup->sys_errno = errno;
  PyThread_release_lock(lookup->done);
  leave(lookup);
}

/* PYTHREAD_INVALID_THREAD_ID, which the limited API leaves out. */
#define NO_THREAD ((unsigned long)-1)

/* NULL without memory, or if no thread can be started. */
static lookup_t *begin(const char *host) {
  size_t size = strlen(host) + 1;
  lookup_t *lookup = malloc(sizeof *lookup + size);
  if (!lookup) return NULL;
  lookup->done = PyThread_allocate_lock();
  if (!lookup->done) {
    free(lookup);
    return NULL;
  }
  PyThread_acquire_lock(lookup->done, NOWAIT_LOCK);
  lookup->holders = 2;
  lookup->list = NULL;
  memcpy(lookup->host, host, size);
  if (PyThread_start_new_thread(run, lookup) == NO_THREAD) {
    lookup->holders = 1;
    leave(lookup);
    return NULL;
  }
  return lookup;
}

static int look(const char *host, struct addrinfo **list_out, lookup_t **place,
                int most_microseconds) {
  lookup_t *lookup = *place;
  if (!lookup) {
    int code = resolve(host, AI_NUMERICHOST, list_out);
    if (code != EAI_NONAME) return code;
    lookup = begin(host);
    if (!lookup) return resolve(host, 0, list_out);
    *place = lookup;
  }
  if (PyThread_acquire_lock_timed(lookup->done, most_microseconds, 0) != PY_LOCK_ACQUIRED) {
    return APNS_LOOKUP_PENDING;
  }
  int code = lookup->code, sys_errno = lookup->sys_errno;
  *list_out = lookup->list;
  lookup->list = NULL;
  lookup_end(place);
  errno = sys_errno; /* which EAI_SYSTEM is about */
  return code;
}

int lookup_name(const char *host, struct addrinfo **list_out, void *context) {
  /* Most are known within that time: in /etc/hosts, or to a resolver on this machine. */
  enum { MOST_MICROSECONDS = 2000 };
  return look(host, list_out, context, MOST_MICROSECONDS);
}

int lookup_name_at_once(const char *host, struct addrinfo **list_out, void *context) {
  return look(host, list_out, context, 0);
}

void lookup_end(lookup_t **place) {
  if (*place) leave(*place);
  *place = NULL;
}
