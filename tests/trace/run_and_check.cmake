# Runs a sample with --trace and then a check of what it wrote. cmake -D... -P run_and_check.cmake:
#   PROGRAM, ARGUMENTS   the sample and its arguments, separated by spaces; @DIR@ in them is the folder FOLDER
#   FOLDER               where to write: emptied before
#   THEN                 what to run after it, separated by spaces, @DIR@ as above; its status is this script's
#   OUTPUT               optional: a regular expression that THEN's output must match
#   STATUS               optional: the exit status that THEN must have (0)
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${FOLDER}")
file(MAKE_DIRECTORY "${FOLDER}")
string(REPLACE "@DIR@" "${FOLDER}" ARGUMENTS "${ARGUMENTS}")
string(REPLACE "@DIR@" "${FOLDER}" THEN "${THEN}")
separate_arguments(arguments UNIX_COMMAND "${ARGUMENTS}")
separate_arguments(then UNIX_COMMAND "${THEN}")
execute_process(COMMAND "${PROGRAM}" ${arguments} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(NOT status EQUAL 0)
    message(FATAL_ERROR "${PROGRAM} ${ARGUMENTS} ended with ${status}:\n${output}")
endif()
if(then)
    execute_process(COMMAND ${then} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    message("${output}")
    if(NOT DEFINED STATUS)
        set(STATUS 0)
    endif()
    if(status EQUAL 77)
        message(FATAL_ERROR "skipped: the check cannot run here")  # ctest looks for the first word
    elseif(NOT status EQUAL STATUS)
        message(FATAL_ERROR "${THEN} ended with ${status}")
    endif()
endif()
if(OUTPUT AND NOT output MATCHES "${OUTPUT}")
    message(FATAL_ERROR "the output does not match ${OUTPUT}:\n${output}")
endif()
