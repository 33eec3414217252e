// Places in device code are what the compiler says they are: checked while it compiles.
#include <dynpar/launch.cuh>

#include <doctest/doctest.h>

#include <cstddef>

namespace {

__host__ __device__ constexpr bool same_file(const char* a, const char* b) {
    while (*a != '\0' && *a == *b) ++a, ++b;
    return *a == *b;
}

__global__ void places() {
    constexpr dynpar::launch_configuration here(1, 32);
    static_assert(here.place.line == __LINE__ - 1, "a configuration knows its line");
    static_assert(same_file(here.place.file, __FILE__), "and its file");
    constexpr dynpar::launch_configuration wide({4, 4}, std::size_t{256}, 1024);
    static_assert(wide.place.line == __LINE__ - 1, "also with sizes of other types");
    constexpr dynpar::source_place place = DYNPAR_HERE;
    static_assert(place.line == __LINE__ - 1, "as does a place by itself");
}

TEST_CASE("a launch configuration knows where it was written") {
    static_cast<void>(&places);  // checked by the compiler
    const dynpar::launch_configuration here(1, 32);
    CHECK(here.place.line == __LINE__ - 1);
    CHECK(same_file(here.place.file, __FILE__));
    const dynpar::launch_configuration wide({4, 4}, std::size_t{256}, 1024);
    CHECK(wide.place.line == __LINE__ - 1);
    try {
        dynpar::check(cudaErrorInvalidValue, "nothing");
        FAIL("no exception");
    } catch (const dynpar::cuda_error& error) {
        CHECK(error.place().line == __LINE__ - 3);
        CHECK(same_file(error.place().file, __FILE__));
    }
}

}  // namespace
