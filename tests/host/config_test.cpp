// Configuration: which source wins, where each value is said to come from, and one clear line for everything that is
// wrong.
#include <dynpar/config.hpp>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using dynpar::config;
using dynpar::config_error;
using dynpar::config_sources;
using dynpar::engine_kind;

// An empty working directory; back to the old one on destruction.
class temporary_directory {
public:
    temporary_directory() : before_(std::filesystem::current_path()) {
        std::string name = (std::filesystem::temp_directory_path() / "dynpar-config-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()) != nullptr);
        path_ = name;
        std::filesystem::current_path(path_);
    }
    ~temporary_directory() {
        std::filesystem::current_path(before_);
        std::filesystem::remove_all(path_);
    }
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;

private:
    std::filesystem::path before_;
    std::filesystem::path path_;
};

void write_file(const std::string& name, const std::string& text) { std::ofstream(name, std::ios::binary) << text; }

config_sources only(std::vector<std::string> environment,
                    std::vector<std::pair<std::string, std::string>> command_line = {}) {
    config_sources sources;
    sources.environment = std::move(environment);
    sources.command_line = std::move(command_line);
    return sources;
}

std::string error_of(const config_sources& sources) {
    try {
        config::load(sources);
    } catch (const config_error& e) {
        return e.what();
    }
    return "no error";
}

std::string error_of_file(const std::string& text) {
    const temporary_directory here;
    write_file("dynpar.toml", text);
    return error_of(only({}));
}

std::string error_of_variable(const std::string& variable) {
    const temporary_directory here;
    return error_of(only({variable}));
}

}  // namespace

TEST_CASE("config: with no source every setting has its default") {
    const temporary_directory empty;
    const config c = config::load(only({}));
    CHECK(c.engine() == engine_kind::automatic);
    CHECK(c.log_level() == dynpar::log::level::warn);
    CHECK(c.trace_grids() == 0);
    CHECK_FALSE(c.limits().sync_depth);
    CHECK_FALSE(c.limits().pending_launches);
    CHECK_FALSE(c.limits().nesting_depth);
    CHECK_FALSE(c.limits().stack_bytes);
    CHECK_FALSE(c.limits().heap_bytes);
    CHECK_FALSE(c.limits().printf_bytes);
    for (const dynpar::setting& s : dynpar::settings()) CHECK(c.origin(s.name()) == "default");
    CHECK(c.warnings().empty());
    CHECK(c.print() == config().print());
}

TEST_CASE("config: every setting can be given in the file, the environment and on the command line") {
    const temporary_directory here;
    write_file("dynpar.toml",
               "engine = 'host'\nlog = 'debug'\ntrace_grids = 7\n[limits]\nsync_depth = 1\npending_launches = 2\n"
               "nesting_depth = 3\nstack_bytes = 4096\nheap_bytes = '5 MiB'\nprintf_bytes = '6KiB'\n");
    const std::vector<std::string> environment = {
        "DYNPAR_ENGINE=host",      "DYNPAR_LOG=debug",          "DYNPAR_TRACE_GRIDS=7",
        "DYNPAR_SYNC_DEPTH=1",     "DYNPAR_PENDING_LAUNCHES=2", "DYNPAR_NESTING_DEPTH=3",
        "DYNPAR_STACK_BYTES=4096", "DYNPAR_HEAP_BYTES=5 MiB",   "DYNPAR_PRINTF_BYTES=6KiB"};
    const std::vector<std::pair<std::string, std::string>> options = {
        {"--engine", "host"},      {"--log", "debug"},          {"--trace-grids", "7"},
        {"--sync-depth", "1"},     {"--pending-launches", "2"}, {"--nesting-depth", "3"},
        {"--stack-bytes", "4096"}, {"--heap-bytes", "5 MiB"},   {"--printf-bytes", "6KiB"}};

    const auto check = [](const config& c, const std::string& origin_of_all) {
        CHECK(c.engine() == engine_kind::host);
        CHECK(c.log_level() == dynpar::log::level::debug);
        CHECK(c.trace_grids() == 7);
        CHECK(c.limits().sync_depth == 1u);
        CHECK(c.limits().pending_launches == 2u);
        CHECK(c.limits().nesting_depth == 3u);
        CHECK(c.limits().stack_bytes == 4096u);
        CHECK(c.limits().heap_bytes == 5u * 1024 * 1024);
        CHECK(c.limits().printf_bytes == 6u * 1024);
        for (const dynpar::setting& s : dynpar::settings()) CHECK(c.origin(s.name()).rfind(origin_of_all, 0) == 0);
    };
    check(config::load(only({})), "dynpar.toml:");
    CHECK(config::load(only({})).origin("limits.sync_depth") == "dynpar.toml:5");
    std::filesystem::remove("dynpar.toml");
    check(config::load(only(environment)), "environment DYNPAR_");
    check(config::load(only({}, options)), "command line --");
}

