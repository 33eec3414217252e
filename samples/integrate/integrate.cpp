// Integrates a function over an interval or a cube, adaptively, in two forms: how the parts of the sum are added.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include <dynpar/dynpar.hpp>

#include "../command_line.hpp"
#include "../with_engine.hpp"
#include "kernels.hpp"

namespace {

// What a CPU looks at in a few seconds.
constexpr unsigned long long most_on_cpu = 5000000;

struct options {
    std::string function = "peak";
    std::string dimensions = "3";
    std::int64_t sharpness = 5;
    std::int64_t digits = 7;
    std::string form = "all";
};

struct wanted {
    integrate::problem problem;
    double known;
    integrate::findings on_cpu;
};

// Throws `samples::input_error`.
template <unsigned D>
wanted problem_of(const options& o) {
    using namespace integrate;
    if (o.sharpness > sharpest<D>)
        throw samples::input_error("--sharpness: in " + o.dimensions + " dimension" + (D == 1 ? "" : "s") +
                                   " a peak of " + std::to_string(o.sharpness) + " could be missed; give at most " +
                                   std::to_string(sharpest<D>));
    const function kind = o.function == "peak"   ? function::peak
                          : o.function == "bell" ? function::bell
                                                 : function::wave;
    wanted w{};
    w.problem = make_problem<D>(kind, static_cast<double>(o.sharpness), std::pow(10.0, -static_cast<double>(o.digits)));
    w.known = known_integral(w.problem, D);
    w.on_cpu = integrate_on_cpu<D>(w.problem, most_on_cpu);
    if (w.on_cpu.cells > most_on_cpu)
        throw samples::input_error("that takes more than " + std::to_string(most_on_cpu) +
                                   " cells; give fewer --digits, or less --sharpness");
    return w;
}

template <unsigned D, class Engine>
void run(Engine& engine, const wanted& w, bool joins, const options& o, const samples::command_line& command) {
    using namespace integrate;
    dynpar::buffer<double> sums = engine.template make_buffer<double>(counters);
    sums.fill(0);
    dynpar::buffer<unsigned long long> accepted = engine.template make_buffer<unsigned long long>(counters);
    accepted.fill(0);
    problem p = w.problem;
    p.sums = sums.data();
    p.accepted = accepted.data();
    dynpar::buffer<problem> there = engine.template make_buffer<problem>({p});
    const problem* of = there.data();

    const dynpar::report report = engine.run(begin<D>{of, joins}, dynpar::shape(1, 1), sums.data());

    double sum = 0;
    for (const double part : sums.to_vector()) sum += part;
    unsigned long long leaves = 0;
    for (const unsigned long long part : accepted.to_vector()) leaves += part;
    const unsigned long long cells = cells_of(report.grids, joins);
    const double error = std::fabs(sum - w.known) / w.known;
    std::string wrong;
    if (!(error <= std::pow(10.0, -static_cast<double>(o.digits))))
        wrong = "the integral is " + std::to_string(w.known);
    if (grids_of(cells, joins) != report.grids || (!joins && 2 * leaves - 1 != cells))
        wrong = "the grids are not those of a tree whose inner nodes have two children";
    // A GPU rounds a little differently, and few cells lie so near to the tolerance that it matters.
    if (std::fabs(static_cast<double>(cells) - static_cast<double>(w.on_cpu.cells)) >
        2 + 0.01 * static_cast<double>(w.on_cpu.cells))
        wrong = "the CPU takes " + std::to_string(w.on_cpu.cells) + " cells";
    char line[200];
    std::snprintf(
        line, sizeof line, "%-4s %s in %u dimension%s: %.14g, error %.1e, %llu cells in %llu grids: %s  %.3f ms",
        joins ? "then" : "add", o.function.c_str(), D, D == 1 ? "" : "s", sum, error, cells,
        static_cast<unsigned long long>(report.grids), wrong.empty() ? "right" : "WRONG", engine.milliseconds());
    command.say(line);
    command.show_tree(report);
    if (!wrong.empty()) throw samples::wrong_result(std::string(joins ? "then: " : "add: ") + wrong);
}

template <unsigned D>
int integrate_in(const options& o, const samples::command_line& command) {
    std::optional<wanted> w;
    try {
        w = problem_of<D>(o);
    } catch (...) {
        return command.explain_exception();
    }
    return samples::with_engine(command, [&](auto& engine) {
        if (o.form != "add") run<D>(engine, *w, true, o, command);
        if (o.form != "then") run<D>(engine, *w, false, o, command);
        return samples::success;
    });
}

}  // namespace

int main(int argc, char** argv) {
    samples::command_line command("integrate",
                                  "Integrates a function over [0, 1] or over a cube: a cell whose estimate is not good "
                                  "enough is halved, each half "
                                  "in a child. The result is compared with the integral as it is known.");
    options o;
    command.add_choice("--function", o.function, {"peak", "bell", "wave"}, "what to integrate");
    command.add_choice("--dimensions", o.dimensions, {"1", "3"}, "of the domain");
    command.add_integer("--sharpness", o.sharpness, 1, integrate::sharpest<1>,
                        "a peak is as narrow as this divided into 1, a wave as long as 6.3 times that");
    command.add_integer("--digits", o.digits, 1, 12, "of the result that must be right");
    command.add_choice("--form", o.form, {"all", "then", "add"},
                       "the parts of the sum are added by continuations, or atomically");
    if (const auto status = command.parse(argc, argv)) return *status;
    return o.dimensions == "1" ? integrate_in<1>(o, command) : integrate_in<3>(o, command);
}
