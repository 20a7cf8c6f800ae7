#include "base/threads.hpp"

#include <pthread.h>
#include <signal.h>

namespace pawl::base {

std::thread start_thread(const std::string& name, std::function<void()> body) {
    // The mask is inherited: blocking around the start leaves no moment in which the new thread
    // could take a signal that the program's own threads are meant to get.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread;
    try {
        thread = std::thread{std::move(body)};
    } catch (...) {
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        throw;
    }
    pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
}

}  // namespace pawl::base
