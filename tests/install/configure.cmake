# Configures a project from nothing, and looks at what CMake says. cmake -D... -P configure.cmake -- <options of cmake>...
#   SOURCE_DIR, BINARY_DIR, GENERATOR   of the project
#   STATUS                              FAILS or WORKS
#   LIKE                                optional: a regular expression that the output matches, each space in it a piece of white space
#   UNLIKE                              optional: one that it does not match
cmake_minimum_required(VERSION 3.25)
set(options "")
set(is_option FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
    if(is_option)
        list(APPEND options "${CMAKE_ARGV${i}}")
    elseif(CMAKE_ARGV${i} STREQUAL "--")
        set(is_option TRUE)
    endif()
endforeach()
file(REMOVE_RECURSE ${BINARY_DIR})
execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=CUDAARCHS
    ${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${BINARY_DIR} -G ${GENERATOR} ${options}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " line "${output}")
set(wrong "")
if((STATUS STREQUAL "FAILS" AND result EQUAL 0) OR (STATUS STREQUAL "WORKS" AND NOT result EQUAL 0))
    string(APPEND wrong "exit status ${result}\n")
endif()
if(LIKE AND NOT line MATCHES "${LIKE}")
    string(APPEND wrong "the output does not match: ${LIKE}\n")
endif()
if(UNLIKE AND line MATCHES "${UNLIKE}")
    string(APPEND wrong "the output matches: ${UNLIKE}\n")
endif()
if(wrong)
    message(FATAL_ERROR "${wrong}${output}")
endif()
