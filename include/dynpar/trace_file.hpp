// Traces in files: saved to be read back, or written in a format that the file's name tells.
#pragma once

#include <iosfwd>
#include <stdexcept>
#include <string>

#include "trace.hpp"

namespace dynpar {

/// Thrown for a trace file that cannot be read or written, with one line: which file, what is wrong, what to do.
class trace_file_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The forms in which a trace can be written.
enum class trace_format : unsigned char {
    tree,         ///< .txt             the nesting tree as text
    saved,        ///< .dynpar.json     dynpar's own: the only one that can be read back
    saved_gzip,   ///< .dynpar.json.gz  the same, packed
    chrome,       ///< .json            Chrome's trace events
    chrome_gzip,  ///< .json.gz         the same, packed
    perfetto,     ///< .pftrace         Perfetto's own, packed
    dot,          ///< .dot             a graph for Graphviz
    page,         ///< .html            a page with tree, timeline and table
};

/// The format that a file's name ends with. Throws `trace_file_error` for a name that ends with none of them, and for a
/// page in a build without d3: before anything is done. Needs the target `dynpar::trace`.
trace_format format_of(const std::string& file);

/// Writes the trace. Needs the target `dynpar::trace`.
void write_trace(std::ostream& out, const trace& t, trace_format format);

/// Throws `trace_file_error` where no trace can be written to that file, as far as that shows before: a name that tells
/// no format, a folder that does not exist or in which no file can be made. For what takes long before it writes. Needs
/// the target `dynpar::trace`.
void require_writable(const std::string& file);

/// Writes the trace to a file, in the format that its name tells. A file of that name is replaced when the new one is
/// whole, and stays as it was where that fails. Throws `trace_file_error`. Needs the target `dynpar::trace`.
void write_trace(const std::string& file, const trace& t);

/// Reads a saved trace, packed or not. `name` is for messages. Throws `trace_file_error` for what is no saved trace, or
/// one that contradicts itself; also for a packed one that is damaged, or that unpacks to more than a trace can be.
/// Needs the target `dynpar::trace`.
trace read_trace(std::istream& in, const std::string& name);

/// Reads a saved trace from a file. Throws `trace_file_error`. Needs the target `dynpar::trace`.
trace read_trace(const std::string& file);

}  // namespace dynpar
