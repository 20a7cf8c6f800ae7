# Installs the library, its headers, and what find_package and pkg-config need to find them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS pawl EXPORT pawlTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/pawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

get_target_property(pawl_type pawl TYPE)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
install(EXPORT pawlTargets NAMESPACE pawl:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/pawlConfig.cmake.in pawlConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(pawlConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pawlConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/pawlConfigVersion.cmake DESTINATION ${package_dir})

# Whoever links a static libpawl needs its libraries too, also when pkg-config is not told --static.
# A shared one brings them itself, and its users need not have their headers.
set(PAWL_PC_REQUIRES "Requires: sqlite3, simdjson, fmt")
set(PAWL_PC_LIBS "-L\${libdir} -lpawl -pthread")
# By name: with --static, Debian's libpq.pc asks for libraries that libpq-dev does not bring.
if(PAWL_POSTGRES)
  string(APPEND PAWL_PC_LIBS " -lpq")
endif()
if(PAWL_MARIADB)
  string(APPEND PAWL_PC_LIBS " -lmariadb")
endif()
if(pawl_type STREQUAL SHARED_LIBRARY)
  set(PAWL_PC_REQUIRES "")
  set(PAWL_PC_LIBS "-L\${libdir} -lpawl")
endif()
# Relative, so that the installed tree can be moved.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}
           OUTPUT_VARIABLE PAWL_PC_LIBDIR)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY ${CMAKE_INSTALL_PREFIX}
           OUTPUT_VARIABLE PAWL_PC_INCLUDEDIR)
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
           OUTPUT_VARIABLE PAWL_PC_PREFIX)
configure_file(${PROJECT_SOURCE_DIR}/cmake/pawl.pc.in pawl.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/pawl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
