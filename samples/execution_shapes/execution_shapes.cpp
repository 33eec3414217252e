// The same matrix sum in blocks of every shape of the texts: warps, lanes that have no thread, occupancy, time.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../flat_run.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"

namespace {

using namespace execution_shapes;

constexpr unsigned warp_size = 32;

/// The block shapes: the texts' in their order, the text's example of 40 x 2 threads, and some that it warns of.
constexpr unsigned block_shapes[][2] = {
    {32, 32}, {32, 16}, {16, 32}, {16, 16},                       // the first four measured
    {64, 2},  {64, 4},  {64, 8},  {128, 2}, {128, 4}, {128, 8},   // "exposing more parallelism"
    {256, 2}, {256, 4}, {256, 8},                                 // the last one cannot be
    {128, 1}, {256, 1},                                           // the texts' best
    {40, 2},  {8, 8},   {4, 8},   {1, 256}, {512, 1}, {1024, 1},  // not measured there
};

/// What can be said of a block's shape without running it.
struct block_facts {
    unsigned threads;
    unsigned warps;           ///< of a block
    unsigned idle_lanes;      ///< lanes of the last warp that have no thread and take up registers all the same
    unsigned sectors;         ///< pieces of 32 bytes that the first warp's load touches
    unsigned fewest_sectors;  ///< and how many its bytes would need

    block_facts(unsigned x, unsigned y)
        : threads(x * y), warps((threads + warp_size - 1) / warp_size), idle_lanes(warps * warp_size - threads) {
        // A row of the block that the warp covers is contiguous memory; rows are far apart, and each begins a sector.
        const unsigned lanes = threads < warp_size ? threads : warp_size;
        const auto sectors_of = [](unsigned floats) { return (floats + 7) / 8; };
        sectors = lanes / x * sectors_of(x) + sectors_of(lanes % x);
        fewest_sectors = sectors_of(lanes);
    }
};

struct options {
    unsigned nx = 0;
    unsigned ny = 0;
    unsigned runs = 0;

    std::size_t elements() const { return std::size_t{nx} * ny; }
    dynpar::shape shape(unsigned x, unsigned y) const { return {{(nx + x - 1) / x, (ny + y - 1) / y}, {x, y}}; }
};

/// The three matrices in the engine's memory, A and B filled.
template <class Engine>
struct matrices {
    matrices(Engine& e, const options& o)
        : engine(e),
          count(o.elements()),
          a(e.template make_buffer<float>(count)),
          b(e.template make_buffer<float>(count)),
          c(e.template make_buffer<float>(count)),
          wrong(e.template make_buffer<unsigned long long>(1)) {
        samples::run_flat(engine, fill_matrices{}, sweep(), a.data(), b.data(), count);
        static_cast<void>(count_wrong());  // poisons C
    }

    /// How many elements of C are wrong. Poisons C.
    unsigned long long count_wrong() {
        const unsigned long long none = 0;
        wrong.copy_from(&none);
        samples::run_flat(engine, check_and_poison{}, sweep(), c.data(), count, wrong.data());
        return wrong.value();
    }

    static dynpar::shape sweep() {
        return samples::runs_on_gpu<Engine> ? dynpar::shape(2048, 256) : dynpar::shape(1, 1);
    }

    Engine& engine;
    std::size_t count;
    dynpar::buffer<float> a, b, c;
    dynpar::buffer<unsigned long long> wrong;
};

/// Blocks of this many threads that a multiprocessor holds at once, and the share of its warps that they fill; nothing
/// where there is no GPU.
struct occupancy {
    int blocks = 0;
    double share = 0;
};

template <class Engine>
std::optional<occupancy> occupancy_of([[maybe_unused]] unsigned threads) {
#if defined(__CUDACC__)
    if constexpr (samples::runs_on_gpu<Engine>) {
        occupancy result;
        dynpar::check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                          &result.blocks,
                          samples::flat_entry<sum_matrix_2d, const float*, const float*, float*, unsigned, unsigned>,
                          static_cast<int>(threads), 0),
                      "asking for the occupancy");
        int device = 0;
        int most_threads = 0;
        dynpar::check(cudaGetDevice(&device), "asking for the device");
        dynpar::check(cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device),
                      "asking for the threads of a multiprocessor");
        const unsigned warps = (threads + warp_size - 1) / warp_size;
        result.share = static_cast<double>(result.blocks) * warps * warp_size / most_threads;
        return result;
    }
