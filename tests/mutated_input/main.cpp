// Reads texts of a corpus, changed at random, with everything that reads text from outside, and says where a promise is
// broken: a crash, a hang, a message that is none.
//
//     mutated_input [--target trace|records|config|command_line] [--seed N] [--first N] [--count N | --seconds N]
//                   [--print]
//
// Without --target all of them, each with so many cases. The same seed and number are the same case on every machine: a
// failure names the arguments that repeat it, and --print with them shows the text.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

#include "mutator.hpp"
#include "targets.hpp"

namespace {

using namespace mutated_input;

// What repeats the case at hand, for a signal's handler, which may not make texts.
char repeat[200];

void say_repeat(const char* what) {
    for (const char* text : {"mutated_input: ", what, ": ", static_cast<const char*>(repeat), "\n"})
        static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text)));
}

extern "C" void on_signal(int number) {
    say_repeat(number == SIGALRM ? "takes longer than 20 seconds" : "the program crashed");
    _exit(1);
}

#if MUTATED_INPUT_SANITIZED
extern "C" void __sanitizer_set_death_callback(
    void (*)());  // sanitizers catch crashes themselves, and say more of them
#endif

// A stack of its own for the handler: a crash may be for want of stack.
void catch_crashes() {
#if MUTATED_INPUT_SANITIZED
    __sanitizer_set_death_callback([] { say_repeat("the sanitizer has found something"); });
    std::signal(SIGALRM, on_signal);
#else
    static char stack[64 * 1024];
    stack_t alternative{};
    alternative.ss_sp = stack;
    alternative.ss_size = sizeof stack;
    sigaltstack(&alternative, nullptr);
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM}) {
        struct sigaction action {};
        action.sa_handler = on_signal;
        action.sa_flags = SA_ONSTACK;
        sigaction(number, &action, nullptr);
    }
    // What asks for more memory than any text can be worth fails, and not the machine.
    const rlimit limit{rlim_t{4} << 30, rlim_t{4} << 30};
    setrlimit(RLIMIT_AS, &limit);
#endif
}

std::vector<std::string> corpus_of(const target& t) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(CORPUS) / t.name))
        files.push_back(entry.path());
    std::sort(files.begin(), files.end());  // a directory's order is its own
    std::vector<std::string> texts;
    for (const auto& file : files) {
        std::ostringstream text;
        text << std::ifstream(file, std::ios::binary).rdbuf();
        texts.push_back(text.str());
    }
    if (texts.empty()) throw std::runtime_error(std::string("no corpus of ") + t.name);
    return texts;
}

struct arguments {
    std::string target;
    std::uint64_t seed = 1;
    std::uint64_t first = 0;
    std::uint64_t count = 1000;
    std::uint64_t seconds = 0;
    bool print = false;
};

bool is_chosen(const arguments& a, const target& t) { return a.target.empty() || a.target == t.name; }

bool run(const target& t, const arguments& a) {
    const std::vector<std::string> texts = corpus_of(t);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(a.seconds);
    std::uint64_t number = a.first;
    std::uint64_t read = 0;
    for (; a.seconds != 0 ? std::chrono::steady_clock::now() < end : number < a.first + a.count; ++number) {
        random_numbers random(a.seed * 0x100000001b3ull + number);
        // The first cases are the corpus itself.
        const std::string input = number < texts.size() ? texts[number] : mutated(texts, t.words, t.longest, random);
        std::snprintf(repeat, sizeof repeat, "mutated_input --target %s --seed %llu --first %llu --count 1", t.name,
                      static_cast<unsigned long long>(a.seed), static_cast<unsigned long long>(number));
        if (a.print) std::cout << input << std::endl;
        alarm(20);
        try {
            read += t.read(input) ? 1 : 0;
        } catch (const std::exception& e) {
            std::cerr << "mutated_input: " << e.what() << ": " << repeat << std::endl;
            return false;
        }
        alarm(0);
    }
    std::cout << t.name << ": " << number - a.first << " cases, " << read << " of them read, seed " << a.seed
              << std::endl;
    return true;
}

bool read_number(const char* text, std::uint64_t& number) {
    const char* const end = text + std::strlen(text);
    const auto [stop, error] = std::from_chars(text, end, number);
    return error == std::errc() && stop == end;
}

}  // namespace

int main(int argc, char** argv) {
    arguments a;
    for (int i = 1; i < argc; ++i) {
        const std::string option = argv[i];
        const char* const value = i + 1 < argc ? argv[i + 1] : "";
        bool good = true;
        if (option == "--print") {
            a.print = true;
            continue;
        }
        if (option == "--target") {
            a.target = value;
            good = false;
            for (const target& t : targets()) good = good || a.target == t.name;
        } else if (option == "--seed") {
            good = read_number(value, a.seed);
        } else if (option == "--first") {
            good = read_number(value, a.first);
        } else if (option == "--count") {
            good = read_number(value, a.count);
        } else if (option == "--seconds") {
            good = read_number(value, a.seconds) && a.seconds != 0;
        } else {
            good = false;
        }
        if (!good) {
            std::cerr << "mutated_input: " << option << " " << value
                      << ": unknown; see the first lines of tests/mutated_input/main.cpp\n";
            return 2;
        }
        ++i;
    }
    catch_crashes();
    bool all_kept = true;
    for (const target& t : targets())
        if (is_chosen(a, t)) all_kept = run(t, a) && all_kept;
    return all_kept ? 0 : 1;
}
