// Runs nested grids on the host engine, and saves their trace in the file of the command line.
#include <dynpar/config.hpp>
#include <dynpar/trace_file.hpp>

#include "../../install/halving.hpp"

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    dynpar::host_options options;
    static_cast<dynpar::engine_options&>(options).limits = dynpar::config::load({}).limits();
    options.trace_grids = 100;
    dynpar::host_engine engine(options);
    auto threads = engine.make_buffer<unsigned long long>(1);
    const auto report = engine.run(halving{threads.data()}, dynpar::shape(1, 8), 8u);
    dynpar::write_trace(argv[1], report.trace);
}
