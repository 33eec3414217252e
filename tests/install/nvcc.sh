#!/bin/sh
# nvcc.sh <install prefix> <build folder> <nvcc> <architecture>: nvcc with the flags that docs/building.md has for
# those who use neither CMake nor pkg-config. First the queue engine, of which the headers are enough, then the
# library with device code.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1 folder=$2 nvcc=$3 architecture=$4
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
lib=$(dirname "$(find "$prefix" -name libdynpar.a)")
"$nvcc" -std=c++17 -arch="$architecture" -I "$prefix/include" "$here/cuda_core/main.cu" -o queue
"$nvcc" -std=c++17 -arch="$architecture" -I "$prefix/include" -rdc=true "$here/cuda_plain/main.cu" -o both \
    -L "$lib" -ldynpar -ldynpar_config -lcudadevrt -lboost_context -ldl -lpthread
./queue
./both
