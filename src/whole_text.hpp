// The whole of a text that comes from outside, up to a bound: what is read need not end.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <streambuf>
#include <string>

namespace dynpar::detail {

/// Everything up to the end, or nothing if that is more than `most_bytes`.
inline std::optional<std::string> whole_text(std::streambuf& in, std::uint64_t most_bytes) {
    std::string text;
    std::array<char, 1 << 16> piece;
    while (const std::streamsize count = in.sgetn(piece.data(), piece.size())) {
        if (text.size() + static_cast<std::uint64_t>(count) > most_bytes) return std::nullopt;
        text.append(piece.data(), static_cast<std::size_t>(count));
    }
    return text;
}

}  // namespace dynpar::detail
