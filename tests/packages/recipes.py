"""The recipes for vcpkg, Conan and Spack agree with what they build: versions, options, features, files.

    recipes.py ROOT FOLDER VERSION CACHE [OPTION OF CMAKE]...

None of the three is needed. Their recipes are run with objects that stand for them, which call CMake as they do: every
option must be one of dynpar's, and the sources that Conan takes must be all that are needed.

CMake looks for libraries in a folder that has those which the recipe names, and no others: what this machine has beyond
them must not hide that one is missing. CACHE is the CMakeCache.txt of a build that says where they are here.
"""

import fnmatch
import json
import pathlib
import re
import shutil
import subprocess
import sys
import types

root, folder, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
cache = dict(re.findall(r"^(\w+):\w+=(.*)$", pathlib.Path(sys.argv[4]).read_text(), re.MULTILINE))
cmake_options = sys.argv[5:]
packaging = root / "packaging"
failures = 0


def fail(what):
    global failures
    failures += 1
    print("FAILED:", what)


def expect(right, what):
    if not right:
        fail(what)


def run(command):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return result.returncode, result.stdout


# What CMake needs of a library, by the name that vcpkg has for it: folders of CMake packages, or folders of headers and files.
libraries = {
    "boost-context": ["Boost_DIR", "boost_context_DIR", "boost_headers_DIR"],
    "cli11": ["CLI11_DIR"],
    "nlohmann-json": ["nlohmann_json_DIR"],
    "protozero": ["DYNPAR_PROTOZERO_INCLUDE_DIR/protozero"],
    "spdlog": ["spdlog_DIR", "fmt_DIR"],
    "tomlplusplus": ["DYNPAR_TOMLPLUSPLUS_INCLUDE_DIR/toml++"],
    "zlib": ["ZLIB_INCLUDE_DIR/zlib.h", "ZLIB_LIBRARY_RELEASE"],
}


def only_with(names, to):
    """The options with which CMake finds these libraries and no others. FOLDER/TO then stands for a system that has no more."""
    system = folder / to
    options = []
    for library in names:
        for what in libraries[library]:
            variable, _, header = what.partition("/")
            there = pathlib.Path(cache[variable])
            if variable.endswith("_DIR") and not header:
                options.append(f"-D{variable}={there}")
                continue
            link = system / ("include" if header else "lib") / (header or there.name)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(there / header)
    system.mkdir(parents=True, exist_ok=True)
    return [*options, f"-DCMAKE_FIND_ROOT_PATH={system}", "-DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER",
            *(f"-DCMAKE_FIND_ROOT_PATH_MODE_{kind}=ONLY" for kind in ("INCLUDE", "LIBRARY", "PACKAGE"))]


def configure(name, source, options, names):
    """Configures dynpar in FOLDER/NAME, as the recipe NAME does, where there are the libraries NAMES."""
    system = only_with(names, f"system_of_{name}")
    status, output = run(["cmake", "-S", source, "-B", folder / name, "-G", "Ninja", *cmake_options, *system, *options])
    expect(status == 0, f"{name}: cmake ends with {status}:\n{output}")
    expect("fetched" not in output, f"{name}: a library is not named:\n{output}")
    unused = re.search(r"Manually-specified variables were not used by the project:\n(.*)", output, re.DOTALL)
    expect(not unused, f"{name}: dynpar has no such options: {unused and unused[1]}")


# ---- vcpkg


def check_manifest(manifest):
    """What vcpkg's schema says of the fields that are used here."""
    name = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
    known = {"name", "version-semver", "description", "license", "supports", "dependencies", "features"}
    expect(set(manifest) == known, f"vcpkg.json: fields {sorted(set(manifest) ^ known)}")

    def check_dependencies(dependencies, where):
        names = [d if isinstance(d, str) else d["name"] for d in dependencies]
        expect(names == sorted(names), f"vcpkg.json: {where}: dependencies are not in alphabetical order")
        for dependency in dependencies:
            if isinstance(dependency, dict):
                expect(set(dependency) == {"name", "host"} and dependency["host"] is True, f"vcpkg.json: {where}: {dependency}")
        for dependency in names:
            expect(name.fullmatch(dependency), f"vcpkg.json: {where}: {dependency} is no name of a port")

    check_dependencies(manifest["dependencies"], "dependencies")
    for feature, what in manifest["features"].items():
        expect(name.fullmatch(feature), f"vcpkg.json: {feature} is no name of a feature")
        expect(set(what) == {"description", "dependencies"}, f"vcpkg.json: {feature} has fields {sorted(what)}")
        check_dependencies(what["dependencies"], feature)


