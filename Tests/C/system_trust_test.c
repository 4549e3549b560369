/* The trust of a provider that names no CA certificates: the system's, in any of their places. */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "provider.h"
#include "Trust/anchors.h"

static const identities_t *all;

/* Where systems have CA certificates in one file. */
static const char *const places[] = {"/etc/ssl/certs/ca-certificates.crt",
                                     "/etc/pki/tls/certs/ca-bundle.crt",
                                     "/etc/ssl/ca-bundle.pem",
                                     "/etc/pki/tls/cacert.pem",
                                     "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                     "/etc/ssl/cert.pem"};

/* ---- Credentials, and a connection with them -------------------------------- */

static apns_credentials_t *made(const char *ca_file) {
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  options.ca_file = ca_file;
  return credentials_of(&options);
}

static apns_status_t connected(apns_credentials_t *credentials) {
  owned(gateway) gateway = gateway_start(NULL, NULL);
  apns_session_options_t options = options_for(gateway);
  options.peer.host = "127.0.0.1";
  owned(session) session = session_with(&options, credentials);
  apns_credentials_free(credentials);
  return apns_session_connect(session, &error);
}

static void check_trusts(void) { assert_ok(connected(made(NULL))); }

/* The message contains all of `...`. */
#define check_distrusts(...) distrusts((const char *const[]){__VA_ARGS__, NULL})
static void distrusts(const char *const *parts) {
  FORGET_ERROR();
  assert_caused(APNS_ERR_TLS, connected(made(NULL)), APNS_CAUSE_PEER_NOT_TRUSTED);
  for (const char *const *part = parts; *part; part++) assert_contains(error.message, *part);
}

/* There are CA certificates, but not the gateway's. */
static void check_distrusts_this_one(void) {
  FORGET_ERROR();
  assert_caused(APNS_ERR_TLS, connected(made(NULL)), APNS_CAUSE_PEER_NOT_TRUSTED);
  if (strstr(error.message, "there is no authority")) fail_msg("it says: %s", error.message);
}

void after_each(void) {
  anchors_clear();
  unsetenv("SSL_CERT_FILE");
  unsetenv("SSL_CERT_DIR");
}

/* ---- The tests ------------------------------------------------------------- */

TEST(nowhere) {
  check_distrusts("127.0.0.1 is not verified: unable to get local issuer certificate",
                  X509_get_default_cert_file(), X509_get_default_cert_dir(), "/etc/ssl", "/etc/pki",
                  "install ca-certificates or set ca_file");
}

TEST(in_one_place) {
  for (size_t index = 0; index < sizeof places / sizeof *places; index++) {
    anchors_put(places[index], all->root.certificate_file);
    check_trusts();
    anchors_clear();
    anchors_put(places[index], all->other_root.certificate_file);
    check_distrusts_this_one();
    anchors_clear();
  }
}

TEST(the_first_place_counts) {
  anchors_put(places[0], all->other_root.certificate_file);
  anchors_put(places[1], all->root.certificate_file);
  check_distrusts_this_one();
}

TEST(a_place_that_holds_no_certificate) {
  anchors_put(places[0], all->root.key_file);
  anchors_put(places[1], all->root.certificate_file);
  check_trusts();
  anchors_clear();
  mkdir(places[0], 0755);
  check_distrusts("there is no authority in");
  rmdir(places[0]);
}

/* Only the certificates that OpenSSL finds by itself. */
TEST(in_openssls_place) {
  anchors_put(X509_get_default_cert_file(), all->root.certificate_file);
  check_trusts();
  anchors_clear();
  anchors_put(X509_get_default_cert_file(), all->other_root.certificate_file);
  anchors_put(places[0], all->root.certificate_file);
  check_distrusts_this_one();
  anchors_clear();
  anchors_put_hashed(X509_get_default_cert_dir(), &all->root);
  check_trusts();
  anchors_clear();
  anchors_put_hashed(X509_get_default_cert_dir(), &all->other_root);
  anchors_put(places[1], all->root.certificate_file);
  check_distrusts_this_one();
}

/* Credentials share them, but not those of a file that has changed, or that they trust in another
 * way. */
TEST(many_credentials) {
  const char *file = X509_get_default_cert_file();
  anchors_put(file, all->root.certificate_file);
  apns_credentials_t *first = made(NULL), *second = made(NULL), *third = made(file);
  anchors_put_hashed(X509_get_default_cert_dir(), &all->other_root);
  apns_credentials_options_t options = APNS_CREDENTIALS_OPTIONS_INIT;
  options.crl_file =
      identities_add_list("revoked.crl", &(list_traits_t){&all->root, &all->gateway, 0, 0});
  apns_credentials_t *checked = credentials_of(&options);
  assert_ok(connected(first));
  assert_ok(connected(second));
  assert_ok(connected(third));
  assert_caused(APNS_ERR_TLS, connected(checked), APNS_CAUSE_PEER_REVOKED);
  check_trusts();
  apns_credentials_t *kept = made(NULL);
  anchors_clear();
  anchors_put(file, all->other_root.certificate_file);
  check_distrusts_this_one();
  assert_ok(connected(kept));
}

/* As /etc/ssl/certs of a system that keeps them in one file. */
TEST(a_directory_in_which_openssl_finds_none) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/README.0", X509_get_default_cert_dir());
  anchors_put(path, all->other_root.certificate_file);
  snprintf(path, sizeof path, "%s/0123abcd.pem", X509_get_default_cert_dir());
  anchors_put(path, all->other_root.certificate_file);
  snprintf(path, sizeof path, "%s/0123abcd.r0", X509_get_default_cert_dir());
  anchors_put(path, all->other_root.certificate_file);
  check_distrusts("there is no authority in");
  anchors_put(places[4], all->root.certificate_file);
  check_trusts();
}

