# ptxas compiles the functions of a target one by one, if it links dynpar::core and has no relocatable device code, unless the target
# has DYNPAR_WHOLE_PROGRAM, or is compiled faster still.
#   BINARY_DIR, GENERATOR, PACKAGE, NVCC
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${BINARY_DIR})
execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/one_by_one -B ${BINARY_DIR} -G ${GENERATOR}
        -DCMAKE_PREFIX_PATH=${PACKAGE} -DCMAKE_CUDA_COMPILER=${NVCC} -DCMAKE_CUDA_ARCHITECTURES=90 -DCMAKE_EXPORT_COMPILE_COMMANDS=ON
    COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
file(STRINGS ${BINARY_DIR}/compile_commands.json commands REGEX "\"command\":")
foreach(name plain whole separable fast)
    set(wanted_of_plain "-Ofc=min")
    set(wanted_of_fast "-Ofc=mid")
    set(command ${commands})
    list(FILTER command INCLUDE REGEX "CMakeFiles/${name}[.]dir/")
    string(REGEX MATCHALL "-Ofc=[a-z]+" levels "${command}")
    if(command STREQUAL "" OR NOT "${levels}" STREQUAL "${wanted_of_${name}}")
        message(SEND_ERROR "${name}: '${levels}' instead of '${wanted_of_${name}}': ${command}")
    endif()
endforeach()
