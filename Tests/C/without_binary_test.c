/* A library built without the binary interface: it reports that if a caller wants it. */
#include "provider.h"

TEST(it_is_no_feature) { assert_int_equal(apns_features() & APNS_FEATURE_BINARY, 0); }

TEST(a_session_over_it_is_refused) {
  apns_session_t *session = NULL;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  owned(credentials) credentials = credentials_of(NULL);
  assert_says(APNS_ERR_ARGUMENT, apns_session_new(&options, credentials, &session, &error),
              "protocol is the binary interface, which this library was built without: build it "
              "with -DAPNS_BINARY=ON");
  assert_int_equal(error.cause, APNS_CAUSE_BINARY_NOT_BUILT_IN);
  assert_null(session);
}
