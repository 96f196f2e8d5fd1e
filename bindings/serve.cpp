#include <emscripten/emscripten.h>

#include "core/thread_team.h"

// Run by a helper thread in its own instance until the host ends it.
extern "C" EMSCRIPTEN_KEEPALIVE void wattn_serve(wattn::ThreadTeam* team, int thread) { team->serve(thread); }
