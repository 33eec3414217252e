#include "input.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <istream>
#include <random>
#include <string_view>

namespace graphs {
namespace {

// The same in both directions, and the same every time.
weight drawn_weight(vertex a, vertex b, unsigned seed) {
    std::uint64_t bits = (std::uint64_t{std::min(a, b)} << 32 | std::max(a, b)) + seed;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
    return static_cast<weight>(1 + (bits ^ bits >> 31) % 100);
}

}  // namespace

graph make_graph(vertex vertices, const std::vector<edge>& edges) {
    if (edges.size() > most_edges) throw std::length_error("a graph has more than 2147483647 edges");
    graph g;
    g.begin.assign(std::size_t{vertices} + 1, 0);
    for (const edge& e : edges) {
        ++g.begin[e.from + 1];
        ++g.begin[e.to + 1];
    }
    for (std::size_t i = 1; i < g.begin.size(); ++i) g.begin[i] += g.begin[i - 1];
    g.neighbours.resize(g.begin.back());
    g.weights.resize(g.begin.back());
    std::vector<unsigned> next(g.begin.begin(), g.begin.end() - 1);
    const auto put = [&](vertex from, vertex to, weight length) {
        g.neighbours[next[from]] = to;
        g.weights[next[from]++] = length;
    };
    for (const edge& e : edges) {
        put(e.from, e.to, e.length);
        put(e.to, e.from, e.length);
    }
    return g;
}

graph draw_rmat(unsigned scale, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<edge> edges(std::size_t{16} << scale);
    for (edge& e : edges) {
        e = {};
        std::uint64_t bits = random();
        for (unsigned i = 0; i < scale; ++i) {
            if (i % 8 == 7) bits = random();
            const std::uint64_t part = bits & 0xff;  // of 256: 146, 49, 48 and 13
            bits >>= 8;
            e.from = 2 * e.from + (part >= 195 ? 1 : 0);
            e.to = 2 * e.to + ((part >= 146 && part < 195) || part >= 243 ? 1 : 0);
        }
        e.length = drawn_weight(e.from, e.to, seed);
    }
    return make_graph(vertex{1} << scale, edges);
}

graph draw_roads(unsigned side, unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<edge> edges;
    const auto draw = [&](vertex from, vertex to) {
        if (random() % 8 != 0) edges.push_back({from, to, drawn_weight(from, to, seed)});
    };
    for (unsigned row = 0; row < side; ++row) {
        for (unsigned column = 0; column < side; ++column) {
            const vertex here = row * side + column;
            if (column + 1 < side) draw(here, here + 1);
            if (row + 1 < side) draw(here, here + side);
        }
    }
    return make_graph(side * side, edges);
}

vertex busiest(const graph& g) {
    vertex best = 0;
    for (vertex v = 1; v < g.vertices(); ++v)
        if (g.edges_of(v) > g.edges_of(best)) best = v;
    return best;
}

// ---- Files

namespace {

/// A file of lines, each of words.
class line_reader {
public:
    line_reader(std::istream& in, const std::string& name) : in_(in), name_(name) {}

    /// The next line that has words; false at the end.
    bool next() {
        words_.clear();
        while (words_.empty()) {
            char bytes[1024];
            if (!in_.getline(bytes, sizeof bytes)) {
                ++line_;
                if (!in_.bad() && in_.gcount() == sizeof bytes - 1) fail("the line is too long");
                if (in_.bad()) throw graph_error(name_ + ": cannot be read; give a file with a graph");
                return false;
            }
            ++line_;
            text_ = bytes;
            std::size_t at = 0;
            const std::string_view rest = text_;
            while ((at = rest.find_first_not_of(" \t\r", at)) != rest.npos) {
                const std::size_t end = std::min(rest.find_first_of(" \t\r", at), rest.size());
                words_.push_back(rest.substr(at, end - at));
                at = end;
            }
        }
        return true;
    }
    const std::vector<std::string_view>& words() const { return words_; }
    unsigned line() const { return line_; }
    [[noreturn]] void fail(const std::string& why) const {
        throw graph_error(name_ + ":" + std::to_string(line_) + ": " + why);
    }
    [[noreturn]] void fail_at_end(const std::string& why) const { throw graph_error(name_ + ": " + why); }

