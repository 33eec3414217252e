// A trace for Perfetto (ui.perfetto.dev), in its own format: a tenth of the size of Chrome's.
#pragma once

#include <iosfwd>

#include "trace.hpp"

namespace dynpar {

/// Writes the trace in Perfetto's format, packed as that allows. Slices are as `write_chrome_trace` has them. A launch,
/// and a call of `then`, is a flow from the launching grid's slice to the launched one's, or to the instant event of a
/// lost launch, on the track "lost launches"; none goes to a grid that began before the one that launched it. Two
/// counters: grids alive, and multiprocessors (workers, on the host engine) in use, which count while a grid whose
/// first block ran there has not ended. What the program says of the run (`trace::about`) is with the slice of the run.
/// Any trace can be written, whatever is in it. Needs the target `dynpar::trace`.
void write_perfetto_trace(std::ostream& out, const trace& t);

}  // namespace dynpar
