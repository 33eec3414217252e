// Random plans of continuations, children and waits, of every width. The order of all grids but the children is given:
// each grid checks what must be complete when it begins and after its waits, and the list of all is compared.
#include <dynpar/dynpar.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "small_programs.hpp"

namespace {

using namespace small_programs;

struct node {
    unsigned first_action, actions, blocks, threads, shared, moldable, bytes, asker, expected, listed, syncs;
};
enum kinds : unsigned { does_then, does_launch, does_wait, does_scratch, does_all_launch };
struct action {
    unsigned kind, target, count, asker, expected;
};
struct chain_state {
    const node* nodes;
    const action* actions;
    unsigned* list;
    unsigned most, listed, counter, faults, failed, last_fault;
};
/// Arguments for which a node, and a task, have no room.
struct pad24 {
    unsigned word[6];
};
struct pad100 {
    unsigned word[25];
};

DYNPAR_FUNCTION inline unsigned asker_of(unsigned how, unsigned threads) {
    return how == 0 ? 0 : how == 1 ? threads - 1 : how % threads;
}

struct interpret {
    static constexpr const char* name = "interpret";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, chain_state* s, unsigned number) const {
        run(block, s, number);
    }
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, chain_state* s, unsigned number, pad24) const {
        run(block, s, number);
    }
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, chain_state* s, unsigned number, pad100) const {
        run(block, s, number);
    }

    template <class Block>
    DYNPAR_FUNCTION void fault(chain_state* s, unsigned what) const {
        dynpar::atomic_add(&s->faults, 1u);
        s->last_fault = what;
    }
    template <class Block>
    DYNPAR_FUNCTION void run(Block& block, chain_state* s, unsigned number) const {
        const node& n = s->nodes[number];
        const unsigned threads = block.num_threads();
        const unsigned rank = block.thread_rank();
        const bool first_block = block.block_rank() == 0;
        if (n.listed) {
            // Own blocks add to the counter only where they are children.
            if (first_block && rank == 0) {
                const unsigned at = dynpar::atomic_add(&s->listed, 1u);
                if (at < s->most) s->list[at] = number;
            }
            if (rank == asker_of(n.asker, threads) && dynpar::atomic_add(&s->counter, 0u) < n.expected)
                fault<Block>(s, number * 1000);
        } else if (rank == asker_of(n.asker, threads)) {
            dynpar::atomic_add(&s->counter, 1u);
        }
        for (unsigned i = 0; i < n.actions; ++i) {
            const action& a = s->actions[n.first_action + i];
            if (a.kind == does_wait) {
                if (block.wait() != dynpar::status::success) dynpar::atomic_add(&s->failed, 1u);
                if (first_block && n.listed && dynpar::atomic_add(&s->counter, 0u) < a.expected)
                    fault<Block>(s, number * 1000 + i + 1);
                continue;
            }
            if (n.syncs && a.kind == does_then) block.sync();
            if (!first_block) continue;
            if (a.kind == does_all_launch) {  // a share for each thread
                for (unsigned k = rank; k < a.count; k += threads) launch_one(block, s, a.target);
                continue;
            }
            if (rank != asker_of(a.asker, threads)) continue;
            if (a.kind == does_scratch) {
                unsigned* memory = block.template scratch<unsigned>(a.count);
                if (memory != nullptr) memory[a.count - 1] = number;
            } else if (a.kind == does_launch) {
                for (unsigned k = 0; k < a.count; ++k) launch_one(block, s, a.target);
            } else {
                const node& t = s->nodes[a.target];
                const dynpar::shape shape = shape_of(t);
                dynpar::status result = dynpar::status::success;
                if (t.bytes == 0) result = block.then(*this, shape, s, a.target);
                if (t.bytes == 1) result = block.then(*this, shape, s, a.target, pad24{});
                if (t.bytes == 2) result = block.then(*this, shape, s, a.target, pad100{});
                if (result != dynpar::status::success) dynpar::atomic_add(&s->failed, 1u);
            }
        }
    }
    DYNPAR_FUNCTION static dynpar::shape shape_of(const node& t) {
        dynpar::shape shape =
            t.moldable ? dynpar::shape(t.blocks, dynpar::at_most(t.threads)) : dynpar::shape(t.blocks, t.threads);
        if (t.shared != 0) shape.shared_bytes = t.shared;
        return shape;
    }
    template <class Block>
    DYNPAR_FUNCTION void launch_one(Block& block, chain_state* s, unsigned target) const {
        const node& t = s->nodes[target];
        const dynpar::shape shape = shape_of(t);
        dynpar::status result = dynpar::status::success;
        if (t.bytes == 0) result = block.launch(*this, shape, s, target);
        if (t.bytes == 1) result = block.launch(*this, shape, s, target, pad24{});
        if (t.bytes == 2) result = block.launch(*this, shape, s, target, pad100{});
        if (result != dynpar::status::success) dynpar::atomic_add(&s->failed, 1u);
    }
};

