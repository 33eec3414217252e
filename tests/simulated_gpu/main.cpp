// The main function of test programs on the simulated GPU. SIMULATED_GPU_RUNS=<n> repeats all for n seeds.
#include "../run_tests.hpp"

#include <cstdlib>

int main(int argc, char** argv) {
    if (testing::is_query(argc, argv)) return testing::run_tests(argc, argv);
    const char* const runs_text = std::getenv("SIMULATED_GPU_RUNS");
    const unsigned long runs = runs_text != nullptr ? std::strtoul(runs_text, nullptr, 10) : 1;
    for (unsigned long run = 0; run < runs; ++run, ++simulated_gpu::current_settings().seed) {
        std::printf("simulated GPU: %s\n", simulated_gpu::describe_settings().c_str());
        std::fflush(stdout);
        if (const int result = testing::run_tests(argc, argv); result != 0) return result;
    }
    return 0;
}