def check_vcpkg():
    port = packaging / "vcpkg" / "dynpar"
    manifest = json.loads((port / "vcpkg.json").read_text())
    check_manifest(manifest)
    expect(manifest["version-semver"] == version, f"vcpkg.json: version {manifest['version-semver']} instead of {version}")
    expect(manifest["name"] == port.name, "vcpkg.json: the port is not in a folder of its name")
    for features in ("", "tools"):
        named = manifest["dependencies"] + (manifest["features"]["tools"]["dependencies"] if features else [])
        system = only_with([name for name in named if isinstance(name, str)], f"system_of_vcpkg_{features or 'core'}")
        to = folder / f"vcpkg_{features or 'core'}"
        status, output = run(["cmake", f"-DPORTFILE={port / 'portfile.cmake'}", f"-DFEATURES={features}", f"-DFOLDER={to}",
                              f"-DOPTIONS={','.join([*cmake_options, *system])}", "-P", root / "tests/packages/vcpkg_functions.cmake"])
        expect(status == 0, f"vcpkg, features \"{features}\": {output}")
        if status == 0:
            checked = (to / "features").read_text().split(";")
            expect(sorted(checked) == sorted(manifest["features"]), f"vcpkg: the portfile knows the features {checked}")
            expect((to / "package/bin/dynpar-trace").exists() == (features == "tools"), f"vcpkg, features \"{features}\": dynpar-trace")


# ---- Conan


def conan_modules():
    """Modules named as Conan's, with what the recipe imports."""

    class conan_file:
        recipe_folder = str(packaging / "conan")
        package_folder = str(folder / "conan_package")

        def __init__(self):
            self.required = {}
            self.dependencies = {}
            self.cpp_info = types.SimpleNamespace(set_property=lambda name, value: None)

        def requires(self, reference, **traits):
            expect(re.fullmatch(r"[a-z0-9_]+/\[>=[0-9.]+ <[0-9]+\]", reference), f"conan: requirement {reference}")
            expect(set(traits) <= {"transitive_headers", "transitive_libs", "visible"}, f"conan: traits {traits}")
            name = reference.split("/")[0]
            self.required[name] = traits
            # Each in a folder of its own, which CMake looks into only if it is told to.
            headers = folder / "conan_headers" / name
            if not headers.exists():
                only_with({name} & {"protozero", "tomlplusplus"}, headers.relative_to(folder))
            self.dependencies[name] = types.SimpleNamespace(
                cpp_info=types.SimpleNamespace(includedirs=[str(headers / "include")]))

        def tool_requires(self, reference):
            expect(reference == "cmake/[>=3.25]", f"conan: tool {reference}")

    class toolchain:
        def __init__(self, recipe):
            self.cache_variables = {}
            recipe.toolchain = self

        def generate(self):
            pass

    def copy(recipe, pattern, src, dst):
        found = [f for f in pathlib.Path(src).rglob("*") if f.is_file() and fnmatch.fnmatch(str(f.relative_to(src)), pattern)]
        expect(found, f"conan: no file is like {pattern}")
        for file in found:
            to = pathlib.Path(dst) / file.relative_to(src)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, to)

    parts = {
        "conan": {"ConanFile": conan_file},
        "conan.tools": {},
        "conan.tools.build": {"check_min_cppstd": lambda recipe, standard: None, "can_run": lambda recipe: True},
        "conan.tools.cmake": {"CMake": object, "CMakeDeps": toolchain, "CMakeToolchain": toolchain, "cmake_layout": lambda recipe: None},
        "conan.tools.files": {"copy": copy, "load": lambda recipe, file: pathlib.Path(file).read_text(), "rmdir": None},
    }
    modules = {}
    for name, content in parts.items():
        modules[name] = types.ModuleType(name)
        modules[name].__dict__.update(content)
    return modules


def load(file, modules):
    """What a Python file defines, with `modules` in place of those that it imports."""
    sys.modules.update(modules)
    try:
        content = {"__file__": str(file), "__name__": file.stem}
        exec(compile(file.read_text(), str(file), "exec"), content)
        return content
    finally:
        for name in modules:
            del sys.modules[name]


def check_conan():
    recipe_class = load(packaging / "conan/conanfile.py", conan_modules())["DynparConan"]
    load(packaging / "conan/test_package/conanfile.py", conan_modules())
    recipe = recipe_class()
    recipe.export_sources_folder = folder / "conan_sources"
    recipe.set_version()
    expect(recipe.version == version, f"conan: version {recipe.version} instead of {version}")
    recipe.export_sources()
    for tools in (True, False):
        recipe.required = {}
        recipe.options = types.SimpleNamespace(cuda=False, tools=tools)
        expect(set(recipe_class.options) == {"cuda", "tools"}, "conan: options that this test does not know")
        recipe.requirements()
        recipe.generate()
        options = {k: {True: "ON", False: "OFF"}.get(v, v) for k, v in recipe.toolchain.cache_variables.items()}
        # CMake's packages of all others are where CMake looks.
        packages = {"boost": "boost-context", "nlohmann_json": "nlohmann-json", "spdlog": "spdlog", "zlib": "zlib", "cli11": "cli11"}
        configure(f"conan_tools_{tools}", recipe.export_sources_folder, [f"-D{k}={v}" for k, v in options.items()],
                  [packages[name] for name in recipe.required if name in packages])
        recipe.package_info()
        visible = {name for name, traits in recipe.required.items() if traits.get("visible", True)}
        named = {r.split("::")[0] for r in recipe.cpp_info.requires}
        expect(visible == named, f"conan: requirements {visible}, and package_info names {named}")
        for name in recipe.cpp_info.libs:
            expect(f"{name} STATIC" in (root / "CMakeLists.txt").read_text(), f"conan: there is no library {name}")
    # All that is included by a path is there.
    for file in recipe.export_sources_folder.rglob("*.[ch]*p"):
        for included in re.findall(r'^#include "([^"]+)"', file.read_text(), re.MULTILINE):
            there = any((near / included).exists() for near in (file.parent, recipe.export_sources_folder / "include"))
            expect(there, f"conan: {file.name} includes {included}, which is not exported")


