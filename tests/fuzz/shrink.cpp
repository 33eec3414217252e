#include "shrink.hpp"

#include <utility>
#include <vector>

namespace fuzz {
namespace {

/// All grids of a program, the root first. Good until the program is changed.
void collect(grid_plan& g, std::vector<grid_plan*>& grids) {
    grids.push_back(&g);
    for (step_plan& s : g.steps) {
        for (grid_plan& child : s.children) collect(child, grids);
    }
}
std::vector<grid_plan*> grids_of(program& p) {
    std::vector<grid_plan*> grids;
    collect(p.root, grids);
    return grids;
}

class shrinker {
public:
    shrinker(program p, const std::function<bool(const program&)>& fails, unsigned most_runs)
        : best_(std::move(p)), fails_(fails), left_(most_runs) {}

    program run() {
        bool smaller = true;
        while (smaller && left_ != 0) {
            smaller = false;
            smaller |= take_subtree();
            smaller |= drop_steps();
            smaller |= change_numbers();
            smaller |= simplify_settings();
        }
        return best_;
    }

private:
    /// Keeps what `change` makes of the best program, if that still fails. `change` returns false where there is
    /// nothing to change.
    template <class Change>
    bool attempt(const Change& change) {
        if (left_ == 0) return false;
        program candidate = best_;
        if (!change(candidate)) return false;
        --left_;
        if (!fails_(candidate)) return false;
        best_ = std::move(candidate);
        return true;
    }

    /// A grid below the root in its place.
    bool take_subtree() {
        bool any = false;
        for (std::size_t i = 1; i < grids_of(best_).size() && left_ != 0; ++i) {
            const bool done = attempt([&](program& p) {
                grid_plan below = *grids_of(p)[i];
                if (below.kernel != kernel::direct) below.kernel = kernel::bytes_4;
                p.root = std::move(below);
                return true;
            });
            if (done) {
                any = true;
                i = 0;
            }
        }
        return any;
    }

    /// Steps, many at once first.
    bool drop_steps() {
        bool any = false;
        for (std::size_t i = 0; i < grids_of(best_).size() && left_ != 0; ++i) {
            for (std::size_t count = grids_of(best_)[i]->steps.size(); count != 0; count /= 2) {
                for (std::size_t first = 0; i < grids_of(best_).size() && first < grids_of(best_)[i]->steps.size();) {
                    const bool done = attempt([&](program& p) {
                        std::vector<step_plan>& steps = grids_of(p)[i]->steps;
                        const std::size_t last = std::min(first + count, steps.size());
                        steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(first),
                                    steps.begin() + static_cast<std::ptrdiff_t>(last));
                        return true;
                    });
                    if (done) {
                        any = true;
                    } else {
                        first += count;
                    }
                    if (left_ == 0) return any;
                }
            }
        }
        return any;
    }

    bool lower(std::size_t grid, std::uint32_t* (*which)(grid_plan&), std::uint32_t least) {
        bool any = false;
        while (attempt([&](program& p) {
            std::uint32_t* value = which(*grids_of(p)[grid]);
            if (*value <= least) return false;
            *value = least;
            return true;
        })) {
            any = true;
        }
        while (attempt([&](program& p) {
            std::uint32_t* value = which(*grids_of(p)[grid]);
            if (*value <= least + 1) return false;
            *value /= 2;
            return true;
        })) {
            any = true;
        }
        while (attempt([&](program& p) {
            std::uint32_t* value = which(*grids_of(p)[grid]);
            if (*value <= least) return false;
            --*value;
            return true;
        })) {
            any = true;
            if (left_ % 8 == 0) break;
        }
        return any;
    }

    bool change_numbers() {
        bool any = false;
        for (std::size_t i = 0; i < grids_of(best_).size() && left_ != 0; ++i) {
            for (const auto which :
                 {+[](grid_plan& g) { return &g.blocks[2]; }, +[](grid_plan& g) { return &g.blocks[1]; },
                  +[](grid_plan& g) { return &g.blocks[0]; }, +[](grid_plan& g) { return &g.threads[2]; },
                  +[](grid_plan& g) { return &g.threads[1]; }, +[](grid_plan& g) { return &g.threads[0]; }}) {
                any |= lower(i, which, 1);
            }
            any |= lower(
                i, +[](grid_plan& g) { return &g.moldable; }, 0);
            any |= attempt([&](program& p) {
                grid_plan& g = *grids_of(p)[i];
                if (g.kernel == kernel::bytes_4 || g.kernel == kernel::direct) return false;
                g.kernel = kernel::bytes_4;
                return true;
            });
            for (std::size_t s = 0; s < grids_of(best_)[i]->steps.size() && left_ != 0; ++s) {
                const auto lower_step = [&](std::uint32_t step_plan::*member, std::uint32_t least) {
                    for (const bool at_once : {true, false}) {
                        while (attempt([&](program& p) {
                            std::uint32_t& value = grids_of(p)[i]->steps[s].*member;
                            if (value <= least) return false;
                            value = at_once ? least : value / 2 < least ? least : value / 2;
                            return true;
                        })) {
                            any = true;
                        }
                    }
                };
                lower_step(&step_plan::items, 1);
                lower_step(&step_plan::who, 0);
                lower_step(&step_plan::where, 0);
                lower_step(&step_plan::prepared, 0);
                lower_step(&step_plan::words, 1);
                any |= attempt([&](program& p) {
                    std::vector<grid_plan>& children = grids_of(p)[i]->steps[s].children;
                    if (children.size() < 2) return false;
                    children.resize(1);
                    return true;
                });
            }
        }
        return any;
    }

    bool simplify_settings() {
        const engine_settings plain;
        bool any = attempt([](program& p) { return std::exchange(p.stamped, 0) != 0; });
        any |= attempt([](program& p) { return std::exchange(p.reduced, 0) != 0; });
        const auto reset = [&](auto member) {
            any |= attempt([&](program& p) {
                if (p.settings.*member == plain.*member) return false;
                p.settings.*member = plain.*member;
                return true;
            });
        };
        reset(&engine_settings::traced);
        reset(&engine_settings::moldable_threads);
        reset(&engine_settings::shared_bytes);
        reset(&engine_settings::nesting_depth);
        reset(&engine_settings::pending_launches);
        reset(&engine_settings::worker_blocks);
        reset(&engine_settings::block_threads);
        reset(&engine_settings::memory_bytes);
        reset(&engine_settings::sync_depth);
        reset(&engine_settings::schedule);
        return any;
    }

    program best_;
    const std::function<bool(const program&)>& fails_;
    unsigned left_;
};

}  // namespace

program shrink(const program& failing, const std::function<bool(const program&)>& fails, unsigned most_runs) {
    return shrinker(failing, fails, most_runs).run();
}

}  // namespace fuzz
