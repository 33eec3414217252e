// The samples' command line: options, the choice of the engine, and what becomes of everything that is wrong.
#include "../../samples/command_line.hpp"
#include "../../samples/with_engine.hpp"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using dynpar::built_engines;
using dynpar::engine_kind;
using samples::command_line;

// A sample's command line with options of its own, in an empty working directory, with what it prints kept as text.
class sample {
public:
    sample() : before_(std::filesystem::current_path()) {
        std::string name = (std::filesystem::temp_directory_path() / "dynpar-command-line-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        directory_ = name;
        std::filesystem::current_path(directory_);
        command.add_integer("--size", size, 1, 1024, "threads of the first grid");
        command.add_choice("--variant", variant, {"sync", "then", "nosync"}, "which form of the kernel");
        command.add_flag("--check", check, "compare with the CPU");
    }
    ~sample() {
        std::filesystem::current_path(before_);
        std::filesystem::remove_all(directory_);
    }
    sample(const sample&) = delete;
    sample& operator=(const sample&) = delete;

    std::optional<int> parse(const std::vector<std::string>& arguments) {
        std::vector<const char*> argv = {"sample"};
        for (const std::string& argument : arguments) argv.push_back(argument.c_str());
        return command.parse(static_cast<int>(argv.size()), argv.data());
    }

    std::ostringstream out;
    std::ostringstream err;
    command_line command{"sample", "A sample.", &out, &err};
    std::int64_t size = 8;
    std::string variant = "then";
    bool check = false;

private:
    std::filesystem::path before_;
    std::filesystem::path directory_;
};

void write_file(const std::string& name, const std::string& text) { std::ofstream(name, std::ios::binary) << text; }

// What a sample says that is given bad input. It must be one line, on standard error, with status 2 and nothing else.
std::string refusal_of(const std::vector<std::string>& arguments) {
    sample s;
    const std::optional<int> status = s.parse(arguments);
    REQUIRE(status);
    CHECK(*status == 2);
    CHECK(s.out.str().empty());
    std::string line = s.err.str();
    REQUIRE_FALSE(line.empty());
    CHECK(line.find('\n') == line.size() - 1);
    line.pop_back();
    return line;
}

dynpar::gpu_state an_h200() {
    dynpar::gpu_state gpu;
    gpu.usable = true;
    gpu.name = "NVIDIA H200";
    return gpu;
}

dynpar::gpu_state no_gpu() {
    dynpar::gpu_state gpu;
    gpu.why_not = "no CUDA device was found (cudaErrorNoDevice: no CUDA-capable device is detected)";
    return gpu;
}

constexpr built_engines host_only{false, false};
constexpr built_engines host_and_cdp{true, false};
constexpr built_engines all_engines{true, true};

struct halving {
    static constexpr const char* name = "halving";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block& block, int size) const {
        if (size == 1 || block.thread_rank() != 0) return;
        block.launch(*this, dynpar::shape(1, size / 2), size / 2);
    }
};

struct faulty {
    static constexpr const char* name = "faulty";

    template <class Block>
    DYNPAR_FUNCTION void operator()(Block&) const {
        throw std::runtime_error("index 9 of 8");
    }
};

}  // namespace

TEST_CASE("command line: without arguments every option has its default and the sample continues") {
    sample s;
    CHECK_FALSE(s.parse({}));
    CHECK(s.size == 8);
    CHECK(s.variant == "then");
    CHECK_FALSE(s.check);
    CHECK(s.command.config().engine() == engine_kind::automatic);
    CHECK(s.command.engine_options().trace_grids == 0);
    CHECK(s.out.str().empty());
    CHECK(s.err.str().empty());
}

TEST_CASE("command line: a sample's own options") {
    sample s;
    CHECK_FALSE(s.parse({"--size", "1024", "--variant=nosync", "--check"}));
    CHECK(s.size == 1024);
    CHECK(s.variant == "nosync");
    CHECK(s.check);
}

