// The rules of zero-copy, constant and texture memory and of pointers, on plain `__global__` kernels.
#include <cuda_runtime.h>

#include <memory>
#include <string>
#include <vector>

#include <dynpar/cuda_error.hpp>
#include <dynpar/launch.cuh>
#include <dynpar/stream.cuh>

#include "rule.hpp"

namespace visibility {
namespace {

using dynpar::launch_configuration;
namespace device = dynpar::device;

constexpr unsigned data_size = 256;

// ---- memory for these programs

struct free_device_memory {
    void operator()(void* memory) const { static_cast<void>(cudaFree(memory)); }
};
struct free_host_memory {
    void operator()(void* memory) const { static_cast<void>(cudaFreeHost(memory)); }
};

template <class T>
std::unique_ptr<T[], free_device_memory> make_zeros(std::size_t count) {
    void* memory = nullptr;
    dynpar::check(cudaMalloc(&memory, count * sizeof(T)), "allocating device memory");
    std::unique_ptr<T[], free_device_memory> array(static_cast<T*>(memory));
    dynpar::check(cudaMemset(memory, 0, count * sizeof(T)), "clearing device memory");
    dynpar::check(cudaDeviceSynchronize(), "clearing device memory");
    return array;
}

template <class T>
std::vector<T> to_host(const T* there, std::size_t count) {
    std::vector<T> values(count);
    dynpar::check(cudaMemcpy(values.data(), there, count * sizeof(T), cudaMemcpyDeviceToHost), "copying a result");
    return values;
}

// Launches a grid for after the children that the calling thread has launched into its block's default stream.
template <class... Params, class... Args>
__device__ void launch_after_children(const launch_configuration& c, void (*kernel)(Params...), Args... args) {
#if DYNPAR_OLD_DEVICE_RUNTIME
    device::launch(device::stream_view(), c, kernel, args...);  // there is no tail launch: behind them in their stream
#else
    device::tail_launch(c, kernel, args...);
#endif
}

// ---- zero-copy memory: memory of the host that the GPU reads and writes where it is

__global__ void add_one(int* data) { data[threadIdx.x] += 1; }

__global__ void count_incremented(const int* data, unsigned* seen) {
    if (data[threadIdx.x] == static_cast<int>(threadIdx.x) + 1) atomicAdd(seen, 1u);
}

__global__ void zero_copy_parent(int* data, unsigned* seen) {
    data[threadIdx.x] = static_cast<int>(threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) {
        device::launch(device::stream_view(), launch_configuration(1, data_size).named("add_one"), add_one, data);
        launch_after_children(launch_configuration(1, data_size).named("count_incremented"), count_incremented,
                              static_cast<const int*>(data), seen);
    }
}

void try_zero_copy(const rules& out, const dynpar::stream& stream) {
    void* memory = nullptr;
    dynpar::check(cudaHostAlloc(&memory, data_size * sizeof(int), cudaHostAllocMapped), "allocating zero-copy memory");
    const std::unique_ptr<int[], free_host_memory> data(static_cast<int*>(memory));
    for (unsigned i = 0; i < data_size; ++i) data[i] = -1;
    void* mapped = nullptr;
    dynpar::check(cudaHostGetDevicePointer(&mapped, memory, 0), "asking for the GPU's view of zero-copy memory");
    const auto seen = make_zeros<unsigned>(1);
    dynpar::launch(stream, launch_configuration(1, data_size).named("zero_copy_parent"), zero_copy_parent,
                   static_cast<int*>(mapped), seen.get());
    dynpar::synchronize(stream);
    out.promised("zero-copy", "the parent's writes in the child, the child's in a later grid",
                 to_host(seen.get(), 1)[0], data_size);
    unsigned on_host = 0;
    for (unsigned i = 0; i < data_size; ++i) on_host += data[i] == static_cast<int>(i) + 1 ? 1 : 0;
    out.promised("zero-copy", "on the host, without a copy, after it has waited for the stream", on_host, data_size);
}

// ---- constant memory

__constant__ int table[data_size];

__global__ void count_constants(const int* from_parent, int offset, unsigned* seen) {
    const int expected = static_cast<int>(threadIdx.x) + offset;
    // By its name, and through the address that the parent took of it.
    if (table[threadIdx.x] == expected && from_parent[threadIdx.x] == expected) atomicAdd(seen, 1u);
}

__global__ void constant_parent(int offset, unsigned* seen) {
    if (table[threadIdx.x] == static_cast<int>(threadIdx.x) + offset) atomicAdd(seen, 1u);
    if (threadIdx.x == 0) {
        device::launch(launch_configuration(1, data_size).named("count_constants"), count_constants,
                       static_cast<const int*>(table), offset, seen);
    }
}

void try_constant(const rules& out, const dynpar::stream& stream) {
    for (const int offset : {5, 1000}) {
        std::vector<int> values(data_size);
        for (unsigned i = 0; i < data_size; ++i) values[i] = static_cast<int>(i) + offset;
        dynpar::check(cudaMemcpyToSymbol(table, values.data(), sizeof table), "setting constant memory");
        const auto seen = make_zeros<unsigned>(1);
        dynpar::launch(stream, launch_configuration(1, data_size).named("constant_parent"), constant_parent, offset,
                       seen.get());
        dynpar::synchronize(stream);
        out.promised("constant",
                     offset == 5 ? "set by the host: in parent and child, by name and by address"
                                 : "set anew by the host between two runs: the new values",
                     to_host(seen.get(), 1)[0], 2 * data_size);
    }
}

// ---- what kind of memory a pointer points to

__device__ int device_variable[data_size];

struct pointer_kind {
    bool is_global;
    bool is_shared;
    bool is_local;
    bool is_constant;
};

__device__ pointer_kind kind_of(const void* p) {
    return {__isGlobal(p) != 0, __isShared(p) != 0, __isLocal(p) != 0, __isConstant(p) != 0};
}

constexpr const char* pointer_names[] = {
    "cudaMalloc", "__device__", "malloc in the kernel", "zero-copy", "__constant__", "local", "__shared__"};
constexpr unsigned pointers = sizeof pointer_names / sizeof pointer_names[0];
constexpr unsigned good_pointers = 4;  // the first ones: a child may have them

__global__ void look_at_pointers(int* allocated, int* zero_copy, pointer_kind* kinds) {
    __shared__ int block_memory[data_size];
    int thread_memory[10] = {};
    void* heap = malloc(sizeof(int));
    kinds[0] = kind_of(allocated);
    kinds[1] = kind_of(device_variable);
    kinds[2] = kind_of(heap);
    kinds[3] = kind_of(zero_copy);
    kinds[4] = kind_of(table);
    kinds[5] = kind_of(thread_memory);
    kinds[6] = kind_of(block_memory);
    free(heap);
}

void try_pointers(const rules& out, const dynpar::stream& stream) {
    void* host_memory = nullptr;
    dynpar::check(cudaHostAlloc(&host_memory, sizeof(int), cudaHostAllocMapped), "allocating zero-copy memory");
    const std::unique_ptr<int[], free_host_memory> zero_copy(static_cast<int*>(host_memory));
    const auto allocated = make_zeros<int>(1);
    const auto kinds = make_zeros<pointer_kind>(pointers);
    dynpar::launch(stream, launch_configuration(1, 1).named("look_at_pointers"), look_at_pointers, allocated.get(),
                   zero_copy.get(), kinds.get());
    dynpar::synchronize(stream);
    const std::vector<pointer_kind> found = to_host(kinds.get(), pointers);
    std::string list;
    bool all_told = true;
    for (unsigned i = 0; i < pointers; ++i) {
        const pointer_kind k = found[i];
        list += std::string(i == 0 ? "" : ", ") + pointer_names[i] + ": " +
                (k.is_global     ? "global"
                 : k.is_shared   ? "shared"
                 : k.is_local    ? "local"
                 : k.is_constant ? "constant"
                                 : "none");
        if (k.is_global != (i < good_pointers)) all_told = false;
    }
    out.refused("pointers", "__isGlobal tells what may be passed to a child", all_told, list);
}

// ---- texture memory: global memory read through the texture cache

__global__ void fetch_incremented(cudaTextureObject_t texture, unsigned* seen) {
    if (tex1Dfetch<int>(texture, static_cast<int>(threadIdx.x)) == static_cast<int>(threadIdx.x) + 1)
        atomicAdd(seen, 1u);
}

__global__ void fetch_and_add_one(cudaTextureObject_t texture, int* data, unsigned* seen) {
    if (tex1Dfetch<int>(texture, static_cast<int>(threadIdx.x)) == static_cast<int>(threadIdx.x)) atomicAdd(seen, 1u);
    data[threadIdx.x] += 1;
}

// seen[0]: by the child, what the parent wrote; seen[1]: after the child, what it wrote.
__global__ void texture_parent(cudaTextureObject_t texture, int* data, unsigned* seen) {
    // Fetched before it is written, so that the texture cache has old values, if it may.
    const int before = tex1Dfetch<int>(texture, static_cast<int>(threadIdx.x));
    data[threadIdx.x] = static_cast<int>(threadIdx.x) + (before == 0 ? 0 : 1000);
    __syncthreads();
    if (threadIdx.x == 0) {
        device::launch(device::stream_view(), launch_configuration(1, data_size).named("fetch_and_add_one"),
                       fetch_and_add_one, texture, data, &seen[0]);
        launch_after_children(launch_configuration(1, data_size).named("fetch_incremented"), fetch_incremented, texture,
                              &seen[1]);
    }
}

// What a grid fetches of its own writes: nothing is promised.
__global__ void write_and_fetch(cudaTextureObject_t texture, int* data, unsigned* seen) {
    const unsigned other = (threadIdx.x + 32) % data_size;  // an element that another warp writes
    const int before = tex1Dfetch<int>(texture, static_cast<int>(other));
    __syncthreads();
    data[threadIdx.x] = 2000 + static_cast<int>(threadIdx.x);
    __syncthreads();
    const int after = tex1Dfetch<int>(texture, static_cast<int>(other));
    if (before != after && after == 2000 + static_cast<int>(other)) atomicAdd(seen, 1u);
}

class texture_object {
public:
    texture_object(int* data, std::size_t count) {
        cudaResourceDesc resource{};
        resource.resType = cudaResourceTypeLinear;
        resource.res.linear.devPtr = data;
        resource.res.linear.desc = cudaCreateChannelDesc<int>();
        resource.res.linear.sizeInBytes = count * sizeof(int);
        cudaTextureDesc description{};
        description.readMode = cudaReadModeElementType;
        dynpar::check(cudaCreateTextureObject(&handle_, &resource, &description, nullptr), "making a texture object");
    }
    ~texture_object() { static_cast<void>(cudaDestroyTextureObject(handle_)); }
    texture_object(const texture_object&) = delete;
    texture_object& operator=(const texture_object&) = delete;
    cudaTextureObject_t handle() const { return handle_; }

private:
    cudaTextureObject_t handle_ = 0;
};

void try_texture(const rules& out, const dynpar::stream& stream) {
    const auto data = make_zeros<int>(data_size);
    const auto seen = make_zeros<unsigned>(3);
    const texture_object texture(data.get(), data_size);
    dynpar::launch(stream, launch_configuration(1, data_size).named("texture_parent"), texture_parent, texture.handle(),
                   data.get(), seen.get());
    dynpar::synchronize(stream);
    dynpar::launch(stream, launch_configuration(1, data_size).named("write_and_fetch"), write_and_fetch,
                   texture.handle(), data.get(), seen.get() + 2);
    dynpar::synchronize(stream);
    const std::vector<unsigned> counted = to_host(seen.get(), 3);
    out.promised("texture", "a child fetches what its parent's block wrote before the launch", counted[0], data_size);
    out.promised("texture", "a grid after the child fetches what the child wrote", counted[1], data_size);
    out.not_promised("texture", "a grid fetches what it has written itself", counted[2], data_size);
}

// ---- copies by the device runtime

// Hides from the compiler where a pointer points to: it warns where it sees.
__device__ int* laundered(int* p) {
    unsigned long long address = reinterpret_cast<unsigned long long>(p);
    asm volatile("" : "+l"(address));
    return reinterpret_cast<int*>(address);
}

// codes: of a copy from global, from local and from shared memory.
__global__ void copy_from_everywhere(int* global_memory, int* to, int* codes) {
    __shared__ int block_memory[1];
    int thread_memory[1] = {1};
    block_memory[0] = 2;
    int* const sources[] = {global_memory, laundered(thread_memory), laundered(block_memory)};
    for (int i = 0; i < 3; ++i) {
        codes[i] = cudaMemcpyAsync(to, sources[i], sizeof(int), cudaMemcpyDeviceToDevice, nullptr);
        static_cast<void>(cudaGetLastError());
    }
}

void try_copies(const rules& out, const dynpar::stream& stream) {
    const auto memory = make_zeros<int>(2);
    const auto codes = make_zeros<int>(3);
    dynpar::launch(stream, launch_configuration(1, 1).named("copy_from_everywhere"), copy_from_everywhere, memory.get(),
                   memory.get() + 1, codes.get());
    dynpar::synchronize(stream);
    const std::vector<int> told = to_host(codes.get(), 3);
    const auto name = [&](std::size_t i) { return cudaGetErrorName(static_cast<cudaError_t>(told[i])); };
    if (told[0] != cudaSuccess) {
        throw samples::wrong_result(std::string("cudaMemcpyAsync in a kernel, of global memory: ") + name(0));
    }
    out.refused("local", "cudaMemcpyAsync from it in a kernel", told[1] != cudaSuccess, name(1));
    out.refused("shared", "cudaMemcpyAsync from it in a kernel", told[2] != cudaSuccess, name(2));
}

// ---- what is undefined

// Read through a pointer that must not be there.
__global__ void read_array(const int* array, int* result) {
    for (int i = 0; i < 10; ++i) result[i] = array[i];
    result[10] = 1;  // it came to its end
}

__global__ void pass_forbidden(bool shared, int* result) {
    __shared__ int block_memory[10];
    int thread_memory[10];
    for (int i = 0; i < 10; ++i) thread_memory[i] = block_memory[i] = 100 + i;
    __syncthreads();
    device::launch(launch_configuration(1, 1).named("read_array"), read_array,
                   static_cast<const int*>(laundered(shared ? block_memory : thread_memory)), result);
}

}  // namespace

void try_plain_rules(const rules& out) {
    const dynpar::stream stream;
    try_zero_copy(out, stream);
    try_constant(out, stream);
    try_pointers(out, stream);
    try_copies(out, stream);
    try_texture(out, stream);
}

void try_undefined(const rules& out, const std::string& memory) {
    const dynpar::stream stream;
    const auto result = make_zeros<int>(11);
    const char* const rule = "a child reads it through the pointer that it was passed";
    try {
        dynpar::launch(stream, launch_configuration(1, 1).named("pass_forbidden"), pass_forbidden, memory == "shared",
                       result.get());
        dynpar::synchronize(stream);
        const std::vector<int> read = to_host(result.get(), 11);
        unsigned right = 0;
        for (int i = 0; i < 10; ++i) right += read[static_cast<std::size_t>(i)] == 100 + i ? 1 : 0;
        out.say(memory.c_str(), "undefined", rule,
                std::to_string(right) + " of 10 values arrived (the first: " + std::to_string(read[0]) + ")");
    } catch (const dynpar::cuda_error& e) {
        out.say(memory.c_str(), "undefined", rule, std::string("the CUDA context is lost: ") + e.name());
    }
}

}  // namespace visibility
