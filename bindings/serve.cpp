#include <emscripten/emscripten.h>

#include "core/thread_team.h"

// What a helper thread runs in its own instance (web/thread.ts), until it is ended from outside.
extern "C" EMSCRIPTEN_KEEPALIVE void wattn_serve(wattn::ThreadTeam* team, int thread) { team->serve(thread); }
