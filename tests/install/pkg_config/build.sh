#!/bin/sh
# build.sh <install prefix> <build folder> <package>... -- <compiler>...: builds main.cpp of the folder that <build folder> is named
# after with what pkg-config says of the packages, and runs it.
set -eu
command -v pkg-config >/dev/null || { echo "skipped: there is no pkg-config"; exit 77; }
prefix=$1 folder=$2
shift 2
packages=
while [ "$1" != -- ]; do packages="$packages $1"; shift; done
shift
# The package must work where it is moved to.
rm -rf "$folder"
mkdir -p "$folder"
cp -r "$prefix" "$folder/moved"
PKG_CONFIG_PATH=$(dirname "$(find "$folder/moved" -name dynpar-core.pc)")
export PKG_CONFIG_PATH
first=${packages# }
version=$(pkg-config --modversion "${first%% *}")
# Words, not one word: flags and libraries.
# shellcheck disable=SC2046,SC2086
"$@" -DVERSION_OF_PACKAGE="\"$version\"" -o "$folder/consumer" $(pkg-config --cflags --libs $packages)
"$folder/consumer"
