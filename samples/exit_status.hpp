// What dynpar's own programs end with: the samples and dynpar-trace. For users: "What programs end with" in
// docs/guide.md.
#pragma once

namespace samples {

enum exit_status : int {
    success = 0,
    failed = 1,     ///< it went wrong on the way: a launch was lost, a result is wrong, something cannot be written
    bad_input = 2,  ///< the program cannot do what it was told, and has done nothing
};

}  // namespace samples
