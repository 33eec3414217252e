#include "mutator.hpp"

#include <algorithm>
#include <cctype>

namespace mutated_input {
namespace {

// Where ranges of integers, floating-point numbers and the settings begin and end, and just beyond.
const std::vector<std::string> numbers = {"0",
                                          "1",
                                          "-1",
                                          "7",
                                          "255",
                                          "256",
                                          "65536",
                                          "2147483647",
                                          "2147483648",
                                          "4294967294",
                                          "4294967295",
                                          "4294967296",
                                          "9223372036854775807",
                                          "9223372036854775808",
                                          "18446744073709551614",
                                          "18446744073709551615",
                                          "18446744073709551616",
                                          "99999999999999999999999999",
                                          "0.5",
                                          "-0.0",
                                          "1e3",
                                          "1e308",
                                          "1e999",
                                          "0x10",
                                          "1_000",
                                          "nan"};

// Bytes that mean something somewhere: ends of texts, quotes, control characters, parts of UTF-8 and what is none.
constexpr unsigned char bytes[] = {0x00, 0x07, '\n', '\r', '\t', 0x1b, ' ',  '"',  '#', '\'',
                                   '-',  '.',  ',',  ':',  '=',  '[',  ']',  '\\', '{', '}',
                                   0x7f, 0x80, 0x9b, 0xbf, 0xc2, 0xe2, 0xed, 0xf4, 0xff};

struct piece {
    std::size_t begin;
    std::size_t length;
};

piece piece_of(const std::string& text, random_numbers& random) {
    const std::size_t begin = random.below(text.size() + 1);
    const std::size_t rest = text.size() - begin;
    // Short ones are as likely as long ones.
    const std::size_t most = random.below(2) == 0 ? std::min<std::size_t>(rest, 8) : rest;
    return {begin, random.below(most + 1)};
}

void change_number(std::string& text, random_numbers& random) {
    const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
    const std::size_t from = random.below(text.size() + 1);
    auto begin = std::find_if(text.begin() + static_cast<std::ptrdiff_t>(from), text.end(), is_digit);
    if (begin == text.end()) begin = std::find_if(text.begin(), text.end(), is_digit);
    if (begin == text.end()) return;
    const auto end = std::find_if_not(begin, text.end(), is_digit);
    // Small ones most often: they may refer to something.
    text.replace(begin, end,
                 random.below(2) == 0 ? std::to_string(random.below(12)) : numbers[random.below(numbers.size())]);
}

/// A line with its end: the lines of all corpora are rows, settings or arguments.
piece line_of(const std::string& text, random_numbers& random) {
    const std::size_t at = random.below(text.size() + 1);
    const std::size_t before = at == 0 ? text.npos : text.rfind('\n', at - 1);
    const std::size_t begin = before == text.npos ? 0 : before + 1;
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    return {begin, std::min(end + 1, text.size()) - begin};
}

/// A change after which the text most likely still is of its kind: then what is wrong is found late.
void change_gently(std::string& text, const std::vector<std::string>& texts, random_numbers& random) {
    const piece line = line_of(text, random);
    switch (random.below(8)) {
        case 0: text.erase(line.begin, line.length); break;
        case 1: text.insert(line.begin, text.substr(line.begin, line.length)); break;
        case 2: {
            const piece place = line_of(text, random);
            text.insert(place.begin, text.substr(line.begin, line.length));
            break;
        }
        case 3: {
            const std::string& other = texts[random.below(texts.size())];
            const piece theirs = line_of(other, random);
            text.insert(line.begin, other.substr(theirs.begin, theirs.length));
            break;
        }
        default: change_number(text, random); break;
    }
}

void change(std::string& text, const std::vector<std::string>& texts, const std::vector<std::string>& words,
            std::size_t longest, random_numbers& random) {
    const piece p = piece_of(text, random);
    const std::size_t at = random.below(text.size() + 1);
    switch (random.below(10)) {
        case 0:
            if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random.below(8)));
            break;
        case 1:
            if (at < text.size()) text[at] = static_cast<char>(bytes[random.below(sizeof bytes)]);
            break;
        case 2: text.insert(at, 1, static_cast<char>(bytes[random.below(sizeof bytes)])); break;
        case 3: text.erase(p.begin, p.length); break;
        case 4: text.insert(at, text.substr(p.begin, p.length)); break;
        case 5: {  // many times
            const std::string repeated = text.substr(p.begin, p.length);
            const std::size_t room = longest - std::min(longest, text.size());
            const std::size_t times = repeated.empty() ? 0 : std::min(room / repeated.size(), random.below(10000));
            std::string run;
            for (std::size_t i = 0; i < times; ++i) run += repeated;
            text.insert(p.begin, run);
            break;
        }
        case 6: {
            const std::string& other = texts[random.below(texts.size())];
            const piece q = piece_of(other, random);
            text.replace(p.begin, random.below(2) == 0 ? p.length : 0, other, q.begin, q.length);
            break;
        }
        case 7: text.insert(at, words[random.below(words.size())]); break;
        case 8: text.replace(p.begin, std::min<std::size_t>(p.length, 20), words[random.below(words.size())]); break;
        default: change_number(text, random); break;
    }
}

}  // namespace

std::string mutated(const std::vector<std::string>& texts, const std::vector<std::string>& words, std::size_t longest,
                    random_numbers& random) {
    std::string text = texts[random.below(texts.size())];
    // Mostly few changes: what is wrong in many places is refused for the first of them.
    const bool gently = random.below(2) == 0;
    for (std::size_t changes = 1 + random.below(random.below(4) == 0 ? 16 : 3); changes > 0; --changes) {
        if (gently) {
            change_gently(text, texts, random);
        } else {
            change(text, texts, words, longest, random);
        }
    }
    if (text.size() > longest) text.resize(longest);
    return text;
}

}  // namespace mutated_input
