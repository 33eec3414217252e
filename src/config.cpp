#include "dynpar/config.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string_view>
#include <system_error>

#include <stdexcept>

#include <unistd.h>

// toml++ 3.3 takes for granted what some wrong files break: it stops the program there, or, built with NDEBUG, lets the
// compiler assume that it cannot be. Here such a file is refused like any other.
namespace {
[[noreturn]] void refuse_file() { throw std::logic_error("toml++ cannot make sense of it"); }
}  // namespace
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? static_cast<void>(0) : refuse_file())
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "dynpar/detail/printable.hpp"

namespace dynpar {
namespace {

using value_kind = setting::value_kind;

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t gib = 1024 * mib;
constexpr std::uint64_t tib = 1024 * gib;

struct unit {
    const char* name;
    std::uint64_t bytes;
};
constexpr unit units[] = {{"TiB", tib}, {"GiB", gib}, {"MiB", mib}, {"KiB", kib}, {"B", 1}};

constexpr const char* environment_prefix = "DYNPAR_";

using detail::in_message;

std::string in_quotes(std::string_view text) { return "\"" + in_message(text) + "\""; }

// "a, b or c"
std::string any_of(const std::vector<std::string>& words) {
    std::string list;
    for (std::size_t i = 0; i < words.size(); ++i)
        list += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
    return list;
}

// With the largest unit that leaves an integer: "64 MiB".
std::string bytes_text(std::uint64_t bytes) {
    for (const unit& u : units)
        if (bytes != 0 && bytes % u.bytes == 0) return std::to_string(bytes / u.bytes) + " " + u.name;
    return "0 B";
}

// How many letters one must insert, delete or replace to get from one word to the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> row(to.size() + 1);
    for (std::size_t j = 0; j <= to.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= from.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i);
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
            diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
        }
    }
    return row[to.size()];
}

// The setting that a misspelt name is most likely meant to be, or null. `part` says which of a setting's names is
// compared.
template <class Part>
const setting* nearest(std::string_view misspelt, Part part) {
    const setting* best = nullptr;
    std::size_t best_distance = 4;  // three wrong letters are still a likeness
    for (const setting& s : settings()) {
        const std::string known = part(s);
        const std::size_t d = edit_distance(misspelt, known);
        if (d < best_distance && d * 2 < known.size()) {
            best = &s;
            best_distance = d;
        }
    }
    return best;
}

enum class reading { number, out_of_range, no_number };

// An integer in decimal digits, perhaps negative, which is out of every setting's range.
reading read_integer(std::string_view text, std::uint64_t& number) {
    const bool negative = !text.empty() && text.front() == '-';
    if (negative) text.remove_prefix(1);
    if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) return reading::no_number;
    constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
    number = 0;
    for (const char c : text) {
        const auto digit = static_cast<std::uint64_t>(c - '0');
        if (number > (largest - digit) / 10) return reading::out_of_range;
        number = number * 10 + digit;
    }
    return negative && number != 0 ? reading::out_of_range : reading::number;
}

// An integer, perhaps followed by spaces and a unit.
reading read_bytes(std::string_view text, std::uint64_t& bytes) {
    for (const unit& u : units) {
        const std::string_view name = u.name;
        if (text.size() < name.size() || text.substr(text.size() - name.size()) != name) continue;
        text.remove_suffix(name.size());
        while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
        const reading result = read_integer(text, bytes);
        if (result != reading::number) return result;
        if (bytes > std::numeric_limits<std::uint64_t>::max() / u.bytes) return reading::out_of_range;
        bytes *= u.bytes;
        return reading::number;
    }
    return read_integer(text, bytes);
}

[[noreturn]] void fail_out_of_range(const setting& s, const std::string& where, const std::string& value) {
    throw config_error(where + ": " + in_message(value) + " is out of range; give " + s.accepted());
}

void check_range(const setting& s, const std::string& where, const std::string& text, std::uint64_t number) {
    if (number < s.least || number > s.most) fail_out_of_range(s, where, text);
}

// Reads a value given as text. `where` opens the message if it is wrong.
void read_text(const setting& s, const std::string& where, const std::string& text, std::string& word,
               std::uint64_t& number) {
    if (s.kind == value_kind::choice) {
        if (std::find(s.choices.begin(), s.choices.end(), text) == s.choices.end())
            throw config_error(where + ": " + in_quotes(text) + " is unknown; give " + s.accepted());
        word = text;
        return;
    }
    switch (s.kind == value_kind::bytes ? read_bytes(text, number) : read_integer(text, number)) {
        case reading::number: check_range(s, where, text, number); return;
        case reading::out_of_range: fail_out_of_range(s, where, text);
        case reading::no_number: break;
    }
    throw config_error(where + ": " + in_quotes(text) + " is " +
                       (s.kind == value_kind::bytes ? "no size" : "no integer") + "; give " + s.accepted());
}

