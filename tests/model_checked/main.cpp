// The main function of the tests under the model checker.
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#include "../run_tests.hpp"

int main(int argc, char** argv) { return testing::run_tests(argc, argv); }
