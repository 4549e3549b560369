# Sets OUT to the functions that the linker's version script MAP exports.
function(apns_exported_names OUT MAP)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${MAP})
  file(READ ${MAP} text)
  string(REGEX MATCHALL "\n    [A-Za-z_0-9]+" found "${text}")
  list(TRANSFORM found STRIP)
  set(${OUT} ${found} PARENT_SCOPE)
endfunction()

# Writes the version script MAP without the functions that the headers ARGN declare, and sets OUT to its path.
function(apns_map_without OUT MAP)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${MAP} ${ARGN})
  file(READ ${MAP} text)
  foreach(header ${ARGN})
    file(STRINGS ${header} declarations REGEX "^[a-z].*[ *][A-Za-z_0-9]+\\(")
    foreach(declaration ${declarations})
      string(REGEX REPLACE ".*[ *]([A-Za-z_0-9]+)\\(.*" "\\1" name "${declaration}")
      string(REPLACE "\n    ${name};" "" text "${text}")
    endforeach()
  endforeach()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/apns.map CONTENT "${text}" @ONLY)
  set(${OUT} ${PROJECT_BINARY_DIR}/apns.map PARENT_SCOPE)
endfunction()

# The tool NAME of the Swift toolchain: what it wrote, no other can be relied on to read.
function(apns_toolchain_program VARIABLE NAME)
  execute_process(COMMAND ${CMAKE_Swift_COMPILER} -print-target-info
                  OUTPUT_VARIABLE info COMMAND_ERROR_IS_FATAL ANY)
  string(JSON resources GET "${info}" paths runtimeResourcePath)
  find_program(${VARIABLE} ${NAME} PATHS ${resources}/../../bin NO_DEFAULT_PATH REQUIRED)
endfunction()

# Makes one object of the static library TARGET, which holds bitcode. The linker makes
# every name local but those of the version script MAP, and leaves out what they do not
# need. Compiled only then, all of it is one section, so that the assembler resolves the
# calls within: relocations and names were two fifths of the archive.
function(apns_prelink TARGET OBJECT EXPORTS MAP)
  apns_toolchain_program(APNS_LLD ld.lld)
  apns_toolchain_program(APNS_CLANG clang)
  list(JOIN EXPORTS "\n" lines)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/exports.txt CONTENT "${lines}\n")
  set(debug $<CONFIG:Debug>)
  # The code may be for another target than the bitcode says: see cmake/arm64.
  set(target "")
  if(APNS_CODE_TARGET)
    set(target --target=${APNS_CODE_TARGET})
  endif()
  # A jump table takes a relocation per case, which is more than the comparisons it saves.
  add_custom_command(OUTPUT ${OBJECT}
    COMMAND ${APNS_LLD} -shared --version-script=${MAP} --whole-archive $<TARGET_FILE:${TARGET}>
            --lto-emit-llvm --lto-O$<IF:${debug},0,1> -o ${OBJECT}.bc
    COMMAND ${APNS_CLANG} ${target} -x ir ${OBJECT}.bc -S -o ${OBJECT}.s -fPIC -Wno-override-module
            $<IF:${debug},-O0,-O2> -mllvm -min-jump-table-entries=64
    COMMAND ${CMAKE_COMMAND} -DASSEMBLY=${OBJECT}.s -P ${PROJECT_SOURCE_DIR}/cmake/OneSection.cmake
    COMMAND ${APNS_CLANG} ${target} -c ${OBJECT}.s -o ${OBJECT}.whole
    COMMAND ${CMAKE_LINKER} -r -T ${PROJECT_SOURCE_DIR}/cmake/merge.ld ${OBJECT}.whole
            -o ${OBJECT}.merged
    # Without the names of what is local a backtrace of a release tells the function of
    # the header only; RelWithDebInfo and Debug keep them.
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${PROJECT_BINARY_DIR}/exports.txt
            --remove-section=.swift1_autolink_entries --remove-section=.swift_modhash
            --remove-section=.linker-options --remove-section=.deplibs
            --remove-section=.llvm_addrsig $<$<CONFIG:Release>:--strip-unneeded>
            ${OBJECT}.merged ${OBJECT}
    COMMAND_EXPAND_LISTS
    DEPENDS ${TARGET} ${MAP} ${PROJECT_SOURCE_DIR}/cmake/merge.ld
            ${PROJECT_SOURCE_DIR}/cmake/OneSection.cmake ${PROJECT_BINARY_DIR}/exports.txt
    COMMENT "Prelinking ${OBJECT}" VERBATIM)
  set_source_files_properties(${OBJECT} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
endfunction()
