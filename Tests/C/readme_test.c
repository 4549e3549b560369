/*
 * The C of README.md and of two pages, compiled as it stands there, and run. It goes to
 * Apple's hosts and names its own files: this program leads names, ports and trust anchors to the
 * tests' services.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "provider.h"
#include "Service/service.h"

/* The README's program, the first program of Documentation/C.md, and the functions of its other
   blocks and of Documentation/BROADCASTS.md. */
int page_main(void);
int readme_main(void);
apns_status_t prepare_update(apns_payload_t *payload, apns_error_t *error);
apns_status_t set_update(apns_payload_t *payload, const char *state, apns_error_t *error);
apns_status_t open_match(const apns_credentials_t *credentials, char *channel_id,
                         apns_error_t *error);
apns_status_t tell_all(apns_session_t *session, const char *channel_id, const char *json,
                       apns_error_t *error);
void run_until_drained(apns_session_t *session);
apns_status_t open_session(apns_session_t **session_out, apns_error_t *error);

#define TOKEN "5f79cfda4d01aa3a11c833f97b52df2a7a210252e21b01faa73d34639ee0e412"

/* ---- The way there ------------------------------------------------------ */

static char asked[256];        /* the name that was looked up last */
static uint16_t meant, really; /* the port of the last connection, and its real destination */

/* Both linked before libc's. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **list) {
  int (*system)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  *(void **)&system = dlsym(RTLD_NEXT, "getaddrinfo");
  snprintf(asked, sizeof asked, "%s", name);
  return system("127.0.0.1", service, hints, list);
}

int connect(int descriptor, const struct sockaddr *address, socklen_t size) {
  int (*system)(int, const struct sockaddr *, socklen_t);
  *(void **)&system = dlsym(RTLD_NEXT, "connect");
  if (address->sa_family != AF_INET) return system(descriptor, address, size);
  struct sockaddr_in there = *(const struct sockaddr_in *)address;
  meant = ntohs(there.sin_port);
  there.sin_port = htons(really);
  return system(descriptor, (struct sockaddr *)&there, size);
}

/* ---- Running ------------------------------------------------------------ */

/* What the program prints. */
static void run(int (*program)(void), char *said, size_t capacity) {
  const char *file = identities_write("said", "", 0);
  fflush(stdout);
  int before = dup(STDOUT_FILENO);
  assert_non_null(freopen(file, "w", stdout));
  int status = program();
  fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  size_t length = 0;
  owned(text) text = identities_read(file, &length);
  snprintf(said, capacity, "%.*s", (int)length, text);
  assert_int_equal(status, 0);
}

static void is_bearer_of_the_page(const char *authorization) {
  assert_int_equal(strncmp(authorization, "bearer ", 7), 0);
  unsigned char head[256] = {0};
  char part[256];
  snprintf(part, sizeof part, "%.*s", (int)strcspn(authorization + 7, "."), authorization + 7);
  while (strlen(part) % 4) strcat(part, "=");
  assert_true(EVP_DecodeBlock(head, (unsigned char *)part, (int)strlen(part)) > 0);
  assert_contains((char *)head, "ES256");
  assert_contains((char *)head, "ABC123DEFG");
}

static service_reply_t gone(void *context, const service_push_t *push) {
  (void)context, (void)push;
  return (service_reply_t){.status = 410, .body = "{\"reason\":\"Unregistered\",\"timestamp\":1}"};
}

static void push_to(int (*program)(void), bool has_key, service_judge_t judge,
                    const char *expected) {
  identity_t apple;
  identity_make(&apple, &(identity_traits_t){.name = "apple",
                                             .alternative_names = "DNS:api.push.apple.com",
                                             .signer = &identities_make()->root});
  service_t *service = service_start(&(service_options_t){.judge = judge, .identity = &apple});
  char said[256];
  really = service_port(service);
  run(program, said, sizeof said);
  service_stop(service);
  assert_string_equal(said, expected);
  assert_string_equal(asked, "api.push.apple.com");
  assert_int_equal(meant, 443);
  assert_int_equal(service_count(service), 1);
  const service_push_t *push = service_push(service, 0);
  assert_string_equal(push->path, "/3/device/" TOKEN);
  assert_string_equal(push->authority, "api.push.apple.com");
  if (has_key) assert_string_equal(push->topic, "com.example.app");
  assert_string_equal(push->push_type, "alert");
  assert_int_equal(push->payload_length, strlen("{\"aps\":{\"alert\":\"Hello\"}}"));
  assert_memory_equal(push->payload, "{\"aps\":{\"alert\":\"Hello\"}}", push->payload_length);
  if (has_key) is_bearer_of_the_page(push->authorization);
  service_free(service);
  identity_drop(&apple);
}

/* A main() needs no return. */
static int readme(void) {
  readme_main();
  return 0;
}
static int page(void) {
  page_main();
  return 0;
}

TEST(the_readmes_pushes_to_apple) {
  push_to(readme, false, NULL, "accepted\n");
  push_to(readme, false, gone, "rejected: Unregistered (HTTP 410)\n");
}

TEST(the_pages_pushes_to_apple) {
  push_to(page, true, NULL, "accepted\n");
  push_to(page, true, gone, "rejected: Unregistered (HTTP 410)\n");
}

