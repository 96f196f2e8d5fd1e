# The WebAssembly modules that ship, glue and wasm: models, tokenizer and generation (wattn-simd and wattn-relaxed), and with SIMD
# alone a tokenizer that can be trained (wattn-tokenizer) and the building blocks with word2vec (wattn-nn).

# The hash of everything the modules are made of, so that the page can refuse a wasm file of another build.
find_program(NODE node REQUIRED NO_CMAKE_FIND_ROOT_PATH)
add_custom_target(wattn_build_id
  COMMAND ${NODE} ${PROJECT_SOURCE_DIR}/tools/build_id.mjs ${PROJECT_BINARY_DIR}/build_id.h
  BYPRODUCTS ${PROJECT_BINARY_DIR}/build_id.h)

# wattn_module(name file_name rooms... SOURCES names...): the module `file_name`.{mjs,wasm} of bindings/<names>.cpp, linked to those
# rooms.
function(wattn_module module file_name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  list(TRANSFORM arg_UNPARSED_ARGUMENTS PREPEND wattn_)
  list(TRANSFORM arg_SOURCES REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/bindings/\\1.cpp")
  add_executable(${module} ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/bindings/build_id.cpp ${PROJECT_SOURCE_DIR}/bindings/no_printf.cpp)
  add_dependencies(${module} wattn_build_id)
  target_compile_options(${module} PRIVATE -Os -include ${PROJECT_BINARY_DIR}/build_id.h)
  # Type names are for messages of Embind's own; without RTTI there are none.
  target_compile_definitions(${module} PRIVATE EMSCRIPTEN_HAS_UNBOUND_TYPE_NAMES=0)
  target_include_directories(${module} PRIVATE ${PROJECT_SOURCE_DIR}) # "bindings/..."
  target_link_libraries(${module} PRIVATE wattn_options ${arg_UNPARSED_ARGUMENTS})
  # The glue names its wasm file: one name for both, so that one glue fits both (tools/bundle.mjs compares them).
  set_target_properties(${module} PROPERTIES OUTPUT_NAME ${file_name} SUFFIX .mjs)
  target_link_options(${module} PRIVATE
    -fno-exceptions -fno-rtti -lembind
    -O2                           # -O3 and -Os rename imports and exports: one glue would not fit both, and threads would not start
    -sDYNAMIC_EXECUTION=0         # Embind must not make functions out of strings: pages forbid it
    -sMODULARIZE -sEXPORT_ES6     # one factory function, nothing happens on import
    -sUSE_ES6_IMPORT_META=0       # the host finds and instantiates the wasm (web/wasm_loader.ts), never the glue
    -sENVIRONMENT=web,worker
    -sWASM_BIGINT                 # no wrappers for 64-bit integers
    -sMIN_SAFARI_VERSION=160400 -sMIN_CHROME_VERSION=91 -sMIN_FIREFOX_VERSION=89  # the first with SIMD: no fallbacks for older
    -sFILESYSTEM=0
    -sBINARYEN_EXTRA_PASSES=--skip-pass=memory-packing # data cut into pieces compresses worse
    -sALLOW_MEMORY_GROWTH -sINITIAL_MEMORY=4MB -sMAXIMUM_MEMORY=4GB # web/wasm_loader.ts makes the memory, of these sizes
    -sWASM_WORKERS                # shared memory without POSIX threads; tools/bundle.mjs clears the mark for pages without it
    -sSTACK_SIZE=512KB
    -sINCOMING_MODULE_JS_API=instantiateWasm,print,printErr,onAbort,wasmMemory)
endfunction()

wattn_module(wattn-${WATTN_WASM} wattn tasks SOURCES model model_options serve tokenizer)
wattn_module(wattn-train-${WATTN_WASM} wattn-train tasks SOURCES train model_options serve tokenizer)
if(WATTN_WASM STREQUAL "simd")
  wattn_module(wattn-tokenizer wattn-tokenizer tokenizer SOURCES tokenizer training)
  wattn_module(wattn-nn wattn-nn nn learn SOURCES nn word2vec logistic)
endif()
