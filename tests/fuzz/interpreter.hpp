// The kernels of random programs: each looks its grid up in the program, checks what it was promised, does what the
// program says, and writes down that it ran.
#pragma once

#include <dynpar/dynpar.hpp>

#include <new>
#include <utility>

#include "calls.hpp"
#include "image.hpp"
#include "refusals.hpp"

#if DYNPAR_ON_DEVICE && defined(__CUDACC__)
#define FUZZ_UNROLL _Pragma("unroll")
#else
#define FUZZ_UNROLL
#endif

namespace fuzz {

// The programs that run, each on an engine of its own. A slot says which one it is of: an argument of 4 bytes has no
// room for a pointer. The last place holds any of them, for slots of none, which a grid has that should never have been
// launched.
#if defined(__CUDACC__)
static __device__ const context* device_programs[most_programs + 1];
#endif
static const context* host_programs[most_programs + 1];

/// The program that a slot is of.
DYNPAR_FUNCTION inline const context& program_of(std::uint32_t slot) {
#if DYNPAR_ON_DEVICE
    const context* const* const programs = device_programs;
#else
    const context* const* const programs = host_programs;
#endif
    const context* const program = programs[slot / slots_of_program % most_programs];
    return program != nullptr ? *program : *programs[most_programs];
}

/// Says where a program is.
struct take_program {
    static constexpr const char* name = "take_program";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, unsigned number, const context* from) const {
#if DYNPAR_ON_DEVICE
        device_programs[number] = device_programs[most_programs] = from;
#else
        host_programs[number] = host_programs[most_programs] = from;
#endif
    }
};

template <unsigned Words>
struct words {
    std::uint32_t word[Words];
};

template <unsigned Words>
DYNPAR_FUNCTION words<Words> filled(std::uint32_t base) {
    words<Words> result;
    result.word[0] = base;
    for (unsigned i = 1; i < Words; ++i) result.word[i] = mix(base + i, program_of(base).salt);
    return result;
}

DYNPAR_FUNCTION inline void complain(mistake what, std::uint32_t node, std::uint32_t base, std::uint32_t block,
                                     std::uint32_t thread, std::uint32_t found, std::uint32_t expected) {
    mistake_log& log = *program_of(base).log;
    dynpar::atomic_add(&log.counts[static_cast<unsigned>(what)], 1u);
    const std::uint32_t place = dynpar::atomic_add(&log.used, 1u);
    if (place < mistake_log::room) {
        log.details[place] =
            mistake_detail{static_cast<std::uint32_t>(what), node, base, block, thread, found, expected};
    }
}

/// A grid as one of its threads sees it.
struct place_in_program {
    std::uint32_t base;
    std::uint32_t node;
    std::uint32_t parent;  // base
    std::uint32_t block;   // of the parent, by which ranges go on
    std::uint32_t rank;    // of the own block
    std::uint32_t thread;
    std::uint32_t threads;  // of the block

    DYNPAR_FUNCTION void complain(mistake what, std::uint32_t found, std::uint32_t expected) const {
        fuzz::complain(what, node, base, rank, thread, found, expected);
    }
    DYNPAR_FUNCTION bool is_mutated(mutant which, std::uint32_t place) const {
        const context& p = program_of(base);
        return p.mutant == which && p.target == place;
    }
};

DYNPAR_FUNCTION inline std::uint32_t value_in(std::uint32_t slot, std::uint32_t salt) {
    return mix(slot, salt ^ 0x5a5a5a5au);
}
DYNPAR_FUNCTION inline std::uint32_t value_of(std::uint32_t slot) { return value_in(slot, program_of(slot).salt); }

/// Whether a range of slots is complete, looked at by `count` threads of which this one has number `first`.
DYNPAR_FUNCTION inline void check_complete(const place_in_program& at, std::uint32_t begin, std::uint32_t slots,
                                           std::uint32_t first, std::uint32_t count, mistake wrong_value,
                                           mistake wrong_count) {
    constexpr std::uint32_t most = 64;  // slots that a thread looks at
    const context& p = program_of(at.base);
    if (begin - p.first > p.slots || slots > p.slots - (begin - p.first)) {
        at.complain(mistake::bad_base, begin, slots);
        return;
    }
    std::uint64_t stride = count;
    if (slots / most > count) {
        stride = slots / most;
        first = static_cast<std::uint32_t>(mix(at.base + first, p.salt) % stride);
    }
    for (std::uint64_t i = first; i < slots; i += stride) {
        const std::uint32_t slot = begin + static_cast<std::uint32_t>(i);
        const std::uint32_t value = p.values[slot], runs = p.counts[slot];
        if (value != value_of(slot)) at.complain(wrong_value, slot, value);
        if (runs != one_run) at.complain(wrong_count, slot, runs);
    }
}

/// What a block says of a thread's position.
struct position {
    std::uint32_t depth, block_rank, thread_rank, threads, blocks;
    dynpar::dimensions dim_blocks, group_index, dim_threads, thread_index;
};
template <class Block>
DYNPAR_FUNCTION position position_of(const Block& block) {
    return {block.depth(),      block.block_rank(),  block.thread_rank(), block.num_threads(), block.num_blocks(),
            block.dim_blocks(), block.group_index(), block.dim_threads(), block.thread_index()};
}