struct random_of {
    unsigned seed, number = 0;
    unsigned operator()(unsigned below) { return drawn(seed, ++number) % below; }
};

struct plan {
    std::vector<node> nodes;
    std::vector<action> actions;
    random_of random;
    unsigned widest;
    unsigned big;  // most launches at once

    void shape(node& n, bool child) {
        const unsigned widths[] = {1, 1, 1, 2, 7, 16, 32, 32, 33, 48, 64, 64, 96, 128, 4, 8};
        do n.threads = widths[random(16)];
        while (n.threads > widest);
        n.blocks = 1;
        if (random(6) == 0) n.blocks = 2 + random(random(3) == 0 ? 40 : 6);
        if (random(10) == 0) {
            n.threads = 1;
            n.blocks = 2 + random(31);
        }
        n.shared = random(12) == 0 ? 64 : 0;
        n.moldable = random(10) == 0;
        n.bytes = random(8) == 0 ? 1 + random(2) : 0;
        const unsigned ask = random(4);
        n.asker = ask == 3 ? random(200) + 2 : ask % 2;
        n.listed = child ? 0 : 1;
    }
    unsigned any_asker() {
        const unsigned ask = random(4);
        return ask == 3 ? random(200) + 2 : ask % 2;
    }

    unsigned child(unsigned levels) {
        node n{};
        shape(n, true);
        std::vector<action> list;
        if (levels != 0) {
            const unsigned count = random(3);
            for (unsigned i = 0; i < count; ++i) {
                const unsigned what = random(5);
                if (what == 0)
                    list.push_back({does_wait, 0, 0, 0, 0});
                else if (what <= 2)
                    list.push_back({does_then, child(levels - 1), 1, any_asker(), 0});
                else
                    list.push_back({does_launch, child(levels - 1), 1 + random(2), any_asker(), 0});
            }
        }
        return add(n, list);
    }
    unsigned add(node n, std::vector<action> list) {
        n.syncs = random(2);
        for (action& a : list) {
            if (n.syncs == 0 && a.kind != does_all_launch && a.kind != does_wait) a.asker = n.asker;
        }
        n.first_action = static_cast<unsigned>(actions.size());
        n.actions = static_cast<unsigned>(list.size());
        actions.insert(actions.end(), list.begin(), list.end());
        nodes.push_back(n);
        return static_cast<unsigned>(nodes.size() - 1);
    }
    unsigned link(unsigned& budget) {
        node n{};
        shape(n, false);
        std::vector<action> list;
        const unsigned count = 1 + random(7);
        for (unsigned i = 0; i < count; ++i) {
            const unsigned what = random(12);
            if (what < 6 && budget != 0) {
                --budget;
                unsigned part = random(2) == 0 ? random(budget + 1) : random(budget / 4 + 1);
                budget -= part;
                const unsigned next = link(part);
                budget += part;
                list.push_back({does_then, next, 1, any_asker(), 0});
            } else if (what < 8) {
                list.push_back({does_wait, 0, 0, 0, 0});
            } else if (what == 8) {
                list.push_back({does_scratch, 0, 1 + random(40), any_asker(), 0});
            } else if (big != 0 && what == 9) {
                const unsigned many = random(4) == 0 ? big : 1 + random(40);
                list.push_back(
                    {random(2) == 0 ? does_launch : does_all_launch, child(many > 40 ? 0 : 1), many, any_asker(), 0});
            } else {
                list.push_back({does_launch, child(2), 1 + random(3), any_asker(), 0});
            }
        }
        return add(n, list);
    }
    unsigned long long total(unsigned number) const {
        const node& n = nodes[number];
        unsigned long long sum = n.listed ? 0 : n.blocks;
        for (unsigned i = 0; i < n.actions; ++i) {
            const action& a = actions[n.first_action + i];
            if (a.kind == does_then || a.kind == does_launch || a.kind == does_all_launch)
                sum += a.count * total(a.target);
        }
        return sum;
    }
    unsigned long long grids(unsigned number) const {
        const node& n = nodes[number];
        unsigned long long sum = 1;
        for (unsigned i = 0; i < n.actions; ++i) {
            const action& a = actions[n.first_action + i];
            if (a.kind == does_then || a.kind == does_launch || a.kind == does_all_launch)
                sum += a.count * grids(a.target);
        }
        return sum;
    }
    void order(unsigned number, unsigned& counted, std::vector<unsigned>& list) {
        node& n = nodes[number];
        list.push_back(number);
        n.expected = counted;
        for (unsigned i = 0; i < n.actions; ++i) {
            action& a = actions[n.first_action + i];
            if (a.kind == does_launch || a.kind == does_all_launch)
                counted += static_cast<unsigned>(a.count * total(a.target));
            if (a.kind == does_wait) a.expected = counted;
        }
        for (unsigned i = 0; i < n.actions; ++i) {
            const action& a = actions[n.first_action + i];
            if (a.kind == does_then) order(a.target, counted, list);
        }
    }
};

