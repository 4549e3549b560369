#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "../bare.h"
#include "floor.h"

void floor_must(bool is_fine, const char *what) {
  if (is_fine) return;
  fprintf(stderr, "floor: %s\n", what);
  exit(1);
}

floor_frames_t floor_make_room(const list_t *list) {
  const size_t payload = list->notifications[0].payload_length;
  floor_frames_t frames = {.bytes = malloc(list->count * (payload + FLOOR_ROOM)),
                           .ends = malloc(list->count * sizeof *frames.ends),
                           .count = list->count,
                           .payload = payload};
  floor_must(frames.bytes && frames.ends, "memory");
  return frames;
}

void floor_free(floor_frames_t *frames) {
  free(frames->bytes);
  free(frames->ends);
}

void floor_write_record(SSL *ssl, const floor_frames_t *frames, size_t *written, size_t end) {
  const size_t length = end - *written < FLOOR_RECORD ? end - *written : FLOOR_RECORD;
  floor_must(SSL_write(ssl, frames->bytes + *written, (int)length) == (int)length, "SSL_write");
  *written += length;
}

/* ---- The binary interface --------------------------------------------------- */

floor_frames_t floor_binary(const list_t *list) {
  floor_frames_t frames = floor_make_room(list);
  uint8_t *at = frames.bytes;
  for (size_t i = 0; i < list->count; i++) {
    at += bare_frame(at, &list->notifications[i], (uint32_t)i + 1);
    frames.ends[i] = (size_t)(at - frames.bytes);
  }
  return frames;
}

uint64_t floor_send_binary(SSL *ssl, const floor_frames_t *frames) {
  const size_t end = frames->ends[frames->count - 1];
  uint64_t records = 0;
  for (size_t written = 0; written < end; records++) floor_write_record(ssl, frames, &written, end);
  bare_end(ssl);
  return records + 1;
}
