// Traces written, saved, read back, summed up and compared: dynpar::trace, with traces of the host engine and made-up
// ones.
#include <dynpar/chrome_trace.hpp>
#include <dynpar/detail/printable.hpp>
#include <dynpar/dynpar.hpp>
#include <dynpar/graphviz.hpp>
#include <dynpar/recommendation.hpp>
#include <dynpar/trace_comparison.hpp>
#include <dynpar/trace_file.hpp>
#include <dynpar/trace_page.hpp>
#include <dynpar/trace_statistics.hpp>
#include <dynpar/trace_tree.hpp>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chrome_slices.hpp"
#include "gzip.hpp"
#include "perfetto_slices.hpp"
#include "whole_text.hpp"

namespace {

using dynpar::grid_record;
using dynpar::trace;

/// A grid that ran: launched, begun and ended one after another.
grid_record grid(std::uint32_t parent, const char* kernel, std::uint32_t depth, std::uint64_t launched,
                 std::uint64_t begun, std::uint64_t ended) {
    grid_record g;
    g.parent = parent;
    g.kernel = kernel;
    g.depth = depth;
    g.launched = launched;
    g.begun = begun;
    g.ended = ended;
    g.processor = 0;
    g.shape = dynpar::shape(1, 32);
    g.engine = dynpar::engine_kind::host;
    return g;
}

void add(trace& t, grid_record g) {
    g.id = static_cast<std::uint32_t>(t.grids.size());
    t.grids.push_back(std::move(g));
}

/// A trace with all there can be in one: children, a continuation, a stream, a lost launch, a grid without its parent.
trace small_trace() {
    constexpr std::uint32_t none = grid_record::none;
    trace t;
    t.engine = "host";
    t.device = "CPU \"0\" <&>";
    t.nanoseconds = 10000;
    t.missing = 2;
    add(t, grid(none, "root", 0, 0, 100, 5000));
    add(t, grid(0, "child", 1, 200, 1000, 3000));
    add(t, grid(0, "child", 1, 300, 2000, 4000));
    t.grids.back().stream = 3;
    grid_record then = grid(none, "after", 0, 400, 6000, 7000);
    then.continues = 0;
    add(t, then);
    grid_record lost = grid(0, "child", 1, 500, grid_record::never, grid_record::never);
    lost.status = dynpar::status::pending_launches_exceeded;
    lost.processor = none;
    add(t, lost);
    add(t, grid(none, "stray", 4, 600, 700, 800));
    return t;
}

std::string written(const trace& t, dynpar::trace_format format) {
    std::ostringstream out;
    dynpar::write_trace(out, t, format);
    return out.str();
}

std::string saved(const trace& t) { return written(t, dynpar::trace_format::saved); }

std::string tree(const trace& t) {
    std::ostringstream out;
    dynpar::print_tree(out, t);
    return out.str();
}

std::string packed(const std::string& text) {
    std::ostringstream out;
    dynpar::detail::gzip_output packer(out);
    std::ostream(&packer) << text;
    packer.finish();
    return out.str();
}

trace read(const std::string& text) {
    std::istringstream in(text);
    return dynpar::read_trace(in, "t.dynpar.json");
}

std::string error_of(const std::string& text) {
    try {
        read(text);
    } catch (const dynpar::trace_file_error& e) {
        return e.what();
    }
    return "no error";
}

/// How many slices there are, none of which overlaps another.
std::size_t slices_in_order(const trace& t) {
    const chrome_slices slices = read_chrome_slices(t);
    CHECK(slices.wrong == "");
    return slices.count;
}

/// A folder that is deleted with what is in it.
class empty_folder {
public:
    empty_folder() : name_((std::filesystem::temp_directory_path() / "dynpar-trace-XXXXXX").string()) {
        REQUIRE(mkdtemp(name_.data()) != nullptr);
    }
    ~empty_folder() { std::filesystem::remove_all(name_); }
    empty_folder(const empty_folder&) = delete;
    empty_folder& operator=(const empty_folder&) = delete;

