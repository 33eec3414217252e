#include "model.hpp"

#include <algorithm>
#include <optional>

#include "calls.hpp"
#include "refusals.hpp"

namespace fuzz {
namespace {

using dynpar::operation;
using dynpar::status;

constexpr std::uint64_t most_grids_of_calls = 3000;  // and loops: of a step, in all grids that take it

std::uint32_t round_up(std::uint32_t n, std::uint32_t to) { return (n + to - 1) / to * to; }

class planner {
public:
    planner(const program& p, const engine_traits& engine, std::uint32_t most_slots)
        : settings_(p.settings), engine_(engine), salt_(p.salt), most_slots_(most_slots) {
        widest_ = std::min(engine.widest, 512u);
        if (engine.bounds_workers && settings_.block_threads != 0)
            widest_ = std::min(engine.widest, settings_.block_threads);
        result_.widest = widest_;
        result_.nodes.resize(1);
        add(p.root, 0, 0, 1);
        if (result_.nodes[0].size > most_slots) throw too_large("too many blocks");
        result_.slots = result_.nodes[0].size;
    }

    layout take() { return std::move(result_); }

private:
    // A step that launches, until its children's sizes are known.
    struct launching {
        std::uint32_t step;  // index among all
        const step_plan* plan;
        bool is_then;
        bool refused;
        std::vector<std::uint32_t>
            after;               // launching steps of the block that have to be complete: indices into the list of them
        bool after_all = false;  // a continuation that is ordered after what was given before
        std::uint32_t first_child;
        std::uint32_t children;
        std::uint32_t each;
        std::uint32_t launching_blocks;
    };

    struct scratch_taken {
        std::uint32_t step;
        std::uint32_t who, where;
        bool seen_by_block;
    };

    void fail(operation o, status why, kernel k, unsigned depth, const dynpar::shape& s, std::uint64_t count) {
        expectation& e = result_.expected;
        const bool launches = o == operation::launch || o == operation::then;
        const std::string shape = s.moldable && !launches ? any_width : dynpar::to_string(s);
        e.failures[{static_cast<int>(o), static_cast<int>(why), name_of(k), depth, shape}] += count;
        e.failed += count;
        if (launches) e.lost += count;
    }

    void set_shape(node& n, const grid_plan& g) const {
        n.kernel = g.kernel;
        n.moldable = g.moldable != 0 ? 1 : 0;
        std::uint64_t blocks = 1, threads = 1;
        for (int i = 0; i < 3; ++i) {
            n.blocks[i] = std::clamp(g.blocks[i], 1u, 65535u);
            n.threads[i] = std::clamp(g.threads[i], 1u, i == 2 ? 64u : 1024u);
            blocks *= n.blocks[i];
            threads *= n.threads[i];
        }
        const std::uint32_t most = std::min(widest_, most_threads_of(n.kernel));
        if (threads > most) {
            n.threads[0] = most;
            n.threads[1] = n.threads[2] = 1;
            threads = most;
        }
        if (n.moldable != 0) {
            n.threads[0] = static_cast<std::uint32_t>(threads);
            n.threads[1] = n.threads[2] = 1;
        }
        if (blocks > most_slots_) throw too_large("too many blocks");
        n.block_count = static_cast<std::uint32_t>(blocks);
        n.thread_count = static_cast<std::uint32_t>(threads);
    }

    /// The children of a step become nodes next to each other.
    std::uint32_t make_children(const step_plan& plan, std::uint32_t count, std::uint32_t parent, const step& s,
                                std::uint32_t step_index) {
        const auto first = static_cast<std::uint32_t>(result_.nodes.size());
        result_.nodes.resize(first + count);
        for (std::uint32_t i = 0; i < count; ++i) {
            node& child = result_.nodes[first + i];
            grid_plan shape = plan.children[i];
            if (result_.nodes[parent].kernel == kernel::direct) shape.kernel = kernel::direct;
            set_shape(child, shape);
            child.variant = i;
            child.variants = count;
            child.launched_by = step_index;
            child.from_block = s.where;
        }
        return first;
    }

