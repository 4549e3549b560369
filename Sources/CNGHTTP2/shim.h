/* nghttp2: its session, which takes and gives bytes and does no I/O. */
#ifndef APNS_CNGHTTP2_SHIM_H
#define APNS_CNGHTTP2_SHIM_H

#include <nghttp2/nghttp2.h>

#endif
