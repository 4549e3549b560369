# cmake -DASSEMBLY=file -P OneSection.cmake
#
# Puts all code into .text and all constants into .rodata. In a section whose equal
# strings a linker may merge each needs a symbol of its own, which took more room than
# the strings; there are no equal ones left to merge.
file(READ ${ASSEMBLY} text)
string(REGEX REPLACE "\n\t\\.section\t\\.text\\.[^\n]*" "\n\t.text" text "${text}")
string(REGEX REPLACE "\n\t\\.section\t\\.rodata\\.[^\n]*"
       "\n\t.section\t.rodata,\"a\",@progbits" text "${text}")
file(WRITE ${ASSEMBLY} "${text}")
