#include "command_line.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <iostream>
#include <new>
#include <sstream>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <dynpar/detail/printable.hpp>
#include <dynpar/log.hpp>
#include <dynpar/recommendation.hpp>
#include <dynpar/trace_file.hpp>
#include <dynpar/trace_tree.hpp>
#include <dynpar/version.hpp>

#if defined(DYNPAR_WITH_CUDA)
#include <cuda_runtime_api.h>

#include <dynpar/probe_gpu.hpp>
#endif

namespace samples {
namespace {

// Room in a trace where the settings ask for none: for a tree that people can read; for a file; and for --recommend,
// which needs every grid where the engine counts by its trace.
constexpr std::size_t tree_grids = 65536;
constexpr std::size_t file_grids = 262144;
constexpr std::size_t recommend_grids = 1048576;

constexpr unsigned most_trace_files = 20;

// The file for one of several runs: "run.html", "run-2.html", "run-3.dynpar.json.gz".
std::string numbered(const std::string& file, unsigned run) {
    if (run == 1) return file;
    std::size_t ending = file.rfind('.');
    for (const std::string_view several : {".json.gz", ".dynpar.json", ".dynpar.json.gz"})
        if (file.size() > several.size() && file.compare(file.size() - several.size(), several.size(), several) == 0)
            ending = file.size() - several.size();
    return file.substr(0, ending) + "-" + std::to_string(run) + file.substr(ending);
}

using dynpar::detail::in_message;

std::string one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return dynpar::detail::printable(text);
}

std::string joined(const std::vector<std::string>& words) {
    std::string list;
    for (std::size_t i = 0; i < words.size(); ++i)
        list += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
    return list;
}

// An argument as a shell takes it.
std::string quoted(const std::string& argument) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
    if (!argument.empty() && argument.find_first_not_of(plain) == std::string::npos) return argument;
    std::string result = "'";
    for (const char c : argument) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

// "2025-01-31T12:00:00Z"
std::string now() {
    const std::time_t seconds = std::time(nullptr);
    std::tm parts{};
    std::array<char, 32> text{};
    gmtime_r(&seconds, &parts);
    return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

// The settings that are not as by default, as the configuration prints them: each with where it comes from.
std::string settings_given(const dynpar::config& config) {
    std::istringstream lines(config.print());
    std::string result;
    std::string section;
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty() && line.front() == '[') section = line.substr(1, line.find(']') - 1) + ".";
        if (line.find(" = ") == line.npos || line.find("# ") == line.npos || line.find("# default") != line.npos)
            continue;
        const std::size_t comment = line.find("# ");
        const std::string value = line.substr(0, line.find_last_not_of(' ', comment - 1) + 1);
        result += (result.empty() ? "" : "\n") + section + value + " (" + line.substr(comment + 2) + ")";
    }
    return result;
}

// Breaks the lines of an option's description, which CLI11 then indents.
std::string wrapped(const std::string& text) {
    constexpr std::size_t width = 82;
    std::string result;
    std::size_t column = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find(' ', begin), text.size());
        if (column != 0) {
            const bool fits = column + 1 + (end - begin) <= width;
            result += fits ? ' ' : '\n';
            column = fits ? column + 1 : 0;
        }
        result += text.substr(begin, end - begin);
        column += end - begin;
        begin = end + 1;
    }
    return result;
}

std::string cost_of(const dynpar::recommended_limit& limit, const std::string& engine, const dynpar::gpu_state& gpu);

}  // namespace

struct command_line::state {
    state(std::string sample_name, const std::string& description, std::ostream& standard_out,
          std::ostream& standard_error)
        : name(std::move(sample_name)), app(description, name), out(standard_out), err(standard_error) {}

    // One option of dynpar's settings as it was given.
    struct given_setting {
        std::string option;
        std::string text;
        CLI::Option* parsed = nullptr;
    };

