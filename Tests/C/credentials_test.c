/* Every way to load certificate, key and trust anchors, and every way to fail. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "provider.h"

static const identities_t *all;

/* ---- Ways to load ------------------------------------------------------- */

TEST(two_files) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = all->provider.certificate_file;
  options.key_file = all->provider.key_file;
  check_works(&options, 0);
}

TEST(one_file_with_both) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = all->provider.together_file;
  check_works(&options, 0);
}

TEST(a_file_with_the_key_first) {
  size_t key_length, certificate_length;
  owned(text) key = identities_read(all->provider.key_file, &key_length);
  owned(text) certificate = identities_read(all->provider.certificate_file, &certificate_length);
  owned(text) both = malloc(key_length + certificate_length + 100);
  /* As `openssl pkcs12` writes it, with attributes between the blocks. */
  int length = sprintf(both, "Bag Attributes\n    friendlyName: provider\n%sBag Attributes\n%s",
                       key, certificate);
  apns_credentials_options_t options = trusting();
  options.certificate_bytes = both;
  options.certificate_length = (size_t)length;
  check_works(&options, 0);
}

TEST(bytes_together_and_apart) {
  apns_credentials_options_t options = trusting();
  size_t length;
  owned(text) both = identities_read(all->provider.together_file, &length);
  /* Borrowed for the call only, and not ended by a NUL. */
  owned(text) exact = malloc(length);
  memcpy(exact, both, length);
  options.certificate_bytes = exact;
  options.certificate_length = length;
  check_works(&options, 0);

  owned(text) certificate =
      identities_read(all->provider.certificate_file, &options.certificate_length);
  owned(text) key = identities_read(all->provider.key_file, &options.key_length);
  options.certificate_bytes = certificate;
  options.key_bytes = key;
  check_works(&options, 0);
  options.key_bytes = NULL;
  options.key_length = 0;
  options.key_file = all->provider.key_file;
  check_works(&options, 0);
}

TEST(a_chain_is_shown_whole) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = all->provider_in_chain.certificate_file;
  options.key_file = all->provider_in_chain.key_file;
  check_works(&options, 2);
  options.certificate_file = all->provider_in_chain.together_file;
  options.key_file = NULL;
  check_works(&options, 2);
}

TEST(a_passphrase) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = all->provider.certificate_file;
  options.key_file = identities_write_encrypted("encrypted.key", &all->provider, "open sesame");
  options.passphrase = "open sesame";
  check_works(&options, 0);
  /* With a key without a passphrase, it does no harm. */
  options.key_file = all->provider.key_file;
  check_works(&options, 0);
}

TEST(no_options_no_certificate) {
  owned(credentials) credentials = credentials_of(NULL);
  assert_non_null(credentials);
}

/* ---- Passphrases -------------------------------------------------------- */

TEST(a_wrong_passphrase) {
  apns_credentials_options_t options = trusting();
  const char *file = identities_write_encrypted("wrong.key", &all->provider, "open sesame");
  options.certificate_file = all->provider.certificate_file;
  options.key_file = file;
  options.passphrase = "open barley";
  apns_error_t error = check_refused(&options, APNS_ERR_CREDENTIALS, file, "passphrase");
  assert_null(strstr(error.message, "barley"));
  options.passphrase = "";
  check_refused(&options, APNS_ERR_CREDENTIALS, file, "passphrase");
  char endless[3000];
  memset(endless, 'x', sizeof endless - 1);
  endless[sizeof endless - 1] = 0;
  options.passphrase = endless;
  check_refused(&options, APNS_ERR_CREDENTIALS, file, "passphrase");
}

/* In a process session without its own terminal a prompt would fail; here a terminal is at hand, so
   that a prompt would be seen. */
static int loads_without_passphrase(void *argument) {
  FORGET_ERROR();
  int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  CHILD_REQUIRE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
  const char *name = ptsname(terminal);
  CHILD_REQUIRE(setsid() > 0);
  int own = open(name, O_RDWR); /* becomes the controlling terminal */
  CHILD_REQUIRE(own >= 0 && dup2(own, 0) == 0);
  /* An answer lies ready, lest a prompt wait for it for good; without its echo
     nothing but a prompt can come out. */
  struct termios mode;
  CHILD_REQUIRE(tcgetattr(own, &mode) == 0);
  mode.c_lflag &= ~(tcflag_t)(ECHO | ECHONL);
  CHILD_REQUIRE(tcsetattr(own, TCSANOW, &mode) == 0);
  CHILD_REQUIRE(write(terminal, "open sesame\n", 12) == 12);
  apns_credentials_t *credentials = NULL;
  CHILD_REQUIRE(apns_credentials_new(argument, &credentials, &error) == APNS_ERR_CREDENTIALS);
  CHILD_REQUIRE(strstr(error.message, "needs a passphrase"));
  char prompt;
  CHILD_REQUIRE(read(terminal, &prompt, 1) < 0 && errno == EAGAIN);
  return 0;
}

