# Sourced by run and limits, at the top of the tree: counts instructions of the hot paths by qemu's plugin.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
hot_paths() { echo "build/$1/Tests/Benchmarks/apns_hot_paths"; }

# The other ends run here without qemu, until this script ends.
start_counting() {
  ${CC:-cc} -O2 -Wall -shared -fPIC Tests/Benchmarks/processors/instructions.c -o "$work/instructions.so"
  coproc SERVICES { "$(hot_paths release)" services; }
  read -r APNS_HOT_PATHS <&"${SERVICES[0]}"
  export APNS_HOT_PATHS
}

# count PROCESSOR SCALE [NAME...]: a line for each path, with its name, and the instructions for each piece: in libapns
# itself (the archive is linked into the program), and including OpenSSL, nghttp2 and libc.
count() {
  local qemu program
  case $1 in
  x86-64) qemu=(qemu-x86_64 -cpu max) program=$(hot_paths release) ;;
  arm64) qemu=(qemu-aarch64 -cpu max -L build/arm64-sysroot) program=$(hot_paths arm64) ;;
  esac
  "${qemu[@]}" -plugin "$work/instructions.so,counts=$work/counts" "$program" "${@:2}" >"$work/names" || return
  paste -d ' ' "$work/names" "$work/counts" | awk '{ printf "%s %.0f %.0f\n", $1, $3 / $2, $4 / $2 }'
}
