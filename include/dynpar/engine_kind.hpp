// Which engine to run on: the names of the engines, and the choice among those that a program has.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "platform.hpp"

namespace dynpar {

/// The engines, and `automatic`: the best that the program has and the machine can run.
enum class engine_kind : unsigned char {
    automatic,  ///< "auto": see `choose`
    host,       ///< `host_engine`
    cdp,        ///< `cdp_engine`
    queue,      ///< `queue_engine`
};

/// The names of the engines as in `--engine queue`, in the order of `engine_kind`.
inline constexpr const char* engine_names[] = {"auto", "host", "cdp", "queue"};

/// The name of an engine, as in `engine_names`.
constexpr const char* to_string(engine_kind kind) { return engine_names[static_cast<unsigned>(kind)]; }

/// The engine of that name, or nothing if there is none.
inline std::optional<engine_kind> parse_engine_kind(std::string_view name) {
    for (const engine_kind kind : {engine_kind::automatic, engine_kind::host, engine_kind::cdp, engine_kind::queue})
        if (name == to_string(kind)) return kind;
    return std::nullopt;
}

/// The engines that a program was built with. The host engine is always among them.
struct built_engines {
    bool cdp = false;    ///< `cdp_engine`, see `DYNPAR_HAS_DEVICE_LAUNCH`
    bool queue = false;  ///< `queue_engine`, see `DYNPAR_HAS_QUEUE_ENGINE`

    /// Whether the program has that engine; `automatic` it always has.
    constexpr bool has(engine_kind kind) const {
        return kind == engine_kind::cdp ? cdp : kind == engine_kind::queue ? queue : true;
    }
    /// Whether it has an engine that runs on a GPU.
    constexpr bool any_for_gpu() const { return cdp || queue; }
};

/// The engines' names: "host, cdp".
inline std::string to_string(const built_engines& built) {
    return std::string("host") + (built.cdp ? ", cdp" : "") + (built.queue ? ", queue" : "");
}

/// What is known about the machine's GPU.
struct gpu_state {
    bool usable = false;  ///< whether there is one, with a driver that serves this program
    std::string name;     ///< if usable: "NVIDIA H200"
    /// Otherwise the reason: "no CUDA device was found (cudaErrorNoDevice: no CUDA-capable device is detected)".
    std::string why_not;
};

/// An engine, and in one line why it was chosen: "queue engine on NVIDIA H200: there is a GPU".
struct engine_choice {
    engine_kind kind = engine_kind::host;  ///< never `automatic`
    std::string why;                       ///< one line, without a full stop
};

/// Chooses the engine. `automatic` is the queue engine if there is a GPU and the program has that engine, else the
/// device runtime's under the same conditions, else the host engine. `origin` says who asked: "command line --engine".
/// Throws `std::invalid_argument` with one line if the engine that was asked for is not built or has no GPU to run on.
inline engine_choice choose(engine_kind asked, const built_engines& built, const gpu_state& gpu,
                            std::string_view origin = {}) {
    const std::string who = origin.empty() ? std::string() : " (" + std::string(origin) + ")";
    const auto on_gpu = [&](engine_kind kind) { return std::string(to_string(kind)) + " engine on " + gpu.name; };
    switch (asked) {
        case engine_kind::automatic:
            if (!built.any_for_gpu()) return {engine_kind::host, "host engine: this program has no other"};
            if (!gpu.usable) return {engine_kind::host, "host engine: " + gpu.why_not};
            if (built.queue) return {engine_kind::queue, on_gpu(engine_kind::queue) + ": there is a GPU"};
            return {engine_kind::cdp,
                    on_gpu(engine_kind::cdp) + ": there is a GPU, and this program has no queue engine"};
        case engine_kind::host: return {engine_kind::host, "host engine: asked for" + who};
        case engine_kind::cdp:
        case engine_kind::queue: break;
    }
    const std::string name = to_string(asked);
    if (!built.has(asked))
        throw std::invalid_argument(
            "engine " + name + who +
            " is not built into this program; choose auto or one of the built: " + to_string(built));
    if (!gpu.usable)
        throw std::invalid_argument("engine " + name + who + " needs a GPU: " + gpu.why_not +
                                    "; choose auto or host (built: " + to_string(built) + ")");
    return {asked, on_gpu(asked) + ": asked for" + who};
}

}  // namespace dynpar
