// The command line that all samples share: dynpar's settings, the sample's own options, the choice of the engine, and
// what becomes of errors. Compiles without CLI11, so that a .cu may include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <dynpar/config.hpp>
#include <dynpar/engine_kind.hpp>
#include <dynpar/engine_options.hpp>
#include <dynpar/report.hpp>

#include "exit_status.hpp"

namespace samples {

/// Thrown by a sample for input that its options alone cannot judge, with one line that says what is wrong and what to
/// do:
/// "--elements 1000 is no power of two; give 512 or 1024".
class input_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown by a sample whose result is not what the CPU computed, with one line that shows both.
class wrong_result : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Thrown where standard output takes no more, a full disk for instance: what a sample has to say would be lost.
class output_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// What is known of the GPU here. Takes the CUDA runtime's word for it; without CUDA in the build there is none.
dynpar::gpu_state probe_gpu();

/// A sample's command line. Use:
///
///     samples::command_line command("recursive_reduce", "Adds integers by recursive halving.");
///     std::int64_t elements = 1 << 20;
///     command.add_integer("--elements", elements, 1, 1 << 28, "how many integers to add");
///     if (const auto status = command.parse(argc, argv)) return *status;
///     return samples::with_engine(command, [&](auto& engine) { ...; return samples::success; });
class command_line {
public:
    /// Both streams must live as long as this; null stands for std::cout and std::cerr.
    command_line(std::string name, std::string description, std::ostream* out = nullptr, std::ostream* err = nullptr);
    ~command_line();
    command_line(const command_line&) = delete;
    command_line& operator=(const command_line&) = delete;

    /// The sample's own options, to be added before `parse`, which writes the variable: it must live until then, and
    /// its value before is the default that --help shows. `name` begins with two dashes.
    void add_integer(const std::string& name, std::int64_t& variable, std::int64_t least, std::int64_t most,
                     const std::string& meaning);
    /// The same where the option has no value unless it is given; `not_given` says for --help what happens then.
    void add_integer(const std::string& name, std::optional<std::int64_t>& variable, std::int64_t least,
                     std::int64_t most, const std::string& meaning, const std::string& not_given);
    void add_choice(const std::string& name, std::string& variable, const std::vector<std::string>& choices,
                    const std::string& meaning);
    void add_flag(const std::string& name, bool& variable, const std::string& meaning);
    /// The name of a file, which is not opened here. `not_given` as above.
    void add_file(const std::string& name, std::optional<std::string>& variable, const std::string& meaning,
                  const std::string& not_given);

    /// Reads the command line and the configuration, and sets the log's level. The sample ends with the status that
    /// this returns, if any: after --help, --version and --print-config, or after one line on standard error about bad
    /// input.
    std::optional<int> parse(int argc, const char* const* argv);

    /// The settings. The defaults before `parse`.
    const dynpar::config& config() const;

    /// Limits and trace as the settings have them; where --tree, --trace or --recommend need a trace and the settings
    /// have none, room for as many grids as that usually takes.
    dynpar::engine_options engine_options() const;

    /// The engine that the settings ask for, of those that are built. Looks for a GPU only where one could be used.
    /// Throws `std::invalid_argument` as `dynpar::choose` does.
    dynpar::engine_choice choose_engine(const dynpar::built_engines& built) const;

    /// Every run of an engine comes here (with_engine sees to it): with --trace it is written to a file, with
    /// --recommend its needs are noted, with --tree its tree is kept. A trace that cannot be written is said, and the
    /// sample goes on: its results are no worse for it. A trace that is written says with what command, when, and with
    /// what settings it came about (`trace::about`).
    void observe(dynpar::report& report) const;

    /// With --tree: prints the run's nesting tree. Else nothing. Trees that a sample does not print come at its end.
    /// Throws `output_error`.
    void show_tree(const dynpar::report& report) const;

    /// The end of a sample: prints the trees that are left, and with --recommend the limits. Returns the status to end
    /// with: the sample's, or `failed` if that is `success` and a trace could not be written. Throws `output_error` if
    /// anything that was printed, by kernels on the host engine too, could not be written.
    int finish(int status) const;

    /// For a sample that runs ordinary `__global__` functions: throws `input_error` if --tree, --trace or --recommend
    /// is given.
    void refuse_tracing() const;

    /// Prints a line on standard output. Throws `output_error`.
    void say(const std::string& line) const;

    /// For a `catch (...)`: prints the exception at hand on standard error and returns the status to end with,
    /// `bad_input` for `input_error`, `std::invalid_argument` and `dynpar::config_error`, else `failed`. `part` says of
    /// what part of the sample it is, if it goes on with others.
    int explain_exception(const std::string& part = {}) const;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace samples
