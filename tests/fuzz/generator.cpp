#include "generator.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace fuzz {

std::uint32_t random_numbers::about(std::uint32_t first, std::uint32_t last) {
    if (last <= first) return first;
    const double low = std::log(first + 1.0), high = std::log(last + 2.0);
    const double at = static_cast<double>(next() >> 11) * 0x1p-53;
    return std::clamp(static_cast<std::uint32_t>(std::exp(low + (high - low) * at)) - 1, first, last);
}

namespace {

// Two of the kernels are drawn apart: `direct` has a profile of its own below, `most_64` cuts widths.
constexpr kernel most_kernels[] = {kernel::bytes_4,   kernel::bytes_8,  kernel::bytes_16,  kernel::bytes_20,
                                   kernel::bytes_28,  kernel::bytes_32, kernel::bytes_48,  kernel::bytes_100,
                                   kernel::bytes_200, kernel::state_12, kernel::registers, kernel::most_64,
                                   kernel::bytes_4,   kernel::bytes_4,  kernel::bytes_8};

class drawer {
public:
    drawer(random_numbers& random, const engine_settings& settings, const engine_traits& engine,
           std::uint32_t most_grids)
        : random_(random), settings_(settings), engine_(engine), most_grids_(std::max(most_grids, 1u)) {
        widest_ = std::min(engine.widest, 512u);
        if (engine.bounds_workers && settings.block_threads != 0)
            widest_ = std::min(engine.widest, settings.block_threads);
        thrifty_ = engine.name == "host";  // one CPU thread stands for all of a block
    }

    grid_plan draw(const std::string& profile) {
        const std::uint32_t size = random_.about(std::min(4u, most_grids_), most_grids_);
        if (profile == "mixed") return mixed(0, size);
        if (profile == "forks") return with_final(forks(size));
        if (profile == "many") return many(size);
        if (profile == "overflow") return overflow();
        if (profile == "full_stack") return full_stack();
        if (profile == "wait_launch") return wait_launch(size);
        if (profile == "deep_wait") return deep_wait();
        if (profile == "widths") return widths(size);
        if (profile == "chain") return chain(size);
        if (profile == "streams") return streams(size);
        if (profile == "tree") return tree(size);
        if (profile == "scratch") return scratch(size);
        if (profile == "refused") return refused(size);
        if (profile == "direct") return direct_tree(size);
        if (profile == "small_grids") return small_grids(size);
        if (profile == "memory")
            return random_.one_in(2) ? mixed(0, size) : random_.one_in(2) ? forks(size) : many(size);
        if (profile == "limits") return random_.one_in(2) ? mixed(0, size) : tree(size);
        throw std::invalid_argument("\"" + profile + "\" is no profile");
    }

private:
    // ---- parts of a program

