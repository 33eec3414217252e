# For projects that use dynpar: what a target needs so that its own kernels may launch kernels.

# dynpar_enable_device_launch(<target> [MAX_REGISTERS <n>])
#
# Links the target with dynpar::dynpar and turns on what launching from device code needs: relocatable device code, and the
# device link that joins it with dynpar's and with the device runtime (cudadevrt), in executables and shared libraries.
# Call it for everything that has kernels that launch, and for every static library that links dynpar::dynpar. Executables that
# only call dynpar from the host need no more than target_link_libraries(<target> PRIVATE dynpar::dynpar).
#
# Kernels of the target get 128 registers at most (nvcc's -maxrregcount): with relocatable device code ptxas refuses a kernel of the
# queue engine that takes more ("max regcount of 128 calls function ... with regcount of ..."), and a plain tree search does.
# MAX_REGISTERS is another number, or 0 for none, which kernels are faster with that take more and never run on the queue engine.
# None is set where the target's own options or CMAKE_CUDA_FLAGS have -maxrregcount, or DYNPAR_QUEUE_MOST_THREADS, which moves the bound.
#
# Warns if the target is built for a CUDA architecture that dynpar::dynpar has no code for, or if none was chosen.
function(dynpar_enable_device_launch target)
    cmake_parse_arguments(PARSE_ARGV 1 launch "" "MAX_REGISTERS" "")
    if(launch_UNPARSED_ARGUMENTS OR launch_KEYWORDS_MISSING_VALUES OR
       (DEFINED launch_MAX_REGISTERS AND NOT launch_MAX_REGISTERS MATCHES "^(0|[1-9][0-9]*)$"))
        message(FATAL_ERROR "dynpar_enable_device_launch(${target}): after the target may stand MAX_REGISTERS <number>, 0 for no bound, "
                            "and no more.")
    endif()
    if(NOT TARGET ${target})
        message(FATAL_ERROR "dynpar_enable_device_launch: there is no target '${target}'. Call it after add_executable or add_library.")
    endif()
    if(NOT TARGET dynpar::dynpar)
        message(FATAL_ERROR "dynpar_enable_device_launch(${target}): this dynpar was built without CUDA, so device code cannot launch "
                            "kernels. Build dynpar where nvcc is, or link dynpar::core alone and use the host engine.")
    endif()
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
        if(DEFINED launch_MAX_REGISTERS)
            message(FATAL_ERROR "dynpar_enable_device_launch(${target}): MAX_REGISTERS is for targets that compile kernels, and ${target} "
                                "is an INTERFACE library. Give it where the targets are that link it.")
        endif()
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
    if(NOT DEFINED launch_MAX_REGISTERS)
        set(launch_MAX_REGISTERS default)
    endif()
    # At the end of the directory: the target's options may still be set after this call.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL _dynpar_bound_registers [[${target}]] ${launch_MAX_REGISTERS})")
    # And its architectures.
    cmake_language(EVAL CODE "cmake_language(DEFER CALL _dynpar_check_architectures [[${target}]])")
endfunction()

# nvcc's -maxrregcount for a target: `registers`, 0 for none, or `default`.
function(_dynpar_bound_registers target registers)
    if(registers STREQUAL "default")
        get_target_property(options ${target} COMPILE_OPTIONS)
        get_target_property(definitions ${target} COMPILE_DEFINITIONS)
        if("${options} ${definitions} ${CMAKE_CUDA_FLAGS}" MATCHES "maxrregcount|DYNPAR_QUEUE_MOST_THREADS")
            return()
        endif()
        set(registers 128)
    endif()
    if(registers)
        target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CUDA,NVIDIA>:-maxrregcount=${registers}>)
    endif()
endfunction()

# Whether these architectures are the default of CMake, which asks nvcc for it: nobody has chosen them. CMake leaves no other sign
# of it than the text with which it describes its cache entry.
function(_dynpar_is_default_of_cmake out architectures)
    set(${out} FALSE PARENT_SCOPE)
    get_property(description CACHE CMAKE_CUDA_ARCHITECTURES PROPERTY HELPSTRING)
    if(description STREQUAL "CUDA architectures" AND NOT DEFINED ENV{CUDAARCHS} AND
       architectures STREQUAL "$CACHE{CMAKE_CUDA_ARCHITECTURES}")
        set(${out} TRUE PARENT_SCOPE)
    endif()
endfunction()

# One warning for a project: `who` is built for architectures that nobody has chosen.
function(_dynpar_warn_of_default_architectures who architectures)
    get_property(has_warned GLOBAL PROPERTY _dynpar_has_warned_of_default_architectures)
    if(NOT has_warned)
        set_property(GLOBAL PROPERTY _dynpar_has_warned_of_default_architectures TRUE)
        list(JOIN architectures ", " architectures)
        message(WARNING "dynpar: ${who} is built for compute capability ${architectures}, CMake's default: on a newer GPU its first "
                        "start compiles all kernels, which takes seconds. Set CMAKE_CUDA_ARCHITECTURES before project(): native, or a "
                        "number (90 for an H200).")
    endif()
endfunction()

# The numbers of a list of architectures: native;80-real;90-virtual becomes 75;80;90. Empty for `all` and `all-major`.
function(_dynpar_architecture_numbers out architectures)
    string(REPLACE "native" "${CMAKE_CUDA_ARCHITECTURES_NATIVE}" architectures "${architectures}")
    list(TRANSFORM architectures REPLACE "-(real|virtual)$" "")
    list(FILTER architectures INCLUDE REGEX "^[0-9]")
    list(REMOVE_DUPLICATES architectures)
    set(${out} ${architectures} PARENT_SCOPE)
endfunction()

# One warning for a project and each architecture: `who` is built for it, and dynpar::dynpar is not.
function(_dynpar_warn_of_missing_architectures who architectures)
    get_target_property(of_dynpar dynpar::dynpar CUDA_ARCHITECTURES)
    _dynpar_architecture_numbers(missing "${architectures}")
    _dynpar_architecture_numbers(of_dynpar "${of_dynpar}")
    if(NOT missing OR NOT of_dynpar)
        return()
    endif()
    get_property(told GLOBAL PROPERTY _dynpar_has_warned_of_architectures)
    list(REMOVE_ITEM missing ${of_dynpar} ${told})
    if(missing)
        set_property(GLOBAL APPEND PROPERTY _dynpar_has_warned_of_architectures ${missing})
        list(JOIN missing ", " missing)
        list(JOIN of_dynpar ", " there)
        message(WARNING "dynpar: ${who} is built for compute capability ${missing}, and dynpar::dynpar for ${there}: the device link "
                        "needs both for the same. Build one of them with other CMAKE_CUDA_ARCHITECTURES.")
    endif()
endfunction()

function(_dynpar_check_architectures target)
    get_target_property(architectures ${target} CUDA_ARCHITECTURES)
    if(NOT architectures OR NOT CMAKE_CUDA_COMPILER_LOADED)
        return()
    endif()
    _dynpar_is_default_of_cmake(is_default "${architectures}")
    if(is_default)
        _dynpar_warn_of_default_architectures(${target} "${architectures}")
    endif()
    _dynpar_warn_of_missing_architectures(${target} "${architectures}")
endfunction()
