// What the compiler at hand can do: the macros that let one source build with a plain C++ compiler and with nvcc.
#pragma once

/// DYNPAR_FUNCTION marks what runs on every engine: kernels' call operators and whatever they call.
/// `__host__ __device__` under nvcc, nothing under a plain C++17 compiler.
#if defined(__CUDACC__)
#define DYNPAR_FUNCTION __host__ __device__
#else
#define DYNPAR_FUNCTION
#endif

// A function that a kernel calls and that lacks the mark is an error from here on. By itself nvcc gives a warning, and
// compiles the kernel as if it did nothing. (20015 is a constexpr function whose value is not known to the compiler.)
// Code that only ever runs on the host says so with `#pragma nv_exec_check_disable` before the function that it is in;
// `#pragma nv_diag_warning` with these numbers makes warnings of them again.
#if defined(__NVCC__)
#pragma nv_diag_error 20011
#pragma nv_diag_error 20014
#pragma nv_diag_error 20015
#endif

/// DYNPAR_HAS_DEVICE_LAUNCH is 1 where device code may launch kernels: nvcc with relocatable device code (`-rdc=true`)
/// or extensible whole program mode (`-ewp`). The device runtime engine and the device side of launch.cuh need it.
#if defined(__CUDACC_RDC__) || defined(__CUDACC_EWP__)
#define DYNPAR_HAS_DEVICE_LAUNCH 1
#else
#define DYNPAR_HAS_DEVICE_LAUNCH 0
#endif

/// DYNPAR_HAS_QUEUE_ENGINE is 1 where the compiler can build the queue engine: nvcc, with or without relocatable device
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

/// DYNPAR_NO_TRACE, defined as 1, leaves out of device code all that writes a trace: half the device code of the device
/// runtime engine, which compiles every kernel twice otherwise, and engines on a GPU that refuse to trace. The same in
/// all files of a program.
#if !defined(DYNPAR_NO_TRACE)
#define DYNPAR_NO_TRACE 0
#endif

/// DYNPAR_NOINLINE is `__noinline__` on the device and nothing on the host, whose compiler does not let a function that
/// was declared before be both `inline` and that.
#if DYNPAR_ON_DEVICE
#define DYNPAR_NOINLINE __noinline__
#else
#define DYNPAR_NOINLINE
#endif
