import os

from spack.package import *

try:  # Spack 1.0 and newer; before that they are in spack.package
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:
    pass


class Dynpar(CMakePackage, CudaPackage):
    """Recursion and nested parallelism, written once, for GPUs and CPUs."""

    # The checkout that this recipe is in.
    git = "file://" + os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 4))

    license("Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    variant("tools", default=True, description="Build dynpar-trace, which prints, converts and compares saved traces")

    generator("ninja")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("boost@1.74: +context")
    depends_on("zlib-api")
    # Headers that are compiled into the libraries and the tool.
    depends_on("spdlog@1.10:", type=("build", "link"))
    depends_on("tomlplusplus@3.1:", type=("build", "link"))
    depends_on("nlohmann-json@3.9:", type=("build", "link"))
    depends_on("protozero@1.7:", type=("build", "link"))
    depends_on("cli11@2.1:", type=("build", "link"), when="+tools")
    depends_on("cuda@12:", when="+cuda")

    def cmake_args(self):
        args = [
            self.define("DYNPAR_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define_from_variant("DYNPAR_BUILD_TOOLS", "tools"),
            self.define("DYNPAR_BUILD_BENCHMARKS", False),
            self.define("DYNPAR_BUILD_SAMPLES", False),
            self.define("DYNPAR_BUILD_TESTS", False),
            self.define("DYNPAR_INSTALL", True),
            self.define("FETCHCONTENT_FULLY_DISCONNECTED", True),
        ]
        if self.spec.satisfies("+cuda"):
            architectures = self.spec.variants["cuda_arch"].value
            if architectures and architectures[0] != "none":
                args.append(self.define("CMAKE_CUDA_ARCHITECTURES", list(architectures)))
        return args