TEST_CASE("config: command line beats environment beats file beats default") {
    const temporary_directory here;
    write_file("dynpar.toml", "# limits of this project\n\n[limits]\nsync_depth = 3\n");
    const std::string environment = "DYNPAR_SYNC_DEPTH=5";
    const std::pair<std::string, std::string> option = {"--sync-depth", "7"};

    const config by_option = config::load(only({environment}, {option}));
    CHECK(by_option.limits().sync_depth == 7u);
    CHECK(by_option.origin("limits.sync_depth") == "command line --sync-depth");

    const config by_environment = config::load(only({environment}));
    CHECK(by_environment.limits().sync_depth == 5u);
    CHECK(by_environment.origin("limits.sync_depth") == "environment DYNPAR_SYNC_DEPTH");

    const config by_file = config::load(only({}));
    CHECK(by_file.limits().sync_depth == 3u);
    CHECK(by_file.origin("limits.sync_depth") == "dynpar.toml:4");
    CHECK(by_file.origin("limits.heap_bytes") == "default");

    std::filesystem::remove("dynpar.toml");
    const config by_default = config::load(only({}));
    CHECK_FALSE(by_default.limits().sync_depth);
    CHECK(by_default.origin("limits.sync_depth") == "default");

    const config option_over_file = [&] {
        write_file("dynpar.toml", "engine = 'queue'\n");
        return config::load(only({}, {{"--engine", "host"}}));
    }();
    CHECK(option_over_file.engine() == engine_kind::host);
}

TEST_CASE("config: a file that is named is read instead of dynpar.toml, and its name is in the origins") {
    const temporary_directory here;
    write_file("dynpar.toml", "trace_grids = 1\nengine = 'host'\n");
    std::filesystem::create_directory("settings");
    write_file("settings/large.toml", "trace_grids = 2\n");
    config_sources sources = only({});
    sources.file = "settings/large.toml";
    const config c = config::load(sources);
    CHECK(c.trace_grids() == 2);
    CHECK(c.origin("trace_grids") == "settings/large.toml:1");
    CHECK(c.engine() == engine_kind::automatic);
}

TEST_CASE("config: the process's own environment is a source unless another is given") {
    const temporary_directory here;
    setenv("DYNPAR_TRACE_GRIDS", "11", 1);
    const config c = config::load();
    unsetenv("DYNPAR_TRACE_GRIDS");
    CHECK(c.trace_grids() == 11);
    CHECK(c.origin("trace_grids") == "environment DYNPAR_TRACE_GRIDS");
}

TEST_CASE("config: TOML's other ways to write a table are read too") {
    const temporary_directory here;
    write_file("dynpar.toml", "limits.sync_depth = 3\n");
    CHECK(config::load(only({})).limits().sync_depth == 3u);
    write_file("dynpar.toml", "limits = { sync_depth = 4, heap_bytes = 0x200000 }\n");
    CHECK(config::load(only({})).limits().sync_depth == 4u);
    CHECK(config::load(only({})).limits().heap_bytes == 2u * 1024 * 1024);
}

TEST_CASE("config: a variable with an empty value counts as not set") {
    const temporary_directory here;
    CHECK(config::load(only({"DYNPAR_ENGINE="})).origin("engine") == "default");
}

