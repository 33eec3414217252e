// The nesting as a graph in the DOT language (graphviz.org/doc/info/lang.html).
#include <dynpar/graphviz.hpp>

#include <ostream>
#include <string>
#include <vector>

#include <dynpar/detail/nesting_classes.hpp>
#include <dynpar/detail/printable.hpp>

#include "about_lines.hpp"

namespace dynpar {
namespace {

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : detail::printable(text)) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + '"';
}

}  // namespace

void write_dot(std::ostream& out, const trace& t) {
    using detail::nesting_classes;
    const nesting_classes classes(t);
    out << "digraph nesting {\n";
    detail::write_about(out, t, "    // ");
    out << "    node [shape=box, fontname=\"monospace\"];\n    edge [fontname=\"monospace\"];\n"
           "    host [shape=ellipse, label="
        << quoted(t.engine.empty() ? "host" : t.engine + " engine on " + t.device) << "];\n";
    for (std::uint32_t i = 0; i < classes.size(); ++i) {
        const grid_record& grid = classes.grid(classes[i]);
        out << "    g" << i << " [label="
            << quoted(grid.kernel + " " + to_string(grid.shape) +
                      (grid.ran() ? "" : std::string(" LOST: ") + to_string(grid.status)));
        if (!grid.ran()) out << ", color=red, fontcolor=red";
        out << "];\n";
    }
    const auto edge = [&](const std::string& from, const nesting_classes::group& g, bool known) {
        out << "    " << from << " -> g" << g.of_class << " [";
        if (g.count > 1) out << "label=\"x " << g.count << "\", ";
        const bool continues = classes.grid(classes[g.of_class]).continues != grid_record::none;
        out << "style=" << (!known ? "dotted" : continues ? "dashed" : "solid") << "];\n";
    };
    for (const nesting_classes::group& g : classes.roots()) edge("host", g, true);
    for (std::uint32_t i = 0; i < classes.size(); ++i) {
        for (const nesting_classes::group& g : classes[i].below) edge("g" + std::to_string(i), g, true);
    }
    if (!classes.orphans().empty()) {
        out << "    unknown [shape=ellipse, label=\"launched by grids that are not in the trace\"];\n";
        for (const nesting_classes::group& g : classes.orphans()) edge("unknown", g, false);
    }
    if (t.missing != 0) {
        out << "    missing [shape=note, label=\"" << t.missing
            << " more grids were launched:\\nthere was no room for them in the trace\"];\n";
    }
    out << "}\n";
}

}  // namespace dynpar
