# Most of the time of compiling goes into the same headers. Not in the release build, where each file shows that it names its own.
option(WATTN_PRECOMPILE "Headers of others are compiled once a target" OFF)
set(standard_headers <algorithm> <cmath> <cstdint> <functional> <map> <memory> <optional> <span> <string> <string_view> <vector>)
function(wattn_precompile target)
  if(WATTN_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

# For WebAssembly a source whose first line is "// build: -Os" or "// build: -Oz" is built for size instead of speed: what runs once a
# load, what few people run, what leaves its work to kernels. -Os still makes vectors of loops, -Oz does not.
function(wattn_read_build_marks)
  foreach(source ${ARGN})
    file(STRINGS ${source} mark LIMIT_COUNT 1 REGEX "^// build: -O[sz]$")
    if(mark)
      string(REPLACE "// build: " "" option ${mark})
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS ${option} SKIP_PRECOMPILE_HEADERS ON)
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  endforeach()
endfunction()

# wattn_library(room DEPS room...): the static library wattn_<room> of src/<room>/**.cpp. A room without sources becomes a library of
# nothing but its links.
function(wattn_library room)
  cmake_parse_arguments(arg "" "" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${room}/*.cpp)
  # A file's ending says which builds it is for (today only kernels have such files; wattn_variants.cmake takes those of relaxed SIMD).
  list(FILTER sources EXCLUDE REGEX "_relaxed\\.cpp$")
  if(EMSCRIPTEN)
    list(FILTER sources EXCLUDE REGEX "_eigen\\.cpp$")
    wattn_read_build_marks(${sources})
  else()
    list(FILTER sources EXCLUDE REGEX "_wasm\\.cpp$")
  endif()

  list(TRANSFORM arg_DEPS PREPEND wattn_)
  if(sources)
    add_library(wattn_${room} STATIC ${sources})
    target_link_libraries(wattn_${room} PRIVATE wattn_options PUBLIC ${arg_DEPS})
    wattn_precompile(wattn_${room} ${standard_headers})
  else()
    add_library(wattn_${room} INTERFACE)
    target_link_libraries(wattn_${room} INTERFACE ${arg_DEPS})
  endif()
endfunction()
