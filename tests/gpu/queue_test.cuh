// What the queue engine's own tests share.
#pragma once

#include <cuda_runtime.h>

#include <doctest/doctest.h>

#include <dynpar/cuda_error.hpp>
#include <dynpar/dynpar.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace queue_test {

using dynpar::shape;
using count_type = unsigned long long;

/// Memory of the engine that holds the same value everywhere.
template <class T>
dynpar::buffer<T> filled(const dynpar::queue_engine& engine, std::size_t count, T value) {
    dynpar::buffer<T> result = engine.make_buffer<T>(count);
    const std::vector<T> values(count, value);
    result.copy_from(values.data());
    return result;
}

/// What `call` throws of that type says; "" if it throws nothing.
template <class Exception, class Call>
std::string message_of(Call call) {
    try {
        call();
    } catch (const Exception& error) {
        return error.what();
    }
    return "";
}

inline bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// Options with a deadline, so that a test that hangs ends.
inline dynpar::queue_options with_deadline() {
    dynpar::queue_options options;
    options.deadline_milliseconds = 60000;
    return options;
}

struct add_one {
    static constexpr const char* name = "add_one";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, count_type* counter) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(counter, count_type{1});
    }
};

/// Each block launches `count` grids of one block.
struct launch_many {
    static constexpr const char* name = "launch_many";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned count, int threads, count_type* counter) const {
        if (block.thread_rank() != 0) return;
        for (unsigned i = 0; i < count; ++i) block.launch(add_one{}, shape(1, threads), counter);
    }
};

/// Each block launches two like itself, without an end.
struct endless_tree {
    static constexpr const char* name = "endless_tree";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int threads) const {
        if (block.thread_rank() != 0) return;
        block.launch(*this, shape(1, threads), threads);
        block.launch(*this, shape(1, threads), threads);
    }
};

/// Runs 100 grids on the engine and counts them: whether it is usable.
inline void check_usable(dynpar::queue_engine& engine) {
    auto counter = filled<count_type>(engine, 1, 0);
    const dynpar::report report = engine.run(launch_many{}, shape(10, 1), 9u, 1, counter.data());
    CHECK(counter.to_vector()[0] == 90);
    CHECK(report.grids == 91);
    CHECK(report.failed_calls == 0);
}

}  // namespace queue_test
