# Debian packages, one per component, and the source tarball:
#
#   cmake --preset packages && cmake --build --preset packages && cpack --preset packages
#   cpack --config build/packages/CPackSourceConfig.cmake
#
# The preset says where Debian wants things, and links the extensions with libapns0.
set(room ${PROJECT_SOURCE_DIR}/cmake/packages)
set(made ${PROJECT_BINARY_DIR}/packages)
set(version ${PROJECT_VERSION}-1)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR libapns)
set(CPACK_PACKAGE_CONTACT "The libapns maintainers <maintainers@libapns.invalid>")
# Each package has its own, below.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_STRIP_FILES TRUE)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL TRUE)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SOURCE libapns)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION TRUE)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
# Each package's libraries by dpkg-shlibdeps; those of our own it does not know.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS TRUE)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_COMPONENTS_ALL "")

file(MAKE_DIRECTORY ${made})
find_program(GZIP gzip REQUIRED)
execute_process(COMMAND ${GZIP} -9nc INPUT_FILE ${room}/changelog
                OUTPUT_FILE ${made}/changelog.Debian.gz COMMAND_ERROR_IS_FATAL ANY)

# Component COMPONENT is the package NAME.
macro(apns_package COMPONENT NAME SECTION DEPENDS DESCRIPTION)
  string(TOUPPER ${COMPONENT} component)
  list(APPEND CPACK_COMPONENTS_ALL ${COMPONENT})
  set(CPACK_DEBIAN_${component}_PACKAGE_NAME ${NAME})
  set(CPACK_DEBIAN_${component}_PACKAGE_SECTION ${SECTION})
  set(CPACK_DEBIAN_${component}_PACKAGE_DEPENDS "${DEPENDS}")
  set(CPACK_COMPONENT_${component}_DESCRIPTION "${DESCRIPTION}")
  install(FILES ${made}/changelog.Debian.gz DESTINATION share/doc/${NAME} COMPONENT ${COMPONENT})
  install(FILES ${room}/copyright DESTINATION share/doc/${NAME} COMPONENT ${COMPONENT})
  if(EXISTS ${room}/lintian/${NAME})
    install(FILES ${room}/lintian/${NAME} DESTINATION share/lintian/overrides COMPONENT ${COMPONENT})
  endif()
endmacro()

