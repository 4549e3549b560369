/* The door to nghttp2: its session, which is fed and asked for bytes, and no I/O. */
#ifndef APNS_CNGHTTP2_SHIM_H
#define APNS_CNGHTTP2_SHIM_H

#include <nghttp2/nghttp2.h>

#endif
