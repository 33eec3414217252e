# Debian packages, made by cpack from the install components of package.cmake: libdynpar-dev, dynpar-tools, and with
# CUDA libdynpar-cuda-dev. Only for the preset `packages`, which sets the folders and flags that Debian has; how
# packages are made and what depends on what: docs/building.md. What is in them, and that they work, is tested in
# tests/packages.
option(DYNPAR_PACKAGES "Make Debian packages with cpack: see the preset packages" OFF)
if(NOT DYNPAR_PACKAGES)
    return()
endif()
set(DYNPAR_PACKAGES_MAINTAINER "The dynpar maintainers <maintainers@dynpar.example>" CACHE STRING
    "Who answers for the Debian packages: a name and an address that takes mail")
set(DYNPAR_PACKAGES_HOMEPAGE "" CACHE STRING "The project's page on the web, for the Debian packages; none if empty")
# Lower than -1, with which Debian itself would begin: its own package, if there is one some day, replaces this one.
set(DYNPAR_PACKAGES_REVISION 0dynpar1 CACHE STRING "Revision of the Debian packages of one version of dynpar")

find_program(DYNPAR_DPKG_SHLIBDEPS dpkg-shlibdeps)
find_program(DYNPAR_DPKG_DEB dpkg-deb)
mark_as_advanced(DYNPAR_DPKG_SHLIBDEPS DYNPAR_DPKG_DEB)
set(dynpar_why_no_packages "")
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
    set(dynpar_why_no_packages "they install to /usr, and this build to ${CMAKE_INSTALL_PREFIX}; use cmake --preset packages")
elseif(NOT PROJECT_IS_TOP_LEVEL)
    set(dynpar_why_no_packages "dynpar is part of another project; configure dynpar itself with cmake --preset packages")
elseif(NOT DYNPAR_BUILD_TOOLS OR NOT DYNPAR_INSTALL)
    set(dynpar_why_no_packages "DYNPAR_INSTALL and DYNPAR_BUILD_TOOLS must be on; use cmake --preset packages")
elseif(NOT DYNPAR_INSTALLABLE)
    list(JOIN DYNPAR_LINKED_PACKAGES ", " dynpar_why_no_packages)
    set(dynpar_why_no_packages "a library was fetched that they depend on; install ${dynpar_why_no_packages}")
elseif(NOT DYNPAR_DPKG_SHLIBDEPS OR NOT DYNPAR_DPKG_DEB)
    set(dynpar_why_no_packages "dpkg-shlibdeps or dpkg-deb is missing; on Debian install dpkg-dev")
endif()
if(dynpar_why_no_packages)
    message(FATAL_ERROR "dynpar: no Debian packages: ${dynpar_why_no_packages}.")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_NAME dynpar)
set(CPACK_PACKAGE_VENDOR dynpar)
set(CPACK_PACKAGE_CONTACT "${DYNPAR_PACKAGES_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "recursion and nested parallelism for GPUs and CPUs")
set(CPACK_OUTPUT_FILE_PREFIX packages)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_STRIP_FILES OFF)  # it would take the symbols from static libraries too
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL dev tools)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${DYNPAR_PACKAGES_REVISION})
set(CPACK_DEBIAN_PACKAGE_HOMEPAGE "${DYNPAR_PACKAGES_HOMEPAGE}")
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SOURCE dynpar)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(dynpar_deb_version ${PROJECT_VERSION}-${DYNPAR_PACKAGES_REVISION})
set(dynpar_deb_about
"A kernel of dynpar is a C++ function object that launches other kernels: on
a GPU in one persistent grid or on CUDA's device runtime, on a CPU as
ordinary code. Every launch runs exactly once or is reported.
.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libdynpar-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
# What the CMake and pkg-config files look for. spdlog, fmt, toml++ and nlohmann-json are inside the libraries.
list(JOIN DYNPAR_LINKED_PACKAGES ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "libdynpar-cuda-dev (= ${dynpar_deb_version}), dynpar-tools, cmake (>= 3.25), pkg-config")
# dpkg does not look at what depends on a package that it upgrades; at this it does.
set(CPACK_DEBIAN_DEV_PACKAGE_BREAKS "libdynpar-cuda-dev (<< ${dynpar_deb_version})")
set(CPACK_DYNPAR_DEV_SYNOPSIS "${CPACK_PACKAGE_DESCRIPTION_SUMMARY} - headers")
set(CPACK_DYNPAR_DEV_MULTI_ARCH same)
set(CPACK_DEBIAN_DEV_DESCRIPTION "${dynpar_deb_about}
This package has the headers, the static libraries for configuration and
traces, and files for CMake and pkg-config. Programs that run on a CPU need
no CUDA; those that use the queue engine on a GPU need nvcc and no more.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME dynpar-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DYNPAR_TOOLS_SYNOPSIS "${CPACK_PACKAGE_DESCRIPTION_SUMMARY} - tools")
set(CPACK_DYNPAR_TOOLS_MULTI_ARCH foreign)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "${dynpar_deb_about}
This package has dynpar-trace, which prints, converts and compares the
traces that programs with dynpar save.")

if(DYNPAR_WITH_CUDA)
    list(APPEND CPACK_COMPONENTS_ALL cuda)
    string(REGEX MATCH "^([0-9]+)[.]([0-9]+)" dynpar_cuda_version "${CMAKE_CUDA_COMPILER_VERSION}")
    set(CPACK_DEBIAN_CUDA_PACKAGE_NAME libdynpar-cuda-dev)
    # It cannot be used without software that Debian does not have in main.
    set(CPACK_DEBIAN_CUDA_PACKAGE_SECTION contrib/libdevel)
    set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "libdynpar-dev (= ${dynpar_deb_version})")
    # Not Depends or Recommends: the toolkit often comes without any package, and no package stands for all its versions.
    set(CPACK_DEBIAN_CUDA_PACKAGE_SUGGESTS
        "cuda-toolkit-${CMAKE_MATCH_1}-${CMAKE_MATCH_2} | nvidia-cuda-toolkit (>= ${dynpar_cuda_version})")
    set(CPACK_DYNPAR_CUDA_SYNOPSIS "${CPACK_PACKAGE_DESCRIPTION_SUMMARY} - CUDA library")
    set(CPACK_DYNPAR_CUDA_MULTI_ARCH same)

    # nvcc takes random numbers into the names of what is local to a file: with a seed, the same ones in every build.
    include(CheckCompilerFlag)
    check_compiler_flag(CUDA -frandom-seed=1 DYNPAR_NVCC_TAKES_SEED)
    if(DYNPAR_NVCC_TAKES_SEED)
        get_target_property(dynpar_sources dynpar_dynpar SOURCES)
        foreach(source IN LISTS dynpar_sources)
            set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS -frandom-seed=dynpar/${source})
        endforeach()
    endif()

    list(JOIN DYNPAR_PACKAGE_ARCHITECTURES ", " dynpar_deb_architectures)
    set(CPACK_DEBIAN_CUDA_DESCRIPTION "${dynpar_deb_about}
This package has the engine on CUDA's device runtime and the launch helpers
for plain kernels: a static library with relocatable device code, for the
CUDA architectures ${dynpar_deb_architectures}.
It is linked by nvcc of the CUDA Toolkit ${dynpar_cuda_version} or newer, which may come from
a package or from NVIDIA's installer.")
endif()

set(CPACK_DYNPAR_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_DYNPAR_STRIP ${CMAKE_STRIP})
set(CPACK_DYNPAR_DPKG_DEB ${DYNPAR_DPKG_DEB})
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/before_package.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/after_package.cmake)
include(CPack)
