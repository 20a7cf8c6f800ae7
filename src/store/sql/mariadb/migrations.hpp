/// The numbered SQL files beside this header, as the build embeds them.
#pragma once

#include <span>
#include <string_view>

namespace pawl::store::sql::mariadb {

struct Migration {
    int number = 0;
    std::string_view script;
};

/// In the order of their numbers, which begin with 1 and have no gaps.
std::span<const Migration> migrations();

}  // namespace pawl::store::sql::mariadb
