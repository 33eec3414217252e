// The reductions of the texts side by side: the kernels of samples/reduction_ladder, CUB's, and the nested ones.
//
// Every contender adds up the same numbers into one total on the GPU, so the flat kernels' times contain the grid that
// adds up the blocks' sums. Contenders take turns, run by run, forwards and backwards, so that what changes with time
// meets all alike. Before each run the numbers are restored where a kernel has overwritten them, the L2 cache is
// overwritten, and every result is poisoned. Flat kernels are timed by events on the GPU; nested ones by the host's
// clock, around a whole run of the engine.
#include <cuda_runtime.h>

#include <cub/device/device_reduce.cuh>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <dynpar/cuda_error.hpp>
#include <dynpar/dynpar.hpp>
#include <dynpar/event.cuh>
#include <dynpar/launch.cuh>
#include <dynpar/stream.cuh>

#include "../samples/plain_block.cuh"
#include "../samples/reduction_ladder/ladder.hpp"
#include "machine.hpp"
#include "run_benchmark.hpp"
#include "reductions.hpp"

namespace {

namespace ladder = reduction_ladder;
using benchmarks::host_name;
using benchmarks::now_utc;
using reductions::options;
using reductions::row;
using reductions::spread;

constexpr const char* usage =
    "reductions [--elements N,N,...] [--runs N] [--nested-runs N] [--block-size N] [--pending-launches N]\n"
    "           [--json FILE] [--csv FILE]\n"
    "  --elements N,N,...    how many numbers to add up, each 1 to 268435456\n"
    "                        (1048576,16777216,268435456,268435399; the last is a prime)\n"
    "  --runs N              runs of each kernel, 3 to 100000 (21)\n"
    "  --nested-runs N       runs of each nested reduction, 0 to 100000 (5)\n"
    "  --block-size N        threads in a block: 64, 128, 256, 512 or 1024 (512)\n"
    "  --pending-launches N  limit on pending launches for the nested ones, 1 to 1000000 (65536)\n"
    "  --json FILE, --csv FILE  write the table there as well\n";

unsigned to_count(const std::string& option, const std::string& text, unsigned least, unsigned most) {
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0' || value < static_cast<long>(least) || value > static_cast<long>(most)) {
        throw std::invalid_argument(option + ": \"" + text + "\" will not do; give an integer from " +
                                    std::to_string(least) + " to " + std::to_string(most));
    }
    return static_cast<unsigned>(value);
}

// False if only the usage was asked for.
bool parse(int argc, char** argv, options& o) {
    for (int i = 1; i < argc; ++i) {
        const std::string name = argv[i];
        if (name == "--help" || name == "-h") return false;
        if (i + 1 == argc) throw std::invalid_argument(name + " is unknown or lacks its value; see --help");
        const std::string value = argv[++i];
        if (name == "--elements") {
            o.elements.clear();
            for (std::size_t begin = 0; begin <= value.size();) {
                const std::size_t end = std::min(value.find(',', begin), value.size());
                o.elements.push_back(to_count(name, value.substr(begin, end - begin), 1, 1u << 28));
                begin = end + 1;
            }
        } else if (name == "--runs") {
            o.runs = to_count(name, value, 3, 100000);
        } else if (name == "--nested-runs") {
            o.nested_runs = to_count(name, value, 0, 100000);
        } else if (name == "--block-size") {
            o.block_size = to_count(name, value, 64, 1024);
            const auto& sizes = ladder::block_sizes;
            if (std::find(std::begin(sizes), std::end(sizes), o.block_size) == std::end(sizes)) {
                throw std::invalid_argument("--block-size: the kernels know no blocks of " + value +
                                            "; give 64, 128, 256, 512 or 1024");
            }
        } else if (name == "--pending-launches") {
            o.pending_launches = to_count(name, value, 1, 1000000);
        } else if (name == "--json" || name == "--csv") {
            if (value.empty()) throw std::invalid_argument(name + ": give the name of a file");
            (name == "--json" ? o.json : o.csv) = value;
        } else {
            throw std::invalid_argument("unknown argument " + name + "; see --help");
        }
    }
    return true;
}

