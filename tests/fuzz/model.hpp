// What a random program has to do: the data that device code reads, and what the run's report has to say.
#pragma once

#include <dynpar/shape.hpp>
#include <dynpar/status.hpp>

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "image.hpp"
#include "program.hpp"

namespace fuzz {

/// What engines differ in, as far as programs have to know.
struct engine_traits {
    std::string name;
    unsigned widest = 512;  // block
    bool has_wait = true;
    bool bounds_workers = false;  // blocks are as wide as block_threads at most
    bool bounds_pending = false;  // limits::pending_launches is one
    bool may_run_out_of_memory = false;
    std::uint64_t most_grids = ~std::uint64_t{0};
    unsigned most_depth = 1u << 20;
    unsigned batch = 64;               // programs that share an engine, where nothing else is asked for
    unsigned schedules = 1;            // of the host engine
    unsigned most_shared = 40 * 1024;  // bytes that a block may have on any such engine
};

const char* name_of(kernel k);
unsigned most_threads_of(kernel k);

/// Failed calls that are alike: call, status, kernel, depth, shape as text. Where a moldable grid calls something else
/// than `launch` or `then`, its shape may be told as it was asked for or as it is.
inline constexpr const char* any_width = "<<<of a moldable grid>>>";
using failure_key = std::tuple<int, int, std::string, unsigned, std::string>;

/// What the report has to say.
struct expectation {
    std::uint64_t grids = 0;
    std::uint64_t blocks = 0;
    std::uint64_t lost = 0;
    std::uint64_t failed = 0;
    unsigned deepest = 0;
    std::uint64_t answers = 0;  // continuations that get values, if no call of the run fails; else as many at most
    std::map<failure_key, std::uint64_t> failures;
};

/// The calls of one grid that have to fail.
struct refused_calls {
    std::uint64_t launches = 0, others = 0;
};

/// A program, laid out.
struct layout {
    std::vector<node> nodes;
    std::vector<step> steps;
    std::vector<need> needs;
    std::vector<refused_calls> refused;  // by node
    std::uint32_t slots = 0;
    std::uint32_t widest = 0;  // block that can run
    expectation expected;
};

/// Thrown where a program has more blocks than there are slots.
struct too_large : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Lays a program out. What cannot be (a thread that has returned launches, a shape wider than the engine's blocks)
/// becomes something close to it that can, so that every plan is a program: a random one, and one of which something
/// was taken away.
layout lay_out(const program& p, const engine_traits& engine, std::uint32_t most_slots);

dynpar::shape shape_of(const node& n);

/// A shape that no grid can have, for a refused call.
dynpar::shape refused_shape(refusal which, unsigned widest);
kernel refused_kernel(refusal which);
dynpar::operation refused_operation(refusal which);
dynpar::status refused_status(refusal which);

}  // namespace fuzz
