# The WebAssembly modules: models, tokenizer and generation (wattn-simd, and wattn-relaxed with relaxed SIMD), the same with
# all that is rare and training of models (wattn-full-simd and wattn-full-relaxed), a tokenizer that can be trained (wattn-tokenizer), the
# building blocks with word2vec (wattn-nn) and search over vectors (wattn-search).

# The hash of everything the modules are made of, so that the page can refuse a wasm file of another build.
find_program(NODE node REQUIRED NO_CMAKE_FIND_ROOT_PATH)
add_custom_target(wattn_build_id
  COMMAND ${NODE} ${PROJECT_SOURCE_DIR}/tools/build_id.mjs ${PROJECT_BINARY_DIR}/build_id.h
  BYPRODUCTS ${PROJECT_BINARY_DIR}/build_id.h)

# Each file of bindings is compiled once, as the object library wattn_binding_<name>.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bindings/*.cpp)
list(FILTER sources EXCLUDE REGEX "all_parts")
foreach(source ${sources})
  cmake_path(GET source STEM name)
  set(binding wattn_binding_${name})
  add_library(${binding} OBJECT EXCLUDE_FROM_ALL ${source})
  target_compile_options(${binding} PRIVATE -Oz)
  # Type names are for messages of Embind's own; without RTTI there are none.
  target_compile_definitions(${binding} PRIVATE EMSCRIPTEN_HAS_UNBOUND_TYPE_NAMES=0)
  target_include_directories(${binding} PRIVATE ${PROJECT_SOURCE_DIR}) # "bindings/..."
  target_link_libraries(${binding} PRIVATE wattn_options)
endforeach()
foreach(binding wattn_binding_build_id wattn_binding_wire wattn_binding_search wattn_binding_constraints)
  add_dependencies(${binding} wattn_build_id)
  target_compile_options(${binding} PRIVATE -include ${PROJECT_BINARY_DIR}/build_id.h)
endforeach()

# wattn_module(name path rooms... SOURCES names...): the module <path>.wasm in the build's folder, of bindings/<names>.cpp, linked to those
# rooms. Of the glue that Emscripten writes beside it only wattn-nn.mjs is used, which has Embind; web/host/plain_module.ts starts the others. The target `modules` is all of them.
add_custom_target(modules)
function(wattn_module module path)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  list(TRANSFORM arg_UNPARSED_ARGUMENTS PREPEND wattn_)
  list(TRANSFORM arg_SOURCES PREPEND wattn_binding_)
  cmake_path(GET path PARENT_PATH folder)
  cmake_path(GET path FILENAME file_name)
  add_executable(${module})
  add_dependencies(modules ${module})
  target_link_libraries(${module} PRIVATE ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  set_target_properties(${module} PROPERTIES LINKER_LANGUAGE CXX SUFFIX .mjs
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${folder} OUTPUT_NAME ${file_name})
  target_link_options(${module} PRIVATE
    -fno-exceptions -fno-rtti
    -O2                           # -O3 and -Os rename imports and exports, which web/host calls by their names
    -sDYNAMIC_EXECUTION=0         # Embind (wattn-nn) must not make functions out of strings: pages forbid it
    -sMODULARIZE -sEXPORT_ES6     # one factory function, nothing happens on import
    -sUSE_ES6_IMPORT_META=0       # the host finds and instantiates the wasm (web/host/wasm_loader.ts), never the glue
    -sENVIRONMENT=web,worker
    -sWASM_BIGINT                 # no wrappers for 64-bit integers
    -sMIN_SAFARI_VERSION=160400 -sMIN_CHROME_VERSION=91 -sMIN_FIREFOX_VERSION=89  # the first with SIMD: no fallbacks for older
    -sFILESYSTEM=0
    -sBINARYEN_EXTRA_PASSES=--skip-pass=memory-packing # data cut into pieces compresses worse
    -sALLOW_MEMORY_GROWTH -sINITIAL_MEMORY=4MB -sMAXIMUM_MEMORY=4GB # web/host/wasm_loader.ts makes the memory, of these sizes
    -sWASM_WORKERS                # shared memory without POSIX threads; tools/bundle.mjs clears the mark for pages without it
    -sSTACK_SIZE=512KB
    -sINCOMING_MODULE_JS_API=instantiateWasm,print,printErr,onAbort,wasmMemory)
endfunction()

# The modules with models come twice, also with the kernels for relaxed SIMD.
function(wattn_module_pair module folder)
  wattn_module(${module}-simd ${folder}wattn ${ARGN})
  wattn_module(${module}-relaxed ${folder}relaxed/wattn kernels_relaxed ${ARGN})
endfunction()

wattn_module_pair(wattn "" tasks SOURCES wire model model_calls serve tokenizer)
wattn_module_pair(wattn-full full/ all_parts tasks SOURCES wire train model_calls serve tokenizer)
wattn_module(wattn-tokenizer wattn-tokenizer tokenizer SOURCES wire tokenizer training)
wattn_module(wattn-nn wattn-nn nn learn SOURCES nn word2vec logistic build_id no_printf)
target_link_options(wattn-nn PRIVATE -lembind)

# Modules that the host calls by exports of their own (bindings/search.cpp, constraints.cpp).
function(wattn_plain_module name stack optimise)
  add_executable(wattn-${name})
  add_dependencies(modules wattn-${name})
  target_link_libraries(wattn-${name} PRIVATE wattn_binding_${name} ${ARGN} wattn_${name})
  set_target_properties(wattn-${name} PROPERTIES LINKER_LANGUAGE CXX SUFFIX .wasm)
  target_link_options(wattn-${name} PRIVATE ${optimise} -fno-exceptions -fno-rtti -sSTANDALONE_WASM --no-entry -sIMPORTED_MEMORY
    -sALLOW_MEMORY_GROWTH -sINITIAL_MEMORY=4MB -sMAXIMUM_MEMORY=4GB -sSTACK_SIZE=${stack}
    -Wl,--export=__heap_base)
endfunction()
wattn_plain_module(search 64KB -O3)
wattn_plain_module(constraints 512KB -Oz wattn_binding_no_printf wattn_small_core)
target_link_options(wattn-constraints PRIVATE -sMALLOC=emmalloc -flto)
