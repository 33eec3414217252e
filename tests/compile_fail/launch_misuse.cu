// Wrong uses of the launch helpers, one for each value of MISUSE. Each must stop the compilation with a sentence that a
// person can act on: see CMakeLists.txt. With MISUSE 0 the file is right.
#include <string>

#include <dynpar/launch.cuh>
#include <dynpar/stream.cuh>

struct not_trivial {
    int value;
    __host__ __device__ not_trivial(const not_trivial& other) : value(other.value) {}
};

__global__ void take_two(int*, float) {}
__global__ void take_not_trivial(not_trivial) {}

__global__ void parent(int* data) {
    namespace device = dynpar::device;
    device::launch({1, 32}, take_two, data, 1);
#if MISUSE == 1
    device::launch({1, 32}, take_two, data);
#elif MISUSE == 2
    device::launch({1, 32}, take_two, 1.0, 2.0f);
#elif MISUSE == 3
    device::tail_launch({1, 32}, take_two, data, 1.0f, 2);
#elif MISUSE == 4
    dynpar::stream_view of_the_host;
    device::launch(of_the_host, {1, 32}, take_two, data, 1.0f);
#elif MISUSE == 5
    device::launch(0, {1, 32}, take_two, data, 1.0f);
#endif
}

void use(int* data) {
    dynpar::stream stream;
    dynpar::launch(stream, {1, 32}, parent, data);
#if MISUSE == 6
    dynpar::launch(stream, {1, 32}, take_two, data);
#elif MISUSE == 7
    dynpar::launch(stream, {1, 32}, take_two, std::string("data"), 1.0f);
#elif MISUSE == 8
    void (*kernel)(not_trivial) = take_not_trivial;
    dynpar::launch(stream, {1, 32}, kernel, *static_cast<const not_trivial*>(nullptr));
#elif MISUSE == 9
    dynpar::launch(nullptr, {1, 32}, parent, data);
#elif MISUSE == 10
    dynpar::device::stream_view of_a_block;
    dynpar::launch(of_a_block, {1, 32}, parent, data);
#endif
}
