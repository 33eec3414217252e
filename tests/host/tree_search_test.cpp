// What the samples that search trees do beside launching: right on the CPU, whatever the engine.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../samples/integrate/kernels.hpp"
#include "../../samples/sudoku/kernels.hpp"
#include "../../samples/sudoku/puzzles.hpp"
#include "../../samples/uts/kernels.hpp"

namespace {

// All solutions, cell by cell, without a thought.
unsigned count_solutions(std::string& text, std::size_t from = 0) {
    while (from < text.size() && text[from] != '.') ++from;
    if (from == text.size()) return 1;
    unsigned solutions = 0;
    for (char digit = '1'; digit <= '9'; ++digit) {
        bool fits = true;
        for (std::size_t i = 0; i < text.size() && fits; ++i) {
            const bool meets =
                i / 9 == from / 9 || i % 9 == from % 9 || (i / 27 == from / 27 && i % 9 / 3 == from % 9 / 3);
            fits = !meets || text[i] != digit;
        }
        if (!fits) continue;
        text[from] = digit;
        solutions += count_solutions(text, from + 1);
        text[from] = '.';
    }
    return solutions;
}

std::string refusal(const std::string& text) {
    std::istringstream in(text);
    try {
        sudoku::read_puzzles(in, "puzzles.txt");
    } catch (const sudoku::puzzle_error& e) {
        return e.what();
    }
    return {};
}

}  // namespace

TEST_CASE("states of an unbalanced tree are SHA-1 digests") {
    // By another program: 20 bytes, of which the last four are the number 19; and those 20 with the number 7.
    const uts::digest root{{0xc6988ab7u, 0x0cc9559au, 0xe4d6cba2u, 0x54e29a84u, 0x5a85f86bu}};
    const uts::digest child{{0x3fff6186u, 0xfcc7b5efu, 0xca851db7u, 0x4d2bf643u, 0xa3910430u}};
    const uts::tree t = uts::geometric_tree(4, 10, 19);
    for (int i = 0; i < 5; ++i) {
        CHECK(uts::root_state(t).word[i] == root.word[i]);
        CHECK(uts::child_state(root, 7).word[i] == child.word[i]);
    }
}

TEST_CASE("trees of the benchmark UTS have as many nodes as published") {
    for (const uts::known_tree& known : uts::known_trees()) {
        if (known.nodes > 10000000) continue;  // those take a quarter of a minute
        CAPTURE(std::string(known.name));
        const uts::tree_size size = uts::count_on_cpu(known.of);
        CHECK(size.nodes == known.nodes);
        CHECK(size.depth == (known.of.kind == uts::shape_of_tree::geometric ? 10u : 1572u));
    }
}

TEST_CASE("a tree without inner nodes is its root, and the CPU stops counting where it is told to") {
    CHECK(uts::count_on_cpu(uts::binomial_tree(1, 8, 0, 1)).nodes == 2);
    CHECK(uts::count_on_cpu(uts::geometric_tree(4, 0, 1)).nodes == 1);
    CHECK(uts::count_on_cpu(uts::geometric_tree(50, 1000, 1), 1000).nodes == 1001);
}

TEST_CASE("puzzles that are made have so many digits, differ, and have the solutions that a plain search finds") {
    for (const unsigned clues : {81u, 40u, 30u}) {
        const std::vector<sudoku::board> puzzles = sudoku::make_puzzles(5, clues, 1);
        for (const sudoku::board& puzzle : puzzles) {
            std::string text = sudoku::to_string(puzzle);
            CHECK(text.size() == 81);
            CHECK(text.size() - std::count(text.begin(), text.end(), '.') == clues);
            const sudoku::findings found = sudoku::search_on_cpu(puzzle);
            CHECK(found.solutions >= 1);
            CHECK(found.solutions == count_solutions(text));
        }
        CHECK(sudoku::to_string(puzzles[0]) != sudoku::to_string(puzzles[1]));
        CHECK(sudoku::to_string(puzzles[0]) == sudoku::to_string(sudoku::make_puzzles(1, clues, 1)[0]));
    }
}

TEST_CASE("a search of a puzzle chooses the cell with the fewest digits") {
    sudoku::board b{};
    for (unsigned digit = 1; digit <= 6; ++digit) sudoku::put(b, 9 + digit, digit);  // most of the second row
    sudoku::put(b, 0, 7);
    sudoku::choice next = sudoku::next_choice(b);
    CHECK(next.cell == 9);  // in the box of that 7, and before the others
    CHECK(next.digits == (1u << 7 | 1u << 8));
    CHECK(sudoku::digit_of(next.digits, 0) == 8);
    CHECK(sudoku::digit_of(next.digits, 1) == 9);
    sudoku::put(b, 1, 8);
    sudoku::put(b, 2, 9);  // which leaves none
    next = sudoku::next_choice(b);
    CHECK(next.cell == 9);
    CHECK(next.digits == 0);
    CHECK(sudoku::next_choice(sudoku::make_puzzles(1, 81, 1)[0]).cell == sudoku::cells);
}

