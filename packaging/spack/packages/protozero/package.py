from spack.package import *

try:  # Spack 1.0 and newer; before that it is in spack.package
    from spack_repo.builtin.build_systems.cmake import CMakePackage
except ImportError:
    pass


class Protozero(CMakePackage):
    """Protocol buffers, read and written without a schema: headers. Here because not every Spack has it."""

    homepage = "https://github.com/mapbox/protozero"
    git = "https://github.com/mapbox/protozero.git"

    license("BSD-2-Clause AND Apache-2.0")

    version("1.7.1", tag="v1.7.1")

    depends_on("cxx", type="build")

    def cmake_args(self):
        return [self.define("BUILD_TESTING", False)]
