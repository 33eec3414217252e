#include "runner.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "engine.hpp"
#include "interpreter.hpp"

namespace fuzz {
namespace {

const char* name_of(mistake m) {
    static constexpr const char* names[] = {"a grid that is not in the program",
                                            "C10: an argument's bytes",
                                            "C10: the kernel object's bytes",
                                            "C2: a child does not see what was written before its launch",
                                            "position in grid or block",
                                            "C9: depth",
                                            "width of a block",
                                            "C3/C4/C5: a grid begins before another has written its value",
                                            "C3/C4/C5: a grid begins before another's threads have ended",
                                            "C6: status of wait()",
                                            "C6: after wait() a child has not written its value",
                                            "C6: after wait() a child's threads have not ended",
                                            "status of a launch",
                                            "C8/C11: status of a refused call",
                                            "shared() is null",
                                            "shared memory",
                                            "a live value of a thread",
                                            "scratch() is null",
                                            "C12: where scratch memory is",
                                            "C12: contents of scratch memory",
                                            "C12: a child's result in scratch memory",
                                            "status of a stream's or an event's call",
                                            "status of then() with calls",
                                            "C20: the value of a tree of calls",
                                            "C20: values come before all is complete that was launched",
                                            "status of a nested loop"};
    static_assert(sizeof(names) / sizeof(*names) == mistakes);
    return names[static_cast<unsigned>(m)];
}

/// Of a run that has lost launches: what was not run cannot be seen, and calls fail.
bool comes_of_lost_launches(mistake m) {
    switch (m) {
        case mistake::incomplete_value:
        case mistake::incomplete_count:
        case mistake::wait_status:
        case mistake::after_wait_value:
        case mistake::after_wait_count:
        case mistake::launch_status:
        case mistake::shared_null:
        case mistake::scratch_null:
        case mistake::scratch_unseen:
        case mistake::scratch_result:
        case mistake::stream_status:
        case mistake::call_status:
        case mistake::loop_status: return true;
        default: return false;
    }
}

/// Memory of the engine that only grows.
template <class T>
class growing {
public:
    T* get(const engine_type& engine, std::size_t count) {
        if (!memory_ || memory_->size() < count) {
            std::size_t size = memory_ ? memory_->size() : 4096;
            while (size < count) size *= 2;
            memory_.reset();
            memory_.emplace(engine.make_buffer<T>(size));
            clear(memory_->data(), size * sizeof(T));
        }
        return memory_->data();
    }

private:
    std::optional<dynpar::buffer<T>> memory_;
};

/// What programs reduce.
struct program_reducers {
    explicit program_reducers(engine_type& engine)
        : sum(engine.make_reducer<sum_reducer>()),
          largest(engine.make_reducer<largest_reducer>()),
          two(engine.make_reducer<sum_of_two>()) {}

    void reset() {
        sum.reset();
        largest.reset();
        two.reset();
    }
    void put(context& c) const {
        const auto put_view = [&](unsigned number, const auto& view) {
            std::memcpy(c.reducers[number], &view, sizeof view);
        };
        put_view(0, sum.view());
        put_view(1, largest.view());
        put_view(2, two.view());
    }

    dynpar::reducer<sum_reducer> sum;
    dynpar::reducer<largest_reducer> largest;
    dynpar::reducer<sum_of_two> two;
};

/// What a run left.
struct outcome {
    dynpar::report report;
    mistake_log log{};
    std::vector<std::uint32_t> counts;        // by slot, from the program's first
    std::vector<std::uint32_t> begun, ended;  // likewise, if the program is stamped
    std::uint32_t first = 0;                  // slot
    unsigned long long sum = 0;               // likewise, if the program reduces
    std::uint32_t largest = 0;
    two_sums two{0, 0};
    bool out_of_resources = false;
};

class engine_runner : public runner {
public:
    explicit engine_runner(unsigned number) : number_(number), first_(number * slots_of_program) {}

