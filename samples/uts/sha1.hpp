// SHA-1 (FIPS 180-4) of messages that fill one block at most: all that the states of an unbalanced tree need.
#pragma once

#include <cstdint>

#include <dynpar/platform.hpp>

namespace uts {

/// A digest: five words, of which each stands for four bytes, the most significant one first.
struct digest {
    std::uint32_t word[5];
};

/// How a GPU's code is made. `short_loops`: a quarter of the instructions, and some more to execute. Warps that are at
/// different places of long kernels wait for instructions more than for anything else; warps that all run one short
/// kernel do not.
enum class sha1_code : unsigned { short_loops, unrolled };

namespace detail {

/// `Bits` from 1 to 31.
template <unsigned Bits>
DYNPAR_FUNCTION inline std::uint32_t rotated_left(std::uint32_t x) {
    return x << Bits | x >> (32 - Bits);
}

/// Twenty rounds, five at a time: then the five variables are at their places again. `w` holds the next 16 words of the
/// message's schedule, and moves on by five.
template <sha1_code Code, class Choose>
DYNPAR_FUNCTION inline void twenty_rounds(std::uint32_t (&w)[16], std::uint32_t (&v)[5], std::uint32_t constant,
                                          Choose choose) {
    [[maybe_unused]] constexpr int fives_at_a_time = Code == sha1_code::short_loops ? 1 : 4;
#if defined(__CUDA_ARCH__)
#pragma unroll fives_at_a_time
#endif
    for (int fives = 0; fives < 4; ++fives) {
        std::uint32_t next[5];
        for (int i = 0; i < 5; ++i) {
            // The schedule needs its own third last word, which for the last two is among the new ones.
            const std::uint32_t recent = i < 3 ? w[13 + i] : next[i - 3];
            next[i] = rotated_left<1>(recent ^ w[8 + i] ^ w[2 + i] ^ w[i]);
        }
        const auto round = [&](int i, std::uint32_t& a, std::uint32_t& b, std::uint32_t& c, std::uint32_t& d,
                               std::uint32_t& e) {
            e += rotated_left<5>(a) + choose(b, c, d) + constant + w[i];
            b = rotated_left<30>(b);
        };
        round(0, v[0], v[1], v[2], v[3], v[4]);
        round(1, v[4], v[0], v[1], v[2], v[3]);
        round(2, v[3], v[4], v[0], v[1], v[2]);
        round(3, v[2], v[3], v[4], v[0], v[1]);
        round(4, v[1], v[2], v[3], v[4], v[0]);
        for (int i = 0; i < 11; ++i) w[i] = w[i + 5];
        for (int i = 0; i < 5; ++i) w[11 + i] = next[i];
    }
}

}  // namespace detail

/// The digest of a block of 64 bytes, padding included, given as 16 words. The block is used up.
template <sha1_code Code>
DYNPAR_FUNCTION inline digest sha1_of_block(std::uint32_t (&w)[16]) {
    using word = std::uint32_t;
    constexpr word begin[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    word v[5] = {begin[0], begin[1], begin[2], begin[3], begin[4]};
    const auto parity = [](word b, word c, word d) { return b ^ c ^ d; };
    detail::twenty_rounds<Code>(w, v, 0x5a827999u, [](word b, word c, word d) { return d ^ (b & (c ^ d)); });
    detail::twenty_rounds<Code>(w, v, 0x6ed9eba1u, parity);
    detail::twenty_rounds<Code>(w, v, 0x8f1bbcdcu, [](word b, word c, word d) { return (b & c) | (d & (b | c)); });
    detail::twenty_rounds<Code>(w, v, 0xca62c1d6u, parity);
    return {{v[0] + begin[0], v[1] + begin[1], v[2] + begin[2], v[3] + begin[3], v[4] + begin[4]}};
}

/// The digest of five words and `last`, if it is given: 20 bytes, or 24.
template <sha1_code Code = sha1_code::short_loops>
DYNPAR_FUNCTION inline digest sha1(const digest& words) {
    std::uint32_t w[16] = {words.word[0],
                           words.word[1],
                           words.word[2],
                           words.word[3],
                           words.word[4],
                           0x80000000u,
                           0,
                           0,
                           0,
                           0,
                           0,
                           0,
                           0,
                           0,
                           0,
                           160};
    return sha1_of_block<Code>(w);
}
template <sha1_code Code = sha1_code::short_loops>
DYNPAR_FUNCTION inline digest sha1(const digest& words, std::uint32_t last) {
    std::uint32_t w[16] = {words.word[0],
                           words.word[1],
                           words.word[2],
                           words.word[3],
                           words.word[4],
                           last,
                           0x80000000u,
                           0,
                           0,
                           0,
                           0,
                           0,
                           0,
                           0,
                           0,
                           192};
    return sha1_of_block<Code>(w);
}

}  // namespace uts
