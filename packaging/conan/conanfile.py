"""dynpar for Conan 2. Builds the checkout that it is in: conan create packaging/conan --build=missing"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir

required_conan_version = ">=2.0"


class DynparConan(ConanFile):
    name = "dynpar"
    license = "Apache-2.0"
    description = "Recursion and nested parallelism, written once, for GPUs and CPUs"
    topics = ("cuda", "gpu", "dynamic-parallelism", "recursion")
    # Kernels of other programs are device-linked with dynpar's device code, which a shared library does not give out.
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"cuda": [True, False], "tools": [True, False]}
    default_options = {
        "cuda": False,  # nvcc is not a package of Conan: it must be on the machine
        "tools": True,
        "spdlog/*:header_only": True,
        "fmt/*:header_only": True,
    }

    def _checkout(self):
        return os.path.join(self.recipe_folder, os.pardir, os.pardir)

    def set_version(self):
        text = load(self, os.path.join(self._checkout(), "include", "dynpar", "version.hpp"))
        self.version = ".".join(re.findall(r"#define DYNPAR_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*", "tools/*", "samples/exit_status.hpp"):
            copy(self, pattern, src=self._checkout(), dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # What the installed headers and libraries need, and then what is inside the libraries.
        self.requires("boost/[>=1.74 <2]", transitive_headers=True, transitive_libs=True)
        self.requires("zlib/[>=1.2.11 <2]", transitive_libs=True)
        self.requires("spdlog/[>=1.10 <2]", visible=False)
        self.requires("tomlplusplus/[>=3.1 <4]", visible=False)
        self.requires("nlohmann_json/[>=3.9 <4]", visible=False)
        self.requires("protozero/[>=1.7 <2]", visible=False)
        if self.options.tools:
            self.requires("cli11/[>=2.1 <3]", visible=False)

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")

    def validate(self):
        check_min_cppstd(self, 17)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["DYNPAR_CUDA"] = "ON" if self.options.cuda else "OFF"
        toolchain.cache_variables["DYNPAR_BUILD_TOOLS"] = bool(self.options.tools)
        for option in ("DYNPAR_BUILD_BENCHMARKS", "DYNPAR_BUILD_SAMPLES", "DYNPAR_BUILD_TESTS"):
            toolchain.cache_variables[option] = False
        toolchain.cache_variables["DYNPAR_INSTALL"] = True
        toolchain.cache_variables["FETCHCONTENT_FULLY_DISCONNECTED"] = True
        # Headers that are looked for as files, and not as CMake's packages.
        for library in ("protozero", "tomlplusplus"):
            folder = self.dependencies[library].cpp_info.includedirs[0]
            toolchain.cache_variables[f"DYNPAR_{library.upper()}_INCLUDE_DIR"] = folder
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        rmdir(self, os.path.join(self.package_folder, "share", "doc"))

    def package_info(self):
        # CMake uses dynpar's own package file: what it does for device code cannot be said here.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "dynpar")]
        self.cpp_info.libs = (["dynpar"] if self.options.cuda else []) + ["dynpar_trace", "dynpar_config"]
        self.cpp_info.requires = ["boost::context", "zlib::zlib"]
        self.cpp_info.system_libs = ["pthread"]
