# Called by cpack when the components are installed and before they are packed: adds what Debian asks of every package
# (copyright, changelogs), strips, and gives files the same date in every build.
cmake_minimum_required(VERSION 3.25)
if(NOT DEFINED ENV{SOURCE_DATE_EPOCH})
    execute_process(COMMAND git -C ${CPACK_DYNPAR_SOURCE_DIR} log -1 --format=%ct
        OUTPUT_VARIABLE epoch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(NOT epoch MATCHES "^[0-9]+$")
        file(TIMESTAMP ${CPACK_DYNPAR_SOURCE_DIR}/CHANGELOG.md epoch "%s" UTC)
    endif()
    set(ENV{SOURCE_DATE_EPOCH} ${epoch})
endif()
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)

function(run)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    set(stage ${CPACK_TEMPORARY_DIRECTORY}/${component})
    string(TOUPPER ${component} upper)
    set(package ${CPACK_DEBIAN_${upper}_PACKAGE_NAME})

    set(documents ${stage}/usr/share/doc/${package})
    file(MAKE_DIRECTORY ${documents})
    file(COPY_FILE ${CPACK_DYNPAR_SOURCE_DIR}/packaging/debian/copyright ${documents}/copyright)
    configure_file(${CPACK_DYNPAR_SOURCE_DIR}/packaging/debian/changelog.in ${documents}/changelog.Debian @ONLY)
    if(NOT component STREQUAL "cuda")  # that one depends on dev, which has it
        file(COPY_FILE ${CPACK_DYNPAR_SOURCE_DIR}/CHANGELOG.md ${documents}/changelog)
    endif()
    file(GLOB to_compress ${documents}/changelog* ${stage}/usr/share/man/man1/*.1)
    if(to_compress)
        run(gzip -9nf ${to_compress})
    endif()

    # As dh_strip does. A static library keeps its symbols.
    file(GLOB libraries ${stage}/usr/lib/*/*.a)
    foreach(library IN LISTS libraries)
        run(${CPACK_DYNPAR_STRIP} --strip-debug --remove-section=.comment --remove-section=.note --enable-deterministic-archives ${library})
    endforeach()
    file(GLOB programs ${stage}/usr/bin/*)
    foreach(program IN LISTS programs)
        run(${CPACK_DYNPAR_STRIP} --remove-section=.comment --remove-section=.note ${program})
    endforeach()

    # Whatever the umask of the build.
    file(GLOB_RECURSE files LIST_DIRECTORIES TRUE ${stage}/*)
    foreach(file IN LISTS files)
        if(IS_DIRECTORY ${file} OR file IN_LIST programs)
            file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
        else()
            file(CHMOD ${file} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
        endif()
    endforeach()
    run(find ${stage} -exec touch -h -d @$ENV{SOURCE_DATE_EPOCH} {} +)
endforeach()
