// What the compiler can do: the macros with which one source builds with a plain C++ compiler and with nvcc.
#pragma once

#if __cplusplus < 201703L
#error "dynpar needs C++17: compile with -std=c++17 or newer (CMake: target_compile_features, cxx_std_17)"
#endif

/// DYNPAR_FUNCTION marks what runs on every engine: kernels' call operators and the functions that they call.
/// `__host__ __device__` under nvcc, nothing under a plain C++17 compiler.
#if defined(__CUDACC__)
#define DYNPAR_FUNCTION __host__ __device__
#else
#define DYNPAR_FUNCTION
#endif

// From here on it is an error if a function that a kernel calls lacks the mark. By itself nvcc gives a warning, and
// compiles a kernel that does nothing. (20015 is a call of a constexpr function whose value the compiler does not
// know.) Code that only ever runs on the host says so with `#pragma nv_exec_check_disable` before its function;
// `#pragma nv_diag_warning` with these numbers turns the errors back into warnings.
#if defined(__NVCC__)
#pragma nv_diag_error 20011
#pragma nv_diag_error 20014
#pragma nv_diag_error 20015
#endif

/// DYNPAR_HAS_DEVICE_LAUNCH is 1 if device code can launch kernels: nvcc with relocatable device code (`-rdc=true`)
/// or extensible whole program mode (`-ewp`). The device runtime engine and the device side of launch.cuh need it.
#if defined(__CUDACC_RDC__) || defined(__CUDACC_EWP__)
#define DYNPAR_HAS_DEVICE_LAUNCH 1
#else
#define DYNPAR_HAS_DEVICE_LAUNCH 0
#endif

/// DYNPAR_HAS_QUEUE_ENGINE is 1 if the compiler can build the queue engine: nvcc, with or without relocatable device
/// code, and no architecture below compute capability 7.0, whose warps have one program counter for all lanes. nvcc
/// lists the architectures of a file in ascending order, on both sides of the compilation.
#if defined(__CUDACC__) && defined(__CUDA_ARCH_LIST__)
#define DYNPAR_FIRST_OF(first, ...) first
#define DYNPAR_LOWEST_ARCHITECTURE(...) DYNPAR_FIRST_OF(__VA_ARGS__, 0)
#if DYNPAR_LOWEST_ARCHITECTURE(__CUDA_ARCH_LIST__) >= 700
#define DYNPAR_HAS_QUEUE_ENGINE 1
#endif
#undef DYNPAR_LOWEST_ARCHITECTURE
#undef DYNPAR_FIRST_OF
#endif
#if !defined(DYNPAR_HAS_QUEUE_ENGINE)
#define DYNPAR_HAS_QUEUE_ENGINE 0
#endif

/// DYNPAR_ON_DEVICE is 1 while nvcc compiles the device side of a function.
#if defined(__CUDA_ARCH__)
#define DYNPAR_ON_DEVICE 1
#else
#define DYNPAR_ON_DEVICE 0
#endif

/// DYNPAR_ON_HOST is 1 while the compiler compiles the host's side of a function. A simulated GPU has both sides in
/// one.
#if !defined(__CUDA_ARCH__) || defined(DYNPAR_SIMULATED_GPU)
#define DYNPAR_ON_HOST 1
#else
#define DYNPAR_ON_HOST 0
#endif

/// DYNPAR_NO_TRACE, defined as 1, removes everything that writes a trace from device code. That halves the device code
/// of the device runtime engine, which otherwise compiles every kernel twice; engines on a GPU then refuse to trace.
/// Define it alike in all files of a program.
#if !defined(DYNPAR_NO_TRACE)
#define DYNPAR_NO_TRACE 0
#endif

/// DYNPAR_FORCEINLINE is `__forceinline__` on the device and nothing on the host: for functions that take many
/// registers. In relocatable device code each function has its own number of them, and a kernel must not call one that
/// has more.
#if DYNPAR_ON_DEVICE && !defined(DYNPAR_SIMULATED_GPU)
#define DYNPAR_FORCEINLINE __forceinline__
#else
#define DYNPAR_FORCEINLINE
#endif

/// DYNPAR_NOINLINE is `__noinline__` on the device and nothing on the host, whose compiler does not accept both it and
/// `inline` on a function that was declared before.
#if DYNPAR_ON_DEVICE
#define DYNPAR_NOINLINE __noinline__
#else
#define DYNPAR_NOINLINE
#endif
