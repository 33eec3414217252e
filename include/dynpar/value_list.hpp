// The values of a range of calls, as the function that combines them gets them.
#pragma once

#include <cstddef>

#include "platform.hpp"

namespace dynpar {

/// What `then(function, block.spawn_range(...))` hands to the function: the values in the order of their calls. They
/// are there until the continuation has returned.
template <class T>
class value_list {
public:
    /// These values. Made by `then`.
    DYNPAR_FUNCTION value_list(const T* first, unsigned count) : first_(first), count_(count) {}

    DYNPAR_FUNCTION const T* begin() const { return first_; }         ///< the first value
    DYNPAR_FUNCTION const T* end() const { return first_ + count_; }  ///< behind the last one
    DYNPAR_FUNCTION unsigned size() const { return count_; }          ///< how many there are
    /// The value of the call with that number.
    DYNPAR_FUNCTION const T& operator[](std::size_t number) const { return first_[number]; }

private:
    const T* first_;
    unsigned count_;
};

}  // namespace dynpar
