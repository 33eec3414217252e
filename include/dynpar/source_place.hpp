// Where in the source a call was written, for error messages.
#pragma once

#include "platform.hpp"

namespace dynpar {

/// A file and a line.
struct source_place {
    const char* file = "";  ///< as the compiler was given it; a string literal
    int line = 0;           ///< from 1; 0 if the place is not known

    /// The place where this is written or, as a default argument, the caller's place. Use DYNPAR_HERE, which works with
    /// every compiler.
    static constexpr source_place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return source_place{file, line};
    }
};

/// As the default of a last parameter, `source_place place = DYNPAR_HERE`, it is the place of the call, in host code
/// and in device code. C++17 has no std::source_location, and compilers differ in what a builtin in a default argument
/// means: g++ needs it to be the default of a function's own parameter, nvcc's device compiler needs it to be no deeper
/// than this.
#if DYNPAR_ON_DEVICE
#define DYNPAR_HERE (::dynpar::source_place{__builtin_FILE(), __builtin_LINE()})
#else
#define DYNPAR_HERE (::dynpar::source_place::here())
#endif

}  // namespace dynpar
