// Options that cannot be: what the engine says of them.
#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace {

dynpar::queue_options small() {
    dynpar::queue_options options;
    options.block_threads = 64;
    options.memory_bytes = 1 << 20;
    return options;
}

/// What an engine of these options says, or "" if there can be one.
std::string refusal(const dynpar::queue_options& options) {
    try {
        dynpar::queue_engine engine(options);
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
    return "";
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_CASE("more shared memory than a multiprocessor has is refused, also where a sum of 32 bits would wrap") {
    dynpar::queue_options options = small();
    for (const unsigned bytes : {0u, 16u * 1024, 64u * 1024}) {
        options.shared_bytes = bytes;
        CHECK(refusal(options) == "");
    }
    for (const unsigned bytes : {228u * 1024 + 1, 1000000000u, 0x7ffffff0u, 0xfffff000u, 0xfffffff0u, 0xffffffffu}) {
        CAPTURE(bytes);
        options.shared_bytes = bytes;
        const std::string message = refusal(options);
        CAPTURE(message);
        CHECK(contains(message, "queue_options::shared_bytes is"));
        CHECK(contains(message, "has 233472"));
    }
}

}  // namespace
