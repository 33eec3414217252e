# Samples, benchmarks and tests: one source for all engines, compiled by nvcc where there is CUDA and by the C++ compiler else.

# dynpar_add_program(<name> [KERNELS <file>...] [SOURCES <file>...] [MAX_REGISTERS <n>])
#
# An executable with every engine of this build. KERNELS are C++ files with kernels in them, compiled as CUDA where dynpar has
# CUDA; SOURCES are compiled as what they are. (A source has one language for each folder: a file that is needed as C++ and as
# CUDA is listed in two CMakeLists.txt.) MAX_REGISTERS is that of dynpar_enable_device_launch.
function(dynpar_add_program name)
    cmake_parse_arguments(PARSE_ARGV 1 program "" "MAX_REGISTERS" "KERNELS;SOURCES")
    add_executable(${name} ${program_KERNELS} ${program_SOURCES})
    if(DYNPAR_WITH_CUDA)
        set_source_files_properties(${program_KERNELS} PROPERTIES LANGUAGE CUDA)
        if(DEFINED program_MAX_REGISTERS)
            dynpar_enable_device_launch(${name} MAX_REGISTERS ${program_MAX_REGISTERS})
        else()
            dynpar_enable_device_launch(${name})
        endif()
    else()
        target_link_libraries(${name} PRIVATE dynpar::core dynpar::config)
    endif()
    dynpar_set_warnings(${name})
endfunction()
