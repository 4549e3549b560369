#include <time.h>

#include "core.h"

int64_t clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int32_t whole_ms(uint32_t option_ms) {
  if (option_ms == 0) return 10000;
  return option_ms > INT32_MAX ? INT32_MAX : (int32_t)option_ms;
}

int32_t slice_before(int64_t deadline) {
  int64_t left = deadline - clock_ms();
  return left < 0 ? 0 : left > SLICE_MS ? SLICE_MS : (int32_t)left;
}

bool was_cut(apns_status_t status, int64_t deadline) {
  return status == APNS_ERR_TIMEOUT && clock_ms() < deadline;
}
