# Makes a C++ file with the bytes of files in it. cmake -DOUT=<file> -DNAMES=<a,b> -DFILES=<file of a>,<file of b> -P embed_file.cmake
string(REPLACE "," ";" NAMES "${NAMES}")
string(REPLACE "," ";" FILES "${FILES}")
set(text "// Made by cmake/embed_file.cmake.\nnamespace dynpar::embedded {\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
    file(READ "${file}" bytes HEX)
    string(LENGTH "${bytes}" digits)
    math(EXPR size "${digits} / 2")
    string(REGEX REPLACE "(................................................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "extern const unsigned char ${name}[];\nextern const unsigned long ${name}_size;\n"
        "const unsigned char ${name}[] = {\n${bytes}};\nconst unsigned long ${name}_size = ${size};\n")
endforeach()
file(WRITE "${OUT}" "${text}}  // namespace dynpar::embedded\n")
