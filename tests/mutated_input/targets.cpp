#include "targets.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <dynpar/config.hpp>
#include <dynpar/detail/printable.hpp>
#include <dynpar/log.hpp>
#include <dynpar/trace_comparison.hpp>
#include <dynpar/trace_file.hpp>
#include <dynpar/trace_page.hpp>
#include <dynpar/trace_statistics.hpp>

#include "../../samples/command_line.hpp"
#include "../trace/chrome_slices.hpp"
#include "../trace/perfetto_slices.hpp"

namespace mutated_input {
namespace {

using dynpar::trace;
using dynpar::trace_format;

void require(bool kept, const std::string& promise) {
    if (!kept) throw broken_promise(promise);
}

/// Text that a terminal only shows.
void require_printable(const std::string& what, std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = text.front() == '\n' ? 1 : dynpar::detail::printable_length(text);
        require(length != 0, what + " holds a control character, or what is no UTF-8");
        text.remove_prefix(length);
    }
}

void require_message(const std::string& what, const std::string& line) {
    require(!line.empty(), what + " says nothing");
    require(line.size() < 1000, what + " says " + std::to_string(line.size()) + " bytes");
    require(line.find('\n') == line.npos, what + " says more than one line");
    require_printable(what, line);
}

std::string written(const trace& t, trace_format format) {
    std::ostringstream out;
    dynpar::write_trace(out, t, format);
    require(bool{out}, "a writer has broken its stream");
    return out.str();
}

void write_all(const trace& t) {
    require_printable("the tree", written(t, trace_format::tree));
    require_printable("the graph", written(t, trace_format::dot));

    const chrome_slices slices = read_chrome_slices(t);
    require(slices.wrong.empty(), "Chrome's format: " + slices.wrong);
    const perfetto_slices same = read_perfetto_slices(t);
    require(same.wrong.empty(), "Perfetto's format: " + same.wrong);
    require(same.count == slices.count, "Perfetto's format has more slices than Chrome's, or fewer");
    // Most of a page is the same for every trace, and large.
    if (dynpar::has_trace_page() && t.grids.size() % 16 == 1) static_cast<void>(written(t, trace_format::page));
    std::ostringstream text;
    dynpar::print_statistics(text, t);
    trace other = t;
    if (!other.grids.empty()) other.grids.pop_back();
    dynpar::print_comparison(text, t, other);
    dynpar::print_comparison(text, other, t);
    require_printable("a table", text.str());
}

bool read_trace(const std::string& input) {
    trace t;
    try {
        std::istringstream in(input);
        t = dynpar::read_trace(in, "input");
    } catch (const dynpar::trace_file_error& e) {
        require_message("read_trace", e.what());
        return false;
    }
    write_all(t);
    const std::string saved = written(t, trace_format::saved);
    std::istringstream in(saved);
    require(written(dynpar::read_trace(in, "saved again"), trace_format::saved) == saved,
            "a trace that is saved again is another");
    return true;
}

/// Records out of bytes: small numbers, so that they refer to each other, and the values that stand for something else.
bool write_records(const std::string& input) {
    std::size_t at = 0;
    const auto byte = [&] { return at < input.size() ? static_cast<unsigned char>(input[at++]) : 0u; };
    const auto id = [&] {
        const unsigned b = byte();
        return b < 128 ? b : b < 160 ? 0x7fffffffu + b : dynpar::grid_record::none;
    };
    const auto time = [&]() -> std::uint64_t {
        const unsigned b = byte();
        return b < 200 ? b : dynpar::grid_record::never - (b - 200) % 3;
    };
    trace t;
    t.engine = input.substr(0, 3);
    t.nanoseconds = time();
    while (at < input.size()) {
        dynpar::grid_record g;
        const auto number = static_cast<std::uint32_t>(t.grids.size());
        g.id = byte() < 200 ? number : id();
        g.parent = id();
        g.continues = byte() < 200 ? dynpar::grid_record::none : id();
        g.depth = byte() < 200 ? byte() % 4 : id();
        g.status = byte() < 200 ? dynpar::status::success : dynpar::status::pending_launches_exceeded;
        g.launched = time();
        g.begun = time();
        g.ended = time();
        g.kernel = std::string(1 + byte() % 2, static_cast<char>(byte()));
        t.grids.push_back(std::move(g));
    }
    write_all(t);
    static_cast<void>(written(t, trace_format::saved));
    return true;
}

/// An empty folder that is the working directory as long as this lives.
class empty_folder {
public:
    empty_folder() : before_(std::filesystem::current_path()) {
        std::string name = (std::filesystem::temp_directory_path() / "dynpar-mutated-input-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder for files can be made: " + name);
        name_ = name;
        std::filesystem::current_path(name_);
    }
    ~empty_folder() {
        std::error_code ignored;
        std::filesystem::current_path(before_, ignored);
        std::filesystem::remove_all(name_, ignored);
    }
    empty_folder(const empty_folder&) = delete;
    empty_folder& operator=(const empty_folder&) = delete;

private:
    std::filesystem::path before_;
    std::filesystem::path name_;
};

std::vector<std::string> lines_of(const std::string& input) {
    std::vector<std::string> lines;
    std::istringstream in(input);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
}

std::optional<dynpar::config> load(const dynpar::config_sources& sources) {
    try {
        return dynpar::config::load(sources);
    } catch (const dynpar::config_error& e) {
        require_message("config", e.what());
        return std::nullopt;
    }
}

bool read_config(const std::string& input) {
    static const empty_folder folder;
    const auto write = [](const std::string& text) {
        std::ofstream("dynpar.toml", std::ios::binary | std::ios::trunc) << text;
    };
    write(input);
    dynpar::config_sources sources;
    sources.environment.clear();
    bool read = false;
    if (const auto c = load(sources)) {
        read = true;
        require_printable("print", c->print());
        write(c->print());
        require(load(sources).has_value(), "what config prints is no configuration");
    }
    std::filesystem::remove("dynpar.toml");
    sources.environment = lines_of(input);
    if (const auto c = load(sources)) {
        require_printable("print", c->print());
        for (const std::string& warning : c->warnings()) require_message("a warning", warning);
    }
    return read;
}

bool read_command_line(const std::string& input) {
    static const empty_folder folder;
    static const bool environment_is_empty = [] {
        for (const dynpar::setting& s : dynpar::settings()) unsetenv(s.environment().c_str());
        return true;
    }();
    static_cast<void>(environment_is_empty);
    std::vector<std::string> arguments = lines_of(input);
    // A file that is named is one of the folder.
    for (std::string& argument : arguments)
        for (char& c : argument)
            if (c == '/') c = '_';
    std::vector<const char*> argv = {"sample"};
    for (const std::string& argument : arguments) argv.push_back(argument.c_str());

    std::ostringstream out;
    std::ostringstream err;
    samples::command_line command("sample", "A sample.", &out, &err);
    std::int64_t size = 8;
    std::optional<std::int64_t> depth;
    std::string variant = "then";
    bool check = false;
    command.add_integer("--size", size, 1, 1024, "threads of the first grid");
    command.add_integer("--depth", depth, 0, 4294967295, "where to stop", "no limit");
    command.add_choice("--variant", variant, {"sync", "then", "nosync"}, "which form of the kernel");
    command.add_flag("--check", check, "compare with the CPU");
    const std::optional<int> status = command.parse(static_cast<int>(argv.size()), argv.data());
    dynpar::log::set_level(dynpar::log::default_level);

    if (!status) {
        require(size >= 1 && size <= 1024 && (!depth || (*depth >= 0 && *depth <= 4294967295)),
                "a number is out of its range");
        require(variant == "sync" || variant == "then" || variant == "nosync", "a choice is none of those");
    }
    if (status == samples::bad_input) {
        std::string line = err.str();
        require(!line.empty() && line.back() == '\n', "no line on standard error");
        line.pop_back();
        require_message("the command line", line);
        require(out.str().empty(), "something was printed before the refusal");
    } else {
        require(!status || status == samples::success, "a status that is none");
        require(err.str().empty(), "something on standard error, and no refusal");
        require_printable("standard output", out.str());
        require(out.str().empty() == !status, "it goes on and has printed something, or ends and has not");
    }
    return status != samples::bad_input;
}

std::vector<std::string> words_of_settings() {
    std::vector<std::string> words = {
        "=",   "\n",     "\"",      "'",    "''' ", "[limits]\n", "[[limits]]",   "limits.",  "{a=",  "[",   "]", "}",
        " # ", "64 MiB", "\\u001b", "auto", "true", "1979-05-27", "\xef\xbb\xbf", "\xc2\x9b", "0x7f", "a.b."};
    for (const dynpar::setting& s : dynpar::settings()) {
        words.push_back(s.key);
        words.push_back(s.environment() + "=");
    }
    return words;
}

std::vector<std::string> words_of_command_lines() {
    std::vector<std::string> words = {"\n",
                                      "--",
                                      "=",
                                      "-h",
                                      "--help\n",
                                      "--config\n",
                                      "--print-config\n",
                                      "--tree\n",
                                      "--trace\n",
                                      "--trace=t.json\n",
                                      "--recommend\n",
                                      "--size\n",
                                      "--depth\n",
                                      "--variant\n",
                                      "--check\n",
                                      "then",
                                      ".dynpar.json",
                                      ".html",
                                      "..",
                                      "\x1b[2J",
                                      "--size=",
                                      "--no-check",
                                      "-",
                                      "%{",
                                      "[1,2]"};
    for (const dynpar::setting& s : dynpar::settings()) words.push_back(s.option() + "\n");
    return words;
}

}  // namespace

const std::vector<target>& targets() {
    static const std::vector<target> all = {
        {"trace",
         read_trace,
         {"null",
          "true",
          "[",
          "]",
          "{",
          "}",
          ",",
          ":",
          "\"",
          "[[[[[[[[[[",
          "\"grids\":[",
          "\"kernels\":[",
          "\"shapes\":[",
          "[1,1,1,8,1,1,0,0]",
          "\"success\"",
          "\"pending_launches_exceeded\"",
          "[0,null,null,0,0,1,\"success\",0,1,2,3],",
          "\\u001b",
          "\\ud800",
          "\\u0000",
          "\xc2\x9b",
          "-",
          "\"version\":1,",
          "\"traceEvents\":[]"},
         1 << 18},
        {"records",
         write_records,
         {std::string(9, '\0'), std::string(9, '\xff'), std::string(1, '\0') + "\x01\x02", "\xc8\xc9"},
         1 << 10},
        {"config", read_config, words_of_settings(), 1 << 15},
        {"command_line", read_command_line, words_of_command_lines(), 1 << 14},
    };
    return all;
}

}  // namespace mutated_input
