// Fibers of the host engine: stacks with a checked guard page, and carriers, which run simulated threads until one
// blocks.
#pragma once

// Not <boost/context/fiber.hpp>: it brings half of the standard library, and each of nvcc's passes reads it.
#include <boost/context/detail/fcontext.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

#if defined(__SANITIZE_ADDRESS__)
#define DYNPAR_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DYNPAR_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(DYNPAR_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace dynpar {
namespace detail {

/// A stack with its guard page.
struct fiber_stack {
    char* top = nullptr;
    std::size_t bytes = 0;
};

/// Makes stacks. Boost's own protected stacks check their guard page with an assert alone: once the process has all the
/// mappings that the kernel allows, an overflow in a release build would run into a neighbour unnoticed.
class guarded_stacks {
public:
    explicit guarded_stacks(std::size_t bytes) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
        usable_ = (bytes + page_ - 1) / page_ * page_;
    }

    fiber_stack allocate() const {
        const std::size_t total = usable_ + page_;
        void* memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) no_stack();
        if (mprotect(memory, page_, PROT_NONE) != 0) {  // stacks grow down: the guard is the lowest page
            const int why = errno;
            munmap(memory, total);
            errno = why;
            no_stack();
        }
        const fiber_stack stack{static_cast<char*>(memory) + total, total};
        forget_frames(stack);
        return stack;
    }

    static void deallocate(const fiber_stack& stack) {
        forget_frames(stack);
        munmap(stack.top - stack.bytes, stack.bytes);
    }

private:
    /// The last frames of a fiber never return, and AddressSanitizer keeps their marks on these addresses: it would
    /// report the next user of the memory (a stack here, or of any thread) for touching them. These frames are the
    /// first ones, at the top. Clearing the marks of a whole stack would write an eighth of its size, and stacks may be
    /// larger than the machine's memory.
    static void forget_frames(const fiber_stack& stack) {
#if defined(DYNPAR_ADDRESS_SANITIZER)
        const std::size_t most = std::size_t{1} << 20;
        const std::size_t bytes = stack.bytes < most ? stack.bytes : most;
        __asan_unpoison_memory_region(stack.top - bytes, bytes);
#else
        (void)stack;
#endif
    }

    [[noreturn]] void no_stack() const {
        throw std::system_error(
            errno, std::generic_category(),
            "dynpar: host engine: no memory mapping left for another thread's stack of " + std::to_string(usable_) +
                " bytes; raise vm.max_map_count, launch smaller blocks, or lower limits::sync_depth");
    }

    std::size_t page_;
    std::size_t usable_;
};

/// A fiber that runs simulated threads. The scheduler resumes it; it suspends itself when the thread that it is running
/// blocks, or when it has nothing left to do. One carrier serves thread after thread and block after block.
class carrier {
public:
    using work_function = void (*)(carrier& self, void* of);

    /// `work(carrier, of)` is called at every resume that follows the end of the previous call. It throws nothing.
    carrier(const guarded_stacks& stacks, work_function work, void* of)
        : work_(work),
          of_(of),
          stack_(stacks.allocate()),
          fiber_(boost::context::detail::make_fcontext(stack_.top, stack_.bytes, &carrier::begin)) {}
    /// Only while the carrier has nothing to do (never in the middle of a thread).
    ~carrier() {
        ended_ = true;
        resume();
        guarded_stacks::deallocate(stack_);
    }
    carrier(const carrier&) = delete;
    carrier& operator=(const carrier&) = delete;

    /// Called by the scheduler: lets the carrier run until it suspends itself.
    void resume() {
#if defined(DYNPAR_ADDRESS_SANITIZER)
        __sanitizer_start_switch_fiber(&scheduler_fake_stack_, stack_.top - stack_.bytes, stack_.bytes);
#endif
        fiber_ = boost::context::detail::jump_fcontext(fiber_, this).fctx;
#if defined(DYNPAR_ADDRESS_SANITIZER)
        __sanitizer_finish_switch_fiber(scheduler_fake_stack_, nullptr, nullptr);
#endif
    }

    /// Called on the carrier: back to the scheduler, until it resumes this carrier.
    void suspend() {
        leaving_carrier(false);
        scheduler_ = boost::context::detail::jump_fcontext(scheduler_, nullptr).fctx;
        arrived_in_carrier();
    }

    /// Whether an address lies on this carrier's stack.
    bool has_on_stack(std::uintptr_t address) const {
        const auto top = reinterpret_cast<std::uintptr_t>(stack_.top);
        return address < top && address >= top - stack_.bytes;
    }

    carrier* next = nullptr;  ///< link of the list that the carrier waits in

private:
    /// What runs on the stack, from the first resume on.
    static void begin(boost::context::detail::transfer_t from) noexcept {
        carrier& self = *static_cast<carrier*>(from.data);
        self.scheduler_ = from.fctx;
        self.arrived_in_carrier();
        while (!self.ended_) {
            self.work_(self, self.of_);
            self.suspend();
        }
        self.leaving_carrier(true);
        boost::context::detail::jump_fcontext(self.scheduler_, nullptr);  // for good
    }

    // AddressSanitizer must be told of every switch, or it takes a fiber's stack for foreign memory.
    void leaving_carrier(bool for_ever) {
#if defined(DYNPAR_ADDRESS_SANITIZER)
        __sanitizer_start_switch_fiber(for_ever ? nullptr : &fake_stack_, scheduler_bottom_, scheduler_size_);
#else
        (void)for_ever;
#endif
    }
    void arrived_in_carrier() {
#if defined(DYNPAR_ADDRESS_SANITIZER)
        __sanitizer_finish_switch_fiber(fake_stack_, &scheduler_bottom_, &scheduler_size_);
#endif
    }

    work_function work_;
    void* of_;
    fiber_stack stack_;
    boost::context::detail::fcontext_t fiber_;                // the carrier, while it is suspended
    boost::context::detail::fcontext_t scheduler_ = nullptr;  // the scheduler, while the carrier runs
    bool ended_ = false;
#if defined(DYNPAR_ADDRESS_SANITIZER)
    void* fake_stack_ = nullptr;
    void* scheduler_fake_stack_ = nullptr;
    const void* scheduler_bottom_ = nullptr;
    std::size_t scheduler_size_ = 0;
#endif
};

/// Carriers in the order of their arrival.
class carrier_list {
public:
    bool empty() const { return first_ == nullptr; }
    unsigned size() const { return size_; }

    void push_back(carrier& c) {
        c.next = nullptr;
        (last_ != nullptr ? last_->next : first_) = &c;
        last_ = &c;
        ++size_;
    }
    carrier& pop_front() {
        carrier& c = *first_;
        first_ = c.next;
        if (first_ == nullptr) last_ = nullptr;
        --size_;
        return c;
    }

private:
    carrier* first_ = nullptr;
    carrier* last_ = nullptr;
    unsigned size_ = 0;
};

}  // namespace detail
}  // namespace dynpar