    void add_integer(const std::string& option, std::function<void(std::int64_t)> set, std::int64_t least,
                     std::int64_t most, const std::string& meaning, const std::string& not_given) {
        const std::string accepted = "an integer from " + std::to_string(least) + " to " + std::to_string(most);
        // Not CLI11's own conversion, which takes 0x10, 010 and 1e3 in its own way from version to version.
        const auto read = [set = std::move(set), least, most, option, accepted](const CLI::results_t& texts) {
            const std::string& text = texts.front();
            std::int64_t value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            const bool all_read = end == text.data() + text.size();
            if (!all_read || error == std::errc::invalid_argument)
                throw input_error(option + ": \"" + in_message(text) + "\" is no integer; give " + accepted);
            if (error == std::errc::result_out_of_range || value < least || value > most)
                throw input_error(option + ": " + in_message(text) + " is out of range; give " + accepted);
            set(value);
            return true;
        };
        app.add_option(option, read, wrapped(meaning + "; give " + accepted + " (not given: " + not_given + ")"))
            ->type_name("COUNT");
    }

    // After something was printed: what was buffered is written, and where that fails, now or before, the sample shall
    // not go on as if somebody had read it.
    void require_output() const {
        out.flush();
        const bool failed_before =
            &out == &std::cout && std::ferror(stdout) != 0;  // what kernels print goes to stdout itself
        if (out && !failed_before) return;
        const std::string reason = errno != 0 ? std::string(" (") + std::strerror(errno) + ")" : "";
        throw output_error("standard output cannot be written" + reason + "; send it to where there is room");
    }

    void print(const std::string& text) const {
        errno = 0;
        out << text;
        require_output();
    }

    int print_and_end(const std::string& text) const {
        try {
            print(text);
            return success;
        } catch (const output_error& e) {
            err << name << ": " << e.what() << std::endl;
            return failed;
        }
    }

    int refuse(const std::string& what) const {
        out.flush();
        err << name << ": " << one_line(what) << std::endl;
        return bad_input;
    }

    std::string name;
    CLI::App app;
    std::ostream& out;
    std::ostream& err;
    std::string config_file;
    bool print_config = false;
    std::string command;  // as it was given
    bool tree = false;
    bool recommend = false;
    std::string trace_file;
    std::vector<std::string> flags = {"--help", "--version", "--print-config", "--tree", "--recommend"};
    std::deque<given_setting> settings;  // a deque: CLI11 keeps references to the elements
    dynpar::config config;

    // Of the runs so far.
    unsigned runs = 0;
    bool all_well = true;
    bool all_traces_written = true;
    std::string engine;
    dynpar::run_needs needs;
    std::uint64_t missing = 0;
    std::uint64_t most_launches = 0;
    std::vector<std::string> trees;
};

command_line::command_line(std::string name, std::string description, std::ostream* out, std::ostream* err)
    : state_(std::make_unique<state>(std::move(name), description, out != nullptr ? *out : std::cout,
                                     err != nullptr ? *err : std::cerr)) {
    CLI::App& app = state_->app;
    // As with the sources of a setting, what comes later beats what came before.
    app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    app.get_formatter()->column_width(40);
    app.set_help_flag("-h,--help", "print this and stop");
    app.set_version_flag(
        "--version", [name = state_->name] { return name + " (dynpar " DYNPAR_VERSION_STRING ")"; },
        "print dynpar's version and stop");
    app.add_option(
           "--config", state_->config_file,
           wrapped("the file with the settings (not given: dynpar.toml in the working directory, if there is one)"))
        ->type_name("FILE");
    app.add_flag("--print-config", state_->print_config, "print every setting and where it comes from, and stop");
    app.add_flag("--tree", state_->tree, "print the nesting tree: which grid launched which");
    app.add_option("--trace", state_->trace_file,
                   wrapped("write the trace of the run to this file, which ends with .html (a page), .pftrace "
                           "(Perfetto), .json (Chrome, Perfetto), .dot (Graphviz), .txt (the tree) or .dynpar.json "
                           "(for dynpar-trace); with .gz after .json it is packed; a further run of the same program "
                           "gets a file of its own, run-2.html beside run.html"))
        ->type_name("FILE");
    app.add_flag("--recommend", state_->recommend,
                 wrapped("print the smallest limits that would have done, as a piece of dynpar.toml"));
    for (const dynpar::setting& s : dynpar::settings()) {
        state::given_setting& given = state_->settings.emplace_back();
        given.option = s.option();
        const std::string meaning = std::string(s.meaning) + "; give " + s.accepted() +
                                    " (not given: " + (s.default_value != nullptr ? s.default_value : s.not_given) +
                                    ") [" + s.environment() + "]";
        given.parsed = app.add_option(given.option, given.text, wrapped(meaning))
                           ->type_name(s.kind == dynpar::setting::value_kind::choice  ? "WORD"
                                       : s.kind == dynpar::setting::value_kind::bytes ? "SIZE"
                                                                                      : "COUNT")
                           ->group("Settings of dynpar");
    }
    app.footer("Command line beats environment variable beats file beats default.");
}

