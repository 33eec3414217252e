// The recursive sums of the books on dynamic parallelism, as published and as they should be: wait() against then().
//
// Every block adds up as many numbers as it has threads: the first half of them adds the second half to its own, and
// the sum of that half is left to a child grid. The block's sum comes out of the last child, of two numbers.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"

namespace {

using namespace recursive_reduction;

enum class variant { sync, then, nosync, reduce2, reduce2_tail, moldable, reduce2_moldable, cutoff };

constexpr variant all_variants[] = {
    variant::sync,         variant::then,     variant::nosync,           variant::reduce2,
    variant::reduce2_tail, variant::moldable, variant::reduce2_moldable, variant::cutoff};

const char* to_string(variant v) {
    constexpr const char* names[] = {"sync",         "then",     "nosync",           "reduce2",
                                     "reduce2-tail", "moldable", "reduce2-moldable", "cutoff"};
    return names[static_cast<int>(v)];
}

/// How many grids the sum with a cut-off takes that begins with a grid of `blocks`.
std::uint64_t count_grids_with_cutoff(unsigned count, unsigned blocks, unsigned cutoff) {
    const unsigned part = recursive_reduce_cutoff::part_of(count, blocks);
    std::uint64_t grids = 1;
    for (std::size_t first = 0; first < count; first += part) {
        const unsigned here = std::min(part, static_cast<unsigned>(count - first));
        if (here > cutoff) {
            grids += count_grids_with_cutoff(here, recursive_reduce_cutoff::shape_for(here, cutoff).blocks.x, cutoff);
        }
    }
    return grids;
}

/// How many grids a variant takes. All but the last halve until a block has two numbers left.
std::uint64_t count_grids(variant v, unsigned blocks, unsigned block_size, unsigned cutoff) {
    if (v == variant::cutoff) return count_grids_with_cutoff(blocks * block_size, 1, cutoff);
    std::uint64_t levels = 0;
    for (unsigned size = block_size; size >= 2; size /= 2) ++levels;
    if (v == variant::reduce2 || v == variant::reduce2_tail || v == variant::reduce2_moldable) return levels;
    const std::uint64_t first_and_children = 1 + blocks * (levels - 1);
    return v == variant::then ? first_and_children + 1 : first_and_children;
}

/// The numbers to add up: 0 to 15, so that no sum of a block's ints overflows, and the same in every run.
std::vector<int> make_numbers(std::size_t count) {
    std::mt19937 random;
    std::vector<int> numbers(count);
    for (int& number : numbers) number = static_cast<int>(random() >> 28);
    return numbers;
}

struct result {
    dynpar::report report;
    long long sum;
    double milliseconds;  ///< of the run without copies, by the host's clock
};

/// Adds up the same numbers by any variant.
template <class Engine>
class reduction {
public:
    /// Takes the memory that all variants need. `numbers` must live as long as this.
    reduction(Engine& engine, const std::vector<int>& numbers, unsigned block_size, unsigned cutoff)
        : engine_(engine),
          numbers_(numbers),
          block_size_(block_size),
          cutoff_(cutoff),
          blocks_(static_cast<unsigned>(numbers.size() / block_size)),
          data_(engine.template make_buffer<int>(numbers.size())),
          sums_(engine.template make_buffer<int>(blocks_)),
          total_(engine.template make_buffer<long long>(1)) {}