# ---- Spack


def spack_modules():
    """spack.package, with what the recipe uses of it. What the directives are called with is collected."""
    called = types.SimpleNamespace(versions=[], variants={}, dependencies=[])

    class cmake_package:
        def define(self, name, value):
            if isinstance(value, list):
                value = ";".join(value)
            return f"-D{name}={ {True: 'ON', False: 'OFF'}.get(value, value) }"

        def define_from_variant(self, name, variant):
            expect(variant in called.variants, f"spack: no variant {variant}")
            return self.define(name, self.spec.satisfies(f"+{variant}"))

    module = types.ModuleType("spack.package")
    module.__dict__.update(
        CMakePackage=cmake_package,
        CudaPackage=type("cuda_package", (), {}),
        license=lambda name: None,
        version=lambda name, **source: called.versions.append((name, source)),
        variant=lambda name, default, description: called.variants.update({name: default}),
        generator=lambda name: None,
        depends_on=lambda spec, type=None, when=None: called.dependencies.append((spec, when)),
    )
    return called, {"spack": types.ModuleType("spack"), "spack.package": module}


def check_spack():
    called, modules = spack_modules()
    load(packaging / "spack/packages/protozero/package.py", spack_modules()[1])
    recipe = load(packaging / "spack/packages/dynpar/package.py", modules)["Dynpar"]
    expect((version, {"tag": f"v{version}"}) in called.versions, f"spack: versions {called.versions}, without {version}")
    expect(recipe.git == f"file://{root}", f"spack: the checkout is not {recipe.git}")
    for spec, when in called.dependencies:
        expect(re.fullmatch(r"[a-z0-9-]+(@[0-9.]+:)?( \+[a-z]+)?", spec), f"spack: dependency {spec}")
        expect(when in (None, "+tools", "+cuda"), f"spack: {spec} when {when}")
    for variants in ({"tools"}, set()):
        package = recipe()
        package.spec = types.SimpleNamespace(satisfies=lambda what, v=variants: what.lstrip("+") in v, variants={})
        names = [spec.split("@")[0].split()[0] for spec, when in called.dependencies if not when or when.lstrip("+") in variants]
        names = [{"boost": "boost-context", "zlib-api": "zlib"}.get(name, name) for name in names]
        configure(f"spack_{'_'.join(variants) or 'core'}", root, package.cmake_args(), [name for name in names if name in libraries])
    package.spec = types.SimpleNamespace(
        satisfies=lambda what: what == "+cuda", variants={"cuda_arch": types.SimpleNamespace(value=("80", "90"))})
    expect({"-DDYNPAR_CUDA=ON", "-DCMAKE_CUDA_ARCHITECTURES=80;90"} <= set(package.cmake_args()), "spack: +cuda cuda_arch=80,90")
    expect("namespace: dynpar" in (packaging / "spack/repo.yaml").read_text(), "spack: repo.yaml")


def check_refusal():
    """A library that is missing where nothing may be fetched is said at once, and not by the compiler."""
    for missing, name in (("protozero", "protozero"), ("tomlplusplus", "toml++"), ("nlohmann-json", "nlohmann_json"), ("spdlog", "spdlog"),
                          ("zlib", "zlib"), ("boost-context", "Boost.Context"), ("cli11", "CLI11")):
        to = f"without_{missing}"
        status, output = run(["cmake", "-S", root, "-B", folder / to, "-G", "Ninja", *cmake_options, "-DDYNPAR_CUDA=OFF",
                              "-DDYNPAR_BUILD_TESTS=OFF", "-DDYNPAR_BUILD_SAMPLES=OFF", "-DDYNPAR_BUILD_BENCHMARKS=OFF",
                              "-DFETCHCONTENT_FULLY_DISCONNECTED=ON", *only_with(set(libraries) - {missing}, f"system_{to}")])
        text = " ".join(output.split())
        expect(status != 0 and f"dynpar: {name} was not found, and FETCHCONTENT_FULLY_DISCONNECTED forbids to fetch it. Install it" in text,
               f"{to}: cmake ends with {status}:\n{output}")


shutil.rmtree(folder, ignore_errors=True)
folder.mkdir(parents=True)
if any(not cache.get(what.split("/")[0]) for needed in libraries.values() for what in needed):
    print("skipped: some of the libraries were fetched here, and the test needs them installed")
    sys.exit(77)
check_refusal()
check_vcpkg()
check_conan()
check_spack()
sys.exit(1 if failures else 0)
