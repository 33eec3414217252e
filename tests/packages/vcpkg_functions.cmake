# Stands for vcpkg where there is none: cmake -DPORTFILE=... -DFEATURES=<a,b> -DFOLDER=... "-DOPTIONS=<option,option>"
# -P runs the portfile with these functions. They do what vcpkg's of the same name do, as far as the port can go wrong
# there: the arguments are those that they take, the options are ones that dynpar has, and what is to be moved is
# there.
cmake_minimum_required(VERSION 3.25)
set(PORT dynpar)
set(CURRENT_PACKAGES_DIR ${FOLDER}/package)
set(built ${FOLDER}/build)
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR} ${built})
string(REPLACE "," ";" FEATURES "${FEATURES}")
string(REPLACE "," ";" OPTIONS "${OPTIONS}")

# arguments(<prefix> <one value> <several values> <argument>...): as cmake_parse_arguments, but refuses what is neither.
macro(arguments one several)
    cmake_parse_arguments(given "" "${one}" "${several}" ${ARGN})
    if(given_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION}: ${given_UNPARSED_ARGUMENTS}")
    endif()
endmacro()

function(vcpkg_check_linkage)
    if(NOT ARGN STREQUAL "ONLY_STATIC_LIBRARY")
        message(FATAL_ERROR "vcpkg_check_linkage: ${ARGN}")
    endif()
endfunction()

function(vcpkg_check_features)
    arguments(OUT_FEATURE_OPTIONS FEATURES ${ARGN})
    set(result "")
    while(given_FEATURES)
        list(POP_FRONT given_FEATURES feature option)
        list(APPEND features ${feature})
        set(value OFF)
        if(feature IN_LIST FEATURES)
            set(value ON)
        endif()
        list(APPEND result -D${option}=${value})
    endwhile()
    file(WRITE ${FOLDER}/features "${features}")
    set(${given_OUT_FEATURE_OPTIONS} "${result}" PARENT_SCOPE)
endfunction()

function(vcpkg_find_cuda)
    arguments("OUT_CUDA_TOOLKIT_ROOT;OUT_CUDA_VERSION" "" ${ARGN})
    find_program(NVCC nvcc PATHS /usr/local/cuda/bin REQUIRED)
    cmake_path(GET NVCC PARENT_PATH root)
    cmake_path(GET root PARENT_PATH root)
    set(${given_OUT_CUDA_TOOLKIT_ROOT} ${root} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
    arguments(SOURCE_PATH OPTIONS ${ARGN})
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${given_SOURCE_PATH} -B ${built} -G Ninja ${OPTIONS} ${given_OPTIONS}
            -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DFETCHCONTENT_FULLY_DISCONNECTED=ON
            -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DCMAKE_INSTALL_LIBDIR=lib
        OUTPUT_VARIABLE output ERROR_VARIABLE output RESULT_VARIABLE status)
    if(status OR output MATCHES ", fetched")  # what is fetched is not named as a dependency
        message(FATAL_ERROR "vcpkg_cmake_configure: ${output}")
    endif()
    if(output MATCHES "Manually-specified variables were not used by the project:(.*)")
        message(FATAL_ERROR "options that dynpar does not have: ${CMAKE_MATCH_1}")
    endif()
endfunction()

function(vcpkg_cmake_install)
    execute_process(COMMAND ${CMAKE_COMMAND} --build ${built} --target install -j 2 OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# expect(<file>...): of the package.
function(expect)
    foreach(file IN LISTS ARGN)
        if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${file})
            message(FATAL_ERROR "the port looks for ${file}, which is not installed")
        endif()
    endforeach()
endfunction()

function(vcpkg_cmake_config_fixup)
    arguments(CONFIG_PATH "" ${ARGN})
    expect(${given_CONFIG_PATH}/${PORT}Config.cmake)
endfunction()

function(vcpkg_fixup_pkgconfig)
    expect(lib/pkgconfig)
endfunction()

function(vcpkg_copy_tools)
    cmake_parse_arguments(given AUTO_CLEAN "" TOOL_NAMES ${ARGN})
    list(TRANSFORM given_TOOL_NAMES PREPEND bin/)
    expect(${given_TOOL_NAMES})
endfunction()

function(vcpkg_install_copyright)
    arguments("" FILE_LIST ${ARGN})
    file(COPY_FILE ${given_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright)
endfunction()

include(${PORTFILE})
expect(share/dynpar/usage share/dynpar/copyright)
