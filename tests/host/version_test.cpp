// <dynpar/version.hpp> and the CMake project name the same version.
#include <doctest/doctest.h>
#include <dynpar/version.hpp>

#include <string>

TEST_CASE("the header has the version of the CMake project") {
    const std::string parts = std::to_string(DYNPAR_VERSION_MAJOR) + "." + std::to_string(DYNPAR_VERSION_MINOR) + "." +
                              std::to_string(DYNPAR_VERSION_PATCH);
    CHECK(parts == VERSION_OF_PROJECT);
    CHECK(std::string(DYNPAR_VERSION_STRING) == VERSION_OF_PROJECT);
    CHECK(DYNPAR_VERSION == DYNPAR_VERSION_MAJOR * 10000 + DYNPAR_VERSION_MINOR * 100 + DYNPAR_VERSION_PATCH);
}