// ---- device memory, and the GPU

struct gpu {
    cudaDeviceProp properties{};
    int driver = 0;
    int runtime = 0;
};

struct free_device {
    void operator()(void* memory) const { static_cast<void>(cudaFree(memory)); }
};
template <class T>
using device_array = std::unique_ptr<T, free_device>;  // of T; the deleter knows no types

template <class T>
device_array<T> make_device_array(std::size_t count, const char* what) {
    void* memory = nullptr;
    dynpar::check(cudaMalloc(&memory, count * sizeof(T)), what);
    return device_array<T>(static_cast<T*>(memory));
}

template <class T>
T read_one(const T* there, const dynpar::stream& stream) {
    T here;
    dynpar::check(cudaMemcpyAsync(&here, there, sizeof here, cudaMemcpyDeviceToHost, stream.handle()),
                  "reading a total");
    dynpar::synchronize(stream);
    return here;
}

// ---- what is measured

// One that adds up numbers of type T: how to start it, and where its total is.
template <class T>
struct contender {
    row result;
    bool overwrites = false;  // the numbers
    std::function<void()> start;
    std::function<ladder::total<T>()> read;
    std::vector<double> milliseconds;
};

constexpr std::size_t flush_bytes = std::size_t{256} << 20;  // several times the L2 cache of any GPU so far

template <class T>
class arena {
public:
    arena(const options& o, unsigned elements, const std::vector<T>& numbers)
        : options_(o),
          elements_(elements),
          reference_(ladder::reference_sum(numbers)),
          source_(make_device_array<T>(elements, "allocating the numbers")),
          data_(make_device_array<T>(elements, "allocating the numbers' copy")),
          sums_count_((elements + o.block_size - 1) / o.block_size),
          sums_(make_device_array<T>(sums_count_, "allocating the blocks' sums")),
          total_(make_device_array<ladder::total<T>>(1, "allocating the total")),
          cub_total_(make_device_array<T>(1, "allocating CUB's total")),
          flush_(make_device_array<unsigned char>(flush_bytes, "allocating what is to fill the cache")) {
        dynpar::check(cudaMemcpy(source_.get(), numbers.data(), elements * sizeof(T), cudaMemcpyHostToDevice),
                      "copying the numbers");
    }

    const ladder::reference<T>& reference() const { return reference_; }

    std::vector<row> run() {
        add_copy();
        add_cub();
        ladder::visit_kernels(options_.block_size, [&](auto kernel) { add_kernel(kernel); });
        for (unsigned run = 0; run < options_.runs + 3; ++run) {
            const bool warm = run >= 3;  // the first runs load kernels and raise clocks
            for (std::size_t i = 0; i < contenders_.size(); ++i) {
                run_once(contenders_[run % 2 == 0 ? i : contenders_.size() - 1 - i], warm);
            }
        }
        std::vector<row> rows;
        for (contender<T>& c : contenders_) {
            c.result.milliseconds = reductions::spread_of(c.milliseconds);
            c.result.runs = options_.runs;
            rows.push_back(c.result);
        }
        return rows;
    }

private:
    contender<T>& add(const char* kind, const char* name) {
        contenders_.emplace_back();
        contender<T>& c = contenders_.back();
        c.result.elements = elements_;
        c.result.type = std::is_integral_v<T> ? "int" : "float";
        c.result.kind = kind;
        c.result.kernel = name;
        return c;
    }

    void add_copy() {
        contender<T>& c = add("copy", "copy on the device");
        c.start = [this] { restore(); };
        c.read = [this] { return reference_.sum; };
    }

