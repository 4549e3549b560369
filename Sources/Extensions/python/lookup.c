/*
 * Names looked up on a thread of their own. getaddrinfo() waits as long as it likes, and no
 * signal ends it: a program that is to end does not wait for it. The thread touches nothing of
 * Python's and frees what it found where nobody waits for that any more.
 */
#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "core.h"

struct search {
  PyThread_type_lock done; /* free once the thread has its answer */
  int holders;             /* the thread, and who asks */
  int code, sys_errno;
  struct addrinfo *list;
  char host[];
};

static void leave(search_t *search) {
  if (__atomic_sub_fetch(&search->holders, 1, __ATOMIC_ACQ_REL) > 0) return;
  if (search->list) freeaddrinfo(search->list);
  PyThread_free_lock(search->done);
  free(search);
}

static int resolve(const char *host, int flags, struct addrinfo **list_out) {
  struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
  return getaddrinfo(host, NULL, &hints, list_out);
}

static void run(void *given) {
  search_t *search = given;
  search->code = resolve(search->host, 0, &search->list);
  search->sys_errno = errno;
  PyThread_release_lock(search->done);
  leave(search);
}

/* PYTHREAD_INVALID_THREAD_ID, which the limited API leaves out. */
#define NO_THREAD ((unsigned long)-1)

/* NULL where there is no memory, or no thread to be had. */
static search_t *begin(const char *host) {
  size_t size = strlen(host) + 1;
  search_t *search = malloc(sizeof *search + size);
  if (!search) return NULL;
  search->done = PyThread_allocate_lock();
  if (!search->done) {
    free(search);
    return NULL;
  }
  PyThread_acquire_lock(search->done, NOWAIT_LOCK);
  search->holders = 2;
  search->list = NULL;
  memcpy(search->host, host, size);
  if (PyThread_start_new_thread(run, search) == NO_THREAD) {
    search->holders = 1;
    leave(search);
    return NULL;
  }
  return search;
}

int search_name(const char *host, struct addrinfo **list_out, void *context) {
  search_t **place = context, *search = *place;
  /* Most are known within that time: in /etc/hosts, or to a resolver on this machine. */
  enum { MOST_MICROSECONDS = 2000 };
  if (!search) {
    int code = resolve(host, AI_NUMERICHOST, list_out);
    if (code != EAI_NONAME) return code;
    search = begin(host);
    if (!search) return resolve(host, 0, list_out);
    *place = search;
  }
  if (PyThread_acquire_lock_timed(search->done, MOST_MICROSECONDS, 0) != PY_LOCK_ACQUIRED) {
    return APNS_LOOKUP_PENDING;
  }
  int code = search->code, sys_errno = search->sys_errno;
  *list_out = search->list;
  search->list = NULL;
  search_end(place);
  errno = sys_errno; /* which EAI_SYSTEM is about */
  return code;
}

void search_end(search_t **place) {
  if (*place) leave(*place);
  *place = NULL;
}
