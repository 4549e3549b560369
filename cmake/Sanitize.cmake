# The core in ordinary Swift under a sanitizer, which Embedded Swift has not. It
# makes nothing to install: only the C tests link it. CMAKE_C_COMPILER has to be
# the clang of the Swift toolchain, so that both use one sanitizer runtime.
# Small, as the library is.
target_compile_options(apns_core PRIVATE -sanitize=${APNS_SANITIZE} -g -Osize)
# The standard library's debug checks, such as an index within its buffer. The address sanitizer would find such a
# read only by chance.
if(APNS_SANITIZE STREQUAL "address" OR APNS_FUZZERS)
  # @testable for what no function of the header shows.
  target_compile_options(apns_core PRIVATE -assert-config Debug -enable-testing)
endif()
if(APNS_FUZZERS)
  # Coverage to guide the fuzzer.
  target_compile_options(apns_core PRIVATE -sanitize=fuzzer)
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:C>:-fsanitize=${APNS_SANITIZE};-g>")
add_link_options(-fsanitize=${APNS_SANITIZE})

cmake_path(GET CMAKE_Swift_COMPILER PARENT_PATH swift_bin)
cmake_path(GET swift_bin PARENT_PATH swift_root)
set(swift_runtime "")
# The thread sanitizer's runtime watches Dispatch too.
foreach(library swiftCore dispatch BlocksRuntime)
  find_library(SWIFT_${library} ${library} PATHS ${swift_root}/lib/swift/linux NO_DEFAULT_PATH REQUIRED)
  list(APPEND swift_runtime ${SWIFT_${library}})
endforeach()

add_library(apns INTERFACE)
target_include_directories(apns INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(apns INTERFACE $<TARGET_FILE:apns_core> $<TARGET_NAME_IF_EXISTS:nghttp2::nghttp2> $<TARGET_NAME_IF_EXISTS:c-ares::cares> OpenSSL::SSL OpenSSL::Crypto ${swift_runtime})
add_dependencies(apns apns_core)