    std::uint64_t number(std::size_t word, const char* what, std::uint64_t least, std::uint64_t most) const {
        if (word >= words_.size()) fail(std::string(what) + " is missing");
        const std::string_view text = words_[word];
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc::invalid_argument || (error == std::errc() && end != text.data() + text.size()))
            fail(std::string(what) + " \"" + std::string(text) + "\" is no whole number");
        if (error != std::errc() || value < least || value > most)
            fail(std::string(what) + " " + std::string(text) + " is out of range; give " + std::to_string(least) +
                 " to " + std::to_string(most));
        return value;
    }

private:
    std::istream& in_;
    const std::string& name_;
    std::string text_;
    std::vector<std::string_view> words_;
    unsigned line_ = 0;
};

constexpr std::uint64_t most_vertices = 1u << 30;

/// Collects as many edges as a file has announced.
class edge_list {
public:
    edge_list(const line_reader& lines, std::uint64_t vertices, std::uint64_t announced)
        : lines_(lines), vertices_(vertices), announced_(announced) {}

    /// The words of a line: two vertices, and a weight if it has one.
    void add(std::size_t first_word, bool has_weight) {
        if (edges_.size() == announced_)
            lines_.fail("there are more edges than the " + std::to_string(announced_) + " announced");
        const auto from = static_cast<vertex>(lines_.number(first_word, "the vertex", 1, vertices_) - 1);
        const auto to = static_cast<vertex>(lines_.number(first_word + 1, "the vertex", 1, vertices_) - 1);
        const std::uint64_t length = has_weight ? lines_.number(first_word + 2, "the weight", 0, most_weight) : 1;
        edges_.push_back({from, to, static_cast<weight>(length)});
    }
    graph finish() const {
        if (edges_.size() != announced_)
            lines_.fail_at_end("ends after " + std::to_string(edges_.size()) + " of " + std::to_string(announced_) +
                               " edges");
        return make_graph(static_cast<vertex>(vertices_), edges_);
    }

private:
    const line_reader& lines_;
    std::uint64_t vertices_, announced_;
    std::vector<edge> edges_;
};

graph read_matrix_market(line_reader& lines) {
    const std::vector<std::string_view>& words = lines.words();
    if (words.size() != 5 || words[1] != "matrix" || words[2] != "coordinate")
        lines.fail("is no matrix of coordinates; give %%MatrixMarket matrix coordinate FIELD SYMMETRY");
    const std::string field(words[3]);
    if (field != "pattern" && field != "integer" && field != "real")
        lines.fail("the field \"" + field + "\" is unknown; give pattern, integer or real");
    do {
        if (!lines.next()) lines.fail_at_end("ends before the size of the matrix");
    } while (lines.words()[0][0] == '%');
    const std::uint64_t rows = lines.number(0, "the number of rows", 1, most_vertices);
    const std::uint64_t columns = lines.number(1, "the number of columns", 1, most_vertices);
    edge_list edges(lines, std::max(rows, columns), lines.number(2, "the number of entries", 0, most_edges));
    while (lines.next())
        if (lines.words()[0][0] != '%') edges.add(0, field == "integer");
    return edges.finish();
}

graph read_dimacs(line_reader& lines) {
    while (lines.words()[0] == "c")
        if (!lines.next()) lines.fail_at_end("has comments only");
    const std::vector<std::string_view>& words = lines.words();
    if (words[0] != "p" || words.size() != 4 || (words[1] != "sp" && words[1] != "edge" && words[1] != "col"))
        lines.fail("is neither \"%%MatrixMarket ...\" nor \"p sp VERTICES EDGES\" nor \"p edge VERTICES EDGES\"");
    const bool has_weights = words[1] == "sp";
    const std::uint64_t vertices = lines.number(2, "the number of vertices", 1, most_vertices);
    edge_list edges(lines, vertices, lines.number(3, "the number of edges", 0, most_edges));
    const std::string_view kind = has_weights ? "a" : "e";
    while (lines.next()) {
        if (lines.words()[0] == "c") continue;
        if (lines.words()[0] != kind)
            lines.fail("\"" + std::string(lines.words()[0]) + "\" begins no edge; give \"" + std::string(kind) + "\"");
        edges.add(1, has_weights);
    }
    return edges.finish();
}

}  // namespace

graph read_graph(const std::string& file) {
    errno = 0;
    std::ifstream in(file);
    if (!in) throw graph_error(file + ": cannot be read (" + std::strerror(errno) + "); give a file with a graph");
    return read_graph(in, file);
}

graph read_graph(std::istream& in, const std::string& name) {
    line_reader lines(in, name);
    if (!lines.next()) lines.fail_at_end("is empty; give a file with a graph");
    return lines.words()[0] == "%%MatrixMarket" ? read_matrix_market(lines) : read_dimacs(lines);
}

}  // namespace graphs
