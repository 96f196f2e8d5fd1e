// The rarer activations, for programs that leave them out (kernels/more_activations.h).
#pragma once

#include "ops/activation.h"
