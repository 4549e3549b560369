/* Debian's PHP opens extensions with RTLD_DEEPBIND, which the address sanitizer does not support.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

void *dlopen(const char *file, int flags) {
  void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
  return next ? next(file, flags & ~RTLD_DEEPBIND) : NULL;
}
