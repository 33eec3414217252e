// Saved traces, and traces in files of every format.
#include <dynpar/trace_file.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <ostream>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <dynpar/chrome_trace.hpp>
#include <dynpar/detail/printable.hpp>
#include <dynpar/graphviz.hpp>
#include <dynpar/perfetto_trace.hpp>
#include <dynpar/trace_page.hpp>
#include <dynpar/trace_tree.hpp>

#include "about_lines.hpp"
#include "gzip.hpp"
#include "whole_text.hpp"

namespace dynpar {
namespace {

using json = nlohmann::ordered_json;
using detail::in_message;
namespace fs = std::filesystem;

constexpr const char* format_name = "dynpar trace";
constexpr unsigned format_version = 1;

// A row of "grids" has these, in this order. What there is not (no parent, never begun) is null.
constexpr std::array<const char*, 11> columns = {"parent", "continues", "stream",   "kernel", "shape", "depth",
                                                 "status", "processor", "launched", "begun",  "ended"};

constexpr std::array<status, 10> statuses = {status::success,
                                             status::invalid_configuration,
                                             status::invalid_pointer,
                                             status::sync_depth_exceeded,
                                             status::pending_launches_exceeded,
                                             status::nesting_depth_exceeded,
                                             status::shared_memory_exceeded,
                                             status::out_of_memory,
                                             status::not_supported,
                                             status::launch_failed};

constexpr const char* advice = "give a file written with the ending .dynpar.json";
constexpr const char* endings = ".txt, .dynpar.json, .dynpar.json.gz, .json, .json.gz, .pftrace, .dot or .html";

json or_null(std::uint32_t number) { return number == grid_record::none ? json() : json(number); }
json or_null(std::uint64_t time) { return time == grid_record::never ? json() : json(time); }

// A name that is no UTF-8 is no JSON either: what is wrong in it becomes U+FFFD.
std::string text_of(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

// In a message.
std::string shown(const json& value) { return in_message(text_of(value)); }

std::array<unsigned, 8> numbers_of(const shape& s) {
    return {s.blocks.x,  s.blocks.y,  s.blocks.z,     s.threads.x,
            s.threads.y, s.threads.z, s.shared_bytes, (s.moldable ? 1u : 0u) | (s.shared_per_thread ? 2u : 0u)};
}

void save_trace(std::ostream& out, const trace& t) {
    // Names and shapes once each: a trace of 100,000 grids has some ten of them.
    std::unordered_map<std::string, std::size_t> kernel_numbers;
    std::map<std::array<unsigned, 8>, std::size_t> shape_numbers;
    json kernels = json::array();
    json shapes = json::array();
    std::vector<std::pair<std::size_t, std::size_t>> numbers;
    numbers.reserve(t.grids.size());
    for (const grid_record& grid : t.grids) {
        const auto [kernel, new_kernel] = kernel_numbers.try_emplace(grid.kernel, kernels.size());
        if (new_kernel) kernels.push_back(grid.kernel);
        const auto sizes = numbers_of(grid.shape);
        const auto [shape, new_shape] = shape_numbers.try_emplace(sizes, shapes.size());
        if (new_shape) shapes.push_back(sizes);
        numbers.emplace_back(kernel->second, shape->second);
    }
    out << "{\n\"format\": \"" << format_name << "\",\n\"version\": " << format_version
        << ",\n\"engine\": " << text_of(t.engine) << ",\n\"device\": " << text_of(t.device)
        << ",\n\"nanoseconds\": " << t.nanoseconds << ",\n\"clock_error\": " << t.clock_error
        << ",\n\"missing\": " << t.missing;
    if (!t.about.empty()) out << ",\n\"about\": " << text_of(t.about);  // later than version 1, which readers skip
    out << ",\n\"kernels\": " << text_of(kernels) << ",\n\"shapes\": " << text_of(shapes)
        << ",\n\"columns\": " << text_of(columns) << ",\n\"grids\": [\n";
    for (std::size_t i = 0; i < t.grids.size(); ++i) {
        const grid_record& g = t.grids[i];
        out << text_of({or_null(g.parent), or_null(g.continues), or_null(g.stream), numbers[i].first, numbers[i].second,
                        g.depth, to_string(g.status), or_null(g.processor), g.launched, or_null(g.begun),
                        or_null(g.ended)})
            << (i + 1 == t.grids.size() ? "\n" : ",\n");
    }
    out << "]\n}\n";
}

[[noreturn]] void fail_as_no_json(const std::string& name, std::size_t byte) {
    throw trace_file_error(name + ": is no JSON (at byte " + std::to_string(byte) + "); " + advice);
}

[[noreturn]] void fail_as_no_trace(const std::string& name, bool is_chrome) {
    throw trace_file_error(name + ": is no saved trace; " + advice +
                           (is_chrome ? " (this is a trace for Chrome, which cannot be read back)" : ""));
}

// Reads fields of a saved trace; whatever is wrong is said with the file's name and the place.
class reader {
public:
    reader(json document, std::string name) : document_(std::move(document)), name_(std::move(name)) {}

    trace read() const {
        if (!document_.is_object() || !document_.contains("format") || document_["format"] != format_name)
            fail_as_no_trace(name_, document_.is_object() && document_.contains("traceEvents"));
        const auto version = number(document_, "version", UINT32_MAX);
        if (version != format_version) {
            fail("has version " + std::to_string(version) + " of the format, and this program reads version " +
                 std::to_string(format_version) + "; use the dynpar-trace of the dynpar that wrote it");
        }
        trace t;
        t.engine = text(document_, "engine");
        t.device = text(document_, "device");
        t.nanoseconds = number(document_, "nanoseconds", UINT64_MAX);
        t.clock_error = number(document_, "clock_error", UINT64_MAX);
        t.missing = number(document_, "missing", UINT64_MAX);
        if (document_.contains("about")) {
            for (const json& said : list(document_, "about")) {
                if (!said.is_array() || said.size() != 2 || !said[0].is_string() || !said[1].is_string())
                    fail("about: holds what is no name with a text");
                t.about.emplace_back(said[0], said[1]);
            }
        }
        const engine_kind engine = parse_engine_kind(t.engine).value_or(engine_kind::automatic);

        std::vector<std::string> kernels;
        for (const json& kernel : list(document_, "kernels")) {
            if (!kernel.is_string()) fail("kernels: holds what is no text");
            kernels.push_back(kernel);
        }
        std::vector<shape> shapes;
        for (const json& sizes : list(document_, "shapes")) shapes.push_back(shape_of(sizes));
        if (list(document_, "columns") != json(columns)) fail("columns: are not those of version 1");

        const json& rows = list(document_, "grids");
        t.grids.resize(rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::string where = "grid " + std::to_string(i) + ": ";
            const json& row = rows[i];
            if (!row.is_array() || row.size() != columns.size()) {
                fail(where + "has not " + std::to_string(columns.size()) + " fields");
            }
            const auto field = [&](std::size_t column, std::uint64_t least_wrong) {
                const json& value = row[column];
                if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= least_wrong) {
                    fail(where + columns[column] + ": " + shown(value) + " is out of range");
                }
                return value.get<std::uint64_t>();
            };
            const auto optional = [&](std::size_t column, std::uint64_t least_wrong) -> std::optional<std::uint64_t> {
                if (row[column].is_null()) return std::nullopt;
                return field(column, least_wrong);
            };
            const auto number32 = [&](std::size_t column, std::uint64_t least_wrong) {
                return static_cast<std::uint32_t>(optional(column, least_wrong).value_or(grid_record::none));
            };
            grid_record& g = t.grids[i];
            g.id = static_cast<std::uint32_t>(i);
            g.parent = number32(0, i);  // a grid is launched after its parent
            g.continues = number32(1, i);
            g.stream = number32(2, grid_record::none);
            g.kernel = kernels[field(3, kernels.size())];
            g.shape = shapes[field(4, shapes.size())];
            g.depth = static_cast<std::uint32_t>(field(5, UINT32_MAX));
            g.status = status_of(row[6], where);
            g.processor = number32(7, grid_record::none);
            g.engine = engine;
            g.launched = field(8, UINT64_MAX);
            g.begun = optional(9, UINT64_MAX).value_or(grid_record::never);
            g.ended = optional(10, UINT64_MAX).value_or(grid_record::never);
        }
        return t;
    }

private:
    [[noreturn]] void fail(const std::string& what) const { throw trace_file_error(name_ + ": " + what); }

    const json& member(const json& object, const char* key) const {
        if (!object.contains(key)) fail(std::string(key) + ": is missing");
        return object[key];
    }
    const json& list(const json& object, const char* key) const {
        const json& value = member(object, key);
        if (!value.is_array()) fail(std::string(key) + ": is no list");
        return value;
    }
    std::string text(const json& object, const char* key) const {
        const json& value = member(object, key);
        if (!value.is_string()) fail(std::string(key) + ": is no text");
        return value;
    }
    std::uint64_t number(const json& object, const char* key, std::uint64_t most) const {
        const json& value = member(object, key);
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > most) {
            fail(std::string(key) + ": " + shown(value) + " is out of range");
        }
        return value;
    }
    shape shape_of(const json& sizes) const {
        std::array<unsigned, 8> n{};
        if (!sizes.is_array() || sizes.size() != n.size()) fail("shapes: holds what has not 8 numbers");
        for (std::size_t i = 0; i < n.size(); ++i) {
            if (!sizes[i].is_number_unsigned() || sizes[i].get<std::uint64_t>() > UINT32_MAX) {
                fail("shapes: " + shown(sizes[i]) + " is out of range");
            }
            n[i] = sizes[i];
        }
        shape s({n[0], n[1], n[2]}, dimensions{n[3], n[4], n[5]}, n[6]);
        s.moldable = n[7] != 0;
        s.shared_per_thread = (n[7] & 2) != 0;
        return s;
    }
    status status_of(const json& value, const std::string& where) const {
        for (const status s : statuses) {
            if (value == to_string(s)) return s;
        }
        fail(where + "status: " + shown(value) + " is none of dynpar's");
    }

