/* The reasons of today's APNs. */
#include <stdio.h>

#include "provider.h"
#include "vectors.h"

static long number_in(const json_t *vector, const char *key) {
  return (long)json_integer_value(json_object_get(vector, key));
}

TEST(every_vector) {
  size_t seen = 0, known = 0;
  vectors_each("reasons.json", vector) {
    const char *text = vector_text(vector, "name");
    const apns_reason_t reason = (apns_reason_t)number_in(vector, "number");
    assert_string_equal(apns_reason_text(reason), text);
    assert_int_equal(apns_reason_from_text(text, strlen(text)), reason);
    assert_int_equal(apns_reason_http_status(reason), number_in(vector, "status"));
    assert_int_equal(apns_reason_reject(reason), number_in(vector, "reject"));
    /* Neither its beginning, nor the reason with more text after it. */
    assert_int_equal(apns_reason_from_text(text, strlen(text) - 1), APNS_REASON_OTHER);
    assert_int_equal(apns_reason_from_text(text, strlen(text) + 1), APNS_REASON_OTHER);
    seen++;
  }
  for (int number = 1; number < APNS_REASON_OTHER; number++)
    known += apns_reason_http_status((apns_reason_t)number) != 0;
  assert_int_equal(seen, known);
}

TEST(the_numbers_are_the_headers) {
#define CHECK(name, number, text)                                    \
  do {                                                               \
    assert_int_equal(APNS_REASON_##name, number);                    \
    assert_string_equal(apns_reason_text(APNS_REASON_##name), text); \
  } while (0)
  CHECK(BAD_DEVICE_TOKEN, 1, "BadDeviceToken");
  CHECK(DEVICE_TOKEN_NOT_FOR_TOPIC, 2, "DeviceTokenNotForTopic");
  CHECK(MISSING_DEVICE_TOKEN, 3, "MissingDeviceToken");
  CHECK(MISSING_TOPIC, 4, "MissingTopic");
  CHECK(PAYLOAD_EMPTY, 5, "PayloadEmpty");
  CHECK(BAD_TOPIC, 6, "BadTopic");
  CHECK(PAYLOAD_TOO_LARGE, 7, "PayloadTooLarge");
  CHECK(BAD_COLLAPSE_ID, 8, "BadCollapseId");
  CHECK(BAD_EXPIRATION_DATE, 9, "BadExpirationDate");
  CHECK(BAD_MESSAGE_ID, 10, "BadMessageId");
  CHECK(BAD_PRIORITY, 11, "BadPriority");
  CHECK(DUPLICATE_HEADERS, 12, "DuplicateHeaders");
  CHECK(INVALID_PUSH_TYPE, 13, "InvalidPushType");
  CHECK(BAD_PATH, 14, "BadPath");
  CHECK(METHOD_NOT_ALLOWED, 15, "MethodNotAllowed");
  CHECK(IDLE_TIMEOUT, 16, "IdleTimeout");
  CHECK(EXPIRED_PROVIDER_TOKEN, 17, "ExpiredProviderToken");
  CHECK(UNRELATED_KEY_ID_IN_TOKEN, 18, "UnrelatedKeyIdInToken");
  CHECK(TOPIC_DISALLOWED, 19, "TopicDisallowed");
  CHECK(BAD_CERTIFICATE, 20, "BadCertificate");
  CHECK(BAD_CERTIFICATE_ENVIRONMENT, 21, "BadCertificateEnvironment");
  CHECK(BAD_ENVIRONMENT_KEY_ID_IN_TOKEN, 22, "BadEnvironmentKeyIdInToken");
  CHECK(FORBIDDEN, 23, "Forbidden");
  CHECK(INVALID_PROVIDER_TOKEN, 24, "InvalidProviderToken");
  CHECK(MISSING_PROVIDER_TOKEN, 25, "MissingProviderToken");
  CHECK(UNREGISTERED, 26, "Unregistered");
  CHECK(EXPIRED_TOKEN, 27, "ExpiredToken");
  CHECK(TOO_MANY_PROVIDER_TOKEN_UPDATES, 28, "TooManyProviderTokenUpdates");
  CHECK(TOO_MANY_REQUESTS, 29, "TooManyRequests");
  CHECK(INTERNAL_SERVER_ERROR, 30, "InternalServerError");
  CHECK(SERVICE_UNAVAILABLE, 31, "ServiceUnavailable");
  CHECK(SHUTDOWN, 32, "Shutdown");
  CHECK(MISSING_CHANNEL_ID, 33, "MissingChannelId");
  CHECK(BAD_CHANNEL_ID, 34, "BadChannelId");
  CHECK(CHANNEL_NOT_REGISTERED, 35, "ChannelNotRegistered");
  CHECK(CANNOT_CREATE_CHANNEL_CONFIG, 36, "CannotCreateChannelConfig");
  CHECK(FEATURE_NOT_ENABLED, 37, "FeatureNotEnabled");
  CHECK(MISSING_PUSH_TYPE, 38, "MissingPushType");
  CHECK(TOPIC_MISMATCH, 39, "TopicMismatch");
#undef CHECK
}

TEST(none_and_others) {
  assert_string_equal(apns_reason_text(APNS_REASON_NONE), "none");
  assert_string_equal(apns_reason_text(APNS_REASON_OTHER), "other");
  assert_int_equal(apns_reason_http_status(APNS_REASON_NONE), 0);
  assert_int_equal(apns_reason_http_status(APNS_REASON_OTHER), 0);
  assert_int_equal(apns_reason_reject(APNS_REASON_NONE), APNS_REJECT_NONE);
  assert_int_equal(apns_reason_reject(APNS_REASON_OTHER), APNS_REJECT_UNKNOWN);
  static const int others[] = {40, 100, 254, 256, 257, 65536 + 1, INT32_MAX, -1, INT32_MIN};
  for (size_t index = 0; index < sizeof others / sizeof *others; index++) {
    assert_string_equal(apns_reason_text((apns_reason_t)others[index]), "other");
    assert_int_equal(apns_reason_http_status((apns_reason_t)others[index]), 0);
    assert_int_equal(apns_reason_reject((apns_reason_t)others[index]), APNS_REJECT_UNKNOWN);
  }
  assert_int_equal(apns_reason_from_text(NULL, 0), APNS_REASON_OTHER);
  assert_int_equal(apns_reason_from_text(NULL, 7), APNS_REASON_OTHER);
  assert_int_equal(apns_reason_from_text("", 0), APNS_REASON_OTHER);
  assert_int_equal(apns_reason_from_text("BadTopic", (size_t)-1), APNS_REASON_OTHER);
  static const char *const texts[] = {"none", "other", "badtopic", " BadTopic", "400GABadTopic"};
  for (size_t index = 0; index < sizeof texts / sizeof *texts; index++)
    assert_int_equal(apns_reason_from_text(texts[index], strlen(texts[index])), APNS_REASON_OTHER);
}

/* A legacy provider deletes a token on it. */
TEST(only_a_fault_of_the_token_is_an_invalid_token) {
  for (int number = 0; number < 256; number++)
    assert_int_equal(
        apns_reason_reject((apns_reason_t)number) == APNS_REJECT_INVALID_TOKEN,
        number == APNS_REASON_BAD_DEVICE_TOKEN || number == APNS_REASON_DEVICE_TOKEN_NOT_FOR_TOPIC);
}