/// Checks what a grid may rely on when it begins. False: it cannot go on. (Takes no block: what a function that is not
/// inlined gets by reference has an address, and one kernel is to be without.)
template <class Position>
DYNPAR_FUNCTION DYNPAR_NOINLINE bool begin_grid(const Position& here, std::uint32_t base, place_in_program& at) {
    const context& p = program_of(base);
    at.base = base;
    at.rank = here.block_rank;
    at.thread = here.thread_rank;
    at.threads = here.threads;
    at.node = at.block = 0;
    at.parent = base;
    if (base - p.first >= p.slots) {
        at.complain(mistake::bad_base, base, p.slots);
        return false;
    }
    if (base != p.first) {
        const note from = p.notes[base];
        if (from.check != check_of(from, base, p.salt) || from.node >= p.node_count) {
            at.complain(mistake::note_unseen, from.check, check_of(from, base, p.salt));
            return false;
        }
        at.node = from.node;
        at.parent = from.parent;
        at.block = from.block;
    }
    const node& n = p.nodes[at.node];
    const std::uint32_t depth = n.depth + (at.is_mutated(mutant::depth_off_by_one, at.node) ? 1 : 0);
    if (here.depth != depth) at.complain(mistake::depth, here.depth, depth);
    const dynpar::dimensions blocks(n.blocks[0], n.blocks[1], n.blocks[2]);
    if (here.blocks != n.block_count || here.dim_blocks != blocks)
        at.complain(mistake::position, here.blocks, n.block_count);
    if (at.rank >= n.block_count || base - p.first + at.rank >= p.slots) {
        at.complain(mistake::position, at.rank, n.block_count);
        return false;
    }
    if (here.group_index != blocks.index_of(at.rank)) at.complain(mistake::position, at.rank, here.group_index.x);
    if (n.moldable != 0) {
        if (at.threads == 0 || at.threads > n.thread_count) at.complain(mistake::width, at.threads, n.thread_count);
        if (here.thread_index != dynpar::dimensions(at.thread, 0, 0))
            at.complain(mistake::position, at.thread, here.thread_index.x);
    } else {
        const dynpar::dimensions threads(n.threads[0], n.threads[1], n.threads[2]);
        if (at.threads != n.thread_count || here.dim_threads != threads)
            at.complain(mistake::width, at.threads, n.thread_count);
        if (here.thread_index != threads.index_of(at.thread))
            at.complain(mistake::position, at.thread, here.thread_index.x);
    }
    if (at.thread >= at.threads) at.complain(mistake::position, at.thread, at.threads);
    if (p.stamped != 0 && at.thread == n.writer) p.begins[base + at.rank] = dynpar::atomic_add(&p.log->clock, 1u);

    const std::uint32_t thread_of_grid = at.rank * at.threads + at.thread, threads_of_grid = n.block_count * at.threads;
    for (std::uint32_t i = 0; i < n.needs; ++i) {
        const need& range = p.needs[n.first_need + i];
        check_complete(at, at.parent + range.offset + at.block * range.stride, range.count, thread_of_grid,
                       threads_of_grid, mistake::incomplete_value, mistake::incomplete_count);
    }
    if (n.after_earlier != 0) {
        const std::uint32_t first = at.parent + n.offset + at.block * n.each * n.size;
        check_complete(at, first, base - first, thread_of_grid, threads_of_grid, mistake::incomplete_value,
                       mistake::incomplete_count);
    }
    for (std::uint32_t i = 0; i < n.scratch_blocks; ++i) {
        const std::uint32_t of_block = n.scratch_first == all ? at.block : n.scratch_first + i;
        const std::uint32_t slot = at.parent + of_block;
        const std::uint32_t place = slot * scratch_of_block + n.scratch_number;
        const scratch_entry entry = p.scratch[place];
        if (entry.check != mix(place, p.salt)) {
            at.complain(mistake::scratch_unseen, of_block, n.scratch_number);
            continue;
        }
        if (entry.memory == nullptr) continue;  // said by who took it
        for (std::uint32_t w = thread_of_grid; w < n.scratch_words; w += threads_of_grid) {
            if (entry.memory[w] != mix(slot + w, p.salt)) at.complain(mistake::scratch_value, w, entry.memory[w]);
        }
        if (n.results != 0) {
            const node& of = p.nodes[n.results];
            for (std::uint32_t k = thread_of_grid; k < n.results_each; k += threads_of_grid) {
                const std::uint32_t first =
                    at.parent + of.offset + ((of.from_block == all ? of_block : 0) * of.each + k) * of.size;
                if (entry.memory[n.scratch_words + k] != mix(first, p.salt))
                    at.complain(mistake::scratch_result, k, first);
            }
        }
        if (n.writes_result != 0 && at.thread == n.writer && at.rank == 0) {
            const std::uint32_t first = at.parent + n.offset + at.block * n.each * n.size;
            entry.memory[n.scratch_words + (base - first) / n.size] = mix(base, p.salt);
        }
    }
    return true;
}

