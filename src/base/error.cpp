#include <pawl/error.hpp>

namespace pawl::inline v0 {

const char* name(Code code) {
    switch (code) {
        case Code::invalid:
            return "invalid";
        case Code::unknown:
            return "unknown";
        case Code::misuse:
            return "misuse";
        case Code::codec:
            return "codec";
        case Code::unique_key_taken:
            return "unique_key_taken";
        case Code::conflict:
            return "conflict";
        case Code::workflow:
            return "workflow";
        case Code::busy:
            return "busy";
        case Code::in_doubt:
            return "in_doubt";
        case Code::unavailable:
            return "unavailable";
        case Code::corrupt:
            return "corrupt";
    }
    return "?";
}

Error::Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}

bool Error::retryable() const noexcept {
    switch (code_) {
        case Code::conflict:
        case Code::busy:
        case Code::in_doubt:
        case Code::unavailable:
            return true;
        default:
            return false;
    }
}

Error Error::in_doubt(const std::string& message, std::string input_id) {
    Error error{Code::in_doubt, message};
    error.input_id_ = std::move(input_id);
    return error;
}

}  // namespace pawl::inline v0
