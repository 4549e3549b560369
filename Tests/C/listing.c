#include "listing.h"

#include <arpa/inet.h>
#include <string.h>

enum { DEVICE_BINARY_SIZE = 32 };

static uint8_t *copy(uint8_t *end, const void *bytes, size_t count) {
  memcpy(end, bytes, count);
  return end + count;
}

static uint8_t *token_and_payload(uint8_t *end, const void *token, const void *payload,
                                  size_t length) {
  const uint16_t token_size = htons(DEVICE_BINARY_SIZE), payload_size = htons((uint16_t)length);
  end = copy(end, &token_size, sizeof token_size);
  end = copy(end, token, DEVICE_BINARY_SIZE);
  end = copy(end, &payload_size, sizeof payload_size);
  return copy(end, payload, length);
}

size_t listing_simple(uint8_t *frame, const void *token, const void *payload, size_t length) {
  frame[0] = 0;
  return (size_t)(token_and_payload(frame + 1, token, payload, length) - frame);
}

size_t listing_enhanced(uint8_t *frame, const void *token, const void *payload, size_t length,
                        uint32_t identifier, uint32_t expiry) {
  const uint32_t numbers[2] = {htonl(identifier), htonl(expiry)};
  frame[0] = 1;
  uint8_t *end = copy(frame + 1, numbers, sizeof numbers);
  return (size_t)(token_and_payload(end, token, payload, length) - frame);
}
