#ifndef APNS_BINARY_H
#define APNS_BINARY_H
#include "apns.h"
#ifdef __cplusplus
extern "C" {
#endif
#define APNS_BINARY_HOST_PRODUCTION "gateway.push.apple.com"
#define APNS_BINARY_HOST_SANDBOX "gateway.sandbox.push.apple.com"
#define APNS_PORT_GATEWAY 2195
typedef enum apns_format {
  APNS_FORMAT_DEFAULT = 0,
  APNS_FORMAT_SIMPLE = 1,
  APNS_FORMAT_ENHANCED = 2,
  APNS_FORMAT_FRAMED = 3
} apns_format_t;
typedef struct apns_binary_options {
  size_t size;
  int32_t format;
  uint32_t quiet_period_ms;
  int32_t zero_proves;
  int32_t no_standby;
  int32_t prove_after_ms;
  uint32_t reserved32;
} apns_binary_options_t;
#define APNS_BINARY_OPTIONS_INIT \
  { sizeof(apns_binary_options_t), 0, 0, 0, 0, 0, 0 }
struct ssl_st *apns_session_ssl(apns_session_t *session);
#define APNS_FEEDBACK_HOST_PRODUCTION "feedback.push.apple.com"
#define APNS_FEEDBACK_HOST_SANDBOX "feedback.sandbox.push.apple.com"
#define APNS_PORT_FEEDBACK 2196
typedef struct apns_feedback apns_feedback_t;
typedef struct apns_feedback_options {
  size_t size;
  apns_peer_t peer;
  int32_t environment;
  uint32_t read_timeout_ms;
  apns_session_t *session;
  uint32_t list_timeout_ms;
  uint32_t tuples_max;
} apns_feedback_options_t;
#define APNS_FEEDBACK_OPTIONS_INIT \
  { sizeof(apns_feedback_options_t), APNS_PEER_INIT, 0, 0, NULL, 0, 0 }
typedef struct apns_feedback_tuple {
  size_t size;
  uint32_t timestamp;
  uint32_t reserved32;
  const uint8_t *token;
  size_t token_length;
} apns_feedback_tuple_t;
#define APNS_FEEDBACK_TUPLE_INIT \
  { sizeof(apns_feedback_tuple_t), 0, 0, NULL, 0 }
apns_status_t apns_feedback_open(const apns_feedback_options_t *options,
                                 const apns_credentials_t *credentials,
                                 apns_feedback_t **feedback_out, apns_error_t *error_out);
apns_status_t apns_feedback_connect(apns_feedback_t *feedback, apns_error_t *error_out);
apns_status_t apns_feedback_next(apns_feedback_t *feedback, apns_feedback_tuple_t *tuple_out,
                                 apns_error_t *error_out);
int apns_feedback_fd(const apns_feedback_t *feedback);
void apns_feedback_free(apns_feedback_t *feedback);
#ifdef __cplusplus
}
#endif
#endif