/// Writes down that the thread has come to its end.
DYNPAR_FUNCTION inline void end_thread(const place_in_program& at) {
    const context& p = program_of(at.base);
    const node& n = p.nodes[at.node];
    const std::uint32_t slot = at.base + at.rank;
    if (at.thread == n.writer) {
        p.values[slot] = value_of(slot);
        if (p.stamped != 0) p.ends[slot] = dynpar::atomic_add(&p.log->clock, 1u);
    }
    std::uint32_t count = at.thread == 0 ? one_run - at.threads + 1 : 1u;
    if (at.thread == 0 && n.loops != 0) {
        for (std::uint32_t index = n.first_step; index < n.first_step + n.steps; ++index) {
            const step& s = p.steps[index];
            if (s.what == action::loop && (s.where == all || s.where == at.rank)) count -= s.iterations;
        }
    }
    if (at.thread == 0 && at.is_mutated(mutant::block_run_twice, at.node)) count += one_run;
    if (at.is_mutated(mutant::block_dropped, at.node)) return;
    if (at.thread + 1 == at.threads && at.is_mutated(mutant::thread_dropped, at.node)) return;
    dynpar::atomic_add(&p.counts[slot], count);
}

/// A value that no atomic operation can change.
struct two_sums {
    unsigned long long first, second;
};
struct sum_of_two {
    using value_type = two_sums;
    DYNPAR_FUNCTION static two_sums identity() { return {0, 0}; }
    DYNPAR_FUNCTION static two_sums combine(const two_sums& a, const two_sums& b) {
        return {a.first + b.first, a.second + b.second};
    }
};
using sum_reducer = dynpar::sum<unsigned long long>;
using largest_reducer = dynpar::largest<std::uint32_t>;

/// A reducer of the program.
template <class Monoid>
DYNPAR_FUNCTION const dynpar::reducer_view<Monoid>& reducer_of(const context& p, unsigned number) {
    static_assert(sizeof(dynpar::reducer_view<Monoid>) == sizeof p.reducers[0], "they are kept as bytes");
    return *reinterpret_cast<const dynpar::reducer_view<Monoid>*>(p.reducers[number]);
}

/// A thread that has come to its end adds to what the program reduces: of each block the value once, and `one_run`, to
/// which all its threads add.
template <class Block>
DYNPAR_FUNCTION void add_to_reducers(Block& block, const place_in_program& at) {
    const context& p = program_of(at.base);
    const std::uint32_t value = value_of(at.base + at.rank);
    const bool left_out = at.is_mutated(mutant::value_not_reduced, at.node);
    if (at.thread == p.nodes[at.node].writer && !left_out) reducer_of<sum_reducer>(p, 0).add(block, value);
    reducer_of<largest_reducer>(p, 1).add(block, value);
    reducer_of<sum_of_two>(p, 2).add(
        block, two_sums{at.thread == 0 ? one_run - at.threads + 1 : 1u, at.thread == 0 ? value : 0u});
}
template <class Block>
DYNPAR_FUNCTION DYNPAR_NOINLINE void add_to_reducers_apart(Block& block, const place_in_program& at) {
    add_to_reducers(block, at);
}

template <class Block>
using stream_of = decltype(std::declval<Block&>().make_stream());
template <class Block>
using event_of = decltype(std::declval<Block&>().make_event());

/// Streams or events of one thread, made when they are first asked for.
template <class Handle, unsigned Count>
class handles {
public:
    DYNPAR_FUNCTION handles() : made_(0) {}
    DYNPAR_FUNCTION ~handles() {
        for (unsigned i = 0; i < Count; ++i) {
            if ((made_ >> i & 1) != 0) at(i).~Handle();
        }
    }
    handles(const handles&) = delete;
    handles& operator=(const handles&) = delete;
    template <class Make>
    DYNPAR_FUNCTION Handle& get(unsigned i, const Make& make) {
        if ((made_ >> i & 1) == 0) {
            new (static_cast<void*>(memory_ + i * sizeof(Handle))) Handle(make());
            made_ |= 1u << i;
        }
        return at(i);
    }

private:
    DYNPAR_FUNCTION Handle& at(unsigned i) { return *reinterpret_cast<Handle*>(memory_ + i * sizeof(Handle)); }

    alignas(Handle) unsigned char memory_[Count * sizeof(Handle)];
    unsigned made_;
};
template <class Block>
struct make_a_stream {
    Block& block;
    DYNPAR_FUNCTION stream_of<Block> operator()() const { return block.make_stream(); }
};
template <class Block>
struct make_an_event {
    Block& block;
    DYNPAR_FUNCTION event_of<Block> operator()() const { return block.make_event(); }
};

