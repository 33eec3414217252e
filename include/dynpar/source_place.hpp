// Where in the source a call was written, for error messages.
#pragma once

#include "platform.hpp"

namespace dynpar {

/// A file and a line.
struct source_place {
    const char* file = "";  ///< as the compiler was given it; a string literal
    int line = 0;           ///< from 1; 0 where the place is not known
};

/// As the default of a last parameter, `source_place place = DYNPAR_HERE`, it is where the caller wrote the call, in host and in
/// device code alike. C++17 has no std::source_location. A macro and not a function with defaults of its own: nvcc's device
/// compiler takes a default argument inside a default argument for a place in this file.
#define DYNPAR_HERE (::dynpar::source_place{__builtin_FILE(), __builtin_LINE()})

}  // namespace dynpar
