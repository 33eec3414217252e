// Queue engine: where a kernel is entered, by its key. Owns block_state's known kernels, and those of the module, from
// which a worker block begins with what earlier runs have found out. Nothing in them is ever replaced, and what is
// missing is asked for: so nothing need be seen in any order. But no place without a key may have entries: who takes it
// for another kernel writes the key first.
#pragma once

#include <cstddef>
#include <type_traits>

#include "../memory/state.cuh"
#include "../task/entry_convention.cuh"

#if DYNPAR_ON_DEVICE

namespace dynpar {
namespace detail {
namespace queue {

/// Where a key is looked for first. What CUDA calls a function's address is the number of its place in a table, 8 bytes
/// each, or with relocatable device code an address, a multiple of 128.
__device__ inline unsigned first_place(unsigned long long key) {
    const auto lower = static_cast<unsigned>(key);
    return (lower >> 3 ^ lower >> 7) % known_kernels::capacity;
}
__device__ inline unsigned next_place(unsigned place) { return place + 1 != known_kernels::capacity ? place + 1 : 0; }

template <class Entry>
__device__ inline unsigned long long& entry_of(known_kernel& kernel) {
    if constexpr (std::is_same_v<Entry, lane_entry>) return kernel.lane;
    if constexpr (std::is_same_v<Entry, wide_lane_entry>) return kernel.wide_lane;
    if constexpr (std::is_same_v<Entry, wide_entry>) return kernel.wide;
}

/// All lanes of a warp of a worker block that begins.
__device__ inline void begin_known_kernels(known_kernels& of_module) {
    static_assert(known_kernels::capacity < warp_size);
    if (lane_rank() < known_kernels::capacity) {
        known_kernel& from = of_module.all[lane_rank()];
        known_kernel kernel{load_relaxed(from.key), load_relaxed(from.lane), load_relaxed(from.wide_lane),
                            load_relaxed(from.wide)};
        // One that another run has just begun to write: who adds another here must not find its entries.
        if (kernel.key == 0) kernel = {};
        this_block().kernels.all[lane_rank()] = kernel;
    } else if (lane_rank() == known_kernels::capacity) {
        this_block().kernels_of_module = &of_module;
    }
}

/// Adds a kernel. False if there is no room for one.
__device__ inline bool add_known_kernel(known_kernels& kernels, const known_kernel& added) {
    unsigned place = first_place(added.key);
#pragma unroll 1
    for (unsigned tries = 0; tries != known_kernels::capacity; ++tries, place = next_place(place)) {
        known_kernel& kernel = kernels.all[place];
        unsigned long long found = load_relaxed_in_block(kernel.key);
        if (found == 0) found = compare_exchange_relaxed(kernel.key, 0ull, added.key);
        if (found != 0 && found != added.key) continue;
        store_relaxed_in_block(kernel.lane, added.lane);
        store_relaxed_in_block(kernel.wide_lane, added.wide_lane);
        store_relaxed_in_block(kernel.wide, added.wide);
        return true;
    }
    return false;
}

/// For a key that is not where it is looked for first.
__device__ __noinline__ inline known_kernel find_kernel(kernel_key key) {
    const auto bits = reinterpret_cast<unsigned long long>(key);
    unsigned place = first_place(bits);
#pragma unroll 1
    for (unsigned tries = 0; tries != known_kernels::capacity; ++tries, place = next_place(place)) {
        known_kernel& kernel = this_block().kernels.all[place];
        if (load_relaxed_in_block(kernel.key) != bits) continue;
        const known_kernel found{bits, load_relaxed_in_block(kernel.lane), load_relaxed_in_block(kernel.wide_lane),
                                 load_relaxed_in_block(kernel.wide)};
        if (found.lane != 0 && found.wide_lane != 0 && found.wide != 0) return found;
        break;
    }
    kernel_entries entries;
    key(&entries);
    const known_kernel asked{bits, reinterpret_cast<unsigned long long>(entries.lane),
                             reinterpret_cast<unsigned long long>(entries.wide_lane),
                             reinterpret_cast<unsigned long long>(entries.wide)};
    if (add_known_kernel(this_block().kernels, asked)) add_known_kernel(*this_block().kernels_of_module, asked);
    return asked;
}

/// Of a task in words.
__device__ inline kernel_key key_of_words(std::uint32_t word) {
    constexpr std::size_t lower = offsetof(wide_task, key);
    const unsigned long long upper_half = field_of_words<lower + sizeof(word)>(word);
    return reinterpret_cast<kernel_key>(upper_half << 32 | field_of_words<lower>(word));
}

/// One thread: where a kernel is entered.
template <class Entry>
__device__ inline Entry find_entry(kernel_key key) {
    const auto bits = reinterpret_cast<unsigned long long>(key);
    known_kernel& kernel = this_block().kernels.all[first_place(bits)];
    const unsigned long long entry = load_relaxed_in_block(entry_of<Entry>(kernel));
    if (load_relaxed_in_block(kernel.key) == bits && entry != 0) return reinterpret_cast<Entry>(entry);
    known_kernel found = find_kernel(key);
    return reinterpret_cast<Entry>(entry_of<Entry>(found));
}

}  // namespace queue
}  // namespace detail
}  // namespace dynpar

#endif
