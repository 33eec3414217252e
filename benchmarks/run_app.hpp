// run_benchmark() for benchmarks whose options CLI11 parses.
#pragma once

#include <stdexcept>
#include <string>

#include <CLI/CLI.hpp>

#include "run_benchmark.hpp"

namespace benchmarks {

/// Its options lie where `app` puts them.
struct options_of_app {};

/// `run(command)` returns the exit status; see run_benchmark().
template <class Run>
int run_app(CLI::App& app, int argc, char** argv, Run run) {
    const std::string name = app.get_name(), usage = app.help();
    const auto parse = [&app](int count, char** arguments, options_of_app&) {
        try {
            app.parse(count, arguments);
        } catch (const CLI::CallForHelp&) {
            return false;
        } catch (const CLI::ParseError& error) {
            throw std::invalid_argument(std::string(error.what()) + "; see --help");
        }
        return true;
    };
    return run_benchmark<options_of_app>(
        name.c_str(), usage.c_str(), argc, argv, parse,
        [&run](const options_of_app&, const std::string& command) { return run(command); });
}

}  // namespace benchmarks
