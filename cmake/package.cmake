# Installs dynpar as a CMake package, and for pkg-config. What uses it is in tests/install.
#
# In components, which are Debian packages too (debian_packages.cmake): dev needs no CUDA; cuda is what a build with CUDA has
# beyond it, in files of its own; tools is dynpar-trace; licence is for an installation without a package manager.
include(CMakePackageConfigHelpers)

set(DYNPAR_LINKED_DEPENDENCIES Boost zlib)
set(DYNPAR_LINKED_NAMES Boost.Context zlib)
set(DYNPAR_LINKED_PACKAGES "libboost-context-dev (>= 1.74)" zlib1g-dev)

set(DYNPAR_INSTALLABLE OFF)
option(DYNPAR_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT DYNPAR_INSTALL)
    return()
endif()
# What is fetched has no install rules here, and a package that names a library which is not there is of no use.
foreach(dependency name package IN ZIP_LISTS DYNPAR_LINKED_DEPENDENCIES DYNPAR_LINKED_NAMES DYNPAR_LINKED_PACKAGES)
    if(dependency IN_LIST DYNPAR_FETCHED_DEPENDENCIES)
        message(STATUS "dynpar: no install rules, because ${name} was fetched; to install dynpar, install ${name} first "
                       "(Debian: ${package})")
        return()
    endif()
endforeach()
set(DYNPAR_INSTALLABLE ON)

set(DYNPAR_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/dynpar)
set(DYNPAR_PACKAGE_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
if(CMAKE_CUDA_ARCHITECTURES STREQUAL "native" AND CMAKE_CUDA_ARCHITECTURES_NATIVE)
    set(DYNPAR_PACKAGE_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES_NATIVE})  # the user's machine may have another GPU
endif()

install(DIRECTORY include/dynpar DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)
install(TARGETS dynpar_core dynpar_config EXPORT dynpar ARCHIVE COMPONENT dev)
install(EXPORT dynpar FILE dynparTargets.cmake NAMESPACE dynpar:: DESTINATION ${DYNPAR_PACKAGE_DIR} COMPONENT dev)
# In a file of its own: a program that writes no traces needs no zlib to be built with this installation.
install(TARGETS dynpar_trace EXPORT dynpar_trace ARCHIVE COMPONENT dev)
install(EXPORT dynpar_trace FILE dynparTraceTargets.cmake NAMESPACE dynpar:: DESTINATION ${DYNPAR_PACKAGE_DIR} COMPONENT dev)
if(DYNPAR_WITH_CUDA)
    # In a file of its own: a program that uses the host engine alone does not need nvcc to use this installation.
    install(TARGETS dynpar_dynpar EXPORT dynpar_cuda ARCHIVE COMPONENT cuda)
    install(EXPORT dynpar_cuda FILE dynparCudaTargets.cmake NAMESPACE dynpar:: DESTINATION ${DYNPAR_PACKAGE_DIR} COMPONENT cuda)
    configure_file(cmake/dynparCuda.cmake.in ${PROJECT_BINARY_DIR}/dynparCuda.cmake @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/dynparCuda.cmake DESTINATION ${DYNPAR_PACKAGE_DIR} COMPONENT cuda)
endif()

configure_package_config_file(cmake/dynparConfig.cmake.in ${PROJECT_BINARY_DIR}/dynparConfig.cmake
    INSTALL_DESTINATION ${DYNPAR_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dynparConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/dynparConfig.cmake
    ${PROJECT_BINARY_DIR}/dynparConfigVersion.cmake
    cmake/dynpar_compile_fast.cmake
    cmake/dynpar_enable_device_launch.cmake
    DESTINATION ${DYNPAR_PACKAGE_DIR} COMPONENT dev)

# ---- pkg-config. The paths are relative to the file: the package can be moved, and names no folder of the machine that built it.
function(dynpar_install_pkg_config pc_component pc_name pc_description)
    cmake_parse_arguments(PARSE_ARGV 3 pc "" "REQUIRES;CFLAGS;LIBS" "")
    set(pc_prefix ${CMAKE_INSTALL_PREFIX})
    if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
        cmake_path(SET folder NORMALIZE "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
        string(REGEX REPLACE "[^/]+" ".." up "${folder}")
        set(pc_prefix "\${pcfiledir}/${up}")
    endif()
    foreach(folder includedir libdir)
        string(TOUPPER CMAKE_INSTALL_${folder} given)
        set(pc_${folder} "\${prefix}/${${given}}")
        if(IS_ABSOLUTE "${${given}}")
            set(pc_${folder} "${${given}}")
        endif()
    endforeach()
    configure_file(${PROJECT_SOURCE_DIR}/cmake/pkg_config.pc.in ${PROJECT_BINARY_DIR}/pkgconfig/${pc_name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/${pc_name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT ${pc_component})
endfunction()

dynpar_install_pkg_config(dev dynpar-core "Recursion and nested parallelism on GPUs and CPUs: headers and the host engine" LIBS "-lboost_context")
# -lpthread and not -pthread, which nvcc does not know.
dynpar_install_pkg_config(dev dynpar-config "Configuration and log of dynpar"
    REQUIRES dynpar-core LIBS "-L\${libdir} -ldynpar_config -lpthread")
dynpar_install_pkg_config(dev dynpar-trace "Traces of dynpar: written, read, compared"
    REQUIRES dynpar-core LIBS "-L\${libdir} -ldynpar_trace -lz")
if(DYNPAR_WITH_CUDA)
    get_target_property(dynpar_definitions dynpar_dynpar INTERFACE_COMPILE_DEFINITIONS)
    list(TRANSFORM dynpar_definitions PREPEND " -D")
    list(JOIN dynpar_definitions "" dynpar_definitions)
    # Flags for nvcc, which then also makes the device link.
    dynpar_install_pkg_config(cuda dynpar "The device runtime engine and the launch helpers of dynpar, for programs that nvcc compiles and links"
        REQUIRES "dynpar-core dynpar-config" CFLAGS " -rdc=true${dynpar_definitions}" LIBS "-L\${libdir} -ldynpar -lcudadevrt -ldl")
endif()