    std::string path(const std::string& name) const { return name_ + "/" + name; }
    std::ptrdiff_t entries() const {
        return std::distance(std::filesystem::directory_iterator(name_), std::filesystem::directory_iterator());
    }

private:
    std::string name_;
};

/// As long as it lives, no file of this process can grow larger: a full disk that needs no disk.
class file_size_limit {
public:
    explicit file_size_limit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        REQUIRE(getrlimit(RLIMIT_FSIZE, &before_) == 0);
        const rlimit limit{bytes, before_.rlim_max};
        REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    ~file_size_limit() {
        setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    file_size_limit(const file_size_limit&) = delete;
    file_size_limit& operator=(const file_size_limit&) = delete;

private:
    void (*handler_)(int);
    rlimit before_{};
};

std::string text_of(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
    const std::size_t at = text.find(what);
    REQUIRE(at != text.npos);
    return text.replace(at, what.size(), by);
}

}  // namespace

TEST_CASE("what is said of a run stands below a tree, and in comments of a graph") {
    trace t = small_trace();
    t.about = {{"command", "sum --elements 7"}, {"a \"name\"", "two\nlines"}};
    std::ostringstream tree;
    write_trace(tree, t, dynpar::trace_format::tree);
    CHECK(tree.str().find("\n\ncommand: sum --elements 7\na \"name\": two\n  lines\n") != std::string::npos);
    std::ostringstream dot;
    write_trace(dot, t, dynpar::trace_format::dot);
    CHECK(dot.str().find("digraph nesting {\n    // command: sum --elements 7\n    // a \"name\": two\n"
                         "    //   lines\n    node ") == 0);
}

TEST_CASE("saved trace: what is read back is what was written") {
    trace before = small_trace();
    before.about = {{"command", "sum --elements 7"}, {"a \"name\"", "two\nlines"}};
    before.grids[0].shape = dynpar::shape(2, dynpar::at_most(64));
    before.grids[1].shape = dynpar::shape(3, dynpar::at_most(64), dynpar::bytes_per_thread(8));
    const trace after = read(saved(before));
    CHECK(after.about == before.about);
    CHECK(after.engine == before.engine);
    CHECK(after.device == before.device);
    CHECK(after.nanoseconds == before.nanoseconds);
    CHECK(after.missing == before.missing);
    REQUIRE(after.grids.size() == before.grids.size());
    for (std::size_t i = 0; i < before.grids.size(); ++i) {
        const grid_record& a = after.grids[i];
        const grid_record& b = before.grids[i];
        CHECK(a.id == b.id);
        CHECK(a.parent == b.parent);
        CHECK(a.continues == b.continues);
        CHECK(a.stream == b.stream);
        CHECK(a.depth == b.depth);
        CHECK(a.processor == b.processor);
        CHECK(a.engine == b.engine);
        CHECK(a.status == b.status);
        CHECK(a.shape == b.shape);
        CHECK(a.kernel == b.kernel);
        CHECK(a.launched == b.launched);
        CHECK(a.begun == b.begun);
        CHECK(a.ended == b.ended);
    }
    CHECK(saved(after) == saved(before));
}

TEST_CASE("saved trace: an empty one, too") {
    CHECK(read(saved(trace{})).grids.empty());
    CHECK(tree(trace{}).empty());
}

TEST_CASE("saved trace: a file that is none, or contradicts itself, is refused in one line that says what is wrong") {
    const std::string good = saved(small_trace());
    CHECK(error_of("") == "t.dynpar.json: is no JSON (at byte 1); give a file written with the ending .dynpar.json");
    CHECK(error_of(good.substr(0, good.size() / 2)).find("t.dynpar.json: is no JSON (at byte ") == 0);
    CHECK(error_of("[]") == "t.dynpar.json: is no saved trace; give a file written with the ending .dynpar.json");
    CHECK(error_of("{\"traceEvents\":[]}").find("(this is a trace for Chrome, which cannot be read back)") !=
          std::string::npos);
    CHECK(error_of(replaced(good, "\"version\": 1", "\"version\": 2")) ==
          "t.dynpar.json: has version 2 of the format, and this program reads version 1; use the dynpar-trace of the "
          "dynpar that wrote it");
    CHECK(error_of(replaced(good, "\"version\": 1", "\"version\": \"1\"")) ==
          "t.dynpar.json: version: \"1\" is out of range");
    CHECK(error_of(replaced(good, "\"missing\": 2", "\"missing\": 1e999")) ==
          "t.dynpar.json: holds a number that is out of every range; give a file written with the ending .dynpar.json");
    CHECK(error_of(replaced(good, "\"kernels\": [", "\"about\": [[\"command\", 7]], \"kernels\": [")) ==
          "t.dynpar.json: about: holds what is no name with a text");
    CHECK(error_of(replaced(good, "\"missing\": 2,", "")) == "t.dynpar.json: missing: is missing");
    CHECK(error_of(replaced(good, "[0,null,null,1,0,1,", "[1,null,null,1,0,1,")) ==
          "t.dynpar.json: grid 1: parent: 1 is out of range");
    CHECK(error_of(replaced(good, "[0,null,null,1,0,1,", "[0,null,null,9,0,1,")) ==
          "t.dynpar.json: grid 1: kernel: 9 is out of range");
    CHECK(error_of(replaced(good, "[0,null,null,1,0,1,", "[0,null,null,1,0,-1,")) ==
          "t.dynpar.json: grid 1: depth: -1 is out of range");
    CHECK(error_of(replaced(good, "[0,null,null,1,0,1,", "[0,null,1,0,1,")) ==
          "t.dynpar.json: grid 1: has not 11 fields");
    CHECK(error_of(replaced(good, "\"success\"", "\"succes\"")) ==
          "t.dynpar.json: grid 0: status: \"succes\" is none of dynpar's");
    CHECK(error_of(replaced(good, "[[1,1,1,32,1,1,0,0]]", "[[1,1,1,32]]")) ==
          "t.dynpar.json: shapes: holds what has not 8 numbers");
}

TEST_CASE("saved trace: one that nests deep is refused, wherever the brackets stand") {
    const std::string brackets = std::string(300000, '[') + std::string(300000, ']');
    const std::string good = saved(small_trace());
    const std::string refused =
        "t.dynpar.json: is no saved trace: it nests deeper than one does; give a file written with the ending "
        ".dynpar.json";
    CHECK(error_of(brackets) == refused);
    CHECK(error_of(std::string(300000, '[')) == refused);
    CHECK(error_of(replaced(good, "\"version\": 1", "\"version\": " + brackets)) == refused);
    CHECK(error_of(replaced(good, "[\"parent\"", "[" + brackets + ",\"parent\"")) == refused);
    CHECK(error_of(replaced(good, "[null,null", "[" + brackets + ",null")) == refused);
    std::string objects = "1";
    for (int i = 0; i < 100000; ++i) objects = "{\"a\":" + objects;
    CHECK(error_of(replaced(good, "\"missing\": 2", "\"missing\": " + objects)) == refused);
}

TEST_CASE("saved trace: a large trace for Chrome is refused no more slowly than it was written") {
    trace t;
    add(t, grid(grid_record::none, "root", 0, 0, 0, 9));
    for (std::uint32_t i = 1; i < 100000; ++i) add(t, grid(0, "child", 1, 1, 2, 3));
    std::ostringstream chrome;
    const std::clock_t begin = std::clock();
    dynpar::write_chrome_trace(chrome, t);
    const std::clock_t written = std::clock();
    CHECK(error_of(chrome.str()).find("(this is a trace for Chrome, which cannot be read back)") != std::string::npos);
    // Not in the square of its size, which is a hundred times as long.
    CHECK(std::clock() - written < 10 * (written - begin));
}

TEST_CASE("packed trace: what is read back is what was written, and the same trace is the same file") {
    trace t = small_trace();
    for (std::uint32_t i = 0; i < 20000; ++i) add(t, grid(0, "many", 1, i, 2 * i, 3 * i));
    const std::string text = written(t, dynpar::trace_format::saved_gzip);
    CHECK(text.substr(0, 2) == "\x1f\x8b");
    CHECK(text.size() < saved(t).size() / 5);
    CHECK(saved(read(text)) == saved(t));
    CHECK(written(read(text), dynpar::trace_format::saved_gzip) == text);
    // Two packed texts, one after the other, are one.
    const std::string plain = saved(t);
    CHECK(saved(read(packed(plain.substr(0, 100000)) + packed(plain.substr(100000)))) == plain);
    CHECK(error_of(written(t, dynpar::trace_format::chrome_gzip)).find("(this is a trace for Chrome") !=
          std::string::npos);
}

TEST_CASE("packed trace: one that is cut off, or damaged, is refused in one line that says so") {
    const std::string good = written(small_trace(), dynpar::trace_format::saved_gzip);
    const std::string advice = "; give a whole file, written with the ending .dynpar.json.gz";
    for (std::size_t length = 1; length < good.size(); ++length)
        CHECK(error_of(good.substr(0, length)) == "t.dynpar.json: is cut off: the packed text has no end" + advice);
    const std::string damaged = "t.dynpar.json: is damaged: ";
    for (std::size_t at = 10; at < good.size(); ++at) {  // before are a date and other things that tell nothing
        std::string bad = good;
        bad[at] = static_cast<char>(bad[at] ^ 0x10);
        const std::string error = error_of(bad);
        if (error == "no error") {  // a bit that only fills up a byte
            CHECK(saved(read(bad)) == saved(small_trace()));
            continue;
        }
        CHECK((error.rfind(damaged, 0) == 0 || error.rfind("t.dynpar.json: is cut off", 0) == 0));
        CHECK(error.find('\n') == std::string::npos);
    }
    std::string bad = good;
    bad[good.size() - 6] = static_cast<char>(bad[good.size() - 6] ^ 1);
    CHECK(error_of(bad) == damaged + "incorrect data check" + advice);
    CHECK(error_of(good + "more") == damaged + "incorrect header check" + advice);
    CHECK(error_of(packed("")) ==
          "t.dynpar.json: is no JSON (at byte 1); give a file written with the ending .dynpar.json");
}

TEST_CASE("packed trace: few bytes that unpack to very many are refused before they fill the memory") {
    const std::string bomb = packed(std::string(200 << 20, ' '));
    CHECK(bomb.size() < 300000);
    CHECK(error_of(bomb) ==
          "t.dynpar.json: unpacks to more than 134217728 bytes: no trace does; give a whole file, written with the "
          "ending .dynpar.json.gz");
    const auto unpacked = [](const std::string& text, dynpar::detail::gzip_limits limits) {
        std::istringstream in(text);
        dynpar::detail::gzip_input unpacker(in, limits);
        return std::string(std::istreambuf_iterator<char>(&unpacker), std::istreambuf_iterator<char>());
    };
    std::string text;
    for (int i = 0; i < 100000; ++i) text += std::to_string(i);
    const std::string small = packed(text);
    CHECK(unpacked(small, {text.size(), 0, 200}) == text);
    CHECK_THROWS_AS(unpacked(small, {text.size() - 1, 0, 200}), dynpar::detail::gzip_error);
    CHECK_THROWS_AS(unpacked(small, {text.size(), 0, 1}), dynpar::detail::gzip_error);
    CHECK(unpacked(small, {text.size(), text.size(), 1}) == text);
}

TEST_CASE("saved trace: what a message quotes of it is short, and one line") {
    const std::string good = saved(small_trace());
    const std::string error = error_of(replaced(good, "\"success\"", "\"" + std::string(1000000, 'a') + "\""));
    CHECK(error.size() < 300);
    CHECK(error.find("...") != std::string::npos);
    CHECK(error_of(replaced(good, "\"success\"", "\"\x7f\"")) ==
          "t.dynpar.json: grid 0: status: \"\\x7f\" is none of dynpar's");
    std::istringstream nothing;
    CHECK_THROWS_WITH_AS(dynpar::read_trace(nothing, "two\nlines"),
                         "two\\x0alines: is no JSON (at byte 1); give a file written with the ending .dynpar.json",
                         dynpar::trace_file_error);
}

TEST_CASE("saved trace: no kernels for a grid is refused") {
    const std::string good = saved(small_trace());
    const std::size_t begin = good.find("\"kernels\": [") + 12;
    std::string none = good;
    none.erase(begin, good.find(']', begin) - begin);
    CHECK(error_of(none) == "t.dynpar.json: grid 0: kernel: 0 is out of range");
}

TEST_CASE("formats: the file's name tells, and a name that tells none is refused") {
    CHECK(dynpar::format_of("a/b.dynpar.json") == dynpar::trace_format::saved);
    CHECK(dynpar::format_of("a/b.dynpar.json.gz") == dynpar::trace_format::saved_gzip);
    CHECK(dynpar::format_of("b.json") == dynpar::trace_format::chrome);
    CHECK(dynpar::format_of("b.json.gz") == dynpar::trace_format::chrome_gzip);
    CHECK(dynpar::format_of("b.pftrace") == dynpar::trace_format::perfetto);
    CHECK(dynpar::format_of("b.dot") == dynpar::trace_format::dot);
    CHECK(dynpar::format_of("b.txt") == dynpar::trace_format::tree);
    if (dynpar::has_trace_page()) {
        CHECK(dynpar::format_of("b.html") == dynpar::trace_format::page);
    } else {
        CHECK_THROWS_WITH_AS(
            dynpar::format_of("b.html"),
            "b.html: this build of dynpar writes no pages: d3 was not found when it was configured; install Debian's "
            "libjs-d3 and configure again, or give a name that ends with .json",
            dynpar::trace_file_error);
    }
    for (const char* name : {"", "b", "json", ".json", "b.JSON", "b.txt.gz", ".json.gz", "b.gz", "b.pftrace.gz"}) {
        CHECK_THROWS_AS(dynpar::format_of(name), dynpar::trace_file_error);
    }
    CHECK_THROWS_AS(dynpar::write_trace("no/such/folder/t.dot", trace{}), dynpar::trace_file_error);
    CHECK_THROWS_AS(dynpar::read_trace(std::string("no-such.dynpar.json")), dynpar::trace_file_error);
    CHECK_THROWS_AS(dynpar::read_trace(std::string("/")), dynpar::trace_file_error);
}

TEST_CASE("a saved trace: what is no regular file is refused before it is opened") {
    const std::string pipe = "trace-" + std::to_string(getpid()) + ".dynpar.json";
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);  // nobody writes to it: to open it would take for ever
    const std::string what = ": is a device or a pipe; give a saved trace";
    CHECK_THROWS_WITH_AS(dynpar::read_trace(pipe), (pipe + what).c_str(), dynpar::trace_file_error);
    unlink(pipe.c_str());
    CHECK_THROWS_WITH_AS(dynpar::read_trace(std::string("/dev/zero")), ("/dev/zero" + what).c_str(),
                         dynpar::trace_file_error);
}