// The three ways to launch, for `with_kernel`.
template <class Block>
struct as_child {
    Block& block;
    const dynpar::shape& s;
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION dynpar::status operator()(Kernel k, Args... args) const {
        return block.launch(k, s, args...);
    }
};
template <class Block>
struct in_stream {
    Block& block;
    stream_of<Block>& stream;
    const dynpar::shape& s;
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION dynpar::status operator()(Kernel k, Args... args) const {
        return block.launch(stream, k, s, args...);
    }
};
template <class Block>
struct as_continuation {
    Block& block;
    const dynpar::shape& s;
    template <class Kernel, class... Args>
    DYNPAR_FUNCTION dynpar::status operator()(Kernel k, Args... args) const {
        return block.then(k, s, args...);
    }
};

template <unsigned Words, unsigned Live, unsigned Number>
struct patterned;
struct bytes_8;
struct bytes_16;
struct state_12;
struct most_64;
struct direct;
struct registers;

template <class Launch>
DYNPAR_FUNCTION dynpar::status with_kernel(kernel k, std::uint32_t base, bool changed, const Launch& launch);

DYNPAR_FUNCTION inline dynpar::shape shape_of_node(const node& n) {
    const dynpar::dimensions blocks(n.blocks[0], n.blocks[1], n.blocks[2]);
    if (n.moldable != 0) return dynpar::shape(blocks, dynpar::at_most(n.thread_count), n.shared_bytes);
    return dynpar::shape(blocks, dynpar::dimensions(n.threads[0], n.threads[1], n.threads[2]), n.shared_bytes);
}

template <class Block>
DYNPAR_FUNCTION DYNPAR_NOINLINE dynpar::status launch_child(Block& block, kernel k, const dynpar::shape& s,
                                                            std::uint32_t base, bool changed) {
    return with_kernel(k, base, changed, as_child<Block>{block, s});
}
template <class Block>
DYNPAR_FUNCTION DYNPAR_NOINLINE dynpar::status launch_in(Block& block, stream_of<Block>& stream, kernel k,
                                                         const dynpar::shape& s, std::uint32_t base) {
    return with_kernel(k, base, false, in_stream<Block>{block, stream, s});
}
template <class Block>
DYNPAR_FUNCTION DYNPAR_NOINLINE dynpar::status continue_with(Block& block, kernel k, const dynpar::shape& s,
                                                             std::uint32_t base) {
    return with_kernel(k, base, false, as_continuation<Block>{block, s});
}

/// The base of the child that a block launches as item j of a step, and its node.
struct child_place {
    std::uint32_t node;
    std::uint32_t base;
};
DYNPAR_FUNCTION inline child_place child_of(const step& s, std::uint32_t base, std::uint32_t block,
                                            std::uint32_t item) {
    const std::uint32_t index = s.child + item % s.variants;
    const node& child = program_of(base).nodes[index];
    return {index, base + child.offset + (block * child.each + item / s.variants) * child.size};
}

/// What the launching thread, or its block before a barrier, writes for the child.
DYNPAR_FUNCTION inline void write_note(const child_place& child, std::uint32_t parent, std::uint32_t block) {
    note n{child.node, parent, block, 0};
    n.check = check_of(n, child.base, program_of(parent).salt);
    program_of(parent).notes[child.base] = n;
}

template <class Block, class Streams>
DYNPAR_FUNCTION DYNPAR_NOINLINE void do_launches(Block& block, const place_in_program& at, std::uint32_t index,
                                                 Streams& streams) {
    const context& p = program_of(at.base);
    const step& s = p.steps[index];
    const std::uint32_t block_number = s.where == all ? at.rank : 0;
    const bool shared_work = s.who == all;
    const std::uint32_t width = s.high == all ? at.threads : s.high - s.low;
    const auto ok = static_cast<std::uint32_t>(dynpar::status::success);
    if (s.prepared != 0) {
        if (s.expected == ok) {
            for (std::uint32_t j = at.thread - s.low; j < s.items; j += width)
                write_note(child_of(s, at.base, block_number, j), at.base, block_number);
        }
        block.sync();
    }
    if (!shared_work && s.who != at.thread) return;
    for (std::uint32_t j = shared_work ? at.thread - s.low : 0; j < s.items; j += shared_work ? width : 1) {
        std::uint32_t source = index;  // continuations of one order, given in another
        if (at.is_mutated(mutant::continuations_swapped, index)) source = index + 1;
        if (index != 0 && at.is_mutated(mutant::continuations_swapped, index - 1)) source = index - 1;
        const child_place child = child_of(p.steps[source], at.base, block_number, j);
        const node& n = p.nodes[child.node];
        if (s.prepared == 0 && s.expected == ok && !at.is_mutated(mutant::child_reads_before_write, index))
            write_note(child, at.base, block_number);
        const dynpar::shape shape = shape_of_node(n);
        const bool changed = j == 0 && at.is_mutated(mutant::argument_byte_changed, index);
        if (j == 0 && at.is_mutated(mutant::dropped_launch, index)) continue;
        dynpar::status told = dynpar::status::success;
        if (s.what == action::then && !at.is_mutated(mutant::early_continuation, index)) {
            told = continue_with(block, n.kernel, shape, child.base);
        } else if (s.stream == all || at.is_mutated(mutant::lost_stream_order, index)) {
            told = launch_child(block, n.kernel, shape, child.base, changed);
        } else if (s.stream == own_stream) {
            auto stream = block.make_stream();
            told = launch_in(block, stream, n.kernel, shape, child.base);
        } else {
            told = launch_in(block, streams.get(s.stream, make_a_stream<Block>{block}), n.kernel, shape, child.base);
        }
        if (j == 0 && at.is_mutated(mutant::launch_twice, index))
            launch_child(block, n.kernel, shape, child.base, false);
        if (told != static_cast<dynpar::status>(s.expected))
            at.complain(mistake::launch_status, static_cast<std::uint32_t>(told), s.expected);
    }
}

