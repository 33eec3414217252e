// Trees of calls with values (C20) in random programs. What a call does is drawn from its key, so that the host finds
// the same value. A value is `value + value_of_slot * slot`, where the slot is that of the block that asks for it: the
// tree is the same for all blocks of a class of grids, and the value is each block's own.
#pragma once

#include <dynpar/dynpar.hpp>

#include <cstdint>

#include "image.hpp"

namespace fuzz {

inline constexpr std::uint32_t most_call_levels = 3;  // of calls below the first one

enum class call_form : std::uint32_t { value, one, two, in_order, list };

/// What a call does: the `number`-th of those that its caller makes.
struct call_draw {
    std::uint32_t own;
    call_form form;
    std::uint32_t range;  // in_order, list

    DYNPAR_FUNCTION call_draw(std::uint32_t key, std::uint32_t number, std::uint32_t levels)
        : own(mix(key, number + 11)), form(static_cast<call_form>((own >> 5) % 5)), range((own >> 9) % 5) {
        if (levels == 0) form = call_form::value;
    }
};
DYNPAR_FUNCTION inline std::uint32_t call_key(std::uint32_t salt, std::uint32_t step) { return mix(salt, step + 1234); }

/// Not commutative.
struct append_value {
    DYNPAR_FUNCTION std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a * 31 + b; }
};
struct weigh_values {
    DYNPAR_FUNCTION std::uint64_t operator()(const dynpar::value_list<std::uint64_t>& values) const {
        std::uint64_t result = values.size();
        for (unsigned i = 0; i < values.size(); ++i) result += (i + 1) * values[i];
        return result;
    }
};
struct append_to_own {
    std::uint64_t own;
    template <class... Values>
    DYNPAR_FUNCTION std::uint64_t operator()(Values... values) const {
        std::uint64_t result = own;
        ((result = append_value{}(result, values)), ...);
        return result;
    }
};

/// A call.
struct call_in_tree {
    static constexpr const char* name = "call_in_tree";
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<std::uint64_t> operator()(Block& block, std::uint32_t number, std::uint32_t key,
                                                             std::uint32_t levels, std::uint32_t slot) const {
        const call_draw draw(key, number, levels);
        const std::uint64_t own = std::uint64_t{draw.own} + slot;
        const auto below = [&](std::uint32_t of) { return block.spawn(*this, of, draw.own, levels - 1, slot); };
        switch (draw.form) {
            case call_form::one: return block.then(append_to_own{own}, below(0));
            case call_form::two: return block.then(append_to_own{own}, below(0), below(1));
            case call_form::in_order:
                return block.then(append_value{}, own,
                                  block.spawn_range(draw.range, *this, draw.own, levels - 1, slot));
            case call_form::list:
                return block.then(weigh_values{}, block.spawn_range(draw.range, *this, draw.own, levels - 1, slot));
            default: return own;
        }
    }
};

/// The same on the host: the value of a tree, and its grids.
struct call_tree {
    std::uint64_t value = 0, value_of_slot = 0;
    std::uint64_t grids = 1;
    std::uint32_t levels = 1;  // of calls, one in another

    call_tree(std::uint32_t number, std::uint32_t key, std::uint32_t levels_left) {
        const call_draw draw(key, number, levels_left);
        value = draw.own;
        value_of_slot = 1;
        std::uint32_t calls = draw.range;
        switch (draw.form) {
            case call_form::value: return;
            case call_form::one: calls = 1; break;
            case call_form::two: calls = 2; break;
            case call_form::in_order: break;
            case call_form::list: value = calls; value_of_slot = 0;
        }
        ++grids;  // the continuation
        for (std::uint32_t i = 0; i < calls; ++i) {
            const call_tree below(i, draw.own, levels_left - 1);
            if (draw.form == call_form::list) {
                value += (i + 1) * below.value;
                value_of_slot += (i + 1) * below.value_of_slot;
            } else {
                value = append_value{}(value, below.value);
                value_of_slot = append_value{}(value_of_slot, below.value_of_slot);
            }
            grids += below.grids;
            if (below.levels + 1 > levels) levels = below.levels + 1;
        }
    }
};

}  // namespace fuzz
