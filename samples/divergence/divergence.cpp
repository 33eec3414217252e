// Warp divergence: the texts' kernels, what the compiler makes of them, and branches that do cost what the texts say.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../flat_run.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"

namespace {

constexpr float poison = -1.0f;

struct options {
    unsigned elements = 0;
    unsigned block_size = 0;
    unsigned steps = 0;
    unsigned runs = 0;

    dynpar::shape shape() const { return {(elements + block_size - 1) / block_size, block_size}; }
};

std::string time_to_string(std::optional<double> milliseconds) {
    if (!milliseconds) return "-";
    char text[40];
    std::snprintf(text, sizeof text, "%.2f us", *milliseconds * 1000);
    return text;
}

/// Throws `wrong_result` at the first element that is not what `expected(tid)` says.
template <class Expected>
void require(const char* kernel, const std::vector<float>& c, Expected expected) {
    for (std::size_t tid = 0; tid < c.size(); ++tid) {
        const float right = expected(static_cast<unsigned>(tid));
        if (c[tid] != right) {
            throw samples::wrong_result(std::string(kernel) + ": element " + std::to_string(tid) + " is " +
                                        std::to_string(c[tid]) + "; the CPU has " + std::to_string(right));
        }
    }
}

/// Runs one of the texts' kernels and prints its line.
template <class Kernel, class Engine>
void run_math_kernel(Engine& engine, const options& o, const samples::command_line& command) {
    auto c = engine.template make_buffer<float>(o.elements);
    c.copy_from(std::vector<float>(o.elements, poison).data());
    const auto time = samples::time_flat(engine, o.runs, Kernel{}, o.shape(), c.data(), o.elements);
    require(Kernel::name, c.to_vector(), Kernel::at);
    char line[160];
    const bool as_published = std::is_same_v<Kernel, divergence::math_kernel4_published>;
    std::snprintf(line, sizeof line, "%-26s %-16s %12s  %s", Kernel::name, to_string(o.shape()).c_str(),
                  time_to_string(time).c_str(), as_published ? "200 everywhere: wrong, as published" : "right");
    command.say(line);
}

/// Runs the long branches and prints their line. The time, if there is one.
template <unsigned Granularity, class Engine>
std::optional<double> run_long_branches(Engine& engine, const options& o, const samples::command_line& command) {
    using kernel = divergence::long_branches<Granularity>;
    auto c = engine.template make_buffer<float>(o.elements);
    auto lanes = engine.template make_buffer<unsigned>(o.elements);
    c.copy_from(std::vector<float>(o.elements, poison).data());
    const auto time =
        samples::time_flat(engine, o.runs, kernel{}, o.shape(), c.data(), lanes.data(), o.elements, o.steps);
    const float first = divergence::multiply_and_add(o.steps);
    const float other = divergence::multiply_and_add_integers(o.steps);
    require(kernel::name, c.to_vector(), [&](unsigned tid) { return kernel::first_way(tid) ? first : other; });

    const std::vector<unsigned> together = lanes.to_vector();
    const auto [fewest, most] = std::minmax_element(together.begin(), together.end());
    if (Granularity == 1 && *most > divergence::warp_size / 2) {
        throw samples::wrong_result(std::string(kernel::name) + ": " + std::to_string(*most) +
                                    " lanes went one way; only half of a warp can");
    }
    char line[160];
    std::snprintf(line, sizeof line, "%-26s %-16s %12s  right; lanes together: %s", kernel::name,
                  to_string(o.shape()).c_str(), time_to_string(time).c_str(),
                  !samples::runs_on_gpu<Engine> ? "no warps on this engine"
                  : *fewest == *most            ? std::to_string(*most).c_str()
                                                : (std::to_string(*fewest) + " to " + std::to_string(*most)).c_str());
    command.say(line);
    return time;
}

/// What the texts' warm-up is for: the first launch against the second, by the host's clock as they measured.
template <class Engine>
void show_first_launch(Engine& engine, const options& o, const samples::command_line& command) {
    auto c = engine.template make_buffer<float>(o.elements);
    double microseconds[2];
    for (double& time : microseconds) {
        const auto begin = std::chrono::steady_clock::now();
        samples::run_flat(engine, divergence::warming_up{}, o.shape(), c.data(), o.elements);
        time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
        if constexpr (!samples::runs_on_gpu<Engine>)
            time = engine.milliseconds() * 1000;  // on a GPU no engine is asked
    }
    char line[120];
    std::snprintf(line, sizeof line, "the first launch: %.0f us by the host's clock; the second: %.0f us",
                  microseconds[0], microseconds[1]);
    command.say(line);
}

template <class Engine>
int run(Engine& engine, const options& o, const samples::command_line& command) {
    show_first_launch(engine, o, command);
    run_math_kernel<divergence::warming_up>(engine, o, command);
    run_math_kernel<divergence::math_kernel1>(engine, o, command);
    run_math_kernel<divergence::math_kernel2>(engine, o, command);
    run_math_kernel<divergence::math_kernel3>(engine, o, command);
    run_math_kernel<divergence::math_kernel4_published>(engine, o, command);
    run_math_kernel<divergence::math_kernel4>(engine, o, command);
    const auto by_thread = run_long_branches<1>(engine, o, command);
    const auto by_warp = run_long_branches<divergence::warp_size>(engine, o, command);
    if (by_thread && by_warp) {
        char line[120];
        std::snprintf(line, sizeof line, "long branches of %u steps: by thread takes %.2f times as long as by warp",
                      o.steps, *by_thread / *by_warp);
        command.say(line);
    }
    command.say("all right");
    return samples::success;
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "divergence",
        "Branches inside a warp: the texts' mathKernel1 to 4, and branches long enough that "
        "their divergence can be seen. On a GPU the kernels run as plain __global__ kernels.");
    std::int64_t elements = 1 << 20;
    std::int64_t block_size = 64;
    std::int64_t steps = 1000;
    std::int64_t runs = 21;
    command.add_integer("--elements", elements, 1, 1 << 28, "how many floats to write (the texts: 64)");
    command.add_integer("--block-size", block_size, 1, dynpar::bounds::block_threads, "threads in a block");
    command.add_integer("--steps", steps, 1, 1 << 20, "how long the long branches are");
    command.add_integer("--runs", runs, 1, 10000, "runs of a kernel on a GPU; the time shown is their median");
    if (const auto status = command.parse(argc, argv)) return *status;

    const options o{static_cast<unsigned>(elements), static_cast<unsigned>(block_size), static_cast<unsigned>(steps),
                    static_cast<unsigned>(runs)};
    return samples::with_engine(
        command, [&](auto& engine) { return run(engine, o, command); }, samples::built_for_ordinary_grids);
}
