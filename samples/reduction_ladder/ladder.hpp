// The ladder: its kernels in the order of the texts, what each needs of a launch, and how exact its sum must be.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "kernels.hpp"

namespace reduction_ladder {

/// The block sizes that the kernels know: those of the template's switch.
constexpr unsigned block_sizes[] = {64, 128, 256, 512, 1024};

/// Calls `visit(kernel)` for each kernel for blocks of `block_size`, one of `block_sizes`.
template <class Visit>
void visit_kernels(unsigned block_size, Visit&& visit) {
    visit(neighbored{});
    visit(neighbored_less{});
    visit(interleaved{});
    visit(unrolling<2>{});
    visit(unrolling<4>{});
    visit(unrolling<8>{});
    visit(unrolling8_pointer{});
    visit(unrolling<16>{});
    visit(unroll_warps8_published{});
    visit(unroll_warps8_syncwarp{});
    visit(unroll_warps8_shuffle{});
    visit(complete_unroll8{});
    visit(complete_unroll8_barriers{});
    switch (block_size) {
        case 1024: visit(complete_unroll8_template<1024>{}); break;
        case 512: visit(complete_unroll8_template<512>{}); break;
        case 256: visit(complete_unroll8_template<256>{}); break;
        case 128: visit(complete_unroll8_template<128>{}); break;
        case 64: visit(complete_unroll8_template<64>{}); break;
    }
    visit(segmented{});
    visit(coalesced{});
    visit(shared_memory{});
    visit(coarsened4_published{});
    visit(coarsened<4>{});
    visit(coarsened<8>{});
    visit(coarsened_vector{});
}

/// The launch of a kernel for `count` numbers of type T, at least one: as many blocks as have something to do.
template <class Kernel, class T>
dynpar::shape shape_for(unsigned count, unsigned block_size) {
    const std::uint64_t of_a_block = std::uint64_t{block_size} * Kernel::per_thread;
    const std::uint64_t blocks = (count + of_a_block - 1) / of_a_block;
    const std::size_t shared_elements = Kernel::shared_fixed + std::size_t{Kernel::shared_per_thread} * block_size;
    return {blocks, block_size, static_cast<unsigned>(shared_elements * sizeof(T))};
}

/// What sums of the blocks' sums are kept in: nothing is rounded away there that counts.
template <class T>
using total = std::conditional_t<std::is_integral_v<T>, long long, double>;

/// The launch of `add_sums`.
template <class T>
dynpar::shape shape_for_add_sums(unsigned threads = 1024) {
    return {1, threads, static_cast<unsigned>(threads * sizeof(total<T>))};
}

/// Numbers to add up, the same in every run. Integers from 0 to 255 as in the texts, fewer where the sum of so many
/// would not fit an int; floats from 0 to 1.
template <class T>
std::vector<T> make_numbers(std::size_t count) {
    std::vector<T> numbers(count);
    std::mt19937 random;
    if constexpr (std::is_integral_v<T>) {
        const std::size_t largest = std::numeric_limits<T>::max() / (count == 0 ? 1 : count);
        const unsigned values = static_cast<unsigned>(largest < 255 ? largest : 255) + 1;
        for (T& number : numbers) number = static_cast<T>(random() % values);
    } else {
        for (T& number : numbers) number = static_cast<T>(random() >> 8) * static_cast<T>(1.0 / (1 << 24));
    }
    return numbers;
}

/// The sum that the kernels are compared with.
template <class T>
struct reference {
    total<T> sum{};
    double magnitude = 0;  ///< the sum of the absolute values, which the error bound is a multiple of
};

/// The exact sum of integers. The sum of floats in double with Neumaier's compensation (Zeitschrift für angewandte
/// Mathematik und Mechanik 54, 1974): what each addition rounds away is added up on its own, and the result is as good
/// as in twice the precision of double.
template <class T>
reference<T> reference_sum(const std::vector<T>& numbers) {
    reference<T> result;
    if constexpr (std::is_integral_v<T>) {
        for (const T number : numbers) result.sum += number;
    } else {
        double sum = 0;
        double lost = 0;
        for (const T number : numbers) {
            const double value = number;
            const double next = sum + value;
            lost += std::fabs(sum) >= std::fabs(value) ? (sum - next) + value : (value - next) + sum;
            sum = next;
            result.magnitude += std::fabs(value);
        }
        result.sum = sum + lost;
    }
    return result;
}

/// How far a sum may be from the reference if no number goes through more than `additions` additions of T: zero for
/// integers. For floats k additions of unit roundoff u make an error of at most k u / (1 - k u) times the sum of the
/// absolute values (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2).
template <class T>
double error_bound(const reference<T>& r, double additions) {
    if constexpr (std::is_integral_v<T>) {
        static_cast<void>(r), static_cast<void>(additions);
        return 0;
    } else {
        const double rounded = additions * std::numeric_limits<T>::epsilon() / 2;
        return rounded / (1 - rounded) * r.magnitude;
    }
}

/// The most additions that a number goes through in a kernel's block: one after another in its thread, then up the
/// tree. The blocks' sums are added in a wider type (`total`), which adds nothing that counts.
template <class Kernel>
double additions_of(unsigned block_size) {
    return Kernel::per_thread - 1 + std::log2(block_size) + 1;
}

/// Whether `sum` is right, with `error` how far it is from the reference. A sum that is no number is wrong.
template <class T>
bool is_right(total<T> sum, const reference<T>& r, double bound, double& error) {
    error = std::fabs(static_cast<double>(sum - r.sum));
    return error <= bound;
}

}  // namespace reduction_ladder
