# Called by cpack when the packages are made, and before they are copied to where they are wanted: packs each again,
# with what CMake 3.25 has no setting for (Multi-Arch, a synopsis for each package), and by dpkg-deb, which gives
# every file in it the date SOURCE_DATE_EPOCH at the latest (before_package.cmake sets it).
cmake_minimum_required(VERSION 3.25)
foreach(package IN LISTS CPACK_PACKAGE_FILES)
    set(folder ${CPACK_TEMPORARY_DIRECTORY}/again)
    file(REMOVE_RECURSE ${folder})
    execute_process(COMMAND ${CPACK_DYNPAR_DPKG_DEB} --raw-extract ${package} ${folder} COMMAND_ERROR_IS_FATAL ANY)

    file(READ ${folder}/DEBIAN/control control)
    string(REGEX MATCH "\nPackage: ([^\n]*)" name "${control}")
    set(name ${CMAKE_MATCH_1})
    foreach(component IN LISTS CPACK_COMPONENTS_ALL)
        string(TOUPPER ${component} upper)
        if(CPACK_DEBIAN_${upper}_PACKAGE_NAME STREQUAL name)
            string(REGEX REPLACE "\nDescription: [^\n]*"
                "\nMulti-Arch: ${CPACK_DYNPAR_${upper}_MULTI_ARCH}\nDescription: ${CPACK_DYNPAR_${upper}_SYNOPSIS}" control "${control}")
        endif()
    endforeach()
    file(WRITE ${folder}/DEBIAN/control "${control}")

    execute_process(COMMAND ${CPACK_DYNPAR_DPKG_DEB} --root-owner-group -Zxz --build ${folder} ${package}
        OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    file(REMOVE_RECURSE ${folder})
endforeach()
