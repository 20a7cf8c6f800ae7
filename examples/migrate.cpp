// Makes or updates pawl's tables apart from the program that uses them, so that it needs no right to.
//   migrate URL            brings the tables up to date
//   migrate URL --print    prints the SQL for an empty database, and connects to nothing
#include <pawl/migrate.hpp>
#include <pawl/pawl.hpp>

#include <iostream>
#include <string_view>

int main(int argc, char** argv) try {
    if (argc < 2) {
        std::cerr << "usage: migrate URL [--print]\n";
        return 2;
    }
    const char* url = argv[1];
    if (argc > 2 && std::string_view{argv[2]} == "--print") {
        std::cout << pawl::migration_sql(url);
        return 0;
    }
    // [migrate]
    pawl::migrate(url);  // "postgres://admin@db1/shop"; throws pawl::Error that says why it can't
    // [/migrate]
    std::cout << "the tables are up to date\n";
} catch (const pawl::Error& e) {
    std::cerr << "migrate: " << e.what() << '\n';
    return 1;
}
