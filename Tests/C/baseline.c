/* The structures of version 0.1, by its own header: programs that were compiled with it. */
#include "baseline.h"

#include <string.h>

#include "Baseline/apns-0.1.h"

const baseline_t baseline = {
    .error = sizeof(apns_error_t),
    .payload_options = sizeof(apns_payload_options_t),
    .payload_finding = sizeof(apns_payload_finding_t),
    .credentials_options = sizeof(apns_credentials_options_t),
    .credentials_description = sizeof(apns_credentials_description_t),
    .session_options = sizeof(apns_session_options_t),
    .notification = sizeof(apns_notification_t),
    .event = sizeof(apns_event_t),
    .session_stats = sizeof(apns_session_stats_t),
    .feedback_options = sizeof(apns_feedback_options_t),
    .feedback_tuple = sizeof(apns_feedback_tuple_t),
};

baseline_error_t baseline_failure(const char *path) {
  struct {
    unsigned char before[16];
    apns_error_t error;
    unsigned char behind[64];
  } memory;
  memset(&memory, 0xA5, sizeof memory);
  memory.error = (apns_error_t)APNS_ERROR_INIT;
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  options.certificate_file = path;
  apns_credentials_t *credentials = NULL;
  const int32_t returned = apns_credentials_new(&options, &credentials, &memory.error);
  apns_credentials_free(credentials);
  baseline_error_t read = {
      .returned = returned,
      .status = memory.error.status,
      .sys_errno = memory.error.sys_errno,
      .reject = memory.error.reject,
      .reserved32 = memory.error.reserved32,
      .keeps_its_neighbours = memory.error.size == sizeof memory.error,
  };
  memcpy(read.message, memory.error.message, sizeof read.message);
  for (size_t index = 0; index < sizeof memory.before; index++)
    if (memory.before[index] != 0xA5) read.keeps_its_neighbours = false;
  for (size_t index = 0; index < sizeof memory.behind; index++)
    if (memory.behind[index] != 0xA5) read.keeps_its_neighbours = false;
  return read;
}
