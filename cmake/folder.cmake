# tellegen_folder(NAME [FOLDERS...] [LINK TARGETS...]): the library of tellegen/NAME from its *.cpp, and
# its test program from its *_test.cpp.
enable_testing()
find_package(GTest REQUIRED)

# With CMAKE_UNITY_BUILD (the presets release and test set it) so many files of a target are compiled as one: headers
# are read and templates instantiated once for all of them.
function(tellegen_batches NAME SIZE)
  set_target_properties(${NAME} PROPERTIES UNITY_BUILD_MODE BATCH UNITY_BUILD_BATCH_SIZE ${SIZE})
  # GCC takes the files of a batch for headers, where an anonymous namespace would be wrong.
  if(CMAKE_UNITY_BUILD)
    target_compile_options(${NAME} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Programs that check the code under test and are not it: built quickly, without sanitizers of their own.
function(tellegen_checker NAME)
  set_target_properties(${NAME} PROPERTIES CHECKER ON)
endfunction()

function(tellegen_test NAME)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${NAME} ${ARG_SOURCES})
  set_target_properties(${NAME} PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(${NAME} PRIVATE ${ARG_LINK} GTest::gtest_main)
  target_compile_definitions(${NAME} PRIVATE TELLEGEN_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  tellegen_checker(${NAME})
  target_compile_options(${NAME} PRIVATE -O0)
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
  set_property(GLOBAL APPEND PROPERTY TELLEGEN_FOLDERS ${NAME})
  set_property(GLOBAL APPEND PROPERTY TELLEGEN_LINKS ${ARG_LINK})
  target_include_directories(${NAME} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${NAME} PUBLIC ${ARG_UNPARSED_ARGUMENTS} ${ARG_LINK})
  tellegen_batches(${NAME} 20)
  if(TELLEGEN_TESTS AND TESTS)
    tellegen_test(${NAME}_test SOURCES ${TESTS} LINK ${NAME})
    set_target_properties(${NAME}_test PROPERTIES UNITY_BUILD "${CMAKE_UNITY_BUILD}")
    tellegen_batches(${NAME}_test 6)  # each file has a namespace of its own
  endif()
endfunction()