    grid_plan grid(std::uint32_t blocks, std::uint32_t threads) {
        grid_plan g;
        g.kernel = random_.one_in(3) ? kernel::bytes_4 : most_kernels[random_.next() % std::size(most_kernels)];
        g.blocks[0] = blocks;
        g.threads[0] = threads;
        g.writer = random_.one_in(2) ? 0 : static_cast<std::uint32_t>(random_.next() & 0xffff);
        return g;
    }
    std::uint32_t width() {
        switch (random_.between(0, 9)) {
            case 0:
            case 1:
            case 2: return 1;
            case 3:
            case 4: return std::min(widest_, random_.between(2, 31));
            case 5: return std::min(widest_, 32u);
            case 6:
                return std::min(widest_, random_.one_of({33u, 63u, 64u, 65u, 96u, 128u, 255u, 256u, 257u, widest_}));
            case 7:
                return widest_ > 32 ? random_.between(33, thrifty_ ? std::min(widest_, 160u) : widest_)
                                    : random_.between(1, widest_);
            default: return random_.between(1, std::min(widest_, 64u));
        }
    }
    /// A grid of any shape, of about so many blocks at most.
    grid_plan any_grid(std::uint32_t most_blocks) {
        const std::uint32_t blocks = random_.one_in(2) ? 1 : random_.about(1, std::max(most_blocks, 1u));
        grid_plan g = grid(blocks, width());
        if (random_.one_in(7)) {
            g.moldable = 1;
        } else if (random_.one_in(8)) {  // two and three dimensions
            const std::uint32_t x = random_.between(1, 4), y = random_.between(1, 4), z = random_.between(1, 3);
            g.threads[0] = x;
            g.threads[1] = y;
            g.threads[2] = random_.one_in(2) ? z : 1;
            if (random_.one_in(4)) g.threads[0] = std::min(widest_ / (y * z), 16u);
            if (g.threads[0] == 0) g.threads[0] = 1;
        }
        if (blocks > 3 && random_.one_in(8)) {
            g.blocks[0] = blocks / 4 + 1;
            g.blocks[1] = 2;
            g.blocks[2] = random_.one_in(2) ? 2 : 1;
        }
        return g;
    }
    step_plan make(action what) {
        step_plan s;
        s.what = what;
        return s;
    }
    /// A thread that launches: the first, the last, any, all.
    std::uint32_t launcher(const grid_plan& g) {
        const auto threads = static_cast<std::uint32_t>(g.thread_count());
        switch (random_.between(0, 4)) {
            case 0: return threads - 1;
            case 1: return random_.between(0, threads - 1);
            case 2: return all;
            default: return 0;
        }
    }
    step_plan launch(std::uint32_t who, std::uint32_t where, std::uint32_t items, grid_plan child) {
        step_plan s = make(action::launch);
        s.who = who;
        s.where = where;
        s.items = items;
        s.children.push_back(std::move(child));
        return s;
    }
    step_plan then(grid_plan continuation) {
        step_plan s = make(action::then);
        s.where = 0;
        s.children.push_back(std::move(continuation));
        return s;
    }
    step_plan leave(const grid_plan& g) {
        step_plan s = make(action::leave);
        const auto threads = static_cast<std::uint32_t>(g.thread_count());
        switch (random_.between(0, 3)) {
            case 0: s.low = 1; break;                           // thread 0 returns
            case 1: s.high = std::max(threads / 2, 1u); break;  // half of them
            case 2: s.low = threads - 1; break;                 // all but the last
            default: s.high = random_.between(1, threads); break;
        }
        return s;
    }
    step_plan refusal_step() {
        step_plan s = make(action::refuse);
        s.which = static_cast<refusal>(random_.between(0, static_cast<std::uint32_t>(refusal::count) - 1));
        s.who = random_.one_of<std::uint32_t>({0, 0, all, 1});
        s.where = random_.one_in(2) ? 0 : all;
        s.items = random_.about(1, 40);
        return s;
    }
    /// A continuation of many threads that looks at everything.
    grid_plan final_grid() {
        return grid(random_.one_of({1u, 4u, 32u}), std::min(widest_, random_.one_of({1u, 32u, 96u, 256u})));
    }
    grid_plan with_final(grid_plan g) {
        g.steps.push_back(then(final_grid()));
        return g;
    }

    // ---- profiles

