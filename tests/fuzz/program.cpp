// Programs as text: numbers in the order of the fields, a line for each grid and each step.
#include "program.hpp"

#include <istream>
#include <ostream>
#include <stdexcept>
#include <tuple>

namespace fuzz {
namespace {

auto fields(const engine_settings& s) {
    return std::tie(s.memory_bytes, s.worker_blocks, s.block_threads, s.moldable_threads, s.shared_bytes, s.sync_depth,
                    s.nesting_depth, s.pending_launches, s.traced, s.schedule, s.schedule_seed);
}

constexpr unsigned most_steps = 1u << 20;

void write(std::ostream& out, const grid_plan& g) {
    out << "grid " << static_cast<unsigned>(g.kernel);
    for (const std::uint32_t n : g.blocks) out << ' ' << n;
    for (const std::uint32_t n : g.threads) out << ' ' << n;
    out << ' ' << g.moldable << ' ' << g.writer << ' ' << g.steps.size() << '\n';
    for (const step_plan& s : g.steps) {
        out << "step " << static_cast<unsigned>(s.what) << ' ' << s.who << ' ' << s.where << ' ' << s.items << ' '
            << s.stream << ' ' << s.event << ' ' << s.low << ' ' << s.high << ' ' << s.words << ' '
            << static_cast<unsigned>(s.which) << ' ' << s.prepared << ' ' << s.children.size() << '\n';
        for (const grid_plan& child : s.children) write(out, child);
    }
}

class reader {
public:
    explicit reader(std::istream& in) : in_(in) {}

    void word(const char* expected) {
        std::string found;
        if (!(in_ >> found) || found != expected)
            throw std::runtime_error(std::string("no random program: \"") + expected + "\" is missing");
    }
    template <class T>
    void number(T& value) {
        if (!(in_ >> value)) throw std::runtime_error("no random program: a number is missing");
    }
    template <class T>
    T choice() {
        unsigned value = 0;
        number(value);
        if (value >= static_cast<unsigned>(T::count))
            throw std::runtime_error("no random program: a number is out of range");
        return static_cast<T>(value);
    }
    std::size_t size() {
        std::size_t value = 0;
        number(value);
        if (value > most_steps) throw std::runtime_error("no random program: too many steps");
        return value;
    }
    grid_plan grid() {
        grid_plan g;
        word("grid");
        g.kernel = choice<kernel>();
        for (std::uint32_t& n : g.blocks) number(n);
        for (std::uint32_t& n : g.threads) number(n);
        number(g.moldable);
        number(g.writer);
        g.steps.resize(size());
        for (step_plan& s : g.steps) {
            word("step");
            s.what = choice<action>();
            for (std::uint32_t* n : {&s.who, &s.where, &s.items, &s.stream, &s.event, &s.low, &s.high, &s.words})
                number(*n);
            s.which = choice<refusal>();
            number(s.prepared);
            s.children.resize(size());
            for (grid_plan& child : s.children) child = grid();
        }
        return g;
    }

private:
    std::istream& in_;
};

}  // namespace

bool operator==(const engine_settings& a, const engine_settings& b) { return fields(a) == fields(b); }

void write(std::ostream& out, const program& p) {
    out << "program 1 " << p.salt << ' ' << (p.stamped | p.reduced << 1) << "\nengine";
    std::apply([&](const auto&... field) { ((out << ' ' << field), ...); }, fields(p.settings));
    out << '\n';
    write(out, p.root);
}

program read(std::istream& in) {
    reader from(in);
    program p;
    unsigned version = 0;
    from.word("program");
    from.number(version);
    if (version != 1) throw std::runtime_error("no random program of this version");
    from.number(p.salt);
    std::uint32_t marks = 0;
    from.number(marks);
    p.stamped = marks & 1;
    p.reduced = marks >> 1 & 1;
    from.word("engine");
    engine_settings& s = p.settings;
    from.number(s.memory_bytes);
    for (std::uint32_t* n : {&s.worker_blocks, &s.block_threads, &s.moldable_threads, &s.shared_bytes, &s.sync_depth,
                             &s.nesting_depth, &s.pending_launches, &s.traced, &s.schedule, &s.schedule_seed})
        from.number(*n);
    p.root = from.grid();
    return p;
}

}  // namespace fuzz
