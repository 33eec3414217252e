// What reads text from outside, each with what it promises for any text at all.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mutated_input {

/// Thrown where a promise is broken; says which.
class broken_promise : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

struct target {
    const char* name;  ///< also of the folder in corpus/
    /// Whether the input was read, and not refused. Throws `broken_promise`; whatever else it throws is a broken
    /// promise, too.
    bool (*read)(const std::string& input);
    std::vector<std::string> words;  ///< that mean something there
    std::size_t longest;             ///< input, in bytes
};

/// trace: a saved trace is read, or refused with one short line; what is read can be written in every format, and the
///     trace that is saved again is the same.
/// records: any records at all can be written in every format.
/// config: a file and an environment are read, or refused with one short line.
/// command_line: the same for a sample's arguments, one a line of the input; what is refused ends with 2 and has
///     printed nothing.
const std::vector<target>& targets();

}  // namespace mutated_input
