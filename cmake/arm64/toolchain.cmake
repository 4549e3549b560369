# Builds for Linux on arm64 from another machine:
#
#   cmake/arm64/sysroot && cmake --preset arm64 && cmake --build --preset arm64
#
# with Debian's gcc-aarch64-linux-gnu, and qemu-user to run what was built. The Swift toolchain has
# its Embedded standard library for arm64 without a system only. The core needs no more: what it
# takes from the system are C headers, and the code is made for Linux later, by clang of the merged
# bitcode (see cmake/Exports.cmake). On arm64 itself none of this is needed: the preset release.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

get_filename_component(made ${CMAKE_CURRENT_LIST_DIR}/../../build/arm64-sysroot ABSOLUTE)
set(APNS_ARM64_SYSROOT ${made} CACHE PATH "A Debian for arm64 with libssl-dev and the like; cmake/arm64/sysroot makes one")
if(NOT EXISTS ${APNS_ARM64_SYSROOT}/usr/include/openssl/ssl.h)
  message(FATAL_ERROR "${APNS_ARM64_SYSROOT} has no headers of OpenSSL: cmake/arm64/sysroot fetches them")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES APNS_ARM64_SYSROOT)
set(CMAKE_SYSROOT ${APNS_ARM64_SYSROOT})
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)

# CMake would try to link a program, for which there is no Swift runtime.
set(CMAKE_Swift_COMPILER_FORCED TRUE)
set(CMAKE_Swift_COMPILER_TARGET aarch64-none-none-elf)
set(APNS_CODE_TARGET aarch64-linux-gnu)
set(CMAKE_Swift_FLAGS_INIT "-Xcc -D__linux__=1 -Xcc -D__gnu_linux__=1 -Xcc -D__unix__=1")
foreach(directory aarch64-linux-gnu .)
  string(APPEND CMAKE_Swift_FLAGS_INIT " -Xcc -isystem -Xcc ${CMAKE_SYSROOT}/usr/include/${directory}")
endforeach()

find_program(APNS_QEMU NAMES qemu-aarch64 qemu-aarch64-static)
if(APNS_QEMU AND NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL "aarch64")
  set(CMAKE_CROSSCOMPILING_EMULATOR ${APNS_QEMU} -L ${CMAKE_SYSROOT})
endif()
