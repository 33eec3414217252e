# For projects that use dynpar: what shortens the time that nvcc takes for the queue engine.

# dynpar_compile_fast(<target>)
#
# For work on a program: the target's CUDA files compile with nvcc's -Ofc=mid, in a little less time. What it makes
# is slower on a GPU (docs/building.md), so it is not for a release, nor for measurements. Files with relocatable device code
# stay as they are: it would save them little, and take more registers than kernels may have.
#
#     if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
#         dynpar_compile_fast(my_program)
#     endif()
function(dynpar_compile_fast target)
    if(NOT TARGET ${target})
        message(FATAL_ERROR "dynpar_compile_fast: there is no target '${target}'. Call it after add_executable or add_library.")
    endif()
    if(NOT CMAKE_CUDA_COMPILER_LOADED)
        message(FATAL_ERROR "dynpar_compile_fast(${target}): this project has no CUDA: nothing else compiles faster. Enable the language "
                            "CUDA, or leave the call out.")
    endif()
    include(CheckCompilerFlag)
    check_compiler_flag(CUDA -Ofc=mid DYNPAR_NVCC_COMPILES_FAST)
    if(NOT DYNPAR_NVCC_COMPILES_FAST)
        message(STATUS "dynpar_compile_fast(${target}): this nvcc has no fast compilation (-Ofc), so nothing changes")
    elseif(NOT DYNPAR_COMPILE_FAST)  # with which dynpar's own build compiles everything faster still
        set(is_plain_cuda
            "$<AND:$<COMPILE_LANGUAGE:CUDA>,$<NOT:$<BOOL:$<TARGET_PROPERTY:CUDA_SEPARABLE_COMPILATION>>>>")
        set_target_properties(${target} PROPERTIES DYNPAR_WHOLE_PROGRAM ON)  # without dynpar's own -Ofc=min
        target_compile_options(${target} PRIVATE "$<${is_plain_cuda}:SHELL:-Ofc=mid -Xptxas -suppress-stack-size-warning>")
    endif()
endfunction()

# Whether CMake's flags for CUDA give ptxas a level (-Xptxas -O3): it refuses -Ofc=min beside one, which dynpar::core asks for.
function(_dynpar_ptxas_has_a_level out)
    set(${out} FALSE PARENT_SCOPE)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
    if("${CMAKE_CUDA_FLAGS} ${CMAKE_CUDA_FLAGS_${type}}" MATCHES "(-Xptxas|--ptxas-options)[= ]*[^ ]*-(O[0-9]|-?opt-level)")
        set(${out} TRUE PARENT_SCOPE)
    endif()
endfunction()
