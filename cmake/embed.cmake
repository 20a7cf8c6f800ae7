# pawl_embed_migrations(OUT header namespace files...): a source file with the numbered SQL files as
# an array of Migration, so that a program needs no files beside it.
function(pawl_embed_migrations out header namespace)
  set(entries "")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} script)
    get_filename_component(name ${file} NAME)
    string(REGEX MATCH "^0*([1-9][0-9]*)_" _ ${name})
    string(APPEND entries "    {${CMAKE_MATCH_1}, R\"sql(${script})sql\"},\n")
  endforeach()
  set(path ${CMAKE_CURRENT_BINARY_DIR}/${out}_migrations.cpp)
  file(CONFIGURE OUTPUT ${path} @ONLY CONTENT "#include \"@header@\"

namespace @namespace@ {
namespace {
constexpr Migration all[] = {
@entries@};
}  // namespace

std::span<const Migration> migrations() { return all; }

}  // namespace @namespace@
")
  set(${out}_migrations ${path} PARENT_SCOPE)
endfunction()
