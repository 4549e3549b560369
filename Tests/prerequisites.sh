# Sourced by the two commands of the README. Finds what they need, installs missing Debian
# packages if it may, and otherwise says what is missing.

# need PACKAGE TEST...: notes the package if the test fails.
missing_packages=()
need() {
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || missing_packages+=("$package")
}

# The C compiler finds the header.
has_header() { echo "#include <$1>" | ${CC:-cc} -E -x c - ; }

# The same for the last of several headers, which needs the others before it.
has_header_after() { printf "#include <%s>\n" "$@" | ${CC:-cc} -E -x c - ; }

# Debian's php-fpm has its version in its name.
find_php_fpm() { [ -n "$(compgen -c php-fpm)" ]; }

has_php_sqlite() { command php -r 'exit(in_array("sqlite", PDO::getAvailableDrivers()) ? 0 : 1);'; }

has_php_redis() { command php -r 'exit(extension_loaded("redis") ? 0 : 1);'; }

# Some PATHs lack the administrators' directories.
find_server() { PATH=$PATH:/usr/sbin command -v "$1"; }

# Sets pytest_python to a python3 with pytest and with HTTP/2, for the tests of the simulator.
find_pytest_python() {
  for pytest_python in python3 /usr/bin/python3; do
    "$pytest_python" -c 'import pytest, h2, httpx' 2>/dev/null && return
  done
  need python3-pytest "$pytest_python" -c 'import pytest'
  need python3-h2 "$pytest_python" -c 'import h2'
  need python3-httpx "$pytest_python" -c 'import httpx'
}

find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

# Chromium is large and only one part needs it, so that part is skipped if it cannot be installed.
try_chromium() {
  find_chromium >/dev/null && return
  (missing_packages=(chromium) && install_missing) || true
}

# A key in a device, for one C test, which is skipped if this cannot be installed.
try_softhsm() {
  command -v softhsm2-util >/dev/null && openssl engine pkcs11 >/dev/null 2>&1 && return
  (missing_packages=(softhsm2 libengine-pkcs11-openssl) && install_missing) || true
}

# Another libc, for one check of names, which is skipped if this cannot be installed.
try_musl() {
  command -v musl-gcc >/dev/null && return
  (missing_packages=(musl-dev musl-tools) && install_missing) || true
}

# A compiler for arm64 and what runs its programs, for one part, which is skipped without.
try_arm64() {
  [ "$(uname -m)" != aarch64 ] && ! { command -v aarch64-linux-gnu-gcc && command -v qemu-aarch64; } >/dev/null || return 0
  (missing_packages=(gcc-aarch64-linux-gnu qemu-user) && install_missing) || true
}

install_missing() {
  [ ${#missing_packages[@]} -eq 0 ] && return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as_root=(sudo -n); else
      as_root=(false)
    fi
  fi
  if ! command -v apt-get >/dev/null || [ "${as_root[0]:-}" = false ]; then
    echo "missing: ${missing_packages[*]}" >&2
    echo "install them (Debian: apt-get install ${missing_packages[*]}) and run this again" >&2
    exit 3
  fi
  echo "installing: ${missing_packages[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y --no-install-recommends "${missing_packages[@]}"; } >"$log" 2>&1; then
    cat "$log" >&2
    echo "missing, and apt-get could not install them: ${missing_packages[*]}" >&2
    exit 3
  fi
  rm -f "$log"
  missing_packages=()
}

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
