#include "engine/thrown.hpp"

#include <exception>
#include <pawl/error.hpp>

#include "store/constraint.hpp"

namespace pawl::engine {
namespace {

// Only what is the program's own fault, on every machine and at any time. What is said of a payload
// (codec) or of another type (unknown, workflow) may be the word of an older or newer program, and
// what comes from outside is decoded in handlers too.
bool is_permanent(Code code) { return code == Code::invalid || code == Code::misuse; }

}  // namespace

Thrown thrown() {
    try {
        throw;
    } catch (const Permanent& e) {
        return {e.what(), true};
    } catch (const store::ConstraintViolated& e) {
        return {e.what(), false};
    } catch (const Error& e) {
        return {e.what(), is_permanent(e.code())};
    } catch (const std::exception& e) {
        return {e.what(), false};
    } catch (...) {
        return {"something that is not a std::exception", false};
    }
}

}  // namespace pawl::engine
