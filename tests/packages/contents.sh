#!/usr/bin/env bash
# What is in the packages: each file in one of them and where Debian wants it, no folder of the build, of root, for
# all to read.
#     contents.sh FOLDER_OF_BUILD.SH FOLDER ROOT
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/built.sh"
built=$1 folder=$2 root=$3
rm -rf "$folder"
mkdir -p "$folder"
multiarch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
version=$(sed -n 's/^#define DYNPAR_VERSION_[MP][A-Z]* \([0-9]*\).*/\1/p' "$root/include/dynpar/version.hpp" | paste -sd.)

expected="dynpar-tools libdynpar-dev"
if $has_cuda; then expected="dynpar-tools libdynpar-cuda-dev libdynpar-dev"; fi
there=$(for package in "$packages"/*.deb; do dpkg-deb -f "$package" Package; done | sort | paste -sd' ')
[ "$there" = "$expected" ] || fail "the packages are: $there"

for package in "$packages"/*.deb; do
    name=$(dpkg-deb -f "$package" Package)
    [ "$(dpkg-deb -f "$package" Version)" = "$version-0dynpar1" ] || fail "$name: version $(dpkg-deb -f "$package" Version), and not $version"
    dpkg-deb -x "$package" "$folder/$name"
    (cd "$folder/$name" && find . ! -type d | sort) >"$folder/$name.files"
    dpkg-deb -c "$package" | awk '$1 !~ /^(-rw-r--r--|drwxr-xr-x)$/ && $6 !~ /^[.]\/usr\/bin\// || $2 != "root/root"' >"$folder/odd"
    [ ! -s "$folder/odd" ] || fail "$name: permissions or owners: $(cat "$folder/odd")"
    for document in copyright changelog.Debian.gz; do
        [ -s "$folder/$name/usr/share/doc/$name/$document" ] || fail "$name: no $document"
    done
    if grep -rlF -e "$root/" -e "$built/" "$folder/$name"; then fail "$name: these files name a folder of the build"; fi
done
cat "$folder"/*.files | sort | uniq -d >"$folder/twice"
[ ! -s "$folder/twice" ] || fail "in two packages: $(cat "$folder/twice")"

# has PACKAGE FILE...
has() {
    local package=$1 file
    for file in "${@:2}"; do [ -f "$folder/$package/usr/$file" ] || fail "$package: no /usr/$file"; done
}
lib=lib/$multiarch
has libdynpar-dev include/dynpar/{dynpar,config,version}.hpp include/dynpar/launch.cuh "$lib"/libdynpar_{config,trace}.a \
    "$lib"/cmake/dynpar/{dynparConfig,dynparConfigVersion,dynparTargets,dynpar_compile_fast,dynpar_enable_device_launch}.cmake \
    "$lib"/pkgconfig/dynpar-{core,config,trace}.pc
has dynpar-tools bin/dynpar-trace share/man/man1/dynpar-trace.1.gz share/bash-completion/completions/dynpar-trace
if $has_cuda; then
    has libdynpar-cuda-dev "$lib"/libdynpar.a "$lib"/cmake/dynpar/{dynparCuda,dynparCudaTargets}.cmake "$lib"/pkgconfig/dynpar.pc
fi
headers=$(cd "$root/include" && find . -name '*.hpp' -o -name '*.cuh' | sort)
[ "$headers" = "$(cd "$folder/libdynpar-dev/usr/include" && find . -type f | sort)" ] || fail "the headers are not those of include/"

# Stripped, and still to be linked with.
[ -z "$(nm "$folder/dynpar-tools/usr/bin/dynpar-trace" 2>/dev/null)" ] || fail "dynpar-trace is not stripped"
for library in "$folder"/*/usr/"$lib"/*.a; do
    [ "$(nm "$library" 2>/dev/null | grep -c ' T ')" -gt 0 ] || fail "${library##*/} has no symbols"
    [ "$(objdump -h "$library" 2>/dev/null | grep -cE '[.](comment|debug_)')" = 0 ] || fail "${library##*/} is not stripped"
done
exit $failures
