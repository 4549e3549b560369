/*
 * Out of memory: each allocation fails in turn, alone or with all later ones. No call ends the
 * program; each returns APNS_ERR_MEMORY or succeeds. The library leaks nothing, and with memory
 * again every queued notification gets its outcome.
 *
 *     memory_test              some of the allocations
 *     memory_test --all        each, up to the 5,000th
 *     memory_test KIND [N [every]]   one kind of run, or one run of it
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "Gateway/gateway.h"
#include "keychain.h"
#include "Memory/failing_memory.h"
#ifdef WITH_CARES
#include "Names/nameserver.h"
#endif
#include "provider.h"
#include "Trust/anchors.h"
#ifdef WITH_HTTP2
#include "Service/service.h"
#endif

enum { MOST = 5000, PUSHES = 12, DEVICES_GONE = 3, RUNS_OF_A_PEER = 200 };

/* ---- What is found ------------------------------------------------------ */

static const char *kind_name;
static size_t run_number;
static bool run_every;
static size_t complaints, hidden;

#define CHECK(condition, ...)                                                                    \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      if (++complaints <= 40) {                                                                  \
        fprintf(stderr, "%s %zu%s, line %d: ", kind_name, run_number, run_every ? " every" : "", \
                __LINE__);                                                                       \
        fprintf(stderr, __VA_ARGS__);                                                            \
        fputc('\n', stderr);                                                                     \
      }                                                                                          \
    }                                                                                            \
  } while (0)

/* OpenSSL 3.0 reports in some places that a lower layer failed, and not that it was memory. c-ares
   1.18 forgets an answer that it could not store, if the other one was fine and empty. */
static bool is_hidden(const apns_error_t *error) {
  if (error->cause == APNS_CAUSE_NAME_NOT_FOUND && strstr(error->message, "answer with no data"))
    return hidden++, true;
  static const char *const said[] = {
      "EC lib", "EVP lib", "bad signature", "unable to get local issuer certificate",
      "copy parameters failed", "not able to copy ctx", "initialization error", "key gen error",
      "random number generation failed", "EE certificate key too weak",
      "certificate signature failure", "hostname mismatch",
      /* 1.1.1 alone: it treats values that it could not store as missing */
      "alert missing extension", "Hostname mismatch", "algorithm whose cost is unknown",
      "nested asn1 error"};
  /* Without a peer in between, errno shows it, except for errors that 1.1.1 drops. */
  const bool is_old = OpenSSL_version_num() < 0x30000000L;
  if (error->status != APNS_ERR_TLS && !(is_old && error->status == APNS_ERR_CREDENTIALS))
    return false;
  for (size_t index = 0; index < sizeof said / sizeof *said; index++)
    if (strstr(error->message, said[index])) return hidden++, true;
  return false;
}

/* True if the caller has to repeat a call: it reports that memory ran out, and it did. If one
   allocation fails, only one call may report that; if all fail, there is memory again from then
   on. */
static bool again(apns_status_t status, const apns_error_t *error, const char *call) {
  if (status == APNS_OK) return false;
  CHECK((status == APNS_ERR_MEMORY || (!run_every && is_hidden(error))) && memory_failed() > 0,
        "%s: %s: %s (errno %d, TLS %llx)", call, apns_status_name(status), error->message,
        error->sys_errno, (unsigned long long)error->tls_code);
  CHECK(error->status == status && error->message[0], "%s: no error was filled in", call);
  CHECK(status != APNS_ERR_MEMORY || error->cause == APNS_CAUSE_MEMORY, "%s: the cause is %s", call,
        apns_cause_name((apns_cause_t)error->cause));
  memory_disarm();
  return true;
}

/* True if the caller has to repeat the call of a session that never waits: once the session had
   something to do, even if its only news is a lack of memory. */
static bool goes_on(apns_session_t *session, apns_status_t status) {
  if (status != APNS_ERR_AGAIN) return false;
  struct pollfd watched = {.fd = apns_session_fd(session), .events = POLLIN};
  CHECK(poll(&watched, 1, AMPLE_MS) == 1, "the loop is not woken");
  status = apns_session_process(session, &error);
  if (status != APNS_DONE) again(status, &error, "process");
  return true;
}

