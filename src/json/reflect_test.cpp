#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <pawl/reflect.hpp>
#include <string>
#include <variant>
#include <vector>

namespace shop {

struct Line {
    std::string sku;
    int quantity = 1;
};
struct Invoice {
    Line line;
    std::optional<double> total;
    std::vector<Line> lines;
    std::map<std::string, int> counts;
    std::variant<std::monostate, Line> last;
    std::unique_ptr<Invoice> next;
    bool paid = false;
};
template <class T>
struct Failed {
    T what;
    int attempts = 0;
};
template <int N>
struct Fixed {};
template <class A, class B = int>
struct Page {};
template <class T>
struct Outer {
    struct Inner {
        T value;
    };
};
struct Pinned {
    static constexpr auto tag = "order.pinned.v1";
    int a = 0;
};
struct TagField {
    std::string tag;
};
enum class Status { fresh, placed = 3, paid };
enum class Sparse : int { below = -100, minus = -1, zero = 0, far = 200, beyond = 100000 };
enum class Tiny : unsigned char { a = 0, b = 255 };
enum class Flag : bool { off, on };
enum Plain { red, green, blue };
enum Signed { west = -1, east = 1 };
enum class Nothing {};
struct Holder {
    template <class T>
    struct Of {
        enum class Kind { first, second };
    };
};

}  // namespace shop

