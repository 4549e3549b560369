#ifndef APNS_CHIREDIS_SHIM_H
#define APNS_CHIREDIS_SHIM_H

#include <hiredis/hiredis.h>

#endif
