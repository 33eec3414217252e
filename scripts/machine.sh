# What this machine has, and where to build. Sourced by the other scripts; sets `root`, `build_root` and `jobs`.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc 2>/dev/null || echo 2)

# Builds go to build/ in the checkout, or where BUILD_ROOT says; in a checkout that belongs to somebody else, to /tmp.
# (Not DYNPAR_BUILD_ROOT: variables that begin with DYNPAR_ are dynpar's settings.)
build_root=${BUILD_ROOT:-$root/build}
if ! mkdir -p "$build_root" 2>/dev/null || [ ! -w "$build_root" ]; then
    build_root=${TMPDIR:-/tmp}/dynpar-build-$(id -u)
    mkdir -p "$build_root"
    echo "dynpar: $root/build is not writable; building in $build_root"
fi

# ccache fails, and the build with it, for a user without a home.
if [ -z "${CCACHE_DIR:-}" ] && ! mkdir -p "${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}" 2>/dev/null; then
    export CCACHE_DIR=$build_root/ccache
fi

has_gpu() {
    compgen -G '/dev/nvidia[0-9]*' >/dev/null || nvidia-smi -L 2>/dev/null | grep -q '^GPU'
}

# Whether clang is here, and with it libFuzzer, which Debian has in a package of its own.
has_libfuzzer() {
    echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
        clang++ -x c++ -fsanitize=fuzzer,address - -o "$build_root/libfuzzer-probe" 2>/dev/null
}