    /// Anything. `budget`: grids, with all that comes from this one.
    grid_plan mixed(unsigned level, std::uint32_t budget) {
        grid_plan g = any_grid(std::min(budget, level == 0 ? 300u : 40u));
        if (budget <= 1 || level > 12) {
            if (random_.one_in(6)) g.steps.push_back(refusal_step());
            if (random_.one_in(6)) g.steps.push_back(exchange());
            return g;
        }
        const std::uint32_t blocks = static_cast<std::uint32_t>(g.block_count());
        std::uint32_t left = budget - 1;
        const unsigned steps = random_.between(1, 7);
        const bool in_streams = random_.one_in(4);
        const std::uint32_t stream_where = random_.one_in(2) ? 0 : all;
        for (unsigned i = 0; i < steps; ++i) {
            switch (random_.between(0, 15)) {
                case 0:
                case 1: g.steps.push_back(make(action::sync)); break;
                case 2: g.steps.push_back(exchange()); break;
                case 3:
                    if (random_.one_in(2)) g.steps.push_back(leave(g));
                    break;
                case 4:
                case 5: {
                    step_plan s = make(action::wait);
                    if (random_.one_in(4)) s.where = random_.between(0, blocks - 1);
                    g.steps.push_back(std::move(s));
                    break;
                }
                case 6: g.steps.push_back(scratch_step(random_.one_in(3) ? all : 0)); break;
                case 7:
                    if (random_.one_in(3)) g.steps.push_back(refusal_step());
                    break;
                case 8: {
                    step_plan s = make(random_.one_in(2) ? action::record : action::await);
                    s.stream = random_.between(0, streams_of_block - 1);
                    s.event = random_.between(0, events_of_block - 1);
                    g.steps.push_back(std::move(s));
                    break;
                }
                case 9:
                case 10: {
                    if (left == 0) break;
                    const std::uint32_t share = random_.about(1, left);
                    step_plan s = then(mixed(level + 1, share));
                    if (random_.one_in(4)) s.who = launcher(g);
                    if (random_.one_in(4)) s.where = random_.between(0, blocks - 1);
                    g.steps.push_back(std::move(s));
                    left -= share;
                    break;
                }
                default: {
                    if (left == 0) break;
                    const std::uint32_t where = random_.one_in(2) ? random_.between(0, blocks - 1) : all;
                    const std::uint32_t launching = where == all ? blocks : 1;
                    if (launching > left) break;
                    const std::uint32_t share = random_.about(launching, left);
                    const std::uint32_t items = random_.about(1, std::max(share / launching, 1u));
                    const std::uint32_t each = std::max(share / launching / items, 1u);
                    step_plan s = launch(launcher(g), where, items, mixed(level + 1, each));
                    s.prepared = random_.one_in(4);
                    if (in_streams && random_.one_in(2)) {
                        s.stream = random_.between(0, own_stream);
                        s.where = random_.one_in(4) ? all : stream_where;
                        if (s.where == all) s.items = std::max(1u, items / blocks);
                    }
                    if (random_.one_in(4)) s.children.push_back(grid(1, width()));
                    g.steps.push_back(std::move(s));
                    left -= std::min(left, share);
                }
            }
        }
        return g;
    }
    step_plan exchange() {
        step_plan s = make(action::exchange);
        s.words = random_.between(0, 3);
        return s;
    }
    step_plan scratch_step(std::uint32_t where) {
        step_plan s = make(action::scratch);
        s.where = where;
        // 16 bytes fit in a grid's record; pieces of the arena double
        s.words = random_.one_of<std::uint32_t>({1, 2, 3, 4, 5, 8, 60, 64, 100, 500, 2000});
        return s;
    }

    /// Forks without a join, above levels that join.
    grid_plan forks(std::uint32_t budget) {
        const std::uint32_t fan = random_.one_of({2u, 2u, 3u, 4u, 8u});
        grid_plan g =
            random_.one_in(3) ? any_grid(1) : grid(1, random_.one_of({1u, 1u, 2u, 32u, std::min(widest_, 64u)}));
        const bool joins = budget < 64 && random_.one_in(2);
        if (budget > fan) g.steps.push_back(launch(launcher(g), 0, fan, forks((budget - 1) / fan)));
        if (joins || budget <= fan) {
            if (random_.one_in(2)) {
                g.steps.push_back(then(grid(1, random_.one_of({1u, 1u, 4u, 32u}))));
            } else if (budget > fan && random_.one_in(2)) {
                g.steps.push_back(make(action::wait));
            }
        }
        return g;
    }

    /// Many grids of several blocks, launched at once by many threads of a wide grid; level after level.
    grid_plan many(std::uint32_t budget) {
        const std::uint32_t levels = random_.between(1, 4);
        grid_plan g = final_grid();
        for (std::uint32_t i = 0; i < levels; ++i) {
            grid_plan level =
                grid(random_.about(1, 64), std::min(widest_, random_.one_of({1u, 8u, 32u, 64u, 128u, 512u})));
            const auto blocks = static_cast<std::uint32_t>(level.block_count());
            const std::uint32_t items = std::max(budget / levels / blocks, 1u);
            const std::uint32_t most_blocks = random_.one_of({1u, 2u, 4u, 16u, 64u});
            const std::uint32_t kinds = random_.between(1, 6);
            step_plan s =
                launch(random_.one_in(6) ? 0 : all, all, items, grid(random_.between(1, most_blocks), width()));
            for (std::uint32_t k = 1; k < kinds; ++k) {
                grid_plan child =
                    random_.one_in(3) ? any_grid(most_blocks) : grid(random_.between(1, most_blocks), width());
                if (random_.one_in(6)) child.steps.push_back(launch(0, 0, 1, grid(1, width())));
                if (random_.one_in(6)) child.steps.push_back(then(grid(random_.between(1, most_blocks), 1)));
                s.children.push_back(std::move(child));
            }
            level.steps.push_back(std::move(s));
            level.steps.push_back(then(std::move(g)));
            g = std::move(level);
        }
        return g;
    }