TEST_CASE("command line: there is an option for every setting of dynpar") {
    sample s;
    CHECK_FALSE(s.parse({"--engine", "host", "--log", "error", "--trace-grids", "5", "--sync-depth", "1",
                         "--pending-launches=2", "--nesting-depth", "3", "--stack-bytes", "4 KiB", "--heap-bytes",
                         "5MiB", "--printf-bytes", "6144"}));
    const dynpar::engine_options options = s.command.engine_options();
    CHECK(s.command.config().engine() == engine_kind::host);
    CHECK(s.command.config().log_level() == dynpar::log::level::error);
    CHECK(dynpar::log::current_level() == dynpar::log::level::error);
    CHECK(options.trace_grids == 5);
    CHECK(options.limits.sync_depth == 1u);
    CHECK(options.limits.pending_launches == 2u);
    CHECK(options.limits.nesting_depth == 3u);
    CHECK(options.limits.stack_bytes == 4096u);
    CHECK(options.limits.heap_bytes == 5u * 1024 * 1024);
    CHECK(options.limits.printf_bytes == 6144u);
    for (const dynpar::setting& row : dynpar::settings())
        CHECK(s.command.config().origin(row.name()) == "command line " + row.option());
    dynpar::log::set_level(dynpar::log::default_level);
}

TEST_CASE("command line: of an option given twice the last wins") {
    sample s;
    CHECK_FALSE(s.parse({"--size", "2", "--sync-depth", "3", "--sync-depth", "4", "--size", "5"}));
    CHECK(s.size == 5);
    CHECK(s.command.config().limits().sync_depth == 4u);
}

TEST_CASE("command line: the file and the environment are read, and the command line beats both") {
    sample s;
    write_file("other.toml", "trace_grids = 1\n[limits]\nsync_depth = 1\nnesting_depth = 1\n");
    setenv("DYNPAR_SYNC_DEPTH", "2", 1);
    setenv("DYNPAR_NESTING_DEPTH", "2", 1);
    CHECK_FALSE(s.parse({"--config", "other.toml", "--nesting-depth", "3"}));
    unsetenv("DYNPAR_SYNC_DEPTH");
    unsetenv("DYNPAR_NESTING_DEPTH");
    CHECK(s.command.config().origin("trace_grids") == "other.toml:1");
    CHECK(s.command.config().origin("limits.sync_depth") == "environment DYNPAR_SYNC_DEPTH");
    CHECK(s.command.config().origin("limits.nesting_depth") == "command line --nesting-depth");
    CHECK(s.command.config().limits().nesting_depth == 3u);
}

TEST_CASE("command line: --print-config prints the settings and ends the sample with 0") {
    sample s;
    CHECK(s.parse({"--print-config", "--sync-depth", "9"}) == samples::success);
    CHECK(s.out.str() == s.command.config().print());
    CHECK(s.out.str().find("sync_depth = 9") != std::string::npos);
    CHECK(s.out.str().find("# command line --sync-depth\n") != std::string::npos);
    CHECK(s.err.str().empty());
}

TEST_CASE(
    "command line: --help names every option, variable and default, in lines that fit, and ends the sample with 0") {
    sample s;
    CHECK(s.parse({"--help"}) == samples::success);
    const std::string help = s.out.str();
    for (const dynpar::setting& row : dynpar::settings()) {
        CHECK(help.find(row.option() + " ") != std::string::npos);
        CHECK(help.find("[" + row.environment() + "]") != std::string::npos);
    }
    for (const char* text :
         {"A sample.", "--config FILE", "--print-config", "--tree", "--size COUNT",
          "give an integer from 1 to 1024 (not given: 8)", "sync, then or nosync (not given: then)", "--check"})
        CHECK_MESSAGE(help.find(text) != std::string::npos, text);
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 124, line);
}

TEST_CASE("command line: an integer without a default stays empty until it is given, and --help says what that means") {
    std::optional<std::int64_t> depth;
    sample s;
    s.command.add_integer("--depth", depth, 0, 9, "where to stop", "no limit");
    REQUIRE(!s.parse({}));
    CHECK(!depth);
    REQUIRE(!s.parse({"--depth", "3"}));
    CHECK(depth == 3);
    CHECK(s.parse({"--depth", "10"}) == samples::bad_input);
    CHECK(s.err.str() == "sample: --depth: 10 is out of range; give an integer from 0 to 9\n");
    CHECK(s.parse({"--help"}) == samples::success);
    CHECK(s.out.str().find("(not given: no limit)") != std::string::npos);
}

