// Runs a sample on the engine that its command line asks for, among those that its compiler can build.
#pragma once

#include <dynpar/dynpar.hpp>

#include <chrono>
#include <type_traits>
#include <utility>

#include "command_line.hpp"

namespace samples {

/// The engines in this translation unit: a plain C++ compiler builds the host engine only.
inline constexpr dynpar::built_engines built{DYNPAR_HAS_DEVICE_LAUNCH != 0, DYNPAR_HAS_QUEUE_ENGINE != 0};

/// The engines of a sample that runs its kernels on a GPU as ordinary grids (flat_run.hpp): there is nothing to
/// schedule.
inline constexpr dynpar::built_engines built_for_ordinary_grids{DYNPAR_HAS_DEVICE_LAUNCH != 0, false};

/// An engine that shows every run to the command line, which writes traces and takes note of what was needed.
template <class Engine>
class observed : public Engine {
public:
    template <class Options>
    observed(const Options& options, const command_line& command) : Engine(options), command_(&command) {}

    template <class Kernel, class... Args>
    dynpar::report try_run(Kernel kernel, const dynpar::shape& s, Args... args) {
        const auto begin = std::chrono::steady_clock::now();
        dynpar::report result = Engine::try_run(kernel, s, args...);
        milliseconds_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        command_->observe(result);
        return result;
    }

    template <class Kernel, class... Args>
    dynpar::report run(Kernel kernel, const dynpar::shape& s, Args... args) {
        dynpar::report result = try_run(kernel, s, args...);
        if (result.failed_calls != 0) throw dynpar::launch_error(std::move(result));
        return result;
    }

    /// How long the last run took by the host's clock. What becomes of its trace afterwards does not count: to write a
    /// large one takes longer than many a run.
    double milliseconds() const { return milliseconds_; }

private:
    const command_line* command_;
    double milliseconds_ = 0;
};

/// Runs the sample on an engine with the settings of the command line.
template <class Engine, class Options, class Sample>
int run_on(const command_line& command, Sample& sample) {
    Options options;
    static_cast<dynpar::engine_options&>(options) = command.engine_options();
    observed<Engine> engine(options, command);
    if constexpr (!std::is_same_v<Engine, dynpar::host_engine>) {
        for (const dynpar::limit_result& limit : engine.limit_results())
            if (!limit.refused.empty()) command.say(describe(limit));
    }
    return command.finish(sample(engine));
}

/// Chooses the engine, says which and why, and calls `sample(engine)`, which returns the exit status. An exception
/// becomes a message on standard error and an exit status: see `command_line::explain_exception`.
template <class Sample>
int with_engine(const command_line& command, Sample&& sample, const dynpar::built_engines& engines = built) {
    try {
        const dynpar::engine_choice choice = command.choose_engine(engines);
        command.say(choice.why);
        switch (choice.kind) {
#if DYNPAR_HAS_DEVICE_LAUNCH
            case dynpar::engine_kind::cdp: return run_on<dynpar::cdp_engine, dynpar::cdp_options>(command, sample);
#endif
#if DYNPAR_HAS_QUEUE_ENGINE
            case dynpar::engine_kind::queue:
                return run_on<dynpar::queue_engine, dynpar::queue_options>(command, sample);
#endif
            default: return run_on<dynpar::host_engine, dynpar::host_options>(command, sample);
        }
    } catch (...) {
        return command.explain_exception();
    }
}

}  // namespace samples
