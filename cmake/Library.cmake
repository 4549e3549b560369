# The library itself: the core in Embedded Swift, which needs no runtime, so that a
# C program links it like C. Small is the rule; @_optimize(speed) marks what is called
# for every notification.
# @sensitive has a failure handed on by address: in registers its copies took 60 KB.
target_compile_options(apns_core PRIVATE
  "SHELL:-enable-experimental-feature Embedded -enable-experimental-feature Sensitive" -lto=llvm-full $<$<NOT:$<CONFIG:Debug>>:-Osize>)
# OpenSSL's macros put file names into the code. Without the build directory in them, two builds are the same.
target_compile_options(apns_core PRIVATE "SHELL:-Xcc -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")

# An archiver adds to what is there: not to the object code of before.
set_target_properties(apns_core PROPERTIES OUTPUT_NAME apns_bitcode)

# One object in which only the header's names are global, so that an application's Swift runtime does not clash
# with ours.
set(map ${PROJECT_SOURCE_DIR}/cmake/apns.map)
if(NOT APNS_BINARY)
  set(headers ${PROJECT_SOURCE_DIR}/include/apns)
  apns_map_without(map ${map} ${headers}/binary.h ${headers}/sendpayload.h)
endif()
apns_exported_names(APNS_EXPORTS ${map})
set(APNS_OBJECT "" CACHE FILEPATH "apns.o as another build of the same sources and options made it, for tests; empty: compiled")
set(object ${APNS_OBJECT})
if(NOT object)
  set(object ${PROJECT_BINARY_DIR}/apns.o)
  apns_prelink(apns_core ${object} "${APNS_EXPORTS}" ${map})
endif()

add_library(apns STATIC ${object})
add_library(apns_shared SHARED ${object})
foreach(target apns apns_shared)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME apns)
  target_include_directories(${target} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${target} PUBLIC OpenSSL::SSL OpenSSL::Crypto)
  if(APNS_HTTP2)
    # Private: the headers show nothing of it, and only the archive hands it on.
    target_link_libraries(${target} PRIVATE nghttp2::nghttp2)
  endif()
  if(APNS_CARES)
    target_link_libraries(${target} PRIVATE c-ares::cares)
  endif()
endforeach()
# As nghttp2 and others name theirs.
set_target_properties(apns PROPERTIES EXPORT_NAME apns_static)
set_target_properties(apns_shared PROPERTIES
  EXPORT_NAME apns VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
target_link_options(apns_shared PRIVATE -Wl,--version-script=${map} -Wl,-z,defs)
set_target_properties(apns_shared PROPERTIES LINK_DEPENDS ${map})
add_library(apns::apns ALIAS apns_shared)
add_library(apns::apns_static ALIAS apns)

# The shared library at run time, and the files to build programs with.
set(development DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/apns COMPONENT development)
install(FILES include/apns/apns.h include/apns/apns.hpp include/apns/binary.h include/apns/sendpayload.h ${development})
install(TARGETS apns EXPORT apnsStaticTargets ARCHIVE COMPONENT development)
install(TARGETS apns_shared EXPORT apnsSharedTargets
        LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)

# Nothing says where it is installed: the directory may be moved.
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/apns)
set(development DESTINATION ${package} COMPONENT development)
foreach(component Static Shared)
  install(EXPORT apns${component}Targets NAMESPACE apns:: ${development})
endforeach()
set(APNS_FEATURES "")
foreach(feature HTTP2 CARES BINARY)
  if(APNS_${feature})
    string(TOLOWER ${feature} name)
    list(APPEND APNS_FEATURES ${name})
  endif()
endforeach()
configure_package_config_file(cmake/apnsConfig.cmake.in ${PROJECT_BINARY_DIR}/apnsConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/apnsConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/apnsConfig.cmake ${PROJECT_BINARY_DIR}/apnsConfigVersion.cmake
        ${development})
set(development DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
file(RELATIVE_PATH APNS_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(APNS_REQUIRES "libssl libcrypto")
if(APNS_HTTP2)
  set(APNS_REQUIRES "libnghttp2 ${APNS_REQUIRES}")
endif()
if(APNS_CARES)
  set(APNS_REQUIRES "libcares ${APNS_REQUIRES}")
endif()
list(JOIN APNS_FEATURES " " APNS_FEATURE_WORDS)
foreach(name apns apns-libdir)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc ${development})
endforeach()
# Where `pkg-config --static` finds the archive and no shared library: see apns.pc.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/archive)
file(CREATE_LINK ../libapns.a ${PROJECT_BINARY_DIR}/archive/libapns.a SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/archive/libapns.a
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/apns COMPONENT development)

# The program that is linked next finds the library, or the installer hears what it takes.
if(NOT CMAKE_CROSSCOMPILING)
  install(CODE "set(APNS_LIBRARY_DIRECTORY \"${CMAKE_INSTALL_LIBDIR}\")" COMPONENT runtime)
  install(SCRIPT cmake/LoaderCache.cmake COMPONENT runtime)
endif()
