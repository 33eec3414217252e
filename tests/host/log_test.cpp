// The log: its levels, what is written to standard error, and the environment variable DYNPAR_LOG.
#include <dynpar/log.hpp>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

namespace {

using dynpar::log::level;

// DYNPAR_LOG is read once in a process, at the first use of the log. So every case runs this executable anew, and only
// the test of the given name in it. Returns what that wrote to standard error.
std::string standard_error_of(const std::string& test_case, const std::string& environment) {
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    const std::string command =
        environment + " '" + program + "' --no-skip --test-case='" + test_case + "' 2>&1 >/dev/null";
    std::FILE* pipe = popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string text;
    std::array<char, 256> piece{};
    while (std::fgets(piece.data(), static_cast<int>(piece.size()), pipe) != nullptr) text += piece.data();
    CHECK(pclose(pipe) == 0);
    return text;
}

std::string one_line_of_each(const std::string& environment) {
    return standard_error_of("log in a process of its own: one line of each level", environment);
}

const std::string debug_line = "dynpar: debug: finds faults\n";
const std::string info_line = "dynpar: info: may interest\n";
const std::string warn_line = "dynpar: warning: looks wrong\n";
const std::string error_line = "dynpar: error: is wrong\n";

}  // namespace

TEST_CASE("log in a process of its own: one line of each level" * doctest::skip()) {
    dynpar::log::debug("finds faults");
    dynpar::log::info("may interest");
    dynpar::log::warn("looks wrong");
    dynpar::log::error("is wrong");
}

TEST_CASE("log in a process of its own: set_level before anything is written" * doctest::skip()) {
    dynpar::log::set_level(level::info);
    CHECK(dynpar::log::current_level() == level::info);
    dynpar::log::debug("finds faults");
    dynpar::log::info("may interest");
}

TEST_CASE("log in a process of its own: braces and a level that is off" * doctest::skip()) {
    dynpar::log::write(level::error, "{} {0} 100%s");
    dynpar::log::write(level::off, "never written");
}

TEST_CASE("log: level names are read and written alike") {
    for (const level l : {level::debug, level::info, level::warn, level::error, level::off})
        CHECK(dynpar::log::parse_level(dynpar::log::to_string(l)) == l);
    CHECK_FALSE(dynpar::log::parse_level("loud"));
    CHECK_FALSE(dynpar::log::parse_level("Debug"));
    CHECK_FALSE(dynpar::log::parse_level(""));
}

TEST_CASE("log: without DYNPAR_LOG, warnings and errors are written and nothing else") {
    CHECK(one_line_of_each("env -u DYNPAR_LOG") == warn_line + error_line);
    CHECK(one_line_of_each("DYNPAR_LOG=") == warn_line + error_line);
}

TEST_CASE("log: DYNPAR_LOG sets the level at first use") {
    CHECK(one_line_of_each("DYNPAR_LOG=debug") == debug_line + info_line + warn_line + error_line);
    CHECK(one_line_of_each("DYNPAR_LOG=info") == info_line + warn_line + error_line);
    CHECK(one_line_of_each("DYNPAR_LOG=warn") == warn_line + error_line);
    CHECK(one_line_of_each("DYNPAR_LOG=error") == error_line);
    CHECK(one_line_of_each("DYNPAR_LOG=off").empty());
}

TEST_CASE("log: a DYNPAR_LOG that is no level gets one line, and the default") {
    CHECK(one_line_of_each("DYNPAR_LOG=loud") ==
          "dynpar: warning: environment DYNPAR_LOG: \"loud\" is no level; give debug, info, warn, error or off. Using "
          "warn\n" +
              warn_line + error_line);
}

TEST_CASE("log: control characters of DYNPAR_LOG do not reach the terminal") {
    const std::string text = one_line_of_each("DYNPAR_LOG=\"$(printf 'red\\033[31m')\"");
    CHECK(text.find("environment DYNPAR_LOG: \"red\\x1b[31m\" is no level") != std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
}

TEST_CASE("log: set_level beats DYNPAR_LOG") {
    CHECK(standard_error_of("log in a process of its own: set_level before anything is written", "DYNPAR_LOG=debug") ==
          info_line);
    CHECK(standard_error_of("log in a process of its own: set_level before anything is written", "DYNPAR_LOG=off") ==
          info_line);
}

TEST_CASE("log: a message is text, not a format, and nothing is written at level off") {
    CHECK(standard_error_of("log in a process of its own: braces and a level that is off", "env -u DYNPAR_LOG") ==
          "dynpar: error: {} {0} 100%s\n");
}
