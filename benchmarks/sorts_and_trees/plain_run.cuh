// How rows of plain kernels are measured that launch on the device runtime, unchecked.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>

#include <dynpar/cuda_error.hpp>
#include <dynpar/limits.hpp>

#include "../queue_engine/table.hpp"

namespace sort_benchmark {

inline dynpar::limits raised_limits() {
    dynpar::limits limits;
    limits.pending_launches = queue_benchmark::pending_launches;
    return limits;
}

inline void measure_plain(queue_benchmark::table& t, const char* work, const char* form, std::uint64_t counted,
                          const std::function<void()>& prepare, const std::function<bool()>& is_right,
                          const std::function<void()>& launch) {
    queue_benchmark::contender c;
    c.work = work;
    c.engine = queue_benchmark::by::plain_cdp2;
    c.form = form;
    c.may_be_wrong = true;
    c.prepare = prepare;
    c.start = [&] {
        launch();
        dynpar::check(cudaGetLastError(), "launching a plain kernel");
        return [&] { return queue_benchmark::run_facts{counted, 0, {}}; };
    };
    c.is_right = [&](const queue_benchmark::run_facts&) { return is_right(); };
    t.measure(c);
}

}  // namespace sort_benchmark
