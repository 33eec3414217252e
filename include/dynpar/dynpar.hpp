// All of dynpar that the compiler can use: the core and the engines.
#pragma once

#include "atomic.hpp"
#include "block.hpp"
#include "buffer.hpp"
#include "dimensions.hpp"
#include "engine_options.hpp"
#include "kernel.hpp"
#include "limits.hpp"
#include "platform.hpp"
#include "print.hpp"
#include "report.hpp"
#include "run_needs.hpp"
#include "shape.hpp"
#include "status.hpp"
#include "trace.hpp"

#include "engine/host.hpp"

#if DYNPAR_HAS_DEVICE_LAUNCH
#include "engine/cdp.cuh"
#endif

#if DYNPAR_HAS_QUEUE_ENGINE
#include "engine/queue.cuh"
#endif