#endif
    return std::nullopt;
}

/// Milliseconds of a copy of one matrix to another, which moves two thirds of the bytes of the sum.
template <class Engine>
std::optional<double> time_copy([[maybe_unused]] matrices<Engine>& m, [[maybe_unused]] unsigned runs) {
#if defined(__CUDACC__)
    if constexpr (samples::runs_on_gpu<Engine>) {
        const dynpar::stream stream;
        const double time = samples::median_milliseconds(stream, runs, [&](const dynpar::stream& in) {
            dynpar::check(
                cudaMemcpyAsync(m.c.data(), m.a.data(), m.count * sizeof(float), cudaMemcpyDeviceToDevice, in.handle()),
                "copying a matrix");
        });
        static_cast<void>(m.count_wrong());
        return time;
    }
#endif
    return std::nullopt;
}

std::string number(const char* format, double value) {
    char text[40];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

/// A shape that no block can have must be refused, and C must stay as it was.
template <class Engine>
void require_refusal(matrices<Engine>& m, const options& o, unsigned x, unsigned y) {
    bool refused = false;
    try {
        samples::run_flat(m.engine, sum_matrix_2d{}, o.shape(x, y), m.a.data(), m.b.data(), m.c.data(), o.nx, o.ny);
    } catch (const dynpar::launch_error& e) {
        refused = e.report().failures.at(0).status == dynpar::status::invalid_configuration;
#if defined(__CUDACC__)
    } catch (const dynpar::cuda_error& e) {
        refused = e.code() == cudaErrorInvalidConfiguration || e.code() == cudaErrorInvalidValue;
#endif
    }
    if (!refused || m.count_wrong() != m.count) {
        throw samples::wrong_result("a block of " + std::to_string(x * y) + " threads was not refused");
    }
}

template <class Engine>
void run_shape(matrices<Engine>& m, const options& o, unsigned x, unsigned y, std::optional<double> copy_bytes_per_ms,
               const samples::command_line& command) {
    const block_facts facts(x, y);
    const std::string block = "(" + std::to_string(x) + "," + std::to_string(y) + ")";
    char line[200];
    if (check(o.shape(x, y)) != dynpar::status::success) {
        require_refusal(m, o, x, y);
        std::snprintf(line, sizeof line, "%-9s %7u  refused: invalid_configuration, and nothing ran", block.c_str(),
                      facts.threads);
        command.say(line);
        return;
    }

    const std::optional<double> time =
        samples::time_flat(m.engine, o.runs, sum_matrix_2d{}, o.shape(x, y), static_cast<const float*>(m.a.data()),
                           static_cast<const float*>(m.b.data()), m.c.data(), o.nx, o.ny);
    if (const unsigned long long wrong = m.count_wrong(); wrong != 0) {
        throw samples::wrong_result("blocks of " + block + ": " + std::to_string(wrong) + " of " +
                                    std::to_string(m.count) + " elements are wrong");
    }
    const auto fit = occupancy_of<Engine>(facts.threads);
    const double bytes = 3.0 * static_cast<double>(m.count) * sizeof(float);
    std::snprintf(
        line, sizeof line, "%-9s %7u %10llu %5u %5u %4u/%-2u %9s %6s %9s %8s %6s  right", block.c_str(), facts.threads,
        o.shape(x, y).blocks.count(), facts.warps, facts.idle_lanes, facts.sectors, facts.fewest_sectors,
        fit ? std::to_string(fit->blocks).c_str() : "-", fit ? number("%.0f %%", fit->share * 100).c_str() : "-",
        time ? number("%.4f", *time).c_str() : "-", time ? number("%.0f", bytes / *time / 1e6).c_str() : "-",
        time && copy_bytes_per_ms ? number("%.0f %%", bytes / *time / *copy_bytes_per_ms * 100).c_str() : "-");
    command.say(line);
}

template <class Engine>
int run(Engine& engine, const options& o, const std::vector<dynpar::dimensions>& blocks,
        const samples::command_line& command) {
    auto m = [&] {
        try {
            return matrices<Engine>(engine, o);
        } catch (const std::exception& e) {
            throw samples::input_error("--nx, --ny: no memory on " + engine.device() + " for three matrices of " +
                                       std::to_string(o.elements()) + " floats (" + e.what() + "); give fewer");
        }
    }();
    const auto copy = time_copy(m, o.runs);
    std::optional<double> copy_bytes_per_ms;
    if (copy) copy_bytes_per_ms = 2.0 * static_cast<double>(m.count) * sizeof(float) / *copy;
    command.say(std::to_string(o.nx) + " x " + std::to_string(o.ny) + " floats" +
                (copy ? "; a copy of a matrix: " + number("%.4f ms, ", *copy) +
                            number("%.0f GB/s read and written", *copy_bytes_per_ms / 1e6)
                      : std::string()));
    char head[200];
    std::snprintf(head, sizeof head, "%-9s %7s %10s %5s %5s %7s %9s %6s %9s %8s %6s", "block", "threads", "blocks",
                  "warps", "idle", "sectors", "blocks/SM", "occup.", "ms", "GB/s", "copy");
    command.say(head);
    for (const dynpar::dimensions& block : blocks) run_shape(m, o, block.x, block.y, copy_bytes_per_ms, command);
    command.say("all right");
    return samples::success;
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "execution_shapes",
        "Adds two matrices in blocks of every shape of the texts. For each: threads, blocks of the grid, warps of a "
        "block, idle lanes in its last warp, 32-byte sectors that a warp's load touches and the fewest that would do; "
        "on a GPU also blocks a multiprocessor holds and the occupancy "
        "(cudaOccupancyMaxActiveBlocksPerMultiprocessor), "
        "time, bandwidth, and its share of a copy's.");
    std::int64_t nx = 512;
    std::int64_t ny = 512;
    std::int64_t runs = 11;
    std::optional<std::int64_t> block_x, block_y;
    command.add_integer("--nx", nx, 1, 16384, "columns of the matrices (the texts: 16384)");
    command.add_integer("--ny", ny, 1, 16384, "rows of the matrices (the texts: 16384)");
    command.add_integer("--block-x", block_x, 1, 4096, "one block shape: threads along x", "all shapes");
    command.add_integer("--block-y", block_y, 1, 4096, "one block shape: threads along y", "all shapes");
    command.add_integer("--runs", runs, 1, 10000, "runs of each shape on a GPU; the time shown is their median");
    if (const auto status = command.parse(argc, argv)) return *status;

    try {
        if (block_x.has_value() != block_y.has_value()) {
            throw samples::input_error("--block-x and --block-y go together; give both or neither");
        }
        std::vector<dynpar::dimensions> blocks;
        if (block_x) {
            blocks.push_back({*block_x, *block_y});
        } else {
            for (const auto& block : block_shapes) blocks.push_back({block[0], block[1]});
        }
        const options o{static_cast<unsigned>(nx), static_cast<unsigned>(ny), static_cast<unsigned>(runs)};
        return samples::with_engine(
            command, [&](auto& engine) { return run(engine, o, blocks, command); }, samples::built_for_ordinary_grids);
    } catch (...) {
        return command.explain_exception();
    }
}
