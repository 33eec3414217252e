// What a task costs on the queue engine: recursions without and with a join, trees, the seeds' reduction, against CUB where it
// applies. Every result is checked. Medians of several runs by CUDA events; a table on the terminal, JSON beside it.
//
//     queue_engine_benchmark [--json FILE] [--runs N]
#include <cuda_runtime.h>

#include <cub/device/device_reduce.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <dynpar/atomic.hpp>
#include <dynpar/cuda_error.hpp>
#include <dynpar/engine/queue.cuh>

namespace {

using dynpar::at_most;
using dynpar::shape;
using word = unsigned long long;

// ---- Kernels, as a user would write them

template <int Threads>
struct empty_tree {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int levels) const {
        if (block.thread_rank() != 0 || levels == 0) return;
        block.launch(*this, shape(1, Threads), levels - 1);
        block.launch(*this, shape(1, Threads), levels - 1);
    }
};

struct add_two {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, const word* parts, word* out) const {
        *out = parts[0] + parts[1];
    }
};
struct fib {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, word* out, int n) const {
        if (n < 2) {
            *out = static_cast<word>(n);
            return;
        }
        word* parts = block.template scratch<word>(2);
        block.launch(*this, shape(1, 1), parts, n - 1);
        block.launch(*this, shape(1, 1), parts + 1, n - 2);
        block.then(add_two{}, shape(1, 1), parts, out);
    }
};

// A row of the board a task; the last rows of a board serially. Bits of `columns`, `left` and `right` are attacked.
DYNPAR_FUNCTION inline word count_queens(unsigned all, unsigned columns, unsigned left, unsigned right) {
    constexpr int most_rows = 12;
    unsigned open[most_rows], c[most_rows], l[most_rows], r[most_rows];
    int row = 0;
    word found = 0;
    c[0] = columns, l[0] = left, r[0] = right, open[0] = all & ~(columns | left | right);
    while (row >= 0) {
        if (open[row] == 0) {
            --row;
            continue;
        }
        const unsigned place = open[row] & (0u - open[row]);
        open[row] -= place;
        const unsigned next = c[row] | place;
        if (next == all) {
            ++found;
            continue;
        }
        const unsigned next_left = (l[row] | place) << 1, next_right = (r[row] | place) >> 1;
        ++row;
        c[row] = next, l[row] = next_left, r[row] = next_right, open[row] = all & ~(next | next_left | next_right);
    }
    return found;
}
// Eight bytes, and eight of the kernel: what a small task has room for.
struct board {
    unsigned short columns, left, right;
    unsigned char size, serial_rows;
};
struct queens {
    word* solutions;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, board b) const {
        const unsigned all = (1u << b.size) - 1, columns = b.columns, left = b.left, right = b.right;
        if (columns == all) {
            dynpar::atomic_add(solutions, word{1});
            return;
        }
        int rows_left = 0;
        for (unsigned rest = all & ~columns; rest != 0; rest &= rest - 1) ++rows_left;
        if (rows_left <= b.serial_rows) {
            if (const word found = count_queens(all, columns, left, right); found != 0) dynpar::atomic_add(solutions, found);
            return;
        }
        for (unsigned open = all & ~(columns | left | right); open != 0; open &= open - 1) {
            const unsigned place = open & (0u - open);
            block.launch(*this, shape(1, 1),
                         board{static_cast<unsigned short>(columns | place), static_cast<unsigned short>((left | place) << 1),
                               static_cast<unsigned short>((right | place) >> 1), b.size, b.serial_rows});
        }
    }
};

