// Scratch that threads borrow: as many objects as are asked for at once. It belongs to a call or to an object, never to
// a thread, so that nothing is kept when that ends.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tallywise {

template <class T>
class Pool {
  public:
    // An object until the end of the scope. What an exception may have left half done is not handed out again.
    class Lease {
      public:
        Lease(Pool& pool, T& object, std::size_t number)
            : pool_(pool), object_(object), number_(number), exceptions_(std::uncaught_exceptions()) {}
        Lease(Lease const&) = delete;
        Lease& operator=(Lease const&) = delete;
        ~Lease() {
            if (std::uncaught_exceptions() != exceptions_) return;
            std::lock_guard lock(pool_.mutex_);
            pool_.free_.push_back(number_);
        }

        T& operator*() const { return object_; }
        T* operator->() const { return &object_; }
        std::size_t number() const { return number_; }  // in the order in which objects were made

      private:
        Pool& pool_;
        T& object_;
        std::size_t number_;
        int exceptions_;
    };

    // make() gives a new object, where none is free.
    template <class Make>
    Lease take(Make&& make) {
        std::lock_guard lock(mutex_);
        if (free_.empty()) {
            free_.reserve(objects_.size() + 1);  // so that giving back cannot fail
            objects_.push_back(make());
            free_.push_back(objects_.size() - 1);
        }
        std::size_t const number = free_.back();
        free_.pop_back();
        return {*this, *objects_[number], number};
    }
    Lease take() {
        return take([] { return std::make_unique<T>(); });
    }

    std::vector<std::unique_ptr<T>> const& objects() const { return objects_; }
    void clear() {
        objects_.clear();
        free_.clear();
    }

  private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<T>> objects_;
    std::vector<std::size_t> free_;
};

}  // namespace tallywise
