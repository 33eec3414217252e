// Where in the source a call was written, for error messages.
#pragma once

#include "platform.hpp"

namespace dynpar {

/// A file and a line. As a last parameter `source_place place = source_place::here()` it is where the caller wrote the
/// call, in host and in device code alike; C++17 has no std::source_location.
struct source_place {
    const char* file = "";  ///< as the compiler was given it; a string literal
    unsigned line = 0;      ///< from 1; 0 where the place is not known

    DYNPAR_FUNCTION static constexpr source_place here(const char* file = __builtin_FILE(),
                                                       unsigned line = __builtin_LINE()) {
        return source_place{file, line};
    }
};

}  // namespace dynpar
