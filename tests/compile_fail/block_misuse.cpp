// Wrong uses of what a block offers, one for each value of MISTAKE; 0: none.
#include <cstddef>
#include <string>

#include <dynpar/dynpar.hpp>

struct large {
    double numbers[3];
};
struct add_up {
    DYNPAR_FUNCTION large operator()(const large& a, const large&) const { return a; }
};

struct append_text {
    using value_type = std::string;
    static std::string identity() { return {}; }
    static std::string combine(const std::string& a, const std::string& b) { return a + b; }
};

struct text_body {
    std::string text;
    void operator()(unsigned) const {}
};
struct no_body {
    DYNPAR_FUNCTION void operator()(unsigned) {}
};
struct body {
    DYNPAR_FUNCTION void operator()(unsigned) const {}
};

struct fetched_text {
    std::string fetch(unsigned) const { return {}; }
    DYNPAR_FUNCTION void operator()(unsigned, const std::string&) const {}
};
struct fetched_body {
    DYNPAR_FUNCTION unsigned fetch(unsigned i) const { return i; }
    DYNPAR_FUNCTION unsigned operator()(unsigned, unsigned number) const { return number; }
};
struct short_value {
    DYNPAR_FUNCTION short operator()(unsigned) const { return 1; }
};

struct constant_item {
    const unsigned number;
};
struct visit {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, dynpar::frontier_view<unsigned> frontier) const {
        const unsigned* const item = frontier.item(block);
        if (item != nullptr && *item != 0) frontier.add(*item - 1);
    }
};

struct misuse {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, unsigned* count,
                                    dynpar::reducer_view<dynpar::sum<long>> all_threads) const {
        const auto all = dynpar::this_block(block, block.template shared<std::byte>(dynpar::collective_bytes));
#if MISTAKE == 1
        block.template shared<std::string>(1);
#elif MISTAKE == 2
        struct alignas(64) line {
            char bytes[64];
        };
        block.template scratch<line>(1);
#elif MISTAKE == 3
        dynpar::reduce(all, large{}, add_up{});
#elif MISTAKE == 4
        dynpar::atomic_add(reinterpret_cast<char*>(count), 1);
#elif MISTAKE == 5
        dynpar::atomic_append(reinterpret_cast<float*>(count));
#elif MISTAKE == 9
        dynpar::nested_for(block, 3, no_body{});
#elif MISTAKE == 10
        dynpar::nested_for(all, 3, text_body{});
#elif MISTAKE == 11
        dynpar::nested_for(block, 3.0f, body{});
#elif MISTAKE == 12
        dynpar::nested_for(block, 3, fetched_text{});
#elif MISTAKE == 13
        dynpar::nested_reduce_into(block, 3, short_value{}, dynpar::sum<short>{}, reinterpret_cast<short*>(count));
#elif MISTAKE == 14
        *count = dynpar::nested_reduce(block, 3, fetched_body{}, dynpar::plus{});
#elif MISTAKE == 15
        *count = dynpar::nested_reduce(all, 3, fetched_body{}, dynpar::maximum{}, {});
#elif MISTAKE == 16
        dynpar::nested_reduce_into(block, 3, fetched_body{}, dynpar::plus{}, count);
#elif MISTAKE == 17
        dynpar::nested_reduce_into(all, 3, fetched_body{}, dynpar::plus{}, count);
#elif MISTAKE == 18
        *count = dynpar::reduce(dynpar::this_warp(block), 1u, dynpar::sum<unsigned>{});
#elif MISTAKE == 19
        *count = dynpar::reduce(all, 1u, dynpar::sum<unsigned>{});
#elif MISTAKE == 20
        *count = dynpar::inclusive_scan(dynpar::this_warp(block), 1u, dynpar::sum<unsigned>{});
#elif MISTAKE == 21
        *count = dynpar::inclusive_scan(all, 1u, dynpar::sum<unsigned>{});
#elif MISTAKE == 22
        *count = dynpar::exclusive_scan(dynpar::this_warp(block), 1u, dynpar::sum<unsigned>{}, 0u);
#elif MISTAKE == 23
        *count = dynpar::exclusive_scan(all, 1u, dynpar::sum<unsigned>{}, 0u);
#endif
        dynpar::nested_for(all, 3, body{});
        dynpar::nested_for(block, 3, fetched_body{});
        dynpar::nested_reduce_into(all, 3, fetched_body{}, dynpar::sum<unsigned>{}, count);
        all_threads.add(block, 1);
        dynpar::reduce(dynpar::this_warp(block), large{}, add_up{});
        if (dynpar::any(all, true)) dynpar::atomic_add(count, 1u);
    }
};

int main() {
    dynpar::host_engine engine;
    auto count = engine.make_buffer({0u});
    auto all_threads = engine.make_reducer<dynpar::sum<long>>();
#if MISTAKE == 6
    engine.run(misuse{}, dynpar::shape(1, 8, dynpar::collective_bytes), count.data(), all_threads);
#elif MISTAKE == 7
    engine.make_reducer<long>();
#elif MISTAKE == 8
    engine.make_reducer<append_text>();
#elif MISTAKE == 25
    dynpar::frontier<constant_item> of_constants(engine, 3);
#endif
    dynpar::frontier<unsigned> frontier(engine, 3);
    frontier.begin_with({3});
#if MISTAKE == 24
    engine.run(dynpar::for_each_in<visit>{}, dynpar::shape(1, 1), frontier);
#elif MISTAKE == 26
    engine.run(dynpar::for_each_in<visit, 0>{}, dynpar::shape(1, 1), frontier.view());
#endif
    engine.run(dynpar::for_each_in<visit>{}, dynpar::shape(1, 1), frontier.view());
    engine.run(misuse{}, dynpar::shape(1, 8, dynpar::collective_bytes), count.data(), all_threads.view());
}
