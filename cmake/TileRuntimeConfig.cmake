# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The run-time library of programs that tile-compile compiled ahead of time, as `tile::runtime`:
#   find_package(TileRuntime CONFIG REQUIRED PATHS <what `python -m mlir_tile --cmakedir` prints>)

get_filename_component(_tile_package "${CMAKE_CURRENT_LIST_DIR}" DIRECTORY)
if(NOT TARGET tile::runtime)
  add_library(tile::runtime SHARED IMPORTED)
  set_target_properties(tile::runtime PROPERTIES
    IMPORTED_LOCATION "${_tile_package}/_libs/libtile_runtime.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_tile_package}/include")
endif()
unset(_tile_package)