    void add(const grid_plan& g, std::uint32_t index, unsigned depth, std::uint64_t multiplicity) {
        if (depth > 0xfffff || multiplicity > most_slots_ || result_.nodes.size() > most_slots_)
            throw too_large("too many grids");
        if (index == 0) {
            set_shape(result_.nodes[0], g);
            result_.nodes[0].from_block = all;
            result_.nodes[0].variants = 1;
        }
        node self = result_.nodes[index];
        self.depth = depth;
        const std::uint32_t blocks = self.block_count, threads = self.thread_count;
        const bool moldable = self.moldable != 0, direct = self.kernel == kernel::direct;
        expectation& e = result_.expected;
        e.grids += multiplicity;
        e.blocks += multiplicity * blocks;
        e.deepest = std::max(e.deepest, depth);

        std::uint32_t low = 0, high = moldable ? all : threads, shared_bytes = 0;
        std::vector<step> steps;
        std::vector<launching> launches;
        std::optional<std::pair<std::uint32_t, std::uint32_t>> stream_thread;  // who, where
        std::vector<std::uint32_t> frontier[streams_of_block], recorded[events_of_block];
        std::vector<scratch_taken> scratch;
        // Continuations: the last one's thread and block, and whether all so far have an order.
        bool ordered = true, any_then = false, barrier_since_then = false;
        std::uint32_t then_who = 0, then_where = 0;
        self.first_step = static_cast<std::uint32_t>(result_.steps.size());

        for (const step_plan& plan : g.steps) {
            step s{};
            s.what = plan.what;
            s.who = plan.who;
            s.where = plan.where == all ? all : plan.where % blocks;
            s.items = std::max(plan.items, 1u);
            s.stream = all;
            s.low = low;
            s.high = high;
            s.words = std::max(plan.words, 1u);
            s.which = plan.which;
            const std::uint32_t live = moldable ? 1 : high - low;
            if (s.who != all) s.who = moldable ? 0 : s.who >= low && s.who < high ? s.who : low + s.who % live;
            const auto step_index = static_cast<std::uint32_t>(self.first_step + steps.size());
            const auto barrier = [&] {
                if (s.where == all || blocks == 1) {
                    for (scratch_taken& taken : scratch) taken.seen_by_block = true;
                    barrier_since_then = true;
                }
            };
            const auto add_continuation = [&](const step& given, std::uint32_t live_threads) {
                const bool by_one_thread =
                    (given.who != all || (!moldable && live_threads == 1)) && (given.where != all || blocks == 1);
                const std::uint32_t who = given.who == all ? low : given.who;
                const std::uint32_t where = given.where == all ? 0 : given.where;
                if (!by_one_thread) ordered = false;
                if (any_then && (where != then_where || (who != then_who && !barrier_since_then))) ordered = false;
                any_then = true;
                barrier_since_then = false;
                then_who = who;
                then_where = where;
            };
            switch (plan.what) {
                case action::launch:
                case action::then: {
                    if (plan.children.empty()) continue;
                    const bool is_then = plan.what == action::then;
                    launching l{};
                    l.step = step_index;
                    l.plan = &plan;
                    l.is_then = is_then;
                    l.refused = !is_then && depth + 1 > settings_.nesting_depth;
                    const bool in_stream = !is_then && !direct && plan.stream <= own_stream;
                    if (in_stream && plan.stream != own_stream) {
                        if (!stream_thread) stream_thread = {s.who == all ? low : s.who, s.where};
                        const std::uint32_t who = stream_thread->first;
                        if (!moldable && (who < low || who >= high)) continue;  // it has returned
                        s.who = who;
                        s.where = stream_thread->second;
                    }
                    if (in_stream) s.stream = plan.stream;
                    s.prepared = !direct && plan.prepared != 0 && s.who != all ? 1 : 0;
                    if (s.prepared != 0 && s.where == all) barrier();
                    const bool one_kind = is_then || in_stream;
                    l.children =
                        one_kind ? 1 : static_cast<std::uint32_t>(std::min<std::size_t>(plan.children.size(), s.items));
                    l.each = (s.items + l.children - 1) / l.children;
                    s.items = l.each * l.children;
                    l.launching_blocks = s.where == all ? blocks : 1;
                    s.variants = l.children;
                    l.first_child = make_children(plan, l.children, index, s, step_index);
                    s.child = l.first_child;
                    if (std::uint64_t{l.each} * l.launching_blocks * multiplicity > most_slots_)
                        throw too_large("too many grids");
                    s.expected =
                        static_cast<std::uint32_t>(l.refused ? status::nesting_depth_exceeded : status::success);
                    const auto number = static_cast<std::uint32_t>(launches.size());
                    if (is_then) {
                        add_continuation(s, live);
                        l.after_all = ordered;
                    } else if (in_stream && s.stream != own_stream && !l.refused) {
                        l.after = frontier[s.stream];
                        frontier[s.stream] = {number};
                    }
                    launches.push_back(std::move(l));
                    break;
                }
                case action::wait:
                    if (!engine_.has_wait) continue;
                    s.expected = static_cast<std::uint32_t>(depth < settings_.sync_depth ? status::success
                                                                                         : status::sync_depth_exceeded);
                    if (depth < settings_.sync_depth) barrier();
                    break;
                case action::sync:
                    if (direct) continue;
                    barrier();
                    break;
                case action::exchange: {
                    if (direct) continue;
                    const std::uint32_t bytes = 2 * round_up(4 * threads * (s.words % 4 + 1), 16);
                    s.words = s.words % 4 + 1;
                    if (shared_bytes + bytes > engine_.most_shared) continue;
                    shared_bytes += bytes;
                    barrier();
                    break;
                }
                case action::leave: {
                    if (direct || moldable) continue;
                    const std::uint32_t new_low = std::max(low, std::min(plan.low, threads));
                    const std::uint32_t new_high = std::min(high, plan.high);
                    if (new_low >= new_high) continue;
                    s.low = low = new_low;
                    s.high = high = new_high;
                    break;
                }
                case action::scratch:
                    if (direct || scratch.size() == scratch_of_block) continue;
                    if (s.who == all) s.who = low;
                    s.number = static_cast<std::uint32_t>(scratch.size());
                    scratch.push_back({step_index, s.who, s.where, false});
                    break;
                case action::refuse: {
                    if (direct) continue;
                    if (s.which == refusal::over_worker && (!engine_.bounds_workers || settings_.block_threads == 0)) {
                        s.which = refusal::too_many_threads;
                    }
                    if (s.which == refusal::shared_pointer) {
                        if (shared_bytes + 16 > engine_.most_shared) continue;
                        shared_bytes += 16;
                    }
                    if (s.which == refusal::scratch_memory && s.who == all) s.who = low;
                    // The order in which rules are looked at: C8 of the contract.
                    const bool too_deep =
                        refused_operation(s.which) == operation::launch && depth + 1 > settings_.nesting_depth;
                    status why = refused_status(s.which);
                    if (too_deep && why != status::invalid_pointer) why = status::nesting_depth_exceeded;
                    s.expected = static_cast<std::uint32_t>(why);
                    break;
                }
                case action::record:
                case action::await: {
                    if (direct || !stream_thread) continue;
                    const std::uint32_t stream = plan.stream % streams_of_block, event = plan.event % events_of_block;
                    const std::uint32_t who = stream_thread->first;
                    if (!moldable && (who < low || who >= high)) continue;
                    s.who = who;
                    s.where = stream_thread->second;
                    s.stream = stream;
                    s.event = event;
                    if (plan.what == action::record) {
                        recorded[event] = frontier[stream];
                    } else {
                        for (const std::uint32_t l : recorded[event]) {
                            if (std::find(frontier[stream].begin(), frontier[stream].end(), l) ==
                                frontier[stream].end()) {
                                frontier[stream].push_back(l);
                            }
                        }
                    }
                    break;
                }
                case action::call: {
                    // What is refused below a limit would have to be counted call by call.
                    if (direct || settings_.nesting_depth != all || settings_.pending_launches != 0) continue;
                    if (s.who == all) s.who = low;
                    s.items = 1 + (s.items - 1) % 2;
                    s.words = (s.words - 1) % (most_call_levels + 1);
                    std::uint64_t grids = 1;
                    std::uint32_t levels = 0;
                    for (std::uint32_t i = 0; i < s.items; ++i) {
                        const call_tree tree(i, call_key(salt_, step_index), s.words);
                        s.value = append_value{}(s.value, tree.value);
                        s.value_of_slot = append_value{}(s.value_of_slot, tree.value_of_slot);
                        grids += tree.grids;
                        levels = std::max(levels, tree.levels);
                    }
                    const std::uint64_t times = (s.where == all ? blocks : 1) * multiplicity;
                    if (times * grids > most_grids_of_calls || depth + levels > engine_.most_depth) continue;
                    e.grids += times * grids;
                    e.blocks += times * grids;
                    e.answers += times;
                    e.deepest = std::max(e.deepest, depth + levels);
                    add_continuation(s, live);
                    break;
                }
                case action::loop: {
                    // Of all threads of the block; and what is refused below a limit is not known beforehand.
                    if (direct || moldable || low != 0 || high != threads) continue;
                    if (settings_.nesting_depth != all || settings_.pending_launches != 0) continue;
                    s.number = 8 + s.items % 64;
                    s.items = 1 + s.items % 97;
                    std::uint64_t grids = 0;
                    for (std::uint32_t thread = 0; thread < threads; ++thread) {
                        const std::uint32_t iterations = iterations_of(salt_, step_index, s, thread);
                        s.iterations += iterations;
                        if (iterations > s.number) ++grids;
                    }
                    const std::uint64_t times = (s.where == all ? blocks : 1) * multiplicity;
                    if (times * grids > most_grids_of_calls || depth + 1 > engine_.most_depth) continue;
                    e.grids += times * grids;
                    if (grids != 0) e.deepest = std::max(e.deepest, depth + 1);
                    ++self.loops;
                    break;
                }
                case action::count: continue;
            }
            s.low = low;
            s.high = high;
            steps.push_back(s);
            // What a child finds in scratch memory of its parent.
            if (!launches.empty() && launches.back().step == step_index && !launches.back().refused) {
                const launching& l = launches.back();
                for (std::uint32_t i = 0; i < l.children; ++i) {
                    node& child = result_.nodes[l.first_child + i];
                    for (const scratch_taken& taken : scratch) {
                        const step& source = steps[taken.step - self.first_step];
                        const bool same_blocks = taken.where == all || taken.where == s.where;
                        const bool in_sight = l.is_then || (same_blocks && (taken.seen_by_block || taken.who == s.who));
                        if (!in_sight) continue;
                        child.scratch_number = taken.step - self.first_step;  // for now the step
                        child.scratch_words = source.words;
                        child.scratch_first = taken.where != all ? taken.where : l.is_then ? 0 : s.where;
                        child.scratch_blocks = !l.is_then || taken.where != all ? 1 : blocks;
                    }
                }
                node& child = result_.nodes[l.first_child];
                if (child.scratch_blocks != 0) {
                    step& source = steps[child.scratch_number];
                    if (!l.is_then && l.children == 1 && source.results == 0 && source.where == s.where) {
                        source.results = l.first_child;
                        child.writes_result = 1;
                    }
                    if (l.is_then) child.results = source.results;
                }
            }
        }

        // Failures that name this grid's shape, now that its shared memory is known.
        self.shared_bytes = shared_bytes;
        self.steps = static_cast<std::uint32_t>(steps.size());
        self.uses_streams = stream_thread ? 1 : 0;
        const dynpar::shape own_shape = shape_of(self);
        refused_calls refused;
        for (const step& s : steps) {
            const std::uint64_t calling_blocks = (s.where == all ? blocks : 1) * multiplicity;
            if (s.what == action::wait && s.expected != 0) {
                fail(operation::wait, status::sync_depth_exceeded, self.kernel, depth, own_shape, calling_blocks);
                refused.others += calling_blocks / multiplicity;
            } else if (s.what == action::refuse) {
                const operation o = refused_operation(s.which);
                const bool launches_one = o == operation::launch || o == operation::then;
                const std::uint64_t count = calling_blocks * (s.which == refusal::shared_memory ? 1 : s.items);
                fail(o, static_cast<status>(s.expected), launches_one ? refused_kernel(s.which) : self.kernel,
                     o == operation::launch ? depth + 1 : depth,
                     launches_one ? refused_shape(s.which, widest_) : own_shape, count);
                (launches_one ? refused.launches : refused.others) += count / multiplicity;
            }
        }
        self.writer = moldable ? 0 : low + g.writer % (high - low);
        result_.steps.insert(result_.steps.end(), steps.begin(), steps.end());
        for (const launching& l : launches) {
            for (std::uint32_t i = 0; i < l.children; ++i) {
                node& child = result_.nodes[l.first_child + i];
                child.each = l.each;
                if (child.scratch_blocks != 0) child.scratch_number = steps[child.scratch_number].number;
                if (child.results != 0) child.results_each = result_.nodes[child.results].each;
            }
        }
        result_.nodes[index] = self;
        if (result_.refused.size() < result_.nodes.size()) result_.refused.resize(result_.nodes.size());
        result_.refused[index] = refused;
        place_children(launches, index, depth, multiplicity);
    }

