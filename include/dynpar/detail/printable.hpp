// Text from outside (a kernel's name in a trace, a key of a file, an argument) on its way to a terminal or a message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dynpar {
namespace detail {

/// How many bytes the UTF-8 character at the begin of `text` has; 0 if there is none, or if it is a control character:
/// those clear the screen, or hide what stands before them.
inline std::size_t printable_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
    const unsigned first = byte(0);
    if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
    // The bounds of the second byte leave out U+0080 to U+009F, which are control characters too, what is written
    // longer than it need be, surrogates, and what is beyond U+10FFFF.
    const unsigned second = byte(1);
    if (first >= 0xc2 && first < 0xe0) return follows(1) && (first != 0xc2 || second >= 0xa0) ? 2 : 0;
    if (first >= 0xe0 && first < 0xf0) {
        if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0)) return 0;
        return follows(1) && follows(2) ? 3 : 0;
    }
    if (first >= 0xf0 && first < 0xf5) {
        if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90)) return 0;
        return follows(1) && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

/// The text as one line that a terminal only shows: control characters, and bytes that are no UTF-8, as \x1b. Of a text
/// of more than `longest` bytes only so many, and "...".
inline std::string printable(std::string_view text, std::size_t longest = std::string_view::npos) {
    constexpr char digits[] = "0123456789abcdef";
    std::string result;
    std::size_t at = 0;
    while (at < text.size() && at < longest) {
        const std::size_t length = printable_length(text.substr(at));
        if (length != 0) {
            result.append(text, at, length);
            at += length;
        } else {
            const auto byte = static_cast<unsigned char>(text[at++]);
            result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        }
    }
    if (at < text.size()) result += "...";
    return result;
}

/// As much of it as a message has room for.
inline std::string in_message(std::string_view text) { return printable(text, 200); }

}  // namespace detail
}  // namespace dynpar