const char* type_name(toml::node_type type) {
    switch (type) {
        case toml::node_type::none: return "nothing";
        case toml::node_type::table: return "a table";
        case toml::node_type::array: return "an array";
        case toml::node_type::string: return "a string";
        case toml::node_type::integer: return "an integer";
        case toml::node_type::floating_point: return "a floating-point number";
        case toml::node_type::boolean: return "a boolean";
        case toml::node_type::date: return "a date";
        case toml::node_type::time: return "a time";
        case toml::node_type::date_time: return "a date and time";
    }
    return "of an unknown type";
}

bool is_table(std::string_view name) {
    const auto& all = settings();
    return std::any_of(all.begin(), all.end(), [&](const setting& s) { return !name.empty() && s.table == name; });
}

std::string read_all(const std::filesystem::path& file) {
    // A table in a table needs two bytes of the file, and toml++ a piece of the stack for each, 500 bytes with
    // sanitizers: the stack has room for so many. A file with every setting takes a twentieth of it.
    constexpr std::size_t most_bytes = 16 * kib;
    const std::string name = in_message(file.string());
    std::error_code error;
    const std::filesystem::file_status status = std::filesystem::status(file, error);
    if (std::filesystem::is_directory(status)) throw config_error(name + ": is a directory; give a TOML file");
    // A pipe that nobody writes to would keep the program waiting, and a device may never end.
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
        throw config_error(name + ": is a device or a pipe; give a TOML file");
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    std::string text(most_bytes + 1, '\0');
    if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!in.eof() && !in.good()) {
        const std::string reason = errno != 0 ? " (" + std::generic_category().message(errno) + ")" : "";
        throw config_error(name + ": cannot be read" + reason + "; give a TOML file that exists and is readable");
    }
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (text.size() > most_bytes)
        throw config_error(name + ": has more than " + bytes_text(most_bytes) +
                           "; give a TOML file with dynpar's settings");
    return text;
}

[[noreturn]] void fail_unknown_key(const std::string& place, const std::string& name, std::string_view key) {
    const setting* meant = nearest(name, [](const setting& s) { return s.name(); });
    if (meant == nullptr) meant = nearest(key, [](const setting& s) { return std::string(s.key); });
    if (meant != nullptr)
        throw config_error(place + ": unknown key " + in_quotes(name) + "; did you mean \"" + meant->name() + "\"?");
    std::string known;
    for (const setting& s : settings()) known += (known.empty() ? "" : ", ") + s.name();
    throw config_error(place + ": unknown key " + in_quotes(name) + "; known are " + known);
}

/// The first line with a character that is not ASCII and not in a comment; 0: there is none. No setting has such a name
/// or value, and toml++ 3.3 runs into __builtin_unreachable() at an é where a line begins. What may be a string that
/// holds the '#' is taken for one.
std::size_t line_that_is_not_ascii(std::string_view text) {
    const auto is_ascii = [](std::string_view part) {
        return std::all_of(part.begin(), part.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
    };
    if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
    if (is_ascii(text)) return 0;
    const bool strings_of_lines = text.find("\"\"\"") != text.npos || text.find("'''") != text.npos;
    std::size_t number = 1;
    for (std::size_t begin = 0; begin < text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string_view line = text.substr(begin, end - begin);
        const std::string_view before = line.substr(0, line.find('#'));
        const auto has_even = [&](char quote) { return std::count(before.begin(), before.end(), quote) % 2 == 0; };
        const bool is_comment =
            !strings_of_lines && has_even('"') && has_even('\'') && before.find('\\') == before.npos;
        if (!is_ascii(is_comment ? before : line)) return number;
        begin = end + 1;
    }
    return 0;
}

}  // namespace

