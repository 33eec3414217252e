// The smallest limits that would have been enough for a run, as a configuration file, with the cost of each.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "limits.hpp"
#include "report.hpp"

namespace dynpar {

/// One limit with the smallest value that would have been enough.
struct recommended_limit {
    std::string name;       ///< as in `limits`: "sync_depth"
    std::size_t value = 0;  ///< the smallest that would have been enough
    std::string note;       ///< a remark: "the GPU gives at least 32"
};

/// The smallest limits that are enough for `needs` on that engine. With exactly these the same run works; with one less
/// of any of them it reports the shortage, unless the note says otherwise. A limit that was not needed, and that cannot
/// be zero, is left out. Needs the target `dynpar::trace`.
std::vector<recommended_limit> recommend(const run_needs& needs, const std::string& engine);

/// What a limit costs in device memory, in words ("18.0 MiB of device memory on NVIDIA H200"); empty if unknown.
using limit_cost = std::function<std::string(const recommended_limit&)>;

/// The limits as a TOML fragment for dynpar.toml, each with its note and its cost as a comment. Needs the target
/// `dynpar::trace`.
std::string to_toml(const std::vector<recommended_limit>& recommended, const limit_cost& cost = {});

}  // namespace dynpar
