# For projects that use dynpar: what a target needs so that its own kernels may launch kernels.

# dynpar_enable_device_launch(<target>)
#
# Links the target with dynpar::dynpar and turns on what launching from device code needs: relocatable device code, and the
# device link that joins it with dynpar's and with the device runtime (cudadevrt), in executables and shared libraries.
# Call it for everything that has kernels that launch, and for every static library that links dynpar::dynpar. Executables that
# only call dynpar from the host need no more than target_link_libraries(<target> PRIVATE dynpar::dynpar).
function(dynpar_enable_device_launch target)
    if(NOT TARGET ${target})
        message(FATAL_ERROR "dynpar_enable_device_launch: there is no target '${target}'. Call it after add_executable or add_library.")
    endif()
    if(NOT TARGET dynpar::dynpar)
        message(FATAL_ERROR "dynpar_enable_device_launch(${target}): this dynpar was built without CUDA, so device code cannot launch "
                            "kernels. Build dynpar where nvcc is, or link dynpar::core alone and use the host engine.")
    endif()
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
        target_link_libraries(${target} INTERFACE dynpar::dynpar)
        return()
    endif()
    set_target_properties(${target} PROPERTIES CUDA_SEPARABLE_COMPILATION ON)
    if(type STREQUAL "STATIC_LIBRARY")
        # A program must load exactly one result of the device link: with two it crashes at its start. The executable makes one,
        # and CMake would make another for a static library of C++ files that links dynpar::dynpar.
        set_target_properties(${target} PROPERTIES CUDA_RESOLVE_DEVICE_SYMBOLS OFF)
    endif()
    target_link_libraries(${target} PRIVATE dynpar::dynpar)
endfunction()