command_line::~command_line() = default;

void command_line::add_integer(const std::string& name, std::int64_t& variable, std::int64_t least, std::int64_t most,
                               const std::string& meaning) {
    state_->add_integer(
        name, [&variable](std::int64_t value) { variable = value; }, least, most, meaning, std::to_string(variable));
}

void command_line::add_integer(const std::string& name, std::optional<std::int64_t>& variable, std::int64_t least,
                               std::int64_t most, const std::string& meaning, const std::string& not_given) {
    state_->add_integer(
        name, [&variable](std::int64_t value) { variable = value; }, least, most, meaning, not_given);
}

void command_line::add_choice(const std::string& name, std::string& variable, const std::vector<std::string>& choices,
                              const std::string& meaning) {
    const std::string accepted = joined(choices);
    const auto read = [&variable, choices, name, accepted](const CLI::results_t& texts) {
        const std::string& text = texts.front();
        if (std::find(choices.begin(), choices.end(), text) == choices.end())
            throw input_error(name + ": \"" + in_message(text) + "\" is unknown; give " + accepted);
        variable = text;
        return true;
    };
    state_->app.add_option(name, read, wrapped(meaning + "; give " + accepted + " (not given: " + variable + ")"))
        ->type_name("WORD");
}

void command_line::add_flag(const std::string& name, bool& variable, const std::string& meaning) {
    state_->app.add_flag(name, variable, wrapped(meaning));
    state_->flags.push_back(name);
}

void command_line::add_file(const std::string& name, std::optional<std::string>& variable, const std::string& meaning,
                            const std::string& not_given) {
    const auto read = [&variable, name](const CLI::results_t& texts) {
        if (texts.front().empty()) throw input_error(name + ": the name is empty; give a file");
        variable = texts.front();
        return true;
    };
    state_->app.add_option(name, read, wrapped(meaning + " (not given: " + not_given + ")"))->type_name("FILE");
}

std::optional<int> command_line::parse(int argc, const char* const* argv) {
    state& my = *state_;
    for (int i = 0; i < argc; ++i) my.command += (i == 0 ? "" : " ") + quoted(argv[i]);
    try {
        // CLI11 would take --tree=3 for yes, and --tree=false for no.
        for (int i = 1; i < argc; ++i) {
            const std::string argument = argv[i];
            const std::string option = argument.substr(0, argument.find('='));
            if (option != argument && std::find(my.flags.begin(), my.flags.end(), option) != my.flags.end())
                throw input_error(option + " takes no value; leave out " + in_message(argument.substr(option.size())));
        }
        my.app.parse(argc, argv);

        dynpar::config_sources sources;
        if (my.app.count("--config") != 0 && my.config_file.empty())
            throw input_error("--config: the name is empty; give a TOML file, or leave the option out");
        if (my.app.count("--trace") != 0) {
            try {
                dynpar::require_writable(my.trace_file);
            } catch (const dynpar::trace_file_error& e) {
                throw input_error(std::string("--trace: ") + e.what());
            }
        }
        if (my.app.count("--config") != 0) sources.file = my.config_file;
        for (const state::given_setting& given : my.settings)
            if (given.parsed->count() != 0) sources.command_line.emplace_back(given.option, given.text);
        my.config = dynpar::config::load(sources);
    } catch (const CLI::CallForHelp&) {
        return my.print_and_end(my.app.help() + "\n");
    } catch (const CLI::CallForVersion& e) {
        return my.print_and_end(std::string(e.what()) + "\n");
    } catch (const CLI::ExtrasError&) {
        const std::vector<std::string> extras = my.app.remaining();
        return my.refuse("unknown argument " + (extras.empty() ? std::string() : in_message(extras.front())) +
                         "; see " + my.name + " --help");
    } catch (const CLI::ArgumentMismatch& e) {  // of options that take one value each: it is missing
        const std::string message = e.what();
        return my.refuse(in_message(message.substr(0, message.find(':'))) + " needs a value; see " + my.name +
                         " --help");
    } catch (const CLI::ParseError& e) {
        return my.refuse(in_message(e.what()) + "; see " + my.name + " --help");
    } catch (const input_error& e) {
        return my.refuse(e.what());
    } catch (const dynpar::config_error& e) {
        return my.refuse(e.what());
    }
    dynpar::log::set_level(my.config.log_level());
    for (const std::string& warning : my.config.warnings()) dynpar::log::warn(warning);
    if (my.print_config) return my.print_and_end(my.config.print());
    return std::nullopt;
}

