// Makes a failing program small: takes parts of it away as long as it goes on failing.
#pragma once

#include <functional>

#include "program.hpp"

namespace fuzz {

/// The smallest program found. `fails` runs a candidate, in a process of its own; it is called `most_runs` times at
/// most.
program shrink(const program& failing, const std::function<bool(const program&)>& fails, unsigned most_runs);

}  // namespace fuzz
