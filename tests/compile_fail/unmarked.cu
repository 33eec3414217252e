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

// Kernels with values, what combines values, and monoids: right ones are in the tests of the contract.
#if UNMARKED >= 7
struct leaf {
    template <class Block>
#if UNMARKED == 7
    dynpar::result<int> operator()(Block&, int n) const {
#else
    DYNPAR_FUNCTION dynpar::result<int> operator()(Block&, int n) const {
#endif
        return n;
    }
};

struct add {
#if UNMARKED == 8
    int operator()(int a, int b) const { return a + b; }
#else
    DYNPAR_FUNCTION int operator()(int a, int b) const { return a + b; }
#endif
};

struct root {
    template <class Block>
    DYNPAR_FUNCTION dynpar::result<int> operator()(Block& block) const {
        return block.then(add{}, block.spawn(leaf{}, 1), block.spawn(leaf{}, 2));
    }
};

struct additions {
    using value_type = int;
    static DYNPAR_FUNCTION int identity() { return 0; }
#if UNMARKED == 9
    static int combine(int a, int b) { return a + b; }
#else
    static DYNPAR_FUNCTION int combine(int a, int b) { return a + b; }
#endif
};

struct count {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, dynpar::reducer_view<additions> all) const {
        all.add(block, 1);
    }
};

void use_values() {
    dynpar::queue_engine queue;
    queue.call(root{});
    auto all = queue.make_reducer<additions>();
    queue.run(count{}, dynpar::shape(1, 1), all.view());
}
#endif
// clang-format on

void use(int* place) {
    dynpar::queue_engine queue;
    queue.run(parent{}, dynpar::shape(1, 1), place);
#if DYNPAR_HAS_DEVICE_LAUNCH
    dynpar::cdp_engine cdp;
    cdp.run(parent{}, dynpar::shape(1, 1), place);
#endif
}