TEST_CASE("command line: bad input gets one line on standard error and status 2") {
    CHECK(refusal_of({"--sizes", "3"}) == "sample: unknown argument --sizes; see sample --help");
    CHECK(refusal_of({"-x"}) == "sample: unknown argument -x; see sample --help");
    CHECK(refusal_of({"8", "9"}) == "sample: unknown argument 8; see sample --help");
    CHECK(refusal_of({"--size"}) == "sample: --size needs a value; see sample --help");
    CHECK(refusal_of({"--size", "0"}) == "sample: --size: 0 is out of range; give an integer from 1 to 1024");
    CHECK(refusal_of({"--size", "1025"}) == "sample: --size: 1025 is out of range; give an integer from 1 to 1024");
    CHECK(refusal_of({"--size", "-1"}) == "sample: --size: -1 is out of range; give an integer from 1 to 1024");
    CHECK(refusal_of({"--size", "99999999999999999999"}) ==
          "sample: --size: 99999999999999999999 is out of range; give an integer from 1 to 1024");
    CHECK(refusal_of({"--size", "many"}) == "sample: --size: \"many\" is no integer; give an integer from 1 to 1024");
    CHECK(refusal_of({"--size", "8k"}) == "sample: --size: \"8k\" is no integer; give an integer from 1 to 1024");
    CHECK(refusal_of({"--size="}).rfind("sample: --size", 0) == 0);
    CHECK(refusal_of({"--size", ""}) == "sample: --size: \"\" is no integer; give an integer from 1 to 1024");
    CHECK(refusal_of({"--sync-depth"}) == "sample: --sync-depth needs a value; see sample --help");
    CHECK(refusal_of({"--variant", "wait"}) == "sample: --variant: \"wait\" is unknown; give sync, then or nosync");
    CHECK(refusal_of({"--engine", "gpu"}) ==
          "sample: command line --engine: \"gpu\" is unknown; give auto, host, cdp or queue");
    CHECK(refusal_of({"--sync-depth", "2000"}) ==
          "sample: command line --sync-depth: 2000 is out of range; give an integer from 0 to 1024");
    CHECK(refusal_of({"--config", "nowhere.toml"}) ==
          "sample: nowhere.toml: cannot be read (No such file or directory); give a TOML file that exists and is "
          "readable");
    CHECK(refusal_of({"--config", ""}) ==
          "sample: --config: the name is empty; give a TOML file, or leave the option out");
    CHECK(refusal_of({"--print-config", "--log", "loud"}) ==
          "sample: command line --log: \"loud\" is unknown; give debug, info, warn, error or off");
    CHECK(refusal_of({"--two\nlines"}) == "sample: unknown argument --two\\x0alines; see sample --help");
    CHECK(refusal_of({"--check=maybe"}) == "sample: --check takes no value; leave out =maybe");
    CHECK(refusal_of({"--tree=3"}) == "sample: --tree takes no value; leave out =3");
}

TEST_CASE("command line: what a line about bad input quotes is short, and only shown") {
    const std::string long_text(100000, '7');
    const std::vector<std::vector<std::string>> all = {{"--size", long_text},
                                                       {"--size", long_text + "x"},
                                                       {"--variant", long_text},
                                                       {"--" + long_text},
                                                       {long_text},
                                                       {"--" + long_text, "3"},
                                                       {"--check=" + long_text},
                                                       {"--engine", long_text},
                                                       {"--sync-depth", long_text},
                                                       {"--config", long_text},
                                                       {"--config=" + long_text},
                                                       {"--trace", long_text},
                                                       {"--trace", long_text + ".json"},
                                                       {"--trace", "no/" + long_text + "/run.json"}};
    for (const std::vector<std::string>& arguments : all) {
        const std::string line = refusal_of(arguments);
        CHECK_MESSAGE(line.size() < 700, line.substr(0, 300));
    }
    CHECK(refusal_of({"--variant", "\x1b[2J\xc2\x9b"}) ==
          "sample: --variant: \"\\x1b[2J\\xc2\\x9b\" is unknown; give sync, then or nosync");
    CHECK(refusal_of({"\x1b[2J"}) == "sample: unknown argument \\x1b[2J; see sample --help");
}

