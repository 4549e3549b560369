#include "failing_memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* glibc's own, under the names that are left when malloc() is another's. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *piece, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *piece);

extern const char __executable_start, etext;

static bool is_armed, fails_all;
static size_t failing, asked, failed, serial;
static long all;

/* The program's own pieces, by address. */
enum { ROOM = 1 << 16 };
static struct own {
  void *piece;
  void *caller;
  size_t serial;
} owned[ROOM];
static long own;

static size_t place_of(const void *piece) {
  size_t place = (uintptr_t)piece / 16 * 2654435761u % ROOM;
  while (owned[place].piece && owned[place].piece != piece) place = (place + 1) % ROOM;
  return place;
}

static void *note(void *piece, void *caller) {
  if (!piece) return NULL;
  all++;
  serial++;
  if ((char *)caller >= &__executable_start && (char *)caller < &etext) {
    owned[place_of(piece)] = (struct own){piece, caller, serial};
    if (++own > ROOM / 2) abort();
  }
  return piece;
}

static void forget(const void *piece) {
  all--;
  size_t place = place_of(piece);
  if (!owned[place].piece) return;
  own--;
  /* Later entries move up, so that no search ends before them. */
  for (size_t next = place;;) {
    owned[place].piece = NULL;
    while (true) {
      next = (next + 1) % ROOM;
      if (!owned[next].piece) return;
      size_t home = (uintptr_t)owned[next].piece / 16 * 2654435761u % ROOM;
      if ((next - home) % ROOM >= (next - place) % ROOM) break;
    }
    owned[place] = owned[next];
    place = next;
  }
}

static bool fails(void) {
  if (!is_armed) return false;
  asked++;
  if (!failing || (fails_all ? asked < failing : asked != failing)) return false;
  failed++;
  errno = ENOMEM;
  return true;
}

void *malloc(size_t size) {
  return fails() ? NULL : note(__libc_malloc(size), __builtin_return_address(0));
}

void *calloc(size_t count, size_t size) {
  return fails() ? NULL : note(__libc_calloc(count, size), __builtin_return_address(0));
}

void *realloc(void *piece, size_t size) {
  if (fails()) return NULL;
  if (piece) forget(piece);
  return note(__libc_realloc(piece, size), __builtin_return_address(0));
}

void free(void *piece) {
  if (piece) forget(piece);
  __libc_free(piece);
}

int posix_memalign(void **piece_out, size_t alignment, size_t size) {
  if (fails()) return ENOMEM;
  *piece_out = note(__libc_memalign(alignment, size), __builtin_return_address(0));
  return *piece_out ? 0 : ENOMEM;
}

void *memalign(size_t alignment, size_t size) {
  return fails() ? NULL : note(__libc_memalign(alignment, size), __builtin_return_address(0));
}

void *aligned_alloc(size_t alignment, size_t size) {
  return fails() ? NULL : note(__libc_memalign(alignment, size), __builtin_return_address(0));
}

/* libc's own would be an allocation of libc's. */
char *strdup(const char *text) {
  size_t size = strlen(text) + 1;
  if (fails()) return NULL;
  char *copy = note(__libc_malloc(size), __builtin_return_address(0));
  return copy ? memcpy(copy, text, size) : NULL;
}

void memory_arm(size_t n, bool every) {
  failing = n, fails_all = every;
  asked = failed = 0;
  is_armed = true;
}

void memory_disarm(void) { is_armed = false; }
size_t memory_asked(void) { return asked; }
size_t memory_failed(void) { return failed; }
long memory_own(void) { return own; }
long memory_all(void) { return all; }
size_t memory_serial(void) { return serial; }

void memory_print_own(size_t since) {
  for (size_t place = 0; place < ROOM; place++)
    if (owned[place].piece && owned[place].serial > since)
      fprintf(stderr, "    a piece that was allocated at executable+0x%zx\n",
              (size_t)((char *)owned[place].caller - &__executable_start));
}