    /// Every thread of a wide block launches tens of grids of a warp: more than a stack holds.
    grid_plan overflow() {
        const std::uint32_t threads = std::min(widest_, random_.one_of({32u, 128u, 256u, 512u}));
        const std::uint32_t each = random_.between(1, std::max(1u, std::min(48u, most_grids_ / threads)));
        grid_plan g = grid(random_.one_in(4) ? 2 : 1, threads);
        grid_plan child = grid(1, random_.one_of({1u, 2u, 31u, 32u, 32u, 32u}));
        if (random_.one_in(4)) child.steps.push_back(launch(0, all, 1, grid(1, random_.one_of({1u, 32u}))));
        const bool one_block = random_.one_in(2);
        g.steps.push_back(launch(all, one_block ? 0 : all, threads * each, std::move(child)));
        if (random_.one_in(3)) g.steps.push_back(make(action::wait));
        if (random_.one_in(3)) g.steps.push_back(launch(all, 0, threads, grid(1, width())));
        return with_final(std::move(g));
    }

    /// About as many launches as a stack has places: 2048 on lanes, 512 on warps and worker blocks, and chunks of 16
    /// KiB beyond.
    grid_plan full_stack() {
        const std::uint32_t threads = std::min(widest_, random_.one_of({1u, 1u, 32u, 64u, 512u}));
        grid_plan g = grid(1, threads);
        const std::uint32_t rounds = random_.between(1, 3);
        for (std::uint32_t i = 0; i < rounds; ++i) {
            const std::uint32_t near = random_.one_of({256u, 512u, 768u, 1024u, 2048u, 2560u, 4096u});
            const std::uint32_t items = std::min(most_grids_, near - 3 + random_.between(0, 6));
            grid_plan child = grid(1, random_.one_of({1u, 1u, 2u, 32u, std::min(widest_, 64u)}));
            if (random_.one_in(3)) child.steps.push_back(launch(0, 0, 1, grid(1, 1)));
            if (random_.one_in(6)) child.steps.push_back(then(grid(1, 1)));
            g.steps.push_back(launch(random_.one_in(2) ? 0 : all, 0, items, std::move(child)));
            if (random_.one_in(3)) g.steps.push_back(make(action::wait));
        }
        return random_.one_in(2) ? with_final(std::move(g)) : g;
    }

    /// Launches after waits, several times, of one and of several blocks.
    grid_plan wait_launch(std::uint32_t budget) {
        grid_plan g = any_grid(random_.one_in(2) ? 1 : 64);
        const auto blocks = static_cast<std::uint32_t>(g.block_count());
        const std::uint32_t rounds = random_.between(1, 5);
        for (std::uint32_t i = 0; i < rounds; ++i) {
            const std::uint32_t where = random_.one_in(2) ? 0 : all;
            const std::uint32_t room = std::max(budget / rounds / (where == all ? blocks : 1), 1u);
            const std::uint32_t items = random_.about(1, std::min(room, 2000u));
            grid_plan child = room / items > 4 && random_.one_in(3) ? wait_launch(room / items)
                                                                    : any_grid(random_.one_of({1u, 1u, 8u, 64u}));
            g.steps.push_back(launch(launcher(g), where, items, std::move(child)));
            if (!random_.one_in(4)) g.steps.push_back(make(action::wait));
        }
        if (random_.one_in(2)) g.steps.push_back(then(any_grid(8)));
        return g;
    }

    /// Hundreds of blocks, nested, each of which waits for hundreds.
    grid_plan deep_wait() {
        const std::uint32_t threads = std::min(widest_, random_.one_of({33u, 64u, 64u, 96u, 128u, 32u, 1u}));
        std::uint32_t left = std::max(most_grids_ / 4, 8u);
        const std::uint32_t levels = random_.between(1, 3);
        grid_plan g = grid(random_.one_in(3) ? 1 : random_.about(1, 300), threads);
        for (std::uint32_t i = 0; i < levels; ++i) {
            const std::uint32_t blocks = std::min(left, random_.one_of({1u, 2u, 20u, 100u, 300u}));
            left = std::max(left / blocks, 1u);
            grid_plan above = grid(blocks, random_.one_in(3) ? width() : threads);
            above.steps.push_back(
                launch(launcher(above), random_.one_in(2) ? 0 : all, random_.between(1, 2), std::move(g)));
            above.steps.push_back(make(action::wait));
            if (random_.one_in(3)) above.steps.push_back(launch(0, 0, 1, any_grid(4)));
            g = std::move(above);
        }
        return g;
    }

