// Changes texts at random, and in the same way for the same seed on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mutated_input {

/// Random numbers (SplitMix64): the standard library's distributions differ from one library to another.
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    /// One of 0 to `bound` - 1.
    std::size_t below(std::size_t bound) { return static_cast<std::size_t>(next() % bound); }

private:
    std::uint64_t state_;
};

/// One of the texts after some changes: bytes, numbers, lines and pieces changed, taken out, put in and repeated,
/// `words` and pieces of the other texts put in. At most `longest` bytes.
std::string mutated(const std::vector<std::string>& texts, const std::vector<std::string>& words, std::size_t longest,
                    random_numbers& random);

}  // namespace mutated_input
