// SHA-1 (FIPS 180-4) of messages that fill one block at most: all that the states of an unbalanced tree need.
#pragma once

#include <cstdint>
#include <type_traits>

#include <dynpar/platform.hpp>

namespace uts {

/// A digest: five words, of which each stands for four bytes, the most significant one first.
struct digest {
    std::uint32_t word[5];
};

namespace detail {

/// `Bits` from 1 to 31.
template <unsigned Bits>
DYNPAR_FUNCTION inline std::uint32_t rotated_left(std::uint32_t x) {
    return x << Bits | x >> (32 - Bits);
}

/// Five rounds, after which the five variables are at their places again. `w` keeps the last 16 words of the message's
/// schedule. All indices are known to the compiler, so that `w` lies in registers.
template <int First, class Choose>
DYNPAR_FUNCTION inline void five_rounds(std::uint32_t (&w)[16], std::uint32_t (&v)[5], std::uint32_t constant,
                                        Choose choose) {
    const auto round = [&](auto index, std::uint32_t& a, std::uint32_t& b, std::uint32_t& c, std::uint32_t& d,
                           std::uint32_t& e) {
        constexpr int t = First + decltype(index)::value;
        if constexpr (t >= 16)
            w[t % 16] = rotated_left<1>(w[(t + 13) % 16] ^ w[(t + 8) % 16] ^ w[(t + 2) % 16] ^ w[t % 16]);
        e += rotated_left<5>(a) + choose(b, c, d) + constant + w[t % 16];
        b = rotated_left<30>(b);
    };
    round(std::integral_constant<int, 0>{}, v[0], v[1], v[2], v[3], v[4]);
    round(std::integral_constant<int, 1>{}, v[4], v[0], v[1], v[2], v[3]);
    round(std::integral_constant<int, 2>{}, v[3], v[4], v[0], v[1], v[2]);
    round(std::integral_constant<int, 3>{}, v[2], v[3], v[4], v[0], v[1]);
    round(std::integral_constant<int, 4>{}, v[1], v[2], v[3], v[4], v[0]);
}

template <int First, class Choose>
DYNPAR_FUNCTION inline void twenty_rounds(std::uint32_t (&w)[16], std::uint32_t (&v)[5], std::uint32_t constant,
                                          Choose choose) {
    five_rounds<First>(w, v, constant, choose);
    five_rounds<First + 5>(w, v, constant, choose);
    five_rounds<First + 10>(w, v, constant, choose);
    five_rounds<First + 15>(w, v, constant, choose);
}

}  // namespace detail

/// The digest of a block of 64 bytes, padding included, given as 16 words. The block is used up.
DYNPAR_FUNCTION inline digest sha1_of_block(std::uint32_t (&w)[16]) {
    using word = std::uint32_t;
    constexpr word begin[5] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u, 0xc3d2e1f0u};
    word v[5] = {begin[0], begin[1], begin[2], begin[3], begin[4]};
    const auto parity = [](word b, word c, word d) { return b ^ c ^ d; };
    detail::twenty_rounds<0>(w, v, 0x5a827999u, [](word b, word c, word d) { return d ^ (b & (c ^ d)); });
    detail::twenty_rounds<20>(w, v, 0x6ed9eba1u, parity);
    detail::twenty_rounds<40>(w, v, 0x8f1bbcdcu, [](word b, word c, word d) { return (b & c) | (d & (b | c)); });
    detail::twenty_rounds<60>(w, v, 0xca62c1d6u, parity);
    return {{v[0] + begin[0], v[1] + begin[1], v[2] + begin[2], v[3] + begin[3], v[4] + begin[4]}};
}

/// The digest of five words and `last`, if it is given: 20 bytes, or 24.
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
    return sha1_of_block(w);
}
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
    return sha1_of_block(w);
}

}  // namespace uts
