// One of the targets for libFuzzer, which keeps the inputs that reach code that none has reached before. TARGET is its
// name.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const mutated_input::target* const chosen = [] {
        for (const mutated_input::target& t : mutated_input::targets())
            if (std::string(t.name) == TARGET) return &t;
        std::abort();
    }();
    try {
        // What is refused is no worse an input than what is read: both reach code.
        static_cast<void>(chosen->read(std::string(reinterpret_cast<const char*>(data), size)));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s: %s\n", chosen->name, e.what());
        std::abort();  // which makes libFuzzer keep the input
    }
    return 0;
}
