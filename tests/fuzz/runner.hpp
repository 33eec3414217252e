// Runs programs on the engine and says whether all went as the contract says. The one part of the tool that device code
// is in.
#pragma once

#include <memory>
#include <string>

#include "model.hpp"

namespace fuzz {

struct verdict {
    bool right = true;
    bool out_of_resources = false;  // launches were lost because the engine was given little, and the report said so
    bool broken = false;            // the engine can no longer be used, nor can the process
    std::string what;               // what is wrong, in lines
};

/// For one thread. Programs with the same settings, one after another, share an engine.
class runner {
public:
    /// The runners of a process have numbers of their own, below `most_programs`. Null where the engine needs a GPU and
    /// there is none.
    static std::unique_ptr<runner> make(unsigned number);
    static engine_traits traits();
    virtual ~runner() = default;
    virtual verdict run(const program& p, const layout& l, mutant m) = 0;
};

}  // namespace fuzz
