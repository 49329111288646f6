# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Finds Python, nanobind and MLIR in the environment that builds us. MLIR comes from the wheels of
# that environment: headers, mlir-tblgen, and the shared library that the `mlir` package itself uses.

find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)

execute_process(
  COMMAND "${Python_EXECUTABLE}" -c
          "import importlib.util as u; print(*[u.find_spec(n).submodule_search_locations[0] for n in ('mlir', 'llvm', 'nanobind')], sep=';')"
  OUTPUT_VARIABLE _wheels OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(GET _wheels 0 MLIR_WHEEL)
list(GET _wheels 1 LLVM_WHEEL)
list(GET _wheels 2 _nanobind)

set(MLIR_DIR "${MLIR_WHEEL}/lib/cmake/mlir")
set(LLVM_DIR "${LLVM_WHEEL}/lib/cmake/llvm")
find_package(MLIR REQUIRED CONFIG)
find_package(nanobind CONFIG REQUIRED PATHS "${_nanobind}/cmake" NO_DEFAULT_PATH)

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

# mlir_tablegen and the compiler both read the directory's include path.
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
include_directories("${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
separate_arguments(LLVM_DEFINITIONS_LIST NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_compile_definitions(${LLVM_DEFINITIONS_LIST})

# The one copy of MLIR in the process. The static archives hold only what the shared library lacks, so
# they stand behind it: the linker then takes no member that would bring a second copy.
set(TILE_MLIR_SHARED "${MLIR_WHEEL}/_mlir_libs/libMLIRPythonCAPI.so" "${LLVM_WHEEL}/lib/libLLVM.so")
