// Fibers of the host engine: stacks with a checked guard page, and carriers, which run simulated threads until one
// blocks.
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

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

/// A stack allocator for Boost.Context. Boost's own protected stacks check their guard page with an assert alone: once
/// the process has all the mappings that the kernel allows, an overflow in a release build would run into a neighbour
/// unnoticed.
class guarded_stacks {
public:
    explicit guarded_stacks(std::size_t bytes) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
        usable_ = (bytes + page_ - 1) / page_ * page_;
    }

    boost::context::stack_context allocate() {
        const std::size_t total = usable_ + page_;
        void* memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) no_stack();
        if (mprotect(memory, page_, PROT_NONE) != 0) {  // stacks grow down: the guard is the lowest page
            const int why = errno;
            munmap(memory, total);
            errno = why;
            no_stack();
        }
        boost::context::stack_context stack;
        stack.size = total;
        stack.sp = static_cast<char*>(memory) + total;
        forget_frames(stack);
        return stack;
    }

    void deallocate(boost::context::stack_context& stack) {
        forget_frames(stack);
        munmap(static_cast<char*>(stack.sp) - stack.size, stack.size);
    }

private:
    /// The last frames of a fiber never return, and AddressSanitizer keeps their marks on these addresses: it would
    /// report the next user of the memory (a stack here, or of any thread) for touching them. These frames are the
    /// first ones, at the top. Clearing the marks of a whole stack would write an eighth of its size, and stacks may be
    /// larger than the machine's memory.
    static void forget_frames(const boost::context::stack_context& stack) {
#if defined(DYNPAR_ADDRESS_SANITIZER)
        const std::size_t bytes = std::min<std::size_t>(stack.size, std::size_t{1} << 20);
        __asan_unpoison_memory_region(static_cast<char*>(stack.sp) - bytes, bytes);
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
    /// `work(carrier)` is called at every resume that follows the end of the previous call.
    template <class Work>
    carrier(guarded_stacks& stacks, Work work) {
        stack_ = stacks.allocate();
        fiber_ = boost::context::fiber(std::allocator_arg, boost::context::preallocated(stack_.sp, stack_.size, stack_),
                                       stacks, [this, work](boost::context::fiber&& scheduler) {
                                           arrived_in_carrier();
                                           scheduler_ = std::move(scheduler);
                                           while (!ended_) {
                                               work(*this);
                                               suspend();
                                           }
                                           leaving_carrier(true);
                                           return std::move(scheduler_);
                                       });
    }
    /// Only while the carrier has nothing to do (never in the middle of a thread).
    ~carrier() {
        ended_ = true;
        if (fiber_) resume();
    }
    carrier(const carrier&) = delete;
    carrier& operator=(const carrier&) = delete;

    /// Called by the scheduler: lets the carrier run until it suspends itself.
    void resume() {
#if defined(DYNPAR_ADDRESS_SANITIZER)
        __sanitizer_start_switch_fiber(&scheduler_fake_stack_, static_cast<char*>(stack_.sp) - stack_.size,
                                       stack_.size);
#endif
        fiber_ = std::move(fiber_).resume();
#if defined(DYNPAR_ADDRESS_SANITIZER)
        __sanitizer_finish_switch_fiber(scheduler_fake_stack_, nullptr, nullptr);
#endif
    }

    /// Called on the carrier: back to the scheduler, until it resumes this carrier.
    void suspend() {
        leaving_carrier(false);
        scheduler_ = std::move(scheduler_).resume();
        arrived_in_carrier();
    }

    /// Whether an address lies on this carrier's stack.
    bool has_on_stack(std::uintptr_t address) const {
        const auto top = reinterpret_cast<std::uintptr_t>(stack_.sp);
        return address < top && address >= top - stack_.size;
    }

    carrier* next = nullptr;  ///< link of the list that the carrier waits in

private:
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

    boost::context::stack_context stack_;
    boost::context::fiber fiber_;      // the carrier, while it is suspended
    boost::context::fiber scheduler_;  // the scheduler, while the carrier runs
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
