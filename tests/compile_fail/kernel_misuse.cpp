// Wrong kernels, one for each value of MISTAKE; 0: none.
#include <string>

#include <dynpar/dynpar.hpp>

/// Its data are its own affair, whatever they are called.
struct city {
    unsigned name;
    unsigned max_threads;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, unsigned* result) const {
        *result = name + max_threads;
    }
};
struct street {
    static std::string name() { return "street"; }
    static inline unsigned max_threads = 32;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, unsigned* result) const {
        *result = 1;
    }
};
struct no_threads {
    static constexpr unsigned max_threads = 0;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&) const {}
};
struct greeting {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const char* name) const {
        enum class color : unsigned char { red };
        int number[3] = {};
        dynpar::print(block, "%s %d %g %p %p %d %zu", name, 'a', 1.5f, nullptr, number, color::red, sizeof(number));
#if MISTAKE == 2
        dynpar::print(block, "%s %d\n", std::string("city"), 1);
#endif
    }
};
/// What only asks may take a const block.
struct const_leaf {
    template <class Block>
    DYNPAR_FUNCTION void operator()(const Block& block, unsigned* result) const {
        *result = block.thread_rank();
    }
};
struct value_leaf {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(Block&) const {
        return 1u;
    }
};
struct const_parent {
    template <class Block>
    DYNPAR_FUNCTION void operator()(const Block& block, unsigned* result) const {
#if MISTAKE == 3
        block.launch(const_leaf{}, dynpar::shape(1, 1), result);
#elif MISTAKE == 4
        if (block.then(const_leaf{}, {1, 1}, result) != dynpar::status::success) *result = 0;
#else
        const_leaf{}(block, result);
#endif
    }
};
struct const_value {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<unsigned> operator()(const Block& block) const {
#if MISTAKE == 5
        return block.then(dynpar::plus{}, block.spawn(value_leaf{}), block.spawn(value_leaf{}));
#elif MISTAKE == 6
        block.launch(const_leaf{}, dynpar::shape(1, 1), nullptr);
#endif
        return block.depth();
    }
};

int main() {
    dynpar::host_engine engine;
    auto result = engine.make_buffer({0u});
    engine.run(city{1, 2}, dynpar::shape(1, 1), result.data());
    engine.run(street{}, dynpar::shape(1, 1), result.data());
    engine.run(const_leaf{}, dynpar::shape(1, 1), result.data());
    engine.run(const_parent{}, dynpar::shape(1, 1), result.data());
    engine.call(const_value{});
    engine.run(greeting{}, dynpar::shape(1, 1), "city");
#if MISTAKE == 1
    engine.run(no_threads{}, dynpar::shape(1, 1));
#endif
}
