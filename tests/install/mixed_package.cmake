# cmake -DFROM=<a package without CUDA> -DTO=<folder> -P mixed_package.cmake: makes a package in which an older dynpar left its part for CUDA.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${TO})
file(COPY ${FROM}/ DESTINATION ${TO})
file(GLOB_RECURSE config ${TO}/dynparConfig.cmake)
cmake_path(GET config PARENT_PATH folder)
file(WRITE ${folder}/dynparCuda.cmake "set(dynpar_CUDA_VERSION 0.0.9)\nset(dynpar_CUDA_ARCHITECTURES 90)\n")
