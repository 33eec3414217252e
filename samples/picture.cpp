#include "picture.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include <dynpar/detail/printable.hpp>

#include "command_line.hpp"

#if SAMPLES_HAVE_PNG
#include <png.h>
#endif

namespace samples {

void require_picture_file(const std::string& option, const std::string& file) {
#if SAMPLES_HAVE_PNG
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    std::error_code error;
    if (!folder.empty() && !std::filesystem::is_directory(folder, error))
        throw input_error(option + ": " + dynpar::detail::printable(file) + ": there is no folder " +
                          dynpar::detail::printable(folder.string()) + "; make it, or give another file");
    if (std::filesystem::is_directory(file, error))
        throw input_error(option + ": " + dynpar::detail::printable(file) + " is a folder; give a file");
#else
    static_cast<void>(file);
    throw input_error(option +
                      ": this program was built without libpng; install it (Debian: libpng-dev) and build again");
#endif
}

void write_png(const std::string& file, const picture& p) {
#if SAMPLES_HAVE_PNG
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    image.width = p.width;
    image.height = p.height;
    image.format = PNG_FORMAT_RGB;
    errno = 0;
    std::FILE* const out = std::fopen(file.c_str(), "wb");
    bool is_written = out != nullptr;
    std::string why = is_written ? "" : std::strerror(errno);
    // Not png_image_write_to_file, which removes what it cannot write, a device too.
    if (is_written && png_image_write_to_stdio(&image, out, 0, p.bytes.data(), 0, nullptr) == 0) {
        is_written = false;
        why = image.message;
    }
    if (out != nullptr && std::fclose(out) != 0 && is_written) {
        is_written = false;
        why = std::strerror(errno);
    }
    if (is_written) return;
    std::error_code error;
    if (out != nullptr && std::filesystem::is_regular_file(file, error)) std::filesystem::remove(file, error);
    throw output_error(dynpar::detail::printable(file) + ": cannot be written (" + dynpar::detail::printable(why) +
                       "); give a file in a folder that can");
#else
    static_cast<void>(p);
    throw output_error(dynpar::detail::printable(file) + ": cannot be written: this program was built without libpng");
#endif
}

}  // namespace samples
