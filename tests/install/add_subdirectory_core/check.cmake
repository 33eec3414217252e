# cmake -DBINARY_DIR=<folder of the build> -P check.cmake: of dynpar nothing was built, and the program works.
file(GLOB_RECURSE built ${BINARY_DIR}/dynpar/*.o ${BINARY_DIR}/dynpar/*.a)
if(built)
    message(FATAL_ERROR "built and not linked: ${built}")
endif()
execute_process(COMMAND ${BINARY_DIR}/consumer COMMAND_ERROR_IS_FATAL ANY)