    /// Lays out what comes from a grid, behind its own slots: children, then continuations.
    void place_children(std::vector<launching>& launches, std::uint32_t index, unsigned depth,
                        std::uint64_t multiplicity) {
        std::uint64_t offset = result_.nodes[index].block_count;
        std::uint64_t first_then = 0;
        for (const bool thens : {false, true}) {
            if (thens) first_then = offset;
            for (const launching& l : launches) {
                if (l.is_then != thens) continue;
                for (std::uint32_t i = 0; i < l.children; ++i) {
                    const std::uint32_t child = l.first_child + i;
                    const std::uint64_t launched = std::uint64_t{l.each} * l.launching_blocks;
                    result_.nodes[child].offset = static_cast<std::uint32_t>(offset);
                    result_.nodes[child].depth = thens ? depth : depth + 1;
                    if (l.refused) {
                        fail(operation::launch, status::nesting_depth_exceeded, result_.nodes[child].kernel, depth + 1,
                             shape_of(result_.nodes[child]), launched * multiplicity);
                        result_.refused[index].launches += launched;
                        continue;
                    }
                    add(l.plan->children[i], child, thens ? depth : depth + 1, multiplicity * launched);
                    offset += launched * result_.nodes[child].size;
                    if (offset > most_slots_) throw too_large("too many blocks");
                }
            }
        }
        result_.nodes[index].size = static_cast<std::uint32_t>(offset);
        const node& self = result_.nodes[index];
        for (std::uint32_t i = self.first_step; i < self.first_step + self.steps; ++i) {
            step& s = result_.steps[i];
            if (s.what == action::call) s.number = static_cast<std::uint32_t>(first_then);
        }

        for (const launching& l : launches) {
            if (l.refused) continue;
            node& child = result_.nodes[l.first_child];
            const std::uint32_t stream = result_.steps[l.step].stream;
            if (l.is_then) {
                need_ranges(l.first_child,
                            {need{0, 0, static_cast<std::uint32_t>(l.after_all ? child.offset : first_then)}});
                child.after_earlier = l.after_all && l.each > 1 ? 1 : 0;
            } else if (stream < own_stream) {
                std::vector<need> ranges;
                for (const std::uint32_t before : l.after) {
                    const node& earlier = result_.nodes[launches[before].first_child];
                    const std::uint32_t of_block = earlier.each * earlier.size;
                    ranges.push_back({earlier.offset, of_block, of_block});
                }
                need_ranges(l.first_child, ranges);
                child.after_earlier = l.each > 1 ? 1 : 0;
            }
        }
    }

