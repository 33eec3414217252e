#include "../run_tests.hpp"

int main(int argc, char** argv) { return testing::run_tests(argc, argv); }
