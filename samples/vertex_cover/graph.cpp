#include "graph.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <istream>
#include <limits>
#include <random>
#include <sstream>

namespace vertex_cover {

namespace {

// The same numbers with every standard library.
unsigned draw(std::mt19937& random, unsigned below) {
    return static_cast<unsigned>(std::uint64_t{random()} * below >> 32);
}

// As far as it is read.
struct lines {
    std::istream& in;
    const std::string& name;
    unsigned line = 0;

    [[noreturn]] void refuse(const std::string& why) const {
        throw graph_error(name + ":" + std::to_string(line) + ": " + why);
    }
    // The next line that is no comment and has anything in it; false at the end.
    bool next(std::istringstream& words) {
        char bytes[256];
        while (in.getline(bytes, sizeof bytes) || in.gcount() == sizeof bytes - 1) {
            ++line;
            const bool is_comment = bytes[0] == 'c' && (bytes[1] == '\0' || bytes[1] == ' ' || bytes[1] == '\t');
            if (!in) {
                if (!is_comment) refuse("the line is too long; give an edge a line");
                in.clear();
                in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
                continue;
            }
            if (is_comment || bytes[std::strspn(bytes, " \t\r")] == '\0') continue;
            words.clear();
            words.str(bytes);
            return true;
        }
        if (in.bad()) throw graph_error(name + ": cannot be read; give a file with a graph");
        return false;
    }
    unsigned number(std::istringstream& words, const char* what, unsigned least, unsigned most) const {
        std::string word;
        words >> word;
        const bool are_digits = !word.empty() && word.find_first_not_of("0123456789") == std::string::npos;
        if (word.empty() || !are_digits)
            refuse(std::string(what) + ": " + (word.empty() ? "there is none" : "\"" + word + "\" is no number") +
                   "; give one from " + std::to_string(least) + " to " + std::to_string(most));
        const unsigned long value = word.size() > 9 ? most + 1ul : std::stoul(word);
        if (value < least || value > most)
            refuse(std::string(what) + ": " + word + " is out of range; give one from " + std::to_string(least) +
                   " to " + std::to_string(most));
        return static_cast<unsigned>(value);
    }
    void require_end(std::istringstream& words) const {
        std::string word;
        if (words >> word) refuse("\"" + word + "\" is more than belongs there");
    }
};

constexpr unsigned most_edges = most_vertices * (most_vertices - 1);  // each may be there in both directions

}  // namespace

std::size_t graph::edges() const {
    std::size_t ends = 0;
    for (const auto& of_one : neighbours) ends += of_one.size();
    return ends / 2;
}

graph graph_of(unsigned vertices, const std::vector<edge>& edges) {
    graph g;
    g.neighbours.resize(vertices);
    for (const auto& [a, b] : edges) {
        g.neighbours[a].push_back(b);
        g.neighbours[b].push_back(a);
    }
    for (auto& of_one : g.neighbours) {
        std::sort(of_one.begin(), of_one.end());
        of_one.erase(std::unique(of_one.begin(), of_one.end()), of_one.end());
    }
    return g;
}

graph read_graph(const std::string& file) {
    errno = 0;
    std::ifstream in(file);
    if (!in) throw graph_error(file + ": cannot be read (" + std::strerror(errno) + "); give a file with a graph");
    return read_graph(in, file);
}

graph read_graph(std::istream& in, const std::string& name) {
    lines from{in, name};
    std::istringstream words;
    if (!from.next(words))
        throw graph_error(name +
                          ": has no graph; begin with a line \"p edge VERTICES EDGES\" or \"p td VERTICES EDGES\"");
    std::string letter;
    std::string kind;
    words >> letter >> kind;
    if (letter != "p" || (kind != "edge" && kind != "col" && kind != "td"))
        from.refuse("is no line \"p edge\", \"p col\" or \"p td\"; begin with one");
    const unsigned vertices = from.number(words, "vertices", 1, most_vertices);
    const unsigned expected = from.number(words, "edges", 0, most_edges);
    from.require_end(words);
    const bool has_letters = kind != "td";
    std::vector<edge> edges;
    while (from.next(words)) {
        if (has_letters) {
            words >> letter;
            if (letter != "e") from.refuse("begins with \"" + letter + "\"; give edges as \"e 1 2\"");
        }
        const unsigned a = from.number(words, "vertex", 1, vertices);
        const unsigned b = from.number(words, "vertex", 1, vertices);
        from.require_end(words);
        if (a == b) from.refuse("joins vertex " + std::to_string(a) + " to itself; leave that out");
        if (edges.size() == expected) from.refuse("is one edge more than line \"p\" says, " + std::to_string(expected));
        edges.emplace_back(a - 1, b - 1);
    }
    if (edges.size() != expected)
        throw graph_error(name + ": has " + std::to_string(edges.size()) + " edges, and its line \"p\" says " +
                          std::to_string(expected) + "; is it complete?");
    return graph_of(vertices, edges);
}

graph random_graph(unsigned vertices, unsigned per_mille, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<edge> edges;
    for (unsigned a = 0; a < vertices; ++a)
        for (unsigned b = a + 1; b < vertices; ++b)
            if (draw(random, 1000) < per_mille) edges.emplace_back(a, b);
    return graph_of(vertices, edges);
}

graph p_hat_graph(unsigned vertices, unsigned per_mille, unsigned seed) {
    std::mt19937 random(seed);
    const unsigned spread = std::min(per_mille, 1000 - per_mille);
    std::vector<unsigned> of_vertex(vertices);
    for (unsigned& p : of_vertex) p = per_mille - spread + draw(random, 2 * spread + 1);
    std::vector<edge> edges;
    for (unsigned a = 0; a < vertices; ++a)
        for (unsigned b = a + 1; b < vertices; ++b)
            if (draw(random, 2000) < of_vertex[a] + of_vertex[b]) edges.emplace_back(a, b);
    return graph_of(vertices, edges);
}

graph grid_graph(unsigned vertices, unsigned per_mille, unsigned seed) {
    std::mt19937 random(seed);
    const unsigned side = static_cast<unsigned>(std::ceil(std::sqrt(vertices)));
    std::vector<edge> edges;
    for (unsigned v = 0; v < vertices; ++v) {
        if (v % side != 0 && draw(random, 1000) < per_mille) edges.emplace_back(v - 1, v);
        if (v >= side && draw(random, 1000) < per_mille) edges.emplace_back(v - side, v);
    }
    return graph_of(vertices, edges);
}

graph tree_graph(unsigned vertices, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<edge> edges;
    for (unsigned v = 1; v < vertices; ++v) edges.emplace_back(draw(random, v), v);
    return graph_of(vertices, edges);
}

graph complement_of(const graph& g) {
    graph result;
    for (unsigned v = 0; v < g.vertices(); ++v) {
        std::vector<unsigned>& others = result.neighbours.emplace_back();
        for (unsigned u = 0; u < g.vertices(); ++u)
            if (u != v && !std::binary_search(g.neighbours[v].begin(), g.neighbours[v].end(), u)) others.push_back(u);
    }
    return result;
}

graph union_of(const std::vector<graph>& parts) {
    graph result;
    for (const graph& part : parts) {
        const unsigned first = result.vertices();
        for (std::vector<unsigned> of_one : part.neighbours) {
            for (unsigned& v : of_one) v += first;
            result.neighbours.push_back(std::move(of_one));
        }
    }
    return result;
}

}  // namespace vertex_cover
