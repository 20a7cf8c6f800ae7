# pawl_test(NAME sources... [LIBRARIES ...] [LABEL name]): one test binary, each TEST a ctest entry. Tests may look
# behind the public headers.
find_package(GTest REQUIRED)
include(GoogleTest)
function(pawl_test name)
  cmake_parse_arguments(ARG "" "LABEL" "LIBRARIES" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                                             ${PROJECT_SOURCE_DIR}/tests)
  # Most of the build is the templates in these files, and nobody waits for their speed: unoptimised
  # they compile in less than half the time.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Debug>:-O0>)
  target_link_libraries(${name} PRIVATE pawl_objects pawl_warnings GTest::gtest_main GTest::gmock ${ARG_LIBRARIES})
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 300 LABELS "${ARG_LABEL}")
endfunction()