TEST_CASE("config: an unknown DYNPAR_ variable is a warning that names the likely one, and no error") {
    const temporary_directory here;
    const config c = config::load(only({"DYNPAR_SYNC_DEPHT=3", "DYNPAR_SOMEBODY_ELSES=1", "PATH=/bin"}));
    REQUIRE(c.warnings().size() == 2);
    CHECK(c.warnings()[0] ==
          "environment DYNPAR_SYNC_DEPHT: dynpar has no such setting and ignores it; did you mean DYNPAR_SYNC_DEPTH?");
    CHECK(c.warnings()[1] == "environment DYNPAR_SOMEBODY_ELSES: dynpar has no such setting and ignores it");
}

TEST_CASE("config: print gives every setting with its origin, and is a file that gives the same settings") {
    const temporary_directory here;
    write_file("dynpar.toml", "[limits]\nheap_bytes = 67108864\n");
    const config c =
        config::load(only({"DYNPAR_STACK_BYTES=1025"}, {{"--engine", "host"}, {"--pending-launches", "65536"}}));
    CHECK(c.print() ==
          "engine = \"host\"           # command line --engine\n"
          "log = \"warn\"              # default\n"
          "trace_grids = 0           # default\n"
          "\n"
          "[limits]\n"
          "# sync_depth              # default: 24\n"
          "pending_launches = 65536  # command line --pending-launches\n"
          "# nesting_depth           # default: no limit\n"
          "stack_bytes = \"1025 B\"    # environment DYNPAR_STACK_BYTES\n"
          "heap_bytes = \"64 MiB\"     # dynpar.toml:2\n"
          "# printf_bytes            # default: the GPU's own setting (1 MiB unless changed)\n"
          "");

    write_file("dynpar.toml", c.print());
    const config again = config::load(only({}));
    CHECK(again.engine() == engine_kind::host);
    CHECK(again.limits().pending_launches == 65536u);
    CHECK(again.limits().stack_bytes == 1025u);
    CHECK(again.limits().heap_bytes == 64u * 1024 * 1024);
    CHECK_FALSE(again.limits().sync_depth);
    CHECK_FALSE(again.limits().printf_bytes);
}

TEST_CASE("config: a strange file name cannot break the lines of print or of an error") {
    const temporary_directory here;
    config_sources sources = only({});
    sources.file = "two\nlines.toml";
    write_file("two\nlines.toml", "trace_grids = 1\n");
    CHECK(config::load(sources).origin("trace_grids") == "two\\x0alines.toml:1");
    write_file("two\nlines.toml", "trace_grids = -1\n");
    CHECK(error_of(sources) ==
          "two\\x0alines.toml:1: trace_grids: -1 is out of range; give an integer from 0 to 268435456");
}

TEST_CASE("config: the least and the greatest value of every range is allowed, the next is refused") {
    const temporary_directory here;
    for (const dynpar::setting& s : dynpar::settings()) {
        if (s.kind == dynpar::setting::value_kind::choice) continue;
        INFO(s.name());
        const auto with = [&](std::uint64_t value) { return only({}, {{s.option(), std::to_string(value)}}); };
        CHECK(error_of(with(s.least)) == "no error");
        CHECK(error_of(with(s.most)) == "no error");
        CHECK(error_of(with(s.most + 1)) == "command line " + s.option() + ": " + std::to_string(s.most + 1) +
                                                " is out of range; give " + s.accepted());
        if (s.least > 0) {
            CHECK(error_of(with(s.least - 1)) == "command line " + s.option() + ": " + std::to_string(s.least - 1) +
                                                     " is out of range; give " + s.accepted());
        }
    }
}

TEST_CASE("config: a file that is named must exist and be readable") {
    const temporary_directory here;
    config_sources sources = only({});
    sources.file = "nowhere.toml";
    CHECK(error_of(sources) ==
          "nowhere.toml: cannot be read (No such file or directory); give a TOML file that exists and is readable");
    std::filesystem::create_directory("folder");
    sources.file = "folder";
    CHECK(error_of(sources) == "folder: is a directory; give a TOML file");
    if (geteuid() != 0) {  // root may read everything
        write_file("secret.toml", "");
        std::filesystem::permissions("secret.toml", std::filesystem::perms::none);
        sources.file = "secret.toml";
        CHECK(error_of(sources) ==
              "secret.toml: cannot be read (Permission denied); give a TOML file that exists and is readable");
    }
}

