# ptxas compiles the functions of a target one by one, if it links dynpar::core and has no relocatable device code, unless the target
# has DYNPAR_WHOLE_PROGRAM, is compiled faster still, or CMake's flags have a level of their own, beside which ptxas refuses it.
#   BINARY_DIR, GENERATOR, PACKAGE, NVCC
cmake_minimum_required(VERSION 3.25)

# check(<flags> <level>): plain's level with these flags; "" is none.
function(check flags level)
    file(REMOVE_RECURSE ${BINARY_DIR})
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/one_by_one -B ${BINARY_DIR} -G ${GENERATOR}
            -DCMAKE_PREFIX_PATH=${PACKAGE} -DCMAKE_CUDA_COMPILER=${NVCC} -DCMAKE_CUDA_ARCHITECTURES=90
            -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCMAKE_CUDA_FLAGS=${flags}
        COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
    file(STRINGS ${BINARY_DIR}/compile_commands.json commands REGEX "\"command\":")
    set(wanted_of_plain "${level}")
    set(wanted_of_fast "")  # nvcc cannot either
    if(level)
        set(wanted_of_fast "-Ofc=mid")
    endif()
    foreach(name plain whole separable fast linked)
        set(command ${commands})
        list(FILTER command INCLUDE REGEX "CMakeFiles/${name}[.]dir/")
        string(REGEX MATCHALL "-Ofc=[a-z]+" levels "${command}")
        if(command STREQUAL "" OR NOT "${levels}" STREQUAL "${wanted_of_${name}}")
            message(SEND_ERROR "${name} with '${flags}': '${levels}' instead of '${wanted_of_${name}}': ${command}")
        endif()
    endforeach()
endfunction()

check("" "-Ofc=min")
check("-Xptxas -v -O3" "-Ofc=min")
check("-Xptxas -O3" "")
check("--ptxas-options=-v,-O2" "")
