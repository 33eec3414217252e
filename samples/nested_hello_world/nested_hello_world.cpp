// Grids that launch grids, and greet: the first program of every text on dynamic parallelism, in its published forms.
#include <algorithm>
#include <climits>
#include <cstdint>
#include <optional>
#include <string>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"

namespace {

using counter = unsigned long long;

/// Every thread greets; then the first thread of each block launches a child grid of one block with half the threads,
/// until one thread is left. However many blocks the first grid has, a child always has one: two blocks grow two chains
/// of children.
struct nested_hello_world {
    static constexpr const char* name = "nested_hello_world";

    unsigned max_depth;  ///< a grid as deep as this launches no child
    counter* greetings;  ///< how many there were, in the engine's memory

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned size) const {
        dynpar::print(block, "Recursion=%u: Hello World from thread %u block %u\n", block.depth(), block.thread_rank(),
                      block.block_rank());
        dynpar::atomic_add(greetings, 1);

        if (size == 1 || block.depth() >= max_depth) return;
        const unsigned half = size / 2;
        if (block.thread_rank() == 0) {
            block.launch(*this, dynpar::shape(1, half), half);
            dynpar::print(block, "-------> nested execution depth: %u\n", block.depth() + 1);
        }
    }
};

/// The other way to halve: blocks keep their number of threads and a grid has half as many blocks as its parent. Only
/// the first thread of the first block launches, so that there is one chain of children with many blocks each. Stops at
/// `minimum` threads.
struct nested_hello_world_many_blocks {
    static constexpr const char* name = "nested_hello_world_many_blocks";

    unsigned minimum;
    unsigned max_depth;
    counter* greetings;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned size) const {
        const unsigned rank = dynpar::this_grid(block).thread_rank();
        dynpar::print(block, "Recursion=%u: Hello World from thread %u\n", block.depth(), rank);
        dynpar::atomic_add(greetings, 1);

        if (size == minimum || block.depth() >= max_depth) return;
        const unsigned half = size / 2;
        if (rank == 0 && half > 0) {
            // Rounded up to whole blocks: the threads of the last block beyond `half` greet as well.
            const unsigned blocks = (half + block.num_threads() - 1) / block.num_threads();
            block.launch(*this, dynpar::shape(blocks, block.num_threads()), half);
            dynpar::print(block, "-------> nested execution depth: %u\n", block.depth() + 1);
        }
    }
};

enum class form { one_block, two_blocks, many_blocks };

struct options {
    form children = form::one_block;
    unsigned blocks = 1;   ///< of the first grid
    unsigned threads = 8;  ///< of a block of the first grid
    unsigned minimum = 1;  ///< many_blocks: the recursion stops at this many threads
    unsigned max_depth = UINT_MAX;

    /// What the recursion halves: the threads of a block, or with many_blocks those of the grid.
    unsigned first_size() const { return children == form::many_blocks ? blocks * threads : threads; }
};

/// What can be counted of a run.
struct counts {
    counter grids = 0;
    counter greetings = 0;
    counter deepest = 0;  ///< nesting depth
};

std::string to_string(const counts& c) {
    return std::to_string(c.grids) + " grids, " + std::to_string(c.greetings) + " greetings, nesting depth " +
           std::to_string(c.deepest);
}

/// What must come out: the same recursion on the CPU, a call for each grid.
void count_grids(counts& total, const options& o, unsigned blocks, unsigned threads, unsigned size,
                 unsigned depth = 0) {
    total.grids += 1;
    total.greetings += counter{blocks} * threads;
    total.deepest = std::max<counter>(total.deepest, depth);
    if (depth >= o.max_depth || size == 1) return;
    const unsigned half = size / 2;
    if (o.children != form::many_blocks) {
        for (unsigned i = 0; i < blocks; ++i) count_grids(total, o, 1, half, half, depth + 1);
    } else if (size != o.minimum) {
        count_grids(total, o, (half + threads - 1) / threads, threads, half, depth + 1);
    }
}

/// Runs the form that is asked for on `engine`. Throws what `engine.run` throws, and `wrong_result` if a grid or a
/// greeting is missing or one too many.
template <class Engine>
void greet(Engine& engine, const options& o, const samples::command_line& command) {
    auto greetings = engine.template make_buffer<counter>({0});

    command.say("Execution Configuration: grid " + std::to_string(o.blocks) + " block " + std::to_string(o.threads));
    const nested_hello_world halve_threads{o.max_depth, greetings.data()};
    const nested_hello_world_many_blocks halve_blocks{o.minimum, o.max_depth, greetings.data()};
    const dynpar::shape first(o.blocks, o.threads);
    const dynpar::report report = o.children == form::many_blocks ? engine.run(halve_blocks, first, o.first_size())
                                                                  : engine.run(halve_threads, first, o.first_size());

    const counts counted{report.grids, greetings.value(), report.deepest_nesting};
    counts expected;
    count_grids(expected, o, o.blocks, o.threads, o.first_size());
    if (to_string(counted) != to_string(expected)) {
        throw samples::wrong_result(to_string(counted) + "; the CPU expects " + to_string(expected));
    }
    command.say(to_string(counted) + ": right");
    command.show_tree(report);
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command(
        "nested_hello_world",
        "Grids launch grids, and every thread greets. With one-block and two-blocks every block launches a child of "
        "one block with half its threads; with many-blocks a grid launches one child with half its blocks.");
    std::string form_name = "one-block";
    std::int64_t threads = 8;
    std::optional<std::int64_t> blocks, minimum, max_depth;
    command.add_choice("--form", form_name, {"one-block", "two-blocks", "many-blocks"}, "which recursion");
    command.add_integer("--threads", threads, 1, dynpar::bounds::block_threads, "threads of a block of the first grid");
    command.add_integer("--blocks", blocks, 1, 65535, "blocks of the first grid", "1, 2 or 8, by the form");
    command.add_integer("--minimum", minimum, 1, UINT_MAX, "many-blocks: at how many threads to stop",
                        "as many as --blocks");
    command.add_integer("--max-depth", max_depth, 0, UINT_MAX, "the nesting depth at which to stop", "no limit");
    if (const auto status = command.parse(argc, argv)) return *status;

    try {
        options o;
        o.children = form_name == "many-blocks"  ? form::many_blocks
                     : form_name == "two-blocks" ? form::two_blocks
                                                 : form::one_block;
        if (minimum && o.children != form::many_blocks) {
            throw samples::input_error("--minimum: --form " + form_name +
                                       " stops at 1 thread; give --form many-blocks with it");
        }
        const std::int64_t usual_blocks = o.children == form::many_blocks ? 8 : o.children == form::two_blocks ? 2 : 1;
        o.blocks = static_cast<unsigned>(blocks.value_or(usual_blocks));
        o.threads = static_cast<unsigned>(threads);
        o.minimum = static_cast<unsigned>(minimum.value_or(o.blocks));
        o.max_depth = static_cast<unsigned>(max_depth.value_or(UINT_MAX));

        return samples::with_engine(command, [&](auto& engine) {
            greet(engine, o, command);
            return samples::success;
        });
    } catch (...) {
        return command.explain_exception();
    }
}
