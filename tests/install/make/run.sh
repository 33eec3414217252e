#!/bin/sh
# run.sh <install prefix> <build folder> <variable of make>...: builds and runs the programs of the Makefile here.
set -eu
for tool in make pkg-config; do
    command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1 folder=$2
shift 2
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
cp -r "$prefix" moved  # the package must work where it is moved to
PKG_CONFIG_PATH=$(dirname "$(find "$folder/moved" -name dynpar-core.pc)")
export PKG_CONFIG_PATH
make -f "$here/Makefile" "$@"
./on_cpu
[ ! -e on_gpu ] || ./on_gpu
