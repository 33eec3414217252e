// The main function of the tests of the queue engine's parts. A data race is a failure of the test in which it is.
#include "machine.hpp"

// ThreadSanitizer would report what doctest does in a handler of signals.
#define DOCTEST_CONFIG_NO_POSIX_SIGNALS
#include "../run_tests.hpp"

int main(int argc, char** argv) { return testing::run_tests(argc, argv); }