// A node of a binary tree: 256 loads from random places of a table and 256 multiply-adds, then its two children, then the join.
struct work_join {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&, const word* parts, word* out) const {
        *out = parts[0] + parts[1] + 1;
    }
};
struct work_tree {
    const word* table;
    unsigned mask;
    int threads;
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, word* out, int levels) const {
        word sum = 0;
        unsigned place = static_cast<unsigned>(reinterpret_cast<unsigned long long>(out) >> 3) * 2654435761u + block.thread_rank();
        for (unsigned i = block.thread_rank(); i < 256; i += block.num_threads()) {
            place = place * 1664525u + 1013904223u;
            sum = sum * 3 + table[(place >> 4) & mask];
        }
        if (sum == 0x123456789abcdefull) *out = sum;  // keeps the work; the table does not lead here
        if (block.thread_rank() != 0) return;
        if (levels == 0) {
            *out = 1;
            return;
        }
        word* parts = block.template scratch<word>(2);
        const shape s = threads == 1 ? shape(1, 1) : shape(1, at_most(static_cast<unsigned>(threads)));
        block.launch(*this, s, parts, levels - 1);
        block.launch(*this, s, parts + 1, levels - 1);
        block.then(work_join{}, shape(1, 1), parts, out);
    }
};

// The seeds' gpuRecursiveReduce: every level a child block.
struct recursive_reduce {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int* data, int* out, unsigned count, unsigned stride) const {
        data += static_cast<std::size_t>(block.block_rank()) * stride;
        out += block.block_rank();
        if (count == 2) {
            if (block.thread_rank() == 0) *out = data[0] + data[1];
            return;
        }
        const unsigned half = count / 2;
        for (unsigned i = block.thread_rank(); i < half; i += block.num_threads()) data[i] += data[i + half];
        block.sync();
        if (block.thread_rank() == 0) block.launch(*this, shape(1, at_most(half / 2)), data, out, half, 0u);
    }
};

// A recursive sum that stops where a block can finish the job.
struct cutoff_reduce {
    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, const int4* data, unsigned quads, word* sum) const {
        constexpr unsigned most_quads = 1u << 14;
        if (quads > most_quads) {
            if (block.thread_rank() != 0) return;
            block.launch(*this, shape(1, at_most(32)), data, quads / 2, sum);
            block.launch(*this, shape(1, at_most(32)), data + quads / 2, quads - quads / 2, sum);
            return;
        }
        int mine = 0;
        const unsigned n = block.num_threads();
        unsigned i = block.thread_rank();
        for (; i + 7 * n < quads; i += 8 * n) {
            int4 some[8];
            for (unsigned k = 0; k < 8; ++k) some[k] = data[i + k * n];
            for (unsigned k = 0; k < 8; ++k) mine += some[k].x + some[k].y + some[k].z + some[k].w;
        }
        for (; i < quads; i += n) mine += data[i].x + data[i].y + data[i].z + data[i].w;
        dynpar::atomic_add(sum, static_cast<word>(mine));
    }
};

// ---- Measuring

struct measurement {
    std::string work;
    word grids;
    double median, least, most;  // milliseconds
    bool right;
};

class bench {
public:
    bench(int runs) : runs_(runs) {
        dynpar::check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
        dynpar::check(cudaEventCreate(&begin_), "making an event");
        dynpar::check(cudaEventCreate(&end_), "making an event");
        std::printf("%-58s %12s %10s %10s %10s %8s\n", "work", "grids", "median ms", "least", "most", "M/s");
    }
    cudaStream_t stream() const { return stream_; }

    /// `go` puts the work into the stream and returns what to call for the number of grids; `prepare` is not timed.
    void measure(const std::string& work, const std::function<void()>& prepare, const std::function<std::function<word()>()>& go,
                 const std::function<bool()>& is_right) {
        std::vector<double> times;
        measurement m{work, 0, 0, 0, 0, true};
        for (int run = 0; run <= runs_; ++run) {
            prepare();
            dynpar::check(cudaDeviceSynchronize(), "preparing");
            dynpar::check(cudaEventRecord(begin_, stream_), "timing");
            const std::function<word()> finish = go();
            dynpar::check(cudaEventRecord(end_, stream_), "timing");
            dynpar::check(cudaEventSynchronize(end_), "running");
            m.grids = finish();
            float ms = 0;
            dynpar::check(cudaEventElapsedTime(&ms, begin_, end_), "timing");
            if (run != 0) times.push_back(ms);  // the first warms up
            m.right = m.right && is_right();
        }
        std::sort(times.begin(), times.end());
        m.median = times[times.size() / 2], m.least = times.front(), m.most = times.back();
        std::printf("%-58s %12llu %10.4f %10.4f %10.4f %8.0f%s\n", work.c_str(), m.grids, m.median, m.least, m.most,
                    static_cast<double>(m.grids) / m.median / 1e3, m.right ? "" : "  WRONG");
        std::fflush(stdout);
        all_.push_back(m);
    }

