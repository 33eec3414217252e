// Uses the headers, the configuration and the traces, as pkg-config found them.
#include <cstdio>
#include <cstring>
#include <sstream>

#include <dynpar/config.hpp>
#include <dynpar/trace_file.hpp>
#include <dynpar/version.hpp>

#include "../halving.hpp"

int main() {
    if (std::strcmp(VERSION_OF_PACKAGE, DYNPAR_VERSION_STRING) != 0) return 1;
    dynpar::host_options options;
    static_cast<dynpar::engine_options&>(options).limits = dynpar::config::load({}).limits();
    dynpar::host_engine engine(options);
    std::ostringstream trace;
    dynpar::write_trace(trace, dynpar::trace{}, dynpar::trace_format::chrome_gzip);
    std::printf("%zu bytes of an empty trace\n", trace.str().size());
    return run_halving(engine);
}
