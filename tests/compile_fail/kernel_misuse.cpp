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

int main() {
    dynpar::host_engine engine;
    auto result = engine.make_buffer({0u});
    engine.run(city{1, 2}, dynpar::shape(1, 1), result.data());
    engine.run(street{}, dynpar::shape(1, 1), result.data());
#if MISTAKE == 1
    engine.run(no_threads{}, dynpar::shape(1, 1));
#endif
}
