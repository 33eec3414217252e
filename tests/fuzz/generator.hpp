// Draws random programs: by profiles, so that the shapes that matter come up often.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model.hpp"
#include "program.hpp"

namespace fuzz {

/// Numbers that are the same on every machine.
class random_numbers {
public:
    random_numbers(std::uint64_t seed, std::uint64_t stream)
        : state_(seed * 0x9e3779b97f4a7c15ull + stream * 0xd1b54a32d192ed03ull + 1) {
        next();
    }
    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    /// From `first` to `last`, both included.
    std::uint32_t between(std::uint32_t first, std::uint32_t last) {
        return last <= first ? first : first + static_cast<std::uint32_t>(next() % (std::uint64_t{last} - first + 1));
    }
    /// As often small as large.
    std::uint32_t about(std::uint32_t first, std::uint32_t last);
    bool one_in(std::uint32_t n) { return next() % n == 0; }
    template <class T>
    T one_of(std::initializer_list<T> choices) {
        return choices.begin()[next() % choices.size()];
    }

private:
    std::uint64_t state_;
};

inline constexpr std::uint32_t most_sync_depth = 6;

struct profile {
    const char* name;
    const char* what;  // in a few words
};

/// In the order in which `--profile all` takes turns.
const std::vector<profile>& profiles();

/// Settings for the programs of a batch, which share an engine. `sync_depth` is at most `most_sync_depth`.
engine_settings draw_settings(const std::string& profile, std::uint64_t seed, std::uint64_t batch,
                              const engine_traits& engine);

/// `most_grids`: about how many grids a program may have.
program draw_program(const std::string& profile, std::uint64_t seed, std::uint64_t number,
                     const engine_settings& settings, const engine_traits& engine, std::uint32_t most_grids);

}  // namespace fuzz
