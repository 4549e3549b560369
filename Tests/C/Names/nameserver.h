/*
 * A name server on the loopback interface, and a system that uses it: a network and an /etc of this
 * program's own, in a namespace. The first label of a name says how it is answered:
 *
 *     fine      127.0.0.1, and no IPv6 address
 *     two       127.0.0.2, then 127.0.0.1
 *     half      127.0.0.1, and silence for IPv6
 *     late      like fine, once nameserver_release() was called
 *     silent    nothing
 *     none      the name exists, and has no address
 *     failing   the server failed
 *     cut       the answer is too long for UDP; over TCP the server hangs up
 *     rubbishN  invalid answers, of kind N
 *     others    the name does not exist
 *
 * /etc/hosts knows hosted.test as 127.0.0.1.
 */
#ifndef TESTS_NAMES_NAMESERVER_H
#define TESTS_NAMES_NAMESERVER_H

#include <stdbool.h>
#include <stddef.h>

enum { RUBBISH_KINDS = 8 };

/** Enters the namespace. False if the system does not allow it. Only for a program that has no
    second thread yet, and made its identities. */
bool nameserver_enter(void);

/** Starts the server's thread, which runs as long as the program. */
void nameserver_start(void);

/** Queries received since nameserver_start() or the last call of this. */
size_t nameserver_queries(void);

/** Holds the answers to "late" back from now on. */
void nameserver_hold(void);

/** Sends them. */
void nameserver_release(void);

#endif
