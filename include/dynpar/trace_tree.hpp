// The nesting tree of a trace as text.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "detail/nesting_classes.hpp"
#include "trace.hpp"

namespace dynpar {
namespace detail {

class tree_printer {
public:
    tree_printer(std::ostream& out, const trace& nesting) : out_(out), classes_(nesting) {}

    void print() {
        print_all(classes_.roots(), true);
        if (!classes_.orphans().empty()) {
            out_ << "(launched by grids that are not in the trace)\n";
            print_all(classes_.orphans(), false);
        }
    }

private:
    using groups = std::vector<nesting_classes::group>;
    static constexpr std::size_t levels_alike = 8;  // so many levels of a recursion in a row become one line
    static constexpr std::size_t deepest_indent =
        40;  // deeper levels are not indented further: their lines say how deep they are

    struct level {
        const groups* siblings;
        std::size_t next;
        std::size_t indent;  // length of the indentation of this level
    };

    // With a stack of its own: a nesting may be deeper than the C++ stack.
    void print_all(const groups& top, bool at_top) {
        std::string indent;
        std::vector<level> levels{{&top, 0, 0}};
        std::vector<std::size_t> tree_levels{0};  // of the trace, where one line stands for several
        while (!levels.empty()) {
            level& here = levels.back();
            if (here.next == here.siblings->size()) {
                levels.pop_back();
                tree_levels.pop_back();
                continue;
            }
            const nesting_classes::group& g = (*here.siblings)[here.next++];
            const bool last = here.next == here.siblings->size();
            const bool bare = at_top && levels.size() == 1;
            indent.resize(here.indent);
            out_ << indent << (bare ? "" : last ? "└─ " : "├─ ");
            if (levels.size() > deepest_indent) out_ << "(level " << tree_levels.back() << ") ";
            const nesting_classes::nesting_class* end = &classes_[g.of_class];
            out_ << nesting_classes::text_of(classes_.grid(*end));
            if (g.count > 1) out_ << "  x " << g.count;
            std::size_t alike = 1;
            while (const nesting_classes::nesting_class* next = next_alike(*end)) end = next, ++alike;
            if (alike >= levels_alike) {
                out_ << "  and so on, " << alike << " levels, each launched by the one above";
            } else {
                end = &classes_[g.of_class];
                alike = 1;
            }
            out_ << '\n';
            if (end->below.empty()) continue;
            if (!bare && levels.size() < deepest_indent) indent += last ? "   " : "│  ";
            const std::size_t below = tree_levels.back() + alike;
            levels.push_back({&end->below, 0, indent.size()});
            tree_levels.push_back(below);
        }
    }

    /// The only grid below, if it looks like this one.
    const nesting_classes::nesting_class* next_alike(const nesting_classes::nesting_class& c) const {
        if (c.below.size() != 1 || c.below.front().count != 1) return nullptr;
        const nesting_classes::nesting_class& below = classes_[c.below.front().of_class];
        return below.label == c.label ? &below : nullptr;
    }

    std::ostream& out_;
    nesting_classes classes_;
};

}  // namespace detail

/// Writes the nesting tree, one line for each group of siblings that are alike all the way down:
///
///     nested_hello_world <<<2, 8>>>
///     └─ nested_hello_world <<<1, 4>>>  x 2
///        └─ ...
///
/// A long recursion in which every grid has launched one other like itself is one line with the number of its levels.
inline void print_tree(std::ostream& out, const trace& nesting) {
    detail::tree_printer(out, nesting).print();
    if (nesting.missing != 0) {
        out << "(" << nesting.missing << " more grids were launched: there was no room for them in the trace)\n";
    }
}

}  // namespace dynpar
