// What the reductions are judged by: the reference, the bound, the launch's shape.
#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "../../samples/reduction_ladder/ladder.hpp"

namespace ladder = reduction_ladder;

TEST_CASE("the reference of floats keeps what each addition rounds away") {
    // In plain double the 1 is lost beside 10^30.
    CHECK(ladder::reference_sum(std::vector<float>{1e30f, 1.0f, -1e30f}).sum == 1.0);
    CHECK(ladder::reference_sum(std::vector<float>{1.0f, 1e30f, -1e30f}).sum == 1.0);
    CHECK(ladder::reference_sum(std::vector<float>{-2.0f, 0.5f}).magnitude == 2.5);
}

TEST_CASE("the reference of ints does not overflow") {
    const std::vector<int> numbers(4, std::numeric_limits<int>::max());
    CHECK(ladder::reference_sum(numbers).sum == 4LL * std::numeric_limits<int>::max());
}

TEST_CASE("a sum of ints is right if it is exact, one of floats within the bound") {
    double error = 0;
    const ladder::reference<int> seven{7, 0};
    CHECK(ladder::is_right<int>(7, seven, ladder::error_bound(seven, 20), error));
    CHECK_FALSE(ladder::is_right<int>(8, seven, ladder::error_bound(seven, 20), error));
    CHECK(error == 1);

    const std::vector<float> numbers = ladder::make_numbers<float>(65537);
    const ladder::reference<float> reference = ladder::reference_sum(numbers);
    const double bound = ladder::error_bound(reference, ladder::additions_of<ladder::unrolling<8>>(512));
    CHECK(bound == doctest::Approx(17 * std::ldexp(1.0, -24) * reference.magnitude).epsilon(1e-4));
    CHECK(ladder::is_right<float>(reference.sum + 0.9 * bound, reference, bound, error));
    CHECK_FALSE(ladder::is_right<float>(reference.sum - 1.1 * bound, reference, bound, error));
    CHECK_FALSE(ladder::is_right<float>(std::nan(""), reference, bound, error));
    // A number that a kernel leaves out is seen.
    CHECK_FALSE(ladder::is_right<float>(reference.sum - 0.5, reference, bound, error));
}

TEST_CASE("the numbers' sum fits an int, however many there are") {
    for (const std::size_t count : {1u, 1000u, 1u << 20, 1u << 24}) {
        const ladder::reference<int> reference = ladder::reference_sum(ladder::make_numbers<int>(count));
        CHECK(reference.sum > 0);
        CHECK(reference.sum <= std::numeric_limits<int>::max());
    }
}

TEST_CASE("a ladder's launch has a block for every number and none without") {
    CHECK(ladder::shape_for<ladder::neighbored, int>(512, 512) == dynpar::shape(1, 512));
    CHECK(ladder::shape_for<ladder::neighbored, int>(513, 512) == dynpar::shape(2, 512));
    CHECK(ladder::shape_for<ladder::coarsened<8>, float>(8193, 512) == dynpar::shape(2, 512, 2048));
    CHECK(ladder::shape_for<ladder::unrolling<16>, int>(1u << 28, 512) == dynpar::shape(32768, 512));
    CHECK(ladder::shape_for<ladder::neighbored, int>(1, 64) == dynpar::shape(1, 64));
}