struct start {
    static constexpr const char* name = "start";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, chain_state* states, const unsigned* roots, unsigned chains,
                                    unsigned how) const {
        for (unsigned i = block.thread_rank(); i < chains; i += block.num_threads()) {
            const node& t = states[i].nodes[roots[i]];
            block.launch(interpret{}, interpret::shape_of(t), states + i, roots[i]);
            if (how == 1 && block.num_threads() == 1) block.wait();
        }
        if (how == 2) block.wait();
    }
};

TEST_CASE("grids run in the order that continuations and waits give, in random plans of every width") {
    constexpr unsigned big = 300;
    for (unsigned seed = 1; seed <= 12; ++seed) {
        random_of random{seed * 77 + 5};
        constexpr unsigned threads_of[] = {32, 64, 64, 128, 128, 96};
        const unsigned block_threads = threads_of[random(6)], worker_blocks = 1 + random(3);
        dynpar::queue_options options;
        options.block_threads = block_threads;
        options.worker_blocks = worker_blocks;
        options.memory_bytes = std::size_t{64} << 20;
        options.limits.sync_depth = 8;
        options.moldable_threads = 1u << random(6);
        options.trace_grids = random(6) == 0 ? 100000 : 0;
        dynpar::queue_engine engine(options);
        CAPTURE(seed);
        const unsigned chains = 1 + random(3) * random(4);
        std::vector<plan> plans;
        std::vector<unsigned> roots;
        std::vector<dynpar::buffer<node>> nodes;
        std::vector<dynpar::buffer<action>> actions;
        std::vector<dynpar::buffer<unsigned>> lists;
        std::vector<std::vector<unsigned>> orders;
        std::vector<chain_state> states;
        std::vector<unsigned> counts;
        unsigned long long grids = 1;
        for (unsigned chain = 0; chain < chains; ++chain) {
            plan p{{}, {}, random_of{seed * 1000 + chain}, block_threads, big};
            unsigned budget = 3 + p.random(25);
            const unsigned root = p.link(budget);
            p.nodes[root].bytes = 0;
            std::vector<unsigned> order;
            unsigned counted = 0;
            p.order(root, counted, order);
            grids += p.grids(root);
            counts.push_back(counted);
            roots.push_back(root);
            orders.push_back(order);
            nodes.push_back(engine.make_buffer<node>(p.nodes.size()));
            nodes.back().copy_from(p.nodes.data());
            actions.push_back(engine.make_buffer<action>(std::max<std::size_t>(1, p.actions.size())));
            if (!p.actions.empty()) actions.back().copy_from(p.actions.data());
            lists.push_back(filled(engine, order.size(), 0u));
            states.push_back({nodes.back().data(), actions.back().data(), lists.back().data(),
                              static_cast<unsigned>(order.size()), 0, 0, 0, 0, 0});
        }
        auto on_device = engine.make_buffer<chain_state>(chains);
        on_device.copy_from(states.data());
        auto roots_on_device = engine.make_buffer<unsigned>(chains);
        roots_on_device.copy_from(roots.data());
        const unsigned width = random(2) == 0 ? 1 : 32;
        const dynpar::report report =
            engine.run(start{}, dynpar::shape(1, width), on_device.data(),
                       static_cast<const unsigned*>(roots_on_device.data()), chains, random(3));
        CHECK(report.grids == grids);
        CHECK(report.lost_launches == 0);
        const std::vector<chain_state> after = on_device.to_vector();
        for (unsigned chain = 0; chain < chains; ++chain) {
            CAPTURE(chain);
            CHECK(after[chain].faults == 0);
            CHECK(after[chain].last_fault == 0);
            CHECK(after[chain].failed == 0);
            CHECK(after[chain].counter == counts[chain]);
            CHECK(after[chain].listed == orders[chain].size());
            CHECK(lists[chain].to_vector() == orders[chain]);
        }
    }
}

}  // namespace
