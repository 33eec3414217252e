// What a GPU has to share out among blocks, warps and threads, and the limits of its device runtime: as a table or as
// JSON.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#if defined(DYNPAR_WITH_CUDA)
#include <cuda_runtime_api.h>

#include <dynpar/cuda_error.hpp>
#include <dynpar/limits.hpp>
#endif

#include "../command_line.hpp"

namespace {

/// One line of the table, one member of the JSON.
struct fact {
    std::string group;             ///< the object in the JSON: "multiprocessor"
    std::string key;               ///< its name in the JSON: "registers"
    nlohmann::ordered_json value;  ///< an integer, a number or text; null where this GPU or driver does not tell
    std::string unit;              ///< of the table: "bytes", or ""
    std::string meaning;           ///< in the table: "32-bit registers, shared out among threads"
};

#if defined(DYNPAR_WITH_CUDA)

int current_device() {
    int device = 0;
    dynpar::check(cudaGetDevice(&device), "asking for the device");
    return device;
}

/// An attribute of the device, or null where it is unknown to the driver.
nlohmann::ordered_json attribute(cudaDeviceAttr which) {
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, current_device()) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());
        return nullptr;
    }
    return value;
}

/// a / b rounded down, null where one of them is unknown or b is 0.
nlohmann::ordered_json quotient(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b) {
    if (!a.is_number_integer() || !b.is_number_integer() || b.get<std::int64_t>() == 0) return nullptr;
    return a.get<std::int64_t>() / b.get<std::int64_t>();
}

nlohmann::ordered_json or_null(const std::optional<std::size_t>& value) {
    return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

std::string version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }

std::vector<fact> query() {
    cudaDeviceProp properties{};
    dynpar::check(cudaGetDeviceProperties(&properties, current_device()), "asking for the device's properties");
    int driver = 0;
    int runtime = 0;
    dynpar::check(cudaDriverGetVersion(&driver), "asking for the driver's version");
    dynpar::check(cudaRuntimeGetVersion(&runtime), "asking for the runtime's version");
    const dynpar::limits limits = dynpar::device_limits();

    const auto warp = attribute(cudaDevAttrWarpSize);
    const auto sms = attribute(cudaDevAttrMultiProcessorCount);
    const auto sm_threads = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
    const auto sm_registers = attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
    const auto sm_shared = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    const auto sm_blocks = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
    const auto memory_clock = attribute(cudaDevAttrMemoryClockRate);  // kHz
    const auto bus = attribute(cudaDevAttrGlobalMemoryBusWidth);      // bits
    nlohmann::ordered_json bandwidth = nullptr;
    if (memory_clock.is_number() && bus.is_number() && memory_clock.get<int>() > 0) {
        bandwidth = 2.0 * memory_clock.get<double>() * 1000 * bus.get<double>() / 8 / 1e9;
    }

    const auto text = [](const char* s) { return nlohmann::ordered_json(s); };
    return {
        {"device", "name", text(properties.name), "", "the GPU"},
        {"device", "compute_capability", std::to_string(properties.major) + "." + std::to_string(properties.minor), "",
         "compute capability"},
        {"device", "driver_cuda", version(driver), "", "newest CUDA that the driver runs"},
        {"device", "runtime_cuda", version(runtime), "", "CUDA that this program was built with"},
        {"device", "multiprocessors", sms, "", "streaming multiprocessors (SMs)"},
        {"device", "global_bytes", properties.totalGlobalMem, "bytes", "global memory"},
        {"device", "l2_bytes", attribute(cudaDevAttrL2CacheSize), "bytes", "L2 cache"},
        {"device", "constant_bytes", properties.totalConstMem, "bytes", "constant memory"},
        {"device", "clock_khz", attribute(cudaDevAttrClockRate), "kHz", "highest clock of the multiprocessors"},
        {"device", "memory_clock_khz", memory_clock, "kHz", "highest clock of the memory"},
        {"device", "memory_bus_bits", bus, "bits", "width of the memory bus"},
        {"device", "memory_gb_per_s", bandwidth, "GB/s", "bandwidth: two transfers a clock over the whole bus"},

        {"multiprocessor", "registers", sm_registers, "", "32-bit registers, shared out among threads"},
        {"multiprocessor", "shared_bytes", sm_shared, "bytes", "shared memory, shared out among blocks"},
        {"multiprocessor", "shared_bytes_reserved", attribute(cudaDevAttrReservedSharedMemoryPerBlock), "bytes",
         "shared memory that CUDA takes of it for each block"},
        {"multiprocessor", "threads", sm_threads, "", "most threads at once"},
        {"multiprocessor", "warps", quotient(sm_threads, warp), "", "most warps at once"},
        {"multiprocessor", "blocks", sm_blocks, "", "most blocks at once"},
        {"multiprocessor", "registers_per_thread_when_full", quotient(sm_registers, sm_threads), "",
         "registers a thread may have if all threads are to fit"},
        {"multiprocessor", "shared_bytes_per_block_when_full", quotient(sm_shared, sm_blocks), "bytes",
         "shared memory a block may have if all blocks are to fit (reserved bytes included)"},
        {"multiprocessor", "threads_per_block_when_full", quotient(sm_threads, sm_blocks), "",
         "threads below which blocks run out before threads do"},

        {"block", "warp_threads", warp, "", "threads in a warp"},
        {"block", "threads", attribute(cudaDevAttrMaxThreadsPerBlock), "", "most threads"},
        {"block", "threads_x", attribute(cudaDevAttrMaxBlockDimX), "", "most threads along x"},
        {"block", "threads_y", attribute(cudaDevAttrMaxBlockDimY), "", "most threads along y"},
        {"block", "threads_z", attribute(cudaDevAttrMaxBlockDimZ), "", "most threads along z"},
        {"block", "registers", attribute(cudaDevAttrMaxRegistersPerBlock), "", "32-bit registers"},
        {"block", "shared_bytes", attribute(cudaDevAttrMaxSharedMemoryPerBlock), "bytes", "shared memory"},
        {"block", "shared_bytes_opt_in", attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), "bytes",
         "shared memory of a kernel that has asked for more (cudaFuncSetAttribute)"},

        {"grid", "blocks_x", attribute(cudaDevAttrMaxGridDimX), "", "most blocks along x"},
        {"grid", "blocks_y", attribute(cudaDevAttrMaxGridDimY), "", "most blocks along y"},
        {"grid", "blocks_z", attribute(cudaDevAttrMaxGridDimZ), "", "most blocks along z"},
        {"grid", "concurrent_kernels", attribute(cudaDevAttrConcurrentKernels), "", "grids may run at the same time"},

        {"device_runtime", "sync_depth", or_null(limits.sync_depth), "",
         "synchronization depth (none where a kernel cannot wait for its children)"},
        {"device_runtime", "pending_launches", or_null(limits.pending_launches), "", "limit on pending launches"},
        {"device_runtime", "stack_bytes", or_null(limits.stack_bytes), "bytes", "stack of a thread"},
        {"device_runtime", "heap_bytes", or_null(limits.heap_bytes), "bytes", "heap of device-side malloc"},
        {"device_runtime", "printf_bytes", or_null(limits.printf_bytes), "bytes", "buffer of device-side printf"},
    };
}