    void add_cub() {
        std::size_t bytes = 0;
        dynpar::check(cub::DeviceReduce::Sum(nullptr, bytes, data_.get(), cub_total_.get(), elements_), "asking CUB");
        cub_memory_ = make_device_array<unsigned char>(bytes, "allocating CUB's memory");
        contender<T>& c = add("cub", "cub::DeviceReduce::Sum");
        // CUB says nothing of its order. Taken for granted: 256 threads or more on each multiprocessor share the
        // numbers out evenly, and what a thread adds up it adds up one after another.
        int multiprocessors = 0;
        dynpar::check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "asking the GPU");
        c.result.bound = ladder::error_bound(reference_, std::ceil(elements_ / (256.0 * multiprocessors)) + 64);
        c.start = [this, bytes]() mutable {
            dynpar::check(cub::DeviceReduce::Sum(cub_memory_.get(), bytes, data_.get(), cub_total_.get(), elements_,
                                                 stream_.handle()),
                          "launching CUB's sum");
        };
        c.read = [this] { return static_cast<ladder::total<T>>(read_one(cub_total_.get(), stream_)); };
    }

    template <class Kernel>
    void add_kernel(Kernel kernel) {
        contender<T>& c = add("ladder", Kernel::name);
        c.overwrites = Kernel::in_place;
        c.result.as_published = Kernel::as_published;
        c.result.bound = ladder::error_bound(reference_, ladder::additions_of<Kernel>(options_.block_size));
        const dynpar::shape shape = ladder::shape_for<Kernel, T>(elements_, options_.block_size);
        const auto sums = static_cast<unsigned>(shape.blocks.count());
        c.start = [this, kernel, shape, sums] {
            const auto launch_of = [](const dynpar::shape& s, const char* name) {
                return dynpar::launch_configuration(s.blocks, s.threads, s.shared_bytes).named(name);
            };
            dynpar::launch(stream_, launch_of(shape, Kernel::name), samples::plain_entry<Kernel, T*, T*, unsigned>,
                           kernel, data_.get(), sums_.get(), elements_);
            dynpar::launch(stream_, launch_of(ladder::shape_for_add_sums<T>(), ladder::add_sums::name),
                           samples::plain_entry<ladder::add_sums, const T*, unsigned, ladder::total<T>*>,
                           ladder::add_sums{}, sums_.get(), sums, total_.get());
        };
        c.read = [this] { return read_one(total_.get(), stream_); };
    }

    void restore() {
        dynpar::check(cudaMemcpyAsync(data_.get(), source_.get(), elements_ * sizeof(T), cudaMemcpyDeviceToDevice,
                                      stream_.handle()),
                      "restoring the numbers");
        dirty_ = false;
    }

    // Bytes of ones: as an integer -1, as a floating-point number none.
    void poison(void* memory, std::size_t bytes) {
        dynpar::check(cudaMemsetAsync(memory, 0xff, bytes, stream_.handle()), "poisoning the results");
    }

    void run_once(contender<T>& c, bool warm) {
        if (dirty_) restore();
        poison(sums_.get(), sums_count_ * sizeof(T));
        poison(total_.get(), sizeof(ladder::total<T>));
        poison(cub_total_.get(), sizeof(T));
        // Last, so that nothing of the numbers is left in the cache; and it lasts longer than the host needs to give
        // the stream what follows, so that no launch is waited for between the events.
        poison(flush_.get(), flush_bytes);
        begin_.record(stream_);
        c.start();
        end_.record(stream_);
        dynpar::synchronize(stream_);
        if (c.overwrites) dirty_ = true;
        double error = 0;
        const bool right = ladder::is_right<T>(c.read(), reference_, c.result.bound, error);
        if (!warm) return;
        c.milliseconds.push_back(dynpar::milliseconds_between(begin_, end_));
        if (!right) ++c.result.wrong_runs;
        // Once it is no number it stays that: NaN compares false.
        if (!(error <= c.result.error)) c.result.error = error;
    }

    const options& options_;
    unsigned elements_;
    ladder::reference<T> reference_;
    dynpar::stream stream_;
    dynpar::event begin_{dynpar::event_timing::on};
    dynpar::event end_{dynpar::event_timing::on};
    device_array<T> source_;
    device_array<T> data_;
    std::size_t sums_count_;
    device_array<T> sums_;
    device_array<ladder::total<T>> total_;
    device_array<T> cub_total_;
    device_array<unsigned char> cub_memory_;
    device_array<unsigned char> flush_;
    bool dirty_ = true;
    std::vector<contender<T>> contenders_;
};

