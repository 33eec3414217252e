// All of dynpar that the compiler can use: the core and the engines.
#pragma once

#include "platform.hpp"

// Else platform.hpp has said what is wrong, and a thousand lines of errors would follow.
#if __cplusplus >= 201703L

#include "atomic.hpp"
#include "block.hpp"
#include "buffer.hpp"
#include "call_outcome.hpp"
#include "collectives.hpp"
#include "counted_grid.hpp"
#include "dimensions.hpp"
#include "engine_options.hpp"
#include "frontier.hpp"
#include "grid_group.hpp"
#include "kernel.hpp"
#include "limits.hpp"
#include "monoids.hpp"
#include "nested_for.hpp"
#include "nested_for_options.hpp"
#include "nested_reduce.hpp"
#include "operators.hpp"
#include "print.hpp"
#include "reducer.hpp"
#include "report.hpp"
#include "result.hpp"
#include "run_needs.hpp"
#include "shape.hpp"
#include "shape_for_loops.hpp"
#include "status.hpp"
#include "trace.hpp"
#include "value_list.hpp"
#include "version.hpp"

#include "engine/host.hpp"

#if DYNPAR_HAS_DEVICE_LAUNCH
#include "engine/cdp.cuh"
#endif

#if DYNPAR_HAS_QUEUE_ENGINE
#include "engine/queue.cuh"
#endif

#include "engine/missing.hpp"

#endif
