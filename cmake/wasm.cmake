# Toolchain file of the wasm presets: the Emscripten that tools/setup.mjs found or made, and the Node to run tests in.
set(wattn_record ${CMAKE_CURRENT_LIST_DIR}/../.toolchain/env.json)
if(NOT EXISTS ${wattn_record})
  message(FATAL_ERROR "no toolchain recorded yet: run node tools/setup.mjs")
endif()
file(READ ${wattn_record} wattn_json)
string(JSON wattn_emscripten GET ${wattn_json} emscripten emscriptenRoot)
string(JSON wattn_node GET ${wattn_json} node)
string(JSON wattn_relaxed_node GET ${wattn_json} relaxedNode)

set(EMSCRIPTEN_FORCE_COMPILERS ON)
include(${wattn_emscripten}/cmake/Modules/Platform/Emscripten.cmake)
set(CMAKE_CROSSCOMPILING_EMULATOR ${wattn_node})
