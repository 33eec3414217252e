// The engine that this build of the conformance tests is about, and what the contract lets engines differ in.
#pragma once

#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace conformance {

#if DYNPAR_TEST_ENGINE_HOST
using engine_under_test = dynpar::host_engine;
using options_under_test = dynpar::host_options;
inline constexpr unsigned widest_block = 1024;
inline constexpr bool has_wait = true;
inline constexpr bool bounds_pending_launches = true;
inline constexpr bool has_trace = true;
#elif DYNPAR_TEST_ENGINE_CDP
using engine_under_test = dynpar::cdp_engine;
using options_under_test = dynpar::cdp_options;
inline constexpr unsigned widest_block = 1024;
#if DYNPAR_CDP1
inline constexpr bool has_wait = true;
#else
inline constexpr bool has_wait = false;
#endif
inline constexpr bool bounds_pending_launches = true;
inline constexpr bool has_trace = true;
#elif DYNPAR_TEST_ENGINE_QUEUE
using engine_under_test = dynpar::queue_engine;
using options_under_test = dynpar::queue_options;
#if defined(__CUDACC_RDC__)
inline constexpr unsigned widest_block = 512;
#else
inline constexpr unsigned widest_block = 1024;
#endif
inline constexpr bool has_wait = true;
inline constexpr bool bounds_pending_launches = false;  // pending launches live in memory
inline constexpr bool has_trace = true;
#else
#error "define DYNPAR_TEST_ENGINE_HOST, DYNPAR_TEST_ENGINE_CDP or DYNPAR_TEST_ENGINE_QUEUE as 1"
#endif

/// Threads of a block that all have streams and events, and part. On the cdp engine 16 lanes of a warp hung: see
/// "Streams and events" in the guide.
#if DYNPAR_TEST_ENGINE_CDP
inline constexpr unsigned threads_with_streams = 8;
#else
inline constexpr unsigned threads_with_streams = 40;
#endif

/// Of what a test has very many: a tenth where a tool watches that takes a thousand times as long.
#if (defined(DYNPAR_SHOW_RACES) && DYNPAR_SHOW_RACES) || defined(DYNPAR_SIMULATED_GPU)
inline constexpr unsigned many(unsigned count) { return count / 10; }
#else
inline constexpr unsigned many(unsigned count) { return count; }
#endif

inline engine_under_test make_engine(const dynpar::limits& limits = {}) {
    options_under_test options;
    options.limits = limits;
    return engine_under_test(options);
}

/// An engine buffer that starts with the same value everywhere.
template <class T>
dynpar::buffer<T> filled(const engine_under_test& engine, std::size_t count, T value) {
    dynpar::buffer<T> result = engine.make_buffer<T>(count);
    const std::vector<T> values(count, value);
    result.copy_from(values.data());
    return result;
}

/// Adds one to a counter.
struct count_one {
    static constexpr const char* name = "count_one";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* counter) const {
        if (block.thread_rank() == 0) dynpar::atomic_add(counter, 1u);
    }
};

/// Writes down its number at the next place of a list: `list[0]` counts what is there.
struct append {
    static constexpr const char* name = "append";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* list, unsigned number) const {
        if (block.thread_rank() == 0) list[1 + dynpar::atomic_add(&list[0], 1u)] = number;
    }
};

/// The numbers that `append` wrote down.
inline std::vector<unsigned> appended(const dynpar::buffer<unsigned>& list) {
    const std::vector<unsigned> all = list.to_vector();
    return {all.begin() + 1, all.begin() + 1 + all[0]};
}

/// The only failure of a report that must have exactly one kind of them.
inline const dynpar::failure& only_failure(const dynpar::report& report) {
    REQUIRE(report.failures.size() == 1);
    return report.failures.front();
}

}  // namespace conformance
