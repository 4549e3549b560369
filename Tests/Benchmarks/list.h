/* The notifications that every contender sends, each with its own bytes. */
#ifndef BENCHMARKS_LIST_H
#define BENCHMARKS_LIST_H

#include <apns/apns.h>
#include <stddef.h>

typedef struct list {
  apns_notification_t *notifications;
  size_t count;
  void *bytes;
  char (*hex)[64]; /* the device tokens as in a database */
} list_t;

list_t list_make(size_t count, size_t payload_length);
void list_free(list_t *list);

#endif