TEST_CASE("config: what is no regular file is refused before it is opened") {
    const temporary_directory here;
    REQUIRE(mkfifo("pipe.toml", 0600) == 0);
    config_sources sources = only({});
    sources.file = "pipe.toml";  // nobody writes to it: to open it would take for ever
    CHECK(error_of(sources) == "pipe.toml: is a device or a pipe; give a TOML file");
    sources.file = "/dev/zero";
    CHECK(error_of(sources) == "/dev/zero: is a device or a pipe; give a TOML file");
    std::filesystem::create_symlink("pipe.toml", "dynpar.toml");
    CHECK(error_of(only({})) == "dynpar.toml: is a device or a pipe; give a TOML file");
}

TEST_CASE("config: a file that can be opened and not read is an error") {
    config_sources sources = only({});
    sources.file = "/proc/self/mem";
    CHECK(error_of(sources) ==
          "/proc/self/mem: cannot be read (Input/output error); give a TOML file that exists and is readable");
}

TEST_CASE("config: a file is read up to 16 KiB, and refused if it has more") {
    const std::string setting = "trace_grids = 7\n";
    const std::string comment = "#" + std::string(16 * 1024 - setting.size() - 2, 'x') + "\n";
    CHECK(error_of_file(comment + setting) == "no error");
    CHECK(error_of_file(comment + setting + "\n") ==
          "dynpar.toml: has more than 16 KiB; give a TOML file with dynpar's settings");
}

TEST_CASE("config: however deep tables nest, there is a message") {
    const auto repeated = [](const char* text, std::size_t count) {
        std::string result;
        for (std::size_t i = 0; i < count; ++i) result += text;
        return result;
    };
    CHECK(error_of_file(repeated("a.", 8180) + "a = 1\n").rfind("dynpar.toml:1: unknown key \"a\"", 0) == 0);
    CHECK(error_of_file("[" + repeated("a.", 8180) + "a]\n").rfind("dynpar.toml:1: unknown key \"a\"", 0) == 0);
    for (const char* text : {"a.", "[", "a={", "[[", "{"})
        CHECK(error_of_file("x = " + repeated(text, 16000 / std::strlen(text))).rfind("dynpar.toml:1: ", 0) == 0);
    CHECK(error_of_file(repeated("a.", 500000) + "a = 1\n").rfind("dynpar.toml: has more than 16 KiB", 0) == 0);
}

TEST_CASE("config: what an error quotes is short, and one line") {
    const std::string long_text(16000, 'k');
    for (const std::string& error :
         {error_of_file(long_text + " = 1\n"), error_of_file("[limits]\n" + long_text + " = 1\n"),
          error_of_file("engine = '" + long_text + "'\n"), error_of_file("'" + long_text),
          error_of_variable("DYNPAR_ENGINE=" + long_text), error_of(only({}, {{"--engine", long_text}})),
          error_of(only({}, {{"--" + long_text, "1"}}))}) {
        CHECK(error != "no error");
        CHECK(error.size() < 500);
    }
    CHECK(error_of_file("\"\\u001b[2J\" = 1\n").rfind("dynpar.toml:1: unknown key \"\\x1b[2J\"; known are ", 0) == 0);
}

TEST_CASE("config: a dynpar.toml that is there and cannot be read is an error, not passed over") {
    const temporary_directory here;
    std::filesystem::create_symlink("nowhere.toml", "dynpar.toml");
    CHECK(error_of(only({})) ==
          "dynpar.toml: cannot be read (No such file or directory); give a TOML file that exists and is readable");
}

TEST_CASE("config: what is not ASCII stands in comments only") {
    // toml++ 3.3 runs into __builtin_unreachable() at the first of these, and into an assertion at others like them.
    const std::string refused = ": not ASCII outside of a comment: settings have names and values of ASCII letters";
    CHECK(error_of_file("\n\u00e9 = 1\n") == "dynpar.toml:2" + refused);
    CHECK(error_of_file("engine = \xff\xfe\n") == "dynpar.toml:1" + refused);
    CHECK(error_of_file("engine = \"\u00e9\"\n") == "dynpar.toml:1" + refused);
    CHECK(error_of_file("# a\nlog = \"a#\" \u00e9\n") == "dynpar.toml:2" + refused);
    CHECK(error_of_file("log = \"\"\"\n# \u00e9\"\"\" \u00e9\n") == "dynpar.toml:2" + refused);
    CHECK(error_of_file("log = \"\\\"# \u00e9\n") == "dynpar.toml:1" + refused);
    CHECK(error_of_file("\xEF\xBB\xBF# \uae30\ubcf8\nengine = \"host\"  # \u8bbe\u7f6e\n") == "no error");
}

