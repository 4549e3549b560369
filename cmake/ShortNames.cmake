# cmake -DNM=nm -DOBJECT=file -DMAP=file -P ShortNames.cmake
#
# Writes short names for what is local to the object, for objcopy --redefine-syms:
# Swift's own hold types and hashes, and were a sixth of the archive. What is left
# still tells whoever reads a backtrace where he is: "Session.write.57".
execute_process(COMMAND ${NM} ${OBJECT} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[$]e[^\n]*" symbols "${symbols}")
set(map "")
set(count 0)
foreach(symbol ${symbols})
  # Identifiers stand behind their lengths: $e4APNS7SessionV5write...
  string(REGEX MATCHALL "[1-9][0-9]*[A-Za-z_]+" words "${symbol}")
  set(short "")
  set(taken 0)
  foreach(word ${words})
    string(REGEX MATCH "^[0-9]+" length "${word}")
    string(REGEX REPLACE "^[0-9]+" "" word "${word}")
    string(LENGTH "${word}" there)
    if(word STREQUAL "APNS" OR length GREATER there OR length LESS 3 OR taken EQUAL 2)
      continue()
    endif()
    string(SUBSTRING "${word}" 0 ${length} word)
    string(APPEND short "${word}.")
    math(EXPR taken "${taken} + 1")
  endforeach()
  math(EXPR count "${count} + 1")
  string(APPEND map "${symbol} ${short}${count}\n")
endforeach()
file(WRITE ${MAP} "${map}")
