// What a program has said of its run, as lines for people.
#pragma once

#include <algorithm>
#include <ostream>
#include <string>

#include <dynpar/detail/printable.hpp>
#include <dynpar/trace.hpp>

namespace dynpar::detail {

/// A line for each name, "name: text", with `before` in front; further lines of a text are indented.
inline void write_about(std::ostream& out, const trace& t, const char* before = "") {
    for (const auto& [name, text] : t.about) {
        out << before << printable(name) << ": ";
        for (std::size_t begin = 0; begin <= text.size();) {
            const std::size_t end = std::min(text.find('\n', begin), text.size());
            if (begin != 0) out << before << "  ";
            out << printable(text.substr(begin, end - begin)) << '\n';
            begin = end + 1;
        }
    }
}

}  // namespace dynpar::detail
