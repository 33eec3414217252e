// A few records of a kind.
#pragma once

namespace dynpar {
namespace detail {

/// A linked list, the latest record first. A vector has four times as many functions: each program that runs kernels
/// compiles them all.
template <class Record>
class record_list {
public:
    record_list() = default;
    ~record_list() {
        while (first_ != nullptr) {
            node* const next = first_->next;
            delete first_;
            first_ = next;
        }
    }
    record_list(const record_list&) = delete;
    record_list& operator=(const record_list&) = delete;

    /// It stays where it is.
    Record& add(const Record& record) {
        first_ = new node{record, first_};
        return first_->record;
    }
    /// The latest for which `is_it(record)`; else null.
    template <class Predicate>
    Record* find(const Predicate& is_it) {
        for (node* n = first_; n != nullptr; n = n->next)
            if (is_it(n->record)) return &n->record;
        return nullptr;
    }

private:
    struct node {
        Record record;
        node* next;
    };
    node* first_ = nullptr;
};

}  // namespace detail
}  // namespace dynpar
