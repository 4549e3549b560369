/* Certificates for the tests of new credentials in a running session. */
#ifndef TESTS_RENEWING_H
#define TESTS_RENEWING_H

#include <stdio.h>

#include "looping.h"

enum { RENEWALS = 8 };

/** The n-th certificate; its CN is "provider n". Made on first use. */
static inline const identity_t *certificate_of(size_t n) {
  static identity_t made[RENEWALS + 1];
  static char names[RENEWALS + 1][16];
  assert_true(n <= RENEWALS);
  if (!made[n].key) {
    snprintf(names[n], sizeof names[n], "provider %zu", n);
    identity_make(&made[n],
                  &(identity_traits_t){.name = names[n], .signer = &identities_make()->root});
  }
  return &made[n];
}

static inline apns_credentials_t *credentials_number(size_t n) {
  apns_credentials_options_t options = trusting();
  options.certificate_file = certificate_of(n)->together_file;
  return credentials_of(&options);
}

/** Gives the session the n-th certificate, and frees the credentials at once. */
static inline void renew(apns_session_t *session, size_t n) {
  owned(credentials) credentials = credentials_number(n);
  assert_ok(apns_session_use_credentials(session, credentials, &error));
}

/** A session with certificate 0. */
static inline apns_session_t *session_number_0(const apns_session_options_t *options) {
  owned(credentials) credentials = credentials_number(0);
  apns_session_t *session = session_with(options, credentials);
  return session;
}

/** True for the few notifications that the gateway rejects while certificates rotate. */
static inline bool is_bad(size_t n) { return n % 997 == 500; }

/** Sends `count` notifications with `send_one`, every tenth without APNS_SEND_MORE, and waits for
    their outcomes; the session has nothing to wait for itself where it `loops`. Certificates 1 to
    RENEWALS come in between: `first[n]` is where number n began to count. Returns how many are
    bad. */
static inline size_t send_while_renewing(apns_session_t *session, size_t count, bool loops,
                                         void (*send_one)(apns_session_t *, size_t, int),
                                         size_t first[RENEWALS + 1]) {
  size_t bad = 0, renewals = 0;
  for (size_t n = 0; n < count; n++) {
    /* Between records and within them. */
    if (renewals < RENEWALS && n == (renewals + 1) * (count / (RENEWALS + 1)) + renewals % 3) {
      first[++renewals] = n;
      renew(session, renewals);
    }
    send_one(session, n, n % 10 == 9 ? 0 : APNS_SEND_MORE);
    bad += is_bad(n);
  }
  if (loops)
    until_done(session, apns_session_drain(session, 0, NULL, &error));
  else
    drain(session);
  assert_counts(session, count, count - bad, bad, 0, 0);
  return bad;
}

/** Which certificate that name is of. */
static inline size_t number_of_certificate(const char *name) {
  size_t n = SIZE_MAX;
  assert_int_equal(sscanf(name, "provider %zu", &n), 1);
  return n;
}

#endif
