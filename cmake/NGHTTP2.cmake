# libnghttp2, found as most systems have it: 1.40 and later has all that is used.
find_path(NGHTTP2_INCLUDE_DIR nghttp2/nghttp2.h)
find_library(NGHTTP2_LIBRARY nghttp2)
if(NOT NGHTTP2_INCLUDE_DIR OR NOT NGHTTP2_LIBRARY)
  message(FATAL_ERROR "APNS_HTTP2 is on and libnghttp2 is not to be found (Debian: libnghttp2-dev)")
endif()
add_library(nghttp2::nghttp2 UNKNOWN IMPORTED)
set_target_properties(nghttp2::nghttp2 PROPERTIES
  IMPORTED_LOCATION "${NGHTTP2_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES "${NGHTTP2_INCLUDE_DIR}")
