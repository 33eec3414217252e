// The sum of floats on the CPU by recursive halving, in C++ without any engine: the texts' fifth exercise.
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "../command_line.hpp"
#include "../reduction_ladder/ladder.hpp"

namespace {

namespace ladder = reduction_ladder;

/// Interleaved pairs in place: the first half takes in the second. As published, of an odd number the last is lost;
/// here it stays where it is and is halved with the rest.
float recursive_reduce(float* data, std::size_t size) {
    if (size == 1) return data[0];
    const std::size_t stride = (size + 1) / 2;
    for (std::size_t i = 0; i + stride < size; ++i) data[i] += data[i + stride];
    return recursive_reduce(data, stride);
}

/// One after another, for comparison: the error grows with the number of the additions, not with its logarithm.
float add_in_order(const std::vector<float>& numbers) {
    float sum = 0.0f;
    for (const float number : numbers) sum += number;
    return sum;
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "recursive_reduce_cpu",
        "Adds floats on the CPU by recursive halving, and compares the sum with a compensated "
        "one. Runs no kernels: the engine does not matter.");
    std::int64_t elements = 1 << 24;
    command.add_integer("--elements", elements, 1, 1 << 28, "how many floats");
    if (const auto status = command.parse(argc, argv)) return *status;

    try {
        const auto count = static_cast<std::size_t>(elements);
        std::vector<float> numbers = ladder::make_numbers<float>(count);
        const ladder::reference<float> reference = ladder::reference_sum(numbers);

        auto begin = std::chrono::steady_clock::now();
        const float in_order = add_in_order(numbers);
        const double in_order_ms = milliseconds_since(begin);
        begin = std::chrono::steady_clock::now();
        const float halved = recursive_reduce(numbers.data(), count);  // overwrites the numbers
        const double halved_ms = milliseconds_since(begin);

        const double additions = std::ceil(std::log2(static_cast<double>(count)));
        const double bound = ladder::error_bound(reference, additions);
        double error = 0;
        const bool right = ladder::is_right<float>(static_cast<double>(halved), reference, bound, error);
        char line[200];
        std::snprintf(line, sizeof line, "%zu floats; their sum, compensated: %.3f", count, reference.sum);
        command.say(line);
        std::snprintf(line, sizeof line, "by recursive halving: %.3f, error %.3g (bound %.3g), %.3f ms", halved, error,
                      bound, halved_ms);
        command.say(line);
        std::snprintf(line, sizeof line, "one after another:    %.3f, error %.3g, %.3f ms", in_order,
                      std::fabs(in_order - reference.sum), in_order_ms);
        command.say(line);
        if (!right) throw samples::wrong_result("the error of the sum by halving is over its bound");
        command.say("all right");
        return samples::success;
    } catch (...) {
        return command.explain_exception();
    }
}
