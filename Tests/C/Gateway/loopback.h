/*
 * Ports of loopback.
 */
#ifndef TESTS_LOOPBACK_H
#define TESTS_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A socket that listens at a port of its own; -1: there is none, as errno says.
 *
 * The port stays this program's until it ends. After the socket is closed nobody is there: without
 * that, a test of another program may get the port, and the two speak with each other.
 *
 * `receive_buffer`: of the sockets accepted, in bytes; 0: the system's choice.
 */
int loopback_listen(bool on_ipv6, int receive_buffer, uint16_t *port_out);

/** Descriptors that are open in this program, without those that hold its ports. */
size_t open_descriptors(void);

#endif