    const json document_;
    std::string name_;
};

std::string because(int error) { return error != 0 ? std::string(" (") + std::strerror(error) + ")" : std::string(); }

[[noreturn]] void fail_to_write(const std::string& file, int error) {
    throw trace_file_error(in_message(file) + ": cannot be written" + because(error) +
                           "; give a file in a folder that exists, may be written to, and has room");
}

// An empty file beside the one that it is to replace, under whose name it comes when it is whole; until then it is
// deleted with this object.
class new_file {
public:
    // Throws `trace_file_error` that names `file`.
    explicit new_file(const std::string& file) : place_(file) {
        // Through a link, so that it stays one.
        std::error_code error;
        const fs::path target = fs::canonical(file, error);
        if (!error) place_ = target;
        // A short name: with the other's in it, it could be longer than a name may be.
        static std::atomic<unsigned> count{0};
        for (int descriptor = -1; descriptor < 0;) {
            beside_ = place_.parent_path() / (".dynpar-" + std::to_string(getpid()) + "-" + std::to_string(count++));
            descriptor = open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (descriptor >= 0) {
                close(descriptor);
            } else if (errno != EEXIST) {
                fail_to_write(file, errno);
            }
        }
    }
    ~new_file() {
        if (!beside_.empty()) unlink(beside_.c_str());
    }
    new_file(const new_file&) = delete;
    new_file& operator=(const new_file&) = delete;

