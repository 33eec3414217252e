// Runs a sample on the engine that its command line asks for, among those that its compiler can build.
#pragma once

#include <dynpar/with_engine.hpp>

#include <chrono>
#include <type_traits>
#include <utility>

#include "command_line.hpp"

namespace samples {

/// The engines of a sample that runs its kernels on a GPU as ordinary grids (flat_run.hpp): there is nothing to
/// schedule.
inline constexpr dynpar::built_engines built_for_ordinary_grids{DYNPAR_HAS_DEVICE_LAUNCH != 0, false};

/// An engine that shows every run to the command line, which writes traces and takes note of what was needed.
template <class Engine>
class observed : public Engine {
public:
    observed(Engine&& engine, const command_line& command) : Engine(std::move(engine)), command_(&command) {}

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

    template <class Kernel, class... Args>
    auto try_call(Kernel kernel, Args... args) {
        const auto begin = std::chrono::steady_clock::now();
        auto outcome = Engine::try_call(kernel, args...);
        milliseconds_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        command_->observe(outcome.report);
        return outcome;
    }

    template <class Kernel, class... Args>
    auto call(Kernel kernel, Args... args) {
        auto outcome = try_call(kernel, args...);
        if (!outcome.value) throw dynpar::launch_error(std::move(outcome.report));
        return *outcome.value;
    }

    /// How long the last run took by the host's clock. What becomes of its trace afterwards does not count: to write a
    /// large one takes longer than many a run.
    double milliseconds() const { return milliseconds_; }

private:
    const command_line* command_;
    double milliseconds_ = 0;
};

/// Chooses the engine, says which and why, and calls `sample(engine)` with the settings of the command line, which
/// returns the exit status. An exception becomes a message on standard error and an exit status: see
/// `command_line::explain_exception`.
template <class Sample>
int with_engine(const command_line& command, Sample&& sample,
                const dynpar::built_engines& engines = dynpar::engines_here) {
    try {
        const dynpar::engine_choice choice = command.choose_engine(engines);
        command.say(choice.why);
        return dynpar::with_engine(choice, command.engine_options(), [&](auto& chosen) {
            using engine_type = std::decay_t<decltype(chosen)>;
            observed<engine_type> engine(std::move(chosen), command);
            if constexpr (!std::is_same_v<engine_type, dynpar::host_engine>) {
                for (const dynpar::limit_result& limit : engine.limit_results())
                    if (!limit.refused.empty()) command.say(describe(limit));
            }
            return command.finish(sample(engine));
        });
    } catch (...) {
        return command.explain_exception();
    }
}

}  // namespace samples
