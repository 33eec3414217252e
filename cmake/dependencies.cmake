# The libraries dynpar builds on: the system's own where there is one, else the pinned release from its public repository.
#
# Two of them are used header-only on purpose: distributions ship spdlog (with fmt) and toml++ as shared libraries, and a
# program built with dynpar must run on a machine that has neither.
include(FetchContent)

set(DYNPAR_FETCHED_DEPENDENCIES "")

# Says where a dependency came from. FetchContent leaves <name>_SOURCE_DIR empty where it has found the system's.
function(dynpar_report_dependency name fetched)
    if(fetched)
        message(STATUS "dynpar: ${name}: not found on this system, fetched")
    else()
        message(STATUS "dynpar: ${name}: found on this system")
    endif()
endfunction()

# dynpar_fetch(<dependency> <name> <Debian package> <variable>): makes what FetchContent_Declare has described
# available, and stops where it cannot be: package managers forbid to fetch (FETCHCONTENT_FULLY_DISCONNECTED), and
# FetchContent then takes for granted that a folder is there already. Without this the first compiler error would say so.
macro(dynpar_fetch dependency name package variable)
    FetchContent_MakeAvailable(${dependency})
    string(TOLOWER ${dependency} dynpar_fetched)
    if(${dynpar_fetched}_SOURCE_DIR AND NOT EXISTS "${${dynpar_fetched}_SOURCE_DIR}")
        message(FATAL_ERROR "dynpar: ${name} was not found, and FETCHCONTENT_FULLY_DISCONNECTED forbids to fetch it. Install it "
                            "(Debian: ${package}), name where it is (${variable}), or set FETCHCONTENT_FULLY_DISCONNECTED=OFF.")
    endif()
endmacro()

# ---- Boost.Context: the host engine's fibers. Static, so that programs do not need Boost where they run.
if(NOT TARGET Boost::context)
    set(Boost_USE_STATIC_LIBS ON)
    # By its own package file, which Boost has since 1.70: CMake's module FindBoost is being removed (policy CMP0167).
    find_package(Boost 1.74 QUIET CONFIG COMPONENTS context)
endif()
if(TARGET Boost::context)
    dynpar_report_dependency("Boost.Context" OFF)
else()
    set(BOOST_INCLUDE_LIBRARIES context)
    set(BOOST_ENABLE_CMAKE ON)
    # Boost is a repository of repositories: only Context and what it includes, all of it together is half a gigabyte.
    FetchContent_Declare(Boost
        GIT_REPOSITORY https://github.com/boostorg/boost.git
        GIT_TAG boost-1.84.0
        GIT_SHALLOW TRUE
        GIT_SUBMODULES tools/cmake libs/assert libs/config libs/context libs/core libs/headers libs/integer libs/move
                       libs/mp11 libs/pool libs/predef libs/smart_ptr libs/static_assert libs/throw_exception
                       libs/type_traits libs/winapi
        SYSTEM)
    dynpar_fetch(Boost "Boost.Context" libboost-context-dev CMAKE_PREFIX_PATH)
    list(APPEND DYNPAR_FETCHED_DEPENDENCIES Boost)
    dynpar_report_dependency("Boost.Context" ON)
endif()

