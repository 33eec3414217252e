// Graphs in files: what is read of each format, and what is said of a file that is wrong.
#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <vector>

#include "../../samples/graph_file.hpp"

namespace {

samples::graph_file_limits small() {
    samples::graph_file_limits limits;
    limits.most_vertices = 8192;
    limits.most_edges = 1000;
    limits.most_weight = 99;
    return limits;
}
samples::edge_list read(const std::string& text, const samples::graph_file_limits& limits = small()) {
    std::istringstream in(text);
    return samples::read_edges(in, "graph.txt", limits);
}
// The edges as "1-2 2-3*5", with the weights that are not 1.
std::string edges(const std::string& text) {
    std::string result;
    for (const samples::weighted_edge& e : read(text).edges) {
        if (!result.empty()) result += ' ';
        result += std::to_string(e.from + 1) + "-" + std::to_string(e.to + 1);
        if (e.weight != 1) result += "*" + std::to_string(e.weight);
    }
    return result;
}
std::string refusal(const std::string& text, const samples::graph_file_limits& limits = small()) {
    try {
        read(text, limits);
    } catch (const samples::graph_error& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("the edges of a graph are read from each format, with comments, empty lines and both ends of lines") {
    CHECK(edges("c a path\np edge 4 3\ne 1 2\ne 2 3\ne 3 4\n") == "1-2 2-3 3-4");
    CHECK(edges("p col 4 4\r\ne 1 2\r\n\r\ne 3 2\r\nc\ne 3 4\ne 4 3") == "1-2 3-2 3-4 4-3");
    CHECK(edges("p td 4 3\n1 2\n2 3\nc " + std::string(3000, '-') + "\n3 4\n") == "1-2 2-3 3-4");
    CHECK(edges("p sp 3 2\na 1 2 10\nc another\na 2 3 0\n") == "1-2*10 2-3*0");
    CHECK(edges("%%MatrixMarket matrix coordinate integer symmetric\n%a comment\n\n4 4 2\n2 1 5\n4 4 1\n") ==
          "2-1*5 4-4");
    CHECK(edges("%%MatrixMarket matrix coordinate pattern general\n3 5 1\n1 5\n") == "1-5");
    CHECK(edges("%%MatrixMarket matrix coordinate real general\n3 5 2\n1 5 0.25\n1 2 -1e9\n") == "1-5 1-2");
    CHECK(read("%%MatrixMarket matrix coordinate pattern general\n3 5 0\n").vertices == 5);
    CHECK(read("p td 3 0\n").vertices == 3);
}

TEST_CASE("what is wrong in a file with a graph is named with its line") {
    CHECK(refusal("") == "graph.txt: has no graph; give a file with one");
    CHECK(refusal("c nothing\n") == "graph.txt: has no graph; give a file with one");
    const std::string no_format =
        ": is neither \"%%MatrixMarket ...\" nor \"p FORMAT VERTICES EDGES\" with the format sp, edge, col or td";
    CHECK(refusal("e 1 2\n") == "graph.txt:1" + no_format);
    CHECK(refusal("\np cnf 3 3\n") == "graph.txt:2" + no_format);
    CHECK(refusal("p\n") == "graph.txt:1" + no_format);
    CHECK(refusal("p td 0 0\n") == "graph.txt:1: the number of vertices 0 is out of range; give 1 to 8192");
    CHECK(refusal("p td 99999999999999999999 0\n") ==
          "graph.txt:1: the number of vertices 99999999999999999999 is out of range; give 1 to 8192");
    CHECK(refusal("p td 3\n") == "graph.txt:1: the number of edges is missing");
    CHECK(refusal("p td 3 1001\n") == "graph.txt:1: the number of edges 1001 is out of range; give 0 to 1000");
    CHECK(refusal("p td 3 1 7\n1 2\n") == "graph.txt:1: \"7\" is more than belongs there");
    CHECK(refusal("p td 3 1\n1 2 3\n") == "graph.txt:2: \"3\" is more than belongs there");
    CHECK(refusal("p td 3 1\n1 four\n") == "graph.txt:2: the vertex \"four\" is no whole number");
    CHECK(refusal("p td 3 1\n1 -2\n") == "graph.txt:2: the vertex \"-2\" is no whole number");
    CHECK(refusal("p td 3 1\n1 2.5\n") == "graph.txt:2: the vertex \"2.5\" is no whole number");
    CHECK(refusal("p td 3 1\n1 4\n") == "graph.txt:2: the vertex 4 is out of range; give 1 to 3");
    CHECK(refusal("p td 3 1\n1\n") == "graph.txt:2: the vertex is missing");
    CHECK(refusal("p sp 3 1\na 1 2\n") == "graph.txt:2: the weight is missing");
    CHECK(refusal("p sp 3 1\na 1 2 100\n") == "graph.txt:2: the weight 100 is out of range; give 0 to 99");
    CHECK(refusal("p edge 3 1\n\n1 2\n") == "graph.txt:3: \"1\" begins no edge; give \"e\"");
    CHECK(refusal("p edge 3 1\ne 1 2\ne 1 3\n") == "graph.txt:3: there are more edges than the 1 announced");
    CHECK(refusal("p edge 3 2\ne 1 2\n") == "graph.txt: ends after 1 of 2 edges; is it complete?");
    CHECK(refusal("p edge 3 1\n" + std::string(2000, '1')) == "graph.txt:2: the line is too long; give an edge a line");
    CHECK(refusal("%%MatrixMarket matrix array real general\n") ==
          "graph.txt:1: is no matrix of coordinates; give %%MatrixMarket matrix coordinate FIELD SYMMETRY");
    CHECK(refusal("%%MatrixMarket matrix coordinate complex general\n") ==
          "graph.txt:1: the field \"complex\" is unknown; give pattern, integer or real");
    CHECK(refusal("%%MatrixMarket matrix coordinate pattern general\n% only\n") ==
          "graph.txt: ends before the size of the matrix");
    CHECK(refusal("%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2 7\n") ==
          "graph.txt:3: \"7\" is more than belongs there");
}

TEST_CASE("an edge from a vertex to itself is refused where there may be none") {
    samples::graph_file_limits limits = small();
    CHECK(refusal("p edge 3 1\ne 2 2\n", limits).empty());
    limits.has_loops = false;
    CHECK(refusal("p edge 3 1\ne 2 2\n", limits) == "graph.txt:2: joins vertex 2 to itself; leave that out");
}