    const fs::path& path() const { return beside_; }

    // False, with errno, if that fails.
    bool replace() {
        struct stat old {};
        if (stat(place_.c_str(), &old) == 0) static_cast<void>(chmod(beside_.c_str(), old.st_mode & 07777));
        if (rename(beside_.c_str(), place_.c_str()) != 0) return false;
        beside_.clear();
        return true;
    }

private:
    fs::path place_;
    fs::path beside_;
};

// Whether there is something of that name which is no file that could be replaced: a pipe, a terminal.
bool is_special(const std::string& file) {
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    return fs::exists(status) && !fs::is_regular_file(status);
}

void write_packed(std::ostream& out, const trace& t, trace_format format) {
    detail::gzip_output packed(out);
    std::ostream text(&packed);
    write_trace(text, t, format);
    packed.finish();
}

bool ends_with(const std::string& text, const std::string& ending) {
    return text.size() > ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

}  // namespace

trace_format format_of(const std::string& file) {
    if (ends_with(file, ".dynpar.json")) return trace_format::saved;
    if (ends_with(file, ".dynpar.json.gz")) return trace_format::saved_gzip;
    if (ends_with(file, ".json")) return trace_format::chrome;
    if (ends_with(file, ".json.gz")) return trace_format::chrome_gzip;
    if (ends_with(file, ".pftrace")) return trace_format::perfetto;
    if (ends_with(file, ".dot")) return trace_format::dot;
    if (ends_with(file, ".txt")) return trace_format::tree;
    if (ends_with(file, ".html")) {
        if (!has_trace_page()) {
            throw trace_file_error(
                in_message(file) +
                ": this build of dynpar writes no pages: d3 was not found when it was configured; install "
                "Debian's libjs-d3 and configure again, or give a name that ends with .json");
        }
        return trace_format::page;
    }
    throw trace_file_error("\"" + in_message(file) + "\": the ending tells no format; give a name that ends with " +
                           endings);
}

void require_writable(const std::string& file) {
    static_cast<void>(format_of(file));
    const std::string name = in_message(file);
    std::error_code error;
    if (fs::is_directory(file, error)) throw trace_file_error(name + " is a folder; give a file");
    const fs::path folder = fs::path(file).parent_path();
    if (!folder.empty() && !fs::is_directory(folder, error)) {
        throw trace_file_error(name + ": there is no folder " + in_message(folder.string()) +
                               "; make it, or give another file");
    }
    struct stat old {};
    if (stat(file.c_str(), &old) != 0 && errno != ENOENT)
        fail_to_write(file, errno);  // a name that is too long, for instance
    if (is_special(file)) {
        if (access(file.c_str(), W_OK) != 0) fail_to_write(file, errno);
    } else {
        const new_file tried(file);  // what a folder lets one do is seen for certain only by doing it
    }
}

void write_trace(std::ostream& out, const trace& t, trace_format format) {
    switch (format) {
        case trace_format::tree:
            print_tree(out, t);
            if (!t.about.empty()) {
                out << '\n';
                detail::write_about(out, t);
            }
            break;
        case trace_format::saved: save_trace(out, t); break;
        case trace_format::saved_gzip: write_packed(out, t, trace_format::saved); break;
        case trace_format::chrome: write_chrome_trace(out, t); break;
        case trace_format::chrome_gzip: write_packed(out, t, trace_format::chrome); break;
        case trace_format::perfetto: write_perfetto_trace(out, t); break;
        case trace_format::dot: write_dot(out, t); break;
        case trace_format::page: write_trace_page(out, t); break;
    }
}

void write_trace(const std::string& file, const trace& t) {
    const trace_format format = format_of(file);
    const auto write_to = [&](const std::string& name) {
        errno = 0;
        std::ofstream out(name, std::ios::binary | std::ios::trunc);
        if (out) {
            write_trace(out, t, format);
            out.close();
        }
        if (!out) fail_to_write(file, errno);
    };
    if (is_special(file)) {
        write_to(file);
        return;
    }
    new_file whole(file);
    write_to(whole.path().string());
    if (!whole.replace()) fail_to_write(file, errno);
}

namespace {

// Whether JSON may begin so: the rest of a text that does not need not be read, however long it is.
bool may_begin_json(int c) {
    constexpr std::string_view first = "{[\"-0123456789tfn \t\r\n\xef";  // 0xEF begins a byte order mark
    return c == std::char_traits<char>::eof() || first.find(static_cast<char>(c)) != first.npos;
}

// All of a saved trace's text. More than could come out of a packed one is none.
std::string all_of(std::streambuf& in, const std::string& name) {
    if (std::optional<std::string> text = detail::whole_text(in, detail::gzip_limits().bytes)) return *std::move(text);
    throw trace_file_error(name + ": has more than 16 GiB; give a saved trace");
}

// How deep brackets stand in each other, those in quotes left out.
std::size_t deepest_nesting(const std::string& text) {
    std::size_t depth = 0;
    std::size_t deepest = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quoted) {
            if (c == '\\') ++i;
            if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '[' || c == '{') {
            deepest = std::max(deepest, ++depth);
        } else if ((c == ']' || c == '}') && depth != 0) {
            --depth;
        }
    }
    return deepest;
}

