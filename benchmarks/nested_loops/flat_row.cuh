// A row of a program by hand that is one grid. Included by files that have nothing but rows in them.
#pragma once

#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "graph_on_device.cuh"

namespace nested_benchmark {

/// `Program` of flat_*.cuh. `is_right` is not asked where the program was given up.
template <class Program>
void measure_flat(queue_benchmark::table& t, const char* work, const char* form, Program& program,
                  std::function<void()> prepare, const std::function<bool()>& is_right) {
    queue_benchmark::contender c;
    c.work = work;
    c.engine = by::flat;
    c.form = form;
    c.prepare = std::move(prepare);
    c.start = [&] {
        program.start(t.stream());
        return [] { return queue_benchmark::run_facts{1, 0, {}}; };
    };
    c.is_right = [&](const queue_benchmark::run_facts&) {
        if (!program.is_out_of_time()) return is_right();
        std::fprintf(stderr, "nested_loops: %s: %s: given up: time is up\n", work, by::flat);
        return false;
    };
    t.measure(c);
}

}  // namespace nested_benchmark
