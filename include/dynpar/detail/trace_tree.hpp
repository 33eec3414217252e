// The nesting tree as text. Siblings that are alike all the way down share one line.
#pragma once

#include <algorithm>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "../trace.hpp"

namespace dynpar {
namespace detail {

// Every grid gets a class such that two grids have the same class exactly if their subtrees are alike. Grids are listed in
// launch order, so a grid's children and continuations come after it: going backwards meets children before parents.
class nesting_tree {
public:
    explicit nesting_tree(const trace& nesting) : grids_(nesting.grids), children_(grids_.size()), class_of_(grids_.size()) {
        for (const grid_record& grid : grids_) {
            const std::uint32_t above = grid.continues != grid_record::none ? grid.continues : grid.parent;
            if (above < grids_.size()) {
                children_[above].push_back(grid.id);
            } else {
                roots_.push_back(grid.id);
            }
        }
        std::map<std::pair<std::string, std::vector<std::size_t>>, std::size_t> classes;
        for (std::size_t i = grids_.size(); i-- > 0;) {
            std::vector<std::size_t> below;
            for (std::uint32_t child : children_[i]) below.push_back(class_of_[child]);
            std::sort(below.begin(), below.end());
            class_of_[i] = classes.try_emplace({label(grids_[i]), std::move(below)}, classes.size()).first->second;
        }
    }

    void print(std::ostream& out) const { print_siblings(out, roots_, "", true); }

private:
    static std::string label(const grid_record& grid) {
        return (grid.continues != grid_record::none ? "then " : "") + grid.kernel + " " + to_string(grid.shape) +
               (grid.lost ? "  LOST" : "");
    }

    void print_siblings(std::ostream& out, const std::vector<std::uint32_t>& siblings, const std::string& indent,
                        bool top) const {
        std::vector<std::pair<std::uint32_t, std::size_t>> groups;  // one grid of each class, and how many there are
        std::map<std::size_t, std::size_t> place;
        for (std::uint32_t id : siblings) {
            const auto [found, is_new] = place.try_emplace(class_of_[id], groups.size());
            if (is_new) groups.emplace_back(id, 0);
            ++groups[found->second].second;
        }
        for (std::size_t i = 0; i < groups.size(); ++i) {
            const bool last = i + 1 == groups.size();
            out << indent << (top ? "" : last ? "└─ " : "├─ ") << label(grids_[groups[i].first]);
            if (groups[i].second > 1) out << "  x " << groups[i].second;
            out << '\n';
            print_siblings(out, children_[groups[i].first], indent + (top ? "" : last ? "   " : "│  "), false);
        }
    }

    const std::vector<grid_record>& grids_;
    std::vector<std::vector<std::uint32_t>> children_;
    std::vector<std::size_t> class_of_;
    std::vector<std::uint32_t> roots_;
};

}  // namespace detail

inline void print_tree(std::ostream& out, const trace& nesting) {
    detail::nesting_tree(nesting).print(out);
    if (nesting.missing != 0) {
        out << "(" << nesting.missing << " more grids ran: there was no room for them in the trace)\n";
    }
}

}  // namespace dynpar