    verdict run(const program& p, const layout& l, mutant m) override {
        verdict v;
        try {
            use_engine(p.settings);
            v = judge(p, l, run_once(p, l, m));
            if (v.out_of_resources && v.right &&
                (p.settings.pending_launches == 0 || p.settings.pending_launches > 16)) {
                // The next run on the same engine has to be right.
                const program next = small_program(p.settings);
                const layout small = lay_out(next, traits(), 1000);
                const verdict after = judge(next, small, run_once(next, small, mutant::none));
                if (!after.right) {
                    v.right = false;
                    v.what += "after a run without memory, the next one:\n" + after.what;
                } else if (after.out_of_resources) {
                    v.right = false;
                    v.what += "after a run without memory, the next one has none either\n";
                }
            }
        } catch (const std::exception& e) {
            v.right = false;
            v.broken = true;
            v.what += std::string("exception: ") + e.what() + "\n";
        }
        return v;
    }

private:
    void use_engine(const engine_settings& settings) {
        if (engine_ && settings == settings_) return;
        reducers_.reset();
        engine_.reset();
        engine_.emplace(options_for(settings));
        settings_ = settings;
    }

    static program small_program(const engine_settings& settings) {
        program p;
        p.settings = settings;
        grid_plan* g = &p.root;
        for (int level = 0; level < 3; ++level) {
            step_plan s;
            s.what = action::launch;
            s.items = 2;
            s.children.resize(1);
            g->steps.push_back(s);
            g = &g->steps.back().children.front();
        }
        return p;
    }

    /// Where an array with so many elements for each of this program's slots would begin if it had some for those of
    /// all programs.
    template <class T>
    T* by_slot(T* elements, std::uint32_t of_each = 1) const {
        return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(elements) -
                                    std::uintptr_t{first_} * of_each * sizeof(T));
    }

    /// The step or node that a mutant changes.
    static std::uint32_t target_of(const program& p, const layout& l, mutant m) {
        std::vector<std::uint32_t> candidates;
        const bool of_node = m == mutant::depth_off_by_one || m == mutant::block_run_twice ||
                             m == mutant::block_dropped || m == mutant::thread_dropped ||
                             m == mutant::value_not_reduced;
        if (of_node) return mix(p.salt, 1) % static_cast<std::uint32_t>(l.nodes.size());
        for (std::uint32_t i = 0; i < l.steps.size(); ++i) {
            const step& s = l.steps[i];
            const bool launches = s.what == action::launch && s.expected == 0;
            const auto child_has_pattern = [&] {
                const kernel k = l.nodes[s.child].kernel;
                return k == kernel::bytes_8 || k == kernel::bytes_16 || k == kernel::registers ||
                       k == kernel::bytes_200;
            };
            const auto followed_by_like = [&] {
                return i + 1 < l.steps.size() && l.steps[i + 1].what == s.what &&
                       l.nodes[l.steps[i + 1].child].needs != 0 && l.steps[i + 1].where == s.where &&
                       l.steps[i + 1].who == s.who && l.steps[i + 1].items == s.items && same_node(l, i, i + 1);
            };
            bool fits = false;
            switch (m) {
                case mutant::dropped_launch:
                case mutant::launch_twice:
                case mutant::child_reads_before_write:
                    fits = launches && (m != mutant::child_reads_before_write || s.prepared == 0);
                    break;
                case mutant::lost_stream_order: fits = launches && s.stream < own_stream; break;
                case mutant::early_continuation: fits = s.what == action::then; break;
                case mutant::continuations_swapped: fits = s.what == action::then && followed_by_like(); break;
                case mutant::argument_byte_changed: fits = launches && s.stream == all && child_has_pattern(); break;
                case mutant::scratch_reused_early: fits = s.what == action::scratch; break;
                case mutant::call_value_off: fits = s.what == action::call && s.value_of_slot != 0; break;
                case mutant::iteration_dropped: fits = s.what == action::loop && s.iterations != 0; break;
                case mutant::call_not_answered: fits = s.what == action::call; break;
                case mutant::wait_skipped: fits = s.what == action::wait && s.expected == 0; break;
                case mutant::barrier_skipped:
                case mutant::shared_calls_overlap: fits = s.what == action::exchange; break;
                case mutant::refusal_not_told:
                    fits = s.what == action::refuse && s.which != refusal::shared_memory;
                    break;
                default: break;
            }
            if (fits) candidates.push_back(i);
        }
        return candidates.empty() ? all : candidates[mix(p.salt, 2) % candidates.size()];
    }
    static bool same_node(const layout& l, std::uint32_t a, std::uint32_t b) {
        for (const node& n : l.nodes) {
            if (a >= n.first_step && a < n.first_step + n.steps) return b < n.first_step + n.steps;
        }
        return false;
    }

