#include "graph_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <istream>
#include <limits>
#include <string_view>

namespace samples {
namespace {

/// A file of lines, each of words.
class line_reader {
public:
    line_reader(std::istream& in, const std::string& name) : in_(in), name_(name) {}

    /// Of a line that is a comment the first word is this.
    void set_comment(std::string_view mark) { comment_ = mark; }

    /// The next line that has words and is no comment; false at the end.
    bool next() {
        while (read_line()) {
            split();
            const bool is_comment = !words_.empty() && is_mark(words_[0]);
            if (is_cut_) {
                if (!is_comment) fail("the line is too long; give an edge a line");
                in_.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
            }
            if (!words_.empty() && !is_comment) return true;
        }
        words_.clear();
        return false;
    }
    const std::vector<std::string_view>& words() const { return words_; }

    [[noreturn]] void fail(const std::string& why) const {
        throw graph_error(name_ + ":" + std::to_string(line_) + ": " + why);
    }
    [[noreturn]] void fail_at_end(const std::string& why) const { throw graph_error(name_ + ": " + why); }

    std::uint64_t number(std::size_t word, const char* what, std::uint64_t least, std::uint64_t most) const {
        if (word >= words_.size()) fail(std::string(what) + " is missing");
        const std::string_view text = words_[word];
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error == std::errc::invalid_argument || end != text.data() + text.size())
            fail(std::string(what) + " \"" + std::string(text) + "\" is no whole number");
        if (error != std::errc() || value < least || value > most)
            fail(std::string(what) + " " + std::string(text) + " is out of range; give " + std::to_string(least) +
                 " to " + std::to_string(most));
        return value;
    }
    void require_end(std::size_t words) const {
        if (words_.size() > words) fail("\"" + std::string(words_[words]) + "\" is more than belongs there");
    }

private:
    // In Matrix Market a comment's first word may follow the mark without a space.
    bool is_mark(std::string_view word) const {
        return comment_ == "%" ? word[0] == '%' : !comment_.empty() && word == comment_;
    }

    bool read_line() {
        char bytes[1024];
        is_cut_ = false;
        if (!in_.getline(bytes, sizeof bytes)) {
            if (in_.bad()) throw graph_error(name_ + ": cannot be read; give a file with a graph");
            if (in_.gcount() != sizeof bytes - 1) return false;
            is_cut_ = true;
            in_.clear();
        }
        ++line_;
        text_ = bytes;
        return true;
    }
    void split() {
        words_.clear();
        const std::string_view rest = text_;
        std::size_t at = 0;
        while ((at = rest.find_first_not_of(" \t\r", at)) != rest.npos) {
            const std::size_t end = std::min(rest.find_first_of(" \t\r", at), rest.size());
            words_.push_back(rest.substr(at, end - at));
            at = end;
        }
    }

    std::istream& in_;
    const std::string& name_;
    std::string_view comment_;
    std::string text_;
    bool is_cut_ = false;  // the line goes on beyond what was read
    std::vector<std::string_view> words_;
    unsigned line_ = 0;
};

/// Collects as many edges as a file has announced.
class edge_collector {
public:
    /// Of the present line one word is the number of edges.
    edge_collector(const line_reader& lines, std::uint64_t vertices, std::size_t edges_word,
                   const graph_file_limits& limits)
        : lines_(lines),
          limits_(limits),
          announced_(lines.number(edges_word, "the number of edges", 0, limits.most_edges)) {
        list_.vertices = static_cast<unsigned>(vertices);
    }

