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
          LIBRARY DESTINATION ${APNS_PYTHON_DIRECTORY}/apns/${DIRECTORY})
endfunction()
