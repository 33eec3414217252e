// What the mains of the benchmarks have in common: from the command line to the exit status.
#pragma once

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

namespace benchmarks {

/// `parse(argc, argv, options)` is false if only the usage was asked for, and throws `std::invalid_argument` (exit
/// status 2); `run(options, command)` returns the exit status; what else is thrown is exit status 1. `command`: as it
/// was typed, for records.
template <class Options, class Parse, class Run>
int run_benchmark(const char* name, const char* usage, int argc, char** argv, Parse parse, Run run) {
    std::string command;
    for (int i = 0; i < argc; ++i) command += (i == 0 ? "" : " ") + std::string(argv[i]);
    try {
        Options options;
        if (!parse(argc, argv, options)) {
            std::printf("%s", usage);
            return 0;
        }
        return run(options, command);
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "%s: %s\n", name, error.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s: %s\n", name, error.what());
        return 1;
    }
}

}  // namespace benchmarks
