#include <stdlib.h>

#include "core.h"

bool outcomes_reserve(outcomes_t *outcomes) {
  if (outcomes->end < outcomes->capacity) return true;
  if (outcomes->start > outcomes->capacity / 2) {
    size_t count = outcomes_count(outcomes);
    memmove(outcomes->items, outcomes->items + outcomes->start, count * sizeof *outcomes->items);
    outcomes->start = 0;
    outcomes->end = count;
    return true;
  }
  size_t capacity = outcomes->capacity ? outcomes->capacity * 2 : 64;
  if (capacity > SIZE_MAX / sizeof *outcomes->items) return false;
  outcome_t *items = realloc(outcomes->items, capacity * sizeof *items);
  if (!items) return false;
  outcomes->items = items;
  outcomes->capacity = capacity;
  return true;
}

void outcomes_put(outcomes_t *outcomes, outcome_t outcome) {
  outcomes->items[outcomes->end++] = outcome;
}

bool outcomes_take(outcomes_t *outcomes, outcome_t *outcome_out) {
  if (outcomes_count(outcomes) == 0) return false;
  *outcome_out = outcomes->items[outcomes->start++];
  if (outcomes->start == outcomes->end) outcomes->start = outcomes->end = 0;
  return true;
}

outcome_t outcome_make(const apns_event_t *event, answer_t *answer) {
  if (answer && event->http_status == 0 && event->reason_text[0] == '\0') {
    free(answer);
    answer = NULL;
  }
  if (answer) {
    answer->timestamp = event->timestamp;
    answer->reason = event->reason;
    answer->http_status = event->http_status;
    answer->retry_after = event->retry_after_s;
    memcpy(answer->apns_id, event->apns_id, sizeof answer->apns_id);
    memcpy(answer->reason_text, event->reason_text, sizeof answer->reason_text);
    memcpy(answer->unique_id, event->unique_id, sizeof answer->unique_id);
  }
  const uintptr_t number = (uintptr_t)event->user_data;
  return (outcome_t){number & ~PENDING_OWNED, answer,
                     event->identifier,       (uint8_t)event->kind,
                     (uint8_t)event->reject,  (number & PENDING_OWNED) != 0};
}

void outcomes_free(outcomes_t *outcomes) {
  for (size_t i = outcomes->start; i < outcomes->end; i++) free(outcomes->items[i].answer);
  free(outcomes->items);
  *outcomes = (outcomes_t){0};
}
