// The settings of a run, read from command line, environment and file; each value knows where it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine_kind.hpp"
#include "limits.hpp"
#include "log.hpp"

namespace dynpar {

/// A setting that cannot be used. `what()` is one line that says where, what, and what would be right:
/// `dynpar.toml:4: limits.sync_depth: 2000 is out of range; give an integer from 0 to 1024`.
class config_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// One setting: a row of the table that file, environment, command line and help are read from.
struct setting {
    /// What the values of a setting are.
    enum class value_kind : unsigned char {
        choice,  ///< one word out of `choices`
        count,   ///< an integer from `least` to `most`
        bytes,   ///< the same in bytes, also with a unit: "64 MiB"
    };

    const char* table;                 ///< the table of the file that it stands in: "limits"; empty at top level
    const char* key;                   ///< its key there: "sync_depth"
    value_kind kind;                   ///< what its values are
    std::uint64_t least;               ///< count, bytes: the least allowed value
    std::uint64_t most;                ///< count, bytes: the greatest allowed value
    std::vector<std::string> choices;  ///< choice: the allowed words
    const char* default_value;         ///< as on the command line; null if leaving it out has a meaning of its own
    const char* not_given;             ///< if there is no default: what happens then
    const char* meaning;               ///< a sentence for --help
    /// A member of `limits`. The type has a name because nvcc writes it out with parentheses, of which g++ warns.
    using limit_member = std::optional<std::size_t> limits::*;
    /// The member of `limits` that it sets, or null.
    limit_member limit;

    std::string name() const;         ///< "limits.sync_depth"
    std::string environment() const;  ///< "DYNPAR_SYNC_DEPTH"
    std::string option() const;       ///< "--sync-depth"
    std::string accepted() const;     ///< "an integer from 0 to 1024"
};

/// All settings, in the order in which help and `config::print` show them.
///
/// | file                      | environment             | command line       | values                         |
/// | ------------------------- | ----------------------- | ------------------ | ------------------------------ |
/// | `engine`                  | DYNPAR_ENGINE           | --engine           | auto, host, cdp, queue         |
/// | `log`                     | DYNPAR_LOG              | --log              | debug, info, warn, error, off  |
/// | `trace_grids`             | DYNPAR_TRACE_GRIDS      | --trace-grids      | 0 to 268435456                 |
/// | `limits.sync_depth`       | DYNPAR_SYNC_DEPTH       | --sync-depth       | 0 to 1024                      |
/// | `limits.pending_launches` | DYNPAR_PENDING_LAUNCHES | --pending-launches | 1 to 16777216                  |
/// | `limits.nesting_depth`    | DYNPAR_NESTING_DEPTH    | --nesting-depth    | 0 to 4294967295                |
/// | `limits.stack_bytes`      | DYNPAR_STACK_BYTES      | --stack-bytes      | 1 KiB to 512 KiB               |
/// | `limits.heap_bytes`       | DYNPAR_HEAP_BYTES       | --heap-bytes       | 1 MiB to 1 TiB                 |
/// | `limits.printf_bytes`     | DYNPAR_PRINTF_BYTES     | --printf-bytes     | 4 KiB to 1 GiB                 |
const std::vector<setting>& settings();

/// The environment of this process, each variable as "NAME=value".
std::vector<std::string> process_environment();

/// The sources of a configuration.
struct config_sources {
    /// The file to read, which must exist: a regular one of at most 16 KiB. Not given: `dynpar.toml` in the working
    /// directory, if there is one.
    std::optional<std::filesystem::path> file;
    /// Variables as "NAME=value". A variable with an empty value counts as not set.
    std::vector<std::string> environment = process_environment();
    /// Options of the command line and their values: {"--sync-depth", "8"}. The last of several wins.
    std::vector<std::pair<std::string, std::string>> command_line;
};

/// The settings of a run. The command line overrides the environment, which overrides the file, which overrides the
/// default; a value is checked even if it is overridden. Needs the target `dynpar::config`.
class config {
public:
    /// The defaults.
    config();

    /// Reads all sources and changes nothing else: the caller sets the log's level.
    /// Throws `config_error` for the first error: file missing or unreadable, malformed TOML, unknown key or option,
    /// wrong type, value out of range.
    static config load(const config_sources& sources = {});

    /// The requested engine.
    engine_kind engine() const;
    /// The level that the log should have.
    log::level log_level() const;
    /// How many grids a run's trace should have room for; 0: no trace.
    std::size_t trace_grids() const;
    /// The limits that were given; the others are empty.
    dynpar::limits limits() const;

    /// Where the value of a setting came from: "command line --sync-depth", "environment DYNPAR_SYNC_DEPTH",
    /// "dynpar.toml:4" or "default". `name` is as in `setting::name()`; throws `std::out_of_range` for any other.
    const std::string& origin(std::string_view name) const;

    /// Lines for the log: unknown environment variables that begin with DYNPAR_. They are not errors, because programs
    /// around dynpar may use such names themselves.
    const std::vector<std::string>& warnings() const { return warnings_; }

    /// All settings as TOML, each with its origin in a comment. The whole line of a setting that has neither value nor
    /// default is a comment.
    std::string print() const;

private:
    struct value {
        std::string word;          // of a choice
        std::uint64_t number = 0;  // of a count or of bytes
        bool given = false;        // or has a default
        std::string origin = "default";
    };

    void read_file(const std::filesystem::path& file);
    void read_environment(const std::vector<std::string>& environment);
    void read_command_line(const std::vector<std::pair<std::string, std::string>>& options);
    const value& find(std::string_view name) const;

    std::vector<value> values_;  // one for each row of settings()
    std::vector<std::string> warnings_;
};

}  // namespace dynpar