    /// The words of a line from `first` on: two vertices, and a weight if it has one.
    void add(std::size_t first, bool has_weight) {
        if (list_.edges.size() == announced_)
            lines_.fail("there are more edges than the " + std::to_string(announced_) + " announced");
        const auto from = static_cast<unsigned>(lines_.number(first, "the vertex", 1, list_.vertices) - 1);
        const auto to = static_cast<unsigned>(lines_.number(first + 1, "the vertex", 1, list_.vertices) - 1);
        if (from == to && !limits_.has_loops)
            lines_.fail("joins vertex " + std::to_string(from + 1) + " to itself; leave that out");
        const std::uint64_t weight = has_weight ? lines_.number(first + 2, "the weight", 0, limits_.most_weight) : 1;
        list_.edges.push_back({from, to, static_cast<unsigned>(weight)});
    }
    edge_list finish() {
        if (list_.edges.size() != announced_)
            lines_.fail_at_end("ends after " + std::to_string(list_.edges.size()) + " of " +
                               std::to_string(announced_) + " edges; is it complete?");
        return std::move(list_);
    }

private:
    const line_reader& lines_;
    const graph_file_limits& limits_;
    std::uint64_t announced_;
    edge_list list_;
};

edge_list read_matrix_market(line_reader& lines, const graph_file_limits& limits) {
    const std::vector<std::string_view>& words = lines.words();
    if (words.size() != 5 || words[1] != "matrix" || words[2] != "coordinate")
        lines.fail("is no matrix of coordinates; give %%MatrixMarket matrix coordinate FIELD SYMMETRY");
    const std::string field(words[3]);
    if (field != "pattern" && field != "integer" && field != "real")
        lines.fail("the field \"" + field + "\" is unknown; give pattern, integer or real");
    lines.set_comment("%");
    if (!lines.next()) lines.fail_at_end("ends before the size of the matrix");
    const std::uint64_t rows = lines.number(0, "the number of rows", 1, limits.most_vertices);
    const std::uint64_t columns = lines.number(1, "the number of columns", 1, limits.most_vertices);
    edge_collector edges(lines, std::max(rows, columns), 2, limits);
    lines.require_end(3);
    while (lines.next()) {
        edges.add(0, field == "integer");
        lines.require_end(field == "pattern" ? 2 : 3);
    }
    return edges.finish();
}

/// After the line `p FORMAT VERTICES EDGES` each edge has a line that begins with this letter, or with none.
std::string_view letter_of(const std::vector<std::string_view>& words) {
    if (words[1] == "sp") return "a";
    return words[1] == "td" ? "" : "e";
}

edge_list read_dimacs(line_reader& lines, const graph_file_limits& limits) {
    const std::vector<std::string_view>& words = lines.words();
    const auto is_format = [&](std::string_view name) { return words.size() > 1 && words[1] == name; };
    if (words[0] != "p" || !(is_format("sp") || is_format("edge") || is_format("col") || is_format("td")))
        lines.fail(
            "is neither \"%%MatrixMarket ...\" nor \"p FORMAT VERTICES EDGES\" with the format sp, edge, col or td");
    const std::string_view letter = letter_of(words);
    const bool has_weights = letter == "a";
    edge_collector edges(lines, lines.number(2, "the number of vertices", 1, limits.most_vertices), 3, limits);
    lines.require_end(4);
    while (lines.next()) {
        if (!letter.empty() && words[0] != letter)
            lines.fail("\"" + std::string(words[0]) + "\" begins no edge; give \"" + std::string(letter) + "\"");
        const std::size_t first = letter.empty() ? 0 : 1;
        edges.add(first, has_weights);
        lines.require_end(first + (has_weights ? 3 : 2));
    }
    return edges.finish();
}

}  // namespace

edge_list read_edges(const std::string& file, const graph_file_limits& limits) {
    errno = 0;
    std::ifstream in(file);
    if (!in) throw graph_error(file + ": cannot be read (" + std::strerror(errno) + "); give a file with a graph");
    return read_edges(in, file, limits);
}

edge_list read_edges(std::istream& in, const std::string& name, const graph_file_limits& limits) {
    line_reader lines(in, name);
    lines.set_comment("c");
    if (!lines.next()) lines.fail_at_end("has no graph; give a file with one");
    return lines.words()[0] == "%%MatrixMarket" ? read_matrix_market(lines, limits) : read_dimacs(lines, limits);
}

}  // namespace samples
