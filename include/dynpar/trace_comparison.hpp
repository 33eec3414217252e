// Two traces side by side: what got slower, what was added.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "trace_statistics.hpp"

namespace dynpar {

/// One kernel at one depth in two traces.
struct trace_difference {
    /// How the second trace differs from the first.
    enum class kind : unsigned char {
        same,     ///< by less than the threshold
        slower,   ///< durations or launch latencies have grown
        faster,   ///< they have shrunk
        added,    ///< only in the second
        removed,  ///< only in the first
    };

    kind what = kind::same;  ///< how it differs
    grid_statistics before;  ///< count 0 if it was added
    grid_statistics after;   ///< count 0 if it was removed
};

/// Compares by kernel and depth. A kernel at a depth is slower (faster) if the median of its durations or of its launch
/// latencies has grown (shrunk) by more than `threshold`, 0.1 being a tenth, and by more than a microsecond. First what
/// got slower, the greatest growth of the total time first, then what was added, removed, got faster, and the rest.
/// Needs `dynpar::trace`.
std::vector<trace_difference> compare(const trace& before, const trace& after, double threshold = 0.1);

/// The differences for the terminal: a line for each that is not `same`, and a line that counts those. Needs
/// `dynpar::trace`.
void print_comparison(std::ostream& out, const trace& before, const trace& after, double threshold = 0.1);

}  // namespace dynpar
