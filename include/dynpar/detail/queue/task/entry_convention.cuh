// Queue engine: conventions by which functions are called that are not CUDA's.
//
// By CUDA's convention a function keeps some twenty registers for its caller. So an entry, which is called through a
// pointer, would first write all of these that its kernel may need to the stack, in every thread of every block: 24 to
// 36 of them, also where the block returns at once. Here the caller keeps what it needs, which is little, and an entry
// writes three to twelve. ptxas must know that of each entry and each call, and nvcc has a pragma to say it.
//
// The functions of a warp's part of a run, work() and what it alone calls, are likewise: nobody above them keeps much.
// They run once for each task or few, and ptxas, where it compiles functions one by one (-Ofc, docs/building.md), would
// have them save 40 to 50 registers.
#pragma once

/// DYNPAR_QUEUE_OWN_CONVENTION is 1 where entries have a convention of their own: with the nvcc of which that is
/// known, 13.0; where it compiles and optimizes whole programs; from compute capability 8.0 on.
#if !defined(DYNPAR_QUEUE_OWN_CONVENTION)
#if defined(__NVCC__) && !defined(DYNPAR_SIMULATED_GPU) && !defined(__CUDACC_RDC__) && !defined(__CUDACC_EWP__) && \
    !defined(__CUDACC_DEBUG__) && defined(__CUDA_ARCH__)
#define DYNPAR_QUEUE_OWN_CONVENTION (__CUDACC_VER_MAJOR__ == 13 && __CUDACC_VER_MINOR__ == 0 && __CUDA_ARCH__ >= 800)
#else
#define DYNPAR_QUEUE_OWN_CONVENTION 0
#endif
#endif

// Stand before each declaration, definition and call of an entry, and say how many registers it keeps for its caller.
// The others stand before functions of a warp's part of a run: those that work() calls, those that these call, and so
// on. A function keeps more than the one that calls it, since by what it keeps goes the register of its return address.
#if DYNPAR_QUEUE_OWN_CONVENTION
#define DYNPAR_QUEUE_LANE_ENTRY _Pragma("nv_abi preserve_n_data(4)")
#define DYNPAR_QUEUE_WIDE_ENTRY _Pragma("nv_abi preserve_n_data(8)")
#define DYNPAR_QUEUE_BELOW_WORK _Pragma("nv_abi preserve_n_data(4)")
#define DYNPAR_QUEUE_TWO_BELOW_WORK _Pragma("nv_abi preserve_n_data(8)")
#define DYNPAR_QUEUE_THREE_BELOW_WORK _Pragma("nv_abi preserve_n_data(12)")
#else
#define DYNPAR_QUEUE_LANE_ENTRY
#define DYNPAR_QUEUE_WIDE_ENTRY
#define DYNPAR_QUEUE_BELOW_WORK
#define DYNPAR_QUEUE_TWO_BELOW_WORK
#define DYNPAR_QUEUE_THREE_BELOW_WORK
#endif
