// dynpar's log: lines on standard error for people, each with a level.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "platform.hpp"

namespace dynpar::log {

/// How important a line is. Lines below the log's level are not written.
enum class level : unsigned char {
    debug,  ///< what dynpar does, for debugging
    info,   ///< what a user may want to know
    warn,   ///< something is probably not as the user wants it; the run continues
    error,  ///< something failed
    off,    ///< only as the log's level: write nothing
};

/// The names of the levels in ascending order, as in `DYNPAR_LOG=debug`.
inline constexpr const char* level_names[] = {"debug", "info", "warn", "error", "off"};

/// The level unless another is requested.
inline constexpr level default_level = level::warn;

/// The name of a level, as in `level_names`.
constexpr const char* to_string(level l) { return level_names[static_cast<unsigned>(l)]; }

/// The level of that name, or nothing if there is none.
inline std::optional<level> parse_level(std::string_view name) {
    for (const level l : {level::debug, level::info, level::warn, level::error, level::off})
        if (name == to_string(l)) return l;
    return std::nullopt;
}

/// Writes one message to standard error as "dynpar: warning: message", if `l` is not below the log's level.
/// The first use of the log sets its level from the environment variable DYNPAR_LOG; for a value that is not
/// a level it writes a line that says so, and takes the default. Any thread may write; lines do not mix. Host code
/// only. Needs the target `dynpar::config`.
void write(level l, std::string_view message);

/// Writes at level debug.
inline void debug(std::string_view message) { write(level::debug, message); }
/// Writes at level info.
inline void info(std::string_view message) { write(level::info, message); }
/// Writes at level warn.
inline void warn(std::string_view message) { write(level::warn, message); }
/// Writes at level error.
inline void error(std::string_view message) { write(level::error, message); }

/// Sets the log's level; overrides DYNPAR_LOG.
void set_level(level lowest_written);

/// The log's level: nothing below it is written.
level current_level();

}  // namespace dynpar::log
