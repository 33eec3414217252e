// A trace for chrome://tracing and Perfetto (ui.perfetto.dev).
#pragma once

#include <iosfwd>

#include "trace.hpp"

namespace dynpar {

/// Writes the trace in Chrome's JSON format ("Trace Event Format", object form). A grid is a slice from its begin to
/// the end of the last grid below it, inside its parent's slice; siblings that overlap are on tracks of their own.
/// Launches, and calls of `then`, are flow arrows; a lost launch is an instant event. A grid that begins before its
/// parent, or whose parent never began, is on a track of its own. Any trace can be written, whatever is in it. Needs
/// the target `dynpar::trace`.
void write_chrome_trace(std::ostream& out, const trace& t);

}  // namespace dynpar
