# tellegen_folder(NAME [FOLDERS...] [LINK TARGETS...]): the library of tellegen/NAME from its *.cpp, and
# its test program from its *_test.cpp.
enable_testing()
find_package(GTest REQUIRED)

function(tellegen_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK} GTest::gtest_main)
  target_compile_definitions(${NAME} PRIVATE TELLEGEN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # One process per program: the leak check at its end costs seconds.
  add_test(NAME ${NAME} COMMAND ${NAME} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

function(tellegen_folder NAME)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tellegen/${NAME}/*.cpp)
  set(TESTS ${SOURCES})
  list(FILTER SOURCES EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER TESTS INCLUDE REGEX "_test\\.cpp$")
  add_library(${NAME} STATIC ${SOURCES})
  target_include_directories(${NAME} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${NAME} PUBLIC ${ARG_UNPARSED_ARGUMENTS} ${ARG_LINK})
  if(TELLEGEN_TESTS AND TESTS)
    tellegen_test(${NAME}_test SOURCES ${TESTS} LINK ${NAME})
  endif()
endfunction()
