/* The system's OpenSSL, found when the module is loaded: a wheel for any distribution cannot be
   linked with it, and must not carry a copy that the system's updates do not reach.

   Every OpenSSL function that the library calls has an entry here, which jumps to the address from
   openssl_load(). That function searches libssl's handle, so no OpenSSL symbol enters or leaves
   this module: Python's own ssl, and modules with another OpenSSL, are not affected. */
#include "loaded.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* The symbol version of these functions before glibc 2.34 moved them. */
#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#else
#error "the entries are written for x86-64 and arm64; elsewhere: APNS_PYTHON_EITHER_OPENSSL=OFF"
#endif
__asm__(".symver dlopen, dlopen@" OLDEST "\n.symver dlsym, dlsym@" OLDEST
        "\n.symver dlerror, dlerror@" OLDEST);

/* The addresses have separate pages, which openssl_load() makes read-only. */
#define PAGES 65536
extern void *apns_openssl_addresses[PAGES / sizeof(void *)] __attribute__((visibility("hidden")));
__asm__(
    ".pushsection .bss.apns_openssl, \"aw\", %nobits\n"
    ".balign 65536\n"
    ".globl apns_openssl_addresses\n.hidden apns_openssl_addresses\n"
    "apns_openssl_addresses: .zero 65536\n"
    ".popsection");

/* Neither entry touches a register that a call passes something in. */
#if defined(__x86_64__)
#define JUMP(INDEX) "endbr64\n jmp *apns_openssl_addresses+8*" #INDEX "(%rip)\n"
#else
#define JUMP(INDEX)                                       \
  "hint #34\n adrp x16, apns_openssl_addresses+8*" #INDEX \
  "\n"                                                    \
  "ldr x16, [x16, #:lo12:apns_openssl_addresses+8*" #INDEX "]\n br x16\n"
#endif
#define NAME(SYMBOL, INDEX)                                                      \
  __asm__(".pushsection .text\n.balign 16\n.globl " #SYMBOL "\n.hidden " #SYMBOL \
          "\n.type " #SYMBOL ", %function\n" #SYMBOL                             \
          ":\n" JUMP(INDEX) ".size " #SYMBOL ", .-" #SYMBOL "\n.popsection");
#include "openssl_names.h"
#undef NAME

#define NAME(SYMBOL, INDEX) #SYMBOL,
static const char *const names[] = {
#include "openssl_names.h"
};
#undef NAME
_Static_assert(sizeof names <= PAGES, "there are more functions than there is room for");

static char failure[512];

static void load(void) {
  void *library = dlopen(APNS_OPENSSL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *why = dlerror();
    snprintf(failure, sizeof failure, "%s", why ? why : APNS_OPENSSL_LIBRARY " cannot be loaded");
    return;
  }
  for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
    apns_openssl_addresses[index] = dlsym(library, names[index]);
    if (!apns_openssl_addresses[index]) {
      snprintf(failure, sizeof failure,
               APNS_OPENSSL_LIBRARY " has no %s: it is older than it should be", names[index]);
      return;
    }
  }
  /* As the linker's own are after relocation (RELRO). Without it they work as well. */
  (void)!mprotect(apns_openssl_addresses, PAGES, PROT_READ);
}

/* Interpreters of one process may load the module at the same time. */
static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
static bool tried;

const char *openssl_load(void) {
  pthread_mutex_lock(&once);
  if (!tried) load();
  tried = true;
  pthread_mutex_unlock(&once);
  return *failure ? failure : NULL;
}
