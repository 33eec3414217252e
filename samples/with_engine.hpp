// Runs a sample on the engine that its command line asks for, among those that its compiler can build.
#pragma once

#include <dynpar/dynpar.hpp>

#include "command_line.hpp"

namespace samples {

/// The engines in this translation unit: a plain C++ compiler builds the host engine only.
inline constexpr dynpar::built_engines built{
    DYNPAR_HAS_DEVICE_LAUNCH != 0,
#if defined(DYNPAR_WITH_QUEUE) && defined(__CUDACC__)
    true,
#else
    false,
#endif
};

/// Makes an engine with the settings of the command line.
template <class Engine, class Options>
Engine make_engine(const command_line& command) {
    Options options;
    static_cast<dynpar::engine_options&>(options) = command.engine_options();
    return Engine(options);
}

/// Chooses the engine, says which and why, and calls `sample(engine)`, which returns the exit status. An exception
/// becomes a message on standard error and an exit status: see `command_line::explain_exception`.
template <class Sample>
int with_engine(const command_line& command, Sample&& sample) {
    try {
        const dynpar::engine_choice choice = command.choose_engine(built);
        command.say(choice.why);
        switch (choice.kind) {
#if DYNPAR_HAS_DEVICE_LAUNCH
            case dynpar::engine_kind::cdp: {
                auto engine = make_engine<dynpar::cdp_engine, dynpar::cdp_options>(command);
                return sample(engine);
            }
#endif
#if defined(DYNPAR_WITH_QUEUE) && defined(__CUDACC__)
            case dynpar::engine_kind::queue: {
                auto engine = make_engine<dynpar::queue_engine, dynpar::queue_options>(command);
                return sample(engine);
            }
#endif
            default: {
                auto engine = make_engine<dynpar::host_engine, dynpar::host_options>(command);
                return sample(engine);
            }
        }
    } catch (...) {
        return command.explain_exception();
    }
}

}  // namespace samples