    bool write(const std::string& path, const std::string& device) const {
        std::ofstream out(path);
        out << "{\n  \"device\": \"" << device << "\",\n  \"runs\": " << runs_ << ",\n  \"results\": [\n";
        for (std::size_t i = 0; i < all_.size(); ++i) {
            const measurement& m = all_[i];
            out << "    {\"work\": \"" << m.work << "\", \"grids\": " << m.grids << ", \"median_ms\": " << m.median
                << ", \"least_ms\": " << m.least << ", \"most_ms\": " << m.most << ", \"right\": " << (m.right ? "true" : "false")
                << "}" << (i + 1 < all_.size() ? "," : "") << "\n";
        }
        out << "  ]\n}\n";
        return static_cast<bool>(out);
    }
    bool all_right() const {
        return std::all_of(all_.begin(), all_.end(), [](const measurement& m) { return m.right; });
    }

private:
    int runs_;
    cudaStream_t stream_ = nullptr;
    cudaEvent_t begin_ = nullptr, end_ = nullptr;
    std::vector<measurement> all_;
};

word fib_of(int n) {
    word a = 0, b = 1;
    for (int i = 0; i < n; ++i) {
        const word next = a + b;
        a = b, b = next;
    }
    return a;
}

}  // namespace

int main(int argc, char** argv) try {
    std::string json;
    int runs = 9;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (std::strcmp(argv[i], "--json") == 0) json = argv[i + 1];
        if (std::strcmp(argv[i], "--runs") == 0) runs = std::max(1, std::atoi(argv[i + 1]));
    }
    dynpar::queue_engine engine;
    std::printf("queue engine on %s, medians of %d runs by CUDA events\n", engine.device().c_str(), runs);
    bench b(runs);
    word grids = 0;
    const auto nothing = [] {};
    const auto start = [&](auto kernel, shape s, auto... args) {
        dynpar::queue_handle handle = engine.enqueue(b.stream(), kernel, s, args...);
        return std::function<word()>([handle, &grids]() mutable {
            const dynpar::report report = handle.wait();
            if (report.failed_calls != 0) throw dynpar::launch_error(report);
            return grids = report.grids;
        });
    };

    b.measure("1 empty task", nothing, [&] { return start(empty_tree<1>{}, shape(1, 1), 0); }, [&] { return grids == 1; });
    b.measure("empty tree, depth 22, a lane each", nothing, [&] { return start(empty_tree<1>{}, shape(1, 1), 22); },
              [&] { return grids == 8388607; });
    b.measure("empty tree, depth 22, a warp each", nothing, [&] { return start(empty_tree<32>{}, shape(1, 32), 22); },
              [&] { return grids == 8388607; });
    b.measure("empty tree, depth 12, 64 threads each", nothing, [&] { return start(empty_tree<64>{}, shape(1, 64), 12); },
              [&] { return grids == 8191; });
    b.measure("empty tree, depth 28, a lane each", nothing, [&] { return start(empty_tree<1>{}, shape(1, 1), 28); },
              [&] { return grids == 536870911; });

    dynpar::buffer<word> out = engine.make_buffer<word>(1);
    const auto clear = [&] { dynpar::check(cudaMemset(out.data(), 0, sizeof(word)), "clearing"); };
    for (const int n : {2, 30, 40}) {
        b.measure("fib(" + std::to_string(n) + "), no cut-off, a lane each", clear,
                  [&] { return start(fib{}, shape(1, 1), out.data(), n); }, [&] { return out.to_vector()[0] == fib_of(n); });
    }
    for (const auto& [n, serial, solutions] : {std::tuple<int, int, word>{14, 0, 365596}, {15, 9, 2279184}, {16, 9, 14772512}}) {
        const board empty{0, 0, 0, static_cast<unsigned char>(n), static_cast<unsigned char>(serial)};
        b.measure("N-Queens " + std::to_string(n) + (serial == 0 ? ", every node a task" : ", last 9 rows serial"), clear,
                  [&] { return start(queens{out.data()}, shape(1, 1), empty); }, [&, s = solutions] { return out.to_vector()[0] == s; });
    }

    {
        const std::size_t words = std::size_t{1} << 24;  // 128 MiB
        dynpar::buffer<word> table = engine.make_buffer<word>(words);
        dynpar::check(cudaMemset(table.data(), 0x5a, words * sizeof(word)), "filling a table");
        for (const int threads : {1, 256}) {
            const work_tree kernel{table.data(), static_cast<unsigned>(words - 1), threads};
            const shape s = threads == 1 ? shape(1, 1) : shape(1, at_most(256));
            b.measure("tree with join, depth 22, 256 loads and FMAs, " + std::string(threads == 1 ? "a lane each" : "at most 256 threads"),
                      clear, [&] { return start(kernel, s, out.data(), 22); }, [&] { return out.to_vector()[0] == 8388607; });
        }
    }

    for (const int power : {20, 24}) {
        const unsigned count = 1u << power, width = 512, blocks = count / width;
        std::vector<int> host(count);
        long long sum = 0;
        unsigned x = 12345;
        for (int& v : host) x = x * 1664525u + 1013904223u, v = static_cast<int>(x >> 24), sum += v;
        dynpar::buffer<int> source = engine.make_buffer<int>(count), data = engine.make_buffer<int>(count);
        dynpar::buffer<int> sums = engine.make_buffer<int>(blocks);
        source.copy_from(host.data());
        const auto reset = [&] {
            dynpar::check(cudaMemcpy(data.data(), source.data(), count * sizeof(int), cudaMemcpyDeviceToDevice), "copying");
            dynpar::check(cudaMemset(sums.data(), 0x7f, blocks * sizeof(int)), "poisoning");
        };
        const auto check_sum = [&] {
            long long found = 0;
            for (const int s : sums.to_vector()) found += s;
            return found == sum;
        };
        b.measure("gpuRecursiveReduce, 2^" + std::to_string(power), reset,
                  [&] { return start(recursive_reduce{}, shape(blocks, at_most(width / 2)), data.data(), sums.data(), width, width); },
                  check_sum);
    }

    {
        const unsigned count = 1u << 28;
        dynpar::buffer<int> data = engine.make_buffer<int>(count);
        std::vector<int> host(count);
        word sum = 0;
        unsigned x = 777;
        for (int& v : host) x = x * 1664525u + 1013904223u, v = static_cast<int>(x >> 28), sum += static_cast<word>(v);
        data.copy_from(host.data());
        b.measure("recursive reduce with cut-off, 2^28", clear,
                  [&] {
                      return start(cutoff_reduce{}, shape(1, at_most(32)), reinterpret_cast<const int4*>(data.data()), count / 4, out.data());
                  },
                  [&] { return out.to_vector()[0] == sum; });
        dynpar::buffer<int> cub_sum = engine.make_buffer<int>(1);
        std::size_t bytes = 0;
        dynpar::check(cub::DeviceReduce::Sum(nullptr, bytes, data.data(), cub_sum.data(), static_cast<int>(count), b.stream()), "CUB");
        dynpar::buffer<char> temporary = engine.make_buffer<char>(bytes);
        b.measure("cub::DeviceReduce::Sum, 2^28", nothing,
                  [&] {
                      dynpar::check(cub::DeviceReduce::Sum(temporary.data(), bytes, data.data(), cub_sum.data(),
                                                           static_cast<int>(count), b.stream()), "CUB");
                      return std::function<word()>([] { return word{1}; });
                  },
                  [&] { return static_cast<unsigned>(cub_sum.to_vector()[0]) == static_cast<unsigned>(sum); });
    }
    if (!json.empty() && !b.write(json, engine.device())) {
        std::fprintf(stderr, "queue_engine_benchmark: cannot write %s\n", json.c_str());
        return 2;
    }
    return b.all_right() ? 0 : 1;
} catch (const std::exception& error) {
    std::fprintf(stderr, "queue_engine_benchmark: %s\n", error.what());
    return 1;
}
