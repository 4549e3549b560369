# From a bundle: the shared library is linked of the archive, with this system's OpenSSL and flags, and
# the extensions are compiled against it. Relay and tool are there as far as the bundle has them.
build = $(CURDIR)/build/debian
stage = $(build)/stage
libdir = usr/lib/$(DEB_HOST_MULTIARCH)
soname = $(basename $(basename $(notdir $(wildcard lib/libapns.so.*.*.*))))
full = $(notdir $(wildcard lib/libapns.so.*.*.*))
version = $(patsubst libapns.so.%,%,$(full))
flags := $(shell dpkg-buildflags --get LDFLAGS)
has_tool := $(wildcard bin/apns)
has_relay := $(wildcard bin/apns-relay)
machine = $(if $(filter amd64,$(DEB_HOST_ARCH)),X86-64,$(if $(filter arm64,$(DEB_HOST_ARCH)),AArch64,none))
export PKG_CONFIG_PATH = $(stage)/$(libdir)/pkgconfig
export PKG_CONFIG

override_dh_auto_configure:
	@[ "$(version)" = "$(DEB_VERSION_UPSTREAM)" ] || \
	  { echo "debian/changelog is of $(DEB_VERSION_UPSTREAM), and the bundle of $(version)" >&2; exit 1; }
	@readelf -h lib/$(full) | grep -q 'Machine:.*$(machine)' || \
	  { echo "This bundle is not for $(DEB_HOST_ARCH)" >&2; exit 1; }

# The library is staged before the extensions are linked with it. Nothing of the bundle but the archive
# is taken as it is, so the files by which it is found say where Debian has it.
override_dh_auto_build:
	install -d $(stage)/$(libdir)/apns $(stage)/usr/share $(build)
	$(CC) -shared $(flags) -o $(stage)/$(libdir)/$(full) \
	  -Wl,-soname,$(soname),--version-script=lib/apns/apns.map,-z,defs -Wl,--whole-archive lib/libapns.a \
	  -Wl,--no-whole-archive $$($(PKG_CONFIG) --libs libssl libcrypto libnghttp2 libcares)
	ln -sf $(full) $(stage)/$(libdir)/$(soname)
	ln -sf $(soname) $(stage)/$(libdir)/libapns.so
	install -m 644 lib/libapns.a $(stage)/$(libdir)
	ln -sf ../libapns.a $(stage)/$(libdir)/apns/libapns.a
	cp -r include $(stage)/usr
	cp -r share/man $(stage)/usr/share
	cp -r lib/pkgconfig lib/cmake $(stage)/$(libdir)
	sed -i 's|^prefix=.*|prefix=$${pcfiledir}/../../..|;s|^libdir=.*|libdir=$${prefix}/lib/$(DEB_HOST_MULTIARCH)|' \
	  $(stage)/$(libdir)/pkgconfig/*.pc
	sed -i -e 's|/lib/libapns|/$(libdir:usr/%=%)/libapns|g' \
	  -e '0,/^get_filename_component(_IMPORT_PREFIX "$${_IMPORT_PREFIX}" PATH)/s||&\n&|' \
	  -e 's|/\.\./\.\./\.\./" ABSOLUTE|/../../../../" ABSOLUTE|' $(stage)/$(libdir)/cmake/apns/*.cmake
	cp -r php $(build) && cd $(build)/php && phpize && \
	  ./configure --build=$(DEB_BUILD_GNU_TYPE) --host=$(DEB_HOST_GNU_TYPE) --with-apns APNS_CFLAGS=-I$(stage)/usr/include APNS_LIBS="-lapns -lssl -lcrypto" \
	    CC=$(CC) CFLAGS="$$(dpkg-buildflags --get CFLAGS)" CPPFLAGS="$$(dpkg-buildflags --get CPPFLAGS)" LDFLAGS="-L$(stage)/$(libdir) $(flags)" && \
	  $(MAKE)
	dh_auto_configure --buildsystem=cmake+ninja --sourcedirectory=python --builddirectory=$(build)/python -- \
	  -DCMAKE_BUILD_TYPE=Release -DAPNS_PYTHON_LIBRARY=shared -DAPNS_PYTHON_DIRECTORY=lib/python3/dist-packages \
	  -DCMAKE_PREFIX_PATH=$(stage)/usr -DCMAKE_SKIP_RPATH=ON -DPython_EXECUTABLE=/usr/bin/python3
	dh_auto_build --buildsystem=cmake+ninja --sourcedirectory=python --builddirectory=$(build)/python

override_dh_auto_test:
ifeq ($(DEB_HOST_ARCH)$(filter nocheck,$(DEB_BUILD_OPTIONS)),$(DEB_BUILD_ARCH))
	LD_LIBRARY_PATH=$(stage)/$(libdir) php -n -d extension=$(build)/php/modules/apns.so \
	  -r 'exit(phpversion("apns") === "$(version)" ? 0 : 1);'
endif

override_dh_auto_install:
	install -d debian/tmp
	cp -a $(stage)/. debian/tmp
	$(MAKE) -C $(build)/php install-modules INSTALL_ROOT=$(CURDIR)/debian/tmp
	dh_auto_install --buildsystem=cmake+ninja --sourcedirectory=python --builddirectory=$(build)/python
ifneq ($(has_tool),)
	install -D -m 755 bin/apns debian/tmp/usr/bin/apns
	install -d debian/tmp/usr/share/zsh
	cp -r share/bash-completion share/fish debian/tmp/usr/share
	cp -r share/zsh/site-functions debian/tmp/usr/share/zsh/vendor-completions
endif
ifneq ($(has_relay),)
	install -D -m 755 bin/apns-relay debian/tmp/usr/bin/apns-relay
	install -D -m 640 share/apns-relay/relay.yaml debian/tmp/etc/apns/relay.yaml
endif

# Packages of which the bundle has no program are not made.
export DH_OPTIONS += $(if $(has_tool),,-Napns-tools) $(if $(has_relay),,-Napns-relay)
