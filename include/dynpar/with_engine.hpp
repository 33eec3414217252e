// One program for every engine: the engine is chosen when the program runs.
//
//     dynpar::with_engine(dynpar::engine_kind::automatic, {}, [](auto& engine) {
//         auto sum = engine.make_buffer({0u});
//         engine.run(add_up{}, dynpar::shape(4, 256), sum.data());
//         std::printf("%u on the %s engine\n", sum.value(), engine.name);
//     });
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "dynpar.hpp"
#include "engine_kind.hpp"
#if DYNPAR_HAS_QUEUE_ENGINE || DYNPAR_HAS_DEVICE_LAUNCH
#include "probe_gpu.hpp"
#endif

namespace dynpar {

/// The engines that the compiler of this file can build. (Not `inline`: files of a program differ in it.)
constexpr built_engines engines_here{DYNPAR_HAS_DEVICE_LAUNCH != 0, DYNPAR_HAS_QUEUE_ENGINE != 0};

/// Chooses among the engines of this file for this machine: see `choose`, also for what it throws. (The parameters make
/// it another function in files with other engines.)
template <bool Cdp = engines_here.cdp, bool Queue = engines_here.queue>
engine_choice choose_engine(engine_kind asked = engine_kind::automatic, std::string_view origin = {}) {
#if DYNPAR_HAS_QUEUE_ENGINE || DYNPAR_HAS_DEVICE_LAUNCH
    return choose(asked, built_engines{Cdp, Queue}, probe_gpu(), origin);
#else
    return choose(asked, built_engines{Cdp, Queue}, {}, origin);
#endif
}

namespace detail {

/// An engine with options that all engines have, for the time that the program takes.
template <class Engine, class Options, class Program>
auto run_program(const engine_options& options, Program& program) {
    Options with_its_own;
    static_cast<engine_options&>(with_its_own) = options;
    Engine engine(with_its_own);
    return program(engine);
}

}  // namespace detail

/// Makes the chosen engine with these options and returns `program(engine)`. The program is compiled once for each
/// engine of this file, so it takes `auto& engine`. Throws what engine and program do, and `std::invalid_argument` if
/// the chosen engine is none of this file's.
template <bool Cdp = engines_here.cdp, bool Queue = engines_here.queue, class Program>
auto with_engine(const engine_choice& choice, const engine_options& options, Program&& program) {
    switch (choice.kind) {
#if DYNPAR_HAS_DEVICE_LAUNCH
        case engine_kind::cdp: return detail::run_program<cdp_engine, cdp_options>(options, program);
#endif
#if DYNPAR_HAS_QUEUE_ENGINE
        case engine_kind::queue: return detail::run_program<queue_engine, queue_options>(options, program);
#endif
        case engine_kind::host: return detail::run_program<host_engine, host_options>(options, program);
        default:
            throw std::invalid_argument(std::string("engine ") + to_string(choice.kind) +
                                        " is not built into this file; it has " + to_string(built_engines{Cdp, Queue}));
    }
}

/// The same for the engine that `choose_engine(asked)` chooses.
template <bool Cdp = engines_here.cdp, bool Queue = engines_here.queue, class Program>
auto with_engine(engine_kind asked, const engine_options& options, Program&& program) {
    return with_engine<Cdp, Queue>(choose_engine<Cdp, Queue>(asked), options, static_cast<Program&&>(program));
}

}  // namespace dynpar
