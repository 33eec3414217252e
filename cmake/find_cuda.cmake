# Decides whether dynpar is built with CUDA, and for which architectures. Sets DYNPAR_WITH_CUDA.
#
# Included before CUDA is enabled: CMake takes the architectures from CMAKE_CUDA_ARCHITECTURES at that moment.
include(CheckLanguage)

set(DYNPAR_CUDA AUTO CACHE STRING "Build with CUDA: AUTO (where there is nvcc; in another project, if that has enabled CUDA), ON or OFF")
set_property(CACHE DYNPAR_CUDA PROPERTY STRINGS AUTO ON OFF)
option(DYNPAR_CDP1 "Use CUDA's first device runtime, in which a kernel can wait for its children (compute capability 7.5 to 8.9)" OFF)

if(NOT DYNPAR_CUDA MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "dynpar: DYNPAR_CUDA is '${DYNPAR_CUDA}'; it must be AUTO, ON or OFF.")
endif()
if(DYNPAR_CDP1 AND DYNPAR_CUDA STREQUAL "OFF")
    message(FATAL_ERROR "dynpar: DYNPAR_CDP1 chooses between CUDA's device runtimes; it cannot be used with DYNPAR_CUDA=OFF.")
endif()

get_property(dynpar_languages GLOBAL PROPERTY ENABLED_LANGUAGES)

set(DYNPAR_WITH_CUDA OFF)
if(NOT DYNPAR_WANTS_dynpar)
    if(DYNPAR_CUDA STREQUAL "ON" OR DYNPAR_CDP1)
        message(FATAL_ERROR "dynpar: CUDA is asked for, and DYNPAR_COMPONENTS is '${DYNPAR_COMPONENTS}', without dynpar: name it too.")
    endif()
    message(STATUS "dynpar: no dynpar::dynpar, which DYNPAR_COMPONENTS does not name")
elseif(DYNPAR_SANITIZE AND NOT DYNPAR_CUDA STREQUAL "OFF")
    if(DYNPAR_CUDA STREQUAL "ON")
        message(FATAL_ERROR "dynpar: DYNPAR_SANITIZE instruments host code only; use it with DYNPAR_CUDA=OFF. "
                            "On a GPU use compute-sanitizer.")
    endif()
    message(STATUS "dynpar: host engine only, because DYNPAR_SANITIZE instruments host code only")
elseif(DYNPAR_CUDA STREQUAL "OFF")
    message(STATUS "dynpar: host engine only, because DYNPAR_CUDA=OFF")
elseif(DYNPAR_CUDA STREQUAL "AUTO" AND NOT PROJECT_IS_TOP_LEVEL AND NOT "CUDA" IN_LIST dynpar_languages AND NOT DYNPAR_CDP1)
    message(STATUS "dynpar: host engine only, because the project that adds dynpar has not enabled CUDA "
                   "(enable_language(CUDA) before add_subdirectory, or DYNPAR_CUDA=ON)")
else()
    if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
        # check_language looks on the PATH alone; the toolkit's installer puts nvcc elsewhere.
        find_program(DYNPAR_NVCC nvcc HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda /opt/cuda PATH_SUFFIXES bin)
        mark_as_advanced(DYNPAR_NVCC)
        if(DYNPAR_NVCC)
            set(ENV{CUDACXX} ${DYNPAR_NVCC})
        endif()
    endif()
    check_language(CUDA)
    if(CMAKE_CUDA_COMPILER)
        set(DYNPAR_WITH_CUDA ON)
    elseif(DYNPAR_CUDA STREQUAL "ON" OR DYNPAR_CDP1)
        message(FATAL_ERROR "dynpar: CUDA is asked for and no working nvcc was found. Install the CUDA Toolkit 12 or newer, name nvcc "
                            "with -DCMAKE_CUDA_COMPILER=/path/to/nvcc, or build the host engine alone with -DDYNPAR_CUDA=OFF.")
    else()
        unset(CMAKE_CUDA_COMPILER CACHE)  # so that the next configure run looks again
        message(STATUS "dynpar: host engine only, because no working nvcc was found "
                       "(looked at CMAKE_CUDA_COMPILER, CUDACXX, CUDA_HOME, PATH and /usr/local/cuda/bin)")
    endif()
endif()

if(NOT DYNPAR_WITH_CUDA)
    return()
endif()

# ---- Architectures: the user's choice, else this machine's GPU, else every one that is in wide use and PTX for those to come.
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES AND NOT DEFINED ENV{CUDAARCHS})
    file(GLOB dynpar_gpus /dev/nvidia[0-9]*)
    if(NOT dynpar_gpus)
        execute_process(COMMAND nvidia-smi -L OUTPUT_VARIABLE dynpar_gpus ERROR_QUIET)
    endif()
    if(DYNPAR_CDP1)
        set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real)
    elseif(NOT DYNPAR_PACKAGES AND dynpar_gpus MATCHES "nvidia[0-9]|GPU [0-9]")  # packages are for other machines
        set(CMAKE_CUDA_ARCHITECTURES native)
    else()
        set(CMAKE_CUDA_ARCHITECTURES 75-real 80-real 90-real 90-virtual)
    endif()
endif()
set(DYNPAR_ASKED_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES} $ENV{CUDAARCHS})
if(DYNPAR_CDP1)
    foreach(architecture IN LISTS DYNPAR_ASKED_ARCHITECTURES)
        string(REGEX MATCH "^[0-9]+" number "${architecture}")
        if(NOT number OR NOT number LESS 90)
            message(FATAL_ERROR "dynpar: DYNPAR_CDP1 and CUDA architecture '${architecture}' do not go together: CUDA's first device "
                                "runtime ends at compute capability 8.9. Give architectures below 90, for instance "
                                "-DCMAKE_CUDA_ARCHITECTURES=80, or leave DYNPAR_CDP1 off.")
        endif()
    endforeach()
endif()