    grid_plan widths(std::uint32_t budget) {
        grid_plan g = grid(random_.about(1, 16), width());
        const std::uint32_t kinds = random_.between(1, 12);
        for (std::uint32_t i = 0; i < kinds; ++i) {
            grid_plan child = grid(random_.one_of({1u, 1u, 2u, 33u}),
                                   std::min(widest_, random_.one_in(3) ? widest_ : random_.between(1, widest_)));
            if (random_.one_in(3)) child.steps.push_back(exchange());
            if (random_.one_in(4)) child.steps.push_back(leave(child));
            if (random_.one_in(4)) child.steps.push_back(exchange());
            if (random_.one_in(4)) child.moldable = 1;
            child.steps.push_back(launch(launcher(child), 0, 1, grid(1, width())));
            if (random_.one_in(4)) child.steps.push_back(make(action::wait));
            g.steps.push_back(
                launch(launcher(g), 0, random_.about(1, std::max(budget / kinds / 8, 1u)), std::move(child)));
        }
        return with_final(std::move(g));
    }

    /// Grids that go on in others, and streams of one launch after another.
    grid_plan chain(std::uint32_t budget) {
        const std::uint32_t length = std::min(budget, random_.about(2, 800));
        const bool large = random_.one_in(3);
        grid_plan g = any_grid(8);
        for (std::uint32_t i = 1; i < length; ++i) {
            grid_plan before = large ? any_grid(64) : random_.one_in(3) ? any_grid(8) : grid(1, 1);
            if (random_.one_in(5))
                before.steps.push_back(launch(launcher(before), 0, random_.between(1, 3), any_grid(4)));
            if (random_.one_in(5)) before.steps.push_back(then(any_grid(2)));
            before.steps.push_back(then(std::move(g)));
            if (random_.one_in(9)) before.steps.push_back(then(any_grid(2)));
            g = std::move(before);
        }
        return g;
    }

    grid_plan streams(std::uint32_t budget) {
        grid_plan g = random_.one_in(2) ? grid(1, 1) : any_grid(16);
        const std::uint32_t where = random_.one_in(2) ? 0 : all;
        const std::uint32_t blocks = where == all ? static_cast<std::uint32_t>(g.block_count()) : 1;
        const unsigned steps = random_.between(2, 24);
        const std::uint32_t who = launcher(g);
        for (unsigned i = 0; i < steps; ++i) {
            if (random_.one_in(3)) {
                step_plan s = make(random_.one_in(2) ? action::record : action::await);
                s.stream = random_.between(0, streams_of_block - 1);
                s.event = random_.between(0, events_of_block - 1);
                g.steps.push_back(std::move(s));
                continue;
            }
            const std::uint32_t items = random_.about(1, std::max(budget / steps / blocks / 2, 1u));
            grid_plan child = random_.one_in(2) ? grid(1, 1) : any_grid(6);
            if (random_.one_in(2))
                child.steps.push_back(launch(launcher(child), 0, random_.between(1, 3), any_grid(4)));
            if (random_.one_in(4)) child.steps.push_back(then(any_grid(4)));
            if (random_.one_in(8) && budget > 500) child = streams(budget / 20 / std::max(items, 1u));
            step_plan s = launch(who == all ? 0 : who, where, items, std::move(child));
            s.stream = random_.between(0, own_stream);
            if (random_.one_in(8)) s.stream = all;
            s.prepared = random_.one_in(6);
            const std::uint32_t stream = s.stream;
            g.steps.push_back(std::move(s));
            if (stream < own_stream && random_.one_in(3)) {  // another stream goes on after this
                step_plan recorded = make(action::record), awaited = make(action::await);
                recorded.stream = stream;
                recorded.event = awaited.event = random_.between(0, events_of_block - 1);
                awaited.stream = (stream + random_.between(1, streams_of_block - 1)) % streams_of_block;
                step_plan after = launch(0, where, 1, any_grid(2));
                after.stream = awaited.stream;
                g.steps.push_back(std::move(recorded));
                if (random_.one_in(4)) {  // the latest record counts when the stream waits, not a later one
                    g.steps.push_back(awaited);
                    g.steps.push_back(launch(0, where, 1, any_grid(2)));
                    g.steps.back().stream = random_.between(0, streams_of_block - 1);
                    g.steps.push_back(g.steps[g.steps.size() - 3]);
                    g.steps.back().stream = random_.between(0, streams_of_block - 1);
                } else {
                    g.steps.push_back(std::move(awaited));
                }
                g.steps.push_back(std::move(after));
            }
            if (random_.one_in(12)) g.steps.push_back(make(action::wait));
            if (random_.one_in(16)) g.steps.push_back(leave(g));
        }
        if (random_.one_in(2)) g.steps.push_back(then(final_grid()));
        return g;
    }

