#include "store/sql/postgres/link.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <pawl/error.hpp>
#include <vector>

#include "store/sql/postgres/failures.hpp"

namespace pawl::store::sql::postgres {
namespace {

std::string seconds_of(Duration time) {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(time).count();
    return std::to_string(seconds < 2 ? 2 : seconds);  // libpq's least
}

// Where it leads to, from what libpq understood.
std::string describe(PGconn* connection) {
    const char* host = PQhost(connection);
    const char* port = PQport(connection);
    const char* database = PQdb(connection);
    return fmt::format("{}:{}/{}", host ? host : "?", port ? port : "?", database ? database : "?");
}

// libpq tells the reason of a refused connection in words only.
std::string state_of_refusal(std::string_view message) {
    const auto says = [&](std::string_view text) { return message.find(text) != message.npos; };
    if (says("too many clients") || says("too many connections") ||
        says("remaining connection slots"))
        return "53300";
    if (says("starting up") || says("shutting down") || says("recovery")) return "57P03";
    if (says("password") || says("pg_hba.conf") || says("authentication") || says("role \""))
        return "28000";
    if (says("database \"") && says("does not exist")) return "3D000";
    if (says("read-only") || says("is not in hot standby") || says("server is in hot standby") ||
        says("session is read-only"))
        return "25006";
    return "08001";
}

}  // namespace

std::string Link::milliseconds_of(Duration time) {
    return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(time).count());
}

Link::Link(const LinkOptions& options) : options_(options) {
    const std::string connect = seconds_of(options_.connect_timeout);
    const std::string unanswered = milliseconds_of(options_.statement_timeout);
    // What stands before the URL is a default; what stands behind it is ours to say.
    const std::array keywords{"connect_timeout",           "keepalives",
                              "keepalives_idle",           "keepalives_interval",
                              "keepalives_count",          "tcp_user_timeout",
                              "fallback_application_name", "dbname",
                              "client_encoding",           static_cast<const char*>(nullptr)};
    const std::array values{connect.c_str(),
                            "1",
                            "10",
                            "5",
                            "3",
                            unanswered.c_str(),
                            "pawl",
                            options_.conninfo.c_str(),
                            "UTF8",
                            static_cast<const char*>(nullptr)};
    connection_.reset(PQconnectdbParams(keywords.data(), values.data(), 1));
    if (!connection_) throw Error{Code::unavailable, "PostgreSQL: no memory for a connection"};
    place_ = describe(handle());
    if (PQstatus(handle()) != CONNECTION_OK) {
        const std::string message = PQerrorMessage(handle());
        throw_failure(place_, {state_of_refusal(message), message, ""});
    }
    if (PQserverVersion(handle()) < 150000)
        throw Error{Code::unavailable,
                    fmt::format("PostgreSQL {}: it has version {}; pawl needs 15 or later", place_,
                                PQserverVersion(handle()) / 10000)};
    // What a server has to say apart from results would be printed to the program's stderr.
    PQsetNoticeProcessor(handle(), [](void*, const char*) {}, nullptr);
    if (PQsetnonblocking(handle(), 1) != 0 || PQenterPipelineMode(handle()) != 1)
        fail_lost("", PQerrorMessage(handle()));
}

// How long it may take is said by the user's own settings.
Link::Link(PGconn* lent)
    : options_{.statement_timeout = std::chrono::hours{24}},
      connection_(lent, FinishUnlessLent{.is_lent = true}),
      place_(describe(lent)) {}

Link::Deadline Link::deadline() const {
    // The server gives up first and says why.
    return std::chrono::steady_clock::now() + options_.statement_timeout + std::chrono::seconds{1};
}

void Link::fail_lost(const char* what, const std::string& why) const {
    throw_failure(place_, {"", why, what});
}

void Link::check_sent(int sent, const char* what) {
    if (sent == 1) return;
    has_failed_ = true;
    fail_lost(what, PQerrorMessage(handle()));
}

void Link::sync() { check_sent(PQpipelineSync(handle()), "sync"); }

bool Link::wait(short events, Deadline deadline) const {
    while (true) {
        const auto left = deadline - std::chrono::steady_clock::now();
        if (left <= Deadline::duration::zero()) return false;
        pollfd socket{PQsocket(handle()), events, 0};
        const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
        const int ready = ::poll(&socket, 1, static_cast<int>(ms));
        if (ready > 0) return true;
        if (ready < 0 && errno != EINTR) return false;
    }
}

void Link::flush_now() { check_sent(PQflush(handle()) < 0 ? 0 : 1, "flush"); }

Result Link::receive(Deadline deadline, const char* what) {
    const auto silent = [&] {
        fail_lost(what,
                  fmt::format(
                      "no answer for {} s",
                      std::chrono::ceil<std::chrono::seconds>(options_.statement_timeout).count()));
    };
    // Reading while writing: the server stops to read when its answers are not taken.
    for (int left = PQflush(handle()); left != 0; left = PQflush(handle())) {
        if (left < 0) fail_lost(what, PQerrorMessage(handle()));
        if (!wait(POLLIN | POLLOUT, deadline)) silent();
        if (PQconsumeInput(handle()) != 1) fail_lost(what, PQerrorMessage(handle()));
    }
    while (PQisBusy(handle())) {
        if (!wait(POLLIN, deadline)) silent();
        if (PQconsumeInput(handle()) != 1) fail_lost(what, PQerrorMessage(handle()));
    }
    return Result{PQgetResult(handle())};
}

void Link::wait_for_input(std::chrono::milliseconds timeout, int also) {
    std::array<pollfd, 2> files{{{PQsocket(handle()), POLLIN, 0}, {also, POLLIN, 0}}};
    const int ready = ::poll(files.data(), files.size(), static_cast<int>(timeout.count()));
    if (ready > 0 && files[0].revents != 0 && PQconsumeInput(handle()) != 1)
        fail_lost("listen", PQerrorMessage(handle()));
}

}  // namespace pawl::store::sql::postgres