TEST(a_directory_that_fills_later) {
  apns_credentials_t *credentials = made(NULL);
  anchors_put_hashed(X509_get_default_cert_dir(), &all->root);
  assert_ok(connected(credentials));
}

/* To a gateway of the parent's, with one descriptor left, which the connection takes. */
static int connects_without_descriptors(void *context) {
  FORGET_ERROR();
  const gateway_t *gateway = context;
  apns_credentials_options_t who = APNS_CREDENTIALS_OPTIONS_INIT;
  for (int index = 0; index < 2; index++) {
    who.ca_directory = index == 0 ? NULL : X509_get_default_cert_dir();
    owned(credentials) credentials = NULL;
    owned(session) session = NULL;
    apns_session_options_t options = options_for(gateway);
    options.peer.host = "127.0.0.1";
    const struct rlimit few = {64, 64};
    int kept[64], count = 0;
    CHILD_REQUIRE(!apns_credentials_new(&who, &credentials, &error));
    CHILD_REQUIRE(!apns_session_new(&options, credentials, &session, &error));
    CHILD_REQUIRE(!setrlimit(RLIMIT_NOFILE, &few));
    while (count < 64 && (kept[count] = dup(0)) >= 0) count++;
    CHILD_REQUIRE(count > 0 && count < 64);
    close(kept[--count]);
    const apns_status_t status = apns_session_connect(session, &error);
    while (count > 0) close(kept[--count]);
    CHILD_REQUIRE(status == APNS_ERR_NETWORK && error.cause == APNS_CAUSE_DESCRIPTORS);
    CHILD_REQUIRE(error.sys_errno == EMFILE && strstr(error.message, "to verify"));
    CHILD_REQUIRE(!apns_session_connect(session, &error));
  }
  return 0;
}

/* OpenSSL finds no trusted certificate if it cannot open a directory's files. */
TEST(a_directory_that_no_descriptor_is_left_for) {
  if (getenv("APNS_TESTS_LIGHT")) skip();
  anchors_put_hashed(X509_get_default_cert_dir(), &all->root);
  owned(gateway) gateway = gateway_start(NULL, NULL);
  assert_child_is_fine(connects_without_descriptors, gateway);
}

TEST(where_the_environment_says) {
  setenv("SSL_CERT_FILE", all->root.certificate_file, 1);
  check_trusts();
  setenv("SSL_CERT_FILE", all->other_root.certificate_file, 1);
  anchors_put(places[0], all->root.certificate_file);
  check_distrusts_this_one();
  /* It does not fall back to another place, if there is nothing there either. */
  setenv("SSL_CERT_FILE", "/etc/elsewhere.pem", 1);
  check_distrusts("there is no authority in /etc/elsewhere.pem or ", X509_get_default_cert_dir());
  setenv("SSL_CERT_FILE", "", 1);
  check_distrusts("there is no authority in");
  unsetenv("SSL_CERT_FILE");
  setenv("SSL_CERT_DIR", "/etc/nowhere:/etc/elsewhere", 1);
  check_distrusts("there is no authority in", " or /etc/nowhere:/etc/elsewhere");
  anchors_put_hashed("/etc/elsewhere", &all->root);
  check_trusts();
}

TEST(those_that_are_named_are_all) {
  anchors_put(places[0], all->root.certificate_file);
  assert_caused(APNS_ERR_TLS, connected(made(all->other_root.certificate_file)),
                APNS_CAUSE_PEER_NOT_TRUSTED);
  if (strstr(error.message, "there is no authority")) fail_msg("it says: %s", error.message);
}

/* Missing system certificates do not hide another problem with a certificate. */
TEST(another_fault_is_named) {
  anchors_put(places[1], all->root.certificate_file);
  owned(gateway) gateway =
      gateway_start(&(gateway_options_t){.identity = &all->gateway_expired}, NULL);
  apns_session_options_t options = options_for(gateway);
  options.peer.host = "127.0.0.1";
  owned(credentials) credentials = made(NULL);
  owned(session) session = session_with(&options, credentials);
  assert_caused(APNS_ERR_TLS, apns_session_connect(session, &error), APNS_CAUSE_PEER_EXPIRED);
}

void before_all(void) {
  unsetenv("SSL_CERT_FILE");
  unsetenv("SSL_CERT_DIR");
  all = identities_make();
  if (!anchors_hide()) {
    puts("skipped: there is no namespace in which /etc is this program's own");
    exit(SKIPPED);
  }
}