TEST_CASE("puzzles are read as they are written, and what is wrong in a file is named with its line") {
    const std::string puzzle = sudoku::to_string(sudoku::make_puzzles(1, 30, 3)[0]);
    std::istringstream good("# two\n" + puzzle + "\r\n\n" + puzzle);
    const std::vector<sudoku::board> read = sudoku::read_puzzles(good, "good");
    REQUIRE(read.size() == 2);
    CHECK(sudoku::to_string(read[0]) == puzzle);
    CHECK(sudoku::to_string(read[1]) == puzzle);
    CHECK(refusal("") == "puzzles.txt: has no puzzle; give one a line, of 81 cells");
    CHECK(refusal(puzzle + "\n" + puzzle.substr(1)) ==
          "puzzles.txt:2: has 80 cells; give 81, row by row, . for an empty one");
    CHECK(refusal(puzzle + ".") == "puzzles.txt:1: has 82 cells; give 81, row by row, . for an empty one");
    CHECK(refusal("#\n" + std::string(10, '.') + "x") ==
          "puzzles.txt:2: row 2, column 2 is neither a digit nor . for an empty cell");
    const auto twice = [](std::size_t a, std::size_t b) {
        std::string text(81, '.');
        text[a] = text[b] = '5';
        return refusal(text);
    };
    CHECK(twice(0, 8) == "puzzles.txt:1: the digit 5 is at row 1, column 1 and again at row 1, column 9");
    CHECK(twice(0, 72) == "puzzles.txt:1: the digit 5 is at row 1, column 1 and again at row 9, column 1");
    CHECK(twice(60, 80) == "puzzles.txt:1: the digit 5 is at row 7, column 7 and again at row 9, column 9");
    CHECK(twice(8, 9).empty());
    CHECK(refusal(std::string(2000, '.')) == "puzzles.txt:1: the line is too long; give 81 cells");
}

namespace {

// Over the same cell by Simpson's rule with many points, along each axis.
double plain_factor(const integrate::problem& p, double low, double high) {
    constexpr int steps = 2000;
    const double width = (high - low) / steps;
    double sum = 0;
    for (int i = 0; i <= steps; ++i)
        sum += (i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2) * integrate::factor_at(p, low + i * width);
    return sum * width / 3;
}

template <unsigned D>
void check_rule(integrate::function kind) {
    integrate::problem p = integrate::make_problem<D>(kind, 2, 1e-6);
    integrate::cell c{};
    for (unsigned axis = 0; axis < D; ++axis)  // a cell that is as small as the least, and not a cube
        for (unsigned i = 0; i < integrate::coarsest<D> + axis; ++i) c = integrate::half_of(c, axis, (i + axis) % 2);
    double expected = 1;
    for (unsigned axis = 0; axis < D; ++axis) {
        const double side = 1.0 / (1u << integrate::times_halved(c, axis));
        expected *= plain_factor(p, c.place[axis] * side, (c.place[axis] + 1) * side);
    }
    const integrate::estimate e = integrate::apply_rule<D>(p, c);
    CHECK(std::fabs(e.value - expected) < 1e-8 * expected);
    CHECK(e.is_accepted);
    p.tolerance = 1e-20;
    CHECK(!integrate::apply_rule<D>(p, c).is_accepted);
}

}  // namespace

TEST_CASE("the rule of the adaptive integration is right on a cell, and says where it is not good enough") {
    for (const auto kind : {integrate::function::peak, integrate::function::bell, integrate::function::wave}) {
        check_rule<1>(kind);
        check_rule<3>(kind);
        for (const unsigned sharpness : {1u, 7u}) {
            const integrate::problem p = integrate::make_problem<1>(kind, sharpness, 1);
            CHECK(integrate::known_factor(p) == doctest::Approx(plain_factor(p, 0, 1)).epsilon(1e-10));
        }
    }
}

TEST_CASE("adaptive integration reaches the tolerance, and no peak is too sharp for it that it accepts") {
    for (const auto kind : {integrate::function::peak, integrate::function::bell, integrate::function::wave}) {
        const integrate::problem line = integrate::make_problem<1>(kind, integrate::sharpest<1>, 1e-10);
        CHECK(std::fabs(integrate::integrate_on_cpu<1>(line).sum / integrate::known_integral(line, 1) - 1) < 1e-10);
        const integrate::problem cube = integrate::make_problem<3>(kind, integrate::sharpest<3>, 1e-3);
        CHECK(std::fabs(integrate::integrate_on_cpu<3>(cube).sum / integrate::known_integral(cube, 3) - 1) < 1e-3);
    }
}