/// After wait(): all that this block has launched before is complete.
template <class Place>
DYNPAR_FUNCTION DYNPAR_NOINLINE void check_children(const Place& at, std::uint32_t first_step, std::uint32_t index,
                                                    std::uint32_t low, std::uint32_t width) {
    const context& p = program_of(at.base);
    for (std::uint32_t i = first_step; i < index; ++i) {
        const step& s = p.steps[i];
        if (s.what != action::launch || s.expected != 0 || (s.where != all && s.where != at.rank)) continue;
        for (std::uint32_t v = 0; v < s.variants; ++v) {
            const node& child = p.nodes[s.child + v];
            const std::uint32_t slots = child.each * child.size;
            check_complete(at, at.base + child.offset + (s.where == all ? at.rank : 0) * slots, slots, at.thread - low,
                           width, mistake::after_wait_value, mistake::after_wait_count);
        }
    }
}

template <class Block>
DYNPAR_FUNCTION DYNPAR_NOINLINE void do_exchange(Block& block, const place_in_program& at, std::uint32_t index) {
    const context& p = program_of(at.base);
    const step& s = p.steps[index];
    const std::uint32_t all_threads = p.nodes[at.node].thread_count,
                        width = s.high == all ? at.threads : s.high - s.low;
    std::uint32_t* first = block.template shared<std::uint32_t>(all_threads * s.words);
    std::uint32_t* second = block.template shared<std::uint32_t>(all_threads * s.words);
    if (first == nullptr || second == nullptr) {
        at.complain(mistake::shared_null, first == nullptr, second == nullptr);
        return;
    }
    if (at.is_mutated(mutant::shared_calls_overlap, index)) second = first;
    for (std::uint32_t w = 0; w < s.words; ++w) {
        first[w * all_threads + at.thread] = mix(at.base + at.thread, index + w);
        second[w * all_threads + at.thread] = mix(at.base + at.thread, index + w + 100);
    }
    if (!at.is_mutated(mutant::barrier_skipped, index)) block.sync();
    const std::uint32_t next = s.low + (at.thread - s.low + 1) % width,
                        before = s.low + (at.thread - s.low + width - 1) % width;
    for (std::uint32_t w = 0; w < s.words; ++w) {
        const std::uint32_t found = first[w * all_threads + next], found_before = second[w * all_threads + before];
        if (found != mix(at.base + next, index + w)) at.complain(mistake::shared_value, found, next);
        if (found_before != mix(at.base + before, index + w + 100))
            at.complain(mistake::shared_value, found_before, before);
    }
    block.sync();
}

template <class Block>
DYNPAR_FUNCTION DYNPAR_NOINLINE void do_scratch(Block& block, const place_in_program& at, std::uint32_t index) {
    const context& p = program_of(at.base);
    const step& s = p.steps[index];
    const std::uint32_t results = s.results != 0 ? p.nodes[s.results].each : 0;
    std::uint32_t* memory = block.template scratch<std::uint32_t>(s.words + results);
    const std::uint32_t slot = at.base + at.rank, place = slot * scratch_of_block + s.number;
    p.scratch[place] = scratch_entry{memory, mix(place, p.salt), 0};
    if (memory == nullptr) {
        at.complain(mistake::scratch_null, s.words, results);
        return;
    }
    for (std::uint32_t w = 0; w < s.words; ++w) memory[w] = mix(slot + w, p.salt);
    for (std::uint32_t w = 0; w < results; ++w) memory[s.words + w] = 0;
    if (at.is_mutated(mutant::scratch_reused_early, index)) memory[0] += 1;
}

/// A call that has to fail, and must launch nothing.
template <class Block>
DYNPAR_FUNCTION DYNPAR_NOINLINE void do_refusal(Block& block, const place_in_program& at, std::uint32_t index);

/// The continuation that gets the values of a block's calls.
struct check_values_of_calls {
    std::uint32_t base, rank, node, index;
    template <class... Values>
    DYNPAR_FUNCTION void operator()(Values... values) const {
        const context& p = program_of(base);
        const step& s = p.steps[index];
        place_in_program at{};
        at.base = base;
        at.rank = rank;
        at.node = node;
        check_complete(at, base, s.number, 0, 1, mistake::call_early, mistake::call_early);
        const std::uint64_t found = append_to_own{0}(values...), expected = s.value + s.value_of_slot * (base + rank);
        if (found != expected)
            at.complain(mistake::call_value, static_cast<std::uint32_t>(found), static_cast<std::uint32_t>(expected));
        if (!at.is_mutated(mutant::call_not_answered, index)) dynpar::atomic_add(&p.log->answers, 1u);
    }
};

