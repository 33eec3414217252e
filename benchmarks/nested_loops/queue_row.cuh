// A row of the queue engine. Included by files that have nothing but rows in them.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <dynpar/engine/queue.cuh>

#include "rows.hpp"

namespace nested_benchmark {

/// An engine that gives up after the time that is asked for.
inline std::unique_ptr<dynpar::queue_engine> make_engine(const options& o, unsigned block_threads) {
    dynpar::queue_options options;
    options.deadline_milliseconds = static_cast<unsigned long long>(o.seconds * 1e3);
    options.block_threads = block_threads;
    options.limits.sync_depth = 0;  // nothing waits
    return std::make_unique<dynpar::queue_engine>(options);
}

/// A run that failed is a wrong one, and what it says goes to standard error.
template <class Kernel, class... Args>
void measure_queue(queue_benchmark::table& t, dynpar::queue_engine& engine, const char* work, const std::string& form,
                   std::function<void()> prepare, const std::function<bool()>& is_right, Kernel kernel,
                   const dynpar::shape& s, Args... args) {
    bool has_failed = false;
    queue_benchmark::contender c;
    c.work = work;
    c.engine = queue_benchmark::by::queue_engine;
    c.form = form;
    c.prepare = std::move(prepare);
    c.start = [&] {
        dynpar::queue_handle handle = engine.enqueue(t.stream(), kernel, s, args...);
        return [&, handle]() mutable {
            const dynpar::report r = handle.wait();
            if (r.failed_calls != 0 && !has_failed)
                std::fprintf(stderr, "nested_loops: %s: %s\n", form.c_str(), dynpar::describe_failures(r).c_str());
            has_failed = r.failed_calls != 0;
            return queue_benchmark::run_facts{r.grids, r.lost_launches, r.needed.live_bytes};
        };
    };
    c.is_right = [&](const queue_benchmark::run_facts&) { return !has_failed && is_right(); };
    t.measure(c);
}

}  // namespace nested_benchmark
