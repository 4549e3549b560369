/* The structures of version 0.1, by its own header: programs that were compiled with it. */
#include "baseline.h"

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