json parse(const std::string& text, const std::string& name) {
    // nlohmann's json is walked through by recursion, where it is compared and printed: a text of brackets alone would
    // use up the stack. A saved trace nests two deep. (Looked for here, because a parser that is asked to call back
    // for each value takes quadratic time for a list of objects.)
    if (deepest_nesting(text) > 8)
        throw trace_file_error(name + ": is no saved trace: it nests deeper than one does; " + advice);
    // What is large and something else need not come into memory.
    if (text.find(format_name) == text.npos && json::accept(text))
        fail_as_no_trace(name, text.find("\"traceEvents\"") != text.npos);
    try {
        return json::parse(text);
    } catch (const json::parse_error& e) {
        fail_as_no_json(name, e.byte);
    } catch (const json::out_of_range&) {
        throw trace_file_error(name + ": holds a number that is out of every range; " + advice);
    }
}

}  // namespace

trace read_trace(std::istream& in, const std::string& file) {
    const std::string name = in_message(file);
    std::string text;
    try {
        if (detail::is_gzip(in)) {
            detail::gzip_input unpacked(in);
            text = all_of(unpacked, name);
        } else {
            if (!may_begin_json(in.peek())) fail_as_no_json(name, 1);
            text = all_of(*in.rdbuf(), name);
        }
    } catch (const detail::gzip_error& e) {
        throw trace_file_error(name + ": " + e.what() + "; give a whole file, written with the ending .dynpar.json.gz");
    } catch (const std::ios_base::failure&) {
        throw trace_file_error(name + ": reading it failed; check the file");
    }
    return reader(parse(text, name), name).read();
}

trace read_trace(const std::string& file) {
    std::error_code error;
    // A pipe that nobody writes to would keep the program waiting, and a device may never end.
    if (is_special(file) && !fs::is_directory(file, error))
        throw trace_file_error(in_message(file) + ": is a device or a pipe; give a saved trace");
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    if (in) in.peek();  // a folder can be opened, and not read
    if (!in && !in.eof()) {
        throw trace_file_error(in_message(file) + ": cannot be read" + because(errno) + "; give a saved trace");
    }
    return read_trace(in, file);
}

}  // namespace dynpar
