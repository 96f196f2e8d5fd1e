# bench/native/<name>.cpp becomes the program bench_<name>, and bench_<name>_relaxed with the kernels for relaxed SIMD. Built on request:
# cmake --build --preset P --target bench.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/native/*.cpp)
add_custom_target(bench)

function(wattn_bench_program target source)
  add_executable(${target} EXCLUDE_FROM_ALL ${source})
  target_link_libraries(${target} PRIVATE ${ARGN} wattn_options wattn_all_parts wattn_tasks)
  if(EMSCRIPTEN)
    set_target_properties(${target} PROPERTIES SUFFIX .cjs)
    target_link_options(${target} PRIVATE -sNODERAWFS -sEXIT_RUNTIME -sALLOW_MEMORY_GROWTH -sMAXIMUM_MEMORY=4GB
      -sSTACK_SIZE=1MB -sENVIRONMENT=node)
  endif()
  add_dependencies(bench ${target})
endfunction()

foreach(source ${sources})
  cmake_path(GET source STEM name)
  wattn_bench_program(bench_${name} ${source})
  if(EMSCRIPTEN)
    wattn_bench_program(bench_${name}_relaxed ${source} wattn_kernels_relaxed)
    target_compile_options(bench_${name}_relaxed PRIVATE -mrelaxed-simd -DWATTN_BENCH_FMA) # the machine's peak can be measured
  endif()
endforeach()
