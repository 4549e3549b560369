# cmake -DASSEMBLY=file -P OneSection.cmake
#
# Puts all code into .text, and the constants behind it: what lies in one section the
# assembler knows the way to, and every way to another takes a relocation of 24 bytes,
# and in a section whose equal strings a linker may merge a symbol besides. That took
# more room than the strings.
file(READ ${ASSEMBLY} text)
string(REGEX REPLACE "\n\t\\.section\t\\.text\\.[^\n]*" "\n\t.text" text "${text}")
string(REGEX REPLACE "\n\t\\.section\t\\.rodata\\.[^\n]*"
       "\n\t.text\t1" text "${text}")
file(WRITE ${ASSEMBLY} "${text}")
