// The adaptive grid, on the host engine against the CPU and against what is known of it.
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "../../samples/adaptive_grid/kernels.hpp"

namespace {

using namespace adaptive_grid;

// A problem with its image.
struct posed {
    std::vector<vortex> vortices;
    std::vector<float> values;
    std::vector<unsigned char> levels;
    problem of{};

    posed(unsigned count, unsigned level, double tolerance, double thickness = 0.02)
        : vortices(draw_vortices(count, 3)), values(std::size_t{1} << 2 * level), levels(values.size(), 0xff) {
        of = {vortices.data(), count, 0.35, thickness, tolerance, level, values.data(), levels.data()};
    }
    posed(const posed&) = delete;
};

}  // namespace

TEST_CASE("an adaptive grid is the CPU's, cell by cell and bit by bit, and so is its error") {
    for (const unsigned threads : {1u, 32u}) {
        dynpar::host_options options;
        options.moldable_threads = threads;
        dynpar::host_engine engine(options);
        for (const double tolerance : {0.3, 0.01, 1e-9}) {
            posed here(20, 7, tolerance);
            posed there(20, 7, tolerance);
            const summary expected = refine_on_cpu(here.of);
            const summary found = engine.call(begin{&there.of});
            CHECK(found.leaves == expected.leaves);
            CHECK(found.level == expected.level);
            CHECK(found.error == expected.error);
            CHECK(there.values == here.values);
            CHECK(there.levels == here.levels);
        }
    }
}

TEST_CASE("the leaves of an adaptive grid cover its image, each pixel once, and no deeper than they may") {
    for (const double tolerance : {0.3, 0.01, 1e-9}) {
        posed p(20, 7, tolerance);
        const summary found = refine_on_cpu(p.of);
        double leaves = 0;
        unsigned deepest = 0;
        for (const unsigned char level : p.levels) {
            REQUIRE(level >= first_level);
            REQUIRE(level <= 7);
            leaves += 1.0 / (1u << 2 * (7 - level));
            deepest = level > deepest ? level : deepest;
        }
        CHECK(leaves == found.leaves);
        CHECK(deepest == found.level);
    }
}

TEST_CASE("an adaptive grid is fine where its field is steep, and nowhere where it is not") {
    posed flat(0, 8, 0.01, 1e6);
    const summary coarse = refine_on_cpu(flat.of);
    CHECK(coarse.leaves == 1u << 2 * first_level);
    CHECK(coarse.error < 1e-6);

    posed front(0, 8, 0.01);
    const summary fine = refine_on_cpu(front.of);
    CHECK(fine.level == 8);
    CHECK(fine.leaves < (1u << 16) / 4);
    const auto level_at = [&](double x, double y) {
        return front.levels[static_cast<std::size_t>(y * 256) * 256 + static_cast<std::size_t>(x * 256)];
    };
    CHECK(level_at(0.35, 0.001) > first_level + 2);
    CHECK(level_at(0.95, 0.5) == first_level);
}

TEST_CASE("a smaller tolerance makes more cells and a smaller error") {
    double error = 1e9;
    unsigned leaves = 0;
    for (const double tolerance : {0.1, 0.01, 0.001}) {
        posed p(10, 8, tolerance);
        const summary found = refine_on_cpu(p.of);
        const difference d = difference_of(p.values, exact_values(p.of));
        CHECK(found.leaves > leaves);
        CHECK(d.root_mean_square < error);
        CHECK(d.root_mean_square <= d.most);
        error = d.root_mean_square;
        leaves = found.leaves;
    }
}
