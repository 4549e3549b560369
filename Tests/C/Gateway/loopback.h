/*
 * Ports on the loopback interface, for the peers of these tests.
 */
#ifndef TESTS_LOOPBACK_H
#define TESTS_LOOPBACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * A socket that listens at a new port; -1 if that failed (see errno).
 *
 * The program keeps the port until it ends, at every address of the machine. Once the socket is
 * closed, connections are refused, as they are at the other addresses all the time.
 * Otherwise another test program could get the port, and the two would talk to each other.
 *
 * `receive_buffer`: of the sockets accepted, in bytes; 0: the system's choice.
 */
int loopback_listen(bool on_ipv6, int receive_buffer, uint16_t *port_out);

/** Descriptors that are open in this program, without those that hold its ports. */
size_t open_descriptors(void);

#endif