    /// A tree that is deep: every level of one class of grids.
    grid_plan tree(std::uint32_t budget) {
        const std::uint32_t fan = random_.one_of({1u, 1u, 2u, 2u, 3u});
        const std::uint32_t most_levels = fan == 1 ? 500 : fan == 2 ? 17 : 11;
        std::uint32_t levels = 1;
        for (std::uint64_t at_level = fan, sum = fan; sum < budget && levels < most_levels; ++levels)
            sum += at_level *= fan;
        const bool one_width = random_.one_in(2);
        const std::uint32_t threads = width();
        const bool waits = random_.one_in(3), joins = random_.one_in(3);
        grid_plan g = grid(1, threads);
        for (std::uint32_t i = 0; i < levels; ++i) {
            grid_plan above = one_width ? grid(1, threads) : any_grid(1);
            above.steps.push_back(launch(launcher(above), 0, fan, std::move(g)));
            if (waits && random_.one_in(2)) above.steps.push_back(make(action::wait));
            if (joins && random_.one_in(2)) above.steps.push_back(then(grid(1, 1)));
            g = std::move(above);
        }
        return with_final(std::move(g));
    }

    grid_plan scratch(std::uint32_t budget) {
        const std::uint32_t fan = random_.between(1, 4);
        grid_plan g = any_grid(8);
        const std::uint32_t where = random_.one_in(2) ? 0 : all;
        const std::uint32_t blocks = where == all ? static_cast<std::uint32_t>(g.block_count()) : 1;
        step_plan taken = scratch_step(where);
        taken.who = random_.one_in(2) ? 0 : random_.between(0, 511);
        const std::uint32_t who = taken.who;
        g.steps.push_back(std::move(taken));
        if (random_.one_in(2)) g.steps.push_back(make(action::sync));
        const std::uint32_t share = budget / (fan * blocks);
        g.steps.push_back(
            launch(random_.one_in(2) ? who : launcher(g), where, fan, share > 4 ? scratch(share) : any_grid(2)));
        if (random_.one_in(3)) g.steps.push_back(make(action::wait));
        if (random_.one_in(3)) {
            g.steps.push_back(scratch_step(where));
            g.steps.push_back(launch(0, where, 1, any_grid(2)));
        }
        const std::uint32_t thens = random_.between(0, 3);
        for (std::uint32_t i = 0; i < thens; ++i) {
            grid_plan continuation = any_grid(4);
            if (random_.one_in(4)) {
                continuation.steps.push_back(scratch_step(0));
                continuation.steps.push_back(then(grid(1, 1)));
            }
            g.steps.push_back(then(std::move(continuation)));
        }
        return g;
    }

    grid_plan refused(std::uint32_t budget) {
        grid_plan g = any_grid(32);
        const unsigned steps = random_.between(1, 6);
        for (unsigned i = 0; i < steps; ++i) {
            g.steps.push_back(refusal_step());
            if (random_.one_in(3)) g.steps.push_back(make(action::wait));
            if (random_.one_in(2)) {
                g.steps.push_back(
                    launch(launcher(g), 0, random_.between(1, 3), budget > 8 ? refused(budget / 8) : any_grid(2)));
            }
            if (random_.one_in(4)) g.steps.push_back(then(any_grid(3)));
        }
        return g;
    }

