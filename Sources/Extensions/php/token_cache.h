/* Where both bindings, this one and that for Python, keep the provider token that the processes of
   this machine share, where the program names no file for it. The tool has the same rules:
   Sources/Tool/Options/TokenCacheFile.swift. */
#ifndef APNS_EXTENSIONS_TOKEN_CACHE_H
#define APNS_EXTENSIONS_TOKEN_CACHE_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An identifier goes into the file's name; the library refuses any other. */
static bool apns_is_token_identifier(const char *text) {
  return text && strlen(text) == 10 &&
         strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") == 10;
}

/* The library's rule: the directory exists, belongs to the user or root, and no other user can
   write to it. */
static inline bool apns_can_hold_a_token(const char *directory) {
  struct stat found;
  /* glibc has the function stat only since 2.33; the structure of 64-bit systems is the kernel's.
   */
#if defined(__LP64__) && defined(SYS_newfstatat)
  if (syscall(SYS_newfstatat, AT_FDCWD, directory, &found, 0)) return false;
#else
  if (stat(directory, &found)) return false;
#endif
  return S_ISDIR(found.st_mode) && (found.st_uid == geteuid() || found.st_uid == 0) &&
         !(found.st_mode & (S_IWGRP | S_IWOTH)) && !access(directory, W_OK | X_OK);
}

/*
 * The file for this key and team. Its directory is `configured`, else the environment's
 * APNS_TOKEN_CACHE, else XDG_RUNTIME_DIR, else /run/user/ with the user's number; "off" for one of
 * the first two means no cache. The library checks a configured directory and warns if it cannot be
 * used; a default one is not used then. False: no cache.
 */
static inline bool apns_token_cache_file(const char *configured, const char *key_id,
                                         const char *team_id, char *path, size_t size) {
  char usual[64];
  const char *directory = configured && *configured ? configured : getenv("APNS_TOKEN_CACHE");
  const bool is_named = directory && *directory;
  if (!apns_is_token_identifier(key_id) || !apns_is_token_identifier(team_id)) return false;
  if (directory && strcmp(directory, "off") == 0) return false;
  if (!directory || !*directory) directory = getenv("XDG_RUNTIME_DIR");
  if (!directory || *directory != '/') {
    snprintf(usual, sizeof usual, "/run/user/%lu", (unsigned long)geteuid());
    directory = usual;
  }
  if (!is_named && !apns_can_hold_a_token(directory)) return false;
  const int length = snprintf(path, size, "%s/apns-%s-%s.token", directory, team_id, key_id);
  return length > 0 && (size_t)length < size && length < 4000;
}

#endif