    /// Throws what `engine.run` throws: `launch_error` if a launch was lost, and then there is no sum.
    result run(variant v) {
        data_.copy_from(numbers_.data());                       // every time: the kernels add in place
        sums_.copy_from(std::vector<int>(blocks_, -1).data());  // so that a sum that no kernel writes is none
        total_.copy_from(std::vector<long long>(1, 0).data());

        dynpar::report report = run_kernel(v);
        const double milliseconds = engine_.milliseconds();
        const bool in_total = v == variant::then || v == variant::cutoff;
        return {std::move(report), in_total ? total_.value() : add_up_on_host(), milliseconds};
    }

private:
    dynpar::report run_kernel(variant v) {
        const dynpar::shape thread_a_number(blocks_, block_size_);
        const dynpar::shape thread_a_pair(blocks_, block_size_ / 2);
        const dynpar::shape any_width(blocks_, dynpar::at_most(block_size_ / 2));
        int* const data = data_.data();
        int* const sums = sums_.data();
        switch (v) {
            case variant::sync: return engine_.run(recursive_reduce_sync{}, thread_a_number, data, sums, block_size_);
            case variant::then:
                return engine_.run(recursive_reduce_then{}, thread_a_number, data, sums, block_size_, total_.data());
            case variant::nosync:
                return engine_.run(recursive_reduce_nosync{}, thread_a_number, data, sums, block_size_);
            case variant::reduce2:
                return engine_.run(recursive_reduce2{}, thread_a_pair, data, sums, block_size_ / 2, block_size_);
            case variant::reduce2_tail:
                return engine_.run(recursive_reduce2_tail{}, thread_a_pair, data, sums, block_size_ / 2, block_size_);
            case variant::moldable: return engine_.run(recursive_reduce_moldable{}, any_width, data, sums, block_size_);
            case variant::reduce2_moldable:
                return engine_.run(recursive_reduce2_moldable{}, any_width, data, sums, block_size_ / 2, block_size_);
            case variant::cutoff: break;
        }
        // One block to begin with, which has all numbers.
        dynpar::shape one = recursive_reduce_cutoff::shape_for(1, cutoff_);
        return engine_.run(recursive_reduce_cutoff{}, one, static_cast<const int*>(data),
                           static_cast<unsigned>(numbers_.size()), cutoff_, total_.data());
    }

    long long add_up_on_host() const {
        long long total = 0;
        for (int sum : sums_.to_vector()) total += sum;
        return total;
    }