const std::vector<setting>& settings() {
    // clang-format would write every value on a line of its own.
    // clang-format off
    static const std::vector<setting> table = {
        {"", "engine", value_kind::choice, 0, 0, {std::begin(engine_names), std::end(engine_names)}, "auto", nullptr,
         "the engine to run on; auto is queue on a GPU, else cdp on a GPU, else host, of those that are built",
         nullptr},
        {"", "log", value_kind::choice, 0, 0, {std::begin(log::level_names), std::end(log::level_names)},
         log::to_string(log::default_level), nullptr, "the least important lines that the log shows", nullptr},
        {"", "trace_grids", value_kind::count, 0, 268435456, {}, "0", nullptr,
         "how many grids a run's trace has room for; 0 is no trace", nullptr},
        // CUDA's first device runtime allows at most 24; the engines that dynpar schedules itself can go deeper.
        {"limits", "sync_depth", value_kind::count, 0, 1024, {}, nullptr, "24",
         "how deep wait() may nest: a grid at depth d may wait if d < sync_depth", &limits::sync_depth},
        // A pending launch takes about 7 KiB of device memory: the greatest value takes most of the largest GPU's.
        {"limits", "pending_launches", value_kind::count, 1, 16777216, {}, nullptr,
         "the GPU's own setting (2048 unless changed); no limit on the queue and host engines",
         "how many launches may wait to begin at once", &limits::pending_launches},
        {"limits", "nesting_depth", value_kind::count, 0, 4294967295, {}, nullptr, "no limit",
         "how deep grids may nest: a grid at depth d may launch children if d < nesting_depth", &limits::nesting_depth},
        // CUDA C++ Programming Guide, table of technical specifications: at most 512 KiB of local memory for a thread.
        {"limits", "stack_bytes", value_kind::bytes, 1 * kib, 512 * kib, {}, nullptr,
         "the GPU's own setting; on the queue engine enough for a sync_depth that is given",
         "stack of a GPU thread", &limits::stack_bytes},
        {"limits", "heap_bytes", value_kind::bytes, 1 * mib, 1 * tib, {}, nullptr,
         "the GPU's own setting (8 MiB unless changed)", "heap in device code, where scratch memory comes from",
         &limits::heap_bytes},
        {"limits", "printf_bytes", value_kind::bytes, 4 * kib, 1 * gib, {}, nullptr,
         "the GPU's own setting (1 MiB unless changed)", "buffer of printf in device code", &limits::printf_bytes},
    };
    // clang-format on
    return table;
}

std::string setting::name() const { return *table == '\0' ? std::string(key) : std::string(table) + "." + key; }