template <class Block>
DYNPAR_FUNCTION DYNPAR_NOINLINE void do_calls(Block& block, const place_in_program& at, std::uint32_t index) {
    const context& p = program_of(at.base);
    const step& s = p.steps[index];
    if (s.who != at.thread) return;
    const std::uint32_t key = call_key(p.salt, index);
    std::uint32_t slot = at.base + at.rank;
    const check_values_of_calls check{at.base, at.rank, at.node, index};
    if (at.is_mutated(mutant::call_value_off, index)) ++slot;
    const dynpar::status told = s.items == 1 ? block.then(check, block.spawn(call_in_tree{}, 0u, key, s.words, slot))
                                             : block.then(check, block.spawn(call_in_tree{}, 0u, key, s.words, slot),
                                                          block.spawn(call_in_tree{}, 1u, key, s.words, slot));
    if (told != static_cast<dynpar::status>(s.expected))
        at.complain(mistake::call_status, static_cast<std::uint32_t>(told), s.expected);
}

struct count_iteration {
    static constexpr const char* name = "count_iteration";
    std::uint32_t* count;  // of the block
    DYNPAR_FUNCTION void operator()(unsigned) const { dynpar::atomic_add(count, 1u); }
};

template <class Block>
DYNPAR_FUNCTION DYNPAR_NOINLINE void do_loops(Block& block, const place_in_program& at, std::uint32_t index) {
    const context& p = program_of(at.base);
    const step& s = p.steps[index];
    std::uint32_t* const count = p.counts + at.base + at.rank;
    const std::uint32_t iterations = iterations_of(p.salt, index, s, at.thread);
    std::uint32_t run = iterations;
    if (run != 0 && at.is_mutated(mutant::iteration_dropped, index)) --run;
    dynpar::nested_for_options options;
    options.in_place = s.number;
    options.piece = s.items;
    options.grids = dynpar::nested_grids::one_each;  // so that their number is known
    const dynpar::status told = dynpar::nested_for(block, run, count_iteration{count}, options);
    if (told == dynpar::status::success) return;
    at.complain(mistake::loop_status, static_cast<std::uint32_t>(told), s.expected);
    dynpar::atomic_add(count, iterations);  // what has not run is known
}

template <class Block>
DYNPAR_FUNCTION DYNPAR_NOINLINE void do_steps(Block& block, const place_in_program& at) {
    const context& p = program_of(at.base);
    const node& n = p.nodes[at.node];
    handles<stream_of<Block>, streams_of_block> streams;
    handles<event_of<Block>, events_of_block> events;
    for (std::uint32_t index = n.first_step; index < n.first_step + n.steps; ++index) {
        const step& s = p.steps[index];
        if (s.where != all && s.where != at.rank && s.what != action::leave) continue;
        switch (s.what) {
            case action::launch:
            case action::then: do_launches(block, at, index, streams); break;
            case action::wait: {
                dynpar::status told = static_cast<dynpar::status>(s.expected);
                if (!at.is_mutated(mutant::wait_skipped, index)) told = block.wait();
                if (told != static_cast<dynpar::status>(s.expected)) {
                    at.complain(mistake::wait_status, static_cast<std::uint32_t>(told), s.expected);
                } else if (told == dynpar::status::success) {
                    check_children(at, n.first_step, index, s.low, s.high == all ? at.threads : s.high - s.low);
                }
                break;
            }
            case action::sync: block.sync(); break;
            case action::exchange: do_exchange(block, at, index); break;
            case action::leave:
                if (at.thread < s.low || at.thread >= s.high) return;
                break;
            case action::scratch:
                if (s.who == at.thread) do_scratch(block, at, index);
                break;
            case action::refuse: do_refusal(block, at, index); break;
            case action::call: do_calls(block, at, index); break;
            case action::loop: do_loops(block, at, index); break;
            case action::record:
            case action::await: {
                if (s.who != at.thread) break;
                auto& stream = streams.get(s.stream, make_a_stream<Block>{block});
                auto& event = events.get(s.event, make_an_event<Block>{block});
                dynpar::status told = dynpar::status::success;
                if (s.what == action::record) {
                    told = event.record(stream);
                } else if (p.mutant != mutant::event_ignored) {
                    told = stream.wait(event);
                }
                if (told != dynpar::status::success)
                    at.complain(mistake::stream_status, static_cast<std::uint32_t>(told), 0);
                break;
            }
            case action::count: break;
        }
    }
}

