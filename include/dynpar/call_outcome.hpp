// What became of a call of a kernel with a value: the value if there is one, and the report.
#pragma once

#include <optional>

#include "report.hpp"

namespace dynpar {

/// What `try_call` of an engine returns.
template <class T>
struct call_outcome {
    std::optional<T> value;  ///< empty if a call in a kernel failed: then no value can be trusted
    dynpar::report report;   ///< what the run did
};

}  // namespace dynpar
