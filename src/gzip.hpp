// gzip: text that is packed while it is written, and unpacked while it is read.
#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <stdexcept>
#include <streambuf>
#include <vector>

#include <zlib.h>

namespace dynpar::detail {

/// Packs what is written to it, and writes that to a stream.
class gzip_output : public std::streambuf {
public:
    explicit gzip_output(std::ostream& out);
    ~gzip_output() override { deflateEnd(&packer_); }
    gzip_output(const gzip_output&) = delete;
    gzip_output& operator=(const gzip_output&) = delete;

    /// Writes what is left, and the end. What failed shows in the stream.
    void finish();

protected:
    int_type overflow(int_type c) override;

private:
    bool pack(int flush);

    std::ostream& out_;
    z_stream packer_{};
    std::vector<char> plain_;
    std::vector<char> packed_;
};

/// What is wrong with a packed text, in words that follow a file's name.
class gzip_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// How much may come out of a packed text. A few bytes can unpack to a thousand times as many, for which a reader then
/// has no memory.
struct gzip_limits {
    std::uint64_t bytes = std::uint64_t{16} << 30;        ///< never more
    std::uint64_t free_bytes = std::uint64_t{128} << 20;  ///< so many, however small the packed text is
    std::uint64_t ratio = 200;                            ///< beyond these, so many for each packed byte
};

/// The text of a packed stream. Throws `gzip_error` for what is damaged, cut off or over the limits.
class gzip_input : public std::streambuf {
public:
    explicit gzip_input(std::istream& in, gzip_limits limits = {});
    ~gzip_input() override { inflateEnd(&unpacker_); }
    gzip_input(const gzip_input&) = delete;
    gzip_input& operator=(const gzip_input&) = delete;

protected:
    int_type underflow() override;

private:
    bool read_more();
    void unpack();

    std::istream& in_;
    gzip_limits limits_;
    z_stream unpacker_{};
    std::vector<char> plain_;
    std::vector<char> packed_;
    std::uint64_t bytes_in_ = 0;
    std::uint64_t bytes_out_ = 0;
    bool ended_ = false;
};

/// Whether what comes next in the stream is packed.
inline bool is_gzip(std::istream& in) { return in.peek() == 0x1f; }  // no text begins so

}  // namespace dynpar::detail
