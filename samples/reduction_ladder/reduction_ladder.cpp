// The texts' reductions one after another, on any engine, each compared with the CPU's sum.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "ladder.hpp"

namespace {

namespace ladder = reduction_ladder;

/// What is in a sum that no kernel has written.
template <class T>
constexpr T poison = static_cast<T>(-12345678);

/// Adds up the same numbers by every kernel.
template <class T, class Engine>
class reduction {
public:
    /// Takes the memory that all kernels need. `numbers` must live as long as this.
    reduction(Engine& engine, const std::vector<T>& numbers, unsigned block_size)
        : engine_(engine),
          numbers_(numbers),
          block_size_(block_size),
          data_(engine.template make_buffer<T>(numbers.size())),
          sums_(engine.template make_buffer<T>((numbers.size() + block_size - 1) / block_size)),
          total_(engine.template make_buffer<ladder::total<T>>(1)) {}

    /// Throws what `engine.run` throws.
    template <class Kernel>
    ladder::total<T> run(Kernel kernel) {
        const auto count = static_cast<unsigned>(numbers_.size());
        const dynpar::shape shape = ladder::shape_for<Kernel, T>(count, block_size_);
        data_.copy_from(numbers_.data());  // every time: most kernels add in place
        sums_.copy_from(std::vector<T>(sums_.size(), poison<T>).data());
        engine_.run(kernel, shape, data_.data(), sums_.data(), count);
        engine_.run(ladder::add_sums{}, ladder::shape_for_add_sums<T>(512), sums_.data(),
                    static_cast<unsigned>(shape.blocks.count()), total_.data());
        return total_.value();
    }

private:
    Engine& engine_;
    const std::vector<T>& numbers_;
    unsigned block_size_;
    dynpar::buffer<T> data_;
    dynpar::buffer<T> sums_;
    dynpar::buffer<ladder::total<T>> total_;
};

/// What `allocate` returns. If it throws, there is no memory on `device` for so many elements.
template <class Allocate>
auto with_memory(const std::string& device, std::size_t elements, Allocate allocate) {
    try {
        return allocate();
    } catch (const std::exception& e) {
        throw samples::input_error("--elements: no memory on " + device + " for " + std::to_string(elements) +
                                   " numbers of 4 bytes (" + e.what() + "); give fewer");
    }
}

std::string sum_to_string(long long sum) { return std::to_string(sum); }
std::string sum_to_string(double sum) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3f", sum);
    return text;
}

/// Adds up numbers of type T and prints a line for each kernel. Adds to `wrong` what should have been right.
template <class T, class Engine>
void climb(Engine& engine, const std::string& type, const std::string& only, std::size_t elements, unsigned block_size,
           const samples::command_line& command, std::string& wrong) {
    const std::vector<T> numbers = with_memory("CPU", elements, [&] { return ladder::make_numbers<T>(elements); });
    const ladder::reference<T> reference = ladder::reference_sum(numbers);
    auto on_engine =
        with_memory(engine.device(), elements, [&] { return reduction<T, Engine>(engine, numbers, block_size); });

    command.say(std::to_string(elements) + " " + type + "s, blocks of " + std::to_string(block_size) +
                "; the CPU's sum: " + sum_to_string(reference.sum));
    ladder::visit_kernels(block_size, [&](auto kernel) {
        using Kernel = decltype(kernel);
        if (only != "all" && only != Kernel::name) return;
        const ladder::total<T> sum = on_engine.run(kernel);
        const double bound = ladder::error_bound(reference, ladder::additions_of<Kernel>(block_size));
        double error = 0;
        const bool right = ladder::is_right<T>(sum, reference, bound, error);
        const char* judgement = right && Kernel::as_published ? "right, which nothing promises"
                                : right                       ? "right"
                                : Kernel::as_published        ? "wrong, as published"
                                                              : "WRONG";
        char line[200];
        std::snprintf(line, sizeof line, "%-26s %-6s sum %s  error %.3g (bound %.3g): %s", Kernel::name, type.c_str(),
                      sum_to_string(sum).c_str(), error, bound, judgement);
        command.say(line);
        if (!right && !Kernel::as_published) {
            wrong += std::string(wrong.empty() ? "" : "; ") + Kernel::name + " (" + type + "): sum " +
                     sum_to_string(sum) + ", expected " + sum_to_string(reference.sum);
        }
    });
}

std::vector<std::string> kernel_names() {
    std::vector<std::string> names = {"all"};
    ladder::visit_kernels(512, [&](auto kernel) { names.push_back(decltype(kernel)::name); });
    return names;
}

void require_block_size(std::int64_t value) {
    std::string accepted;
    for (const unsigned size : ladder::block_sizes) {
        if (value == size) return;
        accepted += (accepted.empty() ? "" : size == 1024 ? " or " : ", ") + std::to_string(size);
    }
    throw samples::input_error("--block-size: the kernels know no blocks of " + std::to_string(value) + "; give " +
                               accepted);
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "reduction_ladder",
        "The reductions of the texts on CUDA, from neighboured pairs to coarsened threads: each "
        "as a block kernel that is right for any number of elements, compared with the CPU.");
    std::string kernel = "all";
    std::string type = "both";
    std::int64_t elements = 1 << 20;
    std::int64_t block_size = 512;
    command.add_choice("--kernel", kernel, kernel_names(), "which kernel adds");
    command.add_choice("--type", type, {"int", "float", "both"}, "what is added up");
    command.add_integer("--elements", elements, 1, 1 << 28, "how many numbers");
    command.add_integer("--block-size", block_size, 64, 1024, "threads in a block: 64, 128, 256, 512 or 1024");
    if (const auto status = command.parse(argc, argv)) return *status;

    try {
        require_block_size(block_size);
        return samples::with_engine(command, [&](auto& engine) {
            const auto count = static_cast<std::size_t>(elements);
            const auto threads = static_cast<unsigned>(block_size);
            std::string wrong;
            if (type != "float") climb<int>(engine, "int", kernel, count, threads, command, wrong);
            if (type != "int") climb<float>(engine, "float", kernel, count, threads, command, wrong);
            if (!wrong.empty()) throw samples::wrong_result(wrong);
            return samples::success;
        });
    } catch (...) {
        return command.explain_exception();
    }
}
