# The library's exported names come from its headers and from nowhere else.

# Sets OUT to the functions that the headers declare.
function(apns_exported_names OUT)
  set(names "")
  foreach(header ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
    file(READ ${header} text)
    string(REPLACE ";" " " text "${text}")
    string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
    string(REGEX REPLACE "#[^\n]*(\\\\\n[^\n]*)*" "" text "${text}")
    string(REGEX MATCHALL "[ *](apns_[a-z0-9_]+|sendPayload[A-Za-z]*)\\(" found "${text}")
    foreach(name ${found})
      string(REGEX REPLACE "[ *(]" "" name "${name}")
      list(APPEND names ${name})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES names)
  list(SORT names)
  set(${OUT} ${names} PARENT_SCOPE)
endfunction()

# Links the static library TARGET into one object, keeps what the exported names
# need, and makes every other name local.
function(apns_prelink TARGET OBJECT EXPORTS)
  list(JOIN EXPORTS "\n" lines)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/exports.txt CONTENT "${lines}\n")
  list(TRANSFORM EXPORTS PREPEND "--undefined=" OUTPUT_VARIABLE roots)
  list(JOIN roots "\n" lines)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/roots.txt CONTENT "${lines}\n")
  add_custom_command(OUTPUT ${OBJECT}
    COMMAND ${CMAKE_LINKER} -r --gc-sections @${PROJECT_BINARY_DIR}/roots.txt
            --whole-archive $<TARGET_FILE:${TARGET}> -o ${OBJECT}.whole
    COMMAND ${CMAKE_LINKER} -r -T ${PROJECT_SOURCE_DIR}/cmake/merge.ld ${OBJECT}.whole
            -o ${OBJECT}.merged
    COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -DOBJECT=${OBJECT}.merged -DMAP=${OBJECT}.names
            -P ${PROJECT_SOURCE_DIR}/cmake/ShortNames.cmake
    COMMAND ${CMAKE_OBJCOPY} --keep-global-symbols=${PROJECT_BINARY_DIR}/exports.txt
            --remove-section=.swift1_autolink_entries --remove-section=.swift_modhash
            $<$<NOT:$<CONFIG:Debug>>:--strip-unneeded>
            $<$<NOT:$<CONFIG:Debug>>:--redefine-syms=${OBJECT}.names> ${OBJECT}.merged ${OBJECT}
    COMMAND_EXPAND_LISTS
    DEPENDS ${TARGET} ${PROJECT_SOURCE_DIR}/cmake/merge.ld ${PROJECT_SOURCE_DIR}/cmake/ShortNames.cmake
            ${PROJECT_BINARY_DIR}/exports.txt ${PROJECT_BINARY_DIR}/roots.txt
    COMMENT "Prelinking ${OBJECT}" VERBATIM)
  set_source_files_properties(${OBJECT} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
endfunction()

# A linker version script that exports the names and nothing else.
function(apns_version_script FILE VERSION EXPORTS)
  list(JOIN EXPORTS ";\n    " lines)
  file(CONFIGURE OUTPUT ${FILE}
       CONTENT "${VERSION} {\n  global:\n    ${lines};\n  local:\n    *;\n};\n")
endfunction()