    static void change_report(dynpar::report& r, mutant m) {
        switch (m) {
            case mutant::refused_call_not_counted:
                if (!r.failures.empty()) {
                    r.failed_calls -= r.failures.back().count;
                    r.failures.pop_back();
                }
                break;
            case mutant::report_count_off: ++r.grids; break;
            case mutant::lost_count_off:
                if (r.lost_launches != 0) --r.lost_launches;
                break;
            case mutant::nesting_off_by_one: ++r.deepest_nesting; break;
            default: break;
        }
    }

    outcome run_once(const program& p, const layout& l, mutant m) {
        // ---- to the engine's memory
        const std::size_t node_bytes = l.nodes.size() * sizeof(node), step_bytes = l.steps.size() * sizeof(step),
                          need_bytes = l.needs.size() * sizeof(need);
        image_.resize(sizeof(context) + node_bytes + step_bytes + need_bytes);
        unsigned char* const there = program_.get(*engine_, image_.size());
        if (there != told_) {
            static_cast<void>(
                engine_->run(take_program{}, dynpar::shape(1, 1), number_, reinterpret_cast<const context*>(there)));
            told_ = there;
        }
        unsigned char* const results = results_.get(*engine_, sizeof(mistake_log) + l.slots * sizeof(std::uint32_t));
        context c{};
        c.nodes = reinterpret_cast<const node*>(there + sizeof(context));
        c.steps = reinterpret_cast<const step*>(there + sizeof(context) + node_bytes);
        c.needs = reinterpret_cast<const need*>(there + sizeof(context) + node_bytes + step_bytes);
        c.log = reinterpret_cast<mistake_log*>(results);
        auto* const counts = reinterpret_cast<std::uint32_t*>(results + sizeof(mistake_log));
        c.counts = by_slot(counts);
        c.values = by_slot(values_.get(*engine_, l.slots));
        c.notes = by_slot(notes_.get(*engine_, l.slots));
        c.scratch = by_slot(scratch_.get(*engine_, std::size_t{l.slots} * scratch_of_block), scratch_of_block);
        if (p.stamped != 0) {
            c.begins = by_slot(begins_.get(*engine_, l.slots));
            c.ends = by_slot(ends_.get(*engine_, l.slots));
        }
        c.first = first_;
        c.node_count = static_cast<std::uint32_t>(l.nodes.size());
        c.slots = l.slots;
        c.salt = p.salt;
        c.stamped = p.stamped;
        c.reduced = p.reduced;
        if (p.reduced != 0) {
            if (!reducers_) reducers_.emplace(*engine_);
            reducers_->reset();
            reducers_->put(c);
        }
        c.widest = l.widest;
        c.mutant = m;
        c.target = m == mutant::none ? all : target_of(p, l, m);
        for (std::uint32_t i = 0; i < 64; ++i) c.table[i] = mix(i, p.salt + 77);
        std::memcpy(image_.data(), &c, sizeof(context));
        std::memcpy(image_.data() + sizeof(context), l.nodes.data(), node_bytes);
        if (step_bytes != 0) std::memcpy(image_.data() + sizeof(context) + node_bytes, l.steps.data(), step_bytes);
        if (need_bytes != 0)
            std::memcpy(image_.data() + sizeof(context) + node_bytes + step_bytes, l.needs.data(), need_bytes);
        copy_in(there, image_.data(), image_.size());
        clear(results, sizeof(mistake_log) + l.slots * sizeof(std::uint32_t));
        finish_copies();

        // ---- the run
        outcome o;
        o.report = run_root(l.nodes[0], p.salt);
        change_report(o.report, m);
        o.out_of_resources = is_out_of_resources(p, l, o.report);

        // ---- what it left
        if (p.reduced != 0) {
            o.sum = reducers_->sum.value();
            o.largest = reducers_->largest.value();
            o.two = reducers_->two.value();
        }
        o.first = first_;
        o.counts.resize(l.slots);
        copy_out(&o.log, results, sizeof(mistake_log));
        copy_out(o.counts.data(), counts, l.slots * sizeof(std::uint32_t));
        if (p.stamped != 0) {
            o.begun.resize(l.slots);
            o.ended.resize(l.slots);
            copy_out(o.begun.data(), c.begins + first_, l.slots * sizeof(std::uint32_t));
            copy_out(o.ended.data(), c.ends + first_, l.slots * sizeof(std::uint32_t));
        }
        finish_copies();
        return o;
    }

