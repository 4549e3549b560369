/*
 * A system without CA certificates: an empty /etc and an empty directory for OpenSSL, in the
 * program's own namespace, to put certificates where systems have them.
 */
#ifndef TESTS_TRUST_ANCHORS_H
#define TESTS_TRUST_ANCHORS_H

#include <stdbool.h>

#include "Gateway/identity.h"

/** Enters the namespace. False if the system does not allow it. Only for a program that has no
    second thread yet, and made its identities. */
bool anchors_hide(void);

/** Copies a file to that path, whose directories are made. */
void anchors_put(const char *path, const char *file);

/** Puts the certificate into a directory, under the name that OpenSSL looks for there. */
void anchors_put_hashed(const char *directory, const identity_t *authority);

/** Removes all that was put. */
void anchors_clear(void);

#endif