/// A thread's way through its grid, with `Live` values that it keeps all the time.
template <unsigned Live, class Block>
DYNPAR_FUNCTION void run_thread(Block& block, std::uint32_t base) {
    std::uint32_t kept[Live];
    FUZZ_UNROLL
    for (unsigned i = 0; i < Live; ++i)
        kept[i] = program_of(base).table[(base + i) & 63] + block.thread_rank() * (i + 1);
    place_in_program at;
    if (!begin_grid(position_of(block), base, at)) return;
    if (program_of(base).nodes[at.node].steps != 0) do_steps(block, at);
    FUZZ_UNROLL
    for (unsigned i = 0; i < Live; ++i) {
        const std::uint32_t expected = program_of(base).table[(base + i) & 63] + block.thread_rank() * (i + 1);
        if (kept[i] != expected) at.complain(mistake::live_value, kept[i], expected);
    }
    if (program_of(base).reduced != 0) add_to_reducers_apart(block, at);
    end_thread(at);
}

template <unsigned Words, class Block>
DYNPAR_FUNCTION void check_words(const words<Words>& a, Block& block) {
    for (unsigned i = 1; i < Words; ++i) {
        const std::uint32_t expected = mix(a.word[0] + i, program_of(a.word[0]).salt);
        if (a.word[i] != expected)
            complain(mistake::argument, 0, a.word[0], block.block_rank(), block.thread_rank(), a.word[i], expected);
    }
}

#define FUZZ_KERNEL_OF_WORDS(NAME, WORDS, LIVE)                               \
    struct NAME {                                                             \
        static constexpr const char* name = #NAME;                            \
        template <class Block>                                                \
        DYNPAR_FUNCTION void operator()(Block& block, words<WORDS> a) const { \
            check_words(a, block);                                            \
            run_thread<LIVE>(block, a.word[0]);                               \
        }                                                                     \
    }
FUZZ_KERNEL_OF_WORDS(bytes_20, 5, 3);
FUZZ_KERNEL_OF_WORDS(bytes_28, 7, 6);
FUZZ_KERNEL_OF_WORDS(bytes_32, 8, 10);
FUZZ_KERNEL_OF_WORDS(bytes_48, 12, 14);
FUZZ_KERNEL_OF_WORDS(bytes_100, 25, 2);
FUZZ_KERNEL_OF_WORDS(bytes_200, 50, 20);
#undef FUZZ_KERNEL_OF_WORDS

struct bytes_4 {
    static constexpr const char* name = "bytes_4";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, std::uint32_t base) const {
        run_thread<1>(block, base);
    }
};

struct bytes_8 {
    static constexpr const char* name = "bytes_8";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, std::uint32_t base, std::uint32_t pattern) const {
        if (pattern != mix(base, program_of(base).salt)) {
            complain(mistake::argument, 0, base, block.block_rank(), block.thread_rank(), pattern,
                     mix(base, program_of(base).salt));
        }
        run_thread<4>(block, base);
    }
};

struct bytes_16 {
    static constexpr const char* name = "bytes_16";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, std::uint32_t base, std::uint32_t pattern,
                                    const std::uint32_t* memory) const {
        if (pattern != mix(base, program_of(base).salt) || memory != program_of(base).values + base) {
            complain(mistake::argument, 0, base, block.block_rank(), block.thread_rank(), pattern,
                     mix(base, program_of(base).salt));
        }
        run_thread<8>(block, base);
    }
};

struct state_12 {
    static constexpr const char* name = "state_12";
    words<3> state;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, std::uint32_t base) const {
        if (state.word[0] != base)
            complain(mistake::state, 0, base, block.block_rank(), block.thread_rank(), state.word[0], base);
        check_words(state, block);
        run_thread<5>(block, base);
    }
};

struct most_64 {
    static constexpr const char* name = "most_64";
    static constexpr unsigned max_threads = 64;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, std::uint32_t base) const {
        run_thread<24>(block, base);
    }
};

struct registers {
    static constexpr const char* name = "registers";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, std::uint32_t base, std::uint32_t pattern) const {
        if (pattern != mix(base, program_of(base).salt)) {
            complain(mistake::argument, 0, base, block.block_rank(), block.thread_rank(), pattern,
                     mix(base, program_of(base).salt));
        }
        run_thread<40>(block, base);
    }
};

/// Launches, continues and waits in its own body, so that the compiler sees the block through.
struct direct {
    static constexpr const char* name = "direct";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, std::uint32_t base) const {
        place_in_program at;
        if (!begin_grid(position_of(block), base, at)) return;
        const context& p = program_of(at.base);
        const node& n = p.nodes[at.node];
        for (std::uint32_t index = n.first_step; index < n.first_step + n.steps; ++index) {
            const step& s = p.steps[index];
            if (s.where != all && s.where != at.rank) continue;
            if (s.what == action::wait) {
                const dynpar::status told = block.wait();
                if (told != static_cast<dynpar::status>(s.expected)) {
                    at.complain(mistake::wait_status, static_cast<std::uint32_t>(told), s.expected);
                } else if (told == dynpar::status::success) {
                    check_children(at, n.first_step, index, 0, at.threads);
                }
                continue;
            }
            if (s.who != all && s.who != at.thread) continue;
            const std::uint32_t block_number = s.where == all ? at.rank : 0;
            for (std::uint32_t j = s.who == all ? at.thread : 0; j < s.items; j += s.who == all ? at.threads : 1) {
                const child_place child = child_of(s, at.base, block_number, j);
                const node& below = p.nodes[child.node];
                if (s.expected == 0) write_note(child, at.base, block_number);
                dynpar::status told;
                if (s.what == action::then) {
                    told = block.then(*this, shape_of_node(below), child.base);
                } else if (below.block_count == 1 && below.thread_count == 1 && below.moldable == 0) {
                    told = block.launch(*this, dynpar::shape(1, 1), child.base);
                } else {
                    told = block.launch(*this, shape_of_node(below), child.base);
                }
                if (told != static_cast<dynpar::status>(s.expected)) {
                    at.complain(mistake::launch_status, static_cast<std::uint32_t>(told), s.expected);
                }
            }
        }
        if (p.reduced != 0) add_to_reducers(block, at);
        end_thread(at);
    }
};

