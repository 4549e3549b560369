/* A library built without HTTP/2: it reports that if a caller wants HTTP/2, and takes nothing. */
#include "provider.h"

TEST(it_is_no_feature) { assert_int_equal(apns_features() & APNS_FEATURE_HTTP2, 0); }

/* HTTP/2 is a session's default. */
TEST(a_session_by_http2_is_refused) {
  owned(session) session = NULL;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  owned(credentials) credentials = credentials_of(NULL);
  assert_says(APNS_ERR_ARGUMENT, apns_session_new(&options, credentials, &session, &error),
              "protocol is HTTP/2, which this library was built without: build it with "
              "-DAPNS_HTTP2=ON");
  assert_null(session);
  options.protocol = APNS_PROTOCOL_BINARY;
  assert_ok(apns_session_new(&options, credentials, &session, &error));
}

TEST(a_key_for_provider_tokens_is_refused) {
  apns_credentials_t *credentials = NULL;
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  options.token_key_file = "AuthKey.p8";
  assert_status(APNS_ERR_ARGUMENT, apns_credentials_new(&options, &credentials, &error));
  assert_string_equal(error.message,
                      "provider tokens are for HTTP/2, which this library was built without");
  assert_null(credentials);
}

TEST(channels_are_refused) {
  apns_channels_t *channels = NULL;
  apns_channels_options_t options = APNS_CHANNELS_OPTIONS_INIT;
  options.topic = "com.example.chess";
  owned(credentials) credentials = credentials_of(NULL);
  assert_says(APNS_ERR_ARGUMENT, apns_channels_new(&options, credentials, &channels, &error),
              "channels need HTTP/2, which this library was built without");
  assert_int_equal(error.cause, APNS_CAUSE_HTTP2_NOT_BUILT_IN);
  assert_null(channels);
  assert_says(APNS_ERR_ARGUMENT, apns_channels_list(NULL, &error), "channels is NULL");
  assert_int_equal(apns_channels_fd(NULL), -1);
  apns_channels_cancel(NULL), apns_channels_free(NULL);
}

TEST(reasons_are_not_listed) {
  assert_string_equal(apns_reason_text(APNS_REASON_NONE), "none");
  assert_string_equal(apns_reason_text(APNS_REASON_UNREGISTERED), "other");
  assert_int_equal(apns_reason_from_text("Unregistered", 12), APNS_REASON_OTHER);
  assert_int_equal(apns_reason_http_status(APNS_REASON_UNREGISTERED), 0);
  assert_int_equal(apns_reason_reject(APNS_REASON_UNREGISTERED), APNS_REJECT_UNKNOWN);
  assert_int_equal(apns_reason_reject(APNS_REASON_NONE), APNS_REJECT_NONE);
}