TEST(a_missing_passphrase_is_never_asked_for) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = all->provider.certificate_file;
  options.key_file = identities_write_encrypted("missing.key", &all->provider, "open sesame");
  assert_child_is_fine(loads_without_passphrase, &options);
}

/* ---- Failures ----------------------------------------------------------- */

TEST(files_that_are_not_there) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = "/nonexistent/provider.pem";
  apns_error_t error = check_refused(&options, APNS_ERR_CREDENTIALS, "certificate",
                                     "/nonexistent/provider.pem", strerror(ENOENT));
  assert_int_equal(error.sys_errno, ENOENT);
  options.certificate_file = all->provider.certificate_file;
  options.key_file = "/nonexistent/provider.key";
  error = check_refused(&options, APNS_ERR_CREDENTIALS, "key", "/nonexistent/provider.key",
                        strerror(ENOENT));
  assert_int_equal(error.sys_errno, ENOENT);
  options.key_file = all->provider.key_file;
  options.ca_file = "/nonexistent/ca.pem";
  error = check_refused(&options, APNS_ERR_CREDENTIALS, "/nonexistent/ca.pem", strerror(ENOENT));
  assert_int_equal(error.sys_errno, ENOENT);
  options.ca_file = NULL;
  options.ca_directory = "/nonexistent/authorities";
  check_refused(&options, APNS_ERR_CREDENTIALS, "/nonexistent/authorities", strerror(ENOENT));
  options.certificate_file = all->directory;
  options.ca_directory = NULL;
  error = check_refused(&options, APNS_ERR_CREDENTIALS, all->directory, strerror(EISDIR));
  assert_int_equal(error.sys_errno, EISDIR);
}

TEST(files_with_something_else) {
  apns_credentials_options_t options = trusting();
  char empty[PATH_MAX];
  strcpy(empty, identities_write("empty.pem", "", 0));
  options.certificate_file = empty;
  check_refused(&options, APNS_ERR_CREDENTIALS, empty, "no PEM certificate");
  options.certificate_file = all->provider.key_file;
  check_refused(&options, APNS_ERR_CREDENTIALS, all->provider.key_file, "no PEM certificate");
  options.certificate_file = all->provider.certificate_file;
  check_refused(&options, APNS_ERR_CREDENTIALS, all->provider.certificate_file,
                "no private key in PEM");
  options.key_file = all->root.certificate_file;
  check_refused(&options, APNS_ERR_CREDENTIALS, all->root.certificate_file,
                "no private key in PEM");
  options.key_file = empty;
  check_refused(&options, APNS_ERR_CREDENTIALS, empty, "no private key in PEM");
  options.key_file = all->provider.key_file;
  options.ca_file = empty;
  check_refused(&options, APNS_ERR_CREDENTIALS, empty);
  options.ca_file = all->root.key_file;
  check_refused(&options, APNS_ERR_CREDENTIALS, all->root.key_file);
}

TEST(broken_files) {
  apns_credentials_options_t options = trusting();
  size_t length, chained_length;
  owned(text) certificate = identities_read(all->provider.certificate_file, &length);
  certificate[length / 2] = certificate[length / 2] == 'A' ? 'B' : 'A';
  certificate[length / 2 + 1] = '!';
  const char *broken = identities_write("broken.crt", certificate, length);
  options.certificate_file = broken;
  options.key_file = all->provider.key_file;
  check_refused(&options, APNS_ERR_CREDENTIALS, broken);
  /* Cut off in the middle. */
  broken = identities_write("cut.crt", certificate, length / 2 - 1);
  check_refused(&options, APNS_ERR_CREDENTIALS, broken);
  /* A broken key is not reported as a missing passphrase. */
  owned(text) key = identities_read(all->provider.key_file, &length);
  key[length / 2] = '!';
  broken = identities_write("broken.key", key, length);
  options.certificate_file = all->provider.certificate_file;
  options.key_file = broken;
  apns_error_t error = check_refused(&options, APNS_ERR_CREDENTIALS, broken, "cannot be read");
  assert_null(strstr(error.message, "passphrase"));
  /* The chain after a good certificate. */
  owned(text) chained = identities_read(all->provider_in_chain.certificate_file, &chained_length);
  broken = identities_write("cut-chain.crt", chained, chained_length - 60);
  options.certificate_file = broken;
  options.key_file = all->provider_in_chain.key_file;
  check_refused(&options, APNS_ERR_CREDENTIALS, broken, "chain");
  static char junk[2 << 20];
  memset(junk, 'x', sizeof junk);
  broken = identities_write("large.crt", junk, sizeof junk);
  check_refused(&options, APNS_ERR_CREDENTIALS, broken, "larger than 1 MiB");
}

