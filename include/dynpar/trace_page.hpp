// A trace as one HTML page that needs nothing else: tree, timeline, table.
#pragma once

#include <iosfwd>

#include "trace.hpp"

namespace dynpar {

/// Whether this build can write the page: it needs d3 (Debian: libjs-d3), which is embedded when dynpar is built.
/// Needs the target `dynpar::trace`.
bool has_trace_page();

/// Writes the page: the tree of grids, grouped and to be opened, a timeline by multiprocessor or worker, and a table by
/// kernel and depth. Throws `std::runtime_error` with what to do if this build has no page. Needs the target
/// `dynpar::trace`.
void write_trace_page(std::ostream& out, const trace& t);

}  // namespace dynpar