    /// Recursion as it is written by hand: one class of kernel, which launches itself.
    grid_plan direct_tree(std::uint32_t budget) {
        const std::uint32_t fan = random_.one_of({1u, 2u, 2u, 3u, 8u, 40u});
        grid_plan g = grid(1, random_.one_in(2) ? 1 : width());
        g.kernel = kernel::direct;
        if (random_.one_in(6)) g.blocks[0] = random_.between(2, 20);
        if (random_.one_in(8)) g.moldable = 1;
        const bool join_first = random_.one_in(8);
        if (join_first) g.steps.push_back(then(grid(1, random_.one_of({1u, 1u, 2u, 32u, 3u}))));
        if (budget > fan) g.steps.push_back(launch(launcher(g), 0, fan, direct_tree((budget - 1) / fan)));
        if (budget > fan && random_.one_in(4)) g.steps.push_back(make(action::wait));
        if (random_.one_in(6)) g.steps.push_back(launch(0, 0, random_.between(1, 5), grid(1, 1)));
        if (random_.one_in(3)) g.steps.push_back(then(grid(1, random_.one_of({1u, 1u, 2u, 32u, 3u}))));
        if (random_.one_in(8)) g.steps.push_back(then(grid(random_.between(1, 9), width())));
        return g;
    }

    /// Grids of as many blocks of one thread as a warp has lanes, or fewer, or one more; single ones of these launch,
    /// continue, take memory and wait.
    grid_plan small_grids(std::uint32_t budget) {
        const std::uint32_t wide = std::min(widest_, random_.one_in(2) ? 64u : width());
        grid_plan g = grid(random_.one_in(5) ? 1 : random_.between(2, 33), random_.one_in(8) ? wide : 1);
        if (random_.one_in(3)) g.kernel = kernel::direct;
        const auto blocks = static_cast<std::uint32_t>(g.block_count());
        const unsigned steps = random_.between(1, 5);
        for (unsigned i = 0; i < steps; ++i) {
            const std::uint32_t where = random_.one_in(3) ? all : random_.between(0, blocks - 1);
            switch (random_.between(0, 5)) {
                case 0: g.steps.push_back(scratch_step(where)); break;
                case 1: {
                    step_plan s = then(grid(random_.between(1, 33), random_.one_in(3) ? 32 : 1));
                    s.where = random_.between(0, blocks - 1);
                    g.steps.push_back(std::move(s));
                    break;
                }
                case 2: {
                    step_plan s = make(action::wait);
                    s.where = where;
                    g.steps.push_back(std::move(s));
                    break;
                }
                default: {
                    const std::uint32_t items = random_.between(1, 3);
                    const std::uint32_t share = budget / (steps * items * (where == all ? blocks : 1));
                    g.steps.push_back(
                        launch(0, where, items, share > 8 ? small_grids(share) : grid(random_.between(1, 33), 1)));
                }
            }
        }
        return g;
    }

    random_numbers& random_;
    const engine_settings& settings_;
    const engine_traits& engine_;
    std::uint32_t most_grids_;
    std::uint32_t widest_;
    bool thrifty_;
};

/// Steps with calls, or with loops, in some grids of a program; `left` at most.
void add_steps(random_numbers& random, action what, grid_plan& g, unsigned& left) {
    if (left != 0 && random.one_in(2)) {
        step_plan s;
        s.what = what;
        s.who = static_cast<std::uint32_t>(random.next() & 0xffff);
        s.where = random.one_in(3) ? static_cast<std::uint32_t>(random.next() & 0xffff) : all;
        s.items = what == action::call ? random.between(1, 2) : random.between(0, 200);
        s.words = what == action::call ? random.between(1, 4) : random.about(1, 1000);
        g.steps.insert(g.steps.begin() + random.between(0, static_cast<std::uint32_t>(g.steps.size())), std::move(s));
        --left;
    }
    for (step_plan& s : g.steps) {
        for (grid_plan& child : s.children) add_steps(random, what, child, left);
    }
}

}  // namespace

