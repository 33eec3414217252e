// The calls that have to fail: their shapes, for device code and for the model.
#pragma once

#include <dynpar/shape.hpp>

#include "image.hpp"

namespace fuzz {

/// `widest`: the threads of the engine's widest block, or 1024.
DYNPAR_FUNCTION inline dynpar::shape shape_to_refuse(refusal which, unsigned widest) {
    switch (which) {
        case refusal::no_blocks:
        case refusal::then_no_blocks: return dynpar::shape(0, 32);
        case refusal::no_threads: return dynpar::shape(1, 0);
        case refusal::too_many_threads:
        case refusal::then_too_many_threads: return dynpar::shape(1, 1025);
        case refusal::too_deep_block: return dynpar::shape(2, dynpar::dimensions(1, 1, 65));
        case refusal::too_many_blocks: return dynpar::shape(dynpar::dimensions(1, 65536), 1);
        case refusal::too_much_shared: return dynpar::shape(1, 32, 232449);
        case refusal::over_kernel_bound: return dynpar::shape(3, 65);
        case refusal::over_worker: return dynpar::shape(1, widest + 1);
        default: return dynpar::shape(1, 1);
    }
}

}  // namespace fuzz
