// Mutual exclusion of the host's threads, without <mutex>: that brings <chrono>, and each of nvcc's passes reads every
// header.
#pragma once

#include <pthread.h>

namespace dynpar {
namespace detail {

class mutex {
public:
    mutex() = default;
    ~mutex() { pthread_mutex_destroy(&mutex_); }
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;

    // They fail only for a thread that has it already, or has it not.
    void lock() { pthread_mutex_lock(&mutex_); }
    void unlock() { pthread_mutex_unlock(&mutex_); }

private:
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Has the mutex as long as it lives.
class mutex_lock {
public:
    explicit mutex_lock(mutex& m) : mutex_(m) { mutex_.lock(); }
    ~mutex_lock() { mutex_.unlock(); }
    mutex_lock(const mutex_lock&) = delete;
    mutex_lock& operator=(const mutex_lock&) = delete;

private:
    mutex& mutex_;
};

}  // namespace detail
}  // namespace dynpar
