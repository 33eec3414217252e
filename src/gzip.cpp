#include "gzip.hpp"

#include <new>
#include <string>

namespace dynpar::detail {
namespace {

constexpr std::size_t piece = 64 * 1024;
constexpr int gzip_format = 15 + 16;  // the largest window, and gzip's header instead of zlib's

Bytef* bytes(char* text) { return reinterpret_cast<Bytef*>(text); }

}  // namespace

gzip_output::gzip_output(std::ostream& out) : out_(out), plain_(piece), packed_(piece) {
    if (deflateInit2(&packer_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_format, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();
    setp(plain_.data(), plain_.data() + plain_.size());
}

bool gzip_output::pack(int flush) {
    packer_.next_in = bytes(pbase());
    packer_.avail_in = static_cast<uInt>(pptr() - pbase());
    do {
        packer_.next_out = bytes(packed_.data());
        packer_.avail_out = static_cast<uInt>(packed_.size());
        deflate(&packer_, flush);
        out_.write(packed_.data(), static_cast<std::streamsize>(packed_.size() - packer_.avail_out));
    } while (packer_.avail_out == 0 && out_);
    setp(plain_.data(), plain_.data() + plain_.size());
    return bool{out_};
}

gzip_output::int_type gzip_output::overflow(int_type c) {
    if (!pack(Z_NO_FLUSH)) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
    return traits_type::not_eof(c);
}

void gzip_output::finish() { pack(Z_FINISH); }

gzip_input::gzip_input(std::istream& in, gzip_limits limits) : in_(in), limits_(limits), plain_(piece), packed_(piece) {
    if (inflateInit2(&unpacker_, gzip_format) != Z_OK) throw std::bad_alloc();
}

bool gzip_input::read_more() {
    in_.read(packed_.data(), static_cast<std::streamsize>(packed_.size()));
    unpacker_.next_in = bytes(packed_.data());
    unpacker_.avail_in = static_cast<uInt>(in_.gcount());
    bytes_in_ += unpacker_.avail_in;
    return unpacker_.avail_in != 0;
}

// Fills `plain_`, unless the text is at its end.
void gzip_input::unpack() {
    unpacker_.next_out = bytes(plain_.data());
    unpacker_.avail_out = static_cast<uInt>(plain_.size());
    while (unpacker_.avail_out != 0) {
        if (unpacker_.avail_in == 0 && !read_more()) {
            if (!ended_) throw gzip_error("is cut off: the packed text has no end");
            break;
        }
        if (ended_) {  // another packed text may follow, which continues this one
            inflateReset(&unpacker_);
            ended_ = false;
        }
        const int result = inflate(&unpacker_, Z_NO_FLUSH);
        if (result == Z_MEM_ERROR) throw std::bad_alloc();
        if (result == Z_STREAM_END) {
            ended_ = true;
        } else if (result != Z_OK && result != Z_BUF_ERROR) {
            throw gzip_error(std::string("is damaged: ") +
                             (unpacker_.msg != nullptr ? unpacker_.msg : "it cannot be unpacked"));
        }
    }
}

gzip_input::int_type gzip_input::underflow() {
    unpack();
    const std::size_t count = plain_.size() - unpacker_.avail_out;
    bytes_out_ += count;
    if (bytes_out_ > limits_.bytes || (bytes_out_ > limits_.free_bytes && bytes_out_ / limits_.ratio > bytes_in_))
        throw gzip_error("unpacks to more than " + std::to_string(bytes_out_ - count) + " bytes: no trace does");
    if (count == 0) return traits_type::eof();
    setg(plain_.data(), plain_.data(), plain_.data() + count);
    return traits_type::to_int_type(*gptr());
}

}  // namespace dynpar::detail
