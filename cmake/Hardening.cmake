# Hardening of every preset: relocations that are read-only before main(), no executable stack, and C with buffer
# checks where the compiler knows the sizes. (The core is Swift, which checks its own.)
foreach(language C CXX)
  add_link_options(
    "$<$<LINK_LANGUAGE:${language}>:-Wl,-z,relro,-z,now,-z,noexecstack>")
endforeach()
add_compile_options($<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong>)
# glibc checks only what was optimized, which Debug is not. A sanitizer checks for itself, and
# sees less of what goes through glibc's checks.
if(NOT APNS_SANITIZE)
  add_compile_options(
    "$<$<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<CONFIG:Debug>>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()
