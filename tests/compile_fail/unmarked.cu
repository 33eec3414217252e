// Kernels, and functions that kernels call, without DYNPAR_FUNCTION, one for each value of UNMARKED. nvcc by itself
// compiles them all, as kernels that do nothing. With UNMARKED 0 the file is right.
#include <dynpar/dynpar.hpp>

#if UNMARKED == 3
void write_seven(int* place) { *place = 7; }
#else
DYNPAR_FUNCTION void write_seven(int* place) { *place = 7; }
#endif

#if UNMARKED == 4
template <class T>
void write_eight(T* place) {
    *place = 8;
}
#else
template <class T>
DYNPAR_FUNCTION void write_eight(T* place) {
    *place = 8;
}
#endif

struct holder {
    int* place;
#if UNMARKED == 5
    void write_nine() const { *place = 9; }
#else
    DYNPAR_FUNCTION void write_nine() const { *place = 9; }
#endif
};

constexpr int add_one(int n) { return n + 1; }

struct marked {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, int* place) const {
        write_seven(place);
        write_eight(place);
        holder{place}.write_nine();
        // These need no mark: a function within one that has it, and what is known to the compiler.
        const auto write_ten = [place] { *place = 10; };
        write_ten();
        constexpr int eleven = add_one(10);
        *place = eleven;
#if UNMARKED == 6
        *place = add_one(*place);
#endif
    }
};

// clang-format counts the braces of both branches.
// clang-format off
struct child {
    template <class Block>
#if UNMARKED == 2
    void operator()(Block& block, int* place) const {
#else
    DYNPAR_FUNCTION void operator()(Block& block, int* place) const {
#endif
        *place = static_cast<int>(block.depth());
    }
};

struct parent {
    template <class Block>
#if UNMARKED == 1
    void operator()(Block& block, int* place) const {
#else
    DYNPAR_FUNCTION void operator()(Block& block, int* place) const {
#endif
        block.launch(marked{}, dynpar::shape(1, 1), place);
#if UNMARKED != 1
        block.launch(child{}, dynpar::shape(1, 1), place);
#endif
    }
};
// clang-format on

void use(int* place) {
    dynpar::queue_engine queue;
    queue.run(parent{}, dynpar::shape(1, 1), place);
#if DYNPAR_HAS_DEVICE_LAUNCH
    dynpar::cdp_engine cdp;
    cdp.run(parent{}, dynpar::shape(1, 1), place);
#endif
}
