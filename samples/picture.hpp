// Pictures: PNG files, by libpng where the build has it.
#pragma once

#include <string>
#include <vector>

namespace samples {

/// Pixels row by row, three bytes each: red, green, blue.
struct picture {
    unsigned width;
    unsigned height;
    std::vector<unsigned char> bytes;
};

/// Throws `input_error` (command_line.hpp), with a line that says what to do, if this build cannot write pictures or
/// there is no such folder. `option` has named the file.
void require_picture_file(const std::string& option, const std::string& file);

/// Writes the file. Throws `output_error` (command_line.hpp), and leaves no part of a file behind.
void write_png(const std::string& file, const picture& p);

}  // namespace samples
