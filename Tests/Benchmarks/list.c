#include "list.h"

#include <stdlib.h>
#include <string.h>

list_t list_make(size_t count, size_t payload_length) {
  list_t list = {calloc(count, sizeof *list.notifications), count, NULL,
                 malloc(count * sizeof *list.hex)};
  size_t stride = 32 + payload_length;
  uint8_t *bytes = malloc(count * stride);
  list.bytes = bytes;
  if (!list.notifications || !bytes || !list.hex) abort();
  for (size_t i = 0; i < count; i++, bytes += stride) {
    apns_notification_t push = APNS_NOTIFICATION_INIT;
    memset(bytes, (int)(i % 251), 32);
    memcpy(bytes, &i, sizeof i);
    memset(bytes + 32, 'x', payload_length);
    memcpy(bytes + 32, "{\"aps\":{\"alert\":\"", 17);
    memcpy(bytes + stride - 3, "\"}}", 3);
    push.token = bytes;
    push.token_length = 32;
    push.payload = bytes + 32;
    push.payload_length = payload_length;
    push.user_data = (void *)i;
    list.notifications[i] = push;
    for (size_t at = 0; at < 32; at++) {
      const uint8_t byte = ((const uint8_t *)push.token)[at];
      list.hex[i][2 * at] = "0123456789abcdef"[byte >> 4];
      list.hex[i][2 * at + 1] = "0123456789abcdef"[byte & 15];
    }
  }
  return list;
}

void list_free(list_t *list) {
  free(list->notifications);
  free(list->bytes);
  free(list->hex);
}
