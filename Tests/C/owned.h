/*
 * Variables that are freed where their scope ends, the last declared first:
 *
 *     owned(gateway) gateway = gateway_start(NULL, NULL);
 *     owned(session) session = session_to(gateway, NULL);
 */
#ifndef TESTS_OWNED_H
#define TESTS_OWNED_H

#define owned(what) __attribute__((cleanup(free_owned_##what))) owned_##what##_t

/** Makes owned(what) a pointer to that type, which `release` frees; it has to tolerate NULL. */
#define OWNED(what, type, release)                                                     \
  typedef type *owned_##what##_t;                                                      \
  __attribute__((unused)) static inline void free_owned_##what(owned_##what##_t *it) { \
    release(*it);                                                                      \
  }

#endif
