# One shared library of all folders, and a package of it, the program and the component library, that other
# projects find by find_package(Tellegen) (docs/embedding.md). `cpack` makes a Debian package of the same.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(FOLDERS GLOBAL PROPERTY TELLEGEN_FOLDERS)
get_property(LINKS GLOBAL PROPERTY TELLEGEN_LINKS)
list(TRANSFORM FOLDERS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE OBJECTS)
add_library(tellegen_library SHARED tellegen/tellegen.cpp ${OBJECTS})
list(REMOVE_DUPLICATES LINKS)
target_link_libraries(tellegen_library PRIVATE ${LINKS})
set_target_properties(tellegen_library PROPERTIES OUTPUT_NAME tellegen EXPORT_NAME tellegen
                      VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                      LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
target_compile_definitions(tellegen_library PRIVATE TELLEGEN_VERSION="${PROJECT_VERSION}")
target_compile_features(tellegen_library PUBLIC cxx_std_20)
target_include_directories(tellegen_library PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                           $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# The public headers: tellegen.h and what it includes.
set(HEADERS tellegen/tellegen.h)
set(NEXT ${HEADERS})
while(NEXT)
  list(POP_FRONT NEXT HEADER)
  file(STRINGS ${HEADER} LINES REGEX "^#include \"(tellegen|runtime)/")
  foreach(LINE IN LISTS LINES)
    string(REGEX REPLACE "^#include \"(.*)\".*" "\\1" INCLUDED "${LINE}")
    if(NOT INCLUDED IN_LIST HEADERS)
      list(APPEND HEADERS ${INCLUDED})
      list(APPEND NEXT ${INCLUDED})
    endif()
  endforeach()
endwhile()
foreach(HEADER IN LISTS HEADERS)
  get_filename_component(FOLDER ${HEADER} DIRECTORY)
  install(FILES ${HEADER} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${FOLDER})
endforeach()

set(PACKAGE_FOLDER ${CMAKE_INSTALL_LIBDIR}/cmake/Tellegen)
install(TARGETS tellegen_library EXPORT TellegenTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ${PROGRAMS} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY library DESTINATION ${CMAKE_INSTALL_DATADIR}/tellegen)
install(EXPORT TellegenTargets NAMESPACE Tellegen:: FILE TellegenConfig.cmake DESTINATION ${PACKAGE_FOLDER})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/TellegenConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/TellegenConfigVersion.cmake DESTINATION ${PACKAGE_FOLDER})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tellegen)
set(CPACK_PACKAGE_CONTACT "The Tellegen authors <tellegen@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Digital twins of electric powertrains from one linear graph")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS libhdf5-103-1)  # loaded when it is needed, so nobody sees it
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gcc, libc6-dev, gnuplot-nox")  # compiled models, plots
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
