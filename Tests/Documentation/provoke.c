/*
 * provoke NAME=VALUE... STEP...: provokes errors and prints each message on its
 * own line. Names are fields of the options; steps are connect, send, many, check,
 * drain, events, fork, close, feedback.
 */
#include <apns/binary.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static apns_error_t error = APNS_ERROR_INIT;
static const char *token = "5f79cfda4d01aa3a", *payload = "{\"aps\":{}}";
static uint8_t push_type;

static int tell(apns_status_t status) {
  if (status != APNS_OK && status != APNS_DONE) printf("%s\n", error.message);
  return status == APNS_OK;
}

static apns_status_t send_one(apns_session_t *session, uint32_t flags) {
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  uint8_t bytes[APNS_TOKEN_MAX];
  apns_status_t status =
      apns_token_from_hex(token, strlen(token), bytes, sizeof bytes, &push.token_length, &error);
  push.token = bytes;
  push.payload = payload;
  push.payload_length = strlen(payload);
  push.push_type = push_type;
  return status ? status : apns_session_send(session, &push, flags, NULL, &error);
}

static void read_feedback(const apns_session_options_t *where, const apns_credentials_t *who) {
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
  apns_feedback_t *feedback = NULL;
  options.peer.host = where->peer.host;
  options.peer.port = where->peer.port;
  options.read_timeout_ms = where->tuning->write_timeout_ms;
  if (!tell(apns_feedback_open(&options, who, &feedback, &error))) return;
  while (tell(apns_feedback_next(feedback, &tuple, &error))) continue;
  apns_feedback_free(feedback);
}

static void take_events(apns_session_t *session, int32_t timeout_ms) {
  apns_event_t event = APNS_EVENT_INIT;
  while (tell(apns_session_next_event(session, &event, timeout_ms, &error)))
    printf("%s\n", event.kind == APNS_EVENT_UNKNOWN     ? "APNS_EVENT_UNKNOWN"
                   : event.kind == APNS_EVENT_CANCELLED ? "APNS_EVENT_CANCELLED"
                   : event.kind == APNS_EVENT_EXPIRED
                       ? "APNS_EVENT_EXPIRED"
                       : apns_reject_text((apns_reject_t)event.reject));
}

static void tell_findings(void) {
  apns_payload_finding_t findings[8] = {APNS_PAYLOAD_FINDING_INIT};
  size_t count = 0;
  apns_payload_check(payload, strlen(payload), 0, findings, 8, &count, NULL);
  for (size_t index = 0; index < count && index < 8; index++)
    printf("%s\n", findings[index].message);
}

static void step(const char *name, apns_session_t *session, const apns_session_options_t *where,
                 const apns_credentials_t *who) {
  if (!strcmp(name, "connect")) tell(apns_session_connect(session, &error));
  if (!strcmp(name, "send")) tell(send_one(session, 0));
  if (!strcmp(name, "cancel")) {
    tell(send_one(session, APNS_SEND_MORE));
    tell(apns_session_cancel(session, 0, NULL, &error));
  }
  if (!strcmp(name, "expire")) {
    tell(send_one(session, APNS_SEND_MORE));
    /* Its deadline is shorter. */
    nanosleep(&(struct timespec){.tv_nsec = 50 * 1000 * 1000}, NULL);
  }
  if (!strcmp(name, "many"))
    while (tell(send_one(session, APNS_SEND_MORE))) continue;
  if (!strcmp(name, "check"))
    tell(apns_payload_check(payload, strlen(payload), 0, NULL, 0, NULL, &error));
  if (!strcmp(name, "findings")) tell_findings();
  if (!strcmp(name, "drain")) tell(apns_session_drain(session, 500, NULL, &error));
  if (!strcmp(name, "events")) take_events(session, 2000);
  if (!strcmp(name, "close")) tell(apns_session_close(session, 500, &error));
  if (!strcmp(name, "feedback")) read_feedback(where, who);
  if (!strcmp(name, "size")) {
    apns_event_t event;
    memset(&event, 0, sizeof event);
    tell(apns_session_next_event(session, &event, 0, &error));
  }
  if (!strcmp(name, "fork")) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      tell(send_one(session, 0));
      fflush(stdout);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  }
}

int main(int argc, char **argv) {
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
  apns_tuning_t tuning = APNS_TUNING_INIT;
  where.protocol = APNS_PROTOCOL_BINARY;
  where.tuning = &tuning;
  apns_credentials_t *credentials = NULL;
  apns_session_t *session = NULL;
  const char *pin = NULL;
  int next = 1;
  for (; next < argc && strchr(argv[next], '='); next++) {
    char *name = argv[next], *value = strchr(name, '=');
    *value++ = 0;
#define TEXT(field, at) \
  if (!strcmp(name, field)) at = value;
#define NUMBER(field, at, type) \
  if (!strcmp(name, field)) at = (type)atoi(value);
    TEXT("certificate_file", who.certificate_file)
    TEXT("key_file", who.key_file)
    TEXT("passphrase", who.passphrase)
    TEXT("token_key_file", who.token_key_file)
    TEXT("key_id", who.key_id)
    TEXT("team_id", who.team_id)
    TEXT("ca_file", who.ca_file)
    TEXT("crl_file", who.crl_file)
    TEXT("crl_directory", who.crl_directory)
    TEXT("pinned_key", pin)
    NUMBER("tls_min", who.tls_min, int32_t)
    NUMBER("tls_max", who.tls_max, int32_t)
    TEXT("host", where.peer.host)
    TEXT("server_name", where.peer.server_name)
    TEXT("proxy", where.peer.proxy)
    NUMBER("port", where.peer.port, uint16_t)
    NUMBER("connect_timeout_ms", where.peer.connect_timeout_ms, uint32_t)
    NUMBER("write_timeout_ms", tuning.write_timeout_ms, uint32_t)
    NUMBER("connects_per_minute", tuning.connects_per_minute, uint32_t)
    NUMBER("outcomes", where.outcomes, int32_t)
    NUMBER("deadline_ms", where.deadline_ms, int32_t)
    NUMBER("delivery", where.delivery, int32_t)
    NUMBER("protocol", where.protocol, int32_t)
    NUMBER("checks", where.checks, int32_t)
    NUMBER("push_type", push_type, uint8_t)
    TEXT("topic", where.topic)
    TEXT("token", token)
    TEXT("payload", payload)
  }
  if (pin) who.pinned_keys = &pin, who.pinned_key_count = 1;
  if (tell(apns_credentials_new(&who, &credentials, &error)) &&
      tell(apns_session_new(&where, credentials, &session, &error)))
    for (; next < argc; next++) step(argv[next], session, &where, credentials);
  apns_session_free(session);
  apns_credentials_free(credentials);
  return 0;
}
