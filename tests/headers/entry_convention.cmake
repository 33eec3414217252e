# Entries of kernels keep few registers for their callers, if nvcc is one that can say so (block/kernel_key.cuh): each entry of a
# program is defined with that, declared nowhere before it, and ptxas takes the program without a warning. Whatever nvcc optimizes, since the order
# of functions in the PTX is its own.
#   NVCC, PTXAS, INCLUDES, SOURCE, FOLDER
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY "${FOLDER}")
string(REPLACE "," ";" INCLUDES "${INCLUDES}")
list(TRANSFORM INCLUDES PREPEND -I)
execute_process(COMMAND "${NVCC}" --version OUTPUT_VARIABLE release COMMAND_ERROR_IS_FATAL ANY)
set(can_say_so FALSE)
if(release MATCHES "release 13[.]0,")
    set(can_say_so TRUE)
endif()

# check(<name> <own> <how ptxas compiles> <option>...): <own>: whether entries have a convention of their own.
function(check name own how)
    set(ptx "${FOLDER}/${name}.ptx")
    execute_process(COMMAND "${NVCC}" -std=c++17 --extended-lambda -ptx -arch=compute_80 ${ARGN} ${INCLUDES} "${SOURCE}" -o "${ptx}"
        RESULT_VARIABLE status ERROR_VARIABLE error)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${name}: nvcc ended with ${status}:\n${error}")
    endif()
    execute_process(COMMAND "${PTXAS}" -arch=sm_80 ${how} -suppress-stack-size-warning "${ptx}" -o "${FOLDER}/${name}.cubin"
        RESULT_VARIABLE status ERROR_VARIABLE error)
    if(NOT status EQUAL 0 OR NOT error STREQUAL "")
        message(FATAL_ERROR "${name}: ptxas ended with ${status}:\n${error}")
    endif()
    file(STRINGS "${ptx}" entries REGEX "^[.a-z ]*[.]func .*_entry_ofI")
    list(LENGTH entries entries)
    file(STRINGS "${ptx}" kept REGEX "^[.]abi_preserve [0-9]+$")
    list(LENGTH kept kept)
    if(entries LESS 18)
        message(FATAL_ERROR "${name}: ${entries} entries of six kernels in ${ptx}")
    endif()
    # A declaration would be one without.
    if(own AND NOT kept EQUAL entries)
        message(FATAL_ERROR "${name}: ${kept} of ${entries} entries in ${ptx} say what they keep")
    elseif(NOT own AND NOT kept EQUAL 0)
        message(FATAL_ERROR "${name}: ${kept} functions in ${ptx} have a convention of their own")
    endif()
endfunction()

check(as_it_is ${can_say_so} -O0)  # ptxas looks at declarations before anything else
check(fast ${can_say_so} -Ofc=max -Ofc=max)