    void need_ranges(std::uint32_t index, const std::vector<need>& ranges) {
        result_.nodes[index].first_need = static_cast<std::uint32_t>(result_.needs.size());
        result_.nodes[index].needs = static_cast<std::uint32_t>(ranges.size());
        result_.needs.insert(result_.needs.end(), ranges.begin(), ranges.end());
    }

    const engine_settings& settings_;
    const engine_traits& engine_;
    std::uint32_t salt_;
    std::uint32_t most_slots_;
    std::uint32_t widest_;
    layout result_;
};

}  // namespace

const char* name_of(kernel k) {
    static constexpr const char* names[] = {"bytes_4",  "bytes_8",   "bytes_16",  "bytes_20",  "bytes_28",
                                            "bytes_32", "bytes_48",  "bytes_100", "bytes_200", "state_12",
                                            "most_64",  "registers", "direct"};
    static_assert(sizeof(names) / sizeof(*names) == kernels);
    return names[static_cast<unsigned>(k)];
}

unsigned most_threads_of(kernel k) { return k == kernel::most_64 ? 64 : 1024; }

dynpar::shape shape_of(const node& n) {
    const dynpar::dimensions blocks(n.blocks[0], n.blocks[1], n.blocks[2]);
    if (n.moldable != 0) return dynpar::shape(blocks, dynpar::at_most(n.thread_count), n.shared_bytes);
    return dynpar::shape(blocks, dynpar::dimensions(n.threads[0], n.threads[1], n.threads[2]), n.shared_bytes);
}

dynpar::shape refused_shape(refusal which, unsigned widest) { return shape_to_refuse(which, widest); }

kernel refused_kernel(refusal which) {
    switch (which) {
        case refusal::over_kernel_bound: return kernel::most_64;
        case refusal::local_pointer:
        case refusal::shared_pointer:
        case refusal::then_local_pointer: return kernel::bytes_16;
        default: return kernel::bytes_4;
    }
}

operation refused_operation(refusal which) {
    switch (which) {
        case refusal::then_no_blocks:
        case refusal::then_too_many_threads:
        case refusal::then_local_pointer: return operation::then;
        case refusal::shared_memory: return operation::shared;
        case refusal::scratch_memory: return operation::scratch;
        default: return operation::launch;
    }
}

status refused_status(refusal which) {
    switch (which) {
        case refusal::local_pointer:
        case refusal::shared_pointer:
        case refusal::then_local_pointer: return status::invalid_pointer;
        case refusal::shared_memory: return status::shared_memory_exceeded;
        case refusal::scratch_memory: return status::out_of_memory;
        default: return status::invalid_configuration;
    }
}

layout lay_out(const program& p, const engine_traits& engine, std::uint32_t most_slots) {
    return planner(p, engine, most_slots).take();
}

}  // namespace fuzz