/// Throws `wrong_result` where what the driver says cannot be: then nothing else that it says can be relied on.
void require_sense(const std::vector<fact>& facts) {
    const auto value = [&](const std::string& group, const std::string& key) {
        for (const fact& f : facts) {
            if (f.group == group && f.key == key && f.value.is_number_integer()) return f.value.get<std::int64_t>();
        }
        throw samples::wrong_result("the device does not tell " + group + "." + key);
    };
    const auto require = [](bool holds, const char* what) {
        if (!holds) throw samples::wrong_result(std::string("what the device says does not fit together: ") + what);
    };
    require(value("device", "multiprocessors") >= 1, "it has no multiprocessor");
    require(value("block", "warp_threads") == 32, "a warp is not 32 threads");
    require(value("multiprocessor", "threads") % value("block", "warp_threads") == 0, "threads are no whole warps");
    require(value("multiprocessor", "threads") >= value("block", "threads"), "a full block does not fit");
    require(value("multiprocessor", "registers") >= value("block", "registers"), "a block's registers do not fit");
    require(value("multiprocessor", "shared_bytes") >= value("block", "shared_bytes"), "a block's memory does not fit");
    require(value("device", "constant_bytes") == 65536, "constant memory is not 64 KiB");
}

#else

std::vector<fact> query() { return {}; }
void require_sense(const std::vector<fact>&) {}

#endif

std::string to_text(const fact& f) {
    if (f.value.is_null()) return "none";
    if (f.value.is_string()) return f.value.get<std::string>();
    if (f.value.is_number_float()) {
        char text[40];
        std::snprintf(text, sizeof text, "%.1f", f.value.get<double>());
        return text + (f.unit.empty() ? std::string() : " " + f.unit);
    }
    std::string text = f.value.dump();
    if (f.unit == "bytes" && f.value.get<std::uint64_t>() >= 1024) {
        char more[40];
        const double kib = f.value.get<double>() / 1024;
        std::snprintf(more, sizeof more, kib < 10240 ? " (%.4g KiB)" : " (%.1f MiB)", kib < 10240 ? kib : kib / 1024);
        return text + " bytes" + more;
    }
    return text + (f.unit.empty() ? std::string() : " " + f.unit);
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command("device_query",
                                  "What a GPU shares out among blocks, warps and threads (registers, shared memory, "
                                  "places for warps and blocks), and the limits of its device runtime.");
    bool json = false;
    command.add_flag("--json", json, "as JSON, for programs; what the GPU does not tell is null");
    if (const auto status = command.parse(argc, argv)) return *status;

    try {
        if (const dynpar::gpu_state gpu = samples::probe_gpu(); !gpu.usable) {
            throw samples::input_error("there is no GPU to ask: " + gpu.why_not +
                                       "; run it on a machine with an NVIDIA GPU and its driver");
        }
        const std::vector<fact> facts = query();
        require_sense(facts);
        if (json) {
            nlohmann::ordered_json document;
            for (const fact& f : facts) document[f.group][f.key] = f.value;
            command.say(document.dump(4));
            return samples::success;
        }
        std::string group;
        for (const fact& f : facts) {
            if (f.group != group) {
                std::string title = f.group;
                for (char& c : title) {
                    if (c == '_') c = ' ';
                }
                command.say((group.empty() ? "" : "\n") + title);
                group = f.group;
            }
            char line[240];
            std::snprintf(line, sizeof line, "  %-30s %s", to_text(f).c_str(), f.meaning.c_str());
            command.say(line);
        }
        return samples::success;
    } catch (...) {
        return command.explain_exception();
    }
}