    static verdict judge(const program& p, const layout& l, const outcome& o) {
        verdict v;
        const mistake_log& log = o.log;
        const std::uint32_t* const counts = o.counts.data();
        std::ostringstream wrong;
        v.out_of_resources = o.out_of_resources;
        for (unsigned i = 0; i < mistakes; ++i) {
            if (log.counts[i] == 0 || (v.out_of_resources && comes_of_lost_launches(static_cast<mistake>(i)))) continue;
            wrong << "  " << log.counts[i] << " x " << name_of(static_cast<mistake>(i)) << '\n';
            for (std::uint32_t d = 0; d < std::min(log.used, mistake_log::room); ++d) {
                const mistake_detail& detail = log.details[d];
                if (detail.what != i) continue;
                wrong << "    grid class " << detail.node << ", base " << detail.base << ", block " << detail.block
                      << ", thread " << detail.thread << ": found " << detail.found << ", expected " << detail.expected
                      << '\n';
                break;
            }
        }
        if (v.out_of_resources) {
            check_losses(p, l, o.report, counts, wrong);
        } else {
            check_counts(l, counts, wrong);
            check_report(l, o.report, wrong);
            if (p.stamped != 0) check_stamps(l, o, wrong);
        }
        if (p.reduced != 0) check_reduced(p, l, o, wrong);
        const bool some_fail = v.out_of_resources || l.expected.failed != 0;
        if (some_fail ? log.answers > l.expected.answers : log.answers != l.expected.answers)
            wrong << "  C20: " << log.answers << " continuations got values instead of " << l.expected.answers << '\n';
        v.what = wrong.str();
        v.right = v.what.empty();
        return v;
    }

    dynpar::report run_root(const node& root, std::uint32_t salt) {
        const dynpar::shape s = shape_of(root);
        const std::uint32_t pattern = mix(first_, salt);
        switch (root.kernel) {
            case kernel::direct: return engine_->try_run(direct{}, s, first_);
            case kernel::bytes_8: return engine_->try_run(bytes_8{}, s, first_, pattern);
            default: return engine_->try_run(bytes_4{}, s, first_);
        }
    }

    /// Whether launches may have been lost, and the report says that some were. Of the calls that have to fail only
    /// those of scratch() fail for want of memory, and a run that has ended early has made fewer of these.
    static bool is_out_of_resources(const program& p, const layout& l, const dynpar::report& report) {
        std::uint64_t scratch = 0, expected_scratch = 0;
        for (const dynpar::failure& f : report.failures) {
            if (traits().bounds_pending && f.status == dynpar::status::pending_launches_exceeded) {
                return p.settings.pending_launches != 0;
            }
            if (f.status != dynpar::status::out_of_memory || !traits().may_run_out_of_memory) continue;
            if (f.operation != dynpar::operation::scratch) return true;
            scratch += f.count;
        }
        for (const auto& [key, count] : l.expected.failures) {
            if (std::get<1>(key) == static_cast<int>(dynpar::status::out_of_memory)) expected_scratch += count;
        }
        return scratch > expected_scratch;
    }

    /// Of each block that ran, also in a run that lost launches, everything was added once.
    static void check_reduced(const program& p, const layout& l, const outcome& o, std::ostream& wrong) {
        unsigned long long sum = 0, runs = 0;
        std::uint32_t largest = 0;
        for (std::uint32_t slot = 0; slot < l.slots; ++slot) {
            if (o.counts[slot] == 0) continue;
            const std::uint32_t value = value_in(o.first + slot, p.salt);
            sum += value;
            runs += one_run;
            largest = std::max(largest, value);
        }
        const auto same = [&](const char* what, unsigned long long found, unsigned long long expected) {
            if (found != expected) wrong << "  " << what << ": " << found << " instead of " << expected << '\n';
        };
        same("C21: the sum of the blocks' values", o.sum, sum);
        same("C21: the largest of the blocks' values", o.largest, largest);
        same("C21: the threads that added", o.two.first, runs);
        same("C21: the sum of the blocks' values, added with their threads", o.two.second, sum);
    }

    static void check_counts(const layout& l, const std::uint32_t* counts, std::ostream& wrong) {
        std::uint64_t never = 0, other = 0;
        std::uint32_t first = 0, found = 0;
        for (std::uint32_t slot = 0; slot < l.slots; ++slot) {
            if (counts[slot] == one_run) continue;
            if (never + other == 0) {
                first = slot;
                found = counts[slot];
            }
            ++(counts[slot] == 0 ? never : other);
        }
        if (never + other != 0) {
            wrong << "  C1: " << never << " of " << l.slots << " blocks never ran, " << other
                  << " not exactly once; the first of them: slot " << first << ", count " << found << " instead of "
                  << one_run << '\n';
        }
    }

