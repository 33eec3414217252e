# cmake -DSOURCE_DIR=<dynpar> -DBINARY_DIR=<folder> -P release_preset.cmake: the documented build makes what is installed, no more.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${BINARY_DIR})
execute_process(COMMAND ${CMAKE_COMMAND} --preset release -B ${BINARY_DIR} -DDYNPAR_CUDA=OFF
    WORKING_DIRECTORY ${SOURCE_DIR} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${CMAKE_COMMAND} --build ${BINARY_DIR} -- -n -v OUTPUT_VARIABLE steps COMMAND_ERROR_IS_FATAL ANY)
if(NOT steps MATCHES "libdynpar_trace" OR steps MATCHES "${SOURCE_DIR}/(samples|benchmarks|tests)/")
    message(FATAL_ERROR "not just what is installed:\n${steps}")
endif()
