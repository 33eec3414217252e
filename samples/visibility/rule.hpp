// A rule of what parent and child see of each other's memory, and what came of trying it.
#pragma once

#include <cstdio>
#include <string>

#include "../command_line.hpp"

namespace visibility {

/// Prints one line for each rule tried, and throws where a promise was broken.
class rules {
public:
    explicit rules(const samples::command_line& command) : command_(command) {}

    /// A promise: all of `of` must have been seen. Throws `wrong_result` otherwise.
    void promised(const char* memory, const char* rule, unsigned long long seen, unsigned long long of) const {
        if (seen != of) {
            throw samples::wrong_result(std::string(memory) + ": " + rule + ": seen " + std::to_string(seen) + " of " +
                                        std::to_string(of));
        }
        say(memory, "promised", rule, "seen " + std::to_string(seen) + " of " + std::to_string(of));
    }

    /// Nothing is promised: whatever was seen is shown.
    void not_promised(const char* memory, const char* rule, unsigned long long seen, unsigned long long of) const {
        say(memory, "not promised", rule, "seen " + std::to_string(seen) + " of " + std::to_string(of));
    }

    /// What is forbidden must be noticed. Throws `wrong_result` if it was not.
    void refused(const char* memory, const char* rule, bool noticed, const std::string& how) const {
        if (!noticed) throw samples::wrong_result(std::string(memory) + ": " + rule + ": not refused; " + how);
        say(memory, "forbidden", rule, how);
    }

    void say(const char* memory, const char* kind, const char* rule, const std::string& outcome) const {
        char line[160];
        std::snprintf(line, sizeof line, "%-9s %-13s %-70s ", memory, kind, rule);
        command_.say(line + outcome);
    }

private:
    const samples::command_line& command_;
};

/// The rules that need a GPU and plain `__global__` kernels: zero-copy, constant and texture memory, and what kind of
/// memory a pointer points to. Throws `wrong_result`, `dynpar::cuda_error`.
void try_plain_rules(const rules& out);

/// Does what is undefined: a child reads memory that is "local" or "shared" to its parent, past all checks. Says what
/// came of it on this GPU. The CUDA context may be lost after it.
void try_undefined(const rules& out, const std::string& memory);

}  // namespace visibility
