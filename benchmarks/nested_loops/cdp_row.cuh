// Rows of CUDA's device runtime: of its engine, and of plain kernels that launch. Included by files that have nothing
// but rows in them.
#pragma once

#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include <dynpar/engine/cdp.cuh>
#include <dynpar/limits.hpp>

#include "../queue_engine/device_memory.hpp"
#include "rows.hpp"

namespace nested_benchmark {

/// The engine does the run from beginning to end; its own waiting is in the time.
template <class Kernel, class... Args>
void measure_cdp(queue_benchmark::table& t, dynpar::cdp_engine& engine, const char* work, const char* form,
                 const std::function<void()>& prepare, const std::function<bool()>& is_right, Kernel kernel,
                 const dynpar::shape& s, Args... args) {
    queue_benchmark::contender c;
    c.work = work;
    c.engine = queue_benchmark::by::cdp_engine;
    c.form = form;
    c.prepare = prepare;
    c.start = [&] {
        const dynpar::report r = engine.try_run(kernel, s, args...);
        if (r.failed_calls != 0)
            std::fprintf(stderr, "nested_loops: %s: %s\n", form, dynpar::describe_failures(r).c_str());
        const queue_benchmark::run_facts facts{r.grids, r.lost_launches, r.needed.live_bytes};
        return [facts] { return facts; };
    };
    c.is_right = [&](const queue_benchmark::run_facts&) { return is_right(); };
    t.measure(c);
}

/// Plain kernels, which launch a grid where there is more to do than `threshold`, and count those that they could in
/// `*launched`. `launch` puts them into the stream and returns how many grids the host has launched.
inline void measure_plain(
    queue_benchmark::table& t, const char* work, unsigned threshold, const std::function<void()>& prepare,
    const std::function<bool()>& is_right,
    const std::function<std::uint64_t(unsigned threshold, unsigned long long* launched)>& launch) {
    const auto launched = queue_benchmark::on_device<unsigned long long>(1);
    queue_benchmark::contender c;
    c.work = work;
    c.engine = queue_benchmark::by::plain_cdp2;
    c.form = "threshold " + std::to_string(threshold);
    c.prepare = [&] {
        prepare();
        queue_benchmark::fill(launched, 0);
    };
    c.start = [&] {
        const std::uint64_t by_host = launch(threshold, launched.data());
        dynpar::check(cudaGetLastError(), "launching a plain kernel");
        return [&, by_host] { return queue_benchmark::run_facts{by_host + launched.value(), 0, {}}; };
    };
    c.is_right = [&](const queue_benchmark::run_facts&) { return is_right(); };
    t.measure(c);
}

/// Rounds that the host begins one after another, until `round` says that there is no other, or time is up. Returns how
/// many it has begun.
template <class Round>
std::uint64_t run_rounds(double seconds, const Round& round) {
    const auto begun = std::chrono::steady_clock::now();
    for (std::uint64_t rounds = 1;; ++rounds) {
        const bool is_last = !round();
        if (is_last || std::chrono::steady_clock::now() - begun >= std::chrono::duration<double>(seconds))
            return rounds;
    }
}

/// Room for as many grids as these programs launch at a time.
inline dynpar::limits limits_of_launches() {
    dynpar::limits limits;
    limits.pending_launches = queue_benchmark::pending_launches;
    limits.heap_bytes = std::size_t{256} << 20;
    return limits;
}

}  // namespace nested_benchmark