/* The same for a session that waits: it never returns APNS_ERR_AGAIN. */
#define TRY_ALL(session, call)                                                       \
  do {                                                                               \
    apns_error_t error = APNS_ERROR_INIT;                                            \
    apns_status_t status;                                                            \
    while (goes_on((session), status = (call))) continue;                            \
    if (again(status, &error, #call)) {                                              \
      while (goes_on((session), status = (call))) continue;                          \
      CHECK(status == APNS_OK, "again: " #call ": %s: %s", apns_status_name(status), \
            error.message);                                                          \
    }                                                                                \
  } while (0)

/* Makes the call, and repeats it if memory ran out. */
#define TRY(call)                                                                    \
  do {                                                                               \
    apns_error_t error = APNS_ERROR_INIT;                                            \
    if (again((call), &error, #call)) {                                              \
      apns_status_t status = (call);                                                 \
      CHECK(status == APNS_OK, "again: " #call ": %s: %s", apns_status_name(status), \
            error.message);                                                          \
    }                                                                                \
  } while (0)

/* ---- The peers, in another process with separate memory -------------------- */

/* `stranger` requests no certificate. */
static struct peers { uint16_t gateway, stranger, feedback, service; } peers;
static pid_t peer_process;
#ifdef WITH_CARES
static bool has_names; /* in a namespace with a name server */
#endif
static size_t runs_of_peer;

static const uint8_t gone[DEVICES_GONE * 10] = {0, 0, 0, 1, 0, 4, 1, 1, 1, 1, 0, 0, 0, 2, 0,
                                                4, 2, 2, 2, 2, 0, 0, 0, 3, 0, 4, 3, 3, 3, 3};

#ifdef WITH_HTTP2
/* By the token's last byte. */
static service_reply_t judge(void *context, const service_push_t *push) {
  (void)context;
  if (strstr(push->path, "/all-channels"))
    return (service_reply_t){.body = "{\"channels\":[\"AAAA\",\"AAAB\"]}"};
  if (!strncmp(push->path, "/1/", 3))
    return (service_reply_t){
        .status = 201,
        .channel_id = "AAAA",
        .body = "{\"message-storage-policy\":1,\"push-type\":\"LiveActivity\"}"};
  const char *end = push->path + strlen(push->path) - 2;
  if (!strcmp(end, "ff"))
    return (service_reply_t){.status = 400, .body = "{\"reason\":\"BadDeviceToken\"}"};
  if (!strcmp(end, "fe"))
    return (service_reply_t){.status = 410,
                             .body = "{\"reason\":\"Unregistered\",\"timestamp\":1700000000000}"};
  return (service_reply_t){0};
}
#endif

static void start_peers(void) {
  if (peer_process) {
    kill(peer_process, SIGKILL);
    waitpid(peer_process, NULL, 0);
  }
  runs_of_peer = 0;
  int ends[2];
  if (pipe(ends)) abort();
  peer_process = fork();
  if (peer_process == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#ifdef WITH_CARES
    if (has_names) nameserver_start();
#endif
    static const gateway_step_t list[] = {SAY(gone, sizeof gone), END};
    static const gateway_step_t *lists[2 * RUNS_OF_A_PEER * 10 + 1];
    for (size_t index = 0; index + 1 < sizeof lists / sizeof *lists; index++) lists[index] = list;
    const gateway_options_t how = {.wants_certificate = true, .tickets = 2};
    struct peers made = {.gateway = gateway_port(gateway_start(&how, NULL)),
                         .stranger = gateway_port(gateway_start(NULL, NULL)),
                         .feedback = gateway_port(gateway_start(&how, lists))};
#ifdef WITH_HTTP2
    made.service = service_port(service_judging(judge, NULL));
#endif
    if (write(ends[1], &made, sizeof made) != sizeof made) _exit(1);
    while (true) pause();
  }
  close(ends[1]);
  if (read(ends[0], &peers, sizeof peers) != sizeof peers) abort();
  close(ends[0]);
}

/* ---- Credentials --------------------------------------------------------- */

static apns_credentials_options_t pem, pkcs12, locked_key, der;

static void make_credentials(void) {
  const identities_t *identities = identities_make();
  const identity_t *provider = &identities->provider;
  pem = (apns_credentials_options_t)APNS_CREDENTIALS_OPTIONS_INIT;
  pem.ca_file = identities->root.certificate_file;
  pkcs12 = locked_key = der = pem;
  pem.certificate_file = provider->certificate_file;
  pem.key_file = provider->key_file;
#ifdef WITH_HTTP2
  size_t length;
  const key_form_t plain = {0};
  EVP_PKEY *signing = keychain_key(false);
  pem.token_key_bytes = keychain_key_bytes(signing, &plain, &length);
  pem.token_key_length = length;
  pem.key_id = "ABC123DEFG";
  pem.team_id = "DEF123GHIJ";
  pem.token_cache_file = "/nonexistent/";
#endif
  const pkcs12_t traits = {.key = provider->key,
                           .certificate = provider->certificate,
                           .chain = identities->intermediate.certificate,
                           .passphrase = "secret",
                           .key_cipher = NID_aes_256_cbc,
                           .certificate_cipher = NID_aes_256_cbc};
  pkcs12.certificate_bytes = keychain_pkcs12(&traits, &pkcs12.certificate_length);
  pkcs12.passphrase = "secret";
  locked_key.certificate_file = provider->certificate_file;
  const key_form_t locked = {.cipher = NID_aes_256_cbc, .passphrase = "secret"};
  locked_key.key_bytes = keychain_key_bytes(provider->key, &locked, &locked_key.key_length);
  locked_key.passphrase = "secret";
  const key_form_t binary = {.is_der = true};
  der.certificate_bytes =
      keychain_certificate_bytes(provider->certificate, true, &der.certificate_length);
  der.key_bytes = keychain_key_bytes(provider->key, &binary, &der.key_length);
}

static void load(const apns_credentials_options_t *options) {
  apns_credentials_t *credentials = NULL;
  TRY(apns_credentials_new(options, &credentials, &error));
  CHECK(credentials, "no credentials");
  apns_credentials_description_t told = APNS_CREDENTIALS_DESCRIPTION_INIT;
  TRY(apns_credentials_describe(credentials, &told, &error));
  CHECK(told.subject && strstr(told.subject, "provider"), "described wrongly");
  apns_credentials_free(credentials);
}

static void run_pem(void) { load(&pem); }
static void run_pkcs12(void) { load(&pkcs12); }
static void run_locked_key(void) { load(&locked_key); }
static void run_der(void) { load(&der); }

/* With the system's CA certificates, in another system's file: found once there is memory again. */
static bool has_anchors; /* in a namespace where they can be put */

static void run_system_trust(void) {
  FORGET_ERROR();
  if (!has_anchors) return;
  apns_credentials_t *credentials = NULL;
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  TRY(apns_credentials_new(&options, &credentials, &error));
  CHECK(credentials, "no credentials");
  memory_disarm();
  apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
  where.peer.host = "127.0.0.1";
  where.peer.port = peers.stranger;
  where.protocol = APNS_PROTOCOL_BINARY;
  apns_session_t *session = NULL;
  CHECK(!apns_session_new(&where, credentials, &session, &error), "%s", error.message);
  apns_credentials_free(credentials);
  CHECK(!apns_session_connect(session, &error), "%s", error.message);
  apns_session_free(session);
}

/* ---- Values --------------------------------------------------------------- */

static void fill_payload(apns_payload_t *payload) {
  static const char *const args[] = {"Jenna", "Frank"};
  static const char long_text[] =
      "a text that is long enough for the payload's memory to grow once or twice while it is "
      "being made, and longer still, and once more, and on it goes, and on, and on, and on, and on";
  TRY(apns_payload_set_string(payload, APNS_KEY_TITLE, "Chess", 5, &error));
  TRY(apns_payload_set_string(payload, APNS_KEY_BODY, long_text, sizeof long_text - 1, &error));
  TRY(apns_payload_set_strings(payload, APNS_KEY_LOC_ARGS, args, NULL, 2, &error));
  TRY(apns_payload_set_integer(payload, APNS_KEY_BADGE, 9, &error));
  for (char name[] = "game-a"; name[5] < 'q'; name[5]++)
    TRY(apns_payload_add_string(payload, name, 6, long_text, sizeof long_text - 1, &error));
}

static void run_values(void) {
  static const char file[] =
      "\"REQUEST\" = \"%@ and %@ have invited you\";\n\"A\" = \"1\";\n\"B\" = \"2\";\n";
  static const char *const args[] = {"Jenna", "Frank"};
  char text[200];
  size_t length = 0;
  apns_strings_t *strings = NULL;
  TRY(apns_strings_new(file, sizeof file - 1, &strings, &error));
  TRY(apns_strings_format(strings, "REQUEST", 7, args, 2, text, sizeof text, &length, &error));
  CHECK(!strcmp(text, "Jenna and Frank have invited you"), "formatted wrongly");
  apns_strings_free(strings);
  apns_payload_options_t options = APNS_PAYLOAD_OPTIONS_INIT;
  options.limit = 4096;
  apns_payload_t *payload = NULL;
  TRY(apns_payload_new(&options, &payload, &error));
  fill_payload(payload);
  static char json[2][4096];
  size_t lengths[2] = {0};
  TRY(apns_payload_write(payload, json[0], sizeof json[0], &lengths[0], NULL, &error));
  /* A failed call left nothing behind. */
  apns_payload_reset(payload);
  memory_disarm();
  fill_payload(payload);
  TRY(apns_payload_write(payload, json[1], sizeof json[1], &lengths[1], NULL, &error));
  CHECK(lengths[0] == lengths[1] && !memcmp(json[0], json[1], lengths[0]), "written differently");
  apns_payload_free(payload);
}

static void run_check(void) {
  static char json[3000];
  size_t length = (size_t)sprintf(json, "{\"aps\":{\"alert\":\"x\"}");
  for (int number = 0; number < 100; number++)
    length += (size_t)sprintf(json + length, ",\"key%d\":{\"a\":1,\"b\":[2]}", number);
  json[length++] = '}';
  apns_payload_finding_t findings[4];
  for (size_t index = 0; index < 4; index++)
    findings[index] = (apns_payload_finding_t)APNS_PAYLOAD_FINDING_INIT;
  size_t found = 0;
  TRY(apns_payload_check(json, length, 4096, findings, 4, &found, &error));
}

/* ---- Sessions -------------------------------------------------------------- */

static apns_credentials_t *credentials;
static bool is_taken[PUSHES];

static apns_notification_t push_of(size_t n) {
  static uint8_t tokens[PUSHES][32];
  memset(tokens[n], (int)n + 1, sizeof *tokens);
  if (n == 5) memset(tokens[n] + 30, 0xFF, 2);
  if (n == 7) tokens[n][31] = 0xFE;
  apns_notification_t push = APNS_NOTIFICATION_INIT;
  push.token = tokens[n];
  push.token_length = 32;
  push.payload = "{\"aps\":{\"alert\":\"hello\"}}";
  push.payload_length = strlen(push.payload);
  push.user_data = (void *)(uintptr_t)(n + 1);
  return push;
}

static bool must_retry(apns_status_t status, const apns_error_t *error) {
  return again(status, error, "send");
}

static void send_pushes(apns_session_t *session, apns_payload_t *payload) {
  for (size_t n = 0; n < PUSHES; n++) {
    apns_notification_t push = push_of(n);
    const uint32_t flags = n % 3 ? APNS_SEND_MORE : 0;
    while (true) {
      apns_status_t status;
      if (n % 4 == 3) {
        push.payload = NULL, push.payload_length = 0;
        status = apns_session_send_payload(session, &push, payload, flags, NULL, NULL, &error);
      } else {
        status = apns_session_send(session, &push, flags, NULL, &error);
      }
      if (!must_retry(status, &error)) break;
    }
    is_taken[n] = true;
  }
}

static void take_events(apns_session_t *session, bool was_closed) {
  bool has_end[PUSHES] = {0};
  while (true) {
    apns_event_t event = APNS_EVENT_INIT;
    apns_status_t status = apns_session_next_event(session, &event, 0, &error);
    if (status == APNS_DONE) break;
    if (again(status, &error, "next_event")) continue;
    size_t n = (size_t)(uintptr_t)event.user_data - 1;
    CHECK(n < PUSHES && is_taken[n] && !has_end[n], "an unexpected event of number %zu", n);
    if (n >= PUSHES) continue;
    has_end[n] = true;
    if (event.kind == APNS_EVENT_UNKNOWN)
      CHECK(was_closed, "number %zu ends as unknown", n);
    else if (n != 7)
      CHECK((event.kind == APNS_EVENT_REJECTED) == (n == 5), "number %zu ends otherwise", n);
  }
  for (size_t n = 0; n < PUSHES; n++) CHECK(has_end[n] == is_taken[n], "number %zu has no end", n);
}

static void run_session(apns_protocol_t protocol, bool closes, bool loops) {
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  apns_session_t *session = NULL;
  memset(is_taken, 0, sizeof is_taken);
  options.protocol = protocol;
  options.peer.host = "127.0.0.1";
  options.peer.port = protocol == APNS_PROTOCOL_HTTP2 ? peers.service : peers.gateway;
  options.peer.connect_timeout_ms = tuning_of(&options)->write_timeout_ms = AMPLE_MS;
  options.topic = protocol == APNS_PROTOCOL_HTTP2 ? "com.example.chess" : NULL;
  tuning_of(&options)->reconnect_pause_max_ms = 1;
  options.outcomes = APNS_OUTCOMES_EACH;
  options.peer.nonblocking = loops;
  apns_payload_t *payload = NULL;
  TRY(apns_payload_new(NULL, &payload, &error));
  TRY(apns_payload_set_string(payload, APNS_KEY_ALERT, "built", 5, &error));
  TRY(apns_session_new(&options, credentials, &session, &error));
  TRY_ALL(session, apns_session_connect(session, &error));
  send_pushes(session, payload);
  TRY_ALL(session, apns_session_flush(session, &error));
  if (!closes) {
    TRY_ALL(session, apns_session_drain(session, AMPLE_MS, NULL, &error));
  } else {
    TRY_ALL(session, apns_session_close(session, AMPLE_MS, &error));
  }
  take_events(session, closes);
  if (!closes && protocol != APNS_PROTOCOL_HTTP2) {
    SSL *ssl = apns_session_ssl(session);
    if (!ssl) {
      CHECK(memory_failed() > 0, "no SSL for the session");
      memory_disarm();
      ssl = apns_session_ssl(session);
    }
    CHECK(ssl, "no SSL for the session, again");
  }
  if (protocol == APNS_PROTOCOL_HTTP2) {
    apns_feedback_options_t list = APNS_FEEDBACK_OPTIONS_INIT;
    apns_feedback_t *feedback = NULL;
    list.session = session;
    TRY(apns_feedback_open(&list, NULL, &feedback, &error));
    apns_feedback_free(feedback);
  }
  apns_session_free(session);
  apns_payload_free(payload);
}

static void run_binary(void) { run_session(APNS_PROTOCOL_BINARY, false, false); }
static void run_binary_closing(void) { run_session(APNS_PROTOCOL_BINARY, true, false); }
static void run_binary_looping(void) { run_session(APNS_PROTOCOL_BINARY, false, true); }
#ifdef WITH_HTTP2
static void run_http2(void) { run_session(APNS_PROTOCOL_HTTP2, false, false); }
static void run_http2_closing(void) { run_session(APNS_PROTOCOL_HTTP2, true, false); }
static void run_http2_looping(void) { run_session(APNS_PROTOCOL_HTTP2, false, true); }

/* A creation may be in doubt if memory ran out; the other requests just report that. */
static void run_channels(void) {
  apns_channels_options_t options = APNS_CHANNELS_OPTIONS_INIT;
  options.peer.host = "127.0.0.1";
  options.peer.port = peers.service;
  options.topic = "com.example.chess";
  options.peer.connect_timeout_ms = options.answer_timeout_ms = AMPLE_MS;
  apns_channels_t *channels = NULL;
  TRY(apns_channels_new(&options, credentials, &channels, &error));
  char channel[APNS_CHANNEL_ID_MAX + 1] = "";
  apns_error_t doubt = APNS_ERROR_INIT;
  if (apns_channel_create(channels, APNS_STORAGE_LATEST, channel, sizeof channel, &doubt)) {
    if (doubt.status == APNS_ERR_IN_DOUBT) {
      CHECK(memory_failed() > 0, "create: %s", doubt.message);
      memory_disarm();
    } else {
      again((apns_status_t)doubt.status, &doubt, "create");
    }
    TRY(apns_channel_create(channels, APNS_STORAGE_LATEST, channel, sizeof channel, &error));
  }
  CHECK(!strcmp(channel, "AAAA"), "created %s", channel);
  apns_channel_description_t description = APNS_CHANNEL_DESCRIPTION_INIT;
  TRY(apns_channel_describe(channels, channel, &description, &error));
  CHECK(description.storage == 1, "stores %d", description.storage);
  TRY(apns_channels_list(channels, &error));
  const char *listed;
  int count = 0;
  while (apns_channels_next(channels, &listed) == APNS_OK) count++;
  CHECK(count == 2, "%d channels", count);
  TRY(apns_channel_delete(channels, channel, &error));
  apns_channels_free(channels);
}
#endif

/* A list that broke off is gone with its connection, so the caller may read it again. */
static void run_feedback(void) {
  apns_feedback_options_t options = APNS_FEEDBACK_OPTIONS_INIT;
  options.peer.host = "127.0.0.1";
  options.peer.port = peers.feedback;
  options.peer.connect_timeout_ms = options.read_timeout_ms = AMPLE_MS;
  while (true) {
    apns_feedback_t *feedback = NULL;
    TRY(apns_feedback_open(&options, credentials, &feedback, &error));
    int tuples = 0;
    apns_status_t status;
    do {
      apns_feedback_tuple_t tuple = APNS_FEEDBACK_TUPLE_INIT;
      status = apns_feedback_next(feedback, &tuple, &error);
      if (status == APNS_OK) tuples++;
    } while (status == APNS_OK);
    apns_feedback_free(feedback);
    if (status == APNS_DONE) {
      CHECK(tuples == DEVICES_GONE, "a list of %d devices", tuples);
      return;
    }
    if (!again(status, &error, "feedback_next")) return;
  }
}

#ifdef WITH_CARES
/* ---- Names --------------------------------------------------------------------- */

static void run_lookup(void) {
  if (!has_names) return;
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  apns_session_t *session = NULL;
  options.peer.host = "fine.test";
  options.peer.server_name = "localhost";
  options.peer.port = peers.gateway;
  /* If c-ares lost an answer for lack of memory, it repeats the query after half of this. */
  options.peer.connect_timeout_ms = 20000;
  tuning_of(&options)->reconnect_pause_max_ms = 1;
  binary_of(&options)->no_standby = 1;
  TRY(apns_session_new(&options, credentials, &session, &error));
  TRY(apns_session_connect(session, &error));
  apns_session_free(session);
}
#endif

/* ---- The first handshake ------------------------------------------------------ */

/* In a process that made no connection before; its exit status: 1: it never connects, 2: there were
   fewer allocations. */
static int connect_first(size_t n) {
  apns_credentials_options_t who = pem;
  who.tls_max = APNS_TLS_1_2;
  apns_credentials_t *made = NULL;
  apns_session_t *session = NULL;
  apns_session_options_t where = APNS_SESSION_OPTIONS_INIT;
  where.peer.host = "127.0.0.1";
  where.peer.port = peers.gateway;
  where.protocol = APNS_PROTOCOL_BINARY;
  where.peer.connect_timeout_ms = AMPLE_MS;
  tuning_of(&where)->reconnect_pause_max_ms = 1;
  if (apns_credentials_new(&who, &made, &error)) return 1;
  if (apns_session_new(&where, made, &session, &error)) return 1;
  memory_arm(n, false);
  apns_session_connect(session, &error);
  memory_disarm();
  if (memory_failed() == 0) return 2;
  return apns_session_connect(session, &error) != APNS_OK;
}

static void play_first_handshakes(size_t stride) {
  kind_name = "first handshake", run_every = false;
  for (run_number = 1; run_number < MOST; run_number += stride) {
    fflush(stdout);
    if (++runs_of_peer > RUNS_OF_A_PEER) start_peers();
    const pid_t child = fork();
    if (child == 0) _exit(connect_first(run_number));
    int status;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) break;
    CHECK(status == 0, "no connection is made any more: %x", status);
  }
  printf("%-16s %zu allocations\n", kind_name, run_number);
}

/* ---- The runs -------------------------------------------------------------- */

static const struct kind {
  const char *name;
  void (*run)(void);
} kinds[] = {
    {"values", run_values},
    {"check", run_check},
    {"pem", run_pem},
    {"der", run_der},
    {"locked-key", run_locked_key},
    {"pkcs12", run_pkcs12},
    {"system-trust", run_system_trust},
    {"binary", run_binary},
    {"binary-closing", run_binary_closing},
    {"binary-looping", run_binary_looping},
    {"feedback", run_feedback},
#ifdef WITH_CARES
    {"lookup", run_lookup},
#endif
#ifdef WITH_HTTP2
    {"http2", run_http2},
    {"http2-closing", run_http2_closing},
    {"http2-looping", run_http2_looping},
    {"channels", run_channels},
#endif
};

/* How many allocations of the run there were; 0: fewer than n. */
static bool play(const struct kind *kind, size_t n, bool every) {
  if (++runs_of_peer > RUNS_OF_A_PEER) start_peers();
  kind_name = kind->name, run_number = n, run_every = every;
  size_t since = memory_serial();
  long own = memory_own();
  memory_arm(n, every);
  kind->run();
  memory_disarm();
  CHECK(memory_own() == own, "%ld pieces of memory are left", memory_own() - own);
  if (memory_own() != own && complaints < 40) memory_print_own(since);
  return memory_failed() > 0;
}

static void play_all(const struct kind *kind, size_t stride) {
  for (int every = 0; every < 2; every++) {
    /* Everything that is made only once is made here. */
    for (int round = 0; round < 2; round++) play(kind, 0, false);
    size_t runs = 0, before = complaints;
    hidden = 0;
    long all = memory_all();
    int64_t start = clock_ms(), longest = 0;
    /* The first ones each, for many of the library's own are among them. */
    for (size_t n = 1; n <= MOST; n += n < 2 * stride ? 1 : stride, runs++) {
      int64_t begun = clock_ms();
      bool went_on = play(kind, n, every);
      if (clock_ms() - begun > longest) longest = clock_ms() - begun;
      if (!went_on) break;
    }
    printf(
        "%-16s %-6s %5zu runs up to the %zuth allocation, %zu complaints, %zu hidden by "
        "OpenSSL, %.1f s, the longest %lld ms, %.2f pieces of others' left a run\n",
        kind->name, every ? "every" : "one", runs, run_number, complaints - before, hidden,
        (double)(clock_ms() - start) / 1000, (long long)longest,
        runs ? (double)(memory_all() - all) / (double)runs : 0.0);
    fflush(stdout);
  }
}

int main(int count, char **arguments) {
  FORGET_ERROR();
  const bool plays_all = count > 1 && !strcmp(arguments[1], "--all");
  const char *only = count > 1 && !plays_all ? arguments[1] : NULL;
  signal(SIGPIPE, SIG_IGN);
  make_credentials();
  unsetenv("SSL_CERT_FILE");
  unsetenv("SSL_CERT_DIR");
  has_anchors = anchors_hide();
  if (!has_anchors) {
    puts("skipped: system-trust, which needs a namespace with a separate /etc");
  } else {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/README", X509_get_default_cert_dir());
    anchors_put(path, pem.ca_file);
    anchors_put("/etc/pki/tls/certs/ca-bundle.crt", pem.ca_file);
  }
#ifdef WITH_CARES
  has_names = nameserver_enter();
  if (!has_names) puts("skipped: lookup, which needs a namespace with a name server");
#endif
  start_peers();
  if (apns_credentials_new(&pem, &credentials, &error)) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  if (!only) play_first_handshakes(plays_all ? 1 : 13);
  for (size_t index = 0; index < sizeof kinds / sizeof *kinds; index++) {
    if (only && strcmp(only, kinds[index].name)) continue;
    if (count > 2) {
      for (int round = 0; round < 2; round++) play(&kinds[index], 0, false);
      play(&kinds[index], strtoul(arguments[2], NULL, 10), count > 3);
    } else {
      /* That one has few. */
      const size_t some = kinds[index].run == run_system_trust ? 13 : 61;
      play_all(&kinds[index], plays_all || only ? 1 : some);
    }
  }
  apns_credentials_free(credentials);
  kill(peer_process, SIGKILL);
  waitpid(peer_process, NULL, 0);
  if (complaints) fprintf(stderr, "%zu complaints\n", complaints);
  return complaints > 0;
}
