// Kernels that are wrong on purpose. Under AddressSanitizer each must be found, with its source line, although a
// simulated thread runs on a fiber's stack and has been suspended in between. Run as `broken_kernels <which>`.
#include <dynpar/dynpar.hpp>

#include <cstdio>
#include <cstring>

namespace {

// A function of its own: UndefinedBehaviorSanitizer would know the array's bound, and this is about AddressSanitizer.
__attribute__((noinline)) int element(const volatile int* numbers, unsigned index) { return numbers[index]; }

struct past_an_array {
    template <class Block>
    void operator()(Block& block, int* out, unsigned index) const {
        volatile int numbers[4] = {1, 2, 3, 4};
        block.sync();  // from here on the thread has a stack of its own
        out[0] = element(numbers, index);
    }
};

struct past_shared_memory {
    template <class Block>
    void operator()(Block& block, int* out, unsigned index) const {
        int* numbers = block.template shared<int>(block.num_threads());
        numbers[block.thread_rank()] = 1;
        block.sync();
        out[0] = numbers[index];
    }
};

struct read_memory {
    template <class Block>
    void operator()(Block&, const int* memory, int* out) const {
        out[0] = memory[0];
    }
};

struct keep_scratch {
    template <class Block>
    void operator()(Block& block, int** kept) const {
        *kept = block.template scratch<int>(4);
        **kept = 1;
    }
};

struct scratch_after_its_grid {
    template <class Block>
    void operator()(Block& block, int* out, int** kept) const {
        block.launch(keep_scratch{}, dynpar::shape(1, 1), kept);
        block.wait();
        out[0] = **kept;  // the child is complete, and its scratch memory gone
    }
};

struct past_a_buffer {
    template <class Block>
    void operator()(Block& block, const int* memory, unsigned count, int* out) const {
        if (block.thread_rank() == 0) block.launch(read_memory{}, dynpar::shape(1, 1), memory + count, out);
        block.wait();
    }
};

}  // namespace

int main(int argc, char** argv) {
    dynpar::host_engine engine;
    auto out = engine.make_buffer<int>(1);
    auto kept = engine.make_buffer<int*>(1);
    const auto is = [&](const char* which) { return argc == 2 && std::strcmp(argv[1], which) == 0; };
    if (is("past_an_array"))
        engine.run(past_an_array{}, dynpar::shape(1, 8), out.data(), 4u);
    else if (is("past_shared_memory"))
        engine.run(past_shared_memory{}, dynpar::shape(1, 8, 32), out.data(), 8u);
    else if (is("past_a_buffer"))
        engine.run(past_a_buffer{}, dynpar::shape(1, 8), out.data(), 1u, out.data());
    else if (is("scratch_after_its_grid"))
        engine.run(scratch_after_its_grid{}, dynpar::shape(1, 1), out.data(), kept.data());
    else
        return std::puts("usage: broken_kernels past_an_array|past_shared_memory|past_a_buffer|scratch_after_its_grid"),
               2;
    std::puts("nothing was found");
    return 0;
}
