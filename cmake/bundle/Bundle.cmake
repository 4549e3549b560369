# The release that needs no Swift: one archive with the library, what programs are built with
# against it, and the sources of both extensions.
#
#   cmake --preset release-bundle && cmake --build --preset release-bundle
#
# makes libapns-VERSION-linux-PROCESSOR.tar.xz in the build's directory. Two builds of one commit
# are the same bytes, wherever they are made: assemble says what that takes.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
find_program(APNS_TAR tar REQUIRED)
find_program(APNS_XZ xz REQUIRED)
mark_as_advanced(APNS_TAR APNS_XZ)

set(room ${PROJECT_SOURCE_DIR}/cmake/bundle)
set(dependencies openssl=${OPENSSL_VERSION})
if(APNS_HTTP2)
  file(STRINGS ${NGHTTP2_INCLUDE_DIR}/nghttp2/nghttp2ver.h line REGEX "define NGHTTP2_VERSION ")
  string(REGEX REPLACE ".*\"(.*)\".*" "nghttp2=\\1" line "${line}")
  list(APPEND dependencies ${line})
endif()
if(APNS_CARES)
  file(STRINGS ${CARES_INCLUDE_DIR}/ares_version.h line REGEX "define ARES_VERSION_STR ")
  string(REGEX REPLACE ".*\"(.*)\".*" "c-ares=\\1" line "${line}")
  list(APPEND dependencies ${line})
endif()

add_custom_target(bundle
  COMMAND Python3::Interpreter -B ${room}/assemble
          --name libapns-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR} --version ${PROJECT_VERSION}
          --source ${PROJECT_SOURCE_DIR} --build ${PROJECT_BINARY_DIR} --cmake ${CMAKE_COMMAND}
          --tar ${APNS_TAR} --xz ${APNS_XZ} --swift ${CMAKE_Swift_COMPILER} ${dependencies}
  COMMENT "Making libapns-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}.tar.xz" VERBATIM USES_TERMINAL)
add_dependencies(bundle apns apns_shared manual_pages)
