// dynpar-trace: prints a saved trace, converts it, or compares two of them.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <string>

#include <CLI/CLI.hpp>
#include <dynpar/detail/printable.hpp>
#include <dynpar/trace_comparison.hpp>
#include <dynpar/trace_file.hpp>
#include <dynpar/trace_statistics.hpp>
#include <dynpar/trace_tree.hpp>
#include <dynpar/version.hpp>

#include "../samples/exit_status.hpp"
#include "../src/about_lines.hpp"

namespace {

using samples::bad_input;
using samples::exit_status;
using samples::failed;
using samples::success;

// Ends the program: one line, and a status.
int end_with(exit_status status, std::string what) {
    std::cout.flush();
    std::replace(what.begin(), what.end(), '\n', ' ');
    std::cerr << "dynpar-trace: " << dynpar::detail::printable(what) << std::endl;
    return status;
}

// `success`, if all that was printed is written.
int end_of_output() {
    if (std::cout.flush()) return success;
    return end_with(failed, "standard output cannot be written" +
                                (errno != 0 ? " (" + std::string(std::strerror(errno)) + ")" : "") +
                                "; send it to where there is room");
}

void print_summary(const dynpar::trace& t) {
    std::uint64_t lost = 0;
    std::uint32_t deepest = 0;
    for (const dynpar::grid_record& grid : t.grids) {
        if (grid.ran()) {
            deepest = std::max(deepest, grid.depth);
        } else {
            ++lost;
        }
    }
    using dynpar::detail::printable;
    std::cout << printable(t.engine) << " engine on " << printable(t.device) << ": " << t.grids.size() - lost
              << " grids, nesting depth " << deepest << ", " << lost << " launches lost, "
              << dynpar::time_text(t.nanoseconds) << '\n';
    if (t.missing != 0)
        std::cout << t.missing << " more grids were launched: there was no room for them in the trace\n";
    dynpar::detail::write_about(std::cout, t);
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Looks at traces that dynpar has saved (--trace run.dynpar.json).", "dynpar-trace");
    app.set_help_flag("-h,--help", "print this and stop");
    app.set_version_flag("--version", "dynpar-trace (dynpar " DYNPAR_VERSION_STRING ")", "print the version and stop");
    app.require_subcommand(1);
    app.fallthrough(false);

    std::string file;
    std::string second;
    bool tree = false;
    bool table = false;
    double percent = 10;

    CLI::App* const print = app.add_subcommand("print", "print the nesting tree and a table by kernel and depth");
    print->add_option("trace", file, "a saved trace")->required()->type_name("FILE");
    print->add_flag("--tree", tree, "only the tree");
    print->add_flag("--table", table, "only the table");

    CLI::App* const convert = app.add_subcommand("convert",
                                                 "write it in another format, which the new file's name tells: "
                                                 ".pftrace (Perfetto), .json (Chrome, Perfetto), .html, .dot, "
                                                 ".txt, .dynpar.json; with .gz after .json it is packed");
    convert->add_option("trace", file, "a saved trace")->required()->type_name("FILE");
    convert->add_option("out", second, "the file to write")->required()->type_name("FILE");

    CLI::App* const compare =
        app.add_subcommand("compare", "what got slower from one run to another, and what was added");
    compare->add_option("before", file, "a saved trace")->required()->type_name("FILE");
    compare->add_option("after", second, "a saved trace")->required()->type_name("FILE");
    compare->add_option("--threshold", percent, "how many percent slower count as slower (10)")->type_name("PERCENT");

    errno = 0;
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        const auto chosen = app.get_subcommands();
        std::cout << (chosen.empty() ? app.help() : chosen.front()->help()) << '\n';
        return end_of_output();
    } catch (const CLI::CallForVersion& e) {
        std::cout << e.what() << '\n';
        return end_of_output();
    } catch (const CLI::ParseError& e) {
        return end_with(bad_input, dynpar::detail::in_message(e.what()) + "; see dynpar-trace --help");
    }

    try {
        if (print->parsed()) {
            const dynpar::trace t = dynpar::read_trace(file);
            errno = 0;
            const bool all = tree == table;
            if (all) print_summary(t);
            if (all || tree) dynpar::print_tree(std::cout, t);
            if (all || table) dynpar::print_statistics(std::cout, t);
        } else if (convert->parsed()) {
            dynpar::require_writable(second);  // before the work of reading
            std::error_code ignored;
            if (std::filesystem::equivalent(file, second, ignored)) {
                return end_with(bad_input,
                                dynpar::detail::in_message(second) + ": is the trace itself; give another file");
            }
            const dynpar::trace t = dynpar::read_trace(file);
            try {
                dynpar::write_trace(second, t);
            } catch (const dynpar::trace_file_error& e) {
                return end_with(failed, e.what());  // no fault of what was given, as far as that could be seen
            }
        } else {
            if (!(percent >= 0 && percent <= 1e6))
                return end_with(bad_input, "--threshold: give a number from 0 to 1000000");
            const dynpar::trace before = dynpar::read_trace(file);
            const dynpar::trace after = dynpar::read_trace(second);
            errno = 0;
            dynpar::print_comparison(std::cout, before, after, percent / 100);
        }
        return end_of_output();
    } catch (const dynpar::trace_file_error& e) {
        return end_with(bad_input, e.what());
    } catch (const std::bad_alloc&) {
        return end_with(failed, "out of memory; give it a trace of fewer grids");
    } catch (const std::exception& e) {
        return end_with(failed, e.what());
    }
}