std::string setting::environment() const {
    std::string result = environment_prefix;
    for (const char* c = key; *c != '\0'; ++c)
        result += static_cast<char>(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
    return result;
}

std::string setting::option() const {
    std::string result = std::string("--") + key;
    std::replace(result.begin(), result.end(), '_', '-');
    return result;
}

std::string setting::accepted() const {
    switch (kind) {
        case value_kind::choice: return any_of(choices);
        case value_kind::count: return "an integer from " + std::to_string(least) + " to " + std::to_string(most);
        case value_kind::bytes: break;
    }
    return "a size from " + bytes_text(least) + " to " + bytes_text(most) +
           ": a number of bytes, or a number with KiB, MiB, GiB or TiB";
}

std::vector<std::string> process_environment() {
    std::vector<std::string> variables;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
        variables.emplace_back(*variable);
    return variables;
}

config::config() {
    for (const setting& s : settings()) {
        value v;
        if (s.default_value != nullptr) {
            read_text(s, s.name(), s.default_value, v.word, v.number);
            v.given = true;
        }
        values_.push_back(std::move(v));
    }
}

config config::load(const config_sources& sources) {
    config result;
    const std::filesystem::path usual = "dynpar.toml";
    std::error_code ignored;
    if (sources.file)
        result.read_file(*sources.file);
    else if (std::filesystem::exists(std::filesystem::symlink_status(usual, ignored)))
        result.read_file(usual);
    result.read_environment(sources.environment);
    result.read_command_line(sources.command_line);
    return result;
}

void config::read_file(const std::filesystem::path& file) {
    const std::string text = read_all(file);
    const std::string file_name = in_message(file.string());
    if (const std::size_t line = line_that_is_not_ascii(text); line != 0) {
        throw config_error(file_name + ":" + std::to_string(line) +
                           ": not ASCII outside of a comment: settings have names and values of ASCII letters");
    }
    const auto place = [&](const toml::source_region& region) {
        return file_name + ":" + std::to_string(region.begin.line);
    };

    toml::table root;
    try {
        root = toml::parse(text, file_name);
    } catch (const toml::parse_error& e) {
        throw config_error(place(e.source()) + ": not valid TOML at column " + std::to_string(e.source().begin.column) +
                           ": " + in_message(e.description()));
    } catch (const std::logic_error& e) {
        throw config_error(file_name + ": not valid TOML: " + e.what());
    }

    const auto read_table = [&](const toml::table& keys, const std::string& table, const auto& again) -> void {
        for (const auto& [key, node] : keys) {
            const std::string name = table.empty() ? std::string(key.str()) : table + "." + std::string(key.str());
            const std::string where = place(key.source());
            if (table.empty() && is_table(name)) {
                if (!node.is_table())
                    throw config_error(where + ": " + name + " is " + type_name(node.type()) +
                                       "; write it as a table, [" + name + "]");
                again(*node.as_table(), name, again);
                continue;
            }
            const auto& all = settings();
            const auto row = std::find_if(all.begin(), all.end(), [&](const setting& s) { return s.name() == name; });
            if (row == all.end()) fail_unknown_key(where, name, key.str());

            value v;
            v.given = true;
            v.origin = where;
            const std::string subject = where + ": " + name;
            const auto* string = node.as_string();
            const auto* integer = node.as_integer();
            if (string != nullptr && row->kind != value_kind::count) {
                read_text(*row, subject, string->get(), v.word, v.number);
            } else if (integer != nullptr && row->kind != value_kind::choice) {
                read_text(*row, subject, std::to_string(integer->get()), v.word, v.number);
            } else {
                throw config_error(subject + " is " + type_name(node.type()) + "; give " +
                                   (row->kind == value_kind::choice ? "a string: " : "") + row->accepted());
            }
            values_[static_cast<std::size_t>(row - all.begin())] = std::move(v);
        }
    };
    read_table(root, "", read_table);
}

void config::read_environment(const std::vector<std::string>& environment) {
    for (const std::string& variable : environment) {
        const std::size_t equals = variable.find('=');
        if (equals == std::string::npos || variable.rfind(environment_prefix, 0) != 0) continue;
        const std::string name = variable.substr(0, equals);
        const std::string text = variable.substr(equals + 1);
        const auto& all = settings();
        const auto row =
            std::find_if(all.begin(), all.end(), [&](const setting& s) { return s.environment() == name; });
        if (row == all.end()) {
            const setting* meant = nearest(name, [](const setting& s) { return s.environment(); });
            warnings_.push_back("environment " + in_message(name) + ": dynpar has no such setting and ignores it" +
                                (meant != nullptr ? "; did you mean " + meant->environment() + "?" : ""));
            continue;
        }
        if (text.empty()) continue;
        value v;
        v.given = true;
        v.origin = "environment " + name;
        read_text(*row, v.origin, text, v.word, v.number);
        values_[static_cast<std::size_t>(row - all.begin())] = std::move(v);
    }
}

void config::read_command_line(const std::vector<std::pair<std::string, std::string>>& options) {
    for (const auto& [option, text] : options) {
        const auto& all = settings();
        const auto row = std::find_if(all.begin(), all.end(),
                                      [&, &option = option](const setting& s) { return s.option() == option; });
        if (row == all.end()) {
            const setting* meant = nearest(option, [](const setting& s) { return s.option(); });
            throw config_error("command line: unknown option " + in_message(option) +
                               (meant != nullptr ? "; did you mean " + meant->option() + "?" : "; see --help"));
        }
        value v;
        v.given = true;
        v.origin = "command line " + option;
        read_text(*row, v.origin, text, v.word, v.number);
        values_[static_cast<std::size_t>(row - all.begin())] = std::move(v);
    }
}

const config::value& config::find(std::string_view name) const {
    const auto& all = settings();
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].name() == name) return values_[i];
    throw std::out_of_range("dynpar: there is no setting " + in_quotes(name));
}

engine_kind config::engine() const { return *parse_engine_kind(find("engine").word); }

log::level config::log_level() const { return *log::parse_level(find("log").word); }

std::size_t config::trace_grids() const { return static_cast<std::size_t>(find("trace_grids").number); }

limits config::limits() const {
    dynpar::limits result;
    const auto& all = settings();
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].limit != nullptr && values_[i].given)
            result.*all[i].limit = static_cast<std::size_t>(values_[i].number);
    return result;
}

const std::string& config::origin(std::string_view name) const { return find(name).origin; }

std::string config::print() const {
    std::vector<std::string> lines;
    std::size_t widest = 0;
    const auto& all = settings();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const setting& s = all[i];
        const value& v = values_[i];
        std::string line;
        if (!v.given)
            line = std::string("# ") + s.key;
        else if (s.kind == value_kind::choice)
            line = std::string(s.key) + " = \"" + v.word + "\"";
        else if (s.kind == value_kind::bytes)
            line = std::string(s.key) + " = \"" + bytes_text(v.number) + "\"";
        else
            line = std::string(s.key) + " = " + std::to_string(v.number);
        widest = std::max(widest, line.size());
        lines.push_back(std::move(line));
    }

    std::ostringstream out;
    std::string_view table;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (table != all[i].table) {
            table = all[i].table;
            out << "\n[" << table << "]\n";
        }
        out << lines[i] << std::string(widest - lines[i].size(), ' ') << "  # " << values_[i].origin;
        if (!values_[i].given) out << ": " << all[i].not_given;
        out << '\n';
    }
    return out.str();
}

}  // namespace dynpar
