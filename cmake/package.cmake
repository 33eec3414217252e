# Installs dynpar as a CMake package. What uses it is in tests/install.
include(CMakePackageConfigHelpers)

option(DYNPAR_INSTALL "Make install rules" ${PROJECT_IS_TOP_LEVEL})
if(NOT DYNPAR_INSTALL)
    return()
endif()
if("Boost" IN_LIST DYNPAR_FETCHED_DEPENDENCIES)
    # The fetched Boost has no install rules here, and a package that names a library which is not there is of no use.
    message(STATUS "dynpar: no install rules, because Boost.Context was fetched; to install dynpar, install Boost.Context first "
                   "(Debian: libboost-context-dev)")
    return()
endif()

set(DYNPAR_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/dynpar)
set(DYNPAR_PACKAGE_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES})
if(CMAKE_CUDA_ARCHITECTURES STREQUAL "native" AND CMAKE_CUDA_ARCHITECTURES_NATIVE)
    set(DYNPAR_PACKAGE_ARCHITECTURES ${CMAKE_CUDA_ARCHITECTURES_NATIVE})  # the user's machine may have another GPU
endif()

install(DIRECTORY include/dynpar DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.cuh")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(TARGETS dynpar_core dynpar_config dynpar_trace EXPORT dynpar)
install(EXPORT dynpar FILE dynparTargets.cmake NAMESPACE dynpar:: DESTINATION ${DYNPAR_PACKAGE_DIR})
if(DYNPAR_WITH_CUDA)
    # In a file of its own: a program that uses the host engine alone does not need nvcc to use this installation.
    install(TARGETS dynpar_dynpar EXPORT dynpar_cuda)
    install(EXPORT dynpar_cuda FILE dynparCudaTargets.cmake NAMESPACE dynpar:: DESTINATION ${DYNPAR_PACKAGE_DIR})
endif()

configure_package_config_file(cmake/dynparConfig.cmake.in ${PROJECT_BINARY_DIR}/dynparConfig.cmake
    INSTALL_DESTINATION ${DYNPAR_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dynparConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/dynparConfig.cmake
    ${PROJECT_BINARY_DIR}/dynparConfigVersion.cmake
    cmake/dynpar_enable_device_launch.cmake
    DESTINATION ${DYNPAR_PACKAGE_DIR})
