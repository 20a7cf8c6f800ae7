#include "engine/fixture.hpp"

#include "crash/place.hpp"
#include "engine/open_store.hpp"

namespace pawl::engine_test {

EngineTest::EngineTest() {
    for (const auto& place : crash::places_under_test())
        if (place.name == GetParam() && place.missing.empty())
            place_ = place.create(directory_.path());
}

EngineTest::~EngineTest() = default;

void EngineTest::SetUp() {
    if (!place_ && GetParam() != "memory")
        GTEST_SKIP() << GetParam() << " was not built, or ./dev test has not started its server";
}

std::string EngineTest::url() const { return place_ ? place_->url() : "memory:"; }

std::unique_ptr<store::Store> SharedEngineTest::open_store(
    std::function<void(std::string_view point)> at_point) {
    Options options;
    options.test.at_point = std::move(at_point);
    options.test.store_clock = &clock;
    return engine::open_store(url(), options);
}

}  // namespace pawl::engine_test
