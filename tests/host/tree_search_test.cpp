// What the samples that search trees do beside launching: right on the CPU, whatever the engine.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../samples/uts/kernels.hpp"

TEST_CASE("states of an unbalanced tree are SHA-1 digests") {
    // By another program: 20 bytes, of which the last four are the number 19; and those 20 with the number 7.
    const uts::digest root{{0xc6988ab7u, 0x0cc9559au, 0xe4d6cba2u, 0x54e29a84u, 0x5a85f86bu}};
    const uts::digest child{{0x3fff6186u, 0xfcc7b5efu, 0xca851db7u, 0x4d2bf643u, 0xa3910430u}};
    const uts::tree t = uts::geometric_tree(4, 10, 19);
    for (int i = 0; i < 5; ++i) {
        CHECK(uts::root_state(t).word[i] == root.word[i]);
        CHECK(uts::child_state(root, 7).word[i] == child.word[i]);
    }
}

TEST_CASE("trees of the benchmark UTS have as many nodes as published") {
    for (const uts::known_tree& known : uts::known_trees()) {
        if (known.nodes > 10000000) continue;  // those take a quarter of a minute
        CAPTURE(std::string(known.name));
        const uts::tree_size size = uts::count_on_cpu(known.of);
        CHECK(size.nodes == known.nodes);
        CHECK(size.depth == (known.of.kind == uts::shape_of_tree::geometric ? 10u : 1572u));
    }
}

TEST_CASE("a tree without inner nodes is its root, and the CPU stops counting where it is told to") {
    CHECK(uts::count_on_cpu(uts::binomial_tree(1, 8, 0, 1)).nodes == 2);
    CHECK(uts::count_on_cpu(uts::geometric_tree(4, 0, 1)).nodes == 1);
    CHECK(uts::count_on_cpu(uts::geometric_tree(50, 1000, 1), 1000).nodes == 1001);
}
