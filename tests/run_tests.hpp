// The main function of every test program. Included by exactly one file of each.
#pragma once

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <string_view>

namespace testing {

/// ctest shows a test that exits with this as skipped (SKIP_RETURN_CODE).
inline constexpr int exit_skipped = 77;

/// How many test cases the filters on the command line have let through.
inline unsigned selected_cases = 0;

/// Takes note of `selected_cases`.
struct case_counter : doctest::IReporter {
    explicit case_counter(const doctest::ContextOptions&) {}
    void report_query(const doctest::QueryData&) override {}
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats& run) override { selected_cases = run.numTestCasesPassingFilters; }
    void test_case_start(const doctest::TestCaseData&) override {}
    void test_case_reenter(const doctest::TestCaseData&) override {}
    void test_case_end(const doctest::CurrentTestCaseStats&) override {}
    void test_case_exception(const doctest::TestCaseException&) override {}
    void subcase_start(const doctest::SubcaseSignature&) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData&) override {}
    void log_message(const doctest::MessageData&) override {}
    void test_case_skipped(const doctest::TestCaseData&) override {}
};
REGISTER_LISTENER("case_counter", 1, case_counter);

/// Whether the command line asks what there is (`--list-test-cases`, `--help`), rather than for a run.
inline bool is_query(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        for (const std::string_view query :
             {"--list-", "--dt-list-", "--help", "--version", "--count", "-h", "-v", "-c", "-l"})
            if (argument.substr(0, query.size()) == query) return true;
    }
    return false;
}

/// Runs what the command line selects. A selection that matches nothing is a failure: doctest itself calls that a
/// success, and a test that is never run would look as if it passed.
inline int run_tests(int argc, char** argv) {
    doctest::Context context(argc, argv);
    const int result = context.run();
    if (!context.shouldExit() && selected_cases == 0) {
        std::fprintf(stderr, "no test case matches the command line\n");
        return 1;
    }
    return result;
}

}  // namespace testing