const dynpar::config& command_line::config() const { return state_->config; }

dynpar::engine_options command_line::engine_options() const {
    dynpar::engine_options options;
    options.limits = state_->config.limits();
    options.trace_grids = state_->config.trace_grids();
    if (options.trace_grids == 0) {
        if (state_->tree) options.trace_grids = tree_grids;
        if (!state_->trace_file.empty()) options.trace_grids = file_grids;
        if (state_->recommend) options.trace_grids = recommend_grids;
    }
    options.progress = true;
    return options;
}

dynpar::engine_choice command_line::choose_engine(const dynpar::built_engines& built) const {
    const dynpar::engine_kind asked = state_->config.engine();
    const bool gpu_could_serve = asked == dynpar::engine_kind::automatic
                                     ? built.any_for_gpu()
                                     : asked != dynpar::engine_kind::host && built.has(asked);
    return dynpar::choose(asked, built, gpu_could_serve ? probe_gpu() : dynpar::gpu_state{},
                          state_->config.origin("engine"));
}

void command_line::observe(dynpar::report& report) const {
    state& my = *state_;
    ++my.runs;
    my.engine = report.engine;
    my.needs = dynpar::greatest(my.needs, report.needed);
    my.most_launches = std::max(my.most_launches, report.grids + report.lost_launches);
    my.missing = std::max(my.missing, report.trace.missing);
    if (report.failed_calls != 0) my.all_well = false;
    if (my.tree) {
        std::ostringstream text;
        dynpar::print_tree(text, report.trace);
        my.trees.push_back(text.str());
    }
    if (my.trace_file.empty() || my.runs > most_trace_files) return;
    const std::string file = numbered(my.trace_file, my.runs);
    report.trace.about = {{"command", my.command}, {"date", now()}, {"version", "dynpar " DYNPAR_VERSION_STRING}};
    if (const std::string given = settings_given(my.config); !given.empty())
        report.trace.about.emplace_back("settings", given);
    try {
        dynpar::write_trace(file, report.trace);
    } catch (const dynpar::trace_file_error& e) {
        my.all_traces_written = false;
        my.err << my.name << ": --trace: " << e.what() << std::endl;
        return;
    }
    if (report.trace.missing != 0)
        my.err << my.name << ": " << file << ": the trace had no room for " << report.trace.missing << " of "
               << report.trace.missing + report.trace.grids.size() << " grids; give --trace-grids "
               << report.trace.missing + report.trace.grids.size() << " for all of them" << std::endl;
    if (my.runs == most_trace_files)
        my.err << my.name << ": --trace: that was run " << my.runs << "; further runs are not written" << std::endl;
}

void command_line::show_tree(const dynpar::report& report) const {
    if (!state_->tree) return;
    std::ostringstream text;
    dynpar::print_tree(text, report.trace);
    state_->print(text.str());
    const auto kept = std::find(state_->trees.begin(), state_->trees.end(), text.str());
    if (kept != state_->trees.end()) state_->trees.erase(kept);
}

int command_line::finish(int status) const {
    state& my = *state_;
    if (!my.all_traces_written && status == success) status = failed;
    for (const std::string& tree : my.trees) my.print(tree);
    my.trees.clear();
    errno = 0;
    my.require_output();
    if (!my.recommend) return status;
    if (my.runs == 0) {
        my.err << my.name << ": --recommend: nothing ran on dynpar's engines" << std::endl;
    } else if (!my.all_well) {
        my.err << my.name
               << ": --recommend: calls failed in a run, so that what it needs cannot be known; raise the limit that "
                  "it names"
               << std::endl;
    } else if (my.engine == "cdp" && !my.needs.pending_launches && my.missing != 0) {
        my.err << my.name << ": --recommend: launches are counted by the trace, which had no room for " << my.missing
               << " grids; give --trace-grids " << my.most_launches << std::endl;
    } else {
        const dynpar::gpu_state gpu = probe_gpu();
        std::ostringstream text;
        text << "# What " << (my.runs == 1 ? "this run" : "each of these " + std::to_string(my.runs) + " runs")
             << " needed on the " << my.engine << " engine, as a piece of dynpar.toml\n"
             << (gpu.usable ? "" : "# (no GPU here: what they cost in device memory is not measured)\n")
             << dynpar::to_toml(dynpar::recommend(my.needs, my.engine),
                                [&](const dynpar::recommended_limit& limit) { return cost_of(limit, my.engine, gpu); });
        my.print(text.str());
    }
    return status;
}