TEST(a_key_of_another_certificate) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = all->provider.certificate_file;
  options.key_file = all->gateway.key_file;
  apns_error_t error = check_refused(&options, APNS_ERR_CREDENTIALS, all->gateway.key_file,
                                     "does not match the certificate");
  assert_int_not_equal(error.tls_code, 0);
  options.key_file = NULL;
  size_t length;
  owned(text) key = identities_read(all->gateway.key_file, &length);
  options.key_bytes = key;
  options.key_length = length;
  check_refused(&options, APNS_ERR_CREDENTIALS, "key in memory", "does not match the certificate");
}

TEST(options_that_contradict) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = all->provider.together_file;
  options.certificate_bytes = "x";
  options.certificate_length = 1;
  check_refused(&options, APNS_ERR_ARGUMENT, "certificate", "both");
  options.certificate_bytes = NULL;
  options.key_file = all->provider.key_file;
  options.key_bytes = "x";
  options.key_length = 1;
  check_refused(&options, APNS_ERR_ARGUMENT, "key", "both");
  options = trusting();
  options.key_file = all->provider.key_file;
  check_refused(&options, APNS_ERR_ARGUMENT, "a key is given without a certificate");
  options = trusting();
  options.certificate_bytes = "x";
  check_refused(&options, APNS_ERR_ARGUMENT, "certificate_length is 0");
  options.certificate_length = SIZE_MAX;
  check_refused(&options, APNS_ERR_ARGUMENT, "certificate_length");
  assert_invalid(apns_credentials_new(NULL, NULL, &error), "credentials_out is NULL");
}

/* A password in a message would end up in a log. */
TEST(messages_hold_no_secret) {
  apns_credentials_options_t options = trusting();
  size_t length;
  owned(text) key = identities_read(all->gateway.key_file, &length);
  options.certificate_file = all->provider.certificate_file;
  options.key_bytes = key;
  options.key_length = length;
  options.passphrase = "open sesame";
  apns_error_t error = check_refused(&options, APNS_ERR_CREDENTIALS, "key");
  char line[21] = {0};
  memcpy(line, strchr(key, '\n') + 1, 20);
  assert_null(strstr(error.message, line));
  assert_null(strstr(error.message, "sesame"));
}

/* ---- TLS versions ------------------------------------------------------- */

static void check_version(int offered, int tls_min, int tls_max, bool works) {
  FORGET_ERROR();
  owned(gateway) gateway = gateway_start(&(gateway_options_t){.tls_version = offered}, NULL);
  apns_credentials_options_t who = trusting();
  who.tls_min = tls_min;
  who.tls_max = tls_max;
  owned(credentials) credentials = credentials_of(&who);
  apns_session_options_t options = options_for(gateway);
  apns_session_t *session = session_with(&options, credentials);
  apns_status_t status = apns_session_connect(session, &error);
  assert_status(works ? APNS_OK : APNS_ERR_TLS, status);
  if (!works) assert_int_not_equal(error.tls_code, 0);
  apns_session_free(session);
  if (works) assert_int_equal(gateway_heard(gateway, 0)->tls_version, offered);
}

TEST(tls_versions) {
  check_version(TLS1_2_VERSION, APNS_TLS_DEFAULT, APNS_TLS_DEFAULT, true);
  check_version(TLS1_3_VERSION, APNS_TLS_DEFAULT, APNS_TLS_DEFAULT, true);
  check_version(TLS1_2_VERSION, APNS_TLS_1_3, APNS_TLS_DEFAULT, false);
  check_version(TLS1_3_VERSION, APNS_TLS_1_3, APNS_TLS_DEFAULT, true);
  check_version(TLS1_2_VERSION, APNS_TLS_DEFAULT, APNS_TLS_1_2, true);
  check_version(TLS1_3_VERSION, APNS_TLS_DEFAULT, APNS_TLS_1_2, false);
  check_version(TLS1_2_VERSION, APNS_TLS_1_2, APNS_TLS_1_3, true);
}

TEST(tls_versions_that_cannot_be) {
  apns_credentials_options_t options = trusting();
  options.tls_min = 11;
  check_refused(&options, APNS_ERR_ARGUMENT, "tls_min", "11");
  options.tls_min = APNS_TLS_1_3;
  options.tls_max = APNS_TLS_1_2;
  check_refused(&options, APNS_ERR_ARGUMENT, "tls_max is below tls_min");
  options.tls_min = 0;
  options.tls_max = -1;
  check_refused(&options, APNS_ERR_ARGUMENT, "tls_max", "-1");
}

void before_all(void) { all = identities_make(); }