TEST_CASE("command line: a file that is wrong is named with line and key") {
    sample s;
    write_file("dynpar.toml", "[limits]\nsync_dept = 3\n");
    CHECK(s.parse({}) == samples::bad_input);
    CHECK(s.err.str() ==
          "sample: dynpar.toml:2: unknown key \"limits.sync_dept\"; did you mean \"limits.sync_depth\"?\n");
    CHECK(s.out.str().empty());
}

TEST_CASE("choose: the best engine that is built and can run here") {
    const auto automatic = [](const built_engines& built, const dynpar::gpu_state& gpu) {
        return dynpar::choose(engine_kind::automatic, built, gpu);
    };
    CHECK(automatic(all_engines, an_h200()).kind == engine_kind::queue);
    CHECK(automatic(all_engines, an_h200()).why == "queue engine on NVIDIA H200: there is a GPU");
    CHECK(automatic(host_and_cdp, an_h200()).kind == engine_kind::cdp);
    CHECK(automatic(host_and_cdp, an_h200()).why ==
          "cdp engine on NVIDIA H200: there is a GPU, and this program has no queue engine");
    CHECK(automatic(all_engines, no_gpu()).kind == engine_kind::host);
    CHECK(automatic(all_engines, no_gpu()).why ==
          "host engine: no CUDA device was found (cudaErrorNoDevice: no CUDA-capable device is detected)");
    CHECK(automatic(host_only, an_h200()).kind == engine_kind::host);
    CHECK(automatic(host_only, no_gpu()).why == "host engine: this program has no other");
}

TEST_CASE("choose: the engine that is asked for, and who asked") {
    CHECK(dynpar::choose(engine_kind::host, all_engines, an_h200()).kind == engine_kind::host);
    CHECK(dynpar::choose(engine_kind::host, all_engines, an_h200(), "dynpar.toml:1").why ==
          "host engine: asked for (dynpar.toml:1)");
    CHECK(dynpar::choose(engine_kind::cdp, all_engines, an_h200()).kind == engine_kind::cdp);
    CHECK(dynpar::choose(engine_kind::cdp, all_engines, an_h200(), "command line --engine").why ==
          "cdp engine on NVIDIA H200: asked for (command line --engine)");
    CHECK(dynpar::choose(engine_kind::queue, all_engines, an_h200()).kind == engine_kind::queue);
}

TEST_CASE("choose: an engine that is not built, or has no GPU, is refused with the ones that are built") {
    CHECK_THROWS_WITH_AS(
        dynpar::choose(engine_kind::queue, host_and_cdp, an_h200(), "environment DYNPAR_ENGINE"),
        "engine queue (environment DYNPAR_ENGINE) is not built into this program; choose auto or one of the "
        "built: host, cdp",
        std::invalid_argument);
    CHECK_THROWS_WITH_AS(dynpar::choose(engine_kind::cdp, host_only, an_h200()),
                         "engine cdp is not built into this program; choose auto or one of the built: host",
                         std::invalid_argument);
    CHECK_THROWS_WITH_AS(
        dynpar::choose(engine_kind::cdp, all_engines, no_gpu(), "command line --engine"),
        "engine cdp (command line --engine) needs a GPU: no CUDA device was found (cudaErrorNoDevice: no "
        "CUDA-capable device is detected); choose auto or host (built: host, cdp, queue)",
        std::invalid_argument);
}

TEST_CASE("engine names are read and written alike") {
    for (const engine_kind kind : {engine_kind::automatic, engine_kind::host, engine_kind::cdp, engine_kind::queue})
        CHECK(dynpar::parse_engine_kind(dynpar::to_string(kind)) == kind);
    CHECK_FALSE(dynpar::parse_engine_kind("gpu"));
    CHECK_FALSE(dynpar::parse_engine_kind(""));
}

// What follows is compiled by a plain C++ compiler, so that the host engine is the only one.

TEST_CASE("with_engine: says which engine and why, runs the sample on it, and returns the sample's status") {
    sample s;
    REQUIRE_FALSE(s.parse({"--engine", "host"}));
    std::string ran_on;
    const int status = samples::with_engine(s.command, [&](auto& engine) {
        ran_on = engine.name;
        return 7;
    });
    CHECK(status == 7);
    CHECK(ran_on == "host");
    CHECK(s.out.str() == "host engine: asked for (command line --engine)\n");
}

