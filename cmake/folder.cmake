# pawl_folder(NAME sources...): the library target of one folder under src/.
function(pawl_folder name)
  add_library(pawl_${name} OBJECT ${ARGN})
  target_include_directories(pawl_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(pawl_${name} PRIVATE pawl_warnings fmt::fmt)
  # As part of a user's tree the library is compiled with the user's warnings, so it is held to more
  # of them than the tests.
  if(PROJECT_IS_TOP_LEVEL)
    target_compile_options(pawl_${name} PRIVATE -Wconversion -Wshadow -Wpedantic)
  endif()
endfunction()