TEST(the_binary_one_goes_to_a_private_gateway) {
  identity_t private;
  identity_make(&private, &(identity_traits_t){.name = "private",
                                               .alternative_names = "DNS:gateway.example.com",
                                               .signer = &identities_make()->root});
  gateway_t *gateway =
      gateway_start(&(gateway_options_t){.wants_certificate = true, .identity = &private}, NULL);
  apns_session_t *session = NULL;
  really = gateway_port(gateway);
  assert_ok(open_session(&session, &error));
  send_and_drain(session, 0, 1);
  assert_counts(session, 1, 1, 0, 0, 0);
  apns_session_free(session);
  assert_string_equal(asked, "gateway.example.com");
  assert_int_equal(meant, 2195);
  assert_true(gateway_heard(gateway, 0)->showed_certificate);
  assert_carries(gateway_heard(gateway, 0), 0, 0);
  gateway_stop(gateway);
  identity_drop(&private);
}

static apns_session_t *in_a_loop;

static int drain_in_a_loop(void) {
  run_until_drained(in_a_loop);
  return 0;
}

TEST(the_loop_of_the_page_drains) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_BINARY;
  options.peer.host = "127.0.0.1";
  options.peer.nonblocking = 1;
  options.outcomes = APNS_OUTCOMES_EACH;
  owned(credentials) credentials = provider_credentials();
  char said[256];
  really = gateway_port(gateway);
  assert_ok(apns_session_new(&options, credentials, &in_a_loop, &error));
  send_range(in_a_loop, 0, 3);
  run(drain_in_a_loop, said, sizeof said);
  assert_counts(in_a_loop, 3, 3, 0, 0, 0);
  assert_contains(said, "3 has its outcome\n");
  apns_session_free(in_a_loop);
}

TEST(the_live_activity_of_the_page_has_no_findings) {
  owned(payload) payload = payload_with(NULL);
  assert_ok(prepare_update(payload, &error));
  for (int home = 0; home < 2; home++) {
    char score[32], json[256];
    size_t length = 0, count = 0;
    apns_payload_finding_t finding = APNS_PAYLOAD_FINDING_INIT;
    snprintf(score, sizeof score, "{\"home\":%d}", home);
    assert_ok(set_update(payload, score, &error));
    assert_ok(apns_payload_write(payload, json, sizeof json - 1, &length, NULL, &error));
    json[length] = 0;
    assert_contains(json, score);
    assert_ok(apns_payload_check(json, length, 0, &finding, 1, &count, &error));
    assert_int_equal(count, 0);
  }
}

static service_reply_t create_channel(void *context, const service_push_t *push) {
  (void)context, (void)push;
  return (service_reply_t){.status = 201, .channel_id = "dHN0LXNyY2gtY2hubA=="};
}

TEST(the_channel_of_the_page_is_made_and_told) {
  identity_t apple;
  identity_make(&apple, &(identity_traits_t){
                            .name = "apple",
                            .alternative_names =
                                "DNS:api.push.apple.com,DNS:api-manage-broadcast.push.apple.com",
                            .signer = &identities_make()->root});
  service_t *service =
      service_start(&(service_options_t){.judge = create_channel, .identity = &apple});
  owned(credentials) credentials = provider_credentials();
  char channel[APNS_CHANNEL_ID_MAX + 1];
  really = service_port(service);
  assert_ok(open_match(credentials, channel, &error));
  assert_string_equal(asked, APNS_CHANNELS_HOST_PRODUCTION);
  assert_int_equal(meant, 2196);
  apns_session_options_t options = APNS_SESSION_OPTIONS_INIT;
  options.protocol = APNS_PROTOCOL_HTTP2;
  options.topic = "com.example.app";
  apns_session_t *session = session_with(&options, credentials);
  assert_ok(tell_all(session, channel, "{\"aps\":{\"event\":\"update\"}}", &error));
  drain(session);
  apns_session_free(session);
  service_stop(service);
  assert_int_equal(service_count(service), 2);
  assert_string_equal(service_push(service, 0)->path, "/1/apps/com.example.app/channels");
  assert_string_equal(service_push(service, 1)->path, "/4/broadcasts/apps/com.example.app");
  assert_contains(service_push(service, 1)->fields, "apns-channel-id: dHN0LXNyY2gtY2hubA==\n");
  service_free(service);
  identity_drop(&apple);
}

/* The files that the pages name, in the directory that it runs in. */
static void lay_out_files(void) {
  const identities_t *all = identities_make();
  size_t length = 0;
  owned(text) pem = identities_read(all->provider.together_file, &length);
  identities_write("provider.pem", pem, length);
  BIO *key = BIO_new(BIO_s_mem());
  char *text;
  assert_true(PEM_write_bio_PKCS8PrivateKey(key, all->provider.key, NULL, NULL, 0, NULL, NULL));
  length = (size_t)BIO_get_mem_data(key, &text);
  identities_write("AuthKey_ABC123DEFG.p8", text, length);
  BIO_free(key);
  assert_int_equal(chdir(all->directory), 0);
  /* The system's store, as OpenSSL finds it. */
  setenv("SSL_CERT_FILE", all->root.certificate_file, 1);
  setenv("SSL_CERT_DIR", all->directory, 1);
}

void before_all(void) { lay_out_files(); }
