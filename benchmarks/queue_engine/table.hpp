// The table of the benchmark of the queue engine: what is measured, and how. Plain C++.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "../spread.hpp"

namespace queue_benchmark {

struct options {
    unsigned runs = 9;
    std::string only;  // rows whose name has this in it
    std::string json;
};

/// Who does the work.
namespace by {
inline constexpr const char* plain_cdp2 = "plain CDP2";  // `__global__` kernels and <<<>>>, no code of dynpar
inline constexpr const char* cdp_engine = "cdp_engine";
inline constexpr const char* queue_engine = "queue_engine";
inline constexpr const char* cub = "CUB";
inline constexpr const char* flat = "flat kernel";
}  // namespace by

/// The form of rows with worker blocks of 1,024 threads: twice as many warps on a multiprocessor as the queue engine
/// takes by itself.
inline constexpr const char* more_warps = "1024 threads";

/// What a run did, as far as anybody counts it.
struct run_facts {
    std::uint64_t grids = 0;
    std::uint64_t lost_launches = 0;
    std::optional<std::uint64_t> live_bytes;
};

/// One way to do a piece of work.
struct contender {
    std::string work;
    std::string engine;
    std::string form;
    std::function<void()> prepare;  ///< before each run, not timed; may be empty
    std::function<std::function<run_facts()>()>
        start;                                       ///< puts a run into the table's stream, or does all of it; what it
                                                     ///< returns is called when the stream has come to the run's end
    std::function<bool(const run_facts&)> is_right;  ///< after each run
    unsigned most_runs = 0;                          ///< of those that take long; 0: as many as are asked for
    bool first_counts = false;                       ///< nothing is loaded or warmed up by the first run
    bool may_be_wrong = false;                       ///< nothing promises that it is right: reported, and no failure

    std::string name() const { return work + ", " + engine + (form.empty() ? "" : ", " + form); }
};

struct row {
    std::string work;
    std::string engine;
    std::string form;
    run_facts facts;  // of the last run
    benchmarks::spread milliseconds;
    unsigned runs = 0;
    unsigned wrong_runs = 0;
    bool may_be_wrong = false;

    double tasks_per_second() const { return static_cast<double>(facts.grids) / (milliseconds.median * 1e-3); }
    std::string judgement() const;
};

/// Measures contenders and prints a line for each.
///
/// A run is timed by two events in a stream, one before all that it puts there and one after. Not with Google
/// Benchmark: nearly all of this file would be needed with it too (preparing each run outside of the clock, checking
/// each result, results that are allowed to be wrong, few runs of what takes a second), and what it has to offer,
/// choosing the number of iterations, is not wanted where one run is one sample.
class table {
public:
    /// `works`: the names of all works that are measured. `counted`: what `run_facts::grids` is in this table.
    table(options o, std::vector<std::string> works, std::string counted = "grids");
    ~table();
    table(const table&) = delete;
    table& operator=(const table&) = delete;

    const options& asked() const { return options_; }
    cudaStream_t stream() const { return stream_; }
    /// Whether a row of this work may be asked for: otherwise there is nothing to set up for it.
    bool wants(const std::string& work) const;
    void measure(const contender& c);
    /// The row, or null if it was not measured.
    const row* find(const std::string& work, const std::string& engine, const std::string& form) const;
    const std::vector<row>& rows() const { return rows_; }
    bool all_right() const;

private:
    options options_;
    std::vector<std::string> works_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t begin_ = nullptr;
    cudaEvent_t end_ = nullptr;
    std::vector<row> rows_;
};

// ---- The groups of rows, a file each. Those of the device runtime set its limit on pending launches and restore it.

void measure_plain_cdp2(table& t);
void measure_cdp_engine(table& t);
void measure_cub(table& t);
void measure_queue_trees(table& t);
void measure_queue_arguments(table& t);
void measure_queue_recursions(table& t);
void measure_queue_reductions(table& t);
void measure_queue_cilksort(table& t);
void measure_queue_work_tree(table& t);

/// Whether the files with the queue engine's rows were compiled with relocatable device code.
bool queue_rows_are_relocatable();

/// What the device runtime needs for trees of 32,767 grids and for 16,384 children.
inline constexpr std::size_t pending_launches = 65536;

// ---- Names of works that several groups have.

namespace work {
inline constexpr const char* empty_task = "1 empty task";
inline constexpr const char* tree_14 = "empty tree, depth 14, a warp each";
inline constexpr const char* tree_22_lane = "empty tree, depth 22, a lane each";
inline constexpr const char* tree_22_warp = "empty tree, depth 22, a warp each";
inline constexpr const char* tree_29 = "empty tree, depth 29, a lane each";
inline constexpr const char* tree_64 = "empty tree, depth 12, 64 threads each";
inline constexpr const char* tree_48 = "tree, depth 21, a lane each, with 48 bytes";
inline constexpr const char* tree_200 = "tree, depth 21, a lane each, with 200 bytes";
inline constexpr const char* many_64 = "a thread launches 4096 blocks of 64 threads";
inline constexpr const char* reduce_20 = "gpuRecursiveReduce, 2^20";
inline constexpr const char* reduce_24 = "gpuRecursiveReduce, 2^24";
inline constexpr const char* reduce2_20 = "gpuRecursiveReduce2, 2^20";
inline constexpr const char* cutoff_28 = "sum with a cut-off, 2^28";
inline constexpr const char* fib_2 = "fib(2)";
inline constexpr const char* fib_15 = "fib(15)";
inline constexpr const char* fib_30 = "fib(30)";
inline constexpr const char* fib_40 = "fib(40)";
inline constexpr const char* queens_8 = "N-Queens 8, every node a task";
inline constexpr const char* queens_14 = "N-Queens 14, every node a task";
inline constexpr const char* queens_16 = "N-Queens 16, last 9 rows serial";
inline constexpr const char* sort = "sort of 50,000,000 ints";
inline constexpr const char* work_tree_lane = "tree with join and work, depth 22, a lane each";
inline constexpr const char* work_tree_wide = "tree with join and work, depth 22, at most 256 threads each";
inline constexpr const char* all[] = {
    empty_task, tree_14,    tree_22_lane, tree_22_warp,   tree_29,        tree_64, many_64,  reduce_20,
    reduce_24,  reduce2_20, cutoff_28,    fib_2,          fib_15,         fib_30,  fib_40,   queens_8,
    queens_14,  queens_16,  sort,         work_tree_lane, work_tree_wide, tree_48, tree_200,
};
}  // namespace work

// ---- What is added up and sorted: made once, the same in every run.

inline constexpr unsigned block_size = 512;  ///< numbers of a block of gpuRecursiveReduce
inline constexpr std::size_t most_to_add = std::size_t{1} << 28;
const std::vector<int>& numbers_to_add();   ///< `most_to_add` of them, 0 to 15
long long sum_of_first(std::size_t count);  ///< of those
inline constexpr std::size_t to_sort = 50000000;
const std::vector<int>& numbers_to_sort();
const std::vector<int>& sorted_numbers();  ///< by std::sort

}  // namespace queue_benchmark
