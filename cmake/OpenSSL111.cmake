# The archive, built with OpenSSL 3, to be linked with 1.1.1, which need not be here: what
# the linker wants of it, names and their versions, is in a list, and stands in libraries of
# nothing else. Tests/Shape/openssl-1.1.1 holds the list to the real ones.
set(list ${PROJECT_SOURCE_DIR}/cmake/openssl-1.1.1.txt)
set(made ${PROJECT_BINARY_DIR}/openssl-1.1.1)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
file(STRINGS ${list} lines)

# The archive alone, without the OpenSSL that it was built with.
add_library(apns_with_openssl_1_1_1 INTERFACE)
target_include_directories(apns_with_openssl_1_1_1 INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(apns_with_openssl_1_1_1 INTERFACE $<TARGET_FILE:apns>)
if(APNS_HTTP2)
  target_link_libraries(apns_with_openssl_1_1_1 INTERFACE nghttp2::nghttp2)
endif()
add_dependencies(apns_with_openssl_1_1_1 apns)

foreach(library ssl crypto)
  set(source "")
  set(script "")
  set(before "")
  foreach(version OPENSSL_1_1_0 OPENSSL_1_1_1)
    set(names ${lines})
    list(FILTER names INCLUDE REGEX "^lib${library}\\.so\\.1\\.1 ${version} ")
    list(TRANSFORM names REPLACE ".* " "")
    foreach(name ${names})
      string(APPEND source "void ${name}(void) {}\n")
    endforeach()
    list(JOIN names "; " names)
    string(APPEND script "${version} { global: ${names}; } ${before};\n")
    set(before ${version})
  endforeach()
  file(CONFIGURE OUTPUT ${made}/${library}.c CONTENT "${source}" @ONLY)
  file(CONFIGURE OUTPUT ${made}/${library}.map CONTENT "${script}" @ONLY)

  set(stub apns_stub_${library}_1_1)
  add_library(${stub} SHARED ${made}/${library}.c)
  set_target_properties(${stub} PROPERTIES OUTPUT_NAME ${library} SOVERSION 1.1
    LIBRARY_OUTPUT_DIRECTORY ${made} LINK_DEPENDS ${made}/${library}.map)
  target_link_options(${stub} PRIVATE -nostdlib -Wl,--version-script=${made}/${library}.map)
  target_link_libraries(apns_with_openssl_1_1_1 INTERFACE ${stub})
endforeach()
