// The kernel that the consumers run: every thread is counted, and each grid launches one of half its threads.
#pragma once

#include <cstdio>

#include <dynpar/dynpar.hpp>

struct halving {
    static constexpr const char* name = "halving";

    unsigned long long* threads;

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned size) const {
        dynpar::atomic_add(threads, 1ull);
        if (size == 1 || block.thread_rank() != 0) return;
        block.launch(*this, dynpar::shape(1, size / 2), size / 2);
    }
};

/// Runs it with 8 + 4 + 2 + 1 threads. The exit status of the program: 0 if all were counted.
template <class Engine>
int run_halving(Engine& engine) {
    auto threads = engine.template make_buffer<unsigned long long>(1);
    const unsigned long long none = 0;
    threads.copy_from(&none);
    engine.run(halving{threads.data()}, dynpar::shape(1, 8), 8u);
    const unsigned long long counted = threads.to_vector().front();
    std::printf("%s engine: %llu threads\n", Engine::name, counted);
    return counted == 15 ? 0 : 1;
}
