// How rows are measured whose results are counted after each run: on the queue engine, which gives up after some time,
// and on the CPU. Included by files that have nothing but rows in them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <dynpar/engine/queue.cuh>

#include "table.hpp"

namespace queue_benchmark {

/// An engine that gives up a run after so many seconds.
/// `shared_bytes`: of a worker block; 0: as ever.
inline std::unique_ptr<dynpar::queue_engine> make_engine(double seconds, unsigned block_threads = 0,
                                                         unsigned shared_bytes = 0) {
    dynpar::queue_options options;
    if (shared_bytes != 0) options.shared_bytes = shared_bytes;
    options.deadline_milliseconds = static_cast<unsigned long long>(seconds * 1e3);
    options.block_threads = block_threads;
    options.limits.sync_depth = 0;  // nothing waits
    return std::make_unique<dynpar::queue_engine>(options);
}

/// A run of the queue engine that failed, or was given up, is a wrong one, and what it says goes to standard error.
/// `counted`: after the run, what the table counts, by its report.
template <class Kernel, class... Args>
void measure_queue(table& t, dynpar::queue_engine& engine, const char* work, const char* form,
                   std::function<void()> prepare, std::function<std::uint64_t(const dynpar::report&)> counted,
                   std::function<bool(const run_facts&)> is_right, Kernel kernel, const dynpar::shape& s,
                   Args... args) {
    bool has_failed = false;
    const auto fail = [&](const std::string& why) {
        if (!has_failed) std::fprintf(stderr, "%s, %s: %s\n", work, form, why.c_str());
        has_failed = true;
    };
    contender c;
    c.work = work;
    c.engine = by::queue_engine;
    c.form = form;
    c.prepare = std::move(prepare);
    c.start = [&] {
        dynpar::queue_handle handle = engine.enqueue(t.stream(), kernel, s, args...);
        return [&, handle]() mutable {
            try {
                const dynpar::report r = handle.wait();
                if (r.failed_calls != 0) {
                    fail(dynpar::describe_failures(r));
                } else {
                    has_failed = false;
                }
                return run_facts{counted(r), r.lost_launches, r.needed.live_bytes};
            } catch (const dynpar::deadlock_error& e) {
                fail(e.what());
                return run_facts{};
            }
        };
    };
    c.is_right = [&](const run_facts& f) { return !has_failed && is_right(f); };
    t.measure(c);
}

/// `work_of` does it and returns what the table counts, 0 if anything is wrong. The first run counts.
inline void measure_cpu(table& t, const char* work, const char* by, unsigned most_runs,
                        const std::function<std::uint64_t()>& work_of) {
    contender c;
    c.work = work;
    c.engine = by;
    c.most_runs = most_runs;
    c.first_counts = true;
    std::uint64_t counted = 0;
    c.start = [&] {
        counted = work_of();
        return [&] { return run_facts{counted, 0, {}}; };
    };
    c.is_right = [&](const run_facts&) { return counted != 0; };
    t.measure(c);
}

}  // namespace queue_benchmark