void command_line::refuse_tracing() const {
    const state& my = *state_;
    const char* given = my.tree                  ? "--tree"
                        : !my.trace_file.empty() ? "--trace"
                        : my.recommend           ? "--recommend"
                                                 : nullptr;
    if (given != nullptr)
        throw input_error(std::string(given) + ": " + my.name +
                          " runs ordinary __global__ functions, which leave no trace; leave the option out");
}

void command_line::say(const std::string& line) const { state_->print(line + "\n"); }

int command_line::explain_exception(const std::string& part) const {
    const state& my = *state_;
    const auto fail = [&](std::string_view message) {
        // dynpar's own messages begin with its name; one name in front is enough.
        constexpr std::string_view library = "dynpar: ";
        if (message.substr(0, library.size()) == library) message.remove_prefix(library.size());
        my.out.flush();
        my.err << my.name << ": " << part << (part.empty() ? "" : ": ") << message << std::endl;
        return static_cast<int>(failed);
    };
    try {
        throw;
    } catch (const input_error& e) {
        return my.refuse(e.what());
    } catch (const std::invalid_argument& e) {
        return my.refuse(e.what());
    } catch (const dynpar::config_error& e) {
        return my.refuse(e.what());
    } catch (const wrong_result& e) {
        return fail(std::string("wrong result: ") + e.what());
    } catch (const std::bad_alloc&) {
        return fail("out of memory; give it less to do");
    } catch (const std::exception& e) {
        return fail(e.what());
    } catch (...) {
        return fail("an exception that is no std::exception");
    }
}

#if defined(DYNPAR_WITH_CUDA)

namespace {

// What a limit costs in device memory here: measured by setting it to its least and then to the value.
std::string cost_of(const dynpar::recommended_limit& limit, const std::string& engine, const dynpar::gpu_state& gpu) {
    if (!gpu.usable) return "";
    if (limit.name == "nesting_depth") return "no device memory: dynpar keeps this limit itself";
    if (limit.name == "heap_bytes") return "as many bytes of device memory";
    dynpar::limits least, wanted;
    if (limit.name == "pending_launches") {
        if (engine == "queue") return "no limit of the queue engine: no device memory of its own";
        least.pending_launches = 1;
        wanted.pending_launches = limit.value;
    } else if (limit.name == "sync_depth") {
        if (engine == "queue") return "the stack of every thread on " + gpu.name + " grows with it";
        least.sync_depth = 2;
        wanted.sync_depth = limit.value;
    } else {
        return "";
    }
    try {
        const dynpar::scoped_limits before(least);
        const std::vector<dynpar::limit_result> results = dynpar::apply(wanted);
        const dynpar::limit_result& result = results.at(0);
        if (!result.refused.empty()) return "no device memory on " + gpu.name + ": not a limit of its device runtime";
        char text[64];
        std::snprintf(text, sizeof text, "%.1f MiB of device memory on ",
                      static_cast<double>(result.device_bytes) / (1024 * 1024));
        return text + gpu.name + (engine == "host" ? ", were it set there" : "");
    } catch (const std::exception&) {
        return "";
    }
}

}  // namespace

dynpar::gpu_state probe_gpu() { return dynpar::probe_gpu(); }

#else

namespace {

std::string cost_of(const dynpar::recommended_limit&, const std::string&, const dynpar::gpu_state&) { return ""; }

}  // namespace

dynpar::gpu_state probe_gpu() {
    dynpar::gpu_state gpu;
    gpu.why_not = "this program was built without CUDA";
    return gpu;
}

#endif

}  // namespace samples
