// Programs of many kernels, each run as if it were the program's first: worker blocks find out where kernels are
// entered while others begin with what is known of them so far.
#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "small_programs.hpp"

namespace {

using namespace small_programs;
namespace queue = dynpar::detail::queue;

constexpr unsigned kernels = 16;  // two more than a worker block keeps
using numbers = std::make_integer_sequence<unsigned, kernels>;

struct kernel_counts {
    u64 ran[kernels], launched[kernels];
};

template <unsigned Number>
struct one_of_them {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, kernel_counts* counts, unsigned seed, unsigned level) const {
        if (block.thread_rank() != drawn(seed, 0) % block.num_threads()) return;
        dynpar::atomic_add(&counts->ran[Number], u64{1});
        if (level == 0) return;
        for (unsigned i = 0; i < 1 + drawn(seed, 1) % 4; ++i) {
            const unsigned child = drawn(seed, 2 + i);
            launch_number(block, child % kernels, counts, child, level - 1, numbers());
        }
    }

private:
    template <class Block, unsigned... All>
    static DYNPAR_FUNCTION void launch_number(Block& block, unsigned number, kernel_counts* counts, unsigned seed,
                                              unsigned level, std::integer_sequence<unsigned, All...>) {
        const int threads[] = {1, 1, 32, 64};
        const dynpar::shape s(1, threads[drawn(seed, 9) % 4]);
        dynpar::atomic_add(&counts->launched[number], u64{1});
        ((number == All ? block.launch(one_of_them<All>{}, s, counts, seed, level) : dynpar::status::success), ...);
    }
};

TEST_CASE("each grid is of its kernel, whichever become known while worker blocks begin") {
    const other_settings keep;
    simulated_gpu::settings& settings = simulated_gpu::current_settings();
    for (unsigned seed = 0; seed < 400; ++seed) {
        CAPTURE(seed);
        settings.seed = seed;
        const unsigned passes[] = {1, 2, 3, 7, 30, 0};
        settings.passes_per_switch = passes[seed % 6];
        settings.multiprocessors = 1 + drawn(seed, 2) % 8;
        settings.blocks_in_any_order = drawn(seed, 3) % 2 == 0;
        dynpar::queue_engine engine = engine_of(64 << drawn(seed, 4) % 2, 1 + drawn(seed, 5) % 7);
        queue::kernels_of<queue::this_module> = {};
        auto counts = filled(engine, 1, kernel_counts{});
        engine.run(one_of_them<0>{}, dynpar::shape(4, 1), counts.data(), seed, 3u);
        const kernel_counts found = counts.to_vector()[0];
        for (unsigned number = 0; number < kernels; ++number) {
            CAPTURE(number);
            CHECK(found.ran[number] == found.launched[number] + (number == 0 ? 4 : 0));
        }
    }
}

}  // namespace
