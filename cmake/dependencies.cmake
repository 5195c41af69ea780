# Third-party libraries, each behind one target of ours. The Debian packages are in packages.txt.
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Threads REQUIRED)

function(tellegen_dependency NAME)
  cmake_parse_arguments(ARG "" "" "INCLUDE;LIBRARIES" ${ARGN})
  add_library(dependency_${NAME} INTERFACE)
  target_include_directories(dependency_${NAME} SYSTEM INTERFACE ${ARG_INCLUDE})
  target_link_libraries(dependency_${NAME} INTERFACE ${ARG_LIBRARIES})
  add_library(tellegen::${NAME} ALIAS dependency_${NAME})
endfunction()

pkg_check_modules(EIGEN REQUIRED eigen3)
tellegen_dependency(eigen INCLUDE ${EIGEN_INCLUDE_DIRS})

pkg_check_modules(TOMLPP REQUIRED IMPORTED_TARGET tomlplusplus)
tellegen_dependency(toml LIBRARIES PkgConfig::TOMLPP)

find_library(UDUNITS_LIBRARY udunits2 REQUIRED)
tellegen_dependency(udunits LIBRARIES ${UDUNITS_LIBRARY})

find_path(KLU_INCLUDE klu.h PATH_SUFFIXES suitesparse REQUIRED)
find_library(KLU_LIBRARY klu REQUIRED)
find_library(BTF_LIBRARY btf REQUIRED)
find_library(AMD_LIBRARY amd REQUIRED)
tellegen_dependency(klu INCLUDE ${KLU_INCLUDE} LIBRARIES ${KLU_LIBRARY} ${BTF_LIBRARY} ${AMD_LIBRARY})

# Loaded when it is needed (data/loaded_library.h): its headers, and the name of the library as TELLEGEN_..._LIBRARY.
function(tellegen_loaded_dependency NAME MODULE LIBRARY)
  pkg_check_modules(${MODULE} REQUIRED ${MODULE})
  find_library(${NAME}_FOUND ${LIBRARY} PATHS ${${MODULE}_LIBRARY_DIRS} REQUIRED)
  file(REAL_PATH ${${NAME}_FOUND} FILE)
  string(REGEX MATCH "[^/]+\\.so\\.[0-9]+" FILE ${FILE})
  tellegen_dependency(${NAME} INCLUDE ${${MODULE}_INCLUDE_DIRS} LIBRARIES ${CMAKE_DL_LIBS})
  string(TOUPPER ${NAME} UPPER)
  target_compile_definitions(dependency_${NAME} INTERFACE TELLEGEN_${UPPER}_LIBRARY="${FILE}")
endfunction()
tellegen_loaded_dependency(hdf5 hdf5-serial hdf5_serial)
tellegen_loaded_dependency(zip libzip zip)

find_library(ZLIB_LIBRARY z REQUIRED)
tellegen_dependency(zlib LIBRARIES ${ZLIB_LIBRARY})

pkg_check_modules(PUGIXML REQUIRED IMPORTED_TARGET pugixml)
tellegen_dependency(pugixml LIBRARIES PkgConfig::PUGIXML)

pkg_check_modules(NLOPT REQUIRED IMPORTED_TARGET nlopt)
tellegen_dependency(nlopt LIBRARIES PkgConfig::NLOPT)

# Only the serial parts of SUNDIALS; without them a build misses just the `adaptive` method.
find_path(IDAS_INCLUDE idas/idas.h)
find_library(IDAS_LIBRARY sundials_idas)
find_library(IDA_VECTOR sundials_nvecserial)
find_library(IDA_MATRIX sundials_sunmatrixsparse)
find_library(IDA_KLU sundials_sunlinsolklu)
if(IDAS_INCLUDE AND IDAS_LIBRARY AND IDA_VECTOR AND IDA_MATRIX AND IDA_KLU)
  find_path(MPI_INCLUDE mpi.h PATH_SUFFIXES openmpi x86_64-linux-gnu/mpi aarch64-linux-gnu/mpi)
  tellegen_dependency(ida INCLUDE ${IDAS_INCLUDE} ${KLU_INCLUDE} ${MPI_INCLUDE}
                      LIBRARIES ${IDAS_LIBRARY} ${IDA_VECTOR} ${IDA_MATRIX} ${IDA_KLU})
  target_compile_definitions(dependency_ida INTERFACE TELLEGEN_HAS_IDA)
else()
  message(STATUS "SUNDIALS IDAS not found: no `adaptive` method")
  tellegen_dependency(ida)
endif()

# Without MPI a build misses just studies over several processes (`mpirun tellegen sweep`).
find_package(MPI COMPONENTS C QUIET)
if(MPI_C_FOUND)
  tellegen_dependency(mpi LIBRARIES MPI::MPI_C)
  target_compile_definitions(dependency_mpi INTERFACE TELLEGEN_HAS_MPI)
else()
  message(STATUS "MPI not found: no studies over several processes")
  tellegen_dependency(mpi)
endif()
