#include <dynpar/cuda_error.hpp>
#include <dynpar/device_log.hpp>
#include <dynpar/limits.hpp>

#include "../halving.hpp"

int main() {
    dynpar::host_engine engine;
    if (const int wrong = run_halving(engine)) return wrong;
    try {
        const dynpar::limits limits = dynpar::device_limits();
        dynpar::check_device_launches();
        std::printf("pending launches: %zu\n", limits.pending_launches.value_or(0));
    } catch (const dynpar::cuda_error& e) {
        std::printf("consumer skipped: %s\n", e.what());
    }
    return 0;
}
