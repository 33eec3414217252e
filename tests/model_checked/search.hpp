// How a test searches a program's runs.
#pragma once

#include <doctest/doctest.h>

#include <cstdio>

#include "checker.hpp"

namespace model_checked {

/// The first run that fails, as text; empty if none does: of so many that are drawn, then of all with so many switches.
inline std::string search(const program& what, u64 drawn, unsigned switches) {
    const outcome random = draw_runs(what, drawn);
    if (!random.failure.empty()) return "one of the drawn runs fails: " + random.failure;
    const outcome all = all_runs(what, switches);
    if (!all.failure.empty()) return "a run with few switches fails: " + all.failure;
    std::printf("%llu runs drawn, and all %llu with %u switches at most\n", random.runs, all.runs, switches);
    return {};
}

}  // namespace model_checked

#define CHECK_HOLDS(what, drawn, switches) CHECK(model_checked::search(what, drawn, switches) == "")
