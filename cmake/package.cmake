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
# Its own functions are called directly, as in the program, not by way of a table that others could change.
target_link_options(tellegen_library PRIVATE LINKER:-Bsymbolic-functions)
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

# Pages of `man` and completions of shells, written by the program itself from the texts of --help.
set(SHARED ${PROJECT_BINARY_DIR}/share)
set(MAN_FOLDER ${SHARED}/man/man1)
set(BASH_COMPLETION ${SHARED}/bash-completion/completions/tellegen)
set(ZSH_COMPLETION ${SHARED}/zsh/site-functions/_tellegen)
set(FISH_COMPLETION ${SHARED}/fish/vendor_completions.d/tellegen.fish)
foreach(FILE ${BASH_COMPLETION} ${ZSH_COMPLETION} ${FISH_COMPLETION})
  get_filename_component(FOLDER ${FILE} DIRECTORY)
  file(MAKE_DIRECTORY ${FOLDER})
endforeach()
add_custom_command(
  OUTPUT ${MAN_FOLDER}/tellegen.1 ${BASH_COMPLETION} ${ZSH_COMPLETION} ${FISH_COMPLETION}
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${MAN_FOLDER}  # of a command that is no more
  COMMAND tellegen manual --output ${MAN_FOLDER}
  COMMAND tellegen completion bash > ${BASH_COMPLETION}
  COMMAND tellegen completion zsh > ${ZSH_COMPLETION}
  COMMAND tellegen completion fish > ${FISH_COMPLETION}
  DEPENDS tellegen
  COMMENT "Writing pages of man and completions of shells"
  VERBATIM)
add_custom_target(manual ALL DEPENDS ${MAN_FOLDER}/tellegen.1 ${BASH_COMPLETION} ${ZSH_COMPLETION} ${FISH_COMPLETION})
install(DIRECTORY ${SHARED}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR})
install(DIRECTORY ${SHARED}/bash-completion ${SHARED}/zsh ${SHARED}/fish DESTINATION ${CMAKE_INSTALL_DATADIR})

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tellegen)
set(CPACK_PACKAGE_CONTACT "The Tellegen authors <tellegen@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Digital twins of electric powertrains from one linear graph")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libhdf5-103-1, libzip4")  # loaded when needed, so nobody sees them
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gcc, libc6-dev, gnuplot-nox")  # compiled models, plots
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
include(CPack)
