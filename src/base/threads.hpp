/// Starting a thread the way a library should: named, and with all signals left to the program.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace pawl::base {

std::thread start_thread(const std::string& name, std::function<void()> body);

/// The thread that made it.
class OwnThread {
public:
    bool is_here() const { return id_ == std::this_thread::get_id(); }

private:
    std::thread::id id_ = std::this_thread::get_id();
};

}  // namespace pawl::base