    Engine& engine_;
    const std::vector<int>& numbers_;
    unsigned block_size_;
    unsigned cutoff_;
    unsigned blocks_;
    dynpar::buffer<int> data_;
    dynpar::buffer<int> sums_;
    dynpar::buffer<long long> total_;
};

/// What `allocate` returns. If it throws, there is no memory on `device` for so many elements.
template <class Allocate>
auto with_memory(const std::string& device, std::size_t elements, Allocate allocate) {
    try {
        return allocate();
    } catch (const std::exception& e) {
        throw samples::input_error("--elements: no memory on " + device + " for " + std::to_string(elements) +
                                   " integers of " + std::to_string(sizeof(int)) + " bytes (" + e.what() +
                                   "); give fewer");
    }
}

/// Whether all that went wrong is that the engine cannot do what the variant needs.
bool is_not_supported(const dynpar::report& report) {
    std::uint64_t not_supported = 0;
    for (const dynpar::failure& f : report.failures) {
        if (f.status == dynpar::status::not_supported) not_supported += f.count;
    }
    return not_supported != 0 && not_supported == report.failed_calls;
}

/// Adds up by each of the variants on `engine` and prints a line for each, and for each that lost launches what was
/// lost. The status to end with; throws `wrong_result` if anything was not as the CPU has it. What the engine cannot do
/// is no error where it is one variant of several, nor is the sum of a variant that has an order missing: it is shown
/// as it is.
template <class Engine>
int reduce(Engine& engine, const std::vector<variant>& variants, std::size_t elements, unsigned block_size,
           unsigned cutoff, const samples::command_line& command) {
    const std::vector<int> numbers = with_memory("CPU", elements, [&] { return make_numbers(elements); });
    auto on_engine =
        with_memory(engine.device(), elements, [&] { return reduction<Engine>(engine, numbers, block_size, cutoff); });
    const unsigned blocks = static_cast<unsigned>(elements / block_size);
    long long expected = 0;
    for (int number : numbers) expected += number;

    command.say(std::to_string(elements) + " elements, " + std::to_string(blocks) + " blocks of " +
                std::to_string(block_size) + "; the CPU's sum: " + std::to_string(expected));
    int status = samples::success;
    std::string wrong;
    for (const variant v : variants) {
        try {
            const result r = on_engine.run(v);
            const std::uint64_t expected_grids = count_grids(v, blocks, block_size, cutoff);
            const bool right = r.sum == expected && r.report.grids == expected_grids;
            const bool may_be_wrong = v == variant::reduce2 && variants.size() > 1 && r.report.grids == expected_grids;
            char line[160];
            std::snprintf(line, sizeof line, "%-17s  sum %lld in %llu grids: %s  %.3f ms", to_string(v), r.sum,
                          static_cast<unsigned long long>(r.report.grids),
                          right          ? "right"
                          : may_be_wrong ? "wrong, nothing orders its blocks: see reduce2-tail"
                                         : "WRONG",
                          r.milliseconds);
            command.say(line);
            command.show_tree(r.report);
            if (!right && !may_be_wrong) {
                wrong += std::string(wrong.empty() ? "" : "; ") + to_string(v) + ": sum " + std::to_string(r.sum) +
                         " in " + std::to_string(r.report.grids) + " grids, expected " + std::to_string(expected) +
                         " in " + std::to_string(expected_grids);
            }
        } catch (const dynpar::launch_error& e) {
            const dynpar::report& report = e.report();
            if (variants.size() > 1 && is_not_supported(report)) {
                command.say(std::string(to_string(v)) + "  left out: " + dynpar::describe(report.failures.front()) +
                            "; " + dynpar::advice(report.failures.front()));
            } else {
                command.say(std::string(to_string(v)) + "  no sum: " + std::to_string(report.lost_launches) +
                            " launches lost, " + std::to_string(report.failed_calls - report.lost_launches) +
                            " other calls failed");
                status = command.explain_exception(variants.size() > 1 ? to_string(v) : "");
            }
        }
    }
    if (!wrong.empty()) throw samples::wrong_result(wrong);
    return status;
}

/// Throws `input_error` with the two nearest values that would do.
void require_power_of_two(const std::string& option, std::int64_t value) {
    std::int64_t below = 1;
    while (below <= value / 2) below *= 2;
    if (value != below) {
        throw samples::input_error(option + ": " + std::to_string(value) + " is no power of two; give " +
                                   std::to_string(below) + " or " + std::to_string(2 * below));
    }
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "recursive_reduce",
        "Adds up integers by recursive halving: as published (sync, nosync, reduce2), "
        "without a wait (then), with the order that reduce2 lacks (reduce2-tail), with blocks "
        "of any width (moldable, reduce2-moldable), and with a cut-off.");
    std::string name = "all";
    std::int64_t elements = 1 << 20;
    std::int64_t block_size = 512;
    std::int64_t cutoff = 1 << 14;
    command.add_choice(
        "--variant", name,
        {"sync", "then", "nosync", "reduce2", "reduce2-tail", "moldable", "reduce2-moldable", "cutoff", "all"},
        "which kernel adds");
    command.add_integer("--elements", elements, 2, 1 << 28, "how many integers: a power of two, at least --block-size");
    command.add_integer("--block-size", block_size, 2, dynpar::bounds::block_threads,
                        "how many of them a block adds: a power of two");
    command.add_integer("--cutoff", cutoff, recursive_reduce_cutoff::least_cutoff, 1 << 28,
                        "variant cutoff: as many integers a block adds up without launching");
    if (const auto status = command.parse(argc, argv)) return *status;

    try {
        require_power_of_two("--elements", elements);
        require_power_of_two("--block-size", block_size);
        if (elements < block_size) {
            throw samples::input_error("--elements: " + std::to_string(elements) +
                                       " do not fill a block; give at least " + std::to_string(block_size) +
                                       ", or a smaller --block-size");
        }
        std::vector<variant> variants;
        for (const variant v : all_variants) {
            if (name == "all" || name == to_string(v)) variants.push_back(v);
        }
        return samples::with_engine(command, [&](auto& engine) {
            return reduce(engine, variants, static_cast<std::size_t>(elements), static_cast<unsigned>(block_size),
                          static_cast<unsigned>(cutoff), command);
        });
    } catch (...) {
        return command.explain_exception();
    }
}
