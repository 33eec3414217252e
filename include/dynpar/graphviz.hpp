// A trace as a graph for Graphviz: dot -Tsvg.
#pragma once

#include <iosfwd>

#include "trace.hpp"

namespace dynpar {

/// Writes the nesting as a directed graph in the DOT language: a node for each group of grids that are alike all the
/// way down, a solid edge for launches with their number, a dashed one for continuations. Needs the target
/// `dynpar::trace`.
void write_dot(std::ostream& out, const trace& t);

}  // namespace dynpar
