// What all rows sort and what they build trees of, on the device, and whether it has come out right. Compiled with
// relocatable device code and without.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "../../samples/quadtree/build.hpp"
#include "../../samples/quicksort/patterns.hpp"
#include "../queue_engine/device_memory.hpp"
#include "rows.hpp"

namespace sort_benchmark {

using quicksort::key;

/// Random keys.
class keys_to_sort {
public:
    explicit keys_to_sort(unsigned count)
        : sorted_(quicksort::make_keys("random", count, 0, 1)),
          source_(queue_benchmark::on_device(sorted_, count)),
          keys_(queue_benchmark::on_device<key>(count)),
          spare_(queue_benchmark::on_device<key>(count)) {
        std::sort(sorted_.begin(), sorted_.end());
    }

    void prepare() const {
        queue_benchmark::copy(keys_, source_);
        queue_benchmark::fill(spare_, 0x55);
    }
    bool is_right() const { return keys_.to_vector() == sorted_; }

    unsigned count() const { return static_cast<unsigned>(sorted_.size()); }
    const key* source() const { return source_.data(); }
    key* keys() const { return keys_.data(); }
    quicksort::job job(unsigned threads, unsigned leaf, unsigned by_block) const {
        return {keys_.data(), spare_.data(), threads, leaf, by_block};
    }

private:
    std::vector<key> sorted_;
    dynpar::buffer<key> source_;
    dynpar::buffer<key> keys_;
    dynpar::buffer<key> spare_;
};

/// Uniform points, and the memory of their tree.
class tree_to_build {
public:
    tree_to_build(unsigned count, const quadtree::settings& s)
        : points_(quadtree::draw_uniform(count, 1)), memory_(device_, points_, s) {}

    void prepare() { memory_.prepare(points_); }
    bool is_right() const { return quadtree::comparison(memory_.result(), points_).run().empty(); }

    const quadtree::tree* address() const { return memory_.address(); }

private:
    struct device {
        template <class T>
        dynpar::buffer<T> make_buffer(std::size_t count) const {
            return queue_benchmark::on_device<T>(count);
        }
    };

    device device_;
    std::vector<quadtree::point> points_;
    quadtree::tree_memory memory_;
};

/// Blocks that take all that there is by themselves, however large.
inline constexpr unsigned never_split = 1u << 31;

/// The form of rows in which parts are never divided by more than one block.
inline constexpr const char* a_block_each = "128 threads, a block each";

}  // namespace sort_benchmark
