# Runs a program and compares what it does with what it must do. cmake -D... -P check_program.cmake:
#   PROGRAM     the program
#   ARGUMENTS   its arguments, separated by spaces
#   STATUS      the exit status that it must end with
#   OUTPUT      optional: a file with exactly what it must write to standard output; otherwise
#   LIKE        optional: a regular expression that standard output must match
#   ERROR       optional: a regular expression that standard error must match; without it, standard error must be empty
#   MEMORY_KIB  optional: the most virtual memory that the program may take
# A program that ends with status 2 was given bad input: it must write one line to standard error, and nothing to
# standard output but the line that names the engine. One that ends with any other status but 0 must call no result
# right, unless LIKE says what it must print.
cmake_minimum_required(VERSION 3.25)

separate_arguments(arguments UNIX_COMMAND "${ARGUMENTS}")
set(command "${PROGRAM}" ${arguments})
if(MEMORY_KIB)
    set(command sh -c "ulimit -v ${MEMORY_KIB} && exec \"$0\" \"$@\"" ${command})
endif()
execute_process(COMMAND ${command} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE error)

set(wrong "")
if(NOT status STREQUAL STATUS)
    string(APPEND wrong "exit status ${status} instead of ${STATUS}\n")
endif()
if(OUTPUT)
    file(READ "${OUTPUT}" expected)
    if(NOT output STREQUAL expected)
        string(APPEND wrong "standard output is not what is in ${OUTPUT}\n")
    endif()
endif()
if(LIKE AND NOT output MATCHES "${LIKE}")
    string(APPEND wrong "standard output does not match: ${LIKE}\n")
endif()
if(ERROR AND NOT error MATCHES "${ERROR}")
    string(APPEND wrong "standard error does not match: ${ERROR}\n")
elseif(NOT ERROR AND NOT error STREQUAL "")
    string(APPEND wrong "standard error is not empty\n")
endif()
if(STATUS EQUAL 2)
    if(NOT error MATCHES "^[^\n]+\n$")
        string(APPEND wrong "standard error is not one line\n")
    endif()
    if(NOT output MATCHES "^([a-z]+ engine[^\n]*\n)?$")
        string(APPEND wrong "standard output shows work\n")
    endif()
elseif(NOT STATUS EQUAL 0 AND NOT LIKE AND output MATCHES "right")
    string(APPEND wrong "it failed, and says of a result that it is right\n")
endif()
if(wrong)
    message(FATAL_ERROR "${wrong}---- standard output\n${output}---- standard error\n${error}----")
endif()