template <class Launch>
DYNPAR_FUNCTION dynpar::status with_kernel(kernel k, std::uint32_t base, bool changed, const Launch& launch) {
    std::uint32_t pattern = mix(base, program_of(base).salt);
    if (changed) pattern ^= 0x100;
    switch (k) {
        case kernel::bytes_4: return launch(bytes_4{}, base);
        case kernel::bytes_8: return launch(bytes_8{}, base, pattern);
        case kernel::bytes_16:
            return launch(bytes_16{}, base, pattern, static_cast<const std::uint32_t*>(program_of(base).values + base));
        case kernel::bytes_20: return launch(bytes_20{}, filled<5>(base));
        case kernel::bytes_28: return launch(bytes_28{}, filled<7>(base));
        case kernel::bytes_32: return launch(bytes_32{}, filled<8>(base));
        case kernel::bytes_48: return launch(bytes_48{}, filled<12>(base));
        case kernel::bytes_100: return launch(bytes_100{}, filled<25>(base));
        case kernel::bytes_200: {
            words<50> a = filled<50>(base);
            if (changed) a.word[49] ^= 0x1000000;
            return launch(bytes_200{}, a);
        }
        case kernel::state_12: return launch(state_12{filled<3>(base)}, base);
        case kernel::most_64: return launch(most_64{}, base);
        case kernel::registers: return launch(registers{}, base, pattern);
        default: return launch(direct{}, base);
    }
}

template <class Block>
DYNPAR_FUNCTION DYNPAR_NOINLINE void do_refusal(Block& block, const place_in_program& at, std::uint32_t index) {
    const context& p = program_of(at.base);
    const step& s = p.steps[index];
    const bool shared_work = s.who == all;
    const std::uint32_t width = s.high == all ? at.threads : s.high - s.low;
    if (s.which == refusal::shared_memory) {
        if (block.template shared<std::uint32_t>(100000) != nullptr)
            at.complain(mistake::refused_status, 0, s.expected);
        return;
    }
    std::uint32_t* shared = s.which == refusal::shared_pointer ? block.template shared<std::uint32_t>(4) : nullptr;
    if (!shared_work && s.who != at.thread) return;
    if (s.which == refusal::shared_pointer &&
        shared == nullptr) {  // no memory; and what is no pointer would be accepted
        at.complain(mistake::shared_null, 0, 0);
        return;
    }
    std::uint32_t local[2] = {at.base, 0};
    for (std::uint32_t j = shared_work ? at.thread - s.low : 0; j < s.items; j += shared_work ? width : 1) {
        const dynpar::shape shape = shape_to_refuse(s.which, p.widest);
        dynpar::status told = dynpar::status::success;
        switch (s.which) {
            case refusal::then_no_blocks:
            case refusal::then_too_many_threads: told = block.then(bytes_4{}, shape, 0xffffffffu); break;
            case refusal::local_pointer:
                told = block.launch(bytes_16{}, shape, 0xffffffffu, 0u, static_cast<const std::uint32_t*>(local));
                break;
            case refusal::shared_pointer:
                told = block.launch(bytes_16{}, shape, 0xffffffffu, 0u, static_cast<const std::uint32_t*>(shared + 1));
                break;
            case refusal::then_local_pointer:
                told = block.then(bytes_16{}, shape, 0xffffffffu, 0u, static_cast<const std::uint32_t*>(local + 1));
                break;
            case refusal::over_kernel_bound: told = block.launch(most_64{}, shape, 0xffffffffu); break;
            case refusal::scratch_memory:
                told = block.template scratch<double>(std::size_t{1} << 60) == nullptr ? dynpar::status::out_of_memory
                                                                                       : dynpar::status::success;
                break;
            default: told = block.launch(bytes_4{}, shape, 0xffffffffu); break;
        }
        if (j == 0 && at.is_mutated(mutant::refusal_not_told, index)) told = dynpar::status::success;
        if (told != static_cast<dynpar::status>(s.expected))
            at.complain(mistake::refused_status, static_cast<std::uint32_t>(told), s.expected);
    }
}

}  // namespace fuzz
