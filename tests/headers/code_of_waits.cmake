# A program for the queue engine has the code of waits, and of what runs on top of one, if a kernel of it waits; otherwise
# the compiler does not see it (execute/wait.cuh).
#   NVCC, INCLUDES, SOURCE, FOLDER
cmake_minimum_required(VERSION 3.25)
file(MAKE_DIRECTORY "${FOLDER}")
foreach(waits 0 1)
    set(ptx "${FOLDER}/waits_${waits}.ptx")
    execute_process(COMMAND "${NVCC}" -std=c++17 -ptx -arch=compute_90 -DWAITS=${waits} -I${INCLUDES} "${SOURCE}" -o "${ptx}"
        COMMAND_ERROR_IS_FATAL ANY)
    foreach(function wait_in_round wait_on_warp wait_on_team nested_step)
        file(STRINGS "${ptx}" found REGEX "[.]func .*queue[0-9]+${function}E" LIMIT_COUNT 1)
        if(waits AND NOT found)
            message(SEND_ERROR "a program with wait() has no ${function} in ${ptx}")
        elseif(NOT waits AND found)
            message(SEND_ERROR "a program without wait() has ${function} in ${ptx}")
        endif()
    endforeach()
endforeach()
