#include "checker.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <ostream>
#include <streambuf>

#include <relacy/relacy.hpp>

// While a run goes on, operator new is Relacy's, which counts what a run allocates. So nothing here allocates.

namespace model_checked {
namespace {

constexpr unsigned most_threads = 3;
constexpr unsigned most_words = 32;
constexpr std::size_t most_region_bytes = 128 * 1024;

/// What Relacy prints, as far as there is room.
class fixed_text : public std::streambuf {
public:
    void clear() { setp(text_, text_ + sizeof(text_)); }
    std::size_t size() const { return static_cast<std::size_t>(pptr() - pbase()); }
    const char* begin() const { return text_; }

protected:
    int_type overflow(int_type c) override { return c == traits_type::eof() ? 0 : c; }  // no more room

private:
    char text_[64 * 1024];
};

// Relacy's atomics, in memory that is never freed: a run that fails is left where it is.
union relacy_word {
    relacy_word() {}
    ~relacy_word() {}
    rl::atomic<unsigned> four;
    rl::atomic<u64> eight;
};

struct atomic_word {
    const unsigned char* place;
    std::size_t bytes;
    const char* name;
    relacy_word in_relacy;
    // What each thread has found last, as long as it has changed nothing since: then it waits.
    bool has_found[most_threads];
    u64 found[most_threads];
};

struct written_word {
    atomic_word* word;
    u64 value;
};

const program* the_program;
char the_failure[256];
unsigned char* region;
std::size_t region_bytes;
atomic_word words[most_words];
unsigned word_count;
// For each four bytes of the region: who has accessed them as plain memory; null: no thread in this run.
rl::var_data* plain[most_region_bytes / 4];
std::size_t touched[most_region_bytes / 4];
std::size_t touched_count;
// Named words that a thread has written as plain memory: they are stored at its next access.
written_word pending[most_threads][most_words];
unsigned pending_count[most_threads];
bool runs;

unsigned this_thread() { return static_cast<unsigned>(rl::ctx().threadx_->index_); }
void go_on() {
    if (the_program->goes_on) the_program->goes_on(this_thread());
}

[[noreturn]] void fail(const char* why, const char* where, rl::test_result_e what) {
    std::snprintf(the_failure, sizeof(the_failure), "%s%s", why, where);
    rl::ctx().fail_test(the_failure, what, $);
    std::abort();  // not reached
}

bool in_region(const void* place) {
    const auto* const byte = static_cast<const unsigned char*>(place);
    return runs && byte >= region && byte < region + region_bytes;
}
atomic_word* word_at(const void* place) {
    for (unsigned i = 0; i < word_count; ++i)
        if (words[i].place == place) return &words[i];
    return nullptr;
}

const char* describe(std::size_t number) {
    static char text[64];
    const unsigned char* const byte = region + number * 4;
    for (unsigned i = 0; i < word_count; ++i) {
        if (byte >= words[i].place && byte < words[i].place + words[i].bytes) return words[i].name;
    }
    std::snprintf(text, sizeof(text), "byte %zu of the region", number * 4);
    return text;
}

/// False if it is not ordered with what other threads have done there.
bool is_ordered(std::size_t number, bool writes) {
    rl::context& relacy = rl::ctx();
    rl::var_data*& data = plain[number];
    if (data == nullptr) {
        data = relacy.var_ctor();
        touched[touched_count++] = number;
    }
    return writes ? data->store(*relacy.threadx_) : data->load(*relacy.threadx_);
}
void note_plain(std::size_t number, bool writes) {
    if (!is_ordered(number, writes)) fail("data race at ", describe(number), rl::test_result_data_race);
}
template <unsigned Threads>
bool is_after_stores(const rl::var_data* data) {
    const auto& of_word = *static_cast<const rl::var_data_impl<Threads>*>(data);
    const auto& thread = *static_cast<const rl::thread_info<Threads>*>(rl::ctx().threadx_);
    for (unsigned i = 0; i < Threads; ++i)
        if (thread.acq_rel_order_[i] < of_word.store_acq_rel_timestamp_[i]) return false;
    return true;
}
/// A load by an atomic, of a word that holds data: it must find the last value. Another thread may store the next one
/// without an order, as atomics may.
void note_atomic_load(const void* place, std::size_t bytes) {
    if (!in_region(place)) return;
    const std::size_t begin = static_cast<std::size_t>(static_cast<const unsigned char*>(place) - region);
    for (std::size_t number = begin / 4; number <= (begin + bytes - 1) / 4; ++number) {
        const rl::var_data* const data = plain[number];
        if (data == nullptr) continue;
        if (!(the_program->threads == 2 ? is_after_stores<2>(data) : is_after_stores<3>(data)))
            fail("data race at ", describe(number), rl::test_result_data_race);
    }
}

void note_pending(atomic_word* word) {
    const unsigned thread = this_thread();
    for (unsigned i = 0; i < pending_count[thread]; ++i)
        if (pending[thread][i].word == word) return;
    pending[thread][pending_count[thread]++] = {word, 0};
}
void note_plain(const void* place, std::size_t bytes, bool writes) {
    if (!in_region(place) || bytes == 0) return;
    const std::size_t begin = static_cast<std::size_t>(static_cast<const unsigned char*>(place) - region);
    for (std::size_t number = begin / 4; number <= (begin + bytes - 1) / 4; ++number) {
        note_plain(number, writes);
        if (!writes) continue;
        if (atomic_word* const word = word_at(region + number * 4)) note_pending(word);
    }
}

u64 read_memory(const void* place, std::size_t bytes) {
    u64 value = 0;
    std::memcpy(&value, place, bytes);
    return value;
}

rl::memory_order to_relacy(order how) {
    switch (how) {
        case order::acquire: return rl::mo_acquire;
        case order::release: return rl::mo_release;
        case order::acq_rel: return rl::mo_acq_rel;
        default: return rl::mo_relaxed;
    }
}

/// Calls `action` with the word's atomic, and a value of its type. An access of an atomic is a race with a plain write
/// that is not ordered with it. The access itself may order it after the write, and another thread's write after it.
template <class Action>
u64 with_atomic(atomic_word& word, Action action) {
    const std::size_t number = static_cast<std::size_t>(word.place - region) / 4;
    const bool ordered = is_ordered(number, false);
    const u64 result = word.bytes == 4 ? action(word.in_relacy.four, unsigned{}) : action(word.in_relacy.eight, u64{});
    go_on();
    if (!ordered) note_plain(number, false);
    return result;
}

void has_changed(atomic_word& word, u64 value) {
    std::memcpy(const_cast<unsigned char*>(word.place), &value, word.bytes);
    for (unsigned i = 0; i < word_count; ++i) words[i].has_found[this_thread()] = false;
}

void store_word(atomic_word& word, u64 value, order how) {
    with_atomic(word, [&](auto& atomic, auto zero) {
        atomic.store(static_cast<decltype(zero)>(value), to_relacy(how), $);
        return u64{};
    });
    has_changed(word, value);
}

void store_pending() {
    const unsigned thread = this_thread();
    const unsigned count = pending_count[thread];
    pending_count[thread] = 0;
    written_word* const mine = pending[thread];
    for (unsigned i = 0; i < count; ++i) mine[i].value = read_memory(mine[i].word->place, mine[i].word->bytes);
    for (unsigned i = 0; i < count; ++i) store_word(*mine[i].word, mine[i].value, order::relaxed);
}

/// The word at a place that atomics of the engine access; null if it is plain memory, or this thread's.
atomic_word* begin_access(const void* place) {
    if (!in_region(place)) return nullptr;
    store_pending();
    return word_at(place);
}

template <class Change>
u64 change_word(void* place, std::size_t bytes, Change change, u64 (*after)(u64, u64), u64 value) {
    atomic_word* const word = begin_access(place);
    if (word == nullptr) {
        note_plain(place, bytes, true);
        const u64 before = read_memory(place, bytes);
        const u64 fresh = after(before, value);
        std::memcpy(place, &fresh, bytes);
        return before;
    }
    const u64 before = with_atomic(*word, change);
    has_changed(*word, after(before, value));
    return before;
}

/// A thread that finds what it has found before waits for others.
void has_found(atomic_word& word, u64 value) {
    const unsigned thread = this_thread();
    const bool again = word.has_found[thread] && word.found[thread] == value;
    word.has_found[thread] = true;
    word.found[thread] = value;
    if (again) wait_a_little();
}

template <unsigned Threads>
struct suite : rl::test_suite<suite<Threads>, Threads> {
    suite() {
        word_count = 0;
        for (std::size_t i = 0; i < touched_count; ++i) plain[touched[i]] = nullptr;
        touched_count = 0;
        for (unsigned& count : pending_count) count = 0;
        runs = false;
    }
    ~suite() {
        for (unsigned i = 0; i < word_count; ++i) {
            if (words[i].bytes == 4) {
                words[i].in_relacy.four.~atomic();
            } else {
                words[i].in_relacy.eight.~atomic();
            }
        }
        for (std::size_t i = 0; i < touched_count; ++i) rl::ctx().var_dtor(plain[touched[i]]);
    }
    void before() {
        go_on();
        the_program->before();
        for (unsigned i = 0; i < word_count; ++i) {
            atomic_word& word = words[i];
            const u64 value = read_memory(word.place, word.bytes);
            if (word.bytes == 4) {
                new (&word.in_relacy.four) rl::atomic<unsigned>(static_cast<unsigned>(value));
            } else {
                new (&word.in_relacy.eight) rl::atomic<u64>(value);
            }
            for (bool& each : word.has_found) each = false;
        }
        runs = true;
    }
    void thread(unsigned number) {
        go_on();
        the_program->body(number);
        store_pending();
    }
    void after() {
        runs = false;
        go_on();
        if (the_program->after) the_program->after();
    }
};

outcome run(const program& what, rl::test_params& parameters) {
    static fixed_text text;
    text.clear();
    std::ostream told(&text), nothing(nullptr);
    parameters.output_stream = &told;
    parameters.progress_stream = &nothing;
    parameters.execution_depth_limit = 2000;
    the_program = &what;
    the_failure[0] = 0;
    const bool holds = what.threads == 2 ? rl::simulate<suite<2>>(parameters) : rl::simulate<suite<3>>(parameters);
    runs = false;
    outcome result;
    result.runs = parameters.stop_iteration;
    if (!holds) {
        result.failure = the_failure[0] == 0 ? rl::test_result_str(parameters.test_result) : the_failure;
        result.failure += "\n";
        for (unsigned i = 0; i < word_count; ++i) {
            char line[128];
            std::snprintf(line, sizeof(line), "<%p> is %s\n", static_cast<void*>(&words[i].in_relacy), words[i].name);
            result.failure += line;
        }
        result.failure.append(text.begin(), text.size());
    }
    return result;
}

}  // namespace

u64 load_bits(const void* place, std::size_t bytes, order how) {
    atomic_word* const word = begin_access(place);
    if (word == nullptr) {
        note_atomic_load(place, bytes);
        return read_memory(place, bytes);
    }
    const u64 value =
        with_atomic(*word, [&](auto& atomic, auto) { return static_cast<u64>(atomic.load(to_relacy(how), $)); });
    has_found(*word, value);
    return value;
}

void store_bits(void* place, std::size_t bytes, u64 value, order how) {
    atomic_word* const word = begin_access(place);
    if (word == nullptr) {
        note_plain(place, bytes, true);
        std::memcpy(place, &value, bytes);
        return;
    }
    store_word(*word, value, how);
}

u64 fetch_add_bits(void* place, std::size_t bytes, u64 change, order how) {
    return change_word(
        place, bytes,
        [&](auto& atomic, auto zero) {
            return static_cast<u64>(atomic.fetch_add(static_cast<decltype(zero)>(change), to_relacy(how), $));
        },
        [](u64 before, u64 value) { return before + value; }, change);
}

u64 exchange_bits(void* place, std::size_t bytes, u64 value, order how) {
    return change_word(
        place, bytes,
        [&](auto& atomic, auto zero) {
            return static_cast<u64>(atomic.exchange(static_cast<decltype(zero)>(value), to_relacy(how), $));
        },
        [](u64, u64 fresh) { return fresh; }, value);
}

u64 compare_exchange_bits(void* place, std::size_t bytes, u64 expected, u64 value, order how) {
    atomic_word* const word = begin_access(place);
    if (word == nullptr) {
        note_plain(place, bytes, true);
        const u64 found = read_memory(place, bytes);
        if (found == expected) std::memcpy(place, &value, bytes);
        return found;
    }
    bool done = false;
    const u64 found = with_atomic(*word, [&](auto& atomic, auto zero) {
        using T = decltype(zero);
        T compared = static_cast<T>(expected);
        done = atomic.compare_exchange(rl::bool_t<false>(), compared, static_cast<T>(value), to_relacy(how),
                                       rl::mo_relaxed, $);
        return static_cast<u64>(compared);
    });
    if (done) has_changed(*word, value);
    if (!done) has_found(*word, found);
    return found;
}

void fence() {
    if (!runs) return;
    store_pending();
    rl::atomic_thread_fence(rl::mo_acq_rel, $);
}

void fence_in_block() {
    if (the_program->one_block) fence();
}

void reads(const void* place, std::size_t bytes) { note_plain(place, bytes, false); }

void set_region(void* begin, std::size_t bytes) {
    region = static_cast<unsigned char*>(begin);
    region_bytes = bytes;
    if (bytes > most_region_bytes) std::abort();
}

void name_word(const void* place, std::size_t bytes, const char* name) {
    if (word_count == most_words) std::abort();
    words[word_count].place = static_cast<const unsigned char*>(place);
    words[word_count].bytes = bytes;
    words[word_count].name = name;
    ++word_count;
}

void require(bool holds, const char* promise) {
    if (!holds) fail(promise, "", rl::test_result_user_assert_failed);
}

void wait_a_little() {
    rl::yield(1, $);
    go_on();
}

outcome draw_runs(const program& what, u64 number) {
    rl::test_params parameters;
    parameters.search_type = rl::random_scheduler_type;
    parameters.iteration_count = number;
    return run(what, parameters);
}

outcome all_runs(const program& what, unsigned switches) {
    rl::test_params parameters;
    parameters.search_type = rl::fair_context_bound_scheduler_type;
    parameters.context_bound = switches;
    return run(what, parameters);
}

}  // namespace model_checked

// What a compiler that looks for data races calls before each access of memory.
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void**) {}
void __tsan_vptr_update(void**, void*) {}
#define MODEL_CHECKED_ACCESS(bytes)                                                                    \
    void __tsan_read##bytes(void* place) { model_checked::note_plain(place, bytes, false); }           \
    void __tsan_write##bytes(void* place) { model_checked::note_plain(place, bytes, true); }           \
    void __tsan_unaligned_read##bytes(void* place) { model_checked::note_plain(place, bytes, false); } \
    void __tsan_unaligned_write##bytes(void* place) { model_checked::note_plain(place, bytes, true); }
MODEL_CHECKED_ACCESS(1)
MODEL_CHECKED_ACCESS(2)
MODEL_CHECKED_ACCESS(4)
MODEL_CHECKED_ACCESS(8)
MODEL_CHECKED_ACCESS(16)
void __tsan_read_range(void* place, std::size_t bytes) { model_checked::note_plain(place, bytes, false); }
void __tsan_write_range(void* place, std::size_t bytes) { model_checked::note_plain(place, bytes, true); }
}