apns_package(runtime libapns0 libs "" "push notifications to Apple devices - shared library
libapns pushes notifications over TLS and accounts for each of them: accepted,
rejected with the gateway's reason, or named as unknown.
.
This package contains the shared library.")
file(CONFIGURE OUTPUT ${made}/shlibs
     CONTENT "libapns ${PROJECT_VERSION_MAJOR} libapns0 (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${made}/shlibs ${room}/triggers)

apns_package(development libapns-dev libdevel "libapns0 (= ${version}), libssl-dev (>= 1.1.1), libnghttp2-dev, libc-ares-dev"
"push notifications to Apple devices - development files
libapns pushes notifications over TLS and accounts for each of them: accepted,
rejected with the gateway's reason, or named as unknown.
.
This package contains the headers for C and C++, the static library, and what
pkg-config and CMake find it by.")

# Debian wants manual pages compressed. They are there by now: Sources/Manual came before.
install(CODE "
  file(GLOB pages \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man3/*.3\")
  if(pages)
    execute_process(COMMAND ${GZIP} -9nf \${pages} COMMAND_ERROR_IS_FATAL ANY)
  endif()" COMPONENT development)

# ---- PHP, enabled as Debian enables its extensions ------------------------------

execute_process(COMMAND ${PHP_CONFIG} --phpapi OUTPUT_VARIABLE phpapi
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PHP_CONFIG} --version OUTPUT_VARIABLE PHP_VERSION
                OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "^([0-9]+\\.[0-9]+).*" "\\1" PHP_VERSION "${PHP_VERSION}")
apns_package(php php-apns php
  "libapns0 (>= ${PROJECT_VERSION}), php${PHP_VERSION}-common, phpapi-${phpapi}"
"push notifications to Apple devices - PHP ${PHP_VERSION} extension
The extension apns pushes notifications over TLS and accounts for each of them:
accepted, rejected with the gateway's reason, or named as unknown. A connection
may stay with its process, so that the next request finds it.")
set(CPACK_DEBIAN_PHP_PACKAGE_PREDEPENDS "php-common (>= 2:69~)")
install(FILES ${room}/php/apns.ini DESTINATION /etc/php/${PHP_VERSION}/mods-available COMPONENT php)
foreach(script conffiles postinst prerm postrm)
  configure_file(${room}/php/${script}.in ${made}/php/${script} @ONLY FILE_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  list(APPEND CPACK_DEBIAN_PHP_PACKAGE_CONTROL_EXTRA ${made}/php/${script})
endforeach()

# ---- Python ---------------------------------------------------------------------

apns_package(python python3-apns python "libapns0 (>= ${PROJECT_VERSION}), python3 (>= 3.9)"
"push notifications to Apple devices - Python 3 module
The package apns pushes notifications over TLS and accounts for each of them:
accepted, rejected with the gateway's reason, or named as unknown. Its types
are there to be checked.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${room}/python/postinst ${room}/python/prerm)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/Sources/Extensions/python/apns
        DESTINATION ${APNS_PYTHON_DIRECTORY} COMPONENT python
        PATTERN __pycache__ EXCLUDE PATTERN "*.so" EXCLUDE)
configure_file(${room}/python/METADATA.in ${made}/python/METADATA @ONLY)
install(FILES ${made}/python/METADATA COMPONENT python
        DESTINATION ${APNS_PYTHON_DIRECTORY}/apns-${PROJECT_VERSION}.dist-info)

# ---- The tool, which is Swift with all of its runtime in it ---------------------

set(APNS_TOOL "" CACHE FILEPATH "The tool apns, linked with --static-swift-stdlib; empty: built")
set(tool ${APNS_TOOL})
if(NOT tool)
  set(tool ${PROJECT_BINARY_DIR}/swift/release/apns)
  add_custom_target(apns_swift_tool
    COMMAND swift build -c release --static-swift-stdlib --product apns
            --scratch-path ${PROJECT_BINARY_DIR}/swift
            -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} BYPRODUCTS ${tool} USES_TERMINAL VERBATIM)
endif()
add_custom_command(OUTPUT ${made}/apns
  COMMAND ${CMAKE_STRIP} --remove-section=.comment --remove-section=.note -o ${made}/apns ${tool}
  DEPENDS ${tool} VERBATIM)
# What the tool says of itself: manual pages, and completions for three shells.
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)
set(manual ${PROJECT_SOURCE_DIR}/Sources/Manual)
add_custom_command(OUTPUT ${made}/man/man1/apns.1.gz
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${made}/man
  COMMAND Python3::Interpreter ${manual}/tool-pages ${PROJECT_VERSION} ${made}/man ${made}/apns
  COMMAND sh -c "${GZIP} -9nf '${made}'/man/man1/*.1"
  DEPENDS ${made}/apns ${manual}/tool-pages ${manual}/mdoc.py VERBATIM)
set(completions "")
foreach(shell bash zsh fish)
  add_custom_command(OUTPUT ${made}/completions/${shell}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${made}/completions
    COMMAND ${made}/apns --generate-completion-script ${shell} > ${made}/completions/${shell}
    DEPENDS ${made}/apns VERBATIM)
  list(APPEND completions ${made}/completions/${shell})
endforeach()
add_custom_target(apns_tool ALL
  DEPENDS ${made}/apns ${made}/man/man1/apns.1.gz ${completions})
apns_package(tools apns-tools net "" "push notifications to Apple devices - command line tool
The tool apns sends notifications to one device or to a list of any length,
takes devices that are gone out of a list, checks payloads and shows them as
a device would, and reads device tokens. It simulates Apple's gateway and
feedback service too, to push to without any device: with faults as they
come, and a ledger of what it took.
.
It needs nothing else of libapns, and no Swift.")
install(PROGRAMS ${made}/apns DESTINATION bin COMPONENT tools)
install(DIRECTORY ${made}/man/man1 DESTINATION share/man COMPONENT tools)
install(FILES ${made}/completions/bash DESTINATION share/bash-completion/completions
        RENAME apns COMPONENT tools)
install(FILES ${made}/completions/zsh DESTINATION share/zsh/vendor-completions
        RENAME _apns COMPONENT tools)
install(FILES ${made}/completions/fish DESTINATION share/fish/vendor_completions.d
        RENAME apns.fish COMPONENT tools)

# ---- The relay, likewise, as a service that is off until somebody configures it --

set(APNS_RELAY_TOOL "" CACHE FILEPATH "The relay, linked with --static-swift-stdlib; empty: built")
set(relay ${APNS_RELAY_TOOL})
if(NOT relay)
  set(relay ${PROJECT_BINARY_DIR}/relay/release/apns-relay)
  add_custom_target(apns_swift_relay
    COMMAND ${PROJECT_SOURCE_DIR}/Sources/build-relay -c release --static-swift-stdlib
            --scratch-path ${PROJECT_BINARY_DIR}/relay
            -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} BYPRODUCTS ${relay} USES_TERMINAL VERBATIM)
endif()
set(own ${room}/relay)
add_custom_command(OUTPUT ${made}/apns-relay
  COMMAND ${CMAKE_STRIP} --remove-section=.comment --remove-section=.note -o ${made}/apns-relay ${relay}
  DEPENDS ${relay} VERBATIM)
# Its configuration is what it prints, with the queue where the service may write.
add_custom_command(OUTPUT ${made}/relay.yaml
  COMMAND sh -c "'${made}/apns-relay' --print-config >'${made}/relay.yaml'"
  COMMAND sed -i "s|\"queue.db\" *#|\"/var/lib/apns-relay/queue.db\"  #|" ${made}/relay.yaml
  DEPENDS ${made}/apns-relay VERBATIM)
add_custom_target(apns_relay ALL
  DEPENDS ${made}/apns-relay ${made}/relay.yaml)
# The manual page apns-relay(1) is the tool's.
apns_package(relay apns-relay net adduser
"push notifications to Apple devices - daemon with a queue
The relay pushes what is in a queue, a file of SQLite or a Redis, and
acknowledges each notification when its outcome is recorded there. So nothing
is lost when it is killed, nor when what enqueues is.
.
It is a service of systemd, apns-relay, which is configured by
/etc/apns/relay.yaml and enabled by hand. It needs no Swift.")
set(CPACK_DEBIAN_RELAY_PACKAGE_RECOMMENDS "apns-tools")
set(CPACK_DEBIAN_RELAY_PACKAGE_SUGGESTS "redis-server")
set(CPACK_DEBIAN_RELAY_PACKAGE_CONTROL_EXTRA ${own}/conffiles ${own}/postinst ${own}/prerm ${own}/postrm)
install(PROGRAMS ${made}/apns-relay DESTINATION bin COMPONENT relay)
install(FILES ${made}/relay.yaml DESTINATION /etc/apns COMPONENT relay
        PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ)
install(FILES ${own}/apns-relay.service DESTINATION lib/systemd/system COMPONENT relay)

# ---- The sources ----------------------------------------------------------------

set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME libapns-${PROJECT_VERSION})
# What .gitignore names, and git's own.
set(CPACK_SOURCE_IGNORE_FILES /\\.git/ "^${PROJECT_SOURCE_DIR}/build/" "/\\.build(-[^/]*)?/" /__pycache__/
    "\\.pyc$" /\\.cache/ /\\.pytest_cache/ /\\.mypy_cache/ /Package\\.resolved$
    /compile_commands\\.json$ /CMakeUserPresets\\.json$
    "^${PROJECT_SOURCE_DIR}/simulator-certificates/")
set(CPACK_VERBATIM_VARIABLES TRUE)
include(CPack)