    /// Calls f(node, base, parent's base, block by which ranges go on) for every grid, and goes on below it if that
    /// says so.
    template <class F>
    static void for_each_grid(const layout& l, const F& f, std::uint32_t index = 0, std::uint32_t base = 0,
                              std::uint32_t parent = 0, std::uint32_t block = 0) {
        const node& n = l.nodes[index];
        if (!f(index, base, parent, block)) return;
        for (std::uint32_t i = n.first_step; i < n.first_step + n.steps; ++i) {
            const step& s = l.steps[i];
            if ((s.what != action::launch && s.what != action::then) || s.expected != 0) continue;
            const std::uint32_t launching = s.where == all ? n.block_count : 1;
            for (std::uint32_t b = 0; b < launching; ++b) {
                for (std::uint32_t j = 0; j < s.items; ++j) {
                    const node& child = l.nodes[s.child + j % s.variants];
                    for_each_grid(l, f, s.child + j % s.variants,
                                  base + child.offset + (b * child.each + j / s.variants) * child.size, base, b);
                }
            }
        }
    }

    /// Of a block's nested loops, at most.
    static std::uint32_t most_iterations(const layout& l) {
        std::uint32_t most = 0;
        for (const node& n : l.nodes) {
            std::uint32_t of_block = 0;
            for (std::uint32_t i = n.first_step; i < n.first_step + n.steps; ++i) of_block += l.steps[i].iterations;
            most = std::max(most, of_block);
        }
        return most;
    }

    /// A run that has lost launches: what ran did so once, and where the count of what was lost is exact, it is.
    static void check_losses(const program&, const layout& l, const dynpar::report& report, const std::uint32_t* counts,
                             std::ostream& wrong) {
        std::uint64_t often = 0;
        const std::uint32_t lost_iterations = most_iterations(l);  // of a block, in child grids that were lost
        for (std::uint32_t slot = 0; slot < l.slots; ++slot)
            often += counts[slot] != 0 && one_run - counts[slot] > lost_iterations;
        if (often != 0)
            wrong << "  C7: " << often << " blocks ran in part or more than once in a run that lost launches\n";
        if (report.failed_calls == 0) wrong << "  C7: nothing is said to have failed\n";
        if (!traits().bounds_pending) return;
        std::uint64_t ran = 0, lost = 0, others = 0, parts = 0;
        for_each_grid(l, [&](std::uint32_t index, std::uint32_t base, std::uint32_t, std::uint32_t) {
            std::uint32_t blocks = 0;
            for (std::uint32_t b = 0; b < l.nodes[index].block_count; ++b) blocks += counts[base + b] != 0;
            if (blocks == 0) {
                ++lost;
                return false;
            }
            if (blocks != l.nodes[index].block_count) ++parts;
            ++ran;
            lost += l.refused[index].launches;
            others += l.refused[index].others;
            return true;
        });
        if (parts != 0) wrong << "  C7: of " << parts << " grids only some blocks ran\n";
        if (report.grids != ran) wrong << "  C7: the report says " << report.grids << " grids, and " << ran << " ran\n";
        if (report.lost_launches != lost)
            wrong << "  C7: the report says " << report.lost_launches << " lost launches, and it were " << lost << '\n';
        if (report.failed_calls != lost + others) {
            wrong << "  C7: the report says " << report.failed_calls << " failed calls, and it were " << lost + others
                  << '\n';
        }
    }

    static constexpr std::size_t most_kinds = 256;  // of failures, that the report has room for

