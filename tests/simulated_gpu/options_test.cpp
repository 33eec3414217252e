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

TEST_CASE("a trace for more grids than have numbers is refused by name, before there is memory for it") {
    dynpar::queue_options options = small();
    for (const std::size_t grids : {std::size_t{67108865}, std::size_t{70000000}, ~std::size_t{0}}) {
        CAPTURE(grids);
        options.trace_grids = grids;
        const std::string message = refusal(options);
        CAPTURE(message);
        CHECK(contains(message, "engine_options::trace_grids is"));
        CHECK(contains(message, "at most 67108864"));
    }
    options.trace_grids = 1000;
    CHECK(dynpar::queue_engine(options).options().trace_grids == 1000);
}

TEST_CASE("too little memory is refused with the name of the option that was given") {
    dynpar::queue_options options = small();
    options.memory_bytes = 65535;
    CHECK(contains(refusal(options), "queue_options::memory_bytes is 65535"));
    options.limits.heap_bytes = 1 << 20;  // the other one counts
    CHECK(contains(refusal(options), "queue_options::memory_bytes is 65535"));
    options.memory_bytes = 0;
    CHECK(refusal(options) == "");
    options.limits.heap_bytes = 1;
    CHECK(contains(refusal(options), "limits::heap_bytes is 1"));
    CHECK(contains(refusal(options), "at least 65536"));
    CHECK(!contains(refusal(options), "memory_bytes"));
    options.limits.heap_bytes = 0;
    CHECK(contains(refusal(options), "limits::heap_bytes is 0"));
}

}  // namespace
