/// Starting a thread the way a library should: named, and with all signals left to the program.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace pawl::base {

std::thread start_thread(const std::string& name, std::function<void()> body);

}  // namespace pawl::base