    static void check_report(const layout& l, const dynpar::report& report, std::ostream& wrong) {
        const expectation& e = l.expected;
        const auto same = [&](const char* what, std::uint64_t found, std::uint64_t expected) {
            if (found != expected) wrong << "  report: " << what << ": " << found << " instead of " << expected << '\n';
        };
        same("grids", report.grids, e.grids);
        same("lost_launches", report.lost_launches, e.lost);
        same("failed_calls", report.failed_calls, e.failed);
        same("deepest_nesting", report.deepest_nesting, e.deepest);
        // A block of a moldable grid may look in the report as one of a fixed width: where both failed alike they are
        // one entry.
        const auto by_any_width = [&](failure_key key) {
            failure_key any = key;
            std::get<4>(any) = any_width;
            return e.failures.find(any) != e.failures.end() ? any : key;
        };
        std::map<failure_key, std::uint64_t> found, expected;
        for (const auto& [key, count] : e.failures) expected[by_any_width(key)] += count;
        for (const dynpar::failure& f : report.failures) {
            found[by_any_width({static_cast<int>(f.operation), static_cast<int>(f.status), f.kernel, f.depth,
                                to_string(f.shape)})] += f.count;
        }
        const auto describe = [](const failure_key& key, std::uint64_t count) {
            return std::to_string(count) + " x " + dynpar::to_string(static_cast<dynpar::operation>(std::get<0>(key))) +
                   " " + std::get<2>(key) + " " + std::get<4>(key) + " at depth " + std::to_string(std::get<3>(key)) +
                   ": " + dynpar::to_string(static_cast<dynpar::status>(std::get<1>(key)));
        };
        if (report.failures.size() < most_kinds) {
            for (const auto& [key, count] : expected) {
                const auto it = found.find(key);
                if (it == found.end() || it->second != count) {
                    wrong << "  report: not in the list as it has to be: " << describe(key, count) << '\n';
                }
            }
            for (const auto& [key, count] : found) {
                if (expected.find(key) == expected.end())
                    wrong << "  report: in the list, and has not failed: " << describe(key, count) << '\n';
            }
        }
        const dynpar::trace& t = report.trace;
        if (!t.grids.empty()) same("grids in the trace and not in it", t.grids.size() + t.missing, e.grids + e.lost);
        if (!t.grids.empty() && t.missing == 0) {
            const auto ran = static_cast<std::uint64_t>(std::count_if(
                t.grids.begin(), t.grids.end(), [](const dynpar::grid_record& grid) { return grid.ran(); }));
            same("grids that ran in the trace", ran, e.grids);
        }
    }

    /// The same orders once more, by the one clock that all threads count on.
    static void check_stamps(const layout& l, const outcome& o, std::ostream& wrong) {
        std::uint64_t early = 0, looked_at = 0;
        constexpr std::uint64_t enough = 2'000'000;
        const auto last_end = [&](std::uint32_t begin, std::uint32_t count) {
            looked_at += count;
            return count == 0 ? 0 : *std::max_element(o.ended.begin() + begin, o.ended.begin() + begin + count);
        };
        for_each_grid(l, [&](std::uint32_t index, std::uint32_t base, std::uint32_t parent, std::uint32_t block) {
            const node& n = l.nodes[index];
            if (base + n.size > l.slots) return false;
            std::uint32_t begin = std::numeric_limits<std::uint32_t>::max();
            for (std::uint32_t b = 0; b < n.block_count; ++b) {
                begin = std::min(begin, o.begun[base + b]);
                if (o.begun[base + b] >= o.ended[base + b]) ++early;
            }
            for (std::uint32_t i = 0; i < n.needs && looked_at < enough; ++i) {
                const need& range = l.needs[n.first_need + i];
                if (range.count != 0 && last_end(parent + range.offset + block * range.stride, range.count) >= begin)
                    ++early;
            }
            if (n.after_earlier != 0 && looked_at < enough) {
                const std::uint32_t first = parent + n.offset + block * n.each * n.size;
                if (base != first && last_end(first, base - first) >= begin) ++early;
            }
            return true;
        });
        if (early != 0)
            wrong << "  C3/C4/C5: " << early
                  << " grids began before what they come after had ended, by the clock of all\n";
    }

    unsigned number_;
    std::uint32_t first_;  // slot
    std::optional<engine_type> engine_;
    std::optional<program_reducers> reducers_;  // of that engine
    engine_settings settings_;
    const unsigned char* told_ = nullptr;
    std::vector<unsigned char> image_;
    growing<unsigned char> program_, results_;
    growing<std::uint32_t> values_, begins_, ends_;
    growing<note> notes_;
    growing<scratch_entry> scratch_;
};

}  // namespace

std::unique_ptr<runner> runner::make(unsigned number) {
    if (!has_device()) return nullptr;
#if defined(DYNPAR_SIMULATED_GPU) && DYNPAR_SIMULATED_GPU
    if (number != 0) throw std::invalid_argument("a simulated GPU is for one thread");
#endif
    return std::make_unique<engine_runner>(number);
}

engine_traits runner::traits() { return traits_of_engine(); }

}  // namespace fuzz
