# Entries of kernels, and what work() calls, keep few registers for their callers, if nvcc is one that can say so (task/entry_convention.cuh): each entry
# of a program is defined with that, declared nowhere before it, and called with it, and ptxas takes the program without a
# warning. Whatever nvcc optimizes, since the order of functions in the PTX is its own. Elsewhere the convention is CUDA's.
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

# count(<out> <ptx> <expression>): lines of a file that match.
function(count out ptx expression)
    file(STRINGS "${ptx}" lines REGEX "${expression}")
    list(LENGTH lines lines)
    set(${out} ${lines} PARENT_SCOPE)
endfunction()

# check(<name> <own> <option>...): <own>: whether entries have a convention of their own.
function(check name own)
    set(ptx "${FOLDER}/${name}.ptx")
    execute_process(COMMAND "${NVCC}" -std=c++17 --extended-lambda -ptx -arch=compute_80 ${ARGN} ${INCLUDES} "${SOURCE}" -o "${ptx}"
        RESULT_VARIABLE status ERROR_VARIABLE error)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${name}: nvcc ended with ${status}:\n${error}")
    endif()
    count(entries "${ptx}" "^[.a-z ]*[.]func .*_entry_ofI")
    count(kept "${ptx}" "^[.]abi_preserve [0-9]+$")
    count(calls "${ptx}" "[.]callprototype")
    count(kept_calls "${ptx}" "[.]callprototype.*[.]abi_preserve [0-9]+;")
    # Of the functions in which blocks wait: three words, or a pointer for one of them, and a fourth.
    set(word "[.]param [.]b32 _")
    count(waits "${ptx}" "[.]callprototype [(]${word}[)] _ [(]${word}, ${word}, [.]param [.]b(32|64) _, ${word}[)] *;")
    if(own)
        # A declaration would be an entry without; one call is that of a key.
        math(EXPR wanted_calls "${calls} - ${waits} - 1")
        math(EXPR wanted_kept "${entries} + 5")  # and the functions that work() calls, and these
        if(entries LESS 18 OR NOT kept EQUAL wanted_kept OR waits LESS 1 OR kept_calls LESS 3 OR NOT kept_calls EQUAL wanted_calls)
            message(FATAL_ERROR "${name}: ${kept} functions, with ${entries} entries of six kernels, and ${kept_calls} of ${calls} calls, "
                                "of which one is of a key, say in ${ptx} what is kept")
        endif()
    elseif(NOT kept EQUAL 0 OR NOT kept_calls EQUAL 0)
        message(FATAL_ERROR "${name}: ${kept} functions and ${kept_calls} calls in ${ptx} have a convention of their own")
    endif()
endfunction()

# assemble(<name> <option>...): without a warning.
function(assemble name)
    execute_process(COMMAND "${PTXAS}" -arch=sm_80 ${ARGN} -suppress-stack-size-warning "${FOLDER}/${name}.ptx" -o "${FOLDER}/${name}.cubin"
        RESULT_VARIABLE status ERROR_VARIABLE error)
    if(NOT status EQUAL 0 OR NOT error STREQUAL "")
        message(FATAL_ERROR "${name}: ptxas ended with ${status}:\n${error}")
    endif()
endfunction()

check(as_it_is ${can_say_so})
assemble(as_it_is -O0)  # it looks at declarations before anything else
check(fast ${can_say_so} -Ofc=mid)
assemble(fast -Ofc=mid)
check(cuda FALSE -DDYNPAR_QUEUE_OWN_CONVENTION=0)
check(relocatable FALSE -rdc=true)
