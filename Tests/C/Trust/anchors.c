#include "anchors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/x509.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 16 };
static char *put[MOST];
static size_t count;

static bool write_line(const char *path, const char *line) {
  int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  bool is_written = file >= 0 && write(file, line, strlen(line)) == (ssize_t)strlen(line);
  if (file >= 0) close(file);
  return is_written;
}

static bool is_empty(const char *path) {
  DIR *directory = opendir(path);
  if (!directory) return false;
  size_t entries = 0;
  while (readdir(directory)) entries++;
  closedir(directory);
  return entries == 2;
}

bool anchors_hide(void) {
  char users[64], groups[64];
  snprintf(users, sizeof users, "0 %u 1", (unsigned)geteuid());
  snprintf(groups, sizeof groups, "0 %u 1", (unsigned)getegid());
  const char *area = X509_get_default_cert_area();
  /* Checked afterwards: an emulator may resolve a path in its own way. */
  return !unshare(CLONE_NEWUSER | CLONE_NEWNS) && write_line("/proc/self/setgroups", "deny") &&
         write_line("/proc/self/uid_map", users) && write_line("/proc/self/gid_map", groups) &&
         !mount("", "/", "", MS_REC | MS_PRIVATE, "") && !mount("none", area, "tmpfs", 0, "") &&
         !mount("none", "/etc", "tmpfs", 0, "") && is_empty(area) && is_empty("/etc") &&
         write_line("/etc/hosts", "127.0.0.1 localhost\n") &&
         write_line("/etc/resolv.conf", "\n") && write_line("/etc/nsswitch.conf", "hosts: files\n");
}

void anchors_put(const char *path, const char *file) {
  char name[PATH_MAX], bytes[16384];
  snprintf(name, sizeof name, "%s", path);
  for (char *end = name; (end = strchr(end + 1, '/'));) {
    *end = '\0';
    if (mkdir(name, 0755) && errno != EEXIST) abort();
    *end = '/';
  }
  FILE *from = fopen(file, "re"), *to = fopen(path, "we");
  if (!from || !to || count == MOST) abort();
  const size_t length = fread(bytes, 1, sizeof bytes, from);
  if (fwrite(bytes, 1, length, to) != length || fclose(to)) abort();
  fclose(from);
  put[count++] = strdup(path);
}

void anchors_put_hashed(const char *directory, const identity_t *authority) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/%08lx.0", directory,
           X509_subject_name_hash(authority->certificate));
  anchors_put(path, authority->certificate_file);
}

void anchors_clear(void) {
  while (count > 0) {
    if (unlink(put[--count])) abort();
    free(put[count]);
  }
}
