// Nested grids on the host engine, and their tree.
#include <iostream>

#include <dynpar/config.hpp>
#include <dynpar/dynpar.hpp>
#include <dynpar/trace_statistics.hpp>

struct halving {
    static constexpr const char* name = "halving";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned size) const {
        if (size > 1 && block.thread_rank() == 0) block.launch(*this, dynpar::shape(1, size / 2), size / 2);
    }
};

int main() {
    dynpar::host_options options;
    static_cast<dynpar::engine_options&>(options).limits = dynpar::config::load({}).limits();
    options.trace_grids = 100;
    dynpar::host_engine engine(options);
    const dynpar::report report = engine.run(halving{}, dynpar::shape(1, 8), 8u);
    dynpar::print_statistics(std::cout, report.trace);
    return report.trace.grids.size() == 4 ? 0 : 1;
}
