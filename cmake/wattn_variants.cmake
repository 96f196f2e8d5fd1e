# Which variants the kernel table has in this build. The macros are seen by src/kernels alone.
get_target_property(type wattn_kernels TYPE)
if(type STREQUAL "STATIC_LIBRARY" AND NOT EMSCRIPTEN)
  find_package(Eigen3 3.4 REQUIRED NO_MODULE)
  target_compile_definitions(wattn_kernels PRIVATE WATTN_HAVE_EIGEN)
  target_link_libraries(wattn_kernels PRIVATE Eigen3::Eigen)
endif()
if(NOT EMSCRIPTEN)
  return()
endif()

# wattn_room_variant(room variant SOURCES files... OPTIONS flags...): the library wattn_<room>_<variant> has every symbol of wattn_<room>. A
# program that links it before all others gets it in place of the other, which is how wasm for other machines comes from one build.
function(wattn_room_variant room variant)
  cmake_parse_arguments(arg "" "" "SOURCES;OPTIONS" ${ARGN})
  set(target wattn_${room}_${variant})
  add_library(${target} STATIC EXCLUDE_FROM_ALL ${arg_SOURCES})
  target_compile_options(${target} PRIVATE ${arg_OPTIONS})
  get_target_property(links wattn_${room} LINK_LIBRARIES)
  target_link_libraries(${target} PRIVATE ${links})
  wattn_precompile(${target} ${standard_headers})
endfunction()

target_compile_definitions(wattn_kernels PRIVATE WATTN_HAVE_WASM_SIMD)

# Relaxed SIMD: no other room has code of its own for it.
get_target_property(sources wattn_kernels SOURCES)
file(GLOB relaxed CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*_relaxed.cpp)
wattn_room_variant(kernels relaxed SOURCES ${sources} ${relaxed}
  OPTIONS -mrelaxed-simd -DWATTN_HAVE_WASM_SIMD -DWATTN_HAVE_RELAXED_SIMD)

# Without SIMD, and with asserts on: for tests alone. The rooms with arithmetic, and those with asserts.
foreach(room core kernels ops)
  get_target_property(sources wattn_${room} SOURCES)
  list(FILTER sources EXCLUDE REGEX "_wasm\\.cpp$")
  wattn_room_variant(${room} scalar SOURCES ${sources} OPTIONS -mno-simd128 -O2 -UNDEBUG)
endforeach()