const std::vector<profile>& profiles() {
    static const std::vector<profile> list = {
        {"mixed", "anything"},
        {"forks", "forks without a join above levels that join"},
        {"many", "many grids of several blocks launched at once by a wide grid, level after level"},
        {"overflow", "every thread of a wide block launches tens of grids of a warp"},
        {"full_stack", "about as many launches as a stack has places"},
        {"wait_launch", "launches after waits"},
        {"deep_wait", "hundreds of blocks that wait for hundreds, nested"},
        {"widths", "blocks of all widths with barriers and early returns"},
        {"chain", "long chains of continuations"},
        {"streams", "streams and events"},
        {"tree", "deep trees"},
        {"scratch", "scratch memory for children and continuations"},
        {"refused", "calls that have to fail"},
        {"direct", "recursion as it is written by hand"},
        {"small_grids", "grids of a few blocks of one thread that launch, continue and wait"},
        {"memory", "an engine with little memory"},
        {"limits", "limits on nesting, waiting and pending launches"},
    };
    return list;
}

engine_settings draw_settings(const std::string& profile, std::uint64_t seed, std::uint64_t batch,
                              const engine_traits& engine) {
    random_numbers random(seed, (batch << 1) + 1);
    engine_settings s;
    s.memory_bytes = random.one_of<std::uint64_t>({64, 64, 256, 1024}) << 20;
    s.sync_depth = random.one_of({0u, 1u, 2u, 4u, 4u, 4u, 5u, most_sync_depth});
    if (profile == "deep_wait" || profile == "wait_launch") s.sync_depth = random.between(3, most_sync_depth);
    s.worker_blocks = random.one_of({0u, 0u, 0u, 1u, 2u, 3u, 8u});
    s.moldable_threads = random.one_of({1u, 2u, 7u, 31u, 32u, 32u, 32u, 33u, 64u, 128u, 512u});
    s.shared_bytes = random.one_of({0u, 1024u, 4096u, 16384u, 16384u, 32768u});
    const std::uint32_t most_warps = engine.widest / 32;
    s.block_threads = random.one_in(2) ? 0
                                       : 32 * (random.one_in(2) ? random.between(1, most_warps)
                                                                : random.one_of({1u, 2u, 4u, 8u, 16u}));
    s.traced = random.one_in(8) ? 1 : 0;
    if (profile == "deep_wait" && random.one_in(2)) {
        s.worker_blocks = 1;
        s.block_threads = 128;
    }
    if (profile == "small_grids" && random.one_in(3)) {  // two warps, which a wider block needs both
        s.worker_blocks = 1;
        s.block_threads = 64;
    }
    if (profile == "memory") {
        s.memory_bytes = random.one_of<std::uint64_t>({65536, 65536, 100000, 131072, 262144, 1 << 20, 4 << 20});
        if (random.one_in(2)) s.worker_blocks = random.between(1, 3);
    }
    if (profile == "limits") {
        s.sync_depth = random.between(0, 3);
        if (random.one_in(2)) s.nesting_depth = random.between(0, 5);
        if (engine.bounds_pending && random.one_in(2)) s.pending_launches = random.about(1, 2000);
    }
    if (random.one_in(20)) s.nesting_depth = random.between(1, 12);
    if (engine.schedules > 1) {
        s.schedule = random.between(0, engine.schedules - 1);
        s.schedule_seed = random.between(1, 1000);
    }
    return s;
}

program draw_program(const std::string& profile, std::uint64_t seed, std::uint64_t number,
                     const engine_settings& settings, const engine_traits& engine, std::uint32_t most_grids) {
    random_numbers random(seed, (number << 1) + 0x8000000000000000ull);
    program p;
    p.settings = settings;
    p.salt = static_cast<std::uint32_t>(random.next());
    p.stamped = random.one_in(4) ? 1 : 0;
    p.reduced = mix(p.salt, 3) % 8 == 0 ? 1 : 0;  // not drawn: programs stay what they were
    if (profile == "many" && random.one_in(64)) most_grids *= 14;
    p.root = drawer(random, settings, engine, most_grids).draw(profile);
    // The host launches these three.
    if (p.root.kernel != kernel::direct) p.root.kernel = random.one_in(2) ? kernel::bytes_4 : kernel::bytes_8;
    // Not drawn, as above.
    for (const action what : {action::call, action::loop}) {
        if (mix(p.salt, what == action::call ? 5 : 7) % 4 != 0) continue;
        random_numbers apart(p.salt, number * 2 + (what == action::call ? 0 : 1));
        unsigned left = apart.between(1, 6);
        add_steps(apart, what, p.root, left);
    }
    return p;
}

}  // namespace fuzz
