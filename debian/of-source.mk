# From a checkout: the core, and where they are not given tool and relay, by the Swift in the PATH.
ifneq ($(DEB_HOST_ARCH),$(DEB_BUILD_ARCH))
$(error The sources are built for $(DEB_BUILD_ARCH) only; for $(DEB_HOST_ARCH) build of that processor's bundle)
endif
export DH_VERBOSE = 1
build = build/debian
checks = $(if $(filter nocheck,$(DEB_BUILD_OPTIONS)),OFF,ON)

override_dh_auto_configure:
	@command -v swift >/dev/null || { echo "There is no swift in the PATH: build of the bundle, which needs none" >&2; exit 1; }
	dh_auto_configure --buildsystem=cmake+ninja --builddirectory=$(build) -- -DCMAKE_BUILD_TYPE=Release \
	  -DAPNS_PACKAGES=ON -DAPNS_PHP=ON -DAPNS_PYTHON=ON -DAPNS_EXTENSION_LIBRARY=apns_shared -DAPNS_TESTS=$(checks) \
	  -DAPNS_PYTHON_DIRECTORY=lib/python3/dist-packages -DPython_EXECUTABLE=/usr/bin/python3 \
	  -DAPNS_TOOL="$(APNS_TOOL)" -DAPNS_RELAY_TOOL="$(APNS_RELAY_TOOL)"
	@grep -q '^CMAKE_PROJECT_VERSION:STATIC=$(DEB_VERSION_UPSTREAM)$$' $(build)/CMakeCache.txt || \
	  { echo "debian/changelog is of another version than CMakeLists.txt" >&2; exit 1; }

override_dh_auto_build:
	dh_auto_build --builddirectory=$(build)

override_dh_auto_test:
ifeq ($(checks),ON)
	ctest --test-dir $(build) --output-on-failure --label-exclude memcheck
endif

override_dh_auto_install:
	dh_auto_install --builddirectory=$(build)
