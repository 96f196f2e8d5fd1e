# The flags every target of ours is compiled with: target wattn_options.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)

add_library(wattn_options INTERFACE)
target_include_directories(wattn_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
# Contraction to fused multiply-add changes bits between machines; wattn promises the same bits.
target_compile_options(wattn_options INTERFACE -fno-exceptions -fno-rtti -ffp-contract=off -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(wattn_options INTERFACE -Wno-unknown-pragmas) # those of clang
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(wattn_options INTERFACE -Wno-restrict) # false alarms on std::string (GCC bug 105329)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT EMSCRIPTEN)
  target_compile_options(wattn_options INTERFACE -Wreserved-identifier
    -Wno-deprecated-declarations) # libstdc++'s stable_sort, in its own headers
endif()
if(WATTN_WERROR)
  target_compile_options(wattn_options INTERFACE -Werror)
endif()

if(WATTN_SANITIZE)
  # Global, so that GoogleTest is instrumented too: half-instrumented containers give false alarms.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
endif()

if(EMSCRIPTEN)
  # Global for the same reason: standard-library code inlined into two files must be the same code. Every engine with SIMD has these older
  # extensions too. Atomics for helper threads; they work in unshared memory as well.
  add_compile_options(-msimd128 -mbulk-memory -mnontrapping-fptoint -matomics)
endif()

# RapidJSON, seen by core alone. Reached through a folder of just that library: Debian keeps it in /usr/include,
# whose other headers are the host's and must not be seen by a wasm build.
find_path(RAPIDJSON rapidjson/reader.h PATHS /usr/include /usr/local/include REQUIRED NO_CMAKE_FIND_ROOT_PATH)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/include)
file(CREATE_LINK ${RAPIDJSON}/rapidjson ${PROJECT_BINARY_DIR}/include/rapidjson SYMBOLIC)
add_library(wattn_json INTERFACE)
target_include_directories(wattn_json SYSTEM INTERFACE ${PROJECT_BINARY_DIR}/include)
