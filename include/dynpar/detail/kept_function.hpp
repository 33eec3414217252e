// What a kernel has in it and launches or calls: another kernel, or a function object.
#pragma once

#include <type_traits>

#include "../platform.hpp"

namespace dynpar {
namespace detail {

/// A function object, without room for one that has no members: what has none is not sent with a launch.
template <class Function, bool HasMembers = !(std::is_empty_v<Function> && std::is_default_constructible_v<Function>)>
class kept_function {
public:
    kept_function() = default;
    DYNPAR_FUNCTION explicit kept_function(const Function& function) : function_(function) {}
    DYNPAR_FUNCTION const Function& function() const { return function_; }

private:
    Function function_;
};
template <class Function>
class kept_function<Function, false> {
public:
    kept_function() = default;
    DYNPAR_FUNCTION explicit kept_function(const Function&) {}
    DYNPAR_FUNCTION Function function() const { return Function{}; }
};

}  // namespace detail
}  // namespace dynpar
