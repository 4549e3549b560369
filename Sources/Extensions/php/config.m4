dnl phpize && ./configure && make && make test
dnl
dnl --with-apns takes an installed libapns (pkg-config knows where), --with-apns=DIR the one
dnl under a prefix or, as build/release/libapns.a, in a checkout.

PHP_ARG_WITH([apns],
  [for push notifications to Apple devices],
  [AS_HELP_STRING([[--with-apns[=DIR]]], [Push notifications by libapns, of DIR: a prefix or a checkout])],
  [yes])

if test "$PHP_APNS" != "no"; then
  apns_archive=
  if test "$PHP_APNS" != "yes"; then
    for apns_file in build/release/libapns.a lib/libapns.a "lib/$($CC -print-multiarch 2>/dev/null)/libapns.a" lib64/libapns.a; do
      if test -z "$apns_archive" && test -f "$PHP_APNS/$apns_file"; then
        apns_archive="$PHP_APNS/$apns_file"
      fi
    done
    if test -z "$apns_archive" || test ! -f "$PHP_APNS/include/apns/apns.h"; then
      AC_MSG_ERROR([there are no include/apns/apns.h and libapns.a under $PHP_APNS])
    fi
    PHP_ADD_INCLUDE([$PHP_APNS/include])
    PKG_CHECK_MODULES([APNS_OPENSSL], [openssl >= 1.1.1])
    dnl An archive that speaks HTTP/2 needs libnghttp2.
    if nm -u "$apns_archive" | grep nghttp2_ >/dev/null; then
      PKG_CHECK_MODULES([APNS_NGHTTP2], [libnghttp2])
    fi
    dnl One that looks names up by c-ares needs that.
    if nm -u "$apns_archive" | grep ares_ >/dev/null; then
      PKG_CHECK_MODULES([APNS_CARES], [libcares])
    fi
    dnl The archive's names stay inside the extension.
    APNS_SHARED_LIBADD="$apns_archive $APNS_NGHTTP2_LIBS $APNS_CARES_LIBS $APNS_OPENSSL_LIBS -Wl,--exclude-libs,libapns.a"
  else
    PKG_CHECK_MODULES([APNS], [apns >= 0.2])
    PHP_EVAL_INCLINE([$APNS_CFLAGS])
    PHP_EVAL_LIBLINE([$APNS_LIBS], [APNS_SHARED_LIBADD])
  fi
  dnl As cmake/Hardening.cmake; glibc checks only what is optimized.
  APNS_SHARED_LIBADD="$APNS_SHARED_LIBADD -Wl,-z,relro,-z,now,-z,noexecstack"
  case "$CFLAGS" in
    *-O0*) apns_fortify= ;;
    *-O*) apns_fortify="-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2" ;;
    *) apns_fortify= ;;
  esac
  PHP_SUBST([APNS_SHARED_LIBADD])
  PHP_NEW_EXTENSION([apns],
    [apns.c channels.c classes.c credentials.c enums.c event.c failure.c feedback.c iterator.c loop.c names.c options.c passphrase.c payload.c persistent.c records.c sending.c session.c session_log.c strings.c token.c token_provider.c tracked_session.c waiting.c why.c],
    [$ext_shared],, [-std=gnu11 -fvisibility=hidden -fstack-protector-strong $apns_fortify -DZEND_ENABLE_STATIC_TSRMLS_CACHE=1])
  PHP_ADD_EXTENSION_DEP([apns], [hash])
  PHP_ADD_EXTENSION_DEP([apns], [json])
  PHP_ADD_EXTENSION_DEP([apns], [spl])
fi
