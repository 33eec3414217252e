// A grid over as many things as the device has counted: the next frontier of a search, what has been put into a list.
//
//     block.launch(find{}, shape, found, count);  // counts what it finds
//     block.then(dynpar::counted_grid<visit>{}, dynpar::shape(1, 1), count, found);  // visit(block, found)
#pragma once

#include <type_traits>

#include "detail/kept_function.hpp"
#include "kernel.hpp"
#include "platform.hpp"
#include "shape.hpp"

namespace dynpar {

/// A kernel of one thread that launches another one, with a thread for each of `*count` things: `kernel(block,
/// args...)`, in blocks of a width that suits the engine (`shape_for`). It reads the number when it begins, and
/// launches nothing if that is 0. The thread's number is `this_grid(block).thread_rank()`, and some of the last block's
/// are `*count` or greater. `MostThreads`: of its blocks, if `max_threads` of the kernel allows them. A kernel with
/// state is given: `counted_grid<visit>(visit{...})`.
template <class Kernel, unsigned MostThreads = 256>
struct counted_grid : detail::kept_function<Kernel> {
    static_assert(MostThreads != 0, "dynpar: counted_grid: its blocks have a thread at least");
    using detail::kept_function<Kernel>::kept_function;

    static constexpr const char* name = "counted_grid";  ///< in reports and traces
    static constexpr unsigned max_threads = 1;           ///< it is launched with one thread

    /// Launches.
    template <class Block, class Count, class... Args>
    DYNPAR_FUNCTION void operator()(Block& block, const Count* count, Args... args) const {
        static_assert(std::is_integral_v<Count>,
                      "dynpar: a counted grid takes a pointer to an integer, and then the "
                      "arguments of its kernel");
        const Count things = *count;
        constexpr unsigned most = detail::bounded_threads<Kernel>(MostThreads);
        if (things > 0)
            block.launch(this->function(), shape_for(block, static_cast<unsigned long long>(things), at_most(most)),
                         args...);
    }
};

}  // namespace dynpar
