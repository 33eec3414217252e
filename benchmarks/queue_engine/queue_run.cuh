// How the groups of rows on the queue engine run something: included by files that have no more than that in them.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <dynpar/engine/queue.cuh>

#include "device_memory.hpp"
#include "table.hpp"

namespace queue_benchmark {

/// A row of the queue engine. Throws `launch_error` if a launch was lost. `most_runs`: see `contender`.
template <class Kernel, class... Args>
void measure_run(table& t, dynpar::queue_engine& engine, const char* work, const char* form,
                 std::function<void()> prepare, std::function<bool(const run_facts&)> is_right, unsigned most_runs,
                 Kernel kernel, const dynpar::shape& s, Args... args) {
    contender c;
    c.work = work;
    c.engine = by::queue_engine;
    c.form = form;
    c.most_runs = most_runs;
    c.prepare = std::move(prepare);
    c.is_right = std::move(is_right);
    c.start = [&] {
        dynpar::queue_handle handle = engine.enqueue(t.stream(), kernel, s, args...);
        return [handle]() mutable {
            const dynpar::report r = handle.wait();
            if (r.failed_calls != 0) throw dynpar::launch_error(r);
            return run_facts{r.grids, r.lost_launches, r.needed.live_bytes};
        };
    };
    t.measure(c);
}

/// An engine for rows of the form `more_warps`; null where it would be in vain, or kernels are compiled for narrower
/// worker blocks.
inline std::unique_ptr<dynpar::queue_engine> engine_with_more_warps(const table& t, const char* work) {
    if (DYNPAR_QUEUE_MOST_THREADS < 1024 || !t.wants(work)) return nullptr;
    dynpar::queue_options options;
    options.block_threads = 1024;
    return std::make_unique<dynpar::queue_engine>(options);
}

inline std::function<bool(const run_facts&)> counted(std::uint64_t grids) {
    return [grids](const run_facts& f) { return f.grids == grids; };
}

}  // namespace queue_benchmark