namespace pawl {
namespace {

using ::testing::ElementsAre;

struct Hidden {
    int left = 1;
    std::string right;
};
int global = 0;
enum class HiddenColor { red, green = 5 };

template <class E>
std::vector<std::string> names_of() {
    std::vector<std::string> names;
    for (const auto& one : reflect::enumerators<E>) names.emplace_back(one.name);
    return names;
}

TEST(Fields, AreFoundInDeclarationOrder) {
    EXPECT_THAT(reflect::field_names<shop::Line>, ElementsAre("sku", "quantity"));
    EXPECT_THAT(reflect::field_names<shop::Invoice>,
                ElementsAre("line", "total", "lines", "counts", "last", "next", "paid"));
    shop::Line line{"book", 2};
    std::get<1>(reflect::fields(line)) = 7;
    EXPECT_EQ(line.quantity, 7);
}

TEST(Fields, AreFoundInAnonymousNamespaces) {
    EXPECT_THAT(reflect::field_names<Hidden>, ElementsAre("left", "right"));
}

TEST(Fields, AreFoundInLocalTypes) {
    struct Local {
        int first = 0;
        Hidden second;
        std::vector<int> third;
    };
    EXPECT_THAT(reflect::field_names<Local>, ElementsAre("first", "second", "third"));
    EXPECT_EQ(reflect::tag<Local>(), "Local");
}

template <class T>
std::string local_tag(const T&, std::map<int, T>) {
    struct InTemplate {
        T value;
    };
    enum class Local { one, two };
    EXPECT_THAT(reflect::field_names<InTemplate>, ElementsAre("value"));
    EXPECT_THAT(names_of<Local>(), ElementsAre("one", "two"));
    return std::string{reflect::tag<InTemplate>()};
}

TEST(Fields, AreFoundInLocalTypesOfFunctionTemplates) {
    EXPECT_EQ(local_tag(shop::Line{}, {}), "InTemplate");
}

TEST(Fields, AreFoundInTemplates) {
    EXPECT_THAT(reflect::field_names<shop::Failed<shop::Invoice>>, ElementsAre("what", "attempts"));
    EXPECT_THAT(reflect::field_names<shop::Outer<Hidden>::Inner>, ElementsAre("value"));
}

TEST(Fields, MayBeManyOrNone) {
    struct Empty {};
    struct Many {
        int a1, a2, a3, a4, a5, a6, a7, a8, b1, b2, b3, b4, b5, b6, b7, b8;
        std::string c1, c2, c3, c4, c5, c6, c7, c8, d1, d2, d3, d4, d5, d6, d7, d8;
        int e1, e2, e3, e4, e5, e6, e7, e8, f1, f2, f3, f4, f5, f6, f7, f8;
        std::optional<int> g1, g2, g3, g4, g5, g6, g7, g8, h1, h2, h3, h4, h5, h6, h7, h8;
    };
    static_assert(reflect::field_count<Empty> == 0);
    static_assert(reflect::field_count<Many> == 64);
    EXPECT_EQ(reflect::field_names<Many>[0], "a1");
    EXPECT_EQ(reflect::field_names<Many>[32], "e1");
    EXPECT_EQ(reflect::field_names<Many>[63], "h8");
}

TEST(Fields, OfAStructWithAnEmptyBaseAreItsOwn) {
    struct Marker {};
    struct Marked : Marker {
        int x = 0;
        int y = 0;
    };
    static_assert(!reflect::has_full_base<Marked>);
    EXPECT_THAT(reflect::field_names<Marked>, ElementsAre("x", "y"));
}

TEST(Fields, ThatCantBeTakenApartAreRecognised) {
    struct Base {
        int id = 0;
    };
    struct Derived : Base {
        int x = 0;
    };
    struct WithArray {
        int before = 0;
        char name[16];
        std::string after;
    };
    struct WithHugeArray {
        char name[4096];
    };
    struct WithReference {
        int before = 0;
        int& reference = global;
    };
    static_assert(reflect::has_full_base<Derived>);
    static_assert(!reflect::has_full_base<WithArray>);
    static_assert(reflect::has_array<WithArray>);
    static_assert(reflect::has_array<WithHugeArray>);
    static_assert(!reflect::has_array<Derived>);
    static_assert(!reflect::has_array<shop::Invoice>);
    static_assert(reflect::has_reference<WithReference>);
    static_assert(!reflect::has_reference<shop::Invoice>);
}

TEST(Fields, MayHoldWhatCantBeCopied) {
    struct Odd {
        std::function<void()> call;
        std::mutex mutex;
        std::unique_ptr<int> pointer;
    };
    EXPECT_THAT(reflect::field_names<Odd>, ElementsAre("call", "mutex", "pointer"));
}

TEST(Tag, IsTheUnqualifiedNameOrThePinnedOne) {
    EXPECT_EQ(reflect::tag<shop::Line>(), "Line");
    EXPECT_EQ(reflect::tag<Hidden>(), "Hidden");
    EXPECT_EQ(reflect::tag<shop::Pinned>(), "order.pinned.v1");
    EXPECT_EQ(reflect::tag<shop::TagField>(), "TagField");
    EXPECT_EQ(reflect::tag<shop::Outer<shop::Line>::Inner>(), "Inner");
    EXPECT_EQ(reflect::tag<shop::Status>(), "Status");
}

TEST(Tag, OfATemplateHasTheTagsOfItsArguments) {
    using namespace shop;
    EXPECT_EQ(reflect::tag<Failed<Invoice>>(), "Failed<Invoice>");
    EXPECT_EQ(reflect::tag<Failed<Hidden>>(), "Failed<Hidden>");
    EXPECT_EQ(reflect::tag<Failed<Pinned>>(), "Failed<order.pinned.v1>");
    EXPECT_EQ(reflect::tag<Failed<Failed<Line>>>(), "Failed<Failed<Line>>");
    EXPECT_EQ((reflect::tag<Page<Line, std::string>>()), "Page<Line,string>");
    EXPECT_EQ(reflect::tag<Page<Line>>(), "Page<Line>");
    EXPECT_EQ(reflect::tag<Failed<std::vector<Line>>>(), "Failed<vector<Line>>");
    EXPECT_EQ((reflect::tag<Failed<std::map<std::string, long>>>()), "Failed<map<string,int64>>");
    EXPECT_EQ(reflect::tag<Failed<unsigned>>(), "Failed<uint32>");
    EXPECT_EQ(reflect::tag<Fixed<-3>>(), "Fixed<-3>");
    EXPECT_EQ(reflect::tag<Failed<Fixed<2>>>(), "Failed<Fixed<2>>");
}

TEST(Enumerators, AreFoundWithTheirValues) {
    using shop::Status;
    EXPECT_THAT(names_of<Status>(), ElementsAre("fresh", "placed", "paid"));
    EXPECT_EQ(reflect::enumerators<Status>[1].value, Status::placed);
    EXPECT_EQ(reflect::enumerators<Status>[2].value, Status::paid);
}

TEST(Enumerators, MayBeNegativeSparseAndUnsigned) {
    EXPECT_THAT(names_of<shop::Sparse>(), ElementsAre("below", "minus", "zero", "far"));
    EXPECT_EQ(reflect::enumerators<shop::Sparse>[0].value, shop::Sparse::below);
    EXPECT_EQ(reflect::enumerators<shop::Sparse>[3].value, shop::Sparse::far);
    EXPECT_THAT(names_of<shop::Tiny>(), ElementsAre("a", "b"));
    EXPECT_EQ(reflect::enumerators<shop::Tiny>[1].value, shop::Tiny::b);
    EXPECT_THAT(names_of<shop::Flag>(), ElementsAre("off", "on"));
    EXPECT_THAT(names_of<shop::Nothing>(), ElementsAre());
}

TEST(Enumerators, MayBeUnscoped) {
    EXPECT_THAT(names_of<shop::Plain>(), ElementsAre("red", "green", "blue"));
    EXPECT_THAT(names_of<shop::Signed>(), ElementsAre("west", "east"));
}

TEST(Enumerators, MayBeLocalHiddenOrInTemplates) {
    enum class Local { here, there };
    EXPECT_THAT(names_of<Local>(), ElementsAre("here", "there"));
    EXPECT_THAT(names_of<HiddenColor>(), ElementsAre("red", "green"));
    EXPECT_THAT((names_of<shop::Holder::Of<std::map<int, Hidden>>::Kind>()),
                ElementsAre("first", "second"));
}

}  // namespace
}  // namespace pawl
