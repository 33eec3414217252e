// dynpar-trace: prints a saved trace, converts it, or compares two of them.
#include <algorithm>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>
#include <dynpar/trace_comparison.hpp>
#include <dynpar/trace_file.hpp>
#include <dynpar/trace_statistics.hpp>

namespace {

enum exit_status : int { success = 0, failed = 1, bad_input = 2 };

int refuse(std::string what) {
    std::replace_if(what.begin(), what.end(), [](unsigned char c) { return c < 0x20; }, ' ');
    std::cout.flush();
    std::cerr << "dynpar-trace: " << what << std::endl;
    return bad_input;
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
    std::cout << t.engine << " engine on " << t.device << ": " << t.grids.size() - lost << " grids, nesting depth " << deepest << ", "
              << lost << " launches lost, " << dynpar::time_text(t.nanoseconds) << '\n';
    if (t.missing != 0) std::cout << t.missing << " more grids were launched: there was no room for them in the trace\n";
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Looks at traces that dynpar has saved (--trace run.dynpar.json).", "dynpar-trace");
    app.set_help_flag("-h,--help", "print this and stop");
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

    CLI::App* const convert = app.add_subcommand("convert", "write it in another format, which the new file's name tells: "
                                                            ".json (Chrome, Perfetto), .html, .dot, .txt, .dynpar.json");
    convert->add_option("trace", file, "a saved trace")->required()->type_name("FILE");
    convert->add_option("out", second, "the file to write")->required()->type_name("FILE");

    CLI::App* const compare = app.add_subcommand("compare", "what got slower from one run to another, and what was added");
    compare->add_option("before", file, "a saved trace")->required()->type_name("FILE");
    compare->add_option("after", second, "a saved trace")->required()->type_name("FILE");
    compare->add_option("--threshold", percent, "how many percent slower count as slower (10)")->type_name("PERCENT");

    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp&) {
        const auto chosen = app.get_subcommands();
        std::cout << (chosen.empty() ? app.help() : chosen.front()->help()) << std::endl;
        return success;
    } catch (const CLI::ParseError& e) {
        return refuse(std::string(e.what()) + "; see dynpar-trace --help");
    }

    try {
        if (print->parsed()) {
            const dynpar::trace t = dynpar::read_trace(file);
            const bool all = tree == table;
            if (all) print_summary(t);
            if (all || tree) dynpar::print_tree(std::cout, t);
            if (all || table) dynpar::print_statistics(std::cout, t);
        } else if (convert->parsed()) {
            static_cast<void>(dynpar::format_of(second));  // before the work of reading
            std::error_code ignored;
            if (std::filesystem::equivalent(file, second, ignored)) return refuse(second + ": is the trace itself; give another file");
            dynpar::write_trace(second, dynpar::read_trace(file));
        } else {
            if (!(percent >= 0 && percent <= 1e6)) return refuse("--threshold: give a number from 0 to 1000000");
            const dynpar::trace before = dynpar::read_trace(file);
            const dynpar::trace after = dynpar::read_trace(second);
            dynpar::print_comparison(std::cout, before, after, percent / 100);
        }
        std::cout.flush();
        if (!std::cout) {
            std::cerr << "dynpar-trace: the output cannot be written" << std::endl;
            return failed;
        }
        return success;
    } catch (const dynpar::trace_file_error& e) {
        return refuse(e.what());
    } catch (const std::exception& e) {
        std::cerr << "dynpar-trace: " << e.what() << std::endl;
        return failed;
    }
}
