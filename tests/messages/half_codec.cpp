// expect: this type's Codec lacks write.* or read
#include <pawl/json.hpp>

class Money {};
template <>
struct pawl::json::Codec<Money> {
    static void write(Writer& w, const Money&) { w.null(); }
};

Money money = pawl::json::decode<Money>("null");
