# Checks that a file begins as a PNG file of that size does.
#   cmake -DFILE=<file> -DWIDTH=<pixels> -DHEIGHT=<rows> -P check_picture.cmake
file(READ ${FILE} bytes HEX LIMIT 24)
math(EXPR size "(${WIDTH} << 32) + ${HEIGHT}" OUTPUT_FORMAT HEXADECIMAL)
string(SUBSTRING "${size}" 2 -1 size)
string(LENGTH "${size}" digits)
foreach(i RANGE ${digits} 15)
    string(PREPEND size 0)
endforeach()
if(NOT bytes STREQUAL "89504e470d0a1a0a0000000d49484452${size}")
    message(FATAL_ERROR "${FILE} begins with ${bytes}: no PNG file of ${WIDTH} x ${HEIGHT}")
endif()
