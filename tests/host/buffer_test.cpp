// Promises of buffers and of with_engine, on the host engine.
#include <dynpar/with_engine.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using dynpar::buffer;

struct three_bytes {
    unsigned char a, b, c;
    bool operator==(const three_bytes& other) const { return a == other.a && b == other.b && c == other.c; }
};

TEST_CASE("a buffer is made of a size, of values, or of a vector") {
    dynpar::host_engine engine;
    CHECK(engine.make_buffer<int>(5).size() == 5);
    CHECK(engine.make_buffer<int>({5}).to_vector() == std::vector<int>{5});
    CHECK(engine.make_buffer({1.5, 2.5}).to_vector() == std::vector<double>{1.5, 2.5});
    CHECK(engine.make_buffer(std::vector<short>{3, 4, 5}).to_vector() == std::vector<short>{3, 4, 5});
    CHECK(engine.make_buffer(std::vector<short>{}).size() == 0);
    static_assert(std::is_same_v<decltype(engine.make_buffer({0u})), buffer<unsigned>>);
}

TEST_CASE("value() is one element, and says so if there is none of that number") {
    dynpar::host_engine engine;
    const buffer<three_bytes> three = engine.make_buffer({three_bytes{1, 2, 3}, three_bytes{4, 5, 6}});
    CHECK(three.value() == three_bytes{1, 2, 3});
    CHECK(three.value(1) == three_bytes{4, 5, 6});
    CHECK_THROWS_AS(three.value(2), std::out_of_range);
    CHECK_THROWS_AS(engine.make_buffer<int>(0).value(), std::out_of_range);
}

TEST_CASE("copy_from() with a count leaves the other elements, and says so if there are fewer") {
    dynpar::host_engine engine;
    auto buffer = engine.make_buffer<int>({1, 2, 3});
    const int values[] = {7, 8, 9, 10};
    buffer.copy_from(values, 2);
    CHECK(buffer.to_vector() == std::vector<int>{7, 8, 3});
    buffer.copy_from(values, 0);
    CHECK(buffer.to_vector() == std::vector<int>{7, 8, 3});
    CHECK_THROWS_WITH_AS(buffer.copy_from(values, 4), "dynpar: copy_from: more elements given than the buffer has",
                         std::out_of_range);
    CHECK(buffer.to_vector() == std::vector<int>{7, 8, 3});
}

TEST_CASE("fill() sets every element, of any size and of large buffers too") {
    dynpar::host_engine engine;
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
        CAPTURE(count);
        buffer<three_bytes> all = engine.make_buffer<three_bytes>(count);
        all.fill({7, 8, 9});
        std::size_t wrong = 0;
        for (const three_bytes& found : all.to_vector()) wrong += !(found == three_bytes{7, 8, 9});
        CHECK(wrong == 0);
    }
    buffer<bool> flags = engine.make_buffer<bool>(3);
    flags.fill(true);
    CHECK(flags.value(2) == true);
    CHECK(engine.make_buffer(std::vector<bool>{true, false}).to_vector() == std::vector<bool>{true, false});
}

struct alignas(64) cache_line {
    unsigned char bytes[64];
};

TEST_CASE("a buffer is aligned as its type wants") {
    dynpar::host_engine engine;
    for (const std::size_t count : {1, 3, 100}) {
        const buffer<cache_line> lines = engine.make_buffer<cache_line>(count);
        CHECK(reinterpret_cast<std::uintptr_t>(lines.data()) % 64 == 0);
    }
}

struct count_threads {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, unsigned* threads) const {
        dynpar::atomic_add(threads, 1u);
    }
};

TEST_CASE("with_engine makes the engine that is asked for, with the options, and returns what the program does") {
    dynpar::engine_options options;
    options.moldable_threads = 3;
    const auto program = [](auto& engine) {
        auto threads = engine.make_buffer({0u});
        engine.run(count_threads{}, dynpar::shape(2, dynpar::at_most(8)), threads.data());
        return std::string(engine.name) + " " + std::to_string(threads.value());
    };
    CHECK(dynpar::with_engine(dynpar::engine_kind::host, options, program) == "host 6");
    CHECK(dynpar::with_engine(dynpar::engine_kind::automatic, {}, program) == "host 2");
}

TEST_CASE("with_engine says that an engine is not built into the program") {
    try {
        dynpar::with_engine(dynpar::engine_kind::queue, {}, [](auto&) { return 0; });
        FAIL("this file has no queue engine");
    } catch (const std::invalid_argument& error) {
        CHECK(std::string(error.what()) ==
              "engine queue is not built into this program; choose auto or one of the built: host");
    }
    const dynpar::engine_choice elsewhere{dynpar::engine_kind::queue, "chosen in another file"};
    CHECK_THROWS_AS(dynpar::with_engine(elsewhere, {}, [](auto&) { return 0; }), std::invalid_argument);
}

}  // namespace
