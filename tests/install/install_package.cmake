# cmake -D BUILD_DIR=... -D PREFIX=... [-D SOURCE_DIR=... -D GENERATOR=... -D OPTIONS=...] -P install_package.cmake
#
# Installs a build of dynpar into an empty folder; with SOURCE_DIR, makes a host-only build first.
function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
    if(result)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "failed (${result}): ${command}")
    endif()
endfunction()

if(SOURCE_DIR)
    run(${CMAKE_COMMAND} -S ${SOURCE_DIR} -B ${BUILD_DIR} -G ${GENERATOR} ${OPTIONS} -DDYNPAR_CUDA=OFF
        -DDYNPAR_BUILD_TESTS=OFF -DDYNPAR_BUILD_SAMPLES=OFF -DDYNPAR_BUILD_BENCHMARKS=OFF)
    run(${CMAKE_COMMAND} --build ${BUILD_DIR})
endif()
file(REMOVE_RECURSE ${PREFIX})  # a header that is not installed any more must be missing
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${PREFIX})
