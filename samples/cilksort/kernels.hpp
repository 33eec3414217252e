// cilksort: a merge sort that sorts the four quarters of its numbers in children, and merges in continuations, in
// parallel.
//
// All grids are moldable and made for blocks of a warp or so. A leaf, some thousand numbers, is sorted by one block. A
// merge is one grid of several blocks: each finds its part of the result by a binary search ("merge path"), and so does
// each thread in the part of its block. No block needs memory of its own or knows how many threads it has.
#pragma once

#include <climits>
#include <cstdint>
#include <utility>

#include <dynpar/dynpar.hpp>

#include "../four.hpp"

namespace cilksort {

/// What all grids of a sort have in common. In the engine's memory, so that a launch carries no more than its address
/// and a range.
struct job {
    int* numbers;               ///< aligned to 16 bytes, as all that an engine allocates is
    int* spare;                 ///< as many, likewise
    unsigned threads;           ///< of every block; 0: as many as the engine likes, at most 32
    unsigned leaf;              ///< a block sorts as many numbers without launching; at least `least_leaf`
    unsigned merged_by_block;   ///< numbers that a block of a merge writes; a multiple of 4
    unsigned merged_by_thread;  ///< numbers that a thread writes after one search; a multiple of 4
};

inline constexpr unsigned run_length = 32;   ///< numbers that one thread sorts in registers
inline constexpr unsigned least_leaf = 512;  ///< below it the four parts would not all have numbers
inline constexpr unsigned default_leaf = 4096;
inline constexpr unsigned default_merged_by_block = 4096;
inline constexpr unsigned default_merged_by_thread = 32;

DYNPAR_FUNCTION constexpr unsigned smaller(unsigned a, unsigned b) { return a < b ? a : b; }

/// A quarter of the numbers, rounded up so that every part begins at a multiple of a run. The last quarter is what is
/// left.
DYNPAR_FUNCTION constexpr unsigned quarter_of(unsigned count) {
    return ((count + 3) / 4 + run_length - 1) / run_length * run_length;
}

DYNPAR_FUNCTION inline dynpar::shape shape_of(const job& work, unsigned blocks) {
    return work.threads != 0 ? dynpar::shape(blocks, work.threads) : dynpar::shape(blocks, dynpar::at_most(32));
}

// ---- one thread sorts a run in registers

/// One comparison of the bitonic network: the indices are known to the compiler, so the numbers stay in registers.
template <unsigned Size, unsigned Stride, unsigned Index>
DYNPAR_FUNCTION inline void put_in_order(int (&run)[run_length]) {
    constexpr unsigned other = Index ^ Stride;
    if constexpr (Index < other) {
        const int a = run[Index];
        const int b = run[other];
        constexpr bool rising = (Index & Size) == 0;
        run[Index] = (a < b) == rising ? a : b;
        run[other] = (a < b) == rising ? b : a;
    }
}
template <unsigned Size, unsigned Stride, unsigned... Index>
DYNPAR_FUNCTION inline void merge_in_network(int (&run)[run_length], std::integer_sequence<unsigned, Index...> all) {
    (put_in_order<Size, Stride, Index>(run), ...);
    if constexpr (Stride > 1) merge_in_network<Size, Stride / 2>(run, all);
}
template <unsigned Size>
DYNPAR_FUNCTION inline void sort_in_network(int (&run)[run_length]) {
    if constexpr (Size > 2) sort_in_network<Size / 2>(run);
    merge_in_network<Size, Size / 2>(run, std::make_integer_sequence<unsigned, run_length>());
}

template <unsigned... Four>
DYNPAR_FUNCTION inline void load_run(int (&run)[run_length], const int* from,
                                     std::integer_sequence<unsigned, Four...>) {
    samples::four<int> loaded[sizeof...(Four)];
    ((loaded[Four] = samples::load_four(from + 4 * Four)), ...);
    ((run[4 * Four] = loaded[Four].value[0], run[4 * Four + 1] = loaded[Four].value[1],
      run[4 * Four + 2] = loaded[Four].value[2], run[4 * Four + 3] = loaded[Four].value[3]),
     ...);
}
template <unsigned... Index>
DYNPAR_FUNCTION inline void load_short_run(int (&run)[run_length], const int* from, unsigned count,
                                           std::integer_sequence<unsigned, Index...>) {
    ((run[Index] = Index < count ? from[Index] : INT_MAX), ...);
}
template <unsigned... Four>
DYNPAR_FUNCTION inline void store_run(const int (&run)[run_length], int* to, std::integer_sequence<unsigned, Four...>) {
    (samples::store_four(to + 4 * Four,
                         samples::four<int>{{run[4 * Four], run[4 * Four + 1], run[4 * Four + 2], run[4 * Four + 3]}}),
     ...);
}
template <unsigned... Index>
DYNPAR_FUNCTION inline void store_short_run(const int (&run)[run_length], int* to, unsigned count,
                                            std::integer_sequence<unsigned, Index...>) {
    ((Index < count ? void(to[Index] = run[Index]) : void()), ...);
}

/// Sorts every run of `count` numbers, a thread each. `to` may be `from`.
template <class Block>
DYNPAR_FUNCTION void sort_runs(const Block& block, const int* from, int* to, unsigned count) {
    using fours = std::make_integer_sequence<unsigned, run_length / 4>;
    using ones = std::make_integer_sequence<unsigned, run_length>;
    for (unsigned begin = block.thread_rank() * run_length; begin < count; begin += block.num_threads() * run_length) {
        const unsigned here = smaller(run_length, count - begin);
        int run[run_length];
        if (here == run_length) {
            load_run(run, from + begin, fours());
        } else {
            load_short_run(run, from + begin, here, ones());
        }
        sort_in_network<run_length>(run);
        if (here == run_length) {
            store_run(run, to + begin, fours());
        } else {
            store_short_run(run, to + begin, here, ones());
        }
    }
}

// ---- merging

/// Two sorted runs that are neighbours; the second may be shorter, or empty.
struct pair_of_runs {
    const int* first;
    const int* second;
    unsigned first_count;
    unsigned second_count;
};

/// The pair that position `at` of the result belongs to, where `count` numbers lie in sorted runs of `width`.
DYNPAR_FUNCTION inline unsigned begin_of_pair(unsigned width, unsigned at) { return at - at % (2 * width); }
DYNPAR_FUNCTION inline pair_of_runs pair_at(const int* from, unsigned count, unsigned width, unsigned begin) {
    const unsigned left = count - begin;
    const unsigned first = smaller(width, left);
    return {from + begin, from + begin + first, first, smaller(width, left - first)};
}

/// How many of the first `done` numbers of the merged pair come from its first run: at least `least`, at most `most`.
DYNPAR_FUNCTION inline unsigned taken_from_first(const pair_of_runs& pair, unsigned done, unsigned least,
                                                 unsigned most) {
    if (done > pair.second_count && least < done - pair.second_count) least = done - pair.second_count;
    most = smaller(most, smaller(done, pair.first_count));
    while (least < most) {
        const unsigned middle = (least + most) / 2;
        if (pair.first[middle] <= pair.second[done - 1 - middle]) {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    return least;
}

/// Merges until `to` has `count` numbers, which both runs together must have. `to` is aligned to 16 bytes.
DYNPAR_FUNCTION inline void merge_serially(const pair_of_runs& pair, int* to, unsigned count) {
    // A run that has come to its end goes on with the largest number there is, which may come before the other run's
    // last ones only where those are the same.
    unsigned in_first = 0;
    unsigned in_second = 0;
    int first = pair.first_count != 0 ? pair.first[0] : INT_MAX;
    int second = pair.second_count != 0 ? pair.second[0] : INT_MAX;
    const auto next = [&] {
        const bool from_first = first <= second;
        const int least = from_first ? first : second;
        in_first += from_first ? 1 : 0;
        in_second += from_first ? 0 : 1;
        // One load for both cases, not one in each branch: the threads of a warp stay together.
        const int* const place = from_first ? pair.first + in_first : pair.second + in_second;
        const bool is_there = from_first ? in_first < pair.first_count : in_second < pair.second_count;
        const int loaded = is_there ? *place : INT_MAX;
        first = from_first ? loaded : first;
        second = from_first ? second : loaded;
        return least;
    };
    unsigned done = 0;
    for (; done + 4 <= count; done += 4) {
        samples::four<int> merged;
        merged.value[0] = next();
        merged.value[1] = next();
        merged.value[2] = next();
        merged.value[3] = next();
        samples::store_four(to + done, merged);
    }
    for (; done < count; ++done) to[done] = next();
}

/// What is left of a pair after `done` merged numbers, of which `taken` came from the first run.
DYNPAR_FUNCTION inline pair_of_runs rest_of(const pair_of_runs& pair, unsigned done, unsigned taken) {
    const unsigned other = done - taken;
    return {pair.first + taken, pair.second + other, pair.first_count - taken, pair.second_count - other};
}

/// Merges all pairs of runs of `width`, one run's length of the result at a time in each thread.
template <class Block>
DYNPAR_FUNCTION void merge_runs(const Block& block, const int* from, int* to, unsigned count, unsigned width) {
    for (unsigned at = block.thread_rank() * run_length; at < count; at += block.num_threads() * run_length) {
        const unsigned begin = begin_of_pair(width, at);  // a run's length divides `width`: all of it is of one pair
        const pair_of_runs pair = pair_at(from, count, width, begin);
        const unsigned done = at - begin;
        merge_serially(rest_of(pair, done, taken_from_first(pair, done, 0, done)), to + at,
                       smaller(run_length, count - at));
    }
}

/// Merges this block's part of all pairs of runs of `width`.
template <class Block>
DYNPAR_FUNCTION void merge_part(const Block& block, const job& work, const int* from, int* to, unsigned count,
                                unsigned width) {
    const unsigned end = smaller(count, (block.block_rank() + 1) * work.merged_by_block);
    for (unsigned begin = block.block_rank() * work.merged_by_block;
         begin < end;) {  // a part may reach from one pair into the next
        const unsigned begin_pair = begin_of_pair(width, begin);
        const pair_of_runs pair = pair_at(from, count, width, begin_pair);
        const unsigned end_here = smaller(end, begin_pair + pair.first_count + pair.second_count);
        // The whole block makes the long search together, at the same places; then each thread has a short one.
        const unsigned taken = taken_from_first(pair, begin - begin_pair, 0, begin - begin_pair);
        for (unsigned at = begin + block.thread_rank() * work.merged_by_thread; at < end_here;
             at += block.num_threads() * work.merged_by_thread) {
            const unsigned done = at - begin_pair;
            const unsigned mine = taken_from_first(pair, done, taken, taken + (at - begin));
            merge_serially(rest_of(pair, done, mine), to + at, smaller(work.merged_by_thread, end_here - at));
        }
        begin = end_here;
    }
}

// ---- the kernels

/// Merges the quarters of a range, in pairs, into the spare memory.
struct merge_quarters {
    static constexpr const char* name = "merge_quarters";
    const job* work;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned first, unsigned count) const {
        merge_part(block, *work, work->numbers + first, work->spare + first, count, quarter_of(count));
    }
};

/// Merges the halves of a range back from there.
struct merge_halves {
    static constexpr const char* name = "merge_halves";
    const job* work;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned first, unsigned count) const {
        merge_part(block, *work, work->spare + first, work->numbers + first, count, 2 * quarter_of(count));
    }
};

struct sort_range {
    static constexpr const char* name = "sort_range";
    const job* work;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned first, unsigned count) const {
        if (count <= work->leaf) {
            sort_leaf(block, work->numbers + first, work->spare + first, count);
            return;
        }
        if (block.thread_rank() != 0) return;
        const unsigned quarter = quarter_of(count);
        const unsigned blocks = (count + work->merged_by_block - 1) / work->merged_by_block;
        for (unsigned i = 0; i < 4; ++i) {
            block.launch(*this, shape_of(*work, 1), first + i * quarter, i < 3 ? quarter : count - 3 * quarter);
        }
        // Two continuations of one grid run one after the other.
        block.then(merge_quarters{work}, shape_of(*work, blocks), first, count);
        block.then(merge_halves{work}, shape_of(*work, blocks), first, count);
    }

private:
    /// The block sorts by itself, back and forth between the two memories; the last merge ends in `numbers`.
    template <class Block>
    DYNPAR_FUNCTION static void sort_leaf(Block& block, int* numbers, int* spare, unsigned count) {
        bool in_numbers = true;
        for (unsigned width = run_length; width < count; width *= 2) in_numbers = !in_numbers;
        sort_runs(block, numbers, in_numbers ? numbers : spare, count);
        for (unsigned width = run_length; width < count; width *= 2) {
            block.sync();
            merge_runs(block, in_numbers ? numbers : spare, in_numbers ? spare : numbers, count, width);
            in_numbers = !in_numbers;
        }
    }
};

}  // namespace cilksort
