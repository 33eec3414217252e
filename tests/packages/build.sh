#!/usr/bin/env bash
# Builds the Debian packages as docs/building.md says, into FOLDER/new; the same once more, later, under another
# umask, and with some files compiled again, into FOLDER/again; and those of an older revision, from the same
# libraries, into FOLDER/old.
#     build.sh ROOT FOLDER [OPTION OF CMAKE]...
set -euo pipefail
root=$1 folder=$2
shift 2
rm -rf "$folder/new" "$folder/again" "$folder/old"
for tool in dpkg-deb dpkg-shlibdeps; do
    command -v $tool >/dev/null || { echo "skipped: there is no $tool (Debian: dpkg-dev)"; exit 77; }
done
[ "$(dpkg-query -W -f='${db:Status-Status}' libboost-context-dev 2>/dev/null)" = installed ] ||
    { echo "skipped: the packages depend on Debian's libboost-context-dev, which is not installed"; exit 77; }

mkdir -p "$folder"
# make TO [OPTION OF CMAKE]...
make() {
    (cd "$root" && cmake --preset packages -B "$folder/build" "${@:2}")
    cmake --build "$folder/build" -j 2
    rm -rf "$folder/build/packages" "$folder/build/_CPack_Packages"
    (cd "$folder/build" && cpack)
    mv "$folder/build/packages" "$folder/$1"
}
make old "$@" -DDYNPAR_PACKAGES_REVISION=0dynpar0
make new "$@" -DDYNPAR_PACKAGES_REVISION=0dynpar1
sleep 1
rm -f "$folder"/build/CMakeFiles/dynpar_dynpar.dir/src/*.o "$folder"/build/CMakeFiles/dynpar_config.dir/src/log.cpp.o
(umask 077 && CCACHE_DISABLE=1 make again "$@")
