# Sourced by the README's two commands. Checks for what they need, installs missing Debian packages if it may, and
# otherwise names what is missing.

# need PACKAGE TEST...: notes the package if the test fails. want: the same for an optional one; tests that need it
# are then skipped.
missing_packages=() wanted_packages=()
need() {
  local package=$1
  shift
  [[ " ${missing_packages[*]} " == *" $package "* ]] || "$@" >/dev/null 2>&1 || missing_packages+=("$package")
}
want() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || wanted_packages+=("$package")
}

# Whether the C compiler finds the header.
has_header() { echo "#include <$1>" | ${CC:-cc} -E -x c - ; }

# The same for the last of several headers, which needs those before it.
has_header_after() { printf "#include <%s>\n" "$@" | ${CC:-cc} -E -x c - ; }

# Debian's php-fpm has its version in its name.
find_php_fpm() { [ -n "$(compgen -c php-fpm)" ]; }

has_php_sqlite() { command php -r 'exit(in_array("sqlite", PDO::getAvailableDrivers()) ? 0 : 1);'; }

has_php_package() { [ -e "/usr/share/php/$1/autoload.php" ]; }

has_php_redis() { command php -r 'exit(extension_loaded("redis") ? 0 : 1);'; }

# sbin is missing from some PATHs.
find_server() { PATH=$PATH:/usr/sbin command -v "$1"; }

# Sets pytest_python to an installed python3 with pytest and HTTP/2, which Debian's packages can add.
find_pytest_python() {
  for pytest_python in python3 /usr/bin/python3; do
    "$pytest_python" -c 'import pytest, h2, httpx' 2>/dev/null && return
  done
  return 1
}

find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

install_missing() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root=(sudo -n); else as_root=(false); fi
  fi
  if ! command -v apt-get >/dev/null || [ "${as_root[0]:-}" = false ]; then
    [ ${#missing_packages[@]} -gt 0 ] || return 0
    echo "missing: ${missing_packages[*]}" >&2
    echo "install them (Debian: apt-get install ${missing_packages[*]}) and run this again" >&2
    exit 3
  fi
  [ ${#missing_packages[@]} -gt 0 ] || [ ${#wanted_packages[@]} -gt 0 ] || return 0
  echo "installing: ${missing_packages[*]} ${wanted_packages[*]}"
  # Most machines already have package lists; otherwise update them once.
  apt_install "${missing_packages[@]}" "${wanted_packages[@]}" ||
    { quietly apt-get update && apt_install "${missing_packages[@]}" "${wanted_packages[@]}"; } ||
    apt_install "${missing_packages[@]}" || {
    echo "$said" >&2
    echo "missing, and apt-get could not install them: ${missing_packages[*]}" >&2
    exit 3
  }
  missing_packages=() wanted_packages=()
}
apt_install() { [ $# -eq 0 ] || quietly env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"; }
quietly() { said=$("${as_root[@]}" "$@" 2>&1); }

# Swift is not a Debian package, so the script can only ask for it.
need_swift() {
  local version
  if version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p') &&
    [ -n "$version" ]; then
    local major=${version% *} minor=${version#* }
    if [ "$major" -gt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -ge 3 ]; }; then return 0; fi
    echo "Swift $major.$minor is too old: libapns is built with 6.3 or later" >&2
  else
    echo "missing: the Swift toolchain, 6.3 or later, with swift in the PATH" >&2
  fi
  echo "get it from https://www.swift.org/install/linux/ (programs that link libapns need none)" >&2
  exit 3
}

need_build_tools() {
  need gcc command -v "${CC:-cc}"
  need libc6-dev has_header stdio.h
  need cmake command -v cmake
  need ninja-build command -v ninja
  need libssl-dev has_header openssl/ssl.h
  need libnghttp2-dev has_header nghttp2/nghttp2.h
  need libc-ares-dev has_header ares.h
  need pkg-config command -v pkg-config
  need git command -v git
}

# For building the library, its C tests and the relay for the tests.
need_builds() {
  need_build_tools
  need g++ command -v "${CXX:-c++}"
  need python3 command -v python3
  need openssl command -v openssl
  # CMake looks for it when it configures the tests.
  need valgrind command -v valgrind
  need libcmocka-dev has_header_after stdarg.h stddef.h setjmp.h stdint.h cmocka.h
  need libjansson-dev has_header jansson.h
  need libsqlite3-dev has_header sqlite3.h
  need libhiredis-dev has_header hiredis/hiredis.h
}
