// The log of failed device calls: a table in device memory that counts them by kind, and the host's reading of it.
#include <dynpar/device_log.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <mutex>

#include <dynpar/detail/device_log.cuh>
#include <dynpar/detail/printable.hpp>
#include <dynpar/report.hpp>
#include <dynpar/stream.cuh>

namespace dynpar {
namespace {

constexpr unsigned kinds = 128;        // of failures that are told apart
constexpr unsigned file_length = 160;  // characters kept of a path: its end, which tells more than its beginning
constexpr unsigned name_length = 64;   // characters kept of a kernel's name: its beginning

// What is known of one kind of failure: written once, by the thread that finds the kind new. Text is copied into it
// because the host cannot read a string literal of device code through its pointer.
struct kind_record {
    char file[file_length];
    char kernel[name_length];
    int line;
    int code;
    unsigned grid[3];
    unsigned block[3];
    unsigned shared_bytes;
    device_call call;
};

// The counters only ever grow. The host remembers how far it has read, and so needs to clear nothing: a failure logged
// by another stream while the host reads is not lost, it is read the next time. `failed` is raised last, after all the
// rest that belongs to the same failure, so a host that finds it unchanged has nothing new to read.
struct log_head {               // all that the host reads as long as nothing new has failed
    unsigned long long failed;  // all failed calls
    // Written by the host, 0 before: so a log that cudaDeviceReset has made anew is told from the old one.
    unsigned long long generation;
};

struct log_counters {
    log_head head;
    unsigned long long unlisted_launches;  // those of them that were launches whose kind found no place
    unsigned long long unlisted_others;    // likewise, other calls
    unsigned long long key[kinds];         // identity of the kind in this place; 0: the place is free
    unsigned long long count[kinds];       // calls of the kind
    unsigned long long complete[kinds];    // 1 once the kind's record can be read
};

__device__ log_counters counters;
__device__ kind_record records[kinds];

// Whether the failure of this call means that a grid did not run.
DYNPAR_FUNCTION constexpr bool loses_a_launch(device_call call) {
    return call == device_call::launch || call == device_call::tail_launch;
}

// FNV-1a over 64 bits: two kinds that are told apart by nothing but their key must not meet, and these practically
// never do.
struct hash {
    unsigned long long value = 14695981039346656037ull;

