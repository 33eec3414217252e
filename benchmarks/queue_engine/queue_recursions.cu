// The samples fib and n_queens on the queue engine.
#include "../../samples/fib/kernels.hpp"
#include "../../samples/n_queens/kernels.hpp"
#include "queue_run.cuh"

namespace queue_benchmark {

void measure_queue_recursions(table& t) {
    using dynpar::shape;
    dynpar::queue_engine engine;
    {
        using namespace fibonacci;
        const dynpar::buffer<number> result = on_device<number>(1);
        const auto forget = [&] { fill(result, 0xff); };
        const auto is_fib = [&](int n, bool waits) {
            return [&, n, waits](const run_facts& f) {
                return result.to_vector()[0] == expected(n) && f.grids == grids(n, waits);
            };
        };
        const std::pair<const char*, int> sizes[] = {
            {work::fib_2, 2}, {work::fib_15, 15}, {work::fib_30, 30}, {work::fib_40, 40}};
        for (const auto& [name, n] : sizes) {
            measure_run(t, engine, name, "then", forget, is_fib(n, false), 0, fib{}, shape(1, 1), result.data(), n);
        }
    }
    {
        using namespace fibonacci;
        const dynpar::buffer<number> result = on_device<number>(1);
        const std::pair<const char*, int> sizes[] = {{work::fib_15, 15}, {work::fib_40, 40}};
        for (const auto& [name, n] : sizes) {
            // What call() runs, with a place that is there already.
            measure_run(
                t, engine, name, "values", [&] { fill(result, 0xff); },
                [&, n = n](const run_facts& f) {
                    return result.to_vector()[0] == expected(n) && f.grids == grids(n, false);
                },
                0, dynpar::detail::value_call<fib_value>(fib_value{}), shape(1, 1), static_cast<void*>(result.data()),
                n);
        }
    }
    if (t.wants(work::fib_30)) {
        using namespace fibonacci;
        const dynpar::buffer<number> result = on_device<number>(1);
        dynpar::queue_options options;
        options.limits.sync_depth = 30;  // every call but the leaves waits, and the deepest that does is 28 down
        dynpar::queue_engine waiting(options);
        measure_run(
            t, waiting, work::fib_30, "wait", [&] { fill(result, 0xff); },
            [&](const run_facts& f) { return result.to_vector()[0] == expected(30) && f.grids == grids(30, true); }, 3,
            fib_wait{}, shape(1, 1), result.data(), 30);
    }
    {
        using namespace queens;
        const dynpar::buffer<number> solutions = on_device<number>(1);
        struct size {
            const char* name;
            int rows;
            int serial_rows;
        };
        for (const auto& [name, rows, serial_rows] :
             {size{work::queens_8, 8, 0}, size{work::queens_14, 14, 0}, size{work::queens_16, 16, 9}}) {
            const auto measure = [&, n = rows, serial = serial_rows](dynpar::queue_engine& with, const char* work,
                                                                     const char* form) {
                measure_run(
                    t, with, work, form, [&] { fill(solutions, 0); },
                    [&, n](const run_facts&) { return solutions.to_vector()[0] == expected(n); }, 0,
                    place_queen{solutions.data()}, shape(1, 1), empty_board(n, serial));
            };
            measure(engine, name, "");
            if (const auto wide = rows > 8 ? engine_with_more_warps(t, name) : nullptr)
                measure(*wide, name, more_warps);
        }
    }
}

}  // namespace queue_benchmark
