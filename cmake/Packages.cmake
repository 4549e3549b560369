# The parts of packages besides the library, as install components: both extensions for the distribution's
# versions, and the tool and the relay with the Swift runtime inside. Also the source tarball:
#
#   cmake --preset packages && cmake --build --preset packages
#   cpack --config build/packages/CPackSourceConfig.cmake
#
# The packages themselves are described in debian, which calls this.
set(made ${PROJECT_BINARY_DIR}/packages)
file(MAKE_DIRECTORY ${made})

# ---- Python ----------------------------------------------------------------------

install(DIRECTORY ${PROJECT_SOURCE_DIR}/Sources/Extensions/python/libapns
        DESTINATION ${APNS_PYTHON_DIRECTORY} COMPONENT python
        PATTERN __pycache__ EXCLUDE PATTERN "*.so" EXCLUDE)

# ---- The tool, which is Swift with all of its runtime in it ---------------------

set(APNS_TOOL "" CACHE FILEPATH "The tool apns, linked with --static-swift-stdlib; empty: built")
set(tool ${APNS_TOOL})
if(NOT tool)
  set(tool ${PROJECT_BINARY_DIR}/swift/release/apns)
  add_custom_target(apns_swift_tool
    COMMAND ${PROJECT_SOURCE_DIR}/Sources/compile apns -c release --static-swift-stdlib
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
add_custom_command(OUTPUT ${made}/man/man1/apns.1
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${made}/man
  COMMAND Python3::Interpreter ${manual}/tool-pages ${PROJECT_VERSION} ${made}/man ${made}/apns
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
  DEPENDS ${made}/apns ${made}/man/man1/apns.1 ${completions})
install(PROGRAMS ${made}/apns DESTINATION bin COMPONENT tools)
install(DIRECTORY ${made}/man/man1 DESTINATION share/man COMPONENT tools)
install(FILES ${made}/completions/bash DESTINATION share/bash-completion/completions
        RENAME apns COMPONENT tools)
install(FILES ${made}/completions/zsh DESTINATION share/zsh/vendor-completions
        RENAME _apns COMPONENT tools)
install(FILES ${made}/completions/fish DESTINATION share/fish/vendor_completions.d
        RENAME apns.fish COMPONENT tools)

# ---- The relay, likewise --

set(APNS_RELAY_TOOL "" CACHE FILEPATH "The relay, linked with --static-swift-stdlib; empty: built")
set(relay ${APNS_RELAY_TOOL})
if(NOT relay)
  set(relay ${PROJECT_BINARY_DIR}/relay/release/apns-relay)
  add_custom_target(apns_swift_relay
    COMMAND ${PROJECT_SOURCE_DIR}/Sources/compile apns-relay -c release --static-swift-stdlib
            --scratch-path ${PROJECT_BINARY_DIR}/relay
            -Xlinker -z -Xlinker relro -Xlinker -z -Xlinker now
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} BYPRODUCTS ${relay} USES_TERMINAL VERBATIM)
endif()
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
install(PROGRAMS ${made}/apns-relay DESTINATION bin COMPONENT relay)
install(FILES ${made}/relay.yaml DESTINATION /etc/apns COMPONENT relay
        PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ)

# ---- The sources ----------------------------------------------------------------

set(CPACK_PACKAGE_VENDOR libapns)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR})
set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME libapns-${PROJECT_VERSION})
# What .gitignore names, and git's own.
set(CPACK_SOURCE_IGNORE_FILES "/\\.git(/|$)" "^${PROJECT_SOURCE_DIR}/build/" "/\\.build(-[^/]*)?/" /__pycache__/
    "\\.pyc$" /\\.cache/ /\\.pytest_cache/ /\\.mypy_cache/ /Package\\.resolved$
    /compile_commands\\.json$ /CMakeUserPresets\\.json$
    "^${PROJECT_SOURCE_DIR}/simulator-certificates/"
    /debian/\\.debhelper/ "/debian/.*\\.debhelper(\\.log)?$" "/debian/.*\\.substvars$" /debian/debhelper-build-stamp$
    /debian/files$ "/debian/(tmp|libapns0|libapns-dev|php-apns|python3-libapns|apns-(tools|relay))/")
set(CPACK_VERBATIM_VARIABLES TRUE)
include(CPack)