// ---- the table

void print(const std::vector<row>& rows) {
    std::printf("%-30s %10s %22s %8s %8s %8s  %s\n", "kernel", "median ms", "quartiles", "GB/s", "of copy", "of CUB",
                "result");
    for (const row& r : rows) {
        std::printf("%-30s %10.4f (%9.4f ..%9.4f) %8.1f %8.3f %8.3f  %s", r.kernel.c_str(), r.milliseconds.median,
                    r.milliseconds.low, r.milliseconds.high, r.gb_per_s, r.of_copy, r.of_cub, r.judgement().c_str());
        if (r.type == "float" && r.adds_up()) std::printf("; error %.3g (bound %.3g)", r.error, r.bound);
        std::printf("\n");
    }
    std::fflush(stdout);
}

// Adds the rates, now that the copy's and CUB's times are known.
void compare(std::vector<row>& rows, double copy, double cub) {
    for (row& r : rows) {
        if (r.kind == std::string("nothing")) continue;
        const bool is_copy = r.kind == std::string("copy");
        const double bytes = 4.0 * r.elements * (is_copy ? 2 : 1);  // a copy moves each twice
        r.gb_per_s = bytes / r.milliseconds.median / 1e6;
        r.of_copy = r.gb_per_s / (2 * 4.0 * r.elements / copy / 1e6);
        if (!is_copy) r.of_cub = cub / r.milliseconds.median;
    }
}

nlohmann::json to_json(const row& r) {
    return {{"elements", r.elements},
            {"type", r.type},
            {"kernel", r.kernel},
            {"kind", r.kind},
            {"clock", r.clock},
            {"milliseconds",
             {{"median", r.milliseconds.median},
              {"first_quartile", r.milliseconds.low},
              {"third_quartile", r.milliseconds.high},
              {"least", r.milliseconds.least}}},
            {"gb_per_s", r.gb_per_s},
            {"fraction_of_copy", r.of_copy},
            {"fraction_of_cub", r.of_cub},
            {"runs", r.runs},
            {"wrong_runs", r.wrong_runs},
            {"lost_launches", r.lost_launches},
            {"greatest_error", r.error},  // null where it is no number
            {"error_bound", r.bound},
            {"as_published", r.as_published},
            {"result", r.judgement()}};
}

void write_file(const std::string& option, const std::string& name, const std::string& text) {
    std::ofstream file(name);
    file << text;
    if (!file.flush()) throw std::runtime_error(option + " " + name + ": the file cannot be written");
}

std::string to_csv(const std::vector<row>& rows) {
    std::string text =
        "elements,type,kernel,kind,median_ms,first_quartile_ms,third_quartile_ms,gb_per_s,fraction_of_copy,"
        "fraction_of_cub,runs,wrong_runs,result\n";
    for (const row& r : rows) {
        char line[400];
        std::snprintf(line, sizeof line, "%u,%s,%s,%s,%.6g,%.6g,%.6g,%.6g,%.4f,%.4f,%u,%u,\"%s\"\n", r.elements,
                      r.type.c_str(), r.kernel.c_str(), r.kind, r.milliseconds.median, r.milliseconds.low,
                      r.milliseconds.high, r.gb_per_s, r.of_copy, r.of_cub, r.runs, r.wrong_runs,
                      r.judgement().c_str());
        text += line;
    }
    return text;
}

