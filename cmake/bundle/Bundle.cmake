# The release that needs no Swift: one archive with the library, what programs are built with
# against it, and the sources of both extensions.
#
#   cmake --preset release-bundle && cmake --build --preset release-bundle
#
# makes libapns-VERSION-linux-PROCESSOR.tar.xz in the build's directory, and beside it the wheel of
# apns-simulator, which the target simulator_wheel makes alone. Two builds of one commit are the same
# bytes, wherever they are made: assemble says what that takes.
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

# The tool and the relay, each as one file that needs nothing of the system. The Swift toolchain has its
# runtime for its own processor only, so the bundle for another one is without them.
set(programs ON)
if(CMAKE_CROSSCOMPILING)
  set(programs OFF)
endif()
option(APNS_BUNDLE_PROGRAMS "Have apns and apns-relay in the bundle" ${programs})
set(APNS_TOOL "" CACHE FILEPATH "The tool apns as swift build made it, for tests; empty: a release is built, which takes minutes")
set(APNS_RELAY_TOOL "" CACHE FILEPATH "The relay, likewise")
set(options "")
if(APNS_BUNDLE_PROGRAMS)
  set(made ${PROJECT_BINARY_DIR}/programs)
  file(MAKE_DIRECTORY ${made})
  foreach(program apns apns-relay)
    if(program STREQUAL apns)
      set(product ${APNS_TOOL})
      set(scratch ${PROJECT_BINARY_DIR}/swift)
    else()
      set(product ${APNS_RELAY_TOOL})
      set(scratch ${PROJECT_BINARY_DIR}/relay)
    endif()
    if(product)
      list(APPEND options --given)
      add_custom_command(OUTPUT ${made}/${program}
        COMMAND ${room}/link-static ${product} ${made}/${program}
        DEPENDS ${product} ${room}/link-static COMMENT "Linking ${program} as one file" VERBATIM)
    else()
      set(product ${scratch}/release/${program})
      add_custom_target(bundle_${program}_swift COMMAND ${room}/build-static ${program} ${scratch} ${made}/${program}
        BYPRODUCTS ${made}/${program} COMMENT "Building ${program}" USES_TERMINAL VERBATIM)
    endif()
    list(APPEND linked ${made}/${program})
    list(APPEND options --made ${product})
    set(${program}_product ${product})
  endforeach()
  list(APPEND options --programs ${made})

  # The tool again as a Python package, for tests: the simulator and a fixture for pytest.
  add_custom_target(simulator_wheel
    COMMAND Python3::Interpreter -B ${room}/simulator-wheel
            --source ${PROJECT_SOURCE_DIR} --output ${PROJECT_BINARY_DIR} --version ${PROJECT_VERSION}
            --processor ${CMAKE_SYSTEM_PROCESSOR} --program ${made}/apns --made ${apns_product} --swift ${CMAKE_Swift_COMPILER}
    DEPENDS ${made}/apns COMMENT "Making the wheel apns-simulator" VERBATIM)
endif()

add_custom_target(bundle
  COMMAND Python3::Interpreter -B ${room}/assemble
          --name libapns-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR} --version ${PROJECT_VERSION}
          --source ${PROJECT_SOURCE_DIR} --build ${PROJECT_BINARY_DIR} --cmake ${CMAKE_COMMAND}
          --tar ${APNS_TAR} --xz ${APNS_XZ} --swift ${CMAKE_Swift_COMPILER} ${options} ${dependencies}
  COMMENT "Making libapns-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}.tar.xz" VERBATIM USES_TERMINAL
  DEPENDS ${linked})
add_dependencies(bundle apns apns_shared manual_pages)
if(TARGET simulator_wheel)
  add_dependencies(bundle simulator_wheel)
endif()
