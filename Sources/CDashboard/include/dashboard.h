#ifndef CDASHBOARD_H
#define CDASHBOARD_H

#include <stddef.h>

/* A file of the page, within the executable: it stays one file, wherever it is put. */
struct dashboard_file {
  const char *path, *type;
  const unsigned char *bytes;
  size_t size;
};

/* Sorted as in the page; static. */
const struct dashboard_file *dashboard_files(size_t *count_out);

#endif
