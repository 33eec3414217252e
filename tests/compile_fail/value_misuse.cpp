// Wrong uses of kernels with values, one for each value of MISTAKE; 0: none.
#include <string>

#include <dynpar/dynpar.hpp>

struct leaf {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<long> operator()(Block&, int n) const {
        return n;
    }
};
struct without_value {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, int) const {}
};
struct to_int {
    DYNPAR_FUNCTION int operator()(long a, long b) const { return static_cast<int>(a + b); }
};
struct consume {
    DYNPAR_FUNCTION void operator()(long) const {}
};
#if MISTAKE == 15
struct text_leaf {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<std::string> operator()(Block&) const {
        return std::string();
    }
};
#endif

struct misuse {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<long> operator()(Block& block, int n) const {
#if MISTAKE == 1
        block.launch(leaf{}, dynpar::shape(1, 1), n);
#elif MISTAKE == 2
        return block.then(dynpar::plus{}, block.spawn(without_value{}, 1), block.spawn(leaf{}, 2));
#elif MISTAKE == 3
        return block.then(dynpar::plus{}, block.spawn(leaf{}, n));
#elif MISTAKE == 4
        return block.then(to_int{}, block.spawn(leaf{}, n), block.spawn(leaf{}, n));
#elif MISTAKE == 5
        return block.then(dynpar::plus{}, block.spawn(leaf{}, n), 5L);
#elif MISTAKE == 6
        return block.then(dynpar::plus{}, block.spawn(leaf{}, n, n), block.spawn(leaf{}, n));
#elif MISTAKE == 7
        return block.then(dynpar::plus{}, "0", block.spawn_range(3, leaf{}));
#elif MISTAKE == 8
        block.spawn(leaf{}, n);
#elif MISTAKE == 9
        block.then(dynpar::plus{}, block.spawn(leaf{}, n), block.spawn(leaf{}, n));
#endif
        block.then(consume{}, block.spawn(leaf{}, 1));
        return block.then(dynpar::plus{}, block.spawn(leaf{}, n), block.spawn(leaf{}, n));
    }
};
struct calls_without_value {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int n) const {
        block.then(consume{}, block.spawn(misuse{}, n));
#if MISTAKE == 10
        block.then(dynpar::plus{}, block.spawn(leaf{}, n), block.spawn(leaf{}, n));
#endif
    }
};

int main() {
    dynpar::host_engine engine;
    engine.run(calls_without_value{}, dynpar::shape(1, 1), 1);
    engine.call(misuse{}, 3);
#if MISTAKE == 11
    engine.run(leaf{}, dynpar::shape(1, 32), 3);
#elif MISTAKE == 12
    engine.call(without_value{}, 3);
#elif MISTAKE == 13
    auto memory = engine.make_buffer({0L});
    engine.call(leaf{}, memory);
#elif MISTAKE == 14
    engine.call(leaf{}, dynpar::shape(1, 1), 3);
#endif
}
