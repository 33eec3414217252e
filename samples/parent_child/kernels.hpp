// Parents whose numbers of children differ widely: a few have very many, most have few. What each parent wants is the
// sum of what its children come to.
#pragma once

#include <dynpar/dynpar.hpp>

namespace families {

using number = unsigned long long;

/// What a child comes to: some arithmetic.
DYNPAR_FUNCTION inline unsigned work_of(unsigned child) {
    for (int i = 0; i < 8; ++i) child = (child ^ child >> 15) * 2246822519u + 12345u;
    return child >> 8;
}

/// Of each parent its children: from `begin[i]` to `begin[i + 1]`.
struct family_view {
    unsigned parents;
    const unsigned* begin;
    number* sums;
};

/// The sum of one child is added to its parent's.
struct add_child {
    static constexpr const char* name = "add_child";
    unsigned first;
    number* sum;
    DYNPAR_FUNCTION void operator()(unsigned i) const { dynpar::atomic_add(sum, number{work_of(first + i)}); }
};

/// What one child comes to.
struct child_value {
    unsigned first;
    DYNPAR_FUNCTION number operator()(unsigned i) const { return work_of(first + i); }
};

/// The children of one parent, a thread each: a grid of its own.
struct add_children {
    static constexpr const char* name = "add_children";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, add_child child, unsigned children) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        if (i < children) child(i);
    }
};

enum class form { loop, launch, share, reduce };

/// A thread for each parent.
template <form How>
struct visit_parents {
    static constexpr const char* name = "visit_parents";
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, family_view f) const {
        const unsigned i = dynpar::this_grid(block).thread_rank();
        const bool has_parent = i < f.parents;
        const unsigned first = has_parent ? f.begin[i] : 0;
        const unsigned children = has_parent ? f.begin[i + 1] - first : 0;
        if constexpr (How == form::loop) {
            number sum = 0;
            for (unsigned k = 0; k < children; ++k) sum += work_of(first + k);
            if (has_parent) f.sums[i] = sum;
        } else if constexpr (How == form::launch) {
            if (children != 0)
                block.launch(add_children{}, dynpar::shape_for(block, children, dynpar::at_most(256)),
                             add_child{first, f.sums + i}, children);
        } else if constexpr (How == form::share) {
            dynpar::nested_for(block, children, add_child{first, f.sums + i});
        } else {
            dynpar::nested_reduce_into(block, children, child_value{first}, dynpar::sum<number>{}, f.sums + i);
        }
    }
};

}  // namespace families