    __device__ void add(unsigned byte) { value = (value ^ (byte & 0xff)) * 1099511628211ull; }
    __device__ void add_word(unsigned word) {
        for (unsigned shift = 0; shift < 32; shift += 8) add(word >> shift);
    }
    __device__ void add_text(const char* text) {
        for (; *text != '\0'; ++text) add(static_cast<unsigned char>(*text));
        add(0);
    }
};

__device__ unsigned text_length(const char* text) {
    unsigned length = 0;
    while (text[length] != '\0') ++length;
    return length;
}

// As much of the text as there is room for, with a closing zero. The device has no strncpy.
__device__ void copy_text(char* to, unsigned room, const char* from) {
    unsigned i = 0;
    for (; i + 1 < room && from[i] != '\0'; ++i) to[i] = from[i];
    to[i] = '\0';
}

}  // namespace

namespace detail {

__device__ __noinline__ void add_to_device_log(device_call call, cudaError_t code, const char* file, int line,
                                               const char* kernel_name, unsigned grid_x, unsigned grid_y,
                                               unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                                               unsigned shared_bytes) {
    if (file == nullptr) file = "";
    if (kernel_name == nullptr) kernel_name = "";
    hash identity;
    identity.add_word(static_cast<unsigned>(call));
    identity.add_word(static_cast<unsigned>(code));
    identity.add_word(line);
    identity.add_text(file);
    identity.add_text(kernel_name);
    const unsigned long long key = identity.value != 0 ? identity.value : 1;

    bool counted = false;
    for (unsigned probe = 0; probe < kinds && !counted; ++probe) {
        const unsigned place = static_cast<unsigned>((key + probe) % kinds);
        const unsigned long long found = atomicCAS(&counters.key[place], 0ull, key);
        if (found != 0 && found != key) continue;
        if (found == 0) {
            kind_record& record = records[place];
            const unsigned length = text_length(file);
            copy_text(record.file, file_length, length < file_length ? file : file + (length - file_length + 1));
            copy_text(record.kernel, name_length, kernel_name);
            record.line = line;
            record.code = static_cast<int>(code);
            record.grid[0] = grid_x;
            record.grid[1] = grid_y;
            record.grid[2] = grid_z;
            record.block[0] = block_x;
            record.block[1] = block_y;
            record.block[2] = block_z;
            record.shared_bytes = shared_bytes;
            record.call = call;
            __threadfence();  // the host must not find the record complete before it is
            atomicExch(&counters.complete[place], 1ull);
        }
        atomicAdd(&counters.count[place], 1ull);
        counted = true;
    }
    if (!counted) atomicAdd(loses_a_launch(call) ? &counters.unlisted_launches : &counters.unlisted_others, 1ull);
    __threadfence();
    atomicAdd(&counters.head.failed, 1ull);
}

}  // namespace detail

namespace {

// How far the host has read, for each device.
struct already_read {
    unsigned long long generation = 0;
    unsigned long long failed = 0;
    unsigned long long unlisted_launches = 0;
    unsigned long long unlisted_others = 0;
    std::array<unsigned long long, kinds> count{};
};

struct reader {
    std::mutex mutex;
    std::map<int, already_read> devices;
    unsigned long long generations = 0;  // given out so far
};

// Never destroyed, so that a check in some destructor at exit still finds it.
reader& the_reader() {
    static reader* const instance = new reader;
    return *instance;
}

template <class T>
void read(T& host, const void* device_memory, std::size_t bytes, cudaStream_t stream, source_place place) {
    const char* const doing = "reading the log of device launches";
    check(cudaMemcpyAsync(&host, device_memory, bytes, cudaMemcpyDeviceToHost, stream), doing, place);
    check(cudaStreamSynchronize(stream), doing, place);
}

}  // namespace

namespace detail {

void check_device_launches_on(cudaStream_t stream, source_place place) {
    const char* const doing = "reading the log of device launches";
    int device = 0;
    check(cudaGetDevice(&device), doing, place);
    void* counters_there = nullptr;
    void* records_there = nullptr;
    check(cudaGetSymbolAddress(&counters_there, counters), doing, place);
    check(cudaGetSymbolAddress(&records_there, records), doing, place);

    // The device is asked without the lock: a thread must not wait here for the work of another thread's stream.
    log_head head{};
    read(head, counters_there, sizeof head, stream, place);
    {
        const std::lock_guard<std::mutex> lock(the_reader().mutex);
        already_read& before = the_reader().devices[device];
        if (head.generation == 0 || head.generation != before.generation) {
            // Perhaps the first check since the start or a reset of the device; perhaps another thread was first.
            read(head, counters_there, sizeof head, stream, place);
            if (head.generation == 0 || head.generation != before.generation) {
                before = already_read{};
                before.generation = ++the_reader().generations;
                void* const generation_there = static_cast<char*>(counters_there) + offsetof(log_head, generation);
                check(cudaMemcpyAsync(generation_there, &before.generation, sizeof before.generation,
                                      cudaMemcpyHostToDevice, stream),
                      doing, place);
                check(cudaStreamSynchronize(stream), doing, place);
            }
        }
        if (head.failed == before.failed) return;
    }
    log_counters now{};
    read(now, counters_there, sizeof now, stream, place);
    // In a second copy, begun after the first has ended: each record that was complete then is whole now.
    std::array<kind_record, kinds> records_now{};
    read(records_now, records_there, sizeof(kind_record) * kinds, stream, place);

    std::vector<device_failure> failures;
    std::uint64_t lost_launches = 0;
    std::uint64_t failed_calls = 0;
    {
        const std::lock_guard<std::mutex> lock(the_reader().mutex);
        already_read& before = the_reader().devices[device];
        if (now.head.generation != before.generation) return;  // reset in between: nothing of it is left to report
        const auto added = [](unsigned long long count, unsigned long long& read_before) {
            // Another thread may have read a later state than this one: then there is nothing for this one to report.
            const unsigned long long more = count > read_before ? count - read_before : 0;
            read_before += more;
            return more;
        };
        lost_launches = added(now.unlisted_launches, before.unlisted_launches);
        failed_calls = lost_launches + added(now.unlisted_others, before.unlisted_others);
        before.failed = std::max(before.failed, now.head.failed);
        for (unsigned i = 0; i < kinds; ++i) {
            const std::uint64_t count = now.complete[i] != 0 ? added(now.count[i], before.count[i]) : 0;
            if (count == 0) continue;
            const kind_record& record = records_now[i];
            failed_calls += count;
            if (loses_a_launch(record.call)) lost_launches += count;
            device_failure failure;
            failure.call = record.call;
            failure.code = static_cast<cudaError_t>(record.code);
            failure.file = record.file;
            failure.line = record.line;
            failure.kernel = record.kernel;
            failure.first_shape =
                shape(dimensions(record.grid[0], record.grid[1], record.grid[2]),
                      dimensions(record.block[0], record.block[1], record.block[2]), record.shared_bytes);
            failure.count = count;
            failures.push_back(std::move(failure));
        }
    }
    if (failed_calls == 0) return;

    std::size_t pending_limit = 0;
    if (cudaDeviceGetLimit(&pending_limit, cudaLimitDevRuntimePendingLaunchCount) != cudaSuccess) {
        static_cast<void>(cudaGetLastError());  // the message is as good without it
        pending_limit = 0;
    }
    throw device_launch_error(std::move(failures), lost_launches, failed_calls, pending_limit);
}

}  // namespace detail

void check_device_launches(source_place place) {
    const stream own(place);  // CUDA's default stream would wait for all blocking streams
    detail::check_device_launches_on(own.handle(), place);
}

std::string describe(const device_failure& failure, std::uint64_t pending_limit) {
    std::string line = std::to_string(failure.count) + " x " + to_string(failure.call);
    if (loses_a_launch(failure.call)) {
        line += " of " + (failure.kernel.empty() ? std::string("a kernel") : detail::printable(failure.kernel)) + " " +
                to_string(failure.first_shape);
    }
    line += " at " + detail::printable(failure.file) + ":" + std::to_string(failure.line) + ": " +
            cudaGetErrorName(failure.code) + " (" + std::to_string(static_cast<int>(failure.code)) + ")";
    if (failure.code == cudaErrorLaunchPendingCountExceeded && pending_limit != 0) {
        line += ", the limit in force is " + std::to_string(pending_limit);
    }
    if (const char* what_to_do = advice(failure.code); *what_to_do != '\0') line += std::string("; ") + what_to_do;
    return line;
}

namespace {

std::string describe(const std::vector<device_failure>& failures, std::uint64_t lost_launches,
                     std::uint64_t failed_calls, std::uint64_t pending_limit) {
    std::string text = "dynpar: " + std::to_string(lost_launches) + " launches in device code did not run";
    if (failed_calls != lost_launches)
        text += ", " + std::to_string(failed_calls - lost_launches) + " other calls failed";
    std::uint64_t listed = 0;
    for (const device_failure& failure : failures) {
        text += "\n  " + dynpar::describe(failure, pending_limit);
        listed += failure.count;
    }
    if (failed_calls > listed) text += "\n  and " + std::to_string(failed_calls - listed) + " more of further kinds";
    return text;
}

}  // namespace

device_launch_error::device_launch_error(std::vector<device_failure> failures, std::uint64_t lost_launches,
                                         std::uint64_t failed_calls, std::uint64_t pending_limit)
    : std::runtime_error(describe(failures, lost_launches, failed_calls, pending_limit)),
      failures_(std::move(failures)),
      lost_launches_(lost_launches),
      failed_calls_(failed_calls),
      pending_limit_(pending_limit) {}

}  // namespace dynpar