TEST_CASE("config: malformed TOML is an error with file, line and column") {
    CHECK(error_of_file("engine = 'host'\nlog 'debug'\n").rfind("dynpar.toml:2: not valid TOML at column 5: ", 0) == 0);
    CHECK(error_of_file("\n\nlog = 'info'\nlog = 'off'\n").rfind("dynpar.toml:4: not valid TOML at column ", 0) == 0);
    CHECK(error_of_file("engine = \"host\nlog = \"off\"\n").rfind("dynpar.toml:1: not valid TOML at column ", 0) == 0);
}

TEST_CASE("config: an unknown key is an error with file, line, key and the likely one") {
    CHECK(error_of_file("[limits]\n\nsync_dept = 3\n") ==
          "dynpar.toml:3: unknown key \"limits.sync_dept\"; did you mean \"limits.sync_depth\"?");
    CHECK(error_of_file("sync_depth = 3\n") ==
          "dynpar.toml:1: unknown key \"sync_depth\"; did you mean \"limits.sync_depth\"?");
    CHECK(error_of_file("engin = 'host'\n") == "dynpar.toml:1: unknown key \"engin\"; did you mean \"engine\"?");
    CHECK(error_of_file("log = 'info'\n[colours]\n") ==
          "dynpar.toml:2: unknown key \"colours\"; known are engine, log, trace_grids, limits.sync_depth, "
          "limits.pending_launches, limits.nesting_depth, limits.stack_bytes, limits.heap_bytes, limits.printf_bytes");
}

TEST_CASE("config: a wrong type is an error with file, line, key and the right type") {
    CHECK(error_of_file("engine = 3\n") ==
          "dynpar.toml:1: engine is an integer; give a string: auto, host, cdp or queue");
    CHECK(error_of_file("[limits]\nsync_depth = '8'\n") ==
          "dynpar.toml:2: limits.sync_depth is a string; give an integer from 0 to 1024");
    CHECK(error_of_file("[limits]\nsync_depth = 8.0\n") ==
          "dynpar.toml:2: limits.sync_depth is a floating-point number; give an integer from 0 to 1024");
    CHECK(error_of_file("[limits]\nheap_bytes = true\n") ==
          "dynpar.toml:2: limits.heap_bytes is a boolean; give a size from 1 MiB to 1 TiB: a number of bytes, or a "
          "number with "
          "KiB, MiB, GiB or TiB");
    CHECK(error_of_file("trace_grids = [1]\n") ==
          "dynpar.toml:1: trace_grids is an array; give an integer from 0 to 268435456");
    CHECK(error_of_file("\nlimits = 3\n") == "dynpar.toml:2: limits is an integer; write it as a table, [limits]");
    CHECK(error_of_file("[[limits]]\nsync_depth = 3\n") ==
          "dynpar.toml:1: limits is an array; write it as a table, [limits]");
    CHECK(error_of_file("[engine]\nname = 'host'\n") ==
          "dynpar.toml:1: engine is a table; give a string: auto, host, cdp or queue");
}

TEST_CASE("config: a value out of range is an error with file, line, key and the range") {
    CHECK(error_of_file("[limits]\n\n\nsync_depth = 2000\n") ==
          "dynpar.toml:4: limits.sync_depth: 2000 is out of range; give an integer from 0 to 1024");
    CHECK(error_of_file("[limits]\npending_launches = 0\n") ==
          "dynpar.toml:2: limits.pending_launches: 0 is out of range; give an integer from 1 to 16777216");
    CHECK(error_of_file("[limits]\nstack_bytes = '1 MiB'\n") ==
          "dynpar.toml:2: limits.stack_bytes: 1 MiB is out of range; give a size from 1 KiB to 512 KiB: a number of "
          "bytes, or a "
          "number with KiB, MiB, GiB or TiB");
    CHECK(error_of_file("engine = 'gpu'\n") ==
          "dynpar.toml:1: engine: \"gpu\" is unknown; give auto, host, cdp or queue");
}

