// Grids that are alike all the way down, as classes: what a tree shows in place of a thousand equal branches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../trace.hpp"
#include "printable.hpp"

namespace dynpar {
namespace detail {

/// Every grid gets a class such that two grids have the same class exactly if they look alike (kernel, shape, how they
/// were launched, status) and so do their subtrees, in whatever order. Grids are listed in launch order, so a grid's
/// children and continuations come after it: going backwards meets them before the grid, and nothing here recurses.
class nesting_classes {
public:
    /// How many of one class there are.
    struct group {
        std::uint32_t of_class;
        std::uint64_t count;
    };
    struct nesting_class {
        std::uint32_t representative;  ///< a grid of the class
        std::uint32_t label;           ///< the same for two classes whose grids look alike, whatever is below them
        std::vector<group> below;      ///< the representative's children and continuations, in launch order
    };

    explicit nesting_classes(const trace& nesting) : grids_(nesting.grids), class_of_(grids_.size()) {
        constexpr std::uint32_t none = grid_record::none;
        std::vector<std::uint32_t> first_below(grids_.size(), none);
        std::vector<std::uint32_t> next_sibling(grids_.size(), none);
        std::vector<std::uint32_t> roots;
        std::vector<std::uint32_t> orphans;
        for (std::size_t i = grids_.size(); i-- > 0;) {
            const grid_record& grid = grids_[i];
            const std::uint32_t above = grid.continues != none ? grid.continues : grid.parent;
            if (above < i) {
                next_sibling[i] = first_below[above];
                first_below[above] = static_cast<std::uint32_t>(i);
            } else {
                (grid.depth == 0 && grid.continues == none ? roots : orphans).push_back(static_cast<std::uint32_t>(i));
            }
        }
        std::vector<std::uint32_t> members;
        for (std::size_t i = grids_.size(); i-- > 0;) {
            members.clear();
            for (std::uint32_t b = first_below[i]; b != none; b = next_sibling[b]) members.push_back(class_of_[b]);
            const auto index = static_cast<std::uint32_t>(i);
            class_of_[i] = find_or_make(index, label_of(index), in_groups(members));
        }
        roots_ = groups_of(roots);
        orphans_ = groups_of(orphans);
    }

    const nesting_class& operator[](std::uint32_t index) const { return classes_[index]; }
    std::size_t size() const { return classes_.size(); }
    const grid_record& grid(const nesting_class& c) const { return grids_[c.representative]; }

    /// The grids that the host launched.
    const std::vector<group>& roots() const { return roots_; }
    /// Grids whose parents are not in the trace.
    const std::vector<group>& orphans() const { return orphans_; }

    /// "then add_up <<<16, 256>>>".
    static std::string text_of(const grid_record& grid) {
        std::string text = grid.continues != grid_record::none ? "then " : "";
        text += printable(grid.kernel) + " " + to_string(grid.shape);
        if (!grid.ran()) text += std::string("  LOST: ") + to_string(grid.status);
        return text;
    }

private:
    static std::size_t mix(std::size_t hash, std::size_t value) {
        return (hash ^ value) * 0x100000001b3ull + (hash >> 29);
    }

    // Labels are found by hash, and compared: making the text of each of a million grids would take longer than all the
    // rest.
    std::uint32_t label_of(std::uint32_t index) {
        const grid_record& grid = grids_[index];
        std::size_t hash = std::hash<std::string_view>{}(grid.kernel);
        for (const unsigned size : {grid.shape.blocks.x, grid.shape.blocks.y, grid.shape.blocks.z, grid.shape.threads.x,
                                    grid.shape.threads.y, grid.shape.threads.z, grid.shape.shared_bytes})
            hash = mix(hash, size);
        hash = mix(hash, static_cast<unsigned>(grid.status) * 2u + (grid.continues != grid_record::none));
        const auto [first, last] = labels_.equal_range(hash);
        for (auto found = first; found != last; ++found) {
            const grid_record& other = grids_[found->second];
            if (other.shape == grid.shape && other.status == grid.status && other.kernel == grid.kernel &&
                (other.continues != grid_record::none) == (grid.continues != grid_record::none))
                return found->second;
        }
        labels_.emplace(hash, index);
        return index;
    }

    std::uint32_t find_or_make(std::uint32_t grid, std::uint32_t label, std::vector<group> below) {
        std::vector<group> sorted = below;
        std::sort(sorted.begin(), sorted.end(), [](const group& a, const group& b) { return a.of_class < b.of_class; });
        std::size_t hash = label;
        for (const group& g : sorted) hash = mix(mix(hash, g.of_class), g.count);
        const auto [first, last] = found_.equal_range(hash);
        for (auto found = first; found != last; ++found) {
            const nesting_class& other = classes_[found->second];
            if (other.label != label || other.below.size() != sorted.size()) continue;
            std::vector<group> theirs = other.below;
            std::sort(theirs.begin(), theirs.end(),
                      [](const group& a, const group& b) { return a.of_class < b.of_class; });
            if (std::equal(theirs.begin(), theirs.end(), sorted.begin(), [](const group& a, const group& b) {
                    return a.of_class == b.of_class && a.count == b.count;
                }))
                return found->second;
        }
        const auto index = static_cast<std::uint32_t>(classes_.size());
        classes_.push_back({grid, label, std::move(below)});
        found_.emplace(hash, index);
        return index;
    }

    /// Classes with their counts, in the order in which they come first.
    std::vector<group> in_groups(const std::vector<std::uint32_t>& members) {
        std::vector<group> groups;
        place_.resize(classes_.size(), 0);
        for (const std::uint32_t c : members) {
            std::size_t& place = place_[c];
            if (place == 0) {
                groups.push_back({c, 0});
                place = groups.size();
            }
            ++groups[place - 1].count;
        }
        for (const group& g : groups) place_[g.of_class] = 0;
        return groups;
    }

    std::vector<group> groups_of(std::vector<std::uint32_t>& grids_backwards) {
        std::vector<std::uint32_t> members;
        for (std::size_t i = grids_backwards.size(); i-- > 0;) members.push_back(class_of_[grids_backwards[i]]);
        return in_groups(members);
    }

    const std::vector<grid_record>& grids_;
    std::vector<std::uint32_t> class_of_;
    std::vector<nesting_class> classes_;
    std::vector<group> roots_;
    std::vector<group> orphans_;
    std::unordered_multimap<std::size_t, std::uint32_t> labels_;  // hash to a grid with that label
    std::unordered_multimap<std::size_t, std::uint32_t> found_;   // hash to a class
    std::vector<std::size_t> place_;                              // of a class in the present groups, plus one
};

}  // namespace detail
}  // namespace dynpar