# ---- spdlog: the log, in src/*.cpp only.
if(DYNPAR_WANTS_config)
    add_library(dynpar_spdlog INTERFACE)
    if(NOT TARGET spdlog::spdlog_header_only)
        find_package(spdlog 1.10 QUIET CONFIG)
    endif()
    if(TARGET spdlog::spdlog_header_only)
        dynpar_report_dependency("spdlog" OFF)
        target_include_directories(dynpar_spdlog SYSTEM INTERFACE
            $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)
        target_compile_definitions(dynpar_spdlog INTERFACE
            $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_COMPILE_DEFINITIONS>)
        get_target_property(dynpar_spdlog_definitions spdlog::spdlog_header_only INTERFACE_COMPILE_DEFINITIONS)
        if("${dynpar_spdlog_definitions}" MATCHES "SPDLOG_FMT_EXTERNAL")  # perhaps in a generator expression
            # This spdlog uses the system's fmt, and fmt::fmt is a shared library there.
            target_link_libraries(dynpar_spdlog INTERFACE fmt::fmt-header-only)
        endif()
    else()
        # SOURCE_SUBDIR names a folder without a CMakeLists.txt: only the headers are wanted, and not the library built.
        FetchContent_Declare(spdlog
            GIT_REPOSITORY https://github.com/gabime/spdlog.git GIT_TAG v1.12.0 GIT_SHALLOW TRUE SOURCE_SUBDIR include)
        dynpar_fetch(spdlog "spdlog" libspdlog-dev CMAKE_PREFIX_PATH)
        target_include_directories(dynpar_spdlog SYSTEM INTERFACE ${spdlog_SOURCE_DIR}/include)
        dynpar_report_dependency("spdlog" ON)
    endif()
    find_package(Threads REQUIRED)
    target_link_libraries(dynpar_spdlog INTERFACE Threads::Threads)
endif()

# ---- toml++: the configuration file, in src/*.cpp only.
if(DYNPAR_WANTS_config)
    find_path(DYNPAR_TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h DOC "Folder that holds toml++/toml.h")
    mark_as_advanced(DYNPAR_TOMLPLUSPLUS_INCLUDE_DIR)
    add_library(dynpar_tomlplusplus INTERFACE)
    if(DYNPAR_TOMLPLUSPLUS_INCLUDE_DIR)
        target_include_directories(dynpar_tomlplusplus SYSTEM INTERFACE ${DYNPAR_TOMLPLUSPLUS_INCLUDE_DIR})
        dynpar_report_dependency("toml++" OFF)
    else()
        FetchContent_Declare(tomlplusplus
            GIT_REPOSITORY https://github.com/marzer/tomlplusplus.git GIT_TAG v3.4.0 GIT_SHALLOW TRUE
            SOURCE_SUBDIR include)
        dynpar_fetch(tomlplusplus "toml++" libtomlplusplus-dev DYNPAR_TOMLPLUSPLUS_INCLUDE_DIR)
        target_include_directories(dynpar_tomlplusplus SYSTEM INTERFACE ${tomlplusplus_SOURCE_DIR}/include)
        dynpar_report_dependency("toml++" ON)
    endif()
    target_compile_definitions(dynpar_tomlplusplus INTERFACE TOML_HEADER_ONLY=1)
endif()

# ---- CLI11: command lines of samples, benchmarks and tools.
if(DYNPAR_BUILD_SAMPLES OR DYNPAR_BUILD_BENCHMARKS OR DYNPAR_BUILD_TOOLS)
    FetchContent_Declare(CLI11
        GIT_REPOSITORY https://github.com/CLIUtils/CLI11.git GIT_TAG v2.3.2 GIT_SHALLOW TRUE SYSTEM
        FIND_PACKAGE_ARGS 2.1 CONFIG)
    dynpar_fetch(CLI11 "CLI11" libcli11-dev CMAKE_PREFIX_PATH)
    dynpar_report_dependency("CLI11" "${cli11_SOURCE_DIR}")
endif()

# ---- libpng: pictures of samples. Optional.
if(DYNPAR_BUILD_SAMPLES)
    find_package(PNG 1.6 QUIET)
    if(PNG_FOUND)
        dynpar_report_dependency("libpng" OFF)
    else()
        message(STATUS "dynpar: libpng: not found (Debian: libpng-dev): samples write no pictures, all else works")
    endif()
endif()

# ---- nlohmann_json: traces, in src/*.cpp only; and what samples and benchmarks write for other programs.
if(DYNPAR_WANTS_trace)
    FetchContent_Declare(nlohmann_json
        GIT_REPOSITORY https://github.com/nlohmann/json.git GIT_TAG v3.11.3 GIT_SHALLOW TRUE SYSTEM
        FIND_PACKAGE_ARGS 3.9 CONFIG)
    dynpar_fetch(nlohmann_json "nlohmann_json" nlohmann-json3-dev CMAKE_PREFIX_PATH)
    dynpar_report_dependency("nlohmann_json" "${nlohmann_json_SOURCE_DIR}")
endif()

# ---- zlib: packed traces. The system's is a shared library, which every Linux has.
if(DYNPAR_WANTS_trace)
    find_package(ZLIB 1.2 QUIET)
    if(ZLIB_FOUND)
        dynpar_report_dependency("zlib" OFF)
    else()
        # Built here, without its own CMake files: these also build a shared library, programs and tests.
        FetchContent_Declare(zlib
            GIT_REPOSITORY https://github.com/madler/zlib.git GIT_TAG v1.3.1 GIT_SHALLOW TRUE SOURCE_SUBDIR none)
        dynpar_fetch(zlib "zlib" zlib1g-dev CMAKE_PREFIX_PATH)
        enable_language(C)
        set(dynpar_zlib_files adler32 compress crc32 deflate inffast inflate inftrees trees uncompr zutil)
        list(TRANSFORM dynpar_zlib_files PREPEND ${zlib_SOURCE_DIR}/)
        list(TRANSFORM dynpar_zlib_files APPEND .c)
        add_library(dynpar_zlib STATIC EXCLUDE_FROM_ALL ${dynpar_zlib_files})
        set_target_properties(dynpar_zlib PROPERTIES POSITION_INDEPENDENT_CODE ON)
        target_include_directories(dynpar_zlib SYSTEM PUBLIC ${zlib_SOURCE_DIR})
        add_library(ZLIB::ZLIB ALIAS dynpar_zlib)
        list(APPEND DYNPAR_FETCHED_DEPENDENCIES zlib)
        dynpar_report_dependency("zlib" ON)
    endif()
endif()

# ---- protozero: traces in Perfetto's format, in src/*.cpp only.
if(DYNPAR_WANTS_trace)
    find_path(DYNPAR_PROTOZERO_INCLUDE_DIR protozero/pbf_builder.hpp DOC "Folder that holds protozero/pbf_builder.hpp")
    mark_as_advanced(DYNPAR_PROTOZERO_INCLUDE_DIR)
    add_library(dynpar_protozero INTERFACE)
    if(DYNPAR_PROTOZERO_INCLUDE_DIR)
        target_include_directories(dynpar_protozero SYSTEM INTERFACE ${DYNPAR_PROTOZERO_INCLUDE_DIR})
        dynpar_report_dependency("protozero" OFF)
    else()
        FetchContent_Declare(protozero
            GIT_REPOSITORY https://github.com/mapbox/protozero.git GIT_TAG v1.7.1 GIT_SHALLOW TRUE SOURCE_SUBDIR include)
        dynpar_fetch(protozero "protozero" libprotozero-dev DYNPAR_PROTOZERO_INCLUDE_DIR)
        target_include_directories(dynpar_protozero SYSTEM INTERFACE ${protozero_SOURCE_DIR}/include)
        dynpar_report_dependency("protozero" ON)
    endif()
endif()

# ---- d3: drawn with in the HTML page of a trace, and embedded in the library. Version 3, which Debian has.
if(DYNPAR_WANTS_trace)
    find_file(DYNPAR_D3 d3.min.js PATHS /usr/share/javascript/d3 /usr/share/nodejs/d3 PATH_SUFFIXES share/javascript/d3 d3
        DOC "d3.min.js, version 3")
    mark_as_advanced(DYNPAR_D3)
    set(DYNPAR_TRACE_PAGE OFF)
    if(DYNPAR_D3)
        file(STRINGS ${DYNPAR_D3} dynpar_d3_version LIMIT_INPUT 400 REGEX "version:\"3[.]")
        if(dynpar_d3_version)
            set(DYNPAR_TRACE_PAGE ON)
        endif()
    endif()
    if(DYNPAR_TRACE_PAGE)
        message(STATUS "dynpar: d3: found on this system")
    else()
        message(STATUS "dynpar: d3: version 3 not found (Debian: libjs-d3): traces cannot be written as HTML pages, all else works")
    endif()
endif()

# ---- Google Benchmark: timing on the CPU.
if(DYNPAR_BUILD_BENCHMARKS)
    set(BENCHMARK_ENABLE_TESTING OFF)
    set(BENCHMARK_ENABLE_INSTALL OFF)
    FetchContent_Declare(benchmark
        GIT_REPOSITORY https://github.com/google/benchmark.git GIT_TAG v1.8.3 GIT_SHALLOW TRUE SYSTEM
        FIND_PACKAGE_ARGS 1.7 CONFIG)
    dynpar_fetch(benchmark "Google Benchmark" libbenchmark-dev CMAKE_PREFIX_PATH)
    dynpar_report_dependency("Google Benchmark" "${benchmark_SOURCE_DIR}")
endif()

# ---- doctest: the tests.
if(DYNPAR_BUILD_TESTS)
    FetchContent_Declare(doctest
        GIT_REPOSITORY https://github.com/doctest/doctest.git GIT_TAG v2.4.11 GIT_SHALLOW TRUE SYSTEM
        FIND_PACKAGE_ARGS 2.4.6 CONFIG)
    dynpar_fetch(doctest "doctest" doctest-dev CMAKE_PREFIX_PATH)
    if(doctest_SOURCE_DIR)
        list(APPEND CMAKE_MODULE_PATH ${doctest_SOURCE_DIR}/scripts/cmake)
    endif()
    dynpar_report_dependency("doctest" "${doctest_SOURCE_DIR}")
endif()
