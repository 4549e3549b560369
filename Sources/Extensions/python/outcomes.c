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
  outcomes->accepted += outcome.kind == APNS_EVENT_ACCEPTED;
  outcomes->items[outcomes->end++] = outcome;
}

bool outcomes_take(outcomes_t *outcomes, outcome_t *outcome_out) {
  if (outcomes_count(outcomes) == 0) return false;
  *outcome_out = outcomes->items[outcomes->start++];
  outcomes->accepted -= outcome_out->kind == APNS_EVENT_ACCEPTED;
  if (outcomes->start == outcomes->end) outcomes->start = outcomes->end = 0;
  return true;
}

size_t outcomes_forget(outcomes_t *outcomes, outcomes_t *gone) {
  size_t stay = 0, count = 0, end = outcomes->start;
  for (; end < outcomes->end && count <= stay / 8; end++) {
    outcome_t *one = &outcomes->items[end];
    if (one->kind != APNS_EVENT_ACCEPTED) {
      stay++;
    } else if (outcomes_reserve(gone)) {
      free(one->response);
      one->response = NULL;
      outcomes_put(gone, *one);
      count++;
    } else {
      break;
    }
  }
  outcomes->accepted -= count;
  outcomes->start += count;
  for (size_t to = end; stay > 0 && end-- > 0;) {
    if (outcomes->items[end].kind == APNS_EVENT_ACCEPTED) continue;
    outcomes->items[--to] = outcomes->items[end];
    stay--;
  }
  return count;
}

outcome_t outcome_make(const apns_event_t *event, response_t *response) {
  if (response && event->http_status == 0 && event->reason_text[0] == '\0') {
    free(response);
    response = NULL;
  }
  if (response) {
    response->timestamp = event->timestamp;
    response->reason = event->reason;
    response->http_status = event->http_status;
    response->retry_after = event->retry_after_s;
    memcpy(response->apns_id, event->apns_id, sizeof response->apns_id);
    memcpy(response->reason_text, event->reason_text, sizeof response->reason_text);
    memcpy(response->unique_id, event->unique_id, sizeof response->unique_id);
  }
  const uintptr_t number = (uintptr_t)event->user_data;
  return (outcome_t){number & ~PENDING_OWNED, response,
                     event->identifier,       (uint8_t)event->kind,
                     (uint8_t)event->reject,  (number & PENDING_OWNED) != 0};
}

void outcomes_free(outcomes_t *outcomes) {
  for (size_t i = outcomes->start; i < outcomes->end; i++) free(outcomes->items[i].response);
  free(outcomes->items);
  *outcomes = (outcomes_t){0};
}