template <class T>
std::vector<row> measure(const options& o, unsigned elements, nlohmann::json& loops) {
    const std::vector<T> numbers = ladder::make_numbers<T>(elements);
    std::vector<row> rows;
    ladder::reference<T> reference;
    {
        arena<T> flat(o, elements, numbers);
        rows = flat.run();
        reference = flat.reference();
    }
    const double copy = rows[0].milliseconds.median;
    const double cub = rows[1].milliseconds.median;
    if constexpr (std::is_same_v<T, int>) {
        if (o.nested_runs != 0 && elements % o.block_size == 0) {  // they halve whole blocks, as published
            reductions::measure_nested(o, numbers, reference.sum, rows);
        }
    } else {
        // What becomes of the textbooks' loop on a CPU, with a sum of one float.
        float sum = 0;
        for (const float number : numbers) sum += number;
        loops.push_back({{"elements", elements}, {"sum", sum}, {"compensated_sum", reference.sum}});
    }
    compare(rows, copy, cub);
    std::printf("\n%u %ss, blocks of %u\n", elements, std::is_integral_v<T> ? "int" : "float", o.block_size);
    print(rows);
    if constexpr (!std::is_integral_v<T>) {
        std::printf("a loop on the CPU with a sum of one float: %.8g; the compensated sum: %.8g\n",
                    loops.back()["sum"].get<double>(), reference.sum);
    }
    return rows;
}

int benchmark(const options& o, const std::string& command) {
    int device_count = 0;
    const cudaError_t found = cudaGetDeviceCount(&device_count);
    if (found != cudaSuccess || device_count == 0) {
        std::fprintf(stderr, "reductions: needs a GPU: there is none to use (%s); run it on a machine with one\n",
                     cudaGetErrorString(found));
        return 2;
    }
    gpu device;
    dynpar::check(cudaGetDeviceProperties(&device.properties, 0), "asking for the GPU's name");
    dynpar::check(cudaDriverGetVersion(&device.driver), "asking for the driver's version");
    dynpar::check(cudaRuntimeGetVersion(&device.runtime), "asking for the runtime's version");
    const unsigned cub_version[] = {CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION};
    const std::string cub =
        std::to_string(cub_version[0]) + "." + std::to_string(cub_version[1]) + "." + std::to_string(cub_version[2]);
    std::printf("%s, cc %d.%d, L2 %d MiB, CUDA runtime %d, driver %d, CUB %s\n", device.properties.name,
                device.properties.major, device.properties.minor, device.properties.l2CacheSize >> 20, device.runtime,
                device.driver, cub.c_str());
    std::printf(
        "%u runs of each, taking turns, the L2 cache overwritten before each; nested ones %u runs, by the host's "
        "clock,\npending launches %u. GB/s: each number counted once. of CUB: CUB's time over this one's.\n",
        o.runs, o.nested_runs, o.pending_launches);

    std::vector<row> all;
    nlohmann::json loops = nlohmann::json::array();
    for (const unsigned elements : o.elements) {
        for (const row& r : measure<int>(o, elements, loops)) all.push_back(r);
        for (const row& r : measure<float>(o, elements, loops)) all.push_back(r);
    }

    if (!o.json.empty()) {
        nlohmann::json results = nlohmann::json::array();
        for (const row& r : all) results.push_back(to_json(r));
        const nlohmann::json record = {{"benchmark", "reductions"},
                                       {"machine", host_name()},
                                       {"date", now_utc()},
                                       {"command", command},
                                       {"gpu", device.properties.name},
                                       {"compute_capability", std::to_string(device.properties.major) + "." +
                                                                  std::to_string(device.properties.minor)},
                                       {"l2_bytes", device.properties.l2CacheSize},
                                       {"cuda_runtime", device.runtime},
                                       {"cuda_driver", device.driver},
                                       {"cub", cub},
                                       {"runs", o.runs},
                                       {"nested_runs", o.nested_runs},
                                       {"block_size", o.block_size},
                                       {"pending_launches", o.pending_launches},
                                       {"results", results},
                                       {"float_loops_on_cpu", loops}};
        write_file("--json", o.json, record.dump(2) + "\n");
    }
    if (!o.csv.empty()) write_file("--csv", o.csv, to_csv(all));

    unsigned wrong = 0;
    for (const row& r : all) wrong += r.acceptable() ? 0 : 1;
    std::printf("\n%s\n", wrong == 0 ? "right wherever that is promised"
                                     : (std::to_string(wrong) + " of these are WRONG and should be right").c_str());
    return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    return benchmarks::run_benchmark<options>("reductions", usage, argc, argv, parse, benchmark);
}
