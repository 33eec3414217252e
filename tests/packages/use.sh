#!/usr/bin/env bash
# Programs are built against the packages, with CMake and with pkg-config, and run; dynpar-trace of the packages reads
# what one of them wrote. The packages are unpacked in folders: nothing is installed.
#     use.sh FOLDER_OF_BUILD.SH FOLDER ROOT [OPTION OF CMAKE]...
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/built.sh"
folder=$2 root=$3
shift 3
rm -rf "$folder"
mkdir -p "$folder"
for package in "$packages"/*.deb; do dpkg-deb -x "$package" "$folder/system"; done
usr=$folder/system/usr
lib=$usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)

# configure NAME SOURCE SYSTEM [OPTION]...
configure() { cmake -S "$2" -B "$folder/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$3/usr" "${@:4}" >"$folder/$1.log" 2>&1; }
# build NAME SOURCE [OPTION]...
build() {
    if ! configure "$1" "$2" "$folder/system" "${@:3}" || ! cmake --build "$folder/$1" >>"$folder/$1.log" 2>&1; then
        fail "$1 does not build:"
        cat "$folder/$1.log"
        exit 1
    fi
    grep -qF "dynpar_DIR:PATH=$lib/cmake/dynpar" "$folder/$1/CMakeCache.txt" || fail "$1 has found another dynpar"
}

build trace "$(dirname "${BASH_SOURCE[0]}")/trace_consumer" "$@"
(cd "$folder" && trace/consumer run.dynpar.json) || fail "the program ends with $?"
"$usr/bin/dynpar-trace" print --tree "$folder/run.dynpar.json" >"$folder/tree" || fail "dynpar-trace print ends with $?"
[ "$(grep -c halving "$folder/tree")" = 4 ] || fail "the tree has not 4 grids: $(cat "$folder/tree")"
# What Conan builds with its package.
build conan_test "$root/packaging/conan/test_package"
"$folder/conan_test/consumer" >"$folder/conan_test.output" || fail "the program of packaging/conan/test_package ends with $?"
version=$(sed -n 's/^#define DYNPAR_VERSION_[MP][A-Z]* \([0-9]*\).*/\1/p' "$root/include/dynpar/version.hpp" | paste -sd.)
[ "$("$usr/bin/dynpar-trace" --version)" = "dynpar-trace (dynpar $version)" ] || fail "$("$usr/bin/dynpar-trace" --version)"
if ldd "$usr/bin/dynpar-trace" | grep -E 'spdlog|fmt|boost|not found'; then fail "dynpar-trace needs these libraries"; fi
if command -v man >/dev/null && command -v groff >/dev/null; then
    LC_ALL=C.UTF-8 man --warnings -l "$usr/share/man/man1/dynpar-trace.1.gz" 2>&1 | grep 'dynpar-trace compare' >/dev/null || fail "no man page"
fi

export PKG_CONFIG_LIBDIR=$lib/pkgconfig
if command -v pkg-config >/dev/null; then
    modules="dynpar-config dynpar-trace dynpar-core"
    # shellcheck disable=SC2046,SC2086
    c++ -std=c++17 -DVERSION_OF_PACKAGE="\"$(pkg-config --modversion dynpar-core)\"" -o "$folder/with_pkg_config" \
        "$root/tests/install/pkg_config/main.cpp" $(pkg-config --cflags --libs $modules) || fail "c++ with pkg-config"
    "$folder/with_pkg_config" || fail "the program built with pkg-config ends with $?"
fi

if $has_cuda; then
    # Kernels in a static library that launch kernels: what libdynpar-cuda-dev is for.
    build device_launch "$root/tests/install/cuda_separable" "$@"
    "$folder/device_launch/consumer" || fail "the program with device launches ends with $?"
fi

# Without libdynpar-cuda-dev: one line that names it.
dpkg-deb -x "$packages"/libdynpar-dev_*.deb "$folder/core_system"
if configure no_cuda "$root/tests/install/component" "$folder/core_system" -DCOMPONENT=dynpar; then fail "the component dynpar was found"; fi
tr -s ' \n' ' ' <"$folder/no_cuda.log" | grep -qF 'The component dynpar is missing:' || { fail "no reason:"; cat "$folder/no_cuda.log"; }
grep -q 'libdynpar-cuda-dev' "$folder/no_cuda.log" || { fail "libdynpar-cuda-dev is not named:"; cat "$folder/no_cuda.log"; }
configure core "$root/tests/install/component" "$folder/core_system" -DCOMPONENT=core || fail "no component core in libdynpar-dev"
exit $failures
