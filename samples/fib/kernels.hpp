// Fibonacci numbers by the recursion that defines them, a grid of one thread for every call: nothing but launches and
// joins.
#pragma once

#include <cstdint>

#include <dynpar/dynpar.hpp>

namespace fibonacci {

using number = unsigned long long;

/// What is left to do when both parts are there.
struct add_two {
    static constexpr const char* name = "add_two";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, const number* parts, number* result) const {
        *result = parts[0] + parts[1];
    }
};

/// Two children that leave their results in scratch memory, and a continuation that adds them. Nobody waits.
struct fib {
    static constexpr const char* name = "fib";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, number* result, int n) const {
        if (n < 2) {
            *result = static_cast<number>(n);
            return;
        }
        number* const parts = block.template scratch<number>(2);
        if (parts == nullptr) return;  // it is in the report
        block.launch(*this, dynpar::shape(1, 1), parts, n - 1);
        block.launch(*this, dynpar::shape(1, 1), parts + 1, n - 2);
        block.then(add_two{}, dynpar::shape(1, 1), parts, result);
    }
};

/// The same as one writes it first: launch, wait, add. For engines that can wait.
struct fib_wait {
    static constexpr const char* name = "fib_wait";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, number* result, int n) const {
        if (n < 2) {
            *result = static_cast<number>(n);
            return;
        }
        number* const parts = block.template scratch<number>(2);
        if (parts == nullptr) return;
        block.launch(*this, dynpar::shape(1, 1), parts, n - 1);
        block.launch(*this, dynpar::shape(1, 1), parts + 1, n - 2);
        if (block.wait() != dynpar::status::success) return;  // it is in the report
        *result = parts[0] + parts[1];
    }
};

/// The same with calls that return values: scratch memory, children and continuation are `then`'s.
struct fib_value {
    static constexpr const char* name = "fib_value";

    template <class Block>
    DYNPAR_FUNCTION dynpar::result<number> operator()(Block& block, int n) const {
        if (n < 2) return static_cast<number>(n);
        return block.then(dynpar::plus{}, block.spawn(*this, n - 1), block.spawn(*this, n - 2));
    }
};

/// The same number by a loop.
inline number expected(int n) {
    number a = 0;
    number b = 1;
    for (int i = 0; i < n; ++i) {
        const number next = a + b;
        a = b;
        b = next;
    }
    return a;
}

/// How many grids a run takes: the calls, and with continuations one more for each call that has children.
inline std::uint64_t grids(int n, bool waits) {
    const std::uint64_t calls = 2 * expected(n + 1) - 1;
    return waits ? calls : calls + (calls - 1) / 2;
}

}  // namespace fibonacci