TEST_CASE("config: a bad variable is an error that names the variable") {
    CHECK(error_of_variable("DYNPAR_ENGINE=gpu") ==
          "environment DYNPAR_ENGINE: \"gpu\" is unknown; give auto, host, cdp or queue");
    CHECK(error_of_variable("DYNPAR_LOG=loud") ==
          "environment DYNPAR_LOG: \"loud\" is unknown; give debug, info, warn, error or off");
    CHECK(error_of_variable("DYNPAR_SYNC_DEPTH=deep") ==
          "environment DYNPAR_SYNC_DEPTH: \"deep\" is no integer; give an integer from 0 to 1024");
    CHECK(error_of_variable("DYNPAR_SYNC_DEPTH=1e2") ==
          "environment DYNPAR_SYNC_DEPTH: \"1e2\" is no integer; give an integer from 0 to 1024");
    CHECK(error_of_variable("DYNPAR_SYNC_DEPTH=-1") ==
          "environment DYNPAR_SYNC_DEPTH: -1 is out of range; give an integer from 0 to 1024");
    CHECK(error_of_variable("DYNPAR_SYNC_DEPTH=99999999999999999999999") ==
          "environment DYNPAR_SYNC_DEPTH: 99999999999999999999999 is out of range; give an integer from 0 to 1024");
    CHECK(error_of_variable("DYNPAR_HEAP_BYTES=64 MB") ==
          "environment DYNPAR_HEAP_BYTES: \"64 MB\" is no size; give a size from 1 MiB to 1 TiB: a number of bytes, or "
          "a number "
          "with KiB, MiB, GiB or TiB");
    CHECK(error_of_variable("DYNPAR_HEAP_BYTES=99999999999 TiB") ==
          "environment DYNPAR_HEAP_BYTES: 99999999999 TiB is out of range; give a size from 1 MiB to 1 TiB: a number "
          "of bytes, "
          "or a number with KiB, MiB, GiB or TiB");
}

TEST_CASE("config: a bad option is an error that names the option") {
    const temporary_directory here;
    CHECK(error_of(only({}, {{"--engine", ""}})) ==
          "command line --engine: \"\" is unknown; give auto, host, cdp or queue");
    CHECK(error_of(only({}, {{"--nesting-depth", "1.5"}})) ==
          "command line --nesting-depth: \"1.5\" is no integer; give an integer from 0 to 4294967295");
    CHECK(error_of(only({}, {{"--sync-dept", "1"}})) ==
          "command line: unknown option --sync-dept; did you mean --sync-depth?");
    CHECK(error_of(only({}, {{"--colour", "red"}})) == "command line: unknown option --colour; see --help");
}

TEST_CASE("config: what is given is checked even where it is beaten") {
    CHECK(error_of([] {
              config_sources sources = only({"DYNPAR_SYNC_DEPTH=deep"}, {{"--sync-depth", "3"}});
              return sources;
          }()) == "environment DYNPAR_SYNC_DEPTH: \"deep\" is no integer; give an integer from 0 to 1024");
}

TEST_CASE("config: asking for the origin of an unknown setting throws") {
    CHECK_THROWS_WITH_AS(config().origin("sync_depth"), "dynpar: there is no setting \"sync_depth\"",
                         std::out_of_range);
}

TEST_CASE("settings: each has one name in file, environment and command line") {
    const auto& all = dynpar::settings();
    CHECK(all.size() == 9);
    for (const dynpar::setting& s : all) {
        if (std::string(s.key) != "sync_depth") continue;
        CHECK(s.name() == "limits.sync_depth");
        CHECK(s.environment() == "DYNPAR_SYNC_DEPTH");
        CHECK(s.option() == "--sync-depth");
        CHECK(s.accepted() == "an integer from 0 to 1024");
        return;
    }
    FAIL("no sync_depth");
}
