# bench/native/<name>.cpp becomes the program bench_<name>. Built on request: cmake --build --preset P --target bench.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/native/*.cpp)
add_custom_target(bench)
foreach(source ${sources})
  cmake_path(GET source STEM name)
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${source})
  target_link_libraries(bench_${name} PRIVATE wattn_options wattn_tasks)
  if(WATTN_WASM STREQUAL "relaxed")
    target_compile_definitions(bench_${name} PRIVATE WATTN_BENCH_FMA) # the machine's peak can be measured
  endif()
  if(EMSCRIPTEN)
    set_target_properties(bench_${name} PROPERTIES SUFFIX .cjs)
    target_link_options(bench_${name} PRIVATE -sNODERAWFS -sEXIT_RUNTIME -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB
      -sSTACK_SIZE=1MB -sENVIRONMENT=node)
  endif()
  add_dependencies(bench bench_${name})
endforeach()
