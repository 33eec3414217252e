// Sudoku: the sample's three forms, by hand, on the CPU.
#include "../../samples/sudoku/kernels.hpp"
#include "../../samples/sudoku/puzzles.hpp"
#include "measure.cuh"
#include "searches.cuh"

namespace tree_benchmark {

namespace {

using namespace sudoku;
using queue_benchmark::fill;
using queue_benchmark::on_device;

// Puzzles, and what is found in them: as the CPU found it, which does not run each time.
struct task {
    const char* name;
    unsigned puzzles;
    unsigned clues;
    unsigned seed;
    findings expected;
    bool is_quick;
};
constexpr task tasks[] = {
    {work::sudoku_many, 1000, 28, 1, {6482540, 355096, 14056260499539579961ull}, true},
    {work::sudoku_22, 1, 22, 1, {12500172, 970400, 509150438239423178ull}, true},
    {work::sudoku_20, 1, 20, 3, {74151004, 4468658, 2897300109633434583ull}, false},
};

bool are_same(const findings& a, const findings& b) {
    return a.boards == b.boards && a.solutions == b.solutions && a.hashes == b.hashes;
}
void add(findings& to, const findings& part) {
    to.boards += part.boards;
    to.solutions += part.solutions;
    to.hashes += part.hashes;
}

void measure_forms(table& t, const options& o, const task& what, const std::vector<board>& puzzles,
                   unsigned block_threads) {
    const auto engine = make_engine(o, block_threads);
    const dynpar::buffer<findings> parts = on_device<findings>(counters);
    const dynpar::buffer<board> there = on_device(puzzles, puzzles.size());
    findings found{};
    const auto forget = [&] { fill(parts, 0); };
    const auto nodes = [&](const dynpar::report&) {
        found = {};
        for (const findings& part : parts.to_vector()) add(found, part);
        return found.boards;
    };
    const auto is_right = [&](const run_facts&) { return are_same(found, what.expected); };
    const std::string wide = block_threads == 0 ? "" : ", " + std::string(queue_benchmark::more_warps);
    for (const auto& [name, how] : {std::pair("child each", form::child), std::pair("scratch", form::scratch),
                                    std::pair("blocks", form::blocks)}) {
        measure_queue(t, *engine, what.name, (name + wide).c_str(), forget, nodes, is_right,
                      begin{parts.data(), there.data(), how}, dynpar::shape(what.puzzles, 1));
    }
}

}  // namespace

void measure_sudoku(table& t, const options& o) {
    for (const task& what : tasks) {
        if ((o.is_quick && !what.is_quick) || !t.wants(what.name)) continue;
        const std::vector<board> puzzles = make_puzzles(what.puzzles, what.clues, what.seed);
        measure_forms(t, o, what, puzzles, 0);
        if (DYNPAR_QUEUE_MOST_THREADS >= 1024) measure_forms(t, o, what, puzzles, 1024);
        std::vector<by_hand::sudoku_search::node> roots;
        for (const board& puzzle : puzzles) roots.push_back(by_hand::sudoku_search::make(puzzle));
        measure_by_hand(t, o, what.name, by_hand::sudoku_search{}, roots, roots.size(),
                        [&](const by_hand::tally& found) {
                            return are_same({found.nodes + roots.size(), found.found, found.hashes}, what.expected);
                        });
        measure_cpu(t, o, what.name, false, [&] {
            findings found{};
            for (const board& puzzle : puzzles) add(found, search_on_cpu(puzzle));
            return are_same(found, what.expected) ? found.boards : 0;
        });
    }
}

}  // namespace tree_benchmark
