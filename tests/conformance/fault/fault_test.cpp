// Contract rows C13 and C20: a fault in a nested grid surfaces from run, and so does a value that is made twice.
// a fault takes the CUDA context with it.
#include "../engine_under_test.hpp"

#include <cassert>
#include <exception>
#include <stdexcept>

using namespace conformance;

namespace {

struct break_down {
    static constexpr const char* name = "break_down";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* nowhere) const {
#if DYNPAR_ON_DEVICE
        if (block.thread_rank() == 3) *nowhere = 1;
#else
        static_cast<void>(nowhere);
        if (block.thread_rank() == 3) throw std::out_of_range("nothing there");
#endif
        block.sync();
    }
};

struct innocent_parent {
    static constexpr const char* name = "innocent_parent";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int levels, unsigned* nowhere) const {
        if (block.thread_rank() == 0) {
            if (levels > 0) {
                block.launch(*this, dynpar::shape(1, 8), levels - 1, nowhere);
            } else {
                block.launch(break_down{}, dynpar::shape(1, 8), nowhere);
            }
        }
        block.sync();
    }
};

TEST_CASE("C13: a fault in a nested grid surfaces from run, with what is known of where") {
    auto engine = make_engine();
    std::string message, nested;
    try {
        engine.run(innocent_parent{}, dynpar::shape(1, 8), 2, reinterpret_cast<unsigned*>(0x10));
    } catch (const dynpar::kernel_fault& fault) {
        message = fault.what();
        try {
            std::rethrow_if_nested(fault);
        } catch (const std::out_of_range& original) {
            nested = original.what();
        }
#if !DYNPAR_TEST_ENGINE_HOST
        CHECK(fault.code() != 0);
#endif
    }
    CAPTURE(message);
    CHECK(message.find("break_down") != std::string::npos);
    CHECK(message.find("depth 3") != std::string::npos);
#if DYNPAR_TEST_ENGINE_HOST
    CHECK(message.find("thread 3") != std::string::npos);
    CHECK(message.find("nothing there") != std::string::npos);
    CHECK(nested == "nothing there");
    auto counter = filled(engine, 1, 0u);
    engine.run(count_one{}, dynpar::shape(1, 1), counter.data());
    CHECK(counter.to_vector()[0] == 1);  // the engine is usable afterwards
#endif
}

struct one {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<int> operator()(Block&) const {
        return 1;
    }
};
struct two_values {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<int> operator()(Block& block, bool both_later) const {
        const auto first = block.then(dynpar::plus{}, block.spawn(one{}), block.spawn(one{}));
        if (both_later) return block.then(dynpar::plus{}, block.spawn(one{}), block.spawn(one{}));
        static_cast<void>(first);
        return 1;
    }
};

TEST_CASE("C20: a kernel that makes its value twice is a fault") {
    auto engine = make_engine();
    CHECK_THROWS_AS(engine.call(two_values{}, false), dynpar::kernel_fault);
#if DYNPAR_TEST_ENGINE_HOST
    CHECK_THROWS_AS(engine.call(two_values{}, true), dynpar::kernel_fault);
#endif
}

}  // namespace