TEST_CASE("with_engine: an engine that is not built ends the sample with 2 before it begins") {
    sample s;
    REQUIRE_FALSE(s.parse({"--engine", "cdp"}));
    bool ran = false;
    const int status = samples::with_engine(s.command, [&](auto&) {
        ran = true;
        return 0;
    });
    CHECK(status == samples::bad_input);
    CHECK_FALSE(ran);
    CHECK(s.out.str().empty());
    CHECK(s.err.str() ==
          "sample: engine cdp (command line --engine) is not built into this program; choose auto or one of the built: "
          "host\n");
}

TEST_CASE("with_engine: the engine has the settings' limits, and a lost launch ends the sample with 1") {
    sample s;
    REQUIRE_FALSE(s.parse({"--nesting-depth", "2", "--engine", "host"}));
    const int status = samples::with_engine(s.command, [&](auto& engine) {
        CHECK(engine.options().limits.nesting_depth == 2u);
        engine.run(halving{}, dynpar::shape(1, 8), 8);
        return 0;
    });
    CHECK(status == samples::failed);
    CHECK(s.err.str().rfind("sample: engine host: 1 launch lost", 0) == 0);
    CHECK(s.err.str().find("nesting_depth_exceeded") != std::string::npos);
}

TEST_CASE("with_engine: a kernel that throws ends the sample with 1 and what it threw") {
    sample s;
    REQUIRE_FALSE(s.parse({}));
    const int status = samples::with_engine(s.command, [&](auto& engine) {
        engine.run(faulty{}, dynpar::shape(1, 1));
        return 0;
    });
    CHECK(status == samples::failed);
    CHECK(s.err.str().find("index 9 of 8") != std::string::npos);
}

TEST_CASE("show_tree: prints the nesting tree with --tree and nothing without") {
    const auto printed = [](const std::vector<std::string>& arguments) {
        sample s;
        REQUIRE_FALSE(s.parse(arguments));
        CHECK(samples::with_engine(s.command, [&](auto& engine) {
                  s.command.show_tree(engine.run(halving{}, dynpar::shape(1, 8), 8));
                  return 0;
              }) == 0);
        return s.out.str();
    };
    const std::string choice = "host engine: asked for (command line --engine)\n";
    CHECK(printed({"--engine", "host"}) == choice);
    CHECK(printed({"--engine", "host", "--tree"}) == choice +
                                                         "halving <<<1, 8>>>\n"
                                                         "└─ halving <<<1, 4>>>\n"
                                                         "   └─ halving <<<1, 2>>>\n"
                                                         "      └─ halving <<<1, 1>>>\n");
}

TEST_CASE("explain_exception: bad input is status 2 and all else status 1, each with a message") {
    struct expectation {
        std::exception_ptr thrown;
        int status;
        std::string message;
    };
    const expectation all[] = {
        {std::make_exception_ptr(samples::input_error("--size 3 is no power of two; give 2 or 4")), 2,
         "sample: --size 3 is no power of two; give 2 or 4\n"},
        {std::make_exception_ptr(std::invalid_argument("two\nlines")), 2, "sample: two lines\n"},
        {std::make_exception_ptr(dynpar::config_error("dynpar.toml:1: wrong")), 2, "sample: dynpar.toml:1: wrong\n"},
        {std::make_exception_ptr(samples::wrong_result("the sum is 3, the CPU's is 4")), 1,
         "sample: wrong result: the sum is 3, the CPU's is 4\n"},
        {std::make_exception_ptr(dynpar::kernel_fault("dynpar: a trap")), 1, "sample: a trap\n"},
        {std::make_exception_ptr(dynpar::deadlock_error("dynpar: a waits for b")), 1, "sample: a waits for b\n"},
        {std::make_exception_ptr(std::bad_alloc()), 1, "sample: out of memory; give it less to do\n"},
        {std::make_exception_ptr(std::runtime_error("something else")), 1, "sample: something else\n"},
        {std::make_exception_ptr(42), 1, "sample: an exception that is no std::exception\n"},
    };
    for (const expectation& expected : all) {
        sample s;
        try {
            std::rethrow_exception(expected.thrown);
        } catch (...) {
            CHECK(s.command.explain_exception() == expected.status);
        }
        CHECK(s.err.str() == expected.message);
        CHECK(s.out.str().empty());
    }
}
