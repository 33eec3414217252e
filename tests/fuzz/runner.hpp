// Runs programs on the engine and says whether all went as the contract says. The one part of the tool that device code is in.
#pragma once

#include <dynpar/report.hpp>

#include <memory>
#include <string>
#include <vector>

#include "model.hpp"

namespace fuzz {

/// What a run left.
struct outcome {
    dynpar::report report;
    mistake_log log{};
    std::vector<std::uint32_t> counts;        // by slot
    std::vector<std::uint32_t> begun, ended;  // by slot, if the program is stamped
    bool out_of_resources = false;            // launches were lost because the engine was given little, and the report said so
    std::unique_ptr<outcome> next;            // after a run without resources: of a small program, which has to be right
    std::string exception;                    // the engine can no longer be used, nor can the process
};

struct verdict {
    bool right = true;
    bool out_of_resources = false;
    bool broken = false;  // as outcome::exception
    std::string what;     // what is wrong, in lines
};

class runner {
public:
    /// Null where the engine needs a GPU and there is none.
    static std::unique_ptr<runner> make();
    static engine_traits traits();
    virtual ~runner() = default;
    /// For one thread at a time, in the order of the programs: those of a batch share an engine.
    virtual outcome run(const program& p, const layout& l, mutant m) = 0;
    /// For any number of threads: on a GPU this takes longer than the run.
    virtual verdict judge(const program& p, const layout& l, const outcome& o) const = 0;
};

}  // namespace fuzz