TEST_CASE("a saved trace: a text without an end is read no further than it can be one") {
    struct endless : std::streambuf {
        char letter;
        std::size_t read = 0;
        explicit endless(char c) : letter(c) {}
        int_type underflow() override {
            ++read;
            setg(&letter, &letter, &letter + 1);
            return traits_type::to_int_type(letter);
        }
    };
    endless zeros('\0');
    std::istream in(&zeros);
    CHECK_THROWS_WITH_AS(dynpar::read_trace(in, "zeros"),
                         "zeros: is no JSON (at byte 1); give a file written with the ending .dynpar.json",
                         dynpar::trace_file_error);
    CHECK(zeros.read == 1);

    // What could be JSON is read up to a bound.
    endless brackets('[');
    CHECK_FALSE(dynpar::detail::whole_text(brackets, 100'000).has_value());
    CHECK(brackets.read <= 200'000);
    std::stringbuf enough(std::string(100, 'x'));
    CHECK(dynpar::detail::whole_text(enough, 100) == std::string(100, 'x'));
    std::stringbuf too_much(std::string(101, 'x'));
    CHECK_FALSE(dynpar::detail::whole_text(too_much, 100).has_value());
}

TEST_CASE("files: one that cannot be written whole leaves the earlier one as it was, and nothing else") {
    const empty_folder folder;
    const std::string file = folder.path("run.dynpar.json");
    dynpar::write_trace(file, small_trace());
    trace large = small_trace();
    large.device = std::string(1 << 20, 'x');
    {
        const file_size_limit limit(4096);
        CHECK_THROWS_WITH_AS(
            dynpar::write_trace(file, large),
            (file +
             ": cannot be written (File too large); give a file in a folder that exists, may be written to, and has "
             "room")
                .c_str(),
            dynpar::trace_file_error);
    }
    CHECK(text_of(file) == saved(small_trace()));
    CHECK(folder.entries() == 1);
    dynpar::write_trace(file, large);
    CHECK(text_of(file) == saved(large));
    CHECK(folder.entries() == 1);

    // Packed: what does not fit may be the end of it alone.
    const std::string packed_file = folder.path("run.dynpar.json.gz");
    const std::string packed_text = written(small_trace(), dynpar::trace_format::saved_gzip);
    {
        const file_size_limit limit(packed_text.size() - 1);
        CHECK_THROWS_AS(dynpar::write_trace(packed_file, small_trace()), dynpar::trace_file_error);
    }
    CHECK(folder.entries() == 1);
    dynpar::write_trace(packed_file, small_trace());
    CHECK(text_of(packed_file) == packed_text);
}

TEST_CASE("files: what is replaced keeps its permissions, and a link stays one") {
    namespace fs = std::filesystem;
    const empty_folder folder;
    const std::string file = folder.path("run.dynpar.json");
    const std::string link = folder.path("link.dynpar.json");
    dynpar::write_trace(file, trace{});
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
    fs::create_symlink("run.dynpar.json", link);
    dynpar::write_trace(link, small_trace());
    CHECK(fs::is_symlink(link));
    CHECK(text_of(file) == saved(small_trace()));
    CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    CHECK(folder.entries() == 2);
}

TEST_CASE("files: to a device a trace is written, and what fails there is said") {
    const empty_folder folder;
    const std::string nothing = folder.path("nothing.dot");
    const std::string full = folder.path("full.dot");
    std::filesystem::create_symlink("/dev/null", nothing);
    std::filesystem::create_symlink("/dev/full", full);
    dynpar::require_writable(nothing);
    dynpar::write_trace(nothing, small_trace());
    CHECK(std::filesystem::is_symlink(nothing));
    CHECK_THROWS_WITH_AS(
        dynpar::write_trace(full, small_trace()),
        (full +
         ": cannot be written (No space left on device); give a file in a folder that exists, may be written to, "
         "and has room")
            .c_str(),
        dynpar::trace_file_error);
}

TEST_CASE("files: whether one can be written is found before, and nothing is left of the attempt") {
    const empty_folder folder;
    const std::string file = folder.path("run.txt");
    const auto refusal = [](const std::string& name) {
        try {
            dynpar::require_writable(name);
        } catch (const dynpar::trace_file_error& e) {
            return std::string(e.what());
        }
        return std::string("none");
    };
    CHECK(refusal(file) == "none");
    CHECK(folder.entries() == 0);
    std::ofstream(file) << "what was there";
    CHECK(refusal(file) == "none");
    CHECK(text_of(file) == "what was there");
    CHECK(folder.entries() == 1);
    CHECK(refusal(folder.path("run.bmp")).find("the ending tells no format") != std::string::npos);
    CHECK(refusal(folder.path("none/run.txt")) == folder.path("none/run.txt") + ": there is no folder " +
                                                      folder.path("none") + "; make it, or give another file");
    std::filesystem::create_directory(folder.path("folder.txt"));
    CHECK(refusal(folder.path("folder.txt")) == folder.path("folder.txt") + " is a folder; give a file");
    // Nobody can make a file there, not even root.
    CHECK(refusal("/proc/self/run.txt").rfind("/proc/self/run.txt: cannot be written (", 0) == 0);
}

TEST_CASE("tree: continuations, lost launches, grids without a parent, and what found no room") {
    CHECK(tree(small_trace()) ==
          "root <<<1, 32>>>\n"
          "├─ child <<<1, 32>>>  x 2\n"
          "├─ then after <<<1, 32>>>\n"
          "└─ child <<<1, 32>>>  LOST: pending_launches_exceeded\n"
          "(launched by grids that are not in the trace)\n"
          "└─ stray <<<1, 32>>>\n"
          "(2 more grids were launched: there was no room for them in the trace)\n");
}

TEST_CASE("tree: a nesting of a million needs no C++ stack, and a long recursion is one line") {
    trace t;
    for (std::uint32_t i = 0; i < 1000000; ++i) add(t, grid(i == 0 ? grid_record::none : i - 1, "chain", i, i, i, i));
    CHECK(tree(t) == "chain <<<1, 32>>>  and so on, 1000000 levels, each launched by the one above\n");

    // Levels that are not alike have a line each, and the indentation stops growing.
    for (std::size_t i = 0; i < t.grids.size(); ++i)
        t.grids[i].shape = dynpar::shape(static_cast<unsigned>(i % 7 + 1), 32);
    const std::string text = tree(t);
    CHECK(std::count(text.begin(), text.end(), '\n') == 1000000);
    CHECK(text.find("└─ (level 999999) chain <<<1, 32>>>\n") != text.npos);
    std::ostringstream dot;
    dynpar::write_dot(dot, t);
    t.grids.resize(50000);
    std::ostringstream chrome;
    dynpar::write_chrome_trace(chrome, t);
    CHECK(chrome.str().size() > 50000);
}

TEST_CASE("tree: a million siblings are one line") {
    trace t;
    add(t, grid(grid_record::none, "root", 0, 0, 0, 9));
    for (std::uint32_t i = 1; i < 1000000; ++i) add(t, grid(0, "child", 1, 1, 2, 3));
    CHECK(tree(t) == "root <<<1, 32>>>\n└─ child <<<1, 32>>>  x 999999\n");
}

TEST_CASE("statistics: counts, latencies and durations by kernel and depth") {
    trace t;
    add(t, grid(grid_record::none, "root", 0, 0, 10, 1000));
    for (std::uint64_t i = 1; i <= 100; ++i) add(t, grid(0, "child", 1, 100, 100 + i, 100 + 3 * i));
    grid_record lost = grid(0, "child", 1, 500, grid_record::never, grid_record::never);
    lost.status = dynpar::status::out_of_memory;
    add(t, lost);
    const std::vector<dynpar::grid_statistics> all = dynpar::statistics(t);
    REQUIRE(all.size() == 2);
    CHECK(all[0].kernel == "root");
    CHECK(all[0].count == 1);
    CHECK(all[0].latency.median == 10);
    CHECK(all[0].duration.most == 990);
    CHECK(all[1].kernel == "child");
    CHECK(all[1].depth == 1);
    CHECK(all[1].count == 100);
    CHECK(all[1].lost == 1);
    CHECK(all[1].latency.median == 50);
    CHECK(all[1].latency.p95 == 95);
    CHECK(all[1].latency.most == 100);
    CHECK(all[1].duration.median == 100);
    CHECK(all[1].duration.total == 2 * 5050);
}

TEST_CASE(
    "nested ends: a grid's slice reaches to the end of the last grid below it, continuations of its own left out") {
    const std::vector<std::uint64_t> ends = dynpar::nested_ends(small_trace());
    CHECK(ends == std::vector<std::uint64_t>{5000, 3000, 4000, 7000, grid_record::never, 800});
}

TEST_CASE("comparison: what got slower, what was added, what went") {
    trace before;
    add(before, grid(grid_record::none, "root", 0, 0, 0, 100000));
    add(before, grid(0, "same", 1, 0, 10, 50010));
    add(before, grid(0, "slow", 1, 0, 10, 50010));
    add(before, grid(0, "gone", 1, 0, 10, 20));
    trace after = before;
    after.grids[2].ended += 50000;
    after.grids[3].kernel = "new";
    using kind = dynpar::trace_difference::kind;
    const auto differences = dynpar::compare(before, after);
    REQUIRE(differences.size() == 5);
    CHECK(differences[0].what == kind::slower);
    CHECK(differences[0].after.kernel == "slow");
    CHECK(differences[1].what == kind::added);
    CHECK(differences[1].after.kernel == "new");
    CHECK(differences[2].what == kind::removed);
    CHECK(differences[2].before.kernel == "gone");
    CHECK(differences[3].what == kind::same);
    CHECK(dynpar::compare(before, after, 1.5)[0].what == kind::added);  // 100 % slower is within 150 %

    std::ostringstream text;
    dynpar::print_comparison(text, before, after);
    CHECK(text.str().find("slower  slow at depth 1: duration 50 us -> 100 us (+100 %)") != std::string::npos);
    CHECK(text.str().find("added   new at depth 1: 1 grid, duration 10 ns") != std::string::npos);
    CHECK(text.str().find("removed gone at depth 1: 1 grid") != std::string::npos);
    CHECK(text.str().find("unchanged: 2 kernels at their depths") != std::string::npos);
}

TEST_CASE("graphviz: launches are solid, continuations dashed, and names may hold anything") {
    std::ostringstream out;
    dynpar::write_dot(out, small_trace());
    const std::string text = out.str();
    CHECK(text.find("host [shape=ellipse, label=\"host engine on CPU \\\"0\\\" <&>\"];") != text.npos);
    CHECK(text.find("[label=\"x 2\", style=solid];") != text.npos);
    CHECK(text.find("[style=dashed];") != text.npos);
    CHECK(text.find("LOST: pending_launches_exceeded\", color=red, fontcolor=red];") != text.npos);
    CHECK(text.find("2 more grids were launched") != text.npos);
}

TEST_CASE("chrome: a child that begins before its parent has a track of its own") {
    trace t;
    add(t, grid(grid_record::none, "root", 0, 0, 50, 100));
    add(t, grid(0, "early", 1, 0, 10, 70));
    CHECK(slices_in_order(t) == 2);
    add(t, grid(1, "later", 2, 0, 20, 60));
    add(t, grid(0, "usual", 1, 0, 60, 90));
    CHECK(slices_in_order(t) == 4);
}

TEST_CASE("perfetto: what is packed is never larger than readers want, also if a grid launches very many") {
    trace t;
    add(t, grid(grid_record::none, "root", 0, 0, 0, 4000000));
    for (std::uint32_t i = 1; i < 400000; ++i)
        add(t, grid(0, "child", 1, i, 10 + i * 7919ull % 400000, 11 + i * 7919ull % 400000));
    const perfetto_slices slices = read_perfetto_slices(t);
    CHECK(slices.wrong == "");
    CHECK(slices.count == t.grids.size());
    CHECK((slices.unpacked > 0 && slices.unpacked < 20));
}

TEST_CASE("perfetto: the same trace is the same file, and one that cannot be written whole leaves nothing") {
    const empty_folder folder;
    const std::string text = written(small_trace(), dynpar::trace_format::perfetto);
    CHECK(text == written(small_trace(), dynpar::trace_format::perfetto));
    const std::string file = folder.path("run.pftrace");
    {
        const file_size_limit limit(text.size() - 1);
        CHECK_THROWS_AS(dynpar::write_trace(file, small_trace()), dynpar::trace_file_error);
    }
    CHECK(folder.entries() == 0);
    dynpar::write_trace(file, small_trace());
    CHECK(text_of(file) == text);
    CHECK(error_of(text).rfind("t.dynpar.json: is no JSON (at byte ", 0) == 0);
}

TEST_CASE("writers: there is no trace that cannot be written") {
    constexpr std::uint32_t none = grid_record::none;
    trace t = small_trace();
    t.grids[1].ended = 10;  // before it began
    add(t, grid(4, "of a lost one", 2, 0, 10, 20));
    add(t, grid(7, "of itself", 2, 0, 10, 20));
    add(t, grid(9, "of the next", 2, 0, 10, 20));
    add(t, grid(8, "of the one before", 2, 0, 5, 30));
    add(t, grid(1000000, "of nobody", 2, 0, 10, 20));
    add(t, grid(none, "never began", 0, 0, grid_record::never, 20));
    add(t, grid(11, "of one that never began", 1, 0, 10, 20));
    add(t, grid(none, "at the end of time", 0, grid_record::never, grid_record::never - 1, grid_record::never - 1));
    add(t, grid(none, "no \xff UTF-8 \xc3", 0, 0, 10, 20));
    t.grids.back().continues = 14;
    t.engine = "\xff";
    for (std::size_t i = 0; i < t.grids.size(); i += 3) t.grids[i].id = none;
    CHECK(slices_in_order(t) == 13);
    const perfetto_slices perfetto = read_perfetto_slices(t);
    CHECK(perfetto.wrong == "");
    CHECK(perfetto.count == 13);
    for (const auto format :
         {dynpar::trace_format::tree, dynpar::trace_format::saved, dynpar::trace_format::chrome_gzip,
          dynpar::trace_format::dot, dynpar::trace_format::page}) {
        if (format == dynpar::trace_format::page && !dynpar::has_trace_page()) continue;
        std::ostringstream out;
        dynpar::write_trace(out, t, format);
        CHECK(!out.str().empty());
    }
    std::ostringstream out;
    dynpar::print_statistics(out, t);
    dynpar::print_comparison(out, t, small_trace());
}

TEST_CASE("names: control characters, and what is no UTF-8, are escaped wherever people read them") {
    trace t;
    add(t, grid(grid_record::none,
                "red \x1b[31m \xc2\x9b"
                "1m \x7f\n\xff grün",
                0, 0, 0, 1));
    const std::string shown = "red \\x1b[31m \\xc2\\x9b1m \\x7f\\x0a\\xff grün";
    CHECK(tree(t) == shown + " <<<1, 32>>>\n");
    std::ostringstream table;
    dynpar::print_statistics(table, t);
    CHECK(table.str().find("\n" + shown + " ") != std::string::npos);
    std::ostringstream comparison;
    dynpar::print_comparison(comparison, trace{}, t);
    CHECK(comparison.str().find("added   " + shown + " at depth 0") != std::string::npos);
    std::ostringstream dot;
    dynpar::write_dot(dot, t);
    CHECK(dot.str().find("red \\\\x1b[31m") != std::string::npos);
    dynpar::failure f;
    f.kernel = t.grids[0].kernel;
    CHECK(dynpar::describe(f).find("launch of " + shown + " <<<") != std::string::npos);
}

TEST_CASE("printable: what is UTF-8 stays, what is none does not, and what is too long is cut between two characters") {
    using dynpar::detail::printable;
    for (const char* text : {"", "a b~", "\xc2\xa0", "grün", "└─ €", "\xed\x9f\xbf", "\xef\xbf\xbd", "\xf0\x90\x80\x80",
                             "\xf4\x8f\xbf\xbf"})
        CHECK(printable(text) == text);
    CHECK(printable("\xc0\xaf") == "\\xc0\\xaf");
    CHECK(printable("\xe0\x80\xaf") == "\\xe0\\x80\\xaf");
    CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");
    CHECK(printable("\xf4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
    CHECK(printable("€\xe2\x82") == "€\\xe2\\x82");
    CHECK(printable(std::string("a\0b", 3)) == "a\\x00b");
    CHECK(printable("abc", 3) == "abc");
    CHECK(printable("abcd", 3) == "abc...");
    CHECK(printable("ab€d", 3) == "ab€...");
}

TEST_CASE("recommendation: a limit for each thing that was needed, as TOML with notes and costs") {
    dynpar::run_needs needs;
    needs.nesting_depth = 8;
    needs.sync_depth = 3;
    needs.pending_launches = 5000;
    needs.live_bytes = 100;
    const auto cost = [](const dynpar::recommended_limit& limit) {
        return limit.name == "pending_launches" ? std::string("18 MiB") : std::string();
    };
    CHECK(dynpar::to_toml(dynpar::recommend(needs, "host"), cost) ==
          "[limits]\n"
          "sync_depth = 3\n"
          "pending_launches = 5000   # 18 MiB\n"
          "nesting_depth = 8\n");
    needs.sync_depth.reset();
    needs.pending_launches = 4;
    const std::string cdp = dynpar::to_toml(dynpar::recommend(needs, "cdp"));
    CHECK(cdp.find("sync_depth") == cdp.npos);
    CHECK(cdp.find("pending_launches = 32     # the GPU gives 32, its least; 4 would do\n") != cdp.npos);
    CHECK(cdp.find("heap_bytes = 4194304      # 100 bytes were live;") != cdp.npos);
    needs.pending_launches.reset();
    needs.sync_depth = 3;
    needs.live_bytes = 8 << 20;
    const std::string queue = dynpar::to_toml(dynpar::recommend(needs, "queue"));
    CHECK(queue.find("sync_depth = 3\nnesting_depth = 8\nheap_bytes = 10485760     # 8388608 bytes were taken;") !=
          queue.npos);
    needs.sync_depth.reset();
    needs.pending_launches = 0;  // no launch at all: the limit has no value as small as that
    CHECK(dynpar::to_toml(dynpar::recommend(needs, "host")) == "[limits]\nnesting_depth = 8\n");
}

TEST_CASE("times for people") {
    CHECK(dynpar::time_text(0) == "0 ns");
    CHECK(dynpar::time_text(999) == "999 ns");
    CHECK(dynpar::time_text(1250) == "1.25 us");
    CHECK(dynpar::time_text(1250000) == "1.25 ms");
    CHECK(dynpar::time_text(2500000000) == "2.50 s");
}

TEST_CASE("trace page: a build without d3 says so") {
    std::ostringstream out;
    if (dynpar::has_trace_page()) {
        trace t = small_trace();
        t.grids[1].kernel = "</script><b>";
        dynpar::write_trace_page(out, t);
        CHECK(out.str().find("</script><b>") == std::string::npos);
        CHECK(out.str().find("/*{") == std::string::npos);
    } else {
        CHECK_THROWS_AS(dynpar::write_trace_page(out, trace{}), std::runtime_error);
    }
}
