"""libapns for Conan 2, made of the bundle: the archive is not compiled, so there is nothing to choose
but whether programs link it or the shared library."""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.files import copy, get

required_conan_version = ">=2.0"


class LibapnsConan(ConanFile):
    name = "libapns"
    description = "Push notifications to Apple devices, from C"
    license = "Apache-2.0"
    homepage = "https://libapns.invalid/"
    url = "https://libapns.invalid/"
    topics = ("apns", "push", "http2")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def configure(self):
        self.settings.rm_safe("compiler.cppstd")
        self.settings.rm_safe("compiler.libcxx")

    def validate(self):
        if self.settings.os != "Linux" or str(self.settings.arch) not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration("libapns is for Linux on x86_64 and armv8")

    def requirements(self):
        # sendpayload.h includes OpenSSL's headers.
        self.requires("openssl/[>=1.1.1 <4]", transitive_headers=True)
        self.requires("libnghttp2/[>=1.40 <2]")
        self.requires("c-ares/[>=1.16 <2]")

    def package_id(self):
        # One archive for all of them: its interface is C.
        del self.info.settings.compiler
        del self.info.settings.build_type

    def build(self):
        get(self, **self.conan_data["sources"][self.version][str(self.settings.arch)], strip_root=True)

    def package(self):
        copy(self, "LICENSE", self.build_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*", os.path.join(self.build_folder, "licenses"), os.path.join(self.package_folder, "licenses"))
        copy(self, "*.h*", os.path.join(self.build_folder, "include"), os.path.join(self.package_folder, "include"))
        library = "libapns.so*" if self.options.shared else "libapns.a"
        copy(self, library, os.path.join(self.build_folder, "lib"), os.path.join(self.package_folder, "lib"),
             keep_path=False, excludes="apns/*")

    def package_info(self):
        self.cpp_info.libs = ["apns"]
        self.cpp_info.set_property("cmake_file_name", "apns")
        self.cpp_info.set_property("cmake_target_name", "apns::apns" if self.options.shared else "apns::apns_static")
        self.cpp_info.set_property("pkg_config_name", "apns")
        self.cpp_info.requires = ["openssl::ssl", "openssl::crypto", "libnghttp2::nghttp2", "c-ares::cares"]
