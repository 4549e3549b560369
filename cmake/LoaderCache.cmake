# Runs when the shared library has been installed. The loader finds libraries in its own
# directories by a cache, /etc/ld.so.cache, that only ldconfig renews. A staged installation
# (DESTDIR) is for another system, whose installer renews the cache there.
if(NOT "$ENV{DESTDIR}" STREQUAL "")
  return()
endif()
if(IS_ABSOLUTE "${APNS_LIBRARY_DIRECTORY}")
  set(directory "${APNS_LIBRARY_DIRECTORY}")
else()
  set(directory "${CMAKE_INSTALL_PREFIX}/${APNS_LIBRARY_DIRECTORY}")
endif()
find_program(APNS_LDCONFIG ldconfig PATHS /sbin /usr/sbin NO_CACHE)
if(NOT APNS_LDCONFIG)
  return()
endif()

# Its directories, each on a line with a colon at the end or before a source: "/usr/local/lib: (from …)".
execute_process(COMMAND ${APNS_LDCONFIG} -v -N -X OUTPUT_VARIABLE told ERROR_QUIET)
string(REGEX MATCHALL "(^|\n)/[^:\n]*:" directories "${told}")
file(REAL_PATH "${directory}" real)
foreach(known IN LISTS directories)
  string(REGEX REPLACE "^\n|:$" "" known "${known}")
  file(REAL_PATH "${known}" known)
  if(NOT known STREQUAL real)
    continue()
  endif()
  execute_process(COMMAND ${APNS_LDCONFIG} RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    message(STATUS "Programs that are linked with libapns.so will start once root has run ${APNS_LDCONFIG}")
  else()
    message(STATUS "Renewed the loader's cache: ${APNS_LDCONFIG}")
  endif()
  return()
endforeach()
message(STATUS "The loader does not look into ${directory} by itself. A program that is linked with libapns.so "
               "is linked with -Wl,-rpath,${directory} too, or runs with LD_LIBRARY_PATH=${directory}; "
               "one that is linked with the archive (pkg-config --static) needs neither")
