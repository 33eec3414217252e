// Graphs in files: the edges that one lists, in the formats Matrix Market, DIMACS and PACE.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <vector>

namespace samples {

struct weighted_edge {
    unsigned from, to;  ///< vertices, counted from 0
    unsigned weight;    ///< 1 where the file has none
};

struct edge_list {
    unsigned vertices = 0;
    std::vector<weighted_edge> edges;  ///< in the file's order
};

/// What a reader of a file can use. A file with more is refused.
struct graph_file_limits {
    unsigned most_vertices = 1u << 30;
    std::uint64_t most_edges = 2147483647;
    unsigned most_weight = 1000000;
    bool has_loops = true;  ///< whether an edge may join a vertex to itself
};

/// One line: the file, the line and what is wrong with it.
class graph_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Reads a file in one of the formats
///
///     %%MatrixMarket matrix coordinate pattern|integer|real ...     integers are weights
///     p sp VERTICES EDGES         a FROM TO WEIGHT                  DIMACS, shortest paths
///     p edge|col VERTICES EDGES   e FROM TO                         DIMACS, colours and cliques
///     p td VERTICES EDGES         FROM TO                           PACE
///
/// in which vertices are counted from 1. Throws `graph_error`.
edge_list read_edges(const std::string& file, const graph_file_limits& limits);
/// The same from a stream; `name` stands for the file in errors.
edge_list read_edges(std::istream& in, const std::string& name, const graph_file_limits& limits);

}  // namespace samples
